//! Cells of a file's offsets and addresses, for pictures.

use super::placed::{PlacedMap, PlacedPart};
use iosonar_layout::Map;

/// Columns of file offsets in grids.
pub const EXTENT_COLUMNS: usize = 480;
/// Rows of addresses in grids.
pub const EXTENT_ROWS: usize = 270;

/// How offsets and addresses of a file become columns and rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid {
    end: u64,
    from: u64,
    to: u64,
}

impl Grid {
    pub(super) fn of(map: &Map, placed: &PlacedMap) -> Grid {
        let addresses = placed.addresses();
        Grid { end: map.size.max(1), from: addresses.start, to: addresses.end.max(addresses.start + 1) }
    }

    pub(super) fn column(&self, offset: u64) -> u16 {
        scaled(offset, self.end, EXTENT_COLUMNS)
    }

    fn row(&self, address: u64) -> u16 {
        scaled(address.saturating_sub(self.from), self.to - self.from, EXTENT_ROWS)
    }

    /// Cells in which parts of a request lie, each once for each part.
    pub(super) fn cells(self, parts: &[PlacedPart]) -> impl Iterator<Item = (u16, u16)> {
        parts.iter().flat_map(move |part| {
            let (first, last) = (self.column(part.offset), self.column(part.offset + part.length - 1));
            (first..=last).map(move |column| {
                // The column's own position in the part, so that a long part is a slanted line.
                let begin = u128::from(column) * u128::from(self.end) / EXTENT_COLUMNS as u128;
                let inside = (begin as u64).saturating_sub(part.offset).min(part.length - 1);
                (column, self.row(part.address + inside))
            })
        })
    }
}

/// Which of `steps` equal parts of `whole` holds `value`.
fn scaled(value: u64, whole: u64, steps: usize) -> u16 {
    let step = u128::from(value) * steps as u128 / u128::from(whole.max(1));
    step.min(steps as u128 - 1) as u16
}
