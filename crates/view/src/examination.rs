//! Facts about a target before anything is measured on it.

use crate::judgement_text::at_length;
use crate::lines::Lines;
use crate::summary_text::COLUMNS;
use iosonar_analyze::{Detection, DetectorId};

/// A target, examined without a run.
#[derive(Debug)]
pub struct Examination<'a> {
    /// Its name.
    pub target: &'a str,
    /// Its layers, from the top down, a line each.
    pub layers: &'a [String],
    /// Other facts: a word and a sentence each.
    pub facts: &'a [(&'a str, String)],
    /// Detections that would spoil a result, or may influence it.
    pub found: &'a [Detection],
    /// Prospects of a result for each claim: its name and a sentence.
    pub verdicts: &'a [(String, String)],
}

/// Shows the target, what would spoil a measurement of it, and which claims its figures could support. `about` explains why a
/// detector matters.
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
