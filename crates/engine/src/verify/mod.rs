//! Checks that targets return the data that the run has written: the places of targets ([`place`]), the expected content of each
//! device ([`device`]), all of them together ([`Verifier`]), the checks of one issuing loop ([`Checker`]), the scan at the end
//! ([`scan`]), sectors that the run must not change ([`outside`]), and the names of faults ([`names`]).

mod checker;
mod crash;
mod device;
mod error;
mod missing;
mod names;
mod narrow;
mod outside;
mod pattern;
mod place;
mod post_verify;
mod reads;
mod records;
mod scan;
mod scan_progress;
mod verifier;

pub use crash::CrashOptions;
pub use error::PostVerifyError;
pub use post_verify::{PostVerify, PostVerifyOptions, post_verify};
pub use scan_progress::{ScanMoment, ScanProgress};

pub(crate) use checker::{Checker, Completed, EXTRA, LoopFacts};
pub(crate) use names::name_faults;
pub(crate) use outside::remember_outside;
pub(crate) use place::{places_of, shared_stream};
pub(crate) use scan::{ScanTarget, scan_targets};
pub(crate) use verifier::{Verifier, read_unit};
