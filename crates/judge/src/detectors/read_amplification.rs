//! More bytes read from the device than were asked for.

use crate::detector::Most;
use crate::thresholds::{AMPLIFIED, LEAST_BYTES};
use crate::{Case, Detector, Seen};
use iosonar_analyze::{Channel, DetectorId, Level};

pub(super) const DETECTOR: Detector = Detector {
    id: DetectorId::ReadAmplification,
    channel: Channel::Accounting,
    most: Most { device: Level::Fail, filesystem: Level::Info, cache: Level::Ok, replay: Level::Caution },
    explains: &[DetectorId::ReadsNotFromDevice],
    about: "Read-ahead and page faults read more than is asked for: 500 random pages through mmap have read 130 times their size. The device was \
            busy with bytes that are in no figure.",
    detect,
};

const SOURCE: &str = "/proc/self/io, before and after the run";

fn detect(case: &Case<'_>) -> Option<Seen> {
    let reads = case.reads();
    if !case.is_real() || reads.asked < LEAST_BYTES as f64 {
        return None;
    }
    let beyond = reads.process? / reads.asked - 1.0;
    let seen = match AMPLIFIED.level(beyond) {
        Level::Ok => Seen::ok("No more was read from the device than was asked for.", SOURCE),
        level => Seen::at(level, format!("{:.1} times the bytes that were asked for were read from the device: by read-ahead or page faults.", beyond + 1.0), SOURCE)
            .remedy("Use direct I/O, or tell the kernel that access is random; see read_ahead_kb of the device's queue."),
    };
    Some(seen.with("read_over_asked", beyond + 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    #[test]
    fn read_ahead_is_told() {
        let lab =
            Lab::new().reads(1_000, 65_536).on_disk("vda").device_read("vda", 0).process_read(655_360_000);
        assert_eq!(lab.detection(&DETECTOR).unwrap().level, Level::Fail);
    }

    #[test]
    fn reads_of_what_was_asked_for_are_fine() {
        let lab =
            Lab::new().reads(1_000, 65_536).on_disk("vda").device_read("vda", 0).process_read(66_000_000);
        assert_eq!(lab.detection(&DETECTOR).unwrap().level, Level::Ok);
    }
}
