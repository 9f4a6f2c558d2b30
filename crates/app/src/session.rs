//! A run from plan to printed summary: what is told about it, and how it ends the program.

use crate::args::common::{ProgressArg, ProgressArgs, SessionArgs};
use crate::exit::{Exit, Failure};
use crate::output::{self, print_message};
use crate::progress::{self, ProgressOptions};
use crate::ranks;
use crate::signals::{self, Listener, Phase, PresentPhase};
use crate::timings::Timings;
use crate::together::{self, ExecutionOptions};
use anyhow::anyhow;
use iosonar_analyze::{Limits, Passing, Summary, Verdict};
use iosonar_archive::{Archive, Interruption, RunInfo, RunState, TOOL};
use iosonar_engine::{Control, Prepared};
use iosonar_inputs::{Figures, Input, SummaryOptions, deskew};
use iosonar_plan::Plan;
use iosonar_runner::{Concluded, Ended, Notice, Observer, Scene, Session, Stage};
use iosonar_studies::verdict;
use iosonar_text::shell::quoted;
use iosonar_text::shown;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Carries a plan out and says what came of it. `check` may refuse what is prepared, before anything is touched.
pub fn execute(
    plan: Plan,
    args: &SessionArgs,
    check: impl FnOnce(&Prepared) -> Result<(), Failure>,
) -> Result<Exit, Failure> {
    plan.validate().map_err(Failure::refused)?;
    if args.show_plan {
        output::print(&plan.to_toml())?;
        return Ok(Exit::Fine);
    }
    let timings = Timings::new();
    let name = |prepared: &Prepared| args.out.clone().unwrap_or_else(|| new_name(&prepared.info(TOOL, "")));
    if args.live && args.progress.progress != ProgressArg::Auto {
        return Err(Failure::refused(anyhow!(
            "--live has no effect with --progress json or none: remove one of them"
        )));
    }
    if args.deskew && plan.keeps_records_on_hosts() {
        return Err(Failure::refused(anyhow!(
            "--deskew needs the records, which stay on the hosts: use --collect records, or leave --deskew out"
        )));
    }
    if plan.has_ranks() {
        return execute_on_ranks(&plan, args);
    }
    if plan.has_processes() {
        return execute_together(plan, args);
    }
    let wish = ProgressOptions { progress: &args.progress, live: args.live, late_limit: args.bad_delay };
    let show = |scene: &Scene<'_>| progress::show(&wish, scene);
    let (ended, _listener) = perform(plan, check, name, show, &timings)?;
    finish(ended, args, timings)
}

/// The same for a plan that several processes execute.
fn execute_together(plan: Plan, args: &SessionArgs) -> Result<Exit, Failure> {
    if !plan.has_hosts() {
        refuse_live(args)?;
    }
    let timings = Timings::new();
    let check = |info: &RunInfo| Ok(args.out.clone().unwrap_or_else(|| new_name(info)));
    let sent = args.hosts.reach.send_program.clone();
    let options = ExecutionOptions { sent, limits: limits(args), progress: &args.progress, live: args.live };
    let (ended, _listener) = together::perform(&plan, options, check, &timings)?;
    finish(ended, args, timings)
}

/// The same for a plan of ranks: the first one prints the result.
fn execute_on_ranks(plan: &Plan, args: &SessionArgs) -> Result<Exit, Failure> {
    refuse_live(args)?;
    let timings = Timings::new();
    let name = |info: &RunInfo| args.out.clone().unwrap_or_else(|| new_name(info));
    let executed = together::perform_on_ranks(plan, &args.progress, limits(args), name, &timings);
    let finished = match executed {
        Ok((Some(ended), _listener)) => finish(ended, args, timings),
        Ok((None, _)) => Ok(Exit::Fine),
        Err(failure) => Err(failure),
    };
    ranks::wait_for_first();
    finished
}

fn refuse_live(args: &SessionArgs) -> Result<(), Failure> {
    match args.live {
        true => Err(Failure::refused(anyhow!(
            "--live shows the requests of this process, and the plan has `executor`: remove one of them"
        ))),
        false => Ok(()),
    }
}

fn limits(args: &SessionArgs) -> Limits {
    Limits { bad_latency: args.bad_latency, bad_delay: args.bad_delay, ..Limits::default() }
}

/// Sums up what was executed, and prints it.
fn finish(ended: Ended, args: &SessionArgs, timings: Timings) -> Result<Exit, Failure> {
    let options = SummaryOptions { limits: limits(args), percentiles: args.percentile_list.clone() };
    let concluded = conclude(ended, options, &timings)?;
    let exit = tell_result(args, concluded)?;
    if args.timings {
        timings.tell();
    }
    Ok(exit)
}

/// Prints what a run came to.
fn tell_result(args: &SessionArgs, concluded: Concluded) -> Result<Exit, Failure> {
    let Concluded { dir, info, figures, skipped, .. } = concluded;
    if let RunState::Broken(why) = &info.state {
        print_message(format_args!("iosonar: the run could not go on: {why}"));
    }
    let summary = figures.summary;
    if args.json {
        output::print(&summary.to_json())?;
        print_message(format_args!("result: {}", shown(&dir)));
    } else {
        let (all, story) = (iosonar_plaintext::summary(&summary), iosonar_plaintext::story(&summary));
        output::print(&format!("{all}\n{story}\nresult: {}\n", shown(&dir)))?;
    }
    if args.deskew {
        output::print(&iosonar_plaintext::deskew(&deskew(&Archive::open(&dir)?)?))?;
    }
    let counts = &summary.counts;
    let is_empty = counts.all.completed + counts.other.completed == 0;
    let doubtful =
        args.strict && (skipped > 0 || !summary.cautions.is_empty() || summary.has_verdict(Verdict::Care));
    Ok(exit(&info, counts.failed() > 0 || is_empty, doubtful, summary.has_verdict(Verdict::Fake)))
}

/// Carries a plan out: prepares, lets `check` refuse, keeps the result where `name` says, and lets `show` show progress.
/// While the listener lives, a first signal lets the result be finished, and a second one ends the program.
pub fn perform(
    plan: Plan,
    check: impl FnOnce(&Prepared) -> Result<(), Failure>,
    name: impl FnOnce(&Prepared) -> PathBuf,
    show: impl Fn(&Scene<'_>) + Sync,
    timings: &Timings,
) -> Result<(Ended, Listener), Failure> {
    let (session, listener) = begin_session(timings, None)?;
    let ready = session.prepare(plan).map_err(Failure::refused)?;
    // Nobody is told what will be overwritten by a run whose result cannot be kept.
    check(ready.prepared())?;
    let ended = session.execute_showing(ready, name, show)?;
    Ok((ended, listener))
}

/// Starts a session of this command, and listens to signals while it lasts. `progress`: how it shows progress; `None` if the run has a display.
pub fn begin_session(
    timings: &Timings,
    progress: Option<&ProgressArgs>,
) -> Result<(Session, Listener), Failure> {
    let control = Arc::new(Control::default());
    let listener = Listener::start(control.clone())?;
    let observer = Arc::new(Terminal { progress: progress.cloned(), ..terminal(&listener, timings) });
    Ok((Session { control, command: command_line(), ..Session::new(observer) }, listener))
}

/// A session for verbs that change no target: a first signal lets them end and remove what they made, a second one ends the program after
/// undoing it.
pub fn ending_on_signal() -> Result<Session, Failure> {
    let control = Arc::new(Control::default());
    signals::stop_on_signal(control.clone(), || {})?;
    Ok(Session { control, command: command_line(), ..Session::new(Arc::new(Terminal::default())) })
}

/// A session that prints what it reports, for what is no run.
pub fn printing() -> Session {
    Session { command: command_line(), ..Session::new(Arc::new(Terminal::default())) }
}

/// The observer of this command's sessions.
fn terminal(listener: &Listener, timings: &Timings) -> Terminal {
    Terminal { phase: listener.phase(), timings: timings.clone(), progress: None }
}

/// Prints what a session reports, and keeps the listener and the timings up to date.
#[derive(Debug, Default)]
pub struct Terminal {
    phase: PresentPhase,
    timings: Timings,
    /// `None`: the run has a progress display of its own.
    progress: Option<ProgressArgs>,
}

impl Observer for Terminal {
    fn notice(&self, notice: &Notice<'_>) {
        print_message(notice);
    }

    fn scene(&self, scene: &Scene<'_>) {
        if let Some(progress) = &self.progress {
            progress::show(&ProgressOptions::line(progress), scene);
        }
    }

    fn stage(&self, stage: Stage) {
        match stage {
            Stage::LookingAhead => self.phase.set(Phase::LookingAhead),
            Stage::Preparing => self.phase.set(Phase::Preparing),
            Stage::Running => {
                self.phase.set(Phase::Running);
                self.timings.end("prepare");
            }
            Stage::Finishing => {
                self.phase.set(Phase::Finishing);
                self.timings.end("run");
            }
            Stage::SummingUp => self.timings.end("encode"),
            Stage::Concluded => self.timings.end("summary"),
        }
    }
}

/// `LOAD-DATE-TIME.iosonar`, and a number after it if that exists.
fn new_name(info: &RunInfo) -> PathBuf {
    let source = info.targets.first().map_or("run", |t| t.source.as_str());
    // Behind a load's file stand its filters.
    let source = source.split(" | ").next().unwrap_or_default();
    let file = Path::new(source).file_name().map_or("run".into(), |f| f.to_string_lossy());
    let stem = if file == "-" { "stdin" } else { file.split('.').next().unwrap_or_default() };
    let stem = stem.trim_start_matches('-').replace([' ', '%'], "_");
    let stem = if stem.is_empty() { "run" } else { &stem };
    output::unused_name(&format!("{stem}-{}", output::utc_stamp(info.started_unix_ns)))
}

/// The command as typed, quoted where a shell would need it.
pub fn command_line() -> String {
    std::env::args_os().map(|arg| quoted(&arg.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

/// Turns the records of a run into Parquet and sums up; prints which parts cannot be stored.
pub fn conclude(ended: Ended, options: SummaryOptions, timings: &Timings) -> Result<Concluded, Failure> {
    let observer = Arc::new(Terminal { timings: timings.clone(), ..Terminal::default() });
    Ok(Session::new(observer).conclude(ended, options)?)
}

/// The summary of a run whose result nobody keeps: its records were all `seen` when its reports were written.
pub fn sum_up_seen(seen: Passing, stored: Archive, info: &RunInfo) -> Result<Summary, Failure> {
    Ok(Figures::of_all_seen(seen, &Input::of_archive(stored)?, info).summary)
}

/// Prints what the figures of a run are worth and that nothing was verified, beside the output of `tool`; returns whether they are fake.
pub fn tell_verdict(tool: &str, summary: &Summary) -> bool {
    verdict::lines(summary).iter().for_each(|line| print_message(format_args!("{tool}: {line}")));
    summary.has_verdict(Verdict::Fake)
}

/// How a run ends: `failed` says whether requests failed or none completed, `doubtful` whether cautions count and there are any,
/// `fake` whether the figures are not what they claim to be.
pub fn exit(info: &RunInfo, failed: bool, doubtful: bool, fake: bool) -> Exit {
    match &info.state {
        RunState::Interrupted(Interruption::Signal(signal)) => Exit::Signal(signal.0),
        _ if info.has_data_errors() => Exit::Miscompared,
        RunState::Broken(_) | RunState::Running | RunState::Unconverted(_) => Exit::Failed,
        _ if failed || info.targets.iter().any(|t| t.ended_early.is_some()) => Exit::Failed,
        _ if fake => Exit::Fake,
        _ if doubtful || info.has_verified_nothing() => Exit::Cautioned,
        RunState::Finished | RunState::Interrupted(Interruption::EndTime) => Exit::Fine,
    }
}
