//! Forms of the output.

use iosonar_trace::fio::Version;
use std::path::Path;

/// An output form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
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

impl Form {
    /// The form selected by a name.
    pub fn of_name(path: &Path) -> Form {
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        match name.rsplit_once('.').map(|(_, ending)| ending) {
            Some("load") => Form::Load,
            Some("iolog") => Form::Fio(Version::Three),
            Some("seek") => Form::SeekList,
            Some("parquet") => Form::Parquet,
            _ if name == "-" => Form::Load,
            _ => Form::Archive,
        }
    }

    /// Whether it stores latencies.
    pub fn has_times(self) -> bool {
        matches!(self, Form::Archive | Form::Parquet)
    }
}

/// Options of the output.
#[derive(Debug, Clone)]
pub struct Output {
    /// The form.
    pub form: Form,
    /// Bytes of a block of a seek list.
    pub block: u64,
    /// File name in a log of fio.
    pub fio_file: String,
    /// The source of the requests, in a line.
    pub origin: String,
}
