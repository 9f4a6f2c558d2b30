//! Reads the targets of a run, and compares what they hold with what its records say.

use super::answer::Answer;
use super::question::Question;
use super::targets::Targets;
use iosonar_archive::{HISTOGRAMS, SERIES_LOG, SUMMARY};
use iosonar_engine::{PostVerify, PostVerifyError, PostVerifyOptions, ScanProgress, post_verify};
use iosonar_host::Root;
use iosonar_inputs::open_records;
use iosonar_runner::{Error, Progress, Session};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Files of a result that its verification does not read.
const NOT_READ: [&str; 3] = [HISTOGRAMS, SERIES_LOG, SUMMARY];
/// How often progress is reported.
const REPORTED: Duration = Duration::from_millis(250);

/// Verifies the writes of a run. Nothing is written. A stop of the session leaves the rest unverified.
///
/// # Errors
/// The result cannot be read or verified, or a target is missing.
pub fn run(session: &Session, question: &Question) -> Result<Answer, Error> {
    let archive = open_records(&question.result).map_err(Error::refused)?;
    let Targets { paths, missing } = Targets::find(session, &archive, question)?;
    let options = PostVerifyOptions {
        targets: paths,
        sample: question.sample,
        memory: question.memory,
        crash: question.crash.clone(),
    };
    let verify = |progress: &_| post_verify(&archive, &options, &Root::default(), &session.control, progress);
    let later = with_progress(session, verify).map_err(|error| match error {
        PostVerifyError::Archive(error) => error.into(),
        // The paths that were searched say more.
        PostVerifyError::Target(error) => {
            missing.map_or_else(|| Error::refused(error), Error::refused_because)
        }
        refused => Error::refused(refused),
    });
    let PostVerify { verified, faults } = later?;
    Ok(Answer { targets: options.targets.into_iter().flatten().collect(), verified, faults })
}

/// Files of a result that its verification reads: another machine needs them.
///
/// # Errors
/// The result cannot be read, or its records are not here.
pub fn files(result: &Path) -> Result<Vec<PathBuf>, Error> {
    let archive = open_records(result).map_err(Error::refused)?;
    let entries = std::fs::read_dir(archive.dir()).map_err(Error::refused)?;
    let is_needed = |path: &PathBuf| path.is_file() && !NOT_READ.iter().any(|name| path.ends_with(name));
    Ok(entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_needed).collect())
}

/// Calls `work` while a thread reports its progress.
fn with_progress<T: Send>(session: &Session, work: impl FnOnce(&ScanProgress) -> T + Send) -> T {
    let progress = ScanProgress::default();
    let (over, is_over) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // The sender is dropped when the work is over.
            let is_over = is_over;
            while is_over.recv_timeout(REPORTED) == Err(RecvTimeoutError::Timeout) {
                if let Some(moment) = progress.moment() {
                    let text = moment.to_string();
                    session.observer.progress(&Progress { elapsed: moment.elapsed, text: &text });
                }
            }
        });
        let done = work(&progress);
        drop(over);
        done
    })
}
