//! What can be seen of a run while it goes on, without disturbing it.

use iosonar_archive::{Outcome, Record};
use iosonar_plan::Nanos;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Buckets for each power of two of the interval histogram: a percentile is at most 12.5 % too high.
const STEPS: usize = 8;
const BUCKETS: usize = 64 * STEPS;

/// Gauges that workers set and anybody may read.
#[derive(Debug)]
pub struct Progress {
    gauges: Vec<Gauge>,
    /// What the gauges' histograms showed when the present interval began.
    before: Mutex<Box<[u64; BUCKETS]>>,
}

/// What one worker tells. It alone counts, so a count needs no locked instruction: a load and a store are enough. (Whoever
/// shows progress takes the longest response away.) Workers share no cache line.
#[derive(Debug)]
#[repr(align(128))]
pub struct Gauge {
    in_flight: AtomicU32,
    waiting: AtomicU32,
    late_ns: AtomicU64,
    now_ns: AtomicU64,
    /// Its part is over.
    ended: AtomicBool,
    pass: AtomicU32,
    completed: AtomicU64,
    failed: AtomicU64,
    dropped: AtomicU64,
    bytes: AtomicU64,
    responses: Box<[AtomicU64; BUCKETS]>,
    /// Longest response of the interval; taken away when that ends.
    longest_ns: AtomicU64,
}

impl Default for Gauge {
    fn default() -> Gauge {
        Gauge {
            in_flight: AtomicU32::new(0),
            waiting: AtomicU32::new(0),
            late_ns: AtomicU64::new(0),
            now_ns: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            pass: AtomicU32::new(0),
            completed: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            responses: Box::new([const { AtomicU64::new(0) }; BUCKETS]),
            longest_ns: AtomicU64::new(0),
        }
    }
}

fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(n), Relaxed);
}

impl Gauge {
    pub(crate) fn set(&self, now: Nanos, in_flight: u32, waiting: u32) {
        self.now_ns.store(now.0, Relaxed);
        self.in_flight.store(in_flight, Relaxed);
        self.waiting.store(waiting, Relaxed);
    }

    pub(crate) fn end(&self, now: Nanos) {
        self.set(now, 0, 0);
        self.set_late(Nanos(0));
        self.ended.store(true, Relaxed);
    }

    pub(crate) fn set_pass(&self, pass: u32) {
        self.pass.store(pass, Relaxed);
    }

    pub(crate) fn set_late(&self, late: Nanos) {
        self.late_ns.store(late.0, Relaxed);
    }

    /// Counts a request that has ended.
    pub(crate) fn count(&self, record: &Record) {
        match record.outcome {
            Outcome::Completed => add(&self.completed, 1),
            Outcome::Failed => add(&self.failed, 1),
            Outcome::Dropped => add(&self.dropped, 1),
            Outcome::Cancelled => {}
        }
        add(&self.bytes, record.result.max(0) as u64);
        if let Some(response) = record.response() {
            // First the longest: it bounds what is shown of the histogram.
            if response.0 > self.longest_ns.load(Relaxed) {
                self.longest_ns.store(response.0, Relaxed);
            }
            add(&self.responses[bucket(response)], 1);
        }
    }
}

/// A moment of an issuing loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopProgress {
    /// Number of its pass, from 0.
    pub pass: u32,
    /// Requests that ended, in all passes.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// It has ended.
    pub ended: bool,
}

/// A moment of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// The run's own time: that of the target that is furthest behind, of those that still go on.
    pub now: Nanos,
    /// Requests that completed wholly.
    pub completed: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Requests that were dropped.
    pub dropped: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Requests in flight now.
    pub in_flight: u64,
    /// Requests that wait for a conflict now.
    pub waiting: u64,
    /// How late the latest request of any target was handed over.
    pub late: Nanos,
    /// 50th percentile of the response times since the last snapshot.
    pub p50: Nanos,
    /// 99th percentile of the response times since the last snapshot.
    pub p99: Nanos,
    /// Longest response time since the last snapshot.
    pub max: Nanos,
}

impl Progress {
    /// For a run with `workers` issuing loops.
    pub fn new(workers: usize) -> Progress {
        let gauges = (0..workers).map(|_| Gauge::default()).collect();
        Progress { gauges, before: Mutex::new(Box::new([0; BUCKETS])) }
    }

    /// What each issuing loop has come to, those of a target together, in the order of [`Prepared::workers`].
    ///
    /// [`Prepared::workers`]: crate::Prepared::workers
    pub fn loops(&self) -> impl Iterator<Item = LoopProgress> + '_ {
        self.gauges.iter().map(|g| LoopProgress {
            pass: g.pass.load(Relaxed),
            requests: g.completed.load(Relaxed) + g.failed.load(Relaxed),
            bytes: g.bytes.load(Relaxed),
            ended: g.ended.load(Relaxed),
        })
    }

    pub(crate) fn gauge(&self, worker: usize) -> &Gauge {
        &self.gauges[worker]
    }

    /// The time of the worker that is furthest behind, of those that still go on.
    fn now(&self) -> Nanos {
        let times = |ended: bool| {
            let gauges = self.gauges.iter().filter(move |g| g.ended.load(Relaxed) == ended);
            gauges.map(|g| g.now_ns.load(Relaxed))
        };
        Nanos(times(false).min().or(times(true).max()).unwrap_or_default())
    }

    fn sum(&self, of: fn(&Gauge) -> &AtomicU64) -> u64 {
        self.gauges.iter().map(|g| of(g).load(Relaxed)).sum()
    }

    fn responses(&self) -> Box<[u64; BUCKETS]> {
        let mut all = Box::new([0; BUCKETS]);
        for gauge in &self.gauges {
            all.iter_mut().zip(gauge.responses.iter()).for_each(|(sum, n)| *sum += n.load(Relaxed));
        }
        all
    }

    /// The present moment; with `next_interval` the histogram begins anew.
    pub fn snapshot(&self, next_interval: bool) -> Snapshot {
        let small =
            |f: fn(&Gauge) -> &AtomicU32| self.gauges.iter().map(|g| u64::from(f(g).load(Relaxed))).sum();
        let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        let responses = self.responses();
        let mut interval = responses.clone();
        interval.iter_mut().zip(before.iter()).for_each(|(now, then)| *now = now.saturating_sub(*then));
        let longest = |g: &Gauge| match next_interval {
            true => g.longest_ns.swap(0, Relaxed),
            false => g.longest_ns.load(Relaxed),
        };
        let max = Nanos(self.gauges.iter().map(longest).max().unwrap_or_default());
        if next_interval {
            *before = responses;
        }
        Snapshot {
            now: self.now(),
            completed: self.sum(|g| &g.completed),
            failed: self.sum(|g| &g.failed),
            dropped: self.sum(|g| &g.dropped),
            bytes: self.sum(|g| &g.bytes),
            in_flight: small(|g| &g.in_flight),
            waiting: small(|g| &g.waiting),
            late: Nanos(self.gauges.iter().map(|g| g.late_ns.load(Relaxed)).max().unwrap_or_default()),
            p50: percentile(&interval, 50, max),
            p99: percentile(&interval, 99, max),
            max,
        }
    }
}

fn bucket(time: Nanos) -> usize {
    let n = time.0.max(STEPS as u64);
    let power = n.ilog2() as usize;
    let step = (n >> (power - STEPS.ilog2() as usize)) as usize - STEPS;
    power * STEPS + step
}

/// Upper edge of a bucket, less one.
fn upper_edge(bucket: usize) -> u64 {
    let (power, step) = (bucket / STEPS, bucket % STEPS);
    let next = ((STEPS + step + 1) as u128) << power >> STEPS.ilog2();
    (next - 1).min(u128::from(u64::MAX)) as u64
}

fn percentile(counts: &[u64; BUCKETS], percent: u64, max: Nanos) -> Nanos {
    let total: u64 = counts.iter().sum();
    let rank = (total * percent).div_ceil(100);
    let mut seen = 0;
    let found = counts.iter().position(|count| {
        seen += count;
        seen >= rank && rank > 0
    });
    found.map_or(Nanos(0), |bucket| Nanos(upper_edge(bucket)).min(max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_what_they_say() {
        for n in [8, 9, 100, 12_345, 1_000_000_007, u64::MAX >> 1, u64::MAX] {
            let b = bucket(Nanos(n));
            let lower = upper_edge(b - 1) + 1;
            assert!(lower <= n && n <= upper_edge(b), "{n}: {lower}..={}", upper_edge(b));
            assert!(upper_edge(b) - lower <= lower / 8);
        }
    }

    #[test]
    fn an_interval_forgets_the_one_before() {
        let progress = Progress::new(1);
        let record = |us: u64| Record {
            submitted: Some(Nanos(0)),
            completed: Some(Nanos(us * 1000)),
            result: 512,
            ..Record::default()
        };
        (1..=100).for_each(|us| progress.gauge(0).count(&record(us)));
        let s = progress.snapshot(true);
        assert_eq!((s.completed, s.bytes, s.max), (100, 51_200, Nanos(100_000)));
        assert!((99_000..=100_000).contains(&s.p99.0) && (50_000..57_000).contains(&s.p50.0), "{s:?}");
        let s = progress.snapshot(true);
        assert_eq!((s.completed, s.p99, s.max), (100, Nanos(0), Nanos(0)));
    }
}
