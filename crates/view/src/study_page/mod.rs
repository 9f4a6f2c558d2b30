//! Pages of studies: static HTML without a script, complete in one file, for light and dark screens.
//!
//! `frame` has the parts that all of them share. `answer` is the page of an answer with one picture and one table; `matrix` and
//! `matrix_comparison` have maps with linked cells.

mod answer;
mod frame;
mod matrix;
mod matrix_comparison;
mod table;

pub use answer::{StudyPage, StudyRun, study_page};
pub use matrix::{MatrixCell, MatrixPage, matrix_page};
pub use matrix_comparison::{ComparedMaps, MatrixComparisonPart, matrix_comparison_page};
pub use table::{StudyTable, TableCell, TableColumn, TableRow};
