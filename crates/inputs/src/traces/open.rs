//! Detects the formats of traces, and reads them.

use super::devices::DeviceNames;
use super::reading::Reading;
use super::recorded::RecordedRequests;
use super::recording::recording_requests;
use super::selected::selected;
use super::trace::Trace;
use crate::OpenError;
use crate::{Elsewhere, OpenArchiveError};
use iosonar_archive::Archive;
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
    Format, FromFirst, InOrder, Joined, Kind, Load, Requests, Salvage, SeekList, explain, is_damage,
};
use std::io::{BufRead, Chain, Cursor, Read};
use std::path::{Path, PathBuf};

/// Content of a path.
enum Opened {
    Archive(Box<Archive>),
    /// A recording, with its events.
    Recording(PathBuf),
    Parquet(PathBuf),
    Text(Format, Box<dyn BufRead + Send>),
}

/// Order of the records of archives among other requests, which are ordered by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordOrder {
    /// As they are stored: by completion.
    Stored,
    /// By due time.
    DueTime,
}

/// Opens traces and joins them.
pub fn open(paths: &[PathBuf], reading: &Reading, order: RecordOrder) -> Result<Trace, OpenError> {
    let paths = all_cpus(paths);
    if paths.iter().filter(|p| p.as_os_str() == "-").count() > 1 {
        return Err(OpenError::TwiceStandardInput);
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
        requests(path, None, one, (reading, order))?
    } else {
        let mut at = None;
        let mut all = Vec::new();
        for (path, one) in paths.iter().zip(opened) {
            let (requests, of_events) = requests(path, file(path), one, (reading, order))?;
            at = at.or(of_events);
            all.push(requests);
        }
        (Box::new(Joined::new(all)) as Box<dyn Requests>, at)
    };
    let names = DeviceNames::of(&paths);
    let requests = selected(requests, reading, &names);
    let (wanted, keeps_nameless) = (reading.devices.clone(), reading.keeps_nameless);
    Ok(Trace { name, format, at, requests, names, wanted, keeps_nameless, unstarted: 0 })
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

fn look(path: &Path, reading: &Reading) -> Result<Opened, OpenError> {
    let name = || path.display().to_string();
    if path.join("events").is_dir() {
        return Ok(Opened::Recording(path.to_path_buf()));
    }
    if path.is_dir() {
        let archive = Archive::open(path)?;
        return match archive.has_counts_only() {
            true => Err(OpenArchiveError::from(Elsewhere::of(path)).into()),
            false => Ok(Opened::Archive(Box::new(archive))),
        };
    }
    let mut text = crate::text(path)?;
    let mut head = Vec::new();
    match text.by_ref().take(LOOKED_AT as u64).read_to_end(&mut head) {
        // A truncation is reported at its position, and the data before it is kept.
        Err(error) if is_damage(&error) && !head.is_empty() => {}
        read => read.map(drop).map_err(explain).map_err(OpenError::io(name()))?,
    }
    let format = match &reading.from {
        Some(format) => format.clone(),
        // A CPU without events has an empty file.
        None if head.is_empty() && is_cpu_file(path) => Format::Blktrace,
        None if head.is_empty() => {
            return Err(OpenError::content(name(), "it is empty, so there is nothing to read"));
        }
        None => Format::recognise(&head).ok_or_else(|| {
            let forms = Format::NAMES.join(", ");
            let why =
                format!("its content is none of the forms that are read ({forms}); if it is, name the form with --from");
            OpenError::content(name(), why)
        })?,
    };
    let format = match format {
        Format::Blkparse(form) => Format::Blkparse(with_direction(form, reading.direction, path)?),
        other if reading.direction.is_some() => {
            let name = shown(&path);
            let why = format!(
                "{name} is {other}, and only text of blkparse may lack the operation: remove the option"
            );
            return Err(OpenError::option("--direction", why));
        }
        other => other,
    };
    if format == Format::FioLatency {
        refuse_other_logs(path)?;
    }
    if format == Format::Parquet && !path.is_file() {
        return Err(OpenError::content(
            name(),
            "Parquet is read from its end, and only a file has one from the start on: write it into a file, and name that",
        ));
    }
    if format == Format::Parquet {
        return Ok(Opened::Parquet(path.to_path_buf()));
    }
    // Both are buffered already: another buffer would copy everything again.
    let whole: Chain<Cursor<Vec<u8>>, _> = Cursor::new(head).chain(text);
    Ok(Opened::Text(format, Box::new(whole)))
}

/// The form with the typed direction, which its lines lack.
fn with_direction(form: Form, direction: Option<Kind>, path: &Path) -> Result<Form, OpenError> {
    match direction {
        Some(_) if form.has_direction() => Err(OpenError::option(
            "--direction",
            format_args!("the lines of {} contain the operation (%d): remove the option", shown(path)),
        )),
        Some(direction) => Ok(form.of_direction(direction)),
        None if form.has_direction() => Ok(form),
        None => Err(OpenError::content(
            shown(path),
            "its lines do not contain the operation (blkparse -f without %d): if blkparse -a selected one, set it with \
             --direction read, --direction write or --direction discard",
        )),
    }
}

/// fio's logs of other figures look the same: only their file names distinguish them.
fn refuse_other_logs(path: &Path) -> Result<(), OpenError> {
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let other = ["_bw.", "_iops.", "_slat."].into_iter().find(|part| name.contains(part));
    other.map_or(Ok(()), |part| {
        let why = format_args!(
            "'{part}' in its name says that it is no log of latencies: name the log with _clat. or _lat."
        );
        Err(OpenError::content(shown(path), why))
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
    (reading, order): (&Reading, RecordOrder),
) -> Result<(Boxed, Option<Chosen>), OpenError> {
    let (format, text) = match opened {
        Opened::Archive(of_run) => {
            let records = RecordedRequests::of_archive(*of_run)?;
            return Ok((of_records(records, reading, order), None));
        }
        Opened::Recording(dir) => {
            let (requests, at) = recording_requests(&dir, reading.timing, reading.at)?;
            return Ok((requests, Some((at, reading.timing))));
        }
        Opened::Parquet(path) => {
            let records = RecordedRequests::of_parquet(&path)?;
            return Ok((of_records(records, reading, order), None));
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

fn of_records(records: RecordedRequests, reading: &Reading, order: RecordOrder) -> Boxed {
    match order {
        RecordOrder::Stored => Box::new(records),
        RecordOrder::DueTime => in_order(Box::new(records), false, reading),
    }
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
fn again(path: &Path) -> Result<Box<dyn BufRead + Send>, OpenError> {
    if path.as_os_str() == "-" || !path.metadata().is_ok_and(|m| m.is_file()) {
        return Err(OpenError::content(
            shown(path),
            "which event is the most frequent can be found out of a file only, which is read twice: name the event with --at, for \
             example --at queue",
        ));
    }
    crate::text(path)
}

/// The event that was typed, or the most frequent one.
fn chosen(
    reading: &Reading,
    open: impl FnOnce() -> Result<Vec<Box<dyn Events>>, OpenError>,
) -> Result<At, OpenError> {
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
) -> Result<(Boxed, Chosen), OpenError> {
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
