//! How the ways to create files compare.

use iosonar_archive::RunInfo;
use iosonar_cells::creation::CreationAnswer;
use iosonar_layout::Map;

/// How the ways to create files compare.
pub struct Answer {
    /// The figures and the maps; absent if the files were not created.
    pub measured: Option<Measured>,
    /// The last run: of the scans, or of a creation that failed.
    pub info: RunInfo,
    /// Whether each method has all of its figures.
    pub is_whole: bool,
    /// Whether the figures of a run are not what they claim to be.
    pub is_fake: bool,
}

/// The figures and the maps.
pub struct Measured {
    /// The figures, as `layout.json` keeps them.
    pub creation: CreationAnswer,
    /// The maps of all files, in the order of the methods.
    pub maps: Vec<Map>,
}
