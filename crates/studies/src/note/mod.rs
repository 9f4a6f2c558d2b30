//! Notes of users on parts of a run's time.

mod answer;
mod question;
mod run;

pub use answer::Answer;
pub use question::{Change, Question};
pub use run::run;
