//! Correlation of a request's duration with another quantity: exact counts over both, by class.

use crate::SLOTS;
use crate::class::CLASSES;
use crate::fits::Fits;
use crate::grid::Cell;
use crate::log_scale::{begin_of, slot_of};
use crate::{Class, row_lower_edge, row_of};
use serde::{Deserialize, Serialize};

/// Numbers below this have a column each.
const SINGLE: u64 = 64;
/// Columns for each factor of two above.
const PER_OCTAVE: u64 = 16;
/// Column of `SINGLE` less its slot on the scale of `PER_OCTAVE`: from there on, the two run side by side.
const MORE_SINGLE: usize = 16;
/// Columns of a scale of numbers: the last starts at 253 952, and holds all greater ones.
const NUMBER_COLUMNS: usize = 256;
/// Columns of a scale of durations: two rows each.
const DURATION_COLUMNS: usize = SLOTS / 2;

/// The quantity along the other axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Against {
    /// A number of requests: exact below 64, then 16 columns for each factor of two.
    Number,
    /// A duration in nanoseconds: 32 columns for each factor of ten.
    Duration,
}

impl Against {
    fn columns(self) -> usize {
        match self {
            Against::Number => NUMBER_COLUMNS,
            Against::Duration => DURATION_COLUMNS,
        }
    }

    fn column(self, value: u64) -> usize {
        match self {
            Against::Duration => row_of(value).slot() / 2,
            Against::Number if value < SINGLE => value as usize,
            Against::Number => (slot_of::<PER_OCTAVE>(value) + MORE_SINGLE).min(NUMBER_COLUMNS - 1),
        }
    }

    fn lower_edge(self, column: usize) -> u64 {
        match self {
            Against::Duration => (2 * column).checked_sub(1).map_or(0, row_lower_edge),
            Against::Number if (column as u64) < SINGLE => column as u64,
            Against::Number => begin_of::<PER_OCTAVE>(column - MORE_SINGLE) as u64,
        }
    }
}

/// Counts of requests over a quantity (columns) and a duration (slots, see [`Row::slot`](crate::Row::slot)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Correlation {
    against: Against,
    columns: Vec<Column>,
}

/// Slots of a column; empty without a request, as most columns are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Column(#[serde(with = "crate::sparse")] Vec<Cell>);

/// The slots of a column that holds no request.
static NOTHING: [Cell; SLOTS] = [[0; CLASSES]; SLOTS];

impl Fits for Correlation {
    fn fits(&self, own: &Self) -> bool {
        let is_whole = |column: &Column| [0, SLOTS].contains(&column.0.len());
        self.against == own.against
            && self.columns.len() == own.columns.len()
            && self.columns.iter().all(is_whole)
    }
}

impl Correlation {
    /// All zero.
    pub fn new(against: Against) -> Correlation {
        Correlation { against, columns: vec![Column::default(); against.columns()] }
    }

    /// The quantity of the columns.
    pub fn against(&self) -> Against {
        self.against
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.against.columns()
    }

    /// Least value of a column: a number, or nanoseconds.
    pub fn lower_edge(&self, column: usize) -> u64 {
        self.against.lower_edge(column)
    }

    /// The slots of a column.
    pub fn column(&self, column: usize) -> &[Cell] {
        match self.columns[column].0.as_slice() {
            [] => &NOTHING,
            slots => slots,
        }
    }

    /// The requests in one cell.
    pub fn count(&self, column: usize, slot: usize) -> Cell {
        self.column(column)[slot]
    }

    /// Counts a request.
    pub(crate) fn add(&mut self, class: Class, value: u64, duration_ns: u64) {
        let Column(slots) = &mut self.columns[self.against.column(value)];
        if slots.is_empty() {
            slots.resize(SLOTS, Cell::default());
        }
        slots[row_of(duration_ns).slot()][class.index()] += 1;
    }

    /// Adds all of `other`.
    pub(crate) fn merge(&mut self, other: &Correlation) {
        for (mine, theirs) in self.columns.iter_mut().zip(&other.columns) {
            match mine.0.is_empty() {
                true => mine.clone_from(theirs),
                false => {
                    let counts = mine.0.iter_mut().flatten().zip(theirs.0.iter().flatten());
                    counts.for_each(|(mine, theirs)| *mine += theirs);
                }
            }
        }
    }

    /// Kendall's tau-b of both quantities, from -1 to 1, ties by columns and rows; `None` if either is constant.
    ///
    /// M. G. Kendall, "The treatment of ties in ranking problems", Biometrika 33 (1945).
    pub fn rank_correlation(&self) -> Option<f64> {
        let mut below = vec![0.0; SLOTS];
        let (mut balance, mut pairs_of_columns, mut seen) = (0.0, 0.0, 0.0);
        for Column(slots) in self.columns.iter().filter(|column| !column.0.is_empty()) {
            let column: Vec<f64> = slots.iter().map(|cell| cell.iter().sum::<u64>() as f64).collect();
            let total: f64 = column.iter().sum();
            if total == 0.0 {
                continue;
            }
            let mut lower = 0.0;
            for (slot, n) in column.iter().enumerate() {
                let upper = seen - lower - below[slot];
                balance += n * (lower - upper);
                lower += below[slot];
            }
            pairs_of_columns += total * seen;
            seen += total;
            below.iter_mut().zip(&column).for_each(|(sum, n)| *sum += n);
        }
        let (mut pairs_of_rows, mut seen) = (0.0, 0.0);
        for total in below {
            pairs_of_rows += total * seen;
            seen += total;
        }
        let scale = f64::sqrt(pairs_of_columns * pairs_of_rows);
        (scale > 0.0).then(|| balance / scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rank_correlation_matches_hand_calculation() {
        let of = |points: &[(u64, u64)]| {
            let mut c = Correlation::new(Against::Number);
            points.iter().for_each(|(n, ms)| c.add(Class::Read, *n, ms * 1_000_000));
            c.rank_correlation()
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[(1, 5), (1, 9)]), None);
        assert_eq!(of(&[(1, 1), (2, 2), (3, 5)]), Some(1.0));
        assert_eq!(of(&[(1, 5), (2, 2), (3, 1)]), Some(-1.0));
        // Two pairs of six agree, four do not.
        assert_eq!(of(&[(1, 10), (2, 20), (3, 1), (4, 2)]), Some(-2.0 / 6.0));
    }

    proptest! {
        #[test]
        fn column_bounds_contain_their_values(value: u64, shift in 0u32..64) {
            for against in [Against::Number, Against::Duration] {
                let value = value >> shift;
                let column = against.column(value);
                prop_assert!(against.lower_edge(column) <= value);
                prop_assert!(column + 1 == against.columns() || value < against.lower_edge(column + 1));
            }
        }
    }
}
