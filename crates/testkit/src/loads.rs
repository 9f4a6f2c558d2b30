//! Recorded loads that tests replay.

use std::path::{Path, PathBuf};

/// Path of a load in `examples/loads`, by its name without `.load.gz`.
pub fn own_load(name: &str) -> PathBuf {
    let path = root().join("examples/loads").join(format!("{name}.load.gz"));
    assert!(path.exists(), "{} does not exist", path.display());
    path
}

/// A third-party load with independently computed figures. It is not part of the repository and may be beside it; every
/// code path is tested with own loads, too, so no test is skipped without it.
pub fn load_of_others(name: &str) -> Option<PathBuf> {
    root().join("../shared/loads").join(format!("{name}.load.gz")).canonicalize().ok()
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
