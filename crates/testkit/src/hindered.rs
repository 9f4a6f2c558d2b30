//! Ways of being hindered that a program cannot escape: too little CPU, a system call that is refused. Neither disturbs
//! others on the machine.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// Words that start a program for which io_uring does not exist, as under the rules of most containers: the rule of
/// `io_uring_setup` says `EPERM`. The command comes after them.
pub const WITHOUT_IO_URING: [&str; 3] = ["python3", "-c", FILTER];

const FILTER: &str = "
import ctypes, os, struct, sys
rule = lambda code, yes, no, k: struct.pack('HBBI', code, yes, no, k)
SETUP, LOAD, EQUAL, RETURN = 425, 0x20, 0x15, 0x06
text = rule(LOAD, 0, 0, 0) + rule(EQUAL, 0, 1, SETUP) + rule(RETURN, 0, 0, 0x00050001) + rule(RETURN, 0, 0, 0x7fff0000)
class Program(ctypes.Structure):
    _fields_ = [('length', ctypes.c_ushort), ('rules', ctypes.c_char_p)]
libc = ctypes.CDLL(None, use_errno=True)
NO_NEW_PRIVILEGES, SECCOMP, FILTER = 38, 22, 2
program = Program(len(text) // 8, text)
if libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(SECCOMP, FILTER, ctypes.byref(program), 0, 0):
    sys.exit(os.strerror(ctypes.get_errno()))
os.execv(sys.argv[1], sys.argv[1:])
";

/// A control group whose programs get a share of one CPU; removed when it is dropped, after they have ended.
#[derive(Debug)]
pub struct CpuQuota {
    group: PathBuf,
}

impl CpuQuota {
    /// Of so many percent of one CPU.
    ///
    /// # Errors
    /// What this machine lacks, in one sentence.
    pub fn new(percent: u32) -> Result<CpuQuota, String> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let group = PathBuf::from(format!("/sys/fs/cgroup/cpu/iosonar-test-{}-{number}", std::process::id()));
        fs::create_dir(&group).map_err(|e| format!("no CPU controller of cgroup v1 ({e})"))?;
        let quota = CpuQuota { group };
        let set = |name: &str, value: u32| fs::write(quota.group.join(name), value.to_string());
        set("cpu.cfs_period_us", 100_000)
            .and_then(|()| set("cpu.cfs_quota_us", percent * 1000))
            .map_err(|e| format!("the CPU controller has no quota ({e})"))?;
        Ok(quota)
    }

    /// Words that start a program in the group; the command comes after them.
    pub fn words(&self) -> [String; 4] {
        let script = r#"echo $$ > "$0"/cgroup.procs && exec "$@""#;
        ["sh".into(), "-c".into(), script.into(), self.group.display().to_string()]
    }

    /// How often its programs had used up their share.
    #[track_caller]
    pub fn throttled(&self) -> u64 {
        let stat = fs::read_to_string(self.group.join("cpu.stat")).expect("the group's figures");
        let line = stat.lines().find_map(|line| line.strip_prefix("nr_throttled "));
        line.and_then(|count| count.parse().ok()).expect("how often it was throttled")
    }
}

/// A control group whose programs may read only so often from a device; removed when it is dropped, after they have ended.
#[derive(Debug)]
pub struct ReadLimit {
    group: PathBuf,
}

impl ReadLimit {
    /// Of so many reads per second from a block device, named as in `/sys/block`.
    ///
    /// # Errors
    /// What this machine lacks, in one sentence.
    pub fn new(device: &str, per_second: u32) -> Result<ReadLimit, String> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let group =
            PathBuf::from(format!("/sys/fs/cgroup/blkio/iosonar-test-{}-{number}", std::process::id()));
        fs::create_dir(&group).map_err(|e| format!("no block I/O controller of cgroup v1 ({e})"))?;
        let limit = ReadLimit { group };
        let rule = fs::read_to_string(format!("/sys/block/{device}/dev"))
            .map(|numbers| format!("{} {per_second}", numbers.trim()));
        rule.and_then(|rule| fs::write(limit.group.join("blkio.throttle.read_iops_device"), rule))
            .map_err(|e| format!("the block I/O controller does not throttle {device} ({e})"))?;
        Ok(limit)
    }

    /// Words that start a program in the group; the command comes after them.
    pub fn words(&self) -> [String; 4] {
        let script = r#"echo $$ > "$0"/cgroup.procs && exec "$@""#;
        ["sh".into(), "-c".into(), script.into(), self.group.display().to_string()]
    }
}

impl Drop for ReadLimit {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir(&self.group) {
            eprintln!("{} stays: {error}", self.group.display());
        }
    }
}

impl Drop for CpuQuota {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir(&self.group) {
            eprintln!("{} stays: {error}", self.group.display());
        }
    }
}
