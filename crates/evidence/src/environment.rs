//! Snapshot of the machine on which a run happened.

use crate::target::FileSystem;
use crate::{Fact, Reread, TargetFacts};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Everything about a machine that can affect the result of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Environment {
    /// Name and version of the program that captured this; empty unless [`Environment::by`] set it.
    pub tool: String,
    /// The running kernel.
    pub kernel: Kernel,
    /// Its C library, for example `glibc 2.36`.
    pub c_library: Fact<String>,
    /// Name of the machine.
    pub hostname: Fact<String>,
    /// Its processors.
    pub cpu: Cpu,
    /// Its clock.
    pub clock: Clock,
    /// Its memory.
    pub memory: Memory,
    /// Load averages over 1, 5 and 15 minutes.
    pub load_average: Fact<[f64; 3]>,
    /// Kind of machine.
    pub machine: Machine,
    /// Privileges and limits of this process.
    pub process: Process,
    /// Control groups of this process.
    pub cgroups: Cgroups,
    /// One per target, in the order of the plan.
    pub targets: Vec<TargetFacts>,
    /// Re-read probe of each probed target, in the order of the plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reread: Vec<Reread>,
    /// File system of the result.
    pub result: Fact<FileSystem>,
    /// Order in which requests were issued to the devices during the run: known if it was watched.
    pub issue_order: Fact<IssueOrder>,
    /// Recording of the kernel's events during the run, and its cost: known if the path of the requests was traced.
    pub path_tracing: Fact<PathTracing>,
    /// Writeback before the run; `None` if there was little dirty data.
    pub written_back: Option<WrittenBack>,
}

/// Order in which the kernel issued requests to the drivers, from its tracepoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct IssueOrder {
    /// Requests issued to a driver.
    pub issued: u64,
    /// Issued requests that had been queued before the previously issued one.
    pub out_of_order: u64,
    /// Events lost by the kernel.
    pub lost_events: u64,
}

/// Recording of the kernel's block events during a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PathTracing {
    /// One of this number of windows of time was recorded; 0 and 1: all of the run.
    pub one_of: u32,
    /// Number of recorded windows; 0 if all of the run was recorded.
    pub windows: u64,
    /// Events that were recorded.
    pub events: u64,
    /// Events lost by the kernel.
    pub lost_events: u64,
    /// Pages of the kernel's buffers that could not be read.
    pub damaged_pages: u64,
    /// Size of the events on disk.
    pub bytes: u64,
    /// CPU time of the thread that read them, in nanoseconds.
    pub cpu_ns: u64,
    /// Duration in nanoseconds.
    pub took_ns: u64,
    /// Why it ended early; `None` if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
}

/// Writeback of dirty data before a run, so that it does not disturb the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WrittenBack {
    /// Dirty bytes before.
    pub waited_bytes: u64,
    /// Dirty bytes afterwards.
    pub left_bytes: u64,
    /// Duration in nanoseconds.
    pub took_ns: u64,
    /// Whether all data that was dirty at the start was written. Otherwise the rest is written during the run.
    pub is_complete: bool,
}

/// The running kernel.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Kernel {
    /// For example `6.12.48-amd64`.
    pub release: Fact<String>,
    /// Build number, options and date.
    pub version: Fact<String>,
    /// Command line from the boot loader.
    pub cmdline: Fact<String>,
}

/// Processors.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Cpu {
    /// For example `AMD EPYC 7763`.
    pub model: Fact<String>,
    /// Processors that are online, as the kernel lists them: `0-3`.
    pub online: Fact<String>,
    /// Number of online processors.
    pub count: Fact<u64>,
    /// Processors that this process may run on.
    pub allowed: Fact<String>,
    /// Frequency governors in use, each once.
    pub governors: Fact<Vec<String>>,
    /// Bytes of the largest cache of the first processor.
    pub cache_bytes: Fact<u64>,
    /// Simultaneous multithreading: `on`, `off`, `notsupported` …
    pub smt: Fact<String>,
    /// Number of thermal throttling events since boot.
    pub thermal_throttles: Fact<u64>,
}

/// Clock.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Clock {
    /// The clock source in use: `tsc`, `kvm-clock` …
    pub source: Fact<String>,
    /// Maximum delay of this process's timers by the kernel, in nanoseconds.
    pub timer_slack_ns: Fact<u64>,
    /// Differs for each boot: times of `CLOCK_MONOTONIC` are comparable only within one.
    pub boot_id: Fact<String>,
}

/// Memory, in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// Memory managed by the kernel.
    pub total: Fact<u64>,
    /// Memory available without swapping.
    pub available: Fact<u64>,
    /// Dirty pages of files.
    pub dirty: Fact<u64>,
    /// Pages of files under writeback.
    pub writeback: Fact<u64>,
    /// Swap space.
    pub swap_total: Fact<u64>,
    /// Size of a page.
    pub page_size: u64,
}

/// Kind of machine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// Vendor, by DMI.
    pub vendor: Fact<String>,
    /// Product, by DMI.
    pub product: Fact<String>,
    /// Whether the processor reports a hypervisor.
    pub hypervisor_flag: Fact<bool>,
    /// Kind of the hypervisor, if the kernel reports it (`xen`).
    pub hypervisor_type: Fact<String>,
}

/// Privileges and limits of this process.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Process {
    /// Effective user id.
    pub uid: u32,
    /// Effective capabilities, of those relevant to a run.
    pub capabilities: Fact<BTreeMap<String, bool>>,
    /// Soft limit of open files; `unlimited` or a number.
    pub max_open_files: Fact<String>,
    /// Soft limit of locked memory in bytes; `unlimited` or a number.
    pub max_locked_memory: Fact<String>,
    /// Nice value.
    pub nice: Fact<i64>,
}

impl Memory {
    /// Bytes of dirty pages and pages under writeback; `None` if the kernel does not report them.
    pub fn waiting(&self) -> Option<u64> {
        Some(self.dirty.known()? + self.writeback.known().unwrap_or(&0))
    }
}

impl Environment {
    /// Sets the name and version of the program that captured it.
    pub fn by(mut self, tool: impl Into<String>) -> Self {
        self.tool = tool.into();
        self
    }
}

/// A limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CgroupLimit {
    /// The control group, from the root of its hierarchy: that of this process, or an ancestor.
    pub group: PathBuf,
    /// Name of the file, for example `cpu.max` or `blkio.throttle.read_iops_device`.
    pub file: String,
    /// Content. For `cpu.cfs_quota_us` the period follows: `10000 of 100000`.
    pub value: String,
}

/// Control groups of this process.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Cgroups {
    /// The lines of `/proc/self/cgroup`: hierarchy, controllers, group.
    pub membership: Fact<Vec<String>>,
    /// Limits of the groups and of all their ancestors visible to this process.
    pub limits: Vec<CgroupLimit>,
    /// Hierarchies whose limits are unreadable, with the reason.
    pub unseen: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_fact_is_absent() {
        let text = r#"{"kernel": {"release": "6.1"}, "clock": {"source": "tsc"}}"#;
        let facts: Environment = serde_json::from_str(text).unwrap();
        assert_eq!(facts.kernel.release.known().map(String::as_str), Some("6.1"));
        assert_eq!((facts.clock.boot_id.known(), facts.targets.len()), (None, 0));
        let again: Environment = serde_json::from_str(&serde_json::to_string(&facts).unwrap()).unwrap();
        assert_eq!(again, facts);
    }
}
