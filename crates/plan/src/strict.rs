//! Extensions of serde: refusing unknown fields everywhere, skipping default fields.

use serde::{Deserialize, Deserializer};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoFields {}

/// Accepts no fields: for a unit variant of an internally tagged enum, where serde ignores `deny_unknown_fields` and would accept
/// any.
pub(crate) fn no_fields<'de, D: Deserializer<'de>>(fields: D) -> Result<(), D::Error> {
    NoFields::deserialize(fields).map(|NoFields {}| ())
}

/// Whether a field has its default, so that a plan is written without it.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use crate::{Engine, Pace, Workload};
    use serde::de::DeserializeOwned;
    use std::fmt::Debug;

    fn refuses<T: DeserializeOwned + Debug>(text: &str) {
        assert!(toml::from_str::<T>(text).is_ok(), "{text}");
        let error = toml::from_str::<T>(&format!("{text}\nbogus = 3")).unwrap_err().to_string();
        assert!(error.contains("bogus"), "{text}: {error}");
    }

    #[test]
    fn every_engine_refuses_unknown_fields() {
        ["uring", "aio", "threads", "null", "sim"]
            .iter()
            .for_each(|kind| refuses::<Engine>(&format!("kind = '{kind}'")));
        assert!(toml::from_str::<Engine>("kind = 'null'\nservice = '1s'").is_err());
    }

    #[test]
    fn every_pace_refuses_unknown_fields() {
        refuses::<Pace>("kind = 'closed'");
        refuses::<Pace>("kind = 'rate'\niops = 1\nprocess = 'poisson'");
        assert!(toml::from_str::<Pace>("kind = 'closed'\niops = 100").is_err());
    }

    #[test]
    fn every_source_refuses_unknown_fields() {
        refuses::<Workload>("kind = 'trace'\nfile = 'a'");
        refuses::<Workload>(
            "kind = 'generated'\norder = 'random'\nblock_size = '4k'\nread_percent = 1\npace = { kind = 'closed' }\n\
             stop = { requests = 1 }",
        );
    }
}
