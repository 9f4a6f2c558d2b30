//! Backing of a loop device, by number: a path in sysfs can be deleted, or belong to another mount namespace.

use rustix::fd::AsFd;
use rustix::fs::Dev;
use rustix::io;
use rustix::ioctl::{Getter, NoArg, Opcode};

/// `LOOP_GET_STATUS64`: an old opcode without size and direction.
const LOOP_GET_STATUS64: Opcode = 0x4C05;

/// `LOOP_CLR_FD`.
const LOOP_CLR_FD: Opcode = 0x4C01;

/// Major number of the loop driver.
const LOOP_MAJOR: u32 = 7;

/// The kernel's `struct loop_info64`.
#[repr(C)]
struct LoopInfo64 {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// Backing file of a loop device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backing {
    /// Device number (encoded as in `st_dev`) of the file system that holds the backing file (its superblock's, so not always `st_dev`).
    pub device: Dev,
    /// Inode number of the backing file.
    pub inode: u64,
    /// Device number of the backing file itself where it is a device, else 0.
    pub rdevice: Dev,
    /// Start of the loop device in the backing file, in bytes.
    pub offset: u64,
}

/// Backing of the loop device that is open as `device`.
///
/// # Errors
/// `NXIO` where nothing is attached, `NOTTY` or `INVAL` where it isn't a loop device.
pub fn backing(device: impl AsFd) -> io::Result<Backing> {
    if rustix::fs::major(rustix::fs::fstat(&device)?.st_rdev) != LOOP_MAJOR {
        return Err(io::Errno::NOTTY);
    }
    // SAFETY: LOOP_GET_STATUS64 writes one `struct loop_info64`, which `LoopInfo64` mirrors field for field;
    // all its fields are integers, so whatever the kernel writes is a valid value.
    let getter = unsafe { Getter::<LOOP_GET_STATUS64, LoopInfo64>::new() };
    // SAFETY: as above; the file is a device of the loop driver, whose opcode this is (or the character device of
    // the same number, a driver for virtual consoles that knows no such opcode and refuses it).
    let info = unsafe { rustix::ioctl::ioctl(device, getter) }?;
    Ok(Backing { device: info.device, inode: info.inode, rdevice: info.rdevice, offset: info.offset })
}

/// Detaches the loop device that is open as `device`; while something else has it open, with its last use.
///
/// # Errors
/// `NXIO` where nothing is attached, `NOTTY` where it isn't a loop device.
pub(crate) fn clear(device: impl AsFd) -> io::Result<()> {
    if rustix::fs::major(rustix::fs::fstat(&device)?.st_rdev) != LOOP_MAJOR {
        return Err(io::Errno::NOTTY);
    }
    // SAFETY: LOOP_CLR_FD takes no argument and writes no memory of this process.
    let clear = unsafe { NoArg::<LOOP_CLR_FD>::new() };
    // SAFETY: as above; the file is a device of the loop driver, whose opcode this is.
    unsafe { rustix::ioctl::ioctl(device, clear) }
}

#[cfg(test)]
mod tests {
    use super::LoopInfo64;

    #[test]
    fn struct_layout_matches_the_kernel() {
        assert_eq!(size_of::<LoopInfo64>(), 232);
        assert_eq!(std::mem::offset_of!(LoopInfo64, file_name), 56);
        assert_eq!(std::mem::offset_of!(LoopInfo64, init), 216);
    }
}
