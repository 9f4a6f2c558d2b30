//! The rate table: amounts and rates by pass, target and queue thread, and of all together.
//!
//! The table is filled in one pass over the records, in any order; its memory grows with targets, queue threads and
//! passes only.
//!
//! - Time of a queue thread's pass: as reported by the engine; if missing, because the run aborted, from the
//!   thread's first submission to its last completion.
//! - Time of a target's pass: the longest of its queue threads. Time of an average: of each queue thread the sum of
//!   its passes, of those the longest. Combined time: from the earliest start to the latest end.
//! - Operations: completed ones, including short ones, with the bytes they moved. One that moved nothing is an
//!   error and counts nowhere else.
//! - Latency is time ÷ operations as in XDD, not the mean of the operations' times.

use crate::facts::{RateDetail, RateTarget};
use iosonar_analyze::Deskew;
use iosonar_archive::{Outcome, PassTimes, Record};
use iosonar_plan::{Decimal, Nanos, Op};
use std::collections::{BTreeMap, BTreeSet};

/// Pass, target, queue thread.
type Key = (u32, u16, u16);

/// Results of a run, from which the rows are computed.
#[derive(Debug, Clone)]
pub struct RateTable {
    targets: Vec<RateTarget>,
    cells: BTreeMap<Key, Cell>,
}

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub struct RateRow {
    /// `T PASS0001`, `Q PASS0001`, `T Average`, `Q Average`, `DESKEWED PASS0001`, `DSAVG PASS0001` or `Combined`.
    pub label: String,
    /// Number of the target; combined: number of targets; deskewed: number of queue threads.
    pub target: u64,
    /// Number of the queue thread; of a target its queue depth; combined and deskewed: number of queue threads.
    pub queue: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Operations that moved them.
    pub ops: u64,
    /// Operations that moved nothing; not printed.
    pub errors: u64,
    /// Elapsed time.
    pub time: Nanos,
    /// CPU time of the queue threads, in nanoseconds.
    pub cpu_ns: u64,
    /// Kind of the operations.
    pub io_type: IoType,
    /// Average size of an operation in blocks.
    pub request_size: u64,
    /// Mean time to open the file, in nanoseconds, over all openings.
    pub open_ns: u64,
    /// Earliest start.
    pub start: Nanos,
    /// Latest end.
    pub end: Nanos,
}

/// Kind of a row's operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoType {
    /// Reads only.
    Read,
    /// Writes only.
    Write,
    /// Reads and writes.
    Mixed,
    /// Unknown for this row.
    NotApplicable,
}

impl IoType {
    /// The word in the table.
    pub fn name(self) -> &'static str {
        match self {
            IoType::Read => "read",
            IoType::Write => "write",
            IoType::Mixed => "mixed",
            IoType::NotApplicable => "NA",
        }
    }

    fn of(reads: bool, writes: bool) -> IoType {
        match (reads, writes) {
            (true, false) => IoType::Read,
            (false, true) => IoType::Write,
            (true, true) => IoType::Mixed,
            (false, false) => IoType::NotApplicable,
        }
    }
}

impl RateRow {
    /// Millions of bytes per second.
    pub fn rate(&self) -> f64 {
        ratio(self.bytes as f64 * 1e3, self.time.0 as f64)
    }

    /// Operations per second.
    pub fn iops(&self) -> f64 {
        ratio(self.ops as f64 * 1e9, self.time.0 as f64)
    }

    /// Seconds for each operation.
    pub fn latency(&self) -> f64 {
        ratio(self.time.as_secs_f64(), self.ops as f64)
    }

    /// CPU time in percent of the time; above 100 where several threads were busy.
    pub fn cpu_percent(&self) -> f64 {
        ratio(self.cpu_ns as f64 * 100.0, self.time.0 as f64)
    }
}

/// Quotient; 0 if the divisor is 0.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

impl RateTable {
    /// Creates a table of `targets`, in the order of the plan. Records of other targets are skipped.
    pub fn new(targets: Vec<RateTarget>) -> RateTable {
        RateTable { targets, cells: BTreeMap::new() }
    }

    /// Counts a request, unless it was never submitted.
    pub fn add(&mut self, record: &Record) {
        let carried_out = matches!(record.outcome, Outcome::Completed | Outcome::Failed);
        if let Some(cell) = self.cell(record.pass, record.target, record.worker).filter(|_| carried_out) {
            cell.add(record);
        }
    }

    /// Adds the engine's times of a pass of a queue thread.
    pub fn add_times(&mut self, times: &PassTimes) {
        if let Some(cell) = self.cell(times.pass, times.target, times.job) {
            cell.timed = Some(joined(cell.timed, times.start, times.end));
            cell.cpu_ns = cell.cpu_ns.saturating_add(times.cpu_ns);
            cell.open_ns = cell.open_ns.saturating_add(times.open_ns);
        }
    }

    fn cell(&mut self, pass: u32, target: u16, thread: u16) -> Option<&mut Cell> {
        let is_known = usize::from(target) < self.targets.len();
        is_known.then(|| self.cells.entry((pass, target, thread)).or_default())
    }

    /// Whether there is a column for the open time.
    pub fn has_open_time(&self) -> bool {
        self.targets.iter().any(|t| t.reopened)
    }

    /// Every row that `detail` requires, in print order. Without rows for passes there is only the combined one,
    /// preceded by the last average of `deskew`, if requested.
    pub fn rows(&self, detail: &RateDetail, deskew: Option<&Deskew>) -> Vec<RateRow> {
        let mut rows = Vec::new();
        let mut skewed = deskew.map(|d| SkewRows::new(d, self.threads()));
        if detail.has_passes() {
            let passes: BTreeSet<u32> = self.cells.keys().map(|key| key.0).collect();
            for pass in passes {
                self.add_pass(&mut rows, pass, detail);
                rows.extend(skewed.iter_mut().flat_map(|s| s.rows(pass)));
            }
            self.add_averages(&mut rows, detail);
        } else if let (Some(deskew), Some(skewed)) = (deskew, &mut skewed) {
            rows.extend(deskew.passes().flat_map(|((_, pass), _)| skewed.rows(pass)).last());
        }
        rows.push(self.combined());
        rows
    }

    /// Row of all targets and passes.
    pub fn combined(&self) -> RateRow {
        let mut tally = Tally::default();
        for (key, cell) in &self.cells {
            tally.add(cell, self.block_size(key.1));
        }
        let row =
            Labelled { label: "Combined".into(), target: self.targets.len() as u64, queue: self.threads() };
        row.row(&tally, tally.length(), self.targets.iter().map(|t| t.read_percent))
    }

    /// Queue threads of all targets.
    fn threads(&self) -> u64 {
        self.targets.iter().map(|t| u64::from(t.queue_depth)).sum()
    }

    fn block_size(&self, target: u16) -> u64 {
        self.targets.get(usize::from(target)).map_or(1, |t| t.block_size.max(1))
    }

    fn numbered(&self) -> impl Iterator<Item = (u16, &RateTarget)> {
        (0..=u16::MAX).zip(&self.targets)
    }

    fn add_pass(&self, rows: &mut Vec<RateRow>, pass: u32, detail: &RateDetail) {
        let label = format!("PASS{:04}", u64::from(pass) + 1);
        for (number, target) in self.numbered() {
            let threads: BTreeMap<u16, Tally> = self
                .cells
                .range((pass, number, 0)..=(pass, number, u16::MAX))
                .map(|(key, cell)| (key.2, Tally::of(cell, target.block_size.max(1))))
                .collect();
            if !threads.is_empty() {
                add_target(rows, &label, (number, target), &threads, detail);
            }
        }
    }

    fn add_averages(&self, rows: &mut Vec<RateRow>, detail: &RateDetail) {
        let mut sums: BTreeMap<u16, BTreeMap<u16, Tally>> = BTreeMap::new();
        for (&(_, target, thread), cell) in &self.cells {
            let tally = sums.entry(target).or_default().entry(thread).or_default();
            tally.add(cell, self.block_size(target));
        }
        for (number, target) in self.numbered() {
            let threads = sums.remove(&number).unwrap_or_default();
            add_target(rows, "Average", (number, target), &threads, detail);
        }
    }
}

/// The rows of a target's queue threads, and the row of the target.
fn add_target(
    rows: &mut Vec<RateRow>,
    label: &str,
    (number, target): (u16, &RateTarget),
    threads: &BTreeMap<u16, Tally>,
    detail: &RateDetail,
) {
    let percent = || std::iter::once(target.read_percent);
    let mut all = Tally::default();
    let mut longest = Nanos(0);
    for (thread, tally) in threads {
        all.merge(tally);
        longest = longest.max(tally.busy);
        if detail.queue_threads {
            let row =
                Labelled { label: format!("Q {label}"), target: number.into(), queue: (*thread).into() };
            rows.push(row.row(tally, tally.busy, percent()));
        }
    }
    let queue = target.queue_depth.into();
    let row = Labelled { label: format!("T {label}"), target: number.into(), queue };
    rows.push(row.row(&all, longest, percent()));
}

/// One queue thread in one pass.
#[derive(Debug, Clone, Default)]
struct Cell {
    /// From the engine.
    timed: Option<(Nanos, Nanos)>,
    /// First submission and last completion.
    seen: Option<(Nanos, Nanos)>,
    cpu_ns: u64,
    open_ns: u64,
    bytes: u64,
    reads: u64,
    writes: u64,
    errors: u64,
}

impl Cell {
    fn add(&mut self, record: &Record) {
        if let (Some(start), Some(end)) = (record.submitted, record.completed) {
            self.seen = Some(joined(self.seen, start, end));
        }
        let bytes = u64::try_from(record.result).unwrap_or(0);
        if bytes == 0 && record.outcome == Outcome::Failed {
            self.errors += 1;
            return;
        }
        self.bytes = self.bytes.saturating_add(bytes);
        match record.op {
            Op::Read => self.reads += 1,
            Op::Write => self.writes += 1,
            _ => {}
        }
    }

    fn span(&self) -> Option<(Nanos, Nanos)> {
        self.timed.or(self.seen)
    }
}

/// Smallest span that contains both.
fn joined(span: Option<(Nanos, Nanos)>, start: Nanos, end: Nanos) -> (Nanos, Nanos) {
    span.map_or((start, end), |(first, last)| (first.min(start), last.max(end)))
}

/// Sum of cells.
#[derive(Debug, Clone, Default)]
struct Tally {
    span: Option<(Nanos, Nanos)>,
    /// Sum of the times of all cells.
    busy: Nanos,
    cpu_ns: u64,
    opened: u64,
    opening_ns: u64,
    bytes: u64,
    /// Blocks moved, which differ in size from target to target.
    blocks: f64,
    reads: u64,
    writes: u64,
    errors: u64,
}

impl Tally {
    fn of(cell: &Cell, block_size: u64) -> Tally {
        let mut tally = Tally::default();
        tally.add(cell, block_size);
        tally
    }

    fn add(&mut self, cell: &Cell, block_size: u64) {
        let busy = cell.span().map_or(Nanos(0), |(start, end)| end.saturating_sub(start));
        self.merge(&Tally {
            span: cell.span(),
            busy,
            cpu_ns: cell.cpu_ns,
            opened: u64::from(cell.open_ns > 0),
            opening_ns: cell.open_ns,
            bytes: cell.bytes,
            blocks: cell.bytes as f64 / block_size as f64,
            reads: cell.reads,
            writes: cell.writes,
            errors: cell.errors,
        });
    }

    fn merge(&mut self, other: &Tally) {
        if let Some((start, end)) = other.span {
            self.span = Some(joined(self.span, start, end));
        }
        self.busy = self.busy.saturating_add(other.busy);
        self.blocks += other.blocks;
        for (sum, part) in [
            (&mut self.cpu_ns, other.cpu_ns),
            (&mut self.opened, other.opened),
            (&mut self.opening_ns, other.opening_ns),
            (&mut self.bytes, other.bytes),
            (&mut self.reads, other.reads),
            (&mut self.writes, other.writes),
            (&mut self.errors, other.errors),
        ] {
            *sum = sum.saturating_add(part);
        }
    }

    /// From the earliest start to the latest end.
    fn length(&self) -> Nanos {
        self.span.map_or(Nanos(0), |(start, end)| end.saturating_sub(start))
    }

    fn ops(&self) -> u64 {
        self.reads.saturating_add(self.writes)
    }
}

/// The first columns of a row.
struct Labelled {
    label: String,
    target: u64,
    queue: u64,
}

impl Labelled {
    /// Builds the row of a tally; `percents` are the requested shares of reads.
    fn row(self, tally: &Tally, time: Nanos, percents: impl Iterator<Item = Decimal>) -> RateRow {
        let ops = tally.ops();
        let (start, end) = tally.span.unwrap_or_default();
        let io_type = match ops {
            0 => asked(percents),
            _ => IoType::of(tally.reads > 0, tally.writes > 0),
        };
        RateRow {
            label: self.label,
            target: self.target,
            queue: self.queue,
            bytes: tally.bytes,
            ops,
            errors: tally.errors,
            time,
            cpu_ns: tally.cpu_ns,
            io_type,
            request_size: ratio(tally.blocks, ops as f64).round() as u64,
            open_ns: tally.opening_ns.checked_div(tally.opened).unwrap_or(0),
            start,
            end,
        }
    }
}

/// Kind of I/O requested by shares of reads.
fn asked(percents: impl Iterator<Item = Decimal>) -> IoType {
    let kinds = percents.map(|p| (p > Decimal::whole(0), p < Decimal::whole(100)));
    let (reads, writes) = kinds.fold((false, false), |all, one| (all.0 | one.0, all.1 | one.1));
    IoType::of(reads, writes)
}

/// Deskewed rows, with their running average.
struct SkewRows<'a> {
    deskew: &'a Deskew,
    threads: u64,
    bytes: u64,
    time: Nanos,
    start: Option<Nanos>,
}

impl SkewRows<'_> {
    fn new(deskew: &Deskew, threads: u64) -> SkewRows<'_> {
        SkewRows { deskew, threads, bytes: 0, time: Nanos(0), start: None }
    }

    /// Rows of `pass`, empty if the skew is too high; passes must be requested in order.
    fn rows(&mut self, pass: u32) -> Vec<RateRow> {
        let Some((skew, window)) = self.deskew.pass(pass).and_then(|s| Some((s, s.window()?))) else {
            return Vec::new();
        };
        self.bytes = self.bytes.saturating_add(skew.bytes);
        self.time = self.time.saturating_add(window);
        let first = *self.start.get_or_insert(skew.latest_start);
        let row = |word: &str, bytes, time, start| RateRow {
            label: format!("{word} PASS{:04}", u64::from(pass) + 1),
            target: self.threads,
            queue: self.threads,
            bytes,
            ops: 0,
            errors: 0,
            time,
            cpu_ns: 0,
            io_type: IoType::NotApplicable,
            request_size: 0,
            open_ns: 0,
            start,
            end: skew.earliest_end,
        };
        vec![
            row("DESKEWED", skew.bytes, window, skew.latest_start),
            row("DSAVG", self.bytes, self.time, first),
        ]
    }
}
