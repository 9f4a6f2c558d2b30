//! The result of a conversion.

use super::written::Written;
use iosonar_trace::kernel::{At, Timing};

/// The result of a conversion.
#[derive(Debug, Clone)]
pub struct Answer {
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
}

impl Answer {
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
