//! Time series of samples: each has a name, a layer, a unit, and is a counter or a level.

use std::convert::Infallible;
use std::fmt::{self, Display};
use std::path::Path;
use std::str::FromStr;

/// A series sampled during a run. Its text form is the name in archives: `sda.read_ios`, `memory.Dirty_bytes`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Series {
    /// A counter of a block device.
    Device {
        /// Device name: `nvme0n1`.
        name: String,
        /// Counter.
        counter: DeviceCounter,
    },
    /// Time of all CPUs together.
    Cpu(CpuState),
    /// Memory of the machine.
    Memory(MemoryUse),
    /// Counts of interrupts and context switches.
    Kernel(KernelEvents),
    /// The process of the run.
    Own(OwnUse),
    /// All issuing threads of the run together.
    Issuing(IssuingThreads),
    /// The control groups of the process.
    Cgroup(Throttling),
    /// Transfers of an NFS mount, by all programs on this machine.
    Nfs {
        /// Mount point.
        mount: String,
        /// Counter.
        counter: NfsBytes,
    },
    /// A series of a newer version, preserved.
    Unknown(String),
}

/// Layer of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layer<'a> {
    /// A block device; holds its name.
    Device(&'a str),
    /// The machine.
    Machine,
    /// The process of the run.
    Process,
}

/// Kind of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SeriesKind {
    /// Only increases; the difference of two samples counts the events between them.
    Counter,
    /// Value at the moment of the sample.
    Level,
}

/// Unit of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Requests of the block layer.
    Requests,
    /// 512 bytes, for any device.
    Sectors,
    /// Milliseconds.
    Milliseconds,
    /// Nanoseconds.
    Nanoseconds,
    /// Clock ticks (`getconf CLK_TCK` of them make a second).
    Ticks,
    /// Bytes.
    Bytes,
    /// Number of events.
    Times,
}

use SeriesKind::{Counter, Level};
use Unit::{Bytes, Milliseconds, Nanoseconds, Requests, Sectors, Ticks, Times};

/// Defines an enumeration of a family's series, each with its field in the name, its unit and its kind.
macro_rules! family {
    ($(#[$about:meta])* $family:ident { $($(#[$doc:meta])* $variant:ident: $field:literal $unit:ident $kind:ident,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $family {
            $($(#[$doc])* $variant,)*
        }

        impl $family {
            /// All of them, in the kernel's order.
            pub const ALL: &[$family] = &[$($family::$variant),*];

            /// Returns the last part of the name.
            pub const fn field(self) -> &'static str {
                match self {
                    $($family::$variant => $field,)*
                }
            }

            /// Returns the unit of the values.
            pub const fn unit(self) -> Unit {
                match self {
                    $($family::$variant => $unit,)*
                }
            }

            /// Returns the kind.
            pub const fn kind(self) -> SeriesKind {
                match self {
                    $($family::$variant => $kind,)*
                }
            }

            fn of(field: &str) -> Option<$family> {
                $family::ALL.iter().copied().find(|one| one.field() == field)
            }
        }
    };
}

family! {
    /// Fields of `/sys/class/block/X/stat` (Linux, Documentation/block/stat.rst), in the kernel's order and with its names,
    /// units added. Discards are from Linux 4.18, flushes from 5.5.
    DeviceCounter {
        /// Completed reads.
        ReadIos: "read_ios" Requests Counter,
        /// Reads merged with a waiting one.
        ReadMerges: "read_merges" Requests Counter,
        /// Sectors read.
        ReadSectors: "read_sectors" Sectors Counter,
        /// Sum of the times of all reads.
        ReadTicks: "read_ticks_ms" Milliseconds Counter,
        /// Completed writes.
        WriteIos: "write_ios" Requests Counter,
        /// Writes merged with a waiting one.
        WriteMerges: "write_merges" Requests Counter,
        /// Sectors written.
        WriteSectors: "write_sectors" Sectors Counter,
        /// Sum of the times of all writes.
        WriteTicks: "write_ticks_ms" Milliseconds Counter,
        /// Requests at the driver.
        InFlight: "in_flight" Requests Level,
        /// Time in which the device had requests.
        IoTicks: "io_ticks_ms" Milliseconds Counter,
        /// Sum of the times of all requests.
        TimeInQueue: "time_in_queue_ms" Milliseconds Counter,
        /// Completed discards.
        DiscardIos: "discard_ios" Requests Counter,
        /// Discards merged with a waiting one.
        DiscardMerges: "discard_merges" Requests Counter,
        /// Sectors discarded.
        DiscardSectors: "discard_sectors" Sectors Counter,
        /// Sum of the times of all discards.
        DiscardTicks: "discard_ticks_ms" Milliseconds Counter,
        /// Completed flushes.
        FlushIos: "flush_ios" Requests Counter,
        /// Sum of the times of all flushes.
        FlushTicks: "flush_ticks_ms" Milliseconds Counter,
    }
}

family! {
    /// Fields of the line `cpu` of `/proc/stat` (proc_stat(5)), in the kernel's order: all CPUs together.
    CpuState {
        /// User mode.
        User: "user_ticks" Ticks Counter,
        /// User mode with a positive nice value.
        Nice: "nice_ticks" Ticks Counter,
        /// Kernel mode.
        System: "system_ticks" Ticks Counter,
        /// Idle.
        Idle: "idle_ticks" Ticks Counter,
        /// Idle while a task waited for I/O.
        IoWait: "iowait_ticks" Ticks Counter,
        /// Interrupts.
        Irq: "irq_ticks" Ticks Counter,
        /// Soft interrupts.
        SoftIrq: "softirq_ticks" Ticks Counter,
        /// Time that the hypervisor gave to other guests.
        Steal: "steal_ticks" Ticks Counter,
    }
}

family! {
    /// Lines of `/proc/meminfo` (proc_meminfo(5)).
    MemoryUse {
        /// Dirty pages of the page cache.
        Dirty: "Dirty_bytes" Bytes Level,
        /// Pages of the page cache under writeback.
        Writeback: "Writeback_bytes" Bytes Level,
        /// The page cache.
        Cached: "Cached_bytes" Bytes Level,
    }
}

family! {
    /// Lines `intr`, `ctxt` and `softirq` of `/proc/stat` (proc_stat(5)): sums over all CPUs.
    KernelEvents {
        /// Interrupts of devices.
        Interrupts: "interrupts" Times Counter,
        /// Context switches.
        ContextSwitches: "context_switches" Times Counter,
        /// Soft interrupts.
        SoftInterrupts: "soft_interrupts" Times Counter,
    }
}

family! {
    /// Resource usage of the run's process.
    OwnUse {
        /// CPU time outside of the kernel (getrusage(2)).
        UserCpu: "user_cpu_ns" Nanoseconds Counter,
        /// CPU time in the kernel.
        SystemCpu: "system_cpu_ns" Nanoseconds Counter,
        /// Resident memory (`/proc/self/statm`).
        Resident: "rss_bytes" Bytes Level,
        /// Bytes read from storage by its threads, including kernel threads that work for it (`/proc/self/io`).
        Read: "read_bytes" Bytes Counter,
        /// Bytes written to storage, or to pages that become dirty.
        Written: "write_bytes" Bytes Counter,
        /// Time in which it did not run although one of its threads should have woken up: it was stopped, or had no CPU.
        Halted: "halted_ns" Nanoseconds Counter,
    }
}

family! {
    /// Effect of the CPU limit of this process's control group: that of the innermost group with a limit (`cpu.stat`).
    Throttling {
        /// Periods in which a group was runnable.
        Periods: "periods" Times Counter,
        /// Periods in which it exhausted its quota, and had to wait.
        Throttled: "throttled" Times Counter,
    }
}

family! {
    /// Fields 5 and 6 of the line `bytes:` of an NFS mount in `/proc/self/mountstats` (Linux,
    /// include/linux/nfs_iostat.h): data transferred over the network. The fields before them are requests of programs,
    /// which the page cache may have answered.
    NfsBytes {
        /// Data sent by the server.
        ServerRead: "nfs_server_read_bytes" Bytes Counter,
        /// Data received by the server.
        ServerWritten: "nfs_server_written_bytes" Bytes Counter,
    }
}

family! {
    /// Fields of `/proc/PID/task/TID/schedstat` (Linux, Documentation/scheduler/sched-stats.rst), summed over the threads that
    /// issue requests.
    IssuingThreads {
        /// Time on a CPU.
        Cpu: "cpu_ns" Nanoseconds Counter,
        /// Time in which they were runnable but had no CPU.
        Wait: "wait_ns" Nanoseconds Counter,
        /// Times scheduled on a CPU.
        Slices: "slices" Times Counter,
    }
}

impl Series {
    /// Creates the series of a device's counter.
    pub fn device(name: &str, counter: DeviceCounter) -> Series {
        Series::Device { name: name.into(), counter }
    }

    /// Creates the series of a counter of an NFS mount.
    pub fn nfs(mount: &Path, counter: NfsBytes) -> Series {
        Series::Nfs { mount: mount.to_string_lossy().into_owned(), counter }
    }

    /// Returns the layer; `None` for a series unknown to this version.
    pub fn layer(&self) -> Option<Layer<'_>> {
        match self {
            Series::Device { name, .. } => Some(Layer::Device(name)),
            Series::Cpu(_) | Series::Memory(_) | Series::Kernel(_) | Series::Nfs { .. } => {
                Some(Layer::Machine)
            }
            Series::Own(_) | Series::Issuing(_) | Series::Cgroup(_) => Some(Layer::Process),
            Series::Unknown(_) => None,
        }
    }

    /// Returns the unit; `None` for a series unknown to this version.
    pub fn unit(&self) -> Option<Unit> {
        match self {
            Series::Device { counter, .. } => Some(counter.unit()),
            Series::Cpu(state) => Some(state.unit()),
            Series::Memory(memory) => Some(memory.unit()),
            Series::Kernel(events) => Some(events.unit()),
            Series::Own(own) => Some(own.unit()),
            Series::Issuing(threads) => Some(threads.unit()),
            Series::Cgroup(throttling) => Some(throttling.unit()),
            Series::Nfs { counter, .. } => Some(counter.unit()),
            Series::Unknown(_) => None,
        }
    }

    /// Returns the kind; `None` for a series unknown to this version.
    pub fn kind(&self) -> Option<SeriesKind> {
        match self {
            Series::Device { counter, .. } => Some(counter.kind()),
            Series::Cpu(state) => Some(state.kind()),
            Series::Memory(memory) => Some(memory.kind()),
            Series::Kernel(events) => Some(events.kind()),
            Series::Own(own) => Some(own.kind()),
            Series::Issuing(threads) => Some(threads.kind()),
            Series::Cgroup(throttling) => Some(throttling.kind()),
            Series::Nfs { counter, .. } => Some(counter.kind()),
            Series::Unknown(_) => None,
        }
    }
}

/// Formats the name in archives.
impl Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Series::Device { name, counter } => write!(f, "{name}.{}", counter.field()),
            Series::Cpu(state) => write!(f, "cpu.{}", state.field()),
            Series::Memory(memory) => write!(f, "memory.{}", memory.field()),
            Series::Kernel(events) => write!(f, "kernel.{}", events.field()),
            Series::Own(own) => write!(f, "self.{}", own.field()),
            Series::Issuing(threads) => write!(f, "issuing.{}", threads.field()),
            Series::Cgroup(throttling) => write!(f, "cgroup.{}", throttling.field()),
            Series::Nfs { mount, counter } => write!(f, "{mount}.{}", counter.field()),
            Series::Unknown(name) => f.write_str(name),
        }
    }
}

/// Parses any name: unknown ones are preserved.
impl FromStr for Series {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Series, Infallible> {
        let known = text.rsplit_once('.').and_then(|(layer, field)| {
            // Fields distinguish the families: a device may be named `cpu`.
            let device = || DeviceCounter::of(field).map(|counter| Series::device(layer, counter));
            let other = match layer {
                "cpu" => CpuState::of(field).map(Series::Cpu),
                "memory" => MemoryUse::of(field).map(Series::Memory),
                "kernel" => KernelEvents::of(field).map(Series::Kernel),
                "self" => OwnUse::of(field).map(Series::Own),
                "issuing" => IssuingThreads::of(field).map(Series::Issuing),
                "cgroup" => Throttling::of(field).map(Series::Cgroup),
                _ => None,
            };
            let nfs = || NfsBytes::of(field).map(|counter| Series::nfs(Path::new(layer), counter));
            other.or_else(device).or_else(nfs)
        });
        Ok(known.unwrap_or_else(|| Series::Unknown(text.into())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Series> {
        let devices = ["sda", "cpu", "a.b"];
        let of_devices = DeviceCounter::ALL.iter().flat_map(|c| devices.map(|name| Series::device(name, *c)));
        let of_memory = MemoryUse::ALL.iter().map(|m| Series::Memory(*m));
        let of_cpus = CpuState::ALL.iter().map(|s| Series::Cpu(*s));
        let of_process = OwnUse::ALL.iter().map(|o| Series::Own(*o));
        let of_threads = IssuingThreads::ALL.iter().map(|t| Series::Issuing(*t));
        let of_groups = Throttling::ALL.iter().map(|t| Series::Cgroup(*t));
        let of_kernel = KernelEvents::ALL.iter().map(|k| Series::Kernel(*k));
        let mounts = ["/", "/mnt/a.b c"];
        let of_mounts = NfsBytes::ALL.iter().flat_map(|c| mounts.map(|m| Series::nfs(Path::new(m), *c)));
        of_devices
            .chain(of_mounts)
            .chain(of_memory)
            .chain(of_kernel)
            .chain(of_cpus)
            .chain(of_process)
            .chain(of_threads)
            .chain(of_groups)
            .collect()
    }

    #[test]
    fn series_names_round_trip() {
        let mut names: Vec<String> = all().iter().map(Series::to_string).collect();
        for (series, name) in all().iter().zip(&names) {
            assert_eq!(name.parse::<Series>().as_ref(), Ok(series));
            assert!(series.unit().is_some() && series.kind().is_some() && series.layer().is_some());
        }
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all().len());
    }

    #[test]
    fn unknown_series_names_are_kept() {
        for name in ["", ".", "sda", "sda.zone_appends", "gpu.load", "memory.read_files"] {
            let series: Series = name.parse().unwrap();
            assert_eq!((series.to_string().as_str(), series.kind()), (name, None));
            assert_eq!(series, Series::Unknown(name.into()));
        }
    }

    #[test]
    fn units_match_name_suffixes() {
        for series in all() {
            let (name, unit) = (series.to_string(), series.unit().unwrap());
            let ending = match unit {
                // The name is the unit.
                Requests | Times => continue,
                Sectors => "_sectors",
                Milliseconds => "_ms",
                Nanoseconds => "_ns",
                Ticks => "_ticks",
                Bytes => "_bytes",
            };
            assert!(name.ends_with(ending), "{name}");
        }
    }
}
