//! Undoing what recorders that were killed left in the kernel.

use crate::error::CaptureError;
use crate::{blktrace, tracefs};

/// What a cleanup found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cleaned {
    /// Numbers of processes that are gone, whose tracing was switched off and removed.
    pub removed: Vec<u32>,
    /// Numbers of processes that still record.
    pub alive: Vec<u32>,
}

/// Removes what recorders that are gone left in the kernel.
///
/// # Errors
/// What the kernel refuses.
pub fn cleanup() -> Result<Cleaned, CaptureError> {
    let mut cleaned = Cleaned::default();
    // Looking for tracing below debugfs mounts that there, and debugfs could not be unmounted.
    blktrace::cleanup(&mut cleaned.removed, &mut cleaned.alive)?;
    tracefs::cleanup(&mut cleaned.removed, &mut cleaned.alive)?;
    Ok(cleaned)
}
