//! Identifies a path as a target of I/O.

use crate::node::{Node, NodeKind};
use crate::target::{
    BlockDevice, BlockSize, BlockSizeSource, DirectIo, RegularFile, TargetFacts, TargetKind, Unwritable,
};
use crate::{Fact, Root, block, file};
use iosonar_text::shown;
use rustix::fs::FileType;
use std::io;
use std::path::{Path, PathBuf};

/// Why a path can't be a target. Each message names the path as typed and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// stat(2) fails.
    #[error("{path}: {error}; {remedy}", path = shown(&path))]
    Unreachable {
        /// Path as typed.
        path: PathBuf,
        /// Error of stat(2).
        #[source]
        error: io::Error,
        /// Remedy.
        remedy: &'static str,
    },
    /// Neither a block device nor a regular file.
    #[error("{path} is {what}, and I/O is measured on block devices and regular files; {remedy}", path = shown(&path))]
    WrongKind {
        /// Path as typed.
        path: PathBuf,
        /// Actual kind.
        what: &'static str,
        /// Remedy.
        remedy: &'static str,
    },
    /// A file that is an attribute of the kernel.
    #[error(
        "{path} is a file of {file_system}, by which the kernel shows and sets its own state, and holds no data; give a regular file on a disk, or a block device",
        path = shown(&path)
    )]
    Attribute {
        /// Path as typed.
        path: PathBuf,
        /// Its file system.
        file_system: &'static str,
    },
    /// An empty file or device.
    #[error("{path} is {what} of 0 bytes, so there is nothing to read or overwrite; {remedy}", path = shown(&path))]
    Empty {
        /// Path as typed.
        path: PathBuf,
        /// Actual kind.
        what: &'static str,
        /// Remedy.
        remedy: &'static str,
    },
    /// Sysfs does not describe the device.
    #[error("{path} is block device {number}, but {entry} can't be read ({error}); mount sysfs on /sys, and check that the driver of this device is loaded", path = shown(&path))]
    NoSysfs {
        /// Path as typed.
        path: PathBuf,
        /// Device number.
        number: crate::DevNumber,
        /// Path in sysfs.
        entry: String,
        /// Error.
        #[source]
        error: io::Error,
    },
}

impl TargetError {
    pub(crate) fn unreachable(path: &Path, error: io::Error) -> Self {
        let remedy = match error.kind() {
            io::ErrorKind::NotFound => "check the spelling, or create and fill it first",
            io::ErrorKind::PermissionDenied => "run as a user who may search every directory of this path",
            io::ErrorKind::NotADirectory => {
                "check the spelling: a part of this path before the last is a file"
            }
            _ => "repair what the path leads through, or give another path",
        };
        Self::Unreachable { path: path.to_owned(), error, remedy }
    }

    pub(crate) fn wrong_kind(path: &Path, kind: FileType) -> Self {
        let (what, remedy) = match kind {
            FileType::Directory => {
                ("a directory", "give a file in it, or the device that it is mounted from")
            }
            FileType::CharacterDevice => (
                "a character device",
                "give the block device, as `lsblk -p` lists it; only null, zero and full are targets",
            ),
            FileType::Fifo => ("a FIFO (named pipe)", "give a regular file"),
            FileType::Socket => ("a socket", "give a regular file"),
            _ => ("of a kind without blocks", "give a block device or a regular file"),
        };
        Self::WrongKind { path: path.to_owned(), what, remedy }
    }

    fn empty_file(path: &Path) -> Self {
        let remedy = "write data to it first (for example with dd), at least as much as the run reaches";
        Self::Empty { path: path.to_owned(), what: "a regular file", remedy }
    }

    fn empty_device(path: &Path) -> Self {
        let remedy = "insert its medium, or attach its backing file";
        Self::Empty { path: path.to_owned(), what: "a block device", remedy }
    }
}

/// Identifies `path` and the layers below it.
///
/// # Errors
/// A path that does not exist, is neither a block device nor a regular file, or is empty.
pub fn identify(path: &Path, root: &Root) -> Result<TargetFacts, TargetError> {
    facts(Node::probe(path)?, root)
}

/// The same for a target that may be an empty file, because it will grow.
///
/// # Errors
/// Those of [`identify`], except for a file of 0 bytes.
pub fn identify_growing(path: &Path, root: &Root) -> Result<TargetFacts, TargetError> {
    let node = Node::probe(path)?;
    match &node.kind {
        NodeKind::Regular(found) => Ok(file_facts(&node, file::describe(&node.resolved, found, root))),
        NodeKind::Block(_) | NodeKind::Memory(_) => facts(node, root),
    }
}

/// The part of identification that can be tested without a device.
pub(crate) fn facts(node: Node, root: &Root) -> Result<TargetFacts, TargetError> {
    match &node.kind {
        NodeKind::Block(number) => {
            let entry = block::entry(*number);
            let device = block::describe(*number, root).map_err(|error| TargetError::NoSysfs {
                path: node.path.clone(),
                number: *number,
                entry,
                error,
            })?;
            device_facts(&node, device)
        }
        NodeKind::Regular(found) => {
            let file = file::describe(&node.resolved, found, root);
            if file.size == 0 {
                return Err(TargetError::empty_file(&node.path));
            }
            Ok(file_facts(&node, file))
        }
        NodeKind::Memory(number) => Ok(TargetFacts {
            path: node.path.clone(),
            resolved: node.resolved.clone(),
            size: ENDLESS,
            logical_block_size: BlockSize { bytes: 512, source: BlockSizeSource::Assumed },
            unwritable: node.unwritable.clone().map(Unwritable::Refused),
            unreadable: node.unreadable.clone(),
            kind: TargetKind::MemoryDevice(*number),
            former_runs: not_asked(),
        }),
    }
}

/// Size of an endless device: 1 EiB, which no run reaches.
const ENDLESS: u64 = 1 << 60;

fn device_facts(node: &Node, device: BlockDevice) -> Result<TargetFacts, TargetError> {
    if device.size == 0 {
        return Err(TargetError::empty_device(&node.path));
    }
    let flagged = device.read_only == Fact::Known(true);
    let refused = node.unwritable.clone().map(Unwritable::Refused);
    Ok(TargetFacts {
        path: node.path.clone(),
        resolved: node.resolved.clone(),
        size: device.size,
        logical_block_size: device_block_size(&node.resolved, &device),
        unwritable: if flagged { Some(Unwritable::DeviceFlag) } else { refused },
        unreadable: node.unreadable.clone(),
        kind: TargetKind::BlockDevice(Box::new(device)),
        former_runs: not_asked(),
    })
}

/// The ledger is read when a run is prepared, not on each identification.
fn not_asked<T>() -> Fact<T> {
    Fact::absent("the ledger was not read")
}

fn device_block_size(path: &Path, device: &BlockDevice) -> BlockSize {
    if let Fact::Known(bytes) = device.queue.logical_block_size {
        return BlockSize { bytes, source: BlockSizeSource::Queue };
    }
    let asked =
        std::fs::File::open(path).and_then(|open| Ok(iosonar_os::blockdev::logical_block_size(open)?));
    match asked {
        Ok(bytes) => BlockSize { bytes: bytes.into(), source: BlockSizeSource::Blksszget },
        Err(_) => BlockSize { bytes: 512, source: BlockSizeSource::Assumed },
    }
}

fn file_facts(node: &Node, file: RegularFile) -> TargetFacts {
    let mut facts = TargetFacts {
        path: node.path.clone(),
        resolved: node.resolved.clone(),
        size: file.size,
        logical_block_size: BlockSize { bytes: 512, source: BlockSizeSource::Assumed },
        unwritable: file_unwritable(node, &file),
        unreadable: node.unreadable.clone(),
        kind: TargetKind::RegularFile(file),
        former_runs: not_asked(),
    };
    facts.logical_block_size = file_block_size(&facts);
    facts
}

fn file_unwritable(node: &Node, file: &RegularFile) -> Option<Unwritable> {
    let file_system = file.file_system.known().filter(|file_system| file_system.is_read_only());
    let on_read_only_mount = file_system.map(|it| Unwritable::ReadOnlyMount(it.mount_point.clone()));
    on_read_only_mount.or_else(|| node.unwritable.clone().map(Unwritable::Refused))
}

fn file_block_size(facts: &TargetFacts) -> BlockSize {
    if let TargetKind::RegularFile(RegularFile { direct_io: DirectIo::Aligned { offset, .. }, .. }) =
        facts.kind
    {
        return BlockSize { bytes: offset.into(), source: BlockSizeSource::StatxDioalign };
    }
    let devices = facts.devices();
    let below = devices.iter().filter_map(|device| device.queue.logical_block_size.known()).max();
    match below {
        Some(&bytes) => BlockSize { bytes, source: BlockSizeSource::DeviceBelow },
        None => BlockSize { bytes: 512, source: BlockSizeSource::Assumed },
    }
}

#[cfg(test)]
mod tests;
