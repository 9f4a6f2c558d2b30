//! Loads side by side in space.

use super::output::NewLoad;
use super::question::Adjacent;
use super::reading::{check_stdin, read};
use anyhow::{Context, anyhow};
use iosonar_inputs::Source;
use iosonar_load::derive::adjacent::{merged, side_by_side, touched};
use iosonar_plan::SECTOR;
use iosonar_runner::{Error, Session};
use iosonar_text::shown;
use iosonar_trace::blkreplay::{LOAD_HEADER, write_request};
use std::io::Write;

/// Moves loads side by side in space, and merges them by time. Returns the new places, a line for each load.
///
/// # Errors
/// A load cannot be read or holds nothing, the output exists, or the places exceed 2^63 bytes.
pub fn adjacent(
    session: &Session,
    question: &Adjacent,
    standard_output: &mut dyn Write,
) -> Result<Vec<String>, Error> {
    check_stdin(&question.loads)?;
    // Each is read twice: for the blocks it touches, and in time.
    let mut kept = Vec::new();
    let mut all = Vec::new();
    for path in &question.loads {
        let name = || shown(path).to_string();
        let source = Source::open(path, question.spool_limit)?;
        let load = read(session, path, source.text()?, question.reading, true)?;
        let found = touched(load).with_context(name).map_err(Error::refused)?;
        all.push(found.ok_or_else(|| Error::refused(anyhow!("{}: it contains no request", name())))?);
        kept.push(source);
    }
    let places = side_by_side(&all).ok_or_else(|| {
        Error::refused(anyhow!("side by side, these loads need more than 2^63 bytes: use fewer"))
    })?;
    let out = NewLoad { option: "--out", path: &question.out };
    out.write(session, standard_output, |mut out| {
        let mut loads = Vec::new();
        for (source, place) in kept.iter().zip(&places) {
            loads.push((read(session, source.path(), source.text()?, question.reading, false)?, *place));
        }
        writeln!(out, "{LOAD_HEADER}")?;
        let mut count = 0;
        for request in merged(loads) {
            let name = |index: usize| shown(&question.loads[index]).to_string();
            let request = request.map_err(|(index, e)| Error::refused(anyhow!(e).context(name(index))))?;
            write_request(&mut out, &request)?;
            count += 1;
        }
        Ok(count)
    })?;
    let moved = question.loads.iter().zip(&places).zip(&all).map(|((path, place), load)| {
        format!(
            "{}: {} requests, sectors {} to {} are now {} to {}",
            shown(path),
            load.requests,
            load.begin / SECTOR,
            load.end / SECTOR,
            place.begin / SECTOR,
            place.end / SECTOR
        )
    });
    Ok(moved.collect())
}
