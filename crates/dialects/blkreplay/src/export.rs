//! Exports an archive as blkreplay's text.

use crate::{ctime, form, verify};
use iosonar_archive::{Archive, ArchiveError, Fault, Marks, Outcome, Record, TargetInfo};
use iosonar_plan::{Engine, Extent, Nanos, Op, OverlapPolicy, SECTOR};
use iosonar_text::shown;
use iosonar_trace::TimedRequest;
use iosonar_trace::blkreplay::{REPLAY_HEADER, write_result};
use std::io::{self, Write};

/// Why an archive cannot be exported as `.replay`.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The archive cannot be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The text cannot be written.
    #[error("cannot write the .replay text: {0}")]
    Write(#[from] io::Error),
    /// The archive has fewer targets.
    #[error("{dir} has no target {target}: it has {targets}, counted from 0")]
    NoTarget {
        /// The archive.
        dir: String,
        /// Requested target.
        target: u16,
        /// Number of targets.
        targets: usize,
    },
    /// An executed request lacks a time.
    #[error(
        "request {sequence} of target {target} in pass {pass} is marked {outcome}, but was not submitted or not \
         completed: the archive is damaged, do the run again"
    )]
    NoTimes {
        /// Number of the request.
        sequence: u64,
        /// Its target.
        target: u16,
        /// Its pass.
        pass: u32,
        /// Its outcome.
        outcome: &'static str,
    },
}

type Result<T> = std::result::Result<T, ExportError>;

/// Counts of an exported text. `total` = `completed` + `failed` + `dropped` + `skipped`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Exported {
    /// All requests of the target.
    pub total: u64,
    /// Requests that transferred all their bytes.
    pub completed: u64,
    /// Requests whose result line is followed by an ERROR line.
    pub failed: u64,
    /// Requests dropped by the overlap policy.
    pub dropped: u64,
    /// Requests not submitted because the run was stopped.
    pub skipped: u64,
    /// Writes among all.
    pub writes: u64,
    /// Requests that waited on the push-back list: their letter is lower case.
    pub pushed: u64,
    /// Requests that waited for a conflict under `order`.
    pub ordered: u64,
    /// The last completion, on the run's clock.
    pub last_completed: Nanos,
}

impl Exported {
    fn add(&mut self, record: &Record) {
        self.total += 1;
        match record.outcome {
            Outcome::Completed => self.completed += 1,
            Outcome::Failed => self.failed += 1,
            Outcome::Dropped => self.dropped += 1,
            Outcome::Cancelled => self.skipped += 1,
        }
        self.writes += u64::from(record.op.is_write());
        self.pushed += u64::from(record.is_pushed());
        self.ordered += u64::from(record.marks.has(Marks::ORDERED));
        self.last_completed = self.last_completed.max(record.completed.unwrap_or_default());
    }
}

/// Writes the results of one target (its index in the plan) as blkreplay's result text.
///
/// Requests are in the order in which their completions were seen, later passes after earlier ones. Column 1 is the due
/// time on the run's own clock, sector and length are the range that was really used; a range that is not aligned to
/// 512-byte sectors, which the format requires, is widened. An unfinished archive is exported, too, with its state in
/// the last line. `out` should be buffered. After an error, `out` may hold an incomplete text, without a tail.
pub fn export(archive: &Archive, target: u16, out: &mut impl Write) -> Result<Exported> {
    export_later(archive, target, Nanos(0), out)
}

/// The same, with due times increased by `later`, the meaning of blkreplay's `--replay-out`, so that results of several
/// windows follow each other on one axis. Delays and latencies are unchanged.
pub fn export_later(archive: &Archive, target: u16, later: Nanos, out: &mut impl Write) -> Result<Exported> {
    export_observed(archive, target, later, &mut |_| {}, out)
}

/// The same; `observer` gets every record of the archive, including those of other targets.
pub fn export_observed(
    archive: &Archive,
    target: u16,
    later: Nanos,
    observer: &mut dyn FnMut(&Record),
    out: &mut impl Write,
) -> Result<Exported> {
    let head = Head::new(archive, target)?;
    head.write(later, out)?;
    let mut body = Body { out: &mut *out, later, has_header: false, counts: Exported::default() };
    let mut failed = None;
    archive.for_each_record(&mut |record| {
        observer(record);
        // A load uses one word for both.
        let op = if record.op == Op::Fsync { Op::Flush } else { record.op };
        let is_known = op.has_place() || op == Op::Flush;
        if record.target == target && is_known && failed.is_none() {
            failed = body.record(&Record { op, ..*record }).err();
        }
    })?;
    let counts = body.counts;
    failed.map_or(Ok(()), Err)?;
    let faults: Vec<Fault> = archive.faults()?.into_iter().filter(|fault| fault.target == target).collect();
    verify::write(&faults, out)?;
    head.write_tail(out, &counts, &faults)?;
    out.flush()?;
    Ok(counts)
}

/// Facts about the run and its target that need no records.
struct Head<'a> {
    archive: &'a Archive,
    info: &'a TargetInfo,
    target: u16,
    device: String,
}

impl<'a> Head<'a> {
    fn new(archive: &'a Archive, target: u16) -> Result<Head<'a>> {
        let targets = &archive.run().targets;
        let info = targets.get(usize::from(target)).ok_or_else(|| ExportError::NoTarget {
            dir: shown(archive.dir()).to_string(),
            target,
            targets: targets.len(),
        })?;
        Ok(Head { archive, info, target, device: form::plain(&info.path) })
    }

    fn write(&self, later: Nanos, out: &mut impl Write) -> io::Result<()> {
        let (run, device) = (self.archive.run(), &self.device);
        writeln!(out, "# Written by iosonar {} in the form of blkreplay.", env!("CARGO_PKG_VERSION"))?;
        writeln!(
            out,
            "# Column 1 is the time at which a request was due, in seconds on the run's own clock."
        )?;
        if later > Nanos(0) {
            writeln!(out, "# It is later by {} seconds, as set by --replay-out.", form::seconds(later))?;
        }
        writeln!(out, "# target : {}", self.target)?;
        writeln!(out, "{} : {}", form::TOOL, form::plain(&run.tool))?;
        writeln!(out, "{} : {}", form::RUN_ID, self.archive.plan().run_id)?;
        writeln!(out, "{} : {}", form::STARTED, run.started_unix_ns)?;
        let started = ctime::format(run.started_unix_ns / Nanos::SECOND.0);
        writeln!(out, "{}{device}{}{started}", form::BLKREPLAY_ON, form::STARTED_AT)?;
        self.write_settings(out)?;
        writeln!(out, "{}{device}{}{}.", form::DEVICE, form::HAS_BLOCKS, in_kb(self.info.size / SECTOR))
    }

    fn write_settings(&self, out: &mut impl Write) -> io::Result<()> {
        let plan = self.archive.plan();
        let service = if let Engine::Sim(model) = plan.engine { model.service } else { Nanos(0) };
        writeln!(out, "INFO: use_o_direct={}", u8::from(!plan.access.buffered))?;
        writeln!(out, "INFO: use_o_sync={}", u8::from(plan.access.sync.is_set()))?;
        writeln!(out, "INFO: fill_random={}", plan.fill.random_percent)?;
        // Requests are never submitted before their due time.
        writeln!(out, "INFO: ahead_limit={}", form::seconds(Nanos(0)))?;
        writeln!(out, "INFO: simulate_io={}", form::seconds(service))?;
        writeln!(out, "INFO: dry_run={}", u8::from(!plan.engine.is_real()))?;
        if plan.access.buffered || !plan.engine.is_real() {
            writeln!(out, "INFO: measurement results are thus FAKE results!!!")?;
        }
        Ok(())
    }

    fn write_tail(&self, out: &mut impl Write, counts: &Exported, faults: &[Fault]) -> io::Result<()> {
        let (plan, info) = (self.archive.plan(), self.info);
        // The original writes the first line at the end of its input and the second after the last completion; an
        // archive does not have the end of the input.
        writeln!(out, "{0}\n{0}\n{1}", "-".repeat(64), "=".repeat(64))?;
        // There is no counterpart of the table that the original looks up before and after an I/O.
        writeln!(out, "{}=0, total meta_delay={}, avg={:.6}", form::META_OPS, form::seconds(Nanos(0)), 0.0)?;
        for (name, value) in [
            (form::INPUT_LINES, info.input_lines),
            (form::TOTAL, counts.total),
            (form::COMPLETED, counts.completed),
            (form::WRITES, counts.writes),
            (form::DROPPED, counts.dropped),
            (form::PUSHED, counts.pushed),
            (form::ORDERED, counts.ordered),
            (form::VERIFY_ERRORS, verify::errors_during_replay(faults)),
            (form::CONFLICT_MODE, conflict_mode(plan.overlap.policy)),
            (form::STRONG_MODE, u8::from(plan.overlap.strong).into()),
            (form::VERIFY_MODE, verify::number(plan.verify.modes)),
        ] {
            writeln!(out, "{name} : {value}")?;
        }
        // Unknown values have no line.
        for (name, value) in
            [(form::MAX_SUBMITTED, info.max_in_flight), (form::MAX_PUSHBACK, info.max_waiting)]
        {
            value.map_or(Ok(()), |value| writeln!(out, "{name} : {value}"))?;
        }
        writeln!(out, "{}: {}", form::SIZE, blocks(info.size / SECTOR))?;
        writeln!(out, "{}: {}", form::MAX_BLOCK, blocks(info.max_requested_end.div_ceil(SECTOR)))?;
        writeln!(out, "wraparound factor: {:6.3}", wraparound(info))?;
        let ended = self.archive.run().started_unix_ns.saturating_add(counts.last_completed.0);
        let ended = ctime::format(ended / Nanos::SECOND.0);
        writeln!(out, "{}{}{}{ended}", form::BLKREPLAY_ON, self.device, form::ENDED_AT)?;
        self.write_settings(out)?;
        writeln!(out, "{} : {}", form::FAILED, counts.failed)?;
        writeln!(out, "{} : {}", form::SKIPPED, counts.skipped)?;
        let max_block = info.max_requested_end.div_ceil(SECTOR);
        let verified = self.archive.run().verified.as_ref();
        if let Some(summary) = verified.and_then(|verified| verify::summary(verified, faults, max_block)) {
            writeln!(out, "{summary}")?;
        }
        writeln!(out, "{} : {}", form::STATE, form::state(&self.archive.run().state))
    }
}

fn conflict_mode(policy: OverlapPolicy) -> u64 {
    form::CONFLICT_MODES.iter().position(|p| *p == policy).map_or(0, |n| n as u64)
}

/// Format in the tail.
fn blocks(sectors: u64) -> String {
    format!("{sectors} blocks ({} kB)", sectors / 2)
}

/// Format in the device line, where the unit precedes the number.
fn in_kb(sectors: u64) -> String {
    format!("{sectors} ({} kB)", sectors / 2)
}

fn wraparound(info: &TargetInfo) -> f64 {
    // Without a size, or without requests, there is no wraparound.
    if info.max_requested_end == 0 { 0.0 } else { info.wraparound_factor() }
}

/// The lines between head and tail.
struct Body<'a, W> {
    out: &'a mut W,
    /// Added to due times.
    later: Nanos,
    has_header: bool,
    counts: Exported,
}

impl<W: Write> Body<'_, W> {
    fn record(&mut self, record: &Record) -> Result<()> {
        if !record.op.is_transfer() {
            // Readers of blkreplay see a comment; it does not count as a request.
            let (op, outcome) = (record.op, record.outcome.name());
            return match record.outcome {
                Outcome::Completed => self.result(record),
                _ => Ok(writeln!(self.out, "# {op} {outcome} ; {}", form::seconds(record.due))?),
            };
        }
        match record.outcome {
            Outcome::Completed => self.result(record)?,
            Outcome::Failed => {
                self.result(record)?;
                self.error(record)?;
            }
            Outcome::Dropped => self.unsent(form::DROPPING, record)?,
            Outcome::Cancelled => self.unsent(form::SKIPPING, record)?,
        }
        self.counts.add(record);
        Ok(())
    }

    fn result(&mut self, record: &Record) -> Result<()> {
        let (Some(delay), Some(latency)) = (record.delay(), record.latency()) else {
            return Err(ExportError::NoTimes {
                sequence: record.sequence,
                target: record.target,
                pass: record.pass,
                outcome: record.outcome.name(),
            });
        };
        if !self.has_header {
            writeln!(self.out, "{REPLAY_HEADER}")?;
            self.has_header = true;
        }
        let (pushed, extent) = (record.is_pushed(), whole_sectors(record.executed));
        let time = record.due.saturating_add(self.later);
        let durability = record.marks.durability();
        let line = TimedRequest { line: 0, time, op: record.op, durability, extent, pushed, delay, latency };
        Ok(write_result(self.out, &line)?)
    }

    fn error(&mut self, record: &Record) -> io::Result<()> {
        let (status, errno) = match record.result {
            bytes @ 0.. => (bytes, 0),
            negative => (-1, negative.unsigned_abs()),
        };
        let (letter, target, sector) = (letter(record), record.target, record.executed.offset / SECTOR);
        let text = error_text(errno);
        writeln!(self.out, "ERROR: bad {letter}IO {status} / {errno} on {target} at pos {sector} ({text})")
    }

    fn unsent(&mut self, what: &str, record: &Record) -> io::Result<()> {
        let extent = whole_sectors(record.executed);
        let (block, len) = (extent.offset / SECTOR, extent.length / SECTOR);
        let (mode, time) = (letter(record), form::seconds(record.due.saturating_add(self.later)));
        write!(self.out, "{what}block={block} len={len} mode={mode} time={time}")?;
        match record.blocked_by {
            Some(by) => writeln!(self.out, " by={by}"),
            None => writeln!(self.out),
        }
    }
}

/// R or W; lower case if pushed back.
fn letter(record: &Record) -> char {
    let letter = record.op.letter();
    if record.is_pushed() { letter.to_ascii_lowercase() } else { letter }
}

/// The smallest range of whole sectors that holds `extent`.
fn whole_sectors(extent: Extent) -> Extent {
    let offset = extent.offset / SECTOR * SECTOR;
    // A damaged archive may contain any number.
    let end = extent.offset.saturating_add(extent.length).div_ceil(SECTOR).saturating_mul(SECTOR);
    Extent { offset, length: end - offset }
}

/// Error text of the C library.
fn error_text(errno: u64) -> String {
    match i32::try_from(errno) {
        Ok(0) => "Success".into(),
        Ok(errno) => {
            let text = io::Error::from_raw_os_error(errno).to_string();
            form::plain(text.split(" (os error").next().unwrap_or_default())
        }
        Err(_) => format!("Unknown error {errno}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_use_standard_messages() {
        assert_eq!(error_text(28), "No space left on device");
        assert_eq!(error_text(0), "Success");
        assert_eq!(error_text(u64::MAX), "Unknown error 18446744073709551615");
    }

    #[test]
    fn ranges_widen_to_whole_sectors() {
        let widened = |offset, length| whole_sectors(Extent { offset, length });
        assert_eq!(widened(512, 1024), Extent { offset: 512, length: 1024 });
        assert_eq!(widened(513, 1), Extent { offset: 512, length: 512 });
        assert_eq!(widened(511, 2), Extent { offset: 0, length: 1024 });
    }
}
