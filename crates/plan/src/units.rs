//! Units: times in whole nanoseconds, sizes in bytes, speeds as exact decimals.
//!
//! Floating point never touches a time: `0.5` is half a second and 18.002030345 s keeps its last digit.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Bytes in a sector: 512 everywhere, for any logical block size of the device.
pub const SECTOR: u64 = 512;

/// Error of parsing a number with a unit. The text has the input as typed and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseUnitError(pub String);

/// A time span or a point in time on a run's own clock, in nanoseconds.
///
/// Text form: a decimal number with an optional unit `ns`, `us`, `ms`, `s`, `m`, `h`, `d`; without a unit it
/// is seconds. Digits below a nanosecond are refused, because they could not be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Nanos(pub u64);

impl Nanos {
    /// One second.
    pub const SECOND: Nanos = Nanos(1_000_000_000);

    /// Whole seconds as nanoseconds.
    pub const fn from_secs(secs: u64) -> Nanos {
        Nanos(secs * 1_000_000_000)
    }

    /// The span as floating-point seconds, for display and statistics only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// `self + other`, or the latest time there is.
    pub const fn saturating_add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }

    /// Difference that stops at zero.
    pub const fn saturating_sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }
}

const TIME_UNITS: [(&str, u64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

impl FromStr for Nanos {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (number, unit) = split_unit(text);
        let factor = match unit {
            "" => 1_000_000_000,
            _ => TIME_UNITS.iter().find(|(name, _)| *name == unit).map(|(_, f)| *f).ok_or_else(|| {
                ParseUnitError(format!(
                    "'{text}' is no time: use a number with ns, us, ms, s, m, h or d, for example 1.5s"
                ))
            })?,
        };
        parse_decimal(number, factor).map(Nanos).map_err(|why| {
            ParseUnitError(format!("'{text}' is no time: {why}; for example 0.5, 30s or 100us"))
        })
    }
}

impl fmt::Display for Nanos {
    /// The shortest exact form: `1.5s`, `100us`, `0s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, factor) = match self.0 {
            0 => ("s", 1_000_000_000),
            n if n < 1_000 => ("ns", 1),
            n if n < 1_000_000 => ("us", 1_000),
            n if n < 1_000_000_000 => ("ms", 1_000_000),
            _ => ("s", 1_000_000_000),
        };
        write!(f, "{}{unit}", decimal(self.0, factor))
    }
}

impl TryFrom<String> for Nanos {
    type Error = ParseUnitError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Nanos> for String {
    fn from(n: Nanos) -> String {
        n.to_string()
    }
}

/// A size in bytes.
///
/// Text form: a decimal number with an optional unit. As in fio, `k`, `m`, `g`, `t` (and `KiB` …) are powers
/// of 1024, `KB`, `MB` … powers of 1000, and `s` counts 512-byte sectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ByteSize(pub u64);

impl FromStr for ByteSize {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (number, unit) = split_unit(text);
        let factor = size_factor(unit).ok_or_else(|| {
            ParseUnitError(format!("'{text}' is no size: use a number with k, m, g, t (powers of 1024), KB, MB, GB (powers of 1000) or s (512-byte sectors)"))
        })?;
        parse_decimal(number, factor)
            .map(ByteSize)
            .map_err(|why| ParseUnitError(format!("'{text}' is no size: {why}; for example 4k or 1.5g")))
    }
}

fn size_factor(unit: &str) -> Option<u64> {
    let unit = unit.to_ascii_lowercase();
    let power = |base: u64, letter: u8| {
        let exponent = b"kmgtpe".iter().position(|l| *l == letter)? as u32 + 1;
        base.checked_pow(exponent)
    };
    match unit.as_bytes() {
        [] | b"b" => Some(1),
        b"s" => Some(SECTOR),
        [letter] | [letter, b'i'] | [letter, b'i', b'b'] => power(1024, *letter),
        [letter, b'b'] => power(1000, *letter),
        _ => None,
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("TiB", 1u64 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
        match units.iter().find(|(_, factor)| self.0 >= *factor && self.0.is_multiple_of(*factor)) {
            Some((unit, factor)) => write!(f, "{}{unit}", self.0 / factor),
            None => write!(f, "{}", self.0),
        }
    }
}

impl TryFrom<String> for ByteSize {
    type Error = ParseUnitError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<ByteSize> for String {
    fn from(n: ByteSize) -> String {
        n.to_string()
    }
}

/// A factor by which a load's time runs faster, exact to nine decimals; never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Speed(u64);

impl Speed {
    const ONE: u64 = 1_000_000_000;

    /// `time ÷ speed`, rounded down to whole nanoseconds; saturates at the end of time (584 years).
    pub fn scale(self, time: Nanos) -> Nanos {
        let scaled = u128::from(time.0) * u128::from(Self::ONE) / u128::from(self.0);
        Nanos(u64::try_from(scaled).unwrap_or(u64::MAX))
    }

    /// The load's own time after `time` of the run: the inverse of [`Speed::scale`].
    pub fn unscale(self, time: Nanos) -> Nanos {
        let load_time = u128::from(time.0) * u128::from(self.0) / u128::from(Self::ONE);
        Nanos(u64::try_from(load_time).unwrap_or(u64::MAX))
    }

    /// Whether time runs as recorded.
    pub fn is_one(self) -> bool {
        self.0 == Self::ONE
    }
}

impl Default for Speed {
    fn default() -> Self {
        Speed(Self::ONE)
    }
}

impl FromStr for Speed {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match parse_decimal(text, Self::ONE) {
            Ok(0) => {
                Err(ParseUnitError(format!("'{text}' is no speed: it must be above 0, for example 2 or 0.5")))
            }
            Ok(n) => Ok(Speed(n)),
            Err(why) => Err(ParseUnitError(format!("'{text}' is no speed: {why}; for example 2 or 0.5"))),
        }
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&decimal(self.0, Self::ONE))
    }
}

impl TryFrom<String> for Speed {
    type Error = ParseUnitError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Speed> for String {
    fn from(s: Speed) -> String {
        s.to_string()
    }
}

/// A number of at least 0, exact to nine decimals: parameters of distributions.
///
/// Read from a whole number or a text.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Number", into = "String")]
pub struct Decimal(u64);

#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Whole(u64),
    Text(String),
}

impl Decimal {
    const ONE: u64 = 1_000_000_000;

    /// A whole number, at most 18 billion.
    pub const fn whole(number: u64) -> Decimal {
        Decimal(number * Self::ONE)
    }

    /// As a whole number of billionths.
    pub const fn parts(self) -> u64 {
        self.0
    }

    /// As floating point.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / Self::ONE as f64
    }
}

impl FromStr for Decimal {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let no_number = |why| ParseUnitError(format!("'{text}' is no number: {why}; for example 1.1 or 20"));
        parse_decimal(text, Self::ONE).map(Decimal).map_err(no_number)
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&decimal(self.0, Self::ONE))
    }
}

impl TryFrom<Number> for Decimal {
    type Error = ParseUnitError;
    fn try_from(number: Number) -> Result<Self, Self::Error> {
        match number {
            Number::Whole(whole) => whole.to_string().parse(),
            Number::Text(text) => text.parse(),
        }
    }
}

impl From<Decimal> for String {
    fn from(d: Decimal) -> String {
        d.to_string()
    }
}

/// Writes a decimal as a plan has it: a whole number as one, any other as a text.
pub(crate) fn plain<S: serde::Serializer>(decimal: &Decimal, serializer: S) -> Result<S::Ok, S::Error> {
    match decimal.0 % Decimal::ONE {
        0 => serializer.serialize_u64(decimal.0 / Decimal::ONE),
        _ => serializer.collect_str(decimal),
    }
}

fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    (text[..end].trim_end(), &text[end..])
}

/// A decimal number times `factor`, exactly: no rounding, no floating point.
fn parse_decimal(text: &str, factor: u64) -> Result<u64, &'static str> {
    let text = text.trim();
    if text.contains(',') {
        return Err("it has a decimal comma, write a point");
    }
    if text.starts_with('-') {
        return Err("it must not be negative");
    }
    let text = text.strip_prefix('+').unwrap_or(text);
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() && fraction.is_empty() || !digits(whole) || !digits(fraction) {
        return Err("it is no decimal number");
    }
    let too_large = "it is too large";
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| too_large)? };
    let mut value = whole.checked_mul(u128::from(factor)).ok_or(too_large)?;
    let fraction = fraction.trim_end_matches('0');
    if !fraction.is_empty() {
        let scale = 10u128.checked_pow(fraction.len() as u32).ok_or("it has too many digits")?;
        let part = fraction.parse::<u128>().ok().and_then(|part| part.checked_mul(u128::from(factor)));
        let part = part.ok_or("it has too many digits")?;
        if !part.is_multiple_of(scale) {
            return Err("it has more digits than can be kept");
        }
        value += part / scale;
    }
    u64::try_from(value).map_err(|_| too_large)
}

/// `value ÷ factor` as an exact decimal without trailing zeros; `factor` is a power of ten.
fn decimal(value: u64, factor: u64) -> String {
    let (whole, rest) = (value / factor, value % factor);
    if rest == 0 {
        return whole.to_string();
    }
    let width = factor.ilog10() as usize;
    format!("{whole}.{rest:0width$}").trim_end_matches('0').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn too_many_digits_are_an_error() {
        for digits in [30, 37, 38, 39, 40, 400] {
            assert!(format!("0.01{}s", "3".repeat(digits)).parse::<Nanos>().is_err(), "{digits}");
        }
    }

    #[test]
    fn times_and_fractions_are_exact() {
        for (text, want) in [
            ("0.5", 500_000_000),
            ("1", 1_000_000_000),
            ("18.002030345", 18_002_030_345),
            ("100us", 100_000),
            ("1.5 ms", 1_500_000),
            ("2m", 120_000_000_000),
            (".25s", 250_000_000),
        ] {
            assert_eq!(text.parse(), Ok(Nanos(want)), "{text}");
        }
    }

    #[test]
    fn rejects_unrepresentable_values() {
        for text in
            ["", "s", "0,5", "-1", "1e3", "nan", "0.0000000001", "1x", "99999999999999999999", "1.2.3"]
        {
            assert!(text.parse::<Nanos>().is_err(), "{text}");
        }
        assert!("0".parse::<Speed>().is_err());
        assert!("4q".parse::<ByteSize>().is_err());
    }

    #[test]
    fn sizes_follow_fio() {
        for (text, want) in
            [("4k", 4096), ("4KiB", 4096), ("4kb", 4000), ("8s", 4096), ("1.5m", 1_572_864), ("7", 7)]
        {
            assert_eq!(text.parse(), Ok(ByteSize(want)), "{text}");
        }
    }

    #[test]
    fn speed_divides_exactly() {
        let two: Speed = "2".parse().unwrap();
        assert_eq!(two.scale(Nanos(750_000_001)), Nanos(375_000_000));
        let half: Speed = "0.5".parse().unwrap();
        assert_eq!(half.scale(Nanos(3)), Nanos(6));
    }

    proptest! {
        #[test]
        fn text_round_trips(n: u64) {
            prop_assert_eq!(Nanos(n).to_string().parse(), Ok(Nanos(n)));
            prop_assert_eq!(ByteSize(n).to_string().parse(), Ok(ByteSize(n)));
        }
    }
}
