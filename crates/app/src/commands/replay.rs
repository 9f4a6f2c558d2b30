//! `iosonar replay`: loads and targets become a plan.

use super::setup;
use super::typed_words::check_replay;
use crate::args::replay::ReplayArgs;
use crate::exit::{Exit, Failure};
use crate::session;
use anyhow::anyhow;
use iosonar_archive::ArchiveError;
use iosonar_engine::Prepared;
use iosonar_inputs::{OpenArchiveError, open_archive};
use iosonar_plan::{
    Job, LoadPace, Nanos, Overlap, Phase, Plan, Strong, Target, TraceReplay, Window, Workload,
};
use iosonar_runner::new_run_id;
use iosonar_text::shown;
use std::path::Path;

/// Replays loads on targets.
pub fn replay(args: &ReplayArgs) -> Result<Exit, Failure> {
    let plan = plan(args)?;
    check_replay(&plan)?;
    session::execute(plan, &args.session, |prepared| check_delta(args, prepared))
}

fn plan(args: &ReplayArgs) -> Result<Plan, Failure> {
    if args.loads.len() > args.targets.len() {
        return Err(Failure::refused(anyhow!(
            "{} loads for {} targets: a load without a target would not be replayed; name more with --target, or fewer loads",
            args.loads.len(),
            args.targets.len()
        )));
    }
    args.loads.iter().try_for_each(|load| check_is_load(load))?;
    check_options(args)?;
    let size = setup::pretended_size(&args.io)?;
    let job = |index| Job::new(index as u16, args.policy.depth, Workload::Trace(load(args, index)));
    let targets = args.targets.iter().map(|path| Target { size, ..Target::new(path) }).collect();
    let phase = Phase::of((0..args.targets.len()).map(job).collect());
    let run_id = args.io.run_id.unwrap_or_else(new_run_id);
    let (start_grace, overlap) = (args.window.start_grace, overlap(args));
    Ok(Plan { start_grace, overlap, ..setup::plan(&args.io, run_id, targets, phase) })
}

/// Refuses a directory: recordings and results have to be converted to a load first.
pub(super) fn check_is_load(load: &Path) -> Result<(), Failure> {
    if !load.is_dir() {
        return Ok(());
    }
    let name = shown(&load);
    let archive = match open_archive(load) {
        Ok(archive) => archive,
        Err(OpenArchiveError::Archive(ArchiveError::NoArchive(_))) => {
            return Err(Failure::refused(anyhow!(
                "load {name}: it is a directory, and no recording or result: name a load"
            )));
        }
        Err(other) => return Err(Failure::refused(anyhow!("load {name}: {other}"))),
    };
    let what = if archive.run().recorded.is_some() { "a recording" } else { "a result" };
    let made = load.file_name().map_or("recorded".into(), |name| name.to_string_lossy()) + ".load.gz";
    Err(Failure::refused(anyhow!(
        "load {name}: it is {what}; make its load with 'iosonar convert {} {}', and replay that",
        shown(&session::quoted(&load.to_string_lossy())),
        shown(&session::quoted(&made))
    )))
}

/// Refuses options without effect, and empty windows, in the typed words.
fn check_options(args: &ReplayArgs) -> Result<(), Failure> {
    let (io, window) = (&args.io, &args.window);
    setup::check(&io.engine)?;
    setup::check_verify(io)?;
    if io.size.is_some() && setup::engine(&io.engine).is_real() {
        return Err(Failure::refused(anyhow!(
            "--size only pretends a size for --engine null and sim; a real target is used as it is"
        )));
    }
    if let Some(end) = window.end.filter(|end| *end <= window.start) {
        return Err(Failure::refused(anyhow!(
            "--end {end}: the window holds no request, because it starts at --start {}: set --end after it",
            window.start
        )));
    }
    if window.duration == Some(Nanos(0)) {
        return Err(Failure::refused(anyhow!(
            "--duration 0: the window holds no request: give a time above 0"
        )));
    }
    Ok(())
}

fn load(args: &ReplayArgs, index: usize) -> TraceReplay {
    TraceReplay {
        filter: args.load.filter.clone().unwrap_or_default(),
        window: window(args, index),
        speed: args.window.speed,
        pace: if args.window.asap { LoadPace::Asap } else { LoadPace::Original },
        backward: args.load.backward,
        skip_bad: args.load.skip_bad,
        flush: args.load.flush,
        discard: args.load.discard,
        ..TraceReplay::of(&args.loads[index % args.loads.len()])
    }
}

fn window(args: &ReplayArgs, index: usize) -> Window {
    let w = &args.window;
    let shift = w.delta.0.saturating_mul(index as u64);
    let start = Nanos(w.start.0.saturating_add(shift));
    let end = w.end.map(|end| end.0.saturating_add(shift));
    let end = end.or(w.duration.map(|d| start.0.saturating_add(d.0))).map(Nanos);
    Window { start, end }
}

fn overlap(args: &ReplayArgs) -> Overlap {
    let strong = Strong::try_from(args.policy.strong).unwrap_or_default();
    Overlap { policy: args.policy.overlap, strong, ..Overlap::default() }
}

/// A window that was moved by --delta must lie inside its load, or the load would silently be shorter than the others (blkreplay manual,
/// `replay_delta`).
fn check_delta(args: &ReplayArgs, prepared: &Prepared) -> Result<(), Failure> {
    for (index, target) in prepared.targets().iter().enumerate().skip(1) {
        let load = load(args, index);
        let (Some(end), Some(facts)) = (load.window.end, target.load()) else { continue };
        if args.window.delta.0 > 0 && facts.load_end < end {
            return Err(Failure::refused(anyhow!(
                "--delta {} moves the window of target {} to {} .. {end}, and load {} ends at {}: use a smaller --delta or --duration, or a longer load",
                args.window.delta,
                shown(&target.path()),
                load.window.start,
                shown(&load.file),
                facts.load_end
            )));
        }
    }
    Ok(())
}
