//! Results of reading random blocks of a target twice, before a run.

use crate::Fact;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The re-read probe of a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reread {
    /// Path of the target, as typed.
    pub target: PathBuf,
    /// Result, or the reason for its absence.
    pub seen: Fact<RereadTimes>,
}

/// Times of random blocks that were read twice with `O_DIRECT`, one at a time: a round of them once, the same ones
/// again, then the next round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RereadTimes {
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Distinct blocks, each read twice.
    pub blocks: u64,
    /// Medians of the first and of the second reading of each block.
    pub p50: Compared,
    /// 90th percentiles.
    pub p90: Compared,
    /// Blocks of zeros.
    pub zero_blocks: u64,
    /// Medians of the first reading of other blocks and of these; absent if one kind is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_and_zeros: Option<Compared>,
}

/// A quantile of two sets of reads: of the first and the second reading, or of blocks with data and of zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compared {
    /// Quantile of the first set, in nanoseconds.
    pub first_ns: u64,
    /// Quantile of the second set, in nanoseconds.
    pub second_ns: u64,
    /// Reads of the first set that took longer than the geometric mean of both times. By chance alone, sets whose times
    /// have two levels have quantiles far apart; these counts are then nearly equal.
    pub first_above: u64,
    /// The same for the second set.
    pub second_above: u64,
}

impl Compared {
    /// Factor by which the second set was faster.
    pub fn ratio(&self) -> f64 {
        self.first_ns as f64 / self.second_ns.max(1) as f64
    }

    /// Significance of the difference of the two sets, in standard deviations of the difference of two shares; `reads`
    /// of each set.
    pub fn sigmas(&self, reads: (u64, u64)) -> f64 {
        let (of_first, of_second) = (reads.0.max(1) as f64, reads.1.max(1) as f64);
        let difference = self.first_above as f64 / of_first - self.second_above as f64 / of_second;
        let share = (self.first_above + self.second_above) as f64 / (of_first + of_second);
        let deviation = (share * (1.0 - share) * (1.0 / of_first + 1.0 / of_second)).sqrt();
        if deviation > 0.0 { difference / deviation } else { 0.0 }
    }
}

impl RereadTimes {
    /// Number of blocks that are not zeros.
    pub fn data_blocks(&self) -> u64 {
        self.blocks - self.zero_blocks.min(self.blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(first_ns: u64, second_ns: u64, first_above: u64, second_above: u64) -> Compared {
        Compared { first_ns, second_ns, first_above, second_above }
    }

    #[test]
    fn probe_result_round_trips_through_json() {
        let times = RereadTimes {
            block_bytes: 4096,
            blocks: 300,
            p50: compared(103_000, 103_000, 150, 149),
            p90: compared(4_150_000, 100_000, 33, 1),
            zero_blocks: 0,
            data_and_zeros: None,
        };
        assert_eq!((times.p90.ratio(), times.data_blocks()), (41.5, 300));
        for seen in [Fact::Known(times), Fact::absent("it is too small")] {
            let reread = Reread { target: "/dev/sdx".into(), seen };
            let text = serde_json::to_string(&reread).unwrap();
            assert_eq!(serde_json::from_str::<Reread>(&text).unwrap(), reread, "{text}");
        }
    }

    #[test]
    fn chance_quantile_gaps_are_not_significant() {
        // One read in ten waits for a tick of the scheduler, in both passes.
        assert!(compared(4_000_000, 100_000, 32, 28).sigmas((300, 300)) < 1.0);
        assert!(compared(4_150_000, 102_000, 33, 1).sigmas((300, 300)) > 5.0);
        assert!(compared(99_000, 43_000, 140, 10).sigmas((150, 150)) > 10.0);
        assert_eq!(compared(5, 5, 0, 0).sigmas((300, 300)), 0.0);
    }
}
