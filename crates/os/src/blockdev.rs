//! Facts of the block layer about an open block device, where sysfs lacks them.

use rustix::fd::AsFd;
use rustix::io;
use rustix::ioctl::{Getter, Opcode, Setter, opcode};

/// `BLKROGET`: whether the device is write-protected (an `int`).
const BLKROGET: Opcode = opcode::none(0x12, 94);
/// `BLKGETSIZE64`: the size in bytes (a `u64`, declared as `size_t` in the kernel's header).
const BLKGETSIZE64: Opcode = opcode::read::<usize>(0x12, 114);

/// `BLKDISCARD`: discards a range, its start and its length in bytes (two `u64`).
const BLKDISCARD: Opcode = opcode::none(0x12, 119);

/// Whether an open file is a block device.
pub fn is_block_device(file: impl AsFd) -> bool {
    let kind = rustix::fs::fstat(file).map(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode));
    kind.is_ok_and(|kind| kind.is_block_device())
}

/// Discards a range, in bytes (`BLKDISCARD`).
///
/// # Errors
/// `OPNOTSUPP` where the device cannot, `INVAL` for a range that is not made of whole blocks or ends beyond the device.
pub fn discard(device: impl AsFd, offset: u64, length: u64) -> io::Result<()> {
    // SAFETY: BLKDISCARD reads exactly two u64 from its argument.
    let setter = unsafe { Setter::<BLKDISCARD, [u64; 2]>::new([offset, length]) };
    // SAFETY: the opcode belongs to the type of the argument, see above; other kinds of files refuse it.
    unsafe { rustix::ioctl::ioctl(device, setter) }
}

/// Size in bytes (`BLKGETSIZE64`).
///
/// # Errors
/// `NOTTY` or `INVAL` where `device` isn't a block device.
pub fn size(device: impl AsFd) -> io::Result<u64> {
    // SAFETY: BLKGETSIZE64 writes exactly one u64 to its argument on every architecture.
    let getter = unsafe { Getter::<BLKGETSIZE64, u64>::new() };
    // SAFETY: the opcode belongs to `Getter`'s output type, see above; other kinds of files refuse it.
    unsafe { rustix::ioctl::ioctl(device, getter) }
}

/// Logical block size in bytes (`BLKSSZGET`).
///
/// # Errors
/// `NOTTY` or `INVAL` where `device` isn't a block device.
pub fn logical_block_size(device: impl AsFd) -> io::Result<u32> {
    rustix::fs::ioctl_blksszget(device)
}

/// Physical block size in bytes (`BLKPBSZGET`).
///
/// # Errors
/// `NOTTY` or `INVAL` where `device` isn't a block device.
pub fn physical_block_size(device: impl AsFd) -> io::Result<u32> {
    rustix::fs::ioctl_blkpbszget(device)
}

/// Whether the kernel refuses writes to the device (`BLKROGET`).
///
/// # Errors
/// `NOTTY` or `INVAL` where `device` isn't a block device.
pub fn is_read_only(device: impl AsFd) -> io::Result<bool> {
    // SAFETY: BLKROGET writes exactly one int to its argument.
    let getter = unsafe { Getter::<BLKROGET, libc::c_int>::new() };
    // SAFETY: the opcode belongs to `Getter`'s output type, see above; other kinds of files refuse it.
    unsafe { rustix::ioctl::ioctl(device, getter) }.map(|flag| flag != 0)
}

/// Whether the device that `file` is, or lies on, has queues that can be polled (`io_poll` of its queue in sysfs).
/// `None` where unknown: a file system without its own block device, or no sysfs.
pub fn has_poll_queues(file: impl AsFd) -> Option<bool> {
    let stat = rustix::fs::fstat(&file).ok()?;
    let is_device = is_block_device(file);
    let device = if is_device { stat.st_rdev } else { stat.st_dev };
    let folder = format!("/sys/dev/block/{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    // A partition's queue is that of its disk.
    let paths = [format!("{folder}/queue/io_poll"), format!("{folder}/../queue/io_poll")];
    let text = paths.iter().find_map(|path| std::fs::read_to_string(path).ok())?;
    Some(text.trim() != "0")
}

/// Whether `file` is open for direct I/O.
pub fn is_direct(file: impl AsFd) -> bool {
    rustix::fs::fcntl_getfl(file).is_ok_and(|flags| flags.contains(rustix::fs::OFlags::DIRECT))
}
