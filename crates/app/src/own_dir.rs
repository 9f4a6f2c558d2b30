//! Directories for what a command needs only while it runs.

use crate::exit::Failure;
use anyhow::Context;
use iosonar_os::made::{Made, OwnDir, everything};
use iosonar_text::shown;
use std::path::Path;

/// A private directory in `TMPDIR`.
pub fn temporary(kind: &'static str) -> Result<OwnDir, Failure> {
    let parent = std::env::temp_dir();
    OwnDir::new_in(&parent, kind).with_context(|| no_directory(&parent)).map_err(Failure::refused)
}

/// What is wrong where no directory can be made in `parent`, which is that of temporary files, and what to do.
pub fn no_directory(parent: &Path) -> String {
    format!("no directory can be made in {} (TMPDIR): set TMPDIR to a directory with room", shown(&parent))
}

/// Removes a directory of our own with everything in it where a signal ends the program.
pub fn remover(dir: &OwnDir) -> impl Fn() + Send + use<> {
    let made: Made = dir.made().clone();
    // Nobody can be told any more; the next start tries again.
    move || drop(made.remove_tree(&everything))
}
