//! Handling of requests that fail or stay short.

use serde::{Deserialize, Serialize};

/// Handling of requests that fail or stay short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Faults {
    /// A target's part ends, cleanly, when more than this many of its requests have failed; `None` means no limit. 0 ends it at the
    /// first failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_errors: Option<u64>,
    /// Handling of a call that transfers less than requested.
    #[serde(default)]
    pub short: ShortPolicy,
}

/// Handling of a call that transfers less than requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShortPolicy {
    /// The rest is requested until all is done or nothing more comes, as a careful program would. The latency is that of all calls
    /// together, and the request is marked as short.
    #[default]
    Complete,
    /// The request ends with the first call's transfer: it counts as failed.
    Record,
}
