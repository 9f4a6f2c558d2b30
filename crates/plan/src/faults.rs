//! What happens when requests fail or stay short.

use serde::{Deserialize, Serialize};

/// What happens when requests fail or stay short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Faults {
    /// A target's part ends, cleanly, when more than this many of its requests have failed; none: it goes on
    /// whatever fails. 0 ends it at the first failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_errors: Option<u64>,
    /// What happens when a call transfers less than it was asked to.
    #[serde(default)]
    pub short: ShortPolicy,
}

/// What happens when a call transfers less than it was asked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShortPolicy {
    /// The rest is asked for until all is done or nothing more comes, as a careful program would. The latency is
    /// that of all calls together, and the request is marked as short.
    #[default]
    Complete,
    /// The request ends with what the first call transferred: it counts as failed.
    Record,
}
