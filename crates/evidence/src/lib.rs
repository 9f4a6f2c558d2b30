//! What is kept about the machine of a run, as types. `host` collects it, `archive` stores it, `analyze` reads it.

mod series;

pub use series::{
    CpuState, DeviceCounter, IssuingThreads, Layer, MemoryUse, OwnUse, Series, SeriesKind, Unit,
};
