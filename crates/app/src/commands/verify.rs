//! `iosonar verify`: later verification of a run's writes from its result.

use crate::exit::{Exit, Failure};
use crate::later_args::{LaterArgs, LaterMode};
use crate::output::{print, print_message};
use crate::progress::scan_line;
use crate::signals::{Listener, Phase};
use anyhow::anyhow;
use iosonar_archive::{Archive, Located, PlaceOfPath};
use iosonar_engine::{Control, CrashOptions, Later, LaterError, LaterOptions, ScanProgress, verify_later};
use iosonar_host::Root;
use iosonar_text::shown;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How often progress is shown, on a terminal and elsewhere.
const REWRITE: Duration = Duration::from_millis(250);
const LINES: Duration = Duration::from_secs(10);

/// Verifies the writes of a run.
pub fn verify(args: &LaterArgs) -> Result<Exit, Failure> {
    let archive = super::open(&args.result)?;
    let mut missing = None;
    let options = LaterOptions {
        targets: targets(&archive, args, &mut missing)?,
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
        // The paths that were searched say more.
        LaterError::Target(error) => {
            Failure::refused(missing.map_or_else(|| anyhow!(error), |why| anyhow!(why)))
        }
        refused => Failure::refused(anyhow!(refused)),
    })?;
    tell(args, &options.targets, &later)?;
    if later.verified.is_empty() {
        print_message(
            "iosonar: NOTHING was verified: the run has written nothing of which the content is known, or none of it was read",
        );
    }
    Ok(match control.signal() {
        Some(signal) => Exit::Signal(signal.0),
        None => exit(args, &later),
    })
}

/// Options for verification after a crash; in the other mode they are refused.
fn crash(args: &LaterArgs) -> Result<Option<CrashOptions>, Failure> {
    let LaterArgs { mode, journal, claim, atomic, .. } = args;
    if *mode == LaterMode::AfterCrash {
        let has_no_journal = journal.as_deref().is_some_and(|path| path.as_os_str() == "none");
        let journal = journal.clone().filter(|_| !has_no_journal);
        let is_write_through = claim.is_some();
        return Ok(Some(CrashOptions { journal, has_no_journal, is_write_through, atomic: *atomic }));
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

fn tell(args: &LaterArgs, targets: &[PathBuf], later: &Later) -> Result<(), Failure> {
    if args.json {
        let targets: Vec<String> = targets.iter().map(|path| path.display().to_string()).collect();
        let json =
            serde_json::json!({ "targets": targets, "verified": later.verified, "faults": later.faults });
        print(&format!("{json:#}\n"))?;
        return Ok(());
    }
    print(iosonar_view::verified(&later.verified).trim_start_matches('\n'))?;
    Ok(())
}

/// Current paths of the run's targets. A `missing` one ends the command only if the result can be verified.
fn targets(
    archive: &Archive,
    args: &LaterArgs,
    missing: &mut Option<String>,
) -> Result<Vec<PathBuf>, Failure> {
    let known: Vec<&Path> = archive.plan().targets.iter().map(|target| target.path.as_path()).collect();
    let mut named: Vec<Option<PathBuf>> = vec![None; known.len()];
    for word in &args.target {
        let pair = word.split_once('=').filter(|(old, new)| !old.is_empty() && !new.is_empty());
        let (old, new) = pair.ok_or_else(|| {
            Failure::refused(anyhow!(
                "--target {word}: write OLD=NEW, the run's target and where its data is now"
            ))
        })?;
        if !known.iter().any(|path| path.as_os_str() == old) {
            let known: Vec<String> = known.iter().map(|path| shown(&path).to_string()).collect();
            return Err(Failure::refused(anyhow!(
                "--target {word}: the run has no target {old}; it has {}",
                known.join(", ")
            )));
        }
        let of_target = named.iter_mut().zip(&known).filter(|(_, path)| path.as_os_str() == old);
        of_target.for_each(|(named, _)| *named = Some(new.into()));
    }
    let mut find = |path: &Path| {
        find(archive, path).unwrap_or_else(|why| {
            missing.get_or_insert(why);
            path.to_path_buf()
        })
    };
    Ok(known.iter().zip(named).map(|(path, named)| named.unwrap_or_else(|| find(path))).collect())
}

/// Finds a target that was not named, and reports the file used if that may be unclear.
fn find(archive: &Archive, target: &Path) -> Result<PathBuf, String> {
    let name = shown(&target);
    let Located { path, place, other } = archive
        .locate(target)
        .map_err(|missing| format!("{missing}; if its data is elsewhere, give --target {name}=FILE"))?;
    if place != PlaceOfPath::Root && (!is_here(&path, target) || other.is_some()) {
        print_message(format_args!("verify: target {name} is {}, {place}", shown(&path)));
    }
    if let Some(other) = other {
        let other = shown(&other);
        print_message(format_args!(
            "verify: {other} is another file of this name; to read it: --target {name}={other}"
        ));
    }
    Ok(path)
}

/// Whether a name leads to a path from the current directory.
fn is_here(path: &Path, name: &Path) -> bool {
    path.canonicalize().ok() == name.canonicalize().ok()
}

/// Calls `work` while a thread shows its progress.
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
            // A closed terminal must not end the command.
            true => drop(write!(std::io::stderr(), "\r\x1b[K{}", scan_line(moment))),
            false => print_message(scan_line(moment)),
        }
    }
    if is_terminal {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
}
