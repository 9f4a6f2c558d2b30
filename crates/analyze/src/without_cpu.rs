//! When the generator of a run had no CPU: it was stopped, other programs had it, or a hypervisor gave it away. What it saw late, or sent
//! late, in such a time says nothing about the target.

use crate::findings::TimeRange;
use crate::tracks::{SampledStep, Tracks};
use iosonar_archive::{Archive, ArchiveError};
use iosonar_evidence::{CpuState, IssuingThreads, OwnUse, Series};

/// The samples that tell it.
#[derive(Debug, Clone, Default)]
pub struct WithoutCpu {
    tracks: Tracks,
    /// Issuing loops, each with a thread of its own.
    loops: usize,
}

impl WithoutCpu {
    /// Nothing yet, of a run with so many issuing loops at a time.
    pub fn new(loops: usize) -> WithoutCpu {
        WithoutCpu { tracks: Tracks::default(), loops }
    }

    /// What an archive notes.
    ///
    /// # Errors
    /// What cannot be read of the samples.
    pub fn of(archive: &Archive) -> Result<WithoutCpu, ArchiveError> {
        let mut without = WithoutCpu::new(archive.plan().loops());
        archive.for_each_sample(&mut |time_ns, series, value| without.add(time_ns, series, value))?;
        Ok(without)
    }

    /// Takes the next sample of a series, if it tells anything about it.
    pub fn add(&mut self, time_ns: u64, series: &Series, value: f64) {
        if matches!(
            series,
            Series::Own(OwnUse::Halted) | Series::Issuing(IssuingThreads::Wait) | Series::Cpu(_)
        ) {
            self.tracks.add(time_ns, series, value);
        }
    }

    /// How much of a time an issuing loop had no CPU, in nanoseconds: for the whole process, or for the mean loop.
    pub fn within_ns(&self, range: TimeRange) -> u64 {
        let most = self.halted(range).max(self.waited(range)).max(self.stolen(range));
        most.min(range.length_ns() as f64) as u64
    }

    /// Whether it had none for so much of a time that this time says nothing about the target.
    pub fn accounts_for(&self, range: TimeRange) -> bool {
        // Half, because neither is exact.
        let lost = self.within_ns(range);
        lost > 0 && 2 * lost >= range.length_ns()
    }

    /// Nothing of the process ran. A sample follows each halt at once, so that it lies just before that.
    fn halted(&self, range: TimeRange) -> f64 {
        let halt = |step: &Growth| {
            let from_ns = step.range.to_ns.saturating_sub(step.by as u64).max(step.range.from_ns);
            range.overlap_ns(TimeRange { from_ns, ..step.range }) as f64
        };
        self.growth(Series::Own(OwnUse::Halted)).iter().map(halt).sum()
    }

    /// Issuing threads waited for a CPU. Of a step that lies only partly in the time, the rest had its usual share of that: the one of the
    /// steps outside, or of the step itself, where all steps touch the time.
    fn waited(&self, range: TimeRange) -> f64 {
        let steps = self.growth(Series::Issuing(IssuingThreads::Wait));
        let (within, outside): (Vec<&Growth>, Vec<&Growth>) =
            steps.iter().partition(|step| range.overlap_ns(step.range) > 0);
        let sum = |value: &dyn Fn(&Growth) -> f64| outside.iter().map(|step| value(step)).sum::<f64>();
        let pace = |by: f64, length: f64| by / length.max(1.0);
        let usual = (!outside.is_empty())
            .then(|| pace(sum(&|step| step.by), sum(&|step| step.range.length_ns() as f64)));
        let loops = self.loops.max(1) as f64;
        let waited = |step: &&Growth| {
            let overlap = range.overlap_ns(step.range) as f64;
            let length = step.range.length_ns() as f64;
            let elsewhere = usual.unwrap_or(pace(step.by, length)) * (length - overlap);
            ((step.by - elsewhere) / loops).clamp(0.0, overlap)
        };
        within.iter().map(waited).sum()
    }

    /// The hypervisor gave CPUs to others.
    fn stolen(&self, range: TimeRange) -> f64 {
        const STATES: usize = CpuState::ALL.len();
        let all: [Series; STATES] = std::array::from_fn(|place| Series::Cpu(CpuState::ALL[place]));
        let shares = self.tracks.rates(all, |growth, _| {
            let sum: f64 = growth.iter().sum();
            (sum > 0.0).then(|| growth[CpuState::Steal as usize] / sum)
        });
        let stolen = |step: &SampledStep| range.overlap_ns(step.range()) as f64 * step.value;
        shares.iter().map(stolen).sum()
    }

    fn growth(&self, series: Series) -> Vec<Growth> {
        let steps = self.tracks.rates([series], |[by], _| Some(by));
        steps.iter().map(|step| Growth { range: step.range(), by: step.value }).collect()
    }
}

/// How much a counter grew from one sample to the next.
struct Growth {
    range: TimeRange,
    by: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;
    const HALTED: Series = Series::Own(OwnUse::Halted);
    const WAITED: Series = Series::Issuing(IssuingThreads::Wait);

    fn seconds(from: f64, to: f64) -> TimeRange {
        TimeRange { from_ns: (from * 1e9) as u64, to_ns: (to * 1e9) as u64 }
    }

    /// A counter of nanoseconds, by samples in seconds.
    fn of(loops: usize, series: &Series, samples: &[(f64, f64)]) -> WithoutCpu {
        let mut without = WithoutCpu::new(loops);
        for (at, value) in samples {
            without.add((at * 1e9) as u64, series, value * 1e9);
        }
        without
    }

    #[test]
    fn a_halt_lies_before_the_sample_that_follows_it() {
        let halted = of(1, &HALTED, &[(0.0, 0.0), (1.0, 0.0), (2.7, 1.5), (3.0, 1.5)]);
        assert_eq!(halted.within_ns(seconds(1.2, 2.7)), 3 * SECOND / 2);
        assert_eq!(halted.within_ns(seconds(0.0, 1.2)), 0);
        assert!(halted.accounts_for(seconds(1.0, 3.0)) && !halted.accounts_for(seconds(2.5, 3.0)));
    }

    /// Of a second, two loops had no CPU for half of it, as always; then one second in which both had none.
    #[test]
    fn waiting_as_usual_is_not_counted_in_a_part_of_a_step() {
        let samples = [(0.0, 0.0), (1.0, 1.0), (2.0, 1.5), (3.0, 2.5), (4.0, 4.5)];
        let waited = of(2, &WAITED, &samples);
        assert_eq!(waited.within_ns(seconds(1.5, 2.0)), 0);
        assert_eq!(waited.within_ns(seconds(3.0, 4.0)), SECOND);
        assert!(!waited.accounts_for(seconds(1.5, 2.0)) && waited.accounts_for(seconds(3.0, 4.0)));
    }

    #[test]
    fn time_that_a_hypervisor_gave_away_counts() {
        let mut stolen = WithoutCpu::new(1);
        for (second, steal) in [(0, 0.0), (1, 60.0), (2, 60.0)] {
            for state in CpuState::ALL {
                let ticks = if *state == CpuState::Steal { steal } else { 0.0 };
                let idle = if *state == CpuState::Idle { second as f64 * 100.0 - steal } else { ticks };
                stolen.add(second * SECOND, &Series::Cpu(*state), idle);
            }
        }
        assert_eq!(stolen.within_ns(seconds(0.0, 1.0)), 600_000_000);
        assert_eq!(stolen.within_ns(seconds(1.0, 2.0)), 0);
    }

    #[test]
    fn nothing_is_known_without_samples() {
        assert_eq!(WithoutCpu::default().within_ns(seconds(0.0, 1.0)), 0);
        assert!(!WithoutCpu::default().accounts_for(seconds(0.0, 0.0)));
    }
}
