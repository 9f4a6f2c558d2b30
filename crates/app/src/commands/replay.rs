//! `iosonar replay`: loads and targets become a plan.

use super::on_hosts;
use super::setup;
use super::typed_words::check_replay;
use crate::args::replay::{ReplayArgs, WindowArgs};
use crate::exit::{Exit, Failure};
use crate::session;
use anyhow::anyhow;
use iosonar_inputs::check_is_load;
use iosonar_plan::{Job, LoadPace, Overlap, Phase, Plan, Strong, Target, TraceReplay, Workload};
use iosonar_runner::new_run_id;
use iosonar_studies::replay::Windows;

/// Replays loads on targets.
pub fn replay(args: &ReplayArgs) -> Result<Exit, Failure> {
    let plan = plan(args)?;
    check_replay(&plan)?;
    session::execute(plan, &args.session, |prepared| Ok(windows(args).check_moved(prepared)?))
}

fn plan(args: &ReplayArgs) -> Result<Plan, Failure> {
    let placement = on_hosts::placement(&args.session.hosts.reach)?;
    let targets = on_hosts::targets(&args.targets, &placement)?;
    if args.loads.len() > targets.len() {
        return Err(Failure::refused(anyhow!(
            "{} loads for {} targets: a load without a target would not be replayed; name more with --target, or fewer loads",
            args.loads.len(),
            targets.len()
        )));
    }
    args.loads.iter().try_for_each(|load| check_is_load(load))?;
    check_options(args)?;
    let size = setup::pretended_size(&args.io)?;
    let job = |index| Job::new(index as u16, args.policy.depth, Workload::Trace(load(args, index)));
    let phase = Phase::of((0..targets.len()).map(job).collect());
    let targets = targets.iter().map(|path| Target { size, ..Target::new(path) }).collect();
    let run_id = args.io.run_id.unwrap_or_else(new_run_id);
    let (start_grace, overlap) = (args.window.start_grace, overlap(args));
    let plan = Plan { start_grace, overlap, ..setup::plan(&args.io, run_id, targets, phase) };
    on_hosts::placed(plan, &placement, &args.session.hosts)
}

/// Refuses options without effect, and empty windows, in the typed words.
fn check_options(args: &ReplayArgs) -> Result<(), Failure> {
    let io = &args.io;
    setup::check(&io.engine)?;
    setup::check_verify(io)?;
    if io.size.is_some() && setup::engine(&io.engine).is_real() {
        return Err(Failure::refused(anyhow!(
            "--size only pretends a size for --engine null and sim; a real target is used as it is"
        )));
    }
    Ok(windows(args).check()?)
}

fn load(args: &ReplayArgs, index: usize) -> TraceReplay {
    TraceReplay {
        filter: args.load.filter.clone().unwrap_or_default(),
        window: windows(args).of(index),
        speed: args.window.speed,
        pace: if args.window.asap { LoadPace::Asap } else { LoadPace::Original },
        backward: args.load.backward,
        skip_bad: args.load.skip_bad,
        flush: args.load.flush,
        discard: args.load.discard,
        ..TraceReplay::of(&args.loads[index % args.loads.len()])
    }
}

fn windows(args: &ReplayArgs) -> Windows {
    let WindowArgs { start, end, duration, delta, .. } = args.window;
    Windows { start, end, duration, delta }
}

fn overlap(args: &ReplayArgs) -> Overlap {
    let strong = Strong::try_from(args.policy.strong).unwrap_or_default();
    Overlap { policy: args.policy.overlap, strong, ..Overlap::default() }
}
