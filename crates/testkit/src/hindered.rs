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

/// A control group of version 1 for programs of a test; removed when it is dropped, after they have ended.
#[derive(Debug)]
struct Group {
    path: PathBuf,
}

impl Group {
    /// Of this controller, which is `told` in words where the machine lacks it.
    fn new(controller: &str, told: &str) -> Result<Group, String> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = format!("/sys/fs/cgroup/{controller}/iosonar-test-{}-{number}", std::process::id()).into();
        fs::create_dir(&path).map_err(|e| format!("no {told} controller of cgroup v1 ({e})"))?;
        Ok(Group { path })
    }

    fn set(&self, name: &str, value: impl ToString) -> std::io::Result<()> {
        fs::write(self.path.join(name), value.to_string())
    }

    fn words(&self) -> [String; 4] {
        let script = r#"echo $$ > "$0"/cgroup.procs && exec "$@""#;
        ["sh".into(), "-c".into(), script.into(), self.path.display().to_string()]
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir(&self.path) {
            eprintln!("{} stays: {error}", self.path.display());
        }
    }
}

/// A control group whose programs get a share of one CPU.
#[derive(Debug)]
pub struct CpuQuota(Group);

impl CpuQuota {
    /// Of so many percent of one CPU.
    ///
    /// # Errors
    /// What this machine lacks, in one sentence.
    pub fn new(percent: u32) -> Result<CpuQuota, String> {
        let group = Group::new("cpu", "CPU")?;
        group
            .set("cpu.cfs_period_us", 100_000)
            .and_then(|()| group.set("cpu.cfs_quota_us", percent * 1000))
            .map_err(|e| format!("the CPU controller has no quota ({e})"))?;
        Ok(CpuQuota(group))
    }

    /// Words that start a program in the group; the command comes after them.
    pub fn words(&self) -> [String; 4] {
        self.0.words()
    }

    /// How often its programs had used up their share.
    #[track_caller]
    pub fn throttled(&self) -> u64 {
        let stat = fs::read_to_string(self.0.path.join("cpu.stat")).expect("the group's figures");
        let line = stat.lines().find_map(|line| line.strip_prefix("nr_throttled "));
        line.and_then(|count| count.parse().ok()).expect("how often it was throttled")
    }
}

/// A control group whose programs may read only so often from a device.
#[derive(Debug)]
pub struct ReadLimit(Group);

impl ReadLimit {
    /// Of so many reads per second from a block device, named as in `/sys/block`.
    ///
    /// # Errors
    /// What this machine lacks, in one sentence.
    pub fn new(device: &str, per_second: u32) -> Result<ReadLimit, String> {
        let group = Group::new("blkio", "block I/O")?;
        let rule = fs::read_to_string(format!("/sys/block/{device}/dev"))
            .map(|numbers| format!("{} {per_second}", numbers.trim()));
        rule.and_then(|rule| group.set("blkio.throttle.read_iops_device", rule))
            .map_err(|e| format!("the block I/O controller does not throttle {device} ({e})"))?;
        Ok(ReadLimit(group))
    }

    /// Words that start a program in the group; the command comes after them.
    pub fn words(&self) -> [String; 4] {
        self.0.words()
    }
}

/// A control group whose programs are killed where they need more memory.
#[derive(Debug)]
pub struct MemoryLimit(Group);

impl MemoryLimit {
    /// Of so many MiB.
    ///
    /// # Errors
    /// What this machine lacks, in one sentence.
    pub fn new(mebibytes: u32) -> Result<MemoryLimit, String> {
        let group = Group::new("memory", "memory")?;
        group
            .set("memory.limit_in_bytes", u64::from(mebibytes) << 20)
            .map_err(|e| format!("the memory controller has no limit ({e})"))?;
        Ok(MemoryLimit(group))
    }

    /// Words that start a program in the group; the command comes after them.
    pub fn words(&self) -> [String; 4] {
        self.0.words()
    }
}

/// A control group whose programs have a limited number of threads, all together.
#[derive(Debug)]
pub struct ThreadLimit(Group);

impl ThreadLimit {
    /// Of so many threads.
    ///
    /// # Errors
    /// What this machine lacks, in one sentence.
    pub fn new(threads: u32) -> Result<ThreadLimit, String> {
        let group = Group::new("pids", "process number")?;
        group
            .set("pids.max", threads)
            .map_err(|e| format!("the process number controller has no limit ({e})"))?;
        Ok(ThreadLimit(group))
    }

    /// How often its programs were refused a thread.
    #[track_caller]
    pub fn refused(&self) -> u64 {
        let events = fs::read_to_string(self.0.path.join("pids.events")).expect("the group's figures");
        let count = events.trim().strip_prefix("max ").and_then(|count| count.parse().ok());
        count.expect("how often a thread was refused")
    }

    /// Words that start a program in the group; the command comes after them.
    pub fn words(&self) -> [String; 4] {
        self.0.words()
    }
}
