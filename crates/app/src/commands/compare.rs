//! `iosonar compare`: runs beside a baseline.

use super::open;
use crate::compare_args::CompareArgs;
use crate::exit::{Exit, Failure};
use crate::output::print;
use anyhow::anyhow;
use iosonar_analyze::Records;
use iosonar_analyze::compare::{self, Blocks, Judged, Judgement, Outcome, Run};
use iosonar_archive::{Archive, Fields, Record, RecordFile, RunState};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Prints one comparison for each run behind the first.
pub fn compare(args: &CompareArgs) -> Result<Exit, Failure> {
    let archives = args.runs.iter().map(|dir| open(dir)).collect::<Result<Vec<_>, _>>()?;
    let records = archives.iter().map(ArchiveRecords::of).collect::<Result<Vec<_>, Failure>>()?;
    let mut runs: Vec<Run> =
        archives.iter().zip(&records).map(|(archive, records)| run(archive, records)).collect();
    let blocks = read_all(&runs)?;
    for (run, records) in runs.iter_mut().zip(&records) {
        run.incomplete = records.incomplete();
    }
    let mut judged = Vec::new();
    for (run, their) in runs.iter().zip(&blocks).skip(1) {
        let comparison = compare::compare((&runs[0], &blocks[0]), (run, their))?;
        judged.push(Judged::new(comparison, &args.fail_if));
    }
    print(&if args.json { compare::to_json(&judged) } else { iosonar_view::compare(&judged) })?;
    exit(&judged)
}

fn run<'a>(archive: &'a Archive, records: &'a ArchiveRecords) -> Run<'a> {
    Run {
        name: archive.dir().display().to_string(),
        records,
        plan: Some(archive.plan()),
        environment: archive.environment(),
        has_timetable: compare::has_timetable(archive.plan()),
        incomplete: None,
    }
}

/// Reads all runs at the same time.
fn read_all(runs: &[Run]) -> io::Result<Vec<Blocks>> {
    std::thread::scope(|scope| {
        let readers: Vec<_> = runs
            .iter()
            .map(|run| {
                let (records, by_due) = (run.records, run.has_timetable);
                scope.spawn(move || Blocks::read(records, by_due))
            })
            .collect();
        let joined = readers.into_iter().map(|reader| reader.join());
        joined.map(|blocks| blocks.map_err(|_| io::Error::other("reading the records broke off"))?).collect()
    })
}

/// A condition that failed counts more than one that cannot be judged.
fn exit(judged: &[Judged]) -> Result<Exit, Failure> {
    let conditions = || judged.iter().flat_map(|j| &j.conditions);
    if conditions().any(|c| c.result == Judgement::Failed) {
        return Ok(Exit::Failed);
    }
    if let Some(unknown) = conditions().find(|c| c.result == Judgement::Unknown) {
        let (text, figure) = (&unknown.condition.text, &unknown.condition.figure);
        return Err(Failure::refused(anyhow!(
            "--fail-if '{text}' cannot be judged: {figure} is missing in one of the runs, or has no interval because \
             too few requests or too little time are behind it"
        )));
    }
    let nothing = judged.iter().any(|j| j.comparison.answer.outcome == Outcome::Nothing);
    Ok(if nothing { Exit::Failed } else { Exit::Fine })
}

/// The records of an archive, finished or not.
struct ArchiveRecords<'a> {
    archive: &'a Archive,
    file: Option<RecordFile>,
    /// Bytes at the end of a log that no longer were a record, once it was read.
    lost_bytes: AtomicU64,
}

impl ArchiveRecords<'_> {
    fn of(archive: &Archive) -> Result<ArchiveRecords<'_>, Failure> {
        Ok(ArchiveRecords { archive, file: archive.record_file()?, lost_bytes: AtomicU64::new(0) })
    }

    /// Why the run is not whole.
    fn incomplete(&self) -> Option<String> {
        let lost = self.lost_bytes.load(Relaxed);
        match &self.archive.run().state {
            _ if lost > 0 => Some(format!("it did not end; the last {lost} bytes of its log are cut off")),
            RunState::Finished => None,
            RunState::Running => Some("it did not end, or it still goes on".to_string()),
            RunState::Interrupted(signal) => Some(format!("it was stopped by {signal}")),
            RunState::Broken(why) => Some(format!("it broke off: {why}")),
        }
    }
}

impl Records for ArchiveRecords<'_> {
    fn parts(&self) -> usize {
        self.file.as_ref().map_or(1, RecordFile::parts)
    }

    fn read_part(&self, part: usize, wanted: Fields, f: &mut dyn FnMut(&[Record])) -> io::Result<()> {
        if let Some(file) = &self.file {
            return file.read_part(part, wanted, f).map_err(io::Error::other);
        }
        let end = self.archive.for_each_record(&mut |record| f(std::slice::from_ref(record)));
        self.lost_bytes.store(end.map_err(io::Error::other)?.lost_bytes, Relaxed);
        Ok(())
    }
}
