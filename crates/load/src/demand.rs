//! Number of requests due by a time, in bounded memory: the reference of progress.

use iosonar_plan::Nanos;

/// Most steps that are kept; where more would be needed, steps become twice as long.
const STEPS: usize = 4096;

/// Requests by due time, in steps of equal length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Demand {
    step: u64,
    counts: Vec<u64>,
}

impl Default for Demand {
    fn default() -> Demand {
        Demand { step: 1_000_000, counts: Vec::new() }
    }
}

impl Demand {
    /// Counts one more request that is due at `time`.
    pub fn add(&mut self, time: Nanos) {
        while time.0 / self.step >= STEPS as u64 {
            self.step *= 2;
            let halves = self.counts.chunks(2).map(|pair| pair.iter().sum());
            self.counts = halves.collect();
        }
        let index = (time.0 / self.step) as usize;
        if self.counts.len() <= index {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += 1;
    }

    /// Requests that are due by `time`; inside a step as if they were spread evenly.
    pub fn until(&self, time: Nanos) -> u64 {
        let index = ((time.0 / self.step) as usize).min(self.counts.len());
        let whole: u64 = self.counts[..index].iter().sum();
        let part = self.counts.get(index).map_or(0, |count| {
            (u128::from(*count) * u128::from(time.0 % self.step) / u128::from(self.step)) as u64
        });
        whole + part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coarser_steps_keep_all_counts() {
        let mut demand = Demand::default();
        (0..10_000u64).for_each(|i| demand.add(Nanos(i * 10_000_000)));
        assert!(demand.counts.len() <= STEPS);
        assert_eq!(demand.until(Nanos::from_secs(1_000)), 10_000);
        assert_eq!(demand.until(Nanos(0)), 0);
        let half = demand.until(Nanos::from_secs(50));
        assert!((4_990..=5_010).contains(&half), "{half}");
    }
}
