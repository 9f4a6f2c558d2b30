//! `iosonar run`: carries out a plan file.

use crate::args::RunArgs;
use crate::exit::{Exit, Failure};
use crate::session;
use anyhow::Context;
use iosonar_plan::Plan;

/// Carries out a plan.
pub fn run(args: RunArgs) -> Result<Exit, Failure> {
    let name = args.plan.display();
    let text = std::fs::read_to_string(&args.plan)
        .with_context(|| format!("plan {name}"))
        .map_err(Failure::refused)?;
    let plan = Plan::from_toml(&text).with_context(|| format!("plan {name}")).map_err(Failure::refused)?;
    let plan = Plan { destroy: plan.destroy || args.destroy, ..plan };
    session::carry_out(plan, &args.session, |_| Ok(()))
}
