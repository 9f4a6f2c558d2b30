//! The requests of a recording of live devices.

use crate::OpenError;
use iosonar_archive::{EVENTS, RecordingFacts};
use iosonar_plan::Nanos;
use iosonar_text::shown;
use iosonar_trace::Requests;
use iosonar_trace::kernel::segment::{ENDING, Segments};
use iosonar_trace::kernel::{At, Paired, Timing};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Requests of the events of a recording.
pub type FromSegments = Paired<Segments<'static, File>>;

/// The requests of a recording's events, since its start, and the event that counts as the request.
pub(super) fn recording_requests(
    dir: &Path,
    timing: Timing,
    at: Option<At>,
) -> Result<(Box<dyn Requests>, At), OpenError> {
    let facts = RecordingFacts::of(dir)?;
    let recorded = recorded_at(&facts);
    let at = at.unwrap_or(recorded);
    if recorded == At::QUEUE && at != At::QUEUE && at != At::COMPLETE {
        return Err(OpenError::option(
            format_args!("--at {}", at.word()),
            format_args!(
                "{} was recorded with --at queue and has no such events of requests with data: leave the option out",
                shown(dir)
            ),
        ));
    }
    Ok((Box::new(from_segments(dir, &facts, timing, at)?), at))
}

/// The event that counts as the request.
pub fn recorded_at(facts: &RecordingFacts) -> At {
    At::ALL.iter().find(|(_, word)| *word == facts.at).map_or(At::QUEUE, |(at, _)| *at)
}

/// The requests of a recording's events, and the counts of what was skipped.
///
/// # Errors
/// The directory of the events cannot be read.
pub fn from_segments(
    dir: &Path,
    facts: &RecordingFacts,
    timing: Timing,
    at: At,
) -> Result<FromSegments, OpenError> {
    let events = dir.join(EVENTS);
    let files =
        segment_files(&events).map_err(OpenError::io(format_args!("cannot read {}", shown(&events))))?;
    Ok(Paired::new(Segments::new(files.into_iter().map(File::open)), at, timing)
        .since(Nanos(facts.origin_monotonic_ns))
        .named(facts.devices.clone()))
}

/// The segments of a directory, in time order.
fn segment_files(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = fs::read_dir(dir)?.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == ENDING));
    files.sort();
    Ok(files)
}
