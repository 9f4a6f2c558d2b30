//! Inputs that are read whole into memory: their permitted kinds and sizes.
//!
//! A block device or `/dev/zero` in place of a text would otherwise be read until memory is full.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// Plans, setup files, lists of places and other texts that people write.
pub const TEXT_LIMIT: u64 = 16 << 20;
/// Seek lists, which programs write: about 8 million requests.
pub const LIST_LIMIT: u64 = 256 << 20;
/// Texts in the directories of results and of matrices, which may come from elsewhere.
pub const ARCHIVE_LIMIT: u64 = 64 << 20;
/// Binary results of other programs.
pub const DUMP_LIMIT: u64 = 4 << 30;

/// Device number of `/dev/null`.
const NULL: u64 = 0x103;

/// Reason why an input was not read.
#[derive(Debug)]
pub enum Unread {
    /// It is neither a regular file nor a pipe.
    Kind(Kind),
    /// It is larger than allowed, in bytes.
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// It is no UTF-8.
    NotText,
    /// The error of open(2) or read(2).
    Io(io::Error),
}

/// Kind of an input that is neither a regular file nor a pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A disk, a partition …
    BlockDevice,
    /// A terminal, `/dev/zero` …
    CharacterDevice,
    /// A directory.
    Directory,
    /// A socket, or of a kind that this program does not know.
    Other,
}

impl Kind {
    /// Kind of a file; `None` for one that can be read to its end: a regular file, a pipe, and `/dev/null`, which is empty.
    pub fn of(metadata: &Metadata) -> Option<Kind> {
        match metadata.file_type() {
            it if it.is_file() || it.is_fifo() => None,
            it if it.is_char_device() && metadata.rdev() == NULL => None,
            it if it.is_block_device() => Some(Kind::BlockDevice),
            it if it.is_char_device() => Some(Kind::CharacterDevice),
            it if it.is_dir() => Some(Kind::Directory),
            _ => Some(Kind::Other),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::BlockDevice => "a block device",
            Kind::CharacterDevice => "a character device",
            Kind::Directory => "a directory",
            Kind::Other => "neither a regular file nor a pipe",
        })
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unread::Kind(kind) => write!(f, "it is {kind}; give a regular file or a pipe"),
            Unread::TooLarge { limit } => {
                write!(
                    f,
                    "it is larger than the limit of {} MiB for such a file; give a smaller one",
                    limit >> 20
                )
            }
            Unread::NotText => f.write_str("it is no UTF-8 text"),
            Unread::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Unread {}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Unread {
        Unread::Io(error)
    }
}

/// Conversion for callers that only know I/O errors.
impl From<Unread> for io::Error {
    fn from(unread: Unread) -> io::Error {
        match unread {
            Unread::Io(error) => error,
            other => io::Error::new(io::ErrorKind::InvalidInput, other),
        }
    }
}

/// Content of a regular file or a pipe of at most `limit` bytes. Others are not even opened: opening some devices has side effects.
///
/// # Errors
/// The file is larger, of another kind, or can't be read.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>, Unread> {
    refuse(&path.metadata()?, limit)?;
    let file = File::open(path)?;
    // The path may meanwhile lead elsewhere.
    refuse(&file.metadata()?, limit)?;
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(Unread::TooLarge { limit }) } else { Ok(bytes) }
}

/// Content of a text, as [`read`].
///
/// # Errors
/// As [`read`], and bytes that are no UTF-8.
pub fn read_text(path: &Path, limit: u64) -> Result<String, Unread> {
    String::from_utf8(read(path, limit)?).map_err(|_| Unread::NotText)
}

fn refuse(metadata: &Metadata, limit: u64) -> Result<(), Unread> {
    match Kind::of(metadata) {
        Some(kind) => Err(Unread::Kind(kind)),
        None if metadata.len() > limit => Err(Unread::TooLarge { limit }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsRawFd;

    #[test]
    fn reads_a_file_up_to_the_limit() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"words").unwrap();
        assert_eq!(read_text(file.path(), 5).unwrap(), "words");
        assert!(matches!(read(file.path(), 4), Err(Unread::TooLarge { limit: 4 })));
        file.write_all(b"\xff").unwrap();
        assert!(matches!(read_text(file.path(), 9), Err(Unread::NotText)));
    }

    #[test]
    fn reads_a_pipe_up_to_the_limit() {
        for (limit, fits) in [(5, true), (4, false)] {
            let (reader, mut writer) = std::io::pipe().unwrap();
            writer.write_all(b"words").unwrap();
            drop(writer);
            let path = format!("/proc/self/fd/{}", reader.as_raw_fd());
            assert_eq!(read(Path::new(&path), limit).is_ok(), fits);
        }
    }

    #[test]
    fn refuses_endless_files() {
        assert!(matches!(read(Path::new("/dev/zero"), 1), Err(Unread::Kind(Kind::CharacterDevice))));
        assert_eq!(read(Path::new("/dev/null"), 0).unwrap(), b"");
        assert!(matches!(read(Path::new("/"), 1), Err(Unread::Kind(Kind::Directory))));
        assert!(matches!(read(Path::new("/nowhere"), 1), Err(Unread::Io(_))));
    }
}
