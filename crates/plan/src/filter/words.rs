//! The words after a step's name: divided by commas, those without a name first, some of them in quotes.
//!
//! A word that starts with `'` or `"` ends with the same sign; twice, that sign stands for itself. Between them no other character
//! is special, so that a word may hold the separators of words and steps.

use std::fmt;
use std::str::FromStr;

const QUOTES: [char; 2] = ['\'', '"'];
/// A word starts after one of these.
const DIVIDERS: [char; 4] = ['|', ':', ',', '='];

/// The parts between the unquoted signs `at`.
pub(super) fn split(text: &str, at: char) -> Result<Vec<&str>, String> {
    let (mut parts, mut begin, mut next, mut may_open) = (Vec::new(), 0, 0, true);
    while let Some(sign) = text[next..].chars().next() {
        if may_open && QUOTES.contains(&sign) {
            next += quoted(&text[next..])?;
            may_open = false;
            continue;
        }
        if sign == at {
            parts.push(&text[begin..next]);
            begin = next + sign.len_utf8();
        }
        may_open = DIVIDERS.contains(&sign) || (may_open && sign.is_whitespace());
        next += sign.len_utf8();
    }
    parts.push(&text[begin..]);
    Ok(parts)
}

/// Bytes of the quoted word that a text starts with, quotes included.
fn quoted(text: &str) -> Result<usize, String> {
    let quote = &text[..1];
    let mut end = 1;
    while let Some(at) = text[end..].find(quote) {
        end += at + 1;
        if !text[end..].starts_with(quote) {
            return Ok(end);
        }
        end += 1;
    }
    let begin: String = text.chars().take(20).collect();
    Err(format!("the quote that starts at {begin} does not end"))
}

/// The meaning of a word, without its quotes.
fn meant(word: &str) -> Result<String, String> {
    let word = word.trim();
    if !word.starts_with(QUOTES) {
        return Ok(word.into());
    }
    let (inside, behind) = word.split_at(quoted(word)?);
    if !behind.is_empty() {
        return Err(format!(
            "after the closing quote stands {behind}: put quotes around all of it, and write a quote that is meant twice"
        ));
    }
    let quote = &word[..1];
    Ok(inside[1..inside.len() - 1].replace(&quote.repeat(2), quote))
}

/// A word as it can be typed, in quotes where it needs them.
pub(super) struct Word<'a>(pub(super) &'a str);

impl fmt::Display for Word<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Word(text) = self;
        let is_plain = |c: char| c.is_alphanumeric() || "/._-+%@~".contains(c);
        match (text.contains('\''), text.contains('"')) {
            _ if !text.is_empty() && text.chars().all(is_plain) => f.write_str(text),
            (true, false) => write!(f, "\"{text}\""),
            _ => write!(f, "'{}'", text.replace('\'', "''")),
        }
    }
}

/// The words of a step.
pub(super) struct Words {
    /// Words without a name, the last one first.
    plain: Vec<String>,
    named: Vec<(String, String)>,
}

impl Words {
    pub(super) fn of(text: &str) -> Result<Words, String> {
        let mut words = Words { plain: Vec::new(), named: Vec::new() };
        for word in split(text, ',')?.into_iter().map(str::trim).filter(|word| !word.is_empty()) {
            match named(word) {
                Some((name, value)) => words.named.push((name.into(), meant(value)?)),
                None if words.named.is_empty() => words.plain.push(meant(word)?),
                None => return Err(format!("'{word}' follows values with names: name it, too")),
            }
        }
        words.plain.reverse();
        Ok(words)
    }

    /// The word with this name, or the next one without a name.
    pub(super) fn take<T: FromStr<Err: fmt::Display>>(
        &mut self,
        name: &str,
        without: Option<T>,
    ) -> Result<T, String> {
        let named = self.named.iter().position(|(n, _)| n == name).map(|i| self.named.remove(i).1);
        match (named.or_else(|| self.plain.pop()), without) {
            (Some(text), _) => text.parse().map_err(|error| format!("{name}: {error}")),
            (None, Some(value)) => Ok(value),
            (None, None) => Err(format!("it needs {name}=…")),
        }
    }

    /// Checks that no word remains.
    pub(super) fn end(&self) -> Result<(), String> {
        let left = self.plain.last().or_else(|| self.named.first().map(|(name, _)| name));
        left.map_or(Ok(()), |word| Err(format!("'{word}' means nothing here")))
    }
}

/// Name and value of a word that has a name. A file or a command may hold a `=` after other signs than letters.
fn named(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let name = name.trim();
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphabetic() || c == '_');
    is_name.then_some((name, value))
}
