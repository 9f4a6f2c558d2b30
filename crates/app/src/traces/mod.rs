//! Traces of all forms as requests: the input of `convert`, `info` and `check`.

mod archive;
mod devices;
mod open;
mod out;
mod processes;

pub use archive::{NewArchive, TOGETHER_IN_FILE};
pub use devices::{Matched, matched};
pub use open::{Device, EVENTS, OTHERS, Reading, Trace, open};
pub use out::{Form, Output, Outputs};
