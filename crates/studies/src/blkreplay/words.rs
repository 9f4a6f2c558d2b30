//! Errors of the preparation in the words of blkreplay's command line.

use iosonar_engine::PrepareError;
use std::path::Path;

/// Rewords an error whose remedy names options of another command line; `None` if it names none.
pub fn in_own_words(device: &str, error: &PrepareError) -> Option<String> {
    Some(match error {
        PrepareError::NoDirectIo(_) => format!(
            "target {device}: its file system has no direct I/O; use a target elsewhere, or --no-o-direct, which measures \
             the page cache too"
        ),
        PrepareError::NoSize(_) => {
            let why = Path::new(device).metadata().err().map_or(String::new(), |error| format!(": {error}"));
            format!(
                "target {device}{why}; a run without I/O takes its size from DEVICE: name one that exists"
            )
        }
        PrepareError::Memory { needed, available, what } => format!(
            "the run needs {needed} MiB of memory ({what}), and {available} MiB are available: use fewer --threads=N"
        ),
        _ => return None,
    })
}
