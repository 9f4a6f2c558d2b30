//! Notes of users on parts of a run's time.

use crate::lines::{COLUMNS, Lines};
use crate::markdown::{escaped, sentence};
use crate::story::limited;
use iosonar_archive::Note;
use iosonar_text::units::{self, Charset};

/// Most notes of a story, and most lines of each.
const NOTES: usize = 3;
const LINES_OF_NOTE: usize = 2;

/// When it was: `18.80 s to 19.90 s`, `18.80 s`.
pub fn when(note: &Note, charset: Charset) -> String {
    let [from, to] = [note.from_ns, note.to_ns].map(|ns| units::moment(ns, charset));
    if from == to { from } else { format!("{from} to {to}") }
}

/// All notes with their numbers, from 1.
pub fn numbered(notes: &[Note]) -> String {
    let mut out = Lines::new(COLUMNS);
    for (i, note) in notes.iter().enumerate() {
        paragraph(&mut out, &format!(" {:>3}  ", i + 1), note);
    }
    out.finish()
}

fn paragraph(out: &mut Lines, first: &str, note: &Note) {
    out.paragraph(first, &words(note));
}

fn words(note: &Note) -> String {
    // Characters that move the cursor are escaped.
    format!("{}: {}", when(note, Charset::Ascii), iosonar_text::one_line(&note.text))
}

/// The first notes of a story, in at most `room` lines.
pub(crate) fn of_story(notes: &[Note], room: usize) -> Lines {
    let mut out = Lines::new(COLUMNS);
    // An empty line, and one for those that are not listed.
    let most = NOTES.min(room.saturating_sub(2) / LINES_OF_NOTE);
    if notes.is_empty() || most == 0 {
        return out;
    }
    out.line("");
    notes.iter().take(most).for_each(|note| limited(&mut out, "  note      ", &words(note), LINES_OF_NOTE));
    if notes.len() > most {
        out.line(&format!("            {} more, see show --all", notes.len() - most));
    }
    out
}

/// All notes of a summary.
pub(crate) fn of_summary(out: &mut Lines, notes: &[Note]) {
    if notes.is_empty() {
        return;
    }
    out.heading("Notes");
    notes.iter().for_each(|note| paragraph(out, "  ", note));
}

/// All notes as a list in Markdown.
pub(crate) fn markdown(notes: &[Note]) -> String {
    if notes.is_empty() {
        return String::new();
    }
    let item =
        |note: &Note| format!("- **{}** {}\n", escaped(&when(note, Charset::Unicode)), sentence(&note.text));
    format!("\n### Notes\n\n{}", notes.iter().map(item).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(from_ns: u64, to_ns: u64, text: &str) -> Note {
        Note { from_ns, to_ns, text: text.into() }
    }

    #[test]
    fn lists_have_numbers_times_and_escaped_texts() {
        let notes =
            [note(18_800_000_000, 19_900_000_000, "cache \u{1b}[2J full"), note(5_000_000, 5_000_000, "b")];
        assert_eq!(numbered(&notes), "   1  18.80 s to 19.90 s: cache \\u{1b}[2J full\n   2  5.00 ms: b\n");
    }

    #[test]
    fn stories_have_at_most_three_notes_in_their_room() {
        let notes: Vec<Note> = (0..5).map(|i| note(i, i + 1, &"word ".repeat(90))).collect();
        let text = of_story(&notes, 20).finish();
        assert_eq!(text.lines().count(), 8, "{text}");
        assert!(
            text.starts_with("\n  note      0 s to 1 ns: word") && text.ends_with("2 more, see show --all\n"),
            "{text}"
        );
        assert_eq!(of_story(&notes, 4).finish().lines().count(), 4);
        assert_eq!(of_story(&notes, 3).finish(), "");
        assert_eq!(of_story(&[], 20).finish(), "");
    }

    #[test]
    fn markdown_of_hostile_notes_is_text() {
        let text = markdown(&[note(0, 2_000_000_000, "<img onerror=x> **b** [a](c)")]);
        assert_eq!(text, "\n### Notes\n\n- **0 s to 2.00 s** \\<img onerror=x\\> \\*\\*b\\*\\* \\[a\\](c)\n");
    }
}
