//! All cautions of a result: facts about its state, and the findings of the detectors.

use crate::PlannedRun;
use crate::detectors::{DETECTORS, fresh_or_warm_mapping};
use crate::forecast::predictions;
use iosonar_analyze::{Caution, CautionId, Detection, DetectorId, Judgement, Level, Severity, Summary};
use iosonar_archive::RunInfo;
use iosonar_evidence::Environment;
use iosonar_plan::Plan;

/// The cautions of a result, most severe first: those of its summary, which are facts about its state, and the findings. Without a
/// judgement, detectors know only the plan and facts about the targets.
pub fn cautions(
    summary: &Summary,
    plan: &Plan,
    run: &RunInfo,
    judgement: Option<&Judgement>,
) -> Vec<Caution> {
    let said = said(summary, plan);
    let detections = match judgement {
        Some(judgement) => judgement.reported().cloned().collect(),
        None => foreseen(summary, plan, run),
    };
    let is_said = |id| said.iter().any(|(by, _)| *by == id);
    let told: Vec<Caution> = detections.iter().filter(|one| !is_said(one.id)).map(of_detection).collect();
    let said = said.into_iter().map(|(_, caution)| caution);
    let mut all: Vec<Caution> = summary.cautions.iter().cloned().chain(said).chain(told).collect();
    all.sort_by_key(Caution::place);
    all
}

/// The cautions that need no evidence, each with its detector.
fn said(summary: &Summary, plan: &Plan) -> Vec<(DetectorId, Caution)> {
    let says = DETECTORS.iter().filter_map(|detector| Some((detector.id, detector.says?)));
    says.flat_map(|(id, says)| says(summary, plan).into_iter().map(move |caution| (id, caution))).collect()
}

/// Whether a fact about the state of a result, or a finding without evidence, may change the figures.
pub(crate) fn has_warning(summary: &Summary, plan: &Plan) -> bool {
    let matters = |caution: &Caution| caution.severity >= Severity::Warning;
    summary.cautions.iter().any(matters) || said(summary, plan).iter().any(|(_, caution)| matters(caution))
}

/// Detections that need no machine: those of the planned run, and holes that it wrote first. Without I/O, only the load can be wrong.
fn foreseen(summary: &Summary, plan: &Plan, run: &RunInfo) -> Vec<Detection> {
    if summary.run.is_recording() {
        return Vec::new();
    }
    let unknown = Environment::default();
    let planned = PlannedRun::of(plan, run, summary, &unknown);
    let holes = fresh_or_warm_mapping::unwritten(&planned);
    let holes = holes.map(|seen| fresh_or_warm_mapping::DETECTOR.detection(seen, plan.claim()));
    let mut all: Vec<Detection> = predictions(&planned, plan.claim()).into_iter().chain(holes).collect();
    all.retain(|one| one.is_reported() && (plan.engine.is_real() || one.id == DetectorId::WrongSizeDevice));
    all
}

fn of_detection(one: &Detection) -> Caution {
    Caution {
        id: CautionId::Detected(one.id),
        severity: if one.level == Level::Fail { Severity::Severe } else { Severity::Warning },
        text: one.line(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    fn ids(cautions: &[Caution]) -> Vec<CautionId> {
        cautions.iter().map(|caution| caution.id).collect()
    }

    #[test]
    fn each_is_reported_once_with_and_without_evidence() {
        let lab =
            Lab::new().reads(1_000, 65_536).on_file_system("ext4", "vda").holes(1 << 30, 1 << 30).failed(100);
        let lab = lab.process_read(0).device_read("vda", 0);
        let expected = [CautionId::Detected(DetectorId::UnmappedTarget), CautionId::FailedRequests];
        assert_eq!(ids(&lab.cautions()), expected);
        assert_eq!(ids(&lab.cautions_without_evidence()), expected);
    }

    #[test]
    fn without_evidence_reports_holes_that_were_written_first() {
        let lab = Lab::new().writes(1_000, 65_536).on_file_system("ext4", "vda").holes(1 << 30, 1 << 30);
        let cautions = lab.cautions_without_evidence();
        assert_eq!(ids(&cautions), [CautionId::Detected(DetectorId::FreshOrWarmMapping)]);
        assert!(cautions[0].text.contains("/target"), "{cautions:?}");
    }

    #[test]
    fn a_result_without_evidence_is_judged_by_its_load() {
        let lab = Lab::new().recorded().reads(1_000, 4096);
        let cautions = lab.clone().wraparound(7.58).cautions_without_evidence();
        assert_eq!(ids(&cautions), [CautionId::Detected(DetectorId::WrongSizeDevice)]);
        assert!(cautions[0].text.contains("7.58 times the size of /target"), "{cautions:?}");
        assert_eq!(lab.clone().wraparound(0.948).cautions_without_evidence(), []);
        // A result of blkreplay may lack the size of its device.
        assert_eq!(lab.wraparound(7.58).of_unknown_size().cautions_without_evidence(), []);
    }
}
