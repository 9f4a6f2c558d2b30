//! Changes of a single request by steps. Formulas: [`Filter`].

use super::{FilterError, Texts};
use crate::recorded::LoadError;
use iosonar_plan::{Decimal, Durability, Extent, Filter, Nanos, SECTOR};
use iosonar_trace::TimedRequest;

/// Maximum time of a load, in nanoseconds.
const END: u64 = 1 << 63;

type Changed = Result<TimedRequest, LoadError>;

fn sector(r: &TimedRequest) -> u64 {
    r.extent.offset / SECTOR
}

/// Step and texts, for errors about requests that become too large.
struct Judge<'a> {
    filter: &'a Filter,
    texts: &'a Texts,
}

impl Judge<'_> {
    fn too_large(&self, r: &TimedRequest, what: &'static str) -> LoadError {
        FilterError::TooLarge { at: self.texts.place(r), filter: self.filter.clone(), what }.into()
    }

    /// The request at another sector. An operation without a place stays as it is.
    fn placed(&self, r: TimedRequest, sector: Option<u64>) -> Changed {
        if !r.op.has_place() {
            return Ok(r);
        }
        let extent = sector.and_then(|sector| Extent::from_sectors(sector, r.extent.length / SECTOR));
        Ok(TimedRequest { extent: extent.ok_or_else(|| self.too_large(&r, "sector"))?, ..r })
    }

    /// The request with another length.
    fn resized(&self, r: TimedRequest, length: u64) -> Changed {
        if !r.op.has_place() {
            return Ok(r);
        }
        let extent = Extent::from_sectors(sector(&r), length);
        Ok(TimedRequest { extent: extent.ok_or_else(|| self.too_large(&r, "length"))?, ..r })
    }

    /// The request at another time.
    fn timed(&self, r: TimedRequest, time: Option<u64>) -> Changed {
        let time = time.filter(|time| *time < END).ok_or_else(|| self.too_large(&r, "time"))?;
        Ok(TimedRequest { time: Nanos(time), ..r })
    }
}

/// `floor(number * factor / divisor)`, exactly.
fn scaled(number: u64, factor: Decimal, divisor: u64) -> Option<u64> {
    let product = u128::from(number) * u128::from(factor.parts());
    (product / u128::from(Decimal::whole(1).parts()) / u128::from(divisor)).try_into().ok()
}

/// Applies a step that changes single requests to the `n`-th request.
pub(super) fn changed(r: TimedRequest, n: u64, filter: &Filter, texts: &Texts) -> Changed {
    let judge = Judge { filter, texts };
    let place = sector(&r);
    match filter {
        Filter::Slip { every, increase } => {
            judge.placed(r, (n / every).checked_mul(*increase).and_then(|by| by.checked_add(place)))
        }
        Filter::Subst { from, to } if r.op == *from => {
            let durability = if to.is_write() { r.durability } else { Durability::NONE };
            Ok(TimedRequest { op: *to, durability, ..r })
        }
        Filter::Subst { .. } => Ok(r),
        Filter::Spread { factor, align, offset } => {
            let place = scaled(place, *factor, *align)
                .and_then(|n| n.checked_mul(*align))
                .and_then(|n| n.checked_add(place % align))
                .and_then(|n| n.checked_add(*offset));
            judge.placed(r, place)
        }
        Filter::Resize { factor, min, max } => {
            let length = scaled(r.extent.length / SECTOR, *factor, 1).unwrap_or(u64::MAX);
            judge.resized(r, length.max(*min).min(*max))
        }
        Filter::Scale { factor } => judge.timed(r, scaled(r.time.0, *factor, 1)),
        Filter::Shift { by } => judge.timed(r, r.time.0.checked_add(by.0)),
        // These involve more than one request.
        Filter::Select(_)
        | Filter::Repeat { .. }
        | Filter::Reverse
        | Filter::Sort
        | Filter::Sample { .. }
        | Filter::Merge { .. }
        | Filter::Cmd { .. } => Ok(r),
    }
}

/// A request moved in time and place.
pub(super) fn moved(
    r: TimedRequest,
    later: Option<u64>,
    further: Option<u64>,
    filter: &Filter,
    texts: &Texts,
) -> Changed {
    let judge = Judge { filter, texts };
    let r = judge.timed(r, later.and_then(|later| later.checked_add(r.time.0)))?;
    judge.placed(r, further.and_then(|further| further.checked_add(sector(&r))))
}
