//! Many cells of one question: a matrix of tests, file sizes, record sizes and streams.
//!
//! A [`Matrix`] is the question. [`Matrix::units`] are its parts: all tests on files of one size with records of one size, once.
//! [`Matrix::plan`] makes one plan of units, in which each test is a phase with a cell. [`Table`] holds what the cells amount to.
//! [`TESTS`] is the list of tests: a new test is an entry there.
//!
//! Nothing here opens a file or asks for the time.

mod matrix;
mod phases;
mod sizes;
mod table;
mod test;

pub use matrix::{Matrix, MatrixError, MixRule, Unit};
pub use sizes::{CROSSOVER, Pair, Series, pairs};
pub use table::{CellResult, StreamResult, Table, Timed};
pub use test::{Calls, Made, OrderKind, TESTS, Test, Transfer};
