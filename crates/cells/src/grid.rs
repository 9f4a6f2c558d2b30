//! Grids: cells of one test with rows of file sizes and columns of record sizes.

use crate::extremes::{Extremes, extremes};
use crate::{CellResult, Repeated, Table};
use std::collections::BTreeMap;

/// Statistics of a cell's repetitions in bytes per second; `None` if it was not measured.
pub fn rates(cell: &[&CellResult]) -> Option<Repeated> {
    Repeated::of(cell.iter().map(|r| r.bytes_per_second))
}

/// A test with one method and number of streams.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid<'a> {
    /// Test name.
    pub test: &'a str,
    /// Name of the method; empty if unknown.
    pub method: &'a str,
    /// Number of concurrent files.
    pub streams: u32,
    /// File sizes in bytes, ascending.
    pub files: Vec<u64>,
    /// Record sizes in bytes, ascending.
    pub records: Vec<u64>,
    /// A row for each file size, a column for each record size: all repetitions of the cell, possibly empty.
    pub cells: Vec<Vec<Vec<&'a CellResult>>>,
}

impl Table {
    /// Returns a grid for each test, method and number of streams, in the order of the test list; then by streams and
    /// method.
    pub fn grids(&self) -> Vec<Grid<'_>> {
        let place = |test: &str| crate::TESTS.iter().position(|known| known.name == test);
        let mut grids: BTreeMap<_, Vec<&CellResult>> = BTreeMap::new();
        for r in &self.results {
            let key = (place(&r.test), &r.test, r.streams, &r.method);
            grids.entry(key).or_default().push(r);
        }
        grids.into_values().map(Grid::of).collect()
    }

    /// The fastest and the slowest of the cells with at least `least_requests`; `None` if there are fewer than two.
    pub fn extremes(&self, least_requests: u64) -> Option<Extremes<'_>> {
        extremes(&self.grids(), least_requests)
    }
}

impl<'a> Grid<'a> {
    /// Creates a grid of at least one result, all of one test, method and number of streams.
    fn of(results: Vec<&'a CellResult>) -> Grid<'a> {
        let sizes = |of: fn(&CellResult) -> u64| {
            let mut sizes: Vec<u64> = results.iter().map(|r| of(r)).collect();
            sizes.sort_unstable();
            sizes.dedup();
            sizes
        };
        let (files, records) = (sizes(|r| r.file_bytes), sizes(|r| r.record_bytes));
        let mut cells = vec![vec![Vec::new(); records.len()]; files.len()];
        for result in &results {
            let row = files.binary_search(&result.file_bytes);
            let column = records.binary_search(&result.record_bytes);
            if let (Ok(row), Ok(column)) = (row, column) {
                cells[row][column].push(*result);
            }
        }
        let first = results[0];
        Grid { test: &first.test, method: &first.method, streams: first.streams, files, records, cells }
    }

    /// Medians over the repetitions, in bytes per second.
    pub fn medians(&self) -> Vec<Vec<Option<f64>>> {
        let of = |cell: &Vec<&CellResult>| Some(rates(cell)?.median);
        self.cells.iter().map(|row| row.iter().map(of).collect()).collect()
    }

    /// Title: test, with the attributes that distinguish it from others of the same test.
    pub fn title(&self) -> String {
        Grid::title_of(self.test, self.streams, self.method)
    }

    /// Title of a grid of a test with `streams` streams and a method.
    pub(crate) fn title_of(test: &str, streams: u32, method: &str) -> String {
        words((test, streams, method), ", ", |streams| format!("{streams} streams"))
    }

    /// The title as part of a file name.
    pub fn stem(&self) -> String {
        words((self.test, self.streams, self.method), "-", |streams| format!("x{streams}"))
    }
}

fn words((test, count, method): (&str, u32, &str), between: &str, streams: impl Fn(u32) -> String) -> String {
    let streams = (count > 1).then(|| streams(count));
    let method = (!method.is_empty()).then(|| method.to_string());
    let words = [Some(test.to_string()), streams, method];
    words.into_iter().flatten().collect::<Vec<_>>().join(between)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grid_groups_repetitions_by_cell() {
        let result = |test: &str, file_bytes, record_bytes, bytes_per_second| CellResult {
            test: test.into(),
            file_bytes,
            record_bytes,
            streams: 1,
            method: "sync".into(),
            bytes_per_second,
            ..CellResult::default()
        };
        let results = vec![
            result("read", 64, 4, 7.0),
            result("write", 128, 64, 5.0),
            result("write", 64, 4, 1.0),
            result("write", 64, 4, 2.0),
            result("write", 64, 4, 6.0),
            CellResult { streams: 4, ..result("write", 64, 4, 3.0) },
        ];
        let table = Table { results, ..Table::default() };
        let grids = table.grids();
        let titles: Vec<String> = grids.iter().map(Grid::title).collect();
        assert_eq!(titles, ["write, sync", "write, 4 streams, sync", "read, sync"]);
        assert_eq!(grids[1].stem(), "write-x4-sync");
        assert_eq!((&grids[0].files[..], &grids[0].records[..]), (&[64, 128][..], &[4, 64][..]));
        assert_eq!(grids[0].medians(), [[Some(2.0), None], [None, Some(5.0)]]);
    }
}
