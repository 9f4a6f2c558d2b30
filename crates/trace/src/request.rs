//! One request of a trace, as far as the trace describes it.

use crate::TimedRequest;
use iosonar_plan::{Durability, Extent, Nanos, Op, SECTOR};
use std::collections::HashMap;
use std::fmt;

/// Operation of a request. `Other` cannot be replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// Transfers data from the device.
    Read = 0,
    /// Transfers data to the device; one that flushes before (preflush) or after (FUA) carries data, too.
    Write = 1,
    /// Unmaps blocks (discard, secure erase).
    Discard = 2,
    /// Empties the device's write cache, without data.
    Flush = 3,
    /// Zeros a range without a data transfer.
    WriteZeroes = 4,
    /// Anything else: driver commands, zones.
    Other = 5,
}

impl Kind {
    /// Every kind, in the order of tables.
    pub const ALL: [Kind; 6] =
        [Kind::Read, Kind::Write, Kind::Discard, Kind::Flush, Kind::WriteZeroes, Kind::Other];

    /// The kind's word, in the plural.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Read => "reads",
            Kind::Write => "writes",
            Kind::Discard => "discards",
            Kind::Flush => "flushes",
            Kind::WriteZeroes => "write-zeroes",
            Kind::Other => "others",
        }
    }

    /// Returns the operation; `None` if it cannot be replayed.
    pub fn op(self) -> Option<Op> {
        match self {
            Kind::Read => Some(Op::Read),
            Kind::Write => Some(Op::Write),
            Kind::Flush => Some(Op::Flush),
            Kind::Discard => Some(Op::Discard),
            Kind::WriteZeroes => Some(Op::WriteZeroes),
            Kind::Other => None,
        }
    }
}

impl From<Op> for Kind {
    fn from(op: Op) -> Kind {
        match op {
            Op::Read => Kind::Read,
            Op::Write => Kind::Write,
            Op::Flush | Op::Fsync => Kind::Flush,
            Op::Discard => Kind::Discard,
            Op::WriteZeroes => Kind::WriteZeroes,
            _ => Kind::Other,
        }
    }
}

/// Set of kernel flags of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// Synchronous (`S`).
    pub const SYNC: Flags = Flags(1);
    /// File system metadata (`M`).
    pub const META: Flags = Flags(1 << 1);
    /// Read ahead (`A`).
    pub const AHEAD: Flags = Flags(1 << 2);
    /// Bypasses the device's write cache (`F` after the operation).
    pub const FUA: Flags = Flags(1 << 3);
    /// Flushes the device's write cache first (`F` before the operation).
    pub const PREFLUSH: Flags = Flags(1 << 4);

    /// The kernel's letter `N` with a length, which stands for several operations.
    pub const UNNAMED: Flags = Flags(1 << 5);
    /// Zone operation (`Z`); for a write, an append.
    pub const ZONE: Flags = Flags(1 << 6);

    /// Whether it contains `a` or `b`.
    pub(crate) const fn has_any(self, a: Flags, b: Flags) -> bool {
        self.0 & (a.0 | b.0) != 0
    }

    /// Whether it contains all of `other`.
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Adds `other` if `on`.
    #[must_use]
    pub const fn with(self, other: Flags, on: bool) -> Flags {
        if on { Flags(self.0 | other.0) } else { self }
    }
}

/// Requesting process: number and name, as in the kernel's events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Process {
    /// Number; 0 if unknown.
    pub pid: u32,
    /// Name, padded with zero bytes; all zeros if unknown.
    pub name: [u8; 16],
}

impl Process {
    /// Creates a process; names are truncated to 16 bytes.
    pub fn new(pid: u32, name: &[u8]) -> Process {
        let mut kept = [0; 16];
        let length = name.len().min(16);
        kept[..length].copy_from_slice(&name[..length]);
        Process { pid, name: kept }
    }

    /// Returns the name; empty if unknown. Invalid UTF-8 is replaced.
    pub fn name(&self) -> std::borrow::Cow<'_, str> {
        let length = self.name.iter().position(|b| *b == 0).unwrap_or(16);
        String::from_utf8_lossy(&self.name[..length])
    }
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.name() {
            "" => write!(f, "{}", self.pid),
            name => write!(f, "{name}-{}", self.pid),
        }
    }
}

/// How well a request's end is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Pairing {
    /// The trace has no completions, or they were not requested.
    #[default]
    Untold = 0,
    /// Only this request can have ended then.
    Exact = 1,
    /// Others of the same place and length were in flight: the oldest was taken, which is a guess.
    Ambiguous = 2,
    /// The trace has its start but not its end.
    NoEnd = 3,
    /// The trace has its end but not its start: `time` is that of the end.
    NoBegin = 4,
}

/// One request of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traced {
    /// Line of a text, or number of the event in a binary trace; from 1.
    pub at: u64,
    /// Request time on the trace's clock.
    pub time: Nanos,
    /// Operation.
    pub kind: Kind,
    /// Flags.
    pub flags: Flags,
    /// Place in bytes.
    pub extent: Extent,
    /// Index of the device in the trace, from 0.
    pub device: u32,
    /// Requesting process.
    pub process: Process,
    /// Issue delay; only in results of a replay.
    pub delay: Nanos,
    /// Time from start to completion, if the trace has it.
    pub latency: Option<Nanos>,
    /// First issue to the driver on the trace's clock, if issues were matched (`kernel::Paired::with_issues`).
    pub issued: Option<Nanos>,
    /// How well the latency is known.
    pub pairing: Pairing,
    /// Errno; 0 if it succeeded or is unknown.
    pub error: i32,
    /// In a result of a replay: whether it was deferred.
    pub pushed: bool,
}

impl Traced {
    /// Creates a request with defaults for everything else.
    pub fn new(at: u64, time: Nanos, kind: Kind, extent: Extent) -> Traced {
        Traced {
            at,
            time,
            kind,
            flags: Flags::default(),
            extent,
            device: 0,
            process: Process::default(),
            delay: Nanos(0),
            latency: None,
            issued: None,
            pairing: Pairing::Untold,
            error: 0,
            pushed: false,
        }
    }

    /// Returns the request for a load; `None` if it cannot be replayed.
    pub fn timed(&self) -> Option<TimedRequest> {
        Some(TimedRequest {
            line: self.at,
            time: self.time,
            op: self.kind.op()?,
            durability: self.durability(),
            // Traces may contain a place for a flush; it is meaningless.
            extent: if self.kind == Kind::Flush { Extent::default() } else { self.extent },
            pushed: self.pushed,
            delay: self.delay,
            latency: self.latency.unwrap_or_default(),
        })
    }

    /// Durability of a write.
    pub fn durability(&self) -> Durability {
        let has = |flag| self.kind == Kind::Write && self.flags.has(flag);
        Durability::NONE
            .with(Durability::FUA, has(Flags::FUA))
            .with(Durability::PREFLUSH, has(Flags::PREFLUSH))
    }

    /// First sector and number of sectors, both rounded outward.
    pub fn sectors(&self) -> (u64, u64) {
        let first = self.extent.offset / SECTOR;
        (first, self.extent.end().div_ceil(SECTOR) - first)
    }
}

impl From<TimedRequest> for Traced {
    fn from(r: TimedRequest) -> Traced {
        // A load has zeros here; no request takes zero time.
        let latency = (r.latency.0 > 0).then_some(r.latency);
        let pairing = if latency.is_some() { Pairing::Exact } else { Pairing::Untold };
        let (delay, pushed) = (r.delay, r.pushed);
        let flags = Flags::default()
            .with(Flags::FUA, r.durability.has(Durability::FUA))
            .with(Flags::PREFLUSH, r.durability.has(Durability::PREFLUSH));
        Traced {
            flags,
            delay,
            latency,
            pairing,
            pushed,
            ..Traced::new(r.line, r.time, r.op.into(), r.extent)
        }
    }
}

/// An invalid entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {why}{}", .text.as_ref().map(|t| format!(": '{t}'")).unwrap_or_default())]
pub struct Bad {
    /// Place of the entry.
    pub at: TracePosition,
    /// Reason.
    pub why: String,
    /// Text, shortened; `None` for binary traces.
    pub text: Option<String>,
}

impl Bad {
    /// An invalid line.
    pub fn line(line: u64, why: impl Into<String>, text: &str) -> Bad {
        let text = text.trim().chars().take(60).collect();
        Bad { at: TracePosition::Line(line), why: why.into(), text: Some(text) }
    }
}

/// A place in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TracePosition {
    /// Line of a text, from 1.
    Line(u64),
    /// Byte of a binary trace, from 0.
    Byte(u64),
}

impl fmt::Display for TracePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TracePosition::Line(n) => write!(f, "line {n}"),
            TracePosition::Byte(n) => write!(f, "byte {n}"),
        }
    }
}

/// Next entry of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry<T> {
    /// A valid entry.
    One(T),
    /// An invalid entry.
    Bad(Bad),
}

impl<T> Entry<T> {
    /// Maps a valid entry.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Entry<U> {
        match self {
            Entry::One(one) => Entry::One(f(one)),
            Entry::Bad(bad) => Entry::Bad(bad),
        }
    }
}

/// Why reading a trace stopped early.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The input failed: I/O error, or a damaged or truncated gzip stream.
    #[error("after {at}: {error}")]
    Io {
        /// Place reached.
        at: TracePosition,
        /// Cause.
        error: std::io::Error,
    },
    /// Unrecoverable damage.
    #[error("{at}: {why}")]
    Broken {
        /// Place of the damage.
        at: TracePosition,
        /// Reason, and remedy.
        why: String,
    },
}

/// Next entry; `None` at the end of the trace.
pub type Next<T> = Result<Option<Entry<T>>, TraceError>;

/// Requests of a trace, one after the other, in the trace's order.
pub trait Requests {
    /// Returns the next request.
    fn next(&mut self) -> Next<Traced>;

    /// Names of the devices so far, in the order of their numbers.
    fn devices(&self) -> Vec<String> {
        vec![String::new()]
    }

    /// Name of one device.
    fn device(&self, number: u32) -> Option<String> {
        self.devices().into_iter().nth(number as usize)
    }

    /// Descriptions and counts of other contents so far: texts, events of other kinds.
    fn extra_counts(&self) -> Vec<(String, u64)> {
        Vec::new()
    }
}

/// Numbers for names, in order of appearance.
#[derive(Debug, Default)]
pub struct Names {
    names: Vec<String>,
    numbers: HashMap<String, usize>,
    last: usize,
}

/// Maximum number of names: more than any trace has devices, so that a damaged one does not exhaust memory.
const MOST_NAMES: usize = 65_536;

impl Names {
    /// Number of a name; `None` if there are too many.
    pub fn number(&mut self, name: &str) -> Option<u32> {
        // Consecutive requests mostly have the same device.
        if self.names.get(self.last).is_none_or(|n| n != name) {
            self.last = match self.numbers.get(name) {
                Some(known) => *known,
                None if self.names.len() == MOST_NAMES => return None,
                None => {
                    self.names.push(name.to_string());
                    self.numbers.insert(name.to_string(), self.names.len() - 1);
                    self.names.len() - 1
                }
            };
        }
        u32::try_from(self.last).ok()
    }

    /// Name of a number.
    pub fn get(&self, number: u32) -> Option<String> {
        self.names.get(number as usize).cloned()
    }

    /// All names.
    pub fn all(&self) -> Vec<String> {
        self.names.clone()
    }
}

/// Every entry of a trace, with errors as text: for tests of readers.
#[cfg(test)]
pub(crate) fn all_entries(mut requests: impl Requests) -> Vec<Result<Traced, String>> {
    let mut all = Vec::new();
    loop {
        match requests.next() {
            Ok(Some(Entry::One(request))) => all.push(Ok(request)),
            Ok(Some(Entry::Bad(bad))) => all.push(Err(bad.to_string())),
            Ok(None) => return all,
            Err(error) => {
                all.push(Err(error.to_string()));
                return all;
            }
        }
    }
}
