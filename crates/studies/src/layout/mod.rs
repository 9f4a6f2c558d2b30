//! Creates files in several ways, scans them, and compares where they are and what that costs.

mod answer;
mod free_before;
mod question;
mod run;
mod stage;

pub use answer::{Answer, Measured};
pub use iosonar_scratch::{Age, FsKind, Spec};
pub use question::Question;
pub use run::run;
