//! Notes of users on parts of a run's time: one line of JSON each in `notes.jsonl`, beside the records, which they never change.

use serde::{Deserialize, Serialize};

/// Notes of users.
pub const NOTES: &str = "notes.jsonl";
/// Maximum number of notes of a result.
pub const MOST_NOTES: usize = 100;
/// Maximum number of characters of a note.
pub const LONGEST_NOTE: usize = 500;
/// Times above it are inexact in the report page.
const LAST_NS: u64 = 1 << 53;

/// A note on a part of a run's time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Start, on the run's clock.
    pub from_ns: u64,
    /// End; equal to the start for a moment.
    pub to_ns: u64,
    /// Text of the user, without line ends.
    pub text: String,
}

impl Note {
    /// A note; blanks and line ends of the text become single blanks.
    ///
    /// # Errors
    /// The text is empty or too long, or the time is invalid. The error says why.
    pub fn new(from_ns: u64, to_ns: u64, text: &str) -> Result<Note, String> {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let note = Note { from_ns, to_ns, text };
        note.check().map(|()| note)
    }

    fn check(&self) -> Result<(), String> {
        let length = self.text.chars().count();
        if length == 0 {
            return Err("the text of the note is empty: write what happened then".into());
        }
        if length > LONGEST_NOTE {
            return Err(format!("the note has {length} characters, the limit is {LONGEST_NOTE}: shorten it"));
        }
        if self.from_ns > self.to_ns || self.to_ns > LAST_NS {
            return Err("the note ends before it starts, or after 104 days: correct its time".into());
        }
        Ok(())
    }
}

/// Notes as lines.
pub(crate) fn to_lines(notes: &[Note]) -> String {
    notes.iter().map(|note| serde_json::to_string(note).expect("plain data becomes JSON") + "\n").collect()
}

/// Reads lines; the error names the first invalid one.
pub(crate) fn of_lines(text: &str) -> Result<Vec<Note>, String> {
    let of_line = |(i, line): (usize, &str)| {
        let note: Result<Note, String> = serde_json::from_str(line).map_err(|error| error.to_string());
        let note = note.and_then(|note| note.check().map(|()| note));
        note.map_err(|why| format!("line {}: {why}", i + 1))
    };
    let notes: Vec<Note> = text.lines().enumerate().map(of_line).collect::<Result<_, _>>()?;
    match notes.len() {
        0..=MOST_NOTES => Ok(notes),
        many => Err(format!("{many} notes, the limit is {MOST_NOTES}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_one_line_of_limited_length() {
        assert_eq!(Note::new(1, 2, "  cache\n\tfull ").unwrap().text, "cache full");
        assert!(Note::new(1, 2, " \n").unwrap_err().contains("empty"));
        let long = "ä".repeat(LONGEST_NOTE);
        assert_eq!(Note::new(1, 1, &long).unwrap().text, long);
        assert!(Note::new(1, 1, &(long + "ä")).unwrap_err().contains("501 characters, the limit is 500"));
        assert!(Note::new(2, 1, "a").is_err() && Note::new(0, u64::MAX, "a").is_err());
    }

    #[test]
    fn lines_round_trip_and_invalid_ones_are_named() {
        let notes = vec![Note::new(1, 2, "a \u{1b}[2J \"<b>").unwrap(), Note::new(3, 3, "b").unwrap()];
        let lines = to_lines(&notes);
        assert_eq!((lines.lines().count(), of_lines(&lines).unwrap()), (2, notes));
        assert!(of_lines("{\"from_ns\":1}\n").unwrap_err().starts_with("line 1: "));
        let reversed = "{\"from_ns\":2,\"to_ns\":1,\"text\":\"a\"}\n";
        assert!(of_lines(&format!("{lines}{reversed}")).unwrap_err().starts_with("line 3: the note ends"));
        let many = to_lines(&vec![Note::new(0, 0, "a").unwrap(); MOST_NOTES + 1]);
        assert_eq!(of_lines(&many).unwrap_err(), "101 notes, the limit is 100");
    }
}
