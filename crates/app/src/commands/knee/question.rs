//! The question of `iosonar knee`: the plan of its ramps, and their rates.

use crate::args::knee::KneeArgs;
use crate::commands::setup;
use crate::exit::Failure;
use crate::output::unused_dated;
use anyhow::anyhow;
use iosonar_inputs::check_is_load;
use iosonar_plan::{
    ByteSize, Decimal, Generator, Job, Order, Overlap, OverlapPolicy, Phase, Plan, Target, TraceReplay,
    Workload,
};
use iosonar_runner::new_run_id;
use iosonar_studies::knee::Question;
use std::path::Path;

/// Translates the arguments.
pub fn question(args: &KneeArgs) -> Result<Question, Failure> {
    args.load.iter().try_for_each(|load| check_is_load(load))?;
    let demand = &args.demand;
    Ok(Question {
        plan: plan(args)?,
        from: demand.from,
        to: demand.to,
        growth: demand.growth,
        duration: demand.duration,
        most: demand.most,
        out: args.result.out.clone().unwrap_or_else(|| unused_dated("knee")),
    })
}

/// The plan of each ramp, without its rate.
fn plan(args: &KneeArgs) -> Result<Plan, Failure> {
    let io = &args.io;
    setup::check(&io.engine)?;
    setup::check_verify(io)?;
    if io.size.is_some() && setup::engine(&io.engine).is_real() && args.load.is_some() {
        return Err(Failure::refused(anyhow!(
            "--size only pretends a size for --engine null and sim; a load goes over the whole of a real target"
        )));
    }
    let (workload, policy) = match &args.load {
        Some(file) => (Workload::Trace(load(args, file)), OverlapPolicy::PushBack),
        // A pattern is issued as specified, overlaps included.
        None => (Workload::Generated(pattern(args)), OverlapPolicy::Allow),
    };
    let target = Target { size: setup::pretended_size(io)?, ..Target::new(&args.target) };
    let phase = Phase::of(vec![Job::new(0, args.demand.depth, workload)]);
    let run_id = io.run_id.unwrap_or_else(new_run_id);
    let overlap = Overlap { policy, ..Overlap::default() };
    Ok(Plan { overlap, ..setup::plan(io, run_id, vec![target], phase) })
}

fn load(args: &KneeArgs, file: &Path) -> TraceReplay {
    TraceReplay { backward: args.reading.backward, skip_bad: args.reading.skip_bad, ..TraceReplay::of(file) }
}

fn pattern(args: &KneeArgs) -> Generator {
    Generator {
        read_percent: Decimal::whole(args.demand.reads.unwrap_or(100).into()),
        region: args.io.size,
        ..Generator::new(Order::Random, args.demand.bs.unwrap_or(ByteSize(4096)))
    }
}
