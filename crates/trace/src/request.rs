//! One request of a trace, as far as the trace tells it.

use crate::TimedRequest;
use iosonar_plan::{Durability, Extent, Nanos, Op, SECTOR};
use std::collections::HashMap;
use std::fmt;

/// What a request does. Others are kept as what they are; all the rest can be replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// Transfers data from the device.
    Read = 0,
    /// Transfers data to the device; one that flushes before (preflush) or after (FUA) carries data, too.
    Write = 1,
    /// Gives blocks back to the device (discard, secure erase).
    Discard = 2,
    /// Empties the device's write cache, without data.
    Flush = 3,
    /// Zeros a range without data being transferred.
    WriteZeroes = 4,
    /// Anything else: commands of drivers, zones.
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

    /// The operation, of those that can be replayed.
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

/// How the kernel was asked to treat a request: a small set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// Somebody waits for it (`S`).
    pub const SYNC: Flags = Flags(1);
    /// It carries the file system's own data (`M`).
    pub const META: Flags = Flags(1 << 1);
    /// Read ahead of what was requested (`A`).
    pub const AHEAD: Flags = Flags(1 << 2);
    /// Its data bypasses the device's write cache (`F` after the operation).
    pub const FUA: Flags = Flags(1 << 3);
    /// The device's write cache is emptied before it (`F` before the operation).
    pub const PREFLUSH: Flags = Flags(1 << 4);

    /// The kernel's letter `N` with a length, which stands for several operations.
    pub const UNNAMED: Flags = Flags(1 << 5);
    /// An operation on zones (`Z`): of a write, an append.
    pub const ZONE: Flags = Flags(1 << 6);

    /// Whether any of `a` and `b` is in here.
    pub(crate) const fn has_any(self, a: Flags, b: Flags) -> bool {
        self.0 & (a.0 | b.0) != 0
    }

    /// Whether all of `other` is in here.
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Adds `other` if `on`.
    #[must_use]
    pub const fn with(self, other: Flags, on: bool) -> Flags {
        if on { Flags(self.0 | other.0) } else { self }
    }
}

/// Who requested a request: number and name of the process, as the kernel tells them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Process {
    /// Its number; 0: not told.
    pub pid: u32,
    /// Its name, filled up with zero bytes; all zeros: not told.
    pub name: [u8; 16],
}

impl Process {
    /// A process of this number and name; names are cut off at 16 bytes.
    pub fn new(pid: u32, name: &[u8]) -> Process {
        let mut kept = [0; 16];
        let length = name.len().min(16);
        kept[..length].copy_from_slice(&name[..length]);
        Process { pid, name: kept }
    }

    /// Its name; empty: not told. Bytes that are no UTF-8 are replaced.
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
    /// The trace tells no ends, or ends were not requested.
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
    /// When it was requested, on the trace's own clock.
    pub time: Nanos,
    /// What it does.
    pub kind: Kind,
    /// How.
    pub flags: Flags,
    /// Where, in bytes.
    pub extent: Extent,
    /// Number of its device among the trace's devices, from 0.
    pub device: u32,
    /// Who requested it.
    pub process: Process,
    /// How late it was handed over; of results of a replay only.
    pub delay: Nanos,
    /// From begin to end, where the trace tells that.
    pub latency: Option<Nanos>,
    /// How well that is known.
    pub pairing: Pairing,
    /// Errno, where it failed; 0: it did not, or nothing is told.
    pub error: i32,
    /// In a result of a replay: whether it had been pushed back.
    pub pushed: bool,
}

impl Traced {
    /// A request of which only this is told.
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
            pairing: Pairing::Untold,
            error: 0,
            pushed: false,
        }
    }

    /// The request as a load tells it; none of what cannot be replayed.
    pub fn timed(&self) -> Option<TimedRequest> {
        Some(TimedRequest {
            line: self.at,
            time: self.time,
            op: self.kind.op()?,
            durability: self.durability(),
            // Traces may tell a place of a flush, which means nothing.
            extent: if self.kind == Kind::Flush { Extent::default() } else { self.extent },
            pushed: self.pushed,
            delay: self.delay,
            latency: self.latency.unwrap_or_default(),
        })
    }

    /// What a write requested beyond its data.
    pub fn durability(&self) -> Durability {
        let has = |flag| self.kind == Kind::Write && self.flags.has(flag);
        Durability::NONE
            .with(Durability::FUA, has(Flags::FUA))
            .with(Durability::PREFLUSH, has(Flags::PREFLUSH))
    }

    /// First sector and sectors, both rounded outward to whole ones.
    pub fn sectors(&self) -> (u64, u64) {
        let first = self.extent.offset / SECTOR;
        (first, self.extent.end().div_ceil(SECTOR) - first)
    }
}

impl From<TimedRequest> for Traced {
    fn from(r: TimedRequest) -> Traced {
        // A load carries zeros here; no request takes no time.
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

/// Something that means to be a request and is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {why}{}", .text.as_ref().map(|t| format!(": '{t}'")).unwrap_or_default())]
pub struct Bad {
    /// Where it stands.
    pub at: Place,
    /// What is wrong with it.
    pub why: String,
    /// Its text, shortened; none in binary traces.
    pub text: Option<String>,
}

impl Bad {
    /// A line that is wrong.
    pub fn line(line: u64, why: impl Into<String>, text: &str) -> Bad {
        let text = text.trim().chars().take(60).collect();
        Bad { at: Place::Line(line), why: why.into(), text: Some(text) }
    }
}

/// A place in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Line of a text, from 1.
    Line(u64),
    /// Byte of a binary trace, from 0.
    Byte(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(n) => write!(f, "line {n}"),
            Place::Byte(n) => write!(f, "byte {n}"),
        }
    }
}

/// What a trace has next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry<T> {
    /// What is looked for.
    One(T),
    /// Something that means to be that, and is none.
    Bad(Bad),
}

impl<T> Entry<T> {
    /// Makes something else of what was looked for.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Entry<U> {
        match self {
            Entry::One(one) => Entry::One(f(one)),
            Entry::Bad(bad) => Entry::Bad(bad),
        }
    }
}

/// Why reading a trace had to end before its end.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The input failed: the device, or a damaged or cut-off gzip stream.
    #[error("after {at}: {error}")]
    Io {
        /// Up to where it was read.
        at: Place,
        /// What went wrong.
        error: std::io::Error,
    },
    /// What stands there cannot be read over.
    #[error("{at}: {why}")]
    Broken {
        /// Where.
        at: Place,
        /// What is wrong, and what helps.
        why: String,
    },
}

/// The next entry; none at the end of the trace.
pub type Next<T> = Result<Option<Entry<T>>, TraceError>;

/// Requests of a trace, one after the other, in the trace's order.
pub trait Requests {
    /// The next one.
    fn next(&mut self) -> Next<Traced>;

    /// Names of the devices that were met so far, in the order of their numbers.
    fn devices(&self) -> Vec<String> {
        vec![String::new()]
    }

    /// The name of one of them.
    fn device(&self, number: u32) -> Option<String> {
        self.devices().into_iter().nth(number as usize)
    }

    /// What else was met so far, and how often: texts, events of other kinds.
    fn besides(&self) -> Vec<(String, u64)> {
        Vec::new()
    }
}

/// Numbers for names, in the order in which they are met.
#[derive(Debug, Default)]
pub struct Names {
    names: Vec<String>,
    numbers: HashMap<String, usize>,
    last: usize,
}

/// More names than a trace can have devices, so that a damaged one does not fill the memory.
const MOST_NAMES: usize = 65_536;

impl Names {
    /// The number of a name. None if there are too many.
    pub fn number(&mut self, name: &str) -> Option<u32> {
        // Requests of one device mostly follow each other.
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

    /// The one of a number.
    pub fn get(&self, number: u32) -> Option<String> {
        self.names.get(number as usize).cloned()
    }

    /// All of them.
    pub fn all(&self) -> Vec<String> {
        self.names.clone()
    }
}

/// Every entry of a trace, with what is wrong as text: for the tests of its readers.
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
