//! Progress of a run, visible without disturbing it.
//!
//! Response times are always counted, by class; latencies only while a display watches them ([`Progress::watch`]).

use crate::verify::ScanProgress;
use iosonar_archive::{Outcome, Record};
use iosonar_plan::Nanos;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Buckets for each power of two of the interval histogram: a percentile is at most 12.5 % too high.
const STEPS: usize = 8;
const BUCKETS: usize = 64 * STEPS;
/// Reads, writes, and requests that were pushed back.
const CLASSES: usize = 3;

/// Histograms of a worker, which grow.
type Growing = Box<[[AtomicU64; BUCKETS]; CLASSES]>;

fn growing() -> Growing {
    Box::new([const { [const { AtomicU64::new(0) }; BUCKETS] }; CLASSES])
}

/// Gauges that workers set and any thread may read.
#[derive(Debug)]
pub struct Progress {
    gauges: Vec<Gauge>,
    /// Counts of the gauges' histograms at the start of the present interval.
    before: Mutex<Histogram>,
    /// CPU time of the progress display.
    watching_ns: AtomicU64,
    scan: ScanProgress,
}

/// Counts of one worker. It alone counts, so a count needs no locked instruction: a load and a store are enough. (The progress
/// display takes the longest response away.) Workers share no cache line.
#[derive(Debug)]
#[repr(align(128))]
pub struct Gauge {
    in_flight: AtomicU32,
    waiting: AtomicU32,
    late_ns: AtomicU64,
    now_ns: AtomicU64,
    /// The worker has ended.
    ended: AtomicBool,
    pass: AtomicU32,
    completed: AtomicU64,
    failed: AtomicU64,
    dropped: AtomicU64,
    bytes: AtomicU64,
    responses: Growing,
    latencies: Growing,
    /// Whether latencies are counted.
    is_watched: AtomicBool,
    /// Longest response of the interval, by class; taken away when that ends.
    longest_ns: [AtomicU64; CLASSES],
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
            responses: growing(),
            latencies: growing(),
            is_watched: AtomicBool::new(false),
            longest_ns: [const { AtomicU64::new(0) }; CLASSES],
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
        if let (Some(response), true) = (record.response(), record.op.is_transfer()) {
            let class = if record.is_pushed() { CLASSES - 1 } else { record.op.direction().index() };
            // First the longest: it bounds the displayed histogram.
            let longest = &self.longest_ns[class];
            if response.0 > longest.load(Relaxed) {
                longest.store(response.0, Relaxed);
            }
            add(&self.responses[class][bucket(response)], 1);
            if self.is_watched.load(Relaxed)
                && let Some(latency) = record.latency()
            {
                add(&self.latencies[class][bucket(latency)], 1);
            }
        }
    }
}

/// Counts of times in buckets, of which each is an eighth of a power of two wide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    counts: Box<[u64; BUCKETS]>,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { counts: Box::new([0; BUCKETS]) }
    }
}

impl Histogram {
    /// The bucket of a time.
    pub fn bucket(time: Nanos) -> u16 {
        bucket(time) as u16
    }

    /// Counts `n` more in a bucket.
    pub fn add(&mut self, bucket: u16, n: u64) {
        self.counts[usize::from(bucket)] += n;
    }

    /// Adds the counts of `other`.
    pub fn absorb(&mut self, other: &Histogram) {
        self.counts.iter_mut().zip(other.counts.iter()).for_each(|(sum, n)| *sum += n);
    }

    /// Number of counted times.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Counts added since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Histogram) -> Histogram {
        let mut counts = self.counts.clone();
        counts.iter_mut().zip(earlier.counts.iter()).for_each(|(now, then)| *now = now.saturating_sub(*then));
        Histogram { counts }
    }

    /// The `percent` percentile, a bucket's width too high at most, and never above `max`.
    pub fn percentile(&self, percent: u64, max: Nanos) -> Nanos {
        percentile(&self.counts, percent, max)
    }

    /// Buckets that are not empty: a time in the middle of each, and its count.
    pub fn iter(&self) -> impl Iterator<Item = (Nanos, u64)> + '_ {
        let lower = |b: usize| b.checked_sub(1).map_or(0, |before| upper_edge(before) + 1);
        let middle = move |b: usize| Nanos(lower(b) + (upper_edge(b) - lower(b)) / 2);
        let filled = self.counts.iter().enumerate().filter(|(_, n)| **n > 0);
        filled.map(move |(b, n)| (middle(b), *n))
    }
}

/// Times of all requests so far, by class: reads, writes, those that were pushed back.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Times {
    /// From the due time to the completion.
    pub responses: [Histogram; CLASSES],
    /// From the submission to the completion; of the time since they are watched.
    pub latencies: [Histogram; CLASSES],
}

/// Progress of an issuing loop.
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

/// Progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// The run's own time: that of the slowest target still running.
    pub now: Nanos,
    /// Requests that completed fully.
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
    /// Maximum issue delay of the latest request of each target.
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
        Progress {
            gauges,
            before: Mutex::default(),
            watching_ns: AtomicU64::new(0),
            scan: ScanProgress::default(),
        }
    }

    /// Sets the CPU time of the progress display so far: it is part of the run's health.
    pub fn note_watching(&self, cpu_ns: u64) {
        self.watching_ns.store(cpu_ns, Relaxed);
    }

    /// Progress of the scan at the end.
    pub fn scan(&self) -> &ScanProgress {
        &self.scan
    }

    pub(crate) fn watching_ns(&self) -> u64 {
        self.watching_ns.load(Relaxed)
    }

    /// Progress of each issuing loop, those of a target together, in the order of [`Prepared::workers`].
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

    /// Starts a phase with `loops` issuing loops; the others are idle in it.
    pub(crate) fn begin_phase(&self, loops: usize) {
        self.gauges.iter().enumerate().for_each(|(i, g)| g.ended.store(i >= loops, Relaxed));
    }

    pub(crate) fn gauge(&self, worker: usize) -> &Gauge {
        &self.gauges[worker]
    }

    /// The time of the slowest worker still running.
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

    /// Counts of all workers together.
    fn gather(&self, of: fn(&Gauge) -> &Growing) -> [Histogram; CLASSES] {
        let mut all: [Histogram; CLASSES] = Default::default();
        for gauge in &self.gauges {
            for (sum, counts) in all.iter_mut().zip(of(gauge).iter()) {
                sum.counts.iter_mut().zip(counts).for_each(|(sum, n)| *sum += n.load(Relaxed));
            }
        }
        all
    }

    /// Counts latencies from now on.
    pub fn watch(&self) {
        self.gauges.iter().for_each(|g| g.is_watched.store(true, Relaxed));
    }

    /// Times of all requests so far.
    pub fn times(&self) -> Times {
        Times { responses: self.gather(|g| &g.responses), latencies: self.gather(|g| &g.latencies) }
    }

    /// The longest response of each class since the last call. A call takes it away from [`snapshot`](Progress::snapshot).
    pub fn take_longest(&self) -> [Nanos; CLASSES] {
        let of = |class: usize| self.gauges.iter().map(|g| g.longest_ns[class].swap(0, Relaxed)).max();
        std::array::from_fn(|class| Nanos(of(class).unwrap_or_default()))
    }

    /// Requests that have ended, whatever their outcome.
    pub(crate) fn ended(&self) -> u64 {
        self.sum(|g| &g.completed) + self.sum(|g| &g.failed) + self.sum(|g| &g.dropped)
    }

    /// Requests in flight now.
    pub(crate) fn in_flight(&self) -> u64 {
        self.sum_now(|g| &g.in_flight)
    }

    fn sum_now(&self, of: fn(&Gauge) -> &AtomicU32) -> u64 {
        self.gauges.iter().map(|g| u64::from(of(g).load(Relaxed))).sum()
    }

    /// Progress at the present moment; with `next_interval` the histogram starts again.
    pub fn snapshot(&self, next_interval: bool) -> Snapshot {
        let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        let mut responses = Histogram::default();
        self.gather(|g| &g.responses).iter().for_each(|class| responses.absorb(class));
        let interval = responses.since(&before);
        let longest = |longest: &AtomicU64| match next_interval {
            true => longest.swap(0, Relaxed),
            false => longest.load(Relaxed),
        };
        let max =
            Nanos(self.gauges.iter().flat_map(|g| &g.longest_ns).map(longest).max().unwrap_or_default());
        if next_interval {
            *before = responses;
        }
        Snapshot {
            now: self.now(),
            completed: self.sum(|g| &g.completed),
            failed: self.sum(|g| &g.failed),
            dropped: self.sum(|g| &g.dropped),
            bytes: self.sum(|g| &g.bytes),
            in_flight: self.in_flight(),
            waiting: self.sum_now(|g| &g.waiting),
            late: Nanos(self.gauges.iter().map(|g| g.late_ns.load(Relaxed)).max().unwrap_or_default()),
            p50: interval.percentile(50, max),
            p99: interval.percentile(99, max),
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
    fn buckets_contain_their_values() {
        for n in [8, 9, 100, 12_345, 1_000_000_007, u64::MAX >> 1, u64::MAX] {
            let b = bucket(Nanos(n));
            let lower = upper_edge(b - 1) + 1;
            assert!(lower <= n && n <= upper_edge(b), "{n}: {lower}..={}", upper_edge(b));
            assert!(upper_edge(b) - lower <= lower / 8);
        }
    }

    #[test]
    fn interval_snapshot_resets_percentiles() {
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

    #[test]
    fn progress_separates_latencies_by_class() {
        use iosonar_archive::Marks;
        use iosonar_plan::Op;
        let progress = Progress::new(2);
        let record = |op, pushed, us: u64| Record {
            op,
            marks: Marks::default().with(Marks::PUSHED, pushed),
            submitted: Some(Nanos(us * 500)),
            completed: Some(Nanos(us * 1000)),
            ..Record::default()
        };
        progress.gauge(0).count(&record(Op::Read, false, 10));
        progress.watch();
        progress.gauge(0).count(&record(Op::Read, false, 20));
        progress.gauge(1).count(&record(Op::Write, false, 30));
        progress.gauge(1).count(&record(Op::Write, true, 40));
        let times = progress.times();
        assert_eq!(times.responses.each_ref().map(Histogram::total), [2, 1, 1]);
        assert_eq!(times.latencies.each_ref().map(Histogram::total), [1, 1, 1]);
        let of = |h: &Histogram| h.iter().next().unwrap().0.0 as f64;
        for (histogram, us) in times.latencies.iter().zip([10.0, 15.0, 20.0]) {
            assert!((of(histogram) / (us * 1000.0) - 1.0).abs() < 0.07, "{us}: {histogram:?}");
        }
        assert_eq!(progress.take_longest(), [20_000, 30_000, 40_000].map(Nanos));
        assert_eq!(progress.take_longest(), [Nanos(0); CLASSES]);
        assert_eq!(times.responses[0].since(&times.responses[0]).total(), 0);
    }
}
