//! From the records of a run to its [`Summary`] and [`Diagrams`].
//!
//! Every statistic is a *partial*: it takes records one by one, in any order, and two of them merge into what
//! one pass over both parts would have given. So a run may be read in pieces, on several cores or hosts.
//! Memory follows the size of the pictures and the number of targets, never the number of records.
//!
//! This room opens no files and draws nothing.

mod axis;
mod backlog;
mod caution;
mod cautions;
mod cells;
mod class;
pub mod compare;
mod correlation;
mod counts;
mod course;
pub mod demand;
mod detail;
mod device_reads;
mod device_traffic;
mod diagrams;
mod distribution;
mod errors;
pub mod extents;
pub mod findings;
mod fits;
mod grid;
mod health;
pub mod hist;
mod hosts;
mod judgement;
pub mod knee;
mod limits;
mod log_scale;
mod losses;
mod machine;
mod machine_series;
mod memory;
mod mix;
mod named;
mod needs;
mod numbers;
mod occupancy;
mod order;
mod ordered;
mod others;
mod partial;
mod parts;
mod pass;
mod passing;
mod path;
mod peak;
mod places;
mod rate;
mod records;
mod resolution;
mod rounds;
mod sampled;
mod series;
mod shape;
mod sketch;
mod skew;
mod slices;
mod span;
mod sparse;
mod story;
mod summarize;
mod summary;
mod sweep;
mod tally;
#[cfg(test)]
mod testing;
mod time_range;
mod timeline;
mod tracks;
mod traffic;
mod turns;
pub mod waiting;
mod without_cpu;

pub use axis::{ROWS, ROWS_PER_DECADE, Row, SLOTS, TimeAxis, row_lower_edge, row_of};
pub use backlog::MostAtOnce;
pub use caution::{Caution, CautionId, Severity};
pub use cells::{CellStats, CellTimes, CountUntil, StreamStats, cells};
pub use class::{ByScope, CLASSES, Class, Scope};
pub use correlation::{Against, Correlation};
pub use counts::{Counts, CountsByOp};
pub use detail::{Choice, Kept};
pub use device_reads::{DeviceReads, device_reads};
pub use device_traffic::DeviceTraffic;
pub use diagrams::{Detail, Diagrams, FailedGrids, HEALTH_COLUMNS, Rates, ResponseGrids};
pub use distribution::{Distribution, Percentile, TimeStats};
pub use errors::ErrorCount;
pub use findings::Findings;
pub use grid::{Cell, CountGrid, TILE_COLUMNS};
pub use health::{CpuFacts, Health, HeldFacts, SetupFacts, Stall, StallFacts, Waits};
pub use hosts::{HostFacts, HostFindings, HostReport, THIS_HOST};
pub use judgement::{
    Channel, Detection, DetectorId, During, Evidence, FakeTarget, Judgement, Level, Verdict,
};
pub use limits::{LimitResult, LimitVerdict, Limits, Verdicts};
pub use losses::{LossSlice, Losses};
pub use machine::{DeviceFacts, Machine};
pub use machine_series::{CpuSteps, DeviceSteps, MachineSeries};
pub use memory::{is_memory_scarce, spare_memory};
pub use needs::Needs;
pub use occupancy::{Band, ClassOccupancy, Occupancy};
pub use order::{DISPLACEMENT, Reorder, displacement};
pub use ordered::{Ordered, Step};
pub use others::OtherOp;
pub use partial::{Counted, Partial, merge_parts};
pub use parts::{PartStats, PartTimes, Parts};
pub use pass::{PassResults, Wanted, count, pass};
pub use passing::Passing;
pub use path::{PathCost, PathFacts, PathGroup, SlowRequest, StepTimes};
pub use peak::Peak;
pub use places::{Places, Reach};
pub use rate::Rate;
pub use records::Records;
pub use rounds::Rounds;
pub use sampled::{Batches, Group, RequestSample};
pub use series::{ClassSeries, CountSeries};
pub use shape::Shape;
pub use skew::{Deskew, PassSkew, SkewWindows};
pub use span::Span;
pub use story::{
    Attribute, Blame, BlameRow, Cause, CauseShare, Contrast, ContrastGroup, HEADLINE_CHARS, LEAST_REQUESTS,
    Normal, OutsideCause, PartStory, Reason, Statement, Story, StoryEvent,
};
pub use summarize::summarize;
pub use summary::{
    CheckedFacts, OccupancyFacts, RunFacts, SUMMARY_VERSION, Summary, TargetSummary, Throughput, WaitingFacts,
};
pub use tally::Tally;
pub use time_range::TimeRange;
pub use timeline::{AtEnd, Drift};
pub use tracks::{SampledStep, SampledSteps};
pub use traffic::{LevelsOverTime, Moved, Traffic, latency_floor_ns};
pub use turns::TurnSeries;
pub use without_cpu::WithoutCpu;
