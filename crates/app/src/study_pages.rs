//! Parts of the pages of studies: figures in their tables, and the list of runs.

use iosonar_text::shell::quoted;
use iosonar_text::shown;
use iosonar_text::units::{grouped, number};
use iosonar_view::StudyRun;
use std::path::Path;

/// A figure in a table: three significant digits, or a whole number in groups.
pub fn figure(value: f64) -> String {
    if value < 999.5 { number(value) } else { grouped(value.round() as u64) }
}

/// Runs in a directory, by name: each with a link if it has a page, and with the command that makes one.
pub fn runs_of<'a>(dir: &Path, names: impl IntoIterator<Item = &'a str>) -> Vec<StudyRun> {
    let run = |name: &str| StudyRun {
        name: name.into(),
        page: dir.join(name).join("report.html").is_file().then(|| format!("{name}/report.html")),
        command: format!("iosonar report {}", quoted(&shown(&dir.join(name)).to_string())),
    };
    names.into_iter().map(run).collect()
}
