//! A running run as intervals and moments, for the progress line and the live view.

use iosonar_engine::{Prepared, Progress, Snapshot, Times};
use iosonar_plan::{Job, Nanos, Phase, Plan, Space};
use iosonar_view::live::{CLASSES, ClassTimes, Interval, LIVE_ROWS, LiveStalls, Moment, live_row};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Window of the progress line's tail and of the live view's table.
const SECOND: Nanos = Nanos(1_000_000_000);
/// A stall: this long without a completion although requests were in flight.
const STALL: Duration = Duration::from_secs(1);

/// Expected amounts of a run.
#[derive(Debug, Clone, Copy)]
pub struct Expected {
    pub requests: Option<u64>,
    pub span: Option<Nanos>,
    /// For a matrix, whose requests differ too much in size to be counted.
    pub bytes: Option<u64>,
}

impl Expected {
    pub fn of(prepared: &Prepared) -> Expected {
        let is_matrix = prepared.plan().phases.iter().all(|phase| phase.cell.is_some());
        let bytes = if is_matrix { bytes_of(prepared.plan()) } else { None };
        Expected { requests: prepared.expected_requests(), span: prepared.expected_span(), bytes }
    }

    /// Share that is done, 0 to 1.
    pub fn done(self, dealt_with: u64, bytes: u64, now: Nanos) -> Option<f64> {
        let share = |part: f64, whole: f64| (part / whole).min(1.0);
        if let Some(all) = self.bytes.filter(|all| *all > 0) {
            return Some(share(bytes as f64, all as f64));
        }
        match (self.requests.filter(|r| *r > 0), self.span.filter(|s| s.0 > 0)) {
            (Some(requests), _) => Some(share(dealt_with as f64, requests as f64)),
            (None, Some(span)) => Some(share(now.as_secs_f64(), span.as_secs_f64())),
            (None, None) => None,
        }
    }

    /// Estimates the end of a run with a known number of requests from the rate of the last `second`; `None` if that is not later than
    /// its target times.
    pub fn late_end(self, dealt_with: u64, completed: u64, second: Nanos, now: Nanos) -> Option<Nanos> {
        /// An end that is later by less than this counts as in time.
        const EQUAL: Nanos = Nanos(1_000_000_000);
        let (requests, span) = (self.requests?, self.span?);
        if completed == 0 || second.0 == 0 {
            return None;
        }
        let left = requests.saturating_sub(dealt_with) as f64 / completed as f64 * second.0 as f64;
        let end = Nanos(now.0.saturating_add(left as u64));
        (end > span.saturating_add(EQUAL)).then_some(end)
    }

    /// Estimates the remaining time of a matrix from the rate so far.
    pub fn left(self, done: Option<f64>, now: Nanos) -> Option<Nanos> {
        /// Below this share no estimate is made.
        const ENOUGH: f64 = 0.01;
        let done = done.filter(|done| self.bytes.is_some() && *done >= ENOUGH)?;
        Some(Nanos((now.0 as f64 * (1.0 - done) / done) as u64))
    }
}

/// Bytes that all requests of a plan transfer; `None` if a job has no such amount.
fn bytes_of(plan: &Plan) -> Option<u64> {
    let of_job = |(phase, job): (&Phase, &Job)| match job.workload.generator()?.stop.bytes? {
        Space::Bytes(bytes) => Some(bytes.0.saturating_mul(phase.passes.into())),
        Space::Percent(_) => None,
    };
    plan.jobs().map(of_job).sum()
}

/// State at one moment.
struct Sample {
    counts: Snapshot,
    demanded: Option<u64>,
    times: Times,
    /// Since the previous sample.
    longest: [Nanos; CLASSES],
}

/// Polls a run repeatedly.
pub struct Watch<'a> {
    prepared: &'a Prepared,
    progress: &'a Progress,
    pub expected: Expected,
    /// The latest samples, at least of a second if there are enough.
    samples: VecDeque<Sample>,
    /// The longest responses of samples that were not kept.
    carried: [Nanos; CLASSES],
    stalls: Stalls,
}

impl<'a> Watch<'a> {
    pub fn new(prepared: &'a Prepared, progress: &'a Progress) -> Watch<'a> {
        progress.watch();
        let stalls = Stalls {
            ended: 0,
            since: Instant::now(),
            at: Nanos(0),
            is_counted: false,
            told: LiveStalls::default(),
        };
        Watch {
            prepared,
            progress,
            expected: Expected::of(prepared),
            samples: VecDeque::new(),
            carried: Default::default(),
            stalls,
        }
    }

    /// Polls again: returns the events since the last poll, and the current state.
    pub fn look(&mut self) -> (Interval, Moment) {
        let counts = self.progress.snapshot(false);
        let mut sample = Sample {
            demanded: self.prepared.demanded_until(counts.now),
            times: self.progress.times(),
            longest: self.progress.take_longest(),
            counts,
        };
        self.stalls.look(&sample.counts);
        if self.samples.back().is_some_and(|last| last.counts.now == counts.now) {
            // Time stands still, as before the start: no sample is kept.
            self.carried = merged(self.carried, sample.longest);
            return (Interval::default(), self.moment());
        }
        sample.longest = merged(std::mem::take(&mut self.carried), sample.longest);
        let interval = self.samples.back().map_or(Interval::default(), |last| between(last, &sample));
        self.samples.push_back(sample);
        // The oldest one kept is the last that lies a second back.
        let is_old = |sample: &Sample| counts.now.saturating_sub(sample.counts.now) >= SECOND;
        while self.samples.get(1).is_some_and(is_old) {
            self.samples.pop_front();
        }
        (interval, self.moment())
    }

    /// State at the last poll.
    pub fn moment(&self) -> Moment {
        let (Some(then), Some(now)) = (self.samples.front(), self.samples.back()) else {
            return Moment::default();
        };
        let c = &now.counts;
        let dealt_with = c.completed + c.failed + c.dropped;
        let longest =
            |class: usize| self.samples.iter().skip(1).map(|s| s.longest[class]).max().unwrap_or_default();
        let class = |class: usize| {
            let times = now.times.responses[class].since(&then.times.responses[class]);
            let max = longest(class);
            ClassTimes {
                count: times.total(),
                p50: times.percentile(50, max),
                p99: times.percentile(99, max),
                max,
            }
        };
        let second = c.now.saturating_sub(then.counts.now);
        let (completed, demanded) = (self.completed(), self.demanded());
        Moment {
            time: c.now,
            done: self.expected.done(dealt_with, c.bytes, c.now),
            in_flight: Some(c.in_flight),
            waiting: Some(c.waiting),
            backlog: now.demanded.map(|d| d.saturating_sub(dealt_with + c.in_flight)),
            late: c.late,
            growth: demanded.and_then(|_| growth(&then.counts, c)),
            ends: demanded.and_then(|_| self.expected.late_end(dealt_with, completed, second, c.now)),
            failed: c.failed,
            dropped: c.dropped,
            stalls: self.stalls.told,
            second,
            completed,
            demanded,
            classes: std::array::from_fn(class),
            bytes: c.bytes - then.counts.bytes,
        }
    }

    /// Response times of the last second, of all classes together: p50, p99, maximum.
    pub fn tail(&self) -> [Nanos; 3] {
        let (Some(then), Some(now)) = (self.samples.front(), self.samples.back()) else {
            return Default::default();
        };
        let max = self.samples.iter().skip(1).flat_map(|s| s.longest).max().unwrap_or_default();
        let mut all = iosonar_engine::Histogram::default();
        for (now, then) in now.times.responses.iter().zip(&then.times.responses) {
            all.absorb(&now.since(then));
        }
        [all.percentile(50, max), all.percentile(99, max), max]
    }

    /// Requests that became due in the last second; `None` if unknown.
    pub fn demanded(&self) -> Option<u64> {
        Some(self.samples.back()?.demanded?.saturating_sub(self.samples.front()?.demanded?))
    }

    /// Requests that completed in the last second.
    pub fn completed(&self) -> u64 {
        let completed = |s: Option<&Sample>| s.map_or(0, |s| s.counts.completed);
        completed(self.samples.back()) - completed(self.samples.front())
    }
}

/// Seconds by which the lateness grew per second; `None` if the time between them is too short.
pub fn growth(then: &Snapshot, now: &Snapshot) -> Option<f64> {
    const LEAST: f64 = 0.5;
    let passed = now.now.saturating_sub(then.now).as_secs_f64();
    (passed >= LEAST).then(|| (now.late.as_secs_f64() - then.late.as_secs_f64()) / passed)
}

fn merged(a: [Nanos; CLASSES], b: [Nanos; CLASSES]) -> [Nanos; CLASSES] {
    std::array::from_fn(|class| a[class].max(b[class]))
}

fn between(last: &Sample, now: &Sample) -> Interval {
    let mut latencies = [[0; LIVE_ROWS]; CLASSES];
    for (class, rows) in latencies.iter_mut().enumerate() {
        for (time, count) in now.times.latencies[class].since(&last.times.latencies[class]).iter() {
            rows[live_row(time)] += count;
        }
    }
    Interval {
        from: last.counts.now,
        to: now.counts.now,
        completed: now.counts.completed - last.counts.completed,
        demanded: now.demanded.map(|d| d.saturating_sub(last.demanded.unwrap_or(0))),
        latencies,
    }
}

/// Detects when nothing completes any more.
struct Stalls {
    ended: u64,
    since: Instant,
    at: Nanos,
    is_counted: bool,
    told: LiveStalls,
}

impl Stalls {
    fn look(&mut self, counts: &Snapshot) {
        let ended = counts.completed + counts.failed;
        if ended != self.ended || counts.in_flight == 0 {
            (self.ended, self.since, self.at, self.is_counted) = (ended, Instant::now(), counts.now, false);
            return;
        }
        let length = self.since.elapsed();
        if length >= STALL {
            self.told.count += u64::from(!self.is_counted);
            self.is_counted = true;
            self.told.last = Some((self.at, Nanos(length.as_nanos() as u64)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn end_is_estimated_only_if_it_is_late() {
        let expected = Expected { requests: Some(1000), span: Some(Nanos(10 * S)), bytes: None };
        let end = |done, completed| expected.late_end(done, completed, Nanos(S), Nanos(5 * S));
        // 900 of 1000 remain, 50 each second.
        assert_eq!(end(100, 50), Some(Nanos(23 * S)));
        // All in time, or hardly late.
        assert_eq!((end(500, 100), end(400, 100)), (None, None));
        assert_eq!(end(100, 0), None);
        let unknown = Expected { requests: None, ..expected };
        assert_eq!(unknown.late_end(100, 50, Nanos(S), Nanos(5 * S)), None);
    }

    #[test]
    fn growth_is_the_slope_of_the_lateness() {
        let at = |now, late| Snapshot { now: Nanos(now), late: Nanos(late), ..Snapshot::default() };
        assert_eq!(growth(&at(S, S), &at(3 * S, 2 * S)), Some(0.5));
        assert_eq!(growth(&at(S, 2 * S), &at(3 * S, S)), Some(-0.5));
        assert_eq!(growth(&at(S, 0), &at(S + 1, S)), None);
    }
}
