//! Demand of a load: the static analysis, from due times and addresses alone.
//!
//! [`DemandTally`] takes [`Demand`]s one by one in the order of time and returns a [`DemandAnalysis`]: figures
//! ([`DemandFacts`]) and the arrays for pictures and tables ([`DemandSeries`]). Definitions and formulas are in
//! `docs/demand.md`. Memory follows [`DemandOptions`] and the number of devices, never the number of requests.

mod device;
mod facts;
mod finish;
mod frequency;
mod hash;
mod lanes;
mod options;
mod recency;
mod request;
mod reuse;
mod sectors;
mod seek;
mod series;
mod sizes;
mod spans;
mod table;
mod tally;
mod turns;
mod windows;
mod wrap;

pub use facts::{
    DemandCounts, DemandFacts, DemandSpan, DemandThroughput, DemandTurns, Extremes, FractionExtremes,
    FrequencyFacts, Growth, GrowthPoint, HotPage, Knee, MassMarker, MissRatio, MissRatioFacts, PositionFacts,
    RankPoint, Repetitions, SamplingFacts, SetSizes, SizeFacts, TurnCount, WindowFacts, Wraparound,
};
pub use options::DemandOptions;
pub use request::{Demand, PAGE_BYTES, SECTOR_BYTES, SECTORS_PER_PAGE};
pub use series::{
    ConsecutiveSeries, DemandSeries, DemandTurnSeries, FrequencyGroup, MissRatioPoint, PositionSeries,
    RateSeries, SeekMap, SetSeries, SizeCount, WindowSeries,
};
pub use tally::DemandTally;

use serde::{Deserialize, Serialize};

/// Demand of a load: figures and the arrays for pictures.
#[derive(Debug, Clone, PartialEq)]
pub struct DemandAnalysis {
    /// Figures, for tables and JSON.
    pub facts: DemandFacts,
    /// Arrays, for pictures and CSV.
    pub series: DemandSeries,
}

/// A value for all requests, for reads and for writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ByOp<T> {
    /// All requests.
    pub all: T,
    /// Reads.
    pub read: T,
    /// Writes.
    pub write: T,
}

impl<T> ByOp<T> {
    /// Applies `f` to all three, in the order of tables.
    pub fn map<U>(&self, mut f: impl FnMut(&T) -> U) -> ByOp<U> {
        ByOp { all: f(&self.all), read: f(&self.read), write: f(&self.write) }
    }
}
