//! The engine that executes the requests.

use crate::strict::{is_default, no_fields};
use crate::{ByteSize, Nanos};
use serde::{Deserialize, Serialize};

/// An engine, with its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Engine {
    /// io_uring: one issuing thread for each target, requests and completions through rings shared with the kernel.
    Uring(UringOptions),
    /// The kernel's older asynchronous interface (`io_submit`), for comparison with old results.
    #[serde(deserialize_with = "no_fields")]
    Aio,
    /// One blocking thread for each request in flight, as a server would do that forks per request.
    #[serde(deserialize_with = "no_fields")]
    Threads,
    /// One blocking call after the other at the position of the file: `lseek` where a request does not follow the one before
    /// it, then `read` or `write`.
    #[serde(deserialize_with = "no_fields")]
    Sync,
    /// The same with `readv` and `writev`.
    Vsync(Vectors),
    /// One blocking call after the other: `preadv`, `pwritev`.
    Pvsync(Vectors),
    /// One call of the C library after the other: `fread`, `fwrite`, with a buffer in the program.
    Stdio(StdioOptions),
    /// The target is mapped into memory, and bytes are copied from and to it.
    Mmap(MmapOptions),
    /// Asynchronous requests of the C library (`aio_read`), which it executes with its own threads.
    #[serde(deserialize_with = "no_fields")]
    Posixaio,
    /// No I/O at all: every request completes at once. Shows the cost of the generator itself.
    #[serde(deserialize_with = "no_fields")]
    Null,
    /// A seeded model of a device on a simulated clock: no I/O, no waiting.
    Sim(SimModel),
}

impl Default for Engine {
    fn default() -> Engine {
        Engine::Uring(UringOptions::default())
    }
}

impl Engine {
    /// Whether results say something about a real target.
    pub fn is_real(self) -> bool {
        !matches!(self, Engine::Null | Engine::Sim(_))
    }

    /// Whether it executes one request after the other, at any depth.
    pub fn is_serial(self) -> bool {
        matches!(
            self,
            Engine::Sync | Engine::Vsync(_) | Engine::Pvsync(_) | Engine::Stdio(_) | Engine::Mmap(_)
        )
    }

    /// Whether bytes go through the page cache in any case.
    pub fn is_buffered(self) -> bool {
        matches!(self, Engine::Stdio(_) | Engine::Mmap(_))
    }

    /// Whether it polls for completions, so that its thread is always busy.
    pub fn is_polled(self) -> bool {
        matches!(self, Engine::Uring(options) if options.hipri)
    }

    /// Whether it can discard and zero ranges.
    pub fn can_discard(self) -> bool {
        !matches!(self, Engine::Aio | Engine::Posixaio)
    }

    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Uring(_) => "uring",
            Engine::Aio => "aio",
            Engine::Threads => "threads",
            Engine::Sync => "sync",
            Engine::Vsync(_) => "vsync",
            Engine::Pvsync(_) => "pvsync",
            Engine::Stdio(_) => "stdio",
            Engine::Mmap(_) => "mmap",
            Engine::Posixaio => "posixaio",
            Engine::Null => "null",
            Engine::Sim(_) => "sim",
        }
    }
}

/// Number of pieces of memory that hold the data of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vectors {
    /// 1 to [`Vectors::MOST`].
    #[serde(default = "one_vector", rename = "vectors")]
    pub count: u32,
}

impl Vectors {
    /// Maximum number of pieces.
    pub const MOST: u32 = 16;
}

impl Default for Vectors {
    fn default() -> Vectors {
        Vectors { count: 1 }
    }
}

fn one_vector() -> u32 {
    1
}

/// Options of a stream of the C library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StdioOptions {
    /// Bytes of its buffer (`setvbuf`), up to 1 GiB; 0: the library's choice.
    #[serde(default)]
    pub buffer: ByteSize,
}

/// Options of a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MmapOptions {
    /// The call after each write.
    #[serde(default)]
    pub msync: MsyncPolicy,
    /// Advice to the kernel on its use.
    #[serde(default, skip_serializing_if = "is_default")]
    pub advice: MapAdvice,
    /// The first page is read through the descriptor before the target is mapped, and where requests write, written back: the file
    /// is then used in both ways, as IOzone's `-Z` has it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub file_io_first: bool,
}

/// Advice to the kernel on the use of a mapping (`madvise`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MapAdvice {
    /// No advice.
    #[default]
    None,
    /// `MADV_NORMAL`.
    Normal,
    /// `MADV_RANDOM`.
    Random,
    /// `MADV_SEQUENTIAL`.
    Sequential,
    /// `MADV_DONTNEED`.
    DontNeed,
    /// `MADV_WILLNEED`.
    WillNeed,
}

/// The call after each write to a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MsyncPolicy {
    /// None: the kernel writes pages back when it likes.
    #[default]
    None,
    /// `msync` with `MS_ASYNC`.
    Async,
    /// `msync` with `MS_SYNC`: the data is on stable storage before the request ends.
    Sync,
}

/// Options of io_uring. Each of these changes the measurement, so none is chosen silently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UringOptions {
    /// Completions are polled for instead of awaited by interrupt (`IORING_SETUP_IOPOLL`). The driver must have
    /// poll queues, and the target direct I/O.
    #[serde(default)]
    pub hipri: bool,
    /// A kernel thread takes submissions, so that submitting needs no system call (`IORING_SETUP_SQPOLL`). It occupies a CPU.
    #[serde(default)]
    pub sqpoll: bool,
}

/// Behaviour of the simulated device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimModel {
    /// Least service time of a request.
    #[serde(default = "default_service")]
    pub service: Nanos,
    /// Mean of an exponentially distributed addition to the service time.
    #[serde(default)]
    pub jitter: Nanos,
    /// Requests served at the same time; further ones queue in the device. 0, or above the depth: no limit.
    #[serde(default)]
    pub channels: u32,
    /// One request in this many fails with EIO; 0 means never.
    #[serde(default)]
    pub error_every: u32,
    /// One request in this many transfers less than requested; 0 means never.
    #[serde(default)]
    pub short_every: u32,
    /// Recurring stalls.
    #[serde(default)]
    pub stall: Option<SimStall>,
    /// A time from which on service times are different.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<SimChange>,
}

fn default_service() -> Nanos {
    Nanos(100_000)
}

impl Default for SimModel {
    fn default() -> Self {
        SimModel {
            service: default_service(),
            jitter: Nanos(0),
            channels: 0,
            error_every: 0,
            short_every: 0,
            stall: None,
            change: None,
        }
    }
}

/// Another level of service times from some time on, as of a cache that is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimChange {
    /// Start of the new level, on the run's clock.
    pub at: Nanos,
    /// Service times from then on, in percent of those before; at least 1.
    pub percent: u32,
}

/// A recurring stall: every `period` the device completes nothing for `length`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimStall {
    /// From the start of one stall to the start of the next; above `length`.
    pub period: Nanos,
    /// Duration of a stall.
    pub length: Nanos,
}
