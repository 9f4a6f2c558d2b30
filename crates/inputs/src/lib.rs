//! What is analysed: archives, results and loads, each seen by its content, one or several merged on one time axis.
//!
//! [`Input`] is one of them, [`Merged`] several; both hand over the records of a run. [`Figures`] are what an
//! input amounts to. [`Source`] is a file that is read more than once, even if it comes from a pipe. This room knows no arguments and prints nothing.

mod error;
mod figures;
mod load;
mod merged;
mod result;
mod source;
mod study;

pub use error::OpenError;
pub use figures::{Figures, FiguresError};
use iosonar_analyze::{DISPLACEMENT, Limits, Records, SUMMARY_VERSION, Summary, Tally};
use iosonar_archive::{Archive, Fields, LogEnd, Record, RecordFile, RunInfo, RunState, TOOL};
use iosonar_os::bounded::{ARCHIVE_LIMIT, read_text};
use iosonar_plan::{ByteSize, Plan};
use iosonar_text::shown;
use load::LoadFile;
pub use merged::Merged;
use result::ResultFile;
pub use source::Source;
use std::fs::File;
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
pub use study::{OpenArchiveError, Study, StudyKind, open_archive};

/// Something that can be analysed.
pub struct Input {
    /// As typed.
    pub name: String,
    kind: Kind,
    /// Records that were handed over, in all readings together.
    read: AtomicU64,
    /// Why something beside the records cannot be read; the first of the reasons.
    unread: OnceLock<String>,
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
    /// Absent while the records are in the log.
    file: Option<RecordFile>,
    log_end: OnceLock<LogEnd>,
}

impl Input {
    /// Opens all inputs; standard input may be one of them. Of each pipe, `spool_limit` is kept at most.
    pub fn open_all(paths: &[PathBuf], spool_limit: Option<ByteSize>) -> Result<Vec<Input>, OpenError> {
        if paths.iter().filter(|path| path.as_path() == Path::new("-")).count() > 1 {
            return Err(OpenError::TwiceStandardInput);
        }
        paths.iter().map(|path| Input::open(path, spool_limit)).collect()
    }

    /// Opens a directory or a file; `-` is standard input. What cannot be read twice is kept in a temporary file. A load
    /// is not read yet.
    fn open(path: &Path, spool_limit: Option<ByteSize>) -> Result<Input, OpenError> {
        if path.is_dir() {
            return Input::of_archive(open_archive(path)?);
        }
        let name = path.display().to_string();
        let source = Source::open(path, spool_limit)?;
        let kind = if result::is_result(&source)? {
            Kind::Result(Box::new(ResultFile::open(source, &name)?))
        } else {
            Kind::Load(LoadFile::open(source)?)
        };
        Ok(Input { name, kind, read: AtomicU64::new(0), unread: OnceLock::new() })
    }

    /// The records of an archive that is open already.
    pub fn of_archive(archive: Archive) -> Result<Input, OpenError> {
        let name = archive.dir().display().to_string();
        let file = archive.record_file()?;
        let opened = Opened { archive, file, log_end: OnceLock::new() };
        Ok(Input {
            name,
            kind: Kind::Archive(Box::new(opened)),
            read: AtomicU64::new(0),
            unread: OnceLock::new(),
        })
    }

    /// Records that were read so far.
    pub fn records_read(&self) -> u64 {
        self.read.load(Relaxed)
    }

    /// How many there are, where that is known before reading.
    pub fn records(&self) -> Option<u64> {
        match &self.kind {
            Kind::Archive(opened) => opened.file.as_ref().map(|file| file.records_before(file.parts())),
            Kind::Load(_) | Kind::Result(_) => None,
        }
    }

    /// Whether what happened to requests is known before reading. A load may still turn out to know it.
    pub fn is_run(&self) -> bool {
        !matches!(self.kind, Kind::Load(_))
    }

    /// Whether anything is known about what happened to requests; of a load only once it has been read.
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

    /// The summary that stands beside the records, if it says what would be computed now: it was made by this very
    /// version, of a run that came to its end and was what plan and facts say, of as many records as there are, and with
    /// these limits.
    pub fn summary(&self, limits: &Limits) -> Option<Summary> {
        let Kind::Archive(opened) = &self.kind else { return None };
        let file = opened.file.as_ref()?;
        let text = read_text(&opened.archive.dir().join(iosonar_archive::SUMMARY), ARCHIVE_LIMIT).ok()?;
        let summary: Summary = serde_json::from_str(&text).ok()?;
        // What the plan and the facts of the run say is said again; only the figures are taken over.
        let (plan, info) = (opened.archive.plan(), opened.archive.run());
        let without_figures = Summary::new(&Tally::new(plan.targets.len(), limits), plan, info);
        let is_same = summary.version == SUMMARY_VERSION
            && summary.run.tool == TOOL
            && summary.run.state == RunState::Finished
            && summary.run == without_figures.run
            && summary.stamps == without_figures.stamps
            && summary.counts.records() == file.records_before(file.parts())
            && summary.limits.are_of(limits);
        is_same.then_some(summary)
    }

    /// The plan that was executed, and facts about the run; of a load what would be said about a run of it.
    pub fn run(&self) -> (Plan, RunInfo) {
        match &self.kind {
            Kind::Archive(opened) => (opened.archive.plan().clone(), opened.archive.run().clone()),
            Kind::Load(load) => load.run(&self.name),
            Kind::Result(result) => (result.imported.plan.clone(), result.imported.run.clone()),
        }
    }

    /// Reads a load once, so that everything is known about it; of anything else it is known already.
    pub fn scan(&self) -> io::Result<()> {
        match &self.kind {
            Kind::Load(load) => load.read(&mut |_| {}),
            _ => Ok(()),
        }
    }

    /// Why it is not a whole run, where it is not. Complete once it has been read.
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

    /// Lines of it that were skipped, and what else does not fit, as sentences. Complete once it has been read.
    pub fn remarks(&self) -> Vec<String> {
        match &self.kind {
            Kind::Archive(opened) => {
                let of_log = opened.log_end.get().map(LogEnd::remarks).unwrap_or_default();
                let unread = self.unread().map(|why| format!("shown without what cannot be read: {why}"));
                of_log.into_iter().chain(unread).collect()
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
            Kind::Archive(opened) => opened.file.as_ref().map_or(1, RecordFile::parts),
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
            Kind::Archive(opened) => match &opened.file {
                Some(file) => file.read_part(part, wanted, f).map_err(io::Error::other),
                None => {
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
            Kind::Archive(opened) => match &opened.file {
                Some(file) => Some(file.records_before(part)),
                None => (part == 0).then_some(0),
            },
            Kind::Load(_) | Kind::Result(_) => (part == 0).then_some(0),
        }
    }

    fn displacement(&self) -> usize {
        match &self.kind {
            Kind::Load(load) => load.displacement(),
            _ => DISPLACEMENT,
        }
    }

    fn end_hint_ns(&self) -> Option<u64> {
        match &self.kind {
            Kind::Archive(opened) => Some(opened.file.as_ref()?.due_range()?.1),
            Kind::Load(load) => load.end_hint_ns(),
            Kind::Result(_) => None,
        }
    }

    fn recorded_until_ns(&self) -> Option<u64> {
        let recorded = self.archive()?.run().recorded?;
        Some(recorded.duration_ns).filter(|duration| *duration > 0)
    }
}

/// Hands records over some at a time.
struct Pieces<'a> {
    piece: Vec<Record>,
    f: &'a mut dyn FnMut(&[Record]),
}

impl<'a> Pieces<'a> {
    /// Records that are handed over at once.
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

    /// Hands over what is left.
    fn end(self) {
        (self.f)(&self.piece);
    }
}

/// A text, decompressed; `-` is standard input.
///
/// # Errors
/// It cannot be opened, or is compressed in a form that is not read.
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
