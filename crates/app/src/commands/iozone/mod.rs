//! `iosonar iozone`: IOzone's own command line, executed by the one engine, and IOzone's own reports.

mod clients;
mod offsets;
mod outputs;
mod question;
mod report;

use self::outputs::Reservations;
use self::question::{check_files, completed, matrix_of};
use self::report::report;
use super::called_as;
use crate::args::common::{ProgressArg, ProgressArgs};
use crate::exit::{Exit, Failure};
use crate::help;
use crate::output::{print, print_lines, print_message};
use crate::progress::{self, ProgressOptions};
use crate::session;
use crate::signals::Listener;
use crate::timings::Timings;
use crate::together::{self, ExecutionOptions};
use anyhow::anyhow;
use iosonar_archive::{PARTS, TOOL};
use iosonar_cells::Matrix;
use iosonar_dialect_iozone::{Command, Settings, cells, full_help, notices, parse};
use iosonar_os::temporary;
use iosonar_plan::{Nanos, Plan};
use iosonar_runner::{Ended, Scene};
use std::cell::RefCell;
use std::ffi::OsString;
use std::path::PathBuf;

/// Returns IOzone's options if the program was called as `iozone`, or with that command: other commands do not know them.
pub fn as_iozone(args: impl Iterator<Item = OsString>) -> Option<Vec<OsString>> {
    called_as(&["iozone"], args)
}

/// Executes IOzone's command line, without the program's name.
pub fn iozone(args: &[OsString]) -> Result<Exit, Failure> {
    let args: Result<Vec<String>, _> = args.iter().map(|arg| arg.clone().into_string()).collect();
    let args =
        args.map_err(|arg| Failure::refused(anyhow!("{arg:?} is no UTF-8, and a plan holds nothing else")))?;
    let help = || help::fill(&full_help(), help::width());
    if args.is_empty() {
        print_lines(help());
        return Ok(Exit::Refused);
    }
    match parse(&args).map_err(Failure::refused)? {
        Command::Help => print(&help())?,
        Command::Version => print(&format!("{TOOL}, IOzone's command line\n"))?,
        Command::Run(settings) => return execute(&settings),
    }
    Ok(Exit::Fine)
}

fn execute(settings: &Settings) -> Result<Exit, Failure> {
    let settings = &completed(settings)?;
    let matrix = matrix_of(settings)?;
    if settings.dry_run {
        print(&cells(&matrix))?;
        return Ok(Exit::Fine);
    }
    let plan = matrix.plan(&matrix.units()).map_err(Failure::refused)?;
    if settings.show_plan {
        print(&plan.to_toml())?;
        return Ok(Exit::Fine);
    }
    settings.notices.iter().for_each(|notice| print_message(format_args!("iozone: {notice}")));
    notices(&matrix).iter().for_each(|notice| print_message(format_args!("iozone: {notice}")));
    check_files(&matrix)?;
    let scratch = temporary::directory("iozone")?;
    let dir = settings.out.as_ref().map_or(scratch.path().join("run"), PathBuf::from);
    let timings = Timings::new();
    let (ended, reservations, _listener) = match perform(settings, &matrix, plan, dir.clone(), &timings) {
        Ok(performed) => performed,
        Err(failure) => {
            if dir.join(PARTS).exists() {
                // The error names the records.
                let _ = scratch.keep();
            }
            return Err(failure);
        }
    };
    scratch.remove_leftovers();
    report(settings, &matrix, ended, reservations, &timings)
}

/// Executes the plan in one process or several. All outputs are tested before the first I/O.
fn perform(
    settings: &Settings,
    matrix: &Matrix,
    plan: Plan,
    dir: PathBuf,
    timings: &Timings,
) -> Result<(Ended, Reservations, Listener), Failure> {
    let args = ProgressArgs {
        progress: ProgressArg::Auto,
        no_progress: false,
        progress_every: Nanos::from_secs(10),
    };
    let paths: Vec<PathBuf> = plan.local_paths().map(PathBuf::from).collect();
    let reservations = RefCell::new(None);
    let open = || {
        *reservations.borrow_mut() =
            Some(Reservations::of(settings, matrix, paths.iter().map(PathBuf::as_path))?);
        Ok(())
    };
    let (ended, listener) = match plan.has_processes() {
        true => together::perform(&plan, ExecutionOptions::of(&args), |_| open().map(|()| dir), timings)?,
        false => {
            let wish = ProgressOptions::line(&args);
            let show = |scene: &Scene<'_>| progress::show(&wish, scene);
            session::perform(plan, |_| open(), |_| dir, show, timings)?
        }
    };
    let reservations = reservations.into_inner().ok_or_else(|| anyhow!("the run ended before it started"))?;
    Ok((ended, reservations, listener))
}
