//! Loads derived from loads as wholes: sorted snippets ([`overload`]), side by side ([`adjacent`]), a ramp ([`ramp`]).
//!
//! Operations on one request after the other are in [`crate::filtered`].

pub mod adjacent;
pub mod overload;
pub mod ramp;

use crate::{LoadError, Notice, Recorded, Text};
use iosonar_plan::{Backward, TraceReplay};
use iosonar_trace::TimedRequest;
use std::iter;

/// All requests of a load by its own time, never backward but for steps within a second under [`Backward::Shift`]. `notice` gets
/// lines that are skipped and shifts. An error is the last item.
///
/// # Errors
/// A load that cannot be begun.
pub fn in_time(
    text: Text,
    backward: Backward,
    skip_bad: bool,
    notice: impl Fn(Notice) + Send + Sync + 'static,
) -> Result<impl Iterator<Item = Result<TimedRequest, LoadError>>, LoadError> {
    let load = TraceReplay { backward, skip_bad, ..TraceReplay::of("-") };
    let mut load = Recorded::new(text, &load, notice)?;
    Ok(iter::from_fn(move || load.next_timed().transpose()))
}

#[cfg(test)]
mod testing {
    use iosonar_plan::{Durability, Extent, Nanos, Op, SECTOR};
    use iosonar_trace::TimedRequest;

    /// A read of 8 sectors.
    pub fn read_at(line: u64, time: u64, sector: u64) -> TimedRequest {
        TimedRequest {
            line,
            time: Nanos(time),
            op: Op::Read,
            durability: Durability::NONE,
            extent: Extent { offset: sector * SECTOR, length: 8 * SECTOR },
            pushed: false,
            delay: Nanos(0),
            latency: Nanos(0),
        }
    }
}
