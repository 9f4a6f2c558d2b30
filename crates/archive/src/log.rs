//! The append-only log that holds the records while a run goes on.
//!
//! A header, then frames: each a count, a length, a checksum and that many packed records. Each frame is handed to the
//! kernel by one call, so that after `kill -9` everything up to the last frame is there; the reader stops at the first
//! frame that is cut off or does not match its checksum, and says how much it left.

use crate::frame::{FRAME_BYTES, FRAME_HEADER, Frame, Records};
use crate::{ArchiveError, Record};
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const MAGIC: [u8; 8] = *b"iosonarL";
const LOG_VERSION: u32 = 2;
const HEADER: usize = 16;

/// Appends frames of records to the log of a running archive.
#[derive(Debug)]
pub struct LogWriter {
    file: File,
}

impl LogWriter {
    pub(crate) fn create(path: &Path) -> std::io::Result<LogWriter> {
        let mut file = iosonar_os::create::new_file(path)?;
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(&MAGIC);
        header[8..12].copy_from_slice(&LOG_VERSION.to_le_bytes());
        header[12..].copy_from_slice(&(FRAME_BYTES as u32).to_le_bytes());
        file.write_all(&header)?;
        Ok(LogWriter { file })
    }

    /// Appends a frame as it is; an empty one leaves no trace.
    pub fn append_frame(&mut self, frame: &mut Frame) -> std::io::Result<()> {
        if frame.is_empty() { Ok(()) } else { self.file.write_all(frame.seal()) }
    }

    /// Appends `records`, in as many frames as they need.
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

/// What a reader of a log found beside the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogEnd {
    /// Records in whole frames.
    pub records: u64,
    /// Bytes behind the last whole frame: what was being written when the run was killed.
    pub lost_bytes: u64,
}

/// Calls `f` with every record of the log at `path`, frame by frame.
pub(crate) fn read_log(path: &Path, f: &mut dyn FnMut(&Record)) -> Result<LogEnd, ArchiveError> {
    let io = |error| ArchiveError::io(path, error);
    let file = File::open(path).map_err(io)?;
    let size = file.metadata().map_err(io)?.len();
    read_log_from(BufReader::with_capacity(1 << 16, file), size, path, f)
}

/// The same for a log of `size` bytes that lies anywhere; `path` is what an error names.
///
/// # Errors
/// What is no log, or cannot be read. A log that is cut off is none.
pub fn read_log_from(
    mut input: impl Read,
    size: u64,
    path: &Path,
    f: &mut dyn FnMut(&Record),
) -> Result<LogEnd, ArchiveError> {
    let io = |error| ArchiveError::io(path, error);
    // A run that was killed at its very beginning has no record yet.
    if size < HEADER as u64 {
        return Ok(LogEnd { records: 0, lost_bytes: size });
    }
    check_header(&mut input, path)?;
    let mut end = LogEnd::default();
    let mut good_bytes = HEADER as u64;
    let mut payload = Vec::new();
    while let Some(count) = read_frame(&mut input, &mut payload).map_err(io)? {
        hand_over(&payload, count, path, f)?;
        end.records += u64::from(count);
        good_bytes += (FRAME_HEADER + payload.len()) as u64;
    }
    end.lost_bytes = size.saturating_sub(good_bytes);
    Ok(end)
}

/// Reads a log that still grows: each time what has come since.
#[derive(Debug)]
pub struct LogFollower {
    input: BufReader<File>,
    path: PathBuf,
    /// Behind the last whole frame.
    at: u64,
    payload: Vec<u8>,
}

impl LogFollower {
    pub(crate) fn open(path: &Path) -> Result<LogFollower, ArchiveError> {
        let file = File::open(path).map_err(|e| ArchiveError::io(path, e))?;
        let input = BufReader::with_capacity(1 << 16, file);
        Ok(LogFollower { input, path: path.to_path_buf(), at: 0, payload: Vec::new() })
    }

    /// Calls `f` with every record of the frames that have become whole; says how many records those were. The log may
    /// have been removed meanwhile: what was in it is read all the same.
    ///
    /// # Errors
    /// What is no log, or cannot be read.
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
            hand_over(&self.payload, count, &path, f)?;
            records += u64::from(count);
            self.at += (FRAME_HEADER + self.payload.len()) as u64;
        }
        Ok(records)
    }
}

/// Calls `f` with the records of a frame.
fn hand_over(
    payload: &[u8],
    count: u32,
    path: &Path,
    f: &mut dyn FnMut(&Record),
) -> Result<(), ArchiveError> {
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

/// The payload of the next frame, and how many records it holds; `None` at the end, at a cut-off frame, or where the
/// checksum fails.
fn read_frame(input: &mut impl Read, payload: &mut Vec<u8>) -> std::io::Result<Option<u32>> {
    let mut header = [0; FRAME_HEADER];
    if !read_whole(input, &mut header)? {
        return Ok(None);
    }
    let word = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"));
    let (count, length, checksum) = (word(0), word(4) as usize, word(8));
    if count == 0 || length > FRAME_BYTES {
        return Ok(None);
    }
    payload.resize(length, 0);
    let whole = read_whole(input, payload)? && crc32fast::hash(payload) == checksum;
    Ok(whole.then_some(count))
}

fn read_whole(input: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<bool> {
    match input.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(e) => Err(e),
    }
}
