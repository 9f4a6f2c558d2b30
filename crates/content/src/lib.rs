//! Content of written sectors.
//!
//! [`fill`] makes the sectors of a write: a header that identifies a sector, then zeros or incompressible bytes (`header`,
//! `noise`). [`named`] has the data that a plan selects by name. [`intact`] checks a sector that was read against its own header,
//! at a cost that each read can bear; [`inspect`] reports more about one that fails (`recover`, `damage`). This room does no I/O.

mod damage;
mod deduped;
mod header;
mod inspect;
pub mod named;
mod noise;
mod recover;

pub use damage::{Damage, damage, is_poisoned, poison, torn_at};
pub use header::{BadSector, HEADER, SectorHeader, checksum, fill, regenerate};
pub use inspect::{Sector, inspect, intact, intact_each};
pub use noise::prepare;
pub use recover::{seed_of_body, seed_of_tail};
