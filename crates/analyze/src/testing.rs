//! Small runs for tests.

use crate::{Limits, Summary, summarize};
use iosonar_archive::{
    ARCHIVE_VERSION, Marks, Outcome, Record, ResolvedSetup, RunInfo, RunState, Stalls, TargetInfo,
};
use iosonar_plan::*;
use proptest::prelude::*;

pub(crate) struct Fixture {
    pub(crate) plan: Plan,
    pub(crate) info: RunInfo,
    pub(crate) records: Vec<Record>,
}

fn target(path: &str) -> TargetInfo {
    TargetInfo {
        path: path.into(),
        source: "test.load".into(),
        size: 1 << 30,
        block: 512,
        max_requested_end: 1 << 30,
        rounded_requests: 0,
        input_lines: 1000,
        bad_lines: 0,
        back_shifts: 0,
        max_waiting: Some(3),
        max_in_flight: Some(7),
        expected_requests: None,
        hole_bytes: 0,
        hole_range_bytes: 0,
        cached_bytes: None,
        written: None,
        extents: None,
        left_out_flushes: 0,
        left_out_discards: 0,
        checks: None,
        ended_early: None,
        issued_hash: String::new(),
    }
}

fn plan() -> Plan {
    let source = Workload::Trace(TraceReplay::of("test.load"));
    let job = |target| Job::new(target, 64, source.clone());
    let targets = vec![Target::new("/dev/a"), Target::new("/dev/b")];
    Plan { engine: Engine::Threads, ..Plan::new(0xabc, targets, vec![Phase::of(vec![job(0), job(1)])]) }
}

/// A completed 4 KiB request.
pub(crate) fn record(sequence: u64, op: Op, due: u64, submitted: u64, completed: u64) -> Record {
    let extent = Extent { offset: sequence * 4096, length: 4096 };
    Record {
        sequence,
        target: 0,
        worker: 0,
        pass: 0,
        phase: 0,
        op,
        outcome: Outcome::Completed,
        marks: Marks::default(),
        load_time: Nanos(due),
        due: Nanos(due),
        released: None,
        blocked_by: None,
        submitted: Some(Nanos(submitted)),
        completed: Some(Nanos(completed)),
        reap_lag: Nanos(0),
        requested: extent,
        executed: extent,
        result: 4096,
    }
}

fn with_outcome(mut r: Record, outcome: Outcome) -> Record {
    r.outcome = outcome;
    match outcome {
        Outcome::Completed => {}
        Outcome::Failed => r.result = -5,
        Outcome::Dropped | Outcome::Cancelled => {
            (r.submitted, r.completed, r.result) = (None, None, 0);
        }
    }
    r
}

impl Fixture {
    pub(crate) fn new(records: Vec<Record>) -> Fixture {
        let info = RunInfo {
            part: None,
            hosts: Vec::new(),
            directory: None,
            archive_version: ARCHIVE_VERSION,
            tool: "iosonar 0.0.0".into(),
            command: "iosonar test".into(),
            started_unix_ns: 0,
            origin_monotonic_ns: 0,
            state: RunState::Finished,
            targets: vec![target("/dev/a"), target("/dev/b")],
            recorder_stalls: Stalls::default(),
            push_back_stalls: Stalls::default(),
            buffer_stalls: Stalls::default(),
            setup: ResolvedSetup { engine: "threads".into(), ..ResolvedSetup::default() },
            cpu: Default::default(),
            is_import: false,
            recorded: None,
            processes: Vec::new(),
            verified: None,
            phases: Vec::new(),
            passes: Vec::new(),
        };
        Fixture { plan: plan(), info, records }
    }

    pub(crate) fn empty() -> Fixture {
        Fixture::new(Vec::new())
    }

    /// Completed reads with these due, submission and completion times.
    pub(crate) fn from_times(times: &[(u64, u64, u64)]) -> Fixture {
        let one = |(i, (due, submitted, completed)): (usize, &(u64, u64, u64))| {
            record(i as u64, Op::Read, *due, *submitted, *completed)
        };
        Fixture::new(times.iter().enumerate().map(one).collect())
    }

    /// A little of everything.
    pub(crate) fn mixed() -> Fixture {
        let one = |i: u64| {
            let op = if i.is_multiple_of(3) { Op::Write } else { Op::Read };
            let due = i * 1_000_000;
            let mut r = record(i, op, due, due + i * 50, due + i * 50 + 90_000 + i * 777);
            r.target = (i % 2) as u16;
            r.marks = Marks::default()
                .with(Marks::PUSHED, i % 10 == 4)
                .with(Marks::ROUNDED, i.is_multiple_of(6))
                .with(Marks::AT_BORDER, i.is_multiple_of(50));
            let outcome = match i % 20 {
                7 => Outcome::Failed,
                11 | 13 => Outcome::Dropped,
                _ => Outcome::Completed,
            };
            with_outcome(r, outcome)
        };
        Fixture::new((0..1000).map(one).collect())
    }

    pub(crate) fn summary(&self) -> Summary {
        summarize(&self.records, &self.plan, &self.info, &Limits::default()).unwrap()
    }
}

/// Records of any kind, in no order.
pub(crate) fn any_records() -> impl Strategy<Value = Vec<Record>> {
    let one = (0u64..1 << 34, 0u64..1 << 34, 0u64..1 << 38, 0u16..2, 0u16..512, 0usize..8, 0u8..7);
    let build = |(due, delay, latency, target, marks, outcome, kind)| {
        let op = match kind {
            0..=2 => Op::Read,
            3..=5 => Op::Write,
            _ => Op::Flush,
        };
        let mut r = record(due, op, due, due + delay, due + delay + latency);
        r.target = target;
        r.marks = Marks(marks);
        r.reap_lag = Nanos(due % 1_000);
        with_outcome(r, *Outcome::ALL.get(outcome).unwrap_or(&Outcome::Completed))
    };
    prop::collection::vec(one.prop_map(build), 0..120)
}
