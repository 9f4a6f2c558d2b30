//! Counters and levels of the machine, read again and again while a run goes on.
//!
//! Every file is opened once; a reading then costs one pread(2) for each and allocates nothing. Counters are given
//! as the kernel counts them, since boot: who wants rates takes differences.

use crate::Root;
use crate::target::TargetFacts;
use iosonar_os::usage;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Large enough for each file that is read, as far as it is read: `/proc/meminfo` has about 1.5 KiB, and of
/// `/proc/stat` only the first line counts.
const BUFFER: usize = 8192;

/// Fields of `/sys/class/block/X/stat`, in the kernel's order and with its names, units added. The last two are from
/// Linux 5.5, the four before from 4.18. `in_flight` is a level, all others count since boot.
const DEVICE: [&str; 17] = [
    "read_ios",
    "read_merges",
    "read_sectors",
    "read_ticks_ms",
    "write_ios",
    "write_merges",
    "write_sectors",
    "write_ticks_ms",
    "in_flight",
    "io_ticks_ms",
    "time_in_queue_ms",
    "discard_ios",
    "discard_merges",
    "discard_sectors",
    "discard_ticks_ms",
    "flush_ios",
    "flush_ticks_ms",
];
/// Fields of the line `cpu` of `/proc/stat`, in clock ticks, of which all processors together make
/// `CLOCK_TICKS × processors` each second.
const CPU: [&str; 8] = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];
/// Lines of `/proc/meminfo`.
const MEMORY: [&str; 3] = ["Dirty", "Writeback", "Cached"];

/// Which series a value belongs to: the position of its name in [`Sampler::names`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SeriesId(pub u16);

/// What a series is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeriesKind {
    /// Rises only; the difference of two samples is what happened between them.
    Counter,
    /// Is what it is at this moment.
    Level,
}

/// Reads everything that is worth a time series.
#[derive(Debug)]
pub struct Sampler {
    sources: Vec<Source>,
    names: Vec<String>,
    kinds: Vec<SeriesKind>,
    absent: Vec<String>,
    buffer: Vec<u8>,
}

/// Where values come from. `first` is the series of the first value, the others follow.
#[derive(Debug)]
enum Source {
    /// A device's `stat`.
    Device { file: File, first: u16, count: usize },
    /// `/proc/stat`.
    Cpu { file: File, first: u16, count: usize },
    /// `/proc/meminfo`.
    Memory { file: File, first: u16 },
    /// `/proc/self/statm`.
    OwnMemory { file: File, first: u16, page_size: f64 },
    /// getrusage(2).
    OwnCpu { first: u16 },
}

impl Sampler {
    /// Opens what is there: the devices of all targets and those below them, each once; processors; memory; this
    /// process. What can't be opened has no series, see [`Sampler::absent`].
    pub fn new(targets: &[TargetFacts], root: &Root) -> Self {
        let buffer = vec![0; BUFFER];
        let mut sampler =
            Self { sources: Vec::new(), names: Vec::new(), kinds: Vec::new(), absent: Vec::new(), buffer };
        let mut devices: Vec<&str> =
            targets.iter().flat_map(TargetFacts::devices).map(|it| it.name.as_str()).collect();
        let mut seen = std::collections::HashSet::new();
        devices.retain(|name| seen.insert(*name));
        devices.into_iter().for_each(|name| sampler.add_device(name, root));
        sampler.add_machine(root);
        sampler.add_process(root);
        sampler
    }

    /// Names of the series, for example `vda.read_ios`, `cpu.iowait_ticks`, `memory.Dirty_bytes`, `self.rss_bytes`.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// What a series is made of.
    pub fn kind(&self, series: SeriesId) -> SeriesKind {
        self.kinds[usize::from(series.0)]
    }

    /// What could not be opened, with the reasons.
    pub fn absent(&self) -> &[String] {
        &self.absent
    }

    /// Adds one value for each series to `out`. A series whose file can't be read at this moment (a device that is
    /// gone) is left out.
    pub fn sample(&mut self, out: &mut Vec<(SeriesId, f64)>) {
        for source in &self.sources {
            source.sample(&mut self.buffer, out);
        }
    }

    fn add_device(&mut self, name: &str, root: &Root) {
        let path = crate::block::class_entry(name).join("stat");
        let Some((file, text)) = self.open(&path, root) else { return };
        let count = text.split_ascii_whitespace().count().min(DEVICE.len());
        let kind = |field: &str| if field == "in_flight" { SeriesKind::Level } else { SeriesKind::Counter };
        let first = self.name(DEVICE[..count].iter().map(|field| (format!("{name}.{field}"), kind(field))));
        self.sources.push(Source::Device { file, first, count });
    }

    fn add_machine(&mut self, root: &Root) {
        if let Some((file, text)) = self.open(Path::new("/proc/stat"), root) {
            let count = cpu_values(text.as_bytes()).count();
            let names = CPU[..count].iter().map(|field| (format!("cpu.{field}_ticks"), SeriesKind::Counter));
            let first = self.name(names);
            self.sources.push(Source::Cpu { file, first, count });
        }
        if let Some((file, _)) = self.open(Path::new("/proc/meminfo"), root) {
            let first =
                self.name(MEMORY.iter().map(|field| (format!("memory.{field}_bytes"), SeriesKind::Level)));
            self.sources.push(Source::Memory { file, first });
        }
    }

    fn add_process(&mut self, root: &Root) {
        let times = ["self.user_cpu_ns", "self.system_cpu_ns"];
        let first = self.name(times.into_iter().map(|name| (name.to_owned(), SeriesKind::Counter)));
        self.sources.push(Source::OwnCpu { first });
        if let Some((file, _)) = self.open(Path::new("/proc/self/statm"), root) {
            let first = self.name([("self.rss_bytes".to_owned(), SeriesKind::Level)].into_iter());
            self.sources.push(Source::OwnMemory {
                file,
                first,
                page_size: rustix::param::page_size() as f64,
            });
        }
    }

    /// Opens a file and reads it once.
    fn open(&mut self, path: &Path, root: &Root) -> Option<(File, String)> {
        let opened = File::open(root.path(path)).and_then(|file| {
            let length = file.read_at(&mut self.buffer, 0)?;
            Ok((file, String::from_utf8_lossy(&self.buffer[..length]).into_owned()))
        });
        opened.map_err(|error| self.absent.push(format!("{}: {error}", path.display()))).ok()
    }

    /// Adds series; returns the first.
    fn name(&mut self, series: impl Iterator<Item = (String, SeriesKind)>) -> u16 {
        let first = self.names.len() as u16;
        for (name, kind) in series {
            self.names.push(name);
            self.kinds.push(kind);
        }
        first
    }
}

impl Source {
    fn sample(&self, buffer: &mut [u8], out: &mut Vec<(SeriesId, f64)>) {
        match self {
            Source::Device { file, first, count } => {
                push(
                    *first,
                    read(file, buffer).split(u8::is_ascii_whitespace).filter_map(number).take(*count),
                    out,
                );
            }
            Source::Cpu { file, first, count } => {
                push(*first, cpu_values(read(file, buffer)).take(*count), out)
            }
            Source::Memory { file, first } => memory(read(file, buffer), *first, out),
            Source::OwnMemory { file, first, page_size } => {
                let pages = read(file, buffer).split(u8::is_ascii_whitespace).nth(1).and_then(number);
                push(*first, pages.map(|pages| pages * page_size).into_iter(), out);
            }
            Source::OwnCpu { first } => {
                let time = usage::own_cpu_time();
                push(*first, [time.user_ns as f64, time.system_ns as f64].into_iter(), out);
            }
        }
    }
}

/// What a file says now; nothing if it can't be read.
fn read<'a>(file: &File, buffer: &'a mut [u8]) -> &'a [u8] {
    let length = file.read_at(buffer, 0).unwrap_or(0);
    &buffer[..length]
}

/// Values of series that follow one another.
fn push(first: u16, values: impl Iterator<Item = f64>, out: &mut Vec<(SeriesId, f64)>) {
    out.extend((first..).map(SeriesId).zip(values));
}

/// A whole number below 2^53 is exact as a floating-point number; a disk needs years to count further.
fn number(digits: &[u8]) -> Option<f64> {
    std::str::from_utf8(digits).ok()?.parse::<u64>().ok().map(|value| value as f64)
}

/// Numbers of the line `cpu`, which is the first.
fn cpu_values(text: &[u8]) -> impl Iterator<Item = f64> {
    let line = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = line.strip_prefix(b"cpu ").unwrap_or_default();
    line.split(u8::is_ascii_whitespace).filter_map(number).take(CPU.len())
}

/// `Dirty:               392 kB`
fn memory(text: &[u8], first: u16, out: &mut Vec<(SeriesId, f64)>) {
    for line in text.split(|&byte| byte == b'\n') {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let Some(name) = words.next().and_then(|word| word.strip_suffix(b":")) else { continue };
        let Some(at) = MEMORY.iter().position(|it| it.as_bytes() == name) else { continue };
        push(first + at as u16, words.next().and_then(number).map(|kib| kib * 1024.0).into_iter(), out);
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
        tree.file("/proc/stat", "cpu  10 20 30 40 50 60 70 80 90 100\ncpu0 1 1 1 1\n");
        tree.file(
            "/proc/meminfo",
            "MemTotal: 9 kB\nCached: 3 kB\nDirty:    1 kB\nWriteback: 2 kB\nWritebackTmp: 8 kB\n",
        );
        tree.file("/proc/self/statm", "100 7 3 1 0 5 0\n");
        tree
    }

    fn target(tree: &Tree) -> TargetFacts {
        tree.mountinfo("self", "1 0 8:0 / / rw - ext4 /dev/sda rw\n").file("/f", "data");
        crate::identify(&tree.path("/f"), &tree.root()).unwrap()
    }

    fn values(sampler: &mut Sampler) -> HashMap<String, f64> {
        let mut out = Vec::new();
        sampler.sample(&mut out);
        out.into_iter().map(|(id, value)| (sampler.names()[usize::from(id.0)].clone(), value)).collect()
    }

    #[test]
    fn values_have_the_kernels_names() {
        let tree = tree();
        let target = target(&tree);
        let mut sampler = Sampler::new(&[target.clone(), target], &tree.root());
        let found = values(&mut sampler);
        assert_eq!(found.len(), sampler.names().len());
        assert_eq!(
            (found["sda.read_ios"], found["sda.in_flight"], found["sda.time_in_queue_ms"]),
            (1.0, 9.0, 11.0)
        );
        assert!(!found.contains_key("sda.discard_ios"));
        assert_eq!((found["cpu.user_ticks"], found["cpu.steal_ticks"]), (10.0, 80.0));
        assert_eq!((found["memory.Dirty_bytes"], found["memory.Writeback_bytes"]), (1024.0, 2048.0));
        assert_eq!(found["self.rss_bytes"], 7.0 * rustix::param::page_size() as f64);
        assert_eq!(sampler.kind(SeriesId(8)), SeriesKind::Level);
        assert_eq!(sampler.kind(SeriesId(0)), SeriesKind::Counter);
    }

    #[test]
    fn what_is_not_there_has_no_series() {
        let tree = Tree::new();
        let sampler = Sampler::new(&[], &tree.root());
        assert_eq!(sampler.names(), ["self.user_cpu_ns", "self.system_cpu_ns"]);
        assert_eq!(sampler.absent().len(), 3, "{:?}", sampler.absent());
    }

    #[test]
    fn samples_follow_the_files_without_allocating() {
        let tree = tree();
        let mut sampler = Sampler::new(&[target(&tree)], &tree.root());
        let mut out = Vec::with_capacity(sampler.names().len());
        let capacity = out.capacity();
        std::fs::write(tree.path("/sys/class/block/sda/stat"), "100 2 3 4 5 6 7 8 9 10 11\n").unwrap();
        sampler.sample(&mut out);
        assert_eq!((out[0], out.capacity()), ((SeriesId(0), 100.0), capacity));
    }
}
