//! Why recording is impossible, or failed.

use iosonar_trace::kernel::ring::FormError;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Why recording is impossible, or failed.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// An operation failed.
    #[error("{path}: {error}{}", remedy(.error))]
    Io {
        /// Path.
        path: PathBuf,
        /// Error from the kernel.
        error: io::Error,
    },
    /// This kernel does not support recording. Holds the reason.
    #[error("{0}")]
    Impossible(String),
    /// The kernel's buffers have an unknown format.
    #[error(transparent)]
    Form(#[from] FormError),
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::PermissionDenied => {
            ": recording reads the kernel's trace buffers, which needs root (or CAP_SYS_ADMIN)"
        }
        ErrorKind::NotFound => {
            ": this kernel was built without it (CONFIG_EVENT_TRACING, CONFIG_BLK_DEV_IO_TRACE)"
        }
        _ => "",
    }
}

pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> CaptureError + '_ {
    move |error| CaptureError::Io { path: path.to_path_buf(), error }
}
