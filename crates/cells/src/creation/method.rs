//! Creation methods as data, in the words that users type.

use iosonar_plan::{ByteSize, SyncFlag};
use std::fmt;
use std::str::FromStr;

/// A creation method. Its text form is its words, joined by `+`: `fallocate+buffered+64k`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Method {
    /// Space allocation before data is written.
    pub space: SpaceBefore,
    /// Extent size hint set before data is written, as in XFS.
    pub extent_hint: Option<ByteSize>,
    /// How data is written.
    pub way: Way,
    /// Bytes of each write.
    pub write: WriteSize,
    /// Flag of open(2) for synchronous writes.
    pub sync: SyncFlag,
    /// Order of writes.
    pub order: FillOrder,
    /// Bytes between calls of fsync.
    pub fsync_every: Option<ByteSize>,
    /// Bytes after which the file is reopened.
    pub reopen_every: Option<ByteSize>,
    /// Number of concurrently created files.
    pub files: Files,
    /// Content of the data.
    pub content: Content,
}

/// Space allocation before data is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpaceBefore {
    /// None: writes extend the file.
    Grows,
    /// Length without blocks (`ftruncate`).
    Truncated,
    /// Length and blocks (`fallocate`).
    Allocated,
    /// Blocks without length (`fallocate` with `FALLOC_FL_KEEP_SIZE`).
    AllocatedKeepSize,
    /// Length and blocks that read as zeros (`fallocate` with `FALLOC_FL_ZERO_RANGE`).
    ZeroRange,
}

/// How data is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Through the page cache.
    Buffered,
    /// With `O_DIRECT`.
    Direct,
    /// Through a mapping of the file.
    Mmap,
    /// No data is written.
    None,
}

/// Bytes of each write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteSize {
    /// This many bytes; the last write can be shorter.
    Bytes(ByteSize),
    /// The whole file; above 1 GiB, in writes of 1 GiB.
    Whole,
}

/// The order in which a file is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FillOrder {
    /// From its start to its end.
    Sequential,
    /// Each place once, in random order.
    Random,
    /// From its end to its start.
    Reverse,
}

/// Number of concurrently created files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Files {
    /// One.
    One,
    /// This many in one directory, each by a separate writer.
    Together(u32),
    /// This many, each in a separate directory and by a separate writer.
    Apart(u32),
    /// This many in one directory, by one writer, one write to each in turn.
    InTurn(u32),
}

impl Files {
    /// Returns the number.
    pub fn count(self) -> u32 {
        match self {
            Files::One => 1,
            Files::Together(n) | Files::Apart(n) | Files::InTurn(n) => n,
        }
    }
}

/// Content of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Incompressible data.
    Random,
    /// Zeros.
    Zeros,
    /// This percentage is compressible.
    Compressible(u8),
}

/// Why a text is not a method.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MethodError {
    /// Unknown word.
    #[error("'{method}': '{word}' is no word of a method: known are {}", known())]
    Unknown {
        /// Method as typed.
        method: String,
        /// The word.
        word: String,
    },
    /// Invalid value.
    #[error("'{method}': '{word}': {why}")]
    Value {
        /// Method as typed.
        method: String,
        /// The word.
        word: String,
        /// Reason.
        why: String,
    },
    /// Two words contradict each other.
    #[error("'{method}': '{first}' and '{second}' contradict each other: remove one of them")]
    Contradiction {
        /// Method as typed.
        method: String,
        /// The first word.
        first: String,
        /// The second one.
        second: String,
    },
    /// An impossible combination.
    #[error("'{method}': {why}")]
    Impossible {
        /// Method as typed.
        method: String,
        /// Violated rule.
        why: &'static str,
    },
}

/// Maximum number of concurrently created files.
const MOST_FILES: u32 = 1024;

/// Aspect set by a word: two words for the same aspect contradict each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Aspect {
    Space,
    Hint,
    Way,
    Write,
    Sync,
    Order,
    Fsync,
    Reopen,
    Files,
    Content,
}

/// A word without a value: text, aspect, effect.
type Word = (&'static str, Aspect, fn(&mut Method));

/// Words without a value.
const WORDS: [Word; 16] = [
    ("buffered", Aspect::Way, |m| m.way = Way::Buffered),
    ("direct", Aspect::Way, |m| m.way = Way::Direct),
    ("mmap", Aspect::Way, |m| m.way = Way::Mmap),
    ("no-data", Aspect::Way, |m| m.way = Way::None),
    ("whole", Aspect::Write, |m| m.write = WriteSize::Whole),
    ("dsync", Aspect::Sync, |m| m.sync = SyncFlag::Dsync),
    ("sync", Aspect::Sync, |m| m.sync = SyncFlag::Sync),
    ("random", Aspect::Order, |m| m.order = FillOrder::Random),
    ("reverse", Aspect::Order, |m| m.order = FillOrder::Reverse),
    ("truncate", Aspect::Space, |m| m.space = SpaceBefore::Truncated),
    ("fallocate", Aspect::Space, |m| m.space = SpaceBefore::Allocated),
    ("fallocate-keep", Aspect::Space, |m| m.space = SpaceBefore::AllocatedKeepSize),
    ("zero-range", Aspect::Space, |m| m.space = SpaceBefore::ZeroRange),
    ("zeros", Aspect::Content, |m| m.content = Content::Zeros),
    // Both are defaults; the words exist for completeness.
    ("sequential", Aspect::Order, |m| m.order = FillOrder::Sequential),
    ("incompressible", Aspect::Content, |m| m.content = Content::Random),
];

/// Words with a value after `=`.
const VALUED: [(&str, Aspect); 7] = [
    ("extsize", Aspect::Hint),
    ("fsync", Aspect::Fsync),
    ("reopen", Aspect::Reopen),
    ("files", Aspect::Files),
    ("dirs", Aspect::Files),
    ("turns", Aspect::Files),
    ("compressible", Aspect::Content),
];

/// Methods of other tools. xfs_mkfile(8) makes direct appends of 256 KiB; with `-p` it reserves the space first, and
/// with `-n` it only sets the length (iozone-and-layout 6.2, by strace).
const TOOLS: [(&str, &str); 3] = [
    ("xfs_mkfile", "direct+256k"),
    ("xfs_mkfile-p", "fallocate-keep+direct+256k"),
    ("xfs_mkfile-n", "truncate+no-data"),
];

fn known() -> String {
    let words = WORDS.iter().map(|(word, ..)| (*word).to_string());
    let valued = VALUED.iter().map(|(word, _)| format!("{word}="));
    let tools = TOOLS.iter().map(|(word, _)| (*word).to_string());
    let sizes = ["a size".to_string()];
    words.chain(valued).chain(tools).chain(sizes).collect::<Vec<_>>().join(", ")
}

impl FromStr for Method {
    type Err = MethodError;

    fn from_str(text: &str) -> Result<Method, MethodError> {
        let mut method = Method {
            space: SpaceBefore::Grows,
            extent_hint: None,
            way: Way::Buffered,
            write: WriteSize::Bytes(ByteSize(64 << 10)),
            sync: SyncFlag::None,
            order: FillOrder::Sequential,
            fsync_every: None,
            reopen_every: None,
            files: Files::One,
            content: Content::Random,
        };
        let mut said: Vec<(Aspect, &str)> = Vec::new();
        for word in text.split('+').flat_map(|word| expanded(word).split('+')) {
            let aspect = method.take(word, text)?;
            if let Some((_, first)) = said.iter().find(|(other, _)| *other == aspect) {
                return Err(MethodError::Contradiction {
                    method: text.into(),
                    first: (*first).into(),
                    second: word.into(),
                });
            }
            said.push((aspect, word));
        }
        method.check(text)
    }
}

fn expanded(word: &str) -> &str {
    TOOLS.iter().find(|(name, _)| *name == word).map_or(word, |(_, words)| words)
}

impl Method {
    fn take(&mut self, word: &str, text: &str) -> Result<Aspect, MethodError> {
        if let Some((_, aspect, set)) = WORDS.iter().find(|(name, ..)| *name == word) {
            set(self);
            return Ok(*aspect);
        }
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let Some((_, aspect)) = VALUED.iter().find(|(known, _)| *known == name) else {
            return self.take_write(word, text);
        };
        self.set(name, value).map_err(|why| MethodError::Value {
            method: text.into(),
            word: word.into(),
            why,
        })?;
        Ok(*aspect)
    }

    fn take_write(&mut self, word: &str, text: &str) -> Result<Aspect, MethodError> {
        if !word.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(MethodError::Unknown { method: text.into(), word: word.into() });
        }
        let size = size_of(word)
            .and_then(|size| match size.0 <= 1 << 30 {
                true => Ok(size),
                false => Err("a write is at most 1 GiB".into()),
            })
            .map_err(|why| MethodError::Value { method: text.into(), word: word.into(), why })?;
        self.write = WriteSize::Bytes(size);
        Ok(Aspect::Write)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "extsize" => self.extent_hint = Some(size_of(value)?),
            "fsync" => self.fsync_every = Some(size_of(value)?),
            "reopen" => self.reopen_every = Some(size_of(value)?),
            "files" => self.files = Files::Together(count_of(value)?),
            "dirs" => self.files = Files::Apart(count_of(value)?),
            "turns" => self.files = Files::InTurn(count_of(value)?),
            _ => {
                let percent = value.parse().ok().filter(|percent| *percent <= 100);
                self.content = Content::Compressible(percent.ok_or("it takes 0 to 100 percent")?);
            }
        }
        Ok(())
    }

    fn check(self, text: &str) -> Result<Method, MethodError> {
        let has_length = matches!(self.space, SpaceBefore::Truncated | SpaceBefore::Allocated)
            || self.space == SpaceBefore::ZeroRange;
        let rules = [
            (
                self.order != FillOrder::Sequential && !has_length,
                "a file that is not filled from its start needs its length first: add truncate, fallocate or zero-range",
            ),
            (
                self.way == Way::None && !has_length,
                "a file without data needs its length: add truncate, fallocate or zero-range",
            ),
            (
                self.way == Way::Mmap && self.sync.is_set(),
                "a mapping does not wait for stable storage: remove sync",
            ),
            (
                self.reopen_every.is_some() && self.order != FillOrder::Sequential,
                "reopen= is for files that are written from start to end: remove the order",
            ),
            (
                self.reopen_every.is_some()
                    && (self.space != SpaceBefore::Grows || self.extent_hint.is_some()),
                "reopen= is for files that grow by what is written: remove the word for their space",
            ),
            (
                self.reopen_every.is_some() && matches!(self.files, Files::InTurn(_)),
                "reopen= and turns= cannot be combined: use files=",
            ),
            (
                self.reopen_every
                    .zip(self.fsync_every)
                    .is_some_and(|(reopen, fsync)| fsync > reopen && !fsync.0.is_multiple_of(reopen.0)),
                "fsync= is larger than reopen= and no multiple of it: use another one of them",
            ),
        ];
        match rules.into_iter().find(|(broken, _)| *broken) {
            Some((_, why)) => Err(MethodError::Impossible { method: text.into(), why }),
            None => Ok(self),
        }
    }

    /// Number of openings of the file between calls of fsync, if it spans several.
    pub(crate) fn fsync_passes(&self) -> Option<u32> {
        let (reopen, fsync) = self.reopen_every.zip(self.fsync_every)?;
        (fsync > reopen).then(|| u32::try_from(fsync.0 / reopen.0).unwrap_or(u32::MAX))
    }

    /// Bytes of a write to files of `size` bytes.
    pub fn write_bytes(&self, size: ByteSize) -> ByteSize {
        match self.write {
            WriteSize::Bytes(bytes) => bytes.min(size),
            WriteSize::Whole => size.min(ByteSize(1 << 30)),
        }
    }

    /// Whether its writes go through the page cache.
    pub fn is_buffered(&self) -> bool {
        self.way != Way::Direct
    }
}

fn size_of(text: &str) -> Result<ByteSize, String> {
    let size: ByteSize = text.parse().map_err(|error: iosonar_plan::ParseUnitError| error.to_string())?;
    if size.0 == 0 { Err("it must be above 0".into()) } else { Ok(size) }
}

fn count_of(text: &str) -> Result<u32, String> {
    let count = text.parse().ok().filter(|count| (2..=MOST_FILES).contains(count));
    count.ok_or_else(|| format!("it takes 2 to {MOST_FILES} files"))
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let space = match self.space {
            SpaceBefore::Grows => None,
            SpaceBefore::Truncated => Some("truncate"),
            SpaceBefore::Allocated => Some("fallocate"),
            SpaceBefore::AllocatedKeepSize => Some("fallocate-keep"),
            SpaceBefore::ZeroRange => Some("zero-range"),
        };
        let way = match self.way {
            Way::Buffered => "buffered",
            Way::Direct => "direct",
            Way::Mmap => "mmap",
            Way::None => "no-data",
        };
        let write = match self.write {
            _ if self.way == Way::None => None,
            WriteSize::Bytes(size) => Some(short(size)),
            WriteSize::Whole => Some("whole".into()),
        };
        let sync = match self.sync {
            SyncFlag::None => None,
            SyncFlag::Dsync => Some("dsync"),
            SyncFlag::Sync | SyncFlag::Rsync => Some("sync"),
        };
        let order = match self.order {
            FillOrder::Sequential => None,
            FillOrder::Random => Some("random"),
            FillOrder::Reverse => Some("reverse"),
        };
        let files = match self.files {
            Files::One => None,
            Files::Together(n) => Some(format!("files={n}")),
            Files::Apart(n) => Some(format!("dirs={n}")),
            Files::InTurn(n) => Some(format!("turns={n}")),
        };
        let content = match self.content {
            Content::Random => None,
            Content::Zeros => Some("zeros".to_string()),
            Content::Compressible(percent) => Some(format!("compressible={percent}")),
        };
        let valued = |name: &str, size: Option<ByteSize>| size.map(|size| format!("{name}={}", short(size)));
        let words = [
            space.map(String::from),
            Some(way.into()),
            write,
            sync.map(String::from),
            order.map(String::from),
            valued("extsize", self.extent_hint),
            valued("fsync", self.fsync_every),
            valued("reopen", self.reopen_every),
            files,
            content,
        ];
        f.write_str(&words.into_iter().flatten().collect::<Vec<_>>().join("+"))
    }
}

/// Formats a size as users type it: `64k`.
fn short(size: ByteSize) -> String {
    let text = size.to_string().to_lowercase();
    text.strip_suffix("ib").map(String::from).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_round_trip() {
        for text in [
            "direct+256k",
            "buffered+64k",
            "buffered+whole",
            "fallocate+buffered+64k",
            "truncate+direct+64k+random",
            "zero-range+direct+1m+reverse+zeros",
            "direct+64k+extsize=16m+files=4",
            "buffered+64k+fsync=1m+dirs=4+compressible=50",
            "buffered+4k+reopen=4k",
            "direct+4k+turns=2",
            "buffered+1000+dsync",
            "mmap+64k",
            "truncate+no-data",
        ] {
            let method: Method = text.parse().unwrap();
            assert_eq!(method.to_string(), text);
            assert_eq!(method.to_string().parse(), Ok(method));
        }
        for (typed, means) in [
            ("xfs_mkfile", "direct+256k"),
            ("xfs_mkfile-p+zeros", "fallocate-keep+direct+256k+zeros"),
            ("xfs_mkfile-n", "truncate+no-data"),
            ("64k", "buffered+64k"),
            ("random+truncate", "truncate+buffered+64k+random"),
        ] {
            assert_eq!(typed.parse::<Method>().unwrap().to_string(), means);
        }
    }

    #[test]
    fn rejects_invalid_methods_with_reason() {
        for (text, part) in [
            ("", "no word"),
            ("dierct+4k", "'dierct'"),
            ("direct+buffered", "'direct' and 'buffered'"),
            ("4k+8k", "contradict"),
            ("xfs_mkfile+64k", "contradict"),
            ("direct+0", "above 0"),
            ("direct+2g", "1 GiB"),
            ("4x", "size"),
            ("files=1", "2 to 1024"),
            ("files=x", "2 to 1024"),
            ("extsize", "size"),
            ("compressible=101", "percent"),
            ("buffered+random", "truncate"),
            ("no-data", "truncate"),
            ("mmap+sync", "mapping"),
            ("fsync=3m+reopen=2m", "reopen="),
            ("turns=2+reopen=1m", "turns="),
        ] {
            let error = text.parse::<Method>().unwrap_err().to_string();
            assert!(error.contains(part) && error.contains(text), "{text}: {error}");
        }
    }
}
