//! The examined target, or a sample of the file system of a directory.

use iosonar_evidence::{TargetFacts, TargetKind};
use iosonar_os::made::OwnDir;
use iosonar_runner::Error;
use iosonar_text::{shown, units};
use std::cell::RefCell;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Bytes of the sample file of a directory.
const SAMPLE_BYTES: usize = 1 << 16;

/// The examined target, or a sample file created in a directory to examine its file system.
pub(super) enum ExaminedPlace {
    Target(PathBuf),
    Directory(Sample),
}

/// A file in a new directory, removed on drop.
pub(super) struct Sample {
    path: PathBuf,
    dir: RefCell<Option<OwnDir>>,
}

impl Sample {
    fn create(directory: &Path) -> std::io::Result<Sample> {
        let dir = OwnDir::new_in(directory, "doctor")?;
        dir.remove_leftovers();
        let path = dir.path().join("sample");
        let mut file = iosonar_os::create::new_file(&path)?;
        let sample = Sample { path, dir: RefCell::new(Some(dir)) };
        // Without data it would be reported as a hole.
        file.write_all(&[1; SAMPLE_BYTES])?;
        file.sync_all()?;
        Ok(sample)
    }

    fn remove(&self) {
        self.dir.take();
    }
}

impl ExaminedPlace {
    pub(super) fn of(path: &Path) -> Result<ExaminedPlace, Error> {
        if !path.is_dir() {
            return Ok(ExaminedPlace::Target(path.into()));
        }
        let no_file = |error: std::io::Error| {
            let what = format!(
                "no file can be made in {}: name a file in it, or run as a user who may",
                shown(&path)
            );
            Error::refused(error).context(what)
        };
        Sample::create(path).map(ExaminedPlace::Directory).map_err(no_file)
    }

    /// Removes the sample file when it is no longer needed.
    pub(super) fn remove_sample(&self) {
        if let ExaminedPlace::Directory(sample) = self {
            sample.remove();
        }
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            ExaminedPlace::Target(path) => path,
            ExaminedPlace::Directory(sample) => &sample.path,
        }
    }

    pub(super) fn is_file(&self) -> bool {
        matches!(self, ExaminedPlace::Target(_))
    }

    pub(super) fn what(&self, facts: &TargetFacts) -> String {
        let size = units::bytes(facts.size);
        match (self, &facts.kind) {
            (ExaminedPlace::Directory(_), _) => "a directory".into(),
            (_, TargetKind::BlockDevice(_)) => format!("a block device of {size}"),
            (_, TargetKind::RegularFile(_)) => format!("a file of {size}"),
            (_, TargetKind::MemoryDevice(_)) => "a character device that keeps nothing".into(),
        }
    }
}
