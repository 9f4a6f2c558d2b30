//! The format and the contents of traces.

mod answer;
mod busiest;
mod processes;
mod question;
mod run;

pub use answer::Answer;
pub use question::Question;
pub use run::run;
