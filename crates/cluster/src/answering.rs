//! A process that answers a question of its coordinator in place of a part of a plan: it executes a verb on its own targets.

use crate::member::{Line, Member};
use crate::protocol::{Answered, Order, Report};
use iosonar_engine::Rendezvous;
use iosonar_os::made::OwnDir;
use iosonar_os::monotonic_ns;
use iosonar_runner::{Notice, Observer, Progress, Scene, Session};
use iosonar_text::shown;
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Seconds between two lines of progress.
const LINES: u64 = 10;
/// The exit code of a refusal.
const REFUSED: u8 = 2;

/// A question, as its coordinator sends it.
pub(crate) struct VerbQuestion {
    pub(crate) question: Value,
    pub(crate) dir: Option<PathBuf>,
    pub(crate) command: String,
    pub(crate) shows_progress: bool,
}

/// The failure of a verb.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoAnswer {
    /// The reason, for people.
    pub why: String,
    /// The exit code of the verb.
    pub code: u8,
}

/// Answers a question, and reports the answer or the reason of its failure.
pub(crate) fn answer<W: Write + Send + 'static>(
    asked: VerbQuestion,
    member: Arc<Member<W>>,
    verbs: impl FnOnce(&Session, &Value, Option<&Path>) -> Result<Answered, NoAnswer>,
) {
    let line = member.line.clone();
    line.report(&match answered(asked, member, verbs) {
        Ok(answered) => Report::Answered(answered),
        Err(NoAnswer { why, code }) => Report::Failed { why, code },
    });
}

fn answered<W: Write + Send + 'static>(
    asked: VerbQuestion,
    member: Arc<Member<W>>,
    verbs: impl FnOnce(&Session, &Value, Option<&Path>) -> Result<Answered, NoAnswer>,
) -> Result<Answered, NoAnswer> {
    let refused = |why| NoAnswer { why, code: REFUSED };
    let folder = member.line.inputs().gathered().map_err(refused)?;
    if let Some(dir) = &asked.dir {
        std::env::set_current_dir(dir)
            .map_err(|error| refused(format!("working directory {}: {error}", shown(&dir))))?;
    }
    let line = AtomicU64::new(0);
    let observer = Reporting { member: member.clone(), shows_progress: asked.shows_progress, line };
    let session = Session {
        control: member.line.control.clone(),
        command: asked.command,
        others: Arc::new(StartPermission { member, is_open: AtomicBool::default() }),
        ..Session::new(Arc::new(observer))
    };
    verbs(&session, &asked.question, folder.as_ref().map(OwnDir::path))
}

/// Reports what a session does to the coordinator.
struct Reporting<W> {
    member: Arc<Member<W>>,
    shows_progress: bool,
    /// Number of the last line of progress.
    line: AtomicU64,
}

impl<W> Reporting<W> {
    fn line(&self) -> &Line<W> {
        &self.member.line
    }
}

impl<W: Write + Send> Observer for Reporting<W> {
    fn notice(&self, notice: &Notice<'_>) {
        self.line().report(&Report::Notice { line: notice.to_string() });
    }

    fn progress(&self, progress: &Progress<'_>) {
        let number = progress.elapsed.as_secs() / LINES;
        if self.shows_progress && self.line.fetch_max(number, Relaxed) < number {
            self.line().report_if_free(|| Report::Notice { line: progress.text.into() });
        }
    }

    fn scene(&self, scene: &Scene<'_>) {
        self.line().report_progress(scene);
    }
}

/// Lets a session change its targets only when no machine has refused.
struct StartPermission<W> {
    member: Arc<Member<W>>,
    is_open: AtomicBool,
}

impl<W: Write + Send> Rendezvous for StartPermission<W> {
    fn has_others(&self) -> bool {
        false
    }

    fn begin(&self, _: u16, earliest: u64) -> Result<u64, String> {
        if !self.is_open.load(Relaxed) {
            self.member.line.report(&Report::Poised);
            let go = self.member.wait(|order| (order == Order::Go).then_some(()));
            go.ok_or("the run was stopped before it started")?;
            self.is_open.store(true, Relaxed);
        }
        Ok(earliest.max(monotonic_ns()))
    }

    fn end(&self, _: u16, is_whole: bool) -> bool {
        is_whole
    }
}
