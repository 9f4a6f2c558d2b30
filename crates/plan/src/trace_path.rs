//! How much of a run has its path in the kernel traced.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// Most windows of which one is traced.
const MOST: u32 = 1000;

/// Which part of a run has the path of its requests traced. Time is cut into windows; of each N windows one is
/// traced, chosen by chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TracePath(Option<NonZeroU32>);

impl TracePath {
    /// Nothing is traced.
    pub const OFF: TracePath = TracePath(None);
    /// All of the run is traced.
    pub const ALL: TracePath = TracePath(Some(NonZeroU32::MIN));

    /// One of this number of windows is traced; `None`: nothing is traced.
    pub fn one_of(self) -> Option<u32> {
        self.0.map(NonZeroU32::get)
    }

    /// Whether anything is traced.
    pub fn is_on(self) -> bool {
        self.0.is_some()
    }
}

impl fmt::Display for TracePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.one_of() {
            None => f.write_str("false"),
            Some(1) => f.write_str("true"),
            Some(windows) => windows.fmt(f),
        }
    }
}

/// A word that is no number of windows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoWindows(String);

impl fmt::Display for NoWindows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: it is a number from 1, all of the run, to {MOST}, one of {MOST} windows", self.0)
    }
}

impl std::error::Error for NoWindows {}

impl FromStr for TracePath {
    type Err = NoWindows;

    fn from_str(word: &str) -> Result<TracePath, NoWindows> {
        let windows = word.parse().ok().and_then(NonZeroU32::new).filter(|windows| windows.get() <= MOST);
        windows.map(|windows| TracePath(Some(windows))).ok_or_else(|| NoWindows(word.into()))
    }
}

/// As in plans.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Text {
    Is(bool),
    OneOf(u32),
}

impl Serialize for TracePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = match self.one_of() {
            None => Text::Is(false),
            Some(1) => Text::Is(true),
            Some(windows) => Text::OneOf(windows),
        };
        text.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TracePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TracePath, D::Error> {
        match Text::deserialize(deserializer)? {
            Text::Is(false) => Ok(TracePath::OFF),
            Text::Is(true) => Ok(TracePath::ALL),
            Text::OneOf(windows) => windows.to_string().parse().map_err(serde::de::Error::custom),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_have_a_truth_or_a_number() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct Plan {
            path: TracePath,
        }
        for (text, one_of) in [("false", None), ("true", Some(1)), ("10", Some(10))] {
            let text = format!("path = {text}\n");
            let plan: Plan = toml::from_str(&text).unwrap();
            assert_eq!(plan.path.one_of(), one_of);
            assert_eq!(toml::to_string(&plan).unwrap(), text);
        }
        let refused = toml::from_str::<Plan>("path = 0").unwrap_err().to_string();
        assert!(refused.contains("`0`: it is a number from 1"), "{refused}");
        assert!("1001".parse::<TracePath>().is_err() && "all".parse::<TracePath>().is_err());
    }
}
