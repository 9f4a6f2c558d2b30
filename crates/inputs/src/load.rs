//! A load, read as records: recorded times of its requests become their results.

use crate::{OpenError, Pieces, Source};
use iosonar_analyze::DISPLACEMENT;
use iosonar_archive::{Marks, Outcome, Record, RunInfo};
use iosonar_plan::{Nanos, Plan};
use iosonar_text::shown;
use iosonar_trace::TimedRequest;
use iosonar_trace::blkreplay::{Line, Reader};
use std::io::{self, BufRead, Read};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// Requests that are held back in case an earlier one follows.
const IN_ORDER: usize = 1 << 8;
/// Maximum number of bad lines that are quoted.
const TOLD: usize = 20;
/// Bytes of a block that is decompressed ahead, and number of such blocks.
const BLOCK: usize = 1 << 17;
const BLOCKS: usize = 8;

/// A load in blkreplay's form.
pub(super) struct LoadFile {
    source: Source,
    seen: Mutex<FirstReading>,
}

/// Results of the first reading.
#[derive(Debug, Clone, Default)]
struct FirstReading {
    lines: u64,
    requests: u64,
    has_times: bool,
    bad_lines: u64,
    told: Vec<String>,
    backward: u64,
    max_end: u64,
    last: Nanos,
}

impl LoadFile {
    pub(super) fn open(source: Source) -> Result<LoadFile, OpenError> {
        // Report open errors before anything else is done.
        source.text()?;
        Ok(LoadFile { source, seen: Mutex::default() })
    }

    fn seen(&self) -> MutexGuard<'_, FirstReading> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn has_times(&self) -> bool {
        self.seen().has_times
    }

    pub(super) fn end_hint_ns(&self) -> Option<u64> {
        Some(self.seen().last.0).filter(|last| *last > 0)
    }

    /// Loads are assumed to be in order, until one is not.
    pub(super) fn displacement(&self) -> usize {
        if self.seen().backward > 0 { DISPLACEMENT } else { IN_ORDER }
    }

    pub(super) fn run(&self, name: &str) -> (Plan, RunInfo) {
        let seen = self.seen();
        let (plan, mut run) = iosonar_dialect_blkreplay::recording(name, seen.max_end);
        run.targets[0].input_lines = seen.lines;
        run.targets[0].bad_lines = seen.bad_lines;
        (plan, run)
    }

    pub(super) fn remarks(&self) -> Vec<String> {
        let seen = self.seen();
        let mut remarks = seen.told.clone();
        let more = seen.bad_lines - seen.told.len() as u64;
        if more > 0 {
            remarks.push(format!("{more} more lines look like requests and are none: skipped"));
        }
        if seen.backward > 0 {
            remarks.push(format!(
                "time runs backward at {} places: requests are counted at their own times",
                seen.backward
            ));
        }
        remarks
    }

    /// Reads the file from its start to its end.
    pub(super) fn read(&self, f: &mut dyn FnMut(&[Record])) -> io::Result<()> {
        let (mut seen, has_times) = (FirstReading::default(), self.has_times());
        let mut is_of_form = false;
        let mut out = Pieces::new(f);
        let text = self.source.text().map_err(io::Error::other)?;
        let mut reader = Reader::new(Ahead::new(text));
        let cannot = |error| io::Error::other(format!("{}: {error}", shown(&self.source.path())));
        while let Some(line) = reader.next_line().map_err(cannot)? {
            match line {
                Line::Request(request) => {
                    out.push(record(seen.requests, &request, has_times));
                    seen.request(&request);
                }
                Line::Bad(bad) => {
                    seen.bad_lines += 1;
                    if seen.told.len() < TOLD {
                        seen.told.push(format!("{bad}: skipped"));
                    }
                }
                Line::Text => is_of_form |= is_of_load(reader.text()),
            }
        }
        out.end();
        seen.lines = reader.lines();
        if seen.requests + seen.bad_lines == 0 && seen.lines > 0 && !is_of_form {
            return Err(cannot_be_load(&shown(&self.source.path()).to_string(), seen.lines));
        }
        *self.seen() = seen;
        Ok(())
    }
}

/// Whether a line without a request belongs to a load: a comment, a message of blkreplay, or the names of the columns.
fn is_of_load(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.is_empty() || line.starts_with(b"#") || line.starts_with(b"INFO") || line.contains(&b';')
}

fn cannot_be_load(name: &str, lines: u64) -> io::Error {
    let lines = if lines == 1 {
        "its only line is no request".into()
    } else {
        format!("none of its {lines} lines is a request")
    };
    let why = format!(
        "{name}: {lines}, so it is no load: 'iosonar convert' reads traces and results of other tools"
    );
    io::Error::new(io::ErrorKind::InvalidData, why)
}

impl FirstReading {
    fn request(&mut self, request: &TimedRequest) {
        self.backward += u64::from(request.time < self.last);
        self.requests += 1;
        self.last = self.last.max(request.time);
        self.has_times |= request.latency.0 > 0;
        self.max_end = self.max_end.max(request.extent.end());
    }
}

/// The record of a request; `has_times`: whether its times are known.
fn record(sequence: u64, request: &TimedRequest, has_times: bool) -> Record {
    let submitted = request.time.saturating_add(request.delay);
    Record {
        sequence,
        op: request.op,
        outcome: if has_times { Outcome::Completed } else { Outcome::Cancelled },
        marks: Marks::default().with(Marks::PUSHED, request.pushed).with_durability(request.durability),
        load_time: request.time,
        due: request.time,
        submitted: has_times.then_some(submitted),
        completed: has_times.then_some(submitted.saturating_add(request.latency)),
        requested: request.extent,
        executed: request.extent,
        result: if has_times { request.extent.length as i64 } else { 0 },
        ..Record::default()
    }
}

/// Text that another thread decompresses ahead.
struct Ahead {
    blocks: Receiver<io::Result<Vec<u8>>>,
    block: Vec<u8>,
    at: usize,
}

impl Ahead {
    fn new(mut text: Box<dyn BufRead + Send>) -> Ahead {
        let (sender, blocks) = sync_channel(BLOCKS);
        thread::spawn(move || {
            loop {
                let mut block = Vec::with_capacity(BLOCK);
                let read = text.by_ref().take(BLOCK as u64).read_to_end(&mut block);
                let (end, failed) = (block.is_empty(), read.is_err());
                let sent = sender.send(Ok(block)).and_then(|()| match read {
                    Ok(_) => Ok(()),
                    Err(error) => sender.send(Err(error)),
                });
                // The receiver stopped, or the end was reached.
                if sent.is_err() || end || failed {
                    return;
                }
            }
        });
        Ahead { blocks, block: Vec::new(), at: 0 }
    }
}

impl Read for Ahead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut bytes = self.fill_buf()?;
        let read = bytes.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for Ahead {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.block.len()
            && let Ok(next) = self.blocks.recv()
        {
            (self.block, self.at) = (next?, 0);
        }
        Ok(&self.block[self.at..])
    }

    fn consume(&mut self, bytes: usize) {
        self.at += bytes;
    }
}
