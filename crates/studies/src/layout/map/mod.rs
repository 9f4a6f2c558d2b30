//! Where the blocks of files are.

mod answer;
mod question;
mod run;

pub use answer::Answer;
pub use question::Question;
pub use run::run;
