//! `iosonar import`: an archive from a result in blkreplay's form, from a latency log of fio, or from a dump of time stamps (`iosonar xdd
//! -ts dump`); a table of cells from IOzone's output.

use crate::args::exchange::ImportArgs;
use crate::commands::convert::print_answer;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::session;
use anyhow::{Context, anyhow};
use iosonar_archive::{ArchiveWriter, LogWriter, Record, RunInfo};
use iosonar_dialect_blkreplay::{Imported, import as read, recording};
use iosonar_dialect_iozone::{import_file, is_iozones};
use iosonar_dialect_xdd::{is_dump, read_dump};
use iosonar_host::output::open_new;
use iosonar_inputs::traces::Reading;
use iosonar_inputs::{Figures, Input, Source, SummaryOptions};
use iosonar_os::bounded;
use iosonar_runner::{finish, keep};
use iosonar_studies::convert::{self, Form, Question};
use iosonar_text::shown;
use iosonar_trace::Format;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Bytes examined to recognise a form: the table of IOzone follows a banner.
const LOOKED_AT: u64 = 1 << 16;
/// Records appended at once.
const TOGETHER: usize = 1024;

/// Makes the archive; reports its path.
pub fn import(args: ImportArgs) -> Result<Exit, Failure> {
    match &args.words[..] {
        [file] => import_by_content(file, &args),
        [word, file] if word.as_os_str() == "iozone" => {
            let source = Source::open(file, args.spool.spool_limit)?;
            import_cells(&source, file, args.out.as_deref())
        }
        [word, ..] => Err(Failure::refused(anyhow!(
            "{}: two words are 'iozone' and a file that IOzone printed; name one file otherwise",
            shown(&word)
        ))),
        [] => unreachable!("the command line has at least one word"),
    }
}

/// Detects the source program from the content.
fn import_by_content(file: &PathBuf, args: &ImportArgs) -> Result<Exit, Failure> {
    let source = Source::open(file, args.spool.spool_limit)?;
    let mut head = Vec::new();
    // An error is reported by the reader of the whole file.
    if let Ok(text) = source.text() {
        let _ = text.take(LOOKED_AT).read_to_end(&mut head);
    }
    match is_iozones(&head) {
        true => import_cells(&source, file, args.out.as_deref()),
        false => import_requests(source, &head, file, args),
    }
}

/// Imports IOzone's output as a table of cells.
fn import_cells(source: &Source, file: &Path, out: Option<&Path>) -> Result<Exit, Failure> {
    let name = shown(&file);
    let refuse = |why: String| Failure::refused(anyhow!("iozone {name}: {why}"));
    let mut bytes = Vec::new();
    source
        .text()?
        .take(bounded::LIST_LIMIT + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| refuse(error.to_string()))?;
    if bytes.len() as u64 > bounded::LIST_LIMIT {
        return Err(refuse(bounded::Unread::TooLarge { limit: bounded::LIST_LIMIT }.to_string()));
    }
    let imported = import_file(&bytes).map_err(|why| refuse(why.to_string()))?;
    imported.notes.iter().for_each(|note| output::print_message(format_args!("{name}: {note}")));
    let stem = file.file_stem().filter(|stem| *stem != "-");
    let stem = stem.map_or("iozone".into(), |stem| stem.to_string_lossy());
    let path = out.map_or_else(|| output::unused_with(&stem, ".json"), Path::to_path_buf);
    let mut written = open_new("--out", &path).map_err(Failure::refused)?;
    let cannot = || format!("cannot write {}", shown(&path));
    written.write_all(imported.table.to_json().as_bytes()).with_context(cannot)?;
    written.publish().with_context(cannot)?;
    println!("{}", shown(&path));
    Ok(Exit::Fine)
}

/// Imports a file of requests as an archive.
fn import_requests(source: Source, head: &[u8], file: &PathBuf, args: &ImportArgs) -> Result<Exit, Failure> {
    let name = shown(file).to_string();
    // These are read by name, and input that can be read only once is a result.
    let is_file = file.is_file();
    if is_file && is_dump(head) {
        return import_dump(file, args, &name);
    }
    if is_file && Format::recognise(head) == Some(Format::FioLatency) {
        return import_latencies(file, args);
    }
    // The plan is written before the records, but derived from all of them: the file is read twice.
    let imported = read(source.text()?, &name, &mut |_| Ok(())).map_err(Failure::refused)?;
    print_imported(&imported, &name);
    let stem = file.file_name().map_or("import".into(), |f| f.to_string_lossy());
    let stem = stem.trim_end_matches(".gz").trim_end_matches(".replay");
    let dir = args.out.clone().unwrap_or_else(|| output::unused_name(stem));
    let environment = serde_json::json!({ "imported_from": name });
    let archive =
        ArchiveWriter::create(&dir, &imported.plan, &environment, &imported.run).map_err(Failure::refused)?;
    conclude(archive, &imported.run, |log| copy(&source, &name, log))
}

/// Writes the records, sums up, and reports the path. An incomplete archive is removed.
fn conclude(
    archive: ArchiveWriter,
    run: &RunInfo,
    write: impl FnOnce(&mut LogWriter) -> Result<(), Failure>,
) -> Result<Exit, Failure> {
    let dir = archive.dir().to_path_buf();
    let written = archive.record_log().map_err(Failure::from).and_then(|mut log| write(&mut log));
    if let Err(failure) = written {
        archive.discard();
        return Err(failure);
    }
    let options = SummaryOptions::default();
    let (seen, finished) = finish(&archive, run.targets.len(), &options.limits);
    let archive = finished?;
    let info = archive.run().clone();
    let figures = Figures::of_seen(seen, &Input::of_archive(archive)?, &options, &info)?;
    keep(&dir, &figures, run)?;
    println!("{}", shown(&dir));
    Ok(Exit::Fine)
}

/// Imports a latency log of fio: a conversion of it.
fn import_latencies(file: &Path, args: &ImportArgs) -> Result<Exit, Failure> {
    let stem = file.file_name().map_or("import".into(), |f| f.to_string_lossy());
    let stem = stem.trim_end_matches(".gz").trim_end_matches(".log");
    let dir = args.out.clone().unwrap_or_else(|| output::unused_name(stem));
    let question = Question {
        inputs: vec![file.to_path_buf()],
        out: dir.clone(),
        form: Form::Archive,
        reading: Reading::default(),
        split: None,
        fio_file: String::new(),
        origin: Some(format!("made by iosonar import of {}", shown(&file))),
    };
    let answer = convert::run(&session::printing(), &question, &mut io::sink())?;
    print_answer(&answer);
    println!("{}", shown(&dir));
    Ok(if answer.written.requests == 0 { Exit::Failed } else { Exit::Fine })
}

fn import_dump(file: &Path, args: &ImportArgs, name: &str) -> Result<Exit, Failure> {
    let bytes = bounded::read(file, bounded::DUMP_LIMIT)
        .with_context(|| name.to_string())
        .map_err(Failure::refused)?;
    let dump = read_dump(&bytes).with_context(|| name.to_string()).map_err(Failure::refused)?;
    let (plan, mut run) = recording(name, dump.end());
    run.started_unix_ns = dump.head.clock.epoch_unix_ns;
    let stem = file.file_name().map_or("import".into(), |f| f.to_string_lossy());
    let dir = args.out.clone().unwrap_or_else(|| output::unused_name(stem.trim_end_matches(".bin")));
    let environment = serde_json::json!({ "imported_from": name });
    let archive = ArchiveWriter::create(&dir, &plan, &environment, &run).map_err(Failure::refused)?;
    let records: Vec<Record> = dump.records().collect();
    conclude(archive, &run, |log| Ok(records.chunks(TOGETHER).try_for_each(|some| log.append(some))?))
}

fn copy(source: &Source, name: &str, log: &mut LogWriter) -> Result<(), Failure> {
    let mut waiting: Vec<Record> = Vec::with_capacity(TOGETHER);
    let mut keep = |record: &Record| -> io::Result<()> {
        waiting.push(*record);
        if waiting.len() == TOGETHER {
            log.append(&waiting)?;
            waiting.clear();
        }
        Ok(())
    };
    read(source.text()?, name, &mut keep)?;
    log.append(&waiting)?;
    Ok(())
}

/// Reports unreadable lines and inconsistencies.
fn print_imported(imported: &Imported, name: &str) {
    for bad in &imported.bad_lines {
        output::print_message_now(format_args!("{name}: {bad}: skipped"));
    }
    for doubt in &imported.doubts {
        output::print_message_now(format_args!("{name}: {doubt}"));
    }
}
