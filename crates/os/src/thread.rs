//! Requests of a thread or process to the kernel about itself.

/// Asks the kernel to wake this thread as exactly as it can: a timer slack of 1 ns instead of 50 µs. A kernel
/// that refuses leaves wake-ups a little later, which shows as delay.
pub fn set_timer_slack_1ns() {
    // SAFETY: PR_SET_TIMERSLACK takes one number and touches no memory of ours.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1u64) };
}

/// Whether this process ignores `signal`, as `nohup` has its children ignore SIGHUP.
pub fn is_ignored(signal: i32) -> bool {
    // SAFETY: sigaction is plain data, for which all zeros is a value.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: a null new action changes nothing; the old one is written to memory of ours that outlives the call.
    let known = unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) } == 0;
    known && action.sa_sigaction == libc::SIG_IGN
}

/// Locks all memory of this process, also what it takes later, so that none of it is paged out (`mlockall(2)`).
///
/// # Errors
/// Without privilege, or beyond the limit on locked memory.
pub fn lock_memory() -> std::io::Result<()> {
    use rustix::mm::{MlockAllFlags, mlockall};
    Ok(mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)?)
}

/// Binds the calling thread to one CPU.
///
/// # Errors
/// There is no such CPU, or this process may not use it.
pub fn pin_to(cpu: u32) -> std::io::Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    if cpu as usize >= rustix::thread::CpuSet::MAX_CPU {
        return Err(std::io::ErrorKind::InvalidInput.into());
    }
    set.set(cpu as usize);
    Ok(rustix::thread::sched_setaffinity(None, &set)?)
}

/// Sets the niceness of the calling thread.
///
/// # Errors
/// A niceness below the present one needs a privilege (`CAP_SYS_NICE`, or `RLIMIT_NICE`).
pub fn set_nice(nice: i8) -> std::io::Result<()> {
    // On Linux niceness belongs to a thread, and 0 names the calling one.
    // SAFETY: setpriority takes numbers and touches no memory of ours.
    match unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice.into()) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// Lets the calling thread run before all others of lower priority (`SCHED_FIFO`).
///
/// # Errors
/// It needs a privilege (`CAP_SYS_NICE`, or `RLIMIT_RTPRIO`).
pub fn set_realtime(priority: u8) -> std::io::Result<()> {
    // musl's has more fields than glibc's, which only `SCHED_SPORADIC` reads.
    // SAFETY: a `sched_param` holds integers only, for which all bits zero is a value.
    let mut parameter: libc::sched_param = unsafe { std::mem::zeroed() };
    parameter.sched_priority = priority.into();
    // SAFETY: the pointer is to a `sched_param` that outlives the call, which only reads it; 0 is the calling thread.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameter) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// The limit of file sizes of this process in bytes (`ulimit -f`); `None` if unlimited.
pub fn file_size_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Fsize).current
}

/// Maximum number of open files of this process, after [`raise_file_limit`]; `None` where there is no limit.
pub fn open_file_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current
}

/// Raises the limit of open files to the maximum without a privilege: a run opens a few for each target.
pub fn raise_file_limit() {
    let mut limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current = limit.maximum;
    // A refusal shows when the last target is opened.
    let _ = rustix::process::setrlimit(rustix::process::Resource::Nofile, limit);
}
