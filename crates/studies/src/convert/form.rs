//! Forms of the output.

use iosonar_host::output::OutputName;
use iosonar_trace::fio::Version;
use std::path::Path;

/// An output form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Requests, in a form that can be replayed or read again.
    Requests(RequestForm),
    /// Records of a run, as text.
    Records(RecordForm),
}

/// A form of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestForm {
    /// blkreplay's load.
    Load,
    /// fio's I/O log.
    Fio(Version),
    /// XDD's seek list.
    SeekList,
    /// A directory.
    Archive,
    /// Records alone.
    Parquet,
}

/// A text of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordForm {
    /// blkreplay's columns and statistics, of one target.
    Replay,
    /// A line for each record, with a header.
    Csv,
    /// A JSON object for each record and line. For IOzone's output: one object, the table of its cells.
    Json,
}

impl Form {
    /// The form that the ending of a name selects.
    pub fn of_name(path: &Path) -> Option<Form> {
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        Some(match name.rsplit_once('.')?.1 {
            "load" => Form::Requests(RequestForm::Load),
            "iolog" => Form::Requests(RequestForm::Fio(Version::Three)),
            "seek" => Form::Requests(RequestForm::SeekList),
            "parquet" => Form::Requests(RequestForm::Parquet),
            "replay" => Form::Records(RecordForm::Replay),
            "csv" => Form::Records(RecordForm::Csv),
            "json" => Form::Records(RecordForm::Json),
            _ => return None,
        })
    }

    /// Whether it stores latencies.
    pub fn has_times(self) -> bool {
        match self {
            Form::Requests(form) => form.has_times(),
            Form::Records(_) => true,
        }
    }
}

impl RequestForm {
    /// Whether it stores latencies.
    pub fn has_times(self) -> bool {
        matches!(self, RequestForm::Archive | RequestForm::Parquet)
    }
}

/// Options of the output of requests.
#[derive(Debug, Clone)]
pub struct Output {
    /// The form.
    pub form: RequestForm,
    /// Bytes of a block of a seek list.
    pub block: u64,
    /// File name in a log of fio.
    pub fio_file: String,
    /// The source of the requests, in a line.
    pub origin: String,
}

/// Where requests are written.
#[derive(Debug, Clone, Copy)]
pub enum Destination<'a> {
    /// An output, which is reported when it is complete.
    Output(&'a OutputName),
    /// A file of this conversion, which is removed.
    Temporary(&'a OutputName),
}

impl<'a> Destination<'a> {
    /// Its name.
    pub fn name(self) -> &'a OutputName {
        match self {
            Destination::Output(name) | Destination::Temporary(name) => name,
        }
    }
}
