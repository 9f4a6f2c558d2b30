//! The arrays of a static analysis, for pictures and CSV.

use super::{ByOp, SetSizes};
use iosonar_plan::Op;

/// Arrays of a load's demand. Time always starts at zero.
#[derive(Debug, Clone, PartialEq)]
pub struct DemandSeries {
    /// Requests and sectors in each second.
    pub per_second: RateSeries,
    /// Requests and sectors in each throughput window.
    pub throughput: RateSeries,
    /// Turns in each turn window.
    pub turns: DemandTurnSeries,
    /// Working sets of each window, shortest first, the infinite one last.
    pub working_sets: Vec<WindowSeries>,
    /// Requests of each length, shortest first.
    pub sizes: Vec<SizeCount>,
    /// Requests by place.
    pub positions: PositionSeries,
    /// Requests by time and place.
    pub seek_map: SeekMap,
    /// Rank and accesses at up to 512 ranks on a log axis, the first and the last among them.
    pub rank_frequency: ByOp<Vec<(u64, u64)>>,
    /// How many pages are used how often, most used first.
    pub frequency_groups: ByOp<Vec<FrequencyGroup>>,
    /// The miss-ratio curve, from the smallest cache to one that misses first uses only.
    pub miss_ratio: Vec<MissRatioPoint>,
}

/// Requests and sectors in windows of equal width, from time zero to the last request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateSeries {
    /// Width of a window, nanoseconds: as requested, or a power of two times that in very long runs.
    pub width_ns: u64,
    /// Reads in each window.
    pub reads: Vec<u64>,
    /// Writes in each window.
    pub writes: Vec<u64>,
    /// Sectors of reads.
    pub read_sectors: Vec<u64>,
    /// Sectors of writes.
    pub write_sectors: Vec<u64>,
}

/// Turns in windows of equal width, in the order of due times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemandTurnSeries {
    /// Width of a window, nanoseconds: as requested, or a power of two times that in very long runs.
    pub width_ns: u64,
    /// Requests in each window.
    pub requests: Vec<u64>,
    /// How many of them begin lower than their predecessor.
    pub turns: Vec<u64>,
}

/// Sizes of the three working sets at equidistant times.
pub type SetSeries = SetSizes<Vec<u64>>;

/// Working sets of one window.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowSeries {
    /// Length of the window in seconds; `None` for the infinite one.
    pub window_s: Option<u64>,
    /// Entry i of `sliding` is the window that ends at (i + 1) · this many seconds.
    pub step_s: u64,
    /// Sizes in sliding windows [t − d, t).
    pub sliding: SetSeries,
    /// Consecutive windows; `None` if the step is no divisor of the window.
    pub consecutive: Option<ConsecutiveSeries>,
}

/// Consecutive windows [k·d, (k + 1)·d), entry k.
#[derive(Debug, Clone, PartialEq)]
pub struct ConsecutiveSeries {
    /// Sizes of the sets.
    pub sets: SetSeries,
    /// Highest minus lowest first sector, in sectors, added up over devices.
    pub sum_dist: Vec<u64>,
    /// `sum_dist` divided by the size of the start set, in sectors; 0 for an empty window.
    pub avg_dist: Vec<f64>,
    /// `sum_dist` divided by the number of gaps in the start set (for one device its size − 1), in sectors; 0 for a
    /// window without a gap.
    pub mean_gap: Vec<f64>,
}

/// Requests of some lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeCount {
    /// Shortest length, in sectors.
    pub first: u64,
    /// Longest length, in sectors; equal to `first` for exact lengths.
    pub last: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
}

/// Requests by the place of their first sector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PositionSeries {
    /// Width of a cell in sectors: 1 GiB times a power of two.
    pub cell_sectors: u64,
    /// Reads in each cell from sector 0.
    pub reads: Vec<u64>,
    /// Writes in each cell.
    pub writes: Vec<u64>,
}

/// Number of requests by time (columns) and place of their first sector (rows), exact counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeekMap {
    /// Width of a column, nanoseconds.
    pub column_ns: u64,
    /// Number of columns, at most 2048.
    pub columns: usize,
    /// Height of a row, sectors.
    pub row_sectors: u64,
    /// Number of rows, at most 512. Row 0 starts at sector 0.
    pub rows: usize,
    /// Reads and writes of each cell, column after column, lowest row first.
    pub(super) cells: Vec<[u32; 2]>,
}

impl SeekMap {
    /// Requests of an operation in a cell; 0 outside.
    pub fn count(&self, column: usize, row: usize, op: Op) -> u32 {
        if column >= self.columns || row >= self.rows {
            return 0;
        }
        self.cells[column * self.rows + row][usize::from(op.is_write())]
    }

    /// Reads and writes of each row of a column, lowest first; nothing outside.
    pub fn column(&self, column: usize) -> &[[u32; 2]] {
        self.cells.get(column * self.rows..(column + 1) * self.rows).unwrap_or_default()
    }
}

/// Pages that are used equally often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrequencyGroup {
    /// How often each of them is used.
    pub accesses: u64,
    /// Number of such pages.
    pub pages: u64,
}

/// A place on the miss-ratio curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MissRatioPoint {
    /// Size of the cache in pages of 4 KiB; of each device's own, where there are several.
    pub cache_pages: u64,
    /// Misses in parts of the accesses.
    pub miss: ByOp<f64>,
}
