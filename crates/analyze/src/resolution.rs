//! Widths of the columns of pictures: as narrow as a screen can show, or as wide as saves memory.

use crate::is_memory_scarce;
use serde::{Deserialize, Serialize};

/// A run of more parts that are counted apart has wide columns: each part has its own counts, and all of them are read and merged.
const MOST_FINE_PARTS: usize = 64;

/// Number of columns of pictures. Counts can be merged if it is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Resolution {
    /// As many columns as one can zoom into.
    Fine,
    /// A tenth of the memory.
    Coarse,
}

impl Resolution {
    /// That of this process.
    pub(crate) fn here() -> Resolution {
        if is_memory_scarce() { Resolution::Coarse } else { Resolution::Fine }
    }

    /// That of a run whose records are counted in this number of parts.
    pub(crate) fn for_parts(parts: usize) -> Resolution {
        if parts > MOST_FINE_PARTS { Resolution::Coarse } else { Resolution::here() }
    }

    /// The number for fine columns, or the one for coarse columns.
    pub(crate) fn of<T>(self, fine: T, coarse: T) -> T {
        match self {
            Resolution::Fine => fine,
            Resolution::Coarse => coarse,
        }
    }
}
