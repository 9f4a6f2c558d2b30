//! Recording the block I/O of live devices: an instance of the kernel's tracing of our own, its ring buffers read in
//! batches, and segments of events on disk.
//!
//! Whatever is changed in the kernel is undone when a [`Recorder`] ends; what a killed one left behind, [`cleanup`] undoes.
//! This room knows no archives and no terminals.

mod recorder;
mod segments;
mod tracefs;

pub use recorder::{Counts, Recorder, Round, Settings, Watch};
pub use segments::{Segments, Stored, segment_files};
pub use tracefs::{CaptureError, Cleaned, cleanup};
