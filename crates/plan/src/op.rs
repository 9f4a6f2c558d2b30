//! Operations of requests.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::OnceLock;

/// The operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Op {
    /// Transfers data from the target.
    Read,
    /// Transfers data to the target.
    Write,
    /// Empties the target's write cache. It transfers no data and has no place.
    Flush,
    /// Opens a file.
    Open,
    /// Deletes a file: removes its name.
    Delete,
    /// Informs the target that the data of a range is no longer needed: a discard (trim, unmap) of a device, a hole in a file. No
    /// data is transferred.
    Discard,
    /// Zeros a range. No data is transferred.
    WriteZeroes,
    /// Brings a file's data and all its metadata to stable storage. A flush need not bring metadata that no reading needs.
    Fsync,
    /// Closes a file.
    Close,
    /// Sets the length of a file.
    Truncate,
    /// Allocates space to a file.
    Allocate,
    /// Locks a file.
    Lock,
    /// Releases a lock.
    Unlock,
    /// Removing a file from the page cache (`POSIX_FADV_DONTNEED`), and counting the pages before and after.
    Evict,
    /// Sets the extent size hint of a file.
    Hint,
    /// An operation that this version does not know, of an archive that a later version wrote: the number of its word
    /// among those that this process has met.
    Other(u8),
}

/// Index of statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// Data comes from the target.
    Read,
    /// Data goes to the target.
    Write,
    /// No data is transferred: flushes, discards, write zeroes, operations on files, and operations that this version does not
    /// know.
    Other,
}

impl Direction {
    /// Every direction, in the order of tables.
    pub const ALL: [Direction; 3] = [Direction::Read, Direction::Write, Direction::Other];

    /// `read`, `write` or `other`.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Read => "read",
            Direction::Write => "write",
            Direction::Other => "other",
        }
    }

    /// Its index in a table of all three.
    pub fn index(self) -> usize {
        self as usize
    }
}

/// Words of operations that this version does not know, in the order in which they were met. They are kept for as long as
/// the process runs, so that [`Op`] stays as small as a number.
static OTHERS: [OnceLock<Box<str>>; OTHERS_MOST] = [const { OnceLock::new() }; OTHERS_MOST];
const OTHERS_MOST: usize = 128;

/// Longest word of an operation. Archives hold such words as 16 bytes at most.
const WORD_MOST: usize = 16;

/// Highest number of an operation in a log. Those of later versions lie below it, too; higher ones are damage.
const CODE_MOST: u8 = 15;

/// Operations that this version knows.
const KNOWN: [Op; 15] = [
    Op::Read,
    Op::Write,
    Op::Flush,
    Op::Open,
    Op::Delete,
    Op::Discard,
    Op::WriteZeroes,
    Op::Fsync,
    Op::Close,
    Op::Truncate,
    Op::Allocate,
    Op::Lock,
    Op::Unlock,
    Op::Evict,
    Op::Hint,
];

impl Op {
    /// The operations that transfer data, in the order in which tables and legends show them.
    pub const TRANSFERS: [Op; 2] = [Op::Read, Op::Write];

    /// The operation of a number in the log of an archive; `None` if the number is invalid.
    pub fn of_code(code: u8) -> Option<Op> {
        let known = KNOWN.get(usize::from(code)).copied();
        known.or_else(|| if code <= CODE_MOST { Op::other(&format!("op-{code}")) } else { None })
    }

    /// Its index among those that this version knows.
    fn known(self) -> Option<u8> {
        match self {
            Op::Read => Some(0),
            Op::Write => Some(1),
            Op::Flush => Some(2),
            Op::Open => Some(3),
            Op::Delete => Some(4),
            Op::Discard => Some(5),
            Op::WriteZeroes => Some(6),
            Op::Fsync => Some(7),
            Op::Close => Some(8),
            Op::Truncate => Some(9),
            Op::Allocate => Some(10),
            Op::Lock => Some(11),
            Op::Unlock => Some(12),
            Op::Evict => Some(13),
            Op::Hint => Some(14),
            Op::Other(_) => None,
        }
    }

    /// Its number in the log of an archive, at most 15. An operation known only by its word has the highest.
    pub fn code(self) -> u8 {
        let numbered = || self.name().strip_prefix("op-").and_then(|number| number.parse().ok());
        self.known().or_else(numbered).unwrap_or(CODE_MOST).min(CODE_MOST)
    }

    /// The operation of a word; `None` for an invalid word, or if too many different unknown ones were met.
    pub fn named(word: &str) -> Option<Op> {
        KNOWN.into_iter().find(|op| op.name() == word).or_else(|| Op::other(word))
    }

    fn other(word: &str) -> Option<Op> {
        let is_word = word.starts_with(|c: char| c.is_ascii_lowercase())
            && (4..=WORD_MOST).contains(&word.len())
            && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        if !is_word {
            return None;
        }
        // The first free place takes the word.
        let place = |known: &OnceLock<Box<str>>| &**known.get_or_init(|| word.into()) == word;
        OTHERS.iter().position(place).map(|number| Op::Other(number as u8))
    }

    /// Its index in tables that list all operations: those that this version knows, then the others.
    pub fn index(self) -> usize {
        match self {
            Op::Other(number) => KNOWN.len() + usize::from(number),
            known => usize::from(known.known().unwrap_or(0)),
        }
    }

    /// The operation with this index.
    pub fn of_index(index: usize) -> Option<Op> {
        let other =
            index.checked_sub(KNOWN.len()).filter(|n| OTHERS.get(*n).is_some_and(|w| w.get().is_some()));
        KNOWN.get(index).copied().or_else(|| other.map(|number| Op::Other(number as u8)))
    }

    /// `R`, `W`, `F` or `D`, as in loads and traces, `Z` for write zeroes; `?` for operations that these do not know.
    pub fn letter(self) -> char {
        match self {
            Op::Read => 'R',
            Op::Write => 'W',
            Op::Flush => 'F',
            Op::Discard => 'D',
            Op::WriteZeroes => 'Z',
            _ => '?',
        }
    }

    /// Its word in archives and tables.
    pub fn name(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Flush => "flush",
            Op::Open => "open",
            Op::Delete => "delete",
            Op::Discard => "discard",
            Op::WriteZeroes => "write-zeroes",
            Op::Fsync => "fsync",
            Op::Close => "close",
            Op::Truncate => "truncate",
            Op::Allocate => "allocate",
            Op::Lock => "lock",
            Op::Unlock => "unlock",
            Op::Evict => "evict",
            Op::Hint => "hint",
            Op::Other(number) => {
                OTHERS.get(usize::from(number)).and_then(|w| w.get()).map_or("other", |word| word)
            }
        }
    }

    /// The direction that statistics index it by.
    pub fn direction(self) -> Direction {
        match self {
            Op::Read => Direction::Read,
            Op::Write => Direction::Write,
            _ => Direction::Other,
        }
    }

    /// Whether it transfers data.
    pub fn is_transfer(self) -> bool {
        matches!(self, Op::Read | Op::Write)
    }

    /// Whether it makes earlier writes durable: the command of a device, or the call of a file system.
    pub fn is_flush(self) -> bool {
        matches!(self, Op::Flush | Op::Fsync)
    }

    /// Whether it concerns a range of the target.
    pub fn has_place(self) -> bool {
        self.is_transfer() || self.is_dataless_change()
    }

    /// Whether it changes the data of a range without transferring any.
    pub fn is_dataless_change(self) -> bool {
        matches!(self, Op::Discard | Op::WriteZeroes)
    }

    /// Whether it changes the data of the target.
    pub fn changes_data(self) -> bool {
        self.is_write() || self.is_dataless_change()
    }

    /// Whether it transfers data to the target.
    pub fn is_write(self) -> bool {
        self == Op::Write
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<Op> for String {
    fn from(op: Op) -> String {
        op.name().into()
    }
}

impl TryFrom<String> for Op {
    type Error = String;

    fn try_from(word: String) -> Result<Op, String> {
        Op::named(&word).ok_or_else(|| format!("'{word}' is no operation"))
    }
}

/// Durability that a write requests beyond its data: a small set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Durability(u8);

impl Durability {
    /// No request: its data may stay in the target's write cache.
    pub const NONE: Durability = Durability(0);
    /// Its data is on stable storage when it completes (FUA, force unit access).
    pub const FUA: Durability = Durability(1);
    /// The target's write cache is emptied before it.
    pub const PREFLUSH: Durability = Durability(2);

    /// Whether it includes all of `other`.
    pub const fn has(self, other: Durability) -> bool {
        self.0 & other.0 == other.0
    }

    /// Adds `other` if `on`.
    #[must_use]
    pub const fn with(self, other: Durability, on: bool) -> Durability {
        if on { Durability(self.0 | other.0) } else { self }
    }

    /// Whether it requests no durability.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// As a number below 4.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The set of such a number; higher bits are ignored.
    pub const fn of_bits(bits: u8) -> Durability {
        Durability(bits & 3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_round_trip_as_words_and_codes() {
        for op in KNOWN {
            assert_eq!((Op::named(op.name()), Op::of_code(op.code())), (Some(op), Some(op)));
            assert_eq!(Op::of_index(op.index()), Some(op));
        }
        let rename = Op::named("rename").unwrap();
        assert_eq!((rename.name(), rename.direction()), ("rename", Direction::Other));
        assert_eq!(Op::named("rename"), Some(rename));
        assert_eq!(Op::of_index(rename.index()), Some(rename));
        let later = Op::of_code(15).unwrap();
        assert_eq!((later.name(), later.code()), ("op-15", 15));
        assert_eq!((rename.code(), Op::of_code(16)), (15, None));
        for bad in ["", "Read", "op\n17", "a-word-that-is-too-long", "rea"] {
            assert_eq!(Op::named(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn operations_serialize_as_words() {
        #[derive(Serialize, Deserialize, PartialEq, Debug)]
        struct Holder {
            op: Op,
        }
        for op in [Op::Read, Op::Flush, Op::named("copy-range").unwrap()] {
            let text = toml::to_string(&Holder { op }).unwrap();
            assert_eq!(text, format!("op = \"{}\"\n", op.name()));
            assert_eq!(toml::from_str::<Holder>(&text).unwrap(), Holder { op });
        }
        assert!(toml::from_str::<Holder>("op = \"?\"").is_err());
    }
}
