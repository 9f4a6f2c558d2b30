//! Selects the fields of a record to read: others need not be decoded.

use crate::columns::COLUMN_COUNT;

/// A set of fields of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fields(u32);

impl Fields {
    /// No field.
    pub const NONE: Fields = Fields(0);
    /// Every field.
    pub const ALL: Fields = Fields((1 << COLUMN_COUNT) - 1);
    /// Number within its target and pass.
    pub const SEQUENCE: Fields = Fields(1);
    /// Target, worker, pass and phase.
    pub const ORIGIN: Fields = Fields(0b11110);
    /// Operation.
    pub const OP: Fields = Fields(1 << 5);
    /// Outcome.
    pub const OUTCOME: Fields = Fields(1 << 6);
    /// Due time.
    pub const DUE: Fields = Fields(1 << 8);
    /// Submission time.
    pub const SUBMITTED: Fields = Fields(1 << 11);
    /// Completion time.
    pub const COMPLETED: Fields = Fields(1 << 12);
    /// Completion poll delay.
    pub const REAP_LAG: Fields = Fields(1 << 13);
    /// Range requested by the source.
    pub const REQUESTED: Fields = Fields(0b11 << 14);
    /// Range executed.
    pub const EXECUTED: Fields = Fields(0b11 << 16);
    /// Bytes transferred, or the negative errno.
    pub const RESULT: Fields = Fields(1 << 18);
    /// Marks.
    pub const MARKS: Fields = Fields(0xfff << 19);

    /// Union of both.
    #[must_use]
    pub const fn and(self, other: Fields) -> Fields {
        Fields(self.0 | other.0)
    }

    /// Whether the column of this number is selected.
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
