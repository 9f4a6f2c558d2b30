//! `iosonar import`: an archive from a result in blkreplay's form.

use crate::analysis::Figures;
use crate::args::ImportArgs;
use crate::exit::{Exit, Failure};
use crate::inputs::{Input, text};
use crate::output;
use crate::session;
use iosonar_analyze::Limits;
use iosonar_archive::{ArchiveWriter, LogWriter, Record};
use iosonar_dialect_blkreplay::{Imported, import as read};
use std::io;
use std::path::Path;

/// Makes the archive; says where it is.
pub fn import(args: ImportArgs) -> Result<Exit, Failure> {
    let name = args.file.display().to_string();
    // The plan stands before the records, and what it is made from behind them: the file is read twice.
    let imported = read(text(&args.file)?, &name, &mut |_| Ok(())).map_err(Failure::refused)?;
    tell(&imported, &name);
    let stem = args.file.file_name().map_or("import".into(), |f| f.to_string_lossy());
    let stem = stem.trim_end_matches(".gz").trim_end_matches(".replay");
    let dir = args.out.clone().unwrap_or_else(|| output::unused_name(stem));
    let environment = serde_json::json!({ "imported_from": name });
    let archive =
        ArchiveWriter::create(&dir, &imported.plan, &environment, &imported.run).map_err(Failure::refused)?;
    let mut log = archive.record_log()?;
    copy(&args.file, &name, &mut log)?;
    drop(log);
    let archive = archive.finish()?;
    let figures = Figures::of(&Input::of_archive(archive)?, &Limits::default())?;
    session::keep(&dir, &figures, &imported.run)?;
    println!("{}", dir.display());
    Ok(Exit::Fine)
}

fn copy(path: &Path, name: &str, log: &mut LogWriter) -> Result<(), Failure> {
    /// Records that are appended at once.
    const TOGETHER: usize = 1024;
    let mut waiting: Vec<Record> = Vec::with_capacity(TOGETHER);
    let mut keep = |record: &Record| -> io::Result<()> {
        waiting.push(*record);
        if waiting.len() == TOGETHER {
            log.append(&waiting)?;
            waiting.clear();
        }
        Ok(())
    };
    read(text(path)?, name, &mut keep)?;
    log.append(&waiting)?;
    Ok(())
}

/// What could not be read, or does not fit together.
fn tell(imported: &Imported, name: &str) {
    for bad in &imported.bad_lines {
        eprintln!("{name}: {bad}: skipped");
    }
    for doubt in &imported.doubts {
        eprintln!("{name}: {doubt}");
    }
}
