//! Writes that a device with a volatile cache may lose, and flushes that are too fast to be any.

use crate::detector::Most;
use crate::thresholds::{FASTEST_FLUSH_US, LEAST_FLUSHES};
use crate::{Case, Detector, Seen};
use iosonar_analyze::{Channel, DetectorId, Level};
use iosonar_evidence::target::{BlockDevice, Role};
use iosonar_evidence::{DeviceCounter, Fact, TargetFacts};

pub(super) const DETECTOR: Detector = Detector {
    id: DetectorId::VolatileCache,
    channel: Channel::Mapping,
    most: Most::always(Level::Info),
    explains: &[],
    about: "A device with a write-back cache acknowledges a write before it is on the medium. Without a flush the figure says how fast the cache \
            takes data, and not how fast it is kept. A flush that takes less than 100 us has reached a cache with a battery (blkreplay manual 5.2.3), \
            or nothing.",
    detect,
};

const SOURCE: &str = "queue/write_cache, and flushes in the device's stat file";

fn detect(case: &Case<'_>) -> Option<Seen> {
    if !case.is_real() || case.tally.traffic().writes.bytes == 0 {
        return None;
    }
    let is_volatile = |fact: &Fact<String>| fact.known().is_some_and(|mode| mode == "write back");
    let mut devices = case
        .before
        .targets
        .iter()
        .flat_map(TargetFacts::devices)
        .filter(|device| is_volatile(&device.queue.write_cache) && counts_flushes(device));
    let Some(device) = devices.next() else {
        return Some(Seen::ok("No volatile write cache is known below the targets.", SOURCE));
    };
    let Some(flushes) = case.samples.of_device(&device.name, DeviceCounter::FlushIos) else {
        // Kernels before 5.5 do not count them.
        return Some(Seen::unknown(
            format!("Whether flushes reached {} is not counted here.", device.name),
            SOURCE,
        ));
    };
    let took_us =
        case.samples.of_device(&device.name, DeviceCounter::FlushTicks).unwrap_or(f64::NAN) * 1e3 / flushes;
    Some(if flushes >= LEAST_FLUSHES && took_us < FASTEST_FLUSH_US {
        let text = format!(
            "{flushes:.0} flushes reached {} and took {took_us:.0} us on average, which is too fast for a medium that had something to write. A cache has a \
             battery, or flushes are ignored.",
            device.name
        );
        Seen::info(text, SOURCE)
            .remedy("Find out which, before data is trusted to it.")
            .with("flushes", flushes)
            .with("flush_us", took_us)
    } else if flushes > 0.0 {
        Seen::ok(
            format!("{flushes:.0} flushes reached {}, whose write cache is volatile.", device.name),
            SOURCE,
        )
    } else {
        Seen::info(
            format!(
                "{} has a volatile write cache, and nothing was flushed: writes may have been in it only.",
                device.name
            ),
            SOURCE,
        )
        .remedy("Flush with --flush-every, or write with --fua, where what counts is data that is kept.")
    })
}

/// The kernel counts the flushes of a partition for its disk, and those of a stacked device for what it consists of.
fn counts_flushes(device: &BlockDevice) -> bool {
    !matches!(device.role, Role::Partition { .. } | Role::Stacked { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    #[test]
    fn writes_without_a_flush_are_information() {
        let lab = Lab::new().writes(1_000, 4096).on_disk("vda").write_cache("write back");
        assert_eq!(lab.detection(&DETECTOR).unwrap().level, Level::Unknown);
        assert_eq!(lab.flushes("vda", 0).detection(&DETECTOR).unwrap().level, Level::Info);
    }

    #[test]
    fn flushes_that_no_medium_can_do_are_information() {
        let lab = |ms| {
            let lab =
                Lab::new().writes(1_500, 4096).on_disk("vda").write_cache("write back").flushes("vda", 1_500);
            lab.flush_time("vda", ms).detection(&DETECTOR).unwrap()
        };
        let fast = lab(90.0);
        assert_eq!(fast.level, Level::Info);
        assert!(fast.text.starts_with("1500 flushes reached vda and took 60 us on average"), "{}", fast.text);
        assert_eq!(lab(900.0).level, Level::Ok);
    }

    #[test]
    fn flushes_and_write_through_are_fine() {
        let flushed =
            Lab::new().writes(1_000, 4096).on_disk("vda").write_cache("write back").flushes("vda", 7);
        assert_eq!(flushed.detection(&DETECTOR).unwrap().level, Level::Ok);
        let through = Lab::new().writes(1_000, 4096).on_disk("vda").write_cache("write through");
        assert_eq!(through.detection(&DETECTOR).unwrap().level, Level::Ok);
    }
}
