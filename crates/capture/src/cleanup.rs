//! Undoes changes that killed recorders left in the kernel.

use crate::error::CaptureError;
use crate::{blktrace, tracefs};

/// Result of a cleanup.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cleaned {
    /// Process numbers of dead recorders whose tracing was switched off and removed.
    pub removed: Vec<u32>,
    /// Process numbers of active recorders.
    pub alive: Vec<u32>,
}

/// Removes traces that dead recorders left in the kernel.
///
/// # Errors
/// The kernel refuses.
pub fn cleanup() -> Result<Cleaned, CaptureError> {
    let mut cleaned = Cleaned::default();
    // tracefs comes last: searching it below debugfs mounts it there, and then debugfs could not be unmounted.
    blktrace::cleanup(&mut cleaned.removed, &mut cleaned.alive)?;
    tracefs::cleanup(&mut cleaned.removed, &mut cleaned.alive)?;
    Ok(cleaned)
}
