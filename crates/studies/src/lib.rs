//! Questions about storage, and how they are answered.
//!
//! Each question is a folder: `question.rs` says what is asked, `run.rs` executes it in a [`Session`](iosonar_runner::Session), `answer.rs`
//! holds the result; other files serve these. `blkreplay`, `replay` and `request_logs` have only what commands share with other programs.
//! This room knows no arguments, no signals and no terminal: a command turns arguments into a question, and prints the answer. Errors name a field of a question as the command's option (`--size`).

pub mod answers;
pub mod blkreplay;
pub mod cache;
pub mod calibrate;
pub mod cells;
pub mod check;
pub mod convert;
pub mod doctor;
mod each_file;
mod files;
pub mod fill;
pub mod info;
pub mod knee;
pub mod layout;
pub mod loads;
pub mod matrix;
mod new_archive;
mod new_text;
pub mod note;
pub mod record;
pub mod replay;
pub mod request_logs;
pub mod verdict;
pub mod verify;

pub use each_file::Success;
