//! One HTML page with everything: cautions, limits, figures, tables, the exact counts of every picture and the facts of
//! single requests, and a viewer for them. It needs no network; without a script its words and tables remain. The form is
//! described in `docs/page.md`.

mod blame;
mod blocks;
mod faults;
mod figures;
mod hosts;
mod html;
mod machine;
mod markup;
mod meta;
mod notes;
mod numbers;
mod percentiles;
mod phases;
mod points;
mod run;
mod side_car;
mod story;
mod tiles;
mod tree;
mod warnings;

pub use blocks::{BlockError, decode_block, grid_tiles};
pub use html::{Report, write};
pub use points::{BLOCK_POINTS, Facts, PointBlock, PointWriter};
pub use run::{Detail, NamedRange, ReportRun};
pub use side_car::SideCar;
