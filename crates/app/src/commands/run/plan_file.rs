//! The plan file of `iosonar run`, the options beside it, and the refusal of files that are no plan.

use crate::args::run::RunArgs;
use crate::args::{Cli, Command};
use crate::commands::pattern;
use crate::exit::Failure;
use crate::fio_words::suggestions_for_job_file;
use anyhow::anyhow;
use iosonar_archive::is_kept_plan;
use iosonar_os::bounded::{Kind, TEXT_LIMIT, Unread, read_text};
use iosonar_plan::Plan;
use iosonar_text::shown;
use std::ffi::OsString;
use std::path::Path;

/// Options that are allowed beside a plan.
const WITH_PLAN: [&str; 28] = [
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
    "on",
    "share",
    "remote_path",
    "send_program",
    "sudo",
    "on_lost_host",
    "max_clock_error",
    "clock",
    "collect",
];

/// Reads a plan file. Options set what its user has to permit, and whether targets are probed.
pub fn read(file: &Path, args: &RunArgs) -> Result<Plan, Failure> {
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
        destroy: plan.destroy && !is_kept_plan(file) || args.io.destroy,
        anyway: plan.anyway || args.io.anyway,
        probe: args.io.probe.unwrap_or(plan.probe),
        ..plan
    })
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
            let plan = pattern::plan(&args, &args.targets).map_err(|failure| failure.text())?;
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
