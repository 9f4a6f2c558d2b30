//! Remedies after a matrix: the command as typed with other options, or a step.

use super::MatrixFacts;
use crate::command::Command;
use iosonar_cells::{Calls, MOST_REPETITIONS};
use iosonar_plan::ByteSize;
use iosonar_text::shell::quoted;

/// Direct I/O needs sizes that are multiples of this.
const BLOCK: u64 = 4096;
/// Cells are measured this many times as often.
const MORE: u32 = 4;

/// Measures the missing cells.
pub(super) fn resumed(facts: &MatrixFacts<'_>) -> String {
    format!("iosonar matrix --resume {}", quoted(facts.dir))
}

pub(super) fn larger() -> Option<String> {
    Some("measure larger files or smaller records, or repeat it more often".into())
}

/// The command as typed, if it can be typed again: the files must not exist.
fn command(facts: &MatrixFacts<'_>) -> Option<Command> {
    let command = Command::of(&facts.table.command, "matrix")?;
    let is_kept = facts.matrix.keep && !command.has("--destroy");
    (!is_kept && !command.has("--resume")).then_some(command)
}

/// The same without the page cache.
pub(super) fn past_memory(facts: &MatrixFacts<'_>) -> Option<String> {
    let matrix = facts.matrix;
    let command = command(facts).filter(|command| !command.has("--claim"));
    let is_whole = |size: ByteSize| size.0.is_multiple_of(BLOCK);
    let can_be_direct = matrix.access.buffered
        && matrix.methods.iter().all(|method| !method.is_buffered())
        && matrix.tests.iter().all(|test| test.calls != Calls::Stdio)
        && matrix.pairs.iter().all(|pair| is_whole(pair.file) && is_whole(pair.record));
    match command {
        Some(command) if can_be_direct => Some(command.with("--direct").text("direct")),
        // Nothing else would change.
        _ if !matrix.access.buffered => Some("measure files that are larger than the memory".into()),
        Some(command) => Some(command.set(&["--cache"], "cold").with("--include-flush").text("cold")),
        None => Some("for the device: --direct, or files several times as large as the memory".into()),
    }
}

/// The same, repeated more often.
pub(super) fn more_repetitions(facts: &MatrixFacts<'_>) -> Option<String> {
    let repeat = facts.matrix.repeat.saturating_mul(MORE).min(MOST_REPETITIONS);
    let command = command(facts).filter(|_| repeat > facts.matrix.repeat)?;
    Some(command.set(&["--repeat"], &repeat.to_string()).text(&format!("repeat{repeat}")))
}
