//! One output: a text, compressed or not, or an archive.

use super::archive::Converted;
use super::form::{Output, RequestForm};
use super::written::Written;
use crate::new_archive::TOGETHER_IN_FILE;
use crate::new_text::{PIECE, TextFile};
use anyhow::Context;
use flate2::Compression;
use iosonar_archive::Recorded;
use iosonar_host::output::{OutputName, check_absent, is_standard_output};
use iosonar_inputs::traces::Device;
use iosonar_plan::{Op, SECTOR};
use iosonar_runner::Error;
use iosonar_text::shown;
use iosonar_trace::blkreplay::{LOAD_HEADER, write_demand, write_result};
use iosonar_trace::fio::FioWriter;
use iosonar_trace::{Pairing, SeekListWriter, Traced};
use std::io::{BufWriter, Seek, Write};
use std::path::Path;
use tempfile::SpooledTempFile;

/// Records held for each of many archives that are made at the same time.
const TOGETHER_IN_EACH: usize = 1 << 13;

/// Where the requests of an output are written.
pub enum Sink {
    Load(Plain),
    Fio(FioWriter<Plain>),
    SeekList(SeekListWriter<Plain>),
    Archive(Box<Converted>),
}

/// Bytes for standard output that are held in memory; more are held in a temporary file.
const HELD: usize = 64 << 20;
/// For loads zlib's output is an eighth larger than at its default level, in a third of the time.
const GZIP: Compression = Compression::new(2);

/// A text.
pub enum Plain {
    /// Standard output gets the text when it is complete: a trace may be refused at its last request.
    Stdout(BufWriter<SpooledTempFile>),
    File(TextFile),
}

impl Plain {
    fn begin(out: &OutputName) -> Result<Plain, Error> {
        if is_standard_output(&out.path) {
            return Ok(Plain::Stdout(BufWriter::with_capacity(PIECE, SpooledTempFile::new(HELD))));
        }
        TextFile::begin(&out.option, &out.path, GZIP).map(Plain::File)
    }

    /// Completes the text; a text for standard output goes to `standard_output`.
    fn publish(self, standard_output: &mut dyn Write) -> std::io::Result<()> {
        match self {
            Plain::Stdout(held) => {
                let mut held = held.into_inner().map_err(|e| e.into_error())?;
                held.rewind()?;
                std::io::copy(&mut held, standard_output)?;
                standard_output.flush()
            }
            Plain::File(file) => file.publish(),
        }
    }
}

impl Write for Plain {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Plain::Stdout(out) => out.write(bytes),
            Plain::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Plain::Stdout(out) => out.flush(),
            Plain::File(file) => file.flush(),
        }
    }
}

impl Sink {
    /// Whether the form lacks flags of writes.
    pub fn lacks_flags(&self) -> bool {
        matches!(self, Sink::Fio(_) | Sink::SeekList(_))
    }

    /// Starts the output.
    pub fn begin(how: &Output, out: &OutputName, is_split: bool) -> Result<Sink, Error> {
        Ok(match how.form {
            RequestForm::Load => {
                let mut load = Plain::begin(out)?;
                writeln!(load, "# {}\n{LOAD_HEADER}", how.origin)?;
                Sink::Load(load)
            }
            RequestForm::Fio(version) => {
                if how.fio_file.is_empty() || how.fio_file.contains(char::is_whitespace) {
                    return Err(Error::refused_because(format_args!(
                        "--fio-file '{}': a log of fio has no word for names that are empty or have blanks",
                        how.fio_file
                    )));
                }
                Sink::Fio(FioWriter::new(Plain::begin(out)?, version, &how.fio_file)?)
            }
            RequestForm::SeekList => Sink::SeekList(SeekListWriter::new(Plain::begin(out)?, how.block)?),
            RequestForm::Archive | RequestForm::Parquet => {
                check_absent(&out.option, &out.path).map_err(Error::refused)?;
                let together = if is_split { TOGETHER_IN_EACH } else { TOGETHER_IN_FILE };
                let is_parquet = how.form == RequestForm::Parquet;
                Sink::Archive(Box::new(Converted::begin(&out.path, is_parquet, &how.origin, together)?))
            }
        })
    }

    /// Writes a request; returns whether it was written.
    pub fn push(
        &mut self,
        request: &Traced,
        device: Device<'_>,
        written: &mut Written,
    ) -> Result<bool, Error> {
        let is_uneven =
            !request.extent.offset.is_multiple_of(SECTOR) || !request.extent.length.is_multiple_of(SECTOR);
        match self {
            Sink::Load(out) => {
                let Some(timed) = request.timed() else { return Ok(false) };
                written.uneven += u64::from(is_uneven);
                if request.pairing == Pairing::NoBegin {
                    writeln!(
                        out,
                        "# event {}: an end without a start: what follows stands at its end",
                        request.at
                    )?;
                }
                let (sector, sectors) = request.sectors();
                let extent =
                    iosonar_plan::Extent::from_sectors(sector, sectors).filter(|_| timed.op.has_place());
                let timed = iosonar_trace::TimedRequest { extent: extent.unwrap_or(timed.extent), ..timed };
                if request.pushed || request.delay.0 > 0 || request.latency.is_some() {
                    write_result(out, &timed)?;
                } else {
                    write_demand(out, &timed)?;
                }
                Ok(true)
            }
            Sink::Fio(log) => Ok(log.push(request)?),
            Sink::SeekList(list) => {
                let done = list.push(request)?;
                written.uneven += u64::from(!done && request.kind.op().is_some_and(Op::is_transfer));
                Ok(done)
            }
            Sink::Archive(archive) => archive.push(request, device),
        }
    }

    /// Completes the output.
    pub fn end(
        self,
        path: &Path,
        remarks: &[String],
        recorded: Option<Recorded>,
        standard_output: &mut dyn Write,
    ) -> Result<(), Error> {
        let cannot = || format!("cannot write {}", shown(&path));
        let text = match self {
            Sink::Archive(archive) => return archive.end(remarks, recorded),
            Sink::Load(out) => out,
            Sink::Fio(log) => log.end().with_context(cannot).map_err(Error::broke)?,
            Sink::SeekList(list) => list.end(),
        };
        text.publish(standard_output).with_context(cannot).map_err(Error::broke)
    }
}
