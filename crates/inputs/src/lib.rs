//! Inputs of the analysis: archives, results and loads, detected by content, one or several merged on one time axis.
//!
//! [`Input`] is one of them, [`Merged`] several; both yield the records of a run. [`Figures`] are the figures of an input. [`Source`] is a
//! file that is read more than once, even if it comes from a pipe. This room knows no arguments and prints nothing.

mod analysis;
mod comparison;
mod error;
mod figures;
mod load;
mod members;
mod merged;
mod replayed;
mod result;
mod run_analysis;
mod source;
mod study_dir;
pub mod traces;

pub use analysis::{Analysis, AnalysisOptions, deskew, deskew_in};
pub use comparison::{ComparisonError, comparisons, repeats_compared};
pub use error::OpenError;
pub use figures::{Figures, FiguresError, SummaryOptions};
use iosonar_analyze::{
    Counted, DISPLACEMENT, Detail, Judgement, Limits, Partial, Records, SUMMARY_VERSION, Summary, Tally,
    count,
};
use iosonar_archive::{Archive, CpuUse, Fields, LogEnd, Record, RecordFile, RunInfo, RunState, Stalls, TOOL};
use iosonar_os::bounded::{ARCHIVE_LIMIT, read_text};
use iosonar_plan::{ByteSize, Plan};
use iosonar_text::shell::quoted;
use iosonar_text::shown;
use load::LoadFile;
pub use members::Member;
pub use merged::Merged;
pub use replayed::check_is_load;
use result::ResultFile;
pub use result::is_result;
pub use run_analysis::RunAnalysis;
pub use source::Source;
use std::fs::File;
use std::io::{self, BufRead, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
pub use study_dir::{Elsewhere, OpenArchiveError, Study, StudyKind, open_archive, open_records};

/// An input of the analysis.
pub struct Input {
    /// As typed.
    pub name: String,
    kind: Kind,
    /// Records passed on, in all readings together.
    read: AtomicU64,
    /// Why evidence beside the records cannot be read; the first of the reasons.
    unread: OnceLock<String>,
    /// Counts of its records that were made elsewhere.
    counts: Option<Partial>,
}

enum Kind {
    /// A directory that a run wrote.
    Archive(Box<Opened>),
    /// A load in blkreplay's form.
    Load(LoadFile),
    /// A result in blkreplay's form.
    Result(Box<ResultFile>),
}

struct Opened {
    archive: Archive,
    /// Absent while the records are in the log, and if they are `held`.
    file: Option<RecordFile>,
    /// Records in place of those of the archive: a part of them.
    held: Option<Vec<Record>>,
    log_end: OnceLock<LogEnd>,
}

impl Opened {
    /// Facts about the run. Sums over all of it say nothing about a part.
    fn run(&self) -> RunInfo {
        let run = self.archive.run().clone();
        if self.held.is_none() {
            return run;
        }
        RunInfo {
            recorder_stalls: Stalls::default(),
            push_back_stalls: Stalls::default(),
            buffer_stalls: Stalls::default(),
            cpu: CpuUse::default(),
            ..run
        }
    }
}

impl Input {
    /// Opens all inputs; standard input may be one of them. At most `spool_limit` bytes of each pipe are stored.
    pub fn open_all(paths: &[PathBuf], spool_limit: Option<ByteSize>) -> Result<Vec<Input>, OpenError> {
        if paths.iter().filter(|path| path.as_path() == Path::new("-")).count() > 1 {
            return Err(OpenError::TwiceStandardInput);
        }
        paths.iter().map(|path| Input::open(path, spool_limit)).collect()
    }

    /// Opens a directory or a file; `-` is standard input. Inputs that cannot be read twice are stored in a temporary file.
    /// A load is not read yet.
    fn open(path: &Path, spool_limit: Option<ByteSize>) -> Result<Input, OpenError> {
        if path.is_dir() {
            return Input::of_archive(open_archive(path)?);
        }
        let name = path.display().to_string();
        let source = Source::open(path, spool_limit)?;
        let kind = if is_result(&source)? {
            Kind::Result(Box::new(ResultFile::open(source, &name)?))
        } else {
            Kind::Load(LoadFile::open(source)?)
        };
        Ok(Input { name, kind, read: AtomicU64::new(0), unread: OnceLock::new(), counts: None })
    }

    /// An input from an archive that is already open.
    pub fn of_archive(archive: Archive) -> Result<Input, OpenError> {
        let file = archive.record_file()?;
        Ok(Input::of_opened(Opened { archive, file, held: None, log_end: OnceLock::new() }))
    }

    /// An input of an archive with a part of its records, for example the latest ones of a run that is running.
    pub fn of_part(archive: Archive, records: Vec<Record>) -> Input {
        Input::of_opened(Opened { archive, file: None, held: Some(records), log_end: OnceLock::new() })
    }

    /// Whether it has a part of an archive's records.
    fn is_part(&self) -> bool {
        matches!(&self.kind, Kind::Archive(opened) if opened.held.is_some())
    }

    fn of_opened(opened: Opened) -> Input {
        Input {
            name: opened.archive.dir().display().to_string(),
            kind: Kind::Archive(Box::new(opened)),
            read: AtomicU64::new(0),
            unread: OnceLock::new(),
            counts: None,
        }
    }

    /// Number of parts whose records can be counted apart; `None` if the input is no finished run with its records.
    pub fn countable_parts(&self) -> Option<usize> {
        match &self.kind {
            Kind::Archive(opened) if !opened.archive.has_counts_only() => {
                opened.file.as_ref().map(RecordFile::parts)
            }
            _ => None,
        }
    }

    /// Counts the records of some parts.
    ///
    /// # Errors
    /// Reading failed.
    pub fn count(&self, limits: &Limits, parts: Range<usize>) -> io::Result<Partial> {
        let targets = self.run().0.targets.len().max(1);
        count(self, Counted { targets, limits: Some(limits), diagrams: Some(Detail::Full) }, parts)
    }

    /// The same input, whose records were counted elsewhere.
    #[must_use]
    pub fn counted(self, counts: Partial) -> Input {
        Input { counts: Some(counts), ..self }
    }

    /// Number of records read so far.
    pub fn records_read(&self) -> u64 {
        self.read.load(Relaxed)
    }

    /// Number of records, if known before reading.
    pub fn records(&self) -> Option<u64> {
        match &self.kind {
            Kind::Archive(opened) => opened.file.as_ref().map(|file| file.records_before(file.parts())),
            Kind::Load(_) | Kind::Result(_) => None,
        }
    }

    /// Refuses a run whose records stay elsewhere.
    ///
    /// # Errors
    /// They do; with the command that fetches them.
    pub(crate) fn require_records(&self) -> io::Result<()> {
        match self.archive().filter(|archive| archive.has_counts_only()) {
            Some(archive) => Err(io::Error::other(Elsewhere::of(archive.dir()))),
            None => Ok(()),
        }
    }

    /// Whether the input is known to have times of requests before reading. A load may still turn out to have them.
    pub fn is_run(&self) -> bool {
        !matches!(self.kind, Kind::Load(_))
    }

    /// Whether the input has times of requests; for a load known only once it has been read.
    pub fn has_times(&self) -> bool {
        match &self.kind {
            Kind::Load(load) => load.has_times(),
            _ => true,
        }
    }

    /// The archive, if it is one.
    pub fn archive(&self) -> Option<&Archive> {
        match &self.kind {
            Kind::Archive(opened) => Some(&opened.archive),
            _ => None,
        }
    }

    /// The summary beside the records, if it equals a new one: it was made by this very version, of a finished run that
    /// matches plan and facts, of the same number of records, and with these limits. It has no percentiles that were asked for, and the
    /// notes of now.
    pub fn summary(&self, limits: &Limits) -> Option<Summary> {
        let Kind::Archive(opened) = &self.kind else { return None };
        let file = opened.file.as_ref()?;
        let text = read_text(&opened.archive.dir().join(iosonar_archive::SUMMARY), ARCHIVE_LIMIT).ok()?;
        let summary: Summary = serde_json::from_str(&text).ok()?;
        // Facts of the plan and the run are taken again; only the figures are reused.
        let (plan, info) = (opened.archive.plan(), opened.archive.run());
        let without_figures = Summary::new(&Tally::new(plan.targets.len(), limits), plan, info);
        let is_same = summary.version == SUMMARY_VERSION
            && summary.run.tool == TOOL
            && summary.run.state == RunState::Finished
            && summary.run == without_figures.run
            && summary.stamps == without_figures.stamps
            && summary.counts.records() == file.records_before(file.parts())
            && summary.limits.are_of(limits);
        is_same.then(|| Summary { percentiles: Vec::new(), notes: self.notes(), ..summary })
    }

    /// The judgement that was kept with a run; `None`, too, if it cannot be read: then the run is judged again.
    pub fn kept_judgement(&self) -> Option<Judgement> {
        let summary = self.archive()?.dir().join(iosonar_archive::SUMMARY);
        let text = read_text(&summary, ARCHIVE_LIMIT).ok()?;
        serde_json::from_str::<Summary>(&text).ok()?.judgement
    }

    /// The plan that was executed, and facts about the run; for a load those of a run of it.
    pub fn run(&self) -> (Plan, RunInfo) {
        match &self.kind {
            Kind::Archive(opened) => {
                let (plan, run) = (opened.archive.plan(), opened.run());
                // A part of a run is judged by itself.
                (run.part.as_ref().map_or_else(|| plan.clone(), |targets| plan.part_alone(targets)), run)
            }
            Kind::Load(load) => load.run(&self.name),
            Kind::Result(result) => (result.imported.plan.clone(), result.imported.run.clone()),
        }
    }

    /// Reads a load once, so that everything is known about it; other inputs know it already.
    pub fn scan(&self) -> io::Result<()> {
        match &self.kind {
            Kind::Load(load) => load.read(&mut |_| {}),
            _ => Ok(()),
        }
    }

    /// Why the run is incomplete; `None` if it is complete. Valid once it has been read.
    pub fn incomplete(&self) -> Option<String> {
        let end = match &self.kind {
            Kind::Archive(opened) => opened.log_end.get().copied().unwrap_or_default(),
            _ => LogEnd::default(),
        };
        let lost = end.lost_bytes;
        match self.run().1.state {
            _ if end.damage.places > 0 => Some(format!("it did not end, and {}", end.damage)),
            _ if lost > 0 => Some(format!("it did not end; the last {lost} bytes of its log are cut off")),
            RunState::Finished | RunState::Unconverted(_) => None,
            RunState::Running => Some("it did not end, or it still goes on".to_string()),
            RunState::Interrupted(signal) => Some(format!("it was stopped by {signal}")),
            RunState::Broken(why) => Some(format!("it broke off: {why}")),
        }
    }

    /// Skipped lines and other inconsistencies, as sentences. Complete once it has been read.
    pub fn remarks(&self) -> Vec<String> {
        match &self.kind {
            Kind::Archive(opened) => {
                let of_log = opened.log_end.get().map(LogEnd::remarks).unwrap_or_default();
                let unread = self.unread().map(|why| format!("shown without what cannot be read: {why}"));
                let elsewhere = opened.archive.has_counts_only().then(|| {
                    let dir = quoted(&opened.archive.dir().to_string_lossy());
                    format!("its records are on the hosts: 'iosonar collect {dir}' fetches them for what needs single requests or their order")
                });
                of_log.into_iter().chain(unread).chain(elsewhere).collect()
            }
            Kind::Load(load) => load.remarks(),
            Kind::Result(result) => {
                let bad = result.imported.bad_lines.iter().map(|bad| format!("{bad}: skipped"));
                bad.chain(result.imported.doubts.iter().cloned()).collect()
            }
        }
    }
}

impl Records for Input {
    fn parts(&self) -> usize {
        match &self.kind {
            Kind::Archive(opened) => match &opened.held {
                Some(records) => records.parts(),
                None => opened.file.as_ref().map_or(1, RecordFile::parts),
            },
            Kind::Load(_) | Kind::Result(_) => 1,
        }
    }

    fn read_part(&self, part: usize, wanted: Fields, f: &mut dyn FnMut(&[Record])) -> io::Result<()> {
        let f = &mut |piece: &[Record]| {
            self.read.fetch_add(piece.len() as u64, Relaxed);
            f(piece);
        };
        match &self.kind {
            Kind::Load(load) => load.read(f),
            Kind::Result(result) => result.read(&self.name, f),
            Kind::Archive(opened) => match (&opened.held, &opened.file) {
                (Some(records), _) => records.read_part(part, wanted, f),
                (None, Some(file)) => file.read_part(part, wanted, f).map_err(io::Error::other),
                (None, None) => {
                    let one = &mut |record: &Record| f(std::slice::from_ref(record));
                    let end = opened.archive.for_each_record(one).map_err(io::Error::other)?;
                    opened.log_end.get_or_init(|| end);
                    Ok(())
                }
            },
        }
    }

    fn records_before(&self, part: usize) -> Option<u64> {
        match &self.kind {
            Kind::Archive(opened) => match (&opened.held, &opened.file) {
                (Some(records), _) => records.records_before(part),
                (None, Some(file)) => Some(file.records_before(part)),
                (None, None) => (part == 0).then_some(0),
            },
            Kind::Load(_) | Kind::Result(_) => (part == 0).then_some(0),
        }
    }

    fn counts_elsewhere(&self, targets: usize) -> io::Result<Option<Partial>> {
        if let Some(counts) = &self.counts {
            return Ok(Some(counts.clone()));
        }
        let Some(archive) = self.archive().filter(|archive| archive.has_counts_only()) else {
            return Ok(None);
        };
        // All of them are read; limits are compared later.
        let limits = Limits::default();
        let counted = Counted { targets, limits: Some(&limits), diagrams: Some(Detail::Full) };
        Partial::stored(counted, &archive.counts().map_err(io::Error::other)?).map(Some)
    }

    fn displacement(&self) -> usize {
        match &self.kind {
            Kind::Load(load) => load.displacement(),
            _ => DISPLACEMENT,
        }
    }

    fn end_hint_ns(&self) -> Option<u64> {
        match &self.kind {
            Kind::Archive(opened) => match &opened.held {
                Some(records) => records.end_hint_ns(),
                None => Some(opened.file.as_ref()?.due_range()?.1),
            },
            Kind::Load(load) => load.end_hint_ns(),
            Kind::Result(_) => None,
        }
    }

    fn recorded_until_ns(&self) -> Option<u64> {
        let recorded = self.archive()?.run().recorded?;
        Some(recorded.duration_ns).filter(|duration| *duration > 0)
    }
}

/// Passes records on in pieces.
struct Pieces<'a> {
    piece: Vec<Record>,
    f: &'a mut dyn FnMut(&[Record]),
}

impl<'a> Pieces<'a> {
    /// Number of records in a piece.
    const LENGTH: usize = 1 << 8;

    fn new(f: &'a mut dyn FnMut(&[Record])) -> Pieces<'a> {
        Pieces { piece: Vec::with_capacity(Self::LENGTH), f }
    }

    fn push(&mut self, record: Record) {
        self.piece.push(record);
        if self.piece.len() == Self::LENGTH {
            (self.f)(&self.piece);
            self.piece.clear();
        }
    }

    /// Passes on the last piece.
    fn end(self) {
        (self.f)(&self.piece);
    }
}

/// A text, decompressed; `-` is standard input.
///
/// # Errors
/// It cannot be opened, or is compressed in an unsupported form.
pub fn text(path: &Path) -> Result<Box<dyn BufRead + Send>, OpenError> {
    match path.as_os_str() == "-" {
        true => decompress(path, io::stdin()),
        false => decompress(path, File::open(path).map_err(OpenError::io(shown(&path)))?),
    }
}

fn decompress(path: &Path, bytes: impl Read + Send + 'static) -> Result<Box<dyn BufRead + Send>, OpenError> {
    let text = iosonar_trace::decompress(bytes);
    text.map_err(|error| OpenError::Text { name: shown(path).to_string(), error })
}
