//! `iosonar run`: executes a plan file, or a pattern that was typed in fio's words.

use super::pattern;
use crate::args::SessionArgs;
use crate::exit::{Exit, Failure};
use crate::fio_words::commands_of_job_file;
use crate::output::{print_message, unused_name, utc_stamp};
use crate::outputs::{refuse_read, refuse_read_targets};
use crate::run_args::RunArgs;
use crate::session;
use anyhow::anyhow;
use iosonar_os::bounded::{Kind, TEXT_LIMIT, Unread, read_text};
use iosonar_plan::{Plan, Workload};
use iosonar_text::shown;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Executes a plan.
pub fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let plan = match &args.plan {
        Some(file) => read(file, args)?,
        None => pattern::plan(args)?,
    };
    if args.plan.is_some() && !args.session.show_plan {
        tell_commands(&plan);
    }
    let session = SessionArgs { out: out(args), ..args.session.clone() };
    if plan.has_processes() {
        refuse_read(plan.local_paths(), "PLAN", &args.plan)?;
    }
    session::execute(plan, &session, |prepared| refuse_read_targets(&prepared.targets(), "PLAN", &args.plan))
}

/// Where the result goes, if the words say so.
fn out(args: &RunArgs) -> Option<PathBuf> {
    let named = |label: &String| {
        let label: String = label.chars().map(|c| if " %/".contains(c) { '_' } else { c }).collect();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        unused_name(&format!("{}-{}", label.trim_start_matches(['-', '.']), utc_stamp(now.as_nanos() as u64)))
    };
    args.session.out.clone().or_else(|| args.name.as_ref().map(named))
}

/// Says which commands of the shell a plan file is about to run: who starts it may not have written it.
fn tell_commands(plan: &Plan) {
    let filters = plan.jobs().filter_map(|(_, job)| match &job.workload {
        Workload::Trace(load) => Some(&load.filter),
        Workload::Generated(_) => None,
    });
    let commands: BTreeSet<&str> = filters.flat_map(|filter| filter.commands()).collect();
    for command in commands {
        print_message(format_args!("iosonar: the plan runs the command {}", shown(command)));
    }
}

/// Fields whose options go with a plan.
const WITH_PLAN: [&str; 18] = [
    "plan",
    "anyway",
    "probe",
    "name",
    "json",
    "percentile_list",
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
    let name = shown(&file);
    if let Some(option) = args.typed.other_than(&WITH_PLAN) {
        return Err(Failure::refused(anyhow!(
            "{option} has no effect on plan {name}, which says all of that itself: change the plan, or name no plan \
             and say everything with options"
        )));
    }
    let text = read_text(file, TEXT_LIMIT).map_err(|unread| Failure::refused(not_read(file, &unread)))?;
    let plan = Plan::from_toml(&text).map_err(|why| Failure::refused(no_plan(file, &text, why.into())))?;
    Ok(Plan {
        destroy: plan.destroy && !is_of_result(file) || args.io.destroy,
        anyway: plan.anyway || args.io.anyway,
        probe: args.io.probe.unwrap_or(plan.probe),
        ..plan
    })
}

/// Whether nobody has written this plan: it is the one that a result keeps, and permits nothing.
fn is_of_result(file: &Path) -> bool {
    let beside = |path: PathBuf| path.with_file_name("run.json").exists();
    file.file_name().is_some_and(|name| name == "plan.toml") && file.canonicalize().is_ok_and(beside)
}

/// A job file of fio is told as such, with the words that say the same.
fn no_plan(file: &Path, text: &str, why: anyhow::Error) -> anyhow::Error {
    let name = shown(&file);
    match commands_of_job_file(text) {
        None => why.context(format!("plan {name}")),
        Some(commands) => anyhow!(
            "{name} is a job file of fio, which run does not read: type its options after run:\n  {}",
            commands.join("\n  ")
        ),
    }
}

/// Whoever names a device means the target.
fn not_read(file: &Path, unread: &Unread) -> anyhow::Error {
    let name = shown(&file);
    match unread {
        Unread::Kind(kind @ Kind::BlockDevice) => {
            anyhow!("plan {name}: it is {kind}, and no plan; to run on it, use '-t {name}'")
        }
        _ => anyhow!("plan {name}: {unread}"),
    }
}
