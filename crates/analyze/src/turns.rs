//! Turns (backward seeks) over time: requests that lie before their predecessor (blkreplay manual, section 3.2.4.1).

use crate::CountSeries;
use crate::TimeAxis;

/// Requests and turns for each time column, in the order in which they are added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnSeries {
    /// Requests, with the turns among them in the field for bytes.
    counts: CountSeries,
    /// The last offset on each target.
    last: Vec<u64>,
}

impl TurnSeries {
    /// All zero.
    pub fn new(axis: TimeAxis) -> TurnSeries {
        TurnSeries { counts: CountSeries::new(axis), last: Vec::new() }
    }

    /// Its time axis.
    pub fn axis(&self) -> TimeAxis {
        self.counts.axis()
    }

    /// Requests in each column.
    pub fn requests(&self) -> &[u64] {
        &self.counts.requests
    }

    /// Turns in each column.
    pub fn turns(&self) -> &[u64] {
        &self.counts.bytes
    }

    /// Adds the next request. The first of a target is no turn.
    pub(crate) fn add(&mut self, target: u16, at_ns: u64, offset: u64) {
        let target = usize::from(target);
        if target >= self.last.len() {
            self.last.resize(target + 1, 0);
        }
        let is_turn = offset < self.last[target];
        self.last[target] = offset;
        self.counts.add(at_ns, is_turn.into());
    }

    pub(crate) fn reach(&mut self, end_ns: u64) {
        use crate::axis::OverTime;
        self.counts.reach(end_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_turns_per_target() {
        let mut turns = TurnSeries::new(TimeAxis::new(0, 16));
        for (target, at, offset) in
            [(0, 0, 100), (1, 1, 50), (0, 2, 99), (1, 3, 60), (1, 17, 59), (0, 18, 99)]
        {
            turns.add(target, at, offset);
        }
        assert_eq!(turns.axis().width_ns(), 2);
        assert_eq!(turns.requests(), [2, 2, 0, 0, 0, 0, 0, 0, 1, 1]);
        assert_eq!(turns.turns(), [0, 1, 0, 0, 0, 0, 0, 0, 1, 0]);
    }
}
