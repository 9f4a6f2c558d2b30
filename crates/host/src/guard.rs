//! The write guard: nothing is written to a target without its consent.
//!
//! Three questions, in this order. *Can* it be written? *Is it in use* – mounted, swapped on, part of another device,
//! opened exclusively? Then it is never written, even if the user insists. *Is it a block device?* Then the user must
//! request its destruction, after seeing its contents.
//!
//! A device is judged together with everything that a write to it affects: its partitions, the disk that it is a part
//! of, and below a loop device the file or device that holds the data.

mod contents;
mod openers;
mod reach;
mod usage;

pub use contents::{Contents, Look, PartitionLook, SIGNATURES_THREAD};
pub use openers::Opener;
pub use usage::{Use, What};

use crate::target::{BlockDevice, RegularFile, TargetFacts, TargetKind, Unwritable};
use crate::{DevNumber, Root, size};
use iosonar_text::shown;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use usage::{Machine, Unreadable};

/// Effect of a run on a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    /// Only reads.
    ReadOnly,
    /// At least one request may write or discard.
    Write,
}

/// Consent of the guard.
#[derive(Debug)]
pub enum Permit {
    /// Consent to read.
    ReadOnly,
    /// Consent to write, for the lifetime of the value.
    Write(WritePermit),
}

/// Consent to write to one target. Only [`check`] creates it.
///
/// It keeps block devices open with `O_EXCL`: during its lifetime, they cannot be mounted, used for swap, or used by a
/// second run.
#[derive(Debug)]
pub struct WritePermit {
    statement: String,
    claims: Vec<OwnedFd>,
}

impl WritePermit {
    /// Data to be overwritten, in words.
    pub fn statement(&self) -> &str {
        &self.statement
    }

    /// Number of claimed block devices: the target, and those below a loop device.
    pub fn claimed_devices(&self) -> usize {
        self.claims.len()
    }
}

/// Why a target is not written. Each message names the path as typed and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Writes would fail.
    #[error("{path} can't be written: {why}; {remedy}", path = shown(&path))]
    ReadOnlyTarget {
        /// Path as typed.
        path: PathBuf,
        /// Reason.
        why: String,
        /// Remedy.
        remedy: String,
    },
    /// Another user exists.
    #[error("{path} is in use and is never written while it is: {}", join(uses), path = shown(&path))]
    InUse {
        /// Path as typed.
        path: PathBuf,
        /// Uses, at least one.
        uses: Vec<Use>,
    },
    /// A block device without the user's consent to its destruction.
    #[error(
        "writing to {path} would destroy {contents}; if that is intended, say so: `--destroy` on the command line, `destroy = true` in a plan",
        path = shown(&path)
    )]
    NeedsDestroy {
        /// Path as typed.
        path: PathBuf,
        /// Contents of the device.
        contents: Box<Contents>,
    },
    /// The check for other users failed.
    #[error("{path} is not written: {why}, so it may be in use; {remedy}", path = shown(&path))]
    Unknown {
        /// Path as typed.
        path: PathBuf,
        /// The unknown fact.
        why: String,
        /// Remedy.
        remedy: &'static str,
    },
    /// The path now leads to something else.
    #[error("{path} is no longer what it was a moment ago; start again", path = shown(&path))]
    Changed {
        /// Path as typed.
        path: PathBuf,
    },
}

fn join(uses: &[Use]) -> String {
    uses.iter().map(Use::to_string).collect::<Vec<_>>().join("; ")
}

/// Checks the run's intent for a target. `destroy` is the user's consent to destroy the contents of a block device.
/// Nothing is written; block devices are opened.
///
/// # Errors
/// A target that can't be written, is in use, or needs the user's consent.
pub fn check(facts: &TargetFacts, intent: Intent, destroy: bool, root: &Root) -> Result<Permit, Refusal> {
    Guard::new(root).check(facts, intent, destroy)
}

/// The guard for many targets: it reads the machine's state again only when the last one is older than [`FRESH`], not
/// for each target.
#[derive(Debug)]
pub struct Guard<'a> {
    root: &'a Root,
    seen: Option<(Machine, Instant)>,
}

/// Maximum age of the machine's state.
pub const FRESH: Duration = Duration::from_millis(100);

impl<'a> Guard<'a> {
    /// Creates a guard that has not read the machine's state yet.
    pub fn new(root: &'a Root) -> Guard<'a> {
        Guard { root, seen: None }
    }

    /// See [`check`].
    ///
    /// # Errors
    /// A target that can't be written, is in use, or needs the user's consent.
    pub fn check(&mut self, facts: &TargetFacts, intent: Intent, destroy: bool) -> Result<Permit, Refusal> {
        let root = self.root;
        match intent {
            Intent::ReadOnly => Ok(Permit::ReadOnly),
            Intent::Write => writable(facts)
                .and_then(|()| self.unused(facts))
                .and_then(|()| match &facts.kind {
                    TargetKind::BlockDevice(device) => permit_device(facts, device, destroy, root),
                    TargetKind::RegularFile(file) => permit_file(facts, file),
                    TargetKind::MemoryDevice(_) => Ok(permit_memory(facts)),
                })
                .map(Permit::Write),
        }
    }

    fn unused(&mut self, facts: &TargetFacts) -> Result<(), Refusal> {
        if matches!(facts.kind, TargetKind::MemoryDevice(_)) {
            return Ok(());
        }
        let looked = match self.seen.take().filter(|(_, since)| since.elapsed() < FRESH) {
            Some(seen) => Ok(seen),
            None => Machine::look(self.root).map(|machine| (machine, Instant::now())),
        };
        let unknown = |Unreadable { why, remedy }| Refusal::Unknown { path: facts.path.clone(), why, remedy };
        let (machine, since) = looked.map_err(unknown)?;
        let uses = usage::find(&machine, facts, self.root).map_err(unknown)?;
        self.seen = Some((machine, since));
        if uses.is_empty() { Ok(()) } else { Err(Refusal::InUse { path: facts.path.clone(), uses }) }
    }
}

fn writable(facts: &TargetFacts) -> Result<(), Refusal> {
    let Some(reason) = &facts.unwritable else { return Ok(()) };
    let (why, remedy) = match reason {
        Unwritable::DeviceFlag => (
            "the device's read-only flag is set".to_owned(),
            "clear it (`blockdev --setrw`, or attach the loop device without --read-only), or run reads only"
                .to_owned(),
        ),
        Unwritable::ReadOnlyMount(mount_point) => (
            format!("the file system on {} is mounted read-only", shown(&mount_point)),
            format!("`mount -o remount,rw {}`, or run reads only", shown(&mount_point)),
        ),
        Unwritable::Refused(error) => (error.clone(), remedy_for_refused().to_owned()),
    };
    Err(Refusal::ReadOnlyTarget { path: facts.path.clone(), why, remedy })
}

const fn remedy_for_refused() -> &'static str {
    "run as a user who may write it, clear an immutable attribute (`chattr -i`), or run reads only"
}

fn permit_device(
    facts: &TargetFacts,
    device: &BlockDevice,
    destroy: bool,
    root: &Root,
) -> Result<WritePermit, Refusal> {
    let contents = contents::look(facts, device, root);
    if !destroy {
        return Err(Refusal::NeedsDestroy { path: facts.path.clone(), contents: Box::new(contents) });
    }
    let mut claims = vec![claim(facts, &facts.resolved, device, root)?];
    for below in reach::claimable_below(device) {
        claims.push(claim(facts, &below.dev_path(), below, root)?);
    }
    let statement = format!("{} will be overwritten: {contents}", shown(&facts.path));
    Ok(WritePermit { statement, claims })
}

/// Opens a device exclusively, and verifies that it is the one that was judged.
fn claim(facts: &TargetFacts, path: &Path, device: &BlockDevice, root: &Root) -> Result<OwnedFd, Refusal> {
    let flags = OFlags::RDWR | OFlags::EXCL | OFlags::CLOEXEC;
    let refused = |errno| not_opened(facts, device, errno, root);
    let opened = rustix::fs::open(path, flags, Mode::empty()).map_err(refused)?;
    let stat = rustix::fs::fstat(&opened).map_err(refused)?;
    if DevNumber::from_raw(stat.st_rdev) != device.number {
        return Err(Refusal::Changed { path: facts.path.clone() });
    }
    Ok(opened)
}

fn not_opened(facts: &TargetFacts, device: &BlockDevice, errno: Errno, root: &Root) -> Refusal {
    let path = facts.path.clone();
    if errno == Errno::BUSY {
        let what = What::Exclusive { openers: openers::of(device, root) };
        return Refusal::InUse { path, uses: vec![Use { of: device.name.clone(), what }] };
    }
    let remedy = remedy_for_refused().to_owned();
    Refusal::ReadOnlyTarget { path, why: io::Error::from(errno).to_string(), remedy }
}

/// Memory devices lose nothing.
fn permit_memory(facts: &TargetFacts) -> WritePermit {
    let statement = format!("{} keeps nothing of what is written to it", shown(&facts.path));
    WritePermit { statement, claims: Vec::new() }
}

/// Opens a file for writing and closes it again: only that proves the kernel's consent.
fn permit_file(facts: &TargetFacts, file: &RegularFile) -> Result<WritePermit, Refusal> {
    let refused = |errno: Errno| Refusal::ReadOnlyTarget {
        path: facts.path.clone(),
        why: io::Error::from(errno).to_string(),
        remedy: remedy_for_refused().to_owned(),
    };
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::open(&facts.resolved, flags, Mode::empty()).map_err(refused)?;
    let stat = rustix::fs::fstat(&opened).map_err(refused)?;
    if (DevNumber::from_raw(stat.st_dev), stat.st_ino) != (file.device, file.inode) {
        return Err(Refusal::Changed { path: facts.path.clone() });
    }
    // The kernel refuses each write to a swap file, even an empty one. This detects swap files for which `/proc/swaps`
    // has a path of another mount namespace.
    if rustix::io::pwrite(&opened, &[], 0) == Err(Errno::TXTBSY) {
        let uses = vec![Use { of: shown(&file.path).to_string(), what: What::Swap }];
        return Err(Refusal::InUse { path: facts.path.clone(), uses });
    }
    let statement = format!(
        "{} will be overwritten: a regular file of {}{}",
        shown(&facts.path),
        size::human(facts.size),
        FileLocation(file)
    );
    Ok(WritePermit { statement, claims: Vec::new() })
}

/// Place of a file, in words.
struct FileLocation<'a>(&'a RegularFile);

impl fmt::Display for FileLocation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.file_system.known() {
            Some(found) => write!(f, " on the {} of {}", found.kind, shown(&found.mount_point)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
