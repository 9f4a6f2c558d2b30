//! Finds the highest rate that a target sustains: a request rate rises until the target cannot follow.

mod answer;
mod question;
mod ramp;
mod reading;
mod run;
mod text;

pub use answer::{Answer, RampAnswer};
pub use question::Question;
pub use run::run;
