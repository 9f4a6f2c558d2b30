//! The kernel's blktrace interface of a block device (`include/uapi/linux/blktrace_api.h`): a device has one trace at most.

use rustix::fd::AsFd;
use rustix::io;
use rustix::ioctl::{NoArg, Opcode, Updater, opcode};

const BLKTRACESETUP: Opcode = opcode::read_write::<UserTraceSetup>(0x12, 115);
const BLKTRACESTART: Opcode = opcode::none(0x12, 116);
const BLKTRACESTOP: Opcode = opcode::none(0x12, 117);
const BLKTRACETEARDOWN: Opcode = opcode::none(0x12, 118);

/// The kernel's `struct blk_user_trace_setup`.
#[repr(C)]
#[derive(Default)]
struct UserTraceSetup {
    name: [u8; 32],
    act_mask: u16,
    buf_size: u32,
    buf_nr: u32,
    start_lba: u64,
    end_lba: u64,
    pid: u32,
}

/// Makes a trace of a device, which does not run yet: each CPU gets `buffers` buffers of `bytes` each. Only events of the
/// categories in `mask` are kept (the lower half of `BLK_TC_…`; an event needs one of its categories in it). Returns the
/// name of the trace's directory below `block` in debugfs.
///
/// # Errors
/// `BUSY` where the device is traced already, `NOTTY` in a kernel without blktrace, `PERM` without privilege.
pub fn setup(device: impl AsFd, mask: u16, bytes: u32, buffers: u32) -> io::Result<String> {
    // Without an end the kernel takes the present size, and drops events beyond it on a device that grows.
    let end_lba = u64::MAX;
    let mut setup =
        UserTraceSetup { act_mask: mask, buf_size: bytes, buf_nr: buffers, end_lba, ..Default::default() };
    // SAFETY: BLKTRACESETUP reads and writes one `struct blk_user_trace_setup`, which `UserTraceSetup` mirrors field for
    // field; all its fields are integers, so whatever the kernel writes is a valid value.
    let updater = unsafe { Updater::<BLKTRACESETUP, UserTraceSetup>::new(&mut setup) };
    // SAFETY: as above; files that are no block devices refuse the opcode.
    unsafe { rustix::ioctl::ioctl(device, updater) }?;
    let length = setup.name.iter().position(|byte| *byte == 0).unwrap_or(setup.name.len());
    Ok(String::from_utf8_lossy(&setup.name[..length]).into_owned())
}

/// Starts a trace that was made, or stopped.
///
/// # Errors
/// `INVAL` where the device has no trace, or one that runs.
pub fn start(device: impl AsFd) -> io::Result<()> {
    plain::<BLKTRACESTART>(device)
}

/// Stops a running trace; events kept so far can still be read.
///
/// # Errors
/// `INVAL` where the device has no trace that runs.
pub fn stop(device: impl AsFd) -> io::Result<()> {
    plain::<BLKTRACESTOP>(device)
}

/// Removes a trace, with its events.
///
/// # Errors
/// `INVAL` where the device has no trace.
pub fn teardown(device: impl AsFd) -> io::Result<()> {
    plain::<BLKTRACETEARDOWN>(device)
}

fn plain<const OPCODE: Opcode>(device: impl AsFd) -> io::Result<()> {
    // SAFETY: the opcodes of this module that take no argument.
    let call = unsafe { NoArg::<OPCODE>::new() };
    // SAFETY: as above; files that are no block devices refuse them.
    unsafe { rustix::ioctl::ioctl(device, call) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn struct_layout_matches_the_kernel() {
        assert_eq!(size_of::<UserTraceSetup>(), 72);
        assert_eq!(std::mem::offset_of!(UserTraceSetup, buf_size), 36);
        assert_eq!(std::mem::offset_of!(UserTraceSetup, start_lba), 48);
    }

    #[test]
    fn rejects_non_block_devices() {
        let file = tempfile::tempfile().unwrap();
        assert!(setup(&file, 0, 4096, 4).is_err());
        assert!(start(&file).is_err() && stop(&file).is_err() && teardown(&file).is_err());
    }
}
