//! `iosonar blkreplay`: blkreplay's own command line, executed by the one engine. The load comes on standard input,
//! the result goes to standard output in blkreplay's form, and everything else to standard error.

mod conclusion;

use self::conclusion::conclude;
use super::called_as;
use crate::args::common::{ProgressArg, ProgressArgs};
use crate::exit::{Exit, Failure};
use crate::help;
use crate::output::{print, print_lines, print_message};
use crate::progress::{self, ProgressOptions};
use crate::session;
use crate::timings::Timings;
use anyhow::anyhow;
use iosonar_analyze::Limits;
use iosonar_dialect_blkreplay::{Command, OPTIONS, Settings, parse, usage};
use iosonar_engine::{PrepareError, Prepared};
use iosonar_plan::Nanos;
use iosonar_runner::{Scene, new_run_id};
use iosonar_studies::blkreplay::{self, ResultPlace};
use iosonar_text::shown;
use std::ffi::OsString;
use std::io::{self, IsTerminal};

/// Returns blkreplay's arguments if the program was called as `blkreplay`, or with that command: other commands do not know them. Scripts
/// of the original call `blkreplay.exe`.
pub fn as_blkreplay(args: impl Iterator<Item = OsString>) -> Option<Vec<OsString>> {
    called_as(&["blkreplay", "blkreplay.exe"], args)
}

/// Executes blkreplay's command line, without the program's name.
pub fn blkreplay(args: &[OsString]) -> Result<Exit, Failure> {
    let args: Result<Vec<String>, _> = args.iter().map(|arg| arg.clone().into_string()).collect();
    let args =
        args.map_err(|arg| Failure::refused(anyhow!("{arg:?} is no UTF-8, and a plan holds nothing else")))?;
    match parse(&args).map_err(Failure::refused)? {
        Command::Run(settings) => execute(&settings),
        // Help is no result for standard output: print it to standard error.
        Command::Usage if args.is_empty() => {
            print_lines(help::fill(&usage(), help::width()).trim_end());
            Ok(Exit::Refused)
        }
        Command::Usage => {
            print(&help::fill(&usage(), help::width()))?;
            Ok(Exit::Fine)
        }
    }
}

fn execute(settings: &Settings) -> Result<Exit, Failure> {
    let plan = settings.plan(new_run_id());
    plan.validate().map_err(|why| Failure::refused(anyhow!(why.in_options(&[OPTIONS]))))?;
    if settings.show_plan {
        print(&plan.to_toml())?;
        return Ok(Exit::Fine);
    }
    if io::stdin().is_terminal() {
        return Err(Failure::refused(anyhow!(
            "the load comes on standard input, and that is a terminal: write 'zcat LOAD.load.gz | blkreplay …', or <LOAD"
        )));
    }
    settings.notices.iter().for_each(|notice| print_message(format_args!("blkreplay: {notice}")));
    let place = ResultPlace::new(settings.out.as_deref());
    let timings = Timings::new();
    let ready = |_: &Prepared| {
        if let Some(dir) = place.make()? {
            print_message(format_args!(
                "blkreplay: until the result is written, the records are in {}",
                shown(&dir)
            ));
        }
        Ok(())
    };
    let show = |scene: &Scene<'_>| show_progress(settings, scene);
    let ran = session::perform(plan, ready, |_| place.dir(), show, &timings);
    let (ended, _listener) = ran.map_err(|failure| in_own_words(&settings.device, failure))?;
    conclude(settings, ended, place, &timings)
}

fn show_progress(settings: &Settings, scene: &Scene<'_>) {
    let how = if settings.no_progress { ProgressArg::None } else { ProgressArg::Auto };
    let progress = ProgressArgs { progress: how, no_progress: false, progress_every: Nanos::from_secs(10) };
    let late_limit = Limits::default().bad_delay;
    progress::show(&ProgressOptions { progress: &progress, live: false, late_limit }, scene);
}

/// Rewords errors of the engine whose remedy names options of another command line.
fn in_own_words(device: &str, failure: Failure) -> Failure {
    let error = failure.error.downcast_ref::<PrepareError>();
    let text = error.and_then(|error| blkreplay::in_own_words(device, error));
    text.map_or(failure, |text| Failure::refused(anyhow!(text)))
}
