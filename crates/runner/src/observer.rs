//! Reports of a session while it works.

use crate::{Problem, Scene};
use iosonar_evidence::WrittenBack;
use iosonar_text::shown;
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// Receives what a session reports. Each method does nothing by default, so a program that embeds a session implements what it wants to
/// know. Methods are called from several threads.
pub trait Observer: Send + Sync {
    /// Receives a fact for people; its text is that of `Display`, one line.
    fn notice(&self, _notice: &Notice<'_>) {}

    /// Shows work that is no run; called at intervals of a second at most.
    fn progress(&self, _progress: &Progress<'_>) {}

    /// Receives how many files a verb has done, and with how many it failed; called after each of them.
    fn files(&self, _done: usize, _failed: usize) {}

    /// Reports that the session enters a stage.
    fn stage(&self, _stage: Stage) {}

    /// Shows the run while its requests are issued: called in a separate thread, returns when [`Scene::is_over`]. A panic here does not
    /// fail the run.
    fn scene(&self, _scene: &Scene<'_>) {}
}

/// An observer that ignores everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {}

/// How far work is that is no run.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// Time since its start.
    pub elapsed: Duration,
    /// A line for people.
    pub text: &'a str,
}

/// Stages of a run. A session that executes several enters them again for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Pages are written back and targets are probed. A stop here loses nothing.
    LookingAhead,
    /// Targets are examined, or the result is created. A stop here loses nothing.
    Preparing,
    /// Requests are issued.
    Running,
    /// The requests are over, and their result is written.
    Finishing,
    /// The records are stored, and the summary is computed.
    SummingUp,
    /// The summary is stored.
    Concluded,
}

/// A report of a session beside its answer.
#[derive(Debug)]
pub enum Notice<'a> {
    /// A line of a load is skipped, or its time is shifted.
    Load {
        /// The load's file.
        path: &'a Path,
        /// How the line was changed.
        notice: &'a iosonar_load::Notice,
    },
    /// A fact about a target before the run.
    Target(&'a str),
    /// A caution before the run, or what a probe has found.
    Caution(&'a str),
    /// A choice that the verb made for the question, or a remark on its work.
    Remark(&'a str),
    /// Entries of an input cannot be read, and are skipped.
    Skipped(&'a str),
    /// An output is complete.
    Made {
        /// Its path.
        path: &'a Path,
        /// Requests in it.
        requests: u64,
    },
    /// Dirty pages are written back before the run, and that takes long.
    WritingBack {
        /// How long the session waits at most.
        longest: Duration,
    },
    /// Dirty pages were written back before the run.
    WrittenBack(&'a WrittenBack),
    /// The records of a large run are converted.
    Converting,
    /// A part of the result could not be stored.
    Problem {
        /// Which part.
        problem: &'a Problem,
        /// The directory of the result.
        dir: &'a Path,
    },
}

impl fmt::Display for Notice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Load { path, notice } => f.write_str(&notice.text(path)),
            Notice::Target(text) | Notice::Caution(text) | Notice::Skipped(text) => f.write_str(text),
            Notice::Made { path, requests } => write!(f, "{}: {requests} requests", shown(path)),
            Notice::Remark(text) => write!(f, "iosonar: {text}"),
            Notice::WritingBack { longest } => write!(
                f,
                "iosonar: what waits in memory is written back before the run, for at most {} s",
                longest.as_secs()
            ),
            Notice::WrittenBack(done) => write!(f, "iosonar: {}", crate::write_back::sentence(done)),
            Notice::Converting => {
                f.write_str("iosonar: the run is over; its records are turned into Parquet and summed up")
            }
            Notice::Problem { problem, dir } => write_problem(f, problem, dir),
        }
    }
}

fn write_problem(f: &mut fmt::Formatter<'_>, problem: &Problem, dir: &Path) -> fmt::Result {
    let dir = shown(&dir);
    match problem {
        Problem::NotConverted(error) => write!(
            f,
            "iosonar: {error}; the records stay in their log: make room, then 'iosonar show {dir}' converts them"
        ),
        Problem::SummaryNotKept(error) => {
            write!(
                f,
                "iosonar: {error}; the summary is not kept: make room, then 'iosonar show {dir}' writes it"
            )
        }
        Problem::PathNotJoined(error) => {
            write!(f, "iosonar: {error:#}; the path of the requests in the kernel is not known")
        }
        Problem::StateNotKept(error) => {
            write!(f, "iosonar: {error}; run.json still says that the run finished")
        }
    }
}
