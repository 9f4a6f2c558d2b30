//! What written sectors contain.
//!
//! [`fill`] makes the sectors of a write: a header that says whose a sector is, then zeros or incompressible bytes
//! (`header`, `noise`). [`named`] has the data that a plan asks for by name. This room does no I/O.

mod deduped;
mod header;
pub mod named;
mod noise;

pub use header::{BadSector, HEADER, SectorHeader, fill};
pub use noise::prepare;
