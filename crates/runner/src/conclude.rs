//! From records in their log to Parquet and a summary. No record is lost where that fails, for example because the disk is
//! full: the log stays, and the state of the result says so.

use crate::{Ended, path_join};
use iosonar_analyze::{Limits, Passing};
use iosonar_archive::{Archive, ArchiveError, ArchiveWriter, Record, RunInfo, RunState};
use iosonar_inputs::{Figures, FiguresError, Input, OpenError, SummaryOptions};
use iosonar_text::shown;
use std::path::{Path, PathBuf};

/// A part of the result that could not be stored.
#[derive(Debug)]
pub enum Problem {
    /// The records stay in their log.
    NotConverted(ArchiveError),
    /// The summary.
    SummaryNotKept(ArchiveError),
    /// The times of the requests in the kernel: its events stay.
    PathNotJoined(anyhow::Error),
    /// That one of the others happened: `run.json` still says that the run finished.
    StateNotKept(ArchiveError),
}

/// Why a run cannot be summed up.
#[derive(Debug, thiserror::Error)]
pub enum ConcludeError {
    /// Its log is damaged; the conversion would hold less than it does.
    #[error("{}: its log is damaged and stays as it is", shown(.0))]
    Damaged(PathBuf),
    /// It cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Its records cannot be read.
    #[error(transparent)]
    Figures(#[from] FiguresError),
    /// The archive.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
}

/// A run whose records were turned into Parquet, as far as there was room.
#[derive(Debug)]
pub struct Encoded {
    ended: Ended,
    options: SummaryOptions,
    seen: Passing,
    problems: Vec<Problem>,
}

/// A run with its summary.
#[derive(Debug)]
pub struct Concluded {
    /// Where it is.
    pub dir: PathBuf,
    /// How far it came.
    pub info: RunInfo,
    /// Its summary, with the counters it was made of.
    pub figures: Figures,
    /// Lines of loads that were skipped.
    pub skipped: u64,
    /// Parts that could not be stored.
    pub problems: Vec<Problem>,
}

impl Ended {
    /// Turns the log into Parquet, and counts the records on their way.
    pub fn encode(self, options: SummaryOptions) -> Encoded {
        self.encode_showing(options, &mut |_| {})
    }

    /// Like [`Ended::encode`]; `show` gets each record on its way, and may get only some of them before an error.
    pub fn encode_showing(self, options: SummaryOptions, show: &mut dyn FnMut(&[Record])) -> Encoded {
        let (seen, finished) = finish_showing(&self.archive, self.info.targets.len(), &options.limits, show);
        let mut encoded = Encoded { ended: self, options, seen, problems: Vec::new() };
        if let Err(error) = finished {
            leave_unconverted(&mut encoded.ended, error, Problem::NotConverted, &mut encoded.problems);
        }
        encoded
    }
}

/// Sums up a part of a run, and keeps the summary beside the records, which stay in their log.
///
/// # Errors
/// The records cannot be read, or there is no room.
pub fn sum_up_part(dir: &Path) -> Result<(), ConcludeError> {
    let archive = Archive::open(dir)?;
    let writer = ArchiveWriter::resume(&archive);
    let figures = Figures::of(&Input::of_archive(archive)?, &SummaryOptions::default())?;
    Ok(writer.write_summary(&figures.summary.to_json())?)
}

impl Encoded {
    /// Sums up, and keeps the summary beside the records.
    ///
    /// # Errors
    /// The records cannot be read.
    pub fn sum_up(self) -> Result<Concluded, ConcludeError> {
        let Encoded { mut ended, options, seen, mut problems } = self;
        let dir = ended.archive.dir().to_path_buf();
        problems.extend(path_join::join(&ended.archive).err().map(Problem::PathNotJoined));
        let input = Input::of_archive(Archive::open(&dir)?)?;
        let mut figures = Figures::of_seen(seen, &input, &options, &ended.info)?;
        if let Err(error) = keep(&dir, &figures, &ended.info) {
            leave_unconverted(&mut ended, error, Problem::SummaryNotKept, &mut problems);
            figures = figures.with_run(&input, &options, &ended.info);
        }
        Ok(Concluded { dir, info: ended.info, figures, skipped: ended.skipped, problems })
    }
}

/// Writes into the run's state that its result has not got its finished form. The first reason counts; a run that was
/// stopped or broke off keeps its own.
fn leave_unconverted(
    ended: &mut Ended,
    error: ArchiveError,
    what: fn(ArchiveError) -> Problem,
    problems: &mut Vec<Problem>,
) {
    let why = error.to_string();
    problems.push(what(error));
    if ended.info.state != RunState::Finished {
        return;
    }
    ended.info.state = RunState::Unconverted(why);
    if let Err(error) = ended.archive.write_run(&ended.info) {
        problems.push(Problem::StateNotKept(error));
    }
}

/// Finishes an archive of so many targets and sees its records on their way; what was seen is there after an error, too.
pub fn finish(
    archive: &ArchiveWriter,
    targets: usize,
    limits: &Limits,
) -> (Passing, Result<Archive, ArchiveError>) {
    finish_showing(archive, targets, limits, &mut |_| {})
}

fn finish_showing(
    archive: &ArchiveWriter,
    targets: usize,
    limits: &Limits,
    show: &mut dyn FnMut(&[Record]),
) -> (Passing, Result<Archive, ArchiveError>) {
    let mut seen = Passing::new(targets, limits);
    let finished = archive.finish_observed(&mut |records| {
        seen.add(records);
        show(records);
    });
    (seen, finished)
}

/// Converts a result whose disk was full at the end of its run, and keeps its summary.
///
/// # Errors
/// There is still no room, or the log is damaged.
pub fn conclude_late(archive: &Archive) -> Result<Archive, ConcludeError> {
    // A damaged log holds more than its conversion would.
    if archive.is_unfinished() && archive.for_each_record(&mut |_| {})?.lost_bytes > 0 {
        return Err(ConcludeError::Damaged(archive.dir().to_path_buf()));
    }
    let writer = ArchiveWriter::resume(archive);
    let options = SummaryOptions::default();
    let (seen, finished) = finish(&writer, archive.plan().targets.len(), &options.limits);
    finished?;
    let mut info = archive.run().clone();
    if info.state.is_complete() {
        info.state = RunState::Finished;
    }
    // Without room for these times, their events stay.
    let _ = path_join::join(&writer);
    let input = Input::of_archive(Archive::open(archive.dir())?)?;
    let figures = Figures::of_seen(seen, &input, &options, &info)?;
    keep(archive.dir(), &figures, &info)?;
    writer.write_run(&info)?;
    Ok(Archive::open(archive.dir())?)
}

/// Keeps what was computed beside the records.
///
/// # Errors
/// There is no room for it.
pub fn keep(dir: &Path, figures: &Figures, info: &RunInfo) -> Result<(), ArchiveError> {
    let archive = Archive::open(dir)?;
    archive.write_text(iosonar_archive::SUMMARY, &figures.summary.to_json())?;
    let mut histograms = Vec::new();
    // Writing to memory does not fail; what is written is text.
    let _ = iosonar_analyze::hist::write_log(&figures.tally, info.started_unix_ns, &mut histograms);
    archive.write_text(iosonar_archive::HISTOGRAMS, &String::from_utf8_lossy(&histograms))
}
