//! The measured cells of a plan whose phases are cells of a matrix, for all questions that have such a plan.

use iosonar_analyze::{CellStats, CountUntil, Records, THIS_HOST, cells};
use iosonar_archive::{Archive, Fields, Miscompare, Outcome, Record, RunInfo, RunState, TargetInfo};
use iosonar_cells::{Machine, TableState};
use iosonar_inputs::Input;
use iosonar_plan::Cell;
use iosonar_runner::Error;
use std::collections::BTreeSet;

/// Bad records of a file that are reported one by one.
const MOST_ERRORS: usize = 10;

/// Computes the statistics of all phases with a cell.
///
/// # Errors
/// The records cannot be read.
pub fn stats_of(input: &Input, info: &RunInfo, until: CountUntil) -> Result<Vec<CellStats>, Error> {
    let (plan, _) = input.run();
    Ok(cells(input, &plan, info, until)?)
}

/// The machine of a run. Nothing is said of the memory and the caches of other machines.
pub fn machine(archive: &Archive) -> Machine {
    if archive.plan().has_hosts() {
        let hosts = archive.plan().targets.iter().map(|target| target.executor.place());
        let hosts: BTreeSet<String> = hosts.map(|name| name.unwrap_or_else(|| THIS_HOST.into())).collect();
        let words = hosts.into_iter().collect::<Vec<_>>().join(", ");
        return Machine { words, memory_bytes: None, cache_bytes: None };
    }
    let environment = archive.environment();
    let words = [&environment.hostname, &environment.kernel.release, &environment.cpu.model];
    let words: Vec<&str> =
        words.into_iter().filter_map(|fact| fact.known()).map(|word| word.trim()).collect();
    Machine {
        words: words.join(", "),
        memory_bytes: environment.memory.total.known().copied(),
        cache_bytes: environment.cpu.cache_bytes.known().copied(),
    }
}

/// Moment up to which streams count: with `stonewall` the first end of a stream.
pub fn count_until(stonewall: bool) -> CountUntil {
    if stonewall { CountUntil::FirstEnd } else { CountUntil::OwnEnd }
}

/// Calls `f` for each completed read and write of a phase with a cell, in the order of completion.
///
/// # Errors
/// The records cannot be read.
pub fn for_each_transfer(input: &Input, mut f: impl FnMut(&Cell, &Record)) -> Result<(), Error> {
    let (plan, _) = input.run();
    let wanted = [Fields::OP, Fields::OUTCOME, Fields::SUBMITTED, Fields::COMPLETED, Fields::EXECUTED];
    let wanted = wanted.into_iter().fold(Fields::ORIGIN, Fields::and);
    let mut one = |record: &Record| {
        let cell = plan.phases.get(usize::from(record.phase)).and_then(|phase| phase.cell.as_ref());
        if let Some(cell) = cell.filter(|_| record.op.is_transfer() && record.outcome == Outcome::Completed) {
            f(cell, record);
        }
    };
    for part in 0..input.parts() {
        input.read_part(part, wanted, &mut |piece| piece.iter().for_each(&mut one))?;
    }
    Ok(())
}

/// Reason why a cell has no figure, if requests failed.
pub fn failure_of(stats: &CellStats) -> Option<String> {
    let cell = &stats.cell;
    let why = stats.error.map_or("a request stayed short".into(), |number| {
        std::io::Error::from_raw_os_error(number).to_string()
    });
    (stats.failed > 0).then(|| {
        format!(
            "{} of a file of {} with records of {}: {why}; it has no figure",
            cell.test, cell.file, cell.record
        )
    })
}

/// Describes miscompares in IOzone's words: a line for each of the first records, and their number.
pub fn errors_in_files(info: &RunInfo) -> Vec<String> {
    let of_target = |target: &TargetInfo| {
        let checks = target.checks.as_ref().filter(|checks| checks.miscompared > 0)?;
        let position = |bad: &Miscompare| {
            let why = match bad.untransferred {
                true => "the read succeeded and transferred nothing there".into(),
                false => format!("{} bytes of the record are not what was written", bad.bad_bytes),
            };
            format!("Error in file {}: Position {}: {why}", target.path, bad.offset.saturating_add(bad.at))
        };
        let told = checks.first.iter().take(MOST_ERRORS).map(position);
        let records = format!(
            "{}: {} of {} records that were checked are bad",
            target.path, checks.miscompared, checks.requests
        );
        Some(told.chain([records]).collect::<Vec<_>>())
    };
    info.targets.iter().filter_map(of_target).flatten().collect()
}

/// How the measurement ended.
pub fn state_of(state: &RunState, is_whole: bool) -> TableState {
    match state {
        RunState::Interrupted(_) => TableState::Interrupted,
        RunState::Finished if is_whole => TableState::Complete,
        _ => TableState::Failed,
    }
}
