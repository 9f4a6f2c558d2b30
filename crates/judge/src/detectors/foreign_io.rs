//! Others that used the device.

use crate::detector::Most;
use crate::stack::is_in_another;
use crate::thresholds::{FOREIGN, LEAST_BYTES};
use crate::words::percent;
use crate::{Case, Detector, Seen};
use iosonar_analyze::{Channel, DetectorId, Level};
use iosonar_evidence::target::BlockDevice;
use iosonar_evidence::{DeviceCounter, TargetKind};

pub(super) const DETECTOR: Detector = Detector {
    id: DetectorId::ForeignIo,
    channel: Channel::Environment,
    most: Most { cache: Level::Info, ..Most::always(Level::Fail) },
    explains: &[
        DetectorId::NotSteady,
        DetectorId::Noisy,
        DetectorId::StallsHidden,
        DetectorId::CannotKeepUp,
        DetectorId::RequestsReshaped,
        DetectorId::QueueDepthNotReached,
    ],
    about: "Requests of others on the same device delay ours, and what the device counts is not the run's alone. A file system that was just \
            made initialises its tables in the background; a RAID resynchronises.",
    detect,
};

const SOURCE: &str = "the target's stat file, before and after the run, beside the requests";

fn detect(case: &Case<'_>) -> Option<Seen> {
    // Below a file system others have files too, and the file system writes for itself: nobody can tell whose it is.
    let devices = case.before.targets.iter().map(|target| match &target.kind {
        TargetKind::BlockDevice(device) => Some(device.as_ref()),
        _ => None,
    });
    let all: Vec<&BlockDevice> = devices.collect::<Option<_>>()?;
    if !case.is_real() || case.is_remote() || all.is_empty() || !case.is_direct() {
        return None;
    }
    let apart = all.iter().filter(|device| !is_in_another(device, &all));
    let mut devices: Vec<&str> = apart.map(|device| device.name.as_str()).collect();
    devices.sort_unstable();
    devices.dedup();
    let read = case.bytes_of(devices.iter().copied(), DeviceCounter::ReadSectors)?;
    let written = case.bytes_of(devices.iter().copied(), DeviceCounter::WriteSectors)?;
    let own_writes = case.writes().asked + case.tally.traffic().zeroed_bytes as f64;
    let foreign = (read - case.reads().asked).max(0.0) + (written - own_writes).max(0.0);
    if read + written < LEAST_BYTES as f64 {
        return None;
    }
    let (share, devices) = (foreign / (read + written), devices.join(", "));
    let seen = match FOREIGN.level(share) {
        Level::Ok => Seen::ok(format!("Nobody else used {devices}."), SOURCE),
        level => Seen::at(level, format!("{} of the bytes on {devices} were not of this run: others used it.", percent(share)), SOURCE)
            .remedy("Stop the other user; wait until a new file system or a RAID has finished its work in the background.")
            .effect(1.0 / (1.0 - share).max(1e-3)),
    };
    Some(seen.with("foreign_bytes", foreign).with("share", share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    #[test]
    fn bytes_of_others_are_told() {
        let lab = Lab::new()
            .reads(1_000, 65_536)
            .on_disk("vda")
            .device_read("vda", 90_000_000)
            .device_written("vda", 0);
        let seen = lab.detection(&DETECTOR).unwrap();
        assert_eq!(seen.level, Level::Fail);
        assert!(seen.text.contains("27.2 % of the bytes on vda"), "{}", seen.text);
    }

    #[test]
    fn a_device_of_our_own_is_fine_and_a_file_system_says_nothing() {
        let lab = Lab::new().reads(1_000, 65_536).device_read("vda", 65_600_000).device_written("vda", 0);
        assert_eq!(lab.clone().on_disk("vda").detection(&DETECTOR).unwrap().level, Level::Ok);
        assert_eq!(lab.on_file_system("ext4", "vda").detection(&DETECTOR), None);
    }
}
