//! From the records of a run to its summary.

use crate::cautions::cautions;
use crate::health::{Circumstances, Health};
use crate::hosts::host_facts;
use crate::summary::{
    CheckedFacts, OccupancyFacts, RECORDED, RunFacts, SUMMARY_VERSION, Summary, TargetSummary, Throughput,
    WaitingFacts,
};
use crate::{
    ByScope, Counts, Distribution, LimitResult, Limits, Parts, Passing, Rate, Records, Span, Tally,
    TimeStats, Verdicts,
};
use iosonar_archive::{RECORDING, RunInfo, RunState, TargetInfo};
use iosonar_plan::{Engine, Plan};
use std::io;

/// Reads all records once and sums them up.
///
/// ```
/// use iosonar_analyze::{Limits, summarize};
/// use iosonar_archive::{Record, RunInfo};
/// use iosonar_plan::{Nanos, Plan};
///
/// let plan = "version = 2\nrun_id = 1\nseed = 1\ndepth = 1\n[[target]]\npath = 'a.img'\n\
///             workload = { kind = 'trace', file = 'a.load' }";
/// let of = |number: u64| Record {
///     sequence: number,
///     submitted: Some(Nanos(number * 1_000_000)),
///     completed: Some(Nanos(number * 1_000_000 + 200_000)),
///     ..Record::default()
/// };
/// let records: Vec<Record> = (0..10).map(of).collect();
/// let info = RunInfo::new("example", "", vec![Default::default()]);
/// let summary = summarize(&records, &Plan::from_toml(plan)?, &info, &Limits::default())?;
/// assert_eq!(summary.counts.all.completed, 10);
/// assert_eq!(summary.latency.all.map(|times| (times.min_ns, times.max_ns)), Some((200_000, 200_000)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn summarize(records: &dyn Records, plan: &Plan, info: &RunInfo, limits: &Limits) -> io::Result<Summary> {
    let mut seen = Passing::new(plan.targets.len(), limits);
    records.for_each(&mut |record| seen.add(std::slice::from_ref(record)))?;
    Ok(Summary::new(&seen.finish(), plan, info))
}

impl Summary {
    /// The summary of a whole run's tally.
    pub fn new(tally: &Tally, plan: &Plan, info: &RunInfo) -> Summary {
        let has_timetable = plan.has_timetable();
        let counts = tally.counts();
        let circumstances = Circumstances {
            info,
            has_timetable,
            is_simulated: matches!(plan.engine, Engine::Sim(_)),
            end_ns: tally.span.end_ns(),
            ramp: tally.ramp_submitted,
        };
        let stats = |d: &ByScope<Distribution>| ByScope::from_fn(|scope| d.get(scope).stats());
        let latency = stats(&tally.latency());
        let delay = stats(&tally.delay());
        // The engine reports its counters at the end; for a run without an end they are unknown, not 0.
        let has_ended = info.state != RunState::Running;
        let most = |f: fn(&TargetInfo) -> Option<u64>| {
            let of_each: Option<Vec<u64>> = info.targets.iter().map(f).collect();
            of_each.filter(|_| has_ended).map(|of_each| of_each.into_iter().max().unwrap_or(0))
        };
        let max = |s: &ByScope<Option<TimeStats>>| s.all.map(|s| s.max_ns);
        let mut summary = Summary {
            version: SUMMARY_VERSION,
            run: RunFacts::new(plan, info, has_timetable),
            machine: None,
            stamps: plan.stamps().collect(),
            counts,
            others: tally.others.list(),
            processes: info.processes.clone(),
            errors: tally.errors.list(),
            span: tally.span,
            percentiles: Vec::new(),
            response: stats(&tally.response()),
            throughput: throughput(&counts.all, &tally.span, has_timetable),
            in_flight: OccupancyFacts {
                max_on_one_target: most(|t| t.max_in_flight),
                mean_time_weighted: mean_over_time(tally.in_flight_ns, &tally.span),
                peak: tally.most_in_flight.filter(|peak| peak.requests > 0),
            },
            path: None,
            waiting: WaitingFacts {
                max_for_conflict_on_one_target: most(|t| t.max_waiting),
                max: tally.most_waiting.filter(|_| has_timetable),
                mean_time_weighted: mean_over_time(tally.waiting_ns, &tally.span),
            },
            health: Health::new(&tally.health, &circumstances),
            limits: Verdicts {
                latency: tally.above_latency.verdict(max(&latency), true),
                delay: tally.above_delay.verdict(max(&delay), has_timetable),
            },
            latency,
            delay,
            targets: targets(tally, info),
            hosts: host_facts(&tally.parts, info),
            parts: tally.parts.stats(&info.targets, &info.phases),
            verified: info.verified.clone(),
            cautions: Vec::new(),
            judgement: None,
            story: None,
            notes: Vec::new(),
        };
        if info.tool == RECORDING {
            summary.forget_means();
        }
        summary.cautions = cautions(&summary, plan, info);
        summary
    }

    /// Removes the engine's properties from the summary: they are unknown for a recording.
    fn forget_means(&mut self) {
        self.run.engine = Some(RECORDED.to_string());
        self.run.depth = None;
        self.in_flight.max_on_one_target = None;
        self.waiting.max_for_conflict_on_one_target = None;
        // A recording has no target rate: requests were recorded as they came.
        self.throughput.delivered_share = None;
        // A trace has submission times, not due times. A load with delays has both.
        if self.delay.all.is_none_or(|delay| delay.max_ns == 0) {
            self.forget_delay();
        }
    }

    fn forget_delay(&mut self) {
        self.throughput.demanded = None;
        (self.delay, self.response) = (ByScope::from_fn(|_| None), ByScope::from_fn(|_| None));
        self.waiting.max = None;
        self.health.at_end = None;
        let Parts { targets, workers, phases, passes } = &mut self.parts;
        [targets, workers, phases, passes].into_iter().flatten().for_each(|part| part.delay = None);
        let delay = &mut self.limits.delay;
        (delay.result, delay.max_ns) = (LimitResult::NotApplicable, None);
    }
}

impl RunFacts {
    fn new(plan: &Plan, info: &RunInfo, has_timetable: bool) -> RunFacts {
        RunFacts {
            tool: info.tool.clone(),
            command: info.command.clone(),
            run_id: format!("{:012x}", plan.run_id),
            started_unix_ns: info.started_unix_ns,
            state: info.state.clone(),
            // An import only knows a dry run or a simulation, but not which real engine was used.
            engine: (!info.is_import || !plan.engine.is_real()).then(|| plan.engine.name().to_string()),
            buffered: plan.jobs().any(|(_, job)| plan.is_buffered(job)),
            depth: (!info.is_import).then_some(plan.depth()),
            passes: plan.phases.iter().fold(0, |sum, phase| sum.saturating_add(phase.passes)),
            phases: info.phases.iter().map(|phase| phase.name.clone()).collect(),
            policy: plan.overlap.policy,
            has_timetable,
        }
    }
}

fn throughput(all: &Counts, span: &Span, has_timetable: bool) -> Throughput {
    let demanded = span.demanded_ns().filter(|_| has_timetable);
    let delivered = span.duration_ns().filter(|_| all.completed > 0);
    let demanded = demanded.map(|d| Rate::over(all.total, all.demanded_bytes, d));
    let delivered = delivered.map(|d| Rate::over(all.completed, all.transferred_bytes, d));
    let share =
        |(delivered, demanded): (Rate, Rate)| delivered.requests_per_second / demanded.requests_per_second;
    Throughput { demanded, delivered, delivered_share: delivered.zip(demanded).map(share) }
}

fn mean_over_time(sum_ns: u128, span: &Span) -> Option<f64> {
    span.duration_ns().map(|d| sum_ns as f64 / d as f64)
}

fn targets(tally: &Tally, info: &RunInfo) -> Vec<TargetSummary> {
    let target = |(index, t): (usize, &TargetInfo)| TargetSummary {
        path: t.path.clone(),
        source: t.source.clone(),
        size_bytes: t.size,
        block_bytes: t.block,
        wraparound_factor: (t.size > 0).then(|| t.wraparound_factor()),
        issued_hash: Some(t.issued_hash.clone()).filter(|hash| !hash.is_empty()),
        max_in_flight: t.max_in_flight,
        max_waiting: t.max_waiting,
        counts: tally.counts_of(index),
        checked: t.checks.as_ref().map(|c| CheckedFacts { requests: c.requests, miscompared: c.miscompared }),
    };
    info.targets.iter().enumerate().map(target).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Fixture, any_records, record};
    use crate::{Class, Diagrams, Tally};
    use iosonar_archive::{Outcome, Record};
    use iosonar_plan::{Extent, Op};
    use proptest::prelude::*;

    #[test]
    fn counts_add_up_and_times_exclude_failed_requests() {
        let f = Fixture::mixed();
        let s = f.summary();
        let all = s.counts.all;
        assert_eq!(all.total, all.completed + all.failed + all.dropped + all.cancelled);
        assert_eq!(all.total, s.counts.read.total + s.counts.write.total);
        assert_eq!(all.total, s.targets.iter().map(|t| t.counts.all.total).sum::<u64>());
        assert!(all.failed > 0 && all.dropped > 0);
        assert_eq!(s.latency.all.unwrap().count, all.completed);
        assert_eq!(s.response.all.unwrap().count, all.completed);
        assert_eq!(s.errors.iter().map(|e| e.count).sum::<u64>(), all.failed);
    }

    #[test]
    fn dataless_operations_do_not_change_read_write_figures() {
        let (plain, mut f) = (Fixture::mixed(), Fixture::mixed());
        let truncate = Op::Truncate;
        let other = |i: u64| {
            let (op, due) = (if i.is_multiple_of(5) { truncate } else { Op::Flush }, i * 10_000_000 + 5);
            let outcome = if i == 3 { Outcome::Failed } else { Outcome::Completed };
            let r = Record { result: 0, ..record(1_000 + i, op, due, due, due + 1_000_000) };
            Record { requested: Extent::default(), executed: Extent::default(), outcome, ..r }
        };
        f.records.extend((0..50).map(other));
        let (s, want) = (f.summary(), plain.summary());
        assert_eq!((s.counts.all, s.counts.write), (want.counts.all, want.counts.write));
        let of_transfers = |times: ByScope<_>| ByScope { flush: None, ..times };
        let times = |s: &Summary| [s.latency, s.delay, s.response].map(of_transfers);
        assert_eq!(times(&s), times(&want));
        assert_eq!((s.latency.flush, want.latency.flush), (s.others[0].latency, None));
        assert_eq!((s.counts.other.total, s.counts.other.failed), (50, 1));
        assert_eq!((s.counts.records(), s.counts.failed()), (1_050, want.counts.all.failed + 1));
        assert_eq!(s.errors.iter().map(|e| e.count).sum::<u64>(), s.counts.failed());
        let ops: Vec<_> = s.others.iter().map(|o| (o.op.name(), o.counts.total)).collect();
        assert_eq!(ops, [("flush", 40), ("truncate", 10)]);
        assert_eq!(s.others[0].latency.map(|t| (t.count, t.max_ns)), Some((39, 1_000_000)));
        assert_eq!(Summary::from_json(&s.to_json()).unwrap(), s);
        let (with, without) =
            (Diagrams::compute(&f.records).unwrap(), Diagrams::compute(&plain.records).unwrap());
        let columns = without.latency.axis().columns();
        let alike =
            |class| (0..columns).all(|c| with.latency.column(class, c).eq(without.latency.column(class, c)));
        assert!(Class::TRANSFERS.into_iter().all(alike) && with.demanded == without.demanded);
        assert_eq!((with.latency.total(Class::Flush), with.failed.latency.total(Class::Flush)), (39, 1));
        assert!(with.in_flight == without.in_flight && with.turns == without.turns);
    }

    #[test]
    fn small_example_matches_hand_calculation() {
        // Two requests of 2 ms and 4 ms in a run of 8 ms: 6/8 in flight on average.
        let f = Fixture::from_times(&[(0, 0, 2_000_000), (1_000_000, 4_000_000, 8_000_000)]);
        let s = f.summary();
        assert_eq!(s.in_flight.mean_time_weighted, Some(0.75));
        assert_eq!(s.waiting.mean_time_weighted, Some(0.375));
        assert_eq!(s.response.all.unwrap().max_ns, 7_000_000);
        assert_eq!(s.throughput.delivered.unwrap().requests_per_second, 250.0);
    }

    #[test]
    fn first_violation_is_by_due_time_not_read_order() {
        let late = 20_000_000_000;
        let f = Fixture::from_times(&[(9, late, late + 5), (3, late, late + 5), (4, 4, 5)]);
        let v = f.summary().limits.delay;
        assert_eq!((v.result, v.above, v.first_due_ns), (LimitResult::Failed, 2, Some(3)));
        assert_eq!(f.summary().limits.latency.result, LimitResult::Passed);
        assert_eq!(Fixture::empty().summary().limits.latency.result, LimitResult::NotApplicable);
    }

    proptest! {
        #[test]
        fn any_split_yields_the_same_tally(records in any_records(), parts in 1usize..5) {
            let tally = |records: &mut dyn Iterator<Item = &iosonar_archive::Record>| {
                let mut t = Tally::new(2, &Limits::default());
                records.for_each(|r| t.add(r));
                t
            };
            let mut merged = Tally::new(2, &Limits::default());
            for part in (0..parts).rev() {
                merged.merge(&tally(&mut records.iter().skip(part).step_by(parts)));
            }
            prop_assert_eq!(merged, tally(&mut records.iter()));
        }
    }
}
