//! Which traces to describe.

use iosonar_inputs::traces::Reading;
use std::path::PathBuf;

/// Traces, loads and archives, which are merged by time.
#[derive(Debug, Clone)]
pub struct Question {
    /// The inputs; `-` is standard input.
    pub inputs: Vec<PathBuf>,
    /// How they are read.
    pub reading: Reading,
}
