//! Loads and seek lists: opened, and read wholly before anything is touched.

use super::available::filter_room;
use crate::control::Control;
use crate::error::PrepareError;
use iosonar_host::Root;
use iosonar_load::{
    Facts, Known, Listed, LoadError, Notice, Opened, ParseCounters, Recorded, Source, Text, scan,
};
use iosonar_os::bounded::{LIST_LIMIT, read_text};
use iosonar_plan::{Extent, Generator, Job, Nanos, Op, Order, Plan, TraceReplay, Workload};
use iosonar_text::shown;
use iosonar_trace::decompress;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Receives notices of skipped lines and of shifted times, with the path of the load.
pub type NoticeSink = Arc<dyn Fn(&Path, &Notice) + Send + Sync>;

/// Collects the facts that can be known about each job's workload, phase by phase.
pub(super) fn read_all(
    plan: &Plan,
    notices: &NoticeSink,
    root: &Root,
    control: &Arc<Control>,
) -> Result<Vec<Vec<Known>>, PrepareError> {
    let inputs =
        plan.jobs().filter(|(_, job)| matches!(&job.workload, Workload::Trace(l) if is_stdin(&l.file)));
    if inputs.count() > 1 {
        return Err(PrepareError::SharedInput);
    }
    let mut scanner = Scanner { scanned: Vec::new(), notices, root, control };
    let mut known = |job: &Job| match &job.workload {
        Workload::Trace(load) => Ok(Known::Trace(load.clone(), scanner.read_before(load)?)),
        Workload::Generated(generator) => {
            Ok(Known::Generated { generator: generator.clone(), list: read_list(generator)? })
        }
    };
    plan.phases.iter().map(|phase| phase.jobs.iter().map(&mut known).collect()).collect()
}

/// Reads loads before they are replayed.
struct Scanner<'a> {
    /// Loads that were read, with their facts.
    scanned: Vec<(TraceReplay, Facts)>,
    notices: &'a NoticeSink,
    root: &'a Root,
    control: &'a Arc<Control>,
}

impl Scanner<'_> {
    /// Facts of a load before it is replayed; of standard input none, but its filters' files must be readable.
    fn read_before(&mut self, load: &TraceReplay) -> Result<Option<Facts>, PrepareError> {
        load.filter.files().try_for_each(|file| open_load(Path::new(file), self.control).map(drop))?;
        if is_stdin(&load.file) { Ok(None) } else { self.scan_once(load).map(Some) }
    }

    fn scan_once(&mut self, load: &TraceReplay) -> Result<Facts, PrepareError> {
        if let Some((_, facts)) = self.scanned.iter().find(|(l, _)| l == load) {
            return Ok(facts.clone());
        }
        let input = open_load(&load.file, self.control)?;
        // Another window of the same file finds the same lines.
        let is_reported = self.scanned.iter().any(|(l, _)| l.file == load.file && l.filter == load.filter);
        let (notices, file) = (self.notices.clone(), load.file.clone());
        let tell = move |notice| {
            if !is_reported {
                notices(&file, &notice);
            }
        };
        let facts = scan(Text::of_file(input, &load.file), load, &filter_room(self.root), tell);
        let facts = facts.map_err(|error| PrepareError::Load { path: name(&load.file), error })?;
        refuse_empty(load, &facts)?;
        self.scanned.push((load.clone(), facts.clone()));
        Ok(facts)
    }
}

fn refuse_empty(load: &TraceReplay, facts: &Facts) -> Result<(), PrepareError> {
    let path = || name(&load.file);
    if facts.all_requests == 0 {
        let why = match load.filter.is_empty() {
            true => {
                "it contains no request; a load has lines such as '0.000000000 ; 2048 ; 8 ; R ; 0.0 ; 0.0'"
                    .into()
            }
            false => format!("filter '{}' removes every request", load.filter),
        };
        return Err(PrepareError::Empty { path: path(), why });
    }
    if facts.requests == 0 {
        let window = &load.window;
        let end = window.end.map_or("the end".to_string(), |e| e.to_string());
        let why = match (load.part, facts.flushes + facts.discards + facts.write_zeroes) {
            (Some(part), _) if facts.max_length > 0 => {
                format!("it has fewer requests than the {} hosts that share it: use fewer hosts", part.of)
            }
            (_, 0) => format!(
                "no request lies between {} and {end}; the load ends at {}: choose another --start, --end or --duration",
                window.start, facts.load_end
            ),
            (_, _) => "it holds only requests that are dropped: remove --flush drop or --discard drop".into(),
        };
        return Err(PrepareError::Empty { path: path(), why });
    }
    Ok(())
}

/// A load that can be read until the run is stopped: reading all of it may take minutes.
struct Stoppable {
    file: File,
    control: Arc<Control>,
}

impl Read for Stoppable {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self.control.signal() {
            Some(_) => Err(std::io::Error::other("the run was stopped")),
            None => self.file.read(buffer),
        }
    }
}

fn open_load(path: &Path, control: &Arc<Control>) -> Result<Opened, PrepareError> {
    let input = |error| PrepareError::Input { path: name(path), error };
    if is_stdin(path) {
        return decompress(std::io::stdin()).map_err(input);
    }
    let kind = path.metadata().map_err(|e| input(e.into()))?;
    if kind.is_dir() {
        return Err(input(std::io::Error::from(std::io::ErrorKind::IsADirectory).into()));
    }
    if !kind.is_file() {
        return Err(PrepareError::OnlyOnce { path: name(path) });
    }
    let file = File::open(path).map_err(|e| input(e.into()))?;
    decompress(Stoppable { file, control: control.clone() }).map_err(input)
}

/// Reads the seek list that an order follows.
fn read_list(generator: &Generator) -> Result<Option<Arc<[Listed]>>, PrepareError> {
    let file = match &generator.order {
        Order::List { file } => file,
        Order::Telemetry { file } => return read_telemetry_of(generator, file).map(Some),
        _ => return Ok(None),
    };
    let unit = generator.unit();
    let refuse = |why: String| PrepareError::SeekList { path: name(file), why };
    let text = read_text(file, LIST_LIMIT).map_err(|error| refuse(error.to_string()))?;
    let entries = iosonar_trace::read_seek_list(&text).map_err(|error| refuse(error.to_string()))?;
    let listed = |entry: &iosonar_trace::SeekEntry| {
        let (offset, length) = (entry.location.checked_mul(unit)?, entry.reqsize.checked_mul(unit)?);
        offset.checked_add(length).filter(|end| *end < 1 << 62)?;
        Some(Listed { extent: Extent { offset, length }, op: entry.op, delay: Nanos(0) })
    };
    let list: Option<Vec<Listed>> = entries.iter().map(listed).collect();
    let list = list.ok_or_else(|| refuse("a location lies beyond 2^62 bytes".into()))?;
    Ok(Some(list.into()))
}

/// Reads the telemetry file that defines an order.
fn read_telemetry_of(generator: &Generator, file: &Path) -> Result<Arc<[Listed]>, PrepareError> {
    let refuse = |why: String| PrepareError::SeekList { path: name(file), why };
    let text = read_text(file, LIST_LIMIT).map_err(|error| refuse(error.to_string()))?;
    let entries = iosonar_trace::read_telemetry(&text).map_err(|error| refuse(error.to_string()))?;
    let op = if generator.writes() { Op::Write } else { Op::Read };
    Ok(entries.iter().map(|entry| Listed { extent: entry.extent, op, delay: entry.delay }).collect())
}

/// Opens a load for one pass.
pub(crate) fn open_requests(
    load: &TraceReplay,
    notices: NoticeSink,
    told: Arc<ParseCounters>,
) -> Result<Box<dyn Source>, LoadError> {
    // A run that is stopped ends its loads itself.
    let input = open_load(&load.file, &Arc::default()).map_err(|error| LoadError::Open(error.to_string()))?;
    let path = load.file.clone();
    // The scan of a file has reported its notices already.
    let is_new = is_stdin(&path);
    let tell = move |notice: Notice| {
        if is_new {
            told.count(&notice);
            notices(&path, &notice);
        }
    };
    let text = if is_new { Text::once(input) } else { Text::of_file(input, &load.file) };
    Ok(Box::new(Recorded::new(text, load, tell)?))
}

pub(super) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

pub(super) fn name(path: &Path) -> String {
    shown(path).to_string()
}
