//! Measures the program's own cost on this machine.
//!
//! The engine measures itself: each round is a plan that runs as any other does, and its figures are taken from its records.

mod answer;
mod copy;
mod question;
mod round;
mod run;
mod text;

pub use answer::{
    Answer, ClockFacts, CopyRate, EngineCost, EngineRow, Lateness, Machine, Measured, TimerRow,
};
pub use question::Question;
pub use run::run;
