//! Options of a static analysis.

/// Options of a static analysis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemandOptions {
    /// Windows of the working sets in whole seconds; the infinite one is always there. Zeros and duplicates are skipped,
    /// and at most 16 are kept, the shortest ones.
    pub windows_s: Vec<u64>,
    /// Width of the windows for throughput, nanoseconds.
    pub throughput_window_ns: u64,
    /// Width of the windows for turns, nanoseconds.
    pub turn_window_ns: u64,
    /// Number of distinct pages (4 KiB) of all devices up to which working sets, frequencies and reuse distances are
    /// exact. Above it pages are sampled.
    pub exact_pages: usize,
    /// Device sizes, in bytes, for which wraparound is reported.
    pub device_bytes: Vec<u64>,
}

/// Working-set windows at most.
const MOST_WINDOWS: usize = 16;

impl Default for DemandOptions {
    fn default() -> Self {
        DemandOptions {
            windows_s: vec![1, 6, 60, 600],
            throughput_window_ns: 3_000_000_000,
            turn_window_ns: 1_000_000_000,
            exact_pages: 1 << 22,
            device_bytes: Vec::new(),
        }
    }
}

impl DemandOptions {
    /// The working-set windows that are used: in ascending order, each once.
    pub(super) fn windows(&self) -> Vec<u64> {
        let mut windows: Vec<u64> = self.windows_s.iter().copied().filter(|d| *d > 0).collect();
        windows.sort_unstable();
        windows.dedup();
        windows.truncate(MOST_WINDOWS);
        windows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_and_deduplicates_windows() {
        let of = |windows_s| DemandOptions { windows_s, ..DemandOptions::default() }.windows();
        assert_eq!(of(vec![60, 0, 6, 60, 1]), [1, 6, 60]);
        assert_eq!(of((0..40).rev().collect()), (1..=16).collect::<Vec<u64>>());
    }
}
