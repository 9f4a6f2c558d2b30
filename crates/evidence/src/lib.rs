//! What is kept about the machine of a run and about its targets, as types. `host` collects it, `archive` stores it,
//! `analyze` reads it.

pub mod environment;
mod fact;
mod number;
mod series;
pub mod target;

pub use environment::{CgroupLimit, Cgroups, Environment, WrittenBack};
pub use fact::Fact;
pub use number::DevNumber;
pub use series::{
    CpuState, DeviceCounter, IssuingThreads, KernelEvents, Layer, MemoryUse, NfsBytes, OwnUse, Series,
    SeriesKind, Throttling, Unit,
};
pub use target::{TargetFacts, TargetKind};
