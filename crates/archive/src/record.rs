//! One record per request: the facts that everything else is computed from.

use iosonar_plan::{Durability, Extent, Nanos, Op};

/// Why a record is called damaged whose bytes lie where no file has any.
pub(crate) const BEYOND: &str = "a request ends beyond 2^63 bytes, the largest offset that Linux knows";

/// What happened to one request of the window.
///
/// Times are nanoseconds on the run's own clock: monotonic, zero at the run's time zero (after
/// `start_grace`). Nothing here is a difference: delay, latency and response are computed by whoever reads.
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
    /// Number of the request among those of its target and pass, from 0, in the order of the source.
    pub sequence: u64,
    /// Index of the target in the plan.
    pub target: u16,
    /// Which of the engine's workers carried it out.
    pub worker: u16,
    /// Pass, from 0.
    pub pass: u32,
    /// Phase of the plan, from 0.
    pub phase: u16,
    /// What it did.
    pub op: Op,
    /// How it ended.
    pub outcome: Outcome,
    /// What was special about it.
    pub marks: Marks,
    /// The load's own time, as recorded (after a backward shift); for patterns the same as `due`.
    pub load_time: Nanos,
    /// When it should have been handed over.
    pub due: Nanos,
    /// When the overlap policy let it go, if it had to wait.
    pub released: Option<Nanos>,
    /// The request of the same target and pass that it conflicted with: for a pushed-back or ordered one the
    /// last that it waited for, for a dropped one the request in flight.
    pub blocked_by: Option<u64>,
    /// Read just before the call that hands the request to the kernel.
    pub submitted: Option<Nanos>,
    /// When its completion was first seen.
    pub completed: Option<Nanos>,
    /// How much earlier than `completed` it may have ended because the issuing thread was busy elsewhere and looked late. The time for
    /// which that thread waited for a CPU is not in it.
    pub reap_lag: Nanos,
    /// The range that the source requested.
    pub requested: Extent,
    /// The range on the target that was really used: wrapped, moved, rounded.
    pub executed: Extent,
    /// Bytes transferred, or the negative errno. 0 where nothing was submitted.
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
    /// The overlap policy left it out; it has no submission and no completion time.
    Dropped = 2,
    /// The run was stopped before it could be submitted; no submission and no completion time.
    Cancelled = 3,
}

impl Outcome {
    /// Every outcome, in the order of tables.
    pub const ALL: [Outcome; 4] = [Outcome::Completed, Outcome::Failed, Outcome::Dropped, Outcome::Cancelled];

    /// The word in Parquet, JSON and CSV.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Completed => "completed",
            Outcome::Failed => "failed",
            Outcome::Dropped => "dropped",
            Outcome::Cancelled => "cancelled",
        }
    }
}

/// What was special about a request: a small set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Marks(pub u16);

impl Marks {
    /// It waited on the push-back list.
    pub const PUSHED: Marks = Marks(1);
    /// It waited for a conflict under `order`.
    pub const ORDERED: Marks = Marks(1 << 1);
    /// Its address lay beyond the target and was wrapped.
    pub const WRAPPED: Marks = Marks(1 << 2);
    /// It would have crossed the end of the target and was moved down.
    pub const AT_BORDER: Marks = Marks(1 << 3);
    /// It was widened to whole logical blocks.
    pub const ROUNDED: Marks = Marks(1 << 4);
    /// It transferred less than asked at least once.
    pub const SHORT: Marks = Marks(1 << 5);

    /// It was due while the plan let nothing go: as many requests were in flight as the depth allows, or one before it
    /// waited and held up all after it (`order`, or a full push-back list).
    pub const HELD: Marks = Marks(1 << 6);
    /// It was due while all the memory for data was in use.
    pub const NO_BUFFER: Marks = Marks(1 << 7);
    /// It belongs to the ramp before the measured time.
    pub const RAMP: Marks = Marks(1 << 8);
    /// In a recording: others of the same place and length were in flight, so that its end may be that of another.
    pub const AMBIGUOUS: Marks = Marks(1 << 9);
    /// A write whose data had to be on stable storage when it completed (force unit access).
    pub const FUA: Marks = Marks(1 << 10);
    /// A write before which the target's write cache was emptied.
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

    /// Whether all of `other` is in here.
    pub const fn has(self, other: Marks) -> bool {
        self.0 & other.0 == other.0
    }

    /// Adds `other` if `on`.
    #[must_use]
    pub const fn with(self, other: Marks, on: bool) -> Marks {
        if on { Marks(self.0 | other.0) } else { self }
    }

    /// Adds what a write asks for beyond its data.
    #[must_use]
    pub const fn with_durability(self, durability: Durability) -> Marks {
        self.with(Marks::FUA, durability.has(Durability::FUA))
            .with(Marks::PREFLUSH, durability.has(Durability::PREFLUSH))
    }

    /// What a write requested beyond its data.
    pub const fn durability(self) -> Durability {
        Durability::NONE
            .with(Durability::FUA, self.has(Marks::FUA))
            .with(Durability::PREFLUSH, self.has(Marks::PREFLUSH))
    }
}

impl Record {
    /// From this number on, records are of steps that belong to a pass and to none of its requests: the file of the pass is
    /// opened, or what was written in it is flushed. No source has as many requests.
    pub const STEPS: u64 = 1 << 52;

    /// Whether it is of such a step.
    pub fn is_step(&self) -> bool {
        self.sequence >= Record::STEPS
    }

    /// submitted − due: how late the request was handed over. Never negative.
    pub fn delay(&self) -> Option<Nanos> {
        self.submitted.map(|s| s.saturating_sub(self.due))
    }

    /// completed − submitted: how long the target took.
    pub fn latency(&self) -> Option<Nanos> {
        Some(self.completed?.saturating_sub(self.submitted?))
    }

    /// completed − due: what an application with this timing would have seen.
    pub fn response(&self) -> Option<Nanos> {
        self.completed.map(|c| c.saturating_sub(self.due))
    }

    /// Whether it counts in latency statistics: it was executed wholly.
    pub fn is_completed(&self) -> bool {
        self.outcome == Outcome::Completed
    }

    /// Whether it was pushed back.
    pub fn is_pushed(&self) -> bool {
        self.marks.has(Marks::PUSHED)
    }
}

impl Default for Record {
    /// A read of nothing at time zero: the blank that readers fill in.
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
    /// The log form: little-endian, fixed width, see `docs/archive.md`.
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

    /// Whether its bytes lie where a file can have some. Those of a damaged record need not, and readers compute ends
    /// without looking.
    pub(crate) fn is_possible(&self) -> bool {
        let fits = |extent: Extent| Extent::new(extent.offset, extent.length).is_some();
        fits(self.requested) && fits(self.executed)
    }

    /// The record of a log form; `None` where an operation or outcome is impossible.
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
