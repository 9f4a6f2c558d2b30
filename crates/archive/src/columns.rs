//! The columns of a record: one table for both Parquet and the text forms.
//!
//! Values are gathered from a small chunk of records at a time, while it is cached, by loops specialised for each
//! column: records are large, and one pass through a whole row group per column would dominate the cost.

use crate::{Marks, Outcome, Record};
use iosonar_plan::{Nanos, Op};

/// How values of a column are read from records, and written back. In the column they have the type that Parquet stores.
pub(crate) struct Access<V, P = V> {
    /// Reads one record.
    pub(crate) get: fn(&Record) -> V,
    /// Reads many records; appends their values.
    pub(crate) gather: fn(&[Record], &mut Vec<P>),
    /// Writes the values into as many records.
    pub(crate) scatter: fn(&mut [Record], &[P]),
}

/// Type of a record's field as a column.
pub(crate) enum Field {
    /// Unsigned 64-bit.
    Word(Access<u64, i64>),
    /// Unsigned 64-bit, optional.
    Optional(Access<Option<u64>>),
    /// Signed 64-bit.
    Signed(Access<i64>),
    /// Unsigned 32-bit.
    Small(Access<u32, i32>),
    /// A word out of a fixed list, as its index.
    Name(&'static [&'static str], Access<u8>),
    /// True or false.
    Mark(Marks),
}

macro_rules! access {
    ($logical:ty as $physical:ty, |$r:ident| $get:expr, |$s:ident, $v:ident| $set:expr) => {
        Access {
            get: |$r| $get,
            gather: |rows, out| out.extend(rows.iter().map(|$r| $get as $physical)),
            scatter: |rows, values| {
                for ($s, value) in rows.iter_mut().zip(values) {
                    let $v = *value as $logical;
                    $set;
                }
            },
        }
    };
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

/// Words of operations and outcomes, by number.
pub(crate) const OP_NAMES: [&str; 3] = ["read", "write", "flush"];
pub(crate) const OUTCOME_NAMES: [&str; 4] = ["completed", "failed", "dropped", "cancelled"];

/// Number of columns.
pub(crate) const COLUMN_COUNT: usize = 31;

/// Every column of `records.parquet` and of the text forms, in order. `docs/archive.md` explains them.
pub(crate) static COLUMNS: [(&str, Field); COLUMN_COUNT] = [
    ("sequence", Field::Word(access!(u64 as i64, |r| r.sequence, |r, v| r.sequence = v))),
    ("target", Field::Small(access!(u32 as i32, |r| u32::from(r.target), |r, v| r.target = v as u16))),
    ("worker", Field::Small(access!(u32 as i32, |r| u32::from(r.worker), |r, v| r.worker = v as u16))),
    ("pass", Field::Small(access!(u32 as i32, |r| r.pass, |r, v| r.pass = v))),
    ("phase", Field::Small(access!(u32 as i32, |r| u32::from(r.phase), |r, v| r.phase = v as u16))),
    ("op", Field::Name(&OP_NAMES, access!(|r| r.op.index() as u8, |r, v| r.op = op_of(v)))),
    (
        "outcome",
        Field::Name(
            &OUTCOME_NAMES,
            access!(|r| r.outcome as u8, |r, v| r.outcome = Outcome::ALL[usize::from(v)]),
        ),
    ),
    ("load_time_ns", Field::Word(access!(u64 as i64, |r| r.load_time.0, |r, v| r.load_time = Nanos(v)))),
    ("due_ns", Field::Word(access!(u64 as i64, |r| r.due.0, |r, v| r.due = Nanos(v)))),
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
    ("reap_lag_ns", Field::Word(access!(u64 as i64, |r| r.reap_lag.0, |r, v| r.reap_lag = Nanos(v)))),
    (
        "requested_offset_bytes",
        Field::Word(access!(u64 as i64, |r| r.requested.offset, |r, v| r.requested.offset = v)),
    ),
    (
        "requested_length_bytes",
        Field::Word(access!(u64 as i64, |r| r.requested.length, |r, v| r.requested.length = v)),
    ),
    (
        "executed_offset_bytes",
        Field::Word(access!(u64 as i64, |r| r.executed.offset, |r, v| r.executed.offset = v)),
    ),
    (
        "executed_length_bytes",
        Field::Word(access!(u64 as i64, |r| r.executed.length, |r, v| r.executed.length = v)),
    ),
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
    ("fua", Field::Mark(Marks::FUA)),
    ("preflush", Field::Mark(Marks::PREFLUSH)),
];

/// Returns the operation of a number in the column.
fn op_of(number: u8) -> Op {
    Op::of_index(number.into()).expect("columns hold numbers of words that were met")
}

/// Returns the word of a number. Operations of later versions follow the fixed list.
pub(crate) fn word_of(names: &'static [&'static str], number: u8) -> &'static str {
    match names.get(usize::from(number)) {
        Some(name) => name,
        None => op_of(number).name(),
    }
}

/// Returns the number of a word that is not in the fixed list; `None` if it is not an operation, as only operations may
/// be new.
pub(crate) fn number_of_other(names: &[&str], word: &[u8]) -> Option<u8> {
    let is_op = names == OP_NAMES;
    let word = std::str::from_utf8(word).ok().filter(|_| is_op)?;
    Op::named(word).map(|op| op.index() as u8)
}

/// Values of one column.
#[derive(Debug)]
pub(crate) enum Values {
    Words(Vec<i64>),
    Optional(Vec<Option<u64>>),
    Small(Vec<i32>),
    Names(Vec<u8>),
    Flags(Vec<bool>),
}

impl Field {
    /// Creates an empty column with room for `rows`.
    pub(crate) fn values(&self, rows: usize) -> Values {
        match self {
            Field::Word(_) | Field::Signed(_) => Values::Words(Vec::with_capacity(rows)),
            Field::Optional(_) => Values::Optional(Vec::with_capacity(rows)),
            Field::Small(_) => Values::Small(Vec::with_capacity(rows)),
            Field::Name(..) => Values::Names(Vec::with_capacity(rows)),
            Field::Mark(_) => Values::Flags(Vec::with_capacity(rows)),
        }
    }

    /// Appends this field of every record.
    pub(crate) fn gather(&self, rows: &[Record], values: &mut Values) {
        match (self, values) {
            (Field::Word(a), Values::Words(out)) => (a.gather)(rows, out),
            (Field::Optional(a), Values::Optional(out)) => (a.gather)(rows, out),
            (Field::Signed(a), Values::Words(out)) => (a.gather)(rows, out),
            (Field::Small(a), Values::Small(out)) => (a.gather)(rows, out),
            (Field::Name(_, a), Values::Names(out)) => (a.gather)(rows, out),
            (Field::Mark(mark), Values::Flags(out)) => out.extend(rows.iter().map(|r| r.marks.has(*mark))),
            _ => unreachable!("a column's values are made by its own field"),
        }
    }

    /// Writes values from `at` on into the records.
    pub(crate) fn scatter(&self, rows: &mut [Record], values: &Values, at: usize) {
        let range = at..at + rows.len();
        match (self, values) {
            (Field::Word(a), Values::Words(v)) => (a.scatter)(rows, &v[range]),
            (Field::Optional(a), Values::Optional(v)) => (a.scatter)(rows, &v[range]),
            (Field::Signed(a), Values::Words(v)) => (a.scatter)(rows, &v[range]),
            (Field::Small(a), Values::Small(v)) => (a.scatter)(rows, &v[range]),
            (Field::Name(_, a), Values::Names(v)) => (a.scatter)(rows, &v[range]),
            (Field::Mark(mark), Values::Flags(v)) => {
                rows.iter_mut().zip(&v[range]).for_each(|(r, on)| r.marks = r.marks.with(*mark, *on));
            }
            _ => unreachable!("a column's values are made by its own field"),
        }
    }
}

/// Whether [`are_alike`] compares this column.
pub(crate) fn mostly_repeats(name: &str, field: &Field) -> bool {
    let names = ["target", "worker", "pass", "phase", "outcome", "released_ns", "blocked_by"];
    names.contains(&name) || matches!(field, Field::Mark(_))
}

/// Whether records are equal in all columns that mostly repeat: one look at each record instead of one per column.
pub(crate) fn are_alike(records: &[Record]) -> bool {
    let facts = |r: &Record| {
        (r.target, r.worker, r.pass, r.phase, r.outcome as u8, r.marks, r.released, r.blocked_by)
    };
    records.first().is_some_and(|first| records.iter().all(|record| facts(record) == facts(first)))
}

/// Returns the value of a list whose values are all equal.
fn only<T: Copy + PartialEq>(values: &[T]) -> Option<T> {
    let first = *values.first()?;
    values.iter().all(|value| *value == first).then_some(first)
}

/// Calls a method of the list of any type.
macro_rules! of_any {
    ($values:expr, $v:ident => $do:expr) => {
        match $values {
            Values::Words($v) => $do,
            Values::Optional($v) => $do,
            Values::Small($v) => $do,
            Values::Names($v) => $do,
            Values::Flags($v) => $do,
        }
    };
}

impl Values {
    pub(crate) fn len(&self) -> usize {
        of_any!(self, v => v.len())
    }

    /// Returns the value, which may be absent, if all are equal.
    pub(crate) fn constant(&self) -> Option<Option<u64>> {
        match self {
            Values::Words(v) => only(v).map(|n| Some(n as u64)),
            Values::Optional(v) => only(v),
            Values::Small(v) => only(v).map(|n| Some(n as u64)),
            Values::Names(v) => only(v).map(|n| Some(n.into())),
            Values::Flags(v) => only(v).map(|n| Some(n.into())),
        }
    }

    /// Minimum and maximum of unsigned numbers.
    pub(crate) fn range(&self) -> Option<(i64, i64)> {
        let Values::Words(v) = self else { return None };
        let unsigned = || v.iter().map(|n| *n as u64);
        Some((unsigned().min()? as i64, unsigned().max()? as i64))
    }

    pub(crate) fn clear(&mut self) {
        of_any!(self, v => v.clear());
    }

    /// Keeps only the first value.
    fn keep_first(&mut self) {
        of_any!(self, v => v.truncate(1));
    }

    /// Inserts `times` copies of the first value at the start.
    fn repeat_first(&mut self, times: usize) {
        of_any!(self, v => {
            let first = v[0];
            v.splice(..1, std::iter::repeat_n(first, times));
        });
    }
}

/// A column that is being gathered. Equal values are stored once.
#[derive(Debug)]
pub(crate) struct Gathered {
    values: Values,
    /// Number of records, larger than that of values if one stands for all.
    rows: usize,
}

impl Gathered {
    pub(crate) fn new(field: &Field) -> Gathered {
        Gathered { values: field.values(0), rows: 0 }
    }

    /// Appends this field of more records.
    pub(crate) fn gather(&mut self, field: &Field, records: &[Record]) {
        let (was_same, before) = (self.values.len() < self.rows || self.rows == 0, self.rows);
        field.gather(records, &mut self.values);
        self.rows += records.len();
        if !was_same {
            return;
        }
        if self.values.constant().is_some() {
            self.values.keep_first();
        } else if before > 0 {
            self.values.repeat_first(before);
        }
    }

    /// Appends this field of more records in which it is equal.
    pub(crate) fn gather_same(&mut self, field: &Field, records: &[Record]) {
        let known = self.values.len();
        if known == 1 && known < self.rows {
            field.gather(&records[..1], &mut self.values);
            let is_same = self.values.constant().is_some();
            self.values.keep_first();
            if is_same {
                self.rows += records.len();
                return;
            }
        }
        self.gather(field, records);
    }

    /// Returns the value of all records, which may be absent, if all are equal.
    pub(crate) fn constant(&self) -> Option<Option<u64>> {
        self.values.constant()
    }

    /// Returns one value per record.
    pub(crate) fn all(&mut self) -> &Values {
        if self.values.len() < self.rows {
            self.values.repeat_first(self.rows);
        }
        &self.values
    }

    /// Whether another column has the same values, none of them absent, in the same type.
    pub(crate) fn is_same_as(&self, other: &Gathered) -> bool {
        match (&self.values, &other.values) {
            (Values::Words(a), Values::Words(b)) => self.rows == other.rows && a == b,
            _ => false,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.values.clear();
        self.rows = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gathered_columns_match_records() {
        let mut records = vec![Record::default(); 40];
        records[7].released = Some(Nanos(3));
        records[20].marks = Marks::HELD.with(Marks::RAMP, true);
        records[33].target = 5;
        records[34].target = 5;
        for size in [1, 2, 5, 8, 40] {
            for (name, field) in &COLUMNS {
                let mut gathered = Gathered::new(field);
                for some in records.chunks(size) {
                    if mostly_repeats(name, field) && are_alike(some) {
                        gathered.gather_same(field, some);
                    } else {
                        gathered.gather(field, some);
                    }
                }
                let mut want = field.values(records.len());
                field.gather(&records, &mut want);
                assert_eq!(gathered.constant(), want.constant(), "{name}");
                assert_eq!(format!("{:?}", gathered.all()), format!("{want:?}"), "{name} by {size}");
            }
        }
    }

    #[test]
    fn name_lists_match_the_enums() {
        OP_NAMES.iter().zip(0..).for_each(|(name, index)| assert_eq!(op_of(index).name(), *name));
        assert_eq!(OUTCOME_NAMES.to_vec(), Outcome::ALL.map(Outcome::name).to_vec());
        assert!(Marks::ALL.iter().all(|(mark, name)| {
            COLUMNS
                .iter()
                .any(|(column, field)| column == name && matches!(field, Field::Mark(m) if m == mark))
        }));
    }
}
