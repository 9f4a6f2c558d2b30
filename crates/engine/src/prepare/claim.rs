//! Claiming targets: the guard is asked, files are opened or made. Starts only after every target has been inspected.

use super::fit::{FittedJob, JobsByTarget, may_share};
use super::inputs::name;
use super::look::Inspected;
use crate::control::Control;
use crate::error::PrepareError;
use crate::files::{TargetFile, create, name_of_pass, options, preallocate};
use iosonar_host::guard::{Guard, Intent, Permit};
use iosonar_host::{DevNumber, FileSystem, Root, TargetFacts, TargetKind, identify_growing, lower_layer_of};
use iosonar_os::made::Made;
use iosonar_plan::{Access, BetweenPasses, Plan, SECTOR};
use std::fs::File;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

/// A target claimed for this run alone.
pub(crate) struct Claim {
    /// Locks the device during the run; `None` where another target of the plan has the lock.
    pub(crate) permit: Option<Permit>,
    /// The target, opened after the guard has judged it, and proved to be the judged one.
    pub(crate) file: Arc<TargetFile>,
    /// The file, if it was not there and has been made.
    pub(super) made: Option<Made>,
}

/// Claims all targets, in the plan's order; `None` where no target is opened. Made files are removed when a target is refused, or
/// on a signal.
pub(super) fn claim_all(
    plan: &Plan,
    targets: &mut [Inspected],
    phases: &[Vec<FittedJob>],
    root: &Root,
    control: &Control,
) -> Result<Vec<Option<Claim>>, PrepareError> {
    let mut claims: Vec<Option<Claim>> = targets.iter().map(|_| None).collect();
    if !plan.engine.is_real() {
        return Ok(claims);
    }
    let jobs = JobsByTarget::of(phases, targets.len());
    let used = (0..targets.len()).filter(|target| !jobs.on(*target).is_empty());
    // Targets that only read a file come after the target that makes it.
    let (made, others): (Vec<usize>, Vec<usize>) = used.partition(|i| targets[*i].target.file.create);
    let (guard, files_root) = (Guard::new(root), root.remembering());
    let mut claimer = Claimer { plan, jobs, root: files_root, guard, devices: Vec::new() };
    for index in made.into_iter().chain(others) {
        let claimed = match control.signal() {
            Some(_) => Err(PrepareError::Stopped),
            None => claimer.claim(index, &mut targets[index]),
        };
        match claimed {
            Ok(claim) => claims[index] = Some(claim),
            Err(error) => {
                claims.iter().flatten().for_each(Claim::withdraw);
                return Err(error);
            }
        }
    }
    Ok(claims)
}

impl Claim {
    /// Removes an empty file that was made for a run which is then refused. A run that has started keeps it.
    pub(super) fn withdraw(&self) {
        if let Some(made) = &self.made
            && made.path().symlink_metadata().is_ok_and(|m| m.is_file() && m.len() == 0)
        {
            // Ignore removal errors; report the original one.
            let _ = made.remove();
        }
    }
}

struct Claimer<'a> {
    plan: &'a Plan,
    jobs: JobsByTarget<'a>,
    /// For descriptions of files that are made; the guard reads by itself.
    root: Root,
    guard: Guard<'a>,
    /// Claimed devices that may be shared: a claim for one of the targets is valid for all.
    devices: Vec<DevNumber>,
}

impl Claimer<'_> {
    fn claim(&mut self, index: usize, t: &mut Inspected) -> Result<Claim, PrepareError> {
        let (plan, root, writes) = (self.plan, &self.root, self.jobs.write(index));
        if t.facts.is_none() && t.first_name().exists() {
            t.facts = Some(identify_growing(&t.first_name(), root)?);
        }
        // The first that opens it for writing has it copied, and that may be the guard.
        let lower = t.facts.as_ref().filter(|_| writes).and_then(|facts| lower_layer_of(facts, root));
        let shared = t.device().filter(|_| writes && may_share(plan, self.jobs.on(index)));
        let is_claimed = shared.is_some_and(|device| self.devices.contains(&device));
        let permit = match t.facts.as_ref().filter(|_| !is_claimed) {
            Some(facts) => Some(self.guard.check(facts, t.intent(writes), plan.destroy)?),
            None => None,
        };
        self.devices.extend(shared);
        // Opening shows whether the file system has direct I/O, while nothing has been made yet.
        let direct = self.jobs.on(index).iter().map(|fitted| fitted.job.access(plan.access));
        let access = direct.min_by_key(|access| access.buffered).unwrap_or(plan.access);
        let (file, made) = match &t.facts {
            Some(facts) => {
                t.check_first_pass(plan)?;
                (t.open(facts, access, writes)?, None)
            }
            None => t.make(access, root).map(|(file, made)| (file, Some(made)))?,
        };
        if let Some(lower) = lower {
            t.note_copy(lower, root);
        }
        let finished = self.finish(index, t, &file);
        let judged = finished.inspect_err(|_| {
            // Ignore removal errors; report the original one.
            let _ = made.as_ref().map(Made::remove);
        })?;
        let file = TargetFile::new(&t.target, access, writes, judged, (file, made.clone()));
        Ok(Claim { permit, file: Arc::new(file), made })
    }

    /// Completes the setup of an open target; returns later passes whose files exist already.
    fn finish(&mut self, index: usize, t: &Inspected, file: &File) -> Result<Vec<u32>, PrepareError> {
        let block = t.facts.as_ref().map_or(SECTOR, |facts| facts.logical_block_size.bytes);
        let is_odd = |fitted: &&FittedJob| {
            !fitted.job.access(self.plan.access).buffered && !fitted.workload.is_aligned(block)
        };
        if self.jobs.on(index).iter().any(is_odd) {
            return Err(PrepareError::Unaligned { path: t.path(), block });
        }
        if self.jobs.write(index) && file.metadata().is_ok_and(|m| m.is_file()) {
            preallocate(file, &t.target.file, &t.target.path)?;
        }
        t.judge_later_files(self.plan, &mut self.guard, &self.root)
    }
}

impl Inspected {
    /// Opens the target as the plan says, and makes sure that it is the one that was judged: its path may lead elsewhere by now.
    fn open(&self, judged: &TargetFacts, access: Access, writes: bool) -> Result<File, PrepareError> {
        let path = || self.path();
        let first = self.first_name();
        let opened = options(access, writes).open(&first);
        let file = opened.map_err(|error| self.not_opened(error, access))?;
        let opened = file.metadata().map_err(|error| PrepareError::Open { path: path(), error })?;
        let same = match &judged.kind {
            TargetKind::BlockDevice(device) => {
                opened.file_type().is_block_device() && DevNumber::from_raw(opened.rdev()) == device.number
            }
            TargetKind::RegularFile(f) => {
                opened.is_file() && DevNumber::from_raw(opened.dev()) == f.device && opened.ino() == f.inode
            }
            TargetKind::MemoryDevice(number) => {
                opened.file_type().is_char_device() && DevNumber::from_raw(opened.rdev()) == *number
            }
        };
        if same { Ok(file) } else { Err(PrepareError::Moved(path())) }
    }

    /// Notes that an overlay has copied a file up from its lower layer: facts are those of the copy from now on.
    fn note_copy(&mut self, lower: FileSystem, root: &Root) {
        let Ok(mut found) = identify_growing(&self.first_name(), root) else { return };
        if let TargetKind::RegularFile(copy) = &mut found.kind {
            copy.copied_from = Some(Box::new(lower));
        }
        self.facts = Some(found);
    }

    /// Makes a file that did not exist when it was inspected.
    fn make(&mut self, access: Access, root: &Root) -> Result<(File, Made), PrepareError> {
        let first = self.first_name();
        let made = create(&first, access).map_err(|error| self.not_opened(error, access))?;
        self.facts = identify_growing(&first, root).ok();
        Ok(made)
    }

    /// Refuses an existing file of the first pass where passes have separate files: the user has not named it.
    fn check_first_pass(&self, plan: &Plan) -> Result<(), PrepareError> {
        match self.target.file.between_passes == BetweenPasses::NewFile && !plan.destroy {
            true => Err(self.exists(&self.first_name(), 0)),
            false => Ok(()),
        }
    }

    fn exists(&self, file: &Path, pass: u32) -> PrepareError {
        PrepareError::PassFileExists { target: self.path(), file: name(file), pass: pass + 1 }
    }

    fn not_opened(&self, error: std::io::Error, access: Access) -> PrepareError {
        let path = self.path();
        match error.raw_os_error() {
            Some(libc::EINVAL) if !access.buffered => PrepareError::NoDirectIo(path),
            _ => PrepareError::Open { path, error },
        }
    }

    /// Judges existing files of later passes. The user has not named them, so they are refused; with `--destroy` they are judged as
    /// the target is.
    fn judge_later_files(
        &self,
        plan: &Plan,
        guard: &mut Guard<'_>,
        root: &Root,
    ) -> Result<Vec<u32>, PrepareError> {
        /// More passes than this may not find files that are there.
        const MOST: u32 = 10_000;
        let lifecycle = &self.target.file;
        if lifecycle.between_passes != BetweenPasses::NewFile {
            return Ok(Vec::new());
        }
        let mut judged = Vec::new();
        let passes = plan.phases.iter().map(|phase| phase.passes).max().unwrap_or(1);
        for pass in 1..passes.min(MOST) {
            let path = name_of_pass(&self.target.path, lifecycle, pass);
            let Ok(found) = path.symlink_metadata() else { continue };
            if !plan.destroy {
                return Err(self.exists(&path, pass));
            }
            if !found.is_file() {
                return Err(PrepareError::NoFile(name(&path)));
            }
            guard.check(&identify_growing(&path, root)?, Intent::Write, plan.destroy)?;
            judged.push(pass);
        }
        Ok(judged)
    }
}
