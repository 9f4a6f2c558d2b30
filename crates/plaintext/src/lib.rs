//! Summaries, verdicts, comparisons, demand and maps of files as plain text for a terminal or a mail.
//!
//! Every figure and every count comes from `analyze`; here they only get words, units and places in a line. Modules that are public hold
//! words that pictures and the page need, too.

mod comparison;
mod demand;
pub mod extents;
mod free_space;
pub mod health;
mod judgement;
pub mod lines;
mod mail;
pub mod maps;
mod markdown;
pub mod notes;
pub mod stamps;
mod story;
mod summary;
mod verification;

pub use comparison::{
    comparison, csv as comparison_csv, markdown as comparison_markdown, short as comparison_short,
};
pub use demand::{demand, findings};
pub use extents::extent_latencies;
pub use free_space::free_space;
pub use judgement::{at_length, explained, hash, judgement};
pub use mail::{LatencyText, LoadText, Mail, MailOptions, mail, shade};
pub use maps::{MapUnit, map, maps};
pub use markdown::markdown;
pub use stamps::data_errors;
pub use story::{STORY_LINES, statement, story, story_events};
pub use summary::{deskew, engine_and_depth, most_in_flight, summary};
pub use verification::{sentence as fault_sentence, verified};
