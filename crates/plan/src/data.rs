//! Content of written blocks.

use serde::{Deserialize, Serialize};

/// Identifies a run in every block that it writes. Below 2^63, so that TOML can hold it.
pub type RunId = u64;

/// Content of a written sector after its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fill {
    /// Incompressible share of each sector in percent, 0 to 100; the rest is zeros. All of it by default: a target that
    /// compresses or deduplicates must not look faster than it is.
    #[serde(default = "all")]
    pub random_percent: u8,
}

impl Default for Fill {
    fn default() -> Fill {
        Fill { random_percent: all() }
    }
}

fn all() -> u8 {
    100
}
