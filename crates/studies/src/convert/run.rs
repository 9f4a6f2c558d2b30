//! Converts traces, results and archives.

use super::answer::Answer;
use super::cells::cells;
use super::detect::{Detected, Input, detect};
use super::form::{Destination, Form, RecordForm, RequestForm};
use super::question::Question;
use super::records::{records, target};
use super::requests::requests;
use super::results::{of_dump, of_replay};
use anyhow::Context;
use iosonar_host::Root;
use iosonar_host::output::{Existing, Gate, OutputName, is_standard_output};
use iosonar_inputs::open_archive;
use iosonar_os::made::OwnDir;
use iosonar_os::temporary::explained;
use iosonar_runner::{Error, Session};
use iosonar_text::shown;
use std::env::temp_dir;
use std::io::{self, Write};

/// Converts the inputs. Requests for an output `-` go to `standard_output` when they are complete, other texts while they are made.
///
/// # Errors
/// An input cannot be read, the output exists or cannot be written, or the form cannot represent the inputs.
pub fn run(session: &Session, question: &Question, standard_output: &mut dyn Write) -> Result<Answer, Error> {
    question.check()?;
    let input = match detect(question)? {
        Detected::Iozone(source) => {
            return cells(session, question, &source, standard_output).map(Answer::Imported);
        }
        Detected::Archive(archive, form) => {
            let input = &question.inputs[0];
            let damaged = records(session, question, (&archive, input), form, standard_output)?;
            return Ok(Answer::Records { damaged });
        }
        Detected::Input(input) => input,
    };
    match question.form_of_traces() {
        Some(Form::Requests(form)) => to_output(session, question, &input, form, standard_output),
        Some(Form::Records(form)) => through_archive(session, question, &input, form, standard_output),
        None if input.is_result() => {
            to_output(session, question, &input, RequestForm::Archive, standard_output)
        }
        None => Err(Error::refused_because(
            "only one file is named: name the new file after it, or the form of the output with --to",
        )),
    }
}

/// Writes requests to the question's output, or to a new one.
fn to_output(
    session: &Session,
    question: &Question,
    input: &Input,
    form: RequestForm,
    standard_output: &mut dyn Write,
) -> Result<Answer, Error> {
    let out = match form {
        RequestForm::Archive => question.out_or_new(|name| input.stem(name), ".iosonar"),
        RequestForm::Parquet => question.out_or_new(|name| input.stem(name), ".parquet"),
        _ => question.out_or_standard(),
    };
    let answer = convert(session, question, input, (form, Destination::Output(&out)), standard_output)?;
    Ok(match answer {
        Answer::Requests(requests) if question.out.is_none() && !is_standard_output(&out.path) => {
            Answer::Requests(super::Requests { made: Some(out.path), ..requests })
        }
        other => other,
    })
}

fn convert(
    session: &Session,
    question: &Question,
    input: &Input,
    (form, place): (RequestForm, Destination<'_>),
    standard_output: &mut dyn Write,
) -> Result<Answer, Error> {
    let is_archive = form == RequestForm::Archive;
    match input {
        Input::Traces | Input::LatencyLog => {
            requests(session, question, form, place, standard_output).map(Answer::Requests)
        }
        Input::Result(source) if is_archive => of_replay(session, source, place).map(Answer::Imported),
        Input::Dump(dump) if is_archive => of_dump(session, dump, place).map(Answer::Imported),
        Input::Result(_) | Input::Dump(_) => Err(Error::refused_because(format_args!(
            "{} is a result: convert it to an archive first (--to archive), and that to this form",
            shown(&question.inputs[0])
        ))),
    }
}

/// Writes the records of inputs that are not an archive: of an archive that is made of them, and removed.
fn through_archive(
    session: &Session,
    question: &Question,
    input: &Input,
    form: RecordForm,
    standard_output: &mut dyn Write,
) -> Result<Answer, Error> {
    // Before time is spent on the archive.
    let out = question.out_or_standard();
    Gate::new(&Root::default()).check(&out, Existing::Keep).map_err(Error::refused)?;
    if let Input::Result(_) | Input::Dump(_) = input {
        target(question, 1, &question.inputs[0], form)?;
    }
    let kept = OwnDir::new_in(&temp_dir(), "convert").map_err(explained);
    let kept = kept.context("cannot keep the records").map_err(Error::refused)?;
    let path = OutputName::new("--out", kept.path().join("archive"));
    let made = (RequestForm::Archive, Destination::Temporary(&path));
    let answer = convert(session, question, input, made, &mut io::sink())?;
    if matches!(&answer, Answer::Requests(requests) if requests.written.requests == 0) {
        return Ok(answer);
    }
    let archive = open_archive(&path.path).map_err(Error::refused)?;
    records(session, question, (&archive, &question.inputs[0]), form, standard_output)?;
    // After everything that may refuse: a command that is refused changes nothing.
    kept.remove_leftovers();
    Ok(match answer {
        Answer::Imported(imported) => Answer::Records { damaged: imported.damaged },
        other => other,
    })
}

#[cfg(test)]
mod tests;
