//! Results that are written to the device that is measured.

use crate::detector::Most;
use crate::stack::{disks_below, disks_of};
use crate::thresholds::{ARCHIVE, PACKED_RECORD};
use crate::words::percent;
use crate::{Case, Detector, Finding};
use iosonar_analyze::{Channel, DetectorId, Level};
use iosonar_evidence::target::BlockDevice;

pub(super) const DETECTOR: Detector = Detector {
    id: DetectorId::ArchiveOnTarget,
    channel: Channel::Environment,
    most: Most::of_devices(Level::Fail),
    explains: &[],
    about: "While requests run, a record of each is written to the result. On the same disk that moves its heads and takes from its rate (blkreplay \
            manual, chapter 4). It matters where requests are small: a record has about 16 bytes, packed.",
    is_witness: false,
    says: None,
    predict: None,
    detect,
};

const SOURCE: &str = "devices below the targets and below the result's directory, number of records";

fn detect(case: &Case<'_>) -> Option<Finding> {
    if !case.is_real() || case.is_remote() {
        return None;
    }
    let result = disks_below(case.before.result.known()?);
    let targets: Vec<&BlockDevice> = case.before.targets.iter().flat_map(disks_of).collect();
    let shared = result.iter().find(|disk| targets.iter().any(|target| target.number == disk.number));
    let Some(disk) = shared else {
        return Some(Finding::ok("The result is on another device than the targets.", SOURCE));
    };
    let traffic = case.tally.traffic();
    let moved = (traffic.reads.bytes + traffic.writes.bytes).max(1) as f64;
    let records = case.summary.counts.records() as f64 * PACKED_RECORD;
    let share = records / moved;
    let text = format!(
        "The result is written to {}, which is measured: {} of what the requests moved.",
        disk.name,
        percent(share)
    );
    let level = ARCHIVE.level(share).max(Level::Info);
    let seen = Finding::at(level, text, SOURCE).remedy("Write the result to another device (--out).");
    Some(seen.with("record_bytes", records).with("share", share).effect(1.0 + share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    #[test]
    fn judges_result_on_measured_disk_by_its_share_of_writes() {
        let lab = || Lab::new().on_disk("vda").result_on("vda");
        let small = lab().reads(4_000, 512).detection(&DETECTOR).unwrap();
        assert_eq!(small.level, Level::Caution);
        assert!(
            small.text.starts_with("The result is written to vda, which is measured: 3.1 %"),
            "{}",
            small.text
        );
        assert_eq!(lab().reads(4_000, 256).detection(&DETECTOR).unwrap().level, Level::Fail);
        assert_eq!(lab().reads(4_000, 4096).detection(&DETECTOR).unwrap().level, Level::Info);
    }

    #[test]
    fn accepts_result_on_other_disk_and_skips_unknown_place() {
        let lab = Lab::new().reads(4_000, 4096).on_disk("vda");
        assert_eq!(lab.clone().result_on("sdb").detection(&DETECTOR).unwrap().level, Level::Ok);
        assert_eq!(lab.detection(&DETECTOR), None);
    }
}
