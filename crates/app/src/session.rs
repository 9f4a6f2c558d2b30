//! A run from plan to summary: prepare, announce, carry out, conclude.

use crate::analysis::{Figures, deskew};
use crate::args::{ProgressArg, SessionArgs};
use crate::exit::{Exit, Failure};
use crate::inputs::Input;
use crate::output::{self, tell};
use crate::progress::{self, Wish};
use crate::signals::{Listener, Phase};
use crate::timings::Timings;
use anyhow::anyhow;
use iosonar_analyze::{Limits, Passing, Summary};
use iosonar_archive::{Archive, ArchiveError, ArchiveWriter, RunInfo, RunState};
use iosonar_engine::{Control, NoticeSink, Prepared, Progress, TargetReady, prepare};
use iosonar_host::{Root, environment};
use iosonar_load::Notice;
use iosonar_plan::Plan;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Name and version, as results carry it.
pub const TOOL: &str = concat!("iosonar ", env!("CARGO_PKG_VERSION"));

/// Bytes of records whose finishing takes so long that it is told: some seconds.
const TOLD_ABOVE: u64 = 64 << 20;

/// Carries a plan out and says what came of it. `check` may refuse what is prepared, before anything is touched.
pub fn carry_out(
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
    let name = |prepared: &Prepared| args.out.clone().unwrap_or_else(|| new_name(prepared));
    if args.live && args.progress.progress != ProgressArg::Auto {
        return Err(Failure::refused(anyhow!(
            "--live has no effect with --progress json or none: leave one of them out"
        )));
    }
    let wish = Wish { progress: &args.progress, live: args.live, late_limit: args.bad_delay };
    let show = |scene: &Scene<'_>| progress::show(&wish, scene);
    let Ran { archive, mut info, skipped, listener: _listener } =
        perform(plan, check, name, show, &mut timings)?;
    let dir = archive.dir().to_path_buf();
    let limits = Limits { bad_latency: args.bad_latency, bad_delay: args.bad_delay, ..Limits::default() };
    let figures = conclude(archive, &mut info, &limits, &mut timings)?;
    if let RunState::Broken(why) = &info.state {
        tell(format_args!("iosonar: the run could not go on: {why}"));
    }
    let summary =
        Summary { percentiles: figures.tally.percentiles(&args.percentile_list), ..figures.summary };
    if args.json {
        output::print(&summary.to_json())?;
        tell(format_args!("result: {}", dir.display()));
    } else {
        output::print(&format!("{}\nresult: {}\n", iosonar_view::show(&summary), dir.display()))?;
    }
    if args.deskew {
        output::print(&iosonar_view::show_deskew(&deskew(&Archive::open(&dir)?)?))?;
    }
    if args.timings {
        timings.tell();
    }
    let counts = &summary.counts;
    let is_empty = counts.all.completed + counts.other.completed == 0;
    let doubtful = args.strict && (skipped > 0 || !summary.cautions.is_empty());
    Ok(exit(&info, counts.failed() > 0 || is_empty, doubtful))
}

/// A run that is over, its records still in their log.
pub struct Ran {
    /// Where they are.
    pub archive: ArchiveWriter,
    /// How far it came.
    pub info: RunInfo,
    /// Lines of loads that were left out.
    pub skipped: u64,
    /// While it lives, a first signal lets the result be finished, and a second one ends the program.
    pub listener: Listener,
}

/// What is seen of a run while it goes on.
pub struct Scene<'a> {
    pub prepared: &'a Prepared,
    pub progress: &'a Arc<Progress>,
    /// The run is over.
    pub done: &'a AtomicBool,
    /// Somebody asks how far it is.
    pub status: &'a AtomicBool,
    /// By which it can be stopped.
    pub control: &'a Control,
    /// Where its result is kept.
    pub dir: &'a Path,
}

/// Carries a plan out: prepares, lets `check` refuse, keeps the result where `name` says, and lets `show` show progress.
pub fn perform(
    plan: Plan,
    check: impl FnOnce(&Prepared) -> Result<(), Failure>,
    name: impl FnOnce(&Prepared) -> PathBuf,
    show: impl Fn(&Scene<'_>) + Sync,
    timings: &mut Timings,
) -> Result<Ran, Failure> {
    let (control, status) = (Arc::new(Control::default()), Arc::new(AtomicBool::new(false)));
    let listener = Listener::start(control.clone(), status.clone())?;
    let skipped = Arc::new(AtomicU64::new(0));
    let prepared = prepare(plan, &Root::default(), notices(skipped.clone())).map_err(Failure::refused)?;
    // Nobody is told what will be overwritten by a run whose result cannot be kept.
    let begun = check(&prepared).and_then(|()| begin(&prepared, &name(&prepared)));
    let (archive, info) = begun.inspect_err(|_| prepared.withdraw())?;
    announce(&prepared);
    listener.set_phase(Phase::Running);
    timings.end("prepare");
    let info = run(&prepared, &archive, info, &show, &control, &status);
    listener.set_phase(Phase::Finishing);
    timings.end("run");
    Ok(Ran { archive, info: info?, skipped: skipped.load(Relaxed), listener })
}

/// Tells each skipped line and each shift once, as it is found.
fn notices(skipped: Arc<AtomicU64>) -> NoticeSink {
    Arc::new(move |path: &Path, notice: &Notice| {
        if let Notice::Skipped { .. } = notice {
            skipped.fetch_add(1, Relaxed);
        }
        tell(notice.text(path));
    })
}

fn announce(prepared: &Prepared) {
    for target in prepared.targets() {
        tell(describe(&target));
        target.notices().for_each(|notice| tell(format_args!("  {notice}")));
        if let Some(statement) = target.statement() {
            tell(format_args!("  {statement}"));
        }
        if target.is_removed() {
            tell(format_args!("  {} will be removed at the end", target.path().display()));
        }
    }
}

fn describe(target: &TargetReady<'_>) -> String {
    let size = target.size();
    let mut text = format!("target {}: {size} bytes", target.path().display());
    if let (Some(load), Some(factor)) = (target.load(), target.wraparound_factor()) {
        text += &format!(", {} requests, wraparound factor {factor:.3}", load.requests);
        if iosonar_analyze::is_wraparound_suspicious(factor) {
            text += " (CAUTION: far from 1, so distances differ from those of the recorded device)";
        }
    }
    text
}

/// `LOAD-DATE-TIME.iosonar`, and a number behind it if that exists.
fn new_name(prepared: &Prepared) -> PathBuf {
    let info = prepared.info(TOOL, "");
    let source = info.targets.first().map_or("run", |t| t.source.as_str());
    // Behind a load's file stand its filters.
    let source = source.split(" | ").next().unwrap_or_default();
    let file = Path::new(source).file_name().map_or("run".into(), |f| f.to_string_lossy());
    let stem = if file == "-" { "stdin" } else { file.split('.').next().unwrap_or_default() };
    let stem = stem.trim_start_matches('-').replace([' ', '%'], "_");
    let stem = if stem.is_empty() { "run" } else { &stem };
    output::unused_name(&format!("{stem}-{}", output::utc_stamp(info.started_unix_ns)))
}

fn begin(prepared: &Prepared, dir: &Path) -> Result<(ArchiveWriter, RunInfo), Failure> {
    let info = prepared.info(TOOL, &command_line());
    let environment = environment::capture(&prepared.facts(), &Root::default()).by(TOOL);
    let environment = serde_json::to_value(environment)?;
    let archive =
        ArchiveWriter::create(dir, prepared.plan(), &environment, &info).map_err(Failure::refused)?;
    Ok((archive, info))
}

/// The command as typed, quoted where a shell would need it.
pub fn command_line() -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    let quote = |arg: String| {
        if !arg.is_empty() && arg.chars().all(plain) {
            arg
        } else {
            format!("'{}'", arg.replace('\'', "'\\''"))
        }
    };
    std::env::args_os().map(|a| quote(a.to_string_lossy().into_owned())).collect::<Vec<_>>().join(" ")
}

fn run(
    prepared: &Prepared,
    archive: &ArchiveWriter,
    info: RunInfo,
    show: &(impl Fn(&Scene<'_>) + Sync),
    control: &Control,
    status: &AtomicBool,
) -> Result<RunInfo, Failure> {
    let (progress, done) = (Arc::new(Progress::new(prepared.workers())), AtomicBool::new(false));
    let ran = std::thread::scope(|scope| {
        let scene = Scene { prepared, progress: &progress, done: &done, status, control, dir: archive.dir() };
        let shown = scope.spawn(move || show(&scene));
        let ran = prepared.run(archive, info, control, &progress);
        done.store(true, Relaxed);
        // An ornament that breaks must not cost a result.
        let _ = shown.join();
        ran
    });
    let info = ran.map_err(|error| {
        // Nothing was begun, so nothing is left behind.
        let _ = std::fs::remove_dir_all(archive.dir());
        Failure::refused(error)
    })?;
    archive.write_run(&info)?;
    Ok(info)
}

/// Turns the log into Parquet and sums up. If that fails, for example because the disk is full, no record is lost: the log
/// stays, and the state in `info` and in the archive says so.
pub fn conclude(
    archive: ArchiveWriter,
    info: &mut RunInfo,
    limits: &Limits,
    timings: &mut Timings,
) -> Result<Figures, Failure> {
    let dir = archive.dir().to_path_buf();
    if archive.log_bytes() > TOLD_ABOVE {
        tell("iosonar: the run is over; its records are turned into Parquet and summed up");
    }
    let (seen, finished) = finish(&archive, info.targets.len(), limits);
    if let Err(error) = finished {
        tell(format_args!(
            "iosonar: {error}; the records stay in their log: make room, then 'iosonar show {}' converts them",
            dir.display()
        ));
        leave_unconverted(&archive, info, &error);
    }
    timings.end("encode");
    let input = Input::of_archive(Archive::open(&dir)?)?;
    let mut figures = Figures::of_seen(seen, &input, limits, info)?;
    if let Err(error) = keep(&dir, &figures, info) {
        tell(format_args!(
            "iosonar: {error}; the summary is not kept: make room, then 'iosonar show {}' writes it",
            dir.display()
        ));
        leave_unconverted(&archive, info, &error);
        figures.summary = Summary::new(&figures.tally, &input.run().0, info);
    }
    timings.end("summary");
    Ok(figures)
}

/// Finishes an archive of so many targets and sees its records on their way; what was seen is there after an error, too.
pub fn finish(
    archive: &ArchiveWriter,
    targets: usize,
    limits: &Limits,
) -> (Passing, Result<Archive, ArchiveError>) {
    let mut seen = Passing::new(targets, limits);
    let finished = archive.finish_observed(&mut |records| seen.add(records));
    (seen, finished)
}

/// Writes into the run's state that its result has not got its finished form. The first reason counts; a run that was
/// stopped or broke off keeps its own.
fn leave_unconverted(archive: &ArchiveWriter, info: &mut RunInfo, error: &ArchiveError) {
    if info.state != RunState::Finished {
        return;
    }
    info.state = RunState::Unconverted(error.to_string());
    if let Err(error) = archive.write_run(info) {
        tell(format_args!("iosonar: {error}; run.json still says that the run finished"));
    }
}

/// Converts a result whose disk was full at the end of its run, and keeps its summary.
pub fn conclude_late(archive: &Archive) -> Result<Archive, Failure> {
    // A damaged log holds more than its conversion would.
    if archive.is_unfinished() && archive.for_each_record(&mut |_| {})?.lost_bytes > 0 {
        return Err(Failure::broke(anyhow!(
            "{}: its log is damaged and stays as it is",
            archive.dir().display()
        )));
    }
    let writer = ArchiveWriter::resume(archive);
    let limits = Limits::default();
    let (seen, finished) = finish(&writer, archive.plan().targets.len(), &limits);
    finished?;
    let mut info = archive.run().clone();
    if info.state.is_complete() {
        info.state = RunState::Finished;
    }
    let input = Input::of_archive(Archive::open(archive.dir())?)?;
    let figures = Figures::of_seen(seen, &input, &limits, &info)?;
    keep(archive.dir(), &figures, &info)?;
    writer.write_run(&info)?;
    Ok(Archive::open(archive.dir())?)
}

/// Keeps what was computed beside the records.
pub fn keep(dir: &Path, figures: &Figures, info: &RunInfo) -> Result<(), ArchiveError> {
    let archive = Archive::open(dir)?;
    archive.write_text(iosonar_archive::SUMMARY, &figures.summary.to_json())?;
    let mut histograms = Vec::new();
    // Writing to memory does not fail; what is written is text.
    let _ = iosonar_analyze::hist::write_log(&figures.tally, info.started_unix_ns, &mut histograms);
    archive.write_text(iosonar_archive::HISTOGRAMS, &String::from_utf8_lossy(&histograms))
}

/// How a run ends: `failed` says whether requests failed or none completed, `doubtful` whether cautions count and there are any.
pub fn exit(info: &RunInfo, failed: bool, doubtful: bool) -> Exit {
    let signal = |name: &str| match name {
        "SIGINT" => 2,
        "SIGHUP" => 1,
        _ => 15,
    };
    let miscompared = info.targets.iter().filter_map(|t| t.checks.as_ref()).any(|c| c.miscompared > 0);
    match &info.state {
        RunState::Interrupted(name) => Exit::Signal(signal(name)),
        _ if miscompared => Exit::Miscompared,
        RunState::Broken(_) | RunState::Running | RunState::Unconverted(_) => Exit::Failed,
        RunState::Finished if failed || info.targets.iter().any(|t| t.ended_early.is_some()) => Exit::Failed,
        RunState::Finished if doubtful => Exit::Cautioned,
        RunState::Finished => Exit::Fine,
    }
}
