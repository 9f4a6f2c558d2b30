//! Shared parts of the tests of several crates: runs the binary in a temporary directory, and proves from records that
//! no two conflicting requests were in flight together. Not part of the product.

mod chance;
mod checker;
mod command;
mod hindered;
mod kernel_tree;
mod loads;
mod occupied;
mod process;
mod shapes;
mod shown;
mod signature;
mod target;
mod trace;

pub use chance::SplitMix;
pub use checker::{Access, Verdict, check};
pub use command::{Ended, Lab, records};
pub use hindered::{ControlGroup, WITHOUT_IO_URING};
pub use kernel_tree::KernelTree;
pub use loads::{load_of_others, own_load};
pub use occupied::{MountedElsewhere, MountedNowhere, Zram, open_exclusively};
pub use process::{signal, until};
pub use shapes::{ShapeExample, shape_examples};
pub use shown::{Shown, in_help, in_markdown};
pub use signature::Signature;
pub use target::{Image, LoopDevice, Mounted, Partition, Swap, lacks, tool, tool_reading};
pub use trace::{
    Attribution, Bio, Bios, CLOCK_NS, Event, InKernel, Kind, Moment, TRUNCATED_NS, Trace, Tracing, attribute,
};

/// Prints why a test cannot run here; the caller then returns. `./test` counts these lines.
pub fn skip(test: &str, why: &str) {
    println!("SKIPPED: {test}: {why}");
}
