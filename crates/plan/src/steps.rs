//! A counted series of requests at exact locations: XDD's access patterns (manual 4.3, 4.6 to 4.8).

use crate::{ByteSize, Decimal, Nanos, ReadMix};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// A series of requests of one size, of which every location is known before the start.
///
/// Its requests are numbered from 0, and each is a function of plan and number alone, never of timing or engine. Request
/// i belongs to job i mod `jobs`. The number of jobs changes no location; where reads and writes are mixed it decides
/// which requests are the reads, so that every job has the mix ([`ReadMix`]).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepsSource {
    /// Where the requests go.
    pub order: StepOrder,
    /// The block in which locations are counted: random locations and gaps are multiples of it.
    pub unit: ByteSize,
    /// Bytes of each request, a multiple of `unit`. The last one of a pass is shorter where `bytes` is no multiple.
    pub request_size: ByteSize,
    /// Requests of a pass; not together with `bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Bytes of a pass; not together with `requests`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<ByteSize>,
    /// When a pass ends at the latest, counted from its start; what is in flight then is awaited and counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit: Option<Nanos>,
    /// Share of reads in percent, 0 to 100: of n requests of a pass, exactly round(share · n ÷ 100) are reads. Every job
    /// has this share, exact to less than one request ([`ReadMix`]).
    pub read_percent: Decimal,
    /// Where the range begins.
    #[serde(default)]
    pub offset: ByteSize,
    /// What pass k, from 0, adds to every location k times.
    #[serde(default)]
    pub pass_offset: ByteSize,
    /// Length of the range that random and staggered locations lie in; none: the amount of a pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<ByteSize>,
    /// How many issuing loops share the requests, 1 to 1024: XDD's queue threads.
    #[serde(default = "one_job", skip_serializing_if = "is_one_job")]
    pub jobs: u32,
    /// The most requests or bytes per second of all jobs together; none: as fast as they complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttle: Option<Throttle>,
}

fn one_job() -> u32 {
    1
}

fn is_one_job(jobs: &u32) -> bool {
    *jobs == 1
}

/// Where the requests of a series go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum StepOrder {
    /// Request i at i · `interleave` requests behind the offset.
    Sequential {
        /// 1: each right behind the one before.
        interleave: u32,
    },
    /// In ascending order, spread evenly over the range: its last request ends before the range does.
    Staggered,
    /// Uniformly in the range, at whole units, so that each request lies in it.
    Random {
        /// Equal seeds give equal locations.
        seed: u64,
        /// Each pass has locations of its own; otherwise all have the same.
        new_each_pass: bool,
    },
    /// All at the offset.
    Fixed,
    /// As a list says, which tells operation and size of each request, too.
    List {
        /// A seek list in XDD's form.
        file: PathBuf,
    },
}

/// The most requests or bytes per second. Request i, from 0, is due at (i + 1) ÷ ops seconds from the start of the pass; late
/// ones go at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Throttle {
    /// Requests per second.
    Ops(Decimal),
    /// Bytes per second, by the size of the requests.
    Bytes(Decimal),
}

impl StepsSource {
    /// Requests of a pass, where they are counted.
    pub fn count(&self) -> Option<u64> {
        self.requests.or_else(|| self.bytes.map(|bytes| bytes.0.div_ceil(self.request_size.0.max(1))))
    }

    /// Length of request `number`.
    pub fn length(&self, number: u64) -> u64 {
        let size = self.request_size.0;
        self.bytes.map_or(size, |bytes| size.min(bytes.0.saturating_sub(number.saturating_mul(size))))
    }

    /// Bytes of a pass, where they are counted.
    pub fn amount(&self) -> Option<u64> {
        self.bytes.map(|b| b.0).or_else(|| self.requests.map(|n| n.saturating_mul(self.request_size.0)))
    }

    /// Which of its requests are reads; not of a list, which names the operation of each.
    pub fn mix(&self) -> ReadMix {
        ReadMix::new(self.read_percent, self.jobs, self.count())
    }

    /// Whether anything may be written. What a list asks for is known only once it is read.
    pub fn writes(&self) -> bool {
        self.read_percent < Decimal::whole(100)
    }

    /// Time between two requests of a throttled series.
    pub fn interval_ns(&self) -> Option<f64> {
        match self.throttle? {
            Throttle::Ops(ops) => Some(1e9 / ops.as_f64()),
            Throttle::Bytes(bytes) => Some(self.request_size.0 as f64 * 1e9 / bytes.as_f64()),
        }
    }

    /// Length of the range: what was asked for, or else the amount of a pass.
    pub fn range_bytes(&self) -> Option<u64> {
        self.range.map(|r| r.0).or_else(|| self.amount())
    }

    /// Highest byte that any pass of `passes` reaches, of orders other than a list; none where only time ends a pass.
    pub fn end(&self, passes: u32) -> Option<u64> {
        let size = self.request_size.0;
        let span = match &self.order {
            StepOrder::Fixed => size,
            StepOrder::Sequential { interleave } => {
                let last = self.count()?.saturating_sub(1);
                let step = size.saturating_mul(u64::from(*interleave));
                last.saturating_mul(step).saturating_add(self.length(last))
            }
            StepOrder::Staggered | StepOrder::Random { .. } => self.range_bytes()?.max(size),
            StepOrder::List { .. } => return None,
        };
        let moved = self.pass_offset.0.saturating_mul(u64::from(passes.saturating_sub(1)));
        Some(self.offset.0.saturating_add(moved).saturating_add(span))
    }
}

impl fmt::Display for StepsSource {
    /// What results call it: `sequential 64KiB 100% read`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = match &self.order {
            StepOrder::Sequential { interleave: 1 } => "sequential",
            StepOrder::Sequential { .. } => "interleaved",
            StepOrder::Staggered => "staggered",
            StepOrder::Random { .. } => "random",
            StepOrder::Fixed => "none",
            StepOrder::List { file } => return write!(f, "{}", file.display()),
        };
        write!(f, "{order} {} {}% read", self.request_size, self.read_percent)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn steps() -> StepsSource {
        StepsSource {
            order: StepOrder::Sequential { interleave: 1 },
            unit: ByteSize(1024),
            request_size: ByteSize(65536),
            requests: None,
            bytes: Some(ByteSize(102_400)),
            time_limit: None,
            read_percent: Decimal::whole(100),
            offset: ByteSize(0),
            pass_offset: ByteSize(0),
            range: None,
            jobs: 1,
            throttle: None,
        }
    }

    #[test]
    fn the_last_request_is_what_is_left() {
        let s = steps();
        assert_eq!((s.count(), s.length(0), s.length(1), s.amount()), (Some(2), 65536, 36864, Some(102_400)));
        assert_eq!(s.end(3), Some(102_400));
    }
}
