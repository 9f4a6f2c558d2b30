//! The past of a run, in columns of time: bounded, so that a run of days takes no more memory than one of an hour.

use iosonar_plan::Nanos;
use std::sync::LazyLock;

/// Reads, writes, and requests that were pushed back.
pub const CLASSES: usize = 3;
/// Rows of a decade.
pub(super) const ROWS_OF_DECADE: usize = 8;
/// Rows of the sonar: below 1 µs, eight for each decade up to 100 s, and above.
pub const LIVE_ROWS: usize = 2 + 8 * ROWS_OF_DECADE;
/// Maximum number of columns; then pairs are merged.
const MOST: usize = 8192;

/// The row of a latency.
pub fn live_row(latency: Nanos) -> usize {
    EDGES.partition_point(|edge| *edge <= latency.0)
}

/// Where each row but the first starts: 10^3, 10^3.125, 10^3.25 … 10^11 ns.
static EDGES: LazyLock<[u64; LIVE_ROWS - 1]> = LazyLock::new(|| {
    std::array::from_fn(|row| {
        let (decade, part) = (row / ROWS_OF_DECADE, row % ROWS_OF_DECADE);
        let begin = 10u64.pow(3 + decade as u32) as f64;
        (begin * 10f64.powf(part as f64 / ROWS_OF_DECADE as f64)).ceil() as u64
    })
});

/// Figures of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// Its start on the run's own clock.
    pub from: Nanos,
    /// Its end.
    pub to: Nanos,
    /// Requests that completed.
    pub completed: u64,
    /// Requests that became due, if the source has due times.
    pub demanded: Option<u64>,
    /// Latencies of requests that ended, by class and row.
    pub latencies: [[u64; LIVE_ROWS]; CLASSES],
}

impl Default for Interval {
    fn default() -> Interval {
        Interval {
            from: Nanos(0),
            to: Nanos(0),
            completed: 0,
            demanded: None,
            latencies: [[0; LIVE_ROWS]; CLASSES],
        }
    }
}

/// A column of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Column {
    /// Nanoseconds of it that intervals have covered.
    pub covered_ns: f64,
    pub completed: f64,
    pub demanded: f64,
    /// Whether the demand is known.
    pub has_demand: bool,
    pub latencies: [[u64; LIVE_ROWS]; CLASSES],
}

impl Default for Column {
    fn default() -> Column {
        Column {
            covered_ns: 0.0,
            completed: 0.0,
            demanded: 0.0,
            has_demand: false,
            latencies: [[0; LIVE_ROWS]; CLASSES],
        }
    }
}

impl Column {
    fn absorb(&mut self, other: &Column) {
        self.covered_ns += other.covered_ns;
        self.completed += other.completed;
        self.demanded += other.demanded;
        self.has_demand |= other.has_demand;
        let rows = self.latencies.iter_mut().flatten();
        rows.zip(other.latencies.iter().flatten()).for_each(|(sum, n)| *sum += n);
    }

    fn per_second(&self, count: f64) -> Option<f64> {
        (self.covered_ns > 0.0).then(|| count * 1e9 / self.covered_ns)
    }

    /// Requests that completed per second.
    pub fn actual(&self) -> Option<f64> {
        self.per_second(self.completed)
    }

    /// Requests that became due per second.
    pub fn demand(&self) -> Option<f64> {
        self.per_second(self.demanded).filter(|_| self.has_demand)
    }
}

#[derive(Debug, Clone)]
pub(super) struct History {
    base_ns: u64,
    columns: Vec<Column>,
    /// Rows that ever held anything: the picture does not jump when they become empty.
    lit: [bool; LIVE_ROWS],
}

impl History {
    pub fn new(base: Nanos) -> History {
        History { base_ns: base.0.max(1_000_000), columns: Vec::new(), lit: [false; LIVE_ROWS] }
    }

    pub fn len(&self) -> usize {
        self.columns.len()
    }

    pub fn base_ns(&self) -> u64 {
        self.base_ns
    }

    pub fn columns_in(&self, span: Nanos) -> usize {
        span.0.div_ceil(self.base_ns).min(MOST as u64) as usize
    }

    /// First and last row that ever held anything.
    pub fn lit(&self) -> Option<(usize, usize)> {
        Some((self.lit.iter().position(|l| *l)?, self.lit.iter().rposition(|l| *l)?))
    }

    pub fn add(&mut self, interval: &Interval) {
        let (from, to) = (interval.from.0, interval.to.0);
        if to <= from {
            return;
        }
        while (to - 1) / self.base_ns >= MOST as u64 {
            self.halve();
        }
        let base = self.base_ns;
        let last = ((to - 1) / base) as usize;
        if self.columns.len() <= last {
            self.columns.resize(last + 1, Column::default());
        }
        for index in (from / base) as usize..=last {
            let begin = from.max(index as u64 * base);
            let end = to.min((index as u64 + 1).saturating_mul(base));
            let share = (end - begin) as f64 / (to - from) as f64;
            let column = &mut self.columns[index];
            column.covered_ns += (end - begin) as f64;
            column.completed += share * interval.completed as f64;
            column.demanded += share * interval.demanded.unwrap_or(0) as f64;
            column.has_demand |= interval.demanded.is_some();
        }
        let middle = ((from + (to - from) / 2) / base) as usize;
        let sums = self.columns[middle].latencies.iter_mut().flatten();
        for (i, (sum, n)) in sums.zip(interval.latencies.iter().flatten()).enumerate() {
            *sum += n;
            self.lit[i % LIVE_ROWS] |= *n > 0;
        }
    }

    fn halve(&mut self) {
        let merge = |pair: &[Column]| {
            let mut sum = pair[0];
            pair[1..].iter().for_each(|c| sum.absorb(c));
            sum
        };
        self.columns = self.columns.chunks(2).map(merge).collect();
        self.base_ns *= 2;
    }

    /// The last `width` columns of `step` each, and the number of the first of them.
    pub fn view(&self, width: usize, step: usize) -> (usize, Vec<Column>) {
        let all = self.columns.len().div_ceil(step);
        let first = all.saturating_sub(width);
        let sum = |chunk: &[Column]| {
            let mut sum = Column::default();
            chunk.iter().for_each(|c| sum.absorb(c));
            sum
        };
        let shown = &self.columns[(first * step).min(self.columns.len())..];
        (first, shown.chunks(step).map(sum).collect())
    }
}
