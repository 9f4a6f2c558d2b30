//! Extent maps of the files that a run used, as Parquet: `target`, `offset_bytes`, `length_bytes`, `address_bytes`,
//! `kind`, `shared`, `encrypted`. Facts about each file are in the key-value metadata, under `iosonar.files`.

use crate::ArchiveError;
use crate::parquet::{
    KeyValues, ROW_GROUP, Shared, checked_rows, columns_like, common_properties, guarded, read_column,
    read_optional, write_column,
};
use iosonar_layout::{Extent, Kind, Map, Row, Scan, Volume};
use iosonar_os::create::new_file;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Key of the facts about the files.
const FILES: &str = "iosonar.files";

/// Map of a target's file at the end of the run.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetMap {
    /// Number of the target in the plan.
    pub target: u16,
    /// Locations of the file's blocks.
    pub map: Map,
}

/// A file without its extents.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct MappedFile {
    target: u16,
    path: String,
    size_bytes: u64,
    extent_size_hint_bytes: u64,
    synced: bool,
    file_system: Volume,
}

/// Writes maps one after the other.
pub(crate) struct MapsWriter {
    file: SerializedFileWriter<File>,
    files: Vec<MappedFile>,
}

impl MapsWriter {
    pub(crate) fn create(
        path: &Path,
        key_values: KeyValues,
    ) -> std::result::Result<MapsWriter, ArchiveError> {
        let file = new_file(path).map_err(|e| ArchiveError::io(path, e))?;
        let properties = Arc::new(common_properties(key_values).build());
        let file = schema().and_then(|schema| SerializedFileWriter::new(file, schema, properties));
        let file = file.map_err(|e| ArchiveError::parquet(path, e))?;
        Ok(MapsWriter { file, files: Vec::new() })
    }

    pub(crate) fn push(&mut self, TargetMap { target, map }: &TargetMap) -> Result<()> {
        let inside = map.rows.iter().flatten().filter_map(|row| match row {
            Row::Extent(extent) => Some(*extent),
            Row::Hole { .. } => None,
        });
        let extents: Vec<Extent> = inside.chain(map.beyond.iter().flatten().copied()).collect();
        for part in extents.chunks(ROW_GROUP) {
            self.write(*target, part)?;
        }
        self.files.push(MappedFile {
            target: *target,
            path: map.path.display().to_string(),
            size_bytes: map.size,
            extent_size_hint_bytes: map.extent_size_hint,
            synced: map.is_synced,
            file_system: (*map.volume).clone(),
        });
        Ok(())
    }

    fn write(&mut self, target: u16, extents: &[Extent]) -> Result<()> {
        let mut group = self.file.next_row_group()?;
        let words = |of: fn(&Extent) -> u64| extents.iter().map(|e| of(e) as i64).collect::<Vec<_>>();
        write_column::<Int32Type>(&mut group, &vec![target.into(); extents.len()], None)?;
        write_column::<Int64Type>(&mut group, &words(|e| e.offset), None)?;
        write_column::<Int64Type>(&mut group, &words(|e| e.length), None)?;
        let addresses: Vec<i64> = extents.iter().filter_map(|e| e.address.map(|a| a as i64)).collect();
        let levels: Vec<i16> = extents.iter().map(|e| e.address.is_some().into()).collect();
        write_column::<Int64Type>(&mut group, &addresses, Some(&levels))?;
        let kinds: Vec<ByteArray> = extents.iter().map(|e| e.kind.name().into()).collect();
        write_column::<ByteArrayType>(&mut group, &kinds, None)?;
        let marks = |of: fn(&Extent) -> bool| extents.iter().map(of).collect::<Vec<_>>();
        write_column::<BoolType>(&mut group, &marks(|e| e.is_shared), None)?;
        write_column::<BoolType>(&mut group, &marks(|e| e.is_encrypted), None)?;
        group.close().map(drop)
    }

    /// Ends the file; returns it, because it is not synced yet.
    pub(crate) fn finish(mut self) -> Result<File> {
        let files = serde_json::to_string(&self.files).expect("plain data becomes JSON");
        self.file.append_key_value_metadata(KeyValue::new(FILES.into(), files));
        self.file.into_inner()
    }
}

/// Reads all maps, in the order in which they were written.
pub(crate) fn read_maps(path: &Path) -> std::result::Result<Vec<TargetMap>, ArchiveError> {
    let read = || {
        let reader = SerializedFileReader::new(Shared(Arc::new(File::open(path)?)))?;
        let columns = columns_like(&reader, &schema()?)?;
        let mut scans: Vec<(MappedFile, Scan)> = files(&reader)?.into_iter().map(with_scan).collect();
        let numbers = scans.iter().enumerate().rev();
        let places: HashMap<u16, usize> = numbers.map(|(place, (file, _))| (file.target, place)).collect();
        for number in 0..reader.num_row_groups() {
            let group = reader.get_row_group(number)?;
            for (target, extent) in extents(group.as_ref(), &columns)? {
                let place = places.get(&target).ok_or_else(|| damaged("extents of an unknown target"))?;
                scans[*place].1.add(extent);
            }
        }
        Ok(scans.into_iter().map(|(file, scan)| file.with(scan)).collect())
    };
    guarded(read).map_err(|e| ArchiveError::parquet(path, e))
}

fn damaged(why: &str) -> ParquetError {
    ParquetError::General(why.into())
}

fn files(reader: &SerializedFileReader<Shared>) -> Result<Vec<MappedFile>> {
    let pairs = reader.metadata().file_metadata().key_value_metadata();
    let text = pairs.into_iter().flatten().find(|pair| pair.key == FILES);
    let text = text.and_then(|pair| pair.value.as_ref()).ok_or_else(|| damaged("it names no files"))?;
    serde_json::from_str(text).map_err(|error| ParquetError::General(error.to_string()))
}

fn with_scan(file: MappedFile) -> (MappedFile, Scan) {
    let volume = &file.file_system;
    let scan = Scan::new(file.size_bytes, volume.block_bytes, volume.groups, true);
    (file, scan)
}

impl MappedFile {
    fn with(self, scan: Scan) -> TargetMap {
        let (figures, kept) = scan.finish();
        let (rows, beyond) = kept.unzip();
        let map = Map {
            path: PathBuf::from(self.path),
            volume: Arc::new(self.file_system),
            size: self.size_bytes,
            extent_size_hint: self.extent_size_hint_bytes,
            is_synced: self.synced,
            figures,
            rows,
            beyond,
        };
        TargetMap { target: self.target, map }
    }
}

/// Reads the extents of a part; `columns` has the index of each column of [`schema`].
fn extents(group: &dyn RowGroupReader, columns: &[usize]) -> Result<Vec<(u16, Extent)>> {
    let rows = checked_rows(group.metadata().num_rows())?;
    let targets = read_column::<Int32Type>(columns[0], group, rows)?;
    let offsets = read_column::<Int64Type>(columns[1], group, rows)?;
    let lengths = read_column::<Int64Type>(columns[2], group, rows)?;
    let (addresses, levels) = read_optional::<Int64Type>(columns[3], group, rows)?;
    let kinds = read_column::<ByteArrayType>(columns[4], group, rows)?;
    let shared = read_column::<BoolType>(columns[5], group, rows)?;
    let encrypted = read_column::<BoolType>(columns[6], group, rows)?;
    let mut addresses = addresses.into_iter();
    let is_located = |row: usize| levels.get(row).is_none_or(|level| *level == 1);
    let extent = |row: usize| {
        let (offset, length) = (offsets[row] as u64, lengths[row] as u64);
        let address = is_located(row).then(|| addresses.next()).flatten().map(|address| address as u64);
        let extent = Extent {
            offset,
            // Ends of a damaged extent are no greater than the greatest offset and address.
            length: length.min(u64::MAX - offset.max(address.unwrap_or(0))),
            address,
            kind: Kind::from_name(kinds[row].as_utf8()?)
                .ok_or_else(|| damaged("an unknown kind of extent"))?,
            is_shared: shared[row],
            is_encrypted: encrypted[row],
        };
        let target = u16::try_from(targets[row]).map_err(|_| damaged("an impossible target"))?;
        Ok((target, extent))
    };
    (0..rows).map(extent).collect()
}

fn schema() -> Result<TypePtr> {
    let column = |name, physical, logical, repetition| {
        let builder = Type::primitive_type_builder(name, physical).with_logical_type(logical);
        builder.with_repetition(repetition).build().map(Arc::new)
    };
    let (required, unsigned) = (Repetition::REQUIRED, |bits| Some(LogicalType::integer(bits, false)));
    let columns = vec![
        column("target", Physical::INT32, unsigned(32), required)?,
        column("offset_bytes", Physical::INT64, unsigned(64), required)?,
        column("length_bytes", Physical::INT64, unsigned(64), required)?,
        column("address_bytes", Physical::INT64, unsigned(64), Repetition::OPTIONAL)?,
        column("kind", Physical::BYTE_ARRAY, Some(LogicalType::String), required)?,
        column("shared", Physical::BOOLEAN, None, required)?,
        column("encrypted", Physical::BOOLEAN, None, required)?,
    ];
    Type::group_type_builder("extents").with_fields(columns).build().map(Arc::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_layout::{Addresses, Groups};

    fn map(name: &str, size: u64, extents: &[(u64, u64, u64, u32)]) -> Map {
        let volume = Volume {
            kind: "xfs".into(),
            mount_point: Some("/mnt".into()),
            source: None,
            block_bytes: 4096,
            groups: Some(Groups { count: 4, bytes: 1 << 20 }),
            bytes: Some(4 << 20),
            addresses: Addresses::Device,
        };
        let mut scan = Scan::new(size, 4096, volume.groups, true);
        extents.iter().for_each(|(o, p, l, f)| scan.add(Extent::new(*o, *p, *l, *f)));
        let (figures, rows) = scan.finish();
        let (rows, beyond) = rows.unzip();
        let (path, volume) = (PathBuf::from(name), Arc::new(volume));
        Map { path, volume, size, extent_size_hint: 65_536, is_synced: false, figures, rows, beyond }
    }

    fn write(path: &Path, maps: &[TargetMap]) {
        let mut writer = MapsWriter::create(path, vec![("iosonar.run_id", "7".into())]).unwrap();
        maps.iter().for_each(|map| writer.push(map).unwrap());
        writer.finish().unwrap();
    }

    fn several() -> Vec<TargetMap> {
        const ENCRYPTED_AND_SHARED: u32 = 0x2088;
        let mixed = [
            (0, 1 << 20, 8192, 0),
            (16_384, 0, 4096, 0x7),
            (20_480, 5 << 19, 4096, 0x800),
            (24_576, 9 << 18, 4096, ENCRYPTED_AND_SHARED),
            // Beyond the end of the file.
            (32_768, 3 << 20, 4096, 0x800),
        ];
        let maps = [map("a", 30_000, &mixed), map("empty", 0, &[]), map("b", 4096, &[(0, 4096, 4096, 0)])];
        let maps = maps.into_iter().enumerate();
        maps.map(|(n, map)| TargetMap { target: n as u16 * 3, map }).collect()
    }

    #[test]
    fn maps_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("extents.parquet");
        write(&path, &several());
        assert_eq!(read_maps(&path).unwrap(), several());
    }

    #[test]
    fn damaged_maps_are_an_error_or_differ_without_panic() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("extents.parquet");
        write(&path, &several());
        let whole = std::fs::read(&path).unwrap();
        let mut refused = 0;
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0xff;
            std::fs::write(&path, bytes).unwrap();
            refused += usize::from(read_maps(&path).is_err());
        }
        assert!(refused > whole.len() / 2, "{refused} of {}", whole.len());
        std::fs::write(&path, &whole[..whole.len() - 9]).unwrap();
        assert!(read_maps(&path).is_err());
    }
}
