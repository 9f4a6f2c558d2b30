//! Effects of earlier runs on a target.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A range of bytes of a target that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenRange {
    /// Lowest byte.
    pub start: u64,
    /// End of the highest byte.
    pub end: u64,
}

impl WrittenRange {
    /// Smallest range that contains both.
    #[must_use]
    pub fn with(self, other: WrittenRange) -> WrittenRange {
        WrittenRange { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// Whether both share a byte.
    pub fn overlaps(self, other: WrittenRange) -> bool {
        self.start.max(other.start) < self.end.min(other.end)
    }

    /// Smallest range that contains the rest of it without `other`; `None` if empty.
    pub fn without(self, other: WrittenRange) -> Option<WrittenRange> {
        let (covers_start, covers_end) = (other.start <= self.start, other.end >= self.end);
        match (covers_start, covers_end) {
            _ if !self.overlaps(other) => Some(self),
            (true, true) => None,
            (true, false) => Some(WrittenRange { start: other.end, ..self }),
            (false, true) => Some(WrittenRange { end: other.start, ..self }),
            (false, false) => Some(self),
        }
    }
}

/// An earlier run that wrote a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormerRun {
    /// End time, in seconds since 1970.
    pub ended_unix: u64,
    /// From the lowest to the highest byte that it wrote, except where a later fill overwrote them.
    pub written: WrittenRange,
    /// Directory of its result; `None` if that no longer exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<PathBuf>,
    /// Whether the file was changed by another program later.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changed_since: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u64, end: u64) -> WrittenRange {
        WrittenRange { start, end }
    }

    #[test]
    fn subtracts_filled_range() {
        let written = range(10, 20);
        assert_eq!(written.without(range(0, 30)), None);
        assert_eq!(written.without(range(10, 20)), None);
        assert_eq!(written.without(range(0, 15)), Some(range(15, 20)));
        assert_eq!(written.without(range(15, 20)), Some(range(10, 15)));
        assert_eq!(written.without(range(12, 15)), Some(written));
        assert_eq!(written.without(range(20, 30)), Some(written));
    }

    #[test]
    fn adjacent_ranges_do_not_overlap() {
        assert!(range(0, 10).overlaps(range(9, 20)) && !range(0, 10).overlaps(range(10, 20)));
        assert_eq!(range(5, 10).with(range(0, 7)), range(0, 10));
    }
}
