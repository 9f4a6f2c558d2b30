//! Cells of a grid that vary more than the cells differ: their colours are no evidence of a difference.

use crate::{CellResult, Grid, rates};

impl Grid<'_> {
    /// For each file and record: whether the 95 % interval of the cell's mean spans a larger factor than the medians of the grid do,
    /// without the lowest and the highest tenth of them. False for cells that were measured once, and in a grid of one cell.
    pub fn noisy(&self) -> Vec<Vec<bool>> {
        let spread = self.spread();
        let is_noisy = |cell: &Vec<&CellResult>| {
            spread.is_some_and(|spread| factor(cell).is_some_and(|own| own > spread))
        };
        self.cells.iter().map(|row| row.iter().map(is_noisy).collect()).collect()
    }

    /// The factor between the medians, without a tenth of them at each end; `None` for fewer than two cells.
    fn spread(&self) -> Option<f64> {
        let mut medians: Vec<f64> = self.medians().into_iter().flatten().flatten().collect();
        medians.sort_by(f64::total_cmp);
        let cut = medians.len() / 10;
        let kept = &medians[cut..medians.len() - cut];
        (kept.len() > 1).then(|| kept[kept.len() - 1] / kept[0])
    }
}

/// The factor that the interval of a cell spans; `None` below two repetitions.
fn factor(cell: &[&CellResult]) -> Option<f64> {
    let (low, high) = rates(cell)?.interval()?;
    Some(high / low)
}

#[cfg(test)]
mod tests {
    use crate::{CellResult, Table};

    /// Cells of 3 files and 4 records with 3 repetitions: `value` has the rate of a cell, `noise` the largest deviation in percent.
    fn table(value: impl Fn(u64) -> f64, noise: impl Fn(u64) -> f64) -> Table {
        let result = |cell: u64, repeat: u32| CellResult {
            test: "read".into(),
            file_bytes: 65_536 << (cell / 4),
            record_bytes: 4096 << (cell % 4),
            streams: 1,
            repeat,
            bytes_per_second: value(cell) * (1.0 + noise(cell) / 100.0 * (f64::from(repeat) - 1.0)),
            ..CellResult::default()
        };
        let results = (0..12).flat_map(|cell| (0..3).map(move |repeat| (cell, repeat)));
        Table { results: results.map(|(cell, repeat)| result(cell, repeat)).collect(), ..Table::default() }
    }

    fn noisy(table: &Table) -> usize {
        table.grids()[0].noisy().into_iter().flatten().filter(|is_noisy| *is_noisy).count()
    }

    #[test]
    fn noise_is_compared_with_the_spread_of_the_grid() {
        let rising = |cell: u64| 1e9 * 1.3f64.powi(cell as i32);
        assert_eq!(noisy(&table(rising, |_| 2.0)), 0, "calm");
        assert_eq!(noisy(&table(rising, |_| 60.0)), 12, "noise everywhere");
        assert_eq!(noisy(&table(rising, |cell| if cell == 5 { 80.0 } else { 2.0 })), 1, "one noisy cell");
        // Equal cells differ by nothing.
        assert_eq!(noisy(&table(|_| 1e9, |_| 2.0)), 12);
        // One extreme cell is no difference between the others.
        let spike = |cell: u64| if cell == 0 { 1e11 } else { 1e9 * (1.0 + cell as f64 / 1e3) };
        assert_eq!(noisy(&table(spike, |_| 2.0)), 12);
    }

    #[test]
    fn no_statement_without_repetitions_or_other_cells() {
        let mut once = table(|cell| 1e9 + cell as f64, |_| 50.0);
        once.results.retain(|result| result.repeat == 0);
        assert_eq!(noisy(&once), 0);
        let mut alone = table(|_| 1e9, |_| 50.0);
        alone.results.retain(|result| result.file_bytes == 65_536 && result.record_bytes == 4096);
        assert_eq!((alone.results.len(), noisy(&alone)), (3, 0));
    }
}
