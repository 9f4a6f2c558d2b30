//! What is known of a target before anything is measured on it.

use crate::judgement_text::at_length;
use crate::lines::Lines;
use crate::text::COLUMNS;
use iosonar_analyze::{Detection, DetectorId};

/// A target, looked at without a run.
#[derive(Debug)]
pub struct Examination<'a> {
    /// What it is called.
    pub target: &'a str,
    /// What it lies on, from the top down, a line each.
    pub layers: &'a [String],
    /// What else is known: a word and a sentence each.
    pub facts: &'a [(&'a str, String)],
    /// What would spoil a result, or may influence it.
    pub found: &'a [Detection],
    /// What is known of the result of each claim: its name and a sentence.
    pub verdicts: &'a [(String, String)],
}

/// The target, what would spoil a measurement of it, and what could be claimed of its figures. `about` says of a detector why it
/// matters.
pub fn show_examination(examination: &Examination<'_>, about: &dyn Fn(DetectorId) -> &'static str) -> String {
    let mut out = Lines::new(COLUMNS);
    out.line(examination.target);
    examination.layers.iter().for_each(|layer| out.paragraph("  ", layer));
    if !examination.facts.is_empty() {
        out.line("");
    }
    examination.facts.iter().for_each(|(word, text)| out.paragraph(&format!("{word:<9}"), text));
    for one in examination.found {
        at_length(&mut out, one, about);
    }
    out.line("");
    for (claim, text) in examination.verdicts {
        out.paragraph(&format!("{:<24}", format!("as a {claim} result:")), text);
    }
    out.finish()
}
