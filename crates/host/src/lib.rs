//! Facts about this machine: environment, device identity, the write guard.
//!
//! Files in `/proc`, `/sys` or `/etc` are read through a [`Root`], which tests redirect to a temporary tree. An
//! unreadable value is a [`Fact::Absent`] with its reason, never a guess.

mod block;
mod cgroup;
pub mod environment;
pub mod extent_map;
mod extent_runs;
mod file;
#[cfg(test)]
mod fixture;
pub mod free_space;
pub mod guard;
mod identify;
mod kernel_fs;
pub mod ledger;
mod loops;
mod mounts;
mod node;
pub mod output;
mod owner;
pub mod remount;
mod reread;
mod root;
pub mod sampler;
mod size;
mod stored;
pub mod write_back;

pub use cgroup::memory_limit;
pub use extent_runs::extent_runs;
pub use file::{file_system_of, lower_layer_of};
pub use identify::{TargetError, identify, identify_growing};
use iosonar_evidence::target;
pub use iosonar_evidence::target::{
    BlockDevice, BlockSize, BlockSizeSource, DirectIo, FileSystem, Layer, PartitionPlace, Queue, RegularFile,
    Role, TargetFacts, TargetKind, Unwritable,
};
pub use iosonar_evidence::{DevNumber, Fact, FormerRun, WrittenRange};
pub use loops::{LoopFile, loop_files};
pub use mounts::{mount_points, mount_source};
pub use owner::other_writer;
pub use reread::reread;
pub use root::Root;
pub use stored::{UnmappedBytes, cached, emptiness};
