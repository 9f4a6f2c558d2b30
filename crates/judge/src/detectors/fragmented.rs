//! Files whose data does not lie side by side on the device.

use crate::detector::Most;
use crate::planned::PlannedTarget;
use crate::stack::{disks_of, rotates};
use crate::thresholds::{CROSSING, LEAST_CROSSING, SHORT_RUN};
use crate::words::{percent, size};
use crate::{Case, Detector, Finding, PlannedRun};
use iosonar_analyze::{Channel, DetectorId, Level};
use iosonar_evidence::ExtentRuns;

pub(crate) const DETECTOR: Detector = Detector {
    id: DetectorId::Fragmented,
    channel: Channel::Mapping,
    most: Most::of_devices(Level::Caution),
    explains: &[DetectorId::RequestsReshaped],
    about: "A request that reaches from one extent into another becomes two, and a disk that rotates seeks in between. How a file lies depends on \
            how it was made and on what else was written meanwhile: the same test on a file that lies otherwise gives another figure.",
    is_witness: false,
    says: None,
    predict: Some(predict),
    detect,
};

const SOURCE: &str = "extents of the file (FIEMAP) before the run, neighbours on the device joined";

fn detect(case: &Case<'_>) -> Option<Finding> {
    if !case.is_real() {
        return None;
    }
    predict(&case.planned())
}

fn predict(planned: &PlannedRun<'_>) -> Option<Finding> {
    let known = planned.targets.iter().filter_map(|target| Some((target, target.info.extents?)));
    let of_targets: Vec<(Level, &PlannedTarget<'_>, ExtentRuns)> = known
        .filter(|(_, extents)| extents.runs > 0)
        .map(|(target, extents)| (level(planned, target, extents), target, extents))
        .collect();
    // Of targets with the same level, the first.
    let (level, target, extents) = of_targets.into_iter().rev().max_by_key(|(level, ..)| *level)?;
    let few = if extents.is_cut { "at least " } else { "" };
    let runs = match extents.runs {
        1 => "one piece".to_string(),
        runs => format!("{few}{runs} pieces of {} on average", size(extents.mean_bytes() as f64)),
    };
    let share = extents.crossing_share();
    let crossing = match level {
        Level::Ok => String::new(),
        _ => format!(
            "; {} of the requests of {} reach from one into another",
            percent(share),
            size(extents.request_bytes as f64)
        ),
    };
    let text = format!("The used range of {} lies in {runs}{crossing}.", target.info.path);
    let seen = Finding::at(level, text, SOURCE)
        .remedy("Write the file again in one go where much space is free; or give the number of pieces with the figure (`iosonar layout`).")
        .with("pieces", extents.runs as f64)
        .with("mean_bytes", extents.mean_bytes() as f64)
        .with("crossing_share", share);
    Some(seen)
}

/// Split requests cost something on each device. Short pieces alone cost only rotating devices.
fn level(planned: &PlannedRun<'_>, target: &PlannedTarget<'_>, extents: ExtentRuns) -> Level {
    let is_split = CROSSING.level(extents.crossing_share()) == Level::Caution;
    if is_split && extents.crossing >= LEAST_CROSSING {
        return Level::Caution;
    }
    let is_short = extents.runs > 1 && extents.mean_bytes() < SHORT_RUN * extents.request_bytes;
    let seeks = || planned.facts(target).is_some_and(|facts| disks_of(facts).into_iter().any(rotates));
    match is_short && planned.is_sequential() {
        false => Level::Ok,
        true if seeks() => Level::Caution,
        true => Level::Info,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;
    use iosonar_plan::Claim;

    const K: u64 = 1024;

    fn lab(runs: u64, request_bytes: u64, crossing: u64) -> Lab {
        let bytes = 128 << 20;
        let requests = bytes / request_bytes;
        let extents = ExtentRuns { runs, bytes, request_bytes, requests, crossing, ..ExtentRuns::default() };
        Lab::new().sequential().reads(1_000, request_bytes).on_file_system("xfs", "vda").extents(extents)
    }

    #[test]
    fn reports_requests_split_across_fragments() {
        let split = lab(2_048, 1024 * K, 128);
        let seen = split.detection(&DETECTOR).unwrap();
        assert_eq!(seen.level, Level::Caution);
        let expected = "The used range of /target lies in 2048 pieces of 64.0 KiB on average; 100 % of the requests of 1.0 MiB reach from one \
                        into another.";
        assert_eq!(seen.text, expected);
        assert_eq!(split.claiming(Claim::Filesystem).detection(&DETECTOR).unwrap().level, Level::Info);
    }

    #[test]
    fn short_fragments_matter_on_rotational_devices() {
        let fitting = lab(2_048, 64 * K, 0);
        assert_eq!(fitting.detection(&DETECTOR).unwrap().level, Level::Info);
        let rotating = fitting.on_file_system("xfs", "sda").below_rotates();
        assert_eq!(rotating.detection(&DETECTOR).unwrap().level, Level::Caution);
    }

    #[test]
    fn accepts_few_fragments_and_skips_unknown_maps() {
        let seen = lab(3, 1024 * K, 2).detection(&DETECTOR).unwrap();
        assert_eq!((seen.level, seen.text.contains("3 pieces")), (Level::Ok, true));
        // Few of them, although they are a large part of a small file.
        let small = ExtentRuns {
            runs: 3,
            bytes: 16 << 20,
            request_bytes: 1 << 20,
            requests: 16,
            crossing: 2,
            ..ExtentRuns::default()
        };
        assert_eq!(lab(1, K, 0).extents(small).detection(&DETECTOR).unwrap().level, Level::Ok);
        assert_eq!(Lab::new().reads(1_000, 4096).on_disk("vda").detection(&DETECTOR), None);
    }
}
