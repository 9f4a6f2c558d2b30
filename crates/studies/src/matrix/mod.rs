//! Measures file operations over sizes of files and records, each cell several times.

mod answer;
mod leftover;
mod question;
mod run;
mod study;

pub use answer::{Answer, MatrixRun};
pub use question::{Cells, Question};
pub use run::{Begin, execute_here, missing, plan, run, run_by};
pub(crate) use study::table_of;
pub use study::{CELLS, asked};
