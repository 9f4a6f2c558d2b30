//! Block tracepoints of one device: records them with `lab/trace.sh`, and follows each bio through splits and merges to
//! its completion.
//!
//! The text of a trace has microseconds only, but its order is that of the kernel's nanoseconds over all CPUs: places
//! in the trace are an exact clock, times are suitable for comparison with ours.

use iosonar_archive::Record;
use iosonar_plan::{Nanos, Op, SECTOR};
use std::collections::{HashMap, HashSet, VecDeque};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use tempfile::TempDir;

/// Maximum error by which a time in a trace is too early: its text is truncated to microseconds.
pub const TRUNCATED_NS: u64 = 999;
/// Maximum difference of a run's clock to that of the kernel in its first second. Its rate is measured over 20 ms
/// between readings that are exact to some 30 ns, and corrected once a second.
pub const CLOCK_NS: u64 = 1_000;

/// Kinds of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A bio was queued.
    Queue,
    /// A bio was split; `length` is that of the front part.
    Split,
    /// A bio was merged at the end of a request.
    BackMerge,
    /// A bio was merged at the start of a request.
    FrontMerge,
    /// Two requests were merged.
    RequestMerge,
    /// A request was issued to the driver.
    Issue,
    /// A request was requeued.
    Requeue,
    /// A request completed.
    Complete,
}

/// A place and a time in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// Line number: exact order.
    pub place: u64,
    /// `CLOCK_MONOTONIC` in nanoseconds, truncated to microseconds.
    pub ns: u64,
}

/// One event with data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Place and time.
    pub at: Moment,
    /// Kind.
    pub kind: Kind,
    /// Read or write.
    pub op: Op,
    /// First sector.
    pub sector: u64,
    /// Number of sectors.
    pub length: u64,
    /// For a completion: 0, or the negative errno.
    pub error: i64,
}

/// A recorded trace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trace {
    /// Events of reads and writes with data, in order.
    pub events: Vec<Event>,
    /// Events lost by the kernel.
    pub lost: u64,
}

impl Trace {
    /// Parses the output of `lab/trace.sh`.
    pub fn parse(text: &str) -> Trace {
        let mut trace = Trace::default();
        for (place, line) in text.lines().enumerate() {
            if let Some(counts) = line.strip_prefix("# cpu") {
                let lost = counts
                    .split(' ')
                    .filter(|c| !c.starts_with("read_events"))
                    .filter_map(|c| c.split_once('='));
                trace.lost += lost.map(|(_, n)| n.parse::<u64>().expect("a count")).sum::<u64>();
            } else if !line.starts_with('#') {
                trace.events.extend(event(place as u64, line));
            }
        }
        trace
    }

    /// Returns the number of events of a kind.
    pub fn count(&self, kind: Kind) -> u64 {
        self.events.iter().filter(|e| e.kind == kind).count() as u64
    }
}

/// Parses `TASK-PID [CPU] FLAGS SECONDS.MICROSECONDS: EVENT: MAJOR,MINOR RWBS [BYTES (COMMAND)] SECTOR + LENGTH ... [ERROR]`.
fn event(place: u64, line: &str) -> Option<Event> {
    let at = line.find(": block_")?;
    let (head, rest) = (&line[..at], &line[at + 2..]);
    let (name, rest) = rest.split_once(": ")?;
    let kind = match name {
        "block_bio_queue" => Kind::Queue,
        "block_split" => Kind::Split,
        "block_bio_backmerge" => Kind::BackMerge,
        "block_bio_frontmerge" => Kind::FrontMerge,
        "block_rq_merge" => Kind::RequestMerge,
        "block_rq_issue" => Kind::Issue,
        "block_rq_requeue" => Kind::Requeue,
        "block_rq_complete" => Kind::Complete,
        _ => return None,
    };
    let (seconds, micros) = head.rsplit_once(' ')?.1.split_once('.')?;
    let ns = seconds.parse::<u64>().ok()? * 1_000_000_000 + micros.parse::<u64>().ok()? * 1_000;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let op = match words.get(1)? {
        rwbs if rwbs.contains('W') => Op::Write,
        rwbs if rwbs.contains('R') => Op::Read,
        _ => return None,
    };
    let middle = words.iter().position(|w| matches!(*w, "+" | "/"))?;
    let number = |i: usize| words.get(i).and_then(|w| w.parse::<u64>().ok());
    let (sector, second) = (number(middle - 1)?, number(middle + 1)?);
    let length = if kind == Kind::Split { second - sector } else { second };
    let error = words.last().and_then(|w| w.trim_matches(['[', ']']).parse().ok()).unwrap_or(0);
    (length > 0).then_some(Event { at: Moment { place, ns }, kind, op, sector, length, error })
}

/// A running recording, until finished or dropped.
#[derive(Debug)]
pub struct Tracing {
    script: Child,
    /// Kept open: otherwise writing its last messages would kill the script.
    messages: BufReader<ChildStderr>,
    output: PathBuf,
    _directory: TempDir,
}

impl Tracing {
    /// Starts recording a device; an error states why it cannot.
    pub fn start(device: &Path) -> Result<Tracing, String> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let output = directory.path().join("trace");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/trace.sh");
        let mut command = Command::new(script);
        command.arg(device).arg(&output).env("LAB_TRACE_KIB", "32768");
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut script = child.map_err(|error| format!("lab/trace.sh: {error}"))?;
        let messages = BufReader::new(script.stderr.take().expect("a pipe"));
        let mut tracing = Tracing { script, messages, output, _directory: directory };
        let mut line = String::new();
        tracing.messages.read_line(&mut line).expect("a readable pipe");
        if line.contains("recording") { Ok(tracing) } else { Err(line.trim().to_owned()) }
    }

    /// Ends the recording and parses it.
    #[track_caller]
    pub fn finish(mut self) -> Trace {
        self.end();
        Trace::parse(&fs::read_to_string(&self.output).expect("a trace"))
    }

    fn end(&mut self) {
        if let Ok(None) = self.script.try_wait() {
            crate::signal(self.script.id(), "TERM");
        }
        let _ = self.script.wait();
    }
}

impl Drop for Tracing {
    fn drop(&mut self) {
        self.end();
    }
}

/// A bio from queueing to the completion of its last part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bio {
    /// Read or write.
    pub op: Op,
    /// First sector.
    pub sector: u64,
    /// Number of sectors.
    pub length: u64,
    /// Time of queueing.
    pub queued: Moment,
    /// Completion of its last part, if any.
    pub completed: Option<Moment>,
    /// 0, or the negative errno of a part.
    pub error: i64,
    /// An equal bio was in flight when a part completed: events do not identify requests, so either may have completed.
    pub has_twin: bool,
    /// Sectors without a completion.
    open: u64,
}

impl Bio {
    /// Lower bound of a record's completion time; the maximum for a bio without an end.
    fn earliest_end_ns(&self) -> u64 {
        match self.completed {
            Some(_) if self.has_twin => self.queued.ns,
            Some(end) => end.ns,
            None => u64::MAX,
        }
    }
}

/// All bios of a trace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bios {
    /// Bios in the order of queueing.
    pub bios: Vec<Bio>,
    /// Number of splits followed.
    pub splits: u64,
    /// Number of merges required for the completions to cover all queued bios.
    pub merges: u64,
    /// Events that match no queued bio.
    pub unexplained: Vec<Event>,
}

impl Bios {
    /// Follows every bio.
    pub fn of(trace: &Trace) -> Bios {
        let mut all = Bios::default();
        let mut parts = Parts::default();
        for event in &trace.events {
            match event.kind {
                Kind::Queue => {
                    let (sector, length) = (event.sector, event.length);
                    parts.add(event.op, BioPart { sector, length, bio: all.bios.len(), merged: false });
                    let Event { op, sector, length, at, .. } = *event;
                    all.bios.push(Bio {
                        op,
                        sector,
                        length,
                        queued: at,
                        completed: None,
                        error: 0,
                        has_twin: false,
                        open: length,
                    });
                }
                Kind::Split => all.split(event, &mut parts),
                Kind::BackMerge => parts.merge(event),
                Kind::Complete => all.complete(event, &mut parts),
                _ => {}
            }
        }
        all
    }

    /// Removes bios that never completed although an equal one did. io_uring first tries a request without waiting; one
    /// that would have to wait, or to be split, is given back without an event and queued a second time.
    pub fn take_second_tries(&mut self) -> Vec<Bio> {
        let key = |bio: &Bio| (bio.op, bio.sector, bio.length);
        let ended: HashSet<_> = self.bios.iter().filter(|bio| bio.completed.is_some()).map(key).collect();
        let (second, rest) = self
            .bios
            .drain(..)
            .partition(|bio| bio.completed.is_none() && bio.open == bio.length && ended.contains(&key(bio)));
        self.bios = rest;
        second
    }

    fn split(&mut self, event: &Event, parts: &mut Parts) {
        // The bio being split was queued last.
        match parts.take_last(event.op, event.sector, |p| p.length > event.length) {
            Some(part) => {
                self.splits += 1;
                let behind = part.sector + event.length;
                parts.add(event.op, BioPart { length: event.length, ..part });
                parts.add(event.op, BioPart { sector: behind, length: part.length - event.length, ..part });
            }
            None => self.unexplained.push(*event),
        }
    }

    fn complete(&mut self, event: &Event, parts: &mut Parts) {
        let Some(covering) = parts.take_covering(event) else {
            return self.unexplained.push(*event);
        };
        self.merges += covering.len() as u64 - 1;
        for part in covering {
            for twin in parts.equal_to(event.op, part) {
                self.bios[twin].has_twin = true;
                self.bios[part.bio].has_twin = true;
            }
            let bio = &mut self.bios[part.bio];
            bio.open -= part.length;
            bio.error = bio.error.min(event.error);
            if bio.open == 0 {
                bio.completed = Some(event.at);
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct BioPart {
    sector: u64,
    length: u64,
    bio: usize,
    /// Added at the end of another request.
    merged: bool,
}

/// Parts in flight, by operation and first sector, earliest first.
#[derive(Default)]
struct Parts(HashMap<(Op, u64), VecDeque<BioPart>>);

impl Parts {
    fn add(&mut self, op: Op, part: BioPart) {
        self.0.entry((op, part.sector)).or_default().push_back(part);
    }

    /// Bios of the parts with the same place and length.
    fn equal_to(&self, op: Op, part: BioPart) -> impl Iterator<Item = usize> {
        let parts = self.0.get(&(op, part.sector)).into_iter().flatten();
        parts.filter(move |p| p.length == part.length).map(|p| p.bio)
    }

    /// Takes the part that was added last of those that fit.
    fn take_last(&mut self, op: Op, sector: u64, fits: impl Fn(&BioPart) -> bool) -> Option<BioPart> {
        let parts = self.0.get_mut(&(op, sector))?;
        parts.remove(parts.iter().rposition(fits)?)
    }

    fn take(&mut self, op: Op, part: &BioPart) -> Option<BioPart> {
        let parts = self.0.get_mut(&(op, part.sector))?;
        parts.remove(parts.iter().position(|other| other == part)?)
    }

    /// Marks the part that was merged: the one of this length that was added last.
    fn merge(&mut self, event: &Event) {
        let parts = self.0.get_mut(&(event.op, event.sector));
        let is_it = |part: &&mut BioPart| part.length == event.length && !part.merged;
        if let Some(part) = parts.into_iter().flatten().rev().find(is_it) {
            part.merged = true;
        }
    }

    /// Takes the parts of a completed request: one after the other without a gap. `None` if no parts in flight cover it.
    fn take_covering(&mut self, event: &Event) -> Option<Vec<BioPart>> {
        let mut covering = Vec::new();
        let is_covered = self.cover(event, event.sector, &mut HashSet::new(), &mut covering);
        is_covered.then(|| covering.iter().filter_map(|part| self.take(event.op, part)).collect())
    }

    /// Finds parts from `from` to the end of the request, last part first. `dead` holds the sectors from which the end cannot be reached.
    fn cover(&self, event: &Event, from: u64, dead: &mut HashSet<u64>, found: &mut Vec<BioPart>) -> bool {
        let end = event.sector + event.length;
        if from == end {
            return true;
        }
        if dead.contains(&from) {
            return false;
        }
        let mut choices: Vec<BioPart> =
            self.0.get(&(event.op, from)).into_iter().flatten().copied().collect();
        choices.retain(|part| part.length <= end - from);
        // The first part of a request was merged at the front only, which is rare; the others were merged.
        choices.sort_by_key(|part| (part.merged == (from == event.sector), part.length < end - from));
        for part in choices {
            if self.cover(event, from + part.length, dead, found) {
                found.push(part);
                return true;
            }
        }
        dead.insert(from);
        false
    }
}

/// The kernel's view of one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InKernel {
    /// Queueing of its first bio.
    pub queued: Moment,
    /// Completion of its last bio, if all completed.
    pub completed: Option<Moment>,
    /// 0, or the negative errno.
    pub error: i64,
    /// Number of its bios.
    pub bios: u64,
    /// One of its bios has a twin, so that it is unknown which of the two completed first.
    pub has_twin: bool,
}

/// Mapping between bios and records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attribution {
    /// By record, in order; `None` if the kernel's events lack it, or a part of it.
    pub records: Vec<Option<InKernel>>,
    /// Bios without a record.
    pub strangers: Vec<Bio>,
}

/// Assigns every bio to the record of one target that was between submission and completion then, and whose executed
/// range continues where the bio starts. `origin_ns` is the run's time zero on `CLOCK_MONOTONIC`.
pub fn attribute(records: &[Record], origin_ns: u64, bios: &[Bio]) -> Attribution {
    let on_kernel_clock = |time: Nanos| time.0 + origin_ns;
    let mut order: Vec<usize> = (0..records.len()).filter(|i| records[*i].submitted.is_some()).collect();
    order.sort_by_key(|i| records[*i].submitted);
    // Records by the start sector of their next bio.
    let mut next: HashMap<(Op, u64), Vec<usize>> = HashMap::new();
    for index in order {
        next.entry((records[index].op, records[index].executed.offset / SECTOR)).or_default().push(index);
    }
    let mut all = Attribution { records: vec![None; records.len()], strangers: Vec::new() };
    for bio in bios {
        let end = (bio.sector + bio.length) * SECTOR;
        let is_its = |record: &Record| {
            record.submitted.is_some_and(|t| on_kernel_clock(t) <= bio.queued.ns + TRUNCATED_NS + CLOCK_NS)
                && record.completed.is_some_and(|t| bio.earliest_end_ns() <= on_kernel_clock(t) + CLOCK_NS)
                && end <= record.executed.end()
        };
        let candidates = next.entry((bio.op, bio.sector)).or_default();
        // Prefer a record that ends with the bio to one that continues; of those the first to complete, which leaves
        // the most to the bios that follow.
        let choice = |(_, index): &(usize, &usize)| {
            let record = &records[**index];
            (record.executed.end() != end, record.completed)
        };
        let its =
            candidates.iter().enumerate().filter(|(_, index)| is_its(&records[**index])).min_by_key(choice);
        let Some((at, _)) = its else {
            all.strangers.push(*bio);
            continue;
        };
        let index = candidates.remove(at);
        let seen = all.records[index].get_or_insert(InKernel {
            queued: bio.queued,
            completed: bio.completed,
            error: 0,
            bios: 0,
            has_twin: false,
        });
        seen.bios += 1;
        seen.has_twin |= bio.has_twin;
        seen.completed =
            seen.completed.max(bio.completed).filter(|_| seen.completed.is_some() && bio.completed.is_some());
        seen.error = seen.error.min(bio.error);
        if (bio.sector + bio.length) * SECTOR < records[index].executed.end() {
            next.entry((bio.op, bio.sector + bio.length)).or_default().push(index);
        }
    }
    // Records with missing bios were not seen completely.
    for index in next.into_values().flatten() {
        all.records[index] = None;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_plan::Extent;

    const TEXT: &str = "\
# iosonar trace: device loop0 7:0, clock mono, events block_bio_queue
           a: b c-22227   [001] .....     1.000010: block_bio_queue: 7,0 WS 0 + 20 [a: b c]
           a: b c-22227   [001] .N...     1.000011: block_split: 7,0 WS 0 / 12 [a: b c]
           a: b c-22227   [001] .N...     1.000012: block_rq_issue: 7,0 WS 6144 () 0 + 12 be,0,4 [a: b c]
           a: b c-22227   [001] .....     1.000013: block_bio_queue: 7,0 R 40 + 4 [x]
           a: b c-22227   [001] .....     1.000013: block_bio_queue: 7,0 RA 44 + 4 [x]
     ksoftirqd/1-22       [001] ..s..     1.000020: block_rq_complete: 7,0 WS () 12 + 8 be,0,4 [0]
     ksoftirqd/1-22       [001] ..s..     1.000021: block_rq_complete: 7,0 WS () 0 + 12 be,0,4 [-5]
     ksoftirqd/1-22       [001] ..s..     1.000022: block_rq_complete: 7,0 R () 40 + 8 be,0,4 [0]
     ksoftirqd/0-14       [000] ..s..     1.000023: block_rq_complete: 7,0 FF () 18446744073709551615 + 0 none,0,0 [0]
     ksoftirqd/0-14       [000] ..s..     1.000024: block_rq_complete: 7,0 R () 99 + 1 none,0,0 [0]
# cpu0: overrun=1 commit_overrun=2 dropped_events=3 read_events=8
# cpu1: overrun=0 commit_overrun=0 dropped_events=1 read_events=55
";

    #[test]
    fn follows_splits_and_merges() {
        let trace = Trace::parse(TEXT);
        assert_eq!((trace.lost, trace.events.len()), (7, 9));
        let bios = Bios::of(&trace);
        assert_eq!((bios.splits, bios.merges, bios.unexplained.len()), (1, 1, 1));
        let ends: Vec<_> = bios.bios.iter().map(|b| (b.completed.unwrap().ns, b.error)).collect();
        assert_eq!(ends, [(1_000_021_000, -5), (1_000_022_000, 0), (1_000_022_000, 0)]);
    }

    #[test]
    fn request_gets_equal_start_parts_that_reach_its_end() {
        let text = "\
 a-1 [001] .....     1.000020: block_bio_queue: 7,0 W 23 + 8 [a]
 a-1 [001] .....     1.000021: block_bio_queue: 7,0 W 23 + 20 [a]
 a-1 [001] .....     1.000022: block_bio_queue: 7,0 W 43 + 33 [a]
 a-1 [001] .....     1.000022: block_bio_backmerge: 7,0 W 43 + 33 [a]
 a-1 [001] .....     1.000030: block_rq_complete: 7,0 W () 23 + 53 be,0,4 [0]
 a-1 [001] .....     1.000040: block_rq_complete: 7,0 W () 23 + 8 be,0,4 [0]
";
        let bios = Bios::of(&Trace::parse(text));
        assert_eq!((bios.unexplained.len(), bios.merges), (0, 1));
        let ends: Vec<u64> = bios.bios.iter().map(|bio| bio.completed.unwrap().ns).collect();
        assert_eq!(ends, [1_000_040_000, 1_000_030_000, 1_000_030_000]);
    }

    #[test]
    fn merged_part_completes_with_its_request() {
        let text = "\
 a-1 [001] .....     1.000020: block_bio_queue: 7,0 W 23 + 8 [a]
 a-1 [001] .....     1.000021: block_bio_queue: 7,0 W 15 + 8 [a]
 a-1 [001] .....     1.000022: block_bio_queue: 7,0 W 23 + 16 [a]
 a-1 [001] .....     1.000022: block_bio_backmerge: 7,0 W 23 + 16 [a]
 a-1 [001] .....     1.000023: block_bio_queue: 7,0 W 31 + 8 [a]
 a-1 [001] .....     1.000023: block_bio_backmerge: 7,0 W 31 + 8 [a]
 a-1 [001] .....     1.000030: block_rq_complete: 7,0 W () 23 + 16 be,0,4 [0]
 a-1 [001] .....     1.000040: block_rq_complete: 7,0 W () 15 + 24 be,0,4 [0]
";
        let bios = Bios::of(&Trace::parse(text));
        assert_eq!((bios.unexplained.len(), bios.merges), (0, 2));
        let ends: Vec<u64> = bios.bios.iter().map(|bio| bio.completed.unwrap().ns).collect();
        assert_eq!(ends, [1_000_030_000, 1_000_040_000, 1_000_040_000, 1_000_030_000]);
    }

    fn write(sectors: u64, from: u64, to: u64) -> Record {
        Record {
            op: Op::Write,
            executed: Extent::from_sectors(0, sectors).unwrap(),
            submitted: Some(Nanos(from)),
            completed: Some(Nanos(to)),
            ..Record::default()
        }
    }

    /// For each record, the place in the trace of its first bio.
    fn places(text: &str, records: &[Record]) -> Vec<Option<u64>> {
        let found = attribute(records, 1_000_000_000, &Bios::of(&Trace::parse(text)).bios);
        assert_eq!(found.strangers, []);
        found.records.iter().map(|r| r.map(|r| r.queued.place)).collect()
    }

    #[test]
    fn bio_matches_the_equal_start_request_of_its_length() {
        let text = "\
 a-1 [001] .....     1.000020: block_bio_queue: 7,0 W 0 + 4 [a]
 a-1 [001] .....     1.000021: block_bio_queue: 7,0 W 0 + 8 [a]
 a-1 [001] .....     1.000030: block_rq_complete: 7,0 W () 0 + 8 be,0,4 [0]
 a-1 [001] .....     1.000040: block_rq_complete: 7,0 W () 0 + 4 be,0,4 [0]
";
        // The longer one was submitted first, and its thread was slower.
        assert_eq!(places(text, &[write(8, 8, 90_000), write(4, 9, 90_000)]), [Some(1), Some(0)]);
    }

    #[test]
    fn identical_requests_complete_in_any_order() {
        let text = "\
 a-1 [001] .....     1.000020: block_bio_queue: 7,0 W 0 + 8 [a]
 a-1 [001] .....     1.000022: block_bio_queue: 7,0 W 0 + 8 [a]
 a-1 [001] .....     1.000030: block_rq_complete: 7,0 W () 0 + 8 be,0,4 [0]
 a-1 [001] .....     1.000040: block_rq_complete: 7,0 W () 0 + 8 be,0,4 [0]
";
        assert!(Bios::of(&Trace::parse(text)).bios.iter().all(|bio| bio.has_twin));
        // The second completed first.
        assert_eq!(places(text, &[write(8, 19_000, 41_000), write(8, 22_500, 31_000)]), [Some(0), Some(1)]);
        assert_eq!(places(text, &[write(8, 19_000, 31_000), write(8, 22_500, 41_000)]), [Some(0), Some(1)]);
    }

    #[test]
    fn matches_bios_to_records() {
        let bios = Bios::of(&Trace::parse(TEXT)).bios;
        let record = |op, sector, sectors, from: u64, to: u64| Record {
            op,
            executed: Extent::from_sectors(sector, sectors).unwrap(),
            submitted: Some(Nanos(from)),
            completed: Some(Nanos(to)),
            ..Record::default()
        };
        let origin = 1_000_000_000;
        let records = [
            record(Op::Write, 0, 20, 10_500, 21_001),
            record(Op::Write, 0, 20, 11_000, 21_001),
            record(Op::Read, 40, 8, 12_000, 30_000),
            record(Op::Read, 40, 12, 12_000, 12_999),
        ];
        let found = attribute(&records, origin, &bios);
        assert!(found.strangers.is_empty());
        let seen: Vec<_> = found.records.iter().map(|r| r.map(|r| (r.bios, r.error))).collect();
        assert_eq!(seen, [Some((1, -5)), None, Some((2, 0)), None]);
        assert_eq!(attribute(&records[..2], origin, &bios).strangers.len(), 2);
    }
}
