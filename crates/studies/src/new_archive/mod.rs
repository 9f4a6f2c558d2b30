//! Archives that are made from requests: of recordings and of traces.

mod processes;

use anyhow::anyhow;
use iosonar_archive::{
    Archive, ArchiveWriter, MadeRecords, Marks, Outcome, ROW_GROUP, Record, RunInfo, TargetInfo,
};
use iosonar_inputs::traces::Device;
use iosonar_inputs::{Figures, Input, SummaryOptions};
use iosonar_plan::{Extent, Plan};
use iosonar_runner::Error;
use iosonar_trace::{Kind, Pairing, Traced};
use processes::Processes;
use std::collections::HashMap;
use std::path::Path;

/// Records held for a new archive: those of a row group in its file.
pub const TOGETHER_IN_FILE: usize = ROW_GROUP;

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
    pub fn again(dir: &Path, plan: Plan, run: RunInfo) -> Result<NewArchive, Error> {
        let writer = ArchiveWriter::again(dir, &plan).map_err(Error::refused)?;
        NewArchive::of(writer, plan, run, TOGETHER_IN_FILE)
    }

    /// For a started archive; its one target stands for all devices that will appear.
    pub fn of(writer: ArchiveWriter, plan: Plan, run: RunInfo, together: usize) -> Result<NewArchive, Error> {
        let records = writer.made_records(together)?;
        let (targets, numbers, by_name) = (Vec::new(), Vec::new(), HashMap::new());
        let processes = Processes::default();
        Ok(NewArchive { writer, records, targets, numbers, by_name, processes, plan, run })
    }

    /// Adds a request; returns whether it became a record: reads, writes and flushes with a known start do.
    pub fn push(&mut self, request: &Traced, device: Device<'_>) -> Result<bool, Error> {
        let Some(op) = request.kind.op().filter(|_| request.pairing != Pairing::NoBegin) else {
            return Ok(false);
        };
        let Some(target) = self.target(device) else {
            return Err(Error::broke(anyhow!(
                "an archive has at most 65535 targets, and there are more devices"
            )));
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
    pub fn finish(mut self, remarks: &[String]) -> Result<(Archive, RunInfo), Error> {
        if !self.targets.is_empty() {
            self.plan.on_each(self.targets.iter().map(|met| met.info.path.as_str().into()));
            self.run.targets = self.targets.into_iter().map(|met| met.info).collect();
        }
        self.run.processes = self.processes.list();
        if !remarks.is_empty() {
            self.run.setup.notices = remarks.to_vec();
        }
        let archive = self.writer.finish_made(self.records, &self.plan, &self.run)?;
        Ok((archive, self.run))
    }

    /// Completes the archive, and sums up.
    pub fn end(self, remarks: &[String]) -> Result<(), Error> {
        let (archive, run) = self.finish(remarks)?;
        let dir = archive.dir().to_path_buf();
        let figures = Figures::of(&Input::of_archive(archive)?, &SummaryOptions::default())?;
        iosonar_runner::keep(&dir, &figures, &run)?;
        Ok(())
    }
}

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
