//! Records of an archive as a trace, and a trace as an archive.

use crate::exit::Failure;
use crate::traces::open::Device;
use crate::traces::processes::Processes;
use anyhow::{Context, bail};
use iosonar_archive::{
    Archive, ArchiveError, ArchiveWriter, Fields, LogEnd, MadeRecords, Marks, Outcome, Part, RECORDS,
    ROW_GROUP, Record, RecordFile, RunInfo, RunState, TargetInfo,
};
use iosonar_dialect_blkreplay::recording;
use iosonar_inputs::{Figures, Input, SummaryOptions};
use iosonar_os::create;
use iosonar_os::made::OwnDir;
use iosonar_plan::{Extent, Plan};
use iosonar_text::shown;
use iosonar_trace::{Bad, Entry, Flags, Kind, Next, Pairing, Place, Requests, TraceError, Traced};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Records of a log that are sent in one batch, and the number of batches read ahead.
const TOGETHER: usize = 1 << 8;
const AHEAD: usize = 16;

/// Records as received from the reading thread.
enum Batch {
    /// Columns become records only where they are used: sending records to another CPU costs more than building them.
    Part(Box<Part>),
    Records(Vec<Record>),
    /// Facts about the log, after the last records.
    End(LogEnd),
}

impl Batch {
    /// Records ready for use.
    fn shown(&self) -> &[Record] {
        match self {
            Batch::Part(part) => part.shown(),
            Batch::Records(records) => records,
            Batch::End(_) => &[],
        }
    }

    /// Advances to the next records; returns whether there are any.
    fn go_on(&mut self) -> bool {
        match self {
            Batch::Part(part) => part.next_some().is_some(),
            Batch::Records(records) => {
                records.clear();
                false
            }
            Batch::End(_) => false,
        }
    }
}

type Batches = SyncSender<Result<Batch, ArchiveError>>;

/// Issued requests of a run, at their due times; requests that were not issued are counted.
pub struct Recorded {
    batches: Receiver<Result<Batch, ArchiveError>>,
    batch: Batch,
    /// Number of used records of the batch.
    used: usize,
    devices: Vec<String>,
    read: u64,
    unsent: u64,
    /// Requests of phases and passes after the first: a trace has neither.
    repeated: u64,
    /// Damage still to be reported, the next one last.
    damage: Vec<String>,
}

impl Recorded {
    /// Reads an archive.
    pub fn of_archive(archive: Archive) -> Result<Recorded, ArchiveError> {
        let devices = archive.run().targets.iter().map(|t| t.path.clone()).collect();
        Ok(match archive.record_file()? {
            Some(file) => Recorded::start(devices, 0, move |to| read_file(&file, to)),
            None => Recorded::start(devices, AHEAD, move |to| read_log(&archive, to)),
        })
    }

    /// Reads a file of records without an archive.
    pub fn of_parquet(path: &Path) -> Result<Recorded, ArchiveError> {
        let file = RecordFile::open(path)?;
        Ok(Recorded::start(Vec::new(), 0, move |to| read_file(&file, to)))
    }

    /// Reads in a separate thread, `ahead` batches before the one in use.
    fn start(
        devices: Vec<String>,
        ahead: usize,
        read: impl FnOnce(&Batches) -> Result<(), ArchiveError> + Send + 'static,
    ) -> Recorded {
        let (sender, batches) = sync_channel(ahead);
        thread::spawn(move || {
            if let Err(error) = read(&sender) {
                // Fails if the receiver is gone.
                let _ = sender.send(Err(error));
            }
        });
        Recorded {
            batches,
            batch: Batch::Records(Vec::new()),
            used: 0,
            devices,
            read: 0,
            unsent: 0,
            repeated: 0,
            damage: Vec::new(),
        }
    }
}

fn read_file(file: &RecordFile, to: &Batches) -> Result<(), ArchiveError> {
    for part in 0..file.parts() {
        if to.send(Ok(Batch::Part(Box::new(file.part(part, Fields::ALL)?)))).is_err() {
            // The receiver is gone.
            break;
        }
    }
    Ok(())
}

fn read_log(archive: &Archive, to: &Batches) -> Result<(), ArchiveError> {
    let mut batch = Vec::with_capacity(TOGETHER);
    let ended = archive.for_each_record(&mut |record| {
        batch.push(*record);
        if batch.len() == TOGETHER {
            // Fails if the receiver is gone; then only the rest of the log is read.
            let full = std::mem::replace(&mut batch, Vec::with_capacity(TOGETHER));
            let _ = to.send(Ok(Batch::Records(full)));
        }
    });
    let _ = to.send(Ok(Batch::Records(batch)));
    let _ = to.send(Ok(Batch::End(ended?)));
    Ok(())
}

impl Requests for Recorded {
    fn next(&mut self) -> Next<Traced> {
        loop {
            if let Some(record) = self.batch.shown().get(self.used) {
                (self.used, self.read) = (self.used + 1, self.read + 1);
                self.repeated += u64::from(record.pass > 0 || record.phase > 0);
                match traced(self.read, record) {
                    Some(request) => return Ok(Some(Entry::One(request))),
                    None => self.unsent += 1,
                }
                continue;
            }
            self.used = 0;
            let at = Place::Line(self.read);
            if let Some(why) = self.damage.pop() {
                return Ok(Some(Entry::Bad(Bad { at, why, text: None })));
            }
            if !self.batch.go_on() {
                let Ok(batch) = self.batches.recv() else { return Ok(None) };
                self.batch = batch.map_err(|error| TraceError::Broken { at, why: error.to_string() })?;
                if let Batch::End(end) = &self.batch {
                    self.damage = end.remarks();
                }
            }
        }
    }

    fn devices(&self) -> Vec<String> {
        self.devices.clone()
    }

    fn device(&self, number: u32) -> Option<String> {
        self.devices.get(number as usize).cloned()
    }

    fn besides(&self) -> Vec<(String, u64)> {
        vec![
            ("requests that were not submitted".into(), self.unsent),
            (
                "requests of later phases or passes follow on the same clock: phases and passes are not kept"
                    .into(),
                self.repeated,
            ),
        ]
    }
}

/// The executed request; `None` if it was not issued.
fn traced(at: u64, record: &Record) -> Option<Traced> {
    // A recording without times has only the requests.
    let is_demand = record.outcome == Outcome::Cancelled && record.submitted.is_none() && record.result == 0;
    if record.submitted.is_none() && !is_demand {
        return None;
    }
    let latency = record.latency();
    Some(Traced {
        device: record.target.into(),
        delay: record.delay().unwrap_or_default(),
        latency,
        pairing: if latency.is_some() { Pairing::Exact } else { Pairing::Untold },
        error: if record.result < 0 { i32::try_from(-record.result).unwrap_or(0) } else { 0 },
        pushed: record.is_pushed(),
        flags: Flags::default()
            .with(Flags::FUA, record.marks.has(Marks::FUA))
            .with(Flags::PREFLUSH, record.marks.has(Marks::PREFLUSH)),
        ..Traced::new(at, record.due, record.op.into(), record.executed)
    })
}

/// Records held for a new archive: those of a row group in its file.
pub const TOGETHER_IN_FILE: usize = ROW_GROUP;
/// Records held for each of many archives that are made at the same time.
pub const TOGETHER_IN_EACH: usize = 1 << 13;

/// An archive made from requests.
pub struct NewArchive {
    writer: ArchiveWriter,
    records: MadeRecords,
    /// One for each device, in the order of appearance.
    targets: Vec<Met>,
    /// Targets by the trace's device numbers, as far as they have appeared.
    numbers: Vec<Option<u16>>,
    /// Targets by device name, of which there may be as many as a cloud has volumes.
    by_name: HashMap<String, u16>,
    processes: Processes,
    plan: Plan,
    run: RunInfo,
}

/// A device of the trace.
struct Met {
    info: TargetInfo,
    requests: u64,
}

impl NewArchive {
    /// For a directory whose run was killed before it had any record.
    pub fn again(dir: &Path, plan: Plan, run: RunInfo) -> Result<NewArchive, Failure> {
        let writer = ArchiveWriter::again(dir, &plan).map_err(Failure::refused)?;
        NewArchive::of(writer, plan, run, TOGETHER_IN_FILE)
    }

    /// For a started archive; its one target stands for all devices that will appear.
    pub fn of(
        writer: ArchiveWriter,
        plan: Plan,
        run: RunInfo,
        together: usize,
    ) -> Result<NewArchive, Failure> {
        let records = writer.made_records(together)?;
        let (targets, numbers, by_name) = (Vec::new(), Vec::new(), HashMap::new());
        let processes = Processes::default();
        Ok(NewArchive { writer, records, targets, numbers, by_name, processes, plan, run })
    }

    /// Adds a request; returns whether it became a record: reads, writes and flushes with a known start do.
    pub fn push(&mut self, request: &Traced, device: Device<'_>) -> anyhow::Result<bool> {
        let Some(op) = request.kind.op().filter(|_| request.pairing != Pairing::NoBegin) else {
            return Ok(false);
        };
        let Some(target) = self.target(device) else {
            bail!("an archive has at most 65535 targets, and there are more devices");
        };
        self.processes.add(request, op, target);
        let Met { info, requests } = &mut self.targets[usize::from(target)];
        info.max_requested_end = info.max_requested_end.max(request.extent.end());
        let record = Record { op, target, sequence: *requests, ..of_request(request) };
        *requests += 1;
        self.records.push(&record)?;
        Ok(true)
    }

    fn target(&mut self, device: Device<'_>) -> Option<u16> {
        let number = device.number as usize;
        if let Some(Some(known)) = self.numbers.get(number) {
            return Some(*known);
        }
        // Joined traces may have one device under several numbers.
        let known = self.by_name.get(device.name).copied();
        let new = || u16::try_from(self.targets.len()).ok().filter(|n| *n < u16::MAX);
        let target = known.or_else(new)?;
        if known.is_none() {
            self.by_name.insert(device.name.to_string(), target);
            let like = self.run.targets.iter().find(|t| t.path == device.name);
            let like = like.unwrap_or(&self.run.targets[0]).clone();
            let info = TargetInfo { path: device.name.to_string(), ..like };
            self.targets.push(Met { info, requests: 0 });
        }
        if self.numbers.len() <= number {
            self.numbers.resize(number + 1, None);
        }
        self.numbers[number] = Some(target);
        Some(target)
    }

    /// Sets the statistics of the events from which the records were made.
    pub fn recorded(&mut self, recorded: iosonar_archive::Recorded) {
        self.run.recorded = Some(recorded);
    }

    /// Completes the records, without a summary.
    fn finish(mut self, remarks: &[String]) -> Result<(Archive, RunInfo), Failure> {
        if !self.targets.is_empty() {
            self.plan.on_each(self.targets.iter().map(|met| met.info.path.as_str().into()));
            self.run.targets = self.targets.into_iter().map(|met| met.info).collect();
        }
        self.run.processes = self.processes.list();
        if !remarks.is_empty() {
            self.run.means.notices = remarks.to_vec();
        }
        let archive = self.writer.finish_made(self.records, &self.plan, &self.run)?;
        Ok((archive, self.run))
    }

    /// Completes the archive, and sums up.
    pub fn end(self, remarks: &[String]) -> Result<(), Failure> {
        let (archive, run) = self.finish(remarks)?;
        let dir = archive.dir().to_path_buf();
        let figures = Figures::of(&Input::of_archive(archive)?, &SummaryOptions::default())?;
        iosonar_runner::keep(&dir, &figures, &run)?;
        Ok(())
    }
}

/// A trace converted to an archive, or to a file of records alone: it is written beside its path, and renamed when it is complete.
pub struct Converted {
    archive: NewArchive,
    partial: OwnDir,
    path: PathBuf,
    is_parquet: bool,
}

impl Converted {
    /// Starts the output for `path`. At most `together` records are held.
    pub fn begin(path: &Path, is_parquet: bool, origin: &str, together: usize) -> Result<Converted, Failure> {
        let (plan, run) = recording(origin, 0);
        let environment = serde_json::json!({ "converted_from": origin });
        let beside = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let partial = OwnDir::new_in(beside, "convert").with_context(|| path.display().to_string());
        let partial = partial.map_err(Failure::refused)?;
        let dir = partial.path().join(ARCHIVE);
        let begun = RunInfo { state: RunState::Running, ..run.clone() };
        let writer = ArchiveWriter::create(&dir, &plan, &environment, &begun).map_err(Failure::refused)?;
        let archive = NewArchive::of(writer, plan, run, together)?;
        Ok(Converted { archive, partial, path: path.to_path_buf(), is_parquet })
    }

    /// Adds a request; returns whether it became a record.
    #[inline]
    pub fn push(&mut self, request: &Traced, device: Device<'_>) -> anyhow::Result<bool> {
        self.archive.push(request, device)
    }

    /// Completes the output: Parquet and summary, or the records alone. `recorded`: statistics of the kernel's events, if the trace has
    /// them.
    pub fn end(self, remarks: &[String], recorded: Option<iosonar_archive::Recorded>) -> Result<(), Failure> {
        let Converted { mut archive, partial, path, is_parquet } = self;
        if let Some(recorded) = recorded {
            archive.recorded(recorded);
        }
        partial.remove_leftovers();
        let whole = if is_parquet {
            archive.finish(remarks)?;
            partial.path().join(ARCHIVE).join(RECORDS)
        } else {
            archive.end(remarks)?;
            partial.path().join(ARCHIVE)
        };
        create::rename_new(&whole, &path).with_context(|| format!("cannot write {}", shown(&path)))?;
        Ok(())
    }
}

/// Name of the archive in the temporary directory, until it is complete.
const ARCHIVE: &str = "archive";

fn of_request(request: &Traced) -> Record {
    // Traces may give a flush a meaningless place.
    let extent = if request.kind == Kind::Flush { Extent::default() } else { request.extent };
    let has_times = request.latency.is_some();
    let submitted = request.time.saturating_add(request.delay);
    let length = i64::try_from(extent.length).unwrap_or(i64::MAX);
    let (outcome, result) = match (has_times, request.error) {
        (false, _) => (Outcome::Cancelled, 0),
        (true, 0) => (Outcome::Completed, length),
        (true, error) => (Outcome::Failed, -i64::from(error)),
    };
    Record {
        outcome,
        result,
        marks: Marks::default()
            .with(Marks::PUSHED, request.pushed)
            .with(Marks::AMBIGUOUS, request.pairing == Pairing::Ambiguous)
            .with_durability(request.durability()),
        load_time: request.time,
        due: request.time,
        submitted: has_times.then_some(submitted),
        completed: request.latency.map(|latency| submitted.saturating_add(latency)),
        requested: extent,
        executed: extent,
        ..Record::default()
    }
}
