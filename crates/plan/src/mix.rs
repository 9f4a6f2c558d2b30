//! Which requests of a counted series are reads.

use crate::Decimal;

/// Shares of reads in percent.
const ONLY_READS: Decimal = Decimal::whole(100);
const ONLY_WRITES: Decimal = Decimal::whole(0);

/// The mix of reads and writes of a series: an exact share of the whole pass, and the same share in every job.
///
/// A job issues every `jobs`-th request. If reads followed the request number alone, a period of the mix that divides
/// the number of jobs would give one job only reads and another only writes. So the requests are divided into rounds,
/// in which each job has one. The number of reads up to the end of each round is exact, and the jobs take turns at the
/// reads: after any number of rounds, no job has had more than one read more than another. A pass that is no multiple
/// of the number of jobs starts with its short round: the jobs that are in it have the first turns, which keeps the
/// share of each job exact to less than one request at every moment.
///
/// Whether a request is a read depends on its number and on the plan, never on timing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadMix {
    percent: Decimal,
    jobs: u64,
    /// Requests that the first round lacks.
    missing: u64,
}

impl ReadMix {
    /// `percent` reads, 0 to 100, among `count` requests that `jobs` share. Without a count, rounds start at request 0.
    pub fn new(percent: Decimal, jobs: u32, count: Option<u64>) -> ReadMix {
        let jobs = u64::from(jobs.max(1));
        let in_first_round = count.unwrap_or(0) % jobs;
        ReadMix { percent, jobs, missing: (jobs - in_first_round) % jobs }
    }

    /// Whether request `number` is a read.
    pub fn is_read(&self, number: u64) -> bool {
        // This is called for every request, and mostly the result is constant.
        match self.percent {
            ONLY_WRITES => false,
            ONLY_READS => true,
            _ => self.is_its_turn(number),
        }
    }

    fn is_its_turn(&self, number: u64) -> bool {
        let round = (number.saturating_add(self.missing)) / self.jobs;
        let end_of_round = |round: u64| self.reads_among((round * self.jobs).saturating_sub(self.missing));
        let (before, after) = (end_of_round(round), end_of_round(round + 1));
        // The job that has the next turn at a read, and how many turns later this job has one.
        let next = before % self.jobs;
        let turn = (number % self.jobs + self.jobs - next) % self.jobs;
        turn < after - before
    }

    /// Reads among the first `count` requests: round(share · count ÷ 100).
    fn reads_among(&self, count: u64) -> u64 {
        let hundred = u128::from(ONLY_READS.parts());
        ((u128::from(count) * u128::from(self.percent.parts()) + hundred / 2) / hundred) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reads(percent: &str, jobs: u32, count: u64) -> Vec<bool> {
        let mix = ReadMix::new(percent.parse().unwrap(), jobs, Some(count));
        (0..count).map(|n| mix.is_read(n)).collect()
    }

    fn letters(percent: &str, jobs: u32, count: u64, job: usize) -> String {
        let all = reads(percent, jobs, count);
        all.iter().skip(job).step_by(jobs as usize).map(|r| if *r { 'r' } else { 'w' }).collect()
    }

    #[test]
    fn total_mix_is_exact() {
        for (percent, count, want) in
            [("30", 20, 6), ("30.2", 1000, 302), ("50", 7, 4), ("0", 9, 0), ("100", 9, 9), ("99.9", 10, 10)]
        {
            for jobs in 1..9 {
                let found = reads(percent, jobs, count).into_iter().filter(|r| *r).count();
                assert_eq!(found, want, "{percent} % of {count} with {jobs} jobs");
            }
        }
    }

    #[test]
    fn half_of_the_requests_of_each_job_are_reads() {
        assert_eq!(letters("50", 1, 8, 0), "rwrwrwrw");
        assert_eq!((letters("50", 2, 8, 0), letters("50", 2, 8, 1)), ("rwrw".into(), "wrwr".into()));
        assert_eq!(
            (letters("25", 2, 16, 0), letters("25", 2, 16, 1)),
            ("rwwwrwww".into(), "wwrwwwrw".into())
        );
    }

    proptest! {
        // Runs are short because the number of reads never strays from the share.
        #[test]
        fn every_job_keeps_its_share_at_any_time(
            parts in 0u64..=100_000_000_000, jobs in 1u32..9, count in 1u64..400, is_counted: bool,
        ) {
            let percent: Decimal = format!("{}.{:09}", parts / 1_000_000_000, parts % 1_000_000_000).parse().unwrap();
            let mix = ReadMix::new(percent, jobs, is_counted.then_some(count));
            let share = parts as f64 / 1e11;
            for job in 0..u64::from(jobs) {
                let mut reads = 0;
                for (issued, number) in (1..).zip((job..count).step_by(jobs as usize)) {
                    reads += u64::from(mix.is_read(number));
                    let strays = reads as f64 - share * f64::from(issued);
                    prop_assert!(strays.abs() < 1.0, "job {job} after {issued}: {reads} reads");
                }
            }
            let total = (0..count).filter(|n| mix.is_read(*n)).count() as f64;
            let most = if is_counted { 0.5 } else { 1.0 + f64::from(jobs) };
            prop_assert!((total - share * count as f64).abs() <= most + 1e-6, "{total}");
        }
    }
}
