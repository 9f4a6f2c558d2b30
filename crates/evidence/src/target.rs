//! What a target is, as data.

use crate::{DevNumber, Fact, FormerRun};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Everything that is known about a target before the run touches it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetFacts {
    /// Path as typed.
    pub path: PathBuf,
    /// The same with every symbolic link followed.
    pub resolved: PathBuf,
    /// Size in bytes, never 0.
    pub size: u64,
    /// What offsets and lengths of direct I/O have to be multiples of.
    pub logical_block_size: BlockSize,
    /// Why writes would be refused; `None` where they are not.
    pub unwritable: Option<Unwritable>,
    /// Why reads would be refused; `None` where they are not.
    pub unreadable: Option<String>,
    /// Device or file, with what lies below.
    pub kind: TargetKind,
    /// Earlier runs that wrote it since its last fill, oldest first, as the ledger of this user has them.
    #[serde(default)]
    pub former_runs: Fact<Vec<FormerRun>>,
}

impl TargetFacts {
    /// Every block device that this target lies on, itself first, each once.
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
    /// The mount of an NFS server that this target is a file in.
    pub fn nfs(&self) -> Option<&FileSystem> {
        match &self.kind {
            TargetKind::RegularFile(file) => file.file_system.known().filter(|it| it.is_nfs()),
            TargetKind::BlockDevice(_) | TargetKind::MemoryDevice(_) => None,
        }
    }
}

/// Device or file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(
    clippy::large_enum_variant,
    reason = "a plan has few targets, and their facts are not copied while it runs"
)]
pub enum TargetKind {
    /// A disk, a partition, or a device made of others.
    BlockDevice(Box<BlockDevice>),
    /// A file in a file system.
    RegularFile(RegularFile),
    /// A character device that keeps nothing and is never through: `/dev/null`, `/dev/zero`, `/dev/full`.
    MemoryDevice(DevNumber),
}

/// Block size in bytes, and who says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockSize {
    /// In bytes.
    pub bytes: u64,
    /// Who says so.
    pub source: BlockSizeSource,
}

/// Where a block size comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockSizeSource {
    /// `queue/logical_block_size` of the device.
    Queue,
    /// `BLKSSZGET` on the device.
    Blksszget,
    /// The file system, by statx(2) with `STATX_DIOALIGN`.
    StatxDioalign,
    /// The file system does not tell: the largest logical block size of the devices below it.
    DeviceBelow,
    /// Nobody tells: 512 bytes.
    Assumed,
}

/// Why writes to a target would be refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unwritable {
    /// The device's `ro` flag is set.
    DeviceFlag,
    /// The file system is mounted read-only, here.
    ReadOnlyMount(PathBuf),
    /// The kernel says so: permissions, immutable file … (text of the error).
    Refused(String),
}

/// A block device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockDevice {
    /// Its number.
    pub number: DevNumber,
    /// The kernel's name, for example `nvme0n1p2`.
    pub name: String,
    /// Size in bytes.
    pub size: u64,
    /// Whether the `ro` flag is set.
    pub read_only: Fact<bool>,
    /// Name of the driver in `/proc/devices`, for example `sd`, `virtblk`, `loop`. Drivers that share a major number are named by their
    /// devices: `nvme`, `pmem`.
    pub driver: Fact<String>,
    /// Whether the kernel keeps it among the virtual devices: loop, dm, md, zram …
    pub is_virtual: bool,
    /// Rises each time a medium is inserted or a loop device attached: tells two uses of one name apart.
    pub diskseq: Fact<u64>,
    /// Vendor's name of the disk.
    pub model: Fact<String>,
    /// Serial number, else the world-wide identifier, of the disk.
    pub serial: Fact<String>,
    /// Settings of the disk's request queue.
    pub queue: Queue,
    /// What it is made of.
    pub role: Role,
    /// Its partitions, by place; archives of earlier versions do not tell them.
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
    /// Its path in `/dev`. The kernel writes `!` in a name for a directory.
    pub fn dev_path(&self) -> PathBuf {
        dev_path(&self.name)
    }

    /// Adds itself and what is below, each once.
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

/// What a block device is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Nothing that this kernel knows of.
    Disk,
    /// A part of a disk.
    Partition {
        /// The number in the disk's table.
        index: Fact<u32>,
        /// Where it starts on the disk, in bytes.
        start: Fact<u64>,
        /// The whole.
        disk: Box<BlockDevice>,
    },
    /// A loop device.
    Loop {
        /// Path of the backing file as the kernel shows it.
        backing_file: PathBuf,
        /// Where the device starts in the backing file, in bytes.
        offset: Fact<u64>,
        /// Whether it goes past the page cache of the backing file.
        direct_io: Fact<bool>,
        /// The backing file, or the device that is one.
        below: Box<Layer>,
    },
    /// Device mapper, MD and the like.
    Stacked {
        /// Devices that it lies on.
        slaves: Vec<BlockDevice>,
    },
}

/// What lies below a file system or a loop device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// A device.
    BlockDevice(Box<BlockDevice>),
    /// A file.
    RegularFile(RegularFile),
    /// A file system: that of the layer of an overlay which holds the file.
    FileSystem(FileSystem),
    /// Something, but it could not be found out what; holds the reason.
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
    /// Where it is.
    pub path: PathBuf,
    /// Device number as stat(2) gives it; anonymous (major 0) on btrfs, overlay, tmpfs, NFS …
    pub device: DevNumber,
    /// Inode number.
    pub inode: u64,
    /// Size in bytes.
    pub size: u64,
    /// Bytes of the blocks that it has (stat(2)), those that were allocated and never written too.
    #[serde(default)]
    pub allocated: Fact<u64>,
    /// When it was created, in nanoseconds since 1970: tells files apart that had the same inode one after the other.
    #[serde(default)]
    pub born_ns: Fact<i64>,
    /// When its data was changed last, in nanoseconds since 1970.
    #[serde(default)]
    pub modified_ns: Fact<i64>,
    /// What the file system says about direct I/O on this file.
    pub direct_io: DirectIo,
    /// The file system that it is in. Of an overlay, `below` is that of the layer which holds the file.
    pub file_system: Fact<FileSystem>,
    /// The file system of the lower layer of an overlay from which the file was copied up when this run opened it for writing.
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

/// What a file system says about direct I/O on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DirectIo {
    /// Addresses and offsets in bytes have to be multiples of these.
    Aligned {
        /// Of the buffer's address.
        memory: u32,
        /// Of offset and length.
        offset: u32,
    },
    /// It accepts `O_DIRECT` at most in order to emulate it through the page cache.
    Unsupported,
    /// It does not tell.
    NotReported,
}

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSystem {
    /// Its type: `ext4`, `xfs`, `overlay` …
    pub kind: String,
    /// Where it is mounted.
    pub mount_point: PathBuf,
    /// What is mounted, in the words of who did it.
    pub source: String,
    /// Options of the mount.
    pub options: String,
    /// Options of the file system itself.
    pub super_options: String,
    /// What it lies on; empty for those without a device of this machine (tmpfs, NFS …).
    pub below: Vec<Layer>,
}

impl FileSystem {
    /// Whether writes are refused, by the mount or by the file system.
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
    /// Requests that a hardware queue's scheduler or driver can hold.
    pub nr_requests: Fact<u64>,
    /// Whether the device says that it rotates.
    pub rotational: Fact<bool>,
    /// Largest request that the kernel makes, in KiB.
    pub max_sectors_kb: Fact<u64>,
    /// Largest request that the device takes, in KiB.
    pub max_hw_sectors_kb: Fact<u64>,
    /// Most memory segments in one request.
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
    /// Preferred size in bytes for streaming; 0 if the device states none.
    pub optimal_io_size: Fact<u64>,
    /// Largest discard in bytes; 0 where there is none.
    pub discard_max_bytes: Fact<u64>,
    /// Unit of discards in bytes.
    pub discard_granularity: Fact<u64>,
    /// Target latency of the writeback throttle in microseconds; 0 where it is off.
    pub wbt_lat_usec: Fact<u64>,
    /// 0: requests are merged, 1: only with simple checks, 2: never.
    pub nomerges: Fact<u64>,
    /// Read-ahead of buffered reads in KiB.
    pub read_ahead_kb: Fact<u64>,
    /// Whether the device's counters count.
    pub iostats: Fact<bool>,
    /// Whether file systems can map it into memory.
    pub dax: Fact<bool>,
    /// `none`, or the zone model.
    pub zoned: Fact<String>,
}
