//! Types for facts about the machine of a run and about its targets. `host` collects them, `archive` stores them,
//! `analyze` reads them.

pub mod environment;
mod extents;
mod fact;
mod history;
mod number;
mod reread;
mod series;
pub mod target;

pub use environment::{CgroupLimit, Cgroups, Environment, IssueOrder, PathTracing, WrittenBack};
pub use extents::ExtentRuns;
pub use fact::Fact;
pub use history::{FormerRun, WrittenRange};
pub use number::DevNumber;
pub use reread::{Compared, Reread, RereadTimes};
pub use series::{
    CpuState, DeviceCounter, IssuingThreads, KernelEvents, Layer, MemoryUse, NfsBytes, OwnUse, Series,
    SeriesKind, Throttling, Unit,
};
pub use target::{TargetFacts, TargetKind};
