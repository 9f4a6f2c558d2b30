//! Runs on the processes of MPI, which start and reach each other by its means: no process starts another one, and there is no connection of
//! our own.
//!
//! Each rank prepares and executes the part of the plan on its targets ([`on_ranks`]). All communication goes along a
//! binomial tree of messages (`tree`): the first failure of any of them stops all before anything is written; their clocks are read
//! (`clock`); phases start and end (`member`); counts of records are merged. The archives of the ranks are in the directory of the result,
//! which is on a file system that all of them share (`run`).

mod clock;
mod member;
mod place;
mod run;
mod tree;

pub use place::{Spread, on_ranks};
pub use run::execute_on_ranks;
pub use tree::{Kind, Messages, children, merge_counts, parent};
