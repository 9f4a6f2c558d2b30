//! Words of a command line, as a shell takes them.

/// Whether a shell takes a character as it is.
pub fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c)
}

/// A word as a shell takes it: quoted if one of its characters requires that.
pub fn quoted(word: &str) -> String {
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_only_where_a_shell_needs_it() {
        assert_eq!(quoted("a-b/c.load.gz"), "a-b/c.load.gz");
        assert_eq!((quoted(""), quoted("a b")), ("''".to_string(), "'a b'".to_string()));
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
