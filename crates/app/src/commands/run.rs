//! `iosonar run`: executes a plan file, or a pattern typed in fio's words.

use super::pattern;
use crate::args::common::SessionArgs;
use crate::args::run::RunArgs;
use crate::args::{Cli, Command};
use crate::exit::{Exit, Failure};
use crate::fio_words::suggestions_for_job_file;
use crate::output::{print_message, unused_name, utc_stamp};
use crate::outputs::{refuse_read, refuse_read_targets};
use crate::session;
use anyhow::anyhow;
use iosonar_os::bounded::{Kind, TEXT_LIMIT, Unread, read_text};
use iosonar_plan::{Job, Plan, Workload};
use iosonar_text::shown;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Executes a plan.
pub fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let plan = match &args.plan {
        Some(file) => read(file, args)?,
        None => pattern::plan(args)?,
    };
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
    let changes = |job: &Job| match &job.workload {
        Workload::Generated(generator) => generator.writes() || job.options.changes_file(),
        Workload::Trace(_) => job.options.changes_file(),
    };
    let changed = plan.jobs().find(|(_, job)| changes(job)).map(|(_, job)| usize::from(job.target));
    let removed = plan.targets.iter().position(|target| target.file.delete);
    match changed.or(removed).and_then(|number| plan.targets.get(number)) {
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
    let filters = plan.jobs().filter_map(|(_, job)| match &job.workload {
        Workload::Trace(load) => Some(&load.filter),
        Workload::Generated(_) => None,
    });
    let commands: BTreeSet<&str> = filters.flat_map(|filter| filter.commands()).collect();
    for command in commands {
        print_message(format_args!("iosonar: the plan runs the command {}", shown(command)));
    }
}

/// Options that are allowed beside a plan.
const WITH_PLAN: [&str; 19] = [
    "plan",
    "readonly",
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

/// Whether this is the plan kept in a result: it was not written by a user, and permits nothing.
fn is_of_result(file: &Path) -> bool {
    let beside = |path: PathBuf| path.with_file_name("run.json").exists();
    file.file_name().is_some_and(|name| name == "plan.toml") && file.canonicalize().is_ok_and(beside)
}

/// Reports a job file of fio as such, with equivalent commands.
fn no_plan(file: &Path, text: &str, why: anyhow::Error) -> anyhow::Error {
    let name = shown(&file);
    match suggestions_for_job_file(text, &is_accepted) {
        None => why.context(format!("plan {name}")),
        Some(lines) => anyhow!(
            "{name} is a job file of fio, which run does not read: these commands do what it says:\n  {}",
            lines.join("\n  ")
        ),
    }
}

/// Whether the words of a command result in a plan; nothing is opened.
fn is_accepted(words: &[OsString]) -> Result<(), String> {
    let cli: Cli = crate::parse(words.to_vec()).map_err(|error| error.to_string())?;
    match cli.command {
        Command::Run(args) => {
            let plan = pattern::plan(&args).map_err(|failure| failure.text())?;
            plan.validate().map_err(|why| why.to_string())
        }
        _ => Err("another command".into()),
    }
}

/// A device in place of the plan file was meant as the target.
fn not_read(file: &Path, unread: &Unread) -> anyhow::Error {
    let name = shown(&file);
    match unread {
        Unread::Kind(kind @ Kind::BlockDevice) => {
            anyhow!("plan {name}: it is {kind}, and no plan; to run on it, use '-t {name}'")
        }
        _ => anyhow!("plan {name}: {unread}"),
    }
}
