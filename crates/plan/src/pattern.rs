//! Generated patterns: which requests, in which order, and when each is due.

use crate::sizes::BlockSizes;
use crate::strict::no_fields;
use crate::{ByteSize, Decimal, Nanos, Op, Rising, Space, Zone};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A generated pattern over a region of the target.
///
/// Its requests are numbered from 0, and each is a function of plan, seed, pass and number alone: neither depth nor
/// jobs nor engine change what is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PatternSource {
    /// In which order the region's blocks are visited.
    pub order: Order,
    /// Bytes of each request; of each read, where writes have sizes of their own.
    pub block_size: BlockSizes,
    /// Bytes of each write; none: as `block_size`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_block_size: Option<BlockSizes>,
    /// Share of reads in percent, 0 to 100; exact over every 100 requests.
    pub read_percent: u8,
    /// Where the region begins.
    #[serde(default)]
    pub offset: ByteSize,
    /// Length of the region, in bytes or as a share of the target; none: to the end of the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<Space>,
    /// How many issuing loops share the requests, 1 to 1024. The plan's depth holds for each of them.
    #[serde(default = "one_job", skip_serializing_if = "is_one_job")]
    pub jobs: u32,
    /// When each request is due.
    pub pace: Pace,
    /// When a pass ends.
    pub stop: Stop,
}

fn one_job() -> u32 {
    1
}

fn is_one_job(jobs: &u32) -> bool {
    *jobs == 1
}

/// Order of a pattern's blocks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Order {
    /// One after the other, from the beginning again at the end of the region.
    Sequential,
    /// Uniformly at random, independent of each other: addresses repeat.
    Random,
    /// At random without repeats: each block once in every lap through the region, each lap in an order of its own.
    Shuffled,
    /// The k-th hottest block is drawn with a probability proportional to k^-theta; hot blocks lie scattered.
    Zipf {
        /// Above 0, at most 10.
        theta: Decimal,
    },
    /// A share `h` of the blocks is drawn with a probability of 1 - `h`, and so again within that share; hot blocks
    /// lie scattered.
    Pareto {
        /// Above 0, below 1.
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

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Order::Sequential => f.write_str("sequential"),
            Order::Random => f.write_str("random"),
            Order::Shuffled => f.write_str("shuffled"),
            Order::Zipf { theta } => write!(f, "zipf {theta}"),
            Order::Pareto { h } => write!(f, "pareto {h}"),
            Order::Normal { deviation } => write!(f, "normal {deviation}"),
            Order::Zoned(_) => f.write_str("zoned"),
        }
    }
}

/// When a pattern's requests are due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Pace {
    /// Closed loop: the next as soon as fewer than the plan's depth are in flight.
    #[serde(deserialize_with = "no_fields")]
    Closed,
    /// Open loop by requests: at times that do not depend on the target.
    Rate {
        /// Requests per second, 1 to 1 000 000 000.
        iops: u64,
        /// How the times are spread.
        process: Process,
    },
    /// Open loop by bytes: at times that do not depend on the target.
    Bandwidth {
        /// Bytes per second that are asked for, 1 byte to 1 PiB.
        bytes_per_second: ByteSize,
        /// How the times are spread.
        process: Process,
    },
    /// Open loop by requests, faster and faster.
    Rising(Rising),
}

/// Arrival process of an open loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Process {
    /// Equal distances; with a bandwidth, distances that follow the bytes asked for before.
    Constant,
    /// Exponentially distributed distances, whatever the sizes; with a bandwidth, their mean is that of the sizes
    /// divided by it.
    Poisson,
}

/// When a pass over a pattern ends: at the first of `requests`, `bytes` and `runtime`; at least one is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// After this many requests, those of the ramp included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// After requests of so many bytes, those of the ramp included; the last request may go beyond. A share is that of the
    /// region, rounded down to whole requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Space>,
    /// When this much time has passed since the end of the ramp.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Nanos>,
    /// From the start of the pass on: requests of this time are carried out and recorded, but marked, so that figures
    /// leave them out. Nothing is reset at its end.
    #[serde(default, skip_serializing_if = "is_no_time")]
    pub ramp: Nanos,
}

fn is_no_time(time: &Nanos) -> bool {
    time.0 == 0
}

impl Stop {
    /// When the pass ends by time, counted from its start; none: by its requests only.
    pub fn end(&self) -> Option<Nanos> {
        self.runtime.map(|runtime| Nanos(runtime.0.saturating_add(self.ramp.0)))
    }
}

impl PatternSource {
    /// Sizes of reads or of writes.
    pub fn sizes(&self, op: Op) -> &BlockSizes {
        match (op, &self.write_block_size) {
            (Op::Write, Some(sizes)) => sizes,
            _ => &self.block_size,
        }
    }

    /// Whether anything is written.
    pub fn writes(&self) -> bool {
        self.read_percent < 100
    }

    /// Sizes of the operations that the pattern has.
    fn used_sizes(&self) -> impl Iterator<Item = &BlockSizes> {
        let reads = (self.read_percent > 0).then(|| self.sizes(Op::Read));
        let writes = self.writes().then(|| self.sizes(Op::Write));
        reads.into_iter().chain(writes)
    }

    /// The one size of all requests, if they have one.
    pub fn fixed_size(&self) -> Option<u64> {
        let (least, most) = (self.smallest(), self.longest());
        (least == most).then_some(least)
    }

    /// The smallest request in bytes. Random addresses are multiples of it, counted from the region's beginning.
    pub fn smallest(&self) -> u64 {
        self.used_sizes().map(BlockSizes::least).min().unwrap_or_default()
    }

    /// The longest request in bytes.
    pub fn longest(&self) -> u64 {
        self.used_sizes().map(BlockSizes::most).max().unwrap_or_default()
    }

    /// Mean size of a request in bytes: exact up to rounding.
    pub fn mean_size(&self) -> f64 {
        let reads = f64::from(self.read_percent);
        (reads * self.sizes(Op::Read).mean() + (100.0 - reads) * self.sizes(Op::Write).mean()) / 100.0
    }

    /// Length of the region on a target of `size` bytes.
    pub fn region_on(&self, size: u64) -> u64 {
        let room = size.saturating_sub(self.offset.0);
        self.region.map_or(room, |region| region.of(size).min(room))
    }

    /// Bytes after which a pass ends on a target of `size` bytes, if it does.
    pub fn bytes_on(&self, size: u64) -> Option<u64> {
        let region = self.region_on(size);
        Some(match self.stop.bytes? {
            Space::Bytes(bytes) => bytes.0,
            share => {
                let bytes = share.of(region);
                bytes - bytes % self.fixed_size().unwrap_or(1).max(1)
            }
        })
    }

    /// Requests after which a pass ends on a target of `size` bytes, where a number is known before the start.
    pub fn requests_on(&self, size: u64) -> Option<u64> {
        let of_bytes = self.bytes_on(size).zip(self.fixed_size().filter(|length| *length > 0));
        let of_bytes = of_bytes.map(|(bytes, length)| bytes.div_ceil(length));
        self.stop.requests.into_iter().chain(of_bytes).min()
    }

    /// Whether each request begins and ends at multiples of `block` bytes.
    pub fn is_aligned(&self, block: u64) -> bool {
        let fits = |bytes: u64| bytes.is_multiple_of(block);
        fits(self.offset.0) && self.used_sizes().all(|sizes| sizes.all(fits))
    }

    /// Requests per second on average, of a rising rate while it rises; none in a closed loop.
    pub fn mean_iops(&self) -> Option<f64> {
        match self.pace {
            Pace::Closed => None,
            Pace::Rate { iops, .. } => Some(iops as f64),
            Pace::Bandwidth { bytes_per_second, .. } => Some(bytes_per_second.0 as f64 / self.mean_size()),
            Pace::Rising(rising) => Some(rising.until(rising.over) / rising.over.as_secs_f64()),
        }
    }

    /// Requests that are due before a time, on average; none in a closed loop.
    pub fn due_until(&self, now: Nanos) -> Option<u64> {
        match self.pace {
            Pace::Rising(rising) => Some(rising.until(now) as u64),
            _ => self.mean_iops().map(|iops| (now.as_secs_f64() * iops) as u64),
        }
    }
}

impl fmt::Display for PatternSource {
    /// What results call it: `random 4KiB 70% read`, `zipf 1.1 4KiB-64KiB 100% read`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = (ByteSize(self.smallest()), ByteSize(self.longest()));
        write!(f, "{} {least}", self.order)?;
        if most > least {
            write!(f, "-{most}")?;
        }
        write!(f, " {}% read", self.read_percent)
    }
}
