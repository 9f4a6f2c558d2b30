//! The result of a conversion.

use super::written::Written;
use iosonar_trace::kernel::{At, Timing};
use std::path::PathBuf;

/// The result of a conversion.
#[derive(Debug, Clone)]
pub enum Answer {
    /// Requests of traces were written.
    Requests(Requests),
    /// A result became an archive, or IOzone's output a table.
    Imported(Imported),
    /// Records were written as text.
    Records {
        /// Entries of the input that cannot be read; of an archive, damaged parts of its log.
        damaged: u64,
    },
}

/// Requests of traces in their new form.
#[derive(Debug, Clone)]
pub struct Requests {
    /// The inputs, as typed.
    pub name: String,
    /// Statistics of all outputs. Without requests there is no output.
    pub written: Written,
    /// Entries of the inputs that cannot be read.
    pub damaged: u64,
    /// Remarks on requests that were skipped or are uncertain, as sentences.
    pub remarks: Vec<String>,
    /// For kernel events: which event counts as the request, and how completions are found.
    pub at: Option<(At, Timing)>,
    /// The output, if the question did not name it.
    pub made: Option<PathBuf>,
}

/// A result in its new form.
#[derive(Debug, Clone)]
pub struct Imported {
    /// The archive, or the table of cells.
    pub path: PathBuf,
    /// Lines of results that cannot be read.
    pub damaged: u64,
}

impl Answer {
    /// Entries of the inputs that cannot be read.
    pub fn damaged(&self) -> u64 {
        match self {
            Answer::Requests(requests) => requests.damaged,
            Answer::Imported(imported) => imported.damaged,
            Answer::Records { damaged } => *damaged,
        }
    }
}

impl Requests {
    /// For kernel events: which event counts as the request, in words.
    pub fn counted_as(&self) -> Option<String> {
        self.at.map(|(at, timing)| counted_as(at, timing))
    }
}

/// Which event counts as the request, and how completions are found, in words.
pub(super) fn counted_as(at: At, timing: Timing) -> String {
    let ends = match timing {
        Timing::None => "without ends",
        Timing::Exact => "ends by what completions cover",
        Timing::Guessed => "ends guessed as blkreplay's script does: for analysis, not for replays",
    };
    format!("a request is an event {} ({}), {ends}", at.letter(), at.word())
}
