//! Temporary files and directories, in the directory that `TMPDIR` names. An error includes the directory and the remedy.

use crate::made::OwnDir;
use iosonar_text::shown;
use std::fmt::{Display, Formatter};
use std::fs::File;
use std::io::{Error, Result};
use std::path::{Path, PathBuf};

/// Why a temporary file cannot be created or written. It is the inner error of an [`Error`] of the same kind.
#[derive(Debug)]
pub struct TemporaryError {
    directory: PathBuf,
    is_of_tmpdir: bool,
    why: String,
}

impl Display for TemporaryError {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let TemporaryError { directory, is_of_tmpdir, why } = self;
        let directory = shown(directory);
        let whose = if *is_of_tmpdir { "the value of TMPDIR" } else { "as TMPDIR is not set" };
        write!(
            f,
            "temporary file in {directory} ({whose}): {why}; set TMPDIR to a directory that exists and has room"
        )
    }
}

impl std::error::Error for TemporaryError {}

/// A file without a name.
///
/// # Errors
/// A [`TemporaryError`] where the file cannot be created.
pub fn file() -> Result<File> {
    file_in(&std::env::temp_dir())
}

/// The same in another directory for temporary files.
///
/// # Errors
/// A [`TemporaryError`] where the file cannot be created.
pub fn file_in(directory: &Path) -> Result<File> {
    tempfile::tempfile_in(directory).map_err(|error| in_directory(error, directory.to_path_buf()))
}

/// A new private directory of a kind, which goes when the value is dropped.
///
/// # Errors
/// A [`TemporaryError`] where the directory cannot be created.
pub fn directory(kind: &'static str) -> Result<OwnDir> {
    let parent = std::env::temp_dir();
    OwnDir::new_in(&parent, kind).map_err(|error| in_directory(error, parent))
}

/// An error of a temporary file, with its directory and the remedy.
pub fn explained(error: Error) -> Error {
    if is_explained(&error) { error } else { in_directory(error, std::env::temp_dir()) }
}

/// Whether an error is a [`TemporaryError`].
pub fn is_explained(error: &Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<TemporaryError>())
}

fn in_directory(error: Error, directory: PathBuf) -> Error {
    let is_of_tmpdir = std::env::var_os("TMPDIR").is_some_and(|value| !value.is_empty());
    let text = error.to_string();
    // Without the name of the file that could not be created, which was never typed.
    let why = text.split_once(" at path ").map_or(text.as_str(), |(why, _)| why).to_string();
    Error::new(error.kind(), TemporaryError { directory, is_of_tmpdir, why })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_directory_and_the_remedy() {
        let error = || Error::from_raw_os_error(2);
        let named = explained(in_directory(error(), "/nope".into()));
        let text = named.to_string();
        assert!(is_explained(&named) && !is_explained(&error()));
        assert_eq!(named.kind(), std::io::ErrorKind::NotFound);
        for needle in ["/nope", "TMPDIR", "No such file", "; set TMPDIR to"] {
            assert!(text.contains(needle), "{text}");
        }
    }

    #[test]
    fn directory_is_removed_on_drop() {
        let made = directory("test").unwrap();
        let path = made.path().to_path_buf();
        assert!(path.is_dir() && path.to_string_lossy().contains(".iosonar-test-"));
        drop(made);
        assert!(!path.exists());
        file().unwrap();
    }
}
