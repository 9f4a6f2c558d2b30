//! Examines a target before anything is measured on it: causes that would spoil a measurement.

mod answer;
mod layers;
mod place;
mod question;
mod run;
mod text;

pub use answer::Answer;
pub use question::Question;
pub use run::run;
