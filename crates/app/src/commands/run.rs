//! `iosonar run`: carries out a plan file, or a pattern that was typed in fio's words.

use super::pattern;
use crate::exit::{Exit, Failure};
use crate::run_args::RunArgs;
use crate::session;
use anyhow::{Context, anyhow};
use iosonar_plan::Plan;
use std::path::Path;

/// Carries out a plan.
pub fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let plan = match &args.plan {
        Some(file) => read(file, args)?,
        None => pattern::plan(args)?,
    };
    session::carry_out(plan, &args.session, |_| Ok(()))
}

/// Fields whose options go with a plan.
const WITH_PLAN: [&str; 13] = [
    "plan",
    "destroy",
    "out",
    "show_plan",
    "strict",
    "deskew",
    "bad_latency",
    "bad_delay",
    "timings",
    "live",
    "progress",
    "no_progress",
    "progress_every",
];

fn read(file: &Path, args: &RunArgs) -> Result<Plan, Failure> {
    let name = file.display();
    if let Some(option) = args.typed.other_than(&WITH_PLAN) {
        return Err(Failure::refused(anyhow!(
            "{option} has no effect on plan {name}, which says all of that itself: change the plan, or name no plan \
             and say everything with options"
        )));
    }
    let text =
        std::fs::read_to_string(file).with_context(|| format!("plan {name}")).map_err(Failure::refused)?;
    let plan = Plan::from_toml(&text).with_context(|| format!("plan {name}")).map_err(Failure::refused)?;
    Ok(Plan { destroy: plan.destroy || args.io.destroy, ..plan })
}
