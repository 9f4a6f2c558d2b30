//! The cells of a matrix of file operations: statistics of each phase with a cell.

use crate::Records;
use crate::sketch::Sketch;
use iosonar_archive::{Fields, Outcome, Record, RunInfo, RunState};
use iosonar_plan::{Cell, ExtraReads, Job, Op, Plan};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;

/// Up to when the streams of a cell count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountUntil {
    /// The end of the first of them that did all of its work (IOzone's stonewall).
    FirstEnd,
    /// Its own end.
    OwnEnd,
}

/// Statistics of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellStats {
    /// Which one.
    pub cell: Cell,
    /// Number of its phase in the plan.
    pub phase: u16,
    /// When the phase started, since the start of the run.
    pub start_ns: u64,
    /// For each stream, in the order of the phase's jobs.
    pub streams: Vec<StreamStats>,
    /// From the first submission of any stream to the end of the last one, its flushing and closing included.
    pub whole_ns: u64,
    /// Requests that failed.
    pub failed: u64,
    /// errno of the first failed request; `None` if none failed, or if it was a short transfer.
    pub error: Option<i32>,
    /// submitted to completed, of its completed reads and writes; `None` without any.
    pub latency: Option<CellTimes>,
    /// Latency histogram: lower edge in nanoseconds, and count; 8 steps for each factor of two, empty ones skipped.
    pub histogram: Vec<(u64, u64)>,
    /// CPU time of its issuing loops; `None` for a killed run, as it is stored at the end.
    pub cpu_ns: Option<u64>,
    /// Whether all of the phase was done: a run that was stopped leaves a cell without a figure.
    pub is_whole: bool,
}

/// Statistics of one stream of a cell, up to the time at which the first stream was done (IOzone's stonewall), or to its own
/// end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StreamStats {
    /// Its target.
    pub target: u16,
    /// Completed reads and writes.
    pub ops: u64,
    /// Bytes that they read.
    pub read_bytes: u64,
    /// Bytes that they wrote.
    pub written_bytes: u64,
    /// Time in which its requests were in flight: the sum of their latencies, and at most the time from the first submission to
    /// the last completion. At depth 1 it excludes what the issuing loop does between requests, as making and checking data.
    /// With a rate in the plan it is all the time from the first submission to the last completion. Flushes among the requests
    /// (bursts) are part of it; think time is not. Of several passes it is the sum: the time between them is no part of it.
    pub elapsed_ns: u64,
    /// From its first submission to the last of these completions, with all that happened in between.
    pub span_ns: u64,
    /// Time of making, opening, allocating and locking its file before its requests; not of evicting it.
    pub before_ns: u64,
    /// Time of the flushes after its requests.
    pub flush_ns: u64,
    /// Time of closing its file.
    pub close_ns: u64,
    /// Bytes of all its requests, also of those after the first stream was done.
    pub all_bytes: u64,
    /// From its first submission to the last completion of all its requests.
    pub all_span_ns: u64,
    /// Bytes of the file in the page cache when its requests began; absent if not counted.
    pub cached_before: Option<u64>,
    /// Bytes of the file in the page cache after its requests, before anything was evicted.
    pub cached_after: Option<u64>,
}

impl StreamStats {
    /// Bytes that it read and wrote.
    pub fn bytes(&self) -> u64 {
        self.read_bytes + self.written_bytes
    }
}

/// Latencies of a cell in nanoseconds; percentiles are right to 1 %.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellTimes {
    /// Exact sum divided by the number, rounded.
    pub mean_ns: u64,
    /// Half took no longer.
    pub p50_ns: u64,
    /// 90 % took no longer; absent below 10 requests.
    pub p90_ns: Option<u64>,
    /// Absent below 100 requests.
    pub p99_ns: Option<u64>,
    /// 99.9 %; absent below 1000 requests.
    pub p999_ns: Option<u64>,
    /// Greatest, exact.
    pub max_ns: u64,
}

/// Counters of one stream of a phase.
#[derive(Debug, Default)]
struct Stream {
    last_completed: u64,
    passes: BTreeMap<u32, Pass>,
    stats: StreamStats,
}

/// Counters of one pass of a stream.
#[derive(Debug, Default)]
struct Pass {
    first_submitted: Option<u64>,
    counted_until: u64,
    in_flight_ns: u64,
}

impl Pass {
    fn span(&self) -> u64 {
        self.counted_until.saturating_sub(self.first_submitted.unwrap_or(self.counted_until))
    }
}

/// Counters of one phase.
#[derive(Debug, Default)]
struct Phase {
    /// Submission of its first request or file operation.
    first_ns: Option<u64>,
    streams: BTreeMap<u16, Stream>,
    failed: u64,
    error: Option<i32>,
    latency_sum: u128,
    latency: Sketch<64>,
}

/// The extra reads of jobs, by phase and target.
struct Extras(BTreeMap<(u16, u16), ExtraReads>);

impl Extras {
    fn of(plan: &Plan) -> Extras {
        let of_job = |number: u16, job: &Job| {
            Some(((number, job.target), job.workload.generator().and_then(|g| g.extra_reads)?))
        };
        let phases = (0u16..).zip(&plan.phases);
        Extras(
            phases.flat_map(|(n, phase)| phase.jobs.iter().filter_map(move |job| of_job(n, job))).collect(),
        )
    }

    fn has(&self, record: &Record) -> bool {
        let extra = || self.0.get(&(record.phase, record.target));
        !self.0.is_empty()
            && !record.is_step()
            && extra().is_some_and(|extra| extra.extent(record.sequence).is_some())
    }
}

impl Stream {
    fn add(&mut self, record: &Record, is_extra: bool) {
        let (Some(submitted), Some(completed)) = (record.submitted, record.completed) else { return };
        let took = completed.0.saturating_sub(submitted.0);
        match record.op {
            Op::Read | Op::Write => {
                let first = &mut self.passes.entry(record.pass).or_default().first_submitted;
                *first = Some(first.map_or(submitted.0, |t| t.min(submitted.0)));
                self.last_completed = self.last_completed.max(completed.0);
                self.stats.all_bytes += if is_extra { 0 } else { record.executed.length };
            }
            Op::Flush | Op::Fsync if !record.is_step() => {
                self.last_completed = self.last_completed.max(completed.0);
            }
            Op::Flush | Op::Fsync => self.stats.flush_ns += took,
            Op::Close => self.stats.close_ns += took,
            // A negative result: the kernel did not report it to this user.
            Op::Evict => match (self.first_submitted(), u64::try_from(record.result)) {
                (None, Ok(stays)) => self.stats.cached_before = Some(stays),
                (Some(_), Ok(_)) => self.stats.cached_after = Some(record.executed.length),
                _ => {}
            },
            _ if record.is_step() && !self.has_begun(record.pass) => self.stats.before_ns += took,
            _ => {}
        }
    }

    /// Whether it issued requests of a pass.
    fn has_begun(&self, pass: u32) -> bool {
        self.passes.get(&pass).is_some_and(|pass| pass.first_submitted.is_some())
    }

    /// Counts a request that had completed when the first stream was done. Of an extra read only its time counts.
    fn count(&mut self, record: &Record, completed: u64, is_extra: bool) {
        let pass = self.passes.entry(record.pass).or_default();
        pass.counted_until = pass.counted_until.max(completed);
        pass.in_flight_ns += record.latency().map_or(0, |latency| latency.0);
        if is_extra || !matches!(record.op, Op::Read | Op::Write) {
            return;
        }
        self.stats.ops += 1;
        match record.op {
            Op::Write => self.stats.written_bytes += record.executed.length,
            _ => self.stats.read_bytes += record.executed.length,
        }
    }

    fn first_submitted(&self) -> Option<u64> {
        self.passes.values().filter_map(|pass| pass.first_submitted).min()
    }

    /// When its file was flushed and closed. Counting the page cache in between is not IOzone's, and excluded.
    fn closed_ns(&self) -> u64 {
        self.last_completed + self.stats.flush_ns + self.stats.close_ns
    }

    /// Time between requests counts where the plan asks for a rate.
    fn finish(&self, job: &Job) -> StreamStats {
        let first = self.first_submitted().unwrap_or(0);
        let until = self.passes.values().map(|pass| pass.counted_until).max().unwrap_or(0);
        let is_by_clock = job.workload.has_timetable();
        let elapsed =
            |pass: &Pass| if is_by_clock { pass.span() } else { pass.span().min(pass.in_flight_ns) };
        StreamStats {
            target: job.target,
            elapsed_ns: self.passes.values().map(elapsed).sum(),
            span_ns: until.saturating_sub(first),
            all_span_ns: self.last_completed.saturating_sub(first),
            ..self.stats
        }
    }
}

impl Phase {
    fn add(&mut self, record: &Record, is_extra: bool) {
        self.first_ns = self.first_ns.into_iter().chain(record.submitted.map(|time| time.0)).min();
        if record.outcome == Outcome::Failed {
            self.failed += 1;
            self.error = self.error.or(i32::try_from(-record.result).ok().filter(|error| *error > 0));
        }
        if record.outcome != Outcome::Completed {
            return;
        }
        self.streams.entry(record.target).or_default().add(record, is_extra);
        if is_extra {
            return;
        }
        if let (Op::Read | Op::Write, Some(latency)) = (record.op, record.latency()) {
            self.latency_sum += u128::from(latency.0);
            self.latency.add(latency.0);
        }
    }

    /// Counts a transfer of its stream, if it had completed at `wall`.
    fn count(&mut self, record: &Record, wall: u64, is_extra: bool) {
        let counts = !record.is_step() && record.outcome == Outcome::Completed;
        let completed = record.completed.filter(|completed| counts && completed.0 <= wall);
        if let (Some(completed), Some(stream)) = (completed, self.streams.get_mut(&record.target)) {
            stream.count(record, completed.0, is_extra);
        }
    }

    /// When the first stream had done all of its work: one that was stopped then may have ended a little earlier. The first end of any
    /// stream if none did all, or if the plan states no amount.
    fn wall(&self, planned: &iosonar_plan::Phase) -> u64 {
        let had_turn = |(_, stream): &(&u16, &Stream)| stream.first_submitted().is_some();
        let is_done = |(target, stream): &(&u16, &Stream)| {
            amount_on(planned, **target).is_some_and(|bytes| stream.stats.all_bytes >= bytes)
        };
        let end = |(_, stream): (&u16, &Stream)| stream.last_completed;
        let ended = || self.streams.iter().filter(had_turn);
        ended().filter(is_done).map(end).min().or(ended().map(end).min()).unwrap_or(u64::MAX)
    }

    /// From the first submission of any stream to the end of the last one.
    fn whole_ns(&self) -> u64 {
        let first = self.streams.values().filter_map(Stream::first_submitted).min();
        let last = self.streams.values().map(Stream::closed_ns).max();
        last.unwrap_or(0).saturating_sub(first.unwrap_or(u64::MAX))
    }

    fn times(&self) -> Option<CellTimes> {
        let count = self.latency.count();
        let at = |parts_of_1000: u64| self.latency.at_rank((count * parts_of_1000).div_ceil(1000).max(1));
        (count > 0).then(|| CellTimes {
            mean_ns: u64::try_from((self.latency_sum + u128::from(count) / 2) / u128::from(count))
                .unwrap_or(u64::MAX),
            p50_ns: at(500),
            p90_ns: (count >= 10).then(|| at(900)),
            p99_ns: (count >= 100).then(|| at(990)),
            p999_ns: (count >= 1000).then(|| at(999)),
            max_ns: self.latency.max(),
        })
    }
}

/// Bytes that the jobs of a phase transfer on a target; `None` where the plan does not state them.
fn amount_on(phase: &iosonar_plan::Phase, target: u16) -> Option<u64> {
    let amount = |job: &Job| job.workload.generator()?.amount();
    let jobs = phase.jobs.iter().filter(|job| job.target == target);
    let of_pass = jobs.map(amount).try_fold(0u64, |sum, amount| Some(sum.saturating_add(amount?)))?;
    Some(of_pass.saturating_mul(phase.passes.into()))
}

/// The cells of a run, in the order of its phases; those of phases that did not start are absent. Records are read twice if a cell has
/// several streams that count up to the end of the first: that end is known after the first reading.
///
/// # Errors
/// The first that reading met.
pub fn cells(
    records: &dyn Records,
    plan: &Plan,
    info: &RunInfo,
    until: CountUntil,
) -> io::Result<Vec<CellStats>> {
    // Whether the first stream of a cell ends the counting of others; `None` for a phase without a cell.
    let has_wall = |phase: u16| {
        let phase = plan.phases.get(usize::from(phase)).filter(|phase| phase.cell.is_some())?;
        Some(until == CountUntil::FirstEnd && phase.jobs.len() > 1)
    };
    let extras = Extras::of(plan);
    let mut phases: BTreeMap<u16, Phase> = BTreeMap::new();
    let mut begun = 0;
    read(records, &mut |record| {
        begun = begun.max(usize::from(record.phase) + 1);
        if let Some(has_wall) = has_wall(record.phase) {
            let phase = phases.entry(record.phase).or_default();
            phase.add(record, extras.has(record));
            if !has_wall {
                phase.count(record, u64::MAX, extras.has(record));
            }
        }
    })?;
    let walled = phases.iter().filter(|(number, _)| has_wall(**number) == Some(true));
    let wall = |(number, phase): (&u16, &Phase)| {
        plan.phases.get(usize::from(*number)).map(|planned| (*number, phase.wall(planned)))
    };
    let walls: BTreeMap<u16, u64> = walled.filter_map(wall).collect();
    if !walls.is_empty() {
        read(records, &mut |record| {
            if let (Some(wall), Some(phase)) = (walls.get(&record.phase), phases.get_mut(&record.phase)) {
                phase.count(record, *wall, extras.has(record));
            }
        })?;
    }
    let finish = |(number, phase): (u16, Phase)| finish(number, begun, &phase, plan, info);
    Ok(phases.into_iter().filter_map(finish).collect())
}

fn read(records: &dyn Records, f: &mut dyn FnMut(&Record)) -> io::Result<()> {
    let wanted = Fields::ORIGIN
        .and(Fields::SEQUENCE)
        .and(Fields::OP)
        .and(Fields::OUTCOME)
        .and(Fields::SUBMITTED)
        .and(Fields::COMPLETED)
        .and(Fields::EXECUTED)
        .and(Fields::RESULT);
    (0..records.parts())
        .try_for_each(|part| records.read_part(part, wanted, &mut |piece| piece.iter().for_each(&mut *f)))
}

/// `begun`: phases of which there are records.
fn finish(number: u16, begun: usize, phase: &Phase, plan: &Plan, info: &RunInfo) -> Option<CellStats> {
    let planned = plan.phases.get(usize::from(number))?;
    let passes = info.passes.iter().filter(|pass| pass.phase == number);
    // A phase is followed by the next one only if it was whole. The times of phases are kept at the end of a run.
    let is_last = usize::from(number) + 1 >= info.phases.len().max(begun);
    let is_whole = !is_last || info.state == RunState::Finished;
    // A stream may have had no turn before the first was done.
    let none = Stream::default();
    let stream = |job: &Job| phase.streams.get(&job.target).unwrap_or(&none).finish(job);
    Some(CellStats {
        cell: planned.cell.clone()?,
        phase: number,
        start_ns: info
            .phases
            .get(usize::from(number))
            .map_or(phase.first_ns.unwrap_or(0), |phase| phase.start.0),
        streams: planned.jobs.iter().map(stream).collect(),
        whole_ns: phase.whole_ns(),
        failed: phase.failed,
        error: phase.error,
        latency: phase.times(),
        histogram: phase.latency.coarse::<8>(),
        cpu_ns: (info.state != RunState::Running).then(|| passes.map(|pass| pass.cpu_ns).sum()),
        is_whole: is_whole && phase.failed == 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_archive::{Interruption, Signal};
    use iosonar_archive::{PhaseTimes, TOOL, TargetInfo};
    use iosonar_plan::{ByteSize, Extent, Generator, Nanos, Order, Space, Stop, Target, Workload};

    /// Two streams; the second phase has no cell.
    fn plan() -> Plan {
        let job = |target| {
            Job::new(target, 1, Workload::Generated(Generator::new(Order::Sequential, ByteSize(4096))))
        };
        let cell = Cell {
            test: "write".into(),
            file: ByteSize(8192),
            record: ByteSize(4096),
            streams: 2,
            method: String::new(),
            repeat: 0,
        };
        let phases = [Some(cell.clone()), None, Some(Cell { test: "read".into(), ..cell })];
        let phase = |(number, cell): (usize, Option<Cell>)| iosonar_plan::Phase {
            name: format!("phase {number}"),
            cell,
            ..iosonar_plan::Phase::of(vec![job(0), job(1)])
        };
        Plan::new(
            1,
            vec![Target::new("a"), Target::new("b")],
            phases.into_iter().enumerate().map(phase).collect(),
        )
    }

    fn info(phases: u64, state: RunState) -> RunInfo {
        let target = |path: &str| TargetInfo { path: path.into(), ..TargetInfo::default() };
        let times = |n: u64| PhaseTimes {
            name: format!("phase {n}"),
            start: Nanos(n * 1000),
            end: Nanos(n * 1000 + 500),
        };
        RunInfo {
            directory: None,
            phases: (0..phases).map(times).collect(),
            state,
            ..RunInfo::new(TOOL, "", vec![target("a"), target("b")])
        }
    }

    fn record(phase: u16, target: u16, op: Op, submitted: u64, completed: u64) -> Record {
        let length = if matches!(op, Op::Read | Op::Write) { 4096 } else { 0 };
        Record {
            phase,
            target,
            op,
            submitted: Some(Nanos(submitted)),
            completed: Some(Nanos(completed)),
            executed: Extent { offset: 0, length },
            ..Record::default()
        }
    }

    fn step(record: Record) -> Record {
        Record { sequence: Record::STEPS, ..record }
    }

    #[test]
    fn streams_count_until_the_first_ends() {
        let records = vec![
            record(0, 0, Op::Write, 10, 20),
            record(0, 1, Op::Write, 12, 40),
            record(0, 0, Op::Write, 30, 50),
            record(0, 1, Op::Write, 60, 90),
            step(record(0, 0, Op::Fsync, 100, 107)),
            step(record(0, 0, Op::Close, 110, 112)),
            record(1, 0, Op::Read, 1000, 1001),
            record(2, 1, Op::Read, 2000, 2005),
            step(record(2, 0, Op::Close, 2006, 2007)),
        ];
        let found = cells(&records, &plan(), &info(3, RunState::Finished), CountUntil::FirstEnd).unwrap();
        assert_eq!(found.len(), 2);
        let streams = &found[0].streams;
        assert_eq!((streams[0].ops, streams[0].written_bytes, streams[0].elapsed_ns), (2, 8192, 30));
        assert_eq!((streams[0].flush_ns, streams[0].close_ns), (7, 2));
        // Its second write ended at 90, when stream 0 was done since 50.
        assert_eq!((streams[1].ops, streams[1].elapsed_ns), (1, 28));
        assert_eq!((streams[1].all_bytes, streams[1].all_span_ns), (8192, 78));
        assert_eq!(found[0].latency.map(|t| (t.mean_ns, t.max_ns)), Some((22, 30)));
        // Stream 0 of the last phase had no turn.
        assert_eq!((found[1].streams[0].ops, found[1].streams[1].read_bytes), (0, 4096));
        assert!(found.iter().all(|cell| cell.is_whole));
    }

    /// Stream 1 is stopped after half of its work, when stream 0 is done; its last request ends earlier than that of stream 0.
    #[test]
    fn a_stopped_stream_does_not_end_the_counting() {
        let mut plan = plan();
        for job in plan.phases.iter_mut().flat_map(|phase| &mut phase.jobs) {
            let Workload::Generated(generator) = &mut job.workload else { panic!("{job:?}") };
            generator.stop = Stop { bytes: Some(Space::Bytes(ByteSize(8192))), ..Stop::default() };
        }
        let records = vec![
            record(0, 0, Op::Write, 10, 20),
            record(0, 1, Op::Write, 12, 40),
            record(0, 0, Op::Write, 30, 50),
        ];
        let streams = |records: &[Record]| {
            let info = info(1, RunState::Finished);
            let found = cells(&records.to_vec(), &plan, &info, CountUntil::FirstEnd).unwrap();
            found[0].streams.iter().map(|stream| stream.ops).collect::<Vec<_>>()
        };
        assert_eq!(streams(&records), [2, 1]);
        // No stream did all of its work: the first end counts.
        assert_eq!(streams(&records[1..]), [0, 1]);
    }

    /// The pauses between bursts do not count, and their flushes do.
    #[test]
    fn bursts_count_with_their_flushes_and_without_their_pauses() {
        let records = vec![
            record(0, 0, Op::Write, 0, 10),
            record(0, 0, Op::Fsync, 10, 40),
            record(0, 0, Op::Write, 1040, 1050),
            record(0, 0, Op::Fsync, 1050, 1085),
            step(record(0, 0, Op::Fsync, 2000, 2007)),
        ];
        let found = cells(&records, &plan(), &info(1, RunState::Finished), CountUntil::FirstEnd).unwrap();
        let stream = found[0].streams[0];
        assert_eq!((stream.ops, stream.elapsed_ns, stream.span_ns, stream.flush_ns), (2, 85, 1085, 7));
        assert_eq!(found[0].latency.map(|times| times.max_ns), Some(10));
    }

    #[test]
    fn streams_count_to_their_own_ends_on_request() {
        let records = vec![
            record(0, 0, Op::Write, 10, 20),
            record(0, 1, Op::Write, 12, 40),
            record(0, 1, Op::Write, 60, 90),
        ];
        let streams =
            &cells(&records, &plan(), &info(1, RunState::Finished), CountUntil::OwnEnd).unwrap()[0].streams;
        assert_eq!((streams[0].ops, streams[1].ops, streams[1].elapsed_ns), (1, 2, 58));
    }

    /// Requests in flight together count once, by the clock.
    #[test]
    fn time_in_flight_never_exceeds_wall_time() {
        let records = vec![record(0, 0, Op::Write, 0, 100), record(0, 0, Op::Write, 10, 110)];
        let found = cells(&records, &plan(), &info(1, RunState::Finished), CountUntil::FirstEnd).unwrap();
        assert_eq!(found[0].streams[0].elapsed_ns, 110);
    }

    /// Steps between passes, such as closing and opening, count for no pass.
    #[test]
    fn passes_of_a_cell_are_summed() {
        let of_pass = |pass, record| Record { pass, ..record };
        let records = vec![
            step(of_pass(0, record(0, 0, Op::Open, 0, 9))),
            of_pass(0, record(0, 0, Op::Write, 10, 30)),
            of_pass(0, record(0, 0, Op::Write, 20, 40)),
            step(of_pass(0, record(0, 0, Op::Close, 50, 53))),
            of_pass(1, record(0, 0, Op::Write, 1000, 1030)),
            of_pass(1, record(0, 0, Op::Write, 1010, 1040)),
            step(of_pass(1, record(0, 0, Op::Close, 1050, 1054))),
        ];
        let found = cells(&records, &plan(), &info(1, RunState::Finished), CountUntil::OwnEnd).unwrap();
        let stream = found[0].streams[0];
        assert_eq!((stream.ops, stream.written_bytes, stream.close_ns), (4, 4 * 4096, 7));
        // 30 and 40 by the clock, though requests were in flight for 40 and 60.
        assert_eq!((stream.elapsed_ns, stream.span_ns, stream.all_span_ns), (70, 1030, 1030));
    }

    #[test]
    fn a_cell_of_file_operations_alone_has_no_time() {
        let records =
            vec![step(record(0, 0, Op::Truncate, 10, 20)), step(record(0, 1, Op::Truncate, 10, 20))];
        for until in [CountUntil::FirstEnd, CountUntil::OwnEnd] {
            let found = cells(&records, &plan(), &info(1, RunState::Finished), until).unwrap();
            let [cell] = &found[..] else { panic!("{found:?}") };
            assert!(cell.is_whole && cell.failed == 0 && cell.latency.is_none());
            let times = |s: &StreamStats| [s.ops, s.bytes(), s.elapsed_ns, s.span_ns, s.all_span_ns];
            assert!(cell.streams.len() == 2 && cell.streams.iter().all(|s| times(s) == [0; 5]), "{cell:?}");
        }
    }

    #[test]
    fn cell_with_failures_or_stopped_phase_is_incomplete() {
        let failed = Record { outcome: Outcome::Failed, result: -28, ..record(0, 0, Op::Write, 10, 20) };
        let found =
            cells(&vec![failed], &plan(), &info(1, RunState::Finished), CountUntil::FirstEnd).unwrap();
        assert_eq!((found[0].failed, found[0].error, found[0].is_whole), (1, Some(28), false));
        let records = vec![record(0, 0, Op::Write, 10, 20), record(2, 0, Op::Read, 30, 40)];
        let stopped = info(3, RunState::Interrupted(Interruption::Signal(Signal::INTERRUPT)));
        let found = cells(&records, &plan(), &stopped, CountUntil::FirstEnd).unwrap();
        assert_eq!([found[0].is_whole, found[1].is_whole], [true, false]);
    }

    /// A killed run has records, but no phase times.
    #[test]
    fn earlier_phases_of_a_killed_run_are_complete() {
        let records = vec![
            record(0, 0, Op::Write, 10, 20),
            record(0, 1, Op::Write, 12, 40),
            record(1, 0, Op::Read, 50, 60),
            record(2, 0, Op::Read, 70, 80),
        ];
        let found = cells(&records, &plan(), &info(0, RunState::Running), CountUntil::FirstEnd).unwrap();
        assert_eq!([found[0].is_whole, found[1].is_whole], [true, false]);
        assert_eq!((found[0].start_ns, found[1].start_ns, found[0].cpu_ns), (10, 70, None));
    }
}
