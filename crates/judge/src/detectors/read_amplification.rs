//! More bytes read from the device than requested.

use crate::detector::Most;
use crate::thresholds::{AMPLIFIED, LEAST_BYTES};
use crate::{Case, Detector, Finding};
use iosonar_analyze::{Channel, DetectorId, Level};

pub(super) const DETECTOR: Detector = Detector {
    id: DetectorId::ReadAmplification,
    channel: Channel::Accounting,
    most: Most { device: Level::Fail, filesystem: Level::Info, cache: Level::Ok, replay: Level::Caution },
    explains: &[DetectorId::ReadsNotFromDevice],
    about: "Read-ahead and page faults read more than is asked for: 500 random pages through mmap have read 130 times their size. The device was \
            busy with bytes that are in no figure.",
    is_witness: false,
    says: None,
    predict: None,
    detect,
};

const SOURCE: &str = "/proc/self/io and the devices' stat files, before and after the run";

fn detect(case: &Case<'_>) -> Option<Finding> {
    let reads = case.reads();
    if !case.is_real() || reads.asked < LEAST_BYTES as f64 {
        return None;
    }
    // A read that is submitted again, because the queue of the device was full, is counted twice for the process.
    let read = reads.process?.min(reads.bottom?);
    let beyond = read / reads.asked - 1.0;
    // Direct reads have no read-ahead: extra bytes of the process are retries, and extra bytes of the device are of others.
    let level = if case.reads_directly() { Level::Ok } else { AMPLIFIED.level(beyond) };
    let seen = match level {
        Level::Ok => Finding::ok("No more was read from the device than was asked for.", SOURCE),
        level => Finding::at(level, format!("{:.1} times the bytes that were asked for were read from the device: by read-ahead or page faults.", beyond + 1.0), SOURCE)
            .remedy("Use direct I/O, or tell the kernel that access is random; see read_ahead_kb of the device's queue."),
    };
    Some(seen.with("read_over_asked", beyond + 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    fn read(process: u64, device: u64) -> Level {
        let lab = Lab::new()
            .buffered()
            .reads(1_000, 65_536)
            .on_disk("vda")
            .device_read("vda", device)
            .process_read(process)
            .claiming(iosonar_plan::Claim::Device);
        lab.detection(&DETECTOR).unwrap().level
    }

    #[test]
    fn reports_read_ahead() {
        assert_eq!(read(655_360_000, 655_360_000), Level::Fail);
    }

    #[test]
    fn accepts_reads_without_read_ahead() {
        assert_eq!(read(66_000_000, 66_000_000), Level::Ok);
        // The kernel has counted each read twice for the process; and others have used the device.
        assert_eq!(read(131_072_000, 65_536_000), Level::Ok);
        assert_eq!(read(65_536_000, 131_072_000), Level::Ok);
    }

    #[test]
    fn direct_reads_skip_read_ahead_unless_emulated() {
        // The kernel has counted each read twice for the process, and others have read as much from the device.
        let twice = Lab::new().reads(1_000, 65_536).device_read("vda", 131_072_000).process_read(131_072_000);
        assert_eq!(twice.clone().on_disk("vda").detection(&DETECTOR).unwrap().level, Level::Ok);
        let pretended = twice.on_file_system("ext4", "vda").pretended().claiming(iosonar_plan::Claim::Device);
        assert!(pretended.detection(&DETECTOR).unwrap().level > Level::Ok);
    }
}
