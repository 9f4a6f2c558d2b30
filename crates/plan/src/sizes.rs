//! Sizes of a pattern's requests: one, a range, or a split; and the zones that addresses are drawn from.

use crate::{ByteSize, ParseUnitError};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::str::FromStr;

/// Sizes of requests. In TOML a text (`"4KiB"`), a table (`{ least = "4KiB", most = "64KiB" }`) or a list
/// (`[{ size = "4KiB", percent = 60 }, …]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum BlockSizes {
    /// All requests have this size.
    One(ByteSize),
    /// Every multiple of the least up to the most, equally often.
    Range(SizeRange),
    /// Each size with its share.
    Split(Vec<SizeShare>),
}

/// A range of sizes, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeRange {
    /// The least; all others are its multiples.
    pub least: ByteSize,
    /// The most, a multiple of the least.
    pub most: ByteSize,
}

/// A size and its share of the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeShare {
    /// Bytes.
    pub size: ByteSize,
    /// Share of the requests in percent, 1 to 100; all shares make 100.
    pub percent: u8,
}

impl BlockSizes {
    /// The least size in bytes.
    pub fn least(&self) -> u64 {
        match self {
            BlockSizes::One(size) => size.0,
            BlockSizes::Range(range) => range.least.0,
            BlockSizes::Split(shares) => shares.iter().map(|s| s.size.0).min().unwrap_or_default(),
        }
    }

    /// The most bytes.
    pub fn most(&self) -> u64 {
        match self {
            BlockSizes::One(size) => size.0,
            BlockSizes::Range(range) => range.most.0,
            BlockSizes::Split(shares) => shares.iter().map(|s| s.size.0).max().unwrap_or_default(),
        }
    }

    /// Mean in bytes.
    pub fn mean(&self) -> f64 {
        match self {
            BlockSizes::One(size) => size.0 as f64,
            BlockSizes::Range(range) => (range.least.0 as f64 + range.most.0 as f64) / 2.0,
            BlockSizes::Split(shares) => {
                shares.iter().map(|s| s.size.0 as f64 * f64::from(s.percent)).sum::<f64>() / 100.0
            }
        }
    }

    /// Whether `holds` is true for every size; `holds` must be closed under multiples.
    pub(crate) fn all(&self, holds: impl Fn(u64) -> bool) -> bool {
        match self {
            BlockSizes::One(size) => holds(size.0),
            BlockSizes::Range(range) => holds(range.least.0),
            BlockSizes::Split(shares) => shares.iter().all(|s| holds(s.size.0)),
        }
    }
}

impl From<ByteSize> for BlockSizes {
    fn from(size: ByteSize) -> BlockSizes {
        BlockSizes::One(size)
    }
}

impl fmt::Display for BlockSizes {
    /// As fio writes them: `4KiB`, `4KiB-64KiB`, `4KiB/60:64KiB/40`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BlockSizes::One(size) => size.fmt(f),
            BlockSizes::Range(range) => write!(f, "{}-{}", range.least, range.most),
            BlockSizes::Split(shares) => {
                for (i, share) in shares.iter().enumerate() {
                    write!(f, "{}{}/{}", if i > 0 { ":" } else { "" }, share.size, share.percent)?;
                }
                Ok(())
            }
        }
    }
}

struct SizesVisitor;

impl<'de> Visitor<'de> for SizesVisitor {
    type Value = BlockSizes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a size (\"4KiB\"), a range ({ least, most }) or a list of { size, percent }")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<BlockSizes, E> {
        text.parse().map(BlockSizes::One).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<BlockSizes, A::Error> {
        SizeRange::deserialize(MapAccessDeserializer::new(map)).map(BlockSizes::Range)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<BlockSizes, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(seq)).map(BlockSizes::Split)
    }
}

impl<'de> Deserialize<'de> for BlockSizes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<BlockSizes, D::Error> {
        from.deserialize_any(SizesVisitor)
    }
}

/// A zone of the region and its share of the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Zone {
    /// Share of the requests in percent, 0 to 100; all shares make 100.
    pub percent: u8,
    /// Length of the zone.
    pub space: Space,
}

/// Length of a zone: `"10%"` of the region, or `"10GiB"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Space {
    /// In percent of the whole (the region, the target), 1 to 100.
    Percent(u8),
    /// In bytes.
    Bytes(ByteSize),
}

impl Space {
    /// Bytes of `whole`, rounded down.
    pub fn of(self, whole: u64) -> u64 {
        match self {
            Space::Percent(percent) => (u128::from(whole) * u128::from(percent) / 100) as u64,
            Space::Bytes(bytes) => bytes.0,
        }
    }
}

impl FromStr for Space {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Space, ParseUnitError> {
        let Some(number) = text.trim().strip_suffix('%') else { return text.parse().map(Space::Bytes) };
        number.trim().parse().map(Space::Percent).map_err(|_| {
            ParseUnitError(format!("'{text}' is no share: use a whole number of percent, for example 10%"))
        })
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Space::Percent(percent) => write!(f, "{percent}%"),
            Space::Bytes(bytes) => bytes.fmt(f),
        }
    }
}

impl TryFrom<String> for Space {
    type Error = ParseUnitError;
    fn try_from(text: String) -> Result<Space, ParseUnitError> {
        text.parse()
    }
}

impl From<Space> for String {
    fn from(space: Space) -> String {
        space.to_string()
    }
}
