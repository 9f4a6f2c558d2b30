//! The cells of a matrix that was measured, as `iozone` and `matrix` need them.

use crate::exit::Failure;
use iosonar_analyze::{CellStats, cells};
use iosonar_archive::{Archive, RunInfo};
use iosonar_inputs::Input;

/// What the phases with a cell amount to.
pub fn stats_of(archive: Archive, info: &RunInfo) -> Result<Vec<CellStats>, Failure> {
    let input = Input::of_archive(archive).map_err(anyhow::Error::from)?;
    let (plan, _) = input.run();
    Ok(cells(&input, &plan, info)?)
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
