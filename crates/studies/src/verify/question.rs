//! A result to verify.

use iosonar_engine::CrashOptions;
use iosonar_plan::{ByteSize, Decimal};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The result of a run that wrote, and how its targets are read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Question {
    /// Directory of the result.
    pub result: PathBuf,
    /// Paths of targets in the plan, and where their data is now.
    pub moved: Vec<(PathBuf, PathBuf)>,
    /// Numbers of the targets that are on this machine; `None`: all.
    pub only: Option<Vec<u16>>,
    /// The share of the places that is read, in percent; `None`: all.
    pub sample: Option<Decimal>,
    /// Memory for expected state.
    pub memory: ByteSize,
    /// Facts about the crash that ended the run, if one did. They are of this machine.
    #[serde(skip)]
    pub crash: Option<CrashOptions>,
}
