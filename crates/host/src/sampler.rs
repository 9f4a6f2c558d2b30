//! Samples counters and levels of the machine during a run.
//!
//! A sampler has a list of probes, each with its series. Every file is opened once; a sample then costs one pread(2)
//! for each and allocates nothing. Counters are those of the kernel, since boot: rates are differences.

mod files;
mod nfs;
mod threads;

use crate::Root;
use crate::target::TargetFacts;
use iosonar_evidence::Series;
use std::fmt;

pub use threads::{Present, ThreadTimes};

/// A source that is sampled repeatedly.
pub trait Probe: Send {
    /// Returns its series.
    fn series(&self) -> &[Series];

    /// Returns its values, each with its index in [`Probe::series`]. Unreadable values (a device that is gone) are skipped.
    fn sample(&mut self, give: &mut dyn FnMut(usize, f64));
}

/// Series of a value: index in [`Sampler::series`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SeriesId(pub u16);

/// Samples a list of probes.
#[derive(Default)]
pub struct Sampler {
    probes: Vec<Box<dyn Probe>>,
    series: Vec<Series>,
    absent: Vec<String>,
}

impl fmt::Debug for Sampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sampler")
            .field("series", &self.series)
            .field("absent", &self.absent)
            .finish_non_exhaustive()
    }
}

impl Sampler {
    /// Opens all sources: the devices of all targets and those below them, each once; CPUs; memory; this process.
    /// Failed ones have no series, see [`Sampler::absent`].
    pub fn of_machine(targets: &[TargetFacts], root: &Root) -> Sampler {
        let mut sampler = Sampler::default();
        for probe in files::of_machine(targets, root) {
            match probe {
                Ok(probe) => sampler.add(Box::new(probe)),
                Err(why) => sampler.absent.push(why),
            }
        }
        match nfs::Mounts::of(targets, root) {
            Some(Ok(probe)) => sampler.add(Box::new(probe)),
            Some(Err(why)) => sampler.absent.push(why),
            None => {}
        }
        sampler.add(Box::new(files::OwnCpu));
        sampler
    }

    /// Adds a probe after the others.
    pub fn add(&mut self, probe: Box<dyn Probe>) {
        self.series.extend_from_slice(probe.series());
        self.probes.push(probe);
    }

    /// Returns all series.
    pub fn series(&self) -> &[Series] {
        &self.series
    }

    /// Returns the sources that failed to open, with reasons.
    pub fn absent(&self) -> &[String] {
        &self.absent
    }

    /// Appends the current values to `out`, at most one per series.
    pub fn sample(&mut self, out: &mut Vec<(SeriesId, f64)>) {
        let mut first = 0;
        for probe in &mut self.probes {
            probe.sample(&mut |place, value| out.push((SeriesId((first + place) as u16), value)));
            first += probe.series().len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;
    use std::collections::HashMap;

    fn tree() -> Tree {
        let tree = Tree::new();
        tree.disk("sda", "8:0", 100).file("/sys/class/block/sda/stat", "  1 2 3 4 5 6 7 8 9 10 11\n");
        tree.file(
            "/proc/stat",
            "cpu  10 20 30 40 50 60 70 80 90 100\ncpu0 1 1 1 1\nintr 77 1 2\nctxt 88\nsoftirq 99 3 4\n",
        );
        tree.file(
            "/proc/meminfo",
            "MemTotal: 9 kB\nCached: 3 kB\nDirty:    1 kB\nWriteback: 2 kB\nWritebackTmp: 8 kB\n",
        );
        tree.file("/proc/self/statm", "100 7 3 1 0 5 0\n");
        tree.file(
            "/proc/self/io",
            "rchar: 5\nread_bytes: 4096\nwrite_bytes: 512\ncancelled_write_bytes: 9\n",
        );
        tree
    }

    fn target(tree: &Tree) -> TargetFacts {
        tree.mountinfo("self", "1 0 8:0 / / rw - ext4 /dev/sda rw\n").file("/f", "data");
        crate::identify(&tree.path("/f"), &tree.root()).unwrap()
    }

    fn values(sampler: &mut Sampler) -> HashMap<String, f64> {
        let mut out = Vec::new();
        sampler.sample(&mut out);
        out.into_iter().map(|(id, value)| (sampler.series()[usize::from(id.0)].to_string(), value)).collect()
    }

    #[test]
    fn series_use_kernel_names() {
        let tree = tree();
        let target = target(&tree);
        let mut sampler = Sampler::of_machine(&[target.clone(), target], &tree.root());
        let found = values(&mut sampler);
        assert_eq!(found.len(), sampler.series().len());
        assert_eq!(
            (found["sda.read_ios"], found["sda.in_flight"], found["sda.time_in_queue_ms"]),
            (1.0, 9.0, 11.0)
        );
        assert!(!found.contains_key("sda.discard_ios"));
        assert_eq!((found["cpu.user_ticks"], found["cpu.steal_ticks"]), (10.0, 80.0));
        let events = ["kernel.interrupts", "kernel.context_switches", "kernel.soft_interrupts"];
        assert_eq!(events.map(|name| found[name]), [77.0, 88.0, 99.0]);
        assert_eq!((found["memory.Dirty_bytes"], found["memory.Writeback_bytes"]), (1024.0, 2048.0));
        assert_eq!(found["self.rss_bytes"], 7.0 * rustix::param::page_size() as f64);
        assert_eq!((found["self.read_bytes"], found["self.write_bytes"]), (4096.0, 512.0));
    }

    #[test]
    fn reads_throttling_from_innermost_limited_cgroup() {
        let tree = tree();
        tree.mountinfo("self", "1 0 0:31 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        tree.file("/proc/self/cgroup", "0::/a/b\n");
        tree.file("/sys/fs/cgroup/a/cpu.max", "10000 100000\n")
            .file("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
        tree.file(
            "/sys/fs/cgroup/a/cpu.stat",
            "usage_usec 7\nnr_periods 46\nnr_throttled 45\nthrottled_usec 3\n",
        );
        let found = values(&mut Sampler::of_machine(&[], &tree.root()));
        assert_eq!((found["cgroup.periods"], found["cgroup.throttled"]), (46.0, 45.0));
        tree.file("/sys/fs/cgroup/a/cpu.max", "max 100000\n");
        assert!(!values(&mut Sampler::of_machine(&[], &tree.root())).contains_key("cgroup.periods"));
    }

    #[test]
    fn missing_sources_have_no_series() {
        let tree = Tree::new();
        let sampler = Sampler::of_machine(&[], &tree.root());
        let names: Vec<String> = sampler.series().iter().map(Series::to_string).collect();
        assert_eq!(names, ["self.user_cpu_ns", "self.system_cpu_ns"]);
        assert_eq!(sampler.absent().len(), 4, "{:?}", sampler.absent());
    }

    #[test]
    fn samples_follow_the_files_without_allocating() {
        let tree = tree();
        let mut sampler = Sampler::of_machine(&[target(&tree)], &tree.root());
        let mut out = Vec::with_capacity(sampler.series().len());
        let capacity = out.capacity();
        std::fs::write(tree.path("/sys/class/block/sda/stat"), "100 2 3 4 5 6 7 8 9 10 11\n").unwrap();
        sampler.sample(&mut out);
        assert_eq!((out[0], out.capacity()), ((SeriesId(0), 100.0), capacity));
    }
}
