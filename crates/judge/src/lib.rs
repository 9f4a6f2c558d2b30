//! Judges figures: detectors of fake results, and the verdict.
//!
//! A figure is fake only against a [`Claim`](iosonar_plan::Claim): a read from the page cache is a result of memory and no result of
//! a device. Signals are values ([`Case`]), detectors are pure functions, one file each in `detectors/`. A detector returns a level;
//! [`judge`] limits it for the claim, lets causes explain their symptoms, and forms the verdict.
//!
//! To add a detector: an id in `iosonar_analyze::DetectorId`, a file in `detectors/` with its [`Detector`] and its two tests, its
//! line in [`DETECTORS`], its thresholds in `thresholds.rs`, and its line in `docs/validity.md`. What else is known of it, the cautions
//! that it makes from a summary alone and whether it can judge a planned run, are fields of the [`Detector`]. [`cautions`] joins the
//! facts about the state of a result, which `iosonar-analyze` knows, with the findings.

mod case;
mod cautions;
mod detector;
mod detectors;
mod explained;
mod finding;
#[cfg(test)]
mod fixtures;
mod forecast;
#[cfg(test)]
mod misleading_signals;
mod of_hosts;
mod planned;
mod quiet;
#[cfg(test)]
mod rates;
mod samples;
mod signs;
mod stack;
#[cfg(test)]
mod testing;
mod thresholds;
mod verdict;
mod words;

pub use case::{Account, Case};
pub use cautions::cautions;
pub use detector::Detector;
pub use detectors::dirty_at_start::is_much_to_write;
pub use detectors::foreign_io::{Watched, watched};
pub use detectors::wrong_size_device::is_wrong_size;
pub use detectors::{DETECTORS, about};
pub use finding::Finding;
pub use forecast::predict;
pub use of_hosts::of_hosts;
pub use planned::{PlannedRun, PlannedTarget};
pub use quiet::{OthersUse, use_by_others};
pub use samples::Samples;
pub use signs::{Growth, Sign, signs};
pub use stack::{Bottom, bottoms, bottoms_of, device_of, why_not_reread};
pub use thresholds::THRESHOLDS_VERSION;
pub use verdict::judge;
