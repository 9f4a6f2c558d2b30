//! Creates files in several ways, scans them, and compares where they are and what that costs. `map`, `free` and `latency` are questions
//! about existing files, file systems and results.

mod answer;
pub mod free;
mod free_before;
pub mod latency;
pub mod map;
mod question;
mod run;
mod stage;

pub use answer::{Answer, Measured};
pub use iosonar_scratch::{Age, FsKind, Spec};
pub use question::Question;
pub use run::run;
