//! Records and series as Parquet: the content of a finished archive, readable by pandas, Polars and DuckDB.
//!
//! One table describes every column once; writing and reading both follow it.

use crate::columns::{COLUMNS, Field, Gathered, Values, are_alike, mostly_repeats, number_of_other};
use crate::encoded::Encoded;
use crate::names;
use crate::pages::Bounded;
use crate::record::BEYOND;
use crate::{ArchiveError, Fields, Record};
use bytes::Bytes;
use iosonar_os::create::new_file;
use iosonar_plan::Extent;
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::column::reader::ColumnReaderImpl;
use parquet::column::writer::{ColumnWriter, get_typed_column_writer_mut};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{
    EnabledStatistics, WriterProperties, WriterPropertiesBuilder, WriterPropertiesPtr,
};
use parquet::file::reader::{ChunkReader, FileReader, Length, RowGroupReader, SerializedFileReader};
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor, ColumnPath, Type, TypePtr};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum number of rows in a row group, which a writer or reader holds in memory at a time.
pub const ROW_GROUP: usize = 1 << 17;

/// Bytes read for the header of a page: the library requests each again.
const HEADER: usize = 256;

/// Records whose fields are gathered at once, while they are cached.
const CHUNK: usize = 128;

fn column_type(name: &str, field: &Field) -> Result<TypePtr> {
    let unsigned = |bits| Some(LogicalType::integer(bits, false));
    let (physical, logical, repetition) = match field {
        Field::Word(_) => (Physical::INT64, unsigned(64), Repetition::REQUIRED),
        Field::Optional(_) => (Physical::INT64, unsigned(64), Repetition::OPTIONAL),
        Field::Signed(_) => (Physical::INT64, None, Repetition::REQUIRED),
        Field::Small(_) => (Physical::INT32, unsigned(32), Repetition::REQUIRED),
        Field::Name(..) => (Physical::BYTE_ARRAY, Some(LogicalType::String), Repetition::REQUIRED),
        Field::Mark(_) => (Physical::BOOLEAN, None, Repetition::REQUIRED),
    };
    let column =
        Type::primitive_type_builder(name, physical).with_logical_type(logical).with_repetition(repetition);
    Ok(Arc::new(column.build()?))
}

/// Checks the type of a file's column: the library panics on a wrong one. Other programs write optional columns; absent
/// values are detected when reading.
fn check_type(column: &ColumnDescriptor, want: Physical) -> Result<()> {
    let (name, found) = (column.name(), column.physical_type());
    if found != want {
        return Err(ParquetError::General(format!(
            "column {name} has values of type {found} instead of {want}"
        )));
    }
    match (column.max_def_level(), column.max_rep_level()) {
        (0 | 1, 0) => Ok(()),
        _ => {
            Err(ParquetError::General(format!("column {name} has lists or groups instead of single values")))
        }
    }
}

/// Index of the column of a name.
fn index_named(columns: &[ColumnDescPtr], name: &str) -> Result<usize> {
    let mut found = columns.iter().enumerate().filter(|(_, column)| column.name() == name);
    match (found.next(), found.next()) {
        (Some((index, _)), None) => Ok(index),
        (None, _) => Err(ParquetError::General(format!("column {name} is missing"))),
        (Some(_), Some(_)) => Err(ParquetError::General(format!("column {name} is there twice"))),
    }
}

/// Passes a whole column to its writer.
pub(crate) fn put(values: &Values, column: &mut ColumnWriter<'_>) -> Result<()> {
    match values {
        Values::Words(v) => batch::<Int64Type>(column, v, None),
        Values::Small(v) => batch::<Int32Type>(column, v, None),
        Values::Flags(v) => batch::<BoolType>(column, v, None),
        Values::Optional(v) => {
            let levels: Vec<i16> = v.iter().map(|n| n.is_some().into()).collect();
            let present: Vec<i64> = v.iter().flatten().map(|n| *n as i64).collect();
            batch::<Int64Type>(column, &present, Some(&levels))
        }
        Values::Names(_) => unreachable!("words are encoded elsewhere"),
    }
}

fn write_varied(values: &Values, group: &mut SerializedRowGroupWriter<'_, File>) -> Result<()> {
    let column = group.next_column()?;
    let mut column = column.ok_or_else(|| ParquetError::General("too many columns".into()))?;
    put(values, column.untyped())?;
    column.close()
}

fn batch<T: DataType>(column: &mut ColumnWriter<'_>, values: &[T::T], levels: Option<&[i16]>) -> Result<()> {
    get_typed_column_writer_mut::<T>(column).write_batch(values, levels, None).map(drop)
}

fn read_values(field: &Field, index: usize, group: &dyn RowGroupReader, rows: usize) -> Result<Values> {
    Ok(match field {
        Field::Word(_) | Field::Signed(_) => Values::Words(read_column::<Int64Type>(index, group, rows)?),
        Field::Small(_) => Values::Small(read_column::<Int32Type>(index, group, rows)?),
        Field::Mark(_) => Values::Flags(read_column::<BoolType>(index, group, rows)?),
        Field::Optional(_) => {
            let (values, levels) = read_optional::<Int64Type>(index, group, rows)?;
            if values.len() == rows {
                return Ok(Values::Optional(values.into_iter().map(|n| Some(n as u64)).collect()));
            }
            let mut values = values.into_iter();
            let one = |level| (level == 1).then(|| values.next().unwrap_or_default() as u64);
            Values::Optional(levels.into_iter().map(one).collect())
        }
        Field::Name(names, _) => {
            let known: Vec<_> = names.iter().map(|name| as_numbers(name.as_bytes())).collect();
            let number = |text: &[u8]| {
                let word = as_numbers(text);
                let known = known.iter().position(|name| *name == word).filter(|_| word.is_some());
                known.map(|n| n as u8).or_else(|| number_of_other(names, text))
            };
            // Pages of an optional column have something else before the values.
            let description = group.metadata().column(index).column_descr();
            if description.max_def_level() == 0
                && let Some(numbers) = names::decode(Bounded::pages(group, index)?, rows, number)?
            {
                return Ok(Values::Names(numbers));
            }
            let values = read_column::<ByteArrayType>(index, group, rows)?;
            let number =
                |word: ByteArray| number(word.data()).ok_or_else(|| names::unknown(description.name()));
            Values::Names(values.into_iter().map(number).collect::<Result<_>>()?)
        }
    })
}

/// Length, start and end of a word of 4 to 16 bytes, which determine it: comparing them costs less than comparing bytes.
fn as_numbers(word: &[u8]) -> Option<(usize, u64, u64)> {
    if let (Some(begin), Some(end)) = (word.first_chunk(), word.last_chunk()) {
        return (word.len() <= 16)
            .then(|| (word.len(), u64::from_le_bytes(*begin), u64::from_le_bytes(*end)));
    }
    let (begin, end) = (word.first_chunk()?, word.last_chunk()?);
    Some((word.len(), u32::from_le_bytes(*begin).into(), u32::from_le_bytes(*end).into()))
}

pub(crate) fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<()> {
    let mut column = group.next_column()?.ok_or_else(|| ParquetError::General("too many columns".into()))?;
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}

/// Reads the values of a column, one per row.
pub(crate) fn read_column<T: DataType>(
    index: usize,
    group: &dyn RowGroupReader,
    rows: usize,
) -> Result<Vec<T::T>> {
    let (values, _) = read_optional::<T>(index, group, rows)?;
    match rows - values.len() {
        0 => Ok(values),
        lacking => {
            let name = group.metadata().column(index).column_descr().name().to_owned();
            Err(ParquetError::General(format!("column {name} has no value in {lacking} of {rows} rows")))
        }
    }
}

/// Reads the values of an optional column, and for each row 1 if present and 0 if absent; no levels if all are present.
pub(crate) fn read_optional<T: DataType>(
    index: usize,
    group: &dyn RowGroupReader,
    rows: usize,
) -> Result<(Vec<T::T>, Vec<i16>)> {
    let description = group.metadata().column(index).column_descr_ptr();
    let mut reader = ColumnReaderImpl::<T>::new(description, Bounded::pages(group, index)?);
    let (mut values, mut levels) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    let (records, ..) = reader.read_records(rows, Some(&mut levels), None, &mut values)?;
    let present = levels.iter().filter(|level| **level > 0).count();
    let is_whole = if levels.is_empty() {
        values.len() == rows
    } else {
        (values.len(), levels.len()) == (present, rows)
    };
    if records != rows || !is_whole {
        let name = group.metadata().column(index).column_descr().name().to_owned();
        return Err(ParquetError::General(format!("column {name} holds {records} of {rows} rows")));
    }
    Ok((values, levels))
}

/// Metadata of a file.
pub(crate) type KeyValues = Vec<(&'static str, String)>;

pub(crate) fn common_properties(key_values: KeyValues) -> WriterPropertiesBuilder {
    let key_values = key_values.into_iter().map(|(k, v)| KeyValue::new(k.into(), v)).collect();
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1).expect("level 1 exists")))
        .set_created_by(concat!("iosonar ", env!("CARGO_PKG_VERSION")).into())
        .set_key_value_metadata(Some(key_values))
}

fn record_properties(key_values: KeyValues) -> WriterPropertiesPtr {
    let mut builder = common_properties(key_values)
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true);
    for (name, field) in &COLUMNS {
        let path = ColumnPath::from(*name);
        builder = match field {
            // Times and addresses increase by small steps, others are mostly constant: differences take a fraction of
            // the space, and of the time.
            Field::Word(_) | Field::Optional(_) | Field::Signed(_) | Field::Small(_) => builder
                .set_column_encoding(path.clone(), Encoding::DELTA_BINARY_PACKED)
                .set_column_compression(path, Compression::UNCOMPRESSED),
            Field::Mark(_) => builder
                .set_column_encoding(path.clone(), Encoding::RLE)
                .set_column_compression(path, Compression::UNCOMPRESSED),
            Field::Name(..) => builder,
        };
    }
    for (name, field) in &COLUMNS {
        if has_range(name, field) {
            let path = ColumnPath::from(*name);
            builder = builder.set_column_statistics_enabled(path, EnabledStatistics::Chunk);
        }
    }
    Arc::new(builder.build())
}

/// Whether the column has min/max statistics.
fn has_range(name: &str, field: &Field) -> bool {
    let is_selected_by = matches!(name, "target" | "due_ns");
    // Mostly constant: with the statistics a reader need not decode them.
    let is_mostly_same = name == "outcome" || matches!(field, Field::Mark(_));
    is_selected_by || is_mostly_same
}

/// Columns that are mostly equal to an earlier one: in a load at its own speed, for requests that were executed as
/// requested, and transferred completely.
const TWINS: [(&str, &str); 4] = [
    ("due_ns", "load_time_ns"),
    ("executed_offset_bytes", "requested_offset_bytes"),
    ("executed_length_bytes", "requested_length_bytes"),
    ("result", "requested_length_bytes"),
];

/// The column to which this one is mostly equal.
fn twin_of(column: usize) -> Option<usize> {
    let (_, twin) = TWINS.iter().find(|(name, _)| *name == COLUMNS[column].0)?;
    COLUMNS.iter().position(|(name, _)| name == twin)
}

/// Columns of the next row group.
struct Columns {
    gathered: Vec<Gathered>,
    /// Columns that were constant in a row group, with their value and encoding.
    constants: Vec<Option<(Option<u64>, Encoded)>>,
    /// For each column the one to which it is mostly equal.
    twins: Vec<Option<usize>>,
    /// Whether it mostly repeats.
    repeats: Vec<bool>,
    properties: WriterPropertiesPtr,
    rows: usize,
}

impl Columns {
    fn new(properties: WriterPropertiesPtr) -> Columns {
        Columns {
            gathered: COLUMNS.iter().map(|(_, field)| Gathered::new(field)).collect(),
            constants: COLUMNS.iter().map(|_| None).collect(),
            twins: (0..COLUMNS.len()).map(twin_of).collect(),
            repeats: COLUMNS.iter().map(|(name, field)| mostly_repeats(name, field)).collect(),
            properties,
            rows: 0,
        }
    }

    fn gather(&mut self, records: &[Record]) {
        let are_alike = are_alike(records);
        for (((_, field), column), repeats) in COLUMNS.iter().zip(&mut self.gathered).zip(&self.repeats) {
            if are_alike && *repeats {
                column.gather_same(field, records);
            } else {
                column.gather(field, records);
            }
        }
        self.rows += records.len();
    }

    /// Writes and clears all columns.
    fn write(
        &mut self,
        descriptions: &[ColumnDescPtr],
        group: &mut SerializedRowGroupWriter<'_, File>,
    ) -> Result<()> {
        // Encoded columns that others may equal.
        let mut encoded: Vec<Option<Encoded>> = COLUMNS.iter().map(|_| None).collect();
        for (index, description) in descriptions.iter().enumerate() {
            if let Some(value) = self.gathered[index].constant() {
                self.constant(index, value, description)?.write(group)?;
            } else if let Some(same) = self.twin(index).and_then(|twin| encoded[twin].as_ref()) {
                same.as_column(description.clone(), self.range(index))?.write(group)?;
            } else if self.twins.contains(&Some(index)) || matches!(COLUMNS[index].1, Field::Name(..)) {
                encoded[index].insert(self.encode(index, description)?).write(group)?;
            } else {
                write_varied(self.gathered[index].all(), group)?;
            }
        }
        self.gathered.iter_mut().for_each(Gathered::clear);
        self.rows = 0;
        Ok(())
    }

    /// A column with a constant value.
    fn constant(
        &mut self,
        index: usize,
        value: Option<u64>,
        description: &ColumnDescPtr,
    ) -> Result<&Encoded> {
        let known = self.constants[index].take();
        let known = known.filter(|(known, column)| (*known, column.rows) == (value, self.rows));
        let column = match known {
            Some((_, column)) => column,
            None => self.encode(index, description)?,
        };
        Ok(&self.constants[index].insert((value, column)).1)
    }

    /// The column with the same values in this row group.
    fn twin(&self, index: usize) -> Option<usize> {
        self.twins[index].filter(|twin| self.gathered[index].is_same_as(&self.gathered[*twin]))
    }

    /// Minimum and maximum, if the column has statistics.
    fn range(&mut self, index: usize) -> Option<(i64, i64)> {
        let (name, field) = &COLUMNS[index];
        if has_range(name, field) { self.gathered[index].all().range() } else { None }
    }

    fn encode(&mut self, index: usize, description: &ColumnDescPtr) -> Result<Encoded> {
        let (name, field) = &COLUMNS[index];
        match (field, self.gathered[index].all()) {
            (Field::Name(names, _), Values::Names(numbers)) => {
                names::encode(names, numbers, description.clone(), has_range(name, field))
            }
            (_, values) => Encoded::of(values, description.clone(), self.properties.clone()),
        }
    }
}

/// Observes the records written to a file, some at a time and in order.
pub(crate) type Observer<'a> = &'a mut dyn FnMut(&[Record]);

/// Writes records to a Parquet file.
pub(crate) struct RecordWriter<'a> {
    file: SerializedFileWriter<File>,
    /// Gets each chunk while it is cached.
    observer: Option<Observer<'a>>,
    /// Records whose fields are gathered next.
    chunk: Vec<Record>,
    columns: Columns,
    /// Number of records per row group.
    most: usize,
}

impl<'a> RecordWriter<'a> {
    /// Creates a file with at most `most` records per row group.
    pub(crate) fn create(
        path: &Path,
        key_values: KeyValues,
        most: usize,
    ) -> std::result::Result<RecordWriter<'a>, ArchiveError> {
        let most = most.clamp(CHUNK, ROW_GROUP);
        let file = new_file(path).map_err(|e| ArchiveError::io(path, e))?;
        let new = || -> Result<RecordWriter<'a>> {
            let types =
                COLUMNS.iter().map(|(name, field)| column_type(name, field)).collect::<Result<Vec<_>>>()?;
            let schema = Type::group_type_builder("record").with_fields(types).build()?;
            let properties = record_properties(key_values);
            let file = SerializedFileWriter::new(file, Arc::new(schema), properties.clone())?;
            let chunk = Vec::with_capacity(CHUNK);
            Ok(RecordWriter { file, observer: None, chunk, columns: Columns::new(properties), most })
        };
        new().map_err(|e| ArchiveError::parquet(path, e))
    }

    /// The same, with an observer of its records.
    pub(crate) fn observed_by(mut self, observer: Observer<'a>) -> RecordWriter<'a> {
        self.observer = Some(observer);
        self
    }

    #[inline]
    pub(crate) fn push(&mut self, record: &Record) -> Result<()> {
        self.chunk.push(*record);
        if self.chunk.len() == CHUNK { self.gather() } else { Ok(()) }
    }

    fn gather(&mut self) -> Result<()> {
        self.columns.gather(&self.chunk);
        if let Some(observer) = &mut self.observer {
            observer(&self.chunk);
        }
        self.chunk.clear();
        if self.columns.rows >= self.most { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        let descriptions = self.file.schema_descr().columns().to_vec();
        let mut group = self.file.next_row_group()?;
        self.columns.write(&descriptions, &mut group)?;
        group.close().map(drop)
    }

    /// Ends the file; returns it, because it is not synced yet.
    pub(crate) fn finish(mut self) -> Result<File> {
        self.gather()?;
        if self.columns.rows > 0 {
            self.flush()?;
        }
        self.file.into_inner()
    }
}

/// Calls `f` with every record of an open file, and returns their number; `path` is used in errors.
///
/// # Errors
/// Not a Parquet file of records, or reading failed.
pub fn read_records_from(
    file: File,
    path: &Path,
    f: &mut dyn FnMut(&Record),
) -> std::result::Result<u64, ArchiveError> {
    RecordFile::of(file, path)?.for_each(f)
}

/// An open Parquet file of records. Its parts, the row groups, may be read concurrently.
pub struct RecordFile {
    reader: SerializedFileReader<Shared>,
    path: PathBuf,
    /// Index of each column in the file.
    indices: Vec<usize>,
    /// Number of records before each part, and the total at the end.
    before: Vec<u64>,
}

impl RecordFile {
    /// Opens a file and checks its columns.
    ///
    /// # Errors
    /// Not a Parquet file of records, or reading failed.
    pub fn open(path: &Path) -> std::result::Result<RecordFile, ArchiveError> {
        RecordFile::of(File::open(path).map_err(|e| ArchiveError::io(path, e))?, path)
    }

    fn of(file: File, path: &Path) -> std::result::Result<RecordFile, ArchiveError> {
        let open = || {
            let reader = SerializedFileReader::new(Shared(Arc::new(file)))?;
            let indices = columns_of(&reader)?;
            let mut before = vec![0];
            for group in reader.metadata().row_groups() {
                before.push(before[before.len() - 1] + checked_rows(group.num_rows())? as u64);
            }
            Ok(RecordFile { reader, path: path.to_path_buf(), indices, before })
        };
        guarded(open).map_err(|e| ArchiveError::parquet(path, e))
    }

    /// Number of parts.
    pub fn parts(&self) -> usize {
        self.before.len() - 1
    }

    /// Number of records in all earlier parts.
    pub fn records_before(&self, part: usize) -> u64 {
        self.before[part]
    }

    /// Minimum and maximum due time, in nanoseconds, if the file has statistics.
    pub fn due_range(&self) -> Option<(u64, u64)> {
        let due = self.indices[COLUMNS.iter().position(|(name, _)| *name == "due_ns")?];
        let mut range = None;
        for group in self.reader.metadata().row_groups() {
            let Some(Statistics::Int64(known)) = group.column(due).statistics() else { return None };
            let (low, high) = (*known.min_opt()? as u64, *known.max_opt()? as u64);
            range = Some(range.map_or((low, high), |(l, h): (u64, u64)| (l.min(low), h.max(high))));
        }
        range
    }

    /// Calls `f` with every record, and returns their number.
    ///
    /// # Errors
    /// Reading failed.
    pub fn for_each(&self, f: &mut dyn FnMut(&Record)) -> std::result::Result<u64, ArchiveError> {
        for part in 0..self.parts() {
            self.read_part(part, Fields::ALL, &mut |records| records.iter().for_each(&mut *f))?;
        }
        Ok(self.records_before(self.parts()))
    }

    /// Passes the records of a part to `f`, some at a time; fields that are not `wanted` are those of [`Record::default`].
    ///
    /// # Errors
    /// Reading failed.
    pub fn read_part(
        &self,
        part: usize,
        wanted: Fields,
        f: &mut dyn FnMut(&[Record]),
    ) -> std::result::Result<(), ArchiveError> {
        let mut part = self.part(part, wanted)?;
        while let Some(some) = part.next_some() {
            f(some);
        }
        Ok(())
    }

    /// Decodes a part. Fields that are not `wanted` are those of [`Record::default`].
    ///
    /// # Errors
    /// Reading failed.
    pub fn part(&self, part: usize, wanted: Fields) -> std::result::Result<ColumnBatch, ArchiveError> {
        let rows = usize::try_from(self.before[part + 1] - self.before[part]).expect("a row group is small");
        let columns = guarded(|| read_group(&self.reader, part, &self.indices, rows, wanted));
        let columns = columns.map_err(|e| ArchiveError::parquet(&self.path, e))?;
        let (constant, varied): (Vec<Column>, Vec<Column>) = columns.into_iter().partition(|c| c.is_constant);
        let mut same = [Record::default()];
        constant.iter().for_each(|column| column.field.scatter(&mut same, &column.values, 0));
        let [same] = same;
        Ok(ColumnBatch { some: vec![same; CHUNK.min(rows)], shown: 0, same, varied, at: 0, rows })
    }
}

/// Records of a part as columns, which are smaller than records and cheaper to send to another thread.
pub struct ColumnBatch {
    /// Fields that all records have in common.
    same: Record,
    varied: Vec<Column>,
    /// Records already returned.
    at: usize,
    rows: usize,
    /// Buffer for some records built from the columns, and their number.
    some: Vec<Record>,
    shown: usize,
}

impl ColumnBatch {
    /// Returns some more records; `None` at the end.
    pub fn next_some(&mut self) -> Option<&[Record]> {
        self.shown = CHUNK.min(self.rows - self.at);
        let some = &mut self.some[..self.shown];
        // Marks are added one by one; everything else is overwritten, or constant.
        some.iter_mut().for_each(|record| record.marks = self.same.marks);
        self.varied.iter().for_each(|column| column.field.scatter(some, &column.values, self.at));
        self.at += self.shown;
        (self.shown > 0).then(|| self.shown())
    }

    /// Returns the records of the last call; empty before the first.
    pub fn shown(&self) -> &[Record] {
        &self.some[..self.shown]
    }
}

/// A file read by several threads at different offsets.
pub(crate) struct Shared(pub(crate) Arc<File>);

impl Length for Shared {
    fn len(&self) -> u64 {
        self.0.metadata().map_or(0, |m| m.len())
    }
}

impl ChunkReader for Shared {
    type T = BufReader<From>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(BufReader::with_capacity(HEADER, From { file: self.0.clone(), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let end = start.checked_add(length as u64).filter(|end| *end <= self.len());
        end.ok_or_else(|| ParquetError::EOF("it is cut off".into()))?;
        let mut bytes = vec![0; length];
        self.0.read_exact_at(&mut bytes, start)?;
        Ok(bytes.into())
    }
}

/// A file from some offset on.
pub(crate) struct From {
    file: Arc<File>,
    at: u64,
}

impl Read for From {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        // Each page is followed by the file's footer. A damaged header may count far more fields than there are bytes,
        // and the library does not stop at the end of its input.
        if read == 0 && !buffer.is_empty() {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.at += read as u64;
        Ok(read)
    }
}

/// A selected column of a part.
struct Column {
    name: &'static str,
    field: &'static Field,
    /// One value per record, or a single one.
    values: Values,
    /// Whether all values equal the first.
    is_constant: bool,
}

/// Converts panics to errors: the library panics on some damaged files.
pub(crate) fn guarded<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    let damaged = |_| Err(ParquetError::General("it is damaged".into()));
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(damaged)
}

/// Index of each column in the file.
fn columns_of(reader: &SerializedFileReader<Shared>) -> Result<Vec<usize>> {
    let columns = reader.metadata().file_metadata().schema_descr().columns();
    let index_of = |(name, field): &(&str, Field)| {
        let index = index_named(columns, name)?;
        let want = column_type(name, field)?.get_physical_type();
        check_type(&columns[index], want).map(|()| index)
    };
    COLUMNS.iter().map(index_of).collect()
}

/// Limits a damaged number, which would otherwise request that much memory.
pub(crate) fn checked_rows(rows: i64) -> Result<usize> {
    let rows = usize::try_from(rows).ok().filter(|rows| *rows <= ROW_GROUP);
    rows.ok_or_else(|| ParquetError::General("a row group of impossible size".into()))
}

fn read_group(
    reader: &SerializedFileReader<Shared>,
    group: usize,
    indices: &[usize],
    rows: usize,
    wanted: Fields,
) -> Result<Vec<Column>> {
    let group = reader.get_row_group(group)?;
    let read = |(number, ((name, field), index)): (usize, (&'static (&'static str, Field), &usize))| {
        wanted.has(number).then(|| {
            if let Some(values) = known_value(field, group.metadata().column(*index)) {
                return Ok(Column { name, field, values, is_constant: true });
            }
            let values = read_values(field, *index, group.as_ref(), rows)?;
            Ok(Column { name, field, is_constant: values.constant().is_some(), values })
        })
    };
    let columns = COLUMNS.iter().zip(indices).enumerate().filter_map(read).collect::<Result<Vec<_>>>()?;
    check_extents(&columns, "requested_offset_bytes", "requested_length_bytes")?;
    check_extents(&columns, "executed_offset_bytes", "executed_length_bytes")?;
    Ok(columns)
}

/// Refuses requests beyond any file: readers compute ends without checks. An unselected column is zero in each record.
fn check_extents(columns: &[Column], offset: &str, length: &str) -> Result<()> {
    let words = |name| match columns.iter().find(|column| column.name == name).map(|column| &column.values) {
        Some(Values::Words(words)) => words.as_slice(),
        _ => &[],
    };
    let (offsets, lengths) = (words(offset), words(length));
    let at = |words: &[i64], i| words.get(i).copied().unwrap_or_default() as u64;
    let fits = |i| Extent::new(at(offsets, i), at(lengths, i)).is_some();
    match (0..offsets.len().max(lengths.len())).all(fits) {
        true => Ok(()),
        false => Err(ParquetError::General(BEYOND.into())),
    }
}

/// The value of every record, if the statistics show that it is constant.
fn known_value(field: &Field, column: &ColumnChunkMetaData) -> Option<Values> {
    if column.column_descr().max_def_level() > 0 {
        // Some rows may have no value.
        return None;
    }
    match (field, column.statistics()?) {
        (Field::Mark(_), Statistics::Boolean(known)) => {
            let value = *known.min_opt().filter(|min| known.max_opt() == Some(min))?;
            Some(Values::Flags(vec![value]))
        }
        (Field::Name(names, _), Statistics::ByteArray(known)) => {
            let value = known.min_opt().filter(|min| known.max_opt() == Some(min))?;
            let number = names.iter().position(|name| name.as_bytes() == value.data())?;
            Some(Values::Names(vec![number as u8]))
        }
        _ => None,
    }
}

/// A sample of a named time series. All samples of a name share it.
struct Sample {
    time: i64,
    name: ByteArray,
    value: f64,
}

/// Writes a named time series as Parquet: `time_ns`, `name`, `value`.
///
/// Memory: one row group and one copy of each name, for any length of the run.
pub(crate) struct SeriesWriter {
    file: SerializedFileWriter<File>,
    samples: Vec<Sample>,
    names: HashMap<String, ByteArray>,
}

impl SeriesWriter {
    pub(crate) fn create(
        path: &Path,
        key_values: KeyValues,
    ) -> std::result::Result<SeriesWriter, ArchiveError> {
        let file = new_file(path).map_err(|e| ArchiveError::io(path, e))?;
        let properties = Arc::new(common_properties(key_values).build());
        let file = series_schema().and_then(|schema| SerializedFileWriter::new(file, schema, properties));
        let file = file.map_err(|e| ArchiveError::parquet(path, e))?;
        Ok(SeriesWriter { file, samples: Vec::new(), names: HashMap::new() })
    }

    pub(crate) fn push(&mut self, time_ns: u64, name: &str, value: f64) -> Result<()> {
        let name = self.intern(name);
        self.samples.push(Sample { time: time_ns as i64, name, value });
        if self.samples.len() == ROW_GROUP { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        let mut group = self.file.next_row_group()?;
        write_samples(&self.samples, &mut group)?;
        group.close()?;
        self.samples.clear();
        Ok(())
    }

    fn intern(&mut self, name: &str) -> ByteArray {
        if let Some(known) = self.names.get(name) {
            return known.clone();
        }
        let new = ByteArray::from(name);
        self.names.insert(name.into(), new.clone());
        new
    }

    /// Ends the file; returns it, because it is not synced yet.
    pub(crate) fn finish(mut self) -> Result<File> {
        if !self.samples.is_empty() {
            self.flush()?;
        }
        self.file.into_inner()
    }
}

/// Index of each column of `schema` in a file; others are ignored.
pub(crate) fn columns_like(reader: &SerializedFileReader<Shared>, schema: &TypePtr) -> Result<Vec<usize>> {
    let columns = reader.metadata().file_metadata().schema_descr().columns();
    let index_of = |wanted: &TypePtr| {
        let index = index_named(columns, wanted.name())?;
        check_type(&columns[index], wanted.get_physical_type()).map(|()| index)
    };
    schema.get_fields().iter().map(index_of).collect()
}

/// Calls a function with every sample of a named time series.
pub(crate) fn read_series(
    path: &Path,
    f: &mut dyn FnMut(u64, &str, f64),
) -> std::result::Result<(), ArchiveError> {
    let mut read = || {
        let file = File::open(path)?;
        let reader = SerializedFileReader::new(Shared(Arc::new(file)))?;
        let [time, name, value] = columns_like(&reader, &series_schema()?)?[..] else { unreachable!() };
        for number in 0..reader.num_row_groups() {
            let group = reader.get_row_group(number)?;
            let rows = checked_rows(group.metadata().num_rows())?;
            let times = read_column::<Int64Type>(time, group.as_ref(), rows)?;
            let names = read_column::<ByteArrayType>(name, group.as_ref(), rows)?;
            let values = read_column::<DoubleType>(value, group.as_ref(), rows)?;
            for ((time, name), value) in times.iter().zip(&names).zip(&values) {
                f(*time as u64, name.as_utf8()?, *value);
            }
        }
        Ok(())
    };
    guarded(&mut read).map_err(|e| ArchiveError::parquet(path, e))
}

fn write_samples(rows: &[Sample], group: &mut SerializedRowGroupWriter<'_, File>) -> Result<()> {
    let times: Vec<i64> = rows.iter().map(|r| r.time).collect();
    write_column::<Int64Type>(group, &times, None)?;
    let names: Vec<ByteArray> = rows.iter().map(|r| r.name.clone()).collect();
    write_column::<ByteArrayType>(group, &names, None)?;
    let values: Vec<f64> = rows.iter().map(|r| r.value).collect();
    write_column::<DoubleType>(group, &values, None)
}

fn series_schema() -> Result<TypePtr> {
    let column = |name, physical, logical| {
        let builder = Type::primitive_type_builder(name, physical).with_logical_type(logical);
        builder.with_repetition(Repetition::REQUIRED).build().map(Arc::new)
    };
    let columns = vec![
        column("time_ns", Physical::INT64, Some(LogicalType::integer(64, false)))?,
        column("name", Physical::BYTE_ARRAY, Some(LogicalType::String))?,
        column("value", Physical::DOUBLE, None)?,
    ];
    Type::group_type_builder("series").with_fields(columns).build().map(Arc::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found by fuzzing: a dictionary that claims 2^29 values took 4 GB, and a header with a list of 2^31 fields minutes.
    #[test]
    fn rejects_absurd_sizes_in_damaged_headers() {
        for name in ["huge-dictionary", "endless-head"] {
            let path =
                Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/record_parquet").join(name);
            let file = File::open(&path).unwrap();
            assert!(read_records_from(file, &path, &mut |_| {}).is_err(), "{name}");
        }
    }
}

#[cfg(test)]
mod cost {
    use super::*;
    use iosonar_os::usage::own_cpu_time;
    use iosonar_plan::Nanos;

    fn closed_loop(n: u64) -> Record {
        let place = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let executed = Extent { offset: place * 4_096, length: 4_096 };
        let due = Nanos(n * 70 + place % 64);
        Record {
            sequence: n,
            load_time: due,
            due,
            submitted: Some(Nanos(due.0 + 150 + place % 100)),
            completed: Some(Nanos(due.0 + 90_150 + place % 9_000)),
            reap_lag: Nanos(place % 500),
            requested: executed,
            executed,
            result: 4_096,
            ..Record::default()
        }
    }

    fn cpu() -> u64 {
        let used = own_cpu_time();
        used.user_ns + used.system_ns
    }

    /// CPU time per record: `cargo test --release -p iosonar-archive cost -- --ignored --nocapture`.
    #[test]
    #[ignore = "a measurement"]
    fn nanoseconds_per_record() {
        const COUNT: u64 = 2_000_000;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("records.parquet");
        let before = cpu();
        let mut writer = RecordWriter::create(&path, Vec::new(), ROW_GROUP).unwrap();
        (0..COUNT).for_each(|n| writer.push(&closed_loop(n)).unwrap());
        writer.finish().unwrap();
        println!("write {} ns", (cpu() - before) / COUNT);
        let before = cpu();
        read_records_from(File::open(&path).unwrap(), &path, &mut |_| {}).unwrap();
        println!("read {} ns, {} bytes", (cpu() - before) / COUNT, path.metadata().unwrap().len() / COUNT);
        let rows: Vec<Record> = (0..ROW_GROUP as u64).map(closed_loop).collect();
        for (name, field) in &COLUMNS {
            let schema = Type::group_type_builder("r").with_fields(vec![column_type(name, field).unwrap()]);
            let file = File::create(&path).unwrap();
            let mut writer =
                SerializedFileWriter::new(file, Arc::new(schema.build().unwrap()), record_properties(vec![]))
                    .unwrap();
            let group_schema = writer.schema_descr().clone();
            let before = cpu();
            for _ in 0..30 {
                let mut group = writer.next_row_group().unwrap();
                let mut values = field.values(ROW_GROUP);
                rows.chunks(CHUNK).for_each(|chunk| field.gather(chunk, &mut values));
                if let (Field::Name(names, _), Values::Names(numbers)) = (field, &values) {
                    let description = group_schema.columns()[0].clone();
                    let column = names::encode(names, numbers, description, false).unwrap();
                    column.write(&mut group).unwrap();
                } else {
                    write_varied(&values, &mut group).unwrap();
                }
                group.close().unwrap();
            }
            let cost = (cpu() - before) as f64 / 30.0 / ROW_GROUP as f64;
            writer.close().unwrap();
            println!(
                "{name:>24} {cost:5.1} ns {:5.2} bytes",
                path.metadata().unwrap().len() as f64 / 30.0 / ROW_GROUP as f64
            );
        }
    }
}
