//! Latencies by place.

use iosonar_analyze::extents::ExtentLatencies;
use iosonar_archive::TOOL;
use serde_json::Value;

/// Latencies of a run by the place of its requests.
#[derive(Debug)]
pub struct Answer {
    /// The latencies of each group of requests.
    pub latencies: ExtentLatencies,
}

impl Answer {
    /// The answer as JSON.
    pub fn to_json(&self) -> Value {
        self.latencies.to_json(TOOL)
    }
}
