//! Keys of a table's cells, shared by repetitions.

use crate::{CellResult, Table};
use iosonar_plan::ByteSize;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;

/// A cell of a table, without the number of the repetition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CellKey {
    /// Test name.
    pub test: String,
    /// Length of each file.
    pub file_bytes: u64,
    /// Bytes of a record.
    pub record_bytes: u64,
    /// Number of concurrent files.
    pub streams: u32,
    /// Name of the method; empty if unknown.
    pub method: String,
}

impl CellKey {
    /// Key of a result.
    pub fn of(result: &CellResult) -> CellKey {
        CellKey {
            test: result.test.clone(),
            file_bytes: result.file_bytes,
            record_bytes: result.record_bytes,
            streams: result.streams,
            method: result.method.clone(),
        }
    }
}

/// Formats like names of phases: `read 64MiB/4KiB x3 sync`.
impl fmt::Display for CellKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.test, ByteSize(self.file_bytes), ByteSize(self.record_bytes))?;
        if self.streams > 1 {
            write!(f, " x{}", self.streams)?;
        }
        if !self.method.is_empty() {
            write!(f, " {}", self.method)?;
        }
        Ok(())
    }
}

impl Table {
    /// Returns the cells with their repetitions, in the order of first appearance.
    pub fn cells(&self) -> Vec<(CellKey, Vec<&CellResult>)> {
        let mut places: HashMap<CellKey, usize> = HashMap::new();
        let mut cells: Vec<(CellKey, Vec<&CellResult>)> = Vec::new();
        for result in &self.results {
            let key = CellKey::of(result);
            match places.get(&key) {
                Some(place) => cells[*place].1.push(result),
                None => {
                    places.insert(key.clone(), cells.len());
                    cells.push((key, vec![result]));
                }
            }
        }
        cells
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_repetitions_of_a_cell() {
        let result = |test: &str, method: &str, repeat| CellResult {
            test: test.into(),
            method: method.into(),
            repeat,
            file_bytes: 1 << 26,
            record_bytes: 4096,
            streams: 3,
            ..CellResult::default()
        };
        let results = vec![
            result("write", "sync", 0),
            result("read", "sync", 0),
            result("write", "sync", 1),
            result("write", "", 0),
        ];
        let table = Table { results, ..Table::default() };
        let cells = table.cells();
        let names: Vec<String> = cells.iter().map(|(key, _)| key.to_string()).collect();
        assert_eq!(names, ["write 64MiB/4KiB x3 sync", "read 64MiB/4KiB x3 sync", "write 64MiB/4KiB x3"]);
        assert_eq!(cells[0].1.iter().map(|r| r.repeat).collect::<Vec<_>>(), [0, 1]);
    }
}
