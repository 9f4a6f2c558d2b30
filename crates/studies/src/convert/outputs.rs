//! Writes requests to one output, or to several.

use super::form::{Destination, Output};
use super::sink::Sink;
use super::written::Written;
use iosonar_archive::Recorded;
use iosonar_host::output::{OutputName, is_standard_output};
use iosonar_inputs::traces::Device;
use iosonar_plan::Op;
use iosonar_runner::{Error, Notice, Session};
use iosonar_text::shown;
use iosonar_trace::{Flags, Kind, Traced};
use std::io::Write;
use std::path::{Path, PathBuf};

/// An output being written.
struct One {
    path: PathBuf,
    sink: Sink,
    written: Written,
}

/// Outputs, one or several, that requests are written to.
pub struct Outputs {
    how: Output,
    place: OutputName,
    is_reported: bool,
    is_split: bool,
    all: Vec<(String, One)>,
    last: usize,
}

/// Maximum number of outputs of a split.
const MOST_OUTPUTS: usize = 1000;

impl Outputs {
    /// One output at `place`, or for a split several, whose names contain their key before the extension.
    pub fn new(how: Output, place: Destination<'_>, is_split: bool) -> Result<Outputs, Error> {
        let is_reported = matches!(place, Destination::Output(_));
        let place = place.name().clone();
        let is_standard = is_standard_output(&place.path);
        let mut outputs = Outputs { how, place, is_reported, is_split, all: Vec::new(), last: 0 };
        if !is_split {
            outputs.output("")?;
        } else if is_standard {
            return Err(Error::refused_because("--split makes several files: name one instead of -"));
        }
        Ok(outputs)
    }

    /// Writes a request to the output for `which`.
    pub fn push(&mut self, which: &str, request: &Traced, device: Device<'_>) -> Result<(), Error> {
        let index = if self.is_split { self.output(which)? } else { 0 };
        let One { path, sink, written } = &mut self.all[index].1;
        written.pairings[request.pairing as usize] += 1;
        let done = sink.push(request, device, written);
        let done = done.map_err(|error| error.context(format!("cannot write {}", shown(path))))?;
        if done {
            written.requests += 1;
            let is_flushing = request.flags.has(Flags::FUA) || request.flags.has(Flags::PREFLUSH);
            written.plain_writes +=
                u64::from(sink.lacks_flags() && is_flushing && request.kind == Kind::Write);
        } else {
            let is_transfer = request.kind.op().is_some_and(Op::is_transfer);
            written.left_out[request.kind as usize] += u64::from(!is_transfer);
        }
        Ok(())
    }

    /// The number of the output for `which`, which is started if it is new.
    fn output(&mut self, which: &str) -> Result<usize, Error> {
        if self.all.get(self.last).is_some_and(|(known, _)| known == which) {
            return Ok(self.last);
        }
        if let Some(known) = self.all.iter().position(|(known, _)| known == which) {
            self.last = known;
            return Ok(known);
        }
        if self.all.len() == MOST_OUTPUTS {
            return Err(Error::refused_because(format_args!(
                "--split would make more than {MOST_OUTPUTS} outputs: choose with --device or --process"
            )));
        }
        let path = if self.is_split { self.unused(which) } else { self.place.path.clone() };
        let name = OutputName { path: path.clone(), ..self.place.clone() };
        let sink = Sink::begin(&self.how, &name, self.is_split)?;
        self.all.push((which.to_string(), One { path, sink, written: Written::default() }));
        self.last = self.all.len() - 1;
        Ok(self.last)
    }

    /// Returns an unused name: different devices may result in the same file name.
    fn unused(&self, which: &str) -> PathBuf {
        let numbered = (2..).map(|n| named(&self.place.path, &format!("{which}-{n}")));
        let mut names = std::iter::once(named(&self.place.path, which)).chain(numbered);
        let is_used = |path: &PathBuf| self.all.iter().any(|(_, one)| one.path == *path);
        names.find(|path| !is_used(path)).expect("names do not end")
    }

    /// Completes all outputs and reports their requests; there is no output if no request was written. `remarks` goes into archives, and so
    /// do the statistics of the kernel's `events`, if the trace has them.
    ///
    /// # Errors
    /// An output cannot be completed.
    pub fn end(
        self,
        remarks: &[String],
        events: Option<Recorded>,
        session: &Session,
        standard_output: &mut dyn Write,
    ) -> Result<Written, Error> {
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
            sink.end(&path, &all, recorded, standard_output)?;
            if self.is_reported && !is_standard_output(&path) {
                session.observer.notice(&Notice::Made { path: &path, requests: written.requests });
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
