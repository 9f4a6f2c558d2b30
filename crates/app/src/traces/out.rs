//! Writes requests in all supported output forms.

use super::archive::{Converted, TOGETHER_IN_EACH, TOGETHER_IN_FILE};
use super::open::Device;
use crate::exit::Failure;
use crate::new_load;
use crate::output::print_message;
use anyhow::{Context, anyhow};
use flate2::{Compression, write::GzEncoder};
use iosonar_archive::Recorded;
use iosonar_host::output::Output as OutputFile;
use iosonar_plan::{Op, SECTOR};
use iosonar_text::shown;
use iosonar_trace::blkreplay::{LOAD_HEADER, write_demand, write_result};
use iosonar_trace::fio::{FioWriter, Version};
use iosonar_trace::{Flags, Kind, Pairing, SeekListWriter, Traced};
use std::io::{BufWriter, Seek, Write};
use std::path::{Path, PathBuf};
use tempfile::SpooledTempFile;

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

/// Statistics of an output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// Requests written.
    pub requests: u64,
    /// Requests that the form cannot represent, by kind.
    pub left_out: [u64; Kind::ALL.len()],
    /// Requests that were widened to whole sectors, or skipped because a list has whole blocks only.
    pub uneven: u64,
    /// Writes with a flush before or after them, written as plain ones because the form lacks such flags.
    pub plain_writes: u64,
    /// Requests whose completion is ambiguous or unknown, or whose start is unknown: by [`Pairing`].
    pub pairings: [u64; 5],
}

impl Written {
    fn add(&mut self, other: &Written) {
        self.requests += other.requests;
        self.uneven += other.uneven;
        self.plain_writes += other.plain_writes;
        self.left_out.iter_mut().zip(other.left_out).for_each(|(a, b)| *a += b);
        self.pairings.iter_mut().zip(other.pairings).for_each(|(a, b)| *a += b);
    }

    /// Adds the pairing counts to the statistics of the kernel's events.
    fn recorded(&self, events: Recorded) -> Recorded {
        let [_, _, ambiguous, no_end, faked] = self.pairings;
        Recorded { requests: self.requests, ambiguous, no_end, no_begin: events.no_begin + faked, ..events }
    }

    /// Remarks for the reader, as sentences; `unstarted` completions have no request in the trace.
    pub fn remarks(&self, unstarted: u64) -> Vec<String> {
        let mut remarks = Vec::new();
        let kinds = Kind::ALL.iter().zip(self.left_out).filter(|(_, n)| *n > 0);
        let kinds: Vec<String> = kinds.map(|(kind, n)| format!("{n} {}", kind.name())).collect();
        if !kinds.is_empty() {
            remarks.push(format!("skipped, because this form has no word for them: {}", kinds.join(", ")));
        }
        if self.uneven > 0 {
            remarks.push(format!("{} requests do not lie on whole sectors or blocks", self.uneven));
        }
        if self.plain_writes > 0 {
            remarks.push(format!(
                "{} writes had FUA or a preflush, for which this form has no word: they are plain writes here",
                self.plain_writes
            ));
        }
        let count = |p: Pairing| self.pairings[p as usize];
        let (exact, ambiguous) = (count(Pairing::Exact), count(Pairing::Ambiguous));
        let (no_end, no_begin) = (count(Pairing::NoEnd), count(Pairing::NoBegin) + unstarted);
        if ambiguous + no_end + no_begin > 0 {
            remarks.push(format!(
                "ends: {exact} exact, {ambiguous} of several alike (the oldest was taken), {no_end} requests without an end, \
                 {no_begin} ends without a start"
            ));
        }
        remarks
    }
}

/// An output being written.
struct One {
    path: PathBuf,
    sink: Sink,
    written: Written,
}

enum Sink {
    Load(Plain),
    Fio(FioWriter<Plain>),
    SeekList(SeekListWriter<Plain>),
    Archive(Box<Converted>),
}

/// The argument that names the output.
const OUT: &str = "OUT";
/// Bytes written at once.
const PIECE: usize = 1 << 16;
/// Bytes for standard output that are held in memory; more are held in a temporary file.
const HELD: usize = 64 << 20;
/// For loads zlib's output is an eighth larger than at its default level, in a third of the time.
const GZIP_LEVEL: u32 = 2;

/// A text, compressed or not, to a file or standard output.
enum Plain {
    /// Standard output gets the text when it is complete: a trace may be refused at its last request.
    Stdout(BufWriter<SpooledTempFile>),
    File(Box<OutputFile>),
    /// In large pieces: deflate is slow with small ones.
    Gzip(Box<BufWriter<GzEncoder<OutputFile>>>),
}

impl Plain {
    fn begin(path: &Path) -> Result<Plain, Failure> {
        if path.as_os_str() == "-" {
            return Ok(Plain::Stdout(BufWriter::with_capacity(PIECE, SpooledTempFile::new(HELD))));
        }
        let file = new_load::create(OUT, path)?;
        Ok(if path.extension().is_some_and(|e| e == "gz") {
            let gzip = GzEncoder::new(file, Compression::new(GZIP_LEVEL));
            Plain::Gzip(Box::new(BufWriter::with_capacity(PIECE, gzip)))
        } else {
            Plain::File(Box::new(file))
        })
    }

    fn publish(self) -> std::io::Result<()> {
        match self {
            Plain::Stdout(held) => {
                let mut held = held.into_inner().map_err(|e| e.into_error())?;
                held.rewind()?;
                let mut out = std::io::stdout().lock();
                std::io::copy(&mut held, &mut out)?;
                out.flush()
            }
            Plain::File(file) => file.publish().map(drop),
            Plain::Gzip(gzip) => gzip.into_inner().map_err(|e| e.into_error())?.finish()?.publish().map(drop),
        }
    }
}

impl Write for Plain {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Plain::Stdout(out) => out.write(bytes),
            Plain::File(file) => file.write(bytes),
            Plain::Gzip(gzip) => gzip.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Plain::Stdout(out) => out.flush(),
            Plain::File(file) => file.flush(),
            Plain::Gzip(gzip) => gzip.flush(),
        }
    }
}

/// Outputs, one or several, that requests are written to.
pub struct Outputs {
    how: Output,
    path: PathBuf,
    is_split: bool,
    all: Vec<(String, One)>,
    last: usize,
}

/// Maximum number of outputs of a split.
const MOST_OUTPUTS: usize = 1000;

impl Outputs {
    /// One output at `path`, or for a split several, whose names contain their key before the extension.
    pub fn new(how: Output, path: &Path, is_split: bool) -> Result<Outputs, Failure> {
        let mut outputs = Outputs { how, path: path.to_path_buf(), is_split, all: Vec::new(), last: 0 };
        if !is_split {
            outputs.output("")?;
        } else if path.as_os_str() == "-" {
            return Err(Failure::refused(anyhow!("--split makes several files: name one instead of -")));
        }
        Ok(outputs)
    }

    /// Writes a request to the output for `which`.
    pub fn push(&mut self, which: &str, request: &Traced, device: Device<'_>) -> Result<(), Failure> {
        let index = if self.is_split { self.output(which)? } else { 0 };
        let One { path, sink, written } = &mut self.all[index].1;
        written.pairings[request.pairing as usize] += 1;
        let done = sink.push(request, device, written);
        let done = done.with_context(|| format!("cannot write {}", shown(&path)))?;
        if done {
            written.requests += 1;
            let is_flushing = request.flags.has(Flags::FUA) || request.flags.has(Flags::PREFLUSH);
            let is_plain = matches!(sink, Sink::Fio(_) | Sink::SeekList(_));
            written.plain_writes += u64::from(is_plain && is_flushing && request.kind == Kind::Write);
        } else {
            let is_transfer = request.kind.op().is_some_and(Op::is_transfer);
            written.left_out[request.kind as usize] += u64::from(!is_transfer);
        }
        Ok(())
    }

    /// The number of the output for `which`, which is started if it is new.
    fn output(&mut self, which: &str) -> Result<usize, Failure> {
        if self.all.get(self.last).is_some_and(|(known, _)| known == which) {
            return Ok(self.last);
        }
        if let Some(known) = self.all.iter().position(|(known, _)| known == which) {
            self.last = known;
            return Ok(known);
        }
        if self.all.len() == MOST_OUTPUTS {
            return Err(Failure::refused(anyhow!(
                "--split would make more than {MOST_OUTPUTS} outputs: choose with --device or --process"
            )));
        }
        let path = if self.is_split { self.unused(which) } else { self.path.clone() };
        let sink = Sink::begin(&self.how, &path, self.is_split)?;
        self.all.push((which.to_string(), One { path, sink, written: Written::default() }));
        self.last = self.all.len() - 1;
        Ok(self.last)
    }

    /// Returns an unused name: different devices may result in the same file name.
    fn unused(&self, which: &str) -> PathBuf {
        let numbered = (2..).map(|n| named(&self.path, &format!("{which}-{n}")));
        let mut names = std::iter::once(named(&self.path, which)).chain(numbered);
        let is_used = |path: &PathBuf| self.all.iter().any(|(_, one)| one.path == *path);
        names.find(|path| !is_used(path)).expect("names do not end")
    }

    /// Completes all outputs and reports their requests; there is no output if no request was written. `remarks` goes into archives, and so
    /// do the statistics of the kernel's `events`, if the trace has them.
    pub fn end(self, remarks: &[String], events: Option<Recorded>) -> Result<Written, Failure> {
        let mut sum = Written::default();
        self.all.iter().for_each(|(_, one)| sum.add(&one.written));
        if sum.requests == 0 {
            return Ok(sum);
        }
        for (_, One { path, sink, written }) in self.all {
            let mut all = remarks.to_vec();
            // It is unknown to which output a completion without a request belongs.
            let unstarted = events.map_or(0, |events| events.no_begin);
            all.extend(written.remarks(if self.is_split { 0 } else { unstarted }));
            let recorded = events.map(|events| written.recorded(events));
            sink.end(&path, &all, recorded)?;
            if path.as_os_str() != "-" {
                print_message(format_args!("{}: {} requests", shown(&path), written.requests));
            }
        }
        Ok(sum)
    }
}

/// `NAME.WHICH.load.gz` of `NAME.load.gz`.
fn named(path: &Path, which: &str) -> PathBuf {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let plain = |c: char| if c.is_alphanumeric() || "-_,+@".contains(c) { c } else { '_' };
    let which: String = which.chars().map(plain).collect();
    let which = if which.is_empty() { "unknown".into() } else { which };
    let ending = name.find('.').unwrap_or(name.len());
    path.with_file_name(format!("{}.{which}{}", &name[..ending], &name[ending..]))
}

impl Sink {
    fn begin(how: &Output, path: &Path, is_split: bool) -> Result<Sink, Failure> {
        Ok(match how.form {
            Form::Load => {
                let mut out = Plain::begin(path)?;
                writeln!(out, "# {}\n{LOAD_HEADER}", how.origin)?;
                Sink::Load(out)
            }
            Form::Fio(version) => {
                if how.fio_file.is_empty() || how.fio_file.contains(char::is_whitespace) {
                    return Err(Failure::refused(anyhow!(
                        "--fio-file '{}': a log of fio has no word for names that are empty or have blanks",
                        how.fio_file
                    )));
                }
                Sink::Fio(FioWriter::new(Plain::begin(path)?, version, &how.fio_file)?)
            }
            Form::SeekList => Sink::SeekList(SeekListWriter::new(Plain::begin(path)?, how.block)?),
            Form::Archive | Form::Parquet => {
                new_load::check_absent(OUT, path)?;
                let together = if is_split { TOGETHER_IN_EACH } else { TOGETHER_IN_FILE };
                let is_parquet = how.form == Form::Parquet;
                Sink::Archive(Box::new(Converted::begin(path, is_parquet, &how.origin, together)?))
            }
        })
    }

    /// Writes a request; returns whether it was written.
    fn push(
        &mut self,
        request: &Traced,
        device: Device<'_>,
        written: &mut Written,
    ) -> Result<bool, anyhow::Error> {
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

    fn end(self, path: &Path, remarks: &[String], recorded: Option<Recorded>) -> Result<(), Failure> {
        let cannot = || format!("cannot write {}", shown(&path));
        let text = match self {
            Sink::Archive(archive) => return archive.end(remarks, recorded),
            Sink::Load(out) => out,
            Sink::Fio(log) => log.end().with_context(cannot)?,
            Sink::SeekList(list) => list.end(),
        };
        text.publish().with_context(cannot)?;
        Ok(())
    }
}
