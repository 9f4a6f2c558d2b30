//! What can be seen of a run while it goes on, without disturbing it.

use iosonar_archive::{Outcome, Record};
use iosonar_plan::Nanos;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Buckets for each power of two of the interval histogram: a percentile is at most 12.5 % too high.
const STEPS: usize = 8;
const BUCKETS: usize = 64 * STEPS;

/// Gauges that workers set and anybody may read.
#[derive(Debug)]
pub struct Progress {
    targets: Vec<Gauge>,
    seen: Mutex<Seen>,
}

/// What one worker tells; written by it alone.
#[derive(Debug, Default)]
pub struct Gauge {
    in_flight: AtomicU32,
    waiting: AtomicU32,
    late_ns: AtomicU64,
    now_ns: AtomicU64,
}

impl Gauge {
    pub(crate) fn set(&self, now: Nanos, in_flight: u32, waiting: u32) {
        self.now_ns.store(now.0, Relaxed);
        self.in_flight.store(in_flight, Relaxed);
        self.waiting.store(waiting, Relaxed);
    }

    pub(crate) fn set_late(&self, late: Nanos) {
        self.late_ns.store(late.0, Relaxed);
    }
}

/// Counts over the whole run, and a histogram of the time since the last snapshot.
#[derive(Debug, Clone)]
struct Seen {
    completed: u64,
    failed: u64,
    dropped: u64,
    bytes: u64,
    responses: Box<[u32; BUCKETS]>,
    interval_max: Nanos,
}

/// A moment of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// The run's own time: that of the target that is furthest behind.
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
    /// For a run on `targets` targets.
    pub fn new(targets: usize) -> Progress {
        let seen = Seen {
            completed: 0,
            failed: 0,
            dropped: 0,
            bytes: 0,
            responses: Box::new([0; BUCKETS]),
            interval_max: Nanos(0),
        };
        Progress { targets: (0..targets).map(|_| Gauge::default()).collect(), seen: Mutex::new(seen) }
    }

    pub(crate) fn gauge(&self, target: usize) -> &Gauge {
        &self.targets[target]
    }

    /// Sees a block of records; called by the recorder's writer, never by a worker.
    pub(crate) fn observe(&self, records: &[Record]) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for record in records {
            match record.outcome {
                Outcome::Completed => seen.completed += 1,
                Outcome::Failed => seen.failed += 1,
                Outcome::Dropped => seen.dropped += 1,
                Outcome::Cancelled => {}
            }
            seen.bytes += record.result.max(0) as u64;
            if let Some(response) = record.response() {
                seen.responses[bucket(response)] += 1;
                seen.interval_max = seen.interval_max.max(response);
            }
        }
    }

    /// The present moment; with `next_interval` the histogram begins anew.
    pub fn snapshot(&self, next_interval: bool) -> Snapshot {
        let sum =
            |f: fn(&Gauge) -> &AtomicU32| self.targets.iter().map(|g| u64::from(f(g).load(Relaxed))).sum();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let snapshot = Snapshot {
            now: Nanos(self.targets.iter().map(|g| g.now_ns.load(Relaxed)).min().unwrap_or_default()),
            completed: seen.completed,
            failed: seen.failed,
            dropped: seen.dropped,
            bytes: seen.bytes,
            in_flight: sum(|g| &g.in_flight),
            waiting: sum(|g| &g.waiting),
            late: Nanos(self.targets.iter().map(|g| g.late_ns.load(Relaxed)).max().unwrap_or_default()),
            p50: percentile(&seen.responses, 50, seen.interval_max),
            p99: percentile(&seen.responses, 99, seen.interval_max),
            max: seen.interval_max,
        };
        if next_interval {
            seen.responses.fill(0);
            seen.interval_max = Nanos(0);
        }
        snapshot
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

fn percentile(counts: &[u32; BUCKETS], percent: u64, max: Nanos) -> Nanos {
    let total: u64 = counts.iter().map(|c| u64::from(*c)).sum();
    let rank = (total * percent).div_ceil(100);
    let mut seen = 0;
    let found = counts.iter().position(|count| {
        seen += u64::from(*count);
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
        let records: Vec<Record> = (1..=100).map(record).collect();
        progress.observe(&records);
        let s = progress.snapshot(true);
        assert_eq!((s.completed, s.bytes, s.max), (100, 51_200, Nanos(100_000)));
        assert!((99_000..=100_000).contains(&s.p99.0) && (50_000..57_000).contains(&s.p50.0), "{s:?}");
        let s = progress.snapshot(true);
        assert_eq!((s.completed, s.p99, s.max), (100, Nanos(0), Nanos(0)));
    }
}
