//! Which engine executes the requests.

use crate::strict::{is_default, no_fields};
use crate::{ByteSize, Nanos};
use serde::{Deserialize, Serialize};

/// An engine, with what only it needs.
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
    /// Asynchronous requests of the C library (`aio_read`), which it carries out with threads of its own.
    #[serde(deserialize_with = "no_fields")]
    Posixaio,
    /// No I/O at all: every request completes at once. Shows what the generator itself costs.
    #[serde(deserialize_with = "no_fields")]
    Null,
    /// A model of a device on a clock of its own, seeded: no I/O, no waiting.
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

    /// Whether it carries out one request after the other, whatever the depth.
    pub fn is_serial(self) -> bool {
        matches!(
            self,
            Engine::Sync | Engine::Vsync(_) | Engine::Pvsync(_) | Engine::Stdio(_) | Engine::Mmap(_)
        )
    }

    /// Whether bytes go through the page cache whatever is asked for.
    pub fn is_buffered(self) -> bool {
        matches!(self, Engine::Stdio(_) | Engine::Mmap(_))
    }

    /// Whether it looks for completions without rest, so that its thread is busy whatever the target does.
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

/// In how many pieces of memory the data of a request lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vectors {
    /// 1 to [`Vectors::MOST`].
    #[serde(default = "one_vector", rename = "vectors")]
    pub count: u32,
}

impl Vectors {
    /// Most pieces.
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

/// What a stream of the C library is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StdioOptions {
    /// Bytes of its buffer (`setvbuf`), up to 1 GiB; 0: the library's choice.
    #[serde(default)]
    pub buffer: ByteSize,
}

/// What a mapping is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MmapOptions {
    /// What follows each write.
    #[serde(default)]
    pub msync: MsyncPolicy,
    /// What the kernel is told of its use.
    #[serde(default, skip_serializing_if = "is_default")]
    pub advice: MapAdvice,
    /// The first page is read through the descriptor before the target is mapped, and where requests write, written back: the file
    /// is then used in both ways, as IOzone's `-Z` has it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub file_io_first: bool,
}

/// What the kernel is told of the use of a mapping (`madvise`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MapAdvice {
    /// Nothing.
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

/// What follows each write to a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MsyncPolicy {
    /// Nothing: the kernel writes pages back when it likes.
    #[default]
    None,
    /// `msync` with `MS_ASYNC`.
    Async,
    /// `msync` with `MS_SYNC`: the data is on stable storage before the request ends.
    Sync,
}

/// What io_uring is asked for. Each of these changes what is measured, so none is chosen silently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UringOptions {
    /// Completions are polled for instead of awaited by interrupt (`IORING_SETUP_IOPOLL`). The driver must have
    /// poll queues, and the target direct I/O.
    #[serde(default)]
    pub hipri: bool,
    /// A kernel thread takes submissions, so that submitting needs no system call (`IORING_SETUP_SQPOLL`). It uses
    /// a CPU of its own.
    #[serde(default)]
    pub sqpoll: bool,
}

/// How the simulated device behaves.
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
    /// One request in this many fails with EIO; 0: none.
    #[serde(default)]
    pub error_every: u32,
    /// One request in this many transfers less than asked; 0: none.
    #[serde(default)]
    pub short_every: u32,
    /// Times at which nothing completes.
    #[serde(default)]
    pub stall: Option<SimStall>,
    /// A time from which on it is slower, or faster, for good.
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

/// Another level from some time on, as of a cache that is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimChange {
    /// From when on, by the run's clock.
    pub at: Nanos,
    /// Service times from then on, in percent of those before; at least 1.
    pub percent: u32,
}

/// A stall that comes again and again: every `period` the device completes nothing for `length`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimStall {
    /// From the start of one stall to the start of the next; above `length`.
    pub period: Nanos,
    /// How long nothing completes.
    pub length: Nanos,
}
