//! Generated patterns: sequential and random, read/write mix, closed loop, constant or Poisson arrivals.

use crate::random::Random;
use crate::recorded::LoadError;
use crate::{Item, Source};
use iosonar_plan::{Extent, Nanos, Op, Order, Pace, PatternSource, Process};

/// Why a pattern cannot be laid over a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// The region is shorter than the longest request.
    #[error("its region is shorter than its longest request of {length} bytes")]
    Region {
        /// The longest request.
        length: u64,
    },
    /// The zones reach beyond the region.
    #[error("its zones are {zones} bytes long, and its region {region}: make them shorter")]
    Zones {
        /// All zones together, in bytes.
        zones: u64,
        /// The region, in bytes.
        region: u64,
    },
    /// It is not carried out yet.
    #[error("this pattern is not carried out yet")]
    NotYet,
}

/// Requests over a region of a target.
#[derive(Debug)]
pub struct Pattern {
    pattern: PatternSource,
    block: u64,
    blocks: u64,
    addresses: Random,
    arrivals: Random,
    sequence: u64,
    /// Due time of the next Poisson arrival, in nanoseconds.
    next_arrival: f64,
}

impl Pattern {
    /// For a target of `target_size` bytes. `stream` tells targets and passes apart.
    pub fn new(pattern: &PatternSource, target_size: u64, seed: u64, stream: u64) -> Result<Pattern, Unfit> {
        let Some(block) = pattern.fixed_size() else { return Err(Unfit::NotYet) };
        if pattern.jobs > 1
            || matches!(pattern.pace, Pace::Bandwidth { .. })
            || !matches!(pattern.order, Order::Sequential | Order::Random)
        {
            return Err(Unfit::NotYet);
        }
        let room = target_size.saturating_sub(pattern.offset.0);
        let region = pattern.region.map_or(room, |r| r.0.min(room));
        let blocks = region / block;
        if blocks == 0 {
            return Err(Unfit::Region { length: block });
        }
        let mut arrivals = Random::new(seed, stream ^ 0x5eed_0001);
        let first = arrivals.exponential();
        let pattern = pattern.clone();
        let mean = if let Pace::Rate { iops, .. } = pattern.pace { 1e9 / iops as f64 } else { 0.0 };
        Ok(Pattern {
            pattern,
            block,
            blocks,
            addresses: Random::new(seed, stream),
            arrivals,
            sequence: 0,
            next_arrival: first * mean,
        })
    }

    /// The share of job `job` of `jobs`: all jobs together issue what one alone would.
    pub fn part(self, job: u32, jobs: u32) -> Pattern {
        assert!(job == 0 && jobs == 1, "several jobs are refused before");
        self
    }

    fn due(&mut self) -> Option<Nanos> {
        let Pace::Rate { iops, process } = self.pattern.pace else { return None };
        Some(match process {
            Process::Constant => Nanos(
                (u128::from(self.sequence) * 1_000_000_000 / u128::from(iops)).try_into().unwrap_or(u64::MAX),
            ),
            Process::Poisson => {
                let due = self.next_arrival;
                self.next_arrival += self.arrivals.exponential() * 1e9 / iops as f64;
                Nanos(due as u64)
            }
        })
    }

    /// Reads spread evenly, exactly `read_percent` in every 100 requests.
    fn op(&self) -> Op {
        let reads_before = |n: u64| n % 100 * u64::from(self.pattern.read_percent) / 100;
        let nth = self.sequence % 100;
        let reads_after = (nth + 1) * u64::from(self.pattern.read_percent) / 100;
        if reads_after > reads_before(self.sequence) { Op::Read } else { Op::Write }
    }

    fn block(&mut self) -> u64 {
        match self.pattern.order {
            Order::Sequential => self.sequence % self.blocks,
            _ => self.addresses.below(self.blocks),
        }
    }
}

impl Source for Pattern {
    fn next(&mut self, now: Nanos) -> Result<Option<Item>, LoadError> {
        if self.pattern.stop.requests.is_some_and(|n| self.sequence >= n) {
            return Ok(None);
        }
        let due = self.due();
        if self.pattern.stop.end().is_some_and(|end| due.unwrap_or(now) >= end) {
            return Ok(None);
        }
        let ramp = due.unwrap_or(now) < self.pattern.stop.ramp;
        let (op, block) = (self.op(), self.block());
        let length = self.block;
        let extent = Extent { offset: self.pattern.offset.0 + block * length, length };
        let item = Item { sequence: self.sequence, load_time: due.unwrap_or(now), due, op, extent, ramp };
        self.sequence += 1;
        Ok(Some(item))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_plan::{ByteSize, Stop};

    fn pattern(order: Order, pace: Pace, read_percent: u8) -> PatternSource {
        PatternSource {
            order,
            block_size: ByteSize(4096).into(),
            write_block_size: None,
            read_percent,
            offset: ByteSize(8192),
            region: None,
            jobs: 1,
            pace,
            stop: Stop { requests: Some(1000), ..Stop::default() },
        }
    }

    fn all(p: &PatternSource, seed: u64) -> Vec<Item> {
        let mut source = Pattern::new(p, 1 << 20, seed, 0).unwrap();
        std::iter::from_fn(|| source.next(Nanos(5)).unwrap()).collect()
    }

    #[test]
    fn the_mix_is_exact_and_even() {
        for percent in [0, 1, 33, 70, 100] {
            let items = all(&pattern(Order::Random, Pace::Closed, percent), 1);
            for hundred in items.chunks(100) {
                assert_eq!(hundred.iter().filter(|i| i.op == Op::Read).count(), usize::from(percent));
            }
        }
    }

    #[test]
    fn blocks_stay_inside_the_region() {
        let sequential = all(&pattern(Order::Sequential, Pace::Closed, 100), 1);
        assert_eq!(sequential[0].extent.offset, 8192);
        assert_eq!(sequential[254].extent, Extent { offset: 8192, length: 4096 });
        let random = all(&pattern(Order::Random, Pace::Closed, 100), 1);
        assert!(random.iter().all(|i| i.extent.offset >= 8192 && i.extent.end() <= 1 << 20));
        assert_ne!(random, all(&pattern(Order::Random, Pace::Closed, 100), 2));
        assert_eq!(random, all(&pattern(Order::Random, Pace::Closed, 100), 1));
    }

    #[test]
    fn rates_hold() {
        let constant =
            all(&pattern(Order::Random, Pace::Rate { iops: 3, process: Process::Constant }, 100), 1);
        assert_eq!(constant[1].due, Some(Nanos(333_333_333)));
        assert_eq!(constant[999].due, Some(Nanos::from_secs(333)));
        let poisson =
            all(&pattern(Order::Random, Pace::Rate { iops: 1000, process: Process::Poisson }, 100), 1);
        let span = poisson[999].due.unwrap().as_secs_f64();
        // 1000 arrivals: the standard deviation of their span is 3.2 %, six of them are 19 %.
        assert!((span - 1.0).abs() < 0.19, "{span}");
        assert!(poisson.windows(2).all(|w| w[0].due <= w[1].due));
    }

    #[test]
    fn a_pass_ends_by_time_too() {
        let mut p = pattern(Order::Random, Pace::Rate { iops: 10, process: Process::Constant }, 100);
        p.stop = Stop { runtime: Some(Nanos::SECOND), ..Stop::default() };
        assert_eq!(all(&p, 1).len(), 10);
        p.pace = Pace::Closed;
        let mut source = Pattern::new(&p, 1 << 20, 1, 0).unwrap();
        assert!(source.next(Nanos(999_999_999)).unwrap().is_some());
        assert!(source.next(Nanos::SECOND).unwrap().is_none());
    }

    #[test]
    fn a_region_without_a_block_is_refused() {
        assert!(Pattern::new(&pattern(Order::Random, Pace::Closed, 1), 8192 + 4095, 1, 0).is_err());
        assert!(Pattern::new(&pattern(Order::Random, Pace::Closed, 1), 100, 1, 0).is_err());
    }
}
