//! The fastest and the slowest cell of a table, and whether chance alone can have made their difference.

use crate::spread::{Logs, bounded_exp};
use crate::{CellResult, Grid, Repeated, rates};
use iosonar_analyze::compare::critical_t;

/// Error probability of the interval.
const ALPHA: f64 = 0.05;
/// Smaller error probabilities are not computed: with more cells, the interval holds with less than 95 %.
const LEAST_ALPHA: f64 = 1e-9;

/// A cell and its repetitions.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredCell<'a> {
    /// Its repetitions.
    pub results: Vec<&'a CellResult>,
    /// Statistics of their rates.
    pub rates: Repeated,
}

/// The fastest and the slowest of at least two cells.
#[derive(Debug, Clone, PartialEq)]
pub struct Extremes<'a> {
    /// The cell with the largest median.
    pub fastest: MeasuredCell<'a>,
    /// The cell with the smallest median.
    pub slowest: MeasuredCell<'a>,
    /// How many times as fast the one is, by geometric means.
    pub ratio: f64,
    /// 95 % interval of the ratio, which holds for all pairs of cells together: the extremes of many equal cells differ, too. `None` if no
    /// cell was measured twice.
    pub interval: Option<(f64, f64)>,
    /// Cells with a rate that have too few requests to be compared.
    pub left_out: usize,
}

impl Extremes<'_> {
    /// Whether they differ by more than noise; `None` if the noise is not known.
    pub fn are_shown(&self) -> Option<bool> {
        self.interval.map(|(low, _)| low > 1.0)
    }
}

impl<'a> MeasuredCell<'a> {
    /// A cell; `None` without a rate.
    fn of(results: &[&'a CellResult]) -> Option<MeasuredCell<'a>> {
        Some(MeasuredCell { results: results.to_vec(), rates: rates(results)? })
    }

    /// Requests of all of its repetitions.
    fn requests(&self) -> u64 {
        self.results.iter().map(|result| result.ops).sum()
    }

    fn logs(&self) -> Logs {
        Logs::of(self.results.iter().map(|result| result.bytes_per_second))
    }
}

/// The extremes of the cells with at least `least_requests`; `None` if there are fewer than two.
pub(crate) fn extremes<'a>(grids: &[Grid<'a>], least_requests: u64) -> Option<Extremes<'a>> {
    let cells = grids.iter().flat_map(|grid| grid.cells.iter().flatten());
    let (cells, few): (Vec<MeasuredCell>, Vec<MeasuredCell>) =
        cells.filter_map(|cell| MeasuredCell::of(cell)).partition(|cell| cell.requests() >= least_requests);
    let by_median = |a: &&MeasuredCell, b: &&MeasuredCell| a.rates.median.total_cmp(&b.rates.median);
    let (slowest, fastest) = (cells.iter().min_by(by_median)?, cells.iter().max_by(by_median)?);
    let all: Vec<Logs> = cells.iter().map(MeasuredCell::logs).collect();
    let (a, b) = (slowest.logs(), fastest.logs());
    let change = b.mean - a.mean;
    let half = half_width(&all, a, b);
    (cells.len() > 1).then(|| Extremes {
        fastest: fastest.clone(),
        slowest: slowest.clone(),
        ratio: bounded_exp(change),
        interval: half.map(|half| (bounded_exp(change - half), bounded_exp(change + half))),
        left_out: few.len(),
    })
}

/// Half of the interval of a difference of two of these cells, by Student's t (Bonferroni over all pairs). Few repetitions of a cell show its
/// noise badly, so that the variance is that of all cells, or that of the two if it is larger.
fn half_width(all: &[Logs], a: Logs, b: Logs) -> Option<f64> {
    let pooled = |logs: &[Logs]| {
        let freedom: f64 = logs.iter().map(|one| one.n.saturating_sub(1) as f64).sum();
        let squares: f64 = logs.iter().map(|one| one.variance * one.n.saturating_sub(1) as f64).sum();
        (freedom > 0.0).then(|| (squares / freedom, freedom))
    };
    let (variance, freedom) = pooled(all)?;
    let variance = pooled(&[a, b]).map_or(variance, |(own, _)| own.max(variance));
    let count = all.len() as f64;
    let alpha = (ALPHA / (count * (count - 1.0) / 2.0).max(1.0)).max(LEAST_ALPHA);
    let error = (variance * (1.0 / a.n as f64 + 1.0 / b.n as f64)).sqrt();
    Some(critical_t(alpha, freedom) * error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Table;

    /// A table of cells of one file size, each with the rates of its repetitions.
    fn table(cells: &[&[f64]], ops: u64) -> Table {
        let result = |cell: usize, repeat: usize, rate: f64| CellResult {
            test: "read".into(),
            file_bytes: 1 << 20,
            record_bytes: 4096 << cell,
            streams: 1,
            repeat: repeat as u32,
            ops,
            bytes_per_second: rate,
            ..CellResult::default()
        };
        let of_cell = |(cell, rates): (usize, &&[f64])| {
            rates.iter().enumerate().map(|(repeat, rate)| result(cell, repeat, *rate)).collect::<Vec<_>>()
        };
        Table { results: cells.iter().enumerate().flat_map(of_cell).collect(), ..Table::default() }
    }

    #[test]
    fn extremes_differ_if_noise_is_small() {
        let table = table(&[&[1e9, 1.1e9, 0.9e9], &[2e9, 2.1e9, 1.9e9], &[1e8, 1.1e8, 0.9e8]], 100);
        let found = table.extremes(30).unwrap();
        assert_eq!((found.fastest.rates.median, found.slowest.rates.median), (2e9, 1e8));
        assert!((found.ratio - 20.0).abs() < 0.5 && found.are_shown() == Some(true), "{found:?}");
    }

    #[test]
    fn noise_that_exceeds_the_difference_shows_none() {
        let table = table(&[&[1e9, 3e9], &[2e9, 0.8e9], &[1.5e9, 0.5e9]], 100);
        assert_eq!(table.extremes(30).unwrap().are_shown(), Some(false));
    }

    #[test]
    fn single_measurements_and_few_requests_show_nothing() {
        let once = table(&[&[1e9], &[2e9]], 100);
        assert_eq!(once.extremes(30).unwrap().are_shown(), None);
        let few = table(&[&[1e9, 1e9], &[2e9, 2e9]], 14);
        assert_eq!(few.extremes(30), None);
        assert_eq!(table(&[&[1e9, 1e9]], 100).extremes(30), None);
        assert_eq!(Table::default().extremes(30), None);
    }

    /// Of twenty equal cells, the extremes differ in at most 5 of 100 tables.
    #[test]
    fn equal_cells_rarely_differ() {
        use rand_core::{Rng, SeedableRng};
        let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(7);
        let mut uniform = || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let mut wrong = 0;
        for _ in 0..200 {
            let mut value = || 1e9 * (0.2 * ((0..12).map(|_| uniform()).sum::<f64>() - 6.0)).exp();
            let cells: Vec<[f64; 3]> = (0..20).map(|_| [value(), value(), value()]).collect();
            let cells: Vec<&[f64]> = cells.iter().map(|cell| &cell[..]).collect();
            wrong += u32::from(table(&cells, 100).extremes(30).unwrap().are_shown() == Some(true));
        }
        assert!(wrong <= 16, "{wrong} of 200");
    }
}
