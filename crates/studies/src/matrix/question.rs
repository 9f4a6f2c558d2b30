//! Which cells are measured, and where their results are.

use iosonar_cells::Question as Asked;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A new matrix or a started one, and what its measurement may do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The matrix.
    pub cells: Cells,
    /// Allows files that exist: they are overwritten, and removed at the end.
    pub destroy: bool,
    /// Keeps the files at the end.
    pub keep: bool,
    /// Removes the records of a part when its cells are counted.
    pub no_records: bool,
    /// Writes an apostrophe before words of the CSV that a spreadsheet would take for formulas.
    pub csv_safe: bool,
}

/// Where the question of a matrix is from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Cells {
    /// A new matrix.
    New {
        /// Its question.
        asked: Asked,
        /// Directory of its results, which must not exist.
        out: PathBuf,
    },
    /// The missing cells of a started matrix.
    Resumed {
        /// Directory of its results.
        dir: PathBuf,
        /// A question that has to equal the kept one.
        asked: Option<Asked>,
    },
}
