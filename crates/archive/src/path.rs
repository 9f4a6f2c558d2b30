//! Times of requests in the kernel as Parquet: `sequence`, `target`, `phase`, `pass`, `due_ns`, `submitted_ns`, `queued_ns`,
//! `issued_ns`, `done_ns`, `completed_ns`. Counts of the requests without such times are in the key-value metadata, under
//! `iosonar.path`.

use crate::ArchiveError;
use crate::parquet::{
    KeyValues, ROW_GROUP, Shared, checked_rows, columns_like, common_properties, guarded, read_column,
    read_optional, write_column,
};
use iosonar_os::create::new_file;
use iosonar_plan::Nanos;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Key of the counts.
const COUNTS: &str = "iosonar.path";

/// A completed request with its times in the kernel, all on the clock of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestPath {
    /// Number of the request, as in its record.
    pub sequence: u64,
    /// Target.
    pub target: u16,
    /// Phase.
    pub phase: u16,
    /// Pass.
    pub pass: u32,
    /// Due time.
    pub due: Nanos,
    /// Submission.
    pub submitted: Nanos,
    /// The kernel queued its first piece.
    pub queued: Nanos,
    /// The kernel issued its first piece to the driver; `None` for devices without a queue of requests.
    pub issued: Option<Nanos>,
    /// The device had completed all of it.
    pub done: Nanos,
    /// The run saw its completion.
    pub completed: Nanos,
}

/// Counts of completed requests after the ramp, by what is known of their path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PathCounts {
    /// With times in the kernel.
    pub joined: u64,
    /// Without events that cover them.
    pub not_joined: u64,
    /// Without a place on the device: flushes, holes, preallocated blocks, files without a map.
    pub without_place: u64,
    /// Not within one of the recorded windows of time. The other counts are those of requests within.
    #[serde(default)]
    pub not_sampled: u64,
    /// Latencies within and outside of the windows; absent if all of the run was recorded, or one of them has no requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled_latency: Option<SampledLatency>,
    /// Places in the events that could not be read.
    #[serde(default)]
    pub damaged_events: u64,
    /// Requests of the kernel that were given up because too many waited for a request of the run.
    #[serde(default)]
    pub dropped_events: u64,
}

/// Medians of the latency of requests that were traced, and of those that were not: the difference is the cost of tracing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampledLatency {
    /// While events were recorded.
    pub traced_p50_ns: u64,
    /// At other times.
    pub untraced_p50_ns: u64,
    /// Number of requests that were not traced, but for those at the borders of windows.
    pub untraced: u64,
}

/// Writes paths one after the other, in bounded memory.
pub(crate) struct PathWriter {
    file: SerializedFileWriter<File>,
    rows: Vec<RequestPath>,
}

impl PathWriter {
    pub(crate) fn create(
        path: &Path,
        key_values: KeyValues,
    ) -> std::result::Result<PathWriter, ArchiveError> {
        let file = new_file(path).map_err(|e| ArchiveError::io(path, e))?;
        let properties = Arc::new(common_properties(key_values).build());
        let file = schema().and_then(|schema| SerializedFileWriter::new(file, schema, properties));
        let file = file.map_err(|e| ArchiveError::parquet(path, e))?;
        Ok(PathWriter { file, rows: Vec::new() })
    }

    pub(crate) fn push(&mut self, row: RequestPath) -> Result<()> {
        self.rows.push(row);
        if self.rows.len() == ROW_GROUP { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.rows);
        let mut group = self.file.next_row_group()?;
        let words = |of: fn(&RequestPath) -> u64| rows.iter().map(|row| of(row) as i64).collect::<Vec<_>>();
        let numbers = |of: fn(&RequestPath) -> u32| rows.iter().map(|row| of(row) as i32).collect::<Vec<_>>();
        write_column::<Int64Type>(&mut group, &words(|row| row.sequence), None)?;
        write_column::<Int32Type>(&mut group, &numbers(|row| row.target.into()), None)?;
        write_column::<Int32Type>(&mut group, &numbers(|row| row.phase.into()), None)?;
        write_column::<Int32Type>(&mut group, &numbers(|row| row.pass), None)?;
        write_column::<Int64Type>(&mut group, &words(|row| row.due.0), None)?;
        write_column::<Int64Type>(&mut group, &words(|row| row.submitted.0), None)?;
        write_column::<Int64Type>(&mut group, &words(|row| row.queued.0), None)?;
        let issued: Vec<i64> = rows.iter().filter_map(|row| row.issued.map(|time| time.0 as i64)).collect();
        let levels: Vec<i16> = rows.iter().map(|row| row.issued.is_some().into()).collect();
        write_column::<Int64Type>(&mut group, &issued, Some(&levels))?;
        write_column::<Int64Type>(&mut group, &words(|row| row.done.0), None)?;
        write_column::<Int64Type>(&mut group, &words(|row| row.completed.0), None)?;
        group.close().map(drop)
    }

    /// Ends the file; returns it, because it is not synced yet.
    pub(crate) fn finish(mut self, counts: &PathCounts) -> Result<File> {
        if !self.rows.is_empty() {
            self.flush()?;
        }
        let counts = serde_json::to_string(counts).expect("plain data becomes JSON");
        self.file.append_key_value_metadata(KeyValue::new(COUNTS.into(), counts));
        self.file.into_inner()
    }
}

/// Calls `f` with each path, in the order in which they were written, and returns the counts.
pub(crate) fn read_paths(
    path: &Path,
    f: &mut dyn FnMut(&RequestPath),
) -> std::result::Result<PathCounts, ArchiveError> {
    let read = || {
        let reader = SerializedFileReader::new(Shared(Arc::new(File::open(path)?)))?;
        let columns = columns_like(&reader, &schema()?)?;
        let counts = counts(&reader)?;
        for number in 0..reader.num_row_groups() {
            let group = reader.get_row_group(number)?;
            rows(group.as_ref(), &columns)?.iter().for_each(&mut *f);
        }
        Ok(counts)
    };
    guarded(read).map_err(|e| ArchiveError::parquet(path, e))
}

fn damaged(why: &str) -> ParquetError {
    ParquetError::General(why.into())
}

fn counts(reader: &SerializedFileReader<Shared>) -> Result<PathCounts> {
    let pairs = reader.metadata().file_metadata().key_value_metadata();
    let text = pairs.into_iter().flatten().find(|pair| pair.key == COUNTS);
    let text = text.and_then(|pair| pair.value.as_ref()).ok_or_else(|| damaged("it has no counts"))?;
    serde_json::from_str(text).map_err(|error| ParquetError::General(error.to_string()))
}

/// Reads the rows of a part; `columns` has the index of each column of [`schema`].
fn rows(group: &dyn RowGroupReader, columns: &[usize]) -> Result<Vec<RequestPath>> {
    let rows = checked_rows(group.metadata().num_rows())?;
    let words = |column: usize| read_column::<Int64Type>(columns[column], group, rows);
    let numbers = |column: usize| read_column::<Int32Type>(columns[column], group, rows);
    let (sequence, target, phase, pass) = (words(0)?, numbers(1)?, numbers(2)?, numbers(3)?);
    let (due, submitted, queued) = (words(4)?, words(5)?, words(6)?);
    let (issued, levels) = read_optional::<Int64Type>(columns[7], group, rows)?;
    let (done, completed) = (words(8)?, words(9)?);
    let mut issued = issued.into_iter();
    let is_issued = |row: usize| levels.get(row).is_none_or(|level| *level == 1);
    let small = |number: i32| u16::try_from(number).map_err(|_| damaged("an impossible target or phase"));
    let time = |value: i64| Nanos(value as u64);
    let row = |row: usize| {
        Ok(RequestPath {
            sequence: sequence[row] as u64,
            target: small(target[row])?,
            phase: small(phase[row])?,
            pass: pass[row] as u32,
            due: time(due[row]),
            submitted: time(submitted[row]),
            queued: time(queued[row]),
            issued: is_issued(row).then(|| issued.next()).flatten().map(time),
            done: time(done[row]),
            completed: time(completed[row]),
        })
    };
    (0..rows).map(row).collect()
}

fn schema() -> Result<TypePtr> {
    let column = |name, physical, bits, repetition| {
        let builder = Type::primitive_type_builder(name, physical)
            .with_logical_type(Some(LogicalType::integer(bits, false)));
        builder.with_repetition(repetition).build().map(Arc::new)
    };
    let word = |name| column(name, Physical::INT64, 64, Repetition::REQUIRED);
    let number = |name| column(name, Physical::INT32, 32, Repetition::REQUIRED);
    let columns = vec![
        word("sequence")?,
        number("target")?,
        number("phase")?,
        number("pass")?,
        word("due_ns")?,
        word("submitted_ns")?,
        word("queued_ns")?,
        column("issued_ns", Physical::INT64, 64, Repetition::OPTIONAL)?,
        word("done_ns")?,
        word("completed_ns")?,
    ];
    Type::group_type_builder("path").with_fields(columns).build().map(Arc::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(n: u64) -> RequestPath {
        let at = |offset: u64| Nanos(n * 1000 + offset);
        RequestPath {
            sequence: n,
            target: (n % 3) as u16,
            phase: (n % 2) as u16,
            pass: (n % 5) as u32,
            due: at(0),
            submitted: at(1),
            queued: at(2),
            issued: (!n.is_multiple_of(4)).then(|| at(3)),
            done: at(4),
            completed: at(5),
        }
    }

    fn write(path: &Path, rows: u64) -> PathCounts {
        let counts = PathCounts { joined: rows, not_joined: 3, without_place: 2, ..PathCounts::default() };
        let mut writer = PathWriter::create(path, vec![("iosonar.run_id", "7".into())]).unwrap();
        (0..rows).for_each(|n| writer.push(row(n)).unwrap());
        writer.finish(&counts).unwrap();
        counts
    }

    #[test]
    fn paths_read_back() {
        let dir = tempfile::tempdir().unwrap();
        for (file, rows) in [("none", 0), ("some", 1000), ("groups", ROW_GROUP as u64 + 5)] {
            let path = dir.path().join(file);
            let (counts, mut read) = (write(&path, rows), Vec::new());
            assert_eq!(read_paths(&path, &mut |row| read.push(*row)).unwrap(), counts);
            assert_eq!(read, (0..rows).map(row).collect::<Vec<_>>());
        }
    }

    #[test]
    fn damaged_paths_are_an_error_or_differ_without_panic() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("path.parquet");
        write(&path, 20);
        let whole = std::fs::read(&path).unwrap();
        let mut refused = 0;
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0xff;
            std::fs::write(&path, bytes).unwrap();
            refused += usize::from(read_paths(&path, &mut |_| {}).is_err());
        }
        assert!(refused > whole.len() / 2, "{refused} of {}", whole.len());
        std::fs::write(&path, &whole[..whole.len() - 9]).unwrap();
        assert!(read_paths(&path, &mut |_| {}).is_err());
    }
}
