//! Disturbances over time, for pictures: how much of each slice of time a cause had.

use crate::Facts;
use crate::causes::Evidence;
use crate::episodes::ResponseCourse;
use iosonar_analyze::{Blame, BlameRow, Cause, LossSlice, TimeRange};

/// Most slices: a picture has no more columns.
const MOST_SLICES: usize = 512;

/// `None` without any disturbance, or if time is too coarse.
pub(crate) fn blame(facts: &Facts<'_>, evidence: &Evidence<'_>) -> Option<Blame> {
    let course = &ResponseCourse::of(&facts.tally.losses(), None)?;
    let joined = course.slices.len().div_ceil(MOST_SLICES).max(1);
    let slices: Vec<LossSlice> = course.slices.chunks(joined).map(LossSlice::sum_of).collect();
    let slice_ns = course.width_ns.saturating_mul(joined as u64);
    let from_ns = course.begin_of(0);
    let time_of = |index: usize| {
        let from_ns = from_ns.saturating_add(slice_ns.saturating_mul(index as u64));
        TimeRange { from_ns, to_ns: from_ns.saturating_add(slice_ns) }
    };
    let over_time =
        |share: &dyn Fn(TimeRange) -> f64| (0..slices.len()).map(|index| share(time_of(index))).collect();
    let over_slices = |share: &dyn Fn(&LossSlice) -> f64| slices.iter().map(share).collect();
    let others = evidence.others_over_time();
    let others = others.map(|(device, rate)| row(Cause::Others, Some(device), over_time(&rate)));
    let rows = [
        row(Cause::Halted, None, over_time(&|time| evidence.halted_share(time))),
        row(Cause::NoCpu, None, over_time(&|time| evidence.no_cpu_share(time))),
    ];
    let waits = [
        row(Cause::DepthFull, None, over_slices(&|slice| waited_share(slice, slice.turn_ns))),
        row(Cause::Conflicts, None, over_slices(&|slice| waited_share(slice, slice.conflict_ns))),
    ];
    let rows: Vec<BlameRow> = rows.into_iter().chain(others).chain(waits).flatten().collect();
    (!rows.is_empty()).then_some(Blame { from_ns, slice_ns, rows })
}

/// Share of the response of a slice's requests.
fn waited_share(slice: &LossSlice, waited_ns: u128) -> f64 {
    waited_ns as f64 / (slice.response_ns() as f64).max(1.0)
}

/// `None` if no slice has 1 %.
fn row(cause: Cause, device: Option<String>, shares: Vec<f64>) -> Option<BlameRow> {
    let percent: Vec<u8> = shares.iter().map(|share| (share * 100.0).clamp(0.0, 100.0) as u8).collect();
    percent.iter().any(|percent| *percent > 0).then_some(BlameRow { cause, device, percent })
}
