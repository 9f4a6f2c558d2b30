//! Compares a replay with a recording of it.

mod answer;
mod aside;
mod clock;
mod flushes;
mod question;
mod run;
mod seen;

pub use answer::Answer;
pub use question::Question;
pub use run::run;
