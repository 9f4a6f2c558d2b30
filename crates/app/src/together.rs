//! Plans executed by several processes: the coordinating process, and the part of each process.

use crate::args::common::{ProgressArg, ProgressArgs};
use crate::exit::{Exit, Failure};
use crate::hosts_progress::HostsProgress;
use crate::output::print_message;
use crate::ranks;
use crate::session::begin_session;
use crate::signals::{Listener, Phase};
use crate::timings::Timings;
use crate::verb_questions;
use anyhow::anyhow;
use iosonar_analyze::Limits;
use iosonar_archive::{PARTS, RunInfo};
use iosonar_cluster::protocol::{ON_HOST, TAKE_PART};
use iosonar_cluster::{Assembled, Coordinator, Launch, take_part};
use iosonar_engine::Control;
use iosonar_load::Notice;
use iosonar_plan::Plan;
use iosonar_runner::{Ended, Error, Session};
use iosonar_text::shown;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Whether the program was started to take part in the run of another one, whatever its name.
pub fn is_part(mut args: impl Iterator<Item = OsString>) -> bool {
    args.nth(1).is_some_and(|word| word == TAKE_PART)
}

/// Takes part in the run of another process, which is at the other end of standard input and output.
pub fn part() -> Result<Exit, Failure> {
    let control = Arc::new(Control::default());
    let listener = Listener::start(control.clone())?;
    listener.set_phase(Phase::Running);
    let notice = |path: &Path, notice: &Notice| print_message(notice.text(path));
    let coordinator = match std::env::args_os().nth(2).is_some_and(|word| word == ON_HOST) {
        true => Coordinator::Elsewhere,
        false => Coordinator::Here,
    };
    take_part(coordinator, std::io::stdin(), std::io::stdout(), control, notice, verb_questions::answer)?;
    Ok(Exit::Fine)
}

/// Executes a plan in several processes. `check` may refuse the prepared run, and returns the directory of the result.
pub fn perform(
    plan: &Plan,
    options: ExecutionOptions<'_>,
    check: impl FnOnce(&RunInfo) -> Result<PathBuf, Failure>,
    timings: &Timings,
) -> Result<(Ended, Listener), Failure> {
    if options.progress.progress == ProgressArg::Json && !plan.has_hosts() {
        return Err(Failure::refused(anyhow!(
            "--progress json: a plan with `executor = \"process\"` reports the phases that start and nothing of requests: use --progress none"
        )));
    }
    let (session, listener) = begin_session(timings, None)?;
    let ended = execute(&session, &listener, plan, options, check)?;
    listener.set_kept(format!("the records are in {}", shown(&ended.archive.dir())));
    timings.end("merge");
    Ok((ended, listener))
}

/// How several processes execute a plan, beside what the plan says.
pub struct ExecutionOptions<'a> {
    /// The program for machines without one, if it is not this one.
    pub sent: Option<PathBuf>,
    /// Limits of the summary.
    pub limits: Limits,
    pub progress: &'a ProgressArgs,
    /// Shows the live view.
    pub live: bool,
}

impl<'a> ExecutionOptions<'a> {
    /// Lines of progress, and this program.
    pub fn of(progress: &'a ProgressArgs) -> ExecutionOptions<'a> {
        ExecutionOptions { sent: None, limits: Limits::default(), progress, live: false }
    }
}

/// Executes a plan in several processes. `begin` is called when no process has refused its part; it returns the directory of the result.
pub fn execute<E: From<Error>>(
    session: &Session,
    listener: &Listener,
    plan: &Plan,
    ExecutionOptions { sent, limits, progress, live }: ExecutionOptions<'_>,
    begin: impl FnOnce(&RunInfo) -> Result<PathBuf, E>,
) -> Result<Ended, E> {
    listener.set_phase(Phase::Assembling);
    let own = Launch::of_this_program(|line| print_message(line)).map_err(Error::broke)?;
    let assembled = Assembled::in_session(session, &Launch { sent, limits, ..own }, plan)?;
    let dir = begin(&assembled.info())?;
    listener.set_kept(match plan.keeps_records_on_hosts() {
        true => "each host keeps the records of its part".into(),
        false => format!("what each process recorded until now is in {}", shown(&dir.join(PARTS))),
    });
    let mut lines = match live {
        true => HostsProgress::live(progress, &session.control),
        false => HostsProgress::new(progress),
    };
    Ok(assembled.execute(session, &dir, |now| lines.show(now))?)
}

/// Executes a plan on the ranks of an MPI run. `name` names the directory of the result; only the first rank has one.
pub fn perform_on_ranks(
    plan: &Plan,
    progress: &ProgressArgs,
    limits: Limits,
    name: impl FnOnce(&RunInfo) -> PathBuf,
    timings: &Timings,
) -> Result<(Option<Ended>, Listener), Failure> {
    let (session, listener) = begin_session(timings, None)?;
    listener.set_phase(Phase::Running);
    let mut lines = HostsProgress::new(progress);
    let ended = ranks::execute(&session, plan, limits, name, |now| lines.show(now))?;
    if let Some(ended) = &ended {
        listener.set_kept(format!("the records are in {}", shown(&ended.archive.dir())));
    }
    timings.end("merge");
    Ok((ended, listener))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_member_process_by_any_program_name() {
        let is = |words: &[&str]| is_part(words.iter().map(OsString::from));
        assert!(is(&["/usr/bin/iozone", "take-part"]) && !is(&["iozone", "-a"]) && !is(&["iosonar"]));
    }
}
