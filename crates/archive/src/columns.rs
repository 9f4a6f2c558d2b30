//! The columns of a record: one table that Parquet and the text forms follow.
//!
//! Values are gathered from a chunk of records at a time, while it lies in the cache, by loops that are made for each
//! column: records are large, and a pass through a whole row group of them for each column would be most of the cost.

use crate::{Marks, Outcome, Record};
use iosonar_plan::{Nanos, Op};

/// How values of a column are taken from records, and put back.
pub(crate) struct Access<V> {
    /// From one record.
    pub(crate) get: fn(&Record) -> V,
    /// From many, behind those that are there.
    pub(crate) gather: fn(&[Record], &mut Vec<V>),
    /// Into as many records as there are values.
    pub(crate) scatter: fn(&mut [Record], &[V]),
}

/// How a field of a record becomes a column.
pub(crate) enum Field {
    /// Unsigned 64-bit.
    Word(Access<u64>),
    /// Unsigned 64-bit, or absent.
    Optional(Access<Option<u64>>),
    /// Signed 64-bit.
    Signed(Access<i64>),
    /// Unsigned 32-bit.
    Small(Access<u32>),
    /// A word out of a fixed list, by its index.
    Name(&'static [&'static str], Access<u8>),
    /// True or false.
    Mark(Marks),
}

macro_rules! access {
    (|$r:ident| $get:expr, |$s:ident, $v:ident| $set:expr) => {
        Access {
            get: |$r| $get,
            gather: |rows, out| out.extend(rows.iter().map(|$r| $get)),
            scatter: |rows, values| {
                for ($s, $v) in rows.iter_mut().zip(values.iter().copied()) {
                    $set;
                }
            },
        }
    };
}

/// Words of operations and outcomes, by their numbers.
pub(crate) const OP_NAMES: [&str; 2] = ["read", "write"];
pub(crate) const OUTCOME_NAMES: [&str; 4] = ["completed", "failed", "dropped", "cancelled"];

/// How many columns there are.
pub(crate) const COLUMN_COUNT: usize = 29;

/// Every column of `records.parquet` and of the text forms, in order. `docs/archive.md` explains them.
pub(crate) static COLUMNS: [(&str, Field); COLUMN_COUNT] = [
    ("sequence", Field::Word(access!(|r| r.sequence, |r, v| r.sequence = v))),
    ("target", Field::Small(access!(|r| u32::from(r.target), |r, v| r.target = v as u16))),
    ("worker", Field::Small(access!(|r| u32::from(r.worker), |r, v| r.worker = v as u16))),
    ("pass", Field::Small(access!(|r| r.pass, |r, v| r.pass = v))),
    ("phase", Field::Small(access!(|r| u32::from(r.phase), |r, v| r.phase = v as u16))),
    ("op", Field::Name(&OP_NAMES, access!(|r| r.op as u8, |r, v| r.op = Op::ALL[usize::from(v)]))),
    (
        "outcome",
        Field::Name(
            &OUTCOME_NAMES,
            access!(|r| r.outcome as u8, |r, v| r.outcome = Outcome::ALL[usize::from(v)]),
        ),
    ),
    ("load_time_ns", Field::Word(access!(|r| r.load_time.0, |r, v| r.load_time = Nanos(v)))),
    ("due_ns", Field::Word(access!(|r| r.due.0, |r, v| r.due = Nanos(v)))),
    ("released_ns", Field::Optional(access!(|r| r.released.map(|t| t.0), |r, v| r.released = v.map(Nanos)))),
    ("blocked_by", Field::Optional(access!(|r| r.blocked_by, |r, v| r.blocked_by = v))),
    (
        "submitted_ns",
        Field::Optional(access!(|r| r.submitted.map(|t| t.0), |r, v| r.submitted = v.map(Nanos))),
    ),
    (
        "completed_ns",
        Field::Optional(access!(|r| r.completed.map(|t| t.0), |r, v| r.completed = v.map(Nanos))),
    ),
    ("reap_lag_ns", Field::Word(access!(|r| r.reap_lag.0, |r, v| r.reap_lag = Nanos(v)))),
    ("requested_offset_bytes", Field::Word(access!(|r| r.requested.offset, |r, v| r.requested.offset = v))),
    ("requested_length_bytes", Field::Word(access!(|r| r.requested.length, |r, v| r.requested.length = v))),
    ("executed_offset_bytes", Field::Word(access!(|r| r.executed.offset, |r, v| r.executed.offset = v))),
    ("executed_length_bytes", Field::Word(access!(|r| r.executed.length, |r, v| r.executed.length = v))),
    ("result", Field::Signed(access!(|r| r.result, |r, v| r.result = v))),
    ("pushed", Field::Mark(Marks::PUSHED)),
    ("ordered", Field::Mark(Marks::ORDERED)),
    ("wrapped", Field::Mark(Marks::WRAPPED)),
    ("at_border", Field::Mark(Marks::AT_BORDER)),
    ("rounded", Field::Mark(Marks::ROUNDED)),
    ("short", Field::Mark(Marks::SHORT)),
    ("held", Field::Mark(Marks::HELD)),
    ("no_buffer", Field::Mark(Marks::NO_BUFFER)),
    ("ramp", Field::Mark(Marks::RAMP)),
    ("ambiguous", Field::Mark(Marks::AMBIGUOUS)),
];

/// Values of one column.
#[derive(Debug)]
pub(crate) enum Values {
    Words(Vec<u64>),
    Optional(Vec<Option<u64>>),
    Signed(Vec<i64>),
    Small(Vec<u32>),
    Names(Vec<u8>),
    Flags(Vec<bool>),
}

impl Field {
    /// A column without values, with room for `rows`.
    pub(crate) fn values(&self, rows: usize) -> Values {
        match self {
            Field::Word(_) => Values::Words(Vec::with_capacity(rows)),
            Field::Optional(_) => Values::Optional(Vec::with_capacity(rows)),
            Field::Signed(_) => Values::Signed(Vec::with_capacity(rows)),
            Field::Small(_) => Values::Small(Vec::with_capacity(rows)),
            Field::Name(..) => Values::Names(Vec::with_capacity(rows)),
            Field::Mark(_) => Values::Flags(Vec::with_capacity(rows)),
        }
    }

    /// Takes this field of every record.
    pub(crate) fn gather(&self, rows: &[Record], values: &mut Values) {
        match (self, values) {
            (Field::Word(a), Values::Words(out)) => (a.gather)(rows, out),
            (Field::Optional(a), Values::Optional(out)) => (a.gather)(rows, out),
            (Field::Signed(a), Values::Signed(out)) => (a.gather)(rows, out),
            (Field::Small(a), Values::Small(out)) => (a.gather)(rows, out),
            (Field::Name(_, a), Values::Names(out)) => (a.gather)(rows, out),
            (Field::Mark(mark), Values::Flags(out)) => out.extend(rows.iter().map(|r| r.marks.has(*mark))),
            _ => unreachable!("a column's values are made by its own field"),
        }
    }

    /// Puts values from `at` on into the records.
    pub(crate) fn scatter(&self, rows: &mut [Record], values: &Values, at: usize) {
        let range = at..at + rows.len();
        match (self, values) {
            (Field::Word(a), Values::Words(v)) => (a.scatter)(rows, &v[range]),
            (Field::Optional(a), Values::Optional(v)) => (a.scatter)(rows, &v[range]),
            (Field::Signed(a), Values::Signed(v)) => (a.scatter)(rows, &v[range]),
            (Field::Small(a), Values::Small(v)) => (a.scatter)(rows, &v[range]),
            (Field::Name(_, a), Values::Names(v)) => (a.scatter)(rows, &v[range]),
            (Field::Mark(mark), Values::Flags(v)) => {
                rows.iter_mut().zip(&v[range]).for_each(|(r, on)| r.marks = r.marks.with(*mark, *on));
            }
            _ => unreachable!("a column's values are made by its own field"),
        }
    }
}

/// The value of a list in which all are equal.
fn only<T: Copy + PartialEq>(values: &[T]) -> Option<T> {
    let first = *values.first()?;
    values.iter().all(|value| *value == first).then_some(first)
}

impl Values {
    pub(crate) fn len(&self) -> usize {
        match self {
            Values::Words(v) => v.len(),
            Values::Optional(v) => v.len(),
            Values::Signed(v) => v.len(),
            Values::Small(v) => v.len(),
            Values::Names(v) => v.len(),
            Values::Flags(v) => v.len(),
        }
    }

    /// The value, as a number or as absent, if all are equal.
    pub(crate) fn constant(&self) -> Option<Option<u64>> {
        match self {
            Values::Words(v) => only(v).map(Some),
            Values::Optional(v) => only(v),
            Values::Signed(v) => only(v).map(|n| Some(n as u64)),
            Values::Small(v) => only(v).map(|n| Some(n.into())),
            Values::Names(v) => only(v).map(|n| Some(n.into())),
            Values::Flags(v) => only(v).map(|n| Some(n.into())),
        }
    }

    pub(crate) fn clear(&mut self) {
        match self {
            Values::Words(v) => v.clear(),
            Values::Optional(v) => v.clear(),
            Values::Signed(v) => v.clear(),
            Values::Small(v) => v.clear(),
            Values::Names(v) => v.clear(),
            Values::Flags(v) => v.clear(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_lists_follow_the_enums() {
        assert_eq!(OP_NAMES.to_vec(), Op::ALL.map(Op::name).to_vec());
        assert_eq!(OUTCOME_NAMES.to_vec(), Outcome::ALL.map(Outcome::name).to_vec());
        assert!(Marks::ALL.iter().all(|(mark, name)| {
            COLUMNS
                .iter()
                .any(|(column, field)| column == name && matches!(field, Field::Mark(m) if m == mark))
        }));
    }
}
