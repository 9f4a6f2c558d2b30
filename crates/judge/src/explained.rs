//! Causes and symptoms among detections.

use crate::detectors::DETECTORS;
use iosonar_analyze::{Detection, DetectorId, Level};

/// Marks symptoms whose cause is reported as well, so that they are not reported.
/// `cpu_accounts_for`: whether a lack of CPU, if there was one, accounts for it.
pub(crate) fn explain(detections: &mut [Detection], cpu_accounts_for: impl Fn(&Detection) -> bool) {
    for detector in DETECTORS {
        let is_cause = |one: &Detection| one.id == detector.id && one.is_reported();
        if !detections.iter().any(is_cause) {
            continue;
        }
        for symptom in
            detections.iter_mut().filter(|one| one.is_reported() && detector.explains.contains(&one.id))
        {
            if detector.id != DetectorId::CpuDisturbed || cpu_accounts_for(symptom) {
                symptom.explained_by = Some(detector.id);
            }
        }
    }
    // A level that wanders by itself may look like one that changed.
    if detections.iter().any(|one| one.id == DetectorId::Noisy && one.is_reported()) {
        let changed = detections
            .iter_mut()
            .filter(|one| one.id == DetectorId::NotSteady && one.level == Level::Caution);
        changed.for_each(|one| one.explained_by = Some(one.explained_by.unwrap_or(DetectorId::Noisy)));
    }
}
