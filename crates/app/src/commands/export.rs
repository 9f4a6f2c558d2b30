//! `iosonar export`: converts records to another form.

use super::open;
use crate::args::exchange::{ExportArg, ExportArgs};
use crate::exit::{Exit, Failure};
use crate::output::print_message;
use anyhow::{Context, anyhow};
use iosonar_archive::{Archive, ArchiveError, CsvWriter, JsonWriter, Record};
use iosonar_host::output::open_new;
use iosonar_text::csv::Form;
use iosonar_text::shown;
use std::io::{self, BufWriter, Write};

/// Writes records to a file or to standard output.
pub fn export(args: ExportArgs) -> Result<Exit, Failure> {
    if args.csv_safe && !matches!(args.to, ExportArg::Csv) {
        return Err(Failure::refused(anyhow!("--csv-safe has no effect without --to csv: remove it")));
    }
    let archive = open(&args.dir)?;
    let target = target(&args, &archive)?;
    let Some(path) = &args.out else {
        let mut out = BufWriter::new(io::stdout().lock());
        write(&args, &archive, target, &mut out)?;
        out.flush()?;
        return Ok(Exit::Fine);
    };
    let mut out = open_new("--out", path).map_err(Failure::refused)?;
    write(&args, &archive, target, &mut out)?;
    out.publish().with_context(|| format!("cannot write {}", shown(&path)))?;
    Ok(Exit::Fine)
}

fn write(
    args: &ExportArgs,
    archive: &Archive,
    target: Option<u16>,
    mut out: &mut dyn Write,
) -> Result<(), Failure> {
    let stamp = archive.plan().stamp().map_or("", iosonar_plan::Stamp::text);
    match args.to {
        ExportArg::Replay => {
            iosonar_dialect_blkreplay::export(archive, target.unwrap_or(0), &mut out)?;
        }
        ExportArg::Csv => {
            let mut csv = CsvWriter::with_form(&mut out, stamp, Form { safe: args.csv_safe, crlf: false })?;
            each(archive, target, &mut |record| csv.push(record))?;
            csv.finish()?;
        }
        ExportArg::Json => {
            let mut json = JsonWriter::new(&mut out, stamp);
            each(archive, target, &mut |record| json.push(record))?;
            json.finish()?;
        }
    }
    Ok(())
}

/// The requested target; `None` means all, in a form that distinguishes them.
fn target(args: &ExportArgs, archive: &Archive) -> Result<Option<u16>, Failure> {
    let targets = archive.plan().targets.len();
    match args.target {
        Some(n) if usize::from(n) >= targets => Err(Failure::refused(anyhow!(
            "--target {n}: {} has targets 0 to {}",
            shown(&args.dir),
            targets - 1
        ))),
        None if targets > 1 && matches!(args.to, ExportArg::Replay) => Err(Failure::refused(anyhow!(
            "{} has {targets} targets, and blkreplay's form holds one: choose it with --target 0 … {}",
            shown(&args.dir),
            targets - 1
        ))),
        chosen => Ok(chosen),
    }
}

fn each(
    archive: &Archive,
    target: Option<u16>,
    push: &mut dyn FnMut(&Record) -> io::Result<()>,
) -> Result<(), Failure> {
    let mut written = Ok(());
    let read: Result<_, ArchiveError> = archive.for_each_record(&mut |record| {
        if written.is_ok() && target.is_none_or(|t| t == record.target) {
            written = push(record);
        }
    });
    written?;
    for remark in read?.remarks() {
        print_message(format_args!("iosonar: {}: {remark}", shown(&archive.dir())));
    }
    Ok(())
}
