//! Addresses of generated requests: the block of a request by its number.

use crate::draws::{Draws, Purpose, below};
use crate::generated::PatternError;
use crate::mersenne;
use crate::permutation::Permutation;
use crate::skew::{Normal, Pareto, Zipf};
use iosonar_plan::{Order, Space, Zone};
use std::sync::Arc;

/// Addresses in blocks of a region.
#[derive(Debug, Clone)]
pub(crate) enum Addresses {
    /// One after the other.
    Sequential,
    /// The last first.
    Backward,
    /// Every n-th block, in n rounds.
    Strided(u64),
    /// Independent and uniform.
    Random(Draws),
    /// A permutation for each lap.
    Shuffled { permutation: Permutation, laps: Draws },
    /// In the given order.
    Listed(Arc<[u32]>),
    /// Hot ranks, scattered by a permutation.
    Zipf { zipf: Zipf, scatter: Permutation, draws: Draws },
    /// Hot ranks, scattered by a permutation.
    Pareto { pareto: Pareto, scatter: Permutation, draws: Draws },
    /// Around the middle.
    Normal { normal: Normal, draws: Draws },
    /// Uniform within zones.
    Zoned { zones: Box<Zones>, draws: Draws },
}

/// Zones in blocks, and the zone of each percent.
#[derive(Debug, Clone)]
pub(crate) struct Zones {
    /// First block and number of blocks.
    zones: Vec<(u64, u64)>,
    of_percent: [u8; 100],
}

impl Addresses {
    /// Over `blocks` blocks of `unit` bytes, at least one.
    ///
    /// # Errors
    /// An order that is held in memory has too many blocks.
    pub(crate) fn new(
        order: &Order,
        blocks: u64,
        unit: u64,
        seed: u64,
        stream: u64,
    ) -> Result<Addresses, PatternError> {
        let draws = Draws::new(seed, stream, Purpose::Address);
        let scatter = || Permutation::new(blocks, Draws::new(seed, stream, Purpose::Scatter).at(0));
        Ok(match order {
            Order::Sequential
            | Order::Interleaved { .. }
            | Order::Staggered
            | Order::Fixed
            | Order::List { .. }
            | Order::Telemetry { .. } => Addresses::Sequential,
            Order::Backward => Addresses::Backward,
            Order::Strided { every } => Addresses::Strided((*every).into()),
            Order::Random => Addresses::Random(draws),
            Order::Shuffled => {
                let laps = Draws::new(seed, stream, Purpose::Lap);
                Addresses::Shuffled { permutation: Permutation::new(blocks, laps.at(0)), laps }
            }
            Order::MersenneShuffled => {
                Addresses::Listed(mersenne::order(blocks).ok_or(PatternError::TooMany { blocks })?)
            }
            Order::Zipf { theta } => {
                Addresses::Zipf { zipf: Zipf::new(blocks, theta.as_f64()), scatter: scatter(), draws }
            }
            Order::Pareto { h } => {
                Addresses::Pareto { pareto: Pareto::new(blocks, h.as_f64()), scatter: scatter(), draws }
            }
            Order::Normal { deviation } => {
                Addresses::Normal { normal: Normal::new(blocks, deviation.as_f64() / 100.0), draws }
            }
            Order::Zoned(zones) => {
                Addresses::Zoned { zones: Box::new(Zones::new(zones, blocks, unit)), draws }
            }
        })
    }

    /// Starts another lap through the region.
    pub(crate) fn set_lap(&mut self, lap: u64) {
        if let Addresses::Shuffled { permutation, laps } = self {
            permutation.rekey(laps.at(lap));
        }
    }

    /// Block of request `number`, which is the `index`-th of its lap.
    #[inline]
    pub(crate) fn block(&self, number: u64, index: u64, blocks: u64) -> u64 {
        match self {
            Addresses::Sequential => index,
            Addresses::Backward => blocks - 1 - index,
            Addresses::Strided(every) => strided(index, *every, blocks),
            Addresses::Random(draws) => below(draws.at(number), blocks),
            Addresses::Shuffled { permutation, .. } => permutation.at(index),
            Addresses::Listed(order) => order[index as usize].into(),
            Addresses::Zipf { zipf, scatter, draws } => scatter.at(zipf.draw(&mut draws.series(number))),
            Addresses::Pareto { pareto, scatter, draws } => scatter.at(pareto.draw(draws.at(number))),
            Addresses::Normal { normal, draws } => normal.draw(&mut draws.series(number)),
            Addresses::Zoned { zones, draws } => {
                let mut series = draws.series(number);
                let (first, count) =
                    zones.zones[usize::from(zones.of_percent[below(series.next(), 100) as usize])];
                first + below(series.next(), count)
            }
        }
    }
}

/// The `index`-th block of a lap over all `blocks`: round r visits r, r + `every`, r + 2 · `every` and so on.
fn strided(index: u64, every: u64, blocks: u64) -> u64 {
    // The first rounds are one block longer than the others.
    let (short, longer) = (blocks / every, blocks % every);
    let in_longer = longer * (short + 1);
    match index < in_longer {
        true => index / (short + 1) + index % (short + 1) * every,
        false => longer + (index - in_longer) / short + (index - in_longer) % short * every,
    }
}

impl Zones {
    /// Borders are rounded down to whole blocks; a zone that is shorter than a block has the one at its beginning.
    fn new(zones: &[Zone], blocks: u64, unit: u64) -> Zones {
        let end = |sum: u64, zone: &Zone| match zone.space {
            Space::Percent(percent) => sum + u64::from(percent),
            Space::Bytes(bytes) => sum + bytes.0,
        };
        let block = |sum: u64, zone: &Zone| match zone.space {
            Space::Percent(_) => (u128::from(blocks) * u128::from(sum) / 100) as u64,
            Space::Bytes(_) => sum / unit,
        };
        let (mut sum, mut found, mut of_percent, mut percent) = (0, Vec::new(), [0; 100], 0usize);
        for zone in zones {
            let first = block(sum, zone).min(blocks - 1);
            sum = end(sum, zone);
            let count = block(sum, zone).min(blocks).saturating_sub(first).max(1);
            of_percent[percent..percent + usize::from(zone.percent)].fill(found.len() as u8);
            percent += usize::from(zone.percent);
            found.push((first, count));
        }
        Zones { zones: found, of_percent }
    }
}
