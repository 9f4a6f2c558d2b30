//! Sources of requests for a target, with their due times.
//!
//! A [`Source`] yields [`SourceRequest`]s one at a time, in order, in bounded memory: recorded loads ([`Recorded`]) and generated workloads
//! ([`Generated`]). [`scan`] reads a recorded load once before a run, so that nothing is touched if it cannot be replayed.
//! [`generate`] makes synthetic loads, [`filtered`] and [`mod@derive`] make loads of loads.

mod addresses;
mod ahead;
mod demand;
pub mod derive;
mod draws;
mod filter;
mod flushed;
pub mod generate;
mod generated;
mod issued;
mod jittered;
mod known;
mod mersenne;
mod permutation;
mod places;
mod random;
mod recorded;
mod scan;
mod share;
mod sizes;
mod skew;
mod sort;
#[cfg(test)]
mod statistics;
mod text;
mod timetable;

pub use ahead::{Next, ReadAhead};
pub use demand::Demand;
pub use filter::{FilterError, Filtered, Room, filtered};
pub use flushed::Flushed;
pub use generated::{Generated, Listed, PatternError, Setting};
pub use issued::IssuedHash;
pub use jittered::Jittered;
pub use known::Known;
pub use recorded::{BackShift, LoadError, Notice, ParseCounters, Recorded};
pub use scan::{Facts, scan};
pub use text::{Opened, Text};

use iosonar_plan::{Durability, Extent, Nanos, Op};

/// A request of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceRequest {
    /// Number in this source, from 0.
    pub sequence: u64,
    /// The load's own time; for patterns the same as `due`, or the time of the call.
    pub load_time: Nanos,
    /// Due time, counted from the start of the pass; `None` in a closed loop.
    pub due: Option<Nanos>,
    /// Its operation.
    pub op: Op,
    /// Durability that a write requests beyond its data.
    pub durability: Durability,
    /// Its range, before it is brought onto the target. A flush has no place and no length.
    pub extent: Extent,
    /// Whether it belongs to the ramp, which figures skip.
    pub ramp: bool,
}

/// Yields the requests of one pass over a target.
pub trait Source: Send {
    /// The next request; `now` is the time since the start of the pass, for sources that end by time.
    fn next(&mut self, now: Nanos) -> Result<Option<SourceRequest>, LoadError>;

    /// The request that [`Source::next`] would return at `now`, where a source knows it without reading on. It is a
    /// hint: nothing is consumed, and the source may end before that request.
    fn upcoming(&self, _now: Nanos) -> Option<SourceRequest> {
        None
    }

    /// Lines of input read so far, text included; 0 for sources without lines.
    fn lines(&self) -> u64 {
        0
    }
}
