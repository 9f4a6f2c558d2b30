//! `iosonar run`: executes a plan file, or a pattern typed in fio's words.

mod plan_file;

use super::typed_words::check_run;
use super::{on_hosts, pattern};
use crate::args::common::SessionArgs;
use crate::args::run::RunArgs;
use crate::exit::{Exit, Failure};
use crate::output::{print_message, unused_name, utc_stamp};
use crate::outputs::{refuse_read, refuse_read_targets};
use crate::ranks;
use crate::session;
use anyhow::anyhow;
use iosonar_plan::Plan;
use iosonar_text::shown;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// Executes a plan.
pub fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let placement = on_hosts::placement(&args.session.hosts.reach)?;
    let plan = match &args.plan {
        Some(_) if !placement.targets().is_empty() => {
            return Err(Failure::refused(anyhow!(
                "--on: a plan names its targets: write --on HOST, without a target"
            )));
        }
        Some(file) => plan_file::read(file, args)?,
        None => pattern::plan(args, &on_hosts::targets(&args.targets, &placement)?)?,
    };
    let plan =
        on_hosts::placed(ranks::placed(plan, args.session.hosts.share)?, &placement, &args.session.hosts)?;
    if args.plan.is_none() {
        check_run(&plan)?;
    }
    if args.readonly {
        check_reads_only(&plan)?;
    }
    if args.plan.is_none() && pattern::draws_independently(args) {
        print_message(
            "iosonar: requests have different lengths, so addresses are drawn independently and may repeat; \
             --norandommap says that this is meant",
        );
    }
    if args.plan.is_some() && !args.session.show_plan {
        tell_commands(&plan);
    }
    let session = SessionArgs { out: out(args), ..args.session.clone() };
    if plan.has_processes() {
        refuse_read(plan.local_paths(), "PLAN", &args.plan)?;
    }
    session::execute(plan, &session, |prepared| {
        let targets = prepared.targets();
        if let Some(target) = targets.iter().find(|target| args.readonly && target.is_written()) {
            return Err(not_readonly(format!("target {}", shown(target.path()))));
        }
        refuse_read_targets(&targets, "PLAN", &args.plan)
    })
}

/// Refuses a plan that writes, as far as the plan shows; loads are read later.
fn check_reads_only(plan: &Plan) -> Result<(), Failure> {
    match plan.changed_target() {
        Some(target) => Err(not_readonly(format!("target {}", shown(&target.path)))),
        None => Ok(()),
    }
}

fn not_readonly(what: String) -> Failure {
    Failure::refused(anyhow!(
        "--readonly: {what} would be changed: use --rw read or randread, or remove --readonly"
    ))
}

/// Path of the result, if given.
fn out(args: &RunArgs) -> Option<PathBuf> {
    let named = |label: &String| {
        let label: String = label.chars().map(|c| if " %/".contains(c) { '_' } else { c }).collect();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        unused_name(&format!("{}-{}", label.trim_start_matches(['-', '.']), utc_stamp(now.as_nanos() as u64)))
    };
    args.session.out.clone().or_else(|| args.name.as_ref().map(named))
}

/// Prints the shell commands of a plan file before the run: its user may not be its author.
fn tell_commands(plan: &Plan) {
    for command in plan.commands() {
        print_message(format_args!("iosonar: the plan runs the command {}", shown(command)));
    }
}
