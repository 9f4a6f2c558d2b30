//! Control group limits of this process, in both versions of the interface.

use crate::Root;
use crate::mounts::{self, Mount};
use iosonar_evidence::{CgroupLimit, Cgroups};
use std::path::{Path, PathBuf};

/// Limit files: controller of version 1 (`""` for version 2), file, and the texts that mean "no limit".
const LIMITS: [(&str, &str, &[&str]); 13] = [
    ("", "cpu.max", &["max"]),
    ("", "io.max", &[]),
    ("", "io.latency", &[]),
    ("", "memory.max", &["max"]),
    ("", "memory.high", &["max"]),
    ("cpu", "cpu.cfs_quota_us", &["-1"]),
    ("blkio", "blkio.throttle.read_bps_device", &[]),
    ("blkio", "blkio.throttle.write_bps_device", &[]),
    ("blkio", "blkio.throttle.read_iops_device", &[]),
    ("blkio", "blkio.throttle.write_iops_device", &[]),
    ("memory", "memory.limit_in_bytes", &[]),
    ("memory", "memory.soft_limit_in_bytes", &[]),
    ("memory", "memory.memsw.limit_in_bytes", &[]),
];
/// Version 1 writes "no limit" of memory as the largest number of whole pages, somewhat below 2^63.
const NO_MEMORY_LIMIT: u64 = 1 << 62;

/// Reads the limits that apply to this process.
pub(crate) fn capture(root: &Root) -> Cgroups {
    let membership = root.fact("/proc/self/cgroup").map(|text| text.lines().map(str::to_owned).collect());
    let mounts = mounts::own(root).unwrap_or_default();
    let mut cgroups = Cgroups { membership, limits: Vec::new(), unseen: Vec::new() };
    for line in cgroups.membership.known().cloned().unwrap_or_default() {
        match Hierarchy::of(&line, &mounts) {
            Ok(hierarchy) => hierarchy.limits(root, &mut cgroups.limits),
            Err(why) => cgroups.unseen.push(why),
        }
    }
    cgroups
}

/// Minimum memory limit in bytes of the control group of this process and its ancestors; `None` if there is no limit.
pub fn memory_limit(root: &Root) -> Option<u64> {
    let is_of_memory = |limit: &&CgroupLimit| {
        matches!(limit.file.as_str(), "memory.max" | "memory.high" | "memory.limit_in_bytes")
    };
    let limits = capture(root).limits;
    limits.iter().filter(is_of_memory).filter_map(|limit| limit.value.parse().ok()).min()
}

/// Path of the throttling statistics of this process: that of the innermost group with a CPU limit.
pub(crate) fn throttling(root: &Root) -> Option<PathBuf> {
    let membership = root.read("/proc/self/cgroup").ok()?;
    let mounts = mounts::own(root).ok()?;
    let mut hierarchies = membership.lines().filter_map(|line| Hierarchy::of(line, &mounts).ok());
    hierarchies.find_map(|hierarchy| {
        let mut groups = hierarchy.group.ancestors().map(|group| hierarchy.mount.mount_point.join(group));
        Some(groups.find(|directory| has_cpu_limit(root, directory))?.join("cpu.stat"))
    })
}

fn has_cpu_limit(root: &Root, directory: &Path) -> bool {
    let mut files = LIMITS.iter().filter(|(_, file, _)| file.starts_with("cpu."));
    files.any(|(_, file, none)| limit(root, directory, file).is_some_and(|value| !is_none(&value, none)))
}

/// A hierarchy, and the group of this process in it.
struct Hierarchy<'a> {
    controllers: Vec<&'a str>,
    mount: &'a Mount,
    /// Relative to the mount point.
    group: PathBuf,
}

impl<'a> Hierarchy<'a> {
    /// Parses a line `4:cpu,cpuacct:/group` (version 1) or `0::/group` (version 2).
    fn of(line: &'a str, mounts: &'a [Mount]) -> Result<Self, String> {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (fields.next(), fields.next()) else {
            return Err(format!("`{line}` is not of the form hierarchy:controllers:group"));
        };
        let controllers: Vec<&str> = controllers.split(',').collect();
        let is_mount = |mount: &&Mount| match controllers.as_slice() {
            [""] => mount.kind == "cgroup2",
            all => mount.kind == "cgroup" && all.iter().all(|it| has_option(&mount.super_options, it)),
        };
        let mount =
            mounts.iter().find(is_mount).ok_or_else(|| format!("{line}: this hierarchy isn't mounted"))?;
        let group = Path::new(group).strip_prefix(&mount.root);
        let group =
            group.map_err(|_| format!("{line}: this group is outside of what is mounted"))?.to_owned();
        Ok(Self { controllers, mount, group })
    }

    /// Adds the limits of the group and of its ancestors.
    fn limits(&self, root: &Root, limits: &mut Vec<CgroupLimit>) {
        for group in self.group.ancestors() {
            let directory = self.mount.mount_point.join(group);
            let files = LIMITS.iter().filter(|(controller, ..)| self.controllers.contains(controller));
            limits.extend(files.filter_map(|(_, file, none)| {
                let value = limit(root, &directory, file).filter(|value| !is_none(value, none))?;
                Some(CgroupLimit { group: Path::new("/").join(group), file: (*file).to_owned(), value })
            }));
        }
    }
}

fn has_option(options: &str, name: &str) -> bool {
    options.split(',').any(|option| option == name)
}

/// Text of a limit; a quota includes its period.
fn limit(root: &Root, directory: &Path, file: &str) -> Option<String> {
    let value = root.read(directory.join(file)).ok()?;
    if file != "cpu.cfs_quota_us" || value == "-1" {
        return Some(value);
    }
    let period = root.read(directory.join("cpu.cfs_period_us")).ok()?;
    Some(format!("{value} of {period}"))
}

fn is_none(value: &str, none: &[&str]) -> bool {
    let first = value.split_whitespace().next().unwrap_or_default();
    value.is_empty()
        || none.contains(&first)
        || first.parse().is_ok_and(|bytes: u64| bytes >= NO_MEMORY_LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    fn found(tree: &Tree) -> Vec<String> {
        let cgroups = capture(&tree.root());
        cgroups.limits.iter().map(|it| format!("{} {} {}", it.group.display(), it.file, it.value)).collect()
    }

    #[test]
    fn memory_limit_is_minimum_of_all_ancestors() {
        let tree = Tree::new();
        tree.mountinfo("self", "1 0 0:1 / /sys/fs/cgroup rw - cgroup2 none rw\n");
        tree.file("/proc/self/cgroup", "0::/a/b\n");
        assert_eq!(memory_limit(&tree.root()), None);
        tree.file("/sys/fs/cgroup/a/b/memory.max", "max\n").file("/sys/fs/cgroup/a/memory.max", "67108864\n");
        assert_eq!(memory_limit(&tree.root()), Some(64 << 20));
        tree.file("/sys/fs/cgroup/a/b/memory.high", "1048576\n");
        assert_eq!(memory_limit(&tree.root()), Some(1 << 20));
    }

    #[test]
    fn reads_cgroup_v2_limits_of_ancestors() {
        let tree = Tree::new();
        tree.mountinfo("self", "1 0 0:31 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        tree.file("/proc/self/cgroup", "0::/a/b\n");
        tree.file("/sys/fs/cgroup/a/cpu.max", "10000 100000\n")
            .file("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
        tree.file("/sys/fs/cgroup/a/b/io.max", "254:0 rbps=52428800 wbps=max riops=max wiops=max\n");
        tree.file("/sys/fs/cgroup/a/b/memory.max", "max\n");
        assert_eq!(
            found(&tree),
            ["/a/b io.max 254:0 rbps=52428800 wbps=max riops=max wiops=max", "/a cpu.max 10000 100000"]
        );
    }

    #[test]
    fn reads_cgroup_v1_limits_in_container() {
        let tree = Tree::new();
        tree.mountinfo(
            "self",
            "1 0 0:31 /box /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
             2 0 0:32 /box /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n",
        );
        tree.file(
            "/proc/self/cgroup",
            "4:cpu,cpuacct:/box/x\n3:blkio:/box\n2:memory:/box\n1:blkio:/elsewhere\n",
        );
        tree.file("/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "10000\n");
        tree.file("/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
        tree.file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
        tree.file("/sys/fs/cgroup/blkio/blkio.throttle.read_iops_device", "7:0 500\n");
        tree.file("/sys/fs/cgroup/blkio/blkio.throttle.write_iops_device", "\n");
        assert_eq!(
            found(&tree),
            ["/x cpu.cfs_quota_us 10000 of 100000", "/ blkio.throttle.read_iops_device 7:0 500"]
        );
        let unseen = capture(&tree.root()).unseen;
        assert!(unseen[0].contains("isn't mounted") && unseen[1].contains("outside"), "{unseen:?}");
    }

    #[test]
    fn maximum_value_means_no_limit() {
        assert!(is_none("9223372036854771712", &[]));
        assert!(!is_none("1073741824", &[]));
    }
}
