//! Data that a target can reduce: data that is written, and data that is only read.

use crate::detector::Most;
use crate::stack::{Part, compresses, parts};
use crate::thresholds::{RANDOM_PERCENT, ZERO_BLOCKS};
use crate::words::percent;
use crate::{Case, Detector, Finding, PlannedRun};
use iosonar_analyze::{Channel, DetectorId, Level};

pub(crate) const DETECTOR: Detector = Detector {
    id: DetectorId::TrivialData,
    channel: Channel::Content,
    most: Most { filesystem: Level::Caution, cache: Level::Info, ..Most::always(Level::Caution) },
    explains: &[],
    about: "A target that compresses or deduplicates stores zeros and repeated blocks in next to nothing: zram has written zeros six times as fast \
            as random bytes, btrfs with compression wrote 2 of 64 MiB. A disk that stores every byte does not care.",
    is_witness: false,
    says: None,
    predict: Some(predict),
    detect,
};

const SOURCE: &str =
    "the plan's data, random blocks that were read before the run, and what lies below the targets";

fn detect(case: &Case<'_>) -> Option<Finding> {
    case.is_real().then(|| predict(&case.planned()))?
}

fn predict(planned: &PlannedRun<'_>) -> Option<Finding> {
    match (of_writes(planned), of_reads(planned)) {
        // Reads are reported only if they matter.
        (Some(_), Some(seen)) if seen.level() == Level::Caution => Some(seen),
        (of_writes, of_reads) => of_writes.or(of_reads),
    }
}

/// Zeros in ranges that are read and not written, as far as probed.
fn of_reads(planned: &PlannedRun<'_>) -> Option<Finding> {
    let read = planned.targets.iter().filter(|target| target.is_read && !target.is_written);
    let probed: Vec<_> =
        read.filter_map(|target| Some((target, planned.reread_of(target)?.known()?))).collect();
    let (zeros, blocks) = probed
        .iter()
        .fold((0, 0), |(zeros, blocks), (_, times)| (zeros + times.zero_blocks, blocks + times.blocks));
    let below = probed.iter().filter_map(|(target, _)| planned.facts(target)).flat_map(parts);
    if blocks == 0 {
        return None;
    }
    let share = zeros as f64 / blocks as f64;
    let text = format!("{} of {blocks} random blocks hold nothing but zeros", percent(share));
    let (level, text) = match below.into_iter().find_map(gains) {
        _ if share <= ZERO_BLOCKS => (Level::Ok, format!("{text}.")),
        Some(what) => (Level::Caution, format!("{text}; {what} stores these in next to nothing.")),
        None => (Level::Info, format!("{text}; nothing below the target is known to compress.")),
    };
    let seen = Finding::at(level, text, SOURCE)
        .remedy("Fill the target with random data before the run ('iosonar fill', which overwrites it).");
    Some(seen.with("zero_share", share))
}

fn of_writes(planned: &PlannedRun<'_>) -> Option<Finding> {
    let has_names = planned.plan.jobs().any(|(_, job)| job.options.data.is_some());
    if !planned.has_writes() || has_names {
        return None;
    }
    let percent = planned.plan.fill.random_percent;
    let gaining = planned.before.targets.iter().flat_map(parts).find_map(gains);
    let text = format!("{percent} % of the written data was random, the rest zeros");
    Some(match gaining {
        _ if percent >= RANDOM_PERCENT => Finding::ok(format!("{text}."), SOURCE),
        Some(what) => Finding::at(
            Level::Caution,
            format!("{text}; {what} stores that in less space than data of users."),
            SOURCE,
        )
        .remedy("Write with --fill-random 100."),
        None => Finding::info(format!("{text}; nothing below the target is known to compress."), SOURCE)
            .remedy("Write with --fill-random 100."),
    })
}

/// Name of a layer that is known to store such data in less space.
fn gains(part: Part<'_>) -> Option<String> {
    match part {
        Part::Device(device) => {
            let is_zram = device.driver.known().is_some_and(|driver| driver == "zram");
            is_zram.then(|| format!("{} (zram)", device.name))
        }
        Part::FileSystem(file_system) => {
            compresses(file_system).then(|| format!("{} with compression", file_system.kind))
        }
        Part::File(_) | Part::Unseen(_) | Part::Nothing => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    #[test]
    fn reports_zeros_on_compressing_target() {
        let seen = Lab::new()
            .writes(1_000, 4096)
            .random_percent(0)
            .on_device("zram1", "zram")
            .detection(&DETECTOR)
            .unwrap();
        assert_eq!(seen.level, Level::Caution);
        assert!(seen.text.contains("zram1 (zram) stores that in less space"), "{}", seen.text);
    }

    #[test]
    fn reports_zero_reads_on_compressing_target() {
        let of = |lab: Lab| {
            lab.reread_of_kinds((30, 50_000, 15), (270, 60_000, 140)).reads(1_000, 4096).detection(&DETECTOR)
        };
        let seen = of(Lab::new().on_device("zram1", "zram")).unwrap();
        assert_eq!(seen.level, Level::Caution);
        assert!(
            seen.text.starts_with("10 % of 300 random blocks hold nothing but zeros; zram1"),
            "{}",
            seen.text
        );
        assert_eq!(of(Lab::new().on_disk("vda")).unwrap().level, Level::Info);
        let full = Lab::new().on_device("zram1", "zram").reread_of_kinds((3, 50_000, 1), (297, 60_000, 150));
        assert_eq!(full.reads(1_000, 4096).detection(&DETECTOR).unwrap().level, Level::Ok);
        // Data that the run writes itself is judged by its plan.
        let written =
            of(Lab::new().on_device("zram1", "zram").random_percent(100).writes(1_000, 4096)).unwrap();
        assert_eq!(written.level, Level::Ok);
    }

    #[test]
    fn accepts_random_data_and_zeros_on_disk_are_info() {
        let random = Lab::new().writes(1_000, 4096).random_percent(100).on_device("zram1", "zram");
        assert_eq!(random.detection(&DETECTOR).unwrap().level, Level::Ok);
        let disk = Lab::new().writes(1_000, 4096).random_percent(0).on_disk("vda");
        assert_eq!(disk.detection(&DETECTOR).unwrap().level, Level::Info);
    }
}
