//! Rules of single values: limits, and how a refusal names its field.

use crate::{ByteSize, InvalidPlan, Nanos};
use std::path::Path;

/// The longest time in a plan, 146 years: so that sums of a few times fit into 64 bits.
pub(crate) const MAX_TIME: Nanos = Nanos(1 << 62);
/// The end of the largest file that Linux knows.
pub(crate) const MAX_BYTES: u64 = 1 << 63;
/// The most requests of a pattern over all passes: a sequence number stays exact even as floating point, and there are
/// numbers left for steps that are no requests.
pub(crate) const MAX_REQUESTS: u64 = 1 << 52;

pub(crate) type Result = std::result::Result<(), InvalidPlan>;

pub(crate) fn require(holds: bool, why: impl FnOnce() -> InvalidPlan) -> Result {
    if holds { Ok(()) } else { Err(why()) }
}

/// Prefixes a reason with its subject.
pub(crate) fn named(name: &str, checked: Result) -> Result {
    checked.map_err(|why| why.within(name))
}

pub(crate) fn within(name: &str, value: u64, least: u64, most: u64) -> Result {
    require((least..=most).contains(&value), || {
        InvalidPlan::of(name, format!("it must lie between {least} and {most}")).value(value)
    })
}

pub(crate) fn time(name: &str, value: Nanos) -> Result {
    require(value <= MAX_TIME, || {
        InvalidPlan::of(name, format!("at most {MAX_TIME} (146 years) can be stored")).value(value)
    })
}

pub(crate) fn utf8(name: &str, path: &Path) -> Result {
    require(path.to_str().is_some(), || {
        InvalidPlan::of(name, "it is no UTF-8, and a plan is TOML, which holds nothing else")
            .value(format_args!("{path:?}"))
            .remedy("rename it, or make a link with another name")
    })
}

/// Refuses a range that ends after the largest file.
pub(crate) fn bytes(name: &str, start: ByteSize, length: ByteSize) -> Result {
    require(start.0.checked_add(length.0).is_some_and(|end| end <= MAX_BYTES), || {
        InvalidPlan::of(name, "it lies beyond 2^63 bytes, the end of the largest file of Linux")
    })
}
