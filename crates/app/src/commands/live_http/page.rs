//! The report page of the latest records.

use crate::commands::report::page::Page;
use crate::commands::report::points::detail;
use crate::exit::Failure;
use crate::{places, presentation};
use iosonar_analyze::Needs;
use iosonar_archive::{Archive, Record};
use iosonar_inputs::{Analysis, Input};
use iosonar_view::report::Facts;
use std::path::Path;

/// About this number of requests have their facts in the page.
const POINTS: u64 = 100_000;

/// The report page of a part of an archive's records, or of all of them.
pub fn page_of(dir: &Path, part: Option<Vec<Record>>) -> Result<Vec<u8>, Failure> {
    let archive = Archive::open(dir)?;
    let places = [places::of_partitions(&archive.environment().targets)];
    let inputs = [match part {
        Some(records) => Input::of_part(archive, records),
        None => Input::of_archive(archive)?,
    }];
    // Latencies by extent would be those of the whole run.
    let needs = Needs { extents: false, ..Needs::EVERYTHING };
    let analyses = [Analysis::of(&inputs, &presentation::default_options(), needs)?];
    let details = vec![detail(Some(POINTS), Facts::All, &inputs, &analyses[0])?];
    let page = Page { inputs: &inputs, analyses: &analyses, details, places: &places, comparison: None };
    let mut text = Vec::new();
    page.write_to(&mut text)?;
    Ok(text)
}
