//! Records of an archive as the requests of a trace.

use iosonar_archive::{
    Archive, ArchiveError, ColumnBatch, Fields, LogEnd, Marks, Outcome, Record, RecordFile,
};
use iosonar_trace::{Bad, Entry, Flags, Next, Pairing, Requests, TraceError, TracePosition, Traced};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Records of a log that are sent in one batch, and the number of batches read ahead.
const TOGETHER: usize = 1 << 8;
const AHEAD: usize = 16;

/// Records as received from the reading thread.
enum Batch {
    /// Columns become records only where they are used: sending records to another CPU costs more than building them.
    Columns(Box<ColumnBatch>),
    Records(Vec<Record>),
    /// Facts about the log, after the last records.
    End(LogEnd),
}

impl Batch {
    /// Records ready for use.
    fn shown(&self) -> &[Record] {
        match self {
            Batch::Columns(part) => part.shown(),
            Batch::Records(records) => records,
            Batch::End(_) => &[],
        }
    }

    /// Advances to the next records; returns whether there are any.
    fn advance(&mut self) -> bool {
        match self {
            Batch::Columns(part) => part.next_some().is_some(),
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
pub struct RecordedRequests {
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

impl RecordedRequests {
    /// Reads an archive.
    pub fn of_archive(archive: Archive) -> Result<RecordedRequests, ArchiveError> {
        let devices = archive.run().targets.iter().map(|t| t.path.clone()).collect();
        Ok(match archive.record_file()? {
            Some(file) => RecordedRequests::start(devices, 0, move |to| read_file(&file, to)),
            None => RecordedRequests::start(devices, AHEAD, move |to| read_log(&archive, to)),
        })
    }

    /// Reads a file of records without an archive.
    pub fn of_parquet(path: &Path) -> Result<RecordedRequests, ArchiveError> {
        let file = RecordFile::open(path)?;
        Ok(RecordedRequests::start(Vec::new(), 0, move |to| read_file(&file, to)))
    }

    /// Reads in a separate thread, `ahead` batches before the one in use.
    fn start(
        devices: Vec<String>,
        ahead: usize,
        read: impl FnOnce(&Batches) -> Result<(), ArchiveError> + Send + 'static,
    ) -> RecordedRequests {
        let (sender, batches) = sync_channel(ahead);
        thread::spawn(move || {
            if let Err(error) = read(&sender) {
                // Fails if the receiver is gone.
                let _ = sender.send(Err(error));
            }
        });
        RecordedRequests {
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
        if to.send(Ok(Batch::Columns(Box::new(file.part(part, Fields::ALL)?)))).is_err() {
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

impl Requests for RecordedRequests {
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
            let at = TracePosition::Line(self.read);
            if let Some(why) = self.damage.pop() {
                return Ok(Some(Entry::Bad(Bad { at, why, text: None })));
            }
            if !self.batch.advance() {
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

    fn extra_counts(&self) -> Vec<(String, u64)> {
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
