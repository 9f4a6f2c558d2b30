//! The machine that a run happened on, as it was at one moment.

use crate::target::FileSystem;
use crate::{Fact, Reread, TargetFacts};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Everything about a machine that can change the result of a run.
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
    /// How time is told.
    pub clock: Clock,
    /// Its memory.
    pub memory: Memory,
    /// Load averages over 1, 5 and 15 minutes.
    pub load_average: Fact<[f64; 3]>,
    /// What kind of machine it is.
    pub machine: Machine,
    /// What this process may do.
    pub process: Process,
    /// Control groups of this process.
    pub cgroups: Cgroups,
    /// One for each target, in the order of the plan; none where an earlier version wrote them otherwise.
    #[serde(deserialize_with = "all_or_none")]
    pub targets: Vec<TargetFacts>,
    /// The re-read probe of each target that was probed, in the order of the plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reread: Vec<Reread>,
    /// The file system that the result was written to.
    pub result: Fact<FileSystem>,
    /// In which order requests went to the devices during the run: known after a run for which this was watched.
    pub issue_order: Fact<IssueOrder>,
    /// What was written back before the run; none where little waited, and where an earlier version ran.
    pub written_back: Option<WrittenBack>,
}

/// In which order the kernel gave requests to the drivers, by its tracepoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct IssueOrder {
    /// Requests that were given to a driver.
    pub issued: u64,
    /// Those of them that had been requested before the one that was given to the driver last.
    pub out_of_order: u64,
    /// Events that the kernel could not keep.
    pub lost_events: u64,
}

/// What waited in memory to be written before a run, and was written back so that it does not disturb the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WrittenBack {
    /// Bytes that waited.
    pub waited_bytes: u64,
    /// Bytes that waited afterwards.
    pub left_bytes: u64,
    /// How long it took, in nanoseconds.
    pub took_ns: u64,
    /// Whether all was written that waited when it started. Otherwise the rest is written while the run goes on.
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
    /// How many those are.
    pub count: Fact<u64>,
    /// Processors that this process may run on.
    pub allowed: Fact<String>,
    /// Frequency governors in use, each once.
    pub governors: Fact<Vec<String>>,
    /// Bytes of the largest cache of the first processor.
    pub cache_bytes: Fact<u64>,
    /// Simultaneous multithreading: `on`, `off`, `notsupported` …
    pub smt: Fact<String>,
    /// How often processors have slowed themselves down because of heat, since the machine was started.
    pub thermal_throttles: Fact<u64>,
}

/// How time is told.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Clock {
    /// The clock source in use: `tsc`, `kvm-clock` …
    pub source: Fact<String>,
    /// By how many nanoseconds the kernel may delay this process's timers.
    pub timer_slack_ns: Fact<u64>,
    /// Differs for each start of a machine: only within one can times of `CLOCK_MONOTONIC` be compared.
    pub boot_id: Fact<String>,
}

/// Memory, in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// All that the kernel manages.
    pub total: Fact<u64>,
    /// What can be had without swapping.
    pub available: Fact<u64>,
    /// Pages of files that wait to be written.
    pub dirty: Fact<u64>,
    /// Pages of files that are being written; not in results of earlier versions.
    pub writeback: Fact<u64>,
    /// Swap space.
    pub swap_total: Fact<u64>,
    /// Size of a page.
    pub page_size: u64,
}

/// What kind of machine it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// Maker, by DMI.
    pub vendor: Fact<String>,
    /// Product, by DMI.
    pub product: Fact<String>,
    /// Whether the processor says that it runs below a hypervisor.
    pub hypervisor_flag: Fact<bool>,
    /// Kind of the hypervisor, where the kernel says so (`xen`).
    pub hypervisor_type: Fact<String>,
}

/// What this process may do.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Process {
    /// Effective user id.
    pub uid: u32,
    /// Which of the capabilities that matter to a run are effective.
    pub capabilities: Fact<BTreeMap<String, bool>>,
    /// Soft limit of open files; `unlimited` or a number.
    pub max_open_files: Fact<String>,
    /// Soft limit of locked memory in bytes; `unlimited` or a number.
    pub max_locked_memory: Fact<String>,
    /// Nice value.
    pub nice: Fact<i64>,
}

impl Memory {
    /// Bytes of pages that wait to be written, or are being written; none where the kernel does not say it.
    pub fn waiting(&self) -> Option<u64> {
        Some(self.dirty.known()? + self.writeback.known().unwrap_or(&0))
    }
}

impl Environment {
    /// The same, with the name and version of the program that captured it.
    pub fn by(mut self, tool: impl Into<String>) -> Self {
        self.tool = tool.into();
        self
    }
}

fn all_or_none<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<TargetFacts>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Targets {
        Known(Vec<TargetFacts>),
        Other(serde::de::IgnoredAny),
    }
    Ok(match Targets::deserialize(from)? {
        Targets::Known(targets) => targets,
        Targets::Other(_) => Vec::new(),
    })
}

/// One limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CgroupLimit {
    /// The control group, from the root of its hierarchy: one that this process is in, or an ancestor.
    pub group: PathBuf,
    /// Name of the file, for example `cpu.max` or `blkio.throttle.read_iops_device`.
    pub file: String,
    /// What it says. For `cpu.cfs_quota_us` the period follows: `10000 of 100000`.
    pub value: String,
}

/// Control groups of this process.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Cgroups {
    /// The lines of `/proc/self/cgroup`: hierarchy, controllers, group.
    pub membership: Fact<Vec<String>>,
    /// Limits of the groups and of all their ancestors that this process can see.
    pub limits: Vec<CgroupLimit>,
    /// Hierarchies whose limits could not be looked at, with the reason.
    pub unseen: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_earlier_version_did_not_write_is_absent() {
        let text =
            r#"{"kernel": {"release": "6.1"}, "targets": [{"path": "a"}], "clock": {"source": "tsc"}}"#;
        let facts: Environment = serde_json::from_str(text).unwrap();
        assert_eq!(facts.kernel.release.known().map(String::as_str), Some("6.1"));
        assert_eq!((facts.clock.boot_id.known(), facts.targets.len()), (None, 0));
        let again: Environment = serde_json::from_str(&serde_json::to_string(&facts).unwrap()).unwrap();
        assert_eq!(again, facts);
    }
}
