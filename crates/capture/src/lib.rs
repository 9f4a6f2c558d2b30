//! Records the block I/O of live devices: through a separate instance of the kernel's tracing or through its blktrace
//! interface, read in batches, and kept in segments of events on disk.
//!
//! All changes in the kernel are undone when a [`Recorder`] ends; [`cleanup`] undoes those of killed recorders. This
//! crate depends on no archives and no terminals.

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
pub use recorder::{Interface, Recorder, Round, Settings, Watch, is_recording};
pub use segments::{Segments, Stored};
