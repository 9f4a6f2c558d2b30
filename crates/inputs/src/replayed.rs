//! Paths that are to be replayed: loads, and no recordings or results.

use crate::{OpenArchiveError, OpenError, open_archive};
use iosonar_archive::ArchiveError;
use iosonar_text::{shell, shown};
use std::path::Path;

/// Refuses a directory as a load: recordings and results have to be converted to a load first.
///
/// # Errors
/// It is a directory; the error names the command that makes its load.
pub fn check_is_load(load: &Path) -> Result<(), OpenError> {
    if !load.is_dir() {
        return Ok(());
    }
    let refused = format!("load {}", shown(load));
    let archive = match open_archive(load) {
        Ok(archive) => archive,
        Err(OpenArchiveError::Archive(ArchiveError::NoArchive(_))) => {
            let why = "it is a directory, and no recording or result: name a load";
            return Err(OpenError::content(refused, why));
        }
        Err(other) => return Err(OpenError::content(refused, other)),
    };
    let what = if archive.run().recorded.is_some() { "a recording" } else { "a result" };
    let made = load.file_name().map_or("recorded".into(), |name| name.to_string_lossy()) + ".load.gz";
    let why = format!(
        "it is {what}; make its load with 'iosonar convert {} {}', and replay that",
        shown(&shell::quoted(&load.to_string_lossy())),
        shown(&shell::quoted(&made))
    );
    Err(OpenError::content(refused, why))
}
