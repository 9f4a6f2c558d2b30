//! The knee of synthetic queues, whose capacity is known.

use super::*;
use iosonar_archive::{Outcome, Record};
use iosonar_plan::{Nanos, Rising, RisingShape};
use proptest::prelude::*;

/// A queue of some servers, first come first served, in seconds.
struct Queue {
    servers: usize,
    /// How long a request is served at least.
    service: f64,
    /// Mean of an exponentially distributed addition.
    jitter: f64,
    /// Requests come evenly, or at random.
    is_poisson: bool,
    /// From when to when nothing ends.
    stall: (f64, f64),
    /// Time from which on each request takes longer, and the factor.
    collapse: (f64, f64),
    seed: u64,
}

const EVEN: Queue = Queue {
    servers: 1,
    service: 0.001,
    jitter: 0.0,
    is_poisson: false,
    stall: (0.0, 0.0),
    collapse: (f64::INFINITY, 1.0),
    seed: 1,
};

impl Queue {
    fn capacity(&self) -> f64 {
        self.servers as f64 / (self.service + self.jitter)
    }

    fn rows(&self, ramp: &Rising) -> Vec<RampRow> {
        let mut state = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut exponential = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            -(((state >> 11) as f64 + 0.5) / (1u64 << 53) as f64).ln()
        };
        let mut tally = RampTally::new(ramp.over.0, 400);
        let mut free = vec![0.0f64; self.servers];
        // Arrivals at random: the inverse of the sum at the arrivals of a process of rate 1.
        let mut position = 0.0;
        let mut arrivals = Vec::new();
        for number in 0..ramp.requests() {
            position += if self.is_poisson { exponential() } else { 1.0 };
            let due = match self.is_poisson {
                true => ramp.due(position as u64).as_secs_f64(),
                false => ramp.due(number).as_secs_f64(),
            };
            arrivals.push(Nanos((due * 1e9) as u64));
            let server = (0..free.len()).min_by(|a, b| free[*a].total_cmp(&free[*b])).unwrap();
            let start = free[server].max(due);
            let slower = if start >= self.collapse.0 { self.collapse.1 } else { 1.0 };
            let mut end = start + (self.service + exponential() * self.jitter) * slower;
            if end > self.stall.0 && end < self.stall.1 {
                end = self.stall.1;
            }
            free[server] = end;
            let at = |s: f64| Some(Nanos((s * 1e9) as u64));
            tally.add(&Record {
                due: Nanos((due * 1e9) as u64),
                submitted: at(start),
                completed: at(end),
                outcome: Outcome::Completed,
                ..Record::default()
            });
        }
        tally.rows(1, |time| match self.is_poisson {
            true => arrivals.partition_point(|due| *due < time) as f64,
            false => ramp.until(time),
        })
    }

    fn knee(&self, ramp: &Rising) -> KneeVerdict {
        find_knee(&self.rows(ramp))
    }
}

fn ramp(from: u64, to: u64, seconds: u64) -> Rising {
    Rising { from, to, over: Nanos::from_secs(seconds), shape: RisingShape::Linear }
}

#[track_caller]
fn found(verdict: KneeVerdict) -> Knee {
    match verdict {
        KneeVerdict::Found(knee) => knee,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn assert_near(knee: &Knee, capacity: f64, part: f64) {
    let error = knee.sustained_per_second / capacity - 1.0;
    assert!(error.abs() < part, "{error}: {knee:?} {capacity}");
}

#[test]
fn finds_capacity_and_overload_time_of_steady_queue() {
    let knee = found(EVEN.knee(&ramp(500, 1500, 20)));
    assert_near(&knee, 1000.0, 0.005);
    assert!(knee.low_per_second <= 1000.0 && knee.high_per_second >= 1000.0, "{knee:?}");
    assert!((knee.at_ns as f64 / 1e9 - 10.0).abs() < 0.2, "{knee:?}");
    assert!(!knee.from_the_start && !knee.collapses());
}

#[test]
fn steps_keep_up_until_the_knee() {
    let rows = EVEN.rows(&ramp(500, 1500, 20));
    let steps = ramp_steps(&rows, &find_knee(&rows));
    let knee = steps.iter().position(|step| step.state == StepState::Knee).unwrap();
    assert!((190..=210).contains(&knee), "{knee}");
    assert!(steps[..knee].iter().all(|step| step.state == StepState::KeptUp));
    // The first steps of the overload still have a normal backlog.
    assert!(steps[knee + 40..].iter().all(|step| step.state == StepState::FellBehind));
    assert!(steps[399].backlog > 2000.0, "{}", steps[399].backlog);
    let rows = EVEN.rows(&ramp(100, 700, 20));
    let steps = ramp_steps(&rows, &find_knee(&rows));
    assert!(steps.iter().all(|step| step.state == StepState::KeptUp));
    assert!(ramp_steps(&[], &find_knee(&[])).is_empty());
}

#[test]
fn queueing_below_capacity_is_no_knee() {
    // M/D/1: at 90 % a request waits 4.5 service times on average.
    let random = Queue { is_poisson: true, ..EVEN };
    let verdict = random.knee(&ramp(100, 900, 30));
    let KneeVerdict::NotReached { at_least_per_second } = verdict else { panic!("{verdict:?}") };
    assert!((830.0..920.0).contains(&at_least_per_second), "{at_least_per_second}");
    let knee = found(random.knee(&ramp(500, 1500, 30)));
    assert_near(&knee, 1000.0, 0.02);
}

#[test]
fn noise_widens_interval_that_mostly_covers_the_truth() {
    let mut holds = 0;
    for seed in 1..=100 {
        let queue = Queue { service: 0.0005, jitter: 0.0035, servers: 4, is_poisson: true, seed, ..EVEN };
        let knee = found(queue.knee(&ramp(500, 1500, 20)));
        assert_near(&knee, queue.capacity(), 0.05);
        let inside = knee.low_per_second <= queue.capacity() && queue.capacity() <= knee.high_per_second;
        holds += u32::from(inside);
    }
    assert!(holds >= 88, "{holds} of 100");
}

#[test]
fn stall_before_the_knee_is_not_the_knee() {
    // Its backlog is worked off long before the knee, or just not.
    for begin in [3.0, 8.5] {
        let queue = Queue { stall: (begin, begin + 0.5), ..EVEN };
        let knee = found(queue.knee(&ramp(500, 1500, 20)));
        assert_near(&knee, 1000.0, 0.02);
    }
    let queue = Queue { stall: (15.0, 15.5), ..EVEN };
    let KneeVerdict::NotReached { at_least_per_second } = queue.knee(&ramp(100, 700, 20)) else { panic!() };
    assert!(at_least_per_second > 650.0);
}

#[test]
fn a_stall_in_the_overload_widens_the_interval() {
    let calm = found(EVEN.knee(&ramp(500, 1500, 20)));
    let knee = found(Queue { stall: (14.0, 14.5), ..EVEN }.knee(&ramp(500, 1500, 20)));
    let width = |knee: &Knee| knee.high_per_second - knee.low_per_second;
    assert!(width(&knee) > 5.0 * width(&calm), "{knee:?}");
    assert!(knee.high_per_second > 1000.0 * 0.99, "{knee:?}");
}

#[test]
fn reports_lower_bound_without_knee() {
    let KneeVerdict::NotReached { at_least_per_second } = EVEN.knee(&ramp(10, 800, 10)) else { panic!() };
    assert!((770.0..801.0).contains(&at_least_per_second), "{at_least_per_second}");
}

#[test]
fn reports_capacity_when_overloaded_from_start() {
    for servers in [1, 3] {
        let queue = Queue { servers, service: 0.01, ..EVEN };
        let knee = found(queue.knee(&ramp(2000, 4000, 10)));
        assert!(knee.from_the_start);
        assert_near(&knee, queue.capacity(), 0.02);
    }
}

#[test]
fn short_ramp_or_end_at_knee_is_unclear() {
    let why = |verdict| match verdict {
        KneeVerdict::Unclear { why, .. } => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(why(EVEN.knee(&ramp(900, 1040, 20))), Doubt::EndedThere);
    // 20 requests per second: too few are delivered.
    let slow = Queue { service: 0.05, ..EVEN };
    assert_eq!(why(slow.knee(&ramp(1, 200, 3))), Doubt::TooShort);
    assert_eq!(why(EVEN.knee(&ramp(1, 2, 3))), Doubt::TooFew);
    assert_eq!(why(find_knee(&[])), Doubt::TooFew);
    let stopped = KneeVerdict::NotReached { at_least_per_second: 7.0 }.when_stopped();
    assert_eq!(stopped, KneeVerdict::Unclear { why: Doubt::Stopped, at_least_per_second: Some(7.0) });
    let found = EVEN.knee(&ramp(250, 3000, 20));
    assert!(matches!(found, KneeVerdict::Found(_)) && found.clone().when_stopped() == found);
    let KneeVerdict::Unclear { at_least_per_second, .. } = EVEN.knee(&ramp(900, 1040, 20)) else { panic!() };
    assert!((900.0..1010.0).contains(&at_least_per_second.unwrap()));
}

/// A throttled device lets requests go in batches: 50 each 100 ms.
#[test]
fn batched_arrivals_do_not_blur_the_rate() {
    let ramp = ramp(250, 750, 20);
    let mut tally = RampTally::new(ramp.over.0, 400);
    let mut gone = 0;
    for number in 0..ramp.requests() {
        let due = ramp.due(number);
        // As many batches as were filled before, or the next one at its time.
        let batch = (gone / 50 + 1).max(due.0.div_ceil(100_000_000));
        gone = gone.max((batch - 1) * 50) + 1;
        let completed = Some(Nanos(batch * 100_000_000));
        tally.add(&Record { due, submitted: Some(due), completed, ..Record::default() });
    }
    let knee = found(find_knee(&tally.rows(1, |time| ramp.until(time))));
    assert_near(&knee, 500.0, 0.01);
    assert!(knee.high_per_second - knee.low_per_second < 25.0, "{knee:?}");
}

#[test]
fn detects_collapse() {
    let knee = found(Queue { collapse: (16.0, 3.0), ..EVEN }.knee(&ramp(500, 1500, 20)));
    assert!(knee.collapses() && knee.last_per_second < 500.0, "{knee:?}");
    assert_near(&knee, 1000.0, 0.02);
}

#[test]
fn exponential_ramp_finds_the_knee() {
    let over = Nanos::from_secs(8);
    for service in [0.005, 0.001, 0.0002] {
        let queue = Queue { service, ..EVEN };
        let from = (queue.capacity() / 30.0) as u64;
        let ramp = Rising { from, to: from * 100, over, shape: RisingShape::Exponential };
        assert_near(&found(queue.knee(&ramp)), queue.capacity(), 0.03);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn finds_capacity_of_any_queue(
        servers in 1usize..40,
        service_us in 100u64..20_000,
        jitter_us in 0u64..3_000,
        is_poisson: bool,
        seed in 1u64..1000,
    ) {
        let (service, jitter) = (service_us as f64 / 1e6, jitter_us as f64 / 1e6);
        let queue = Queue { servers, service, jitter, is_poisson, seed, ..EVEN };
        let capacity = queue.capacity();
        // Enough requests that a part of a percent is more than chance.
        prop_assume!((300.0..20_000.0).contains(&capacity));
        let knee = found(queue.knee(&ramp((capacity * 0.4) as u64, (capacity * 1.6) as u64, 20)));
        prop_assert!((knee.sustained_per_second / capacity - 1.0).abs() < 0.05, "{knee:?} {capacity}");
    }
}
