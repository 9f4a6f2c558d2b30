//! Small requests that end before any block device could have answered.

use crate::detector::Most;
use crate::thresholds::{LEAST_SMALL, TOO_FAST};
use crate::words::percent;
use crate::{Case, Detector, Finding};
use iosonar_analyze::{Channel, DetectorId, Level, latency_floor_ns};

pub(super) const DETECTOR: Detector = Detector {
    id: DetectorId::FasterThanAnyDevice,
    channel: Channel::Latency,
    most: Most::of_devices(Level::Fail),
    explains: &[],
    about: "No block device answers in less than 2 µs: the fastest NVMe devices need 5 µs. A request of up to 16 KiB that takes less than \
            that and two copies in memory was answered by memory. Memory on the CPU's bus (DAX, CXL) is as fast, and is no block device.",
    is_witness: true,
    says: None,
    predict: None,
    detect,
};

const SOURCE: &str = "latencies of reads of at most 16 KiB";

fn detect(case: &Case<'_>) -> Option<Finding> {
    let reads = case.tally.traffic().reads;
    if !case.is_real() || reads.small < LEAST_SMALL {
        return None;
    }
    let share = reads.too_fast as f64 / reads.small as f64;
    let floor = latency_floor_ns(4096) as f64 / 1e3;
    let seen = match TOO_FAST.level(share) {
        Level::Ok => Finding::ok(format!("{} of the small reads were faster than block devices are.", percent(share)), SOURCE),
        level => Finding::at(
            level,
            format!("{} of the small reads were faster than any block device ({floor:.1} us for 4 KiB): memory answered them.", percent(share)),
            SOURCE,
        )
        .remedy("See what else is told of this run: the cause is a cache, a hole, or a target in memory."),
    };
    Some(seen.with("share", share).with("small_reads", reads.small as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    #[test]
    fn reports_latency_faster_than_any_device() {
        let fast = Lab::new().latency_ns(700).reads(1_000, 4096).detection(&DETECTOR).unwrap();
        assert_eq!(fast.level, Level::Fail);
        assert!(
            fast.text.contains("100 % of the small reads were faster than any block device (2.6 us"),
            "{}",
            fast.text
        );
    }

    #[test]
    fn accepts_device_latencies_and_skips_long_reads() {
        assert_eq!(
            Lab::new().latency_ns(60_000).reads(1_000, 4096).detection(&DETECTOR).unwrap().level,
            Level::Ok
        );
        assert_eq!(Lab::new().latency_ns(700).reads(1_000, 1 << 20).detection(&DETECTOR), None);
    }
}
