//! Which target is examined.

use iosonar_plan::{Claim, Nanos};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The target, and the claim of the measurement that is planned on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Block device, file or directory.
    pub target: PathBuf,
    /// The claim of the planned measurement.
    pub claim: Claim,
    /// How long the use of its devices by others is watched; zero does not watch them.
    pub quiet: Nanos,
}
