//! Results as archives: texts in blkreplay's form, and dumps of XDD's time stamps.

use super::answer::Imported;
use super::form::Destination;
use anyhow::Context;
use iosonar_archive::{ArchiveWriter, LogWriter, Record, RunInfo};
use iosonar_dialect_blkreplay::{ImportError, ImportProblem, import, recording};
use iosonar_dialect_xdd::read_dump;
use iosonar_host::output::{OutputName, check_absent};
use iosonar_inputs::{Figures, Input, Source, SummaryOptions};
use iosonar_os::bounded;
use iosonar_plan::Plan;
use iosonar_runner::{Error, Notice, Session, finish, keep};
use iosonar_text::shown;
use std::io;
use std::path::Path;

/// Records appended at once.
const TOGETHER: usize = 1024;

/// Makes the archive `place` from a result in blkreplay's form.
///
/// # Errors
/// The text is not a result, or `place` exists or cannot be written.
pub fn of_replay(session: &Session, source: &Source, place: Destination<'_>) -> Result<Imported, Error> {
    let name = shown(source.path()).to_string();
    // The plan is written before the records, but derived from all of them: the file is read twice.
    let imported = import(source.text()?, &name, &mut |_| Ok(())).map_err(refused)?;
    for bad in &imported.bad_lines {
        session.observer.notice(&Notice::Skipped(&format!("{name}: {bad}: skipped")));
    }
    for doubt in &imported.doubts {
        session.observer.notice(&Notice::Caution(&format!("{name}: {doubt}")));
    }
    let out = place.name();
    let archive = begin(out, &name, &imported.plan, &imported.run)?;
    conclude(archive, &imported.run, |log| copy(source, &name, log))?;
    report(session, place, imported.records);
    let damaged = imported.run.targets.iter().map(|target| target.bad_lines).sum();
    Ok(Imported { path: out.path.clone(), damaged })
}

/// Makes the archive `place` from a dump of XDD's time stamps.
///
/// # Errors
/// The dump is damaged or too large, or `place` exists or cannot be written.
pub fn of_dump(session: &Session, dump: &Path, place: Destination<'_>) -> Result<Imported, Error> {
    let name = shown(dump).to_string();
    let bytes = bounded::read(dump, bounded::DUMP_LIMIT).with_context(|| name.clone());
    let dump = read_dump(&bytes.map_err(Error::refused)?).with_context(|| name.clone());
    let dump = dump.map_err(Error::refused)?;
    let (plan, mut run) = recording(&name, dump.end());
    run.started_unix_ns = dump.head.clock.epoch_unix_ns;
    let records: Vec<Record> = dump.records().collect();
    let out = place.name();
    let archive = begin(out, &name, &plan, &run)?;
    conclude(archive, &run, |log| Ok(records.chunks(TOGETHER).try_for_each(|some| log.append(some))?))?;
    report(session, place, records.len() as u64);
    Ok(Imported { path: out.path.clone(), damaged: 0 })
}

/// Adds the remedy for a text that is not one complete result, but has requests.
fn refused(error: ImportError) -> Error {
    match error.problem {
        ImportProblem::Read(_) | ImportProblem::Second { .. } => {
            Error::refused_because(format_args!("{error}; --from load converts the requests alone"))
        }
        _ => Error::refused(error),
    }
}

/// Reports the requests of a complete output.
fn report(session: &Session, place: Destination<'_>, requests: u64) {
    if let Destination::Output(out) = place {
        session.observer.notice(&Notice::Made { path: &out.path, requests });
    }
}

fn begin(out: &OutputName, name: &str, plan: &Plan, run: &RunInfo) -> Result<ArchiveWriter, Error> {
    let environment = serde_json::json!({ "imported_from": name });
    check_absent(&out.option, &out.path).map_err(Error::refused)?;
    ArchiveWriter::create(&out.path, plan, &environment, run).map_err(Error::refused)
}

/// Writes the records and sums up. An incomplete archive is removed.
fn conclude(
    archive: ArchiveWriter,
    run: &RunInfo,
    write: impl FnOnce(&mut LogWriter) -> Result<(), Error>,
) -> Result<(), Error> {
    let dir = archive.dir().to_path_buf();
    let written = archive.record_log().map_err(Error::from).and_then(|mut log| write(&mut log));
    if let Err(error) = written {
        archive.discard();
        return Err(error);
    }
    let options = SummaryOptions::default();
    let (seen, finished) = finish(&archive, run.targets.len(), &options.limits);
    let archive = finished?;
    let info = archive.run().clone();
    let figures = Figures::of_seen(seen, &Input::of_archive(archive)?, &options, &info)?;
    Ok(keep(&dir, &figures, run)?)
}

fn copy(source: &Source, name: &str, log: &mut LogWriter) -> Result<(), Error> {
    let mut waiting: Vec<Record> = Vec::with_capacity(TOGETHER);
    let mut keep = |record: &Record| -> io::Result<()> {
        waiting.push(*record);
        if waiting.len() == TOGETHER {
            log.append(&waiting)?;
            waiting.clear();
        }
        Ok(())
    };
    import(source.text()?, name, &mut keep).map_err(Error::broke)?;
    log.append(&waiting)?;
    Ok(())
}
