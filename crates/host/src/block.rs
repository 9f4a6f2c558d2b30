//! Block devices as described by sysfs.

use crate::kernel_fs::KernelFs;
use crate::target::{BlockDevice, Layer, PartitionPlace, Queue, Role};
use crate::{DevNumber, Fact, Root, file, loops};
use iosonar_text::shown;
use std::io;
use std::path::{Path, PathBuf};

/// Unit of sysfs sizes, for any block size of the device.
pub(crate) const SECTOR: u64 = 512;
/// Maximum depth of device stacks: deeper than any sensible stack, and a limit for broken ones.
const MAX_DEPTH: usize = 12;

/// Sysfs directory of all mounted btrfs.
pub(crate) const BTRFS: &str = "/sys/fs/btrfs";

/// Sysfs directory of the device with this number.
pub(crate) fn entry(number: DevNumber) -> String {
    format!("/sys/dev/block/{number}")
}

/// Sysfs directory of the device with this kernel name.
pub(crate) fn class_entry(name: &str) -> PathBuf {
    Path::new("/sys/class/block").join(name)
}

/// Describes a device and the layers below it.
///
/// # Errors
/// Sysfs lacks the device.
pub(crate) fn describe(number: DevNumber, root: &Root) -> io::Result<BlockDevice> {
    describe_below(number, root, 0)
}

/// Number of the device with this kernel name.
pub(crate) fn number_of(name: &str, root: &Root) -> Option<DevNumber> {
    root.read(class_entry(name).join("dev")).ok()?.parse().ok()
}

/// Size in bytes of the device with this kernel name.
pub(crate) fn size_of(name: &str, root: &Root) -> Option<u64> {
    in_bytes(class_entry(name).join("size"), root).known().copied()
}

/// Number of the device at `path`, for example `/dev/mapper/home`.
pub(crate) fn number_at(path: &str, root: &Root) -> Option<DevNumber> {
    let name = Path::new(path).strip_prefix("/dev").ok()?.to_str()?.replace('/', "!");
    let target = root.resolve(path).ok().filter(|target| target.starts_with("/dev"));
    let target = target.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
    number_of(&name, root).or_else(|| number_of(target?, root))
}

/// Kernel names of the partitions of the disk with this kernel name.
///
/// # Errors
/// Sysfs lacks the disk.
pub(crate) fn partitions(name: &str, root: &Root) -> io::Result<Vec<String>> {
    let disk = class_entry(name);
    let names = root.list(&disk)?;
    Ok(names.into_iter().filter(|name| root.exists(disk.join(name).join("partition"))).collect())
}

/// Reads a sysfs file in sectors, as bytes.
fn in_bytes(file: PathBuf, root: &Root) -> Fact<u64> {
    let too_large = || Fact::absent(format!("{} is larger than 64 bits of bytes", shown(&file)));
    let sectors = root.fact(&file).parse::<u64>();
    sectors.and_then(|sectors| sectors.checked_mul(SECTOR).map_or_else(too_large, Fact::Known))
}

/// Places of a disk's partitions, sorted.
fn partition_places(disk: &str, root: &Root) -> Vec<PartitionPlace> {
    let place = |name: String| {
        let bytes = |file| in_bytes(class_entry(disk).join(&name).join(file), root).known().copied();
        Some(PartitionPlace { start: bytes("start")?, size: bytes("size")?, name })
    };
    let names = partitions(disk, root).unwrap_or_default();
    let mut places: Vec<PartitionPlace> = names.into_iter().filter_map(place).collect();
    places.sort_by_key(|place| place.start);
    places
}

/// Kernel names of the devices on top of the one with this kernel name.
///
/// # Errors
/// The directory `holders`, which the kernel creates for each device, is unreadable.
pub(crate) fn holders(name: &str, root: &Root) -> io::Result<Vec<String>> {
    root.list(class_entry(name).join("holders"))
}

/// A device's kernel name, followed by its device mapper name: `dm-3 (vg-home)`.
pub(crate) fn given_name(name: &str, root: &Root) -> String {
    match root.read(class_entry(name).join("dm/name")) {
        Ok(given) if !given.is_empty() => format!("{name} ({given})"),
        _ => name.to_owned(),
    }
}

/// Whether device mapper blocks all I/O to the device.
pub(crate) fn is_suspended(name: &str, root: &Root) -> bool {
    root.read(class_entry(name).join("dm/suspended")).is_ok_and(|text| text == "1")
}

/// A mounted btrfs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BtrfsVolume {
    pub uuid: String,
    pub members: Vec<DevNumber>,
}

/// Returns every mounted btrfs: mountinfo shows them under an anonymous number and only one device. A kernel without
/// btrfs has no directory for it.
///
/// # Errors
/// The btrfs directory in sysfs is unreadable.
pub(crate) fn btrfs_volumes(root: &Root) -> io::Result<Vec<BtrfsVolume>> {
    let names = match root.list(BTRFS) {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    root.require(BTRFS, KernelFs::Sys)?;
    names.into_iter().filter_map(|name| btrfs_volume(name, root).transpose()).collect()
}

/// Reads a btrfs directory in sysfs; others, such as `features`, have no devices.
fn btrfs_volume(uuid: String, root: &Root) -> io::Result<Option<BtrfsVolume>> {
    let devices = match root.list(format!("{BTRFS}/{uuid}/devices")) {
        Ok(devices) => devices,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let number = |name: &String| {
        number_of(name, root)
            .ok_or_else(|| io::Error::other(format!("no number of {name}, a device of {uuid}")))
    };
    Ok(Some(BtrfsVolume { members: devices.iter().map(number).collect::<io::Result<_>>()?, uuid }))
}

/// Like [`describe`], `depth` layers below the target.
pub(crate) fn describe_below(number: DevNumber, root: &Root, depth: usize) -> io::Result<BlockDevice> {
    if depth > MAX_DEPTH {
        return Err(io::Error::other(format!("more than {MAX_DEPTH} layers below the target")));
    }
    let directory = root.resolve(entry(number))?;
    let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let disk = if root.exists(directory.join("partition")) { parent(&directory) } else { directory.clone() };
    let size = in_bytes(directory.join("size"), root).or_else(|| size_by_ioctl(&name, root));
    Ok(BlockDevice {
        number,
        size: match size {
            Fact::Known(bytes) => bytes,
            Fact::Absent { absent } => return Err(io::Error::other(absent)),
        },
        read_only: root.fact(directory.join("ro")).flag(),
        driver: driver(&disk, root),
        is_virtual: directory.starts_with("/sys/devices/virtual"),
        diskseq: root.fact(disk.join("diskseq")).parse(),
        model: first(root, &disk, &["device/model", "device/name"]),
        serial: first(root, &disk, &["serial", "device/serial", "wwid", "device/wwid", "dm/uuid", "md/uuid"]),
        queue: queue(&disk.join("queue"), root),
        role: role(&directory, root, depth)?,
        partitions: partition_places(&name, root),
        name,
    })
}

fn parent(directory: &Path) -> PathBuf {
    directory.parent().unwrap_or(directory).to_owned()
}

fn size_by_ioctl(name: &str, root: &Root) -> Fact<u64> {
    let device = std::fs::File::open(root.path(crate::target::dev_path(name)));
    device.and_then(|device| Ok(iosonar_os::blockdev::size(device)?)).into()
}

/// Content of the first readable one of these files.
fn first(root: &Root, disk: &Path, files: &[&str]) -> Fact<String> {
    let found = files.iter().find_map(|file| root.fact(disk.join(file)).known().cloned());
    match found {
        Some(text) => Fact::Known(text.trim().to_owned()),
        None => Fact::absent(format!("the driver has none of {} in {}", files.join(", "), shown(&disk))),
    }
}

/// Name of a disk's block driver, by its major number. Drivers that share a major are named by the disk's name up to
/// its first digit.
fn driver(disk: &Path, root: &Root) -> Fact<String> {
    let number: Fact<DevNumber> = root.fact(disk.join("dev")).parse();
    let by_number = number.and_then(|number| block_driver(number.major, root));
    if by_number.known().is_none_or(|name| name != SHARED_MAJOR) {
        return by_number;
    }
    let name = disk.file_name().unwrap_or_default().to_string_lossy();
    Fact::Known(name.chars().take_while(|c| !c.is_ascii_digit()).collect())
}

/// The name in `/proc/devices` of drivers without a separate major number, such as those of NVMe and of persistent memory.
const SHARED_MAJOR: &str = "blkext";

/// Name of the block driver with this major number.
fn block_driver(major: u32, root: &Root) -> Fact<String> {
    root.fact("/proc/devices").and_then(|text| {
        let blocks = text.split_once("Block devices:").map_or("", |(_, blocks)| blocks);
        let name = blocks.lines().find_map(|line| {
            let (number, name) = line.trim().split_once(' ')?;
            (number.parse() == Ok(major)).then(|| name.trim().to_owned())
        });
        name.map_or_else(|| Fact::absent(format!("/proc/devices has no block driver {major}")), Fact::Known)
    })
}

fn role(directory: &Path, root: &Root, depth: usize) -> io::Result<Role> {
    if root.exists(directory.join("partition")) {
        return partition(directory, root, depth);
    }
    if let Ok(backing_file) = root.read(directory.join("loop/backing_file")) {
        return Ok(looped(directory, &backing_file, root, depth));
    }
    let slaves = match root.list(directory.join("slaves")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        slaves => slaves.unwrap_or_default(),
    };
    if slaves.is_empty() { Ok(Role::Disk) } else { stacked(&slaves, root, depth) }
}

fn partition(directory: &Path, root: &Root, depth: usize) -> io::Result<Role> {
    let number = root.read(parent(directory).join("dev"))?.parse().map_err(io::Error::other)?;
    Ok(Role::Partition {
        index: root.fact(directory.join("partition")).parse(),
        start: in_bytes(directory.join("start"), root),
        disk: Box::new(describe_below(number, root, depth + 1)?),
    })
}

fn looped(directory: &Path, backing_file: &str, root: &Root, depth: usize) -> Role {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    Role::Loop {
        backing_file: PathBuf::from(backing_file),
        offset: root.fact(directory.join("loop/offset")).parse(),
        direct_io: root.fact(directory.join("loop/dio")).flag(),
        below: Box::new(below_loop(&name, backing_file, root, depth)),
    }
}

/// The layer below a loop device. The path in sysfs may meanwhile lead elsewhere, so the kernel's numbers must match.
fn below_loop(name: &str, backing_file: &str, root: &Root, depth: usize) -> Layer {
    match file::layer_at(Path::new(backing_file), root, depth + 1) {
        Layer::RegularFile(file) if !loops::is_backing(name, file.device, file.inode, root) => {
            Layer::Unknown(format!("{backing_file} is no longer the file that backs {name}"))
        }
        layer => layer,
    }
}

fn stacked(slaves: &[String], root: &Root, depth: usize) -> io::Result<Role> {
    let describe = |name: &String| {
        let number =
            number_of(name, root).ok_or_else(|| io::Error::other(format!("{name} has no number")))?;
        describe_below(number, root, depth + 1)
    };
    Ok(Role::Stacked { slaves: slaves.iter().map(describe).collect::<io::Result<_>>()? })
}

fn queue(directory: &Path, root: &Root) -> Queue {
    let text = |name: &str| root.fact(directory.join(name));
    let number = |name: &str| text(name).parse::<u64>();
    Queue {
        scheduler: text("scheduler").map(|line| chosen(&line)),
        nr_requests: number("nr_requests"),
        rotational: text("rotational").flag(),
        max_sectors_kb: number("max_sectors_kb"),
        max_hw_sectors_kb: number("max_hw_sectors_kb"),
        max_segments: number("max_segments"),
        write_cache: text("write_cache"),
        fua: text("fua").flag(),
        logical_block_size: number("logical_block_size"),
        physical_block_size: number("physical_block_size"),
        minimum_io_size: number("minimum_io_size"),
        optimal_io_size: number("optimal_io_size"),
        discard_max_bytes: number("discard_max_bytes"),
        discard_granularity: number("discard_granularity"),
        wbt_lat_usec: number("wbt_lat_usec"),
        nomerges: number("nomerges"),
        read_ahead_kb: number("read_ahead_kb"),
        iostats: text("iostats").flag(),
        dax: text("dax").flag(),
        zoned: text("zoned"),
    }
}

/// Returns the bracketed word of `mq-deadline [none]`.
fn chosen(line: &str) -> String {
    let bracketed = line.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    bracketed.unwrap_or(line).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    #[test]
    fn scheduler_in_use_is_the_bracketed_one() {
        assert_eq!(chosen("mq-deadline kyber [bfq] none"), "bfq");
        assert_eq!(chosen("none"), "none");
    }

    #[test]
    fn partition_resolves_to_its_disk() {
        let tree = Tree::new();
        tree.disk("sda", "8:0", 1000).partition("sda", "sda1", "8:1", 100);
        tree.file("/sys/devices/virtual/block/sda/device/model", "QM 1\n");
        let device = describe("8:1".parse().unwrap(), &tree.root()).unwrap();
        assert_eq!((device.name.as_str(), device.size), ("sda1", 100 * 512));
        assert_eq!(device.model, Fact::Known("QM 1".into()));
        let Role::Partition { disk, index, .. } = device.role else { panic!("{device:?}") };
        assert_eq!((disk.name.as_str(), index), ("sda", Fact::Known(1)));
        assert_eq!(partitions("sda", &tree.root()).unwrap(), ["sda1"]);
    }

    #[test]
    fn stacked_device_resolves_to_its_slaves() {
        let tree = Tree::new();
        tree.disk("sda", "8:0", 10).disk("sdb", "8:16", 10).disk("dm-0", "252:0", 20);
        tree.stack("dm-0", "sda").stack("dm-0", "sdb");
        let device = describe("252:0".parse().unwrap(), &tree.root()).unwrap();
        let Role::Stacked { slaves } = device.role else { panic!("{device:?}") };
        assert_eq!(slaves.iter().map(|slave| slave.name.as_str()).collect::<Vec<_>>(), ["sda", "sdb"]);
        assert_eq!(holders("sda", &tree.root()).unwrap(), ["dm-0"]);
    }

    #[test]
    fn unknown_values_carry_a_reason() {
        let tree = Tree::new();
        tree.disk("sda", "8:0", 10);
        let device = describe("8:0".parse().unwrap(), &tree.root()).unwrap();
        let Fact::Absent { absent } = device.queue.wbt_lat_usec else { panic!() };
        assert!(absent.contains("wbt_lat_usec") && absent.contains("No such file"), "{absent}");
    }
}
