//! Detects the formats of traces, and reads them.

use super::archive;
use super::devices::{DeviceNames, refuse_unknown};
use crate::commands::recorded_requests;
use crate::convert_args::{DirectionArg, ReadingArgs, TimingArg};
use crate::exit::Failure;
use crate::output::print_message;
use anyhow::{Context, anyhow};
use iosonar_archive::{Archive, Recorded};
use iosonar_plan::Nanos;
use iosonar_text::shown;
use iosonar_trace::fio::FioLog;
use iosonar_trace::fio_latency::LatencyLog;
use iosonar_trace::kernel;
use iosonar_trace::kernel::blkparse::{Blkparse, Form};
use iosonar_trace::kernel::blktrace::Blktrace;
use iosonar_trace::kernel::ftrace::Ftrace;
use iosonar_trace::kernel::{At, Counts, Events, Merged, OnPartitions, Paired, Timing};
use iosonar_trace::tables::Rows;
use iosonar_trace::{
    Entry, Format, FromFirst, InOrder, Joined, Kind, Load, Next, Pairing, Requests, Salvage, SeekList,
    TraceError, Traced, decompress, explain, is_damage,
};
use std::fs::File;
use std::io::{BufRead, Chain, Cursor, Read};
use std::path::{Path, PathBuf};

/// How traces are read.
pub struct Reading {
    from: Option<Format>,
    /// Kind of blkparse's requests whose lines lack it.
    direction: Option<Kind>,
    at: Option<At>,
    timing: Timing,
    block: u64,
    keep_order: bool,
    /// Whether records are also sorted by their due times: they are stored in the order of completion.
    sorts_records: bool,
    devices: Vec<String>,
    /// Whether to keep requests of traces that name no devices, whatever was chosen.
    keep_nameless: bool,
    processes: Vec<String>,
}

impl Reading {
    /// Options as typed, with `timing` as the default.
    pub fn of(args: &ReadingArgs, timing: Timing) -> Result<Reading, Failure> {
        let form = args.blkparse_format.as_deref().map(|form| {
            let parsed = form.parse::<Form>();
            parsed.map_err(|why| Failure::refused(anyhow!("--blkparse-format '{form}': {why}")))
        });
        let word = args.at.as_deref();
        let at = word.and_then(|word| At::ALL.iter().find(|(_, w)| *w == word)).map(|(at, _)| *at);
        if args.block_size.0 == 0 {
            return Err(Failure::refused(anyhow!("--block-size 0: a block has at least 1 byte")));
        }
        let timing = match args.timing {
            Some(TimingArg::None) => Timing::None,
            Some(TimingArg::Exact) => Timing::Exact,
            Some(TimingArg::Guessed) => Timing::Guessed,
            None if args.guess_timing => Timing::Guessed,
            None => timing,
        };
        if at == Some(At::COMPLETE) && timing != Timing::None && (args.timing.is_some() || args.guess_timing)
        {
            return Err(Failure::refused(anyhow!(
                "--at complete: requests that count when they end have no start, so --timing can only be none"
            )));
        }
        let form = form.transpose()?;
        let from = args.from.as_deref().and_then(Format::of_name);
        Ok(Reading {
            from: form.map(Format::Blkparse).or(from),
            direction: args.direction.map(|direction| match direction {
                DirectionArg::Read => Kind::Read,
                DirectionArg::Write => Kind::Write,
                DirectionArg::Discard => Kind::Discard,
            }),
            at,
            timing,
            block: args.block_size.0,
            keep_order: args.keep_order,
            sorts_records: false,
            devices: args.device.clone(),
            keep_nameless: false,
            processes: args.process.clone(),
        })
    }

    /// Options if none was typed.
    pub fn plain() -> Reading {
        Reading {
            from: None,
            direction: None,
            at: None,
            timing: Timing::Exact,
            block: 1024,
            keep_order: false,
            sorts_records: false,
            devices: Vec::new(),
            keep_nameless: false,
            processes: Vec::new(),
        }
    }

    /// Keeps all requests of a trace that names no devices.
    pub fn keeping_nameless(self) -> Reading {
        Reading { keep_nameless: true, ..self }
    }

    /// Sorts records, for traces that are read again by their times.
    pub fn sorting_records(self, sorts_records: bool) -> Reading {
        Reading { sorts_records, ..self }
    }

    /// Selects all processes.
    pub fn of_all_processes(self) -> Reading {
        Reading { processes: Vec::new(), ..self }
    }
}

/// A trace that is being read.
pub struct Trace {
    /// Its files, as typed.
    pub name: String,
    /// Its format, in words.
    pub format: String,
    /// For kernel events: which event counts as the request, and how completions are found.
    pub at: Option<(At, Timing)>,
    /// Its requests, ordered by time.
    pub requests: Box<dyn Requests>,
    /// Names of its devices that belong together.
    pub names: DeviceNames,
    /// Devices that were chosen, as typed.
    wanted: Vec<String>,
    keep_nameless: bool,
    /// Completions whose request is not in the trace read so far: they do not count as requests.
    pub unstarted: u64,
}

/// Content of a path.
enum Opened {
    Archive(Box<Archive>),
    /// A recording, with its events.
    Recording(PathBuf),
    Parquet(PathBuf),
    Text(Format, Box<dyn BufRead + Send>),
}

/// Opens traces and joins them.
pub fn open(paths: &[PathBuf], reading: &Reading) -> Result<Trace, Failure> {
    let paths = all_cpus(paths);
    if paths.iter().filter(|p| p.as_os_str() == "-").count() > 1 {
        return Err(Failure::refused(anyhow!("- stands for standard input, which can be read only once")));
    }
    let opened = paths.iter().map(|path| look(path, reading)).collect::<Result<Vec<_>, _>>()?;
    let file = |path: &Path| (paths.len() > 1).then(|| path.display().to_string());
    let name = paths.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(", ");
    let format = described(&opened);
    let is_blktrace = |o: &Opened| matches!(o, Opened::Text(Format::Blktrace, _));
    let (requests, at) = if opened.iter().all(is_blktrace) {
        let names = paths.iter().map(|path| file(path)).collect();
        let (requests, at) = blktrace(&paths, names, opened, reading)?;
        (requests, Some(at))
    } else if opened.len() == 1 {
        let (path, one) = (&paths[0], opened.into_iter().next().expect("there is one"));
        requests(path, None, one, reading)?
    } else {
        let mut at = None;
        let mut all = Vec::new();
        for (path, one) in paths.iter().zip(opened) {
            let (requests, of_events) = requests(path, file(path), one, reading)?;
            at = at.or(of_events);
            all.push(requests);
        }
        (Box::new(Joined::new(all)) as Box<dyn Requests>, at)
    };
    let names = DeviceNames::of(&paths);
    let requests = selected(requests, reading, &names);
    let (wanted, keep_nameless) = (reading.devices.clone(), reading.keep_nameless);
    Ok(Trace { name, format, at, requests, names, wanted, keep_nameless, unstarted: 0 })
}

/// Expands a common prefix of a blktrace's files to all of them.
fn all_cpus(paths: &[PathBuf]) -> Vec<PathBuf> {
    let files = |path: &PathBuf| -> Vec<PathBuf> {
        let of_cpu = |n: u32| {
            let mut name = path.as_os_str().to_owned();
            name.push(format!(".blktrace.{n}"));
            PathBuf::from(name)
        };
        if path.exists() || !of_cpu(0).exists() {
            return vec![path.clone()];
        }
        (0..).map(of_cpu).take_while(|p| p.exists()).collect()
    };
    paths.iter().flat_map(files).collect()
}

fn described(opened: &[Opened]) -> String {
    let mut words: Vec<String> = Vec::new();
    for one in opened {
        let word = match one {
            Opened::Archive(_) => "an archive".to_string(),
            Opened::Recording(_) => "a recording of kernel events".to_string(),
            Opened::Parquet(_) => Format::Parquet.to_string(),
            Opened::Text(format, _) => format.to_string(),
        };
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words.join(", ")
}

/// Bytes examined to recognise a form.
const LOOKED_AT: usize = 1 << 16;

fn look(path: &Path, reading: &Reading) -> Result<Opened, Failure> {
    let name = || path.display().to_string();
    if path.join("events").is_dir() {
        return Ok(Opened::Recording(path.to_path_buf()));
    }
    if path.is_dir() {
        return Archive::open(path)
            .map(|archive| Opened::Archive(Box::new(archive)))
            .map_err(Failure::refused);
    }
    let mut text = iosonar_inputs::text(path)?;
    let mut head = Vec::new();
    match text.by_ref().take(LOOKED_AT as u64).read_to_end(&mut head) {
        // A truncation is reported at its position, and the data before it is kept.
        Err(error) if is_damage(&error) && !head.is_empty() => {}
        read => read.map(drop).map_err(explain).with_context(name).map_err(Failure::refused)?,
    }
    let format = match &reading.from {
        Some(format) => format.clone(),
        // A CPU without events has an empty file.
        None if head.is_empty() && is_cpu_file(path) => Format::Blktrace,
        None if head.is_empty() => {
            return Err(Failure::refused(anyhow!("{}: it is empty, so there is nothing to read", name())));
        }
        None => Format::recognise(&head).ok_or_else(|| {
            let forms = Format::NAMES.join(", ");
            Failure::refused(anyhow!(
                "{}: its content is none of the forms that are read ({forms}); if it is, name the form with --from",
                name()
            ))
        })?,
    };
    let format = match format {
        Format::Blkparse(form) => Format::Blkparse(with_direction(form, reading.direction, path)?),
        other if reading.direction.is_some() => {
            let name = shown(&path);
            return Err(Failure::refused(anyhow!(
                "--direction: {name} is {other}, and only text of blkparse may lack the operation: remove the option"
            )));
        }
        other => other,
    };
    if format == Format::FioLatency {
        refuse_other_logs(path)?;
    }
    if format == Format::Parquet && !path.is_file() {
        return Err(Failure::refused(anyhow!(
            "{}: Parquet is read from its end, and only a file has one from the start on: write it into a file, and name that",
            name()
        )));
    }
    if format == Format::Parquet {
        return Ok(Opened::Parquet(path.to_path_buf()));
    }
    // Both are buffered already: another buffer would copy everything again.
    let whole: Chain<Cursor<Vec<u8>>, _> = Cursor::new(head).chain(text);
    Ok(Opened::Text(format, Box::new(whole)))
}

/// The form with the typed direction, which its lines lack.
fn with_direction(form: Form, direction: Option<Kind>, path: &Path) -> Result<Form, Failure> {
    match direction {
        Some(_) if form.has_direction() => Err(Failure::refused(anyhow!(
            "--direction: the lines of {} contain the operation (%d): remove the option",
            shown(&path)
        ))),
        Some(direction) => Ok(form.of_direction(direction)),
        None if form.has_direction() => Ok(form),
        None => Err(Failure::refused(anyhow!(
            "{}: its lines do not contain the operation (blkparse -f without %d): if blkparse -a selected one, set it with \
             --direction read, --direction write or --direction discard",
            shown(&path)
        ))),
    }
}

/// fio's logs of other figures look the same: only their file names distinguish them.
fn refuse_other_logs(path: &Path) -> Result<(), Failure> {
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let other = ["_bw.", "_iops.", "_slat."].into_iter().find(|part| name.contains(part));
    other.map_or(Ok(()), |part| {
        Err(Failure::refused(anyhow!(
            "{}: '{part}' in its name says that it is no log of latencies: name the log with _clat. or _lat.",
            shown(&path)
        )))
    })
}

fn is_cpu_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains(".blktrace."))
}

type Boxed = Box<dyn Requests>;

/// Which event counts, and how completions are found.
type Chosen = (At, Timing);

/// The requests of one input; `file` is its name if it is one of several.
fn requests(
    path: &Path,
    file: Option<String>,
    opened: Opened,
    reading: &Reading,
) -> Result<(Boxed, Option<Chosen>), Failure> {
    let (format, text) = match opened {
        Opened::Archive(of_run) => {
            let records = archive::Recorded::of_archive(*of_run).map_err(Failure::refused)?;
            return Ok((of_records(records, reading), None));
        }
        Opened::Recording(dir) => {
            let (requests, at) = recorded_requests(&dir, reading.timing, reading.at)?;
            return Ok((requests, Some((at, reading.timing))));
        }
        Opened::Parquet(path) => {
            let records = archive::Recorded::of_parquet(&path).map_err(Failure::refused)?;
            return Ok((of_records(records, reading), None));
        }
        Opened::Text(format, text) => (format, text),
    };
    if format.is_events() {
        let at = chosen(reading, || Ok(vec![events(format.clone(), again(path)?, None)]))?;
        let (paired, chosen) = paired(events(format, text, file), at, reading);
        return Ok((paired, Some(chosen)));
    }
    let requests: Boxed = match &format {
        Format::Load => Box::new(Salvage::new(Load::new(text), file)),
        Format::Fio(_) => Box::new(Salvage::new(FioLog::new(text), file).expecting(&format)),
        Format::FioLatency => Box::new(Salvage::new(LatencyLog::new(text), file).expecting(&format)),
        Format::SeekList => {
            Box::new(Salvage::new(SeekList::new(text, reading.block), file).expecting(&format))
        }
        Format::Table(table) => Box::new(Salvage::new(Rows::new(text, *table), file).expecting(&format)),
        _ => unreachable!("events and records are read elsewhere"),
    };
    Ok((in_order(requests, format.is_dated(), reading), None))
}

fn of_records(records: archive::Recorded, reading: &Reading) -> Boxed {
    if reading.sorts_records { in_order(Box::new(records), false, reading) } else { Box::new(records) }
}

fn in_order(requests: Boxed, is_dated: bool, reading: &Reading) -> Boxed {
    let requests: Boxed = if reading.keep_order { requests } else { Box::new(InOrder::new(requests)) };
    if is_dated { Box::new(FromFirst::new(requests)) } else { requests }
}

fn events(format: Format, text: Box<dyn BufRead + Send>, file: Option<String>) -> Box<dyn Events> {
    match &format {
        Format::Blkparse(form) => {
            Box::new(Salvage::new(Blkparse::new(text, form.clone()), file).expecting(&format))
        }
        Format::Ftrace => Box::new(Salvage::new(Ftrace::new(text), file).expecting(&format)),
        _ => Box::new(Salvage::new(Blktrace::new(text), file)),
    }
}

/// Opens a file a second time.
fn again(path: &Path) -> Result<Box<dyn BufRead + Send>, Failure> {
    if path.as_os_str() == "-" || !path.metadata().is_ok_and(|m| m.is_file()) {
        return Err(Failure::refused(anyhow!(
            "{}: which event is the most frequent can be found out of a file only, which is read twice: name the event with --at, for example --at queue",
            shown(&path)
        )));
    }
    let file = File::open(path).with_context(|| shown(&path).to_string()).map_err(Failure::refused)?;
    decompress(file).with_context(|| shown(&path).to_string()).map_err(Failure::refused)
}

/// The event that was typed, or the most frequent one.
fn chosen(
    reading: &Reading,
    open: impl FnOnce() -> Result<Vec<Box<dyn Events>>, Failure>,
) -> Result<At, Failure> {
    if let Some(at) = reading.at {
        return Ok(at);
    }
    let mut counts = Counts::default();
    // Damage is reported by the second reading.
    open()?.iter_mut().for_each(|events| events.count(&mut counts));
    Ok(At::most_frequent(&counts).unwrap_or(At::QUEUE))
}

/// Reads the files of all CPUs; `names` are for messages.
fn blktrace(
    paths: &[PathBuf],
    names: Vec<Option<String>>,
    opened: Vec<Opened>,
    reading: &Reading,
) -> Result<(Boxed, Chosen), Failure> {
    let one = |text| events(Format::Blktrace, text, None);
    let at = chosen(reading, || paths.iter().map(|path| again(path).map(one)).collect())?;
    let texts = opened.into_iter().zip(names).filter_map(|(opened, name)| match opened {
        Opened::Text(_, text) => Some(Salvage::new(Blktrace::new(text), name)),
        _ => None,
    });
    Ok(paired(Box::new(Merged::new(texts.collect::<Vec<_>>())), at, reading))
}

fn paired(events: Box<dyn Events>, at: At, reading: &Reading) -> (Boxed, Chosen) {
    // A chosen device may be a partition, which only remaps name.
    let chosen: Vec<_> = reading.devices.iter().filter_map(|device| kernel::Device::parse(device)).collect();
    let events: Box<dyn Events> =
        if chosen.is_empty() { events } else { Box::new(OnPartitions::new(events, chosen)) };
    let timing = if at == At::COMPLETE { Timing::None } else { reading.timing };
    let paired = Paired::new(events, at, timing);
    // Time zero is the first event, or an earlier request that is moved to its place.
    let requests = in_order(Box::new(paired.from_first(BEFORE_FIRST)), false, reading);
    (Box::new(FromFirst::at_most(requests, BEFORE_FIRST)), (at, timing))
}

/// Maximum time by which events may precede the first one.
const BEFORE_FIRST: Nanos = Nanos(3_600_000_000_000);

/// Prefix of the kernel's events in [`Requests::besides`], followed by their action.
pub const EVENTS: &str = "events ";
/// Prefix of the events that the kernel could not keep.
const LOST_EVENTS: &str = "lost events";

/// Name of the requests that were not chosen in [`Requests::besides`].
pub const OTHERS: &str = "requests of other devices and processes";

/// Selects the requests of some devices and processes.
struct Selected {
    requests: Boxed,
    devices: Vec<String>,
    names: DeviceNames,
    keep_nameless: bool,
    processes: Vec<String>,
    /// Indexed by device number, as far as devices have appeared.
    is_wanted: Vec<bool>,
    left_out: u64,
}

fn selected(requests: Boxed, reading: &Reading, names: &DeviceNames) -> Boxed {
    let (devices, processes) = (reading.devices.clone(), reading.processes.clone());
    if devices.is_empty() && processes.is_empty() {
        return requests;
    }
    let (names, keep_nameless, is_wanted) = (names.clone(), reading.keep_nameless, Vec::new());
    Box::new(Selected { requests, devices, names, keep_nameless, processes, is_wanted, left_out: 0 })
}

impl Selected {
    fn is_wanted(&mut self, request: &Traced) -> bool {
        let device = request.device as usize;
        while self.is_wanted.len() <= device {
            let name = self.requests.device(self.is_wanted.len() as u32).unwrap_or_default();
            let chosen = self.devices.iter().any(|d| self.names.are_same(&name, d));
            let is_kept = self.devices.is_empty() || name.is_empty() && self.keep_nameless;
            self.is_wanted.push(is_kept || chosen);
        }
        let is_named = |p: &String| *p == request.process.name() || *p == request.process.pid.to_string();
        let process = self.processes.is_empty() || self.processes.iter().any(is_named);
        process && self.is_wanted.get(device).copied().unwrap_or(self.devices.is_empty())
    }
}

impl Requests for Selected {
    fn next(&mut self) -> Next<Traced> {
        loop {
            let next: Result<Option<Entry<Traced>>, TraceError> = self.requests.next();
            match next? {
                Some(Entry::One(request)) if !self.is_wanted(&request) => self.left_out += 1,
                other => return Ok(other),
            }
        }
    }

    fn devices(&self) -> Vec<String> {
        self.requests.devices()
    }

    fn device(&self, number: u32) -> Option<String> {
        self.requests.device(number)
    }

    fn besides(&self) -> Vec<(String, u64)> {
        let mut all = self.requests.besides();
        all.push((OTHERS.into(), self.left_out));
        all
    }
}

/// The device of a request: its number in the trace, and its name.
#[derive(Debug, Clone, Copy)]
pub struct Device<'a> {
    /// From 0, in the order of appearance.
    pub number: u32,
    /// Several numbers may share a name.
    pub name: &'a str,
}

impl Trace {
    /// Calls `f` for all requests with their devices; returns the number of bad entries. The first ones are reported with their text, the
    /// others by their number.
    pub fn each(
        &mut self,
        mut f: impl FnMut(&Traced, Device<'_>) -> Result<(), Failure>,
    ) -> Result<u64, Failure> {
        let (mut bad, mut devices) = (0, Vec::<String>::new());
        // blkreplay's script turns these into requests.
        let is_guessed = self.at.is_some_and(|(_, timing)| timing == Timing::Guessed);
        while let Some(entry) =
            self.requests.next().with_context(|| self.name.clone()).map_err(Failure::refused)?
        {
            match entry {
                Entry::One(request) if request.pairing == Pairing::NoBegin && !is_guessed => {
                    self.unstarted += 1;
                }
                Entry::One(request) => {
                    let number = request.device as usize;
                    while devices.len() <= number {
                        devices.push(self.requests.device(devices.len() as u32).unwrap_or_default());
                    }
                    f(&request, Device { number: request.device, name: &devices[number] })?;
                }
                Entry::Bad(found) => {
                    bad += 1;
                    if bad <= TOLD {
                        print_message(format_args!("{}: {found}: skipped", self.name));
                    }
                }
            }
        }
        if bad > TOLD {
            print_message(format_args!("{}: {} more are wrong like these: skipped", self.name, bad - TOLD));
        }
        self.refuse_unknown().map_err(Failure::refused)?;
        Ok(bad)
    }

    /// Statistics of the kernel's events, complete after reading; `damaged` places could not be read. `None` for a trace of requests, or if
    /// completions were not requested.
    pub fn recorded(&self, damaged: u64) -> Option<Recorded> {
        self.at.filter(|(_, timing)| *timing != Timing::None)?;
        let counts = self.requests.besides();
        let sum = |what: &str| counts.iter().filter(|(w, _)| w.starts_with(what)).map(|(_, n)| n).sum();
        Some(Recorded {
            events: sum(EVENTS),
            lost: sum(LOST_EVENTS),
            no_begin: self.unstarted,
            damaged,
            ..Recorded::default()
        })
    }

    /// Refuses chosen devices that the trace does not contain.
    fn refuse_unknown(&self) -> anyhow::Result<()> {
        let devices = self.requests.devices();
        if self.keep_nameless && devices.iter().all(String::is_empty) {
            return Ok(());
        }
        refuse_unknown(&self.wanted, &devices, &self.names, &self.name)
    }
}

/// Maximum number of bad entries reported one by one.
const TOLD: u64 = 20;
