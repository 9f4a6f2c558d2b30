//! Setting a ring up: the best mode that the kernel knows.

use super::unavailable::Unavailable;
use io_uring::IoUring;
use std::io;

/// The most calls that the kernel's submission queue holds.
const ENTRIES_MAX: u32 = 32_768;

/// How long a kernel thread that takes submissions looks for new ones before it sleeps, in milliseconds.
const SQPOLL_IDLE_MS: u32 = 1000;

/// Delivery of completions on the issuing thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// With any system call of the issuing thread, one thread only (`SINGLE_ISSUER`, `COOP_TASKRUN`; Linux 6.0).
    Cooperative,
    /// With any system call of the issuing thread (`COOP_TASKRUN`; Linux 5.19).
    CooperativeShared,
    /// By interrupting the issuing thread.
    Interrupting,
    /// When the issuing thread asks for them, one thread only (`SINGLE_ISSUER`, `DEFER_TASKRUN`; Linux 6.1). Only on request: it
    /// was no faster on a virtio disk and on zram, and completions were seen later (a mean `reap_lag` of 18–25 µs instead of 0.3–6
    /// µs at depth 4; `examples/race.rs` of the backends).
    Deferred,
}

impl Mode {
    /// Modes to try, the best first.
    const LADDER: [Mode; 3] = [Mode::Cooperative, Mode::CooperativeShared, Mode::Interrupting];
}

/// Options of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingOptions {
    /// Completions are polled for (`IORING_SETUP_IOPOLL`).
    pub hipri: bool,
    /// A kernel thread takes submissions (`IORING_SETUP_SQPOLL`).
    pub sqpoll: bool,
    /// File and memory are made known to the kernel beforehand.
    pub registered: bool,
    /// This mode instead of the best one that the kernel knows.
    pub mode: Option<Mode>,
}

impl Default for RingOptions {
    fn default() -> RingOptions {
        RingOptions { hipri: false, sqpoll: false, registered: true, mode: None }
    }
}

/// A ring for `depth` calls, which does not work yet: the thread that enables it is the one that issues.
pub(super) fn set_up(depth: u32, options: RingOptions) -> Result<(IoUring, Mode), Unavailable> {
    let entries = depth.clamp(1, ENTRIES_MAX);
    let wanted = options.mode.as_ref().map_or(&Mode::LADDER[..], std::slice::from_ref);
    for mode in wanted.iter().copied().filter(|mode| suits(*mode, options)) {
        match build(entries, options, mode) {
            Ok(ring) if !ring.params().is_feature_ext_arg() => {
                return Err(Unavailable::because("io_uring of this kernel is too old: it needs Linux 5.11"));
            }
            Ok(ring) => return Ok((ring, mode)),
            // The kernel does not know one of the flags.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {}
            Err(error) => return Err(Unavailable::from_setup(&error)),
        }
    }
    Err(Unavailable::because("io_uring of this kernel is too old: it needs Linux 5.11"))
}

/// Where a kernel thread submits, the issuing thread runs nothing that could be deferred.
fn suits(mode: Mode, options: RingOptions) -> bool {
    !options.sqpoll || mode == Mode::Interrupting
}

fn build(entries: u32, options: RingOptions, mode: Mode) -> io::Result<IoUring> {
    let mut builder = IoUring::builder();
    builder.setup_clamp().setup_r_disabled();
    match mode {
        Mode::Deferred => builder.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag(),
        Mode::Cooperative => builder.setup_single_issuer().setup_coop_taskrun().setup_taskrun_flag(),
        Mode::CooperativeShared => builder.setup_coop_taskrun().setup_taskrun_flag(),
        Mode::Interrupting => &mut builder,
    };
    if options.hipri {
        builder.setup_iopoll();
    }
    if options.sqpoll {
        builder.setup_sqpoll(SQPOLL_IDLE_MS);
    }
    builder.build(entries)
}
