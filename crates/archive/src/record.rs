//! One record per request: the facts from which everything else is computed.

use iosonar_plan::{Durability, Extent, Nanos, Op};

/// Error text for a record whose range is beyond any file.
pub(crate) const BEYOND: &str = "a request ends beyond 2^63 bytes, the largest offset that Linux knows";

/// Record of one request in the window.
///
/// Times are nanoseconds on the run's own clock: monotonic, zero at the run's time zero (after `start_grace`). There
/// are no differences: delay, latency and response are computed by readers.
///
/// ```
/// use iosonar_archive::Record;
/// use iosonar_plan::Nanos;
///
/// let record = Record {
///     due: Nanos(1_000),
///     submitted: Some(Nanos(1_500)),
///     completed: Some(Nanos(9_500)),
///     ..Record::default()
/// };
/// assert_eq!(record.delay(), Some(Nanos(500)));
/// assert_eq!(record.latency(), Some(Nanos(8_000)));
/// assert_eq!(record.response(), Some(Nanos(8_500)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Number of the request within its target and pass, from 0, in the order of the source.
    pub sequence: u64,
    /// Index of the target in the plan.
    pub target: u16,
    /// Worker that executed the request.
    pub worker: u16,
    /// Pass, from 0.
    pub pass: u32,
    /// Phase of the plan, from 0.
    pub phase: u16,
    /// Operation.
    pub op: Op,
    /// Outcome.
    pub outcome: Outcome,
    /// Marks.
    pub marks: Marks,
    /// The load's own time, as recorded (after a backward shift); for patterns equal to `due`.
    pub load_time: Nanos,
    /// Due time.
    pub due: Nanos,
    /// Time at which the overlap policy released it, if it had to wait.
    pub released: Option<Nanos>,
    /// The conflicting request of the same target and pass: for a pushed-back or ordered one the last that it waited
    /// for, for a dropped one the request in flight.
    pub blocked_by: Option<u64>,
    /// Time just before the call that submits the request to the kernel.
    pub submitted: Option<Nanos>,
    /// Time at which its completion was first seen.
    pub completed: Option<Nanos>,
    /// Completion poll delay: how much earlier than `completed` it may have ended because the issuing thread was busy
    /// elsewhere and polled late. The time for which that thread waited for a CPU is excluded.
    pub reap_lag: Nanos,
    /// Range requested by the source.
    pub requested: Extent,
    /// Range on the target actually used: wrapped, moved, rounded.
    pub executed: Extent,
    /// Bytes transferred, or the negative errno. 0 if not submitted.
    pub result: i64,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Outcome {
    /// It transferred all its bytes.
    Completed = 0,
    /// The kernel refused it, or it stayed short.
    Failed = 1,
    /// The overlap policy dropped it; no submission and completion times.
    Dropped = 2,
    /// The run was stopped before it was submitted; no submission and completion times.
    Cancelled = 3,
}

impl Outcome {
    /// Every outcome, in the order of tables.
    pub const ALL: [Outcome; 4] = [Outcome::Completed, Outcome::Failed, Outcome::Dropped, Outcome::Cancelled];

    /// Returns the word in Parquet, JSON and CSV.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Completed => "completed",
            Outcome::Failed => "failed",
            Outcome::Dropped => "dropped",
            Outcome::Cancelled => "cancelled",
        }
    }
}

/// Set of marks of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Marks(pub u16);

impl Marks {
    /// It waited on the push-back list.
    pub const PUSHED: Marks = Marks(1);
    /// It waited for a conflict under `order`.
    pub const ORDERED: Marks = Marks(1 << 1);
    /// Its address was beyond the target and was wrapped.
    pub const WRAPPED: Marks = Marks(1 << 2);
    /// It would have crossed the end of the target and was moved down.
    pub const AT_BORDER: Marks = Marks(1 << 3);
    /// It was widened to whole logical blocks.
    pub const ROUNDED: Marks = Marks(1 << 4);
    /// A transfer was short at least once.
    pub const SHORT: Marks = Marks(1 << 5);

    /// It was due while the plan allowed no submission: the queue depth was reached, or an earlier request waited and
    /// held up all later ones (`order`, or a full push-back list).
    pub const HELD: Marks = Marks(1 << 6);
    /// It was due while all data memory was in use.
    pub const NO_BUFFER: Marks = Marks(1 << 7);
    /// It belongs to the ramp before the measured time.
    pub const RAMP: Marks = Marks(1 << 8);
    /// In a recording: others of the same place and length were in flight, so its completion may be that of another.
    pub const AMBIGUOUS: Marks = Marks(1 << 9);
    /// A write with force unit access (FUA).
    pub const FUA: Marks = Marks(1 << 10);
    /// A write preceded by a flush of the target's write cache.
    pub const PREFLUSH: Marks = Marks(1 << 11);

    /// Every mark with its column name.
    pub const ALL: [(Marks, &'static str); 12] = [
        (Marks::PUSHED, "pushed"),
        (Marks::ORDERED, "ordered"),
        (Marks::WRAPPED, "wrapped"),
        (Marks::AT_BORDER, "at_border"),
        (Marks::ROUNDED, "rounded"),
        (Marks::SHORT, "short"),
        (Marks::HELD, "held"),
        (Marks::NO_BUFFER, "no_buffer"),
        (Marks::RAMP, "ramp"),
        (Marks::AMBIGUOUS, "ambiguous"),
        (Marks::FUA, "fua"),
        (Marks::PREFLUSH, "preflush"),
    ];

    /// Whether it contains all of `other`.
    pub const fn has(self, other: Marks) -> bool {
        self.0 & other.0 == other.0
    }

    /// Adds `other` if `on`.
    #[must_use]
    pub const fn with(self, other: Marks, on: bool) -> Marks {
        if on { Marks(self.0 | other.0) } else { self }
    }

    /// Adds the durability of a write.
    #[must_use]
    pub const fn with_durability(self, durability: Durability) -> Marks {
        self.with(Marks::FUA, durability.has(Durability::FUA))
            .with(Marks::PREFLUSH, durability.has(Durability::PREFLUSH))
    }

    /// Returns the durability of a write.
    pub const fn durability(self) -> Durability {
        Durability::NONE
            .with(Durability::FUA, self.has(Marks::FUA))
            .with(Durability::PREFLUSH, self.has(Marks::PREFLUSH))
    }
}

impl Record {
    /// Records with this number or above are steps of a pass that belong to no request: opening the file, or flushing
    /// written data. No source has as many requests.
    pub const STEPS: u64 = 1 << 52;

    /// Whether the record is such a step.
    pub fn is_step(&self) -> bool {
        self.sequence >= Record::STEPS
    }

    /// submitted − due: issue delay. Never negative.
    pub fn delay(&self) -> Option<Nanos> {
        self.submitted.map(|s| s.saturating_sub(self.due))
    }

    /// completed − submitted: time taken by the target.
    pub fn latency(&self) -> Option<Nanos> {
        Some(self.completed?.saturating_sub(self.submitted?))
    }

    /// completed − due: response time of an application with this timing.
    pub fn response(&self) -> Option<Nanos> {
        self.completed.map(|c| c.saturating_sub(self.due))
    }

    /// Whether it counts in latency statistics: it was executed completely.
    pub fn is_completed(&self) -> bool {
        self.outcome == Outcome::Completed
    }

    /// Whether it was pushed back.
    pub fn is_pushed(&self) -> bool {
        self.marks.has(Marks::PUSHED)
    }
}

impl Default for Record {
    /// An empty read at time zero, which readers fill in.
    fn default() -> Record {
        Record {
            sequence: 0,
            target: 0,
            worker: 0,
            pass: 0,
            phase: 0,
            op: Op::Read,
            outcome: Outcome::Completed,
            marks: Marks::default(),
            load_time: Nanos(0),
            due: Nanos(0),
            released: None,
            blocked_by: None,
            submitted: None,
            completed: None,
            reap_lag: Nanos(0),
            requested: Extent::default(),
            executed: Extent::default(),
            result: 0,
        }
    }
}

/// Bytes of a record in the append-only log.
pub const RECORD_BYTES: usize = 128;

/// Absent times and numbers in the log.
const NONE: u64 = u64::MAX;

impl Record {
    /// Encodes the log form: little-endian, fixed width, see `docs/archive.md`.
    pub fn encode(&self, out: &mut [u8; RECORD_BYTES]) {
        let mut w = FieldWriter { out, at: 0 };
        let time = |t: Option<Nanos>| t.map_or(NONE, |t| t.0);
        for word in [
            self.sequence,
            self.load_time.0,
            self.due.0,
            time(self.released),
            self.blocked_by.unwrap_or(NONE),
            time(self.submitted),
            time(self.completed),
            self.requested.offset,
            self.requested.length,
            self.executed.offset,
            self.executed.length,
            self.result as u64,
        ] {
            w.put(&word.to_le_bytes());
        }
        w.put(&self.pass.to_le_bytes());
        for short in [self.target, self.worker, self.phase, self.marks.0] {
            w.put(&short.to_le_bytes());
        }
        w.put(&[self.op.code(), self.outcome as u8, 0, 0]);
        w.put(&self.reap_lag.0.to_le_bytes());
        let at = w.at;
        out[at..].fill(0);
    }

    /// Whether its range is within a file's limits. Damaged records may exceed them, and readers compute ends without
    /// checks.
    pub(crate) fn is_possible(&self) -> bool {
        let fits = |extent: Extent| Extent::new(extent.offset, extent.length).is_some();
        fits(self.requested) && fits(self.executed)
    }

    /// Decodes a log form; `None` if operation or outcome is invalid.
    pub fn decode(bytes: &[u8; RECORD_BYTES]) -> Option<Record> {
        let word = |i: usize| u64::from_le_bytes(bytes[i * 8..i * 8 + 8].try_into().expect("eight bytes"));
        let short = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let present = |n: u64| (n != NONE).then_some(n);
        Some(Record {
            sequence: word(0),
            load_time: Nanos(word(1)),
            due: Nanos(word(2)),
            released: present(word(3)).map(Nanos),
            blocked_by: present(word(4)),
            submitted: present(word(5)).map(Nanos),
            completed: present(word(6)).map(Nanos),
            reap_lag: Nanos(word(14)),
            requested: Extent { offset: word(7), length: word(8) },
            executed: Extent { offset: word(9), length: word(10) },
            result: word(11) as i64,
            pass: u32::from_le_bytes(bytes[96..100].try_into().expect("four bytes")),
            target: short(100),
            worker: short(102),
            phase: short(104),
            marks: Marks(short(106)),
            op: Op::of_code(bytes[108])?,
            outcome: *Outcome::ALL.get(bytes[109] as usize)?,
        })
    }
}

struct FieldWriter<'a> {
    out: &'a mut [u8; RECORD_BYTES],
    at: usize,
}

impl FieldWriter<'_> {
    fn put(&mut self, bytes: &[u8]) {
        self.out[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }
}
