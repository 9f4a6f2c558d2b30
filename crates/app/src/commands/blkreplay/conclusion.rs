//! The end of a run: its result on standard output, its summary if an archive is kept, the verdict.

use crate::exit::{Exit, Failure};
use crate::output::print_message;
use crate::session;
use crate::timings::Timings;
use iosonar_analyze::{Limits, Passing};
use iosonar_archive::{Archive, RunState};
use iosonar_dialect_blkreplay::{ExportError, Settings, export_later};
use iosonar_inputs::SummaryOptions;
use iosonar_plan::Nanos;
use iosonar_runner::Ended;
use iosonar_studies::blkreplay::{ResultPlace, write_result};
use iosonar_text::shown;
use std::io::{self, ErrorKind};

/// Writes the result; if that fails, the records are kept.
pub fn conclude(
    settings: &Settings,
    ended: Ended,
    place: ResultPlace,
    timings: &Timings,
) -> Result<Exit, Failure> {
    let mut info = ended.info.clone();
    info.setup.notices.iter().for_each(|notice| print_message(format_args!("blkreplay: {notice}")));
    let stored = Archive::open(ended.archive.dir())?;
    // Without a kept result, writing it is the only pass over the records.
    let mut seen = (!place.is_kept()).then(|| Passing::new(info.targets.len(), &Limits::default()));
    let counts = match write_result(&stored, settings.replay_out, seen.as_mut(), io::stdout().lock()) {
        Ok(counts) => counts,
        Err(error) => return unwritten(&stored, place, error),
    };
    if let RunState::Broken(why) = &info.state {
        print_message(format_args!("blkreplay: the run could not go on: {why}"));
    }
    if counts.total == 0 {
        print_message("blkreplay: no request was read: the load has none, or none in the window");
    }
    let is_fake;
    if let Some(seen) = seen {
        is_fake = session::tell_verdict("blkreplay", &session::sum_up_seen(seen, stored, &info)?);
    } else {
        drop(stored);
        let concluded = session::conclude(ended, SummaryOptions::default(), timings)?;
        is_fake = session::tell_verdict("blkreplay", &concluded.figures.summary);
        info = concluded.info;
        print_message(format_args!("result: {}", shown(&concluded.dir)));
    }
    Ok(session::exit(&info, counts.failed > 0 || counts.completed == 0, false, is_fake))
}

/// Keeps the records of a run whose result could not be written.
fn unwritten(stored: &Archive, place: ResultPlace, error: ExportError) -> Result<Exit, Failure> {
    let is_closed = matches!(&error, ExportError::Write(error) if error.kind() == ErrorKind::BrokenPipe);
    let dir = place.keep();
    let why = match is_closed {
        true => "standard output was closed".into(),
        false => error.to_string(),
    };
    print_message(format_args!(
        "blkreplay: the result was not written to its end: {why}; the records stay in {0}: 'iosonar convert {0} --to replay' \
         writes it again",
        shown(&dir)
    ));
    if !is_closed {
        return Err(error.into());
    }
    let counts = export_later(stored, 0, Nanos(0), &mut io::sink())?;
    Ok(session::exit(stored.run(), counts.failed > 0 || counts.completed == 0, false, false))
}
