//! Imports blkreplay's text as records, a plan and facts about the run.

use crate::facts::{Facts, ResultLines};
use crate::form;
use crate::lines::{Lines, TextLine};
use iosonar_analyze::Peak;
use iosonar_archive::{Marks, Outcome, Record, RunInfo};
use iosonar_plan::{Extent, InvalidPlan, Nanos, Op, Plan, SECTOR};
use iosonar_trace::TimedRequest;
use iosonar_trace::blkreplay::{BadLine, Line, ReadError, parse_line};
use std::collections::{HashMap, VecDeque};
use std::io::{self, BufRead};

/// Maximum number of bad lines kept with their text; others are only counted.
const KEPT_BAD_LINES: usize = 100;
/// Maximum number of ERROR lines that wait for their result: blkreplay has at most this many requests in flight.
const EARLY_ERRORS: u64 = 1 << 15;

/// Why a text cannot be imported.
#[derive(Debug, thiserror::Error)]
#[error("{name}: {problem}")]
pub struct ImportError {
    /// Name of the text, from the caller.
    pub name: String,
    /// Problem.
    pub problem: ImportProblem,
}

/// Problem of a text that cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportProblem {
    /// Reading failed.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Requests without a preceding result header.
    #[error(
        "line {line} is a request, but no line 'orig_start ; sector; …' stands before it: this is a load, not a \
         result; replay it with 'iosonar replay', or name the .replay file"
    )]
    Load {
        /// The first request.
        line: u64,
    },
    /// No result line.
    #[error(
        "no result line in {lines} lines: name a .replay or .replay.gz file that blkreplay or 'iosonar convert --to replay' wrote"
    )]
    NoResult {
        /// Lines of the text.
        lines: u64,
    },
    /// Two results in one text.
    #[error("line {line}: a second result starts here: give each result a file of its own")]
    Second {
        /// Its first line.
        line: u64,
    },
    /// The caller failed to store a record.
    #[error("a record could not be kept: {0}")]
    Keep(#[source] io::Error),
    /// The text contains a value that is invalid in a plan.
    #[error(transparent)]
    Plan(#[from] InvalidPlan),
}

type Result<T> = std::result::Result<T, ImportProblem>;

/// Contents of a text apart from its records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// One target and one pass; defaults for missing values.
    pub plan: Plan,
    /// The run as a whole; without a tail its state is [broken](iosonar_archive::RunState::Broken).
    pub run: RunInfo,
    /// Number of records passed to the caller.
    pub records: u64,
    /// Invalid result lines: the first hundred; all are counted in the run's target.
    pub bad_lines: Vec<BadLine>,
    /// Inconsistencies, as sentences: wrong counts in the tail, errors without a request.
    pub doubts: Vec<String>,
}

/// Reads a decompressed `.replay`, iosonar's or blkreplay's own, and passes each record to `each`, in the order of the
/// lines.
///
/// It is one pass in bounded memory, because the text may come from a pipe; the plan and the run are complete only at
/// the end, because the tail comes last. Callers that need them before the first record read the file twice. `name` is
/// the text's name in errors and the load's file in the plan.
///
/// The text lacks some facts: sequence numbers follow the lines; requested and executed range are equal, and so are due
/// and load time; there is one pass, and the conflicting request is unknown. Dates without a zone are taken as UTC.
///
/// A result line does not show that the request failed. An ERROR line is matched by operation and sector: with the
/// result before it, or else, as blkreplay's workers write it, with the next one.
pub fn import(
    input: impl BufRead,
    name: &str,
    each: &mut dyn FnMut(&Record) -> io::Result<()>,
) -> std::result::Result<Imported, ImportError> {
    let fail = |problem| ImportError { name: name.into(), problem };
    let mut lines = Lines::new(input);
    let mut import = Import::new(each);
    let mut count = 0;
    while let Some(line) = lines.next_line().map_err(|e| fail(e.into()))? {
        count = line.number;
        import.line(&line).map_err(fail)?;
    }
    import.end(name, count).map_err(fail)
}

/// An `ERROR: bad …IO` line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct IoFailure {
    op: Op,
    sector: u64,
    /// Bytes transferred, or the negative errno.
    result: i64,
}

impl IoFailure {
    fn parse(text: &str) -> Option<IoFailure> {
        let mut words = text.strip_prefix("ERROR: bad ")?.split_ascii_whitespace();
        let op = parse_op(words.next()?.strip_suffix("IO")?)?.0;
        let status: i64 = words.next()?.parse().ok()?;
        let errno: u64 = words.nth(1)?.parse().ok()?;
        let sector = words.skip_while(|w| *w != "pos").nth(1)?.parse().ok()?;
        let result = if status < 0 { 0i64.checked_sub_unsigned(errno)? } else { status };
        Some(IoFailure { op, sector, result })
    }

    fn belongs_to(&self, record: &Record) -> bool {
        self.op == record.op && self.sector == record.executed.offset / SECTOR
    }

    fn apply(&self, record: &mut Record) {
        record.outcome = Outcome::Failed;
        record.result = self.result;
        let is_short = u64::try_from(self.result).is_ok_and(|bytes| bytes < record.executed.length);
        record.marks = record.marks.with(Marks::SHORT, is_short);
    }
}

/// Failures that precede their results.
///
/// blkreplay's workers write ERROR lines themselves, while the result goes through the main process.
#[derive(Default)]
struct Early {
    /// Results by operation and sector, in the order of the lines.
    results: HashMap<(Op, u64), VecDeque<i64>>,
    len: u64,
    /// Number given up because no result followed.
    lost: u64,
}

impl Early {
    fn put(&mut self, failure: IoFailure) {
        if self.len == EARLY_ERRORS {
            // More than can be in flight: no results will follow.
            self.lost += self.len;
            self.len = 0;
            self.results.clear();
        }
        self.len += 1;
        self.results.entry((failure.op, failure.sector)).or_default().push_back(failure.result);
    }

    /// Removes the failure of `record`, if one was reported.
    fn take(&mut self, record: &Record) -> Option<IoFailure> {
        let (op, sector) = (record.op, record.executed.offset / SECTOR);
        let queue = self.results.get_mut(&(op, sector))?;
        let result = queue.pop_front()?;
        if queue.is_empty() {
            self.results.remove(&(op, sector));
        }
        self.len -= 1;
        Some(IoFailure { op, sector, result })
    }
}

/// Parses `R` or `W`, and whether it is lower case: pushed back.
fn parse_op(text: &str) -> Option<(Op, bool)> {
    match text {
        "R" => Some((Op::Read, false)),
        "W" => Some((Op::Write, false)),
        "r" => Some((Op::Read, true)),
        "w" => Some((Op::Write, true)),
        _ => None,
    }
}

/// Counts of records by outcome.
type Counts = [u64; Outcome::ALL.len()];

struct Import<'a> {
    each: &'a mut dyn FnMut(&Record) -> io::Result<()>,
    facts: Facts,
    seen: ResultLines,
    /// Maximum in flight, from the times of the results.
    peak: Peak,
    has_header: bool,
    /// The last result: a following ERROR line can still mark it as failed.
    held: Option<Record>,
    early: Early,
    /// Due time of the last result line.
    last_due: Nanos,
    records: u64,
    counts: Counts,
    bad_lines: Vec<BadLine>,
    other_errors: u64,
}

impl<'a> Import<'a> {
    fn new(each: &'a mut dyn FnMut(&Record) -> io::Result<()>) -> Import<'a> {
        Import {
            each,
            facts: Facts::default(),
            seen: ResultLines::default(),
            peak: Peak::default(),
            has_header: false,
            held: None,
            early: Early::default(),
            last_due: Nanos(0),
            records: 0,
            counts: Counts::default(),
            bad_lines: Vec::new(),
            other_errors: 0,
        }
    }

    fn line(&mut self, line: &TextLine<'_>) -> Result<()> {
        match parse_line(line.number, &line.text) {
            Line::Request(comment) if !comment.op.is_transfer() && !self.has_header => Ok(()),
            Line::Request(_) if !self.has_header => Err(ImportProblem::Load { line: line.number }),
            Line::Request(request) => match result_record(&request, line) {
                Ok(record) => self.result(record),
                Err(why) => self.bad(line, why),
            },
            Line::Bad(_) if !self.has_header => Ok(()),
            Line::Bad(bad) => self.bad(line, bad.why),
            Line::Text => self.text(line),
        }
    }

    fn text(&mut self, line: &TextLine<'_>) -> Result<()> {
        let text = line.text.as_ref();
        let unsent = |prefix, outcome| text.strip_prefix(prefix).map(|rest| (rest, outcome));
        let unsent =
            unsent(form::DROPPING, Outcome::Dropped).or_else(|| unsent(form::SKIPPING, Outcome::Cancelled));
        if let Some((rest, outcome)) = unsent {
            return self.unsent(line, rest, outcome);
        }
        if let Some(failure) = IoFailure::parse(text) {
            self.failure(failure);
        } else if Facts::is_start(text) && (self.records > 0 || self.held.is_some()) {
            return Err(ImportProblem::Second { line: line.number });
        } else if text.starts_with("orig_start") {
            self.has_header = true;
        } else if text.starts_with("INFO: backshift at") {
            self.seen.back_shifts += 1;
        } else if ["ERROR", "FATAL ERROR", "VERIFY"].iter().any(|word| text.starts_with(word)) {
            self.other_errors += 1;
        } else {
            self.facts.read(text);
        }
        Ok(())
    }

    fn bad(&mut self, line: &TextLine<'_>, why: String) -> Result<()> {
        self.seen.bad_lines += 1;
        if self.bad_lines.len() < KEPT_BAD_LINES {
            let text = line.text.chars().take(60).collect();
            self.bad_lines.push(BadLine { line: line.number, why, text });
        }
        Ok(())
    }

    fn result(&mut self, mut record: Record) -> Result<()> {
        self.release()?;
        if let Some(failure) = self.early.take(&record) {
            failure.apply(&mut record);
        }
        self.last_due = record.due;
        self.held = Some(record);
        Ok(())
    }

    fn failure(&mut self, failure: IoFailure) {
        match &mut self.held {
            Some(record) if record.is_completed() && failure.belongs_to(record) => failure.apply(record),
            _ => self.early.put(failure),
        }
    }

    fn unsent(&mut self, line: &TextLine<'_>, fields: &str, outcome: Outcome) -> Result<()> {
        // Before the program's first line, such a line belongs to an older result, from which the load was made.
        if !self.has_header && !self.facts.has_start {
            return Ok(());
        }
        if !line.is_whole {
            return self.bad(line, CUT_OFF.into());
        }
        let Some(record) = unsent_record(fields, outcome, self.last_due) else {
            return self.bad(line, "it is no 'block=B len=L mode=R|W time=T'".into());
        };
        self.release()?;
        self.write_record(record)
    }

    /// Emits the last result, which is now final.
    fn release(&mut self) -> Result<()> {
        self.held.take().map_or(Ok(()), |record| self.write_record(record))
    }

    fn write_record(&mut self, record: Record) -> Result<()> {
        let record = Record { sequence: self.records, ..record };
        self.records += 1;
        // The tail counts only requests with a place.
        self.counts[record.outcome as usize] += u64::from(record.op.is_transfer());
        self.seen.max_end = self.seen.max_end.max(record.executed.end());
        self.peak.add(&record);
        (self.each)(&record).map_err(ImportProblem::Keep)
    }

    fn end(mut self, name: &str, lines: u64) -> Result<Imported> {
        self.release()?;
        if self.records == 0 {
            return Err(ImportProblem::NoResult { lines });
        }
        let plan = self.facts.plan(name);
        plan.validate()?;
        let doubts = self.doubts();
        let seen = ResultLines { max_in_flight: self.peak.finish(), ..self.seen };
        let run = self.facts.run(name, seen);
        Ok(Imported { plan, run, records: self.records, bad_lines: self.bad_lines, doubts })
    }

    fn doubts(&self) -> Vec<String> {
        let [completed, failed, dropped, skipped] = self.counts;
        // blkreplay's own tail has no failed requests: it counts them as completed.
        let counted_completed = if self.facts.failed.is_some() { completed } else { completed + failed };
        let counts = [
            ("completed", self.facts.completed, counted_completed),
            ("failed", self.facts.failed, failed),
            ("dropped", self.facts.dropped, dropped),
            ("skipped", self.facts.skipped, skipped),
        ];
        let wrong = counts.into_iter().filter_map(|(what, tail, found)| {
            let tail = tail.filter(|tail| *tail != found)?;
            Some(format!(
                "the tail counts {tail} {what} requests, the lines are {found}: lines are missing or damaged"
            ))
        });
        let lost = self.early.lost + self.early.len;
        let lost = (lost > 0).then(|| {
            format!("{lost} ERROR lines belong to no result line: failed requests may count as completed")
        });
        let other = self.other_errors;
        let other = (other > 0)
            .then(|| format!("{other} lines report other errors (ERROR, FATAL, VERIFY): read the text"));
        wrong.chain(lost).chain(other).collect()
    }
}

const CUT_OFF: &str = "the line is cut off";

fn result_record(request: &TimedRequest, line: &TextLine<'_>) -> std::result::Result<Record, String> {
    if !line.is_whole {
        return Err(CUT_OFF.into());
    }
    // Comments start with the operation; a flush has no place and no length.
    let place = if request.op.has_place() { 4 } else { 2 };
    let mut measured = line.text.split(';').skip(place).map(str::trim);
    for name in ["delay", "duration"] {
        let column = measured.next().ok_or_else(|| format!("the {name} is missing"))?;
        column.parse::<Nanos>().map_err(|_| format!("the {name} is no time"))?;
    }
    let submitted = request.time.0.checked_add(request.delay.0);
    let completed = submitted.and_then(|s| s.checked_add(request.latency.0));
    let (Some(submitted), Some(completed)) = (submitted, completed) else {
        return Err("it ends later than 584 years after the start".into());
    };
    Ok(Record {
        op: request.op,
        outcome: Outcome::Completed,
        marks: Marks::default().with(Marks::PUSHED, request.pushed).with_durability(request.durability),
        load_time: request.time,
        due: request.time,
        submitted: Some(Nanos(submitted)),
        completed: Some(Nanos(completed)),
        requested: request.extent,
        executed: request.extent,
        result: i64::try_from(request.extent.length).unwrap_or(i64::MAX),
        ..Record::default()
    })
}

/// Parses `block=B len=L mode=C [time=T]`; uses `last_due` if the time is missing, as in blkreplay's own lines.
fn unsent_record(fields: &str, outcome: Outcome, last_due: Nanos) -> Option<Record> {
    let (mut block, mut len, mut mode, mut due) = (None, None, None, last_due);
    for (name, value) in fields.split_ascii_whitespace().filter_map(|word| word.split_once('=')) {
        match name {
            "block" => block = value.parse().ok(),
            "len" => len = value.parse().ok().filter(|len| *len > 0),
            "mode" => mode = parse_op(value),
            "time" => due = value.parse().ok()?,
            // Sequence number in the exported archive; requests are renumbered here.
            _ => {}
        }
    }
    let extent = Extent::from_sectors(block?, len?)?;
    let (op, pushed) = mode?;
    Some(Record {
        op,
        outcome,
        marks: Marks::default().with(Marks::PUSHED, pushed),
        load_time: due,
        due,
        requested: extent,
        executed: extent,
        ..Record::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_error_lines() {
        let failure = |op, sector, result| Some(IoFailure { op, sector, result });
        for (text, want) in [
            ("ERROR: bad WIO -1 / 28 on 3 at pos 16 (No space left on device)", failure(Op::Write, 16, -28)),
            ("ERROR: bad rIO 512 / 0 on 3 at pos 16 (Success)", failure(Op::Read, 16, 512)),
            ("ERROR: bad rIO -1 / 9223372036854775808 on 3 at pos 16", failure(Op::Read, 16, i64::MIN)),
            ("ERROR: bad rIO -1 / 9223372036854775809 on 3 at pos 16", None),
            ("ERROR: bad WIO -1 / 28 on 3", None),
            ("ERROR: bad input count=1, line='x'", None),
            ("ERROR: bad lseek64() 3", None),
        ] {
            assert_eq!(IoFailure::parse(text), want, "{text}");
        }
    }

    #[test]
    fn early_failures_are_ordered_and_bounded() {
        let record = |sector: u64| Record {
            executed: Extent { offset: sector * SECTOR, length: 512 },
            ..Record::default()
        };
        let mut early = Early::default();
        for result in [-5, -28] {
            early.put(IoFailure { op: Op::Read, sector: 7, result });
        }
        assert_eq!(early.take(&record(8)), None);
        assert_eq!(early.take(&record(7)).map(|f| f.result), Some(-5));
        assert_eq!(early.take(&record(7)).map(|f| f.result), Some(-28));
        assert_eq!((early.take(&record(7)), early.len, early.results.len()), (None, 0, 0));
        for sector in 0..EARLY_ERRORS + 3 {
            early.put(IoFailure { op: Op::Read, sector, result: -5 });
        }
        assert_eq!((early.len, early.lost), (3, EARLY_ERRORS));
        assert_eq!(early.take(&record(0)), None);
    }
}
