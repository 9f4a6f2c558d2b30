//! Resources that this process has used so far, and its C library.

use std::mem::MaybeUninit;

/// CPU time of the whole process since it started, in nanoseconds (of microsecond resolution).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuTime {
    /// In user mode.
    pub user_ns: u64,
    /// In the kernel, on behalf of this process.
    pub system_ns: u64,
}

/// CPU time of this process, all threads (`getrusage(RUSAGE_SELF)`).
pub fn own_cpu_time() -> CpuTime {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a writable `rusage`, which is all that getrusage(2) touches.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
    // SAFETY: all-zero bytes are a valid `rusage`, and so is the kernel's result; the call can only fail for a bad pointer or
    // selector, and then the zeros stay.
    let usage = unsafe { usage.assume_init() };
    CpuTime { user_ns: nanoseconds(usage.ru_utime), system_ns: nanoseconds(usage.ru_stime) }
}

/// CPU time of the calling thread since it started, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Name and version of the C library in use, for example `glibc 2.36`; `None` where unknown.
#[cfg(target_env = "gnu")]
pub fn c_library() -> Option<String> {
    // SAFETY: gnu_get_libc_version has no preconditions and returns a static NUL-terminated string.
    let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    Some(format!("glibc {}", version.to_string_lossy()))
}

/// Name and version of the C library in use, for example `glibc 2.36`; `None` where unknown.
#[cfg(not(target_env = "gnu"))]
pub fn c_library() -> Option<String> {
    cfg!(target_env = "musl").then(|| "musl".to_owned())
}

/// A `timeval` of elapsed time, never negative.
fn nanoseconds(time: libc::timeval) -> u64 {
    (time.tv_sec as u64) * 1_000_000_000 + (time.tv_usec as u64) * 1_000
}

#[cfg(test)]
mod tests {
    use super::{own_cpu_time, thread_cpu_ns};

    #[test]
    fn cpu_time_grows_with_work() {
        let before = own_cpu_time();
        let mut grown = before;
        while grown.user_ns + grown.system_ns <= before.user_ns + before.system_ns {
            std::hint::black_box((0..1000u64).sum::<u64>());
            grown = own_cpu_time();
        }
        assert!(thread_cpu_ns() > 0);
        assert!(grown.user_ns >= before.user_ns && grown.system_ns >= before.system_ns);
    }
}
