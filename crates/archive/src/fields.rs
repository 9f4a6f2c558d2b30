//! Which fields of a record somebody wants to read: what is not wanted need not be decoded.

use crate::columns::COLUMN_COUNT;

/// A set of fields of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fields(u32);

impl Fields {
    /// None.
    pub const NONE: Fields = Fields(0);
    /// Every field.
    pub const ALL: Fields = Fields((1 << COLUMN_COUNT) - 1);
    /// Number among those of its target and pass.
    pub const SEQUENCE: Fields = Fields(1);
    /// Target, worker, pass and phase.
    pub const ORIGIN: Fields = Fields(0b11110);
    /// What it did.
    pub const OP: Fields = Fields(1 << 5);
    /// How it ended.
    pub const OUTCOME: Fields = Fields(1 << 6);
    /// When it was due.
    pub const DUE: Fields = Fields(1 << 8);
    /// When it was submitted.
    pub const SUBMITTED: Fields = Fields(1 << 11);
    /// When it was completed.
    pub const COMPLETED: Fields = Fields(1 << 12);
    /// How late its completion may have been seen.
    pub const REAP_LAG: Fields = Fields(1 << 13);
    /// The range that the source requested.
    pub const REQUESTED: Fields = Fields(0b11 << 14);
    /// The range that was really used.
    pub const EXECUTED: Fields = Fields(0b11 << 16);
    /// Bytes transferred, or the negative errno.
    pub const RESULT: Fields = Fields(1 << 18);
    /// What was special about it.
    pub const MARKS: Fields = Fields(0xfff << 19);

    /// Both.
    #[must_use]
    pub const fn and(self, other: Fields) -> Fields {
        Fields(self.0 | other.0)
    }

    /// Whether the column of this number is wanted.
    pub(crate) const fn has(self, column: usize) -> bool {
        self.0 >> column & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Marks;
    use crate::columns::COLUMNS;

    #[test]
    fn names_and_columns_agree() {
        let columns = |fields: Fields| -> Vec<&str> {
            let wanted = COLUMNS.iter().enumerate().filter(|(i, _)| fields.has(*i));
            wanted.map(|(_, (name, _))| *name).collect()
        };
        assert_eq!(columns(Fields::SEQUENCE), ["sequence"]);
        assert_eq!(columns(Fields::ORIGIN), ["target", "worker", "pass", "phase"]);
        assert_eq!(columns(Fields::OP.and(Fields::OUTCOME)), ["op", "outcome"]);
        assert_eq!(columns(Fields::DUE.and(Fields::SUBMITTED)), ["due_ns", "submitted_ns"]);
        assert_eq!(columns(Fields::COMPLETED.and(Fields::REAP_LAG)), ["completed_ns", "reap_lag_ns"]);
        assert_eq!(columns(Fields::REQUESTED), ["requested_offset_bytes", "requested_length_bytes"]);
        assert_eq!(columns(Fields::RESULT), ["result"]);
        assert_eq!(columns(Fields::MARKS).len(), Marks::ALL.len());
        assert_eq!(columns(Fields::ALL).len(), COLUMNS.len());
    }
}
