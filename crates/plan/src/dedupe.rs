//! Content for targets that deduplicate: how much of it is the same elsewhere.

use crate::rules::{Result, require, within};
use crate::strict::is_default;
use crate::{ByteSize, InvalidPlan};
use serde::{Deserialize, Serialize};

/// Incompressible content that is partly the same on all targets of a plan. Each byte is a function of its place and of the
/// number of its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dedupe {
    /// Unit of the shares, from the start of the target: a multiple of 8 bytes, at least 64.
    pub unit: ByteSize,
    /// Share of each unit, in percent, that is equal at equal places of all targets: its beginning. The rest of a unit is unique.
    pub percent: u8,
    /// Share of that beginning, in percent, that repeats one word, so that it is equal within a target, too, and compressible.
    #[serde(default, skip_serializing_if = "is_default")]
    pub constant_percent: u8,
    /// Share of the constant part, in percent, that repeats a word of its target: it is equal within a target only.
    #[serde(default, skip_serializing_if = "is_default")]
    pub local_percent: u8,
    /// Seed of the equal content. Below 2^63.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub seed: u64,
    /// Added to the number of a target, so that runs on several hosts write different bytes where they are not equal.
    #[serde(default, skip_serializing_if = "is_default")]
    pub skew: u32,
}

fn one() -> u64 {
    1
}

fn is_one(seed: &u64) -> bool {
    *seed == 1
}

impl Dedupe {
    /// This share of each unit is equal everywhere, and nothing within a target.
    pub fn of(percent: u8, unit: ByteSize) -> Dedupe {
        Dedupe { unit, percent, constant_percent: 0, local_percent: 0, seed: 1, skew: 0 }
    }

    /// Where the parts of a unit end, in bytes from its start, each a multiple of 8: the constant part of the target, the constant
    /// part of all targets, and all that is equal.
    pub fn ends(&self) -> [u64; 3] {
        let share = |of: u64, percent: u8| (u128::from(of) * u128::from(percent) / 100) as u64;
        let equal = share(self.unit.0, self.percent);
        let constant = share(equal, self.constant_percent);
        [share(constant, self.local_percent), constant, equal].map(|end| end & !7)
    }

    pub(crate) fn validate(&self) -> Result {
        require(self.unit.0.is_multiple_of(8) && (64..=1 << 30).contains(&self.unit.0), || {
            InvalidPlan::of(
                "options.data.dedupe.unit",
                "it must be a multiple of 8 bytes, from 64 bytes to 1 GiB",
            )
            .value(self.unit)
        })?;
        for (field, percent) in [
            ("options.data.dedupe.percent", self.percent),
            ("options.data.dedupe.constant_percent", self.constant_percent),
            ("options.data.dedupe.local_percent", self.local_percent),
        ] {
            within(field, percent.into(), 0, 100)?;
        }
        require(self.seed < 1 << 63, || {
            InvalidPlan::of("options.data.dedupe.seed", "it must be below 2^63").value(self.seed)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dedupe_parts_are_shares_of_their_parent() {
        let dedupe = Dedupe::of(50, ByteSize(65_536));
        assert_eq!(dedupe.ends(), [0, 0, 32_768]);
        let dedupe = Dedupe { constant_percent: 50, local_percent: 50, ..dedupe };
        assert_eq!(dedupe.ends(), [8192, 16_384, 32_768]);
        assert_eq!(Dedupe::of(33, ByteSize(64)).ends(), [0, 0, 16]);
    }

    #[test]
    fn rejects_invalid_fields_by_name() {
        let dedupe = Dedupe::of(50, ByteSize(4096));
        dedupe.validate().unwrap();
        for (bad, field) in [
            (Dedupe { unit: ByteSize(100), ..dedupe }, "dedupe.unit"),
            (Dedupe { unit: ByteSize(8), ..dedupe }, "dedupe.unit"),
            (Dedupe { percent: 101, ..dedupe }, "dedupe.percent"),
            (Dedupe { constant_percent: 101, ..dedupe }, "dedupe.constant_percent"),
            (Dedupe { local_percent: 255, ..dedupe }, "dedupe.local_percent"),
            (Dedupe { seed: 1 << 63, ..dedupe }, "dedupe.seed"),
        ] {
            let error = bad.validate().unwrap_err().to_string();
            assert!(error.contains(field), "{error}");
        }
    }
}
