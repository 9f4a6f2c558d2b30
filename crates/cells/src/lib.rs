//! Many cells of one question: a matrix of tests, file sizes, record sizes and streams.
//!
//! A [`Matrix`] is the question. [`Matrix::units`] are its parts: all tests on files of one size with records of one
//! size, once. [`Matrix::plan`] makes one plan of units, in which each test is a phase with a cell. [`Table`] holds the
//! results of cells.
//! [`Question`] is a matrix in plain words, as a directory of results keeps it.
//! [`TESTS`] is the list of tests: a new test is an entry there.
//! [`compare_tables`] compares two tables.
//! [`creation`] has another question: how a file was created, and how it reads.
//!
//! This crate opens no files and reads no clocks.

mod aligned;
mod cell_key;
mod compare;
mod compare_answer;
mod compare_grids;
mod compare_text;
pub mod creation;
mod extremes;
mod grid;
mod matrix;
mod matrix_condition;
mod noise;
mod phases;
mod plateaus;
mod question;
mod shuffle;
mod sizes;
mod spread;
mod table;
mod table_text;
mod test;
mod welch;

pub use cell_key::CellKey;
pub use compare::{CellRow, MATRIX_COMPARE_VERSION, MatrixComparison, Side, TestRow, compare_tables};
pub use compare_grids::{ComparedGrid, compared_grids};
pub use compare_text::{comparison_csv, comparison_text};
pub use extremes::{Extremes, MeasuredCell};
pub use grid::{Grid, rates};
pub use matrix::{Burst, Matrix, MatrixError, MixRule, Telemetry, Unit};
pub use matrix_condition::MatrixCondition;
pub use plateaus::Plateau;
pub use question::{
    METHODS, MOST_DEPTH, MOST_REPETITIONS, MOST_SIZES, MOST_STREAMS, MOST_STRIDE, Question, QuestionError,
};
pub use sizes::{CROSSOVER, Pair, Series, pairs};
pub use spread::Repeated;
pub use table::{CellResult, Machine, StreamResult, Table, TableState, Timed};
pub use table_text::{half_widths, mib, table_text};
pub use test::{Calls, Made, OrderKind, TESTS, Test, Transfer, test_names};
pub use welch::{Change, Verdict};
