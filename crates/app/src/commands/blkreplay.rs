//! `iosonar blkreplay`: blkreplay's own command line, executed by the one engine. The load comes on standard input,
//! the result goes to standard output in blkreplay's form, and everything else to standard error.

use super::called_as;
use crate::args::common::{ProgressArg, ProgressArgs};
use crate::exit::{Exit, Failure};
use crate::help;
use crate::output::{print, print_lines, print_message};
use crate::progress::{self, ProgressOptions};
use crate::session;
use crate::timings::Timings;
use anyhow::anyhow;
use iosonar_analyze::{Limits, Passing};
use iosonar_archive::{Archive, Record, RunState};
use iosonar_dialect_blkreplay::{
    Command, ExportError, Exported, OPTIONS, Settings, export_later, export_observed, parse, usage,
};
use iosonar_engine::{PrepareError, Prepared};
use iosonar_inputs::SummaryOptions;
use iosonar_os::made::OwnDir;
use iosonar_os::temporary;
use iosonar_plan::Nanos;
use iosonar_runner::{Ended, Scene, new_run_id};
use iosonar_text::shown;
use std::cell::OnceCell;
use std::ffi::OsString;
use std::io::{self, BufWriter, ErrorKind, IsTerminal};
use std::path::{Path, PathBuf};

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
    let place = Place::new(settings.out.as_deref());
    let timings = Timings::new();
    let ready = |_: &Prepared| place.make();
    let show = |scene: &Scene<'_>| show_progress(settings, scene);
    let ran = session::perform(plan, ready, |_| place.dir(), show, &timings);
    let (ended, _listener) = ran.map_err(|failure| in_own_words(&settings.device, failure))?;
    conclude(settings, ended, place, &timings)
}

/// Where the archive of a run is.
struct Place {
    kept: Option<PathBuf>,
    /// Removed when dropped.
    scratch: OnceCell<OwnDir>,
}

impl Place {
    fn new(out: Option<&str>) -> Place {
        Place { kept: out.map(PathBuf::from), scratch: OnceCell::new() }
    }

    /// Creates the scratch directory, once everything else was found right: until then a signal ends the program at once.
    fn make(&self) -> Result<(), Failure> {
        if self.kept.is_some() {
            return Ok(());
        }
        // The directory of a killed run is not removed: its records can be read.
        let made = temporary::directory("blkreplay").map_err(|error| {
            Failure::refused(anyhow!("no place for the records of the run: {error}, or give --out=DIR"))
        })?;
        let (dir, _) = (made.path().join("run"), self.scratch.set(made));
        print_message(format_args!(
            "blkreplay: until the result is written, the records are in {}",
            shown(&dir)
        ));
        Ok(())
    }

    fn dir(&self) -> PathBuf {
        let scratch = || self.scratch.get().map(|dir| dir.path().join("run"));
        self.kept.clone().or_else(scratch).unwrap_or_default()
    }

    /// Keeps the archive; returns its directory.
    fn keep(self) -> PathBuf {
        let dir = self.dir();
        // Even if its mark cannot be removed, the directory is kept.
        let _ = self.scratch.into_inner().map(OwnDir::keep);
        dir
    }
}

fn show_progress(settings: &Settings, scene: &Scene<'_>) {
    let how = if settings.no_progress { ProgressArg::None } else { ProgressArg::Auto };
    let progress = ProgressArgs { progress: how, no_progress: false, progress_every: Nanos::from_secs(10) };
    let late_limit = Limits::default().bad_delay;
    progress::show(&ProgressOptions { progress: &progress, live: false, late_limit }, scene);
}

/// Rewords errors of the engine whose remedy names options of another command line.
fn in_own_words(device: &str, failure: Failure) -> Failure {
    let text = match failure.error.downcast_ref::<PrepareError>() {
        Some(PrepareError::NoDirectIo(_)) => format!(
            "target {device}: its file system has no direct I/O; use a target elsewhere, or --no-o-direct, which measures \
             the page cache too"
        ),
        Some(PrepareError::NoSize(_)) => {
            let why = Path::new(device).metadata().err().map_or(String::new(), |error| format!(": {error}"));
            format!(
                "target {device}{why}; a run without I/O takes its size from DEVICE: name one that exists"
            )
        }
        Some(PrepareError::Memory { needed, available, what }) => format!(
            "the run needs {needed} MiB of memory ({what}), and {available} MiB are available: use fewer --threads=N"
        ),
        _ => return failure,
    };
    Failure::refused(anyhow!(text))
}

/// Writes the result; if that fails, the records are kept.
fn conclude(settings: &Settings, ended: Ended, place: Place, timings: &Timings) -> Result<Exit, Failure> {
    let mut info = ended.info.clone();
    info.setup.notices.iter().for_each(|notice| print_message(format_args!("blkreplay: {notice}")));
    let stored = Archive::open(ended.archive.dir())?;
    // Without a kept result, writing it is the only pass over the records.
    let mut seen = place.kept.is_none().then(|| Passing::new(info.targets.len(), &Limits::default()));
    let counts = match write(&stored, settings.replay_out, seen.as_mut()) {
        Ok(counts) => counts,
        Err(error) => return unwritten(&stored, place, error),
    };
    if let RunState::Broken(why) = &info.state {
        print_message(format_args!("blkreplay: the run could not go on: {why}"));
    }
    if counts.total == 0 {
        print_message("blkreplay: no request was read: the load has none, or none in the window");
    }
    let is_fake;
    if let Some(seen) = seen {
        is_fake = session::tell_verdict("blkreplay", &session::sum_up_seen(seen, stored, &info)?);
    } else {
        drop(stored);
        let concluded = session::conclude(ended, SummaryOptions::default(), timings)?;
        is_fake = session::tell_verdict("blkreplay", &concluded.figures.summary);
        info = concluded.info;
        print_message(format_args!("result: {}", shown(&concluded.dir)));
    }
    Ok(session::exit(&info, counts.failed > 0 || counts.completed == 0, false, is_fake))
}

/// Keeps the records of a run whose result could not be written.
fn unwritten(stored: &Archive, place: Place, error: ExportError) -> Result<Exit, Failure> {
    let is_closed = matches!(&error, ExportError::Write(error) if error.kind() == ErrorKind::BrokenPipe);
    let dir = place.keep();
    let why = match is_closed {
        true => "standard output was closed".into(),
        false => error.to_string(),
    };
    print_message(format_args!(
        "blkreplay: the result was not written to its end: {why}; the records stay in {0}: 'iosonar convert {0} --to replay' \
         writes it again",
        shown(&dir)
    ));
    if !is_closed {
        return Err(error.into());
    }
    let counts = export_later(stored, 0, Nanos(0), &mut io::sink())?;
    Ok(session::exit(stored.run(), counts.failed > 0 || counts.completed == 0, false, false))
}

/// Writes blkreplay's form to standard output. `seen` observes each record.
fn write(stored: &Archive, later: Nanos, mut seen: Option<&mut Passing>) -> Result<Exported, ExportError> {
    let mut observer = |record: &Record| {
        if let Some(seen) = &mut seen {
            seen.add(std::slice::from_ref(record));
        }
    };
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    export_observed(stored, 0, later, &mut observer, &mut out)
}
