//! Record of what earlier runs of this user wrote: one line of JSON for each target of a run, in a small file.
//!
//! The second run on a range uses the mapping made by the first, and differs from it (blkreplay manual 3.1.1). Linux
//! does not remember runs, so iosonar does. Several processes may add lines concurrently; an unreadable or unwritable
//! ledger is never an error of a run, but an absent fact with its reason.

use crate::target::{BlockDevice, RegularFile, Role, TargetFacts, TargetKind};
use crate::{Fact, FormerRun, Root, WrittenRange};
use iosonar_os::create::{self, Unfinished};
use iosonar_text::shown;
use rustix::fs::{Access, FlockOperation, access, flock};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Error, ErrorKind, Result, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The environment variable with the path of the ledger, or `off`.
pub const VARIABLE: &str = "IOSONAR_LEDGER";

/// Maximum number of entries; the oldest are dropped.
const MOST_ENTRIES: usize = 1_000;
/// Additional entries tolerated before the file is rewritten, so that not each run rewrites it.
const SLACK: usize = 250;
/// Maximum number of former runs reported per target; the newest.
const MOST_TOLD: usize = 16;
/// Maximum number of targets of one run with an entry. A run on more of them would displace all other entries.
const MOST_TARGETS: usize = 64;
/// Maximum size; a larger file is not a ledger.
const MOST_BYTES: u64 = 8 << 20;
/// Number of attempts to get the lock from another process, and the interval: several runs may end at the same time,
/// and a missing entry hides what a run wrote.
const TRIES: u32 = 500;
const WAIT: Duration = Duration::from_millis(10);

/// Location of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ledger {
    /// This file, which may not exist yet.
    At(PathBuf),
    /// No ledger; holds the reason.
    Nowhere(String),
}

/// Writes of a run to a target.
#[derive(Debug, Clone, Copy)]
pub struct Written<'a> {
    /// The target after the run.
    pub target: &'a TargetFacts,
    /// From the lowest to the highest byte written.
    pub range: WrittenRange,
    /// Whether it was filled with fresh data, so that earlier runs on the range no longer matter.
    pub is_fill: bool,
    /// Directory of the result.
    pub result: &'a Path,
}

/// An entry, i.e. a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Entry {
    /// Identity of the target.
    target: Identity,
    /// Path, for people who read the file.
    path: PathBuf,
    /// End of the run, in seconds since 1970.
    ended_unix: u64,
    /// Range written. For a partition, in bytes of its disk.
    written: WrittenRange,
    result: PathBuf,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    fill: bool,
    /// Modification time of a file's data, as seen at the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    modified_ns: Option<i64>,
}

/// Identity of a target, regardless of its current name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Identity {
    /// A disk, or a device on top of others.
    Disk {
        /// Serial number, world-wide identifier, or UUID of a volume.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        serial: Option<String>,
        boot: String,
        /// Increases with each inserted medium and each attached loop device, until reboot.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        diskseq: Option<u64>,
    },
    /// A file. Inode and creation time identify it uniquely, wherever its file system is mounted.
    File { inode: u64, born_ns: i64 },
    /// A file without a creation time: identified until reboot.
    FileOfBoot { inode: u64, device: String, boot: String },
}

impl Identity {
    fn is(&self, other: &Identity) -> bool {
        let (
            Identity::Disk { serial, boot, diskseq },
            Identity::Disk { serial: other_serial, boot: other_boot, diskseq: other_diskseq },
        ) = (self, other)
        else {
            return self == other;
        };
        // Sequence numbers restart at boot; serial numbers stay.
        match boot == other_boot && diskseq.is_some() {
            true => diskseq == other_diskseq && serial == other_serial,
            false => serial.is_some() && serial == other_serial,
        }
    }

    /// Returns the identity of the target, and the offset of its bytes in the identified object.
    fn of(target: &TargetFacts, root: &Root) -> std::result::Result<(Identity, u64), String> {
        let boot = || match root.fact("/proc/sys/kernel/random/boot_id") {
            Fact::Known(boot) => Ok(boot),
            Fact::Absent { absent } => Err(absent),
        };
        match &target.kind {
            TargetKind::BlockDevice(device) => of_device(device, boot()?),
            TargetKind::RegularFile(RegularFile { inode, born_ns: Fact::Known(born_ns), .. }) => {
                Ok((Identity::File { inode: *inode, born_ns: *born_ns }, 0))
            }
            TargetKind::RegularFile(file) => {
                let (inode, device, boot) = (file.inode, file.device.to_string(), boot()?);
                Ok((Identity::FileOfBoot { inode, device, boot }, 0))
            }
            TargetKind::MemoryDevice(_) => Err("it keeps nothing".into()),
        }
    }
}

fn of_device(device: &BlockDevice, boot: String) -> std::result::Result<(Identity, u64), String> {
    if let Role::Partition { start, disk, .. } = &device.role {
        let Fact::Known(start) = start else {
            return Err(format!("where {} starts on its disk is unknown", device.name));
        };
        return of_device(disk, boot).map(|(identity, moved)| (identity, moved + start));
    }
    let (serial, diskseq) = (device.serial.known().cloned(), device.diskseq.known().copied());
    if serial.is_none() && diskseq.is_none() {
        return Err(format!("{} has neither a serial number nor a diskseq (Linux 5.15)", device.name));
    }
    Ok((Identity::Disk { serial, boot, diskseq }, 0))
}

impl Ledger {
    /// Ledger of this user: the file named by `IOSONAR_LEDGER`, or `iosonar/targets.jsonl` in the XDG state directory.
    pub fn of_user() -> Ledger {
        Ledger::named(|name| std::env::var_os(name).filter(|value| !value.is_empty()))
    }

    fn named(variable: impl Fn(&str) -> Option<OsString>) -> Ledger {
        if let Some(named) = variable(VARIABLE) {
            return match named == "off" {
                true => Ledger::Nowhere(format!("the ledger is off ({VARIABLE}=off)")),
                false => Ledger::At(named.into()),
            };
        }
        // XDG base directory specification: relative paths are ignored.
        let state = variable("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let home = || variable("HOME").map(|home| PathBuf::from(home).join(".local/state"));
        match state.or_else(home) {
            Some(state) => Ledger::At(state.join("iosonar/targets.jsonl")),
            None => Ledger::Nowhere(format!(
                "there is no place for a ledger: {VARIABLE}, XDG_STATE_HOME and HOME are not set"
            )),
        }
    }

    /// Runs that wrote a target since its last fill, oldest first; only the newest if there are many. Absent if unknown.
    pub fn former_runs(&self, target: &TargetFacts, root: &Root) -> Fact<Vec<FormerRun>> {
        match self.known_runs(target, root) {
            Ok(runs) => Fact::Known(runs),
            Err(why) => Fact::absent(why),
        }
    }

    fn known_runs(&self, target: &TargetFacts, root: &Root) -> std::result::Result<Vec<FormerRun>, String> {
        let path = match self {
            Ledger::At(path) => path,
            Ledger::Nowhere(why) => return Err(why.clone()),
        };
        let (identity, moved) = Identity::of(target, root)?;
        let failed = |error: Error| format!("the ledger {} cannot be used: {error}", shown(&path));
        let text = read(path).map_err(failed)?;
        let (entries, damaged) = parse(&text);
        // A truncated line is reported below.
        if !is_ledger(&text) && !is_cut(&text) {
            return Err(failed(Error::other(ANOTHER)));
        }
        let own = entries.iter().filter(|entry| entry.target.is(&identity));
        let runs = since_the_last_fill(own, target, moved);
        match damaged {
            // Known runs are reported; absence of runs cannot be.
            Some(line) if runs.is_empty() => {
                Err(format!("line {line} of the ledger {} is damaged: remove it", shown(&path)))
            }
            _ => {
                check_writable(path).map_err(failed)?;
                Ok(runs)
            }
        }
    }

    /// Adds the writes of a run.
    ///
    /// # Errors
    /// No ledger, or writing failed. No message is needed: the next run reads the ledger and reports it.
    pub fn add(&self, written: &[Written<'_>], root: &Root) -> Result<()> {
        let Ledger::At(path) = self else { return Ok(()) };
        if written.is_empty() || written.len() > MOST_TARGETS {
            return Ok(());
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let lines: String = written.iter().filter_map(|one| line(one, now, root)).collect();
        if let Some(dir) = path.parent().filter(|dir| !dir.as_os_str().is_empty() && !dir.exists()) {
            match create::new_private_dirs(dir) {
                // Another process was faster.
                Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
        let mut file = locked(path)?;
        let known = read(path)?;
        if !is_ledger(&known) {
            return Err(Error::other(ANOTHER));
        }
        // Terminates a line truncated by a full disk.
        let end = if known.is_empty() || known.ends_with('\n') { "" } else { "\n" };
        file.write_all(format!("{end}{lines}").as_bytes())?;
        let all = known + end + &lines;
        match parse(&all).0.len() > MOST_ENTRIES + SLACK {
            true => shorten(path, &file, &all),
            false => Ok(()),
        }
    }

    /// Returns the reason if the named file is foreign: nothing is added to it.
    pub fn foreign(&self) -> Option<String> {
        let Ledger::At(path) = self else { return None };
        let is_foreign = read(path).is_ok_and(|text| !is_ledger(&text));
        is_foreign.then(|| {
            format!(
                "the ledger {} is not used, and nothing is added to it: {ANOTHER}: name another with {VARIABLE}, or '{VARIABLE}=off'",
                shown(&path)
            )
        })
    }
}

fn line(written: &Written<'_>, now: u64, root: &Root) -> Option<String> {
    let (target, moved) = Identity::of(written.target, root).ok()?;
    let modified_ns = match &written.target.kind {
        TargetKind::RegularFile(file) => file.modified_ns.known().copied(),
        TargetKind::BlockDevice(_) | TargetKind::MemoryDevice(_) => None,
    };
    let WrittenRange { start, end } = written.range;
    let entry = Entry {
        target,
        path: written.target.resolved.clone(),
        ended_unix: now,
        written: WrittenRange { start: start + moved, end: end + moved },
        result: std::path::absolute(written.result).unwrap_or_else(|_| written.result.to_path_buf()),
        fill: written.is_fill,
        modified_ns,
    };
    serde_json::to_string(&entry).ok().map(|line| line + "\n")
}

/// Runs on a target that no later fill has superseded.
fn since_the_last_fill<'a>(
    entries: impl Iterator<Item = &'a Entry>,
    target: &TargetFacts,
    moved: u64,
) -> Vec<FormerRun> {
    let mut runs: Vec<FormerRun> = Vec::new();
    let mut last_modified = None;
    for entry in entries {
        last_modified = entry.modified_ns;
        if entry.fill {
            runs.retain_mut(|run| match run.written.without(entry.written) {
                Some(left) => {
                    run.written = left;
                    true
                }
                None => false,
            });
            continue;
        }
        let (ended_unix, written, result) = (entry.ended_unix, entry.written, Some(entry.result.clone()));
        runs.push(FormerRun { ended_unix, written, result, changed_since: false });
    }
    let modified = match &target.kind {
        TargetKind::RegularFile(file) => file.modified_ns.known().copied(),
        TargetKind::BlockDevice(_) | TargetKind::MemoryDevice(_) => None,
    };
    // Whether the file was modified since the last run.
    let changed_since = last_modified.zip(modified).is_some_and(|(then, now)| then != now);
    // Excludes bytes outside of a partition, i.e. in other partitions of its disk.
    runs.retain(|run| run.written.overlaps(WrittenRange { start: moved, end: moved + target.size }));
    let surplus = runs.len().saturating_sub(MOST_TOLD);
    runs.drain(..surplus);
    for run in &mut runs {
        // Only of reported runs: the result of another one may be on a server that does not answer.
        run.result = run.result.take().filter(|result| result.join("run.json").exists());
        run.changed_since = changed_since;
        run.written.start = run.written.start.saturating_sub(moved);
        run.written.end -= moved;
    }
    runs
}

/// Reads the ledger; empty if it does not exist yet.
fn read(path: &Path) -> Result<String> {
    let found = match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(String::new()),
        found => found?,
    };
    // Opens regular files only: a pipe would block, and a device be written.
    if !found.is_file() {
        return Err(Error::other("it is no regular file"));
    }
    if found.len() > MOST_BYTES {
        return Err(Error::other(format!("it has {} bytes", found.len())));
    }
    String::from_utf8(fs::read(path)?).map_err(|_| Error::other("it is no text"))
}

/// Why nothing is added to a file.
const ANOTHER: &str = "it is another file, and none of its lines is an entry of a ledger";

/// Whether a text is a ledger: it is empty, or contains an entry. Its other lines may be truncated entries.
fn is_ledger(text: &str) -> bool {
    let is_entry = |line: &str| serde_json::from_str::<Entry>(line).is_ok();
    first_line(text).is_none() || text.lines().any(is_entry)
}

/// Whether the first line may be an entry truncated by a full disk.
fn is_cut(text: &str) -> bool {
    let is_json = |line: &str| serde_json::from_str::<serde_json::Value>(line).is_ok();
    first_line(text).is_some_and(|first| first.starts_with('{') && !is_json(first))
}

fn first_line(text: &str) -> Option<&str> {
    text.lines().find(|line| !line.is_empty())
}

/// Parses the entries; also returns the number of the first invalid line.
fn parse(text: &str) -> (Vec<Entry>, Option<usize>) {
    let (mut entries, mut damaged) = (Vec::new(), None);
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
        match serde_json::from_str(line) {
            Ok(entry) => entries.push(entry),
            Err(_) => damaged = damaged.or(Some(number + 1)),
        }
    }
    (entries, damaged)
}

/// Checks that this run will be able to add its entry: otherwise the next one could not know of it.
fn check_writable(path: &Path) -> Result<()> {
    let path = std::path::absolute(path)?;
    let existing = path.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(&path);
    Ok(access(existing, Access::WRITE_OK)?)
}

/// Opens the ledger for appending, locked until it is closed.
fn locked(path: &Path) -> Result<File> {
    for _ in 0..TRIES {
        read(path)?;
        let file = create::shared_file(path)?;
        let is_locked = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
        // Another process may have replaced it with a shorter one meanwhile.
        let is_current = || {
            let (own, named) = (file.metadata().ok()?, path.symlink_metadata().ok()?);
            Some(own.dev() == named.dev() && own.ino() == named.ino())
        };
        if is_locked && is_current() == Some(true) {
            return Ok(file);
        }
        std::thread::sleep(WAIT);
    }
    Err(ErrorKind::WouldBlock.into())
}

/// Keeps the newest entries and all invalid lines. Others meanwhile wait for the lock, or read the old file.
fn shorten(path: &Path, old: &File, text: &str) -> Result<()> {
    let is_entry = |line: &&str| serde_json::from_str::<Entry>(line).is_ok();
    let mut surplus = text.lines().filter(is_entry).count().saturating_sub(MOST_ENTRIES);
    let is_kept = |line: &&str| {
        let goes = surplus > 0 && is_entry(line);
        surplus -= usize::from(goes);
        !goes
    };
    let kept: String = text.lines().filter(is_kept).map(|line| format!("{line}\n")).collect();
    let mut new = Unfinished::begin(path.parent().unwrap_or(Path::new(".")))?;
    new.file().set_permissions(old.metadata()?.permissions())?;
    new.file().write_all(kept.as_bytes())?;
    new.name_over(path)
}

#[cfg(test)]
mod tests;
