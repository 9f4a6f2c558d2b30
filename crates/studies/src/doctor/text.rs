//! The answer as text.

use super::Answer;
use iosonar_plaintext::at_length;
use iosonar_plaintext::lines::{COLUMNS, Lines};
use iosonar_text::shown;
use std::fmt;

/// The target, what would spoil a measurement of it, and which claims its figures could support.
impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Lines::new(COLUMNS);
        out.line(&format!("{}: {}", shown(&self.target), self.what));
        self.layers.iter().for_each(|layer| out.paragraph("  ", layer));
        let remarks = self.remarks();
        if !remarks.is_empty() {
            out.line("");
        }
        remarks.iter().for_each(|(word, text)| out.paragraph(&format!("{word:<9}"), text));
        self.found.iter().for_each(|one| at_length(&mut out, one));
        out.line("");
        for (claim, text) in &self.verdicts {
            out.paragraph(&format!("{:<24}", format!("as a {claim} result:")), text);
        }
        f.write_str(&out.finish())
    }
}
