//! Two traces to compare.

use iosonar_inputs::traces::Reading;
use std::path::PathBuf;

/// A replay, and the trace to compare it with.
#[derive(Debug, Clone)]
pub struct Question {
    /// Expected requests: an archive of a replay, a result, or a load.
    pub replay: PathBuf,
    /// Observed requests: a recording, or any other trace.
    pub recording: PathBuf,
    /// How both are read. Processes are selected in the recording only, because a replay names none.
    pub reading: Reading,
}
