//! Selects requests of a long run that are stored one by one for later inspection: everything exceptional, and a sample of
//! the rest. Memory does not follow the run's length, because the choice is made before the second reading.

use crate::findings::{CompletionStall, Findings};
use crate::{Class, Counts, Distribution, Summary, Tally};
use iosonar_archive::{Marks, Outcome, Record};

/// Approximate maximum of each kind of exceptional request.
const MOST_OF_A_KIND: u64 = 20_000;
/// The slowest are exceptional, but at most one request in this many.
const SLOWEST_OF: u64 = 100;
/// The same for pushed-back requests, and for those held by stalls.
const MOST_HELD: u64 = 50_000;
/// Divisor of the wanted number: the sample may take this part, so that it shows where the others lie.
const SAMPLE: u64 = 2;

/// Whether a request is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Not kept.
    No,
    /// Kept as part of the sample.
    Sample,
    /// Kept because it is exceptional.
    Exceptional,
}

/// Takes the first, and then every `one_of`-th request.
#[derive(Debug, Clone)]
struct OneOf {
    one_of: u64,
    met: u64,
}

impl OneOf {
    /// Takes about `most` of `count` at most.
    fn to_keep(most: u64, count: u64) -> OneOf {
        OneOf { one_of: count.div_ceil(most.max(1)).max(1), met: 0 }
    }

    fn takes(&mut self) -> bool {
        self.met += 1;
        (self.met - 1).is_multiple_of(self.one_of)
    }
}

/// The choice for one run. Requests must be passed in the order of the archive, each once.
#[derive(Debug, Clone)]
pub struct Choice {
    all: bool,
    sample: OneOf,
    failed: OneOf,
    late: OneOf,
    above_latency: OneOf,
    pushed: OneOf,
    held: OneOf,
    latency_limit_ns: u64,
    delay_limit_ns: u64,
    /// Latencies from here on are among the longest: of those that transfer data, of flushes.
    slow_ns: [u64; 2],
    stalls: Vec<CompletionStall>,
}

impl Choice {
    /// The choice for a run of which at most about `wanted` requests are to be kept.
    pub fn new(summary: &Summary, tally: Option<&Tally>, findings: &Findings, wanted: u64) -> Choice {
        let counts = &summary.counts.all;
        let done = Choice::of_all(summary);
        let limits = &summary.limits;
        let pushed = [&summary.latency.read_pushed, &summary.latency.write_pushed];
        let pushed = pushed.iter().filter_map(|s| s.as_ref()).map(|s| s.count).sum();
        let held = findings.stalls.iter().map(CompletionStall::held).sum();
        // A small page gets fewer exceptional ones, too.
        let most = |most: u64| most.min(wanted / 8).max(1);
        Choice {
            all: done <= wanted,
            sample: OneOf::to_keep(wanted / SAMPLE, done),
            failed: OneOf::to_keep(most(MOST_OF_A_KIND), counts.failed),
            late: OneOf::to_keep(most(MOST_OF_A_KIND), limits.delay.above),
            above_latency: OneOf::to_keep(most(MOST_OF_A_KIND), limits.latency.above),
            pushed: OneOf::to_keep(most(MOST_HELD), pushed),
            held: OneOf::to_keep(most(MOST_HELD), held),
            latency_limit_ns: limits.latency.limit_ns,
            delay_limit_ns: limits.delay.limit_ns,
            slow_ns: tally.map_or([u64::MAX; 2], |tally| {
                let latency = tally.latency();
                [latency.all, latency.flush]
                    .map(|of| slow(&of, most(MOST_OF_A_KIND).min(of.count() / SLOWEST_OF)))
            }),
            stalls: findings.stalls.clone(),
        }
    }

    /// Number of requests to choose from, including those of the ramp.
    pub fn of_all(summary: &Summary) -> u64 {
        let flushes = summary.others.iter().filter(|other| other.op.is_flush()).map(|other| &other.counts);
        let done = |counts: &Counts| counts.completed + counts.failed + counts.ramp;
        std::iter::once(&summary.counts.all).chain(flushes).map(done).sum()
    }

    /// One in this many of the requests that are not exceptional is kept.
    pub fn one_of(&self) -> u64 {
        if self.all { 1 } else { self.sample.one_of }
    }

    /// Whether a request is kept. One that was never submitted, or never completed, has nothing to show.
    pub fn keeps(&mut self, record: &Record) -> Kept {
        let Some(class) = Class::of(record) else { return Kept::No };
        let (Some(submitted), Some(completed)) = (record.submitted, record.completed) else {
            return Kept::No;
        };
        let latency = completed.0.saturating_sub(submitted.0);
        let is_held = self.stalls.iter().any(|stall| {
            submitted.0 <= stall.range.to_ns
                && completed.0 >= stall.range.to_ns
                && stall.op.is_none_or(|op| op == class.op())
        });
        // Each kind counts separately: all of them must be evaluated.
        let exceptional = [
            record.outcome == Outcome::Failed && self.failed.takes(),
            latency > self.latency_limit_ns && self.above_latency.takes(),
            submitted.0.saturating_sub(record.due.0) > self.delay_limit_ns && self.late.takes(),
            record.marks.has(Marks::PUSHED) && self.pushed.takes(),
            is_held && self.held.takes(),
            latency >= self.slow_ns[usize::from(!class.is_transfer())],
        ];
        let sampled = self.sample.takes();
        match exceptional.contains(&true) {
            true => Kept::Exceptional,
            false if self.all || sampled => Kept::Sample,
            false => Kept::No,
        }
    }
}

/// The latency that at most `most` requests reach or exceed.
fn slow(latency: &Distribution, most: u64) -> u64 {
    let count = latency.count();
    if most == 0 || count <= most {
        return u64::MAX;
    }
    let share = 1.0 - most as f64 / count as f64;
    // The next step of the histogram: requests that share a step with others are not among the slowest.
    latency.histogram().next_non_equivalent(latency.histogram().value_at_quantile(share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use crate::testing::{Fixture, record};
    use iosonar_plan::Op;

    fn chosen(records: &[Record], wanted: u64) -> (Vec<Kept>, u64) {
        let mut tally = Tally::new(2, &Limits::default());
        records.iter().for_each(|r| tally.add(r));
        let fixture = Fixture::empty();
        let summary = Summary::new(&tally, &fixture.plan, &fixture.info);
        let mut choice = Choice::new(&summary, Some(&tally), &Findings::default(), wanted);
        (records.iter().map(|r| choice.keeps(r)).collect(), choice.one_of())
    }

    fn records(count: u64) -> Vec<Record> {
        let one = |i: u64| {
            let latency = if i % 1000 == 7 { 50_000_000 + i } else { 100_000 + i % 97 };
            record(i, Op::Read, i * 1_000_000, i * 1_000_000, i * 1_000_000 + latency)
        };
        (0..count).map(one).collect()
    }

    #[test]
    fn keeps_all_requests_of_a_short_run() {
        let (kept, one_of) = chosen(&records(500), 1000);
        assert_eq!(one_of, 1);
        assert!(kept.iter().all(|k| *k != Kept::No));
        let exceptional = kept.iter().filter(|k| **k == Kept::Exceptional).count();
        assert!(exceptional <= 5, "{exceptional} of 500 are no exceptions");
    }

    #[test]
    fn keeps_slowest_and_even_sample_of_a_long_run() {
        let all = records(100_000);
        let (kept, one_of) = chosen(&all, 2_000);
        assert_eq!(one_of, 100);
        let sample = kept.iter().filter(|k| **k == Kept::Sample).count();
        let exceptional = kept.iter().filter(|k| **k == Kept::Exceptional).count();
        assert!((900..=1000).contains(&sample), "{sample}");
        assert!((90..=250).contains(&exceptional), "{exceptional}");
        let slow = |i: usize| all[i].latency().unwrap().0 > 40_000_000;
        assert!((0..all.len()).filter(|i| slow(*i)).all(|i| kept[i] == Kept::Exceptional));
    }
}
