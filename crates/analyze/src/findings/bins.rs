//! The time that findings are about, and its equal parts.

use crate::Summary;
use crate::time_range::TimeRange;

/// The measured time: without the ramp, to the last due time; to the last completion if all was due at once. `None` if it
/// is empty.
pub(super) fn measured(summary: &Summary) -> Option<TimeRange> {
    let span = &summary.span;
    let from_ns = span.first_due_ns?;
    let to_ns = span.last_due_ns.filter(|last| *last > from_ns).or(span.last_completed_ns)?;
    (to_ns > from_ns).then_some(TimeRange { from_ns, to_ns })
}

/// Sums of `bins` equal parts of a range; a column counts in the part that holds its middle.
pub(super) fn binned(values: &[u64], width_ns: u64, range: TimeRange, bins: usize) -> Vec<f64> {
    let mut sums = vec![0.0; bins];
    for (column, value) in (0u64..).zip(values) {
        let middle = column.saturating_mul(width_ns).saturating_add(width_ns / 2);
        if let Some(bin) = bin_of(middle, range, bins) {
            sums[bin] += *value as f64;
        }
    }
    sums
}

/// The part of a range that holds a time.
pub(super) fn bin_of(ns: u64, range: TimeRange, bins: usize) -> Option<usize> {
    let inside = ns >= range.from_ns && ns < range.to_ns;
    inside.then(|| (u128::from(ns - range.from_ns) * bins as u128 / u128::from(range.length_ns())) as usize)
}

/// Time at the start of a part of a range.
pub(super) fn begin_of(bin: usize, range: TimeRange, bins: usize) -> u64 {
    range.from_ns + (u128::from(range.length_ns()) * bin as u128 / bins as u128) as u64
}
