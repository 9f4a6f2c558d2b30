//! Judges a run before its first request.

use crate::detectors::DETECTORS;
use crate::explained::explain;
use crate::{PlannedRun, planned::PlannedTarget};
use iosonar_analyze::{Detection, FakeTarget, Level};
use iosonar_plan::Claim;

/// The targets that make a result fake by themselves, if there are several. Empty if every target does, or none.
pub(crate) fn fake_targets(planned: &PlannedRun<'_>, claim: Claim) -> Vec<FakeTarget> {
    if planned.targets.len() < 2 {
        return Vec::new();
    }
    let mut before = planned.before.clone();
    let mut proofs = |target: &PlannedTarget<'_>| {
        before.targets = planned.facts(target).into_iter().cloned().collect();
        let alone = PlannedRun { plan: planned.plan, before: &before, targets: vec![*target] };
        predict(&alone, claim).iter().filter(|one| one.is_proof).map(|one| one.id).collect()
    };
    let mut of = |(number, target): (u16, &PlannedTarget<'_>)| FakeTarget {
        target: number,
        path: target.info.path.clone(),
        proofs: proofs(target),
    };
    let mut fakes: Vec<FakeTarget> = (0..).zip(&planned.targets).map(&mut of).collect();
    fakes.retain(|fake| !fake.proofs.is_empty());
    if fakes.len() < planned.targets.len() { fakes } else { Vec::new() }
}

/// Detections that would spoil, or may influence, the result of a run with a claim, worst first; empty for runs without I/O. A
/// detection that is a proof makes the result fake. Symptoms with a reported cause are skipped.
pub fn predict(planned: &PlannedRun<'_>, claim: Claim) -> Vec<Detection> {
    if !planned.plan.engine.is_real() {
        return Vec::new();
    }
    predictions(planned, claim)
}

/// The same, whatever executes the run: a load may be wrong for a model, too.
pub(crate) fn predictions(planned: &PlannedRun<'_>, claim: Claim) -> Vec<Detection> {
    let all =
        DETECTORS.iter().filter_map(|detector| Some(detector.detection(detector.predict?(planned)?, claim)));
    let mut told: Vec<Detection> = all.filter(|one| one.level >= Level::Info).collect();
    explain(&mut told, |_| true);
    told.retain(|one| one.explained_by.is_none());
    told.sort_by_key(|one| std::cmp::Reverse((one.level, one.is_proof)));
    told
}

#[cfg(test)]
mod tests {
    use crate::testing::Lab;
    use iosonar_analyze::DetectorId;

    #[test]
    fn forecast_reports_probe_findings_but_no_symptoms() {
        let ids = |lab: &Lab| lab.predicted().iter().map(|one| one.id).collect::<Vec<DetectorId>>();
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
