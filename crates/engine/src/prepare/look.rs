//! Inspects a target without touching it.

use super::inputs::name;
use crate::error::PrepareError;
use crate::files::name_of_pass;
use iosonar_evidence::ExtentRuns;
use iosonar_host::guard::Intent;
use iosonar_host::{
    DevNumber, Fact, Root, TargetError, TargetFacts, TargetKind, cached, emptiness, extent_runs, identify,
    identify_growing,
};
use iosonar_plan::{BetweenPasses, ByteSize, Job, Plan, SECTOR, Target};
use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// An inspected target.
pub(crate) struct Inspected {
    pub(crate) target: Target,
    /// `None` of a file that is yet to be made, and where no target is opened.
    pub(crate) facts: Option<TargetFacts>,
    /// Its size in bytes before the run.
    pub(crate) size: u64,
}

/// Inspects all targets of a plan that have jobs here. The kernel's facts about itself are read once for all of them.
pub(super) fn look_at_all(plan: &Plan, root: &Root) -> Result<Vec<Inspected>, PrepareError> {
    let root = &root.remembering();
    let made = plan.targets.iter().filter(|target| target.file.create);
    let made: HashSet<&Path> = made.map(|target| target.path.as_path()).collect();
    let look = |(target, jobs): (&Target, Vec<&Job>)| match jobs.is_empty() {
        false => look(plan, target, made.contains(target.path.as_path()), root),
        true => Ok(Inspected::elsewhere(target)),
    };
    plan.targets.iter().zip(plan.jobs_by_target()).map(look).collect()
}

/// Inspects one target of a plan. `is_made`: the run makes the file.
fn look(plan: &Plan, target: &Target, is_made: bool, root: &Root) -> Result<Inspected, PrepareError> {
    let may_be_empty = plan.engine.is_real() && is_made;
    let facts = look_at(plan, target, may_be_empty, root)?;
    let is_there = facts.as_ref().is_some_and(|facts| matches!(facts.kind, TargetKind::RegularFile(_)));
    if target.file.must_be_new && is_there && plan.engine.is_real() && !plan.destroy {
        return Err(PrepareError::NotNew(name(&target.path)));
    }
    let size = match (&facts, target.size) {
        (_, Some(ByteSize(size))) if !plan.engine.is_real() => size,
        (Some(facts), _) => facts.size,
        (None, _) if may_be_empty => 0,
        (None, _) => return Err(PrepareError::NoSize(name(&target.path))),
    };
    Ok(Inspected { target: target.clone(), facts, size })
}

/// Identifies the target under its name; `None` of a file that is made after all targets are inspected.
fn look_at(
    plan: &Plan,
    target: &Target,
    may_be_empty: bool,
    root: &Root,
) -> Result<Option<TargetFacts>, PrepareError> {
    let first = name_of_pass(&target.path, &target.file, 0);
    let look = if may_be_empty { identify_growing } else { identify };
    let is_missing =
        || std::fs::symlink_metadata(&first).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
    match look(&first, root) {
        Ok(facts) => Ok(Some(facts)),
        Err(TargetError::Unreachable { .. }) if may_be_empty && is_missing() => Ok(None),
        // Engines without I/O need no target, only its size.
        Err(_) if !plan.engine.is_real() && target.size.is_some() => Ok(None),
        Err(TargetError::Unreachable { .. }) if !plan.engine.is_real() => {
            Err(PrepareError::NoSize(name(&target.path)))
        }
        Err(error) => Err(error.into()),
    }
}

impl Inspected {
    /// A target on which this process has no job.
    pub(super) fn elsewhere(target: &Target) -> Inspected {
        Inspected { target: target.clone(), facts: None, size: 0 }
    }

    /// Path as typed.
    pub(crate) fn path(&self) -> String {
        name(&self.target.path)
    }

    /// Whether it is a regular file, or will be one; engines without I/O take a missing target for a file.
    pub(super) fn is_file(&self) -> bool {
        self.facts.as_ref().is_none_or(|facts| matches!(facts.kind, TargetKind::RegularFile(_)))
    }

    /// Block size in bytes to which direct requests are aligned.
    pub(super) fn direct_block(&self) -> u64 {
        self.facts.as_ref().map_or(SECTOR, |facts| facts.logical_block_size.bytes.max(SECTOR))
    }

    /// Name of the file of the first pass.
    pub(crate) fn first_name(&self) -> PathBuf {
        name_of_pass(&self.target.path, &self.target.file, 0)
    }

    /// Bytes of a range that hold no data (never written, or discarded); 0 where unknown.
    pub(crate) fn hole_bytes(&self, range: Range<u64>) -> u64 {
        let told = self.facts.as_ref().and_then(|facts| emptiness(facts, range).ok());
        told.map_or(0, |told| told.empty)
    }

    /// Bytes of a range that are in the page cache; `None` where unknown.
    pub(crate) fn cached_bytes(&self, range: Range<u64>) -> Option<u64> {
        cached(self.facts.as_ref()?, range).ok()
    }

    /// Layout of a range on the device for requests of a size; `None` where unknown.
    pub(crate) fn extents(&self, range: Range<u64>, request_bytes: u64) -> Option<ExtentRuns> {
        extent_runs(self.facts.as_ref()?, range, request_bytes).ok()
    }

    /// Intended use, given whether jobs write: deleting is as bad as writing.
    pub(super) fn intent(&self, writes: bool) -> Intent {
        let lifecycle = self.target.file;
        // A device is never deleted.
        let removes = lifecycle.delete || lifecycle.between_passes == BetweenPasses::Recreate;
        let harms = writes || (removes && self.device().is_none());
        if harms { Intent::Write } else { Intent::ReadOnly }
    }

    /// Whether it is a device that takes no discards.
    pub(super) fn cannot_discard(&self) -> bool {
        match self.facts.as_ref().map(|facts| &facts.kind) {
            Some(TargetKind::BlockDevice(device)) => device.queue.discard_max_bytes == Fact::Known(0),
            Some(TargetKind::RegularFile(_)) | None => false,
            Some(TargetKind::MemoryDevice(_)) => true,
        }
    }

    /// Its number, if it is a block device.
    pub(super) fn device(&self) -> Option<DevNumber> {
        match &self.facts.as_ref()?.kind {
            TargetKind::BlockDevice(device) => Some(device.number),
            TargetKind::RegularFile(_) | TargetKind::MemoryDevice(_) => None,
        }
    }
}
