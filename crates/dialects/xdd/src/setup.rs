//! Words of a command line, with those of setup files inserted in place.

use std::borrow::Cow;
use std::io;

/// Maximum nesting of setup files.
const MAX_DEPTH: usize = 16;
/// Maximum number of setup files per command line, which stops repeated inclusion.
const MAX_FILES: usize = 1000;
/// Typographic dashes of word processors.
const DASHES: [char; 4] = ['-', '\u{2013}', '\u{2014}', '\u{2212}'];

/// Replaces typographic dashes at the start of `text` with plain ones.
pub(crate) fn plain_dashes(text: &str) -> Cow<'_, str> {
    let rest = text.trim_start_matches(DASHES);
    let dashes = text[..text.len() - rest.len()].chars().count();
    match text.len() - rest.len() == dashes {
        true => Cow::Borrowed(text),
        false => Cow::Owned("-".repeat(dashes) + rest),
    }
}

/// Words still to be read, and the reader of setup files.
pub(crate) struct Tokens<'r> {
    /// The next word is last.
    rest: Vec<SetupToken>,
    /// Setup files being read, outermost first.
    open: Vec<String>,
    files: usize,
    read: &'r mut dyn FnMut(&str) -> io::Result<String>,
}

enum SetupToken {
    Word(String),
    EndOfFile,
}

impl<'r> Tokens<'r> {
    pub(crate) fn new(args: &[String], read: &'r mut dyn FnMut(&str) -> io::Result<String>) -> Tokens<'r> {
        let rest = args.iter().rev().cloned().map(SetupToken::Word).collect();
        Tokens { rest, open: Vec::new(), files: 0, read }
    }

    /// Takes the next word.
    pub(crate) fn next(&mut self) -> Option<String> {
        loop {
            match self.rest.pop()? {
                SetupToken::Word(word) => return Some(word),
                SetupToken::EndOfFile => self.open.pop(),
            };
        }
    }

    /// Returns the word after `skipped` others without taking it.
    pub(crate) fn peek(&self, skipped: usize) -> Option<&str> {
        let mut words = self.rest.iter().rev().filter_map(|item| match item {
            SetupToken::Word(word) => Some(word.as_str()),
            SetupToken::EndOfFile => None,
        });
        words.nth(skipped)
    }

    /// Setup file of the word taken last.
    pub(crate) fn file(&self) -> Option<&str> {
        self.open.last().map(String::as_str)
    }

    /// Inserts the words of a setup file before the next word.
    pub(crate) fn insert_file(&mut self, name: &str) -> Result<(), String> {
        if self.open.iter().any(|open| open == name) {
            return Err("it names itself, directly or through another: take that out".into());
        }
        if self.open.len() == MAX_DEPTH {
            return Err(format!("setup files name each other more than {MAX_DEPTH} deep: join some"));
        }
        self.files += 1;
        if self.files > MAX_FILES {
            return Err(format!("more than {MAX_FILES} setup files are named: join some"));
        }
        let text = (self.read)(name).map_err(|error| format!("it cannot be read ({error})"))?;
        let words = split(&text)?;
        self.open.push(name.into());
        self.rest.push(SetupToken::EndOfFile);
        self.rest.extend(words.into_iter().rev().map(SetupToken::Word));
        Ok(())
    }
}

/// Splits a setup file into words: at white space; `#` at the start of a word makes the rest of the line a comment, and
/// text in quotes of either kind belongs to one word. A backslash is an ordinary character.
fn split(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut line = 1;
    let mut chars = text.strip_prefix('\u{feff}').unwrap_or(text).chars();
    while let Some(c) = chars.next() {
        line += usize::from(c == '\n');
        match c {
            '#' if word.is_none() => {
                line += usize::from(chars.by_ref().any(|c| c == '\n'));
            }
            '"' | '\'' => {
                let word = word.get_or_insert_default();
                let opened = line;
                loop {
                    match chars.next() {
                        Some(end) if end == c => break,
                        Some(inner) => {
                            line += usize::from(inner == '\n');
                            word.push(inner);
                        }
                        None => return Err(format!("the quote in line {opened} does not end: close it")),
                    }
                }
            }
            c if c.is_whitespace() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_words_comments_and_quotes() {
        let text = "\u{feff}# it's a comment\n-op\tread -id \"a # b\"'c d' x#y\r\n  # end\n\"\" -passes\n3";
        assert_eq!(split(text).unwrap(), ["-op", "read", "-id", "a # bc d", "x#y", "", "-passes", "3"]);
        assert!(split("a\n'b\nc").unwrap_err().contains("line 2"));
        assert_eq!(split(r"\\.\PhysicalDrive0 \").unwrap(), [r"\\.\PhysicalDrive0", r"\"]);
        assert!(split("# only a comment").unwrap().is_empty());
    }

    #[test]
    fn normalizes_only_leading_dashes() {
        for (text, want) in
            [("–op", "-op"), ("−op", "-op"), ("––out", "--out"), ("a–b", "a–b"), ("-x–y", "-x–y"), ("—", "-")]
        {
            assert_eq!(plain_dashes(text), want);
        }
    }
}
