//! How jobs share the requests of one workload.

use crate::draws::{below, mix};
use iosonar_plan::Sharing;

/// Selects the requests that a job issues. Striped, request i is that of job i mod J. In rounds, each round has one request of
/// every job, in random order: in round r, job j of J issues number r × J + (j + s) mod J, where s is a random number of the round.
/// Were it always the j-th of a round, a mix that repeats with the number of jobs would assign all reads to one job and all writes
/// to another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share {
    sharing: Sharing,
    job: u64,
    jobs: u64,
    round: u64,
    /// The job's place in the round.
    place: u64,
}

impl Share {
    /// Job `job`, from 0, of `jobs`.
    pub(crate) fn new(sharing: Sharing, job: u32, jobs: u32) -> Share {
        let share = Share { sharing, job: job.into(), jobs: jobs.into(), round: 0, place: 0 };
        Share { place: share.place(), ..share }
    }

    /// Number of its first request.
    pub(crate) fn first(&self) -> u64 {
        self.place
    }

    /// Advances from the number that it has issued to its next.
    #[inline]
    pub(crate) fn step(&mut self) -> u64 {
        if self.jobs == 1 || self.sharing == Sharing::Striped {
            return self.jobs;
        }
        self.round += 1;
        let before = self.place;
        self.place = self.place();
        self.jobs + self.place - before
    }

    fn place(&self) -> u64 {
        if self.sharing == Sharing::Striped {
            return self.job;
        }
        let place = self.job + below(mix(self.round + 1), self.jobs);
        if place < self.jobs { place } else { place - self.jobs }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_jobs_together_issue_every_number_once() {
        for (jobs, sharing) in [1u32, 2, 3, 7, 64]
            .into_iter()
            .flat_map(|jobs| [Sharing::Rounds, Sharing::Striped].map(|sharing| (jobs, sharing)))
        {
            let mut all = Vec::new();
            for job in 0..jobs {
                let mut share = Share::new(sharing, job, jobs);
                let mut number = share.first();
                for round in 0..200 {
                    assert_eq!(number / u64::from(jobs), round);
                    all.push(number);
                    number += share.step();
                }
            }
            all.sort_unstable();
            assert_eq!(all, (0..200 * u64::from(jobs)).collect::<Vec<_>>());
        }
    }
}
