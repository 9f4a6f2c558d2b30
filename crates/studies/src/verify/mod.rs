//! Verifies the writes of a run later, from its result.

mod answer;
mod question;
mod run;
mod targets;

pub use answer::Answer;
pub use iosonar_engine::CrashOptions;
pub use question::Question;
pub use run::{files, run};
