//! Changes or lists the notes of a result.

use super::{Answer, Change, Question};
use iosonar_analyze::Limits;
use iosonar_archive::{Archive, ArchiveError, MOST_NOTES, Note};
use iosonar_inputs::{Input, open_archive};
use iosonar_runner::Error;
use iosonar_text::shown;
use std::io::ErrorKind;

/// Returns the notes of a result, after their change. Its records and figures stay as they are.
///
/// # Errors
/// The directory is not a result, is being written, or cannot be written to; the note or its number is invalid.
pub fn run(question: &Question) -> Result<Answer, Error> {
    let archive = open_archive(&question.result).map_err(Error::refused)?;
    if let Some(change) = &question.change {
        changed(&archive, change)?;
    }
    let notes = archive.notes().map_err(Error::refused)?;
    Ok(Answer { notes, end_ns: end_of(archive) })
}

fn changed(archive: &Archive, change: &Change) -> Result<(), Error> {
    let dir = shown(&archive.dir()).to_string();
    if archive.is_being_written() {
        return Err(Error::refused_because(format_args!(
            "{dir} is being written: repeat this when the run has ended; if it was killed, wait 10 s"
        )));
    }
    let change = |notes: &mut Vec<Note>| match change {
        Change::Add { from_ns, to_ns, text } => add(notes, Note::new(*from_ns, *to_ns, text)?),
        Change::Remove(number) => remove(notes, *number),
    };
    let outcome = archive.change_notes(change).map_err(|error| refusal(&dir, error))?;
    outcome.map_err(Error::refused_because)
}

fn add(notes: &mut Vec<Note>, note: Note) -> Result<(), String> {
    if notes.len() >= MOST_NOTES {
        return Err(format!(
            "the result has {MOST_NOTES} notes, which is the limit: remove one (--remove N)"
        ));
    }
    notes.push(note);
    Ok(())
}

fn remove(notes: &mut Vec<Note>, number: usize) -> Result<(), String> {
    if number == 0 || number > notes.len() {
        let known = match notes.len() {
            0 => "there are no notes".into(),
            most => format!("there are notes 1 to {most} (--list)"),
        };
        return Err(format!("no note {number}: {known}"));
    }
    notes.remove(number - 1);
    Ok(())
}

/// A directory that cannot be written to is refused with a remedy.
fn refusal(dir: &str, error: ArchiveError) -> Error {
    if error.is_busy() {
        let why = format!("the notes of {dir} are being changed by another command: repeat this one");
        return Error::refused_because(why);
    }
    match &error {
        ArchiveError::Io { error: cause, .. } if is_unwritable(cause.kind()) => {
            Error::refused_because(format_args!(
                "{error}: notes are kept in the directory of the result; copy it to a place that you may write to (cp -a), and note \
                 it there"
            ))
        }
        _ if error.is_damage() => Error::refused(error),
        _ => Error::broke(error),
    }
}

fn is_unwritable(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

/// The last completion, from the summary that is kept with the result.
fn end_of(archive: Archive) -> Option<u64> {
    let summary = Input::of_archive(archive).ok()?.summary(&Limits::default())?;
    Some(summary.span.end_ns())
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_runner::ErrorKind as Kind;

    #[test]
    fn read_only_directories_are_refused_with_a_remedy() {
        for kind in [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem] {
            let error =
                refusal("first", ArchiveError::Io { path: "first/notes.jsonl".into(), error: kind.into() });
            assert_eq!(error.kind(), Kind::Refused);
            let text = error.into_cause().to_string();
            assert!(text.starts_with("first/notes.jsonl: ") && text.contains("(cp -a)"), "{text}");
        }
        let full = ArchiveError::Io { path: "a".into(), error: ErrorKind::StorageFull.into() };
        assert_eq!(refusal("first", full).kind(), Kind::Broke);
        let busy = ArchiveError::Io { path: "a".into(), error: ErrorKind::WouldBlock.into() };
        assert!(refusal("first", busy).into_cause().to_string().contains("by another command: repeat"));
    }

    #[test]
    fn number_of_notes_is_limited_and_unknown_numbers_are_named() {
        let note = Note::new(0, 1, "a").unwrap();
        let mut notes = vec![note.clone(); MOST_NOTES];
        assert!(add(&mut notes, note).unwrap_err().contains("100 notes, which is the limit"));
        assert_eq!(remove(&mut notes, 101).unwrap_err(), "no note 101: there are notes 1 to 100 (--list)");
        assert!(remove(&mut notes, 0).is_err());
        remove(&mut notes, 100).unwrap();
        assert_eq!(notes.len(), MOST_NOTES - 1);
        assert_eq!(remove(&mut Vec::new(), 1).unwrap_err(), "no note 1: there are no notes");
    }
}
