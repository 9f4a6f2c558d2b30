//! The records of an archive as text.

use super::form::RecordForm;
use super::question::Question;
use crate::new_text::NewText;
use flate2::Compression;
use iosonar_archive::{Archive, ArchiveError, CsvWriter, JsonWriter, Record};
use iosonar_dialect_blkreplay::ExportError;
use iosonar_plan::Stamp;
use iosonar_runner::{Error, Notice, Session};
use iosonar_text::csv;
use iosonar_text::shown;
use std::io::{self, Write};
use std::path::Path;

/// Writes the records of `archive`, which came from `input`, to the question's output. Reports remarks on damage, and
/// returns their number.
///
/// # Errors
/// The target is not one of the archive's, the archive is damaged, or the output exists or cannot be written.
pub fn records(
    session: &Session,
    question: &Question,
    (archive, input): (&Archive, &Path),
    form: RecordForm,
    standard_output: &mut dyn Write,
) -> Result<u64, Error> {
    let chosen = Chosen { archive, target: target(question, archive.plan().targets.len(), input, form)? };
    let out = question.out_or_standard();
    let text = NewText { option: &out.option, path: &out.path, level: Compression::default() };
    text.write(standard_output, |_| true, |out| chosen.write(session, form, question.csv_safe, out))
}

/// The requested target of an input with `targets` of them; `None` means all, in a form that distinguishes them.
///
/// # Errors
/// The input does not have the target, or the form needs a choice.
pub fn target(
    question: &Question,
    targets: usize,
    input: &Path,
    form: RecordForm,
) -> Result<Option<u16>, Error> {
    let (name, last) = (shown(input), targets.saturating_sub(1));
    match question.target {
        Some(n) if usize::from(n) >= targets => {
            Err(Error::refused_because(format_args!("--target {n}: {name} has targets 0 to {last}")))
        }
        None if targets > 1 && form == RecordForm::Replay => Err(Error::refused_because(format_args!(
            "{name} has {targets} targets, and blkreplay's form holds one: choose it with --target 0 … {last}"
        ))),
        chosen => Ok(chosen),
    }
}

/// Records of an archive: of one target, or all.
struct Chosen<'a> {
    archive: &'a Archive,
    target: Option<u16>,
}

impl Chosen<'_> {
    /// Returns the number of remarks on damage.
    fn write(
        &self,
        session: &Session,
        form: RecordForm,
        csv_safe: bool,
        mut out: &mut dyn Write,
    ) -> Result<u64, Error> {
        let stamp = self.archive.plan().stamp().map_or("", Stamp::text);
        match form {
            RecordForm::Replay => {
                let target = self.target.unwrap_or(0);
                let exported = iosonar_dialect_blkreplay::export(self.archive, target, &mut out);
                exported.map_err(of_export)?;
                // The export does not report the damage of a log.
                if self.archive.is_unfinished() { self.each(session, &mut |_| Ok(())) } else { Ok(0) }
            }
            RecordForm::Csv => {
                let form = csv::Form { safe: csv_safe, crlf: false };
                let mut csv = CsvWriter::with_form(&mut out, stamp, form)?;
                let remarks = self.each(session, &mut |record| csv.push(record))?;
                csv.finish()?;
                Ok(remarks)
            }
            RecordForm::Json => {
                let mut json = JsonWriter::new(&mut out, stamp);
                let remarks = self.each(session, &mut |record| json.push(record))?;
                json.finish()?;
                Ok(remarks)
            }
        }
    }

    /// Pushes the records; reports remarks on damage, and returns their number.
    fn each(&self, session: &Session, push: &mut dyn FnMut(&Record) -> io::Result<()>) -> Result<u64, Error> {
        let mut written = Ok(());
        let read: Result<_, ArchiveError> = self.archive.for_each_record(&mut |record| {
            if written.is_ok() && self.target.is_none_or(|target| target == record.target) {
                written = push(record);
            }
        });
        written?;
        let remarks = read?.remarks();
        for remark in &remarks {
            let remark = format!("{}: {remark}", shown(self.archive.dir()));
            session.observer.notice(&Notice::Remark(&remark));
        }
        Ok(remarks.len() as u64)
    }
}

/// A damaged archive is refused; otherwise the work broke.
fn of_export(error: ExportError) -> Error {
    match error {
        ExportError::Archive(error) => error.into(),
        other => Error::broke(other),
    }
}
