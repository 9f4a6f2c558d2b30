//! `iosonar run`: carries out a plan file, or a pattern that was typed in fio's words.

use super::pattern;
use crate::exit::{Exit, Failure};
use crate::output::tell;
use crate::outputs::refuse_read_targets;
use crate::run_args::RunArgs;
use crate::session;
use anyhow::{Context, anyhow};
use iosonar_os::bounded::{Kind, TEXT_LIMIT, Unread, read_text};
use iosonar_plan::{Plan, Source};
use std::collections::BTreeSet;
use std::path::Path;

/// Carries out a plan.
pub fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let plan = match &args.plan {
        Some(file) => read(file, args)?,
        None => pattern::plan(args)?,
    };
    if args.plan.is_some() && !args.session.show_plan {
        tell_commands(&plan);
    }
    session::carry_out(plan, &args.session, |prepared| {
        refuse_read_targets(prepared.targets(), "PLAN", &args.plan)
    })
}

/// Says which commands of the shell a plan file is about to run: who starts it may not have written it.
fn tell_commands(plan: &Plan) {
    let filters = plan.targets.iter().filter_map(|target| match &target.source {
        Source::Load(load) => Some(&load.filter),
        Source::Pattern(_) | Source::Steps(_) => None,
    });
    let commands: BTreeSet<&str> = filters.flat_map(|filter| filter.commands()).collect();
    for command in commands {
        tell(format_args!("iosonar: the plan runs the command {}", visible(command)));
    }
}

/// A text in which nothing hides: no sign moves the cursor, or prints as nothing.
fn visible(text: &str) -> String {
    let is_plain = |c: char| "'\"\\".contains(c);
    text.chars().flat_map(|c| if is_plain(c) { vec![c] } else { c.escape_debug().collect() }).collect()
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
    let text = read_text(file, TEXT_LIMIT).map_err(|unread| Failure::refused(not_read(file, &unread)))?;
    let plan = Plan::from_toml(&text).with_context(|| format!("plan {name}")).map_err(Failure::refused)?;
    Ok(Plan { destroy: plan.destroy || args.io.destroy, ..plan })
}

/// Whoever names a device means the target.
fn not_read(file: &Path, unread: &Unread) -> anyhow::Error {
    let name = file.display();
    match unread {
        Unread::Kind(kind @ Kind::BlockDevice) => {
            anyhow!("plan {name}: it is {kind}, and no plan; to run on it, use '-t {name}'")
        }
        _ => anyhow!("plan {name}: {unread}"),
    }
}
