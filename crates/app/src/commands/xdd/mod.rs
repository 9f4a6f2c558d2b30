//! `iosonar xdd`: XDD's own command line, executed by the one engine, and XDD's own reports.

mod conclusion;
mod files;
mod heartbeat;
mod machine;
mod reports;
mod reservations;
mod sinks;
mod stamps;
mod totals;

use super::{called_as, processors};
use crate::exit::{Exit, Failure};
use crate::help;
use crate::output::{print, print_message};
use crate::session;
use crate::timings::Timings;
use anyhow::anyhow;
use conclusion::report;
use iosonar_archive::TOOL;
use iosonar_dialect_xdd::{Command, GlobalSettings, Settings, full_help, parse};
use iosonar_os::bounded::{TEXT_LIMIT, read_text};
use iosonar_os::temporary;
use iosonar_runner::{Scene, new_run_id};
use reservations::Reservations;
use std::cell::RefCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Returns XDD's options if the program was called as `xdd`, or with that command: other commands do not know them.
pub fn as_xdd(args: impl Iterator<Item = OsString>) -> Option<Vec<OsString>> {
    called_as(&["xdd"], args)
}

/// Executes XDD's command line, without the program's name.
pub fn xdd(args: &[OsString]) -> Result<Exit, Failure> {
    let args: Result<Vec<String>, _> = args.iter().map(|arg| arg.clone().into_string()).collect();
    let args =
        args.map_err(|arg| Failure::refused(anyhow!("{arg:?} is no UTF-8, and a plan holds nothing else")))?;
    if matches!(&args[..], [] | [_])
        && args.iter().all(|arg| matches!(arg.as_str(), "--help" | "-help" | "-h"))
    {
        print(&help::fill(&full_help(), help::width()))?;
        return Ok(if args.is_empty() { Exit::Refused } else { Exit::Fine });
    }
    let mut setups = Vec::new();
    let mut read = |file: &str| {
        setups.push(file.to_string());
        Ok(read_text(Path::new(file), TEXT_LIMIT)?)
    };
    match parse(&args, &mut read).map_err(Failure::refused)? {
        Command::FullHelp => print(&help::fill(&full_help(), help::width()))?,
        Command::Version => print(&format!("{TOOL}, XDD 6.5's command line\n"))?,
        Command::Run(settings) => return execute(&settings, &setups),
    }
    Ok(Exit::Fine)
}

fn execute(settings: &Settings, setups: &[String]) -> Result<Exit, Failure> {
    let plan = settings.plan(new_run_id()).map_err(Failure::refused)?;
    if settings.global.show_plan {
        print(&plan.to_toml())?;
        return Ok(Exit::Fine);
    }
    settings.check_processors(processors()).map_err(Failure::refused)?;
    directories_without_slash(settings).for_each(|notice| print_message(format_args!("xdd: {notice}")));
    settings.global.notices.iter().for_each(|notice| print_message(format_args!("xdd: {notice}")));
    ask_privileges(&settings.global);
    let scratch = temporary::directory("xdd")?;
    let dir = settings.global.out.as_ref().map_or(scratch.path().join("run"), PathBuf::from);
    let reservations = RefCell::new(None);
    let timings = Timings::new();
    let open = |prepared: &iosonar_engine::Prepared| {
        // After all checks: a refused run destroys no earlier results.
        *reservations.borrow_mut() = Some(Reservations::of(settings, setups, &prepared.targets())?);
        Ok(())
    };
    let show = |scene: &Scene<'_>| heartbeat::show(settings, scene);
    let (ended, _listener) = session::perform(plan, open, |_| dir.clone(), show, &timings)?;
    scratch.remove_leftovers();
    let reservations = reservations.into_inner().ok_or_else(|| anyhow!("the run ended before it started"))?;
    report(settings, ended, reservations, &timings)
}

/// A directory and a name are concatenated without a separator; a notice is printed where that is hardly intended.
fn directories_without_slash(settings: &Settings) -> impl Iterator<Item = String> + '_ {
    let is_odd = |dir: &str| !dir.is_empty() && !dir.ends_with('/') && Path::new(dir).is_dir();
    let odd = settings.targets.iter().filter(move |target| is_odd(&target.targetdir));
    odd.map(|target| {
        let (dir, path) = (&target.targetdir, target.path());
        format!("-targetdir {dir} is a directory and has no slash at its end, so the target is called {path}")
    })
}

/// Requests privileges; a run without them continues, after one message.
fn ask_privileges(global: &GlobalSettings) {
    if global.processlock
        && !global.noproclock
        && let Err(error) = iosonar_os::lock_memory()
    {
        print_message(format_args!(
            "xdd: -processlock: memory could not be locked ({error}): the run goes on without it"
        ));
    }
}
