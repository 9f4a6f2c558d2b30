//! What earlier runs did to a target.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A range of bytes of a target that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenRange {
    /// The lowest byte.
    pub start: u64,
    /// The end of the highest one.
    pub end: u64,
}

impl WrittenRange {
    /// The smallest range that holds both.
    #[must_use]
    pub fn with(self, other: WrittenRange) -> WrittenRange {
        WrittenRange { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// Whether both have a byte in common.
    pub fn overlaps(self, other: WrittenRange) -> bool {
        self.start.max(other.start) < self.end.min(other.end)
    }

    /// What is left of it without `other`: the smallest range that holds the rest; none where nothing is left.
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
    /// When it ended, in seconds since 1970.
    pub ended_unix: u64,
    /// The lowest and the highest byte that it wrote, as far as no later fill wrote them again.
    pub written: WrittenRange,
    /// Where its result is; none where it is not there any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<PathBuf>,
    /// The file was changed by somebody else after it.
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
    fn what_a_fill_leaves_of_a_range() {
        let written = range(10, 20);
        assert_eq!(written.without(range(0, 30)), None);
        assert_eq!(written.without(range(10, 20)), None);
        assert_eq!(written.without(range(0, 15)), Some(range(15, 20)));
        assert_eq!(written.without(range(15, 20)), Some(range(10, 15)));
        assert_eq!(written.without(range(12, 15)), Some(written));
        assert_eq!(written.without(range(20, 30)), Some(written));
    }

    #[test]
    fn neighbours_do_not_overlap() {
        assert!(range(0, 10).overlaps(range(9, 20)) && !range(0, 10).overlaps(range(10, 20)));
        assert_eq!(range(5, 10).with(range(0, 7)), range(0, 10));
    }
}
