//! The places of a generated workload on its target, and its behaviour at the end of its region.

use crate::generated::{PatternError, Setting};
use iosonar_plan::{AtEnd, Generator, Order};

/// The places that requests go to: place p lies at `base` + p × `step`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places {
    pub(crate) base: u64,
    pub(crate) step: u64,
    /// Number of places; after the last one the first follows.
    pub(crate) count: u64,
    /// Number of places by which this pass is moved.
    pub(crate) shift: u64,
    /// Length of the region in bytes.
    pub(crate) region: u64,
}

impl Places {
    /// The places of a valid generator on a target.
    pub(crate) fn new(generator: &Generator, setting: &Setting) -> Result<Places, PatternError> {
        let moved = generator.pass_offset.0.saturating_mul(setting.pass.into());
        match generator.at_end {
            AtEnd::Wrap => Places::wrapped(generator, setting.size, moved),
            AtEnd::Extend => Ok(Places::extended(generator, setting, moved)),
        }
    }

    /// Places in a region of a target of `size` bytes; passes move inside it.
    fn wrapped(generator: &Generator, size: u64, moved: u64) -> Result<Places, PatternError> {
        let (length, unit) = (generator.longest(), generator.unit());
        let region = generator.region_on(size);
        if region < length || length == 0 {
            return Err(PatternError::Region { length });
        }
        let (base, step) = (generator.offset.0, step(generator, region));
        let last = |step: u64| (region - length).checked_div(step);
        Ok(match (moved.checked_div(step), last(step)) {
            (Some(moved), Some(last)) => {
                Places { base, step, count: last + 1, shift: moved % (last + 1), region }
            }
            // All in one place.
            _ => {
                let places = last(unit).unwrap_or(0) + 1;
                let base = base + moved / unit % places * unit;
                Places { base, step, count: u64::MAX, shift: 0, region }
            }
        })
    }

    /// Addresses as set by the generator, independent of the size of the target.
    fn extended(generator: &Generator, setting: &Setting, moved: u64) -> Places {
        let base = generator.offset.0.saturating_add(moved);
        let room = if setting.grows { u64::MAX } else { setting.size.saturating_sub(base) };
        let region = match generator.region {
            Some(space) => space.of(setting.size),
            None => generator.amount().unwrap_or(u64::MAX).min(room),
        };
        let is_in_order = matches!(generator.order, Order::Sequential | Order::Interleaved { .. });
        // In order, requests continue after the amount of a pass, if only time ends it.
        let span = match generator.region {
            None if is_in_order && generator.ends_by_time() => room,
            None if is_in_order => u64::MAX,
            _ if generator.order == Order::Staggered => u64::MAX,
            _ => region,
        };
        let step = step(generator, region);
        let last = span.saturating_sub(generator.longest()).checked_div(step).unwrap_or(u64::MAX);
        let is_stream = generator.order == Order::Sequential && generator.fixed_size().is_none();
        let region = if is_stream { span } else { region };
        Places { base, step, count: last.saturating_add(1), shift: 0, region }
    }

    #[inline]
    pub(crate) fn offset(&self, place: u64) -> u64 {
        // A valid plan ends below 2^63.
        self.base.wrapping_add(place.wrapping_mul(self.step))
    }

    /// A place in this pass.
    pub(crate) fn moved(&self, place: u64) -> u64 {
        let moved = place.saturating_add(self.shift);
        if moved < self.count { moved } else { moved - self.count }
    }

    /// Start of a sequential request, of requests of different lengths: at the beginning of the region, if it does not fit any
    /// more.
    pub(crate) fn fit(&self, position: u64, length: u64) -> u64 {
        if length > self.region.saturating_sub(position) { 0 } else { position }
    }
}

/// Distance of two places, in bytes.
fn step(generator: &Generator, region: u64) -> u64 {
    let size = generator.longest();
    match generator.order {
        Order::Sequential if generator.fixed_size().is_some() => size,
        Order::Interleaved { every } => size.saturating_mul(every.into()),
        Order::Fixed | Order::List { .. } | Order::Telemetry { .. } => 0,
        Order::Staggered => stagger(generator, region),
        _ => generator.unit(),
    }
}

/// Distance of two staggered requests, in whole units: the last one ends within the region (XDD manual 4.8).
fn stagger(generator: &Generator, region: u64) -> u64 {
    let (unit, size) = (generator.unit().max(1), generator.longest());
    let requests = generator.count().unwrap_or(0);
    let others = requests.saturating_sub(1);
    if others == 0 {
        return size;
    }
    let left = (region / unit * unit).saturating_sub(size);
    let gap = left.saturating_sub(requests.saturating_mul(size)) / unit / others * unit;
    size.saturating_add(gap)
}
