//! Questions about storage, and how they are answered.
//!
//! Each question is a folder with three files: `question.rs` says what is asked, `run.rs` executes it in a
//! [`Session`](iosonar_runner::Session), `answer.rs` holds the result and its text and JSON. This room knows no arguments, no signals and no
//! terminal: a command turns arguments into a question, and prints the answer.

pub mod doctor;
pub mod fill;
