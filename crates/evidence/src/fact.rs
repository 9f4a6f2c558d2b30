//! A value, or the reason why there is none.

use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// A value that was read, or the reason why it could not be.
///
/// In JSON the value stands for itself; an absent one is `{"absent": "why"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Fact<T> {
    /// There is none, and this is why.
    Absent {
        /// The reason: what was asked and what it answered.
        absent: String,
    },
    /// What was read.
    Known(T),
}

/// What archives of earlier versions do not have.
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

    /// The value, if there is one.
    pub fn known(&self) -> Option<&T> {
        match self {
            Fact::Known(value) => Some(value),
            Fact::Absent { .. } => None,
        }
    }

    /// The same fact with its value changed.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Fact<U> {
        self.and_then(|value| Fact::Known(change(value)))
    }

    /// Goes on with the value, where the next step may find none either.
    pub fn and_then<U>(self, next: impl FnOnce(T) -> Fact<U>) -> Fact<U> {
        match self {
            Fact::Known(value) => next(value),
            Fact::Absent { absent } => Fact::Absent { absent },
        }
    }

    /// This fact, or another one where it is absent; the reason of the first is kept if both are.
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
    /// The text read as a value of another type; text that isn't one is absent, with the text as the reason.
    pub fn parse<U: FromStr>(self) -> Fact<U> {
        self.and_then(|text| match text.parse() {
            Ok(value) => Fact::Known(value),
            Err(_) => Fact::absent(format!("`{text}` is not of the expected form")),
        })
    }

    /// The text `0` or `1` as a truth value.
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
    fn text_of_another_form_is_absent() {
        assert_eq!(Fact::Known("12".to_owned()).parse::<u64>(), Fact::Known(12));
        assert_eq!(Fact::Known("x".to_owned()).parse::<u64>().known(), None);
    }
}
