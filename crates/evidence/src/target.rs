//! Facts about a target, as data.

use crate::{DevNumber, Fact, FormerRun};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// All facts about a target before the run touches it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetFacts {
    /// Path as typed.
    pub path: PathBuf,
    /// Path with all symbolic links resolved.
    pub resolved: PathBuf,
    /// Size in bytes, never 0.
    pub size: u64,
    /// Alignment of offsets and lengths for direct I/O.
    pub logical_block_size: BlockSize,
    /// Why writes would fail; `None` if they would not.
    pub unwritable: Option<Unwritable>,
    /// Why reads would fail; `None` if they would not.
    pub unreadable: Option<String>,
    /// Device or file, with the layers below.
    pub kind: TargetKind,
    /// Earlier runs that wrote it since its last fill, oldest first, from the ledger of this user.
    #[serde(default)]
    pub former_runs: Fact<Vec<FormerRun>>,
}

impl TargetFacts {
    /// Every block device below this target, itself first, each once.
    pub fn devices(&self) -> Vec<&BlockDevice> {
        let mut devices = Vec::new();
        match &self.kind {
            TargetKind::BlockDevice(device) => device.collect(&mut devices),
            TargetKind::RegularFile(file) => file.collect(&mut devices),
            TargetKind::MemoryDevice(_) => {}
        }
        devices
    }
}

impl TargetFacts {
    /// NFS mount that contains this target.
    pub fn nfs(&self) -> Option<&FileSystem> {
        match &self.kind {
            TargetKind::RegularFile(file) => file.file_system.known().filter(|it| it.is_nfs()),
            TargetKind::BlockDevice(_) | TargetKind::MemoryDevice(_) => None,
        }
    }
}

/// Kind of target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(
    clippy::large_enum_variant,
    reason = "a plan has few targets, and their facts are not copied while it runs"
)]
pub enum TargetKind {
    /// A disk, a partition, or a device on top of others.
    BlockDevice(Box<BlockDevice>),
    /// A file in a file system.
    RegularFile(RegularFile),
    /// An endless character device that stores nothing: `/dev/null`, `/dev/zero`, `/dev/full`.
    MemoryDevice(DevNumber),
}

/// Block size and its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockSize {
    /// In bytes.
    pub bytes: u64,
    /// Source of the value.
    pub source: BlockSizeSource,
}

/// Source of a block size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockSizeSource {
    /// `queue/logical_block_size` of the device.
    Queue,
    /// `BLKSSZGET` on the device.
    Blksszget,
    /// The file system, by statx(2) with `STATX_DIOALIGN`.
    StatxDioalign,
    /// The largest logical block size of the devices below the file system, which does not report one.
    DeviceBelow,
    /// 512 bytes, because no source is available.
    Assumed,
}

/// Why writes to a target would fail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unwritable {
    /// The device's `ro` flag is set.
    DeviceFlag,
    /// The file system is mounted read-only, at this mount point.
    ReadOnlyMount(PathBuf),
    /// The kernel's refusal: permissions, immutable file ... (text of the error).
    Refused(String),
}

/// A block device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockDevice {
    /// Device number.
    pub number: DevNumber,
    /// The kernel's name, for example `nvme0n1p2`.
    pub name: String,
    /// Size in bytes.
    pub size: u64,
    /// Whether the `ro` flag is set.
    pub read_only: Fact<bool>,
    /// Name of the driver in `/proc/devices`, for example `sd`, `virtblk`, `loop`. Drivers that share a major number
    /// are named after their devices: `nvme`, `pmem`.
    pub driver: Fact<String>,
    /// Whether the kernel lists it as a virtual device: loop, dm, md, zram ...
    pub is_virtual: bool,
    /// Sequence number of inserted media and attached loop devices: distinguishes two uses of one name.
    pub diskseq: Fact<u64>,
    /// Model of the disk.
    pub model: Fact<String>,
    /// Serial number of the disk, or else its world-wide identifier.
    pub serial: Fact<String>,
    /// Settings of the disk's request queue.
    pub queue: Queue,
    /// Role in the device stack.
    pub role: Role,
    /// Its partitions, by place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partitions: Vec<PartitionPlace>,
}

/// A partition, seen from its disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionPlace {
    /// The kernel's name, for example `nvme0n1p2`.
    pub name: String,
    /// First byte.
    pub start: u64,
    /// Size in bytes.
    pub size: u64,
}

impl BlockDevice {
    /// Its path in `/dev`. The kernel replaces `/` in names by `!`.
    pub fn dev_path(&self) -> PathBuf {
        dev_path(&self.name)
    }

    /// Adds itself and the devices below, each once.
    fn collect<'a>(&'a self, devices: &mut Vec<&'a BlockDevice>) {
        if devices.iter().any(|known| known.number == self.number) {
            return;
        }
        devices.push(self);
        match &self.role {
            Role::Disk => {}
            Role::Partition { disk, .. } => disk.collect(devices),
            Role::Loop { below, .. } => below.collect(devices),
            Role::Stacked { slaves } => slaves.iter().for_each(|slave| slave.collect(devices)),
        }
    }
}

/// The path in `/dev` of the device with this kernel name.
pub fn dev_path(name: &str) -> PathBuf {
    PathBuf::from("/dev").join(name.replace('!', "/"))
}

/// Role of a block device in the device stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A disk, or another device without layers known to this kernel.
    Disk,
    /// A partition of a disk.
    Partition {
        /// Number in the partition table.
        index: Fact<u32>,
        /// Start on the disk, in bytes.
        start: Fact<u64>,
        /// The disk.
        disk: Box<BlockDevice>,
    },
    /// A loop device.
    Loop {
        /// Path of the backing file as the kernel shows it.
        backing_file: PathBuf,
        /// Start in the backing file, in bytes.
        offset: Fact<u64>,
        /// Whether it bypasses the page cache of the backing file.
        direct_io: Fact<bool>,
        /// Backing file or device.
        below: Box<Layer>,
    },
    /// Device mapper, MD and the like.
    Stacked {
        /// Devices below it.
        slaves: Vec<BlockDevice>,
    },
}

/// Layer below a file system or a loop device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// A device.
    BlockDevice(Box<BlockDevice>),
    /// A file.
    RegularFile(RegularFile),
    /// A file system: that of the overlay layer which holds the file.
    FileSystem(FileSystem),
    /// Unknown; holds the reason.
    Unknown(String),
}

impl Layer {
    fn collect<'a>(&'a self, devices: &mut Vec<&'a BlockDevice>) {
        match self {
            Layer::BlockDevice(device) => device.collect(devices),
            Layer::RegularFile(file) => file.collect(devices),
            Layer::FileSystem(file_system) => file_system.collect(devices),
            Layer::Unknown(_) => {}
        }
    }
}

/// A file in a file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegularFile {
    /// Path.
    pub path: PathBuf,
    /// Device number from stat(2); anonymous (major 0) on btrfs, overlay, tmpfs, NFS ...
    pub device: DevNumber,
    /// Inode number.
    pub inode: u64,
    /// Size in bytes.
    pub size: u64,
    /// Bytes of its allocated blocks (stat(2)), including unwritten ones.
    #[serde(default)]
    pub allocated: Fact<u64>,
    /// Creation time, in nanoseconds since 1970: distinguishes files that successively had the same inode.
    #[serde(default)]
    pub born_ns: Fact<i64>,
    /// Modification time of its data, in nanoseconds since 1970.
    #[serde(default)]
    pub modified_ns: Fact<i64>,
    /// Support of direct I/O on this file by the file system.
    pub direct_io: DirectIo,
    /// Its file system. For an overlay, `below` is that of the layer which holds the file.
    pub file_system: Fact<FileSystem>,
    /// File system of the lower overlay layer from which the file was copied up when this run opened it for writing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied_from: Option<Box<FileSystem>>,
}

impl RegularFile {
    fn collect<'a>(&'a self, devices: &mut Vec<&'a BlockDevice>) {
        if let Fact::Known(file_system) = &self.file_system {
            file_system.collect(devices);
        }
    }
}

/// Support of direct I/O on a file by its file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DirectIo {
    /// Required alignment in bytes.
    Aligned {
        /// Alignment of the buffer's address.
        memory: u32,
        /// Alignment of offset and length.
        offset: u32,
    },
    /// Refuses `O_DIRECT`, or emulates it through the page cache.
    Unsupported,
    /// Not reported.
    NotReported,
}

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSystem {
    /// Its type: `ext4`, `xfs`, `overlay` …
    pub kind: String,
    /// Mount point.
    pub mount_point: PathBuf,
    /// Source of the mount, as given when mounting.
    pub source: String,
    /// Options of the mount.
    pub options: String,
    /// Options of the file system itself.
    pub super_options: String,
    /// Layers below; empty without a local device (tmpfs, NFS ...).
    pub below: Vec<Layer>,
}

impl FileSystem {
    /// Whether the mount or the file system is read-only.
    pub fn is_read_only(&self) -> bool {
        let has_ro = |options: &str| options.split(',').any(|option| option == "ro");
        has_ro(&self.options) || has_ro(&self.super_options)
    }

    /// Whether its data is on an NFS server.
    pub fn is_nfs(&self) -> bool {
        matches!(self.kind.as_str(), "nfs" | "nfs4")
    }

    fn collect<'a>(&'a self, devices: &mut Vec<&'a BlockDevice>) {
        self.below.iter().for_each(|layer| layer.collect(devices));
    }
}

/// Settings of a request queue: the files of the same names in `/sys/block/X/queue`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Queue {
    /// The scheduler in use, for example `none`, `mq-deadline`.
    pub scheduler: Fact<String>,
    /// Capacity in requests of a hardware queue's scheduler or driver.
    pub nr_requests: Fact<u64>,
    /// Whether the device reports itself as rotational.
    pub rotational: Fact<bool>,
    /// Maximum size of the kernel's requests, in KiB.
    pub max_sectors_kb: Fact<u64>,
    /// Maximum request size of the device, in KiB.
    pub max_hw_sectors_kb: Fact<u64>,
    /// Maximum memory segments per request.
    pub max_segments: Fact<u64>,
    /// `write back` or `write through`.
    pub write_cache: Fact<String>,
    /// Whether single writes can be forced to the medium.
    pub fua: Fact<bool>,
    /// Smallest addressable unit in bytes.
    pub logical_block_size: Fact<u64>,
    /// Smallest unit in bytes that the device writes without reading first.
    pub physical_block_size: Fact<u64>,
    /// Smallest size in bytes for good random access.
    pub minimum_io_size: Fact<u64>,
    /// Preferred size in bytes for streaming; 0 if not reported.
    pub optimal_io_size: Fact<u64>,
    /// Maximum discard in bytes; 0 if unsupported.
    pub discard_max_bytes: Fact<u64>,
    /// Unit of discards in bytes.
    pub discard_granularity: Fact<u64>,
    /// Target latency of the writeback throttle in microseconds; 0 if off.
    pub wbt_lat_usec: Fact<u64>,
    /// 0: requests are merged, 1: only with simple checks, 2: never.
    pub nomerges: Fact<u64>,
    /// Read-ahead of buffered reads in KiB.
    pub read_ahead_kb: Fact<u64>,
    /// Whether the device's counters are enabled.
    pub iostats: Fact<bool>,
    /// Whether file systems can map it into memory (DAX).
    pub dax: Fact<bool>,
    /// `none`, or the zone model.
    pub zoned: Fact<String>,
}
