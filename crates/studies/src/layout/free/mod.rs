//! Where space of a file system is free.

mod answer;
mod question;
mod run;

pub use answer::Answer;
pub use question::Question;
pub use run::run;
