//! Writes that a device with a volatile cache may lose, and flushes that are too fast to be real.

use crate::detector::Most;
use crate::thresholds::{FASTEST_FLUSH_US, LEAST_FLUSHES};
use crate::{Case, Detector, Finding};
use iosonar_analyze::{Channel, DetectorId, Level};
use iosonar_evidence::target::{BlockDevice, Role};
use iosonar_evidence::{DeviceCounter, TargetFacts, TargetKind};

pub(super) const DETECTOR: Detector = Detector {
    id: DetectorId::VolatileCache,
    channel: Channel::Mapping,
    most: Most::always(Level::Info),
    explains: &[],
    about: "A device with a write-back cache acknowledges a write before it is on the medium. Without a flush the figure says how fast the cache \
            takes data, and not how fast it is kept. A flush that takes less than 100 us has reached a cache with a battery (blkreplay manual 5.2.3), \
            or nothing.",
    is_witness: false,
    says: None,
    predict: None,
    detect,
};

const SOURCE: &str = "queue/write_cache, and flushes in the device's stat file";

fn detect(case: &Case<'_>) -> Option<Finding> {
    if !case.is_real() || case.tally.traffic().writes.bytes == 0 {
        return None;
    }
    let is_volatile =
        |device: &&BlockDevice| device.queue.write_cache.known().is_some_and(|mode| mode == "write back");
    let below = case.before.targets.iter().flat_map(TargetFacts::devices);
    // The kernel counts the flushes of a partition for its disk.
    let devices: Vec<&BlockDevice> = below
        .filter(|device| is_volatile(device) && !matches!(device.role, Role::Partition { .. }))
        .collect();
    let Some(first) = devices.first() else {
        return Some(Finding::ok("No volatile write cache is known below the targets.", SOURCE));
    };
    let asked = case.most_flushes() > 0;
    // Others may have flushed a device; a file system does it for its files.
    if !asked && case.before.targets.iter().all(|target| matches!(target.kind, TargetKind::BlockDevice(_))) {
        return Some(not_flushed(first));
    }
    let counts = devices
        .iter()
        .filter_map(|device| Some((*device, case.samples.of_device(&device.name, DeviceCounter::FlushIos)?)));
    let counts: Vec<(&BlockDevice, f64)> = counts.collect();
    let (device, flushes) = match counts.iter().find(|(_, flushes)| *flushes > 0.0) {
        Some(counted) => *counted,
        None if counts.is_empty() || asked => {
            // Kernels before 5.5 do not count them, nor do some drivers.
            let text = format!("Whether flushes reached {} is not counted here.", first.name);
            return Some(Finding::unknown(text, SOURCE));
        }
        None => return Some(not_flushed(first)),
    };
    let took_us =
        case.samples.of_device(&device.name, DeviceCounter::FlushTicks).unwrap_or(f64::NAN) * 1e3 / flushes;
    Some(if flushes >= LEAST_FLUSHES && took_us < FASTEST_FLUSH_US {
        let text = format!(
            "{flushes:.0} flushes reached {} and took {took_us:.0} us on average, which is too fast for a medium that had something to write. A cache has a \
             battery, or flushes are ignored.",
            device.name
        );
        Finding::info(text, SOURCE)
            .remedy("Find out which, before data is trusted to it.")
            .with("flushes", flushes)
            .with("flush_us", took_us)
    } else {
        Finding::ok(
            format!("{flushes:.0} flushes reached {}, whose write cache is volatile.", device.name),
            SOURCE,
        )
    })
}

fn not_flushed(device: &BlockDevice) -> Finding {
    let text = format!(
        "{} has a volatile write cache, and nothing was flushed: writes may have been in it only.",
        device.name
    );
    Finding::info(text, SOURCE)
        .remedy("Flush after so many writes (--fsync N of 'iosonar run'), or make each write durable (--sync=dsync), where what counts is data that is kept.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    fn writes(flushes: u64) -> Lab {
        Lab::new().writes(1_500, 4096).fsyncs(flushes).on_disk("vda").write_cache("write back")
    }

    #[test]
    fn writes_without_flush_are_info() {
        assert_eq!(writes(0).flushes("vda", 0).detection(&DETECTOR).unwrap().level, Level::Info);
        let of_others = writes(0).flushes("vda", 7);
        assert_eq!(of_others.detection(&DETECTOR).unwrap().level, Level::Info);
    }

    #[test]
    fn uncounted_flushes_are_unknown() {
        assert_eq!(writes(7).detection(&DETECTOR).unwrap().level, Level::Unknown);
        assert_eq!(writes(7).flushes("vda", 0).detection(&DETECTOR).unwrap().level, Level::Unknown);
    }

    #[test]
    fn implausibly_fast_flushes_are_info() {
        let lab =
            |ms| writes(1_500).flushes("vda", 1_500).flush_time("vda", ms).detection(&DETECTOR).unwrap();
        let fast = lab(90.0);
        assert_eq!(fast.level, Level::Info);
        assert!(fast.text.starts_with("1500 flushes reached vda and took 60 us on average"), "{}", fast.text);
        assert_eq!(lab(900.0).level, Level::Ok);
    }

    #[test]
    fn accepts_flushes_and_write_through() {
        assert_eq!(writes(7).flushes("vda", 7).detection(&DETECTOR).unwrap().level, Level::Ok);
        let through = Lab::new().writes(1_000, 4096).on_disk("vda").write_cache("write through");
        assert_eq!(through.detection(&DETECTOR).unwrap().level, Level::Ok);
    }
}
