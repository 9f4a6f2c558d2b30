//! What written blocks contain.

use serde::{Deserialize, Serialize};

/// Identifies a run in every block that it writes. Below 2^63, so that TOML can hold it.
pub type RunId = u64;

/// Content of a written sector behind its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fill {
    /// Incompressible share of each sector in percent, 0 to 100; the rest is zeros.
    #[serde(default)]
    pub random_percent: u8,
}
