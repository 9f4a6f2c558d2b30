//! Converts traces of all forms to loads, logs, lists and archives.

mod answer;
mod archive;
mod form;
mod outputs;
mod question;
mod run;
mod sink;
mod written;

pub use answer::Answer;
pub use form::Form;
pub use question::{Question, Split};
pub use run::run;
pub use written::Written;
