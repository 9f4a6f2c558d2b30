//! Results of a matrix's cells.

use crate::phases::cell_of;
use crate::{Matrix, Test, Unit};
use iosonar_analyze::{CellStats, CellTimes, Statement, StreamStats};
use iosonar_plan::{ByteSize, Cell};
use iosonar_text::csv::{self, Form};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// Steps that count as part of a test's time, besides its reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Timed {
    /// Flush of written data.
    pub fsync: bool,
    /// Closing the file.
    pub close: bool,
    /// Pauses between requests.
    #[serde(default)]
    pub think_time: bool,
}

/// Result of a cell.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CellResult {
    /// Test name.
    pub test: String,
    /// Length of each file.
    pub file_bytes: u64,
    /// Bytes of a record.
    pub record_bytes: u64,
    /// Number of concurrent files.
    pub streams: u32,
    /// Method, as users type it; empty if unknown.
    pub method: String,
    /// Number of the repetition, from 0.
    pub repeat: u32,
    /// Bytes read and written by all streams up to the end of the first one.
    pub bytes: u64,
    /// Number of reads and writes.
    pub ops: u64,
    /// Time of the longest stream.
    pub elapsed_ns: u64,
    /// From the first submission of any stream until the last one has flushed and closed its file; 0 if unknown.
    #[serde(default)]
    pub whole_ns: u64,
    /// Sum of the rates of the streams, in bytes per second.
    pub bytes_per_second: f64,
    /// The same in KiB per second, rounded down, as in IOzone.
    pub kib_per_second: u64,
    /// Sum of the rates of the streams, in requests per second.
    pub ops_per_second: f64,
    /// Time of the flush after the test, of the longest stream; part of `elapsed_ns` if `fsync_timed`.
    pub fsync_ns: u64,
    /// Time of closing, of the longest stream; part of `elapsed_ns` if `close_timed`.
    pub close_ns: u64,
    /// Whether the flush counts.
    pub fsync_timed: bool,
    /// Whether closing counts.
    pub close_timed: bool,
    /// Whether pauses between requests count.
    #[serde(default)]
    pub think_timed: bool,
    /// Bytes of all files in the page cache at the start of the test; absent if not counted.
    pub cached_before: Option<u64>,
    /// The same after the test, if direct I/O was wanted.
    pub cached_after: Option<u64>,
    /// Latencies of its reads and writes.
    pub latency: Option<CellTimes>,
    /// Histogram of latencies: lower bound in nanoseconds, and number of requests from there to the next entry. Entries
    /// are 1/8 of a factor of two apart; empty ones are omitted.
    #[serde(default)]
    pub histogram: Vec<(u64, u64)>,
    /// CPU time of its workers; absent if it was lost because the run was killed.
    pub cpu_ns: Option<u64>,
    /// Results of each stream.
    pub per_stream: Vec<StreamResult>,
}

/// Result of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StreamResult {
    /// Bytes read and written up to the end of the first stream.
    pub bytes: u64,
    /// Bytes read of these.
    pub read_bytes: u64,
    /// Its time.
    pub elapsed_ns: u64,
    /// Its rate.
    pub bytes_per_second: f64,
    /// Bytes of all its requests, including later ones.
    pub all_bytes: u64,
    /// From its first submission to the last completion of all its requests.
    pub all_span_ns: u64,
}

/// All measured cells, in the order of the plan. Others are absent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Table {
    /// Version of the table's format.
    pub version: u32,
    /// Name and version of the program.
    pub tool: String,
    /// The command as typed.
    pub command: String,
    /// Machine of the measurement.
    #[serde(default)]
    pub machine: Machine,
    /// End state of the measurement; absent in an imported table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<TableState>,
    /// Number of planned cells that are absent.
    #[serde(default)]
    pub missing_cells: u64,
    /// Why cells are absent, and defects in the data read, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// The verdict, if figures are not what they claim to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fake: Option<String>,
    /// Headline, reasons, worth and remedy; absent in an imported table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub story: Option<Statement>,
    /// Results by test, pair, number of streams and repetition.
    pub results: Vec<CellResult>,
}

/// End state of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TableState {
    /// Every cell was measured.
    Complete,
    /// Stopped by a signal.
    Interrupted,
    /// Requests failed, or the run aborted.
    Failed,
}

/// Properties of the machine that determine plateaus.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Machine {
    /// Name, kernel and processor.
    pub words: String,
    /// Memory managed by the kernel.
    pub memory_bytes: Option<u64>,
    /// Largest cache of a processor.
    pub cache_bytes: Option<u64>,
}

/// Version of the format of [`Table::to_json`].
const VERSION: u32 = 1;

fn rate(amount: u64, ns: u64) -> f64 {
    amount as f64 * 1e9 / ns.max(1) as f64
}

impl Timed {
    fn of(self, stream: &StreamStats) -> u64 {
        let flush = if self.fsync { stream.flush_ns } else { 0 };
        let close = if self.close { stream.close_ns } else { 0 };
        let requests = if self.think_time { stream.span_ns } else { stream.elapsed_ns };
        requests + flush + close
    }
}

impl CellResult {
    /// Computes the result of a cell; `None` if it was not measured completely.
    pub fn of(stats: &CellStats, timed: Timed) -> Option<CellResult> {
        if !stats.is_whole || stats.streams.iter().all(|stream| stream.ops == 0) {
            return None;
        }
        let Cell { test, file, record, streams, method, repeat } = stats.cell.clone();
        let all = &stats.streams;
        let longest = |of: fn(&StreamStats) -> u64| all.iter().map(of).max().unwrap_or(0);
        let bytes_per_second = all.iter().map(|stream| rate(stream.bytes(), timed.of(stream))).sum::<f64>();
        Some(CellResult {
            test,
            file_bytes: file.0,
            record_bytes: record.0,
            streams,
            method,
            repeat,
            bytes: all.iter().map(StreamStats::bytes).sum(),
            ops: all.iter().map(|stream| stream.ops).sum(),
            elapsed_ns: all.iter().map(|stream| timed.of(stream)).max().unwrap_or(0),
            whole_ns: stats.whole_ns,
            bytes_per_second,
            kib_per_second: (bytes_per_second / 1024.0) as u64,
            ops_per_second: all.iter().map(|stream| rate(stream.ops, timed.of(stream))).sum(),
            fsync_ns: longest(|stream| stream.flush_ns),
            close_ns: longest(|stream| stream.close_ns),
            fsync_timed: timed.fsync,
            close_timed: timed.close,
            think_timed: timed.think_time,
            cached_before: all.iter().map(|stream| stream.cached_before).sum(),
            cached_after: all.iter().map(|stream| stream.cached_after).sum(),
            latency: stats.latency,
            histogram: stats.histogram.clone(),
            cpu_ns: stats.cpu_ns,
            per_stream: all.iter().map(|stream| StreamResult::of(stream, timed)).collect(),
        })
    }
}

impl CellResult {
    /// Its cell.
    pub fn cell(&self) -> Cell {
        Cell {
            test: self.test.clone(),
            file: ByteSize(self.file_bytes),
            record: ByteSize(self.record_bytes),
            streams: self.streams,
            method: self.method.clone(),
            repeat: self.repeat,
        }
    }
}

impl StreamResult {
    fn of(stream: &StreamStats, timed: Timed) -> StreamResult {
        let elapsed_ns = timed.of(stream);
        StreamResult {
            bytes: stream.bytes(),
            read_bytes: stream.read_bytes,
            elapsed_ns,
            bytes_per_second: rate(stream.bytes(), elapsed_ns),
            all_bytes: stream.all_bytes,
            all_span_ns: stream.all_span_ns,
        }
    }
}

impl Table {
    /// Creates the table of a run's phases.
    pub fn of(cells: &[CellStats], timed: Timed, tool: &str, command: &str) -> Table {
        let results = cells.iter().filter_map(|stats| CellResult::of(stats, timed)).collect();
        Table { results, ..Table::empty(tool, command) }
    }

    /// Creates a table without cells.
    pub fn empty(tool: &str, command: &str) -> Table {
        Table { version: VERSION, tool: tool.into(), command: command.into(), ..Table::default() }
    }

    /// Formats the table as JSON; docs/iozone.md explains the fields.
    pub fn to_json(&self) -> String {
        // Numbers and texts can always be serialized.
        serde_json::to_string_pretty(self).expect("a table is JSON") + "\n"
    }

    /// Parses the format of [`Table::to_json`].
    ///
    /// # Errors
    /// Not such a table, or one of a later version.
    pub fn from_json(text: &str) -> Result<Table, String> {
        let table: Table =
            serde_json::from_str(text).map_err(|error| format!("it is no table of cells: {error}"))?;
        match table.version {
            VERSION => Ok(table),
            later => Err(format!("its version is {later}, and this program reads {VERSION}")),
        }
    }

    /// Parts with unmeasured tests.
    pub fn missing(&self, matrix: &Matrix, units: Vec<Unit>) -> Vec<Unit> {
        let measured: HashSet<Cell> = self.results.iter().map(CellResult::cell).collect();
        let lacks =
            |unit: &Unit| matrix.tests.iter().any(|test| !measured.contains(&cell_of(matrix, *unit, test)));
        units.into_iter().filter(lacks).collect()
    }

    /// Adds results of missing cells; returns their number.
    pub fn add_missing(&mut self, mut found: Vec<CellResult>) -> usize {
        let measured: HashSet<Cell> = self.results.iter().map(CellResult::cell).collect();
        found.retain(|result| !measured.contains(&result.cell()));
        let count = found.len();
        self.results.extend(found);
        count
    }

    /// Replaces results of the same cells.
    pub fn replace(&mut self, found: Vec<CellResult>) {
        let cells: HashSet<Cell> = found.iter().map(CellResult::cell).collect();
        self.results.retain(|old| !cells.contains(&old.cell()));
        self.results.extend(found);
    }

    /// Returns a result of a cell.
    pub fn find(&self, test: &str, file: ByteSize, record: ByteSize, streams: u32) -> Option<&CellResult> {
        self.results.iter().find(|result| {
            result.test == test
                && result.file_bytes == file.0
                && result.record_bytes == record.0
                && result.streams == streams
        })
    }

    /// Cautions about the figures.
    pub fn cautions(&self, matrix: &Matrix) -> Vec<String> {
        let mut cautions = self.cache_cautions(matrix);
        cautions.extend(self.memory_cautions(matrix));
        cautions
    }

    /// Cautions about figures affected by the page cache, although reads should have been cold, or direct.
    pub fn cache_cautions(&self, matrix: &Matrix) -> Vec<String> {
        let count = |is: &dyn Fn(&CellResult) -> bool| self.results.iter().filter(|r| is(r)).count();
        let warm = count(&|r| r.cached_before.is_some_and(|bytes| bytes > 0));
        let through = count(&|r| r.cached_after.is_some_and(|bytes| bytes > 0));
        let wanted_cold = |r: &CellResult| matrix.cold && Test::named(&r.test).is_some_and(Test::reads);
        let unknown = count(&|r| wanted_cold(r) && r.cached_before.is_none());
        let all = self.results.len();
        [
            (warm > 0).then(|| {
                format!("{warm} of {all} cells began with data in the page cache, though files were evicted: the file system keeps it, so these are memory figures")
            }),
            (unknown > 0).then(|| {
                format!("{unknown} of {all} cells: the kernel tells only owners of a file what the page cache holds, so whether they were cold is not known")
            }),
            (through > 0).then(|| {
                format!("{through} of {all} cells were opened with O_DIRECT and left data in the page cache: the file system does not do direct I/O here, so these figures are not direct")
            }),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Whether all files of a cell fit into the memory of the machine.
    pub fn fits_into_memory(&self, result: &CellResult) -> bool {
        let bytes = result.file_bytes.saturating_mul(result.streams.into());
        self.machine.memory_bytes.is_some_and(|memory| bytes <= memory)
    }

    /// Whether a cell reads what the page cache holds.
    fn reads_memory(&self, matrix: &Matrix, result: &CellResult) -> bool {
        let is_kept = matrix.access.buffered && !matrix.cold;
        is_kept && self.fits_into_memory(result) && Test::named(&result.test).is_some_and(Test::reads)
    }

    /// Numbers of the results that are figures of memory: their data was in the page cache, or went no further.
    pub fn memory_results(&self, matrix: &Matrix) -> Vec<usize> {
        let is_cached = |bytes: Option<u64>| bytes.is_some_and(|bytes| bytes > 0);
        let is_memory = |r: &CellResult| {
            is_cached(r.cached_before)
                || is_cached(r.cached_after)
                || self.reads_memory(matrix, r)
                || writes_memory(matrix, r)
        };
        (0..self.results.len()).filter(|number| is_memory(&self.results[*number])).collect()
    }

    /// Cautions about figures of memory, where nothing else was requested: files that fit into it, and writes without a
    /// flush.
    fn memory_cautions(&self, matrix: &Matrix) -> Vec<String> {
        let count = |is: &dyn Fn(&CellResult) -> bool| self.results.iter().filter(|r| is(r)).count();
        let all = self.results.len();
        let memory = self.machine.memory_bytes.unwrap_or(0);
        let from_memory = count(&|r| self.reads_memory(matrix, r));
        let into_memory = count(&|r| writes_memory(matrix, r));
        [
            (from_memory > 0).then(|| {
                format!("{from_memory} of {all} cells read files that fit into memory ({}) and were not evicted: these are figures of the page cache", ByteSize(memory >> 30 << 30))
            }),
            (into_memory > 0).then(|| {
                format!("{into_memory} of {all} cells wrote into the page cache, and their time ends before the flush: these are figures of memory")
            }),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Formats the table as comma-separated values, with a header; one line per cell and repetition.
    pub fn csv(&self, form: Form) -> String {
        const NAMES: [&str; 24] = [
            "test",
            "file_bytes",
            "record_bytes",
            "streams",
            "method",
            "repeat",
            "bytes",
            "ops",
            "elapsed_ns",
            "kib_per_second",
            "ops_per_second",
            "fsync_ns",
            "close_ns",
            "fsync_timed",
            "close_timed",
            "latency_mean_ns",
            "latency_p50_ns",
            "latency_p90_ns",
            "latency_p99_ns",
            "latency_p999_ns",
            "latency_max_ns",
            "cpu_ns",
            "cached_before_bytes",
            "cached_after_bytes",
        ];
        csv::table(form, NAMES, self.results.iter().map(CellResult::csv_row))
    }
}

/// Whether a cell writes into the page cache, and its time ends before the flush.
fn writes_memory(matrix: &Matrix, result: &CellResult) -> bool {
    let waits = !matrix.access.buffered || matrix.access.sync.is_set() || result.fsync_timed;
    !waits && Test::named(&result.test).is_some_and(Test::writes)
}

impl CellResult {
    fn csv_row(&self) -> [csv::Cell<'_>; 24] {
        let t = self.latency;
        [
            self.test.as_str().into(),
            self.file_bytes.into(),
            self.record_bytes.into(),
            self.streams.into(),
            self.method.as_str().into(),
            self.repeat.into(),
            self.bytes.into(),
            self.ops.into(),
            self.elapsed_ns.into(),
            self.kib_per_second.into(),
            csv::Cell::Digits(format!("{:.3}", self.ops_per_second)),
            self.fsync_ns.into(),
            self.close_ns.into(),
            self.fsync_timed.into(),
            self.close_timed.into(),
            t.map(|t| t.mean_ns).into(),
            t.map(|t| t.p50_ns).into(),
            t.and_then(|t| t.p90_ns).into(),
            t.and_then(|t| t.p99_ns).into(),
            t.and_then(|t| t.p999_ns).into(),
            t.map(|t| t.max_ns).into(),
            self.cpu_ns.into(),
            self.cached_before.into(),
            self.cached_after.into(),
        ]
    }
}
