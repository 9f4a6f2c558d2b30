//! Requests and bytes per second.

use serde::{Deserialize, Serialize};

/// Requests and bytes per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// Number of requests.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The time that they are spread over.
    pub duration_ns: u64,
    /// requests ÷ duration.
    pub requests_per_second: f64,
    /// bytes ÷ duration.
    pub bytes_per_second: f64,
}

impl Rate {
    pub(crate) fn over(requests: u64, bytes: u64, duration_ns: u64) -> Rate {
        let seconds = duration_ns as f64 / 1e9;
        Rate {
            requests,
            bytes,
            duration_ns,
            requests_per_second: requests as f64 / seconds,
            bytes_per_second: bytes as f64 / seconds,
        }
    }
}
