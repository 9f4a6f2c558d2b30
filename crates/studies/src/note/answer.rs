//! The notes of a result as they are now.

use iosonar_archive::Note;
use iosonar_plaintext::notes;
use iosonar_text::units::{self, Charset};
use std::fmt;

/// The notes of a result, by time. Its `Display` is a list with the numbers by which they are removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The notes.
    pub notes: Vec<Note>,
    /// End of the run, if known.
    pub end_ns: Option<u64>,
}

impl Answer {
    /// A sentence about notes after the end of the run; `None` without such notes.
    pub fn remark(&self) -> Option<String> {
        let end_ns = self.end_ns?;
        let outside = self.notes.iter().filter(|note| note.from_ns > end_ns).count();
        let end = units::moment(end_ns, Charset::Ascii);
        let are = if outside == 1 { "1 note is" } else { &format!("{outside} notes are") };
        (outside > 0).then(|| format!("{are} after the end of the run at {end}: correct the time of --at"))
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.notes.is_empty() {
            return writeln!(f, "no notes");
        }
        f.write_str(&notes::numbered(&self.notes))
    }
}
