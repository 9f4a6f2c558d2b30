//! Written data that a target can make smaller.

use crate::detector::Most;
use crate::stack::{Part, compresses, parts};
use crate::thresholds::RANDOM_PERCENT;
use crate::{Case, Detector, Outset, Seen};
use iosonar_analyze::{Channel, DetectorId, Level};

pub(crate) const DETECTOR: Detector = Detector {
    id: DetectorId::TrivialData,
    channel: Channel::Content,
    most: Most { filesystem: Level::Caution, cache: Level::Info, ..Most::always(Level::Caution) },
    explains: &[],
    about: "A target that compresses or deduplicates stores zeros and repeated blocks in next to nothing: zram has written zeros six times as fast \
            as random bytes, btrfs with compression wrote 2 of 64 MiB. A disk that stores every byte does not care.",
    detect,
};

const SOURCE: &str = "the plan's data, and what lies below the targets";

fn detect(case: &Case<'_>) -> Option<Seen> {
    case.is_real().then(|| foresee(&case.outset()))?
}

pub(crate) fn foresee(outset: &Outset<'_>) -> Option<Seen> {
    let has_names = outset.plan.jobs().any(|(_, job)| job.options.data.is_some());
    if !outset.has_writes() || has_names {
        return None;
    }
    let percent = outset.plan.fill.random_percent;
    let gaining = outset.before.targets.iter().flat_map(parts).find_map(gains);
    let text = format!("{percent} % of the written data was random, the rest zeros");
    Some(match gaining {
        _ if percent >= RANDOM_PERCENT => Seen::ok(format!("{text}."), SOURCE),
        Some(what) => Seen::at(
            Level::Caution,
            format!("{text}; {what} stores that in less space than data of users."),
            SOURCE,
        )
        .remedy("Write with --fill-random 100."),
        None => Seen::info(format!("{text}; nothing below the target is known to compress."), SOURCE)
            .remedy("Write with --fill-random 100."),
    })
}

/// What is known to store such data in less space.
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
    fn zeros_on_a_target_that_compresses_are_told() {
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
    fn random_data_is_fine_and_zeros_on_a_disk_are_information() {
        let random = Lab::new().writes(1_000, 4096).random_percent(100).on_device("zram1", "zram");
        assert_eq!(random.detection(&DETECTOR).unwrap().level, Level::Ok);
        let disk = Lab::new().writes(1_000, 4096).random_percent(0).on_disk("vda");
        assert_eq!(disk.detection(&DETECTOR).unwrap().level, Level::Info);
    }
}
