//! Stored columns as steps of a few pixels: sums are exact, nothing is smoothed.

use super::axes::TimeScale;

/// A step and the sum of its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
    pub(super) sum: u64,
}

impl Step {
    /// The sum per second.
    pub(super) fn per_second(&self) -> f64 {
        self.sum as f64 / ((self.end_ns - self.begin_ns) as f64 / 1e9)
    }

    /// Its pixels. The last window may be longer than the remaining time.
    pub(super) fn pixels(&self, time: &TimeScale) -> (i32, i32) {
        (time.x(self.begin_ns), time.x(self.end_ns.min(time.end)))
    }
}

/// Number of columns of this width that make a step of at least `pixels` pixels, so that single requests do not become
/// spikes.
pub(super) fn group(width_ns: u64, time: &TimeScale, pixels: i32) -> usize {
    let steps = u64::try_from((time.area.w / pixels).max(1)).unwrap_or(1);
    let columns = time.end.saturating_sub(time.begin).div_ceil(width_ns);
    usize::try_from(columns.div_ceil(steps)).unwrap_or(1).max(1)
}

/// The sums of all visible steps.
pub(super) fn sums(values: &[u64], width: u64, time: &TimeScale, pixels: i32) -> Vec<Step> {
    let first = usize::try_from(time.begin / width).unwrap_or(usize::MAX).min(values.len());
    let end = usize::try_from(time.end.div_ceil(width)).unwrap_or(usize::MAX).clamp(first, values.len());
    let group = group(width, time, pixels);
    let mut begin = first as u64;
    let mut steps = Vec::new();
    for part in values[first..end].chunks(group) {
        let next = begin + part.len() as u64;
        let (begin_ns, end_ns) = (begin.saturating_mul(width), next.saturating_mul(width));
        steps.push(Step { begin_ns, end_ns, sum: part.iter().sum() });
        begin = next;
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Rect;
    use iosonar_analyze::TimeAxis;

    #[test]
    fn every_column_belongs_to_one_step() {
        let axis = TimeAxis::new(999, 1024);
        let values = vec![1; axis.columns()];
        let area = Rect { x: 0, y: 0, w: 100, h: 10 };
        for (begin, end) in [(0, axis.end_ns()), (100, 300), (0, 1)] {
            let time = TimeScale { begin, end, is_number: false, area };
            let steps = sums(&values, axis.width_ns(), &time, 3);
            let total: u64 = steps.iter().map(|s| s.sum).sum();
            assert_eq!(total, end.div_ceil(axis.width_ns()) - begin / axis.width_ns(), "{begin} {end}");
            assert!(steps.windows(2).all(|w| w[0].end_ns == w[1].begin_ns));
            assert!(steps.len() <= 34);
        }
    }
}
