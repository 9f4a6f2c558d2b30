//! Think time: pauses between the requests of an issuing loop.

use crate::strict::is_default;
use crate::validate::{Result, require, time};
use crate::{Generator, InvalidPlan, Nanos, Pace};
use serde::{Deserialize, Serialize};

/// Pauses between the requests of an issuing loop whose requests have no due times.
///
/// A pause starts when no request of the loop is in flight any more, and the next request starts at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThinkTime {
    /// Length of a pause, above 0 (fio: `thinktime`).
    pub time: Nanos,
    /// How much of a pause the loop spins, at its end; it sleeps the rest (fio: `thinktime_spin`).
    #[serde(default, skip_serializing_if = "is_default")]
    pub spin: Nanos,
    /// Requests between two pauses, at least 1 (fio: `thinktime_blocks`). Flushes do not count, and precede the pause.
    #[serde(default = "one_block", skip_serializing_if = "is_one_block")]
    pub blocks: u64,
}

fn one_block() -> u64 {
    1
}

fn is_one_block(blocks: &u64) -> bool {
    *blocks == 1
}

/// Checks the pauses of a generated workload.
pub(crate) fn validate_think_time(generator: &Generator) -> Result {
    let Some(ThinkTime { time: length, spin, blocks }) = generator.thinktime else { return Ok(()) };
    require(length > Nanos(0), || {
        InvalidPlan::of("thinktime.time", "a pause has a length").value(length).remedy("give a time above 0")
    })?;
    time("thinktime.time", length)?;
    require(spin <= length, || {
        InvalidPlan::of("thinktime.spin", format!("it is longer than the pause of {length}"))
            .value(spin)
            .remedy("use at most `thinktime.time`")
    })?;
    require(blocks > 0, || InvalidPlan::of("thinktime.blocks", "it must be at least 1").value(0))?;
    require(generator.pace == Pace::Closed, || {
        InvalidPlan::of("thinktime", "requests with due times have no pauses")
            .remedy("remove it, or use a closed `pace`")
    })
}
