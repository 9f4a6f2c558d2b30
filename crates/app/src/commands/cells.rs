//! The cells of a matrix that was measured, as `iozone` and `matrix` need them.

use crate::exit::Failure;
use iosonar_analyze::{CellStats, CountUntil, Records, cells};
use iosonar_archive::{Archive, Fields, Outcome, Record, RunInfo};
use iosonar_inputs::Input;
use iosonar_plan::Cell;

/// What the phases with a cell amount to.
pub fn stats_of(archive: Archive, info: &RunInfo, until: CountUntil) -> Result<Vec<CellStats>, Failure> {
    let input = Input::of_archive(archive).map_err(anyhow::Error::from)?;
    let (plan, _) = input.run();
    Ok(cells(&input, &plan, info, until)?)
}

/// Up to when streams count, where the first of them ends a test or does not.
pub fn count_until(stonewall: bool) -> CountUntil {
    if stonewall { CountUntil::FirstEnd } else { CountUntil::OwnEnd }
}

/// Hands over each completed read and write of a phase with a cell, in the order of completion.
pub fn for_each_transfer(archive: Archive, mut f: impl FnMut(&Cell, &Record)) -> anyhow::Result<()> {
    let input = Input::of_archive(archive)?;
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

/// Why a cell has no figure, where requests failed.
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
