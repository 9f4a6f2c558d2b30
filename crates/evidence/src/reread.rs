//! What reading random blocks of a target twice has shown, before a run.

use crate::Fact;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The re-read probe of a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reread {
    /// Path of the target, as typed.
    pub target: PathBuf,
    /// What was seen, or why there is no answer.
    pub seen: Fact<RereadTimes>,
}

/// Times of random blocks that were read twice past the page cache, one at a time: some of them once, the same ones again, then the next ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RereadTimes {
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Distinct blocks; each was read twice.
    pub blocks: u64,
    /// Medians of the first reading of each block and of the second one.
    pub p50: Compared,
    /// The times that 90 % of them did not exceed.
    pub p90: Compared,
    /// Blocks that hold nothing but zeros.
    pub zero_blocks: u64,
    /// Medians of the first reading of other blocks and of these; absent where one kind is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_and_zeros: Option<Compared>,
}

/// One quantile of two sets of reads: of the first and the second reading, or of blocks with data and of zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compared {
    /// Of the first set, in nanoseconds.
    pub first_ns: u64,
    /// Of the second set, in nanoseconds.
    pub second_ns: u64,
    /// Reads of the first set that took longer than the geometric mean of both times. By chance alone, sets whose times have two levels have
    /// quantiles far apart; these counts are then nearly the same.
    pub first_above: u64,
    /// Reads of the second set that did.
    pub second_above: u64,
}

impl Compared {
    /// By which factor the second set was faster.
    pub fn ratio(&self) -> f64 {
        self.first_ns as f64 / self.second_ns.max(1) as f64
    }

    /// How sure it is that the two sets differ, in standard deviations of the difference of two shares; `reads` of each set.
    pub fn sigmas(&self, reads: (u64, u64)) -> f64 {
        let (of_first, of_second) = (reads.0.max(1) as f64, reads.1.max(1) as f64);
        let difference = self.first_above as f64 / of_first - self.second_above as f64 / of_second;
        let share = (self.first_above + self.second_above) as f64 / (of_first + of_second);
        let deviation = (share * (1.0 - share) * (1.0 / of_first + 1.0 / of_second)).sqrt();
        if deviation > 0.0 { difference / deviation } else { 0.0 }
    }
}

impl RereadTimes {
    /// Blocks that hold something else than zeros.
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
    fn the_probe_survives_json_with_and_without_an_answer() {
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
    fn quantiles_that_are_far_apart_by_chance_are_not_sure() {
        // One read in ten waits for a tick of the scheduler, in both passes.
        assert!(compared(4_000_000, 100_000, 32, 28).sigmas((300, 300)) < 1.0);
        assert!(compared(4_150_000, 102_000, 33, 1).sigmas((300, 300)) > 5.0);
        assert!(compared(99_000, 43_000, 140, 10).sigmas((150, 150)) > 10.0);
        assert_eq!(compared(5, 5, 0, 0).sigmas((300, 300)), 0.0);
    }
}
