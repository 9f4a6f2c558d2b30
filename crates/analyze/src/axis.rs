//! The two axes of a density picture: time in equal columns, a duration in logarithmic rows.

use crate::fits::Fits;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// Rows between the shortest and the longest duration in a picture.
pub const ROWS: usize = 512;
/// Slots of a column: below the first row, the rows, above the last. See [`Row::slot`].
pub const SLOTS: usize = ROWS + 2;
/// Rows for each factor of ten: one row is 3.66 % wide.
pub const ROWS_PER_DECADE: usize = 64;
/// Lower edge of the first row, 1 µs.
const FLOOR_NS: f64 = 1_000.0;

/// Time from zero in columns whose width is a power of two of nanoseconds.
///
/// A run's length is unknown before it has been read. So an axis starts narrow and widens: two columns become one, as often
/// as needed. Its final width depends on the end alone, not on the order of the times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeAxis {
    shift: u32,
    /// Columns up to the end.
    columns: usize,
    /// A power of two.
    most: usize,
}

impl TimeAxis {
    /// The narrowest axis of at most `most` columns that holds every time from 0 to `end_ns` inclusive.
    ///
    /// # Panics
    /// If `most` is no power of two.
    pub fn new(end_ns: u64, most: usize) -> TimeAxis {
        assert!(most.is_power_of_two(), "columns are halved again and again");
        let mut axis = TimeAxis { shift: 0, columns: 1, most };
        while !axis.holds(end_ns) {
            axis.shift += 1;
        }
        axis.columns = axis.column(end_ns) + 1;
        axis
    }

    /// Width of a column.
    pub fn width_ns(&self) -> u64 {
        1 << self.shift
    }

    /// Maximum number of columns.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// First time after the last column.
    pub fn end_ns(&self) -> u64 {
        self.width_ns().saturating_mul(self.columns as u64)
    }

    /// The column of a time, which may lie beyond the end but not beyond the capacity of the axis.
    pub fn column(&self, ns: u64) -> usize {
        (ns >> self.shift) as usize
    }

    /// The first column that starts at a time or after it.
    pub(crate) fn next_column(&self, ns: u64) -> usize {
        (ns.saturating_add(self.width_ns() - 1) >> self.shift) as usize
    }

    /// Whether a time has a column without widening.
    pub(crate) fn holds(&self, ns: u64) -> bool {
        ns >> self.shift < self.most as u64
    }

    /// The axis with columns of twice the width.
    pub(crate) fn widened(&self) -> TimeAxis {
        TimeAxis { shift: self.shift + 1, columns: self.columns.div_ceil(2), ..*self }
    }

    /// The axis with columns up to `ns`, which it must hold.
    pub(crate) fn reaching(&self, ns: u64) -> TimeAxis {
        TimeAxis { columns: self.columns.max(self.column(ns) + 1), ..*self }
    }
}

impl Fits for TimeAxis {
    fn fits(&self, own: &Self) -> bool {
        self.shift < u64::BITS && self.most == own.most && (1..=self.most).contains(&self.columns)
    }
}

/// A series with one value per column of a time axis, that can be made coarser.
pub(crate) trait OverTime {
    /// Its axis.
    fn time_axis(&mut self) -> &mut TimeAxis;

    /// Merges each pair of columns into one.
    fn fold(&mut self);

    /// Resizes the values to the number of columns.
    fn resize(&mut self);

    /// Grows to include `end_ns`.
    fn reach(&mut self, end_ns: u64) {
        while !self.time_axis().holds(end_ns) {
            self.widen();
        }
        *self.time_axis() = self.time_axis().reaching(end_ns);
        self.resize();
    }

    /// Widens the columns to those of `other`, if they are narrower, and covers at least its range.
    fn match_axis(&mut self, other: TimeAxis) {
        while self.time_axis().width_ns() < other.width_ns() {
            self.widen();
        }
        self.reach(other.end_ns() - 1);
    }

    /// Doubles the width of the columns.
    fn widen(&mut self) {
        self.fold();
        *self.time_axis() = self.time_axis().widened();
    }
}

/// Merges each pair of values into one; the freed tail becomes zero.
pub(crate) fn fold_pairs<T: Copy + Default>(values: &mut [T], sum: impl Fn(T, T) -> T) {
    for i in 0..values.len() {
        let pair = values.get(2 * i..2 * i + 2).map(|pair| sum(pair[0], pair[1]));
        values[i] = pair.or(values.get(2 * i).copied()).unwrap_or_default();
    }
}

/// Row of a duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Row {
    /// Below 1 µs.
    Under,
    /// From 0 (1 µs) to 511 (just below 100 s).
    In(u16),
    /// 100 s or more.
    Over,
}

impl Row {
    /// Index in a column of `ROWS + 2` counts: `Under` first, `Over` last.
    pub fn slot(self) -> usize {
        match self {
            Row::Under => 0,
            Row::In(row) => usize::from(row) + 1,
            Row::Over => ROWS + 1,
        }
    }
}

/// Least whole nanosecond of each row, and of the row after the last.
static EDGES: LazyLock<[u64; ROWS + 1]> = LazyLock::new(|| std::array::from_fn(row_lower_edge));

/// Least whole nanosecond of row `row`: ⌈1 µs · 10^(row/64)⌉. `ROWS` is the end of the last row.
pub fn row_lower_edge(row: usize) -> u64 {
    let exact = FLOOR_NS * 10f64.powf(row as f64 / ROWS_PER_DECADE as f64);
    // Rounding errors of the floating-point power must not shift the edges of whole decades.
    let nearest = exact.round();
    if (exact - nearest).abs() < 1e-6 * nearest.min(1e3) { nearest as u64 } else { exact.ceil() as u64 }
}

/// Steps of [`FIRST`] per factor of two, fine enough that no step holds more than one edge.
const STEPS: u64 = 64;

/// How many edges lie at or below the start of each step, counted like [`row_of`] does.
static FIRST: LazyLock<Vec<u16>> = LazyLock::new(|| {
    let begin = |step: u64| {
        // Numbers below 64 share one step: all of them lie below the first edge.
        (step / STEPS).checked_sub(6).map_or(0, |octave| (STEPS + step % STEPS) << octave)
    };
    (0..64 * STEPS).map(|step| EDGES.partition_point(|edge| *edge <= begin(step)) as u16).collect()
});

/// The row that holds a duration.
pub fn row_of(ns: u64) -> Row {
    let octave = u64::from((ns | 1).ilog2());
    let first = if octave < 6 { 0 } else { FIRST[(octave * STEPS + (ns >> (octave - 6)) % STEPS) as usize] };
    let first = usize::from(first);
    let behind = first + usize::from(EDGES.get(first).is_some_and(|edge| *edge <= ns));
    match behind {
        0 => Row::Under,
        behind if behind > ROWS => Row::Over,
        behind => Row::In((behind - 1) as u16),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decade_boundaries_are_exact() {
        for (ns, row) in [
            (0, Row::Under),
            (999, Row::Under),
            (1_000, Row::In(0)),
            (9_999, Row::In(63)),
            (10_000, Row::In(64)),
            (999_999_999, Row::In(383)),
            (1_000_000_000, Row::In(384)),
            (99_999_999_999, Row::In(511)),
            (100_000_000_000, Row::Over),
            (u64::MAX, Row::Over),
        ] {
            assert_eq!(row_of(ns), row, "{ns}");
        }
    }

    proptest! {
        #[test]
        fn row_bounds_contain_their_times(ns in 1_000u64..100_000_000_000) {
            let Row::In(row) = row_of(ns) else { panic!("{ns}") };
            prop_assert!(row_lower_edge(row.into()) <= ns && ns < row_lower_edge(usize::from(row) + 1));
        }

        #[test]
        fn row_lookup_matches_binary_search(ns: u64, shift in 0u32..64) {
            let ns = ns >> shift;
            let behind = EDGES.partition_point(|edge| *edge <= ns);
            let row = if behind > ROWS { ROWS + 1 } else { behind };
            prop_assert_eq!(row_of(ns).slot(), row);
        }

        #[test]
        fn every_time_has_a_column(end: u64, most in 0u32..15, share in 0.0f64..=1.0) {
            let axis = TimeAxis::new(end >> 1, 1 << most);
            prop_assert!(axis.columns() <= 1 << most && axis.end_ns() > end >> 1);
            prop_assert!(axis.width_ns() == 1 || axis.columns() > 1 << most >> 1);
            let ns = ((end >> 1) as f64 * share) as u64;
            let column = axis.column(ns.min(end >> 1)) as u64;
            prop_assert!(column * axis.width_ns() <= ns && ns <= (column + 1) * axis.width_ns());
        }
    }
}
