//! Joins the requests of an archive with its extent maps.

use super::answer::Answer;
use super::question::Question;
use iosonar_analyze::extents::ExtentLatencies;
use iosonar_inputs::open_records;
use iosonar_runner::Error;
use iosonar_text::shown;
use std::path::PathBuf;

/// Groups the requests of a run by their place, and compares the latencies of the groups.
///
/// # Errors
/// The archive cannot be read, or has no extent maps.
pub fn run(question: &Question) -> Result<Answer, Error> {
    // The experiment on layout keeps two archives; the scan shows how files are read.
    let parts = ["scan", "create"].map(|part| question.result.join(part));
    let is_archive = |dir: &&PathBuf| dir.join("run.json").exists();
    let dir = [&question.result].into_iter().chain(&parts).find(is_archive).unwrap_or(&question.result);
    let archive = open_records(dir).map_err(Error::refused)?;
    match ExtentLatencies::of(&archive)? {
        Some(latencies) => Ok(Answer { latencies }),
        None => Err(Error::refused_because(format_args!(
            "{}: it has no extent maps: they are kept when a run on regular files of XFS, ext4 or btrfs ends, and not of devices, \
             recordings, killed runs, other machines and files with too many extents (iosonar show --all {0} tells)",
            shown(dir)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_runner::ErrorKind;

    #[test]
    fn a_directory_without_an_archive_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let error = run(&Question { result: folder.path().into() }).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert!(error.to_string().contains(&folder.path().display().to_string()), "{error}");
    }
}
