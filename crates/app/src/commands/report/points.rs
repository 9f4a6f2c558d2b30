//! Single requests in the page, and beside it.

use super::place::PageFiles;
use crate::exit::Failure;
use anyhow::Context;
use iosonar_analyze::{Choice, Kept, Records};
use iosonar_archive::Record;
use iosonar_host::output::Output;
use iosonar_inputs::{Analysis, Input, RunAnalysis};
use iosonar_text::shown;
use iosonar_view::report::{Detail, Facts, PointWriter, SideCar};
use std::io;
use std::path::Path;

/// Runs up to this number of requests are embedded in the page completely.
const ALL_POINTS: u64 = 1_000_000;
/// Number of requests embedded in the page of a longer run.
const SOME_POINTS: u64 = 200_000;

/// The requests contained in the page.
pub fn detail(
    points: Option<u64>,
    facts: Facts,
    inputs: &[Input],
    analysis: &Analysis,
) -> Result<Detail, Failure> {
    let (Some(run), [input]) = (&analysis.run, inputs) else { return Ok(Detail::default()) };
    let done = Choice::of_all(&run.summary);
    let wanted = points.unwrap_or(if done <= ALL_POINTS { ALL_POINTS } else { SOME_POINTS });
    let chosen = chosen(input, run, facts, wanted)?;
    Ok(Detail { requests: done.max(chosen.embedded), ..chosen })
}

fn chosen(input: &Input, run: &RunAnalysis, facts: Facts, wanted: u64) -> io::Result<Detail> {
    if wanted == 0 {
        return Ok(Detail::default());
    }
    let mut choice = Choice::new(&run.summary, run.tally.as_ref(), &run.findings, wanted);
    let mut detail = Detail { one_of: choice.one_of(), facts, ..Detail::default() };
    let mut writer = PointWriter::new(facts, |block| {
        detail.blocks.push(block);
        Ok(())
    });
    for_each(input, |record| match choice.keeps(record) {
        Kept::No => Ok(()),
        kept => writer.add(record, kept == Kept::Exceptional),
    })?;
    detail.embedded = writer.finish()?;
    Ok(detail)
}

/// Writes all requests of a single run; returns the file, which is published with the page.
pub fn side_car(
    inputs: &[Input],
    analysis: &Analysis,
    place: &PageFiles,
    path: &Path,
) -> Result<Option<(String, Output)>, Failure> {
    let (Some(run), [input]) = (&analysis.run, inputs) else { return Ok(None) };
    let file = place.create(path).map_err(Failure::refused)?;
    let file = write_side_car(input, &run.summary.run.run_id, file)
        .with_context(|| format!("cannot write {}", shown(&path)))?;
    Ok(path.file_name().map(|name| (name.to_string_lossy().into_owned(), file)))
}

fn write_side_car(input: &Input, run_id: &str, file: Output) -> io::Result<Output> {
    let mut file = SideCar::begin(file)?;
    let mut writer = PointWriter::new(Facts::All, |block| file.add(&block));
    for_each(input, |record| writer.add(record, false))?;
    writer.finish()?;
    file.finish(run_id)
}

/// Calls `f` for every record, until one fails.
fn for_each(input: &Input, mut f: impl FnMut(&Record) -> io::Result<()>) -> io::Result<()> {
    let mut result = Ok(());
    input.for_each(&mut |record| {
        if result.is_ok() {
            result = f(record);
        }
    })?;
    result
}
