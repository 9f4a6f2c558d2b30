//! The end of a run: its summary, XDD's reports, the verdict.

use super::reports::Reports;
use super::reservations::Reservations;
use crate::exit::{Exit, Failure};
use crate::output::print_message;
use crate::session;
use crate::timings::Timings;
use iosonar_analyze::{Limits, Passing};
use iosonar_archive::{Archive, RunState};
use iosonar_dialect_xdd::Settings;
use iosonar_inputs::SummaryOptions;
use iosonar_runner::Ended;

/// Writes all reports of a run, and publishes their files.
pub fn report(
    settings: &Settings,
    ended: Ended,
    reservations: Reservations,
    timings: &Timings,
) -> Result<Exit, Failure> {
    let dir = ended.archive.dir().to_path_buf();
    let kept = settings.global.out.as_deref();
    // Without a kept result, the reports are the only pass over the records.
    let (info, summary, mut seen) = match kept {
        Some(_) => {
            let concluded = session::conclude(ended, SummaryOptions::default(), timings)?;
            (concluded.info, Some(concluded.figures.summary), None)
        }
        None => {
            let seen = Passing::new(ended.info.targets.len(), &Limits::default());
            (ended.info, None, Some(seen))
        }
    };
    info.setup.notices.iter().for_each(|notice| print_message(format_args!("xdd: {notice}")));
    let stored = Archive::open(&dir)?;
    let mut sinks = reservations.open()?;
    let failed = Reports { settings, info: &info, archive: &stored }.write(&mut sinks, seen.as_mut())?;
    if let RunState::Broken(why) = &info.state {
        sinks.error(&format!("the run could not go on: {why}"))?;
    }
    sinks.publish()?;
    let summed_up = seen.map(|seen| session::sum_up_seen(seen, stored, &info)).transpose()?;
    let is_fake = summary.or(summed_up).is_some_and(|summary| session::tell_verdict("xdd", &summary));
    if let Some(dir) = kept {
        print_message(format_args!("result: {dir}"));
    }
    Ok(session::exit(&info, failed, false, is_fake))
}
