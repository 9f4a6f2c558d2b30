//! Times in which the generator of a run had no CPU: it was stopped, other programs had it, or a hypervisor gave it away. Late
//! completions and late requests in such a time say nothing about the target.

use crate::time_range::TimeRange;
use crate::tracks::{SampledStep, SampledSteps, Tracks};
use iosonar_archive::{Archive, ArchiveError};
use iosonar_evidence::{CpuState, IssuingThreads, OwnUse, Series, Throttling};
use std::sync::OnceLock;

/// The samples that show a lack of CPU.
#[derive(Debug, Clone, Default)]
pub struct WithoutCpu {
    tracks: Tracks,
    /// Number of workers, each with a thread.
    loops: usize,
    /// Computed from the samples once, for all queries.
    steps: OnceLock<Steps>,
}

/// Values between consecutive samples.
#[derive(Debug, Clone)]
struct Steps {
    /// Nanoseconds in which the whole process was stopped.
    halted: SampledSteps,
    /// Nanoseconds for which issuing threads waited, summed over all.
    waited: SampledSteps,
    /// Share of all CPUs that a hypervisor gave to others.
    stolen: SampledSteps,
    /// Share of the periods of a CPU limit in which it was used up.
    throttled: SampledSteps,
}

impl WithoutCpu {
    /// An empty series of a run with `loops` workers at a time.
    pub fn new(loops: usize) -> WithoutCpu {
        WithoutCpu { loops, ..WithoutCpu::default() }
    }

    /// Reads the samples of an archive.
    ///
    /// # Errors
    /// Errors of reading the samples.
    pub fn of(archive: &Archive) -> Result<WithoutCpu, ArchiveError> {
        let mut without = WithoutCpu::new(archive.plan().loops());
        archive.for_each_sample(&mut |time_ns, series, value| without.add(time_ns, series, value))?;
        Ok(without)
    }

    /// Adds the next sample of a series, if relevant.
    pub fn add(&mut self, time_ns: u64, series: &Series, value: f64) {
        if matches!(
            series,
            Series::Own(OwnUse::Halted)
                | Series::Issuing(IssuingThreads::Wait)
                | Series::Cpu(_)
                | Series::Cgroup(_)
        ) {
            self.tracks.add(time_ns, series, value);
            self.steps.take();
        }
    }

    /// Time within `range` in which a worker had no CPU, in nanoseconds: for the whole process, or for the mean worker.
    pub fn within_ns(&self, range: TimeRange) -> u64 {
        let of_machine =
            shares_of(&self.steps().stolen, range).max(shares_of(&self.steps().throttled, range));
        let most = self.halted(range).max(self.waited(range)).max(of_machine);
        most.min(range.length_ns() as f64) as u64
    }

    /// Whether samples of this process cover a time.
    pub fn covers(&self, range: TimeRange) -> bool {
        let halted = &self.steps().halted;
        let (first, last) = (halted.first(), halted.last());
        first
            .zip(last)
            .is_some_and(|(first, last)| first.begin_ns <= range.from_ns && last.end_ns >= range.to_ns)
    }

    /// Time within `range` in which the whole process was stopped, in nanoseconds.
    pub fn halted_ns(&self, range: TimeRange) -> u64 {
        (self.halted(range) as u64).min(range.length_ns())
    }

    /// Whether it lacked a CPU for so large a part of `range` that this time says nothing about the target.
    pub fn accounts_for(&self, range: TimeRange) -> bool {
        // Half, because neither is exact.
        let lost = self.within_ns(range);
        lost > 0 && 2 * lost >= range.length_ns()
    }

    /// Time in which the whole process was stopped. A sample follows each halt at once, so the halt lies just before it.
    fn halted(&self, range: TimeRange) -> f64 {
        let halt = |step: &SampledStep| {
            let from_ns = step.end_ns.saturating_sub(step.value as u64).max(step.begin_ns);
            range.overlap_ns(TimeRange { from_ns, ..step.range() }) as f64
        };
        self.steps().halted.iter().map(halt).sum()
    }

    /// Time in which issuing threads waited for a CPU. If a step lies only partly in the range, its rest is assumed to have the usual
    /// share: that of the steps outside, or of the step itself if all steps touch the range.
    fn waited(&self, range: TimeRange) -> f64 {
        let length = |step: &SampledStep| step.range().length_ns() as f64;
        let (within, outside): (Vec<&SampledStep>, Vec<&SampledStep>) =
            self.steps().waited.iter().partition(|step| range.overlap_ns(step.range()) > 0);
        let pace = |steps: &[&SampledStep]| {
            let by: f64 = steps.iter().map(|step| step.value).sum();
            by / steps.iter().map(|step| length(step)).sum::<f64>().max(1.0)
        };
        let usual = (!outside.is_empty()).then(|| pace(&outside));
        let loops = self.loops.max(1) as f64;
        let waited = |step: &&SampledStep| {
            let overlap = range.overlap_ns(step.range()) as f64;
            let elsewhere = usual.unwrap_or_else(|| pace(&[*step])) * (length(step) - overlap);
            ((step.value - elsewhere) / loops).clamp(0.0, overlap)
        };
        within.iter().map(waited).sum()
    }

    fn steps(&self) -> &Steps {
        let growth = |series| self.tracks.rates([series], |[by], _| Some(by));
        self.steps.get_or_init(|| Steps {
            halted: growth(Series::Own(OwnUse::Halted)),
            waited: growth(Series::Issuing(IssuingThreads::Wait)),
            stolen: self.tracks.share_of_cpu(&[CpuState::Steal]),
            throttled: self.tracks.rates(
                [Series::Cgroup(Throttling::Throttled), Series::Cgroup(Throttling::Periods)],
                |[throttled, periods], _| (periods > 0.0).then(|| (throttled / periods).min(1.0)),
            ),
        })
    }
}

/// Nanoseconds of a range that were lost, from steps with the lost share.
fn shares_of(steps: &[SampledStep], range: TimeRange) -> f64 {
    steps.iter().map(|step| range.overlap_ns(step.range()) as f64 * step.value).sum()
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
    fn assigns_halt_to_time_before_its_sample() {
        let halted = of(1, &HALTED, &[(0.0, 0.0), (1.0, 0.0), (2.7, 1.5), (3.0, 1.5)]);
        assert_eq!(halted.within_ns(seconds(1.2, 2.7)), 3 * SECOND / 2);
        assert_eq!(halted.within_ns(seconds(0.0, 1.2)), 0);
        assert!(halted.accounts_for(seconds(1.0, 3.0)) && !halted.accounts_for(seconds(2.5, 3.0)));
    }

    /// Of a second, two loops had no CPU for half of it, as always; then one second in which both had none.
    #[test]
    fn ignores_normal_cpu_wait_within_a_step() {
        let samples = [(0.0, 0.0), (1.0, 1.0), (2.0, 1.5), (3.0, 2.5), (4.0, 4.5)];
        let waited = of(2, &WAITED, &samples);
        assert_eq!(waited.within_ns(seconds(1.5, 2.0)), 0);
        assert_eq!(waited.within_ns(seconds(3.0, 4.0)), SECOND);
        assert!(!waited.accounts_for(seconds(1.5, 2.0)) && waited.accounts_for(seconds(3.0, 4.0)));
    }

    #[test]
    fn counts_hypervisor_steal_time() {
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

    /// In a period in which the CPU limit was used up, nothing ran for an unknown part of it: all of it counts.
    #[test]
    fn counts_throttled_periods() {
        let mut limited = WithoutCpu::new(1);
        for (second, throttled) in [(0, 0.0), (1, 8.0), (2, 8.0)] {
            limited.add(second * SECOND, &Series::Cgroup(Throttling::Periods), second as f64 * 10.0);
            limited.add(second * SECOND, &Series::Cgroup(Throttling::Throttled), throttled);
        }
        assert_eq!(limited.within_ns(seconds(0.0, 1.0)), 800_000_000);
        assert_eq!(limited.within_ns(seconds(1.0, 2.0)), 0);
        assert!(limited.accounts_for(seconds(0.2, 0.3)));
    }

    #[test]
    fn accounts_for_nothing_without_samples() {
        assert_eq!(WithoutCpu::default().within_ns(seconds(0.0, 1.0)), 0);
        assert!(!WithoutCpu::default().accounts_for(seconds(0.0, 0.0)));
    }
}
