//! Experiment on creation methods: how a file was created determines how it reads.
//!
//! A [`Method`] is a way to create a file, as data. An [`Experiment`] has several, and becomes two plans: one creates
//! the files, one evicts and scans them in rounds. [`CreationAnswer`] is the result: rates, layouts, whether scans
//! differ, and why layouts do.

mod answer;
mod cause;
mod correlation;
mod csv;
mod free;
mod method;
mod plan;
mod text;

pub use answer::{
    ANSWER_VERSION, CreationAnswer, FileAnswer, MethodAnswer, ScanAnswer, ScanReads, Setting, Spread, Trial,
};
pub use correlation::{Correlation, MIN_METHODS};
pub use csv::creation_csv;
pub use free::{FreeBefore, FreeStates};
pub use method::{Content, Files, FillOrder, Method, MethodError, SpaceBefore, Way, WriteSize};
pub use plan::{Experiment, ExperimentError};
pub use text::creation_text;
