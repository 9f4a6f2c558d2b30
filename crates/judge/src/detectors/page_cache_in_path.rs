//! Layers that keep data in the page cache although direct I/O was requested.

use crate::detector::Most;
use crate::stack::{Part, parts};
use crate::thresholds::CUT_SECTORS;
use crate::words::percent;
use crate::{Case, Detector, Finding, PlannedRun};
use iosonar_analyze::{Channel, DetectorId, Level};
use iosonar_evidence::target::{BlockDevice, DirectIo, FileSystem, RegularFile, Role};
use iosonar_evidence::{Fact, TargetFacts, TargetKind};
use iosonar_text::shown;

pub(crate) const DETECTOR: Detector = Detector {
    id: DetectorId::PageCacheInPath,
    channel: Channel::Mapping,
    most: Most { device: Level::Fail, filesystem: Level::Info, cache: Level::Ok, replay: Level::Fail },
    explains: &[
        DetectorId::CacheBelow,
        DetectorId::ReadsNotFromDevice,
        DetectorId::WritesNotOnDevice,
        DetectorId::FasterThanAnyDevice,
        DetectorId::QueueDepthNotReached,
        DetectorId::GeneratorBound,
    ],
    about: "O_DIRECT opens without an error where it has no effect. A file system that cannot do it (ext4 with data=journal) goes through \
            the page cache; btrfs copies what it checksums; a loop device without direct I/O reads and writes its file through the page \
            cache.",
    is_witness: true,
    says: None,
    predict: Some(predict),
    detect,
};

const SOURCE: &str = "statx(2) of the file (STATX_DIOALIGN), loop/dio in sysfs, mount options";

fn detect(case: &Case<'_>) -> Option<Finding> {
    let planned = case.planned();
    let cut = of_cut_sectors(case);
    is_asked(&planned).then(|| seen(found(&planned).chain(cut))).filter(|_| case.is_real())
}

fn predict(planned: &PlannedRun<'_>) -> Option<Finding> {
    is_asked(planned).then(|| seen(found(planned)))
}

fn is_asked(planned: &PlannedRun<'_>) -> bool {
    planned.is_direct() && !planned.before.targets.is_empty()
}

fn found(planned: &PlannedRun<'_>) -> impl Iterator<Item = Assessment> {
    let has_writes = planned.has_writes();
    let all = planned.before.targets.iter().flat_map(parts);
    all.filter_map(move |part| of_part(part, has_writes))
}

fn seen(found: impl Iterator<Item = Assessment>) -> Finding {
    let Some((level, what, remedy)) = found.max_by_key(|(level, ..)| *level) else {
        return Finding::ok("Direct I/O is direct down to the device, as far as the kernel tells.", SOURCE);
    };
    let seen = Finding::at(level, format!("Direct I/O was asked for, but {what}."), SOURCE).remedy(remedy);
    if level == Level::Fail { seen.proof() } else { seen }
}

type Assessment = (Level, String, &'static str);

fn of_part(part: Part<'_>, has_writes: bool) -> Option<Assessment> {
    match part {
        Part::File(file) => of_file(file, has_writes),
        Part::Device(device) => of_device(device),
        Part::FileSystem(_) | Part::Unseen(_) | Part::Nothing => None,
    }
}

fn of_file(file: &RegularFile, has_writes: bool) -> Option<Assessment> {
    let file_system = file.file_system.known();
    let name = shown(&file.path);
    if file.direct_io == DirectIo::Unsupported {
        let kind = file_system.map_or("its file system", |file_system| file_system.kind.as_str());
        let remedy = "Use another file system, or mount ext4 with data=ordered.";
        return Some((Level::Fail, format!("{kind} does it through the page cache for {name}"), remedy));
    }
    let copies =
        file_system.filter(|file_system| has_writes && file_system.kind == "btrfs" && !is_plain(file_system));
    let remedy = "Set chattr +C on the empty file before it is written, or mount with nodatasum.";
    copies
        .map(|_| (Level::Caution, format!("btrfs copies what it writes to {name} to make checksums"), remedy))
}

/// Sector size of a btrfs with default options.
const BTRFS_SECTOR: u64 = 4096;

/// btrfs serves direct I/O on partial sectors through the page cache, without an error.
fn of_cut_sectors(case: &Case<'_>) -> Option<Assessment> {
    // The requests of all targets are counted together, so each has to be a file in btrfs.
    let is_in_btrfs = |target: &TargetFacts| match &target.kind {
        TargetKind::RegularFile(file) => file.file_system.known().is_some_and(|found| found.kind == "btrfs"),
        TargetKind::BlockDevice(_) | TargetKind::MemoryDevice(_) => false,
    };
    if !case.before.targets.iter().all(is_in_btrfs) {
        return None;
    }
    let places = case.tally.places();
    let mut all = *places.reads();
    all.merge(places.writes());
    let share = all.misaligned(BTRFS_SECTOR) as f64 / all.count().max(1) as f64;
    let level = CUT_SECTORS.level(share);
    (level > Level::Ok).then(|| {
        let what = format!(
            "btrfs does requests that are no whole sectors of {BTRFS_SECTOR} bytes through the page cache: {} of these",
            percent(share)
        );
        (level, what, "Take offsets and lengths that are multiples of 4096.")
    })
}

/// Whether a btrfs has data checksums disabled.
fn is_plain(file_system: &FileSystem) -> bool {
    let mut options = file_system.options.split(',').chain(file_system.super_options.split(','));
    options.any(|option| option == "nodatasum" || option == "nodatacow")
}

fn of_device(device: &BlockDevice) -> Option<Assessment> {
    let Role::Loop { direct_io: Fact::Known(false), backing_file, .. } = &device.role else { return None };
    let what =
        format!("the loop device {} goes to {} through the page cache", device.name, shown(&backing_file));
    Some((Level::Caution, what, "Set it up with losetup --direct-io=on."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    #[test]
    fn reports_buffered_loop_device_and_emulated_direct_io() {
        let seen = Lab::new().reads(1_000, 4096).on_loop(false).detection(&DETECTOR).unwrap();
        assert_eq!((seen.level, seen.is_proof), (Level::Caution, false));
        assert!(
            seen.text.contains("the loop device loop0 goes to /image through the page cache"),
            "{}",
            seen.text
        );
        let seen = Lab::new()
            .reads(1_000, 4096)
            .on_file_system("ext4", "vda")
            .pretended()
            .detection(&DETECTOR)
            .unwrap();
        assert_eq!((seen.level, seen.is_proof), (Level::Fail, true));
        let btrfs = Lab::new().on_file_system("btrfs", "vda");
        assert_eq!(btrfs.clone().writes(1_000, 4096).detection(&DETECTOR).unwrap().level, Level::Caution);
        assert_eq!(btrfs.clone().reads(1_000, 4096).detection(&DETECTOR).unwrap().level, Level::Ok);
        let cut = btrfs.reads(1_000, 512).detection(&DETECTOR).unwrap();
        assert!(
            cut.level == Level::Fail && cut.text.contains("no whole sectors of 4096 bytes"),
            "{}",
            cut.text
        );
        let ext4 = Lab::new().on_file_system("ext4", "vda").reads(1_000, 512);
        assert_eq!(ext4.detection(&DETECTOR).unwrap().level, Level::Ok);
    }

    #[test]
    fn accepts_direct_io_and_skips_buffered_runs() {
        for lab in
            [Lab::new().on_loop(true), Lab::new().on_disk("vda"), Lab::new().on_file_system("ext4", "vda")]
        {
            assert_eq!(lab.reads(1_000, 4096).detection(&DETECTOR).unwrap().level, Level::Ok);
        }
        assert_eq!(Lab::new().reads(1_000, 4096).on_loop(false).buffered().detection(&DETECTOR), None);
    }
}
