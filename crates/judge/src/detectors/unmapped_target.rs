//! Reads of places that hold no data.

use crate::detector::Most;
use crate::planned::PlannedTarget;
use crate::thresholds::{NOT_FROM_DEVICE, UNMAPPED};
use crate::words::{percent, size};
use crate::{Case, Detector, Finding, PlannedRun};
use iosonar_analyze::{Channel, DetectorId, Level};

pub(crate) const DETECTOR: Detector = Detector {
    id: DetectorId::UnmappedTarget,
    channel: Channel::Mapping,
    most: Most { device: Level::Fail, filesystem: Level::Caution, cache: Level::Ok, replay: Level::Fail },
    explains: &[
        DetectorId::ZeroesShortCut,
        DetectorId::ReadsNotFromDevice,
        DetectorId::FasterThanAnyDevice,
        DetectorId::QueueDepthNotReached,
        DetectorId::GeneratorBound,
    ],
    about: "Holes of a sparse file, extents that were allocated and never written, and blocks that were discarded hold no data. Reading them \
            gives zeros and costs no device anything (blkreplay manual 3.1.1). Making a file system discards what a device held.",
    is_witness: true,
    says: None,
    predict: Some(predict),
    detect,
};

const SOURCE: &str = "lseek(2) SEEK_DATA over what is requested, before the run";

fn detect(case: &Case<'_>) -> Option<Finding> {
    let reads = case.reads();
    if !case.is_real() || reads.asked == 0.0 {
        return None;
    }
    let (unmapped, all) = of_read_targets(&case.planned(), |target| target.is_read)?;
    // A run that fills its target before it reads has no holes any more: the device has seen its reads. If the device is invisible, the
    // run may have filled it.
    let may_be_filled = || case.planned().targets.iter().any(|target| target.is_written);
    let is_mapped = match reads.share() {
        Some(share) => NOT_FROM_DEVICE.level(1.0 - share) == Level::Ok,
        None => may_be_filled(),
    };
    Some(seen(unmapped, all, is_mapped))
}

/// Ranges that are written before they are read have data by then, so only ranges that are only read are predicted.
fn predict(planned: &PlannedRun<'_>) -> Option<Finding> {
    let (unmapped, all) = of_read_targets(planned, |target| target.is_read && !target.is_written)?;
    Some(seen(unmapped, all, false))
}

/// Unmapped bytes, and all bytes, in the requested range of these targets.
fn of_read_targets(planned: &PlannedRun<'_>, is_meant: fn(&PlannedTarget<'_>) -> bool) -> Option<(f64, f64)> {
    let meant = planned.targets.iter().filter(|target| is_meant(target));
    let (unmapped, all) = meant.fold((0.0, 0.0), |(unmapped, all), target| {
        (unmapped + target.info.hole_bytes as f64, all + target.reach() as f64)
    });
    (all > 0.0).then_some((unmapped, all))
}

fn seen(unmapped: f64, all: f64, is_mapped: bool) -> Finding {
    let share = (unmapped / all).min(1.0);
    let level = UNMAPPED.level(share);
    if level == Level::Ok {
        return Finding::ok("What is read was written before.", SOURCE).with("unmapped_bytes", unmapped);
    }
    let text = format!(
        "{} of the {} that are read held no data when the run began: reads of such places return zeros and reach no device.",
        percent(share),
        size(all)
    );
    let level = if is_mapped { Level::Info } else { level };
    let seen = Finding::at(level, text, SOURCE)
        .remedy("Fill the range before the run ('iosonar fill', which overwrites it), and do not discard it afterwards (mkfs -E nodiscard, mkfs.xfs -K).")
        .with("unmapped_bytes", unmapped)
        .with("range_bytes", all);
    let is_all = share > 0.99 && level == Level::Fail;
    if is_all { seen.proof() } else { seen }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    #[test]
    fn reports_reads_of_holes() {
        let lab = Lab::new().reads(1_000, 65_536).on_file_system("ext4", "vda").holes(1 << 30, 1 << 30);
        let seen = lab.process_read(0).device_read("vda", 0).detection(&DETECTOR).unwrap();
        assert_eq!((seen.level, seen.is_proof), (Level::Fail, true));
        assert!(seen.text.starts_with("100 % of the 1.0 GiB that are read held no data"), "{}", seen.text);
        let some = Lab::new().reads(1_000, 65_536).on_file_system("ext4", "vda").holes(1 << 24, 1 << 30);
        assert_eq!(some.detection(&DETECTOR).unwrap().level, Level::Caution);
    }

    #[test]
    fn ranges_filled_by_the_run_are_not_holes() {
        let full = Lab::new().reads(1_000, 65_536).on_file_system("ext4", "vda").holes(0, 1 << 30);
        assert_eq!(full.detection(&DETECTOR).unwrap().level, Level::Ok);
        let filled = Lab::new().reads(1_000, 65_536).on_file_system("ext4", "vda").holes(1 << 30, 1 << 30);
        let filled = filled.process_read(65_536_000).device_read("vda", 65_536_000);
        assert_eq!(filled.detection(&DETECTOR).unwrap().level, Level::Info);
    }
}
