//! File systems of one's own for a measurement: an image file, a loop device, mkfs, mount, aged free space, and the removal of all
//! of it, also after a crash.
//!
//! Everything of one [`Scratch`] is in one directory, whose name says what it is. So what is left of it can be found from the kernel's
//! lists of mounts and loop devices alone: dropping it, [`Remover::at_once`] and [`remove_leftovers`] do the same work.

mod age;
mod error;
mod leftovers;
mod program;
mod removal;
mod scratch;
mod spec;

pub use age::{Age, AgeError, Aged, ParseAgeError};
pub use error::ScratchError;
pub use leftovers::remove_leftovers;
pub use scratch::{Remover, Scratch};
pub use spec::{FsKind, ParseFsKindError, Spec};
