//! One HTML page with everything: cautions, verdicts, figures, pictures, tables, and the exact counts behind
//! the pictures for whoever wants to compute on. It needs no network and runs no script.

mod blocks;
mod meta;
mod html;

pub use blocks::{BlockError, decode_block, grid_tiles};
pub use html::{Report, page};
