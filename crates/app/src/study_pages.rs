//! The list of runs on the pages of studies.

use iosonar_text::shell::quoted;
use iosonar_text::shown;
use iosonar_view::StudyRun;
use std::path::Path;

/// Runs in a directory, by name: each with a link if it has a page, and with the command that makes one.
pub fn runs_of<'a>(dir: &Path, names: impl IntoIterator<Item = &'a str>) -> Vec<StudyRun> {
    let run = |name: &str| StudyRun {
        name: name.into(),
        page: dir.join(name).join("report.html").is_file().then(|| format!("{name}/report.html")),
        command: format!("iosonar report {}", quoted(&shown(&dir.join(name)).to_string())),
    };
    names.into_iter().map(run).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_only_pages_that_exist() {
        let dir = tempfile::tempdir().unwrap();
        for run in ["a", "b"] {
            std::fs::create_dir(dir.path().join(run)).unwrap();
        }
        std::fs::write(dir.path().join("b/report.html"), "").unwrap();
        let runs = runs_of(dir.path(), ["a", "b"]);
        assert_eq!((runs[0].page.as_deref(), runs[1].page.as_deref()), (None, Some("b/report.html")));
        assert!(runs[0].command.starts_with("iosonar report ") && runs[0].command.ends_with("/a"));
    }
}
