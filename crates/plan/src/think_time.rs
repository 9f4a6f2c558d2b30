//! Think time: pauses between the requests of an issuing loop.

use crate::Nanos;
use crate::strict::is_default;
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
