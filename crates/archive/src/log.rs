//! The append-only log of the records during a run.
//!
//! A header, then frames: each a count, a length, a checksum and that many packed records. Each frame is one write(2),
//! so that after `kill -9` everything up to the last frame is there. A log that ends within a frame is truncated. Any
//! other frame with a wrong checksum is damaged: the reader counts its bytes and resumes at the next frame with a right
//! one.

use crate::frame::{FRAME_BYTES, FRAME_HEADER, Frame, FrameHead, Records};
use crate::{ArchiveError, Record};
use iosonar_text::shown;
use std::fmt;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const MAGIC: [u8; 8] = *b"iosonarL";
const LOG_VERSION: u32 = 2;
const HEADER: usize = 16;
/// Bytes per read.
const READ_AT_ONCE: u64 = 1 << 18;

/// Appends frames of records to the log of a running archive.
#[derive(Debug)]
pub struct LogWriter {
    file: File,
    /// Path for errors.
    path: PathBuf,
}

impl LogWriter {
    pub(crate) fn create(path: &Path) -> std::io::Result<LogWriter> {
        let mut file = iosonar_os::create::new_file(path)?;
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(&MAGIC);
        header[8..12].copy_from_slice(&LOG_VERSION.to_le_bytes());
        header[12..].copy_from_slice(&(FRAME_BYTES as u32).to_le_bytes());
        file.write_all(&header)?;
        Ok(LogWriter { file, path: path.to_path_buf() })
    }

    /// Returns the file, to be synced and renamed.
    pub(crate) fn into_file(self) -> File {
        self.file
    }

    /// Appends a frame unchanged; an empty one is ignored.
    ///
    /// # Errors
    /// Those of write(2), with the path in their text.
    pub fn append_frame(&mut self, frame: &mut Frame) -> std::io::Result<()> {
        if frame.is_empty() {
            return Ok(());
        }
        self.file.write_all(frame.seal()).map_err(|error| {
            let limit = iosonar_os::file_size_limit().filter(|_| error.kind() == ErrorKind::FileTooLarge);
            let limit = limit.map(|bytes| {
                format!("; the limit of file sizes of this process is {bytes} bytes (ulimit -f)")
            });
            let text = format!("{}: {error}{}", shown(&self.path), limit.unwrap_or_default());
            std::io::Error::new(error.kind(), text)
        })
    }

    /// Appends `records`, in as many frames as necessary.
    pub fn append(&mut self, records: &[Record]) -> std::io::Result<()> {
        let mut frame = Frame::default();
        for record in records {
            if !frame.push(record) {
                self.append_frame(&mut frame)?;
                frame.clear();
            }
        }
        self.append_frame(&mut frame)
    }
}

/// Result of reading a log, apart from the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogEnd {
    /// Records in whole frames.
    pub records: u64,
    /// Bytes after the last whole frame: a write interrupted by a kill.
    pub lost_bytes: u64,
    /// Damage that was skipped.
    pub damage: Damage,
}

/// Bytes of a log outside of frames with a right checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Damage {
    /// Number of damaged places.
    pub places: u64,
    /// Total number of bytes.
    pub bytes: u64,
    /// Offset of the first place.
    pub first: u64,
}

impl Damage {
    fn add(&mut self, at: u64, bytes: u64) {
        if self.places == 0 {
            self.first = at;
        }
        (self.places, self.bytes) = (self.places + 1, self.bytes + bytes);
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Damage { places, bytes, first } = self;
        let where_ = if *places == 1 {
            format!("at byte {first}")
        } else {
            format!("in {places} places, first at byte {first}")
        };
        write!(f, "{bytes} bytes of its log are damaged, {where_}: the records in them are missing")
    }
}

impl LogEnd {
    /// Remarks for the user, as sentences.
    pub fn remarks(&self) -> Vec<String> {
        let damaged = (self.damage.places > 0).then(|| self.damage.to_string());
        let cut_off = (self.lost_bytes > 0).then(|| {
            format!(
                "the run did not end; the last {} bytes of its log are cut off and were skipped",
                self.lost_bytes
            )
        });
        damaged.into_iter().chain(cut_off).collect()
    }
}

/// Calls `f` with every record of the log at `path`, frame by frame.
pub(crate) fn read_log(path: &Path, f: &mut dyn FnMut(&Record)) -> Result<LogEnd, ArchiveError> {
    let io = |error| ArchiveError::io(path, error);
    let file = File::open(path).map_err(io)?;
    let size = file.metadata().map_err(io)?.len();
    read_log_from(file, size, path, f)
}

/// The same for a log of `size` bytes from any input; `path` is used in errors.
///
/// # Errors
/// Not a log, or reading failed. A truncated or damaged log is not an error.
pub fn read_log_from(
    mut input: impl Read,
    size: u64,
    path: &Path,
    f: &mut dyn FnMut(&Record),
) -> Result<LogEnd, ArchiveError> {
    let io = |error| ArchiveError::io(path, error);
    // A run that was killed very early has no record yet.
    if size < HEADER as u64 {
        return Ok(LogEnd { lost_bytes: size, ..LogEnd::default() });
    }
    check_header(&mut input, path)?;
    let mut end = LogEnd::default();
    let mut frames = Frames { input, bytes: Vec::new(), at: 0, before: HEADER as u64, is_over: false };
    loop {
        match frames.next().map_err(io)? {
            LogItem::Frame(count, payload) => {
                deliver(payload, count, path, f)?;
                end.records += u64::from(count);
            }
            LogItem::Damage { at, bytes } => end.damage.add(at, bytes),
            LogItem::CutOff(bytes) => end.lost_bytes = bytes,
            LogItem::End => return Ok(end),
        }
    }
}

/// Next item of a log.
enum LogItem<'a> {
    /// Number of records, and their payload.
    Frame(u32, &'a [u8]),
    /// Bytes up to the next frame, or to EOF.
    Damage {
        at: u64,
        bytes: u64,
    },
    /// The last bytes are a truncated frame.
    CutOff(u64),
    End,
}

/// Finds the frames of a log.
struct Frames<R> {
    input: R,
    /// Bytes read; those before `at` are consumed.
    bytes: Vec<u8>,
    at: usize,
    /// Offset of `bytes` in the log.
    before: u64,
    is_over: bool,
}

impl<R: Read> Frames<R> {
    fn next(&mut self) -> std::io::Result<LogItem<'_>> {
        if !self.has(1)? {
            return Ok(LogItem::End);
        }
        if let Some(head) = self.frame()? {
            let begin = self.at + FRAME_HEADER;
            self.at = begin + head.length;
            return Ok(LogItem::Frame(head.count, &self.bytes[begin..self.at]));
        }
        self.pass_over()
    }

    /// Skips everything up to the next whole frame.
    fn pass_over(&mut self) -> std::io::Result<LogItem<'_>> {
        let begin = self.before + self.at as u64;
        let mut is_beginning =
            !self.has(FRAME_HEADER)? || self.head().is_some_and(|head| self.ends_within(&head));
        // After a power loss a file can have its length, but not its last bytes.
        let mut is_zero = true;
        loop {
            is_zero &= self.bytes[self.at] == 0;
            self.at += 1;
            if !self.has(1)? {
                break;
            }
            if self.frame()?.is_some() {
                (is_beginning, is_zero) = (false, false);
                break;
            }
        }
        let bytes = self.before + self.at as u64 - begin;
        let is_cut_off = is_beginning || is_zero;
        Ok(if is_cut_off { LogItem::CutOff(bytes) } else { LogItem::Damage { at: begin, bytes } })
    }

    /// The frame at the current position, if it is whole and its checksum is right.
    fn frame(&mut self) -> std::io::Result<Option<FrameHead>> {
        if !self.has(FRAME_HEADER)? {
            return Ok(None);
        }
        let Some(head) = self.head() else { return Ok(None) };
        let length = FRAME_HEADER + head.length;
        let is_whole = self.has(length)? && head.is_of(&self.bytes[self.at + FRAME_HEADER..self.at + length]);
        Ok(is_whole.then_some(head))
    }

    /// The possible header of a frame, from bytes already read.
    fn head(&self) -> Option<FrameHead> {
        FrameHead::of(self.bytes[self.at..].first_chunk()?)
    }

    /// Whether the log ends within this frame, whose payload was already read.
    fn ends_within(&self, head: &FrameHead) -> bool {
        self.bytes.len() - self.at < FRAME_HEADER + head.length
    }

    /// Whether `wanted` bytes remain; reads them.
    fn has(&mut self, wanted: usize) -> std::io::Result<bool> {
        if self.bytes.len() - self.at >= wanted {
            return Ok(true);
        }
        self.bytes.drain(..self.at);
        self.before += self.at as u64;
        self.at = 0;
        while self.bytes.len() < wanted && !self.is_over {
            let mut some = self.input.by_ref().take(READ_AT_ONCE);
            match some.read_to_end(&mut self.bytes) {
                Ok(read) => self.is_over = read == 0,
                Err(error) => return Err(error),
            }
        }
        Ok(self.bytes.len() >= wanted)
    }
}

/// Reads a growing log: each time the new records.
#[derive(Debug)]
pub struct LogFollower {
    input: BufReader<File>,
    path: PathBuf,
    /// Offset after the last whole frame.
    at: u64,
    payload: Vec<u8>,
}

impl LogFollower {
    pub(crate) fn open(path: &Path) -> Result<LogFollower, ArchiveError> {
        let file = File::open(path).map_err(|e| ArchiveError::io(path, e))?;
        let input = BufReader::with_capacity(1 << 16, file);
        Ok(LogFollower { input, path: path.to_path_buf(), at: 0, payload: Vec::new() })
    }

    /// Calls `f` with every record of the frames completed since; returns their number. If the log has been removed
    /// meanwhile, the rest of it is still read.
    ///
    /// # Errors
    /// Not a log, or reading failed.
    pub fn read_new(&mut self, f: &mut dyn FnMut(&Record)) -> Result<u64, ArchiveError> {
        let path = self.path.clone();
        let io = |error| ArchiveError::io(&path, error);
        let size = self.input.get_ref().metadata().map_err(io)?.len();
        if size < HEADER as u64 {
            return Ok(0);
        }
        self.input.seek(SeekFrom::Start(self.at)).map_err(io)?;
        if self.at == 0 {
            check_header(&mut self.input, &path)?;
            self.at = HEADER as u64;
        }
        let mut records = 0;
        while let Some(count) = read_frame(&mut self.input, &mut self.payload).map_err(io)? {
            deliver(&self.payload, count, &path, f)?;
            records += u64::from(count);
            self.at += (FRAME_HEADER + self.payload.len()) as u64;
        }
        Ok(records)
    }
}

/// Calls `f` with the records of a frame.
fn deliver(payload: &[u8], count: u32, path: &Path, f: &mut dyn FnMut(&Record)) -> Result<(), ArchiveError> {
    let mut records = Records::new(payload);
    for _ in 0..count {
        let record = records.next().map_err(|why| ArchiveError::damaged(path, why))?;
        f(&record.ok_or_else(|| ArchiveError::damaged(path, "a frame with fewer records than it says"))?);
    }
    Ok(())
}

fn check_header(input: &mut impl Read, path: &Path) -> Result<(), ArchiveError> {
    let mut header = [0; HEADER];
    input.read_exact(&mut header).map_err(|e| ArchiveError::io(path, e))?;
    let word = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"));
    if header[..8] != MAGIC {
        return Err(ArchiveError::damaged(path, "it is no record log"));
    }
    if word(8) != LOG_VERSION || word(12) != FRAME_BYTES as u32 {
        return Err(ArchiveError::damaged(path, "another version of the program wrote it"));
    }
    Ok(())
}

/// Reads the payload of the next frame; returns its number of records, `None` at EOF, at a truncated frame, or if the
/// checksum is wrong.
fn read_frame(input: &mut impl Read, payload: &mut Vec<u8>) -> std::io::Result<Option<u32>> {
    let mut header = [0; FRAME_HEADER];
    if !read_whole(input, &mut header)? {
        return Ok(None);
    }
    let Some(head) = FrameHead::of(&header) else { return Ok(None) };
    payload.resize(head.length, 0);
    let whole = read_whole(input, payload)? && head.is_of(payload);
    Ok(whole.then_some(head.count))
}

fn read_whole(input: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<bool> {
    match input.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(e) => Err(e),
    }
}
