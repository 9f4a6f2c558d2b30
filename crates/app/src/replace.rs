//! Files that take the place of others only when they are whole.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Bytes that are written at once.
const PIECE: usize = 1 << 16;

/// A file that is being written. Until it is published, what was there before stays.
pub struct Replacement {
    file: BufWriter<File>,
    path: PathBuf,
    /// Where it is until then: always the same name, so that what a killed program left is used again. Absent for a pipe
    /// or a device, which is written directly.
    partial: Option<PathBuf>,
}

impl Replacement {
    pub fn begin(path: &Path) -> io::Result<Replacement> {
        let partial = if is_special(path) { None } else { Some(partial(path)?) };
        let file = File::create(partial.as_deref().unwrap_or(path))?;
        Ok(Replacement { file: BufWriter::with_capacity(PIECE, file), path: path.to_path_buf(), partial })
    }

    /// Bytes that were written; none are counted where nothing can be taken back.
    pub fn size(&mut self) -> io::Result<u64> {
        self.file.flush()?;
        if self.partial.is_none() {
            return Ok(0);
        }
        Ok(self.file.get_ref().metadata()?.len())
    }

    /// Takes its place.
    pub fn publish(mut self) -> io::Result<()> {
        self.file.flush()?;
        match self.partial.take() {
            Some(partial) => {
                fs::rename(&partial, &self.path).inspect_err(|_| drop(fs::remove_file(&partial)))
            }
            None => Ok(()),
        }
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if let Some(partial) = &self.partial {
            // Nobody can be told any more.
            let _ = fs::remove_file(partial);
        }
    }
}

/// Whether this is a pipe, a device or the like, which cannot be replaced.
pub fn is_special(path: &Path) -> bool {
    path.metadata().is_ok_and(|facts| !facts.is_file())
}

fn partial(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::IsADirectory))?;
    let mut partial = std::ffi::OsString::from(".");
    partial.push(name);
    partial.push(".partial");
    Ok(path.with_file_name(partial))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_stays_until_the_new_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("page");
        fs::write(&path, "old").unwrap();
        let mut given_up = Replacement::begin(&path).unwrap();
        given_up.write_all(b"half").unwrap();
        assert_eq!(given_up.size().unwrap(), 4);
        drop(given_up);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        let mut whole = Replacement::begin(&path).unwrap();
        whole.write_all(b"new").unwrap();
        whole.publish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
