//! A value, or the reason for its absence.

use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// A value that was read, or the reason for its absence.
///
/// In JSON the value is written directly; an absent one is `{"absent": "why"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Fact<T> {
    /// Absent, with the reason.
    Absent {
        /// Reason: the question and the answer.
        absent: String,
    },
    /// The value.
    Known(T),
}

/// Value for fields missing in archives of earlier versions.
impl<T> Default for Fact<T> {
    fn default() -> Self {
        Fact::absent("the archive does not have it")
    }
}

impl<T> Fact<T> {
    /// An absent value.
    pub fn absent(why: impl Into<String>) -> Self {
        Fact::Absent { absent: why.into() }
    }

    /// Returns the value, if known.
    pub fn known(&self) -> Option<&T> {
        match self {
            Fact::Known(value) => Some(value),
            Fact::Absent { .. } => None,
        }
    }

    /// Maps the value.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Fact<U> {
        self.and_then(|value| Fact::Known(change(value)))
    }

    /// Maps the value to another fact, which may be absent, too.
    pub fn and_then<U>(self, next: impl FnOnce(T) -> Fact<U>) -> Fact<U> {
        match self {
            Fact::Known(value) => next(value),
            Fact::Absent { absent } => Fact::Absent { absent },
        }
    }

    /// Returns this fact, or another one if it is absent; if both are, the reason of the first is kept.
    pub fn or_else(self, other: impl FnOnce() -> Fact<T>) -> Fact<T> {
        match self {
            Fact::Known(_) => self,
            Fact::Absent { .. } => match other() {
                Fact::Known(value) => Fact::Known(value),
                Fact::Absent { .. } => self,
            },
        }
    }
}

impl Fact<String> {
    /// Parses the text as a value of another type; invalid text is absent, with the text in the reason.
    pub fn parse<U: FromStr>(self) -> Fact<U> {
        self.and_then(|text| match text.parse() {
            Ok(value) => Fact::Known(value),
            Err(_) => Fact::absent(format!("`{text}` is not of the expected form")),
        })
    }

    /// Parses the text `0` or `1` as a boolean.
    pub fn flag(self) -> Fact<bool> {
        self.parse::<u8>().map(|flag| flag != 0)
    }
}

impl<T, E: std::fmt::Display> From<Result<T, E>> for Fact<T> {
    fn from(result: Result<T, E>) -> Self {
        match result {
            Ok(value) => Fact::Known(value),
            Err(error) => Fact::absent(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Fact;

    #[test]
    fn json_shows_the_value_or_the_reason() {
        let known = serde_json::to_string(&Fact::Known(7u64)).unwrap();
        let absent = serde_json::to_string(&Fact::<u64>::absent("no such file")).unwrap();
        assert_eq!((known.as_str(), absent.as_str()), ("7", r#"{"absent":"no such file"}"#));
        assert_eq!(serde_json::from_str::<Fact<u64>>(&absent).unwrap(), Fact::absent("no such file"));
        assert_eq!(serde_json::from_str::<Fact<u64>>(&known).unwrap(), Fact::Known(7));
    }

    #[test]
    fn unparsable_text_is_absent() {
        assert_eq!(Fact::Known("12".to_owned()).parse::<u64>(), Fact::Known(12));
        assert_eq!(Fact::Known("x".to_owned()).parse::<u64>().known(), None);
    }
}
