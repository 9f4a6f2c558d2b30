//! Traces to convert, and their new form.

use super::form::Form;
use iosonar_inputs::traces::Reading;
use std::path::PathBuf;

/// Traces, and the form that they get.
#[derive(Debug, Clone)]
pub struct Question {
    /// Traces, loads and archives, which are merged by time; `-` is standard input.
    pub inputs: Vec<PathBuf>,
    /// The output, which must not exist; `-` is standard output.
    pub out: PathBuf,
    /// Form of the output.
    pub form: Form,
    /// How the inputs are read.
    pub reading: Reading,
    /// Whether there is one output for each device or process, named after `out`.
    pub split: Option<Split>,
    /// File name in a log of fio.
    pub fio_file: String,
    /// Start of the output's line on the origin of its requests; `None`: that they were converted, and the names of the inputs.
    pub origin: Option<String>,
}

/// By what an output is split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// By device.
    Device,
    /// By process name.
    Process,
}
