//! Recording the block I/O of live devices: through an instance of the kernel's tracing of our own or through its blktrace
//! interface, read in batches, and kept in segments of events on disk.
//!
//! Whatever is changed in the kernel is undone when a [`Recorder`] ends; what a killed one left behind, [`cleanup`] undoes.
//! This room knows no archives and no terminals.

mod blktrace;
mod cleanup;
mod error;
mod mount;
mod recorder;
mod segments;
mod tracefs;
mod tracepoints;

pub use cleanup::{Cleaned, cleanup};
pub use error::CaptureError;
pub use recorder::{Interface, Recorder, Round, Settings, Watch};
pub use segments::{Segments, Stored, segment_files};
