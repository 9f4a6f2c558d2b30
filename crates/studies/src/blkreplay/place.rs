//! The directory of a run's archive: one that the user named, or one that is kept only until the result is written.

use iosonar_os::made::OwnDir;
use iosonar_os::temporary;
use iosonar_runner::Error;
use std::cell::OnceCell;
use std::path::PathBuf;

/// Directory of the archive of a run.
pub struct ResultPlace {
    kept: Option<PathBuf>,
    /// Removed when dropped.
    scratch: OnceCell<OwnDir>,
}

impl ResultPlace {
    /// The directory named with `--out`, otherwise a scratch directory.
    pub fn new(out: Option<&str>) -> ResultPlace {
        ResultPlace { kept: out.map(PathBuf::from), scratch: OnceCell::new() }
    }

    /// Whether the archive is kept in any case.
    pub fn is_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// Creates the scratch directory, once everything else was found right: until then a signal ends the program at once. Returns the
    /// directory of the archive, if it is a scratch directory.
    ///
    /// # Errors
    /// There is no place for temporary files.
    pub fn make(&self) -> Result<Option<PathBuf>, Error> {
        if self.is_kept() {
            return Ok(None);
        }
        // The directory of a killed run is not removed: its records can be read.
        let made = temporary::directory("blkreplay").map_err(|error| {
            Error::refused_because(format_args!(
                "no place for the records of the run: {error}, or give --out=DIR"
            ))
        })?;
        let (dir, _) = (made.path().join("run"), self.scratch.set(made));
        Ok(Some(dir))
    }

    /// The directory of the archive; empty before a scratch directory is created.
    pub fn dir(&self) -> PathBuf {
        let scratch = || self.scratch.get().map(|dir| dir.path().join("run"));
        self.kept.clone().or_else(scratch).unwrap_or_default()
    }

    /// Keeps the archive; returns its directory.
    pub fn keep(self) -> PathBuf {
        let dir = self.dir();
        // Even if its mark cannot be removed, the directory is kept.
        let _ = self.scratch.into_inner().map(OwnDir::keep);
        dir
    }
}
