//! Streams of the C library whose data is to be verified.

use super::look::Inspected;
use crate::error::PrepareError;
use crate::verify::{places_of, shared_stream};
use iosonar_plan::{Phase, Plan};

/// Refuses to verify data that several streams over one file write: the buffer of each serves its reads, and holds its writes.
pub(super) fn check_streams(plan: &Plan, looked: &[Inspected]) -> Result<(), PrepareError> {
    if !plan.is_verified() {
        return Ok(());
    }
    let facts = looked.iter().map(|looked| (looked.target.path.as_path(), looked.facts.as_ref()));
    let is_checked = |phase: &Phase| plan.verify.is_on() || phase.is_verified();
    match shared_stream(plan, &places_of(facts).0, is_checked) {
        Some(target) => Err(PrepareError::SharedStream { path: looked[usize::from(target)].path() }),
        None => Ok(()),
    }
}
