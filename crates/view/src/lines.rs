//! Plain ASCII lines of a limited width, shared by all texts.

/// Lines that are made ASCII and cut to the width.
pub(crate) struct Lines {
    text: String,
    columns: usize,
}

impl Lines {
    /// Nothing yet; no line will be longer than `columns`.
    pub(crate) fn new(columns: usize) -> Lines {
        Lines { text: String::new(), columns }
    }

    /// One line.
    pub(crate) fn line(&mut self, text: &str) {
        let ascii: String = text.trim_end().chars().map(ascii).collect();
        self.text += &shorten(&ascii, self.columns);
        self.text.push('\n');
    }

    /// A line that may hold block characters, of a width that its maker answers for.
    pub(crate) fn drawn(&mut self, text: &str) {
        self.text += text.trim_end();
        self.text.push('\n');
    }

    /// An empty line and then `text`.
    pub(crate) fn heading(&mut self, text: &str) {
        self.text.push('\n');
        self.line(text);
    }

    /// Words over as many lines as they need, indented after `first`.
    pub(crate) fn paragraph(&mut self, first: &str, text: &str) {
        let indent = " ".repeat(first.len());
        let mut line = first.to_string();
        for word in text.split_whitespace() {
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

    /// Bytes so far.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// The text.
    pub(crate) fn finish(self) -> String {
        self.text
    }
}

/// The nearest ASCII character, so that the text survives any terminal and mail.
pub(crate) fn ascii(c: char) -> char {
    match c {
        'µ' | 'μ' => 'u',
        '→' => '>',
        '–' | '—' | '−' => '-',
        '×' => 'x',
        '·' => ',',
        '…' => '.',
        ' '..='~' => c,
        _ => '?',
    }
}

/// Both ends of an ASCII text, with `...` between them if it is too long.
pub(crate) fn shorten(text: &str, room: usize) -> String {
    if text.len() <= room {
        return text.to_string();
    }
    let head = room.saturating_sub(3).div_ceil(2);
    let tail = room.saturating_sub(3) - head;
    format!("{}...{}", &text[..head], &text[text.len() - tail..])
}
