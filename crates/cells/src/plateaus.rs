//! Plateaus: ranges of file sizes with similar rates, because the same memory or device answers.

use crate::{Grid, Machine, Matrix, Test};

/// A range of file sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct Plateau {
    /// Smallest file in bytes.
    pub from_file: u64,
    /// Largest file in bytes.
    pub to_file: u64,
    /// Geometric mean of the best record size of each file size.
    pub bytes_per_second: f64,
    /// Cache or device that answers, derived from the sizes of caches and memory.
    pub name: &'static str,
}

/// Names of caches and devices that answer requests, by capacity.
const CPU_CACHE: &str = "CPU cache";
const PAGE_CACHE: &str = "page cache";
const DEVICE: &str = "device";

/// Name, and the file sizes it serves, each with its rate.
type Rows = (&'static str, Vec<(u64, f64)>);

/// Minimum factor by which larger files are slower after a step.
const STEP: f64 = 1.3;

impl Grid<'_> {
    /// Whether the page cache may answer its requests: reads were not evicted, or remained cached anyway, writes are
    /// not flushed, and I/O was not direct.
    pub fn is_cached(&self, matrix: &Matrix) -> bool {
        let Some(test) = Test::named(self.test) else { return true };
        let mut cells = self.cells.iter().flatten().flatten();
        if !matrix.access.buffered && cells.clone().any(|cell| cell.cached_after == Some(0)) {
            return false;
        }
        let stays = cells.clone().any(|cell| cell.cached_before.is_some_and(|bytes| bytes > 0));
        let waits = matrix.access.sync.is_set() || cells.all(|cell| cell.fsync_timed);
        (test.reads() && (!matrix.cold || stays)) || (test.writes() && !waits)
    }

    /// Its plateaus, by ascending file size. `is_cached`: see [`Grid::is_cached`]. Neighbours without a step down
    /// between them are one plateau, named by the memory that fits its largest file.
    pub fn plateaus(&self, machine: &Machine, is_cached: bool) -> Vec<Plateau> {
        let best = |row: Vec<Option<f64>>| row.into_iter().flatten().reduce(f64::max);
        let rows = self.files.iter().zip(self.medians()).filter_map(|(file, row)| Some((*file, best(row)?)));
        let mut groups: Vec<Rows> = Vec::new();
        for (file, rate) in rows.filter(|(_, rate)| *rate > 0.0) {
            let name = self.answers(file, machine, is_cached);
            match groups.last_mut() {
                Some((last, rows)) if *last == name => rows.push((file, rate)),
                _ => groups.push((name, vec![(file, rate)])),
            }
        }
        let mut plateaus: Vec<Rows> = Vec::new();
        for (name, rows) in groups {
            match plateaus.last_mut() {
                Some((last, before)) if !is_step(mean(before), mean(&rows)) => {
                    *last = name;
                    before.extend(rows);
                }
                _ => plateaus.push((name, rows)),
            }
        }
        let plateau = |(name, rows): Rows| Plateau {
            from_file: rows[0].0,
            to_file: rows[rows.len() - 1].0,
            bytes_per_second: mean(&rows),
            name,
        };
        plateaus.into_iter().map(plateau).collect()
    }

    fn answers(&self, file: u64, machine: &Machine, is_cached: bool) -> &'static str {
        let used = file.saturating_mul(self.streams.into());
        match () {
            _ if !is_cached => DEVICE,
            _ if machine.cache_bytes.is_some_and(|cache| used <= cache / 2) => CPU_CACHE,
            // The kernel uses the rest of the memory for other purposes.
            _ if machine.memory_bytes.is_none_or(|memory| used <= memory / 2) => PAGE_CACHE,
            _ => DEVICE,
        }
    }
}

/// Whether the rate drops: larger files that are faster show no smaller memory.
fn is_step(smaller: f64, larger: f64) -> bool {
    smaller / larger >= STEP
}

fn mean(rows: &[(u64, f64)]) -> f64 {
    (rows.iter().map(|(_, rate)| rate.ln()).sum::<f64>() / rows.len() as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CellResult, Table};

    fn names(rates: &[f64], is_cached: bool) -> Vec<(u64, u64, &'static str)> {
        let result = |(number, rate): (usize, &f64)| CellResult {
            test: "read".into(),
            file_bytes: 1 << (20 + number),
            record_bytes: 4096,
            streams: 1,
            bytes_per_second: *rate,
            ..CellResult::default()
        };
        let table = Table { results: rates.iter().enumerate().map(result).collect(), ..Table::default() };
        let machine =
            Machine { memory_bytes: Some(32 << 20), cache_bytes: Some(4 << 20), ..Machine::default() };
        let plateaus: Vec<Plateau> =
            table.grids().first().map(|g| g.plateaus(&machine, is_cached)).unwrap_or_default();
        plateaus.iter().map(|p| (p.from_file >> 20, p.to_file >> 20, p.name)).collect()
    }

    /// Only tests that read are cold, and only if the file system drops its cache.
    #[test]
    fn only_cold_read_tests_bypass_the_page_cache() {
        let is_cached = |test: &str, cached_before, change: &dyn Fn(&mut Matrix, &mut CellResult)| {
            let mut cell = CellResult { test: test.into(), cached_before, ..CellResult::default() };
            let mut matrix = Matrix { cold: true, ..Matrix::new(Vec::new(), Vec::new(), Vec::new(), 1) };
            change(&mut matrix, &mut cell);
            let table = Table { results: vec![cell], ..Table::default() };
            table.grids()[0].is_cached(&matrix)
        };
        let same = |_: &mut Matrix, _: &mut CellResult| {};
        assert!(!is_cached("read", Some(0), &same));
        assert!(is_cached("read", Some(4096), &same) && is_cached("write", None, &same));
        assert!(is_cached("read", None, &|matrix, _| matrix.cold = false));
        assert!(!is_cached("write", None, &|matrix, _| matrix.access.sync = true.into()));
        assert!(!is_cached("write", None, &|_, cell| cell.fsync_timed = true));
        assert!(!is_cached("write", None, &|matrix, cell| {
            matrix.access.buffered = false;
            cell.cached_after = Some(0);
        }));
    }

    #[test]
    fn plateaus_are_named_by_cache_level() {
        let steps = [900.0, 1000.0, 500.0, 480.0, 470.0, 30.0, 31.0];
        let expected = [(1, 2, "CPU cache"), (4, 16, "page cache"), (32, 64, "device")];
        assert_eq!(names(&steps, true), expected);
        assert_eq!(names(&steps[..1], true), [(1, 1, "CPU cache")]);
        assert_eq!(names(&steps, false), [(1, 64, "device")]);
        assert_eq!(names(&[50.0, 100.0, 900.0, 1000.0], true), [(1, 8, "page cache")]);
        // Without a step there is one plateau.
        assert_eq!(names(&[100.0, 110.0, 105.0, 108.0, 104.0], true), [(1, 16, "page cache")]);
        assert!(names(&[], true).is_empty());
    }
}
