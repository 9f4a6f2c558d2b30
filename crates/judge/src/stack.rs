//! Layers below a target: down to devices whose counters close the account of bytes, or to invisible layers.

use iosonar_evidence::target::{BlockDevice, DirectIo, FileSystem, Layer, RegularFile, Role};
use iosonar_evidence::{Fact, TargetFacts, TargetKind};

/// The bottom layer of a target's bytes.
#[derive(Debug, Clone, PartialEq)]
pub enum Bottom<'a> {
    /// A device with nothing below it that this machine can see.
    Device(&'a BlockDevice),
    /// An NFS server, whose bytes are counted where it is mounted.
    Server(&'a FileSystem),
    /// Memory of this kind.
    Memory(String),
    /// A layer without counters here, with a description.
    Unseen(String),
}

impl<'a> Bottom<'a> {
    pub(crate) fn device(&self) -> Option<&'a BlockDevice> {
        match self {
            Bottom::Device(device) => Some(device),
            Bottom::Server(_) | Bottom::Memory(_) | Bottom::Unseen(_) => None,
        }
    }
}

/// Whether a device is a partition of one of `others`: a disk counts what its partitions do.
pub(crate) fn is_in_another(device: &BlockDevice, others: &[&BlockDevice]) -> bool {
    let Role::Partition { disk, .. } = &device.role else { return false };
    others.iter().any(|other| other.number == disk.number)
}

/// Drivers of devices that keep their data in memory ([`BlockDevice::driver`]).
const IN_MEMORY: [&str; 4] = ["zram", "ramdisk", "pmem", "nullb"];
/// Copy-on-write file systems.
const COPY_ON_WRITE: [&str; 5] = ["btrfs", "zfs", "bcachefs", "f2fs", "nilfs2"];
/// File systems that keep their data in memory.
const MEMORY_FILE_SYSTEMS: [&str; 4] = ["tmpfs", "ramfs", "rootfs", "devtmpfs"];

/// The device that requests of a target reach first; `None` if it is not a device.
pub fn device_of(target: &TargetFacts) -> Option<&BlockDevice> {
    match &target.kind {
        TargetKind::BlockDevice(device) => Some(device),
        TargetKind::RegularFile(file) => first_device(file.file_system.known()?),
        TargetKind::MemoryDevice(_) => None,
    }
}

fn first_device(file_system: &FileSystem) -> Option<&BlockDevice> {
    match file_system.below.as_slice() {
        [Layer::BlockDevice(device)] => Some(device),
        [Layer::FileSystem(below)] => first_device(below),
        _ => None,
    }
}

/// A target or something below it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part<'a> {
    /// A block device.
    Device(&'a BlockDevice),
    /// A file.
    File(&'a RegularFile),
    /// The file system of a file.
    FileSystem(&'a FileSystem),
    /// Unknown, with the reason.
    Unseen(&'a str),
    /// A character device that discards data.
    Nothing,
}

/// A target and everything below it, from the top down.
pub(crate) fn parts(target: &TargetFacts) -> Vec<Part<'_>> {
    let mut found = Vec::new();
    match &target.kind {
        TargetKind::BlockDevice(device) => of_device(device, &mut found),
        TargetKind::RegularFile(file) => of_file(file, &mut found),
        TargetKind::MemoryDevice(_) => found.push(Part::Nothing),
    }
    found
}

fn of_device<'a>(device: &'a BlockDevice, found: &mut Vec<Part<'a>>) {
    found.push(Part::Device(device));
    match &device.role {
        Role::Disk => {}
        // Its own counters are used.
        Role::Partition { .. } => {}
        Role::Loop { below, .. } => of_layer(below, found),
        Role::Stacked { slaves } => slaves.iter().for_each(|slave| of_device(slave, found)),
    }
}

fn of_layer<'a>(layer: &'a Layer, found: &mut Vec<Part<'a>>) {
    match layer {
        Layer::BlockDevice(device) => of_device(device, found),
        Layer::RegularFile(file) => of_file(file, found),
        Layer::FileSystem(file_system) => of_file_system(file_system, found),
        Layer::Unknown(why) => found.push(Part::Unseen(why)),
    }
}

fn of_file<'a>(file: &'a RegularFile, found: &mut Vec<Part<'a>>) {
    found.push(Part::File(file));
    match &file.file_system {
        Fact::Known(file_system) => of_file_system(file_system, found),
        Fact::Absent { absent } => found.push(Part::Unseen(absent)),
    }
}

fn of_file_system<'a>(file_system: &'a FileSystem, found: &mut Vec<Part<'a>>) {
    found.push(Part::FileSystem(file_system));
    file_system.below.iter().for_each(|layer| of_layer(layer, found));
}

fn is_in_memory(device: &BlockDevice) -> bool {
    // In older results the driver of a partition means nothing.
    whole(device).driver.known().is_some_and(|driver| IN_MEMORY.contains(&driver.as_str()))
}

fn is_of_memory(file_system: &FileSystem) -> bool {
    MEMORY_FILE_SYSTEMS.contains(&file_system.kind.as_str())
}

/// Disks at the bottom of a target; for partitions the disks that they are on.
pub(crate) fn disks_of(target: &TargetFacts) -> Vec<&BlockDevice> {
    disks(parts(target))
}

/// Disks at the bottom of a file system.
pub(crate) fn disks_below(file_system: &FileSystem) -> Vec<&BlockDevice> {
    let mut found = Vec::new();
    of_file_system(file_system, &mut found);
    disks(found)
}

fn disks(parts: Vec<Part<'_>>) -> Vec<&BlockDevice> {
    let of_part = |part| match part {
        Part::Device(device) if is_bottom(device) => Some(match &device.role {
            Role::Partition { disk, .. } => disk.as_ref(),
            _ => device,
        }),
        _ => None,
    };
    parts.into_iter().filter_map(of_part).collect()
}

/// The bottoms of a target.
pub fn bottoms(target: &TargetFacts) -> Vec<Bottom<'_>> {
    let mut found: Vec<Bottom<'_>> = Vec::new();
    for part in parts(target) {
        let bottom = match part {
            Part::Device(device) if is_in_memory(device) => {
                let driver = whole(device).driver.known().map_or("", String::as_str);
                Bottom::Memory(format!("{} ({driver})", device.name))
            }
            // A partition has separate counters: others on the same disk do not disturb them.
            Part::Device(device) if is_bottom(device) && device.queue.iostats == Fact::Known(false) => {
                Bottom::Unseen(format!("{} counts no requests (queue/iostats is 0)", device.name))
            }
            Part::Device(device) if is_bottom(device) => Bottom::Device(device),
            Part::Device(_) | Part::File(_) => continue,
            Part::FileSystem(file_system) => match of_no_device(file_system) {
                Some(bottom) => bottom,
                None => continue,
            },
            Part::Unseen(why) => Bottom::Unseen(why.into()),
            Part::Nothing => Bottom::Memory("a character device that keeps nothing".into()),
        };
        if !found.contains(&bottom) {
            found.push(bottom);
        }
    }
    found
}

/// Why reading blocks of a target twice would reveal nothing about the layers below Linux; `None` if it may. How zram stores data
/// depends on the content, so it is probed.
pub fn why_not_reread(target: &TargetFacts) -> Option<String> {
    let of_memory = |what: &str| Some(format!("its data is in memory ({what})"));
    if let TargetKind::RegularFile(file) = &target.kind
        && file.direct_io == DirectIo::Unsupported
    {
        return Some("its file system does direct I/O through the page cache".into());
    }
    parts(target).into_iter().find_map(|part| match part {
        Part::Device(device) if is_in_memory(device) => {
            device.driver.known().filter(|driver| *driver != "zram").and_then(|driver| of_memory(driver))
        }
        Part::FileSystem(file_system) if is_of_memory(file_system) => of_memory(&file_system.kind),
        Part::FileSystem(file_system) if compresses(file_system) => {
            Some("its file system compresses, and reads what it has compressed through the page cache".into())
        }
        Part::Nothing => Some("it keeps nothing".into()),
        Part::Device(_) | Part::File(_) | Part::FileSystem(_) | Part::Unseen(_) => None,
    })
}

/// The bottoms of all targets, each device once.
pub fn bottoms_of(targets: &[TargetFacts]) -> Vec<Bottom<'_>> {
    let mut all = Vec::new();
    for bottom in targets.iter().flat_map(bottoms) {
        if !all.contains(&bottom) {
            all.push(bottom);
        }
    }
    let devices: Vec<&BlockDevice> = all.iter().filter_map(Bottom::device).collect();
    all.retain(|bottom| !bottom.device().is_some_and(|device| is_in_another(device, &devices)));
    all
}

/// Whether the counters of a device are the last on the way down. The disk of a partition is ignored.
fn is_bottom(device: &BlockDevice) -> bool {
    match &device.role {
        Role::Disk | Role::Partition { .. } => true,
        Role::Loop { .. } => false,
        Role::Stacked { slaves } => slaves.is_empty(),
    }
}

/// Whether a device is a disk that rotates. Virtual disks claim so by default.
pub(crate) fn rotates(device: &BlockDevice) -> bool {
    device.queue.rotational == Fact::Known(true)
        && !device.is_virtual
        && device.driver.known().is_some_and(|driver| driver == "sd")
}

/// The first device below a file system, for a sentence; the type of the file system if there is none.
pub(crate) fn name_of(file_system: &FileSystem) -> String {
    match first_device(file_system) {
        Some(device) => format!("{} on {}", file_system.kind, device.name),
        None => file_system.kind.clone(),
    }
}

/// The layer of a target that relocates rewritten data, so that each run changes the map for the next; `None` if no visible layer does.
pub(crate) fn moves_data(target: &TargetFacts) -> Option<String> {
    parts(target).into_iter().find_map(|part| match part {
        Part::FileSystem(file_system) if copies_on_write(file_system) => {
            Some(format!("{} puts what is written again to another place", file_system.kind))
        }
        _ => None,
    })
}

pub(crate) fn copies_on_write(file_system: &FileSystem) -> bool {
    let mut options = file_system.super_options.split(',').chain(file_system.options.split(','));
    COPY_ON_WRITE.contains(&file_system.kind.as_str()) && !options.any(|option| option == "nodatacow")
}

/// The layer of a target that this machine cannot see into, although it may allocate blocks on writes: a disk that is used as a whole or
/// by partitions, and volumes of the device mapper, which may be thin.
pub(crate) fn black_box(target: &TargetFacts) -> Option<&str> {
    let mapped = parts(target).into_iter().find_map(|part| match part {
        Part::Device(device) if device.driver.known().is_some_and(|driver| driver == "device-mapper") => {
            Some(device)
        }
        _ => None,
    });
    let raw = match &target.kind {
        TargetKind::BlockDevice(device) if !matches!(whole(device).role, Role::Loop { .. }) => {
            Some(&**device)
        }
        _ => None,
    };
    mapped.or(raw).map(|device| device.name.as_str())
}

/// The disk of a partition; other devices as they are.
fn whole(device: &BlockDevice) -> &BlockDevice {
    match &device.role {
        Role::Partition { disk, .. } => whole(disk),
        _ => device,
    }
}

/// Whether a file system is known to compress what it stores.
pub(crate) fn compresses(file_system: &FileSystem) -> bool {
    let mut options = file_system.super_options.split(',').chain(file_system.options.split(','));
    file_system.kind == "zfs" || options.any(|option| option.starts_with("compress"))
}

/// The bottom of a file system whose data is on no visible device.
fn of_no_device(file_system: &FileSystem) -> Option<Bottom<'_>> {
    let kind = file_system.kind.as_str();
    if is_of_memory(file_system) {
        return Some(Bottom::Memory(kind.into()));
    }
    if file_system.is_nfs() {
        return Some(Bottom::Server(file_system));
    }
    if compresses(file_system) {
        return Some(Bottom::Unseen(format!("{kind} compresses, so its device sees other numbers of bytes")));
    }
    // A FUSE file system may have a device in its mount line; its server reads it, and this process is not counted.
    let is_elsewhere = file_system.below.is_empty() || kind.starts_with("fuse");
    is_elsewhere.then(|| Bottom::Unseen(format!("the data of {kind} comes from elsewhere")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    #[test]
    fn skips_reread_probe_for_data_in_memory() {
        let why = |lab: Lab| why_not_reread(lab.facts());
        assert_eq!(why(Lab::new().on_file_system("tmpfs", "")).unwrap(), "its data is in memory (tmpfs)");
        assert_eq!(why(Lab::new().on_device("ram0", "ramdisk")).unwrap(), "its data is in memory (ramdisk)");
        let pretended = why(Lab::new().on_file_system("ext4", "vda").pretended()).unwrap();
        assert!(pretended.contains("through the page cache"), "{pretended}");
        for lab in [
            Lab::new().on_disk("vda"),
            Lab::new().on_loop(false),
            Lab::new().on_file_system("ext4", "vda"),
            Lab::new().on_device("zram0", "zram"),
        ] {
            assert_eq!(why(lab), None);
        }
    }
}
