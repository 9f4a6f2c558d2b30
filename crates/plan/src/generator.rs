//! A generated workload: addresses × sizes × mix of operations × arrivals × limit.

use crate::sizes::BlockSizes;
use crate::strict::{is_default, no_fields};
use crate::units::plain;
use crate::{ByteSize, Decimal, ExtraReads, Nanos, Op, ReadMix, Rising, Space, ThinkTime, Zone};
use iosonar_text::shown;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// A generated workload.
///
/// Its requests are numbered from 0, and each is a function of plan, seed, pass and number alone, never of depth, engine
/// or timing. The number of jobs changes no address; with [`Sharing::Striped`] it decides which requests are the reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Generator {
    /// Order of addresses.
    pub order: Order,
    /// Bytes of each request; of each read, where writes have separate sizes.
    pub block_size: BlockSizes,
    /// Bytes of each write; `None` means `block_size`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_block_size: Option<BlockSizes>,
    /// Share of reads in percent, 0 to 100; `sharing` determines how exact it is.
    #[serde(serialize_with = "plain")]
    pub read_percent: Decimal,
    /// Share of discards in percent; with reads and write zeroes at most 100. The rest of the requests are writes. Chance
    /// decides which requests that are no reads are discards or write zeroes, by their number.
    #[serde(default, skip_serializing_if = "is_default", serialize_with = "plain")]
    pub discard_percent: Decimal,
    /// Share of write zeroes in percent.
    #[serde(default, skip_serializing_if = "is_default", serialize_with = "plain")]
    pub zeroes_percent: Decimal,
    /// Flushes between writes; `None` means no flushes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush: Option<FlushRule>,
    /// Start of the region.
    #[serde(default)]
    pub offset: ByteSize,
    /// Offset between passes: pass k, from 0, adds k times this to every address.
    #[serde(default, skip_serializing_if = "is_default")]
    pub pass_offset: ByteSize,
    /// Length of the region, in bytes or as a share of the target. `None` means up to the end of the target; with [`AtEnd::Extend`]
    /// the bytes of a pass, where the target has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<Space>,
    /// Drawn and staggered addresses are multiples of this, counted from `offset`; `None` means of the smallest request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<ByteSize>,
    /// Behaviour at the end of the region.
    #[serde(default, skip_serializing_if = "is_default")]
    pub at_end: AtEnd,
    /// Seed of its addresses, below 2^63: equal seeds give equal addresses on all targets. `None` means the plan's, with other
    /// addresses on each target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// All passes draw the same addresses.
    #[serde(default, skip_serializing_if = "is_default")]
    pub same_each_pass: bool,
    /// Number of issuing loops that share the requests, 1 to 1024. The plan's depth holds for each of them.
    #[serde(default = "one_job", skip_serializing_if = "is_one_job")]
    pub jobs: u32,
    /// How they share requests and reads.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sharing: Sharing,
    /// When each request is due.
    #[serde(default)]
    pub pace: Pace,
    /// Pauses between the requests of an issuing loop; `None` means no pauses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinktime: Option<ThinkTime>,
    /// Extra reads between its requests; `None` means no extra reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra_reads: Option<ExtraReads>,
    /// When a pass ends.
    pub stop: Stop,
}

fn one_job() -> u32 {
    1
}

fn is_one_job(jobs: &u32) -> bool {
    *jobs == 1
}

/// Flushes between generated writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlushRule {
    /// A flush follows after this many writes of an issuing loop; at least 1. It covers the writes that have completed by then:
    /// with a depth of 1 all of them.
    pub after_writes: u64,
    /// The call.
    #[serde(default)]
    pub op: FlushOp,
}

/// Call that brings written data to stable storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlushOp {
    /// `fdatasync`: the data, and the metadata needed to read it.
    #[default]
    Flush,
    /// `fsync`: all metadata, too.
    Fsync,
}

impl FlushOp {
    /// The operation of its records.
    pub fn op(self) -> Op {
        match self {
            FlushOp::Flush => Op::Flush,
            FlushOp::Fsync => Op::Fsync,
        }
    }
}

/// Behaviour at the end of the region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AtEnd {
    /// Addresses begin again at the start of the region, which lies in the target.
    #[default]
    Wrap,
    /// Addresses do not depend on the size of the target: a file grows by writes beyond its end, and a read that finds no data
    /// there ends the pass of its job. In order they begin again at the end of a given region; without a region, only time ends a
    /// pass, and the target does not grow, at its end.
    Extend,
}

/// How jobs share the requests of a pass, and which requests are reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// Each round assigns every job one request, in random order. Reads are spread evenly: a whole percentage is exact in every
    /// hundred requests, others over the pass.
    #[default]
    Rounds,
    /// Request i belongs to job i mod `jobs`, as XDD's queue threads have it (manual 10.3). Reads are exact over the pass,
    /// and in each job to less than one request ([`ReadMix`]).
    Striped,
}

/// Order of addresses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Order {
    /// One after the other.
    Sequential,
    /// Request i at i · `every` requests after the offset (XDD manual 4.6).
    Interleaved {
        /// Distance in requests; 1 is contiguous.
        every: u32,
    },
    /// From the last whole request of the region to the first, each right before the one before.
    Backward,
    /// Each `every` requests after the one before; at the end of the region it begins again, one request further on, so that
    /// a lap reads everything once.
    Strided {
        /// Distance from start to start, in requests; 1 is sequential.
        every: u32,
    },
    /// In ascending order, spread evenly over the region: the last request ends before the region does (XDD manual 4.8).
    Staggered,
    /// All at the offset.
    Fixed,
    /// In the order of a list, which also defines operation and size of each request.
    List {
        /// A seek list in XDD's form.
        file: PathBuf,
    },
    /// In the order of a telemetry file of IOzone, which also defines the size of each request and the pause before it. All
    /// requests are reads, or all are writes.
    Telemetry {
        /// Lines `offset size [delay_ms]`, counted from the offset of the workload.
        file: PathBuf,
    },
    /// Uniformly at random, independent of each other: addresses repeat.
    Random,
    /// At random without repeats: each block once in every lap through the region, each lap in a different order.
    Shuffled,
    /// At random without repeats, in the order of IOzone's random tests: the same in every run, for any seed.
    MersenneShuffled,
    /// The k-th hottest block is drawn with a probability proportional to k^-theta; hot blocks lie scattered.
    Zipf {
        /// Exponent: above 0, at most 10.
        theta: Decimal,
    },
    /// A share `h` of the blocks is drawn with a probability of 1 - `h`, and so again within that share; hot blocks
    /// lie scattered.
    Pareto {
        /// The share: above 0, below 1.
        h: Decimal,
    },
    /// Normally distributed around the middle of the region, and cut off at its ends.
    Normal {
        /// Standard deviation in percent of the region: above 0, at most 100.
        deviation: Decimal,
    },
    /// Uniformly at random within zones, which follow each other from the beginning of the region.
    Zoned(Vec<Zone>),
}

impl Order {
    /// The most blocks that [`Order::MersenneShuffled`] takes: it is held in memory, 64 MiB of it for each issuing loop.
    pub const MOST_MERSENNE: u64 = 1 << 24;

    /// Whether a file names each request.
    pub fn is_listed(&self) -> bool {
        matches!(self, Order::List { .. } | Order::Telemetry { .. })
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Order::Sequential => f.write_str("sequential"),
            Order::Interleaved { .. } => f.write_str("interleaved"),
            Order::Backward => f.write_str("backward"),
            Order::Strided { .. } => f.write_str("strided"),
            Order::Staggered => f.write_str("staggered"),
            Order::Fixed => f.write_str("fixed"),
            Order::List { file } | Order::Telemetry { file } => write!(f, "{}", shown(&file)),
            Order::Random => f.write_str("random"),
            Order::Shuffled => f.write_str("shuffled"),
            Order::MersenneShuffled => f.write_str("mersenne-shuffled"),
            Order::Zipf { theta } => write!(f, "zipf {theta}"),
            Order::Pareto { h } => write!(f, "pareto {h}"),
            Order::Normal { deviation } => write!(f, "normal {deviation}"),
            Order::Zoned(_) => f.write_str("zoned"),
        }
    }
}

/// When a pattern's requests are due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Pace {
    /// Closed loop: the next as soon as fewer than the plan's depth are in flight.
    #[default]
    #[serde(deserialize_with = "no_fields")]
    Closed,
    /// Open loop by requests: at times that do not depend on the target.
    Rate {
        /// Requests per second, above 0, at most 1 000 000 000.
        #[serde(serialize_with = "plain")]
        iops: Decimal,
        /// Spread of the times.
        process: Process,
    },
    /// Open loop by bytes: at times that do not depend on the target.
    Bandwidth {
        /// Bytes per second that are requested, 1 byte to 1 PiB.
        bytes_per_second: ByteSize,
        /// Spread of the times.
        process: Process,
    },
    /// Open loop by requests, faster and faster.
    Rising(Rising),
}

/// Arrival process of an open loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Process {
    /// Equal distances; with a bandwidth, distances that follow the bytes requested before.
    Constant,
    /// Exponentially distributed distances, independent of sizes; with a bandwidth, their mean is that of the sizes divided by it.
    Poisson,
    /// Equal distances, the first before request 0: request i is due after i + 1 of them (XDD's throttle).
    Trailing,
}

/// When a pass ends: at the first limit that is set. At least one is, except for a list, which ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// After this many requests, those of the ramp included; 0: only its file operations are done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// After requests of this many bytes, those of the ramp included; the last request may go beyond. A share is that of the
    /// region, rounded down to whole requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Space>,
    /// The last request is cut where `bytes` is no multiple of its size.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cut_last: bool,
    /// When this much time has passed since the end of the ramp. Requests that are due before go, however late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Nanos>,
    /// When this much time has passed since the start of the pass: requests not issued by then are not issued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit: Option<Nanos>,
    /// From the start of the pass on: requests of this time are executed and recorded, but marked, so that figures exclude them.
    /// Nothing is reset at its end.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ramp: Nanos,
}

impl Stop {
    /// When the pass ends by time, counted from its start; `None` if only its requests end it.
    pub fn end(&self) -> Option<Nanos> {
        self.runtime.map(|runtime| Nanos(runtime.0.saturating_add(self.ramp.0)))
    }
}

impl Generator {
    /// Requests of one size in this order, that only read, through a region once.
    pub fn new(order: Order, size: ByteSize) -> Generator {
        Generator {
            order,
            block_size: size.into(),
            write_block_size: None,
            read_percent: Decimal::whole(100),
            discard_percent: Decimal::whole(0),
            zeroes_percent: Decimal::whole(0),
            flush: None,
            offset: ByteSize(0),
            pass_offset: ByteSize(0),
            region: None,
            unit: None,
            at_end: AtEnd::Wrap,
            seed: None,
            same_each_pass: false,
            jobs: 1,
            sharing: Sharing::Rounds,
            pace: Pace::Closed,
            thinktime: None,
            extra_reads: None,
            stop: Stop { bytes: Some(Space::Percent(100)), ..Stop::default() },
        }
    }

    /// Sizes of reads, or of operations that change data.
    pub fn sizes(&self, op: Op) -> &BlockSizes {
        match &self.write_block_size {
            Some(sizes) if op.changes_data() => sizes,
            _ => &self.block_size,
        }
    }

    /// Whether data is discarded or zeroed.
    pub fn has_discards_or_zeroes(&self) -> bool {
        self.dataless_percent() > 0
    }

    /// Share of discards and write zeroes, in parts of a [`Decimal`].
    pub(crate) fn dataless_percent(&self) -> u64 {
        self.discard_percent.parts().saturating_add(self.zeroes_percent.parts())
    }

    /// Whether data may be changed. The operations of a list are known only once it is read.
    pub fn writes(&self) -> bool {
        self.read_percent < Decimal::whole(100)
    }

    /// Whether every request is a write.
    pub fn only_writes(&self) -> bool {
        self.read_percent == Decimal::whole(0) && !self.has_discards_or_zeroes()
    }

    /// Sizes of the operations that occur.
    fn used_sizes(&self) -> impl Iterator<Item = &BlockSizes> {
        let reads = (self.read_percent > Decimal::whole(0)).then(|| self.sizes(Op::Read));
        let writes = self.writes().then(|| self.sizes(Op::Write));
        reads.into_iter().chain(writes)
    }

    /// The one size of all requests, if they have one.
    pub fn fixed_size(&self) -> Option<u64> {
        let (least, most) = (self.smallest(), self.longest());
        (least == most).then_some(least)
    }

    /// The smallest request in bytes.
    pub fn smallest(&self) -> u64 {
        self.used_sizes().map(BlockSizes::least).min().unwrap_or_default()
    }

    /// The longest request in bytes.
    pub fn longest(&self) -> u64 {
        self.used_sizes().map(BlockSizes::most).max().unwrap_or_default()
    }

    /// Drawn and staggered addresses are multiples of it, in bytes, counted from the offset.
    pub fn unit(&self) -> u64 {
        self.unit.map_or(self.smallest(), |unit| unit.0)
    }

    /// Mean size of a request in bytes: exact up to rounding.
    pub fn mean_size(&self) -> f64 {
        let reads = self.read_percent.as_f64();
        (reads * self.sizes(Op::Read).mean() + (100.0 - reads) * self.sizes(Op::Write).mean()) / 100.0
    }

    /// Determines which of its requests are reads, where they are exact over the pass; not of a list, which names the operation of
    /// each.
    pub fn read_mix(&self) -> ReadMix {
        let jobs = if self.sharing == Sharing::Striped { self.jobs } else { 1 };
        ReadMix::new(self.read_percent, jobs, self.count())
    }

    /// Requests of a pass, where they can be counted without knowing the target.
    pub fn count(&self) -> Option<u64> {
        let bytes =
            self.stop.bytes.and_then(|space| if let Space::Bytes(b) = space { Some(b.0) } else { None });
        self.requests_of(bytes)
    }

    /// Number of requests of a pass that ends after `bytes`, if that limits it.
    fn requests_of(&self, bytes: Option<u64>) -> Option<u64> {
        let of_bytes = bytes.zip(self.fixed_size().filter(|length| *length > 0));
        let of_bytes = of_bytes.map(|(bytes, length)| bytes.div_ceil(length));
        self.stop.requests.into_iter().chain(of_bytes).min()
    }

    /// Bytes of a pass, where they can be counted without knowing the target.
    pub fn amount(&self) -> Option<u64> {
        let size = self.fixed_size()?;
        let last = self.count()?.saturating_sub(1);
        Some(last.saturating_mul(size).saturating_add(self.length_of_fixed(last, size)))
    }

    /// Length of request `number` where all have `size`, but for a last one that is cut.
    fn length_of_fixed(&self, number: u64, size: u64) -> u64 {
        match self.stop.bytes {
            Some(Space::Bytes(all)) if self.stop.cut_last => {
                size.min(all.0.saturating_sub(number.saturating_mul(size)))
            }
            _ => size,
        }
    }

    /// Length of the last request of a pass, where it is cut.
    pub fn cut_length(&self) -> Option<u64> {
        let (size, last) = (self.fixed_size()?, self.count()?.checked_sub(1)?);
        Some(self.length_of_fixed(last, size)).filter(|length| *length < size)
    }

    /// Length of the region on a target of `size` bytes.
    pub fn region_on(&self, size: u64) -> u64 {
        let room = size.saturating_sub(self.offset.0);
        self.region.map_or(room, |region| region.of(size).min(room))
    }

    /// Bytes after which a pass ends on a target of `size` bytes, if it does.
    pub fn bytes_on(&self, size: u64) -> Option<u64> {
        Some(match self.stop.bytes? {
            Space::Bytes(bytes) => bytes.0,
            share => {
                let bytes = share.of(self.region_on(size));
                bytes - bytes % self.fixed_size().unwrap_or(1).max(1)
            }
        })
    }

    /// Requests after which a pass ends on a target of `size` bytes, where a number is known before the start.
    pub fn requests_on(&self, size: u64) -> Option<u64> {
        self.requests_of(self.bytes_on(size))
    }

    /// Whether only time ends a pass.
    pub fn ends_by_time(&self) -> bool {
        self.stop.requests.is_none() && self.stop.bytes.is_none() && !self.order.is_listed()
    }

    /// Whether each request starts and ends at multiples of `block` bytes; not of a list, whose places are known only once
    /// it is read.
    pub fn is_aligned(&self, block: u64) -> bool {
        let fits = |bytes: u64| bytes.is_multiple_of(block);
        let is_scattered = !matches!(
            self.order,
            Order::Sequential
                | Order::Interleaved { .. }
                | Order::Fixed
                | Order::List { .. }
                | Order::Telemetry { .. }
        );
        let unit = self.unit.filter(|_| is_scattered).map(|unit| unit.0);
        let moved = [self.offset.0, self.pass_offset.0, self.cut_length().unwrap_or(0)];
        let extra = self.extra_reads.map(|extra| extra.size.0);
        moved.into_iter().chain(unit).chain(extra).all(fits) && self.used_sizes().all(|sizes| sizes.all(fits))
    }

    /// Highest byte that any pass of `passes` reaches, of addresses that do not depend on the target; `None` where only time ends a
    /// pass, and of a list.
    pub fn end(&self, passes: u32) -> Option<u64> {
        let size = self.longest();
        let region = || match self.region {
            Some(Space::Bytes(bytes)) => Some(bytes.0),
            Some(Space::Percent(_)) => None,
            None => self.amount(),
        };
        let in_order = |every: u32| {
            let Some(count) = self.count() else { return self.region.and_then(|_| region()) };
            let (step, last) = (size.saturating_mul(every.into()), count.saturating_sub(1));
            Some(last.saturating_mul(step).saturating_add(self.length_of_fixed(last, size)))
        };
        let span = match &self.order {
            Order::Fixed => size,
            Order::Sequential if self.fixed_size().is_none() => match self.stop.bytes? {
                Space::Bytes(bytes) => bytes.0.saturating_add(size),
                Space::Percent(_) => return None,
            },
            Order::Sequential => in_order(1)?,
            Order::Interleaved { every } => in_order(*every)?,
            Order::List { .. } | Order::Telemetry { .. } => return None,
            _ => region()?.max(size),
        };
        // At the end of a region, the next request is at its start.
        let span = match self.region {
            Some(Space::Bytes(region)) => span.min(region.0.max(size)),
            _ => span,
        };
        Some(self.last_base(passes).saturating_add(span))
    }

    /// Base of the addresses of the last of `passes` passes.
    pub fn last_base(&self, passes: u32) -> u64 {
        let moved = self.pass_offset.0.saturating_mul(passes.saturating_sub(1).into());
        self.offset.0.saturating_add(moved)
    }

    /// Requests per second on average, of a rising rate while it rises; `None` in a closed loop.
    pub fn mean_iops(&self) -> Option<f64> {
        match self.pace {
            Pace::Closed => None,
            Pace::Rate { iops, .. } => Some(iops.as_f64()),
            Pace::Bandwidth { bytes_per_second, .. } => Some(bytes_per_second.0 as f64 / self.mean_size()),
            Pace::Rising(rising) => Some(rising.until(rising.over) / rising.over.as_secs_f64()),
        }
    }

    /// Requests that are due before a time, on average; `None` in a closed loop.
    pub fn due_until(&self, now: Nanos) -> Option<u64> {
        match self.pace {
            Pace::Rising(rising) => Some(rising.until(now) as u64),
            _ => self.mean_iops().map(|iops| (now.as_secs_f64() * iops) as u64),
        }
    }

    /// When a request is due on average; `number` counts from 0. `None` in a closed loop.
    pub fn mean_due(&self, number: u64) -> Option<Nanos> {
        let distances = match self.pace {
            Pace::Rising(rising) => return Some(rising.due(number)),
            Pace::Rate { process: Process::Trailing, .. }
            | Pace::Bandwidth { process: Process::Trailing, .. } => number + 1,
            _ => number,
        };
        self.mean_iops().map(|iops| Nanos((distances as f64 / iops * 1e9) as u64))
    }
}

impl fmt::Display for Generator {
    /// Name of the workload in results: `random 4KiB 70% read`, `zipf 1.1 4KiB-64KiB 100% read`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.order.is_listed() {
            return self.order.fmt(f);
        }
        let (least, most) = (ByteSize(self.smallest()), ByteSize(self.longest()));
        write!(f, "{} {least}", self.order)?;
        if most > least {
            write!(f, "-{most}")?;
        }
        write!(f, " {}% read", self.read_percent)?;
        for (percent, what) in [(self.discard_percent, "discard"), (self.zeroes_percent, "write-zeroes")] {
            if percent > Decimal::whole(0) {
                write!(f, " {percent}% {what}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_times_follow_the_rate() {
        let paced = |pace| Generator { pace, ..Generator::new(Order::Random, ByteSize(4096)) };
        let process = Process::Constant;
        let rate = paced(Pace::Rate { iops: Decimal::whole(100), process });
        assert_eq!(rate.mean_due(250), Some(Nanos(2_500_000_000)));
        assert_eq!(rate.due_until(Nanos(2_500_000_000)), Some(250));
        let bandwidth = paced(Pace::Bandwidth { bytes_per_second: ByteSize(8192), process });
        assert_eq!(bandwidth.mean_due(3), Some(Nanos(1_500_000_000)));
        let trailing = Pace::Rate { iops: Decimal::whole(100), process: Process::Trailing };
        assert_eq!(paced(trailing).mean_due(249), Some(Nanos(2_500_000_000)));
        assert_eq!(paced(Pace::Closed).mean_due(3), None);
    }
}
