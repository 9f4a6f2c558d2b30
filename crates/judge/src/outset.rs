//! Facts about a run before its first request.

use crate::detectors::{
    cache_below, copied_up, dirty_at_start, fragmented, fresh_or_warm_mapping, memory_target, misaligned,
    own_limit, page_cache_in_path, reads_not_from_device, trivial_data, unmapped_target, wrong_size_device,
    zeroes_short_cut,
};
use crate::verdict::explain;
use crate::{Detector, Seen};
use iosonar_analyze::{Detection, FakeTarget, Level};
use iosonar_archive::TargetInfo;
use iosonar_evidence::{Environment, Fact, RereadTimes, TargetFacts};
use iosonar_plan::{Claim, Order, Plan, Workload};

/// A run before its first request.
#[derive(Debug, Clone)]
pub struct Outset<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The machine.
    pub before: &'a Environment,
    /// The targets.
    pub targets: Vec<PlannedTarget<'a>>,
}

/// A target and its planned use.
#[derive(Debug, Clone, Copy)]
pub struct PlannedTarget<'a> {
    /// Facts about it.
    pub info: &'a TargetInfo,
    /// Whether it is read.
    pub is_read: bool,
    /// Whether it is written, so that missing data may exist later.
    pub is_written: bool,
}

impl PlannedTarget<'_> {
    /// Bytes of the range that was searched for holes.
    pub(crate) fn reach(&self) -> u64 {
        match (self.info.hole_range_bytes, self.info.max_requested_end) {
            (0, 0) => self.info.size,
            (0, end) => end.min(self.info.size),
            (range, _) => range,
        }
    }
}

impl Outset<'_> {
    /// Whether some target is written.
    pub(crate) fn has_writes(&self) -> bool {
        self.targets.iter().any(|target| target.is_written)
    }

    /// Result of the re-read probe of a target; `None` without a probe.
    pub(crate) fn reread_of(&self, target: &PlannedTarget<'_>) -> Option<&Fact<RereadTimes>> {
        let is_meant = |path: &std::path::Path| path.display().to_string() == target.info.path;
        self.before.reread.iter().find(|one| is_meant(&one.target)).map(|one| &one.seen)
    }

    /// Facts about a target before the run.
    pub(crate) fn facts(&self, target: &PlannedTarget<'_>) -> Option<&TargetFacts> {
        self.before.targets.iter().find(|facts| facts.path.display().to_string() == target.info.path)
    }

    /// Whether requests are issued in the order of their addresses, or always to the same one.
    pub(crate) fn is_sequential(&self) -> bool {
        self.plan.jobs().all(|(_, job)| match &job.workload {
            Workload::Generated(generator) => {
                matches!(generator.order, Order::Sequential | Order::Interleaved { every: 1 } | Order::Fixed)
            }
            Workload::Trace(_) => false,
        })
    }

    /// Whether no job goes through the page cache.
    pub(crate) fn is_direct(&self) -> bool {
        self.plan.jobs().all(|(_, job)| !self.plan.is_buffered(job))
    }
}

/// The targets that make a result fake by themselves, if there are several. Empty if every target does, or none.
pub(crate) fn fake_targets(outset: &Outset<'_>, claim: Claim) -> Vec<FakeTarget> {
    if outset.targets.len() < 2 {
        return Vec::new();
    }
    let mut before = outset.before.clone();
    let mut proofs = |target: &PlannedTarget<'_>| {
        before.targets = outset.facts(target).into_iter().cloned().collect();
        let alone = Outset { plan: outset.plan, before: &before, targets: vec![*target] };
        foresee(&alone, claim).iter().filter(|one| one.definitional).map(|one| one.id).collect()
    };
    let mut of = |(number, target): (u16, &PlannedTarget<'_>)| FakeTarget {
        target: number,
        path: target.info.path.clone(),
        proofs: proofs(target),
    };
    let mut fakes: Vec<FakeTarget> = (0..).zip(&outset.targets).map(&mut of).collect();
    fakes.retain(|fake| !fake.proofs.is_empty());
    if fakes.len() < outset.targets.len() { fakes } else { Vec::new() }
}

type Foresee = fn(&Outset<'_>) -> Option<Seen>;

/// Detectors whose result does not need the run.
const FORESEEING: [(&Detector, Foresee); 14] = [
    (&memory_target::DETECTOR, memory_target::foresee),
    (&unmapped_target::DETECTOR, unmapped_target::foresee),
    (&page_cache_in_path::DETECTOR, page_cache_in_path::foresee),
    (&reads_not_from_device::DETECTOR, reads_not_from_device::foresee),
    (&cache_below::DETECTOR, cache_below::foresee),
    (&zeroes_short_cut::DETECTOR, zeroes_short_cut::foresee),
    (&trivial_data::DETECTOR, trivial_data::foresee),
    (&wrong_size_device::DETECTOR, wrong_size_device::foresee),
    (&misaligned::DETECTOR, misaligned::foresee),
    (&own_limit::DETECTOR, own_limit::foresee),
    (&dirty_at_start::DETECTOR, dirty_at_start::foresee),
    (&fresh_or_warm_mapping::DETECTOR, fresh_or_warm_mapping::foresee),
    (&fragmented::DETECTOR, fragmented::foresee),
    (&copied_up::DETECTOR, copied_up::foresee),
];

/// Detections that would spoil, or may influence, the result of a run with a claim, worst first; empty for runs without I/O. A
/// definitional one makes the result fake. Symptoms with a reported cause are skipped.
pub fn foresee(outset: &Outset<'_>, claim: Claim) -> Vec<Detection> {
    if !outset.plan.engine.is_real() {
        return Vec::new();
    }
    let all = FORESEEING.iter().filter_map(|(detector, see)| Some(see(outset)?.detection(detector, claim)));
    let mut told: Vec<Detection> = all.filter(|one| one.level >= Level::Info).collect();
    explain(&mut told, |_| true);
    told.retain(|one| one.explained_by.is_none());
    told.sort_by_key(|one| std::cmp::Reverse((one.level, one.definitional)));
    told
}

#[cfg(test)]
mod tests {
    use crate::testing::Lab;
    use iosonar_analyze::DetectorId;

    #[test]
    fn what_the_probe_has_shown_is_told_before_the_run_and_symptoms_are_not() {
        let ids = |lab: &Lab| lab.foreseen().iter().map(|one| one.id).collect::<Vec<DetectorId>>();
        let cached =
            |lab: Lab| lab.reads(100, 4096).reread((155_000, 48_000, 290, 10), (300_000, 60_000, 200, 5));
        assert_eq!(ids(&cached(Lab::new().on_disk("vda"))), [DetectorId::CacheBelow]);
        assert_eq!(ids(&cached(Lab::new().on_loop(false))), [DetectorId::PageCacheInPath]);
        let sparse =
            Lab::new().on_disk("vda").reads(100, 4096).reread_of_kinds((150, 43_000, 10), (150, 99_000, 140));
        assert_eq!(ids(&sparse), [DetectorId::ZeroesShortCut, DetectorId::TrivialData]);
        assert_eq!(ids(&Lab::new().on_disk("vda").reads(100, 4096)), []);
    }
}
