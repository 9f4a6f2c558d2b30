//! Demanded and delivered requests in each interval of a rising demand.

use crate::axis::{ROWS, SLOTS, row_lower_edge, row_of};
use iosonar_archive::{Outcome, Record};
use iosonar_plan::Nanos;
use serde::{Deserialize, Serialize};

/// An interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RampRow {
    /// Its begin.
    pub from_ns: u64,
    /// Its end.
    pub to_ns: u64,
    /// Requests that became due, according to the ramp.
    pub demanded: f64,
    /// Requests that completed wholly.
    pub delivered: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Due to submission, of those that became due; absent if none of them was submitted.
    pub delay: Option<RowTimes>,
    /// Due to completion, of those that became due and completed, whenever that was.
    pub response: Option<RowTimes>,
}

/// Percentiles of a time, each right to 4 %.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowTimes {
    /// The median.
    pub p50_ns: u64,
    /// The 99th percentile.
    pub p99_ns: u64,
}

impl RampRow {
    /// Its length.
    pub fn seconds(&self) -> f64 {
        (self.to_ns - self.from_ns) as f64 / 1e9
    }

    /// Requests per second that became due.
    pub fn demand_per_second(&self) -> f64 {
        self.demanded / self.seconds()
    }

    /// Requests per second that completed.
    pub fn delivered_per_second(&self) -> f64 {
        self.delivered as f64 / self.seconds()
    }
}

/// Counts of times by their rows.
type Counts = Box<[u32; SLOTS]>;

/// Counters of an interval.
#[derive(Clone)]
struct Bin {
    delivered: u64,
    failed: u64,
    delays: Counts,
    responses: Counts,
}

/// Counts records by intervals, in any order. Memory: 4 KiB for each interval.
pub struct RampTally {
    width_ns: u64,
    bins: Vec<Bin>,
}

impl RampTally {
    /// Covers 0 to `end_ns`, in `bins` intervals or somewhat fewer. Later requests are skipped.
    pub fn new(end_ns: u64, bins: usize) -> RampTally {
        let width_ns = end_ns.div_ceil(bins.max(1) as u64).max(1);
        let bin =
            || Bin { delivered: 0, failed: 0, delays: Box::new([0; SLOTS]), responses: Box::new([0; SLOTS]) };
        // Only whole intervals: in a part of one, a rate would be wrong.
        let whole = (end_ns / width_ns).max(1) as usize;
        RampTally { width_ns, bins: (0..whole).map(|_| bin()).collect() }
    }

    fn bin(&mut self, time: Nanos) -> Option<&mut Bin> {
        self.bins.get_mut(usize::try_from(time.0 / self.width_ns).ok()?)
    }

    /// Counts a request.
    pub fn add(&mut self, record: &Record) {
        if let Some(bin) = record.completed.and_then(|completed| self.bin(completed)) {
            match record.outcome {
                Outcome::Completed => bin.delivered += 1,
                _ => bin.failed += 1,
            }
        }
        let (delay, response) = (record.delay(), record.response().filter(|_| record.is_completed()));
        let Some(bin) = self.bin(record.due) else { return };
        for (counts, time) in [(&mut bin.delays, delay), (&mut bin.responses, response)] {
            if let Some(time) = time {
                counts[row_of(time.0).slot()] += 1;
            }
        }
    }

    /// The intervals, each `merged` of them joined. `due_until` returns the number of requests due before a time.
    pub fn rows(&self, merged: usize, due_until: impl Fn(Nanos) -> f64) -> Vec<RampRow> {
        let merged = merged.max(1);
        let row = |(index, bins): (usize, &[Bin])| {
            let from_ns = index as u64 * merged as u64 * self.width_ns;
            let to_ns = from_ns + self.width_ns * bins.len() as u64;
            RampRow {
                from_ns,
                to_ns,
                demanded: (due_until(Nanos(to_ns)) - due_until(Nanos(from_ns))).max(0.0),
                delivered: bins.iter().map(|bin| bin.delivered).sum(),
                failed: bins.iter().map(|bin| bin.failed).sum(),
                delay: times(bins, |bin| &bin.delays),
                response: times(bins, |bin| &bin.responses),
            }
        };
        self.bins.chunks(merged).enumerate().map(row).collect()
    }
}

fn times(bins: &[Bin], of: impl Fn(&Bin) -> &Counts) -> Option<RowTimes> {
    let mut sums = [0u64; SLOTS];
    for bin in bins {
        sums.iter_mut().zip(of(bin).iter()).for_each(|(sum, n)| *sum += u64::from(*n));
    }
    let total: u64 = sums.iter().sum();
    let quantile = |percent: u64| {
        let rank = (total * percent).div_ceil(100).max(1);
        let mut seen = 0;
        let slot = sums.iter().position(|n| {
            seen += n;
            seen >= rank
        });
        slot.map_or(0, middle)
    };
    (total > 0).then(|| RowTimes { p50_ns: quantile(50), p99_ns: quantile(99) })
}

/// A time in the middle of a slot; 0 below 1 µs.
fn middle(slot: usize) -> u64 {
    match slot {
        0 => 0,
        slot if slot > ROWS => row_lower_edge(ROWS),
        slot => row_lower_edge(slot - 1).midpoint(row_lower_edge(slot)),
    }
}
