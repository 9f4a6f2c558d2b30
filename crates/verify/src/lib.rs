//! Legal contents of a device while requests run, and whether a read agrees with them.
//!
//! [`Expected`] receives the start and the end of each request. It knows for each sector the versions that a read may find there.
//! There is no I/O, no clock and no thread in here: calls are numbered, and the numbers serve as times, so a test can replay any
//! interleaving from a seed.

mod atomic;
mod checked;
mod crashed;
mod expected;
mod naming;
mod observation;
mod outside;
mod sectors;
mod tag;

pub use atomic::Atomic;
pub use checked::Checked;
pub use crashed::{CrashWrite, Crashed, MOST_UNIT, bytes_of_crash_write};
pub use expected::{Ended, Expected, Flight, Legal, State, bound, bound_of_chunks};
pub use naming::{KnownWrite, RunOfFaults, due_bytes, is_mix, join, name};
pub use observation::{BadContent, BadSector, Bytes, Observation, Reader, SectorsAround, write_of};
pub use outside::{Outside, Ranges};
pub use sectors::Sectors;
pub use tag::{Tag, mix};
