//! Maximum requests in flight, from the times of records alone.

use crate::backlog::{Backlog, Wait};
use iosonar_archive::Record;

/// Takes records in the order of an archive, in bounded memory.
#[derive(Debug, Clone, Default)]
pub struct Peak(Backlog);

impl Peak {
    /// Adds the next record.
    pub fn add(&mut self, record: &Record) {
        if let Some(flight) = Wait::in_flight(record) {
            self.0.add(flight);
        }
    }

    /// The number; `None` if no request was submitted, or if too many requests overtook one for an exact number.
    pub fn finish(self) -> Option<u64> {
        let (peak, is_exact) = self.0.exactly();
        Some(peak.requests).filter(|most| *most > 0 && is_exact)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DISPLACEMENT;
    use crate::testing::record;
    use iosonar_plan::Op;

    fn of(times: &[(u64, u64)]) -> Option<u64> {
        let mut peak = Peak::default();
        for (i, (submitted, completed)) in (0..).zip(times) {
            peak.add(&record(i, Op::Read, *submitted, *submitted, *completed));
        }
        peak.finish()
    }

    #[test]
    fn requests_are_counted_between_submission_and_completion() {
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[(0, 10), (10, 20)]), Some(1));
        // In order of completion, as in textual results.
        assert_eq!(of(&[(5, 10), (6, 11), (0, 12), (11, 13)]), Some(3));
    }

    #[test]
    fn uncertain_peak_is_none() {
        let mut times: Vec<(u64, u64)> = (10..10 + 3 * DISPLACEMENT as u64).map(|t| (t, t + 1)).collect();
        assert_eq!(of(&times), Some(1));
        // It was in flight all the time, and arrives too late.
        times.push((0, 1 << 40));
        assert_eq!(of(&times), None);
    }
}
