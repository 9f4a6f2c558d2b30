//! Transferred data and its rate: the account that is compared with the counters of devices, and the level of the run over
//! time.

use crate::During;
use crate::course::Course;
use crate::fits::Fits;
use crate::slices::{Merge, Slices};
use crate::time_range::TimeRange;
use iosonar_archive::{Marks, Record};
use iosonar_plan::{Direction, Op};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Most slices of time: of a run that starts at time zero at least half of them are in use.
const SLICES: usize = 1024;
/// Width of the first slices as a power of two: about 1 µs.
const NARROWEST: u32 = 10;
/// Parts of a factor of two in the logarithms that are summed up.
const LOG_PARTS: f64 = 65_536.0;

/// Longest request that can show whether a device was reached: for longer ones the time of copying means too little.
const SMALL: u64 = 16 << 10;
/// No block device answers faster than this, in nanoseconds: the fastest NVMe devices need 5 µs.
const FLOOR_NS: u64 = 2_000;
/// Copying a byte twice, in billionths of a nanosecond: 13.4 GB/s. This is an assumption: with it the floor stays below 5 µs up to
/// [`SMALL`], so that no device is accused on any machine; with slower memory, fewer cases are detected.
const COPY_PER_BYTE: u64 = 149_254_000;

/// The latency in nanoseconds below which a request of `bytes` has not come from a block device: 2 µs and two copies in
/// memory. Meaningful up to 16 KiB.
pub fn latency_floor_ns(bytes: u64) -> u64 {
    FLOOR_NS + bytes * COPY_PER_BYTE / 1_000_000_000
}

/// Requests of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Moved {
    /// Bytes that they transferred, including ramp, failed and short ones.
    pub bytes: u64,
    /// Completed requests of at most 16 KiB.
    pub small: u64,
    /// Completed requests of at most 16 KiB that were faster than [`latency_floor_ns`].
    pub too_fast: u64,
}

/// Transferred data, and the level over time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Traffic {
    /// Reads.
    pub reads: Moved,
    /// Writes.
    pub writes: Moved,
    /// Bytes that requests have zeroed without data. Devices count them as written; those without support for it write
    /// zeros.
    pub zeroed_bytes: u64,
    slices: Slices<Slice, SLICES, NARROWEST>,
}

/// Requests completed and due in a slice of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Slice {
    /// Due.
    due: u64,
    /// Completed.
    requests: u64,
    bytes: u64,
    /// Bytes that all requests moved, read and written, those of a ramp and of failed requests too.
    moved: [u64; 2],
    /// Sum of the binary logarithms of the latencies, in [`LOG_PARTS`].
    logs: u64,
}

/// Levels of the measured time in equal parts, without the first and the last slice, which may be covered in part.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelsOverTime {
    /// The time of all parts together.
    pub during: During,
    /// Completed requests per second.
    pub requests: Vec<f64>,
    /// Their bytes per second.
    pub bytes: Vec<f64>,
    /// Geometric mean of their latencies in nanoseconds; 0 without any.
    pub latency: Vec<f64>,
}

impl Moved {
    fn add(&mut self, record: &Record, latency_ns: u64) {
        let bytes = u64::try_from(record.result).unwrap_or(0);
        self.bytes += bytes;
        if record.is_completed() && (1..=SMALL).contains(&bytes) {
            self.small += 1;
            self.too_fast += u64::from(latency_ns < latency_floor_ns(bytes));
        }
    }

    fn merge(&mut self, other: Moved) {
        self.bytes += other.bytes;
        self.small += other.small;
        self.too_fast += other.too_fast;
    }
}

impl Fits for Slice {}

impl Fits for Traffic {
    fn fits(&self, own: &Self) -> bool {
        self.slices.fits(&own.slices)
    }
}

impl Merge for Slice {
    fn merge(&mut self, other: &Slice) {
        self.due += other.due;
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.moved[0] += other.moved[0];
        self.moved[1] += other.moved[1];
        self.logs += other.logs;
    }
}

impl Traffic {
    /// Counts a record.
    pub fn add(&mut self, record: &Record) {
        let is_measured = record.op.is_transfer() && !record.marks.has(Marks::RAMP);
        if is_measured {
            self.slices.at(record.due.0).due += 1;
        }
        let (Some(latency), Some(completed)) = (record.latency(), record.completed) else { return };
        match record.op.direction() {
            Direction::Read => self.reads.add(record, latency.0),
            Direction::Write => self.writes.add(record, latency.0),
            Direction::Other => {
                let is_zeroed = record.op == Op::WriteZeroes && record.is_completed();
                let zeroed = if is_zeroed { record.executed.length } else { 0 };
                self.zeroed_bytes += zeroed;
                self.slices.at(completed.0).moved[1] += zeroed;
                return;
            }
        }
        let moved = u64::try_from(record.result).unwrap_or(0);
        self.slices.at(completed.0).moved[usize::from(record.op.direction() == Direction::Write)] += moved;
        if !record.is_completed() || !is_measured {
            return;
        }
        let logs = ((latency.0.max(1) as f64).log2() * LOG_PARTS) as u64;
        let bytes = u64::try_from(record.result).unwrap_or(0);
        self.slices.at(completed.0).merge(&Slice { requests: 1, bytes, logs, ..Slice::default() });
    }

    /// Merges `other`.
    pub fn merge(&mut self, other: &Traffic) {
        self.reads.merge(other.reads);
        self.writes.merge(other.writes);
        self.zeroed_bytes += other.zeroed_bytes;
        self.slices.merge(&other.slices);
    }

    /// Completed requests and their bytes per second between two times, without partial slices; `None` if no slice remains.
    pub fn rate_between(&self, from_ns: u64, to_ns: u64) -> Option<(f64, f64)> {
        let (width, all) = (self.slices.width(), self.slices.list());
        let (first, last) = (from_ns.div_ceil(width), (to_ns / width).min(all.len() as u64));
        let slices = all.get(first as usize..last as usize).filter(|slices| !slices.is_empty())?;
        let sum = Slice::sum_of(slices);
        let seconds = (slices.len() as u64 * width) as f64 / 1e9;
        Some((sum.requests as f64 / seconds, sum.bytes as f64 / seconds))
    }

    /// Bytes that requests of any outcome moved between two times, read and written; of a slice that lies partly there its part. Those of a
    /// ramp are included.
    pub fn moved_between(&self, range: TimeRange) -> [f64; 2] {
        let width = self.slices.width();
        let mut sum = [0.0, 0.0];
        for (index, slice) in self.slices.list().iter().enumerate() {
            let from_ns = self.slices.begin_of(index);
            let overlap = range.overlap_ns(TimeRange { from_ns, to_ns: from_ns.saturating_add(width) });
            let part = overlap as f64 / width as f64;
            sum[0] += slice.moved[0] as f64 * part;
            sum[1] += slice.moved[1] as f64 * part;
        }
        sum
    }

    /// The time of some slices.
    fn during(&self, slices: Range<usize>) -> During {
        let [from_ns, to_ns] = [slices.start, slices.end].map(|index| self.slices.begin_of(index));
        During { from_ns, to_ns }
    }

    /// Requests by slice of time, from time zero on: due, completed and their bytes; with the width of a slice.
    pub(crate) fn course(&self) -> Course {
        let of = |value: fn(&Slice) -> u64| self.slices.list().iter().map(value).collect();
        Course {
            width_ns: self.slices.width(),
            demanded: of(|slice| slice.due),
            delivered: of(|slice| slice.requests),
            delivered_bytes: of(|slice| slice.bytes),
        }
    }

    /// The longest time between two slices with completions in which nothing completed; `None` if every slice has some.
    pub fn longest_pause(&self) -> Option<During> {
        let is_pause = |slice: &Slice| slice.requests == 0;
        let slices = self.slices.list();
        let first = slices.iter().position(|slice| !is_pause(slice))?;
        let (mut longest, mut begin) = (0..0, first);
        let last = slices.iter().rposition(|slice| !is_pause(slice))?;
        for (index, slice) in slices.iter().enumerate().take(last + 1).skip(first) {
            if !is_pause(slice) {
                begin = index + 1;
            } else if index + 1 - begin > longest.len() {
                longest = begin..index + 1;
            }
        }
        (!longest.is_empty()).then(|| self.during(longest))
    }

    /// The levels in `parts` equal parts; `None` if the measured time has too few slices for them.
    pub fn levels(&self, parts: usize) -> Option<LevelsOverTime> {
        let all = self.slices.list();
        let first = all.iter().position(|slice| slice.requests > 0)? + 1;
        let last = all.iter().rposition(|slice| slice.requests > 0).filter(|last| *last >= first + parts)?;
        let border = |part: usize| first + part * (last - first) / parts;
        let mut levels = LevelsOverTime {
            during: self.during(first..last),
            requests: Vec::new(),
            bytes: Vec::new(),
            latency: Vec::new(),
        };
        for part in 0..parts {
            let slices = &all[border(part)..border(part + 1)];
            let seconds = (slices.len() as u64 * self.slices.width()) as f64 / 1e9;
            let sum = Slice::sum_of(slices);
            levels.requests.push(sum.requests as f64 / seconds);
            levels.bytes.push(sum.bytes as f64 / seconds);
            let mean = sum.logs as f64 / LOG_PARTS / sum.requests as f64;
            levels.latency.push(if sum.requests == 0 { 0.0 } else { mean.exp2() });
        }
        Some(levels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_plan::Nanos;

    fn record(at_us: u64, latency_ns: u64, bytes: u64) -> Record {
        let submitted = Nanos(at_us * 1_000);
        Record {
            op: Op::Read,
            due: submitted,
            submitted: Some(submitted),
            completed: Some(Nanos(submitted.0 + latency_ns)),
            result: bytes as i64,
            ..Record::default()
        }
    }

    fn of(records: &[Record]) -> Traffic {
        let mut traffic = Traffic::default();
        records.iter().for_each(|record| traffic.add(record));
        traffic
    }

    #[test]
    fn counts_requests_too_fast_for_any_device() {
        let floor = latency_floor_ns(4096);
        assert_eq!(floor, 2_611);
        let traffic = of(&[record(1, floor - 1, 4096), record(2, floor, 4096), record(3, 10, 1 << 20)]);
        assert_eq!(traffic.reads, Moved { bytes: 8192 + (1 << 20), small: 2, too_fast: 1 });
        assert_eq!(traffic.writes, Moved::default());
    }

    #[test]
    fn separately_read_parts_merge_to_the_whole() {
        let records: Vec<Record> = (0..5_000).map(|n| record(n * 173, 1_000 + n, 4096)).collect();
        let whole = of(&records);
        let (early, late) = records.split_at(600);
        let (mut merged, late) = (of(early), of(late));
        merged.merge(&late);
        assert_eq!(merged, whole);
        let mut other_way = late;
        other_way.merge(&of(early));
        assert_eq!(other_way, whole);
    }

    #[test]
    fn rate_between_times_uses_whole_slices() {
        let fast = (0..10_000).map(|n| record(n * 10, 50_000, 512));
        let slow = (0..1_000).map(|n| record(100_000 + n * 100, 50_000, 512));
        let traffic = of(&fast.chain(slow).collect::<Vec<_>>());
        let (requests, bytes) = traffic.rate_between(1_000_000, 99_000_000).unwrap();
        assert!((requests - 1e5).abs() < 500.0 && (bytes / requests - 512.0).abs() < 1e-9, "{requests}");
        assert!((traffic.rate_between(101_000_000, 200_000_000).unwrap().0 - 1e4).abs() < 100.0);
        assert_eq!((traffic.rate_between(5, 6), traffic.rate_between(u64::MAX, u64::MAX)), (None, None));
    }

    #[test]
    fn the_longest_time_without_completions_is_found() {
        let busy = |from: u64| (from..from + 1_000).map(|at| record(at, 5_000, 512));
        let all: Vec<Record> = busy(0).chain(busy(1_500)).chain(busy(9_000)).collect();
        let pause = of(&all).longest_pause().unwrap();
        assert!((2_490_000..2_530_000).contains(&pause.from_ns), "{pause:?}");
        assert!((8_970_000..9_010_000).contains(&pause.to_ns), "{pause:?}");
        assert_eq!(of(&busy(0).collect::<Vec<_>>()).longest_pause(), None);
        assert_eq!(Traffic::default().longest_pause(), None);
    }

    #[test]
    fn levels_are_rates_and_geometric_means() {
        let traffic = of(&(0..100_000).map(|n| record(n * 10, 50_000, 512)).collect::<Vec<_>>());
        let levels = traffic.levels(20).unwrap();
        assert_eq!(levels.requests.len(), 20);
        for part in 0..20 {
            assert!((levels.requests[part] - 1e5).abs() < 200.0, "{:?}", levels.requests);
            assert!((levels.bytes[part] / levels.requests[part] - 512.0).abs() < 1e-9);
            assert!((levels.latency[part] / 50_000.0 - 1.0).abs() < 1e-3);
        }
        assert_eq!(of(&[record(1, 5, 512)]).levels(20), None);
    }
}
