//! Makes sure that a target holds data, so that later measurements are of data that is stored.

mod answer;
mod question;
mod range;
mod run;

pub use answer::Answer;
pub use question::{Length, Question};
pub use run::{plan, run};
