//! Other programs that used the device.

use crate::detector::Most;
use crate::stack::{Part, compresses, copies_on_write, disks_of, is_in_another, parts};
use crate::thresholds::{FOREIGN, FOREIGN_BELOW, LEAST_BYTES, LEAST_FOREIGN, Limits, PER_FLUSH};
use crate::words::percent;
use crate::{Case, Detector, Finding};
use iosonar_analyze::{Channel, DetectorId, Level};
use iosonar_evidence::target::{BlockDevice, FileSystem, Role};
use iosonar_evidence::{DeviceCounter, Fact, OwnUse, Series, TargetKind};

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
    about: "Requests of others on the same device, or on a disk below it, delay ours, and what the device counts is not the run's alone. A file \
            system that was just made initialises its tables in the background; a RAID resynchronises.",
    is_witness: false,
    says: None,
    predict: None,
    detect,
};

const SOURCE: &str = "stat files of the devices, before and after the run, beside the requests";

fn detect(case: &Case<'_>) -> Option<Finding> {
    if !case.is_real() || case.is_remote() || !case.is_direct() {
        return None;
    }
    let (at_targets, below) = (Use::of_targets(case), Use::below_targets(case));
    let all = || at_targets.iter().chain(&below);
    let worst = all().max_by_key(|one| one.level())?;
    let seen = match worst.level() {
        Level::Ok => {
            let names: Vec<&str> = all().map(|one| one.devices.as_str()).collect();
            Finding::ok(format!("Nobody else used {}.", names.join(", nor below it ")), SOURCE)
        }
        level => Finding::at(level, worst.sentence(), SOURCE)
            .remedy("Stop the other user; wait until a new file system or a RAID has finished its work in the background.")
            .effect(1.0 / (1.0 - worst.share()).max(1e-3)),
    };
    Some(seen.with("foreign_bytes", worst.foreign).with("share", worst.share()))
}

/// Devices whose bytes beyond those of the run belong to others.
#[derive(Debug, Clone, PartialEq)]
pub struct Watched {
    /// Their names.
    pub devices: Vec<String>,
    /// Upper bound of the bytes that are written there for each byte that the run writes.
    pub write_factor: f64,
}

/// The devices of a run on which others can be distinguished: those of its targets, and the disks below them.
pub fn watched(case: &Case<'_>) -> Vec<Watched> {
    if !case.is_real() || case.is_remote() || !case.is_direct() {
        return Vec::new();
    }
    let named = |names: Vec<&str>| names.into_iter().map(String::from).collect();
    let at_targets =
        devices_of_targets(case).map(|names| Watched { devices: named(names), write_factor: 1.0 });
    let below = disks_below(case).map(|(disks, between)| {
        let times = between.iter().filter_map(file_system).map(Own::times_of);
        Watched { devices: named(disks), write_factor: times.fold(1.0, f64::max) }
    });
    at_targets.into_iter().chain(below).collect()
}

/// The devices of targets that are all devices; a partition of another one does not count again.
fn devices_of_targets<'a>(case: &Case<'a>) -> Option<Vec<&'a str>> {
    let devices = case.before.targets.iter().map(|target| match &target.kind {
        TargetKind::BlockDevice(device) => Some(device.as_ref()),
        _ => None,
    });
    let all: Vec<&BlockDevice> = devices.collect::<Option<_>>().filter(|all: &Vec<_>| !all.is_empty())?;
    let apart = all.iter().filter(|device| !is_in_another(device, &all));
    Some(distinct(apart.map(|device| device.name.as_str())))
}

/// The disks below the targets, and what lies between, if each layer hands on the requests of the run.
fn disks_below<'a>(case: &Case<'a>) -> Option<(Vec<&'a str>, Vec<Part<'a>>)> {
    let targets = &case.before.targets;
    let between: Vec<Part<'_>> = targets.iter().flat_map(parts).collect();
    if !case.reads_directly() || !between.iter().all(hands_on) {
        return None;
    }
    let disks = distinct(targets.iter().flat_map(disks_of).map(|disk| disk.name.as_str()));
    let is_target = |name: &str| {
        targets
            .iter()
            .any(|target| matches!(&target.kind, TargetKind::BlockDevice(device) if device.name == name))
    };
    let is_below = !disks.is_empty() && !disks.iter().all(|name| is_target(name));
    is_below.then_some((disks, between))
}

/// Use of some devices.
struct Use {
    /// Names of the devices.
    devices: String,
    /// Bytes that they moved.
    moved: f64,
    /// Lower bound of the bytes of others among them.
    foreign: f64,
    limits: Limits,
    /// Fewer bytes of others are ignored.
    least: f64,
}

impl Use {
    /// For targets that are all devices: bytes beyond the requests belong to others.
    fn of_targets(case: &Case<'_>) -> Option<Use> {
        Use::of(case, &devices_of_targets(case)?, &Own::of(case), FOREIGN, 0.0)
    }

    /// For the disks below the targets. File systems write for themselves, too, and the result may be on the same disk.
    fn below_targets(case: &Case<'_>) -> Option<Use> {
        let (disks, between) = disks_below(case)?;
        let own = between.iter().filter_map(file_system).map(Own::times_of).fold(Own::of(case), Own::through);
        Use::of(case, &disks, &own.with_result(case), FOREIGN_BELOW, LEAST_FOREIGN)
    }

    fn of(case: &Case<'_>, names: &[&str], own: &Own, limits: Limits, least: f64) -> Option<Use> {
        let moved = |counter| case.bytes_of(names.iter().copied(), counter);
        let (read, written) = (moved(DeviceCounter::ReadSectors)?, moved(DeviceCounter::WriteSectors)?);
        let foreign = (read - own.read).max(0.0) + (written - own.written).max(0.0);
        let enough = read + written >= LEAST_BYTES as f64;
        enough.then(|| Use { devices: names.join(", "), moved: read + written, foreign, limits, least })
    }

    fn share(&self) -> f64 {
        self.foreign / self.moved
    }

    fn level(&self) -> Level {
        if self.foreign < self.least { Level::Ok } else { self.limits.level(self.share()) }
    }

    fn sentence(&self) -> String {
        format!(
            "{} of the bytes on {} were not of this run: others used it.",
            percent(self.share()),
            self.devices
        )
    }
}

/// Bytes that a run may have caused.
struct Own {
    read: f64,
    written: f64,
    /// Maximum number of flushes.
    flushes: f64,
}

impl Own {
    fn of(case: &Case<'_>) -> Own {
        Own {
            read: case.reads().asked,
            written: case.writes().asked + case.tally.traffic().zeroed_bytes as f64,
            flushes: case.most_flushes() as f64,
        }
    }

    /// Upper bound of a file system's write amplification, metadata included.
    fn times_of(file_system: &FileSystem) -> f64 {
        if copies_on_write(file_system) { 4.0 } else { 2.0 }
    }

    /// Bytes below a file system.
    fn through(self, times: f64) -> Own {
        Own { written: self.written * times + self.flushes * PER_FLUSH, ..self }
    }

    /// Adds all other writes of the process.
    fn with_result(self, case: &Case<'_>) -> Own {
        let written = case.samples.growth(&Series::Own(OwnUse::Written)).unwrap_or(0.0);
        Own { written: self.written + written, ..self }
    }
}

/// Whether the layer below gets each request unchanged. Through a page cache it gets others, later or never.
fn hands_on(part: &Part<'_>) -> bool {
    match part {
        Part::Device(device) => match &device.role {
            Role::Loop { direct_io, .. } => *direct_io == Fact::Known(true),
            Role::Disk | Role::Partition { .. } | Role::Stacked { .. } => true,
        },
        Part::File(_) => true,
        Part::FileSystem(file_system) => !compresses(file_system),
        Part::Unseen(_) | Part::Nothing => false,
    }
}

fn file_system<'a>(part: &Part<'a>) -> Option<&'a FileSystem> {
    match part {
        Part::FileSystem(file_system) => Some(file_system),
        _ => None,
    }
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    #[test]
    fn reports_foreign_bytes() {
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
    fn accepts_exclusive_device() {
        let lab = Lab::new().reads(1_000, 65_536).device_read("vda", 65_600_000).device_written("vda", 0);
        assert_eq!(lab.clone().on_disk("vda").detection(&DETECTOR).unwrap().level, Level::Ok);
        // The file system writes for itself: a little more does not count as foreign.
        assert_eq!(lab.on_file_system("ext4", "vda").detection(&DETECTOR).unwrap().level, Level::Ok);
    }

    #[test]
    fn reports_foreign_io_on_underlying_disk() {
        // Of a direct loop device the disk sees what the device sees, and 98 % more.
        let lab = |direct: bool, below: u64| {
            let lab = Lab::new().reads(1_000, 65_536).on_loop(direct).device_read("loop0", 65_536_000);
            lab.device_written("loop0", 0).device_read("vda", below).device_written("vda", 0)
        };
        let seen = lab(true, 3_276_800_000).detection(&DETECTOR).unwrap();
        assert_eq!(seen.level, Level::Caution);
        assert!(seen.text.starts_with("98 % of the bytes on vda were not of this run"), "{}", seen.text);
        let alone = lab(true, 66_000_000).detection(&DETECTOR).unwrap();
        assert_eq!(
            (alone.level, alone.text.as_str()),
            (Level::Ok, "Nobody else used loop0, nor below it vda.")
        );
        // Through a page cache it is unknown which bytes reach the disk.
        let cached = lab(false, 3_276_800_000).detection(&DETECTOR).unwrap();
        assert_eq!((cached.level, cached.text.as_str()), (Level::Ok, "Nobody else used loop0."));
    }

    #[test]
    fn file_system_metadata_writes_are_not_foreign() {
        let lab = |written: u64| {
            let lab = Lab::new().writes(1_000, 65_536).fsyncs(100).on_file_system("ext4", "vda");
            lab.device_read("vda", 0).device_written("vda", written)
        };
        assert_eq!(lab(130_000_000).detection(&DETECTOR).unwrap().level, Level::Ok);
        assert_eq!(lab(900_000_000).detection(&DETECTOR).unwrap().level, Level::Caution);
    }
}
