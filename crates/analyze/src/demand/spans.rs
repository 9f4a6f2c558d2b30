//! Lowest and highest first sector of each consecutive window.

use super::lanes::MOST_STEPS;

/// Spans of one device, for each length of window.
#[derive(Debug, Clone)]
pub(super) struct Spans(Vec<OneSpan>);

/// Windows of one length.
#[derive(Debug, Clone)]
struct OneSpan {
    window_s: u64,
    /// Lowest and highest member; the lowest of an empty window is above the highest. `None` once there are too many
    /// windows.
    bounds: Option<Vec<(u64, u64)>>,
    /// The window of the last request, and its seconds: the next request is mostly in the same one.
    at: usize,
    seconds: std::ops::Range<u64>,
}

const EMPTY: (u64, u64) = (u64::MAX, 0);

impl Spans {
    pub(super) fn new(windows: &[u64]) -> Spans {
        let one = |d: &u64| OneSpan { window_s: *d, bounds: Some(Vec::new()), at: 0, seconds: 0..0 };
        Spans(windows.iter().map(one).collect())
    }

    /// Adds a request that starts at `sector`.
    pub(super) fn add(&mut self, second: u64, sector: u64) {
        self.0.iter_mut().for_each(|one| one.add(second, sector));
    }

    /// Spans of each window of one length, `None` for windows without requests.
    pub(super) fn of(&self, window: usize) -> impl Iterator<Item = Option<u64>> {
        let bounds = self.0[window].bounds.as_deref().unwrap_or_default();
        bounds.iter().map(|(low, high)| high.checked_sub(*low))
    }
}

impl OneSpan {
    fn add(&mut self, second: u64, sector: u64) {
        let Some(bounds) = &mut self.bounds else { return };
        if !self.seconds.contains(&second) {
            let window = second / self.window_s;
            if window >= MOST_STEPS as u64 {
                self.bounds = None;
                return;
            }
            self.at = window as usize;
            self.seconds = window * self.window_s..(window + 1).saturating_mul(self.window_s);
            bounds.resize(bounds.len().max(self.at + 1), EMPTY);
        }
        let (low, high) = &mut bounds[self.at];
        (*low, *high) = (sector.min(*low), sector.max(*high));
    }
}
