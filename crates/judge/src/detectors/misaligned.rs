//! Requests that are not whole blocks of the device: it reads before it writes them, or rejects them.

use crate::detector::Most;
use crate::thresholds::MISALIGNED;
use crate::words::percent;
use crate::{Case, Detector, Finding, PlannedRun};
use iosonar_analyze::{Channel, DetectorId, Level};
use iosonar_evidence::TargetFacts;
use iosonar_evidence::target::{BlockDevice, Role};

pub(crate) const DETECTOR: Detector = Detector {
    id: DetectorId::Misaligned,
    channel: Channel::Schedule,
    most: Most { device: Level::Caution, filesystem: Level::Info, cache: Level::Ok, replay: Level::Caution },
    explains: &[],
    about: "A device that addresses 512 bytes and stores blocks of 4096 reads a block before it writes a part of it. That happens to all writes in \
            a partition that starts inside of such a block. A device that addresses 4096 bytes takes no request of less: those of a load that was \
            recorded on 512 are rounded, move more bytes, and write over their neighbours.",
    is_witness: false,
    says: None,
    predict: Some(predict),
    detect,
};

const SOURCE: &str =
    "offset and length of the writes, physical_block_size of the devices, start of partitions";

const ROUNDING: &str = "offset and length of the load's requests, logical block size of the target";

fn detect(case: &Case<'_>) -> Option<Finding> {
    if !case.is_real() {
        return None;
    }
    let counts = &case.summary.counts.all;
    let block = case.run.targets.iter().map(|target| target.block).max().unwrap_or(0);
    rounded(counts.rounded, counts.total, block).or_else(|| of_physical_blocks(case))
}

/// The load is known before the run.
fn predict(planned: &PlannedRun<'_>) -> Option<Finding> {
    let infos = || planned.targets.iter().map(|target| target.info);
    let all = infos().map(|info| info.expected_requests).sum::<Option<u64>>()?;
    rounded(infos().map(|info| info.rounded_requests).sum(), all, infos().map(|info| info.block).max()?)
}

/// Requests that were no whole logical blocks.
fn rounded(rounded: u64, all: u64, block: u64) -> Option<Finding> {
    let share = rounded as f64 / all.max(1) as f64;
    let level = MISALIGNED.level(share);
    let text = format!(
        "{} of the requests are no whole blocks of {block} bytes, and the target takes no others: they are rounded outward, and move more bytes.",
        percent(share)
    );
    let seen = Finding::at(level, text, ROUNDING).remedy(
        "Take a device with the blocks of the recorded one; or say in the report that requests were rounded.",
    );
    (level > Level::Ok).then(|| seen.with("share", share).with("logical_block_bytes", block as f64))
}

fn of_physical_blocks(case: &Case<'_>) -> Option<Finding> {
    if !case.is_direct() || case.tally.traffic().writes.bytes == 0 {
        return None;
    }
    let devices: Vec<&BlockDevice> = case.before.targets.iter().flat_map(TargetFacts::devices).collect();
    if let Some((device, start, block)) = devices.iter().find_map(|device| shifted(device)) {
        let text = format!(
            "{} starts at byte {start}, inside of a physical block of {block} bytes: each write of a block touches two.",
            device.name
        );
        let seen = Finding::at(Level::Caution, text, SOURCE)
            .remedy("Make the partition again, at a multiple of 1 MiB.");
        return Some(seen.with("physical_block_bytes", block as f64));
    }
    // The records of several targets are counted together: the smallest block cannot accuse wrongly.
    let block = devices.iter().filter_map(|device| physical_block(device)).min()?.min(SURE_BLOCK);
    let writes = case.tally.places().writes();
    let share = writes.misaligned(block) as f64 / writes.count().max(1) as f64;
    let seen = match MISALIGNED.level(share) {
        Level::Ok => Finding::ok(format!("Writes are whole physical blocks of {block} bytes."), SOURCE),
        level => Finding::at(
            level,
            format!("{} of the writes are no whole physical blocks of {block} bytes: the device reads before it writes.", percent(share)),
            SOURCE,
        )
        .remedy("Take request sizes and offsets that are multiples of the physical block; of a recorded load, say so in the report."),
    };
    Some(seen.with("share", share).with("physical_block_bytes", block as f64))
}

/// Drives without moving parts report larger blocks than they need to read before they write.
const SURE_BLOCK: u64 = 4096;

fn physical_block(device: &BlockDevice) -> Option<u64> {
    device.queue.physical_block_size.known().copied().filter(|block| block.is_power_of_two())
}

/// A partition that starts inside of a physical block: its start, and the size of the block.
fn shifted<'a>(device: &&'a BlockDevice) -> Option<(&'a BlockDevice, u64, u64)> {
    let Role::Partition { start, disk, .. } = &device.role else { return None };
    let (start, block) = (*start.known()?, physical_block(disk)?);
    (start % block != 0).then_some((*device, start, block))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    #[test]
    fn reports_partial_physical_blocks_and_shifted_partitions() {
        let lab = Lab::new().writes(980, 4096).writes(20, 512).on_disk("vda").physical_block(4096);
        let seen = lab.detection(&DETECTOR).unwrap();
        assert_eq!(seen.level, Level::Caution);
        assert!(
            seen.text.starts_with("2 % of the writes are no whole physical blocks of 4096"),
            "{}",
            seen.text
        );
        let shifted = Lab::new().writes(1_000, 4096).on_partition("sda1", 63 * 512, 4096);
        assert!(shifted.detection(&DETECTOR).unwrap().text.contains("sda1 starts at byte 32256"));
    }

    #[test]
    fn reports_rounded_requests_before_and_after_run() {
        let lab = |rounded| Lab::new().recorded().reads(1_000, 4096).on_disk("vda").rounded(rounded, 4096);
        let seen = lab(378).detection(&DETECTOR).unwrap();
        assert_eq!(seen.level, Level::Caution);
        assert!(
            seen.text.starts_with("37.8 % of the requests are no whole blocks of 4096 bytes"),
            "{}",
            seen.text
        );
        let told = lab(378).predicted();
        assert_eq!(
            told.iter().map(|one| (one.id, &one.text)).collect::<Vec<_>>(),
            [(DETECTOR.id, &seen.text)]
        );
        assert_eq!((lab(5).detection(&DETECTOR), lab(5).predicted()), (None, vec![]));
    }

    #[test]
    fn accepts_whole_blocks_and_reads() {
        let whole = Lab::new().writes(1_000, 4096).on_disk("vda").physical_block(4096);
        assert_eq!(whole.detection(&DETECTOR).unwrap().level, Level::Ok);
        let small = Lab::new().writes(1_000, 512).on_disk("vda").physical_block(512);
        assert_eq!(small.detection(&DETECTOR).unwrap().level, Level::Ok);
        let partition = Lab::new().writes(1_000, 4096).on_partition("sda1", 1 << 20, 4096);
        assert_eq!(partition.detection(&DETECTOR).unwrap().level, Level::Ok);
        assert_eq!(
            Lab::new().reads(1_000, 512).on_disk("vda").physical_block(4096).detection(&DETECTOR),
            None
        );
        assert_eq!(Lab::new().writes(1_000, 512).on_disk("vda").detection(&DETECTOR), None, "nobody knows");
    }
}
