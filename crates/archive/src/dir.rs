//! The archive's directory: its files, and how it is created, finished and read.

use crate::error::{RECORDING_FACTS, RUN};
use crate::extents::{MapsWriter, TargetMap, read_maps};
use crate::faults::{self, Fault, FaultBytes};
use crate::log::{LogEnd, LogFollower, LogWriter, read_log};
use crate::notes::{self, NOTES, Note};
use crate::parquet::{KeyValues, ROW_GROUP, RecordFile, RecordWriter, SeriesWriter, read_series};
use crate::path::{PathCounts, PathWriter, RequestPath, read_paths};
use crate::path_windows::PathWindows;
use crate::{ARCHIVE_VERSION, ArchiveError, Record, RunInfo, RunState};
use iosonar_evidence::{Environment, Series};
use iosonar_os::bounded::{self, ARCHIVE_LIMIT, Unread, read_text};
use iosonar_os::create;
use iosonar_os::made::Made;
use iosonar_plan::{Plan, Stamp};
use iosonar_text::shown;
use std::collections::HashMap;
use std::fs::{self, File, TryLockError};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

const PLAN: &str = "plan.toml";
const ENVIRONMENT: &str = "environment.json";
/// The environment at the end of the run.
const ENVIRONMENT_AFTER: &str = "environment-after.json";
/// Records of a running or killed run.
pub const LOG: &str = "records.log";
/// Records of a finished run.
pub const RECORDS: &str = "records.parquet";
/// Samples of a running or killed run.
pub const SERIES_LOG: &str = "series.csv";
const SERIES: &str = "series.parquet";
const EXTENTS: &str = "extents.parquet";
/// Times of the requests in the kernel.
const PATH: &str = "path.parquet";
/// Directory with the kernel's events of a run, until they are joined with its records.
pub const PATH_EVENTS: &str = "path-events";
/// The file of the recorded windows in it, where a part of the run was recorded: pairs of words.
pub(crate) const PATH_WINDOWS: &str = "windows";
/// Faults found by verification, one line of JSON each.
pub const FAULTS: &str = "faults.jsonl";
/// Directory with the bytes of the first faults.
pub const FAULT_BYTES: &str = "faults";
/// Injected faults, one line of JSON each.
const INJECTED: &str = "injected.jsonl";
/// Reserved disk space for the last words of a run that filled the disk.
const RESERVE: &str = "reserve";
/// Summary of a finished run.
pub const SUMMARY: &str = "summary.json";
/// HdrHistogram interval log of a finished run.
pub const HISTOGRAMS: &str = "histograms.hlog";

/// Findings of each machine of a run on its part, as JSON.
const HOSTS: &str = "hosts.json";
/// Counts of records that stay elsewhere.
const COUNTS: &str = "counts.bin";

/// Directory with the events of a recording.
pub const EVENTS: &str = "events";
/// Directory with the archives of a run's processes, until they are merged.
pub const PARTS: &str = "parts";
/// Maximum size of the notes: as many and as long as they may be, escaped.
const NOTES_LIMIT: u64 = 1 << 20;
/// Files of a running result change more often than this: samples arrive each second.
const STILL: Duration = Duration::from_secs(10);
/// Suffix of files that are not complete yet.
const TEMPORARY: &str = ".tmp";

type Result<T> = std::result::Result<T, ArchiveError>;

/// Whether the archive is complete: records, summary, and a run that has ended. A writer killed in its last steps
/// leaves an incomplete one.
///
/// # Errors
/// Not an archive.
pub fn is_whole(dir: &Path) -> Result<bool> {
    let is_running = Archive::open(dir)?.run().state == RunState::Running;
    Ok(!is_running && dir.join(RECORDS).exists() && dir.join(SUMMARY).exists())
}

/// Whether a file is the plan kept in an archive: it was not written by a user.
pub fn is_kept_plan(file: &Path) -> bool {
    let beside = |path: PathBuf| path.with_file_name(RUN).exists();
    file.file_name().is_some_and(|name| name == PLAN) && file.canonicalize().is_ok_and(beside)
}

/// Names of the files and directories of an archive.
const NAMES: [&str; 23] = [
    PLAN,
    ENVIRONMENT,
    ENVIRONMENT_AFTER,
    RUN,
    LOG,
    RECORDS,
    SERIES_LOG,
    SERIES,
    EXTENTS,
    PATH,
    PATH_EVENTS,
    FAULTS,
    FAULT_BYTES,
    INJECTED,
    RESERVE,
    SUMMARY,
    HISTOGRAMS,
    HOSTS,
    COUNTS,
    RECORDING_FACTS,
    EVENTS,
    PARTS,
    NOTES,
];

/// Whether a path below an archive's directory belongs to the archive. Anything else is foreign.
fn is_own(below: &Path) -> bool {
    let first = below.iter().next().unwrap_or_default().to_string_lossy();
    let name = first.strip_suffix(TEMPORARY).unwrap_or(&first);
    NAMES.contains(&name)
}

/// Removes an archive. Foreign files in its directory stay, and then so does the directory.
///
/// # Errors
/// Not an archive, or removal failed.
pub fn remove_archive(dir: &Path) -> Result<()> {
    Archive::open(dir)?;
    let made = Made::proved(dir, "it is an archive: its plan and its run.json were read");
    let removed = made.and_then(|made| made.remove_tree(&is_own));
    removed.map_err(|e| ArchiveError::io(dir, e))
}

/// Replaces a file atomically: a reader sees the old or the new one.
fn write_whole(path: &Path, text: &str) -> Result<()> {
    create::write_whole(path, text.as_bytes()).map_err(|e| ArchiveError::io(path, e))
}

/// Removes one of the files of an archive being written.
fn remove_own(path: &Path) -> std::io::Result<()> {
    match Made::proved(path, "it has the name of a file of an archive, in the directory of one") {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        made => made?.remove(),
    }
}

/// Removes an incomplete file, so that a full disk does not stay full. Errors are ignored: the caller has the original one.
fn remove_quietly(path: &Path) {
    let _ = remove_own(path);
}

/// A file written under a temporary name; it is removed on drop unless it was completed.
#[derive(Debug)]
struct Unfinished {
    dir: PathBuf,
    name: &'static str,
    temporary: PathBuf,
}

impl Unfinished {
    fn new(dir: &Path, name: &'static str) -> Unfinished {
        let temporary = dir.join(format!("{name}{TEMPORARY}"));
        // A killed writer may have left one.
        remove_quietly(&temporary);
        Unfinished { dir: dir.to_path_buf(), name, temporary }
    }

    /// Renames the complete file to its final name; from then on it survives a power loss.
    fn publish(self, file: File) -> Result<()> {
        file.sync_all().map_err(|e| ArchiveError::io(&self.temporary, e))?;
        create::rename_over(&self.temporary, &self.dir.join(self.name))
            .map_err(|e| ArchiveError::io(&self.temporary, e))?;
        sync_dir(&self.dir).map_err(|e| ArchiveError::io(&self.dir, e))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // After publishing, this name no longer exists.
        remove_quietly(&self.temporary);
    }
}

/// Creates a file that survives a power loss, or no file: `write` returns it complete under the temporary name.
fn make_durable(dir: &Path, name: &'static str, write: impl FnOnce(&Path) -> Result<File>) -> Result<()> {
    let unfinished = Unfinished::new(dir, name);
    let file = write(&unfinished.temporary)?;
    unfinished.publish(file)
}

/// Flushes a directory's entries.
fn sync_dir(dir: &Path) -> std::io::Result<()> {
    match File::open(dir)?.sync_all() {
        // Some network file systems cannot flush a directory; there is no alternative.
        Err(e) if e.kind() == std::io::ErrorKind::InvalidInput => Ok(()),
        other => other,
    }
}

fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string_pretty(value).expect("plain data becomes JSON") + "\n"
}

/// Writer of a run's directory.
#[derive(Debug)]
pub struct ArchiveWriter {
    dir: PathBuf,
    /// The directory, if this writer created it.
    made: Option<Made>,
    run_id: u64,
    stamp: Option<Stamp>,
}

impl ArchiveWriter {
    /// Creates the directory, which must not exist, and writes the facts known before the first I/O.
    pub fn create(
        dir: &Path,
        plan: &Plan,
        environment: &serde_json::Value,
        run: &RunInfo,
    ) -> Result<ArchiveWriter> {
        let made = match create::new_dir(dir) {
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
                return Err(ArchiveError::Exists(shown(dir).to_string()));
            }
            made => made.map_err(|e| ArchiveError::io(dir, e))?,
        };
        let (run_id, stamp) = (plan.run_id, plan.stamp());
        let writer = ArchiveWriter { dir: dir.to_path_buf(), made: Some(made), run_id, stamp };
        match writer.write_first(plan, environment, run) {
            Ok(()) => Ok(writer),
            Err(error) => {
                writer.discard();
                Err(error)
            }
        }
    }

    /// Writes the environment at the end of the run.
    ///
    /// # Errors
    /// Writing failed.
    pub fn write_environment_after(&self, environment: &serde_json::Value) -> Result<()> {
        write_whole(&self.dir.join(ENVIRONMENT_AFTER), &json(environment))
    }

    fn write_first(&self, plan: &Plan, environment: &serde_json::Value, run: &RunInfo) -> Result<()> {
        write_whole(&self.dir.join(PLAN), &plan.to_toml())?;
        write_whole(&self.dir.join(ENVIRONMENT), &json(environment))?;
        self.write_run(run)?;
        self.reserve(run)
    }

    /// Reopens a directory whose records are recreated from other data in it: records of a truncated log are removed.
    ///
    /// # Errors
    /// The archive is already complete.
    pub fn again(dir: &Path, plan: &Plan) -> Result<ArchiveWriter> {
        if is_whole(dir)? {
            return Err(ArchiveError::Exists(shown(&dir.join(RECORDS)).to_string()));
        }
        remove_quietly(&dir.join(LOG));
        let (run_id, stamp) = (plan.run_id, plan.stamp());
        Ok(ArchiveWriter { dir: dir.to_path_buf(), made: None, run_id, stamp })
    }

    /// Path of the directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Removes the directory if this writer created it: the run has failed, so there is no result. Foreign files in it
    /// stay.
    pub fn discard(self) {
        // Ignore removal errors; report the original one.
        let _ = self.made.map(|made| made.remove_tree(&is_own));
    }

    /// Rewrites the facts about the run. On a full disk this works once.
    pub fn write_run(&self, run: &RunInfo) -> Result<()> {
        let (path, text) = (self.dir.join(RUN), json(run));
        match write_whole(&path, &text) {
            Err(ArchiveError::Io { error, .. }) if error.kind() == std::io::ErrorKind::StorageFull => {
                remove_quietly(&self.dir.join(RESERVE));
                write_whole(&path, &text)
            }
            other => other,
        }
    }

    /// Reserves space for the facts at the end of the run: somewhat more than now.
    fn reserve(&self, run: &RunInfo) -> Result<()> {
        let path = self.dir.join(RESERVE);
        let room = vec![b'.'; 2 * json(run).len() + 8192];
        create::new_file(&path)
            .and_then(|mut file| file.write_all(&room))
            .map_err(|e| ArchiveError::io(&path, e))
    }

    /// Opens the log for the records of a running run.
    pub fn record_log(&self) -> Result<LogWriter> {
        let path = self.dir.join(LOG);
        LogWriter::create(&path).map_err(|e| ArchiveError::io(&path, e))
    }

    /// Opens a log that gets its name when it is complete, for records derived from data that is kept until then. If
    /// killed earlier, nothing that looks like a run's records remains.
    pub fn made_log(&self) -> Result<DerivedLog> {
        let unfinished = Unfinished::new(&self.dir, LOG);
        let log = LogWriter::create(&unfinished.temporary);
        log.map(|log| DerivedLog { log, unfinished }).map_err(|e| ArchiveError::io(&self.dir.join(LOG), e))
    }

    /// Opens the final record file, for records derived from data that is kept, so that a crash may lose them. At most
    /// `together` of them are in memory, and in a part of the file.
    pub fn made_records(&self, together: usize) -> Result<MadeRecords> {
        let unfinished = Unfinished::new(&self.dir, RECORDS);
        let writer = RecordWriter::create(&unfinished.temporary, self.key_values(), together)?;
        Ok(MadeRecords { writer, unfinished })
    }

    /// Opens the file for the named time series of a running run.
    pub fn series_log(&self) -> Result<SeriesLog> {
        let path = self.dir.join(SERIES_LOG);
        remove_quietly(&path);
        create::new_file(&path).map(SeriesLog::new).map_err(|e| ArchiveError::io(&path, e))
    }

    /// Writes the summary of a part of a run.
    ///
    /// # Errors
    /// Writing failed.
    pub fn write_summary(&self, json: &str) -> Result<()> {
        write_whole(&self.dir.join(SUMMARY), json)
    }

    /// Writes the findings of each machine of the run on its part.
    ///
    /// # Errors
    /// Writing failed.
    pub fn write_hosts(&self, reports: &serde_json::Value) -> Result<()> {
        write_whole(&self.dir.join(HOSTS), &format!("{reports:#}\n"))
    }

    /// Writes the counts of records that stay elsewhere, in their stored form.
    ///
    /// # Errors
    /// Writing failed.
    pub fn write_counts(&self, counts: &[u8]) -> Result<()> {
        let path = self.dir.join(COUNTS);
        create::write_whole(&path, counts).map_err(|e| ArchiveError::io(&path, e))
    }

    /// Writes the extent maps of files, if any: one of them is in memory at a time. No file remains after an error.
    pub fn write_maps(&self, maps: impl Iterator<Item = TargetMap>) -> Result<()> {
        let mut maps = maps.peekable();
        if maps.peek().is_none() {
            return Ok(());
        }
        make_durable(&self.dir, EXTENTS, |path| {
            let mut writer = MapsWriter::create(path, self.key_values())?;
            let written = maps.try_for_each(|map| writer.push(&map));
            written.and_then(|()| writer.finish()).map_err(|e| ArchiveError::parquet(path, e))
        })
    }

    /// Starts the file with the times of the requests in the kernel, which appears when it is complete.
    ///
    /// # Errors
    /// Creating it failed.
    pub fn path_file(&self) -> Result<PathFile> {
        let unfinished = Unfinished::new(&self.dir, PATH);
        let writer = PathWriter::create(&unfinished.temporary, self.key_values())?;
        Ok(PathFile { writer, unfinished })
    }

    /// Removes the kernel's events, after they were joined with the records.
    ///
    /// # Errors
    /// Removal failed.
    pub fn remove_path_events(&self) -> Result<()> {
        let dir = self.dir.join(PATH_EVENTS);
        let made = Made::proved(&dir, "it has the name of the directory of events in an archive");
        made.and_then(|made| made.remove_tree(&|_| true)).map_err(|e| ArchiveError::io(&dir, e))
    }

    /// Writes the faults found by verification, if any.
    pub fn write_faults(&self, faults: &[Fault]) -> Result<()> {
        if faults.is_empty() {
            Ok(())
        } else {
            write_whole(&self.dir.join(FAULTS), &faults::to_lines(faults))
        }
    }

    /// Writes the bytes of faults, if any, each in separate files.
    pub fn write_fault_bytes(&self, faults: &[FaultBytes]) -> Result<()> {
        let dir = self.dir.join(FAULT_BYTES);
        if !faults.is_empty() {
            create::new_dir(&dir).map_err(|e| ArchiveError::io(&dir, e))?;
        }
        for FaultBytes { number, expected, found } in faults {
            for (kind, bytes) in [("expected", expected), ("found", found)] {
                let path = dir.join(format!("fault-{number:03}.{kind}"));
                let write = || create::new_file(&path)?.write_all(bytes);
                if !bytes.is_empty() {
                    write().map_err(|e| ArchiveError::io(&path, e))?;
                }
            }
        }
        Ok(())
    }

    /// Writes the lines from `write` as the ledger of injected faults.
    pub fn write_injected(&self, write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> Result<()> {
        let (path, mut lines) = (self.dir.join(INJECTED), Vec::new());
        write(&mut lines).map_err(|e| ArchiveError::io(&path, e))?;
        write_whole(&path, &String::from_utf8_lossy(&lines))
    }

    /// Bytes of records in the log so far.
    pub fn log_bytes(&self) -> u64 {
        fs::metadata(self.dir.join(LOG)).map_or(0, |m| m.len())
    }

    /// Resumes the conversion of an archive whose run has ended; see [`Archive::awaits_conversion`].
    pub fn resume(archive: &Archive) -> ArchiveWriter {
        let plan = archive.plan();
        ArchiveWriter { dir: archive.dir.clone(), made: None, run_id: plan.run_id, stamp: plan.stamp() }
    }

    /// Converts the logs to Parquet and removes them. All logs must be closed.
    ///
    /// A log is removed only when its replacement is on disk: neither an error nor a power loss costs a record. The
    /// reserved space is kept until the end: an error is written there.
    pub fn finish(&self) -> Result<Archive> {
        self.finish_observed(&mut |_| {})
    }

    /// The same; `observer` gets every record, in the order of the archive, so that it need not be read again. It gets
    /// no record if an earlier attempt has already converted them, and may get some before an error.
    pub fn finish_observed(&self, observer: &mut dyn FnMut(&[Record])) -> Result<Archive> {
        self.finish_records(observer)?;
        self.finish_series()?;
        remove_quietly(&self.dir.join(RESERVE));
        Archive::open(&self.dir)
    }

    fn finish_records(&self, observer: &mut dyn FnMut(&[Record])) -> Result<()> {
        let log = self.dir.join(LOG);
        // Two processes would write to the same temporary file: only the owner of the lock converts.
        let lock = File::open(&log).map_err(|e| ArchiveError::io(&log, e));
        if lock.is_err() && self.dir.join(RECORDS).exists() {
            // An earlier attempt has converted the records.
            return Ok(());
        }
        let lock = lock?;
        // Without file locks there is no alternative.
        if let Err(error @ TryLockError::WouldBlock) = lock.try_lock() {
            return Err(ArchiveError::io(&log, error.into()));
        }
        make_durable(&self.dir, RECORDS, |path| copy_records(&log, path, self.key_values(), observer))?;
        remove_own(&log).map_err(|e| ArchiveError::io(&log, e))
    }

    /// Finishes an archive with derived records; `plan` and `run` may be known only now. Until the records are
    /// published, `run.json` has the state running, regardless of `run`.
    pub fn finish_made(self, records: MadeRecords, plan: &Plan, run: &RunInfo) -> Result<Archive> {
        let MadeRecords { writer, unfinished } = records;
        let file = writer.finish().map_err(|e| ArchiveError::parquet(&unfinished.temporary, e))?;
        remove_quietly(&self.dir.join(RESERVE));
        write_whole(&self.dir.join(PLAN), &plan.to_toml())?;
        self.write_run(&RunInfo { state: RunState::Running, ..run.clone() })?;
        unfinished.publish(file)?;
        self.write_run(run)?;
        Archive::open(&self.dir)
    }

    fn finish_series(&self) -> Result<()> {
        let log = self.dir.join(SERIES_LOG);
        if !log.exists() {
            return Ok(());
        }
        make_durable(&self.dir, SERIES, |path| copy_series(&log, path, self.key_values()))?;
        remove_own(&log).map_err(|e| ArchiveError::io(&log, e))
    }

    /// Facts about the Parquet files, stored in them because they are passed on without their directory.
    fn key_values(&self) -> KeyValues {
        let mut pairs = vec![
            ("iosonar.archive_version", ARCHIVE_VERSION.to_string()),
            ("iosonar.run_id", self.run_id.to_string()),
        ];
        pairs.extend(self.stamp.map(|stamp| ("iosonar.stamp", stamp.text().to_string())));
        pairs
    }
}

/// Writer of the times of requests in the kernel. If dropped before its end, no file remains.
pub struct PathFile {
    writer: PathWriter,
    unfinished: Unfinished,
}

impl PathFile {
    /// Adds a request.
    ///
    /// # Errors
    /// Writing failed.
    pub fn push(&mut self, row: RequestPath) -> Result<()> {
        self.writer.push(row).map_err(|e| ArchiveError::parquet(&self.unfinished.temporary, e))
    }

    /// Ends the file with its counts.
    ///
    /// # Errors
    /// Writing failed.
    pub fn publish(self, counts: &PathCounts) -> Result<()> {
        let PathFile { writer, unfinished } = self;
        let file = writer.finish(counts).map_err(|e| ArchiveError::parquet(&unfinished.temporary, e))?;
        unfinished.publish(file)
    }
}

/// Writer of the records of a finished archive, without a log that would survive a crash. If dropped before the archive
/// is finished, nothing remains.
pub struct MadeRecords {
    writer: RecordWriter<'static>,
    unfinished: Unfinished,
}

impl MadeRecords {
    /// Appends a record.
    #[inline]
    pub fn push(&mut self, record: &Record) -> Result<()> {
        self.writer.push(record).map_err(|e| ArchiveError::parquet(&self.unfinished.temporary, e))
    }
}

/// A log in progress. If dropped before it is published, nothing remains.
pub struct DerivedLog {
    log: LogWriter,
    unfinished: Unfinished,
}

impl DerivedLog {
    /// Returns the writer.
    pub fn log(&mut self) -> &mut LogWriter {
        &mut self.log
    }

    /// Renames it to its final name; from then on it survives a power loss.
    pub fn publish(self) -> Result<()> {
        self.unfinished.publish(self.log.into_file())
    }
}

fn copy_records(
    log: &Path,
    to: &Path,
    key_values: KeyValues,
    observer: &mut dyn FnMut(&[Record]),
) -> Result<File> {
    let mut writer = RecordWriter::create(to, key_values, ROW_GROUP)?.observed_by(observer);
    let mut written = Ok(());
    let end = read_log(log, &mut |record| {
        if written.is_ok() {
            written = writer.push(record);
        }
    })?;
    // The log is removed after its records are copied, so it must stay if some would be lost.
    if end.damage.places > 0 {
        return Err(ArchiveError::damaged(log, end.damage.to_string()));
    }
    written.and_then(|()| writer.finish()).map_err(|e| ArchiveError::parquet(to, e))
}

fn copy_series(log: &Path, to: &Path, key_values: KeyValues) -> Result<File> {
    let mut writer = SeriesWriter::create(to, key_values)?;
    let mut pushed = Ok(());
    each_sample(log, &mut |time, name, value| {
        if pushed.is_ok() {
            pushed = writer.push(time, name, value);
        }
    })?;
    pushed.map_err(|e| ArchiveError::parquet(to, e))?;
    writer.finish().map_err(|e| ArchiveError::parquet(to, e))
}

/// Maximum length of a line of the series log. A path in a name has at most 4096 bytes.
const LONGEST_SAMPLE: u64 = 16 << 10;

/// Reads a series log line by line; too long and invalid lines are skipped.
fn each_sample(log: &Path, f: &mut dyn FnMut(u64, &str, f64)) -> Result<()> {
    let mut input = BufReader::new(File::open(log).map_err(|e| ArchiveError::io(log, e))?);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = input.by_ref().take(LONGEST_SAMPLE).read_until(b'\n', &mut line);
        if read.map_err(|e| ArchiveError::io(log, e))? == 0 {
            return Ok(());
        }
        if let Some((time, value, name)) = parse_sample(&String::from_utf8_lossy(&line)) {
            f(time, name, value);
        }
    }
}

/// Parses a line of the series log into time, value and name. The last line may be truncated; all others are whole.
pub fn parse_sample(line: &str) -> Option<(u64, f64, &str)> {
    let mut parts = line.strip_suffix('\n')?.splitn(3, ',');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?))
}

/// Bytes of samples written at once, and the time on the run's clock after which fewer are written, too: the maximum
/// loss in a crash.
const SERIES_PART: usize = 32 << 10;
const SERIES_PART_NS: u64 = 250_000_000;

/// Appends named samples while a run is running. The rest is written on drop.
#[derive(Debug)]
pub struct SeriesLog {
    file: File,
    text: String,
    /// Time of the last written sample.
    written_ns: u64,
}

impl SeriesLog {
    fn new(file: File) -> SeriesLog {
        SeriesLog { file, text: String::new(), written_ns: 0 }
    }

    /// Appends one sample per name, all at `time_ns` on the run's clock.
    pub fn append<'a>(
        &mut self,
        time_ns: u64,
        samples: impl Iterator<Item = (&'a str, f64)>,
    ) -> std::io::Result<()> {
        use std::fmt::Write as _;
        /// Whole numbers below it have no exponent and no fraction, and are far cheaper to write.
        const EXACT: f64 = (1u64 << 53) as f64;
        for (name, value) in samples {
            let _ = match value {
                whole if (0.0..EXACT).contains(&whole) && whole.fract() == 0.0 => {
                    write!(self.text, "{time_ns},{}", whole as u64)
                }
                value => write!(self.text, "{time_ns},{value}"),
            };
            self.text.extend([",", name, "\n"]);
        }
        let is_due = time_ns.saturating_sub(self.written_ns) >= SERIES_PART_NS;
        if !is_due && self.text.len() < SERIES_PART {
            return Ok(());
        }
        self.written_ns = time_ns;
        self.flush()
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let written = self.file.write_all(self.text.as_bytes());
        self.text.clear();
        written
    }
}

impl Drop for SeriesLog {
    fn drop(&mut self) {
        // A full disk also stops the records, which report the error.
        let _ = self.flush();
    }
}

/// An archive opened for reading: finished, growing, or left by a killed run.
#[derive(Debug)]
pub struct Archive {
    dir: PathBuf,
    run: RunInfo,
    plan: Plan,
}

impl Archive {
    /// Opens a directory and checks its version.
    pub fn open(dir: &Path) -> Result<Archive> {
        let run = dir.join(RUN);
        let text = match read_text(&run, ARCHIVE_LIMIT) {
            Err(error) if !dir.exists() => return Err(ArchiveError::io(dir, error.into())),
            Err(error @ Unread::TooLarge { .. }) => return Err(ArchiveError::io(&run, error.into())),
            Err(_) => return Err(ArchiveError::NoArchive(shown(dir).to_string())),
            Ok(text) => text,
        };
        #[derive(serde::Deserialize)]
        struct Head {
            archive_version: u32,
        }
        let head: Head =
            serde_json::from_str(&text).map_err(|e| ArchiveError::damaged(&run, e.to_string()))?;
        if head.archive_version != ARCHIVE_VERSION {
            return Err(ArchiveError::Version { path: shown(dir).to_string(), found: head.archive_version });
        }
        let run = serde_json::from_str(&text).map_err(|e| ArchiveError::damaged(&run, e.to_string()))?;
        let plan_path = dir.join(PLAN);
        let plan =
            read_text(&plan_path, ARCHIVE_LIMIT).map_err(|e| ArchiveError::io(&plan_path, e.into()))?;
        let plan = Plan::from_toml(&plan).map_err(|e| ArchiveError::damaged(&plan_path, e.to_string()))?;
        Ok(Archive { dir: dir.to_path_buf(), run, plan })
    }

    /// Path of the directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The plan that was executed.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Facts about the whole run.
    pub fn run(&self) -> &RunInfo {
        &self.run
    }

    /// The machine and the targets; all absent if unreadable.
    pub fn environment(&self) -> Environment {
        let text = read_text(&self.dir.join(ENVIRONMENT), ARCHIVE_LIMIT).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// The environment at the end of the run; `None` if missing or unreadable.
    pub fn environment_after(&self) -> Option<Environment> {
        let text = read_text(&self.dir.join(ENVIRONMENT_AFTER), ARCHIVE_LIMIT).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// The environment before the run as JSON, unchanged; null if unreadable.
    pub fn environment_json(&self) -> serde_json::Value {
        self.json(ENVIRONMENT)
    }

    /// The summary of the run as JSON; null if missing or unreadable.
    pub fn summary_json(&self) -> serde_json::Value {
        self.json(SUMMARY)
    }

    /// Findings of each machine of the run on its part, as JSON; null if missing or unreadable.
    pub fn hosts_json(&self) -> serde_json::Value {
        self.json(HOSTS)
    }

    /// The stored counts of its records, which may stay elsewhere.
    ///
    /// # Errors
    /// The archive has no counts, or reading failed.
    pub fn counts(&self) -> Result<Vec<u8>> {
        let path = self.dir.join(COUNTS);
        bounded::read(&path, ARCHIVE_LIMIT).map_err(|error| ArchiveError::io(&path, error.into()))
    }

    /// Whether its records stay elsewhere. A part of a run has its records beside their counts.
    pub fn has_counts_only(&self) -> bool {
        self.run.part.is_none() && self.dir.join(COUNTS).exists()
    }

    fn json(&self, name: &str) -> serde_json::Value {
        let text = read_text(&self.dir.join(name), ARCHIVE_LIMIT).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or(serde_json::Value::Null)
    }

    /// Calls `f` with every sample: time on the run's clock, series, value. An archive may have no samples.
    ///
    /// # Errors
    /// Reading failed.
    pub fn for_each_sample(&self, f: &mut dyn FnMut(u64, &Series, f64)) -> Result<()> {
        let (log, series) = (self.dir.join(SERIES_LOG), self.dir.join(SERIES));
        let mut known: HashMap<String, Series> = HashMap::new();
        let mut give = |time: u64, name: &str, value: f64| match known.get(name) {
            Some(series) => f(time, series, value),
            None => {
                let Ok(series) = name.parse();
                f(time, known.entry(name.into()).or_insert(series), value);
            }
        };
        if series.exists() {
            return read_series(&series, &mut give);
        }
        if log.exists() { each_sample(&log, &mut give) } else { Ok(()) }
    }

    /// Extent maps of the files used, as of the end of the run. Runs on devices, simulated ones and streams on other
    /// machines have none.
    ///
    /// # Errors
    /// Reading failed.
    pub fn maps(&self) -> Result<Vec<TargetMap>> {
        let path = self.dir.join(EXTENTS);
        if path.exists() { read_maps(&path) } else { Ok(Vec::new()) }
    }

    /// Calls `f` with the times of each request in the kernel; returns the counts, `None` if the path was not traced, or not joined.
    ///
    /// # Errors
    /// Reading failed.
    pub fn for_each_path(&self, f: &mut dyn FnMut(&RequestPath)) -> Result<Option<PathCounts>> {
        let path = self.dir.join(PATH);
        if path.exists() { read_paths(&path, f).map(Some) } else { Ok(None) }
    }

    /// Segments of the kernel's events that are not joined yet, in their order; `None` if there are none.
    ///
    /// # Errors
    /// Reading the directory failed.
    pub fn path_events(&self) -> Result<Option<Vec<PathBuf>>> {
        let dir = self.dir.join(PATH_EVENTS);
        if !dir.exists() {
            return Ok(None);
        }
        let entries = fs::read_dir(&dir).map_err(|e| ArchiveError::io(&dir, e))?;
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        files.retain(|file| !file.ends_with(PATH_WINDOWS));
        files.sort();
        Ok(Some(files))
    }

    /// The times in which the kernel's events were recorded, ascending, on their clock. `None` if that is the whole run.
    ///
    /// # Errors
    /// Reading failed, or the file is damaged.
    pub fn path_windows(&self) -> Result<Option<PathWindows>> {
        let path = self.dir.join(PATH_EVENTS).join(PATH_WINDOWS);
        match fs::read(&path) {
            Ok(bytes) => {
                PathWindows::of_bytes(&bytes).map(Some).map_err(|why| ArchiveError::damaged(&path, why))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(ArchiveError::io(&path, error)),
        }
    }

    /// Faults found by verification, at most [`MOST_FAULTS`](crate::MOST_FAULTS).
    ///
    /// # Errors
    /// Reading failed, or the list is invalid.
    pub fn faults(&self) -> Result<Vec<Fault>> {
        let path = self.dir.join(FAULTS);
        if !path.exists() {
            return Ok(Vec::new());
        }
        let text = read_text(&path, ARCHIVE_LIMIT).map_err(|e| ArchiveError::io(&path, e.into()))?;
        match faults::of_lines(&text) {
            (faults, 0) => Ok(faults),
            (_, bad) => Err(ArchiveError::damaged(&path, format!("{bad} of its lines are no faults"))),
        }
    }

    /// Notes of users, in the order of their times.
    ///
    /// # Errors
    /// Reading failed, or a note is invalid.
    pub fn notes(&self) -> Result<Vec<Note>> {
        let path = self.dir.join(NOTES);
        if !path.exists() {
            return Ok(Vec::new());
        }
        let text = read_text(&path, NOTES_LIMIT).map_err(|e| ArchiveError::io(&path, e.into()))?;
        notes::of_lines(&text).map_err(|why| ArchiveError::damaged(&path, why))
    }

    /// Changes the notes, and writes them if they differ; one process at a time does so. Records and figures stay as they are.
    ///
    /// # Errors
    /// Another process changes them ([`ArchiveError::is_busy`]), or reading or writing failed.
    pub fn change_notes<T>(&self, change: impl FnOnce(&mut Vec<Note>) -> T) -> Result<T> {
        let path = self.dir.join(NOTES);
        let lock = File::open(&self.dir).map_err(|e| ArchiveError::io(&self.dir, e))?;
        // Without file locks there is no alternative.
        if let Err(error @ TryLockError::WouldBlock) = lock.try_lock() {
            return Err(ArchiveError::io(&path, error.into()));
        }
        let before = self.notes()?;
        let mut after = before.clone();
        let changed = change(&mut after);
        after.sort_by_key(|note| (note.from_ns, note.to_ns));
        if after.is_empty() && !before.is_empty() {
            remove_own(&path).map_err(|e| ArchiveError::io(&path, e))?;
        } else if after != before {
            write_whole(&path, &notes::to_lines(&after))?;
        }
        Ok(changed)
    }

    /// Whether the run is not finished and its files changed a moment ago: another process is writing them.
    pub fn is_being_written(&self) -> bool {
        let is_recent = |name: &str| {
            let modified = fs::metadata(self.dir.join(name)).and_then(|metadata| metadata.modified());
            modified.is_ok_and(|at| at.elapsed().is_ok_and(|ago| ago < STILL))
        };
        self.run.state == RunState::Running && [LOG, SERIES_LOG, RUN].into_iter().any(is_recent)
    }

    /// Whether the run has ended, but its result was not converted because the disk was full.
    pub fn awaits_conversion(&self) -> bool {
        let is_there = |name: &str| self.dir.join(name).exists();
        let is_left = || is_there(LOG) || is_there(SERIES_LOG);
        match self.run.state {
            RunState::Running => false,
            RunState::Unconverted(_) => true,
            RunState::Finished | RunState::Interrupted(_) | RunState::Broken(_) => is_left(),
        }
    }

    /// Whether the records are still in the log: the run is running, was killed, or filled the disk.
    pub fn is_unfinished(&self) -> bool {
        !self.dir.join(RECORDS).exists()
    }

    /// Calls `f` with every record, in the order in which their completions were seen.
    pub fn for_each_record(&self, f: &mut dyn FnMut(&Record)) -> Result<LogEnd> {
        if let Some(file) = self.record_file()? {
            return Ok(LogEnd { records: file.for_each(f)?, ..LogEnd::default() });
        }
        let log = self.dir.join(LOG);
        let may_be_missing = matches!(self.run.state, RunState::Running | RunState::Broken(_));
        match read_log(&log, f) {
            // A run that was killed very early, or could not start, has none yet.
            Err(ArchiveError::Io { .. }) if may_be_missing && !log.exists() => Ok(LogEnd::default()),
            other => other,
        }
    }

    /// Opens the records of a finished run, to be read in parts; `None` while they are in the log.
    pub fn record_file(&self) -> Result<Option<RecordFile>> {
        if self.is_unfinished() { Ok(None) } else { RecordFile::open(&self.dir.join(RECORDS)).map(Some) }
    }

    /// Follows the records of a run that may still be running; `None` without a log (yet, or any more).
    pub fn follow(&self) -> Result<Option<LogFollower>> {
        let log = self.dir.join(LOG);
        if log.exists() { LogFollower::open(&log).map(Some) } else { Ok(None) }
    }

    /// Writes a text to the archive under `name`, atomically.
    pub fn write_text(&self, name: &str, text: &str) -> Result<()> {
        write_whole(&self.dir.join(name), text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Damage;
    use crate::{Marks, Outcome, Stalls};
    use iosonar_plan::{Engine, Extent, Nanos, Op};
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;
    use proptest::prelude::*;

    fn plan() -> Plan {
        let text = r#"
            version = 2
            run_id = 1
            seed = 1
            depth = 4
            [[target]]
            path = "x"
            [target.workload]
            kind = "trace"
            file = "l"
        "#;
        Plan::from_toml(text).unwrap()
    }

    fn run() -> RunInfo {
        RunInfo {
            part: None,
            hosts: Vec::new(),
            directory: None,
            archive_version: ARCHIVE_VERSION,
            tool: "iosonar test".into(),
            command: String::new(),
            started_unix_ns: 0,
            origin_monotonic_ns: 0,
            state: RunState::Running,
            targets: Vec::new(),
            recorder_stalls: Stalls::default(),
            push_back_stalls: Stalls::default(),
            buffer_stalls: Stalls::default(),
            setup: Default::default(),
            cpu: Default::default(),
            is_import: false,
            recorded: None,
            processes: Vec::new(),
            verified: None,
            phases: Vec::new(),
            passes: Vec::new(),
        }
    }

    fn record() -> impl Strategy<Value = Record> {
        let time = || 0u64..1 << 62;
        let maybe = || proptest::option::of(0u64..1 << 62);
        let extent = || (0u64..1 << 62, 0u64..1 << 40).prop_map(|(offset, length)| Extent { offset, length });
        let ids = (any::<u64>().prop_map(|n| n >> 1), any::<u16>(), any::<u16>(), any::<u32>(), any::<u16>());
        let kinds = (0u8..5, 0usize..4, 0u16..4096, any::<i64>());
        let times = (time(), time(), time());
        (ids, kinds, times, maybe(), maybe(), maybe(), maybe(), extent(), extent()).prop_map(
            |(
                ids,
                kinds,
                (load_time, due, reap_lag),
                released,
                blocked_by,
                submitted,
                completed,
                requested,
                executed,
            )| Record {
                sequence: ids.0,
                target: ids.1,
                worker: ids.2,
                pass: ids.3,
                phase: ids.4,
                op: Op::of_code(kinds.0).unwrap(),
                outcome: Outcome::ALL[kinds.1],
                marks: Marks(kinds.2),
                load_time: Nanos(load_time),
                due: Nanos(due),
                released: released.map(Nanos),
                blocked_by,
                submitted: submitted.map(Nanos),
                completed: completed.map(Nanos),
                reap_lag: Nanos(reap_lag),
                requested,
                executed,
                result: kinds.3,
            },
        )
    }

    fn read_all(archive: &Archive) -> (Vec<Record>, LogEnd) {
        let mut records = Vec::new();
        let end = archive.for_each_record(&mut |r| records.push(*r)).unwrap();
        (records, end)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn records_round_trip_through_log_and_parquet(records in proptest::collection::vec(record(), 0..200)) {
            let scratch = tempfile::tempdir().unwrap();
            let dir = scratch.path().join("a");
            let writer = ArchiveWriter::create(&dir, &plan(), &serde_json::Value::Null, &run()).unwrap();
            let mut log = writer.record_log().unwrap();
            for part in records.chunks(7) {
                log.append(part).unwrap();
            }
            let growing = Archive::open(&dir).unwrap();
            prop_assert!(growing.is_unfinished());
            prop_assert_eq!(&read_all(&growing).0, &records);
            drop(log);
            let finished = writer.finish().unwrap();
            prop_assert!(!finished.is_unfinished());
            prop_assert_eq!(read_all(&finished).0, records);
        }
    }

    #[test]
    fn damaged_parquet_is_an_error_or_differs_without_panic() {
        let scratch = tempfile::tempdir().unwrap();
        let (dir, writer, mut log) = new_archive(scratch.path(), &plan());
        log.append(&[Record::default(); 50]).unwrap();
        drop(log);
        let archive = writer.finish().unwrap();
        let path = dir.join(RECORDS);
        let whole = fs::read(&path).unwrap();
        let mut refused = 0;
        // The end has the offsets of everything: damage there is the most misleading.
        for at in (0..whole.len()).step_by(3).chain(whole.len() - 40..whole.len()) {
            let mut damaged = whole.clone();
            damaged[at] ^= 0xff;
            fs::write(&path, damaged).unwrap();
            refused += usize::from(archive.for_each_record(&mut |_| {}).is_err());
        }
        for cut in [0, 1, 7, 8, 100, whole.len() - 1] {
            fs::write(&path, &whole[..cut]).unwrap();
            assert!(archive.for_each_record(&mut |_| {}).is_err(), "cut to {cut}");
        }
        assert!(refused > 100, "{refused} of {} were noticed", whole.len());
    }

    #[test]
    fn reserves_space_for_final_run_info() {
        let scratch = tempfile::tempdir().unwrap();
        let (dir, writer, log) = new_archive(scratch.path(), &plan());
        drop(log);
        let reserve = dir.join(RESERVE);
        assert!(fs::metadata(&reserve).unwrap().len() > fs::metadata(dir.join(RUN)).unwrap().len());
        writer.finish().unwrap();
        assert!(!reserve.exists());
    }

    /// Bytes of the last frame: a header, and two dropped records in the long form.
    const LAST: u64 = 12 + 2 * 129;

    #[test]
    fn truncated_log_yields_all_whole_frames() {
        let scratch = tempfile::tempdir().unwrap();
        let dir = scratch.path().join("a");
        let writer = ArchiveWriter::create(&dir, &plan(), &serde_json::Value::Null, &run()).unwrap();
        let mut log = writer.record_log().unwrap();
        log.append(&[Record::default(); 3]).unwrap();
        log.append(&[Record { outcome: Outcome::Dropped, ..Record::default() }; 2]).unwrap();
        let path = dir.join(LOG);
        let size = fs::metadata(&path).unwrap().len();
        for (cut, records) in [(1, 3), (200, 3), (LAST, 3), (LAST + 1, 0)] {
            let file = File::options().write(true).open(&path).unwrap();
            file.set_len(size - cut).unwrap();
            let (read, end) = read_all(&Archive::open(&dir).unwrap());
            assert_eq!((read.len(), end.records), (records, records as u64), "cut {cut}");
            assert_eq!(end.lost_bytes > 0, cut != LAST, "cut {cut}");
        }
    }

    #[test]
    fn reads_frames_after_damage_and_locates_it() {
        let scratch = tempfile::tempdir().unwrap();
        let (dir, writer, mut log) = new_archive(scratch.path(), &plan());
        let (path, mut begins) = (dir.join(LOG), Vec::new());
        for frame in 0..4u64 {
            begins.push(fs::metadata(&path).unwrap().len());
            log.append(&[0, 1, 2].map(|n| Record { sequence: 3 * frame + n, ..Record::default() })).unwrap();
        }
        let whole = fs::read(&path).unwrap();
        let read = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            let (records, end) = read_all(&Archive::open(&dir).unwrap());
            let sequences: Vec<u64> = records.iter().map(|r| r.sequence).collect();
            (sequences, end)
        };
        assert_eq!(read(&whole).1.damage, Damage::default());
        let length = begins[2] - begins[1];
        let wants = Damage { places: 1, bytes: length, first: begins[1] };
        // Count, length, checksum, records: each byte of a frame affects this frame alone.
        for at in begins[1]..begins[2] {
            let mut damaged = whole.clone();
            damaged[at as usize] ^= 0xff;
            let (sequences, end) = read(&damaged);
            assert_eq!(sequences, [0, 1, 2, 6, 7, 8, 9, 10, 11], "byte {at}");
            assert_eq!((end.damage, end.lost_bytes, end.records), (wants, 0, 9), "byte {at}");
        }
        // Missing bytes, and a missing end of the log.
        let mut cut = [&whole[..begins[1] as usize + 5], &whole[begins[2] as usize - 3..]].concat();
        cut.truncate(cut.len() - 7);
        let (sequences, end) = read(&cut);
        assert_eq!(sequences, [0, 1, 2, 6, 7, 8]);
        assert_eq!((end.damage, end.lost_bytes), (Damage { bytes: 8, ..wants }, length - 7));
        let told = end.remarks().join("; ");
        assert!(
            told.starts_with(&format!("8 bytes of its log are damaged, at byte {}:", begins[1])),
            "{told}"
        );
        assert!(told.contains("cut off"), "{told}");
        // A whole last frame with a wrong checksum is damaged; zeros beyond the end were never written.
        let mut last = whole.clone();
        *last.last_mut().unwrap() ^= 1;
        assert_eq!(read(&last).1.damage.first, begins[3]);
        let zeros = [&whole[..], &[0; 100]].concat();
        assert_eq!((read(&zeros).1.lost_bytes, read(&zeros).1.damage.places), (100, 0));
        // A damaged log is not removed.
        read(&last);
        assert!(writer.finish().unwrap_err().to_string().contains("are damaged"));
        assert!(path.exists());
    }

    #[test]
    fn follows_a_growing_log() {
        let scratch = tempfile::tempdir().unwrap();
        let (dir, writer, mut log) = new_archive(scratch.path(), &plan());
        let mut follower = Archive::open(&dir).unwrap().follow().unwrap().unwrap();
        let record = |sequence| Record { sequence, ..Record::default() };
        let mut seen = Vec::new();
        assert_eq!(follower.read_new(&mut |r| seen.push(r.sequence)).unwrap(), 0);
        log.append(&[record(0), record(1)]).unwrap();
        assert_eq!(follower.read_new(&mut |r| seen.push(r.sequence)).unwrap(), 2);
        // A partial frame is read once it is complete.
        let path = dir.join(LOG);
        let before = fs::metadata(&path).unwrap().len();
        log.append(&[record(2)]).unwrap();
        let whole = fs::read(&path).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(before + 5).unwrap();
        assert_eq!(follower.read_new(&mut |r| seen.push(r.sequence)).unwrap(), 0);
        fs::write(&path, &whole).unwrap();
        assert_eq!(follower.read_new(&mut |r| seen.push(r.sequence)).unwrap(), 1);
        // A complete file is read although its name has been removed.
        log.append(&[record(3)]).unwrap();
        writer.finish().unwrap();
        assert_eq!(follower.read_new(&mut |r| seen.push(r.sequence)).unwrap(), 1);
        assert_eq!(seen, [0, 1, 2, 3]);
        assert!(Archive::open(&dir).unwrap().follow().unwrap().is_none());
    }

    fn new_archive(scratch: &Path, plan: &Plan) -> (PathBuf, ArchiveWriter, LogWriter) {
        let dir = scratch.join("a");
        let writer = ArchiveWriter::create(&dir, plan, &serde_json::Value::Null, &run()).unwrap();
        let log = writer.record_log().unwrap();
        (dir, writer, log)
    }

    fn parquet_file(path: &Path) -> SerializedFileReader<File> {
        SerializedFileReader::new(File::open(path).unwrap()).unwrap()
    }

    #[test]
    fn parquet_metadata_has_run_id_and_stamp() {
        for (engine, buffered, want) in [
            (Engine::Threads, false, None),
            (Engine::Threads, true, Some("PAGE CACHE -- NOT A STORAGE RESULT")),
            (Engine::Null, true, Some("DRY RUN -- NOT A STORAGE RESULT")),
            (Engine::Sim(Default::default()), false, Some("SIMULATED -- NOT A STORAGE RESULT")),
        ] {
            let scratch = tempfile::tempdir().unwrap();
            let mut plan = Plan { run_id: 77, engine, ..plan() };
            plan.access.buffered = buffered;
            let (dir, writer, _) = new_archive(scratch.path(), &plan);
            writer.finish().unwrap();
            let file = parquet_file(&dir.join(RECORDS));
            let pairs = file.metadata().file_metadata().key_value_metadata().unwrap();
            let get = |key: &str| pairs.iter().find(|p| p.key == key).and_then(|p| p.value.as_deref());
            assert_eq!(get("iosonar.run_id"), Some("77"));
            assert_eq!(get("iosonar.archive_version"), Some("2"));
            assert_eq!(get("iosonar.stamp"), want);
        }
    }

    #[test]
    fn failed_conversion_keeps_logs_and_no_temporary_file() {
        for (name, log) in [(RECORDS, LOG), (SERIES, SERIES_LOG)] {
            let scratch = tempfile::tempdir().unwrap();
            let (dir, writer, _) = new_archive(scratch.path(), &plan());
            writer.series_log().unwrap().append(1, [("a", 1.0)].into_iter()).unwrap();
            // A directory blocks the last step.
            fs::create_dir(dir.join(name)).unwrap();
            assert!(writer.finish().is_err());
            assert!(dir.join(log).exists() && !dir.join(format!("{name}.tmp")).exists(), "{name}");
        }
    }

    #[test]
    fn failed_conversion_can_be_completed_later() {
        let scratch = tempfile::tempdir().unwrap();
        let (dir, writer, mut log) = new_archive(scratch.path(), &plan());
        log.append(&[Record::default(); 9]).unwrap();
        drop(log);
        writer.series_log().unwrap().append(1, [("a", 1.0)].into_iter()).unwrap();
        let awaits = || Archive::open(&dir).unwrap().awaits_conversion();
        assert!(!awaits(), "it goes on");
        writer.write_run(&RunInfo { state: RunState::Finished, ..run() }).unwrap();
        // A directory blocks the last step, once of the records and once of the series.
        for name in [RECORDS, SERIES] {
            fs::create_dir(dir.join(name)).unwrap();
            assert!(writer.finish().is_err() && awaits() && dir.join(RESERVE).exists(), "{name}");
            fs::remove_dir(dir.join(name)).unwrap();
        }
        writer.write_run(&RunInfo { state: RunState::Unconverted("full".into()), ..run() }).unwrap();
        let archive = Archive::open(&dir).unwrap();
        let finished = ArchiveWriter::resume(&archive).finish().unwrap();
        assert_eq!(read_all(&finished).0.len(), 9);
        assert!(!dir.join(LOG).exists() && dir.join(SERIES).exists() && !dir.join(RESERVE).exists());
        assert!(awaits(), "the state is for the caller to write");
    }

    #[test]
    fn observer_sees_every_record_in_archive_order() {
        let scratch = tempfile::tempdir().unwrap();
        let (_, writer, mut log) = new_archive(scratch.path(), &plan());
        let numbered = |sequence| Record { sequence, ..Record::default() };
        let records: Vec<Record> = (0..ROW_GROUP as u64 + 300).map(|i| numbered(i * 7 % 1000)).collect();
        log.append(&records).unwrap();
        drop(log);
        let mut seen = Vec::new();
        let archive = writer.finish_observed(&mut |some| seen.extend_from_slice(some)).unwrap();
        assert!(seen == records && read_all(&archive).0 == records);
        // Everything has been observed.
        writer.finish_observed(&mut |_| panic!("it is converted already")).unwrap();
    }

    #[test]
    fn notes_are_kept_sorted_beside_the_records() {
        let scratch = tempfile::tempdir().unwrap();
        let (dir, writer, log) = new_archive(scratch.path(), &plan());
        drop(log);
        let running = Archive::open(&dir).unwrap();
        assert!(running.is_being_written());
        let archive = writer.finish().unwrap();
        writer.write_run(&RunInfo { state: RunState::Finished, ..run() }).unwrap();
        assert!(!Archive::open(&dir).unwrap().is_being_written());
        let records = fs::read(dir.join(RECORDS)).unwrap();
        assert_eq!(archive.notes().unwrap(), []);
        let note = |from: u64, text: &str| Note::new(from, from + 1, text).unwrap();
        archive.change_notes(|notes| notes.push(note(5, "later"))).unwrap();
        archive.change_notes(|notes| notes.push(note(1, "earlier"))).unwrap();
        assert_eq!(archive.notes().unwrap(), [note(1, "earlier"), note(5, "later")]);
        let other = File::open(&dir).unwrap();
        other.try_lock().unwrap();
        assert!(archive.change_notes(Vec::clear).is_err_and(|error| error.is_busy()));
        drop(other);
        assert_eq!(fs::read(dir.join(RECORDS)).unwrap(), records);
        archive.change_notes(Vec::clear).unwrap();
        assert!(!dir.join(NOTES).exists());
        // Notes belong to the archive, and are removed with it.
        archive.change_notes(|notes| notes.push(note(1, "again"))).unwrap();
        remove_archive(&dir).unwrap();
        assert!(!dir.exists());
    }

    #[test]
    fn damaged_notes_are_refused_with_their_line() {
        let scratch = tempfile::tempdir().unwrap();
        let (dir, writer, _) = new_archive(scratch.path(), &plan());
        let archive = writer.finish().unwrap();
        fs::write(dir.join(NOTES), "{}\n").unwrap();
        let error = archive.notes().unwrap_err();
        assert!(error.is_damage() && error.to_string().contains("notes.jsonl: line 1: "), "{error}");
        assert!(archive.change_notes(Vec::clear).is_err() && dir.join(NOTES).exists());
    }

    #[test]
    fn only_one_process_converts_at_a_time() {
        let scratch = tempfile::tempdir().unwrap();
        let (dir, writer, _) = new_archive(scratch.path(), &plan());
        let other = File::open(dir.join(LOG)).unwrap();
        other.try_lock().unwrap();
        assert!(writer.finish().is_err_and(|error| error.is_busy()));
        drop(other);
        writer.finish().unwrap();
    }

    #[test]
    fn derived_records_appear_only_when_run_has_ended() {
        let scratch = tempfile::tempdir().unwrap();
        let dir = scratch.path().join("a");
        let writer = ArchiveWriter::create(&dir, &plan(), &serde_json::Value::Null, &run()).unwrap();
        let ended = RunInfo { state: RunState::Finished, ..run() };
        let record = |sequence| Record { sequence, ..Record::default() };
        let given_up = {
            let mut records = writer.made_records(ROW_GROUP).unwrap();
            records.push(&record(9)).unwrap();
            records.unfinished.temporary.clone()
        };
        assert!(!given_up.exists());
        let mut records = writer.made_records(300).unwrap();
        (0..1000).for_each(|n| records.push(&record(n)).unwrap());
        let begun = Archive::open(&dir).unwrap();
        assert!(begun.is_unfinished() && read_all(&begun).0.is_empty());
        let archive = writer.finish_made(records, &plan(), &ended).unwrap();
        assert_eq!(archive.run().state, RunState::Finished);
        assert_eq!(read_all(&archive).0, (0..1000).map(record).collect::<Vec<_>>());
        assert_eq!(
            parquet_file(&dir.join(RECORDS)).num_row_groups(),
            3,
            "no more are held than was asked for"
        );
        assert!(!dir.join(RESERVE).exists() && !given_up.exists());
    }

    #[test]
    fn failed_rename_of_derived_records_keeps_run_unfinished() {
        let scratch = tempfile::tempdir().unwrap();
        let (dir, writer, _) = new_archive(scratch.path(), &plan());
        let records = writer.made_records(ROW_GROUP).unwrap();
        // A directory blocks the last step.
        fs::create_dir(dir.join(RECORDS)).unwrap();
        let ended = RunInfo { state: RunState::Finished, ..run() };
        assert!(writer.finish_made(records, &plan(), &ended).is_err());
        assert_eq!(Archive::open(&dir).unwrap().run().state, RunState::Running);
        assert!(!dir.join(format!("{RECORDS}.tmp")).exists());
    }

    #[test]
    fn long_series_converts_without_its_truncated_end() {
        let scratch = tempfile::tempdir().unwrap();
        let (dir, writer, _) = new_archive(scratch.path(), &plan());
        let mut log = writer.series_log().unwrap();
        let rounds = 80_000u64;
        for time in 0..rounds {
            log.append(time, [("sda, reads", time as f64), ("cpu", 0.1)].into_iter()).unwrap();
        }
        log.flush().unwrap();
        log.file.write_all(b"80000,1.5,cp").unwrap();
        writer.finish().unwrap();
        assert!(!dir.join(SERIES_LOG).exists());
        let file = parquet_file(&dir.join(SERIES));
        assert_eq!(file.num_row_groups(), 2, "memory is bounded by a row group");
        let rows: Vec<_> = file.get_row_iter(None).unwrap().map(|row| row.unwrap()).collect();
        assert_eq!(rows.len() as u64, 2 * rounds);
        let sample = |i: usize| {
            let row = &rows[i];
            (row.get_ulong(0).unwrap(), row.get_string(1).unwrap().clone(), row.get_double(2).unwrap())
        };
        assert_eq!(sample(159_998), (79_999, "sda, reads".into(), 79_999.0));
        assert_eq!(sample(1), (0, "cpu".into(), 0.1));
    }

    #[test]
    fn rejects_existing_directories_non_archives_and_newer_versions() {
        let scratch = tempfile::tempdir().unwrap();
        let dir = scratch.path().join("a");
        ArchiveWriter::create(&dir, &plan(), &serde_json::Value::Null, &run()).unwrap();
        let again = ArchiveWriter::create(&dir, &plan(), &serde_json::Value::Null, &run());
        assert!(matches!(again, Err(ArchiveError::Exists(_))));
        assert!(matches!(Archive::open(scratch.path()), Err(ArchiveError::NoArchive(_))));
        let newer = RunInfo { archive_version: 99, ..run() };
        write_whole(&dir.join(RUN), &json(&newer)).unwrap();
        assert!(matches!(Archive::open(&dir), Err(ArchiveError::Version { found: 99, .. })));
    }
}
