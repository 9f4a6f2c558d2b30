//! The part of identification from stat(2) and its relatives, without `/sys`.

use crate::target::DirectIo;
use crate::{DevNumber, TargetError, kernel_fs};
use rustix::fs::{Access, FileType, Stat};
use std::io;
use std::path::{Path, PathBuf};

/// A device or file that can be a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    /// Path as typed.
    pub path: PathBuf,
    /// Path with all symbolic links resolved.
    pub resolved: PathBuf,
    /// Why writes would fail.
    pub unwritable: Option<String>,
    /// Why reads would fail.
    pub unreadable: Option<String>,
    pub kind: NodeKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NodeKind {
    Block(DevNumber),
    Regular(FileNode),
    /// One of [`MEMORY_DEVICES`].
    Memory(DevNumber),
}

/// Endless character devices that store nothing: null, zero and full (the kernel's list of devices, major 1). Others
/// are refused: the effect of a write is unknown.
const MEMORY_DEVICES: [DevNumber; 3] = {
    const fn memory(minor: u32) -> DevNumber {
        DevNumber { major: 1, minor }
    }
    [memory(3), memory(5), memory(7)]
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileNode {
    pub device: DevNumber,
    pub inode: u64,
    pub size: u64,
    /// Bytes of allocated blocks.
    pub allocated: u64,
    pub mount_id: Option<u64>,
    pub born_ns: Option<i64>,
    pub modified_ns: i64,
    pub direct_io: DirectIo,
}

impl Node {
    /// Inspects `path`, and refuses paths that can't be targets.
    pub fn probe(path: &Path) -> Result<Self, TargetError> {
        let missing = |error: io::Error| TargetError::unreachable(path, error);
        let stat = rustix::fs::stat(path).map_err(|errno| missing(errno.into()))?;
        let number = DevNumber::from_raw(stat.st_rdev);
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::BlockDevice => NodeKind::Block(number),
            FileType::RegularFile => {
                refuse_attribute(path)?;
                NodeKind::Regular(file_node(path, &stat))
            }
            FileType::CharacterDevice if MEMORY_DEVICES.contains(&number) => NodeKind::Memory(number),
            other => return Err(TargetError::wrong_kind(path, other)),
        };
        let refused = |access| rustix::fs::access(path, access).err().map(|e| io::Error::from(e).to_string());
        Ok(Self {
            path: path.to_owned(),
            resolved: std::fs::canonicalize(path).map_err(missing)?,
            unwritable: refused(Access::WRITE_OK),
            unreadable: refused(Access::READ_OK),
            kind,
        })
    }
}

/// Refuses files of sysfs, procfs and the like: they have no blocks, and reading or writing them acts on the kernel.
fn refuse_attribute(path: &Path) -> Result<(), TargetError> {
    let held_by = kernel_fs::holding(path).map_err(|errno| TargetError::unreachable(path, errno.into()))?;
    held_by.map_or(Ok(()), |file_system| Err(TargetError::Attribute { path: path.to_owned(), file_system }))
}

fn file_node(path: &Path, stat: &Stat) -> FileNode {
    let extra = iosonar_os::statx::extra(path).ok();
    FileNode {
        device: DevNumber::from_raw(stat.st_dev),
        inode: stat.st_ino,
        size: stat.st_size as u64,
        // In units of 512 bytes, for any block size (stat(2)).
        allocated: stat.st_blocks as u64 * 512,
        mount_id: extra.and_then(|extra| extra.mount_id),
        born_ns: extra.and_then(|extra| extra.born_ns),
        modified_ns: stat.st_mtime.saturating_mul(1_000_000_000).saturating_add_unsigned(stat.st_mtime_nsec),
        direct_io: extra.map_or(DirectIo::NotReported, |extra| direct_io(extra.direct_io)),
    }
}
/// Converts the kernel's answer.
fn direct_io(answer: iosonar_os::statx::DirectIo) -> DirectIo {
    use iosonar_os::statx::DirectIo as Answer;
    match answer {
        Answer::Aligned { memory, offset } => DirectIo::Aligned { memory, offset },
        Answer::Unsupported => DirectIo::Unsupported,
        Answer::NotReported => DirectIo::NotReported,
    }
}
