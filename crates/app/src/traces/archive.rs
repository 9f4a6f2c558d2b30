//! Records of an archive as a trace, and a trace as an archive.

use crate::analysis::Figures;
use crate::exit::Failure;
use crate::inputs::Input;
use crate::session;
use anyhow::Context;
use iosonar_analyze::Limits;
use iosonar_archive::{
    Archive, ArchiveError, ArchiveWriter, Frame, LogWriter, Marks, Outcome, RECORDS, Record, RecordFile,
    RunInfo, TargetInfo,
};
use iosonar_dialect_blkreplay::recording;
use iosonar_plan::{Plan, Target};
use iosonar_trace::{Entry, Next, Pairing, Place, Requests, TraceError, Traced};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

/// Records that are handed over at once, and how often that is ahead.
const TOGETHER: usize = 1 << 10;
const AHEAD: usize = 16;

type Batch = Result<Vec<Record>, ArchiveError>;

/// Requests that a run handed over, at their due times; what it did not hand over is counted.
pub struct Recorded {
    batches: Receiver<Batch>,
    batch: std::vec::IntoIter<Record>,
    devices: Vec<String>,
    read: u64,
    unsent: u64,
}

impl Recorded {
    /// Of a whole archive.
    pub fn of_archive(archive: Archive) -> Recorded {
        let devices = archive.run().targets.iter().map(|t| t.path.clone()).collect();
        Recorded::start(devices, move |f| archive.for_each_record(f).map(drop))
    }

    /// Of a file of records alone.
    pub fn of_parquet(path: &Path) -> Result<Recorded, ArchiveError> {
        let file = RecordFile::open(path)?;
        Ok(Recorded::start(Vec::new(), move |f| file.for_each(f).map(drop)))
    }

    fn start(
        devices: Vec<String>,
        read: impl FnOnce(&mut dyn FnMut(&Record)) -> Result<(), ArchiveError> + Send + 'static,
    ) -> Recorded {
        let (sender, batches) = sync_channel::<Batch>(AHEAD);
        thread::spawn(move || {
            let mut batch = Vec::with_capacity(TOGETHER);
            let ended = read(&mut |record| {
                batch.push(*record);
                if batch.len() == TOGETHER {
                    // Nobody listens any more where this fails; the reader's end is all that is left to do.
                    let _ = sender.send(Ok(std::mem::replace(&mut batch, Vec::with_capacity(TOGETHER))));
                }
            });
            let _ = sender.send(Ok(batch));
            if let Err(error) = ended {
                let _ = sender.send(Err(error));
            }
        });
        Recorded { batches, batch: Vec::new().into_iter(), devices, read: 0, unsent: 0 }
    }
}

impl Requests for Recorded {
    fn next(&mut self) -> Next<Traced> {
        loop {
            let Some(record) = self.batch.next() else {
                let Ok(batch) = self.batches.recv() else { return Ok(None) };
                let at = Place::Line(self.read);
                let batch = batch.map_err(|error| TraceError::Broken { at, why: error.to_string() })?;
                self.batch = batch.into_iter();
                continue;
            };
            self.read += 1;
            match traced(self.read, &record) {
                Some(request) => return Ok(Some(Entry::One(request))),
                None => self.unsent += 1,
            }
        }
    }

    fn devices(&self) -> Vec<String> {
        self.devices.clone()
    }

    fn besides(&self) -> Vec<(String, u64)> {
        vec![("requests that were not handed over".into(), self.unsent)]
    }
}

/// What was really done; none if nothing was.
fn traced(at: u64, record: &Record) -> Option<Traced> {
    // A recording without times has only what was asked for.
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
        ..Traced::new(at, record.due, record.op.into(), record.executed)
    })
}

/// An archive that is made of requests.
pub struct NewArchive {
    writer: ArchiveWriter,
    log: LogWriter,
    frame: Frame,
    /// One for each device, in the order in which they were met.
    targets: Vec<TargetInfo>,
    plan: Plan,
    run: RunInfo,
    sequences: Vec<u64>,
    last: usize,
    /// Removes a directory that did not become whole; none where it holds something else, too.
    partial: Option<Partial>,
}

/// A directory that goes with this.
struct Partial(PathBuf);

impl Drop for Partial {
    fn drop(&mut self) {
        // Nobody can be told any more.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl NewArchive {
    /// Begins at `path`; if it becomes a file of records, in a directory beside it.
    pub fn begin(path: &Path, is_parquet: bool, origin: &str) -> Result<NewArchive, Failure> {
        let dir = if is_parquet { beside(path) } else { path.to_path_buf() };
        let (plan, run) = recording(origin, 0);
        let environment = serde_json::json!({ "converted_from": origin });
        let writer = ArchiveWriter::create(&dir, &plan, &environment, &run).map_err(Failure::refused)?;
        let partial = Some(Partial(dir));
        Ok(NewArchive { partial, ..NewArchive::of(writer, plan, run)? })
    }

    /// Of a directory whose run was killed before it had any record.
    pub fn again(dir: &Path, plan: Plan, run: RunInfo) -> Result<NewArchive, Failure> {
        let writer = ArchiveWriter::again(dir, &plan).map_err(Failure::refused)?;
        NewArchive::of(writer, plan, run)
    }

    /// Of an archive that was begun; its one target stands for all that will be met.
    pub fn of(writer: ArchiveWriter, plan: Plan, run: RunInfo) -> Result<NewArchive, Failure> {
        let log = writer.record_log()?;
        let (frame, targets, sequences) = (Frame::default(), Vec::new(), Vec::new());
        Ok(NewArchive { writer, log, frame, targets, plan, run, sequences, last: 0, partial: None })
    }

    /// Whether the request became a record: reads and writes whose begin is known do.
    pub fn push(&mut self, request: &Traced, device: &str) -> std::io::Result<bool> {
        let Some(op) = request.kind.op().filter(|_| request.pairing != Pairing::NoBegin) else {
            return Ok(false);
        };
        let Some(target) = self.target(device) else {
            return Err(std::io::Error::other(
                "an archive has at most 65535 targets, and there are more devices",
            ));
        };
        let sequence = self.sequences[target];
        self.sequences[target] += 1;
        let end = &mut self.targets[target].max_requested_end;
        *end = (*end).max(request.extent.end());
        let record = Record { op, target: target as u16, sequence, ..of_request(request) };
        // A frame that says no has taken the record, and is full.
        if !self.frame.push(&record) {
            self.log.append_frame(&mut self.frame)?;
            self.frame.clear();
        }
        Ok(true)
    }

    fn target(&mut self, device: &str) -> Option<usize> {
        if self.targets.get(self.last).is_none_or(|t| t.path != device) {
            self.last = match self.targets.iter().position(|t| t.path == device) {
                Some(known) => known,
                None if self.targets.len() == usize::from(u16::MAX) => return None,
                None => {
                    let known = self.run.targets.iter().find(|t| t.path == device);
                    let like = known.unwrap_or(&self.run.targets[0]).clone();
                    self.targets.push(TargetInfo { path: device.to_string(), ..like });
                    self.sequences.push(0);
                    self.targets.len() - 1
                }
            };
        }
        Some(self.last)
    }

    /// Ends it: Parquet and summary, or the records alone at `path`.
    pub fn end(
        mut self: Box<Self>,
        is_parquet: bool,
        path: &Path,
        remarks: &[String],
    ) -> Result<(), Failure> {
        self.log.append_frame(&mut self.frame)?;
        if !self.targets.is_empty() {
            let target = self.plan.targets[0].clone();
            let named = |info: &TargetInfo| Target { path: (&info.path).into(), ..target.clone() };
            self.plan.targets = self.targets.iter().map(named).collect();
            self.run.targets = self.targets;
        }
        if !remarks.is_empty() {
            self.run.means.notices = remarks.to_vec();
        }
        self.writer.write_plan(&self.plan)?;
        self.writer.write_run(&self.run)?;
        let dir = self.writer.dir().to_path_buf();
        let partial = self.partial.take();
        drop(self.log);
        let archive = self.writer.finish()?;
        // From here on everything is there.
        std::mem::forget(partial);
        if is_parquet {
            std::fs::rename(dir.join(RECORDS), path)
                .with_context(|| format!("cannot write {}", path.display()))?;
            std::fs::remove_dir_all(&dir)?;
            return Ok(());
        }
        let figures = Figures::of(&Input::of_archive(archive)?, &Limits::default())?;
        session::keep(&dir, &figures, &self.run)?;
        Ok(())
    }
}

/// Where the archive lies while its records become a file.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!(".{name}.partial"))
}

fn of_request(request: &Traced) -> Record {
    let has_times = request.latency.is_some();
    let submitted = request.time.saturating_add(request.delay);
    let length = i64::try_from(request.extent.length).unwrap_or(i64::MAX);
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
            .with(Marks::AMBIGUOUS, request.pairing == Pairing::Ambiguous),
        load_time: request.time,
        due: request.time,
        submitted: has_times.then_some(submitted),
        completed: request.latency.map(|latency| submitted.saturating_add(latency)),
        requested: request.extent,
        executed: request.extent,
        ..Record::default()
    }
}
