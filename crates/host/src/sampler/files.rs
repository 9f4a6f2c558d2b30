//! Probes of kernel files that contain numbers, and of this process's resource usage.

use super::Probe;
use crate::Root;
use crate::target::TargetFacts;
use iosonar_evidence::{CpuState, DeviceCounter, KernelEvents, MemoryUse, OwnUse, Series, Throttling};
use iosonar_os::usage;
use iosonar_text::shown;
use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Sufficient for the needed part of each file: `/proc/meminfo` has about 1.5 KiB. `/proc/stat` has a line for each
/// CPU, and one with a number for each interrupt, of which machines have thousands.
const BUFFER: usize = 64 << 10;

/// Parses the numbers of a file's text, in the order of its series; missing ones are skipped.
type Numbers = fn(&[u8], &mut dyn FnMut(usize, f64));

/// A file that contains numbers.
pub(super) struct NumbersIn {
    file: File,
    numbers: Numbers,
    series: Vec<Series>,
    buffer: Vec<u8>,
    /// Minimum interval, for slowly changing levels that are expensive to read.
    at_most_every: Duration,
    last: Option<Instant>,
}

/// Interval for memory: the kernel takes a quarter of a sample's time to count it.
const MEMORY_EVERY: Duration = Duration::from_millis(100);

impl NumbersIn {
    /// Opens a file and reads it once; trailing `series` absent from its text are dropped. An error states why it is
    /// unreadable.
    fn open(path: &Path, root: &Root, numbers: Numbers, series: Vec<Series>) -> Result<NumbersIn, String> {
        let file = File::open(root.path(path)).map_err(|error| format!("{}: {error}", shown(&path)))?;
        let (buffer, at_most_every) = (vec![0; BUFFER], Duration::ZERO);
        let mut probe = NumbersIn { file, numbers, series, buffer, at_most_every, last: None };
        let mut found = 0;
        probe
            .read(&mut |place, _| found = found.max(place + 1))
            .map_err(|error| format!("{}: {error}", shown(&path)))?;
        probe.series.truncate(found);
        Ok(probe)
    }

    fn at_most_every(self, interval: Duration) -> NumbersIn {
        NumbersIn { at_most_every: interval, ..self }
    }

    fn read(&mut self, give: &mut dyn FnMut(usize, f64)) -> std::io::Result<()> {
        let length = self.file.read_at(&mut self.buffer, 0)?;
        let known = self.series.len();
        (self.numbers)(&self.buffer[..length], &mut |place, value| {
            if place < known {
                give(place, value);
            }
        });
        Ok(())
    }
}

impl Probe for NumbersIn {
    fn series(&self) -> &[Series] {
        &self.series
    }

    fn sample(&mut self, give: &mut dyn FnMut(usize, f64)) {
        let now = Instant::now();
        if self.last.is_some_and(|last| now.duration_since(last) < self.at_most_every) {
            return;
        }
        self.last = Some(now);
        // A failed read is skipped in this sample.
        let _ = self.read(give);
    }
}

/// The devices of all targets and those below them, each once; CPUs; memory; memory of this process.
pub(super) fn of_machine(targets: &[TargetFacts], root: &Root) -> Vec<Result<NumbersIn, String>> {
    let mut seen = HashSet::new();
    let devices = targets.iter().flat_map(TargetFacts::devices).map(|device| device.name.as_str());
    let devices = devices.filter(|name| seen.insert(*name)).map(|name| {
        let series = DeviceCounter::ALL.iter().map(|counter| Series::device(name, *counter)).collect();
        NumbersIn::open(&crate::block::class_entry(name).join("stat"), root, words, series)
    });
    let cpu = CpuState::ALL.iter().map(|state| Series::Cpu(*state));
    let stat = cpu.chain(KernelEvents::ALL.iter().map(|events| Series::Kernel(*events))).collect();
    let memory = MemoryUse::ALL.iter().map(|memory| Series::Memory(*memory)).collect();
    let own = vec![Series::Own(OwnUse::Resident)];
    let bytes = vec![Series::Own(OwnUse::Read), Series::Own(OwnUse::Written)];
    let throttled = Throttling::ALL.iter().map(|throttling| Series::Cgroup(*throttling));
    let slowly = |probe: NumbersIn| probe.at_most_every(MEMORY_EVERY);
    let others = [
        NumbersIn::open(Path::new("/proc/stat"), root, stat_lines, stat),
        NumbersIn::open(Path::new("/proc/meminfo"), root, memory_lines, memory).map(slowly),
        NumbersIn::open(Path::new("/proc/self/statm"), root, resident, own).map(slowly),
        NumbersIn::open(Path::new("/proc/self/io"), root, io_lines, bytes),
    ];
    let group = crate::cgroup::throttling(root)
        .map(|path| NumbersIn::open(&path, root, throttling_lines, throttled.collect()));
    devices.chain(others).chain(group).collect()
}

/// Parses a whole number. Below 2^53 it is exact as a floating-point number; a disk needs years to exceed that.
pub(super) fn number(digits: &[u8]) -> Option<f64> {
    std::str::from_utf8(digits).ok()?.parse::<u64>().ok().map(|value| value as f64)
}

/// Parses numbers separated by blanks.
pub(super) fn words(text: &[u8], give: &mut dyn FnMut(usize, f64)) {
    let numbers = text.split(u8::is_ascii_whitespace).filter_map(number);
    numbers.enumerate().for_each(|(place, value)| give(place, value));
}

/// Parses the line `cpu`, which is the first, and the sums of those on interrupts and tasks.
fn stat_lines(text: &[u8], give: &mut dyn FnMut(usize, f64)) {
    let states = CpuState::ALL.len();
    for line in text.split(|&byte| byte == b'\n') {
        let mut fields = line.splitn(2, |&byte| byte == b' ');
        let (Some(name), Some(rest)) = (fields.next(), fields.next()) else { continue };
        let first = || rest.split(u8::is_ascii_whitespace).next().and_then(number);
        let events = match name {
            // Guest time follows, which is included in that of programs.
            b"cpu" => {
                words(rest, &mut |place, value| {
                    if place < states {
                        give(place, value);
                    }
                });
                continue;
            }
            b"intr" => KernelEvents::Interrupts,
            b"ctxt" => KernelEvents::ContextSwitches,
            b"softirq" => KernelEvents::SoftInterrupts,
            _ => continue,
        };
        if let Some(sum) = first() {
            give(states + events as usize, sum);
        }
    }
}

/// Parses `Dirty:      392 kB`.
fn memory_lines(text: &[u8], give: &mut dyn FnMut(usize, f64)) {
    for line in text.split(|&byte| byte == b'\n') {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let Some(name) = words.next().and_then(|word| word.strip_suffix(b":")) else { continue };
        let is_named =
            |memory: &MemoryUse| memory.field().strip_suffix("_bytes").map(str::as_bytes) == Some(name);
        let Some(place) = MemoryUse::ALL.iter().position(is_named) else { continue };
        if let Some(kib) = words.next().and_then(number) {
            give(place, kib * 1024.0);
        }
    }
}

/// Parses `read_bytes: 4096`.
fn io_lines(text: &[u8], give: &mut dyn FnMut(usize, f64)) {
    named_lines(text, &[b"read_bytes:", b"write_bytes:"], give);
}

/// Parses `nr_throttled 46`.
fn throttling_lines(text: &[u8], give: &mut dyn FnMut(usize, f64)) {
    named_lines(text, &[b"nr_periods", b"nr_throttled"], give);
}

/// Parses lines of a name and a number.
fn named_lines(text: &[u8], names: &[&[u8]], give: &mut dyn FnMut(usize, f64)) {
    for line in text.split(|&byte| byte == b'\n') {
        let mut words = line.split(|&byte| byte == b' ');
        let place = words.next().and_then(|word| names.iter().position(|name| *name == word));
        if let Some((place, value)) = place.zip(words.next().and_then(number)) {
            give(place, value);
        }
    }
}

/// Parses the second number of `/proc/self/statm`, in pages.
fn resident(text: &[u8], give: &mut dyn FnMut(usize, f64)) {
    let pages = text.split(u8::is_ascii_whitespace).nth(1).and_then(number);
    if let Some(pages) = pages {
        give(0, pages * rustix::param::page_size() as f64);
    }
}

/// CPU time of this process, by getrusage(2).
pub(super) struct OwnCpu;

impl Probe for OwnCpu {
    fn series(&self) -> &[Series] {
        &[Series::Own(OwnUse::UserCpu), Series::Own(OwnUse::SystemCpu)]
    }

    fn sample(&mut self, give: &mut dyn FnMut(usize, f64)) {
        let time = usage::own_cpu_time();
        give(0, time.user_ns as f64);
        give(1, time.system_ns as f64);
    }
}
