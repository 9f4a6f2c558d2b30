//! The content of the targets, compared.

use iosonar_archive::{Fault, Verified};
use serde_json::{Value, json};
use std::path::PathBuf;

/// The content of a run's targets, compared with its records.
#[derive(Debug)]
pub struct Answer {
    /// Paths of the targets that were read, by their number in the plan.
    pub targets: Vec<PathBuf>,
    /// Counts of what was compared.
    pub verified: Verified,
    /// The faults that are kept.
    pub faults: Vec<Fault>,
}

impl Answer {
    /// Whether everything that was to be compared was compared.
    pub fn is_whole(&self) -> bool {
        self.verified.given_up == 0 && self.verified.scan.is_none_or(|scan| !scan.stopped)
    }

    /// The answer as JSON.
    pub fn to_json(&self) -> Value {
        let targets: Vec<String> = self.targets.iter().map(|path| path.display().to_string()).collect();
        json!({ "targets": targets, "verified": self.verified, "faults": self.faults })
    }
}
