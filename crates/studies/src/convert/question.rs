//! Traces, results and archives to convert, and their new form.

use super::form::{Form, RecordForm, RequestForm};
use iosonar_host::output::{OutputName, is_standard_output, unused};
use iosonar_inputs::traces::Reading;
use iosonar_plan::ByteSize;
use iosonar_runner::Error;
use iosonar_trace::Format;
use std::path::PathBuf;

/// Inputs, and the form that they get.
#[derive(Debug, Clone)]
pub struct Question {
    /// Traces, loads and archives, which are merged by time, or one result; `-` is standard input.
    pub inputs: Vec<PathBuf>,
    /// The declared kind of the input; `None`: detected from its content.
    pub declared: Option<Declared>,
    /// The output, which must not exist; `-` is standard output. `None`: standard output for a text, a new name for an archive and for a
    /// table of cells.
    pub out: Option<OutputName>,
    /// Form of the output; `None`: that of its name, else the form that suits the input.
    pub form: Option<Form>,
    /// How traces are read.
    pub reading: Reading,
    /// Whether there is one output for each device or process, named after `out`.
    pub split: Option<Split>,
    /// File name in a log of fio.
    pub fio_file: String,
    /// The target whose records are written as text; `None`: all.
    pub target: Option<u16>,
    /// Writes an apostrophe before words of a CSV that a spreadsheet would take for formulas.
    pub csv_safe: bool,
    /// Maximum size of a result that comes from a pipe.
    pub spool_limit: Option<ByteSize>,
}

/// A kind of input that its user declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Declared {
    /// The result of a program, not a load or trace: of blkreplay, fio (latency log), XDD (dump of time stamps) or IOzone.
    Result,
    /// IOzone's output.
    Iozone,
}

impl Declared {
    /// Its word as value of `--from`.
    pub fn word(self) -> &'static str {
        match self {
            Declared::Result => "result",
            Declared::Iozone => "iozone",
        }
    }

    /// The kind with this word.
    pub fn of_word(word: &str) -> Option<Declared> {
        [Declared::Result, Declared::Iozone].into_iter().find(|declared| declared.word() == word)
    }
}

/// By what an output is split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// By device.
    Device,
    /// By process name.
    Process,
}

impl Question {
    /// The conversion of `inputs` with default options.
    pub fn of(inputs: Vec<PathBuf>, out: Option<OutputName>, form: Option<Form>) -> Question {
        Question {
            inputs,
            declared: None,
            out,
            form,
            reading: Reading::default(),
            split: None,
            fio_file: "/dev/replayed".into(),
            target: None,
            csv_safe: false,
            spool_limit: None,
        }
    }

    /// The form: as set, or selected by the ending of the output's name.
    pub fn form(&self) -> Option<Form> {
        self.form.or_else(|| Form::of_name(&self.out.as_ref()?.path))
    }

    /// The form of requests and records: without a form, standard output gets a load, and any other output becomes an archive.
    pub fn form_of_traces(&self) -> Option<Form> {
        let default = |out: &OutputName| match is_standard_output(&out.path) {
            true => RequestForm::Load,
            false => RequestForm::Archive,
        };
        self.form().or_else(|| Some(Form::Requests(default(self.out.as_ref()?))))
    }

    /// Refuses options that the form or the declared kind does not have.
    pub(super) fn check(&self) -> Result<(), Error> {
        self.check_declared()?;
        let form = self.form();
        if self.csv_safe && form != Some(Form::Records(RecordForm::Csv)) {
            return Err(Error::refused_because("--csv-safe has no effect without --to csv: remove it"));
        }
        let is_text_of_records = matches!(form, Some(Form::Records(_)));
        if self.target.is_some() && !is_text_of_records {
            return Err(Error::refused_because(
                "--target has no effect without --to replay, csv or json: remove it",
            ));
        }
        if self.split.is_some() && is_text_of_records {
            return Err(Error::refused_because(
                "--split makes loads, logs, lists and archives: convert to archives first",
            ));
        }
        Ok(())
    }

    /// Refuses options of traces, if the input is declared a result.
    fn check_declared(&self) -> Result<(), Error> {
        let Some(declared) = self.declared else { return Ok(()) };
        let reading = &self.reading;
        let options = [
            ("--device", !reading.devices.is_empty()),
            ("--process", !reading.processes.is_empty()),
            ("--at", reading.at.is_some()),
            ("--direction", reading.direction.is_some()),
            ("--blkparse-format", matches!(reading.from, Some(Format::Blkparse(_)))),
            ("--keep-order", reading.keep_order),
            ("--split", self.split.is_some()),
        ];
        options.iter().find(|(_, is_set)| *is_set).map_or(Ok(()), |(option, _)| {
            let from = declared.word();
            Err(Error::refused_because(format_args!("{option} has no effect with --from {from}: remove it")))
        })
    }

    /// The output; without one a new name: the `stem` of the input's name, and `ending`. The stem is `import` for standard input and for
    /// paths without a name, as `.` is.
    pub(super) fn out_or_new(&self, stem: impl Fn(&str) -> &str, ending: &str) -> OutputName {
        let new = || {
            let name = self.inputs.first().and_then(|input| input.file_name()).filter(|name| *name != "-");
            let name = name.map_or("import".into(), |name| name.to_string_lossy());
            let stem = Some(stem(&name)).filter(|stem| !stem.is_empty()).unwrap_or(&name);
            OutputName::new("--out", unused(stem, ending))
        };
        self.out.clone().unwrap_or_else(new)
    }

    /// The output, or standard output.
    pub(super) fn out_or_standard(&self) -> OutputName {
        self.out.clone().unwrap_or_else(|| OutputName::new("--out", "-"))
    }
}
