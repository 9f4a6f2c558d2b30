//! Two tables as grids of file sizes and record sizes.

use crate::{CellKey, Grid, MatrixComparison, Table, Verdict, rates};
use std::collections::BTreeSet;

/// A test with one method and number of streams in two tables. Rows are file sizes, columns record sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedGrid {
    /// Test, with the attributes that distinguish it from others of the same test.
    pub title: String,
    /// File sizes of both tables in bytes, ascending.
    pub files: Vec<u64>,
    /// Record sizes of both tables in bytes, ascending.
    pub records: Vec<u64>,
    /// Medians of A in bytes per second; `None` for missing cells.
    pub a: Vec<Vec<Option<f64>>>,
    /// Medians of B.
    pub b: Vec<Vec<Option<f64>>>,
    /// Change from A to B in percent, with its verdict, for cells in both tables.
    pub changes: Vec<Vec<Option<(f64, Verdict)>>>,
}

/// Grids of both tables of a comparison, in the order of A.
pub fn compared_grids(comparison: &MatrixComparison, a: &Table, b: &Table) -> Vec<ComparedGrid> {
    let (cells_a, cells_b) = (a.cells(), b.cells());
    let both = comparison.cells.iter().map(|row| &row.key);
    let all: Vec<&CellKey> = both.chain(&comparison.only_in_a).chain(&comparison.only_in_b).collect();
    let mut groups: Vec<(&str, u32, &str)> = Vec::new();
    for key in &all {
        if !groups.contains(&group(key)) {
            groups.push(group(key));
        }
    }
    let medians = |cells: &[(CellKey, Vec<&crate::CellResult>)], key: &CellKey| {
        // A cell without method may match one with a method.
        let is_same = |other: &CellKey| {
            let methods = other.method == key.method || other.method.is_empty() || key.method.is_empty();
            methods
                && CellKey { method: String::new(), ..other.clone() }
                    == CellKey { method: String::new(), ..key.clone() }
        };
        let exact = cells.iter().find(|(other, _)| other == key);
        let found = exact.or_else(|| cells.iter().find(|(other, _)| is_same(other)));
        found.and_then(|(_, results)| Some(rates(results)?.median))
    };
    let grid = |of: (&str, u32, &str)| {
        let keys: Vec<&CellKey> = all.iter().copied().filter(|key| group(key) == of).collect();
        let sizes = |size: fn(&CellKey) -> u64| -> Vec<u64> {
            keys.iter().map(|key| size(key)).collect::<BTreeSet<_>>().into_iter().collect()
        };
        let (files, records) = (sizes(|key| key.file_bytes), sizes(|key| key.record_bytes));
        let key = |file: &u64, record: &u64| {
            keys.iter().copied().find(|key| key.file_bytes == *file && key.record_bytes == *record)
        };
        let is_in = |keys: &[CellKey], key: &CellKey| keys.contains(key);
        let change = |key: &CellKey| {
            let row = comparison.cells.iter().find(|row| row.key == *key)?;
            Some((row.change.change_percent, row.change.verdict))
        };
        ComparedGrid {
            title: Grid::title_of(of.0, of.1, of.2),
            a: rows(&files, &records, |f, r| {
                key(f, r)
                    .filter(|key| !is_in(&comparison.only_in_b, key))
                    .and_then(|key| medians(&cells_a, key))
            }),
            b: rows(&files, &records, |f, r| {
                key(f, r)
                    .filter(|key| !is_in(&comparison.only_in_a, key))
                    .and_then(|key| medians(&cells_b, key))
            }),
            changes: rows(&files, &records, |f, r| key(f, r).and_then(change)),
            files,
            records,
        }
    };
    groups.into_iter().map(grid).collect()
}

fn group(key: &CellKey) -> (&str, u32, &str) {
    (&key.test, key.streams, &key.method)
}

fn rows<T>(files: &[u64], records: &[u64], cell: impl Fn(&u64, &u64) -> Option<T>) -> Vec<Vec<Option<T>>> {
    files.iter().map(|file| records.iter().map(|record| cell(file, record)).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CellResult, compare_tables};

    #[test]
    fn comparison_grid_covers_cells_of_both_tables() {
        let result = |file_bytes, record_bytes, repeat, bytes_per_second| CellResult {
            test: "read".into(),
            file_bytes,
            record_bytes,
            streams: 1,
            method: "sync".into(),
            repeat,
            bytes_per_second,
            ..CellResult::default()
        };
        let twice =
            |file, record, rate: f64| [result(file, record, 0, rate), result(file, record, 1, rate * 1.001)];
        let table = |cells: Vec<[CellResult; 2]>| Table { results: cells.concat(), ..Table::default() };
        let a = table(vec![twice(64, 4, 100.0), twice(64, 8, 50.0)]);
        let b = table(vec![twice(64, 4, 150.0), twice(128, 4, 70.0)]);
        let comparison = compare_tables(("a", &a), ("b", &b));
        let grids = compared_grids(&comparison, &a, &b);
        assert_eq!((grids.len(), grids[0].title.as_str()), (1, "read, sync"));
        let grid = &grids[0];
        assert_eq!((&grid.files[..], &grid.records[..]), (&[64, 128][..], &[4, 8][..]));
        let is_there =
            |rows: &[Vec<Option<f64>>]| rows.concat().iter().map(Option::is_some).collect::<Vec<_>>();
        assert_eq!(is_there(&grid.a), [true, true, false, false]);
        assert_eq!(is_there(&grid.b), [true, false, true, false]);
        let (percent, verdict) = grid.changes[0][0].unwrap();
        assert!((percent - 50.0).abs() < 1e-6 && verdict == Verdict::Faster, "{percent} {verdict:?}");
        assert_eq!(grid.changes.concat().iter().flatten().count(), 1);
    }
}
