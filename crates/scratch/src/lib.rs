//! Private file systems for a measurement: an image file, a loop device, mkfs, mount, aged free space, and the removal
//! of all of it, even after a crash.
//!
//! Everything of one [`Scratch`] is in one directory, whose mark notes each file system before it is created. So
//! leftovers of a killed process are found in the directory where they were created, and proved to be its own:
//! [`Leftovers`].

mod age;
mod error;
mod leftovers;
mod options;
mod program;
mod removal;
mod scratch;
mod spec;

pub use age::{Age, AgeError, Aged, ParseAgeError, remove_aged_leftovers};
pub use error::ScratchError;
pub use leftovers::Leftovers;
pub use scratch::{Remover, Scratch};
pub use spec::{FsKind, ParseFsKindError, Spec};

/// Kind of the directories of scratch file systems: their names are `.iosonar-scratch-PID-N`.
const KIND: &str = "scratch";
