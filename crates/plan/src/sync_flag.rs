//! The flag of open(2) that makes each write wait for stable storage.

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// The flag of open(2) that makes each write wait for stable storage. A stronger one is greater.
///
/// A plan has `sync = false` for no flag and `sync = true` for `O_SYNC`; the others are words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum SyncFlag {
    /// No flag.
    #[default]
    None,
    /// `O_DSYNC`: the data, and the metadata that is needed to read it.
    Dsync,
    /// `O_SYNC`: all metadata, too.
    Sync,
    /// `O_RSYNC` with `O_SYNC`: reads wait for writes in flight, too. On Linux both are the same flag.
    Rsync,
}

impl SyncFlag {
    const WORDS: [(&'static str, SyncFlag); 4] = [
        ("none", SyncFlag::None),
        ("dsync", SyncFlag::Dsync),
        ("sync", SyncFlag::Sync),
        ("rsync", SyncFlag::Rsync),
    ];

    /// The words that users type, for messages.
    pub const KNOWN: &'static str = "none, sync, dsync or rsync";

    /// The flag of a word.
    pub fn named(word: &str) -> Option<SyncFlag> {
        SyncFlag::WORDS.iter().find(|(name, _)| *name == word).map(|(_, flag)| *flag)
    }

    /// Whether a flag is set.
    pub fn is_set(self) -> bool {
        self != SyncFlag::None
    }

    /// Its name in open(2).
    pub fn name(self) -> &'static str {
        match self {
            SyncFlag::None => "none",
            SyncFlag::Dsync => "O_DSYNC",
            SyncFlag::Sync => "O_SYNC",
            SyncFlag::Rsync => "O_RSYNC",
        }
    }
}

impl From<bool> for SyncFlag {
    fn from(sync: bool) -> SyncFlag {
        if sync { SyncFlag::Sync } else { SyncFlag::None }
    }
}

impl Serialize for SyncFlag {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            SyncFlag::None => to.serialize_bool(false),
            SyncFlag::Sync => to.serialize_bool(true),
            SyncFlag::Dsync => to.serialize_str("dsync"),
            SyncFlag::Rsync => to.serialize_str("rsync"),
        }
    }
}

impl<'de> Deserialize<'de> for SyncFlag {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<SyncFlag, D::Error> {
        struct Flag;
        impl Visitor<'_> for Flag {
            type Value = SyncFlag;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false, \"sync\", \"dsync\", \"rsync\" or \"none\"")
            }

            fn visit_bool<E: Error>(self, sync: bool) -> Result<SyncFlag, E> {
                Ok(sync.into())
            }

            fn visit_str<E: Error>(self, word: &str) -> Result<SyncFlag, E> {
                SyncFlag::named(word).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(word), &self))
            }
        }
        from.deserialize_any(Flag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Access;

    #[test]
    fn earlier_plans_read_and_print_unchanged() {
        let read = |text: &str| toml::from_str::<Access>(text).map(|access| access.sync);
        for (text, flag) in [
            ("", SyncFlag::None),
            ("sync = false", SyncFlag::None),
            ("sync = true", SyncFlag::Sync),
            ("sync = 'sync'", SyncFlag::Sync),
            ("sync = 'dsync'", SyncFlag::Dsync),
            ("sync = 'rsync'", SyncFlag::Rsync),
        ] {
            assert_eq!(read(text).unwrap(), flag, "{text}");
            let access = Access { buffered: false, sync: flag };
            assert_eq!(toml::from_str::<Access>(&toml::to_string(&access).unwrap()).unwrap(), access);
        }
        let printed = |sync: SyncFlag| toml::to_string(&Access { buffered: true, sync }).unwrap();
        assert_eq!(printed(SyncFlag::Sync), "buffered = true\nsync = true\n");
        assert_eq!(printed(SyncFlag::None), "buffered = true\nsync = false\n");
        assert_eq!(printed(SyncFlag::Dsync), "buffered = true\nsync = \"dsync\"\n");
        let refused = read("sync = 'often'").unwrap_err().to_string();
        assert!(refused.contains("often") && refused.contains("dsync"), "{refused}");
    }
}
