//! Inputs that are read more than once. Data from a pipe is stored in an unnamed file, so that nothing of it stays, however
//! the program ends.

use crate::OpenError;
use iosonar_os::bounded::Kind;
use iosonar_os::{free_space, temporary};
use iosonar_plan::ByteSize;
use iosonar_text::shown;
use std::fs::{File, Metadata};
use std::io::{self, BufRead, IsTerminal, Read, Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes copied at once.
const TOGETHER: usize = 1 << 20;

/// An input that can be read from its start as often as needed.
#[derive(Debug, Clone)]
pub struct Source {
    path: PathBuf,
    /// The stored file of an input without a reusable path, and its start offset.
    kept: Option<(Arc<File>, u64)>,
}

impl Source {
    /// Opens the input at `path`; `-` is standard input. A pipe is read to its end and stored, up to `limit` or half of the
    /// free space of the directory for temporary files.
    pub fn open(path: &Path, limit: Option<ByteSize>) -> Result<Source, OpenError> {
        let is_stdin = path.as_os_str() == "-";
        let opened =
            if is_stdin { io::stdin().as_fd().try_clone_to_owned().map(File::from) } else { open(path) };
        let cannot = || OpenError::io(shown(&path));
        let mut file = opened.map_err(cannot())?;
        let metadata = file.metadata().map_err(cannot())?;
        refuse_endless(path, &file, &metadata)?;
        let kept = if !metadata.is_file() {
            Some((Arc::new(keep(&mut file, path, limit)?), 0))
        } else if is_stdin {
            let begin = file.stream_position().map_err(cannot())?;
            Some((Arc::new(file), begin))
        } else {
            None
        };
        Ok(Source { path: path.to_path_buf(), kept })
    }

    /// Its text from the start, decompressed.
    pub fn text(&self) -> Result<Box<dyn BufRead + Send>, OpenError> {
        let Some((file, begin)) = &self.kept else { return super::text(&self.path) };
        let bytes = FromStart { file: file.clone(), at: *begin };
        crate::decompress(&self.path, bytes)
    }

    /// As typed.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Endless inputs are not even opened: opening some devices has side effects.
fn open(path: &Path) -> io::Result<File> {
    match Kind::of(&path.metadata()?) {
        Some(kind @ (Kind::BlockDevice | Kind::Directory)) => Err(no_input(kind)),
        _ => File::open(path),
    }
}

fn no_input(kind: Kind) -> io::Error {
    let why = format!("it is {kind}, and no input; give a regular file or a pipe");
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

fn refuse_endless(path: &Path, file: &File, metadata: &Metadata) -> Result<(), OpenError> {
    match Kind::of(metadata) {
        None | Some(Kind::Other) => Ok(()),
        Some(Kind::CharacterDevice) if file.is_terminal() => Ok(()),
        Some(kind) => Err(OpenError::io(shown(&path))(no_input(kind))),
    }
}

/// Copies a stream to an unnamed file.
fn keep(stream: &mut File, path: &Path, limit: Option<ByteSize>) -> Result<File, OpenError> {
    let directory = std::env::temp_dir();
    let cannot =
        |error| OpenError::io(format!("{}: cannot keep it", shown(&path)))(temporary::explained(error));
    let mut kept = temporary::file().map_err(cannot)?;
    let most = match limit {
        Some(limit) => limit.0,
        None => free_space(&kept).map_err(cannot)? / 2,
    };
    let (mut bytes, mut total) = (vec![0; TOGETHER], 0u64);
    loop {
        let read = match stream.read(&mut bytes) {
            Ok(0) => return Ok(kept),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(OpenError::io(shown(&path))(error)),
        };
        total += read as u64;
        if total > most {
            return Err(OpenError::TooLong {
                path: path.to_path_buf(),
                directory,
                most,
                is_typed: limit.is_some(),
            });
        }
        kept.write_all(&bytes[..read]).map_err(cannot)?;
    }
}

/// Reads a shared file.
struct FromStart {
    file: Arc<File>,
    at: u64,
}

impl Read for FromStart {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(bytes, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    fn piped(limit: Option<u64>) -> Result<Source, OpenError> {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(b"words").unwrap();
        drop(writer);
        Source::open(Path::new(&format!("/proc/self/fd/{}", reader.as_raw_fd())), limit.map(ByteSize))
    }

    #[test]
    fn pipe_input_can_be_read_repeatedly() {
        for limit in [None, Some(5)] {
            let source = piped(limit).unwrap();
            for _ in 0..2 {
                let mut text = String::new();
                source.text().unwrap().read_to_string(&mut text).unwrap();
                assert_eq!(text, "words");
            }
        }
    }

    #[test]
    fn rejects_too_long_pipe_with_remedies() {
        let text = piped(Some(4)).unwrap_err().to_string();
        for part in ["--spool-limit 4", "raise --spool-limit", "TMPDIR", "store the input in a file"] {
            assert!(text.contains(part), "{text} lacks {part}");
        }
    }

    #[test]
    fn rejects_endless_inputs() {
        let text = Source::open(Path::new("/dev/zero"), None).unwrap_err().to_string();
        assert!(text.contains("/dev/zero: it is a character device"), "{text}");
        assert!(Source::open(Path::new("/dev/null"), None).is_ok());
    }
}
