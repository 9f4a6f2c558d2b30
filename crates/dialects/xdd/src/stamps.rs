//! Time stamp reports: a row for each operation of a queue thread, and a summary.
//!
//! Entries arrive in the order of pass and number and are written immediately. Times are exact: differences are
//! computed in whole nanoseconds, and stamps are printed in picoseconds of absolute time.

use crate::facts::{RunClock, StampEntry};
use crate::settings::{TimeStampSettings, WhenFull};
use iosonar_archive::Record;
use iosonar_plan::{Nanos, Op};
use std::collections::VecDeque;
use std::io::{self, Write};

const HEADING: &str = "Target, RWV Op, Pass,OP Number, Location, Distance, StartTS, EndTS, \
    IO_Time_ms, Relative_ms, Delta_us, Loop_ms, Inst MB/sec";

/// Converts one queue thread's records, in the order of pass and sequence, to entries: operations are numbered from 0
/// in each pass, unexecuted ones are skipped.
pub fn stamp_entries(records: impl IntoIterator<Item = Record>) -> impl Iterator<Item = StampEntry> {
    let mut last = (0, 0);
    records.into_iter().filter_map(move |record| {
        let number = if record.pass == last.0 { last.1 } else { 0 };
        let entry = StampEntry::from_record(&record, number)?;
        last = (record.pass, number + 1);
        Some(entry)
    })
}

/// Selects the operations of a queue thread whose stamps are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StampWindow {
    /// Maximum number of stamps; `None`: all.
    pub size: Option<usize>,
    /// Behaviour when it is reached.
    pub mode: StampMode,
    /// Start at this operation of the first pass.
    pub from_op: Option<u64>,
    /// Start at the first operation that starts at this time of the run or later.
    pub from_time: Option<Nanos>,
}

/// Behaviour when there is no room for more stamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StampMode {
    /// Default: drop the oldest.
    #[default]
    All,
    /// Drop the oldest.
    Wrap,
    /// Drop new ones.
    OneShot,
}

impl StampWindow {
    /// The window that the options of `-ts` select.
    pub fn of(ts: &TimeStampSettings) -> StampWindow {
        StampWindow {
            size: ts.size.map(|size| usize::try_from(size).unwrap_or(usize::MAX)),
            mode: match (ts.size, ts.when_full) {
                (None, _) => StampMode::All,
                (_, WhenFull::Wrap) => StampMode::Wrap,
                (_, WhenFull::OneShot) => StampMode::OneShot,
            },
            from_op: ts.trigger_op,
            from_time: ts.trigger_time,
        }
    }

    /// Selects the `entries` to keep. Holds at most `size` of them in memory.
    pub fn select<I: Iterator<Item = StampEntry>>(&self, entries: I) -> StampSelection<I> {
        StampSelection { window: *self, entries, triggered: false, taken: 0, kept: None }
    }

    fn starts_at(&self, entry: &StampEntry) -> bool {
        let has_op = self.from_op.is_none_or(|op| entry.pass > 0 || entry.number >= op);
        has_op && self.from_time.is_none_or(|time| entry.start >= time)
    }
}

/// Iterator of [`StampWindow::select`].
#[derive(Debug, Clone)]
pub struct StampSelection<I> {
    window: StampWindow,
    entries: I,
    triggered: bool,
    taken: usize,
    /// The most recent ones, once all have arrived.
    kept: Option<VecDeque<StampEntry>>,
}

impl<I: Iterator<Item = StampEntry>> StampSelection<I> {
    fn triggered(&mut self) -> Option<StampEntry> {
        let entry = if self.triggered {
            self.entries.next()
        } else {
            let window = self.window;
            self.entries.find(|entry| window.starts_at(entry))
        };
        self.triggered = true;
        entry
    }

    fn most_recent(&mut self, size: usize) -> VecDeque<StampEntry> {
        let mut kept = VecDeque::new();
        while let Some(entry) = self.triggered() {
            kept.push_back(entry);
            if kept.len() > size {
                kept.pop_front();
            }
        }
        kept
    }
}

impl<I: Iterator<Item = StampEntry>> Iterator for StampSelection<I> {
    type Item = StampEntry;

    fn next(&mut self) -> Option<StampEntry> {
        match (self.window.size, self.window.mode) {
            (None, _) => self.triggered(),
            (Some(size), StampMode::OneShot) if self.taken >= size => None,
            (Some(_), StampMode::OneShot) => {
                self.taken += 1;
                self.triggered()
            }
            (Some(size), StampMode::All | StampMode::Wrap) => {
                let mut kept = self.kept.take().unwrap_or_else(|| self.most_recent(size));
                let entry = kept.pop_front();
                self.kept = Some(kept);
                entry
            }
        }
    }
}

/// Head of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StampHead {
    /// Number of the target.
    pub target: u16,
    /// Number of the queue thread among those of the target.
    pub queue_thread: u16,
    /// Number of entries.
    pub entries: u64,
    /// Clock resolution in picoseconds.
    pub tick_ps: u64,
    /// Clock for absolute times.
    pub clock: RunClock,
    /// Bytes of a block.
    pub block_size: u64,
    /// Include a row for each entry, not only the summary.
    pub detailed: bool,
}

/// Writer of a report. `out` should be buffered.
#[derive(Debug)]
pub struct StampReport<W> {
    out: W,
    head: StampHead,
    summary: Summary,
}

impl<W: Write> StampReport<W> {
    /// Writes the head; `sections` are those of the run, see [`header`](crate::header()).
    pub fn new(mut out: W, head: StampHead, sections: &str) -> io::Result<StampReport<W>> {
        let StampHead { target, queue_thread, .. } = head;
        writeln!(out, "Target and Qthread number for this report, {target}, {queue_thread}")?;
        out.write_all(sections.as_bytes())?;
        if head.detailed {
            let (entries, tick, delta) = (head.entries, head.tick_ps, head.clock.delta_ps());
            writeln!(
                out,
                "Start of DETAILED Time Stamp Report, Number of entries, {entries}, \
             Picoseconds per clock tick, {tick}, delta, {delta}"
            )?;
            writeln!(out, "{HEADING}")?;
        }
        let block_size = head.block_size.max(1);
        Ok(StampReport { out, head, summary: Summary::new(block_size) })
    }

    /// Adds the next entry.
    pub fn add(&mut self, entry: &StampEntry) -> io::Result<()> {
        if self.head.detailed {
            self.row(entry)?;
        }
        self.summary.add(entry);
        Ok(())
    }

    /// Writes trailer and summary. Fails if the number of entries differs from the announced one.
    pub fn finish(mut self) -> io::Result<W> {
        if self.summary.count != self.head.entries {
            let text = format!("{} stamps were announced, {} came", self.head.entries, self.summary.count);
            return Err(io::Error::other(text));
        }
        if self.head.detailed {
            writeln!(self.out, "End of DETAILED Time Stamp Report")?;
        }
        self.summary.write(&mut self.out)?;
        Ok(self.out)
    }

    fn row(&mut self, entry: &StampEntry) -> io::Result<()> {
        let last = self.summary.last.as_ref();
        if last.is_some_and(|last| last.pass != entry.pass) {
            writeln!(self.out)?;
        }
        let block_size = self.summary.block_size;
        let letter = match entry.op {
            Op::Read => 'r',
            _ => 'w',
        };
        let clock = self.head.clock;
        write!(
            self.out,
            "{}, {letter}, {}, {}, {}, {}, {}, {}",
            self.head.target,
            u64::from(entry.pass) + 1,
            entry.number,
            entry.offset / block_size,
            last.map_or(0, |last| distance(last, entry) / block_size),
            clock.picoseconds(entry.start),
            clock.picoseconds(entry.end),
        )?;
        writeln!(
            self.out,
            ", {:15.5}, {:15.5}, {:15.5}, {:15.5}, {:12.3}",
            difference(entry.end, entry.start) / 1e6,
            self.summary.first_start.map_or(0.0, |first| difference(entry.start, first)) / 1e6,
            last.map_or(0.0, |last| difference(entry.start, last.end)) / 1e3,
            last.map_or(0.0, |last| difference(entry.end, last.end)) / 1e6,
            megabytes_per_second(entry),
        )
    }
}

/// Bytes between the end of one and the start of the next, forward or backward.
fn distance(last: &StampEntry, next: &StampEntry) -> u64 {
    last.offset.saturating_add(last.length).abs_diff(next.offset)
}

/// Nanoseconds from `earlier` to `later`; exact up to 104 days.
fn difference(later: Nanos, earlier: Nanos) -> f64 {
    (i128::from(later.0) - i128::from(earlier.0)) as f64
}

fn megabytes_per_second(entry: &StampEntry) -> f64 {
    match entry.io_time().0 {
        0 => 0.0,
        ns => entry.bytes() as f64 * 1e3 / ns as f64,
    }
}

/// Averages and ranges. Rows at the start of a pass are excluded from distance and dead time.
#[derive(Debug)]
struct Summary {
    block_size: u64,
    count: u64,
    bytes: u128,
    first_start: Option<Nanos>,
    last: Option<StampEntry>,
    /// In blocks.
    distance: Range,
    /// In nanoseconds.
    io_time: Range,
    /// In nanoseconds.
    dead_time: Range,
}

impl Summary {
    fn new(block_size: u64) -> Summary {
        Summary {
            block_size,
            count: 0,
            bytes: 0,
            first_start: None,
            last: None,
            distance: Range::default(),
            io_time: Range::default(),
            dead_time: Range::default(),
        }
    }

    fn add(&mut self, entry: &StampEntry) {
        if let Some(last) = self.last.filter(|last| last.pass == entry.pass) {
            self.distance.add(i128::from(distance(&last, entry) / self.block_size));
            self.dead_time.add(i128::from(entry.start.0) - i128::from(last.end.0));
        }
        self.io_time.add(i128::from(entry.io_time().0));
        self.count += 1;
        self.bytes = self.bytes.saturating_add(entry.length.into());
        self.first_start.get_or_insert(entry.start);
        self.last = Some(*entry);
    }

    /// Average request size in blocks.
    fn request_size(&self) -> u128 {
        let whole = u128::from(self.count) * u128::from(self.block_size);
        (self.bytes + whole / 2).checked_div(whole).unwrap_or(0)
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let (far, io, dead) = (&self.distance, &self.io_time, &self.dead_time);
        writeln!(out, "Start of SUMMARY Time Stamp Report")?;
        writeln!(
            out,
            "Average seek distance in {} byte blocks, {:.0}, request size in blocks, {}",
            self.block_size,
            far.mean(),
            self.request_size()
        )?;
        writeln!(
            out,
            "Range: Longest seek distance in blocks, {}, shortest seek distance in blocks, {}",
            far.longest, far.shortest
        )?;
        writeln!(
            out,
            "Average I/O time in milliseconds, {:15.5}, average dead time in microseconds, {:15.5}",
            io.mean() / 1e6,
            dead.mean() / 1e3
        )?;
        writeln!(
            out,
            "I/O Time Range: Longest I/O time in milliseconds, {:15.5}, \
             shortest I/O time in milliseconds, {:15.5}",
            io.longest as f64 / 1e6,
            io.shortest as f64 / 1e6
        )?;
        writeln!(
            out,
            "Dead Time Range: Longest dead time in microseconds, {:15.5}, \
             shortest dead time in microseconds, {:15.5}",
            dead.longest as f64 / 1e3,
            dead.shortest as f64 / 1e3
        )?;
        writeln!(out, "End of SUMMARY Time Stamp Report")
    }
}

/// Count, sum, maximum and minimum of a quantity; all 0 if empty.
#[derive(Debug, Default)]
struct Range {
    count: u64,
    sum: i128,
    longest: i128,
    shortest: i128,
}

impl Range {
    fn add(&mut self, value: i128) {
        self.longest = if self.count == 0 { value } else { self.longest.max(value) };
        self.shortest = if self.count == 0 { value } else { self.shortest.min(value) };
        self.sum = self.sum.saturating_add(value);
        self.count += 1;
    }

    fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }
}
