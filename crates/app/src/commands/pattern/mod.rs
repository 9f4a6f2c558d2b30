//! Translates a workload in fio's words into a plan. Contradictions and options without effect are refused in the typed words.

mod amount;
mod checks;
mod generator;

use self::checks::{check_mix, check_order, check_pace, check_sizes};
pub use self::generator::draws_independently;
use self::generator::generator;
pub(super) use self::generator::read_percent;
use super::coordination::{check_options, coordination, file_lifecycle, options};
use super::setup::{self, engine};
use super::typed_words::check_run;
use crate::args::run::RunArgs;
use crate::exit::Failure;
use anyhow::anyhow;
use iosonar_plan::{
    AtEnd, ByteSize, Generator, Job, Nanos, Overlap, OverlapPolicy, Phase, Plan, Target, Workload,
};
use iosonar_runner::new_run_id;
use std::path::PathBuf;

/// The plan selected by the options, on these targets.
pub fn plan(args: &RunArgs, targets: &[PathBuf]) -> Result<Plan, Failure> {
    let Some(rw) = args.pattern.rw.filter(|_| !targets.is_empty()) else {
        let missing = if targets.is_empty() { "--target" } else { "--rw" };
        return refuse(format!(
            "{missing} is missing: name a plan, as in 'iosonar run plan.toml', or say what to do, as in 'iosonar run \
             --target a.img --rw randread --runtime 60'"
        ));
    };
    check_mix(args, rw)?;
    check_pace(args)?;
    setup::check(&args.io.engine)?;
    check_sizes(args, rw)?;
    check_order(args, rw)?;
    check_options(args, rw)?;
    let generator = generator(args, rw)?;
    let pretended = setup::pretended_size(&args.io)?;
    let target = |(number, path): (usize, &PathBuf)| {
        let moved = args.steps.target_offset.0.saturating_mul(number as u64);
        let offset = ByteSize(generator.offset.0.saturating_add(moved));
        let generator = Generator { offset, ..generator.clone() };
        // Where nothing is opened, a target is as long as its region or its requests need.
        let region = pretended.map(|size| ByteSize(size.0.saturating_add(offset.0)));
        let end = generator.end(args.pace.passes).filter(|_| generator.at_end == AtEnd::Extend);
        let size = region.max(end.filter(|_| !engine(&args.io.engine).is_real()).map(ByteSize));
        let target = Target { size, file: file_lifecycle(args), ..Target::new(path) };
        let job = Job::new(number as u16, args.pace.iodepth, Workload::Generated(generator));
        (target, Job { options: options(args), ..job })
    };
    let (targets, jobs) = targets.iter().enumerate().map(target).unzip();
    let phase = Phase { passes: args.pace.passes, coordination: coordination(args), ..Phase::of(jobs) };
    let plan = assemble(args, policy(args, &generator)?, targets, phase);
    check_run(&plan)?;
    Ok(plan)
}

fn assemble(args: &RunArgs, policy: OverlapPolicy, targets: Vec<Target>, phase: Phase) -> Plan {
    // Only series at exact places distinguish a delay of single targets from one of the whole run.
    let start_grace = if args.steps.steps.is_some() { Nanos(0) } else { args.pace.start_delay };
    let run_id = args.io.run_id.unwrap_or_else(new_run_id);
    let overlap = Overlap { policy, ..Overlap::default() };
    Plan { start_grace, overlap, ..setup::plan(&args.io, run_id, targets, phase) }
}

pub(super) fn refuse<T>(why: impl std::fmt::Display) -> Result<T, Failure> {
    Err(Failure::refused(anyhow!("{why}")))
}

/// Refuses with the text of the first case that holds.
pub(super) fn refuse_first(cases: impl IntoIterator<Item = (bool, String)>) -> Result<(), Failure> {
    cases.into_iter().find(|(holds, _)| *holds).map_or(Ok(()), |(_, why)| refuse(why))
}

/// Several writing jobs cannot avoid each other, and overlaps at exact places are requested.
fn policy(args: &RunArgs, generator: &Generator) -> Result<OverlapPolicy, Failure> {
    let shared = generator.jobs > 1 && generator.writes();
    match args.pattern.overlap {
        None if shared || args.steps.steps.is_some() => Ok(OverlapPolicy::Allow),
        None => Ok(OverlapPolicy::PushBack),
        Some(policy) if shared && policy != OverlapPolicy::Allow => refuse(format!(
            "--overlap with --numjobs {}: each job knows only its own requests, so overlaps between jobs would go \
             unnoticed: use --overlap allow, or one job",
            generator.jobs
        )),
        Some(policy) => Ok(policy),
    }
}
