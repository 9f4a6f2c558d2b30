//! Plain ASCII lines of a limited width, shared by all texts.

/// Width of a text for a terminal.
pub const COLUMNS: usize = 79;

/// Lines that are made ASCII and cut to the width.
pub struct Lines {
    text: String,
    columns: usize,
}

impl Lines {
    /// Empty text; no line will be longer than `columns`.
    pub fn new(columns: usize) -> Lines {
        Lines { text: String::new(), columns }
    }

    /// Adds a line.
    pub fn line(&mut self, text: &str) {
        let ascii: String = text.trim_end().chars().map(ascii).collect();
        self.text += &shorten(&ascii, self.columns);
        self.text.push('\n');
    }

    /// Adds a line that may hold block characters; the caller ensures its width.
    pub fn drawn(&mut self, text: &str) {
        self.text += text.trim_end();
        self.text.push('\n');
    }

    /// Adds an empty line and then `text`.
    pub fn heading(&mut self, text: &str) {
        self.text.push('\n');
        self.line(text);
    }

    /// Adds words over as many lines as they need, indented after `first`.
    pub fn paragraph(&mut self, first: &str, text: &str) {
        let indent = " ".repeat(first.len());
        let mut line = first.to_string();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for word in unbroken(&text) {
            let word = shorten(&word.chars().map(ascii).collect::<String>(), self.columns - first.len());
            let full = line.len() + 1 + word.len() > self.columns && line.len() > first.len();
            if full {
                self.line(&line);
                line = indent.clone();
            }
            if line.len() > first.len() {
                line.push(' ');
            }
            line += &word;
        }
        self.line(&line);
    }

    /// Lines so far.
    pub(crate) fn count(&self) -> usize {
        self.text.lines().count()
    }

    /// Bytes so far.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// The text.
    pub fn finish(self) -> String {
        self.text
    }
}

/// Units that stay on the line of their number.
const UNITS: [&str; 18] = [
    "ns",
    "µs",
    "us",
    "ms",
    "s",
    "%",
    "B",
    "KiB",
    "MiB",
    "GiB",
    "TiB",
    "B/s",
    "kB/s",
    "MB/s",
    "GB/s",
    "TB/s",
    "MiB/s",
    "requests/s",
];

/// Words of a text, where groups of digits and a number and its unit are one word.
pub fn unbroken(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let unit = word.trim_end_matches([',', '.', ';', ':', ')']);
        let follows = UNITS.contains(&unit) || word.starts_with(|c: char| c.is_ascii_digit());
        match words.last_mut() {
            Some(last) if follows && last.ends_with(|c: char| c.is_ascii_digit()) => {
                *last += &format!(" {word}")
            }
            _ => words.push(word.to_string()),
        }
    }
    words
}

/// The nearest ASCII character, so that the text survives any terminal and mail.
pub fn ascii(c: char) -> char {
    match c {
        'µ' | 'μ' => 'u',
        '→' => '>',
        '–' | '—' | '−' => '-',
        '×' => 'x',
        '÷' => '/',
        '·' => ',',
        '…' => '.',
        ' '..='~' => c,
        _ => '?',
    }
}

/// Both ends of an ASCII text, with `...` between them if it is too long.
pub fn shorten(text: &str, room: usize) -> String {
    if text.len() <= room {
        return text.to_string();
    }
    let head = room.saturating_sub(3).div_ceil(2);
    let tail = room.saturating_sub(3) - head;
    format!("{}...{}", &text[..head], &text[text.len() - tail..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_number_and_unit_on_one_line() {
        let mut lines = Lines::new(15);
        lines.paragraph("", "there were 5 469 done in 12.5 ms");
        assert_eq!(lines.finish(), "there were\n5 469 done in\n12.5 ms\n");
    }
}
