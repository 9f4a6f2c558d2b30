//! Targets whose data ends in memory.

use crate::detector::Most;
use crate::stack::{Bottom, bottoms_of};
use crate::{Case, Detector, Finding, PlannedRun};
use iosonar_analyze::{Channel, DetectorId, Level};

pub(crate) const DETECTOR: Detector = Detector {
    id: DetectorId::MemoryTarget,
    channel: Channel::Mapping,
    most: Most::of_devices(Level::Fail),
    explains: &[
        DetectorId::ReadsNotFromDevice,
        DetectorId::WritesNotOnDevice,
        DetectorId::FasterThanAnyDevice,
        DetectorId::QueueDepthNotReached,
        DetectorId::PageCacheInPath,
        DetectorId::ZeroesShortCut,
        DetectorId::CacheBelow,
        DetectorId::GeneratorBound,
    ],
    about: "A file in tmpfs, a RAM disk, zram, persistent memory, or a loop device on one of these keeps its data in memory. Opening it for direct \
            I/O works, and its speed is that of copying.",
    is_witness: true,
    says: None,
    predict: Some(predict),
    detect,
};

const SOURCE: &str = "what lies below the targets (mountinfo, sysfs)";

fn detect(case: &Case<'_>) -> Option<Finding> {
    case.is_real().then(|| predict(&case.planned()))?
}

fn predict(planned: &PlannedRun<'_>) -> Option<Finding> {
    if planned.before.targets.is_empty() {
        return None;
    }
    let in_memory: Vec<String> = bottoms_of(&planned.before.targets)
        .into_iter()
        .filter_map(|bottom| match bottom {
            Bottom::Memory(what) => Some(what),
            Bottom::Device(_) | Bottom::Server(_) | Bottom::Unseen(_) => None,
        })
        .collect();
    Some(match in_memory.is_empty() {
        true => Finding::ok("No target keeps its data in memory.", SOURCE),
        false => Finding::at(
            Level::Fail,
            format!("The data ends in memory ({}), and not on a storage device.", in_memory.join(", ")),
            SOURCE,
        )
        .remedy("Choose another target, or say what is measured with --claim cache.")
        .proof(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;
    use iosonar_plan::Claim;

    #[test]
    fn classifies_zram_and_tmpfs_as_memory() {
        let zram = Lab::new().reads(1_000, 4096).on_device("zram3", "zram").detection(&DETECTOR).unwrap();
        assert_eq!((zram.level, zram.is_proof), (Level::Fail, true));
        assert!(zram.text.contains("zram3 (zram)"), "{}", zram.text);
        let tmpfs = Lab::new().reads(1_000, 4096).on_file_system("tmpfs", "");
        assert_eq!(tmpfs.detection(&DETECTOR).unwrap().level, Level::Fail);
        assert_eq!(tmpfs.claiming(Claim::Cache).detection(&DETECTOR).unwrap().level, Level::Ok);
    }

    #[test]
    fn disks_and_their_files_are_not_memory() {
        for lab in [Lab::new().on_disk("vda"), Lab::new().on_file_system("ext4", "vda")] {
            assert_eq!(lab.reads(1_000, 4096).detection(&DETECTOR).unwrap().level, Level::Ok);
        }
    }
}
