//! Fields of statx(2) beyond stat(2): the mount, and the requirements of direct I/O.

use rustix::fs::{AtFlags, CWD, StatxFlags};
use rustix::io;
use std::path::Path;

/// The file system's requirements for direct I/O on one file (`STATX_DIOALIGN`, Linux >= 6.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirectIo {
    /// Buffers and offsets in bytes have to be multiples of these.
    Aligned {
        /// Alignment of the buffer's address.
        memory: u32,
        /// Alignment of offset and length.
        offset: u32,
    },
    /// The file system reports 0: it accepts `O_DIRECT` at most in order to emulate it.
    Unsupported,
    /// The file system or the kernel does not report it.
    NotReported,
}

/// Part of the result of statx(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extra {
    /// Identity of the mount, the first field of `mountinfo`; absent before Linux 5.8.
    pub mount_id: Option<u64>,
    /// When it was created, in nanoseconds since 1970; absent where the file system does not keep it.
    pub born_ns: Option<i64>,
    /// Requirements of direct I/O.
    pub direct_io: DirectIo,
}

/// Queries `path`, following symbolic links.
///
/// # Errors
/// Those of statx(2): a missing path, a directory that may not be searched.
pub fn extra(path: &Path) -> io::Result<Extra> {
    let wanted = StatxFlags::MNT_ID | StatxFlags::BTIME | StatxFlags::DIOALIGN;
    let answer = rustix::fs::statx(CWD, path, AtFlags::empty(), wanted)?;
    let has = |flag: StatxFlags| answer.stx_mask & flag.bits() != 0;
    let direct_io = match (answer.stx_dio_mem_align, answer.stx_dio_offset_align) {
        _ if !has(StatxFlags::DIOALIGN) => DirectIo::NotReported,
        (_, 0) => DirectIo::Unsupported,
        (memory, offset) => DirectIo::Aligned { memory, offset },
    };
    let born = answer.stx_btime;
    let born_ns = born.tv_sec.saturating_mul(1_000_000_000).saturating_add(born.tv_nsec.into());
    Ok(Extra {
        mount_id: has(StatxFlags::MNT_ID).then_some(answer.stx_mnt_id),
        born_ns: has(StatxFlags::BTIME).then_some(born_ns),
        direct_io,
    })
}
