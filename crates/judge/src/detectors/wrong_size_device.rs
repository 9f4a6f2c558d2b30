//! Loads of a device of another size.

use crate::detector::Most;
use crate::thresholds::WRONG_SIZE;
use crate::{Case, Detector, Finding, PlannedRun};
use iosonar_analyze::{Caution, CautionId, Channel, DetectorId, Level, Summary, TargetSummary};
use iosonar_plan::{Plan, Workload};
use iosonar_text::units::number;

pub(crate) const DETECTOR: Detector = Detector {
    id: DetectorId::WrongSizeDevice,
    channel: Channel::Schedule,
    most: Most { filesystem: Level::Info, cache: Level::Info, ..Most::always(Level::Caution) },
    explains: &[DetectorId::SmallFootprint],
    about: "A load that reaches further than the device wraps around: several of its blocks become one, seeks get shorter, and caches hit more \
            often. A load that uses a small part of a device has short seeks, too (blkreplay manual 3.1.4).",
    is_witness: false,
    says: Some(says),
    predict: Some(predict),
    detect,
};

const SOURCE: &str = "the load's highest end and the target's size";

fn detect(case: &Case<'_>) -> Option<Finding> {
    if case.summary.run.is_recording() {
        return None;
    }
    predict(&case.planned())
}

/// How far a wraparound factor is from 1, in either direction.
fn away(factor: f64) -> f64 {
    if factor > 1.0 { factor } else { 1.0 / factor }
}

/// Whether a wraparound factor is so far from 1 that distances differ from those of the recorded device.
pub fn is_wrong_size(factor: f64) -> bool {
    factor > 0.0 && WRONG_SIZE.level(away(factor)) > Level::Ok
}

/// A synthetic workload that is confined to a part of its target, by the user's choice.
fn says(summary: &Summary, plan: &Plan) -> Vec<Caution> {
    if is_recorded(plan) || summary.run.is_recording() {
        return Vec::new();
    }
    let say = |target: &TargetSummary| {
        let factor = target.wraparound_factor.filter(|factor| is_wrong_size(*factor))?;
        let text = format!(
            "Wraparound factor {} on {}: the load uses only a small part of the target, so seeks are shorter than on the whole of it.",
            number(factor),
            target.path
        );
        Some(Caution::warning(CautionId::Wraparound, text))
    };
    summary.targets.iter().filter_map(say).collect()
}

/// Whether the addresses come from another device. Synthetic workloads know the size of their target.
fn is_recorded(plan: &Plan) -> bool {
    plan.jobs().any(|(_, job)| matches!(job.workload, Workload::Trace(_)))
}

fn predict(planned: &PlannedRun<'_>) -> Option<Finding> {
    // Results of other tools may lack the size.
    let sized = planned.targets.iter().filter(|target| target.info.size > 0);
    let factors = sized.map(|target| (target.info.wraparound_factor(), &target.info.path));
    let (factor, path) =
        factors.filter(|(factor, _)| *factor > 0.0).max_by(|a, b| away(a.0).total_cmp(&away(b.0)))?;
    if !is_recorded(planned.plan) {
        return None;
    }
    let seen = match WRONG_SIZE.level(away(factor)) {
        Level::Ok => Finding::ok("The load's device had about the size of this one.", SOURCE),
        level => Finding::at(
            level,
            format!("The load reaches to {factor:.2} times the size of {path} (wraparound factor)."),
            SOURCE,
        )
        .remedy("Take a device of the original's size, or say in the report that the load was folded."),
    };
    Some(seen.with("wraparound_factor", factor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    #[test]
    fn reports_trace_of_larger_device() {
        let seen = Lab::new().recorded().reads(1_000, 4096).wraparound(12.04).detection(&DETECTOR).unwrap();
        assert_eq!(seen.level, Level::Caution);
        assert!(seen.text.contains("12.04 times"), "{}", seen.text);
    }

    #[test]
    fn accepts_trace_of_this_size_and_skips_synthetic_loads() {
        assert_eq!(
            Lab::new().recorded().reads(1_000, 4096).wraparound(0.96).detection(&DETECTOR).unwrap().level,
            Level::Ok
        );
        assert_eq!(Lab::new().reads(1_000, 4096).wraparound(0.01).detection(&DETECTOR), None);
    }

    #[test]
    fn a_synthetic_workload_on_a_small_part_is_cautioned() {
        let part = |factor| Lab::new().reads(1_000, 4096).wraparound(factor).said(&DETECTOR);
        assert!(part(0.089)[0].text.starts_with("Wraparound factor 0.0890 on /target"), "{:?}", part(0.089));
        assert_eq!(part(0.5), []);
        assert_eq!(Lab::new().recorded().reads(1_000, 4096).wraparound(0.089).said(&DETECTOR), []);
    }
}
