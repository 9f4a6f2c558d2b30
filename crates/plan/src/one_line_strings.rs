//! TOML whose strings stand on one line each: a printed plan shows names that others chose, and a line end in one of them would
//! start a new line.

use iosonar_text::is_escaped;
use std::fmt::Write;

/// The same TOML with each string on one line, and with control characters escaped that a terminal obeys. `toml` is the
/// serializer's output: it has no comments.
pub(crate) fn one_line_strings(toml: &str) -> String {
    if !toml.contains("\"\"\"")
        && !toml.contains("'''")
        && !toml.contains(|c: char| is_escaped(c) && c != '\n')
    {
        return toml.into();
    }
    let mut out = String::with_capacity(toml.len());
    let mut rest = toml;
    while let Some(at) = rest.find(['"', '\'']) {
        out += &rest[..at];
        rest = &rest[at..];
        let quote = &rest[..1];
        let long = quote.repeat(3);
        let is_long = rest.starts_with(&long);
        let fence = if is_long { long.as_str() } else { quote };
        let (content, after) = divided(&rest[fence.len()..], fence);
        // A line end after the quotes is no part of the string.
        let content = if is_long { content.strip_prefix('\n').unwrap_or(content) } else { content };
        out.push('"');
        put(&mut out, content, quote == "'");
        out.push('"');
        rest = after;
    }
    out + rest
}

/// The content of a string up to its closing quotes, and the rest after them.
fn divided<'t>(text: &'t str, fence: &str) -> (&'t str, &'t str) {
    let is_literal = fence.starts_with('\'');
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with(fence) {
            // One or two quotes may stand before the closing ones.
            let quotes = rest.bytes().take_while(|byte| fence.as_bytes().contains(byte)).count();
            let inside = if fence.len() == 3 { (quotes - 3).min(2) } else { 0 };
            return (&text[..at + inside], &text[at + inside + fence.len()..]);
        }
        let mut chars = rest.chars();
        let first = chars.next().map_or(0, char::len_utf8);
        let second =
            if rest.starts_with('\\') && !is_literal { chars.next().map_or(0, char::len_utf8) } else { 0 };
        at += first + second;
    }
    (text, "")
}

/// Writes the content of a string as that of a basic one.
fn put(out: &mut String, content: &str, is_literal: bool) {
    let mut chars = content.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' if is_literal => *out += "\\\\",
            '\\' => {
                out.push(c);
                out.extend(chars.next());
            }
            '"' => *out += "\\\"",
            '\n' => *out += "\\n",
            '\t' => *out += "\\t",
            c if is_escaped(c) => _ = write!(out, "\\U{:08X}", u32::from(c)),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn one_line_strings_round_trip(
            texts in proptest::collection::vec("[a\"'\\\\\n\t\u{1b}\u{9b}\u{202e}\u{e0041} =]{0,12}", 1..5)
        ) {
            let map: BTreeMap<String, &String> =
                texts.iter().enumerate().map(|(n, text)| (format!("k{n}"), text)).collect();
            let written = one_line_strings(&toml::to_string(&map).unwrap());
            prop_assert_eq!(written.lines().count(), texts.len(), "{}", written);
            prop_assert!(!written.contains(|c| is_escaped(c) && c != '\n'), "{:?}", written);
            let read: BTreeMap<String, String> = toml::from_str(&written).unwrap();
            prop_assert!(read.iter().all(|(key, text)| map[key] == text), "{}", written);
        }
    }
}
