//! Records and series as Parquet: what a finished archive holds, and what pandas, Polars and DuckDB open.
//!
//! One table describes every column once; writing and reading both follow it.

use crate::{ArchiveError, Marks, Outcome, Record};
use iosonar_plan::{Nanos, Op};
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterPropertiesPtr};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnDescriptor, ColumnPath, Type, TypePtr};
use std::collections::HashMap;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

/// Rows in a row group: what a writer or reader holds in memory at a time.
const ROW_GROUP: usize = 1 << 16;

/// How a field of a record becomes a column.
pub(crate) enum Field {
    /// Unsigned 64-bit.
    Word(fn(&Record) -> u64, fn(&mut Record, u64)),
    /// Unsigned 64-bit, or absent.
    Optional(fn(&Record) -> Option<u64>, fn(&mut Record, Option<u64>)),
    /// Signed 64-bit.
    Signed(fn(&Record) -> i64, fn(&mut Record, i64)),
    /// Unsigned 32-bit.
    Small(fn(&Record) -> u32, fn(&mut Record, u32)),
    /// A word out of a fixed list, by its index.
    Name(&'static [&'static str], fn(&Record) -> usize, fn(&mut Record, usize)),
    /// True or false.
    Mark(Marks),
}

const OP_NAMES: [&str; 2] = ["read", "write"];
const OUTCOME_NAMES: [&str; 4] = ["completed", "failed", "dropped", "cancelled"];

/// Every column of `records.parquet` and of the text forms, in order. `docs/archive.md` explains them.
pub(crate) const COLUMNS: [(&str, Field); 28] = [
    ("sequence", Field::Word(|r| r.sequence, |r, v| r.sequence = v)),
    ("target", Field::Small(|r| r.target.into(), |r, v| r.target = v as u16)),
    ("worker", Field::Small(|r| r.worker.into(), |r, v| r.worker = v as u16)),
    ("pass", Field::Small(|r| r.pass, |r, v| r.pass = v)),
    ("phase", Field::Small(|r| r.phase.into(), |r, v| r.phase = v as u16)),
    ("op", Field::Name(&OP_NAMES, |r| r.op as usize, |r, v| r.op = Op::ALL[v])),
    ("outcome", Field::Name(&OUTCOME_NAMES, |r| r.outcome as usize, |r, v| r.outcome = Outcome::ALL[v])),
    ("load_time_ns", Field::Word(|r| r.load_time.0, |r, v| r.load_time = Nanos(v))),
    ("due_ns", Field::Word(|r| r.due.0, |r, v| r.due = Nanos(v))),
    ("released_ns", Field::Optional(|r| r.released.map(|t| t.0), |r, v| r.released = v.map(Nanos))),
    ("blocked_by", Field::Optional(|r| r.blocked_by, |r, v| r.blocked_by = v)),
    ("submitted_ns", Field::Optional(|r| r.submitted.map(|t| t.0), |r, v| r.submitted = v.map(Nanos))),
    ("completed_ns", Field::Optional(|r| r.completed.map(|t| t.0), |r, v| r.completed = v.map(Nanos))),
    ("reap_lag_ns", Field::Word(|r| r.reap_lag.0, |r, v| r.reap_lag = Nanos(v))),
    ("requested_offset_bytes", Field::Word(|r| r.requested.offset, |r, v| r.requested.offset = v)),
    ("requested_length_bytes", Field::Word(|r| r.requested.length, |r, v| r.requested.length = v)),
    ("executed_offset_bytes", Field::Word(|r| r.executed.offset, |r, v| r.executed.offset = v)),
    ("executed_length_bytes", Field::Word(|r| r.executed.length, |r, v| r.executed.length = v)),
    ("result", Field::Signed(|r| r.result, |r, v| r.result = v)),
    ("pushed", Field::Mark(Marks::PUSHED)),
    ("ordered", Field::Mark(Marks::ORDERED)),
    ("wrapped", Field::Mark(Marks::WRAPPED)),
    ("at_border", Field::Mark(Marks::AT_BORDER)),
    ("rounded", Field::Mark(Marks::ROUNDED)),
    ("short", Field::Mark(Marks::SHORT)),
    ("held", Field::Mark(Marks::HELD)),
    ("no_buffer", Field::Mark(Marks::NO_BUFFER)),
    ("ramp", Field::Mark(Marks::RAMP)),
];

impl Field {
    fn column_type(&self, name: &str) -> Result<TypePtr> {
        let unsigned = |bits| Some(LogicalType::integer(bits, false));
        let (physical, logical, repetition) = match self {
            Field::Word(..) => (Physical::INT64, unsigned(64), Repetition::REQUIRED),
            Field::Optional(..) => (Physical::INT64, unsigned(64), Repetition::OPTIONAL),
            Field::Signed(..) => (Physical::INT64, None, Repetition::REQUIRED),
            Field::Small(..) => (Physical::INT32, unsigned(32), Repetition::REQUIRED),
            Field::Name(..) => (Physical::BYTE_ARRAY, Some(LogicalType::String), Repetition::REQUIRED),
            Field::Mark(_) => (Physical::BOOLEAN, None, Repetition::REQUIRED),
        };
        let column = Type::primitive_type_builder(name, physical)
            .with_logical_type(logical)
            .with_repetition(repetition);
        Ok(Arc::new(column.build()?))
    }

    /// Whether a file's column is of the type that is read: the library panics over another.
    fn check(&self, column: &ColumnDescriptor) -> Result<()> {
        let want = self.column_type(column.name())?;
        let levels = (i16::from(matches!(self, Field::Optional(..))), 0);
        if column.physical_type() != want.get_physical_type()
            || (column.max_def_level(), column.max_rep_level()) != levels
        {
            return Err(ParquetError::General(format!("column {} is of another type", column.name())));
        }
        Ok(())
    }

    fn write(&self, rows: &[Record], group: &mut SerializedRowGroupWriter<'_, File>) -> Result<()> {
        match self {
            Field::Word(get, _) => {
                let values: Vec<i64> = rows.iter().map(|r| get(r) as i64).collect();
                write_column::<Int64Type>(group, &values, None)
            }
            Field::Signed(get, _) => {
                let values: Vec<i64> = rows.iter().map(get).collect();
                write_column::<Int64Type>(group, &values, None)
            }
            Field::Optional(get, _) => {
                let levels: Vec<i16> = rows.iter().map(|r| get(r).is_some().into()).collect();
                let values: Vec<i64> = rows.iter().filter_map(get).map(|v| v as i64).collect();
                write_column::<Int64Type>(group, &values, Some(&levels))
            }
            Field::Small(get, _) => {
                let values: Vec<i32> = rows.iter().map(|r| get(r) as i32).collect();
                write_column::<Int32Type>(group, &values, None)
            }
            Field::Name(names, get, _) => {
                let names: Vec<ByteArray> = names.iter().map(|n| ByteArray::from(*n)).collect();
                let values: Vec<ByteArray> = rows.iter().map(|r| names[get(r)].clone()).collect();
                write_column::<ByteArrayType>(group, &values, None)
            }
            Field::Mark(mark) => {
                let values: Vec<bool> = rows.iter().map(|r| r.marks.has(*mark)).collect();
                write_column::<BoolType>(group, &values, None)
            }
        }
    }

    fn read(&self, index: usize, group: &dyn RowGroupReader, rows: &mut [Record]) -> Result<()> {
        match self {
            Field::Word(_, set) => each::<Int64Type>(index, group, rows, |r, v| {
                set(r, *v as u64);
                Ok(())
            }),
            Field::Signed(_, set) => each::<Int64Type>(index, group, rows, |r, v| {
                set(r, *v);
                Ok(())
            }),
            Field::Small(_, set) => each::<Int32Type>(index, group, rows, |r, v| {
                set(r, *v as u32);
                Ok(())
            }),
            Field::Name(names, _, set) => each::<ByteArrayType>(index, group, rows, |r, v| {
                let found = names.iter().position(|n| n.as_bytes() == v.data());
                set(
                    r,
                    found.ok_or_else(|| {
                        ParquetError::General(format!("column {index} holds an unknown word"))
                    })?,
                );
                Ok(())
            }),
            Field::Mark(mark) => each::<BoolType>(index, group, rows, |r, v| {
                r.marks = r.marks.with(*mark, *v);
                Ok(())
            }),
            Field::Optional(_, set) => {
                let (values, levels) = read_column::<Int64Type>(index, group, rows.len())?;
                let mut values = values.iter();
                for (row, level) in rows.iter_mut().zip(levels) {
                    set(row, (level == 1).then(|| values.next().copied().unwrap_or_default() as u64));
                }
                Ok(())
            }
        }
    }
}

fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<()> {
    let mut column = group.next_column()?.ok_or_else(|| ParquetError::General("too many columns".into()))?;
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}

fn read_column<T: DataType>(
    index: usize,
    group: &dyn RowGroupReader,
    rows: usize,
) -> Result<(Vec<T::T>, Vec<i16>)> {
    let mut reader = get_typed_column_reader::<T>(group.get_column_reader(index)?);
    let (mut values, mut levels) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    let (records, ..) = reader.read_records(rows, Some(&mut levels), None, &mut values)?;
    if records != rows {
        return Err(ParquetError::General(format!("column {index} holds {records} of {rows} rows")));
    }
    Ok((values, levels))
}

fn each<T: DataType>(
    index: usize,
    group: &dyn RowGroupReader,
    rows: &mut [Record],
    set: impl Fn(&mut Record, &T::T) -> Result<()>,
) -> Result<()> {
    let (values, _) = read_column::<T>(index, group, rows.len())?;
    rows.iter_mut().zip(&values).try_for_each(|(row, value)| set(row, value))
}

/// What a file says about itself beside its columns.
pub(crate) type KeyValues = Vec<(&'static str, String)>;

fn common_properties(key_values: KeyValues) -> WriterPropertiesBuilder {
    let key_values = key_values.into_iter().map(|(k, v)| KeyValue::new(k.into(), v)).collect();
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1).expect("level 1 exists")))
        .set_created_by(concat!("iosonar ", env!("CARGO_PKG_VERSION")).into())
        .set_key_value_metadata(Some(key_values))
}

fn record_properties(key_values: KeyValues) -> WriterPropertiesPtr {
    let mut builder = common_properties(key_values)
        .set_dictionary_enabled(false)
        .set_statistics_enabled(parquet::file::properties::EnabledStatistics::Chunk);
    for (name, field) in &COLUMNS {
        let path = ColumnPath::from(*name);
        builder = match field {
            // Times and addresses grow by small steps: differences take a fraction of the space.
            Field::Word(..) | Field::Optional(..) => {
                builder.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED)
            }
            Field::Name(..) | Field::Small(..) => builder.set_column_dictionary_enabled(path, true),
            Field::Signed(..) | Field::Mark(_) => builder,
        };
    }
    Arc::new(builder.build())
}

/// Rows on their way into a Parquet file: written when they fill a row group, and at the end.
struct Groups<Row> {
    file: SerializedFileWriter<File>,
    rows: Vec<Row>,
    /// Writes all columns of a row group.
    write: fn(&[Row], &mut SerializedRowGroupWriter<'_, File>) -> Result<()>,
}

impl<Row> Groups<Row> {
    fn push(&mut self, row: Row) -> Result<()> {
        self.rows.push(row);
        if self.rows.len() == ROW_GROUP { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        let mut group = self.file.next_row_group()?;
        (self.write)(&self.rows, &mut group)?;
        group.close()?;
        self.rows.clear();
        Ok(())
    }

    /// Ends the file; gives it back, because what is written is not on the disk yet.
    fn finish(mut self) -> Result<File> {
        if !self.rows.is_empty() {
            self.flush()?;
        }
        self.file.into_inner()
    }
}

/// Writes records to a Parquet file.
pub(crate) struct RecordWriter(Groups<Record>);

impl RecordWriter {
    pub(crate) fn create(
        path: &Path,
        key_values: KeyValues,
    ) -> std::result::Result<RecordWriter, ArchiveError> {
        let file = File::create(path).map_err(|e| ArchiveError::io(path, e))?;
        let new = || -> Result<RecordWriter> {
            let columns =
                COLUMNS.iter().map(|(name, field)| field.column_type(name)).collect::<Result<Vec<_>>>()?;
            let schema = Type::group_type_builder("record").with_fields(columns).build()?;
            let file = SerializedFileWriter::new(file, Arc::new(schema), record_properties(key_values))?;
            Ok(RecordWriter(Groups { file, rows: Vec::with_capacity(ROW_GROUP), write: write_records }))
        };
        new().map_err(|e| ArchiveError::parquet(path, e))
    }

    pub(crate) fn push(&mut self, record: &Record) -> Result<()> {
        self.0.push(*record)
    }

    /// Ends the file; gives it back, because what is written is not on the disk yet.
    pub(crate) fn finish(self) -> Result<File> {
        self.0.finish()
    }
}

fn write_records(rows: &[Record], group: &mut SerializedRowGroupWriter<'_, File>) -> Result<()> {
    COLUMNS.iter().try_for_each(|(_, field)| field.write(rows, group))
}

/// Calls `f` with every record of a Parquet file; gives their number.
pub(crate) fn read_records(
    path: &Path,
    f: &mut dyn FnMut(&Record),
) -> std::result::Result<u64, ArchiveError> {
    read_records_from(File::open(path).map_err(|e| ArchiveError::io(path, e))?, path, f)
}

/// The same for an open file; `path` is what an error names.
///
/// # Errors
/// What is no Parquet file of records, or cannot be read.
pub fn read_records_from(
    file: File,
    path: &Path,
    f: &mut dyn FnMut(&Record),
) -> std::result::Result<u64, ArchiveError> {
    read_file(file, f).map_err(|e| ArchiveError::parquet(path, e))
}

fn read_file(file: File, f: &mut dyn FnMut(&Record)) -> Result<u64> {
    let (reader, indices) = guarded(|| {
        let reader = SerializedFileReader::new(file)?;
        let indices = columns_of(&reader)?;
        Ok((reader, indices))
    })?;
    let mut total = 0;
    for group in 0..reader.num_row_groups() {
        let rows = guarded(|| read_group(&reader, group, &indices))?;
        rows.iter().for_each(&mut *f);
        total += rows.len() as u64;
    }
    Ok(total)
}

/// What the library finds in a damaged file, it partly tells by a panic.
fn guarded<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    let damaged = |_| Err(ParquetError::General("it is damaged".into()));
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(damaged)
}

/// Where each of our columns is.
fn columns_of(reader: &SerializedFileReader<File>) -> Result<Vec<usize>> {
    let columns = reader.metadata().file_metadata().schema_descr().columns();
    let index_of = |(name, field): &(&str, Field)| {
        let found = columns.iter().position(|c| c.name() == *name);
        let index = found.ok_or_else(|| ParquetError::General(format!("column {name} is missing")))?;
        field.check(&columns[index]).map(|()| index)
    };
    COLUMNS.iter().map(index_of).collect()
}

fn read_group(reader: &SerializedFileReader<File>, group: usize, indices: &[usize]) -> Result<Vec<Record>> {
    let group = reader.get_row_group(group)?;
    // A damaged number must not become a request for that much memory.
    let rows = usize::try_from(group.metadata().num_rows()).ok().filter(|rows| *rows <= ROW_GROUP);
    let rows = rows.ok_or_else(|| ParquetError::General("a row group of impossible size".into()))?;
    let mut rows = vec![Record::default(); rows];
    for ((_, field), index) in COLUMNS.iter().zip(indices) {
        field.read(*index, group.as_ref(), &mut rows)?;
    }
    Ok(rows)
}

/// One sample of a named time series. Its name is shared with all others of that name.
struct Sample {
    time: i64,
    name: ByteArray,
    value: f64,
}

/// Writes a named time series as Parquet: `time_ns`, `name`, `value`.
///
/// It holds one row group and one copy of each name, however long the run was.
pub(crate) struct SeriesWriter {
    groups: Groups<Sample>,
    names: HashMap<String, ByteArray>,
}

impl SeriesWriter {
    pub(crate) fn create(
        path: &Path,
        key_values: KeyValues,
    ) -> std::result::Result<SeriesWriter, ArchiveError> {
        let file = File::create(path).map_err(|e| ArchiveError::io(path, e))?;
        let properties = Arc::new(common_properties(key_values).build());
        let file = series_schema().and_then(|schema| SerializedFileWriter::new(file, schema, properties));
        let file = file.map_err(|e| ArchiveError::parquet(path, e))?;
        let groups = Groups { file, rows: Vec::new(), write: write_samples };
        Ok(SeriesWriter { groups, names: HashMap::new() })
    }

    pub(crate) fn push(&mut self, time_ns: u64, name: &str, value: f64) -> Result<()> {
        let name = self.intern(name);
        self.groups.push(Sample { time: time_ns as i64, name, value })
    }

    fn intern(&mut self, name: &str) -> ByteArray {
        if let Some(known) = self.names.get(name) {
            return known.clone();
        }
        let new = ByteArray::from(name);
        self.names.insert(name.into(), new.clone());
        new
    }

    /// Ends the file; gives it back, because what is written is not on the disk yet.
    pub(crate) fn finish(self) -> Result<File> {
        self.groups.finish()
    }
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

    #[test]
    fn the_name_lists_follow_the_enums() {
        assert_eq!(OP_NAMES.to_vec(), Op::ALL.map(Op::name).to_vec());
        assert_eq!(OUTCOME_NAMES.to_vec(), Outcome::ALL.map(Outcome::name).to_vec());
        assert!(Marks::ALL.iter().all(|(mark, name)| {
            COLUMNS
                .iter()
                .any(|(column, field)| column == name && matches!(field, Field::Mark(m) if m == mark))
        }));
    }
}
