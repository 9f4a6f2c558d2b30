//! Detects what the inputs are, from their content.

use super::form::{Form, RecordForm, RequestForm};
use super::question::{Declared, Question};
use iosonar_archive::Archive;
use iosonar_dialect_iozone::{is_iozones, is_printed};
use iosonar_dialect_xdd::is_dump;
use iosonar_inputs::{Source, is_result, open_records};
use iosonar_runner::Error;
use iosonar_trace::Format;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes examined to recognise a form: the table of IOzone follows a banner.
const LOOKED_AT: u64 = 1 << 16;

/// Kind of the inputs.
pub enum Detected {
    /// IOzone's output.
    Iozone(Source),
    /// An archive whose records are written as text.
    Archive(Box<Archive>, RecordForm),
    /// Requests with or without their times.
    Input(Input),
}

/// An input of requests.
pub enum Input {
    /// Traces, loads and archives, whose requests are merged.
    Traces,
    /// A latency log of fio, which is a trace, too.
    LatencyLog,
    /// A result in blkreplay's form.
    Result(Source),
    /// A dump of XDD's time stamps.
    Dump(PathBuf),
}

impl Input {
    /// Whether it is the result of a program.
    pub fn is_result(&self) -> bool {
        !matches!(self, Input::Traces)
    }

    /// A file's name without the endings that are usual for the kind.
    pub fn stem<'a>(&self, name: &'a str) -> &'a str {
        let endings: &[&str] = match self {
            Input::Traces => &[".gz", ".load"],
            Input::LatencyLog => &[".gz", ".log"],
            Input::Result(_) => &[".gz", ".replay"],
            Input::Dump(_) => &[".bin"],
        };
        endings.iter().fold(name, |stem, ending| stem.trim_end_matches(ending))
    }
}

/// Detects the kind of the inputs, unless the question declares it.
///
/// # Errors
/// Several inputs are declared as one, or a declared input cannot be read.
pub fn detect(question: &Question) -> Result<Detected, Error> {
    let open = |path: &Path| Source::open(path, question.spool_limit);
    match (&question.inputs[..], question.declared) {
        ([path], Some(Declared::Iozone)) => Ok(Detected::Iozone(open(path)?)),
        ([path], Some(Declared::Result)) => Ok(declared_result(path, open(path)?)),
        (inputs, Some(declared)) => Err(Error::refused_because(format_args!(
            "--from {}: {} inputs are named, and results are not merged: name one",
            declared.word(),
            inputs.len()
        ))),
        // A choice of requests makes any input a trace, and so does a split.
        ([path], None) if !question.reading.is_chosen() && question.split.is_none() => {
            by_content(path, question)
        }
        (_, None) => Ok(Detected::Input(Input::Traces)),
    }
}

/// A result, which is not mistaken for a load.
fn declared_result(path: &Path, source: Source) -> Detected {
    let head = head_of(&source);
    // These are read by name, and input that can be read only once is a result in blkreplay's form.
    let is_file = path.is_file();
    match () {
        () if is_iozones(&head) => Detected::Iozone(source),
        () if is_file && is_dump(&head) => Detected::Input(Input::Dump(path.into())),
        () if is_file && Format::recognise(&head) == Some(Format::FioLatency) => {
            Detected::Input(Input::LatencyLog)
        }
        () => Detected::Input(Input::Result(source)),
    }
}

fn by_content(path: &Path, question: &Question) -> Result<Detected, Error> {
    let form = question.form_of_traces();
    if let Some(Form::Records(form)) = form
        && path.is_dir()
    {
        return Ok(Detected::Archive(Box::new(open_records(path).map_err(Error::refused)?), form));
    }
    // A pipe cannot be read twice. Why a file cannot be opened is reported by the reader of traces.
    let source = Some(path).filter(|path| path.is_file()).and_then(|path| Source::open(path, None).ok());
    let Some(source) = source else { return Ok(Detected::Input(Input::Traces)) };
    let head = head_of(&source);
    let is_about_records =
        matches!(form, None | Some(Form::Requests(RequestForm::Archive) | Form::Records(_)));
    let input = match Format::recognise(&head) {
        _ if is_printed(&head) => return Ok(Detected::Iozone(source)),
        _ if is_dump(&head) => Input::Dump(path.into()),
        Some(Format::FioLatency) => Input::LatencyLog,
        Some(Format::Load) if is_about_records && is_result(&source)? => Input::Result(source),
        _ => Input::Traces,
    };
    Ok(Detected::Input(input))
}

/// The start of a text. An error is reported by the reader of the whole file.
fn head_of(source: &Source) -> Vec<u8> {
    let mut head = Vec::new();
    if let Ok(text) = source.text() {
        let _ = text.take(LOOKED_AT).read_to_end(&mut head);
    }
    head
}
