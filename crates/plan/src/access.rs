//! How targets are opened.

use crate::SyncFlag;
use serde::{Deserialize, Serialize};

/// Access to targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Access {
    /// Through the page cache instead of `O_DIRECT`. The result is then marked as no storage result.
    #[serde(default)]
    pub buffered: bool,
    /// Whether each write waits for stable storage.
    #[serde(default)]
    pub sync: SyncFlag,
}
