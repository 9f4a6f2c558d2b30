//! A run from plan to printed summary: what is told about it, and how it ends the program.

use crate::analysis::deskew;
use crate::args::{ProgressArg, SessionArgs};
use crate::exit::{Exit, Failure};
use crate::order_watch::OrderWatch;
use crate::output::{self, print_message};
use crate::preflight;
use crate::progress::{self, ProgressOptions};
use crate::signals::{Listener, Phase};
use crate::timings::Timings;
use crate::together;
use crate::write_back;
use anyhow::anyhow;
use iosonar_analyze::{CautionId, Limits, Passing, Summary, Verdict};
use iosonar_archive::{Archive, RunInfo, RunState, TOOL, Verified};
use iosonar_engine::{Alone, Control, Prepared, TargetReady};
use iosonar_evidence::Environment;
use iosonar_host::Root;
use iosonar_host::ledger::Ledger;
use iosonar_inputs::{Figures, Input};
use iosonar_load::Notice;
use iosonar_plan::Plan;
use iosonar_runner::{CarryOutError, Concluded, Ended, Problem, Purpose, Ready, Scene};
use iosonar_text::shown;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of records whose finishing takes so long that it is told: some seconds.
const TOLD_ABOVE: u64 = 64 << 20;

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
    let mut timings = Timings::new();
    let name = |prepared: &Prepared| args.out.clone().unwrap_or_else(|| new_name(&prepared.info(TOOL, "")));
    if args.live && args.progress.progress != ProgressArg::Auto {
        return Err(Failure::refused(anyhow!(
            "--live has no effect with --progress json or none: remove one of them"
        )));
    }
    if plan.has_processes() {
        return execute_together(plan, args);
    }
    let wish = ProgressOptions { progress: &args.progress, live: args.live, late_limit: args.bad_delay };
    let show = |scene: &Scene<'_>| progress::show(&wish, scene);
    let (ended, _listener) = perform(plan, check, name, show, &mut timings)?;
    finish(ended, args, timings)
}

/// The same for a plan that several processes execute.
fn execute_together(plan: Plan, args: &SessionArgs) -> Result<Exit, Failure> {
    if args.live {
        return Err(Failure::refused(anyhow!(
            "--live shows the requests of this process, and the plan has `executor`: remove one of them"
        )));
    }
    let mut timings = Timings::new();
    let check = |info: &RunInfo| Ok(args.out.clone().unwrap_or_else(|| new_name(info)));
    let (ended, _listener) = together::perform(&plan, &args.progress, check, &mut timings)?;
    finish(ended, args, timings)
}

/// Sums up what was executed, and prints it.
fn finish(ended: Ended, args: &SessionArgs, mut timings: Timings) -> Result<Exit, Failure> {
    let limits = Limits { bad_latency: args.bad_latency, bad_delay: args.bad_delay, ..Limits::default() };
    let concluded = conclude(ended, &limits, &mut timings)?;
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
    let summary =
        Summary { percentiles: figures.tally.percentiles(&args.percentile_list), ..figures.summary };
    if args.json {
        output::print(&summary.to_json())?;
        print_message(format_args!("result: {}", shown(&dir)));
    } else {
        output::print(&format!("{}\nresult: {}\n", iosonar_view::show(&summary), shown(&dir)))?;
    }
    if args.deskew {
        output::print(&iosonar_view::show_deskew(&deskew(&Archive::open(&dir)?)?))?;
    }
    let counts = &summary.counts;
    let is_empty = counts.all.completed + counts.other.completed == 0;
    let doubtful = args.strict && (skipped > 0 || !summary.cautions.is_empty() || needs_care(&summary));
    Ok(exit(&info, counts.failed() > 0 || is_empty, doubtful, is_fake(&summary)))
}

/// What is left of a run when a second signal ends the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Its records, in the directory of its result.
    Result,
    /// Nothing: nobody wanted a result.
    Nothing,
}

/// Carries a plan out: prepares, lets `check` refuse, keeps the result where `name` says, and lets `show` show progress.
/// While the listener lives, a first signal lets the result be finished, and a second one ends the program.
pub fn perform(
    plan: Plan,
    check: impl FnOnce(&Prepared) -> Result<(), Failure>,
    name: impl FnOnce(&Prepared) -> PathBuf,
    show: impl Fn(&Scene<'_>) + Sync,
    timings: &mut Timings,
) -> Result<(Ended, Listener), Failure> {
    perform_kept(Kept::Result, Purpose::Measure, plan, check, name, show, timings)
}

/// The same for a run whose result may be wanted by nobody, or that fills its target.
pub fn perform_kept(
    kept: Kept,
    purpose: Purpose,
    plan: Plan,
    check: impl FnOnce(&Prepared) -> Result<(), Failure>,
    name: impl FnOnce(&Prepared) -> PathBuf,
    show: impl Fn(&Scene<'_>) + Sync,
    timings: &mut Timings,
) -> Result<(Ended, Listener), Failure> {
    let control = Arc::new(Control::default());
    let listener = Listener::start(control.clone())?;
    if kept == Kept::Nothing {
        listener.set_kept("no result is kept");
    }
    let notice = |path: &Path, notice: &Notice| print_message(notice.text(path));
    let ready = Ready::new(plan, &Root::default(), notice).map_err(Failure::refused)?.with_purpose(purpose);
    // Nobody is told what will be overwritten by a run whose result cannot be kept.
    check(ready.prepared())?;
    let (environment, cautions) = look_ahead(&ready, &control, &listener)?;
    let dir = name(ready.prepared());
    let order = match ready.prepared().plan().watch_order {
        true => Some(OrderWatch::start(&environment, ready.prepared().workers())?),
        false => None,
    };
    let mut begun = ready.begin(environment, &dir, &command_line()).map_err(Failure::refused)?;
    if let Some(order) = order {
        begun = begun.noting(move |after| after.issue_order = order.end());
    }
    announcement(begun.prepared()).iter().for_each(print_message);
    cautions.iter().for_each(print_message);
    listener.set_phase(Phase::Running);
    timings.end("prepare");
    let ended = begun.execute(&control, &Alone, show);
    listener.set_phase(Phase::Finishing);
    timings.end("run");
    let ended = ended.map_err(|error| match error {
        CarryOutError::NotBegun(error) => Failure::refused(error),
        CarryOutError::Unwritten(error) => Failure::broke(error),
    })?;
    Ok((ended, listener))
}

/// What is done before a run: it is refused if that is worth nothing, what waits in memory is written back, and targets are looked at. Gives
/// the machine as it is then, and what is to be said.
fn look_ahead(
    ready: &Ready,
    control: &Control,
    listener: &Listener,
) -> Result<(Environment, Vec<String>), Failure> {
    let root = Root::default();
    let prepared = ready.prepared();
    preflight::refuse(prepared, || ready.environment(&root))?;
    listener.set_phase(Phase::LookingAhead);
    let written_back = write_back::before(prepared.plan(), control);
    let mut environment = Environment { written_back, ..ready.environment(&root) };
    let mut cautions = preflight::look(prepared, &mut environment, &|| control.signal().is_some());
    if prepared.plan().engine.is_real() {
        cautions.extend(Ledger::of_user().foreign().map(|notice| format!("iosonar: {notice}")));
    }
    match control.signal() {
        Some(signal) => Err(Failure::ended_by(signal)),
        None => {
            listener.set_phase(Phase::Preparing);
            Ok((environment, cautions))
        }
    }
}

/// What somebody should know of the targets before the run, a line each.
pub fn announcement(prepared: &Prepared) -> Vec<String> {
    let of = |target: TargetReady<'_>| {
        let mut lines = vec![describe(&target)];
        lines.extend(target.notices().map(|notice| format!("  {notice}")));
        lines.extend(target.statement().map(|statement| format!("  {statement}")));
        if target.is_removed() {
            lines.push(format!("  {} will be removed at the end", shown(&target.path())));
        }
        lines
    };
    prepared.targets().into_iter().flat_map(of).collect()
}

fn describe(target: &TargetReady<'_>) -> String {
    let size = target.size();
    let mut text = format!("target {}: {size} bytes", shown(&target.path()));
    if let (Some(load), Some(factor)) = (target.load(), target.wraparound_factor()) {
        text += &format!(", {} requests, wraparound factor {factor:.3}", load.requests);
        if iosonar_analyze::is_wraparound_suspicious(factor) {
            text += " (CAUTION: far from 1, so distances differ from those of the recorded device)";
        }
    }
    text
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

/// Whether a shell takes a character as it is.
pub fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c)
}

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Turns the records of a run into Parquet and sums up; tells what cannot be kept.
pub fn conclude(ended: Ended, limits: &Limits, timings: &mut Timings) -> Result<Concluded, Failure> {
    if ended.archive.log_bytes() > TOLD_ABOVE {
        print_message("iosonar: the run is over; its records are turned into Parquet and summed up");
    }
    let encoded = ended.encode(limits);
    timings.end("encode");
    let concluded = encoded.sum_up()?;
    timings.end("summary");
    let dir = shown(&concluded.dir);
    for problem in &concluded.problems {
        print_message(match problem {
            Problem::NotConverted(error) => format!(
                "iosonar: {error}; the records stay in their log: make room, then 'iosonar show {dir}' converts them"
            ),
            Problem::SummaryNotKept(error) => format!(
                "iosonar: {error}; the summary is not kept: make room, then 'iosonar show {dir}' writes it"
            ),
            Problem::StateNotKept(error) => {
                format!("iosonar: {error}; run.json still says that the run finished")
            }
        });
    }
    Ok(concluded)
}

/// The summary of a run whose result nobody keeps: its records were all `seen` when its reports were written.
pub fn sum_up_seen(seen: Passing, stored: Archive, info: &RunInfo) -> Result<Summary, Failure> {
    Ok(Figures::of_all_seen(seen, &Input::of_archive(stored)?, info).summary)
}

/// Whether the figures are not what they claim to be.
pub fn is_fake(summary: &Summary) -> bool {
    has_verdict(summary, Verdict::Fake)
}

/// Whether the figures are to be read with care.
pub fn needs_care(summary: &Summary) -> bool {
    has_verdict(summary, Verdict::Care)
}

fn has_verdict(summary: &Summary, verdict: Verdict) -> bool {
    summary.judgement.as_ref().is_some_and(|judgement| judgement.verdict == verdict)
}

/// Tells what the figures of a dialect's run are worth and that nothing was verified, beside its own output; whether they are fake.
pub fn tell_verdict(tool: &str, summary: &Summary) -> bool {
    if let Some(judgement) = &summary.judgement {
        print_message(format_args!("{tool}: verdict: {}", judgement.sentence));
    }
    if let Some(nothing) = summary.cautions.iter().find(|caution| caution.id == CautionId::NothingVerified) {
        print_message(format_args!("{tool}: {}", nothing.text));
    }
    is_fake(summary)
}

/// Whether a run was to verify data and has compared none.
fn has_verified_nothing(info: &RunInfo) -> bool {
    let mut checks = info.targets.iter().filter_map(|target| target.checks.as_ref()).peekable();
    let has_checks = checks.peek().is_some();
    has_checks && checks.all(|checks| checks.requests == 0)
        || info.verified.as_ref().is_some_and(Verified::is_empty)
}

/// How a run ends: `failed` says whether requests failed or none completed, `doubtful` whether cautions count and there are any,
/// `fake` whether the figures are not what they claim to be.
pub fn exit(info: &RunInfo, failed: bool, doubtful: bool, fake: bool) -> Exit {
    let signal = |name: &str| match name {
        "SIGINT" => 2,
        "SIGHUP" => 1,
        _ => 15,
    };
    let miscompared = info.targets.iter().filter_map(|t| t.checks.as_ref()).any(|c| c.miscompared > 0)
        || info.verified.as_ref().is_some_and(|verified| verified.total() > 0);
    let is_unverified = has_verified_nothing(info);
    match &info.state {
        RunState::Interrupted(name) => Exit::Signal(signal(name)),
        _ if miscompared => Exit::Miscompared,
        RunState::Broken(_) | RunState::Running | RunState::Unconverted(_) => Exit::Failed,
        RunState::Finished if failed || info.targets.iter().any(|t| t.ended_early.is_some()) => Exit::Failed,
        RunState::Finished if fake => Exit::Fake,
        RunState::Finished if doubtful || is_unverified => Exit::Cautioned,
        RunState::Finished => Exit::Fine,
    }
}
