//! Others that used the device.

use crate::detector::Most;
use crate::stack::{device_of, disk_of};
use crate::thresholds::{FOREIGN, LEAST_BYTES};
use crate::words::percent;
use crate::{Case, Detector, Seen};
use iosonar_analyze::{Channel, DetectorId, Level};
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
        TargetKind::BlockDevice(device) => Some(device.name.as_str()),
        _ => None,
    });
    let mut devices: Vec<&str> = devices.collect::<Option<_>>()?;
    devices.sort_unstable();
    devices.dedup();
    let is_direct = case.plan.jobs().all(|(_, job)| !case.plan.is_buffered(job));
    let has_disk = |name: &str| {
        let device = case.before.targets.iter().filter_map(device_of).find(|device| device.name == name);
        let disk = device.and_then(disk_of);
        case.before.targets.iter().filter_map(device_of).any(|other| Some(other.number) == disk)
    };
    // A disk counts what its partitions do.
    let disks: Vec<&str> = devices.iter().copied().filter(|name| !has_disk(name)).collect();
    let devices = disks;
    if !case.is_real() || case.is_remote() || devices.is_empty() || !is_direct {
        return None;
    }
    let grown =
        |counter| devices.iter().map(|name| case.samples.of_device(name, counter)).sum::<Option<f64>>();
    let (read, written) =
        (grown(DeviceCounter::ReadSectors)? * 512.0, grown(DeviceCounter::WriteSectors)? * 512.0);
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
