//! The requests of a run against the extent maps of its files.

mod answer;
mod question;
mod run;

pub use answer::Answer;
pub use question::Question;
pub use run::run;
