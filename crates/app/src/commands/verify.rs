//! `iosonar verify`: what a run has written, verified later from its result.

use crate::exit::{Exit, Failure};
use crate::later_args::{LaterArgs, LaterMode};
use crate::output::{print, print_message};
use crate::progress::scan_line;
use crate::signals::{Listener, Phase};
use anyhow::anyhow;
use iosonar_archive::Archive;
use iosonar_engine::{Control, CrashOptions, Later, LaterError, LaterOptions, ScanProgress, verify_later};
use iosonar_host::Root;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How often progress is shown, on a terminal and elsewhere.
const REWRITE: Duration = Duration::from_millis(250);
const LINES: Duration = Duration::from_secs(10);

/// Verifies what a run has written.
pub fn verify(args: &LaterArgs) -> Result<Exit, Failure> {
    let archive = super::open(&args.result)?;
    let options = LaterOptions {
        targets: targets(&archive, args)?,
        sample: args.sample,
        memory: args.verify_memory,
        crash: crash(args)?,
    };
    let control = Arc::new(Control::default());
    let listener = Listener::start(control.clone())?;
    listener.set_phase(Phase::Running);
    let later = with_progress(args, |progress| {
        verify_later(&archive, &options, &Root::default(), &control, progress)
    });
    let later = later.map_err(|error| match error {
        LaterError::Archive(error) => error.into(),
        refused => Failure::refused(anyhow!(refused)),
    })?;
    tell(args, &later)?;
    if later.verified.is_empty() {
        print_message(
            "iosonar: NOTHING was verified: the run has written nothing of which the content is known, or none of it was read",
        );
    }
    Ok(match control.signal() {
        Some(signal) => Exit::Signal(signal),
        None => exit(args, &later),
    })
}

/// What was said of a crash; options that only make sense then are refused without one.
fn crash(args: &LaterArgs) -> Result<Option<CrashOptions>, Failure> {
    let LaterArgs { mode, journal, claim, atomic, .. } = args;
    if *mode == LaterMode::AfterCrash {
        let (journal, is_write_through) = (journal.clone(), claim.is_some());
        return Ok(Some(CrashOptions { journal, is_write_through, atomic: *atomic }));
    }
    let typed =
        [("--journal", journal.is_some()), ("--claim", claim.is_some()), ("--atomic", atomic.is_some())];
    match typed.iter().find(|(_, is_typed)| *is_typed) {
        Some((option, _)) => Err(Failure::refused(anyhow!(
            "{option} is for what a crash has left: add --mode after-crash, or remove it"
        ))),
        None => Ok(None),
    }
}

fn exit(args: &LaterArgs, later: &Later) -> Exit {
    let verified = &later.verified;
    let is_whole = verified.given_up == 0 && verified.scan.is_none_or(|scan| !scan.stopped);
    match verified.total() {
        0 if verified.is_empty() || args.strict && !is_whole => Exit::Cautioned,
        0 => Exit::Fine,
        _ => Exit::Miscompared,
    }
}

fn tell(args: &LaterArgs, later: &Later) -> Result<(), Failure> {
    if args.json {
        let json = serde_json::json!({ "verified": later.verified, "faults": later.faults });
        print(&format!("{json:#}\n"))?;
        return Ok(());
    }
    print(iosonar_view::verified(&later.verified).trim_start_matches('\n'))?;
    Ok(())
}

/// Where the targets of the run are now.
fn targets(archive: &Archive, args: &LaterArgs) -> Result<Vec<PathBuf>, Failure> {
    let known = || archive.plan().targets.iter().map(|target| target.path.clone());
    let mut paths: Vec<PathBuf> = known().collect();
    for word in &args.target {
        let pair = word.split_once('=').filter(|(old, new)| !old.is_empty() && !new.is_empty());
        let (old, new) = pair.ok_or_else(|| {
            Failure::refused(anyhow!(
                "--target {word}: write OLD=NEW, the run's target and where its data is now"
            ))
        })?;
        let mut found = paths.iter_mut().filter(|path| path.as_os_str() == old).peekable();
        if found.peek().is_none() {
            let known: Vec<String> = known().map(|path| path.display().to_string()).collect();
            return Err(Failure::refused(anyhow!(
                "--target {word}: the run has no target {old}; it has {}",
                known.join(", ")
            )));
        }
        found.for_each(|path| *path = new.into());
    }
    Ok(paths)
}

/// Does something while a thread shows how far it is.
fn with_progress<T: Send>(args: &LaterArgs, work: impl FnOnce(&ScanProgress) -> T + Send) -> T {
    let (progress, is_over) = (ScanProgress::default(), AtomicBool::new(false));
    let is_terminal = std::io::stderr().is_terminal();
    std::thread::scope(|scope| {
        if !args.no_progress {
            scope.spawn(|| show(&progress, &is_over, is_terminal));
        }
        let done = work(&progress);
        is_over.store(true, Relaxed);
        done
    })
}

fn show(progress: &ScanProgress, is_over: &AtomicBool, is_terminal: bool) {
    let (mut shown, every) = (Instant::now(), if is_terminal { REWRITE } else { LINES });
    while !is_over.load(Relaxed) {
        std::thread::sleep(Duration::from_millis(20));
        if shown.elapsed() < every {
            continue;
        }
        shown = Instant::now();
        let Some(moment) = progress.moment() else { continue };
        match is_terminal {
            // A terminal that is gone must not end the command.
            true => drop(write!(std::io::stderr(), "\r\x1b[K{}", scan_line(moment))),
            false => print_message(scan_line(moment)),
        }
    }
    if is_terminal {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
}
