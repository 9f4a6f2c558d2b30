//! The two axes of a density picture: time in equal columns, a duration in logarithmic rows.

use std::sync::LazyLock;

/// Rows between the shortest and the longest time that are told apart.
pub const ROWS: usize = 512;
/// Rows for each factor of ten: one row is 3.66 % wide.
pub const ROWS_PER_DECADE: usize = 64;
/// Lower edge of the first row, 1 µs.
const FLOOR_NS: f64 = 1_000.0;

/// Time from zero in columns of equal whole nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeAxis {
    width_ns: u64,
    columns: usize,
}

impl TimeAxis {
    /// At most `most` columns that hold every time from 0 to `end_ns` inclusive.
    ///
    /// # Panics
    /// If `most` is 0.
    pub fn new(end_ns: u64, most: usize) -> TimeAxis {
        let width_ns = end_ns / most as u64 + 1;
        let columns = usize::try_from(end_ns / width_ns + 1).expect("there are no more than `most`");
        TimeAxis { width_ns, columns }
    }

    /// Width of a column.
    pub fn width_ns(&self) -> u64 {
        self.width_ns
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// First time behind the last column.
    pub fn end_ns(&self) -> u64 {
        self.width_ns.saturating_mul(self.columns as u64)
    }

    /// The column of a time; times behind the end belong to the last.
    pub fn column(&self, ns: u64) -> usize {
        usize::try_from(ns / self.width_ns).map_or(self.columns - 1, |c| c.min(self.columns - 1))
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
    /// Place in a column of `ROWS + 2` counts: `Under` first, `Over` last.
    pub fn slot(self) -> usize {
        match self {
            Row::Under => 0,
            Row::In(row) => usize::from(row) + 1,
            Row::Over => ROWS + 1,
        }
    }
}

/// Least whole nanosecond of each row, and of the row behind the last.
static EDGES: LazyLock<[u64; ROWS + 1]> = LazyLock::new(|| std::array::from_fn(row_lower_edge));

/// Least whole nanosecond of row `row`: ⌈1 µs · 10^(row/64)⌉. `ROWS` is the end of the last row.
pub fn row_lower_edge(row: usize) -> u64 {
    let exact = FLOOR_NS * 10f64.powf(row as f64 / ROWS_PER_DECADE as f64);
    // Whole decades must not suffer from the last bit of a floating-point power.
    let nearest = exact.round();
    if (exact - nearest).abs() < 1e-6 * nearest.min(1e3) { nearest as u64 } else { exact.ceil() as u64 }
}

/// The row that holds a duration.
pub fn row_of(ns: u64) -> Row {
    match EDGES.partition_point(|edge| *edge <= ns) {
        0 => Row::Under,
        behind if behind > ROWS => Row::Over,
        behind => Row::In(u16::try_from(behind - 1).expect("there are 512 rows")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decades_begin_exactly() {
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
        fn a_row_holds_its_times(ns in 1_000u64..100_000_000_000) {
            let Row::In(row) = row_of(ns) else { panic!("{ns}") };
            prop_assert!(row_lower_edge(row.into()) <= ns && ns < row_lower_edge(usize::from(row) + 1));
        }

        #[test]
        fn every_time_has_a_column(end: u64, most in 1usize..20_000, share in 0.0f64..=1.0) {
            let axis = TimeAxis::new(end >> 1, most);
            prop_assert!(axis.columns() <= most && axis.end_ns() > end >> 1);
            let ns = ((end >> 1) as f64 * share) as u64;
            let column = axis.column(ns.min(end >> 1)) as u64;
            prop_assert!(column * axis.width_ns() <= ns && ns <= (column + 1) * axis.width_ns());
        }
    }
}
