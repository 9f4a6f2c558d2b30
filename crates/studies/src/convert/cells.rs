//! IOzone's output as a table of cells, which `compare` reads.

use super::answer::Imported;
use super::form::{Form, RecordForm};
use super::question::Question;
use crate::new_text::NewText;
use flate2::Compression;
use iosonar_dialect_iozone::import_file;
use iosonar_inputs::Source;
use iosonar_os::bounded;
use iosonar_runner::{Error, Notice, Session};
use iosonar_text::shown;
use std::io::{Read, Write};

/// Writes the table as JSON.
///
/// # Errors
/// The output is not IOzone's, another form was requested, or the table cannot be written.
pub fn cells(
    session: &Session,
    question: &Question,
    source: &Source,
    standard_output: &mut dyn Write,
) -> Result<Imported, Error> {
    let name = shown(source.path());
    let refuse = |why: String| Error::refused_because(format_args!("iozone {name}: {why}"));
    if !matches!(question.form(), None | Some(Form::Records(RecordForm::Json))) {
        return Err(refuse("IOzone's output becomes a table of cells: use --to json".into()));
    }
    let imported = import_file(&read(source).map_err(&refuse)?).map_err(|why| refuse(why.to_string()))?;
    let notice = |note: &String| session.observer.notice(&Notice::Caution(&format!("{name}: {note}")));
    imported.notes.iter().for_each(notice);
    let out = question.out_or_new(without_extension, ".json");
    let text = NewText { option: &out.option, path: &out.path, level: Compression::default() };
    let json = imported.table.to_json();
    text.write(standard_output, |()| true, |file| Ok(file.write_all(json.as_bytes())?))?;
    Ok(Imported { path: out.path, damaged: 0 })
}

fn read(source: &Source) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let text = source.text().map_err(|error| error.to_string())?;
    text.take(bounded::LIST_LIMIT + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > bounded::LIST_LIMIT {
        return Err(bounded::Unread::TooLarge { limit: bounded::LIST_LIMIT }.to_string());
    }
    Ok(bytes)
}

fn without_extension(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}
