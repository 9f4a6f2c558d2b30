//! Limits that a program cannot escape: too little CPU, a refused system call. They do not disturb others on the machine.

use crate::{Ended, Lab};
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// Words that start a program without io_uring, as in most containers: `io_uring_setup` fails with `EPERM`. The command
/// follows them.
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

/// A version 1 control group whose programs are limited; removed on drop, after they have ended.
#[derive(Debug)]
pub struct ControlGroup {
    path: PathBuf,
}

/// Constructors of groups; the error is what this machine lacks, in one sentence.
impl ControlGroup {
    /// Limits the CPU time to this percentage of one CPU.
    pub fn of_cpu(percent: u32) -> Result<ControlGroup, String> {
        let quota = (percent * 1000).to_string();
        ControlGroup::new("cpu", &[("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", &quota)])
    }

    /// Limits the reads per second from a block device, named as in `/sys/block`.
    pub fn of_reads(device: &str, per_second: u32) -> Result<ControlGroup, String> {
        ControlGroup::throttling(device, "blkio.throttle.read_iops_device", per_second)
    }

    /// Limits the bytes read per second from it.
    pub fn of_read_bytes(device: &str, per_second: u32) -> Result<ControlGroup, String> {
        ControlGroup::throttling(device, "blkio.throttle.read_bps_device", per_second)
    }

    /// Limits the memory in MiB: programs that need more are killed.
    pub fn of_memory(mebibytes: u32) -> Result<ControlGroup, String> {
        let bytes = (u64::from(mebibytes) << 20).to_string();
        ControlGroup::new("memory", &[("memory.limit_in_bytes", &bytes)])
    }

    /// Limits the total number of threads.
    pub fn of_threads(threads: u32) -> Result<ControlGroup, String> {
        ControlGroup::new("pids", &[("pids.max", &threads.to_string())])
    }

    fn throttling(device: &str, limit: &str, per_second: u32) -> Result<ControlGroup, String> {
        let numbers = fs::read_to_string(format!("/sys/block/{device}/dev"))
            .map_err(|error| format!("no block device {device} ({error})"))?;
        ControlGroup::new("blkio", &[(limit, &format!("{} {per_second}", numbers.trim()))])
    }

    fn new(controller: &str, limits: &[(&str, &str)]) -> Result<ControlGroup, String> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = format!("/sys/fs/cgroup/{controller}/iosonar-test-{}-{number}", std::process::id()).into();
        fs::create_dir(&path)
            .map_err(|error| format!("no controller {controller} of cgroup v1 ({error})"))?;
        let group = ControlGroup { path };
        for (name, value) in limits {
            fs::write(group.path.join(name), value)
                .map_err(|error| format!("the controller {controller} takes no {name} ({error})"))?;
        }
        Ok(group)
    }

    /// Words that start a program in the group; the command follows them.
    pub fn words(&self) -> [String; 4] {
        let script = r#"echo $$ > "$0"/cgroup.procs && exec "$@""#;
        ["sh".into(), "-c".into(), script.into(), self.path.display().to_string()]
    }

    /// Runs iosonar in the group.
    #[track_caller]
    pub fn run(&self, lab: &Lab, args: &str) -> Ended {
        Ended::of(lab.command_under(&self.words().each_ref().map(String::as_str), args).output().unwrap())
    }

    /// Number of periods in which its programs exhausted their CPU quota.
    #[track_caller]
    pub fn throttled(&self) -> u64 {
        self.figure("cpu.stat", "nr_throttled ")
    }

    /// Number of threads refused to its programs.
    #[track_caller]
    pub fn refused(&self) -> u64 {
        self.figure("pids.events", "max ")
    }

    #[track_caller]
    fn figure(&self, file: &str, name: &str) -> u64 {
        let text = fs::read_to_string(self.path.join(file)).expect("the group's figures");
        let value = text.lines().find_map(|line| line.strip_prefix(name));
        value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {name}in {text}"))
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir(&self.path) {
            eprintln!("{} stays: {error}", self.path.display());
        }
    }
}
