//! Text for people: names that others chose, escaped; numbers with units; words for a shell; the one writer of comma-separated values.
//!
//! Names of files, devices, processes and hosts, labels, comments and lines of foreign programs may contain anything. A terminal
//! obeys control characters, a line end starts another line, and bidirectional marks change the order of the text around them.
//! [`shown`] and [`one_line`] print each such character as an escape.

pub mod csv;
pub mod shell;
pub mod units;

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::{self, Write};
use std::os::unix::ffi::OsStrExt;

/// Whether a character is escaped: control characters, and zero-width characters that hide text, end a line or change the
/// direction of the text around them.
pub fn is_escaped(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

fn escape_all(text: &str, is_kept: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_wrong = |c: char| is_escaped(c) && !is_kept(c);
    if !text.contains(is_wrong) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_wrong(c) {
            true => escaped.extend(c.escape_default()),
            false => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

/// Escapes a text to one line for people: `\n`, `\t`, `\r`, `\u{1b}`, `\u{202e}`. A backslash is unchanged, so escaping twice
/// equals escaping once.
pub fn one_line(text: &str) -> Cow<'_, str> {
    escape_all(text, |_| false)
}

/// Escapes a text whose line ends and tabs are this program's own: they stay, everything else is escaped.
pub fn lines(text: &str) -> Cow<'_, str> {
    escape_all(text, is_layout)
}

/// Whether a character separates lines or columns.
fn is_layout(c: char) -> bool {
    c == '\n' || c == '\t'
}

/// Escapes a text of this program that may be JSON: line ends and tabs stay, other characters are escaped as in JSON (`\u009b`),
/// so that JSON means the same.
pub fn lines_or_json(text: &str) -> Cow<'_, str> {
    let is_wrong = |c: char| is_escaped(c) && !is_layout(c);
    if !text.contains(is_wrong) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_wrong(c) {
            true => {
                let units = &mut [0; 2];
                c.encode_utf16(units).iter().for_each(|unit| _ = write!(escaped, "\\u{unit:04x}"));
            }
            false => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

/// Escapes JSON whose texts people see: like [`one_line`], so that a reader of the JSON shows the escapes. The texts
/// change.
pub fn shown_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    let mut rest = json.chars();
    while let Some(c) = rest.next() {
        match c {
            // Next is a quote, a backslash, or the letter of an escape, which is shown.
            '\\' => match rest.next() {
                Some(sign @ ('"' | '\\' | '/')) => shown.extend(['\\', sign]),
                letter => {
                    shown += "\\\\";
                    shown.extend(letter);
                }
            },
            c if is_escaped(c) && !is_layout(c) => {
                shown.push('\\');
                shown.extend(c.escape_default());
            }
            c => shown.push(c),
        }
    }
    shown
}

/// A name or a path for people, on one line: like [`one_line`], with bytes that are not UTF-8 as `\xff`.
pub fn shown<N: AsRef<OsStr> + ?Sized>(name: &N) -> Shown<'_> {
    Shown(name.as_ref())
}

/// See [`shown`].
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a>(&'a OsStr);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = self.0.to_str() {
            return f.pad(&one_line(text));
        }
        let mut text = String::new();
        for chunk in self.0.as_bytes().utf8_chunks() {
            text += &one_line(chunk.valid());
            chunk.invalid().iter().for_each(|byte| _ = write!(text, "\\x{byte:02x}"));
        }
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_control_characters_but_keeps_unicode_names() {
        assert_eq!(one_line("a\n\t\r\u{1b}[31m\u{7f}\u{9b}"), "a\\n\\t\\r\\u{1b}[31m\\u{7f}\\u{9b}");
        assert_eq!(
            one_line("x\u{202e}\u{2066}\u{200f}\u{61c}\u{2028}"),
            "x\\u{202e}\\u{2066}\\u{200f}\\u{61c}\\u{2028}"
        );
        for plain in ["", "/dev/sda", "Größe", "ファイル", "ملف", "קובץ", "e\u{301}", "back\\slash", "🙂"]
        {
            assert!(matches!(one_line(plain), Cow::Borrowed(same) if same == plain), "{plain}");
        }
        assert_eq!(lines("a\nb\tc\r"), "a\nb\tc\\r");
        assert_eq!(lines_or_json("\"\u{9b}\u{e0041}\"\n"), "\"\\u009b\\udb40\\udc41\"\n");
        assert_eq!(shown(OsStr::from_bytes(b"a\xff\nb\xe2\x80")).to_string(), "a\\xff\\nb\\xe2\\x80");
        assert_eq!(format!("{:>4}|{:<4}|", shown("a"), shown("b")), "   a|b   |");
    }

    #[test]
    fn escaped_text_stays_visible_in_json() {
        let json = "{\"a\u{202e}\":\"x\\n\\\"\\\\\\u001b\u{9b}\"}";
        assert_eq!(shown_json(json), "{\"a\\\\u{202e}\":\"x\\\\n\\\"\\\\\\\\u001b\\\\u{9b}\"}");
    }

    proptest! {
        #[test]
        fn escaping_is_idempotent_and_single_line(bytes in proptest::collection::vec(any::<u8>(), 0..60), text in any::<String>()) {
            for shown in [shown(OsStr::from_bytes(&bytes)).to_string(), one_line(&text).into_owned()] {
                prop_assert!(!shown.contains(is_escaped), "{shown:?}");
                prop_assert_eq!(one_line(&shown), shown.as_str());
            }
            prop_assert!(!lines_or_json(&text).contains(|c| is_escaped(c) && !is_layout(c)));
        }
    }
}
