//! Answers that are kept in the directories of studies: their text, their figures, and the comparison of two.

mod comparison;
mod figures;
mod matrices;

pub use comparison::{AnswerComparison, Compared, compare};
pub use figures::{Figure, figures};
pub use matrices::{NamedTable, matrices};

use figures::{KneeAnswer, LayoutAnswer, read};
use iosonar_analyze::Statement;
use iosonar_inputs::{Study, StudyKind};
use iosonar_os::bounded::{ARCHIVE_LIMIT, read_text};
use iosonar_runner::Error;
use iosonar_text::{one_line, shown};

/// The file with the answer, unchanged.
///
/// # Errors
/// The file cannot be read.
pub fn json(study: &Study) -> Result<String, Error> {
    let path = study.file();
    read_text(&path, ARCHIVE_LIMIT)
        .map_err(|error| Error::refused(error).context(format!("cannot read {}", shown(&path))))
}

/// The answer for people, and the path of its files.
///
/// # Errors
/// The file cannot be read, or holds no answer of its command.
pub fn text(study: &Study) -> Result<String, Error> {
    let answer = match study.kind {
        StudyKind::Matrix => matrices::text(study.dir(), &json(study)?)?,
        StudyKind::Knee => {
            let answer = read::<KneeAnswer>(study)?;
            told(answer.story.as_ref()) + &sentences(&answer.sentences)
        }
        StudyKind::Layout => {
            let answer = read::<LayoutAnswer>(study)?;
            let figures = answer.table() + "\n" + &sentences(&answer.conclusion) + &answer.cautions();
            told(answer.story.as_ref()) + &figures
        }
    };
    Ok(format!("{answer}\n{study}\n"))
}

/// The story at the head of an answer; empty for an answer of an earlier version.
fn told(story: Option<&Statement>) -> String {
    story.map_or(String::new(), |story| iosonar_plaintext::statement(story) + "\n")
}

fn sentences(sentences: &[String]) -> String {
    sentences.iter().map(|sentence| one_line(sentence) + "\n").collect()
}
