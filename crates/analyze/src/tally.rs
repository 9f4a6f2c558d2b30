//! The partial of a summary: everything that is counted per request.

use crate::backlog::MostAtOnce;
use crate::counts::{CountsByOp, TargetCounts};
use crate::distribution::ByClass;
use crate::errors::Errors;
use crate::fits::{ByTarget, Fits};
use crate::health::HealthTally;
use crate::limits::{LimitCount, Limits};
use crate::losses::{Losses, LossesByTarget};
use crate::others::OtherOps;
use crate::parts::PartsTally;
use crate::places::Places;
use crate::sampled::RequestSample;
use crate::span::Span;
use crate::traffic::Traffic;
use crate::{ByScope, Class, Diagrams, Distribution, Percentile};
use iosonar_archive::{Fields, Marks, Record};
use iosonar_plan::Decimal;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Counts and distributions of any part of a run. Parts merge in any order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// One for each target, and one for records of targets that the plan does not have.
    #[serde(with = "crate::named")]
    counts: Vec<TargetCounts>,
    /// Requests of the ramp that were submitted.
    pub(crate) ramp_submitted: u64,
    pub(crate) errors: Errors,
    #[serde(with = "crate::named")]
    pub(crate) span: Span,
    pub(crate) above_latency: LimitCount,
    pub(crate) above_delay: LimitCount,
    /// Sum of the times from submission to completion of every submitted request, failed ones too: they kept
    /// the target busy. Divided by the duration it is the time-weighted mean in flight (Little's law).
    pub(crate) in_flight_ns: u128,
    /// Sum of the times from due to submission of the same requests.
    pub(crate) waiting_ns: u128,
    /// Maximum waiting at the same time. It needs their order, so a pass adds it at the end.
    pub(crate) most_waiting: Option<u64>,
    /// Maximum in flight at the same time, counted in the same way; absent if not requested.
    pub(crate) most_in_flight: Option<MostAtOnce>,
    pub(crate) health: HealthTally,
    pub(crate) parts: PartsTally,
    latency: ByClass,
    delay: ByClass,
    response: ByClass,
    pub(crate) others: OtherOps,
    traffic: Traffic,
    places: Places,
    losses: LossesByTarget,
    sample: RequestSample,
}

impl Tally {
    /// The fields of records that are needed.
    pub const FIELDS: Fields = Diagrams::FIELDS.and(Fields::SEQUENCE).and(Fields::EXECUTED);

    /// An empty tally.
    pub fn new(targets: usize, limits: &Limits) -> Tally {
        Tally {
            counts: vec![TargetCounts::default(); targets + 1],
            ramp_submitted: 0,
            errors: Errors::default(),
            span: Span::default(),
            above_latency: LimitCount::new(limits.bad_latency, limits.bad_ignore),
            above_delay: LimitCount::new(limits.bad_delay, limits.bad_ignore),
            in_flight_ns: 0,
            waiting_ns: 0,
            most_waiting: None,
            most_in_flight: None,
            health: HealthTally::default(),
            parts: PartsTally::default(),
            latency: ByClass::default(),
            delay: ByClass::default(),
            response: ByClass::default(),
            others: OtherOps::default(),
            traffic: Traffic::default(),
            places: Places::new(targets),
            losses: LossesByTarget::new(targets),
            sample: RequestSample::default(),
        }
    }

    /// Adds a record.
    pub fn add(&mut self, record: &Record) {
        let unknown = self.counts.len() - 1;
        self.counts[usize::from(record.target).min(unknown)].add(record);
        self.span.add(record);
        self.traffic.add(record);
        self.places.add(record);
        if record.marks.has(Marks::RAMP) {
            self.ramp_submitted += u64::from(record.submitted.is_some());
            return;
        }
        self.errors.add(record);
        self.parts.add(record);
        if !record.op.is_transfer() {
            self.others.add(record);
        }
        let (Some(latency), Some(delay), Some(response)) =
            (record.latency(), record.delay(), record.response())
        else {
            return;
        };
        self.in_flight_ns += u128::from(latency.0);
        self.waiting_ns += u128::from(delay.0);
        self.health.add(record, delay, response);
        if let Some(class) = Class::of(record).filter(|_| record.is_completed()) {
            self.latency.add(class, latency.0);
            self.delay.add(class, delay.0);
            self.response.add(class, response.0);
            let losses = self.losses.of_record(record.target);
            match class.is_transfer() {
                true => losses.add(record, delay.0, latency.0),
                false => losses.complete(record.completed.map_or(0, |completed| completed.0)),
            }
            // Limits and the sample are those of requests that transfer data.
            if class.is_transfer() {
                self.sample.add(record, delay.0, latency.0);
                self.above_latency.add(latency, record.due);
                self.above_delay.add(delay, record.due);
            }
        }
    }

    /// The limits that were counted with.
    pub(crate) fn limits(&self) -> Limits {
        let ((bad_latency, bad_ignore), (bad_delay, _)) =
            (self.above_latency.limit(), self.above_delay.limit());
        Limits { bad_latency, bad_delay, bad_ignore }
    }

    /// Keeps fewer requests of the sample, as one of many parts.
    pub(crate) fn thin_sample(&mut self, parts: usize) {
        self.sample.thin_for(parts);
    }

    /// Merges `other`.
    pub fn merge(&mut self, other: &Tally) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(mine, theirs)| mine.merge(theirs));
        self.ramp_submitted += other.ramp_submitted;
        self.errors.merge(&other.errors);
        self.span.merge(&other.span);
        self.above_latency.merge(&other.above_latency);
        self.above_delay.merge(&other.above_delay);
        self.in_flight_ns += other.in_flight_ns;
        self.waiting_ns += other.waiting_ns;
        (self.most_waiting, self.most_in_flight) = (None, None);
        self.health.merge(&other.health);
        self.parts.merge(&other.parts);
        self.latency.merge(&other.latency);
        self.delay.merge(&other.delay);
        self.response.merge(&other.response);
        self.others.merge(&other.others);
        self.traffic.merge(&other.traffic);
        self.places.merge(&other.places);
        self.losses.merge(&other.losses);
        self.sample.merge(&other.sample);
    }

    /// Number of targets.
    pub(crate) fn targets(&self) -> usize {
        self.counts.len() - 1
    }

    /// Counts of all targets together.
    pub(crate) fn counts(&self) -> CountsByOp {
        let mut sum = TargetCounts::default();
        self.counts.iter().for_each(|target| sum.merge(target));
        sum.by_op()
    }

    /// Counts of one target; zeros for one that the plan does not have.
    pub(crate) fn counts_of(&self, target: usize) -> CountsByOp {
        self.counts[..self.counts.len() - 1].get(target).map(TargetCounts::by_op).unwrap_or_default()
    }

    /// Transferred data, and the level over time.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// Location of requests.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// Response over time.
    pub fn losses(&self) -> Cow<'_, Losses> {
        self.losses.all()
    }

    /// Response over time by target; one element for all targets if there are too many of them.
    pub fn losses_by_target(&self) -> &[Losses] {
        self.losses.each()
    }

    /// Requests of some windows of time.
    pub fn sample(&self) -> &RequestSample {
        &self.sample
    }

    /// Distribution of completed − submitted, of completed requests.
    pub fn latency(&self) -> ByScope<Distribution> {
        self.latency.by_scope()
    }

    /// These percentiles of the latency.
    pub fn percentiles(&self, percents: &[Decimal]) -> Vec<Percentile> {
        let latency = self.latency();
        percents.iter().map(|percent| Percentile::of(&latency, *percent)).collect()
    }

    /// Distribution of submitted − due, of completed requests.
    pub fn delay(&self) -> ByScope<Distribution> {
        self.delay.by_scope()
    }

    /// Distribution of completed − due, of completed requests.
    pub fn response(&self) -> ByScope<Distribution> {
        self.response.by_scope()
    }
}

impl Fits for Tally {
    fn fits(&self, own: &Self) -> bool {
        self.counts.len() == own.counts.len()
            && self.health.fits(&own.health)
            && self.parts.fits(&own.parts)
            && self.latency.fits(&own.latency)
            && self.delay.fits(&own.delay)
            && self.response.fits(&own.response)
            && self.others.fits(&own.others)
            && self.traffic.fits(&own.traffic)
            && self.places.fits(&own.places)
            && self.losses.fits(&own.losses)
            && self.sample.fits(&own.sample)
    }
}

impl ByTarget for Tally {
    fn concerns_only(&self, is_own: &dyn Fn(usize) -> bool) -> bool {
        let mut counts = self.counts.iter().enumerate();
        counts.all(|(target, counts)| is_own(target) || *counts == TargetCounts::default())
            && self.parts.concerns_only(is_own)
            && self.places.concerns_only(is_own)
            && self.losses.concerns_only(is_own)
            && self.sample.concerns_only(is_own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::record;
    use iosonar_plan::{Nanos, Op};

    /// CPU time of this thread.
    fn cpu_ns() -> u64 {
        let stat =
            std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells the time of a thread");
        stat.split(' ').next().and_then(|n| n.parse().ok()).expect("its first number is the time on a CPU")
    }

    /// A run of some thousand records that look like a real one: times over three decades, a few held, some late.
    fn records() -> Vec<Record> {
        let mut seed = 1u64;
        let mut next = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let one = |i: u64| {
            let due = i * 10_000;
            let (wide, wider) = (next(14), next(20));
            let (delay, latency) = (next(1 << wide) + 200, next(1 << wider) + 50_000);
            let op = if next(3) == 0 { Op::Write } else { Op::Read };
            let mut r = record(i, op, due, due + delay, due + delay + latency);
            r.marks = Marks::default().with(Marks::PUSHED, next(100) == 0).with(Marks::HELD, next(50) == 0);
            r.reap_lag = Nanos(next(2_000));
            r
        };
        (0..1 << 16).map(one).collect()
    }

    /// CPU time of `add` for a record, in nanoseconds. Each round has later records, as a long run has.
    fn ns_per_record(records: &[Record], mut add: impl FnMut(&Record)) -> f64 {
        const ROUNDS: u64 = 160;
        let length = records.iter().filter_map(|record| record.completed).max().map_or(0, |end| end.0);
        let mut total = 0;
        for round in 0..ROUNDS {
            let later = |time: Nanos| Nanos(time.0 + round * length);
            let shifted = records.iter().map(|record| Record {
                due: later(record.due),
                submitted: record.submitted.map(later),
                completed: record.completed.map(later),
                ..*record
            });
            let shifted: Vec<Record> = shifted.collect();
            let begin = cpu_ns();
            shifted.iter().for_each(&mut add);
            total += cpu_ns() - begin;
        }
        total as f64 / (ROUNDS as f64 * records.len() as f64)
    }

    /// `cargo test --release -p iosonar-analyze -- --ignored --nocapture per_record`
    #[test]
    #[ignore = "a measurement"]
    fn time_per_record() {
        let records = records();
        let mut tally = Tally::new(1, &Limits::default());
        for round in 0..5 {
            println!(
                "round {round}: {:.1} ns per record",
                ns_per_record(&records, |record| tally.add(record))
            );
            let times = |record: &Record| (record.delay().unwrap().0, record.latency().unwrap().0);
            let (mut losses, mut sample) = (Losses::default(), RequestSample::default());
            let causes = ns_per_record(&records, |record| {
                let (delay, latency) = times(record);
                losses.add(record, delay, latency);
                sample.add(record, delay, latency);
            });
            let of_sample = ns_per_record(&records, |record| {
                let (delay, latency) = times(record);
                sample.add(record, delay, latency);
            });
            let of_reading = ns_per_record(&records, |record| {
                std::hint::black_box(times(record));
            });
            println!(
                "   of which causes: {:.1} ns, their sample {:.1} ns (without {of_reading:.1} ns each for the times)",
                causes - of_reading,
                of_sample - of_reading
            );
            assert!(!losses.slices().is_empty());
        }
        let mut parts = PartsTally::default();
        println!("of which parts: {:.1} ns", ns_per_record(&records, |record| parts.add(record)));
        assert!(parts.stats(&[], &[]).passes.is_empty());
        assert_eq!(tally.counts().all.total, 5 * 160 * records.len() as u64);
    }
}
