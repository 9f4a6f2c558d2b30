//! Notes of users on parts of the run's time. The viewer marks them on the time axis, with those of the link.

use super::markup::suffix;
use super::meta::PageNote;
use super::run::ReportRun;
use crate::escape;
use iosonar_analyze::During;
use iosonar_archive::Note;
use iosonar_plaintext::{hash, notes};
use iosonar_text::units::Charset;
use std::fmt::Write as _;

/// Least time that the link of a note shows in the middle.
const LEAST_NS: u64 = 10_000_000;

fn of<'a>(run: &ReportRun<'a>) -> &'a [Note] {
    run.material.run.as_ref().map_or(&[], |run| &run.summary.notes)
}

/// The notes for the viewer.
pub(super) fn page_notes(run: &ReportRun<'_>) -> Vec<PageNote> {
    let note = |note: &Note| PageNote { from_ns: note.from_ns, to_ns: note.to_ns, text: note.text.clone() };
    of(run).iter().map(note).collect()
}

/// Writes the notes as a list; nothing without notes.
pub(super) fn write(out: &mut String, name: &str, run: &ReportRun<'_>) {
    section(out, name, of(run));
}

fn section(out: &mut String, name: &str, notes: &[Note]) {
    if notes.is_empty() {
        return;
    }
    _ = writeln!(
        out,
        "<section class=\"notes\" id=\"notes{}\" aria-label=\"{name}Notes\">\n<h2>{name}Notes</h2>\n<ol>",
        suffix(name)
    );
    notes.iter().for_each(|note| item(out, note));
    out.push_str("</ol>\n</section>\n");
}

fn item(out: &mut String, note: &Note) {
    // A link has whole milliseconds, and shows as much on either side: a moment needs some time to be seen.
    let wider = LEAST_NS.saturating_sub(note.to_ns - note.from_ns).div_ceil(2);
    let during = During { from_ns: note.from_ns.saturating_sub(wider), to_ns: note.to_ns + wider };
    let when = notes::when(note, Charset::Unicode);
    _ = writeln!(out, "<li><a href=\"#{}\">{when}</a> {}</li>", hash(during), escape(&note.text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_link_to_their_time_and_stay_text() {
        let note = Note {
            from_ns: 2_000_000_000,
            to_ns: 3_000_000_000,
            text: "</li><script>alert(1)</script> & \u{202e}\"'".into(),
        };
        let mut out = String::new();
        section(&mut out, "B: ", &[note]);
        assert!(out.contains("<section class=\"notes\" id=\"notes-b\" aria-label=\"B: Notes\">"), "{out}");
        assert!(
            out.contains(
                "<li><a href=\"#t=1-4\">2.00 s to 3.00 s</a> &lt;/li&gt;&lt;script&gt;alert(1)&lt;/script&gt; &amp; \\u{202e}&quot;&#39;</li>"
            ),
            "{out}"
        );
        let mut out = String::new();
        section(&mut out, "", &[]);
        assert_eq!(out, "");
    }

    #[test]
    fn link_of_a_moment_shows_some_time_around_it() {
        let mut out = String::new();
        item(&mut out, &Note { from_ns: 2_000_000_000, to_ns: 2_000_000_000, text: "a".into() });
        assert_eq!(out, "<li><a href=\"#t=1.985-2.015\">2.00 s</a> a</li>\n");
    }
}
