//! IOzone's reports of a run.

use super::offsets;
use super::outputs::Reservations;
use crate::exit::{Exit, Failure};
use crate::output::{print, print_lines, print_message};
use crate::session;
use crate::timings::Timings;
use iosonar_archive::{Archive, RunState, TOOL};
use iosonar_cells::{Matrix, Table};
use iosonar_dialect_iozone::{Settings, printed};
use iosonar_inputs::{Figures, Input, SummaryOptions};
use iosonar_runner::{Concluded, Ended};
use iosonar_studies::cells::{count_until, errors_in_files, failure_of, state_of, stats_of};
use std::io::Write;

/// Writes all reports that the command line asks for.
pub fn report(
    settings: &Settings,
    matrix: &Matrix,
    ended: Ended,
    mut reservations: Reservations,
    timings: &Timings,
) -> Result<Exit, Failure> {
    let dir = ended.archive.dir().to_path_buf();
    let concluded = match settings.out {
        Some(_) => Ok(session::conclude(ended, SummaryOptions::default(), timings)?),
        None => Err(ended.info),
    };
    // All that follows reads this one.
    let archive = Archive::open(&dir)?;
    let machine = machine(&archive);
    let input = Input::of_archive(archive)?;
    let (info, summary) = match concluded {
        Ok(Concluded { info, figures, .. }) => (info, figures.summary),
        Err(info) => (info, Figures::of(&input, &SummaryOptions::default())?.summary),
    };
    info.setup.notices.iter().for_each(|notice| print_message(format_args!("iozone: {notice}")));
    let stats = stats_of(&input, &info, count_until(matrix.stonewall))?;
    let failures: Vec<String> = stats.iter().filter_map(failure_of).collect();
    let errors = errors_in_files(&info);
    let table = Table::of(&stats, settings.timed(), TOOL, &format!("iozone {}", settings.typed));
    let missing = (matrix.units().len() * matrix.tests.len()).saturating_sub(table.results.len());
    let table = Table {
        state: Some(state_of(&info.state, missing == 0)),
        missing_cells: missing as u64,
        errors: failures.iter().chain(&errors).cloned().chain(broken(&info.state)).collect(),
        ..table
    };
    table
        .cache_cautions(matrix)
        .iter()
        .for_each(|caution| print_message(format_args!("iozone: caution: {caution}")));
    // The table would disturb a program that reads the cells from standard output.
    let is_taken = reservations.takes_standard_output();
    if settings.trace_offsets {
        let out: Box<dyn Write> =
            if is_taken { Box::new(std::io::stderr()) } else { Box::new(std::io::stdout()) };
        offsets::print_offsets(&input, out)?;
    }
    reservations.write_logs(&input, info.started_unix_ns)?;
    let text = printed(settings, matrix, &table, TOOL, &machine);
    match is_taken {
        true => print_lines(text.trim_end()),
        false => print(&text)?,
    }
    reservations.write(settings, matrix, &table)?;
    failures.iter().for_each(|failure| print_message(format_args!("iozone: {failure}")));
    errors.iter().for_each(|error| print_message(format_args!("iozone: {error}")));
    if let Some(why) = broken(&info.state).filter(|_| failures.is_empty()) {
        print_message(format_args!("iozone: the run could not go on: {why}"));
    }
    if let Some(dir) = &settings.out {
        print_message(format_args!("result: {dir}"));
    }
    let is_fake = session::tell_verdict("iozone", &summary);
    Ok(session::exit(&info, missing > 0, false, is_fake))
}

/// Name and kernel of the machine, as `-M` prints them.
fn machine(archive: &Archive) -> String {
    let environment = archive.environment();
    let word = |fact: &iosonar_host::Fact<String>| fact.known().cloned().unwrap_or_default();
    let kernel = &environment.kernel;
    format!("Linux {} {} {}", word(&environment.hostname), word(&kernel.release), word(&kernel.version))
}

/// Reason why the run aborted.
fn broken(state: &RunState) -> Option<String> {
    match state {
        RunState::Broken(why) => Some(why.to_string()),
        RunState::Unconverted(why) => Some(why.clone()),
        _ => None,
    }
}
