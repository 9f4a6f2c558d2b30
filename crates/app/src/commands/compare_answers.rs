//! `iosonar compare` on answers of 'knee' and 'layout run': their figures side by side.

use crate::args::compare::CompareArgs;
use crate::exit::{Exit, Failure};
use crate::output::print;
use anyhow::anyhow;
use iosonar_inputs::{Study, StudyKind};
use iosonar_studies::answers;
use iosonar_text::shown;
use std::path::PathBuf;

/// The answers of 'knee' or of 'layout run', if all inputs are such; `None` if no input is.
pub fn answers(paths: &[PathBuf]) -> Result<Option<Vec<Study>>, Failure> {
    let found = |path: &PathBuf| Study::of(path).filter(|study| study.kind != StudyKind::Matrix);
    let studies: Vec<Study> = paths.iter().filter_map(found).collect();
    let Some(first) = studies.first() else { return Ok(None) };
    if studies.len() < paths.len() || studies.iter().any(|study| study.kind != first.kind) {
        return Err(Failure::refused(anyhow!(
            "{} is the answer of '{}', and not all others are: compare answers with answers of the same command",
            shown(&first.dir()),
            first.kind.command()
        )));
    }
    Ok(Some(studies))
}

/// Compares each answer after the first with the first.
pub fn compare(args: &CompareArgs, studies: &[Study]) -> Result<Exit, Failure> {
    let is_given = [
        ("--fail-if", !args.fail_if.is_empty()),
        ("--csv", args.csv),
        ("--markdown", args.markdown),
        ("--html", args.html.is_some()),
    ];
    if let Some((option, _)) = is_given.iter().find(|(_, is_given)| *is_given) {
        let command = studies[0].kind.command();
        return Err(Failure::refused(anyhow!(
            "{option} is not available for answers of '{command}': use --json, or compare their runs"
        )));
    }
    let comparison = answers::compare(studies)?;
    print(&if args.json { format!("{:#}\n", comparison.to_json()) } else { comparison.to_string() })?;
    Ok(if comparison.has_figures() { Exit::Fine } else { Exit::Failed })
}
