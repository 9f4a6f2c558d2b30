//! The notes of a result, and their change.

use std::path::PathBuf;

/// The notes of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Directory of the result.
    pub result: PathBuf,
    /// Change of the notes; `None` lists them.
    pub change: Option<Change>,
}

/// A change of the notes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Adds a note.
    Add {
        /// Start, on the run's clock.
        from_ns: u64,
        /// End; equal to the start for a moment.
        to_ns: u64,
        /// Text.
        text: String,
    },
    /// Removes the note of this number, from 1.
    Remove(usize),
}
