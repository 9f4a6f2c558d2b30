//! What a target is, and whether its workload can go there: looked at, not touched.

use super::inputs::{is_stdin, name};
use crate::error::PrepareError;
use crate::files::name_of_pass;
use iosonar_host::guard::Intent;
use iosonar_host::{DevNumber, Role, Root, TargetError, TargetFacts, TargetKind, identify, identify_growing};
use iosonar_load::{Generated, Known, Setting, Unfit};
use iosonar_plan::{
    AtEnd, BetweenPasses, ByteSize, Generator, Op, Order, OverlapPolicy, Placement, Plan, SECTOR, Space,
    Strong, Target, Workload,
};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A target that was looked at, and its workload.
pub struct Examined {
    pub(crate) target: Target,
    /// None of a file that is yet to be made, and where nothing is opened.
    pub(crate) facts: Option<TargetFacts>,
    /// Where its requests go.
    pub(crate) placement: Placement,
    pub(crate) workload: Known,
    /// It is a file that grows by what is written behind its end.
    pub(crate) grows: bool,
}

/// Looks at one target of a plan.
pub(super) fn examine(
    plan: &Plan,
    target: &Target,
    workload: Known,
    root: &Root,
) -> Result<Examined, PrepareError> {
    let path = || name(&target.path);
    let is_made = |other: &Target| other.path == target.path && other.handling.file.create;
    let may_be_empty = plan.engine.is_real() && plan.targets.iter().any(is_made);
    let facts = look_at(plan, target, may_be_empty, root)?;
    let size = match (&facts, target.size) {
        (_, Some(ByteSize(size))) if !plan.engine.is_real() => size,
        (Some(facts), _) => facts.size,
        (None, _) if may_be_empty => 0,
        (None, _) => return Err(PrepareError::NoSize(path())),
    };
    let is_buffered = target.access(plan.access).buffered;
    let block = match &facts {
        Some(facts) if !is_buffered => facts.logical_block_size.bytes.max(SECTOR),
        _ => SECTOR,
    };
    // Buffered, any size goes; headers then stand at every 512 bytes of a request, not of the target.
    let block = if is_buffered && !workload.is_aligned(SECTOR) { 1 } else { block };
    let is_file = facts.as_ref().is_none_or(|f| matches!(f.kind, TargetKind::RegularFile(_)));
    check_workload(target, &workload, is_file, block)?;
    let extended = target.workload.generator().filter(|generator| generator.at_end == AtEnd::Extend);
    let grows = extended.is_some() && is_file && workload.writes();
    let reach = match extended {
        Some(generator) => {
            reach(plan, generator, &workload, if grows { None } else { Some(size) }, size, block)
        }
        None => size,
    };
    let placement =
        Placement::new(reach, block).map_err(|error| PrepareError::Placement { path: path(), error })?;
    let examined = Examined { target: target.clone(), facts, placement, workload, grows };
    examined.check_fits()?;
    if extended.is_some() && examined.workload.writes() && !is_file && placement.size() > size {
        return Err(PrepareError::Series { path: path(), end: placement.size(), size });
    }
    Ok(examined)
}

/// What stands under a target's name; nothing of a file that is made when everything has been looked at.
fn look_at(
    plan: &Plan,
    target: &Target,
    may_be_empty: bool,
    root: &Root,
) -> Result<Option<TargetFacts>, PrepareError> {
    let first = name_of_pass(&target.path, &target.handling.file, 0);
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

/// Whether a workload can go to a target at all.
fn check_workload(target: &Target, workload: &Known, is_file: bool, block: u64) -> Result<(), PrepareError> {
    let path = || name(&target.path);
    if target.handling.file.between_passes.makes_files() {
        // New files have names of their own: what stands under the target's own name says whether it is meant as a file.
        let is_other = target.path.metadata().is_ok_and(|m| !m.is_file());
        if !is_file || is_other {
            return Err(PrepareError::NoFile(path()));
        }
        if !workload.writes() {
            return Err(PrepareError::NothingToMake(path()));
        }
    }
    if let (Some(why), Some(Order::List { file })) =
        (workload.unasked(), target.workload.generator().map(|g| &g.order))
    {
        return Err(PrepareError::SeekList { path: name(file), why: why.into() });
    }
    match workload.is_aligned(block) {
        true => Ok(()),
        false => Err(PrepareError::Unaligned { path: path(), block }),
    }
}

/// How far requests may go whose addresses do not depend on the target. `room`: where it ends, if it does not grow.
fn reach(
    plan: &Plan,
    generator: &Generator,
    workload: &Known,
    room: Option<u64>,
    size: u64,
    block: u64,
) -> u64 {
    /// Beyond any file.
    const FAR: u64 = 1 << 62;
    // Where passes are added, nobody knows how far their offsets go.
    let is_open = plan.conduct.runtime.is_some() && generator.pass_offset.0 > 0;
    let end = workload.end(plan.passes).filter(|_| !is_open);
    let end = end.or(room).unwrap_or(FAR).min(FAR);
    // Never around the end of a device: what lies behind it is the kernel's to refuse.
    size.max(end).next_multiple_of(block.max(1))
}

/// What is written must be no load, and no other target: neither would know of the other's requests. Device and
/// inode tell, because one file may have many names.
pub(super) fn check_apart(plan: &Plan, targets: &[Examined]) -> Result<(), PrepareError> {
    let identity = |path: &Path| path.metadata().ok().map(|m| (m.dev(), m.ino()));
    let read = |kind: &str, file: &Path| (identity(file), format!("{kind} {}", name(file)));
    let loads = |t: &Examined| match &t.target.workload {
        Workload::Trace(load) => {
            let file = Some(load.file.as_path()).filter(|file| !is_stdin(file));
            file.into_iter()
                .chain(load.filter.files().map(Path::new))
                .map(|file| read("load", file))
                .collect()
        }
        Workload::Generated(Generator { order: Order::List { file }, .. }) => vec![read("seek list", file)],
        Workload::Generated(_) => Vec::new(),
    };
    let loads: Vec<_> = targets.iter().flat_map(loads).collect();
    let target = |t: &Examined| (identity(&t.target.path), format!("target {}", name(&t.target.path)));
    let known: Vec<_> = targets.iter().map(target).collect();
    for (index, written) in targets.iter().enumerate().filter(|(_, t)| t.workload.writes()) {
        let Some(own) = known[index].0 else { continue };
        let may_share = |i: usize| written.may_share(plan) && targets[i].may_share(plan);
        let others = known.iter().enumerate().filter(|(i, _)| *i != index && !may_share(*i));
        let others = others.map(|(_, other)| other);
        if let Some((_, other)) = others.chain(&loads).find(|(identity, _)| *identity == Some(own)) {
            return Err(PrepareError::Same { path: name(&written.target.path), other: other.clone() });
        }
    }
    Ok(())
}

impl Examined {
    /// Whether the requests fit into the target.
    fn check_fits(&self) -> Result<(), PrepareError> {
        let (path, size) = (|| name(&self.target.path), self.placement.size());
        let too_small = |length| {
            Err(PrepareError::TooSmall { path: path(), size, source_name: self.workload.name(), length })
        };
        let generator = match &self.workload {
            Known::Trace(_, Some(facts)) if facts.max_length > size => return too_small(facts.max_length),
            Known::Trace(..) => return Ok(()),
            Known::Generated { generator, .. } => generator,
        };
        if generator.at_end == AtEnd::Wrap {
            let length = match generator.region {
                Some(Space::Bytes(bytes)) => bytes.0,
                Some(Space::Percent(_)) | None => generator.longest(),
            };
            let end = generator.offset.0.saturating_add(length);
            if end > size {
                return Err(PrepareError::Region { path: path(), end, size });
            }
        }
        match Generated::new(generator, &Setting::alone(size, 0), None) {
            Ok(_) => Ok(()),
            Err(Unfit::Region { .. }) => too_small(generator.longest()),
            Err(why) => Err(PrepareError::Pattern { path: path(), why }),
        }
    }

    /// Its size in bytes; 0 of a file that is made by the run.
    pub(crate) fn size(&self) -> u64 {
        match (self.extends(), &self.facts) {
            (true, Some(facts)) => facts.size,
            (true, None) if self.grows => 0,
            _ => self.placement.size(),
        }
    }

    /// Whether its addresses do not depend on its size.
    pub(crate) fn extends(&self) -> bool {
        self.target.workload.generator().is_some_and(|generator| generator.at_end == AtEnd::Extend)
    }

    /// Whether other targets of the plan may be the same file or device: what overlaps was asked for.
    pub(super) fn may_share(&self, plan: &Plan) -> bool {
        plan.overlap.policy == OverlapPolicy::Allow && self.target.workload.generator().is_some()
    }

    /// Its requests in `passes` passes, where that is known before the start.
    pub(crate) fn expected_requests(&self, passes: u32) -> Option<u64> {
        self.workload.requests(self.size()).map(|n| n.saturating_mul(passes.into()))
    }

    /// The longest request in bytes, where it is known.
    pub(crate) fn max_length(&self) -> usize {
        // A load's request that is not aligned reaches into one more block at each end.
        let is_aligned = self.workload.facts().is_none() || self.placement.block() <= SECTOR;
        let ends = if is_aligned { 0 } else { 2 * self.placement.block() };
        let length = self.workload.longest().unwrap_or(0);
        usize::try_from(length.saturating_add(ends)).unwrap_or(usize::MAX)
    }

    /// Whether any two of its requests can conflict: nothing that is only read conflicts, but under the strongest table.
    pub(crate) fn can_conflict(&self, strong: Strong) -> bool {
        self.workload.writes() || strong.conflict(Op::Read, Op::Read)
    }

    /// Name of the file of the first pass.
    pub(super) fn first_name(&self) -> PathBuf {
        name_of_pass(&self.target.path, &self.target.handling.file, 0)
    }

    /// Bytes of the file, or of the file behind the loop device, that were never written.
    pub(crate) fn hole_bytes(&self) -> u64 {
        let path = match self.facts.as_ref().map(|f| &f.kind) {
            Some(TargetKind::RegularFile(_)) => self.target.path.clone(),
            Some(TargetKind::BlockDevice(device)) => match &device.role {
                Role::Loop { backing_file, .. } => PathBuf::from(backing_file),
                _ => return 0,
            },
            Some(TargetKind::MemoryDevice(_)) | None => return 0,
        };
        // Blocks of a file are counted in 512 bytes, whatever its file system uses.
        path.metadata().map_or(0, |m| m.len().saturating_sub(m.blocks() * SECTOR))
    }

    /// What is done to it: deleting is as bad as writing.
    pub(super) fn intent(&self) -> Intent {
        let care = self.target.handling.file;
        // Of a device nothing is deleted.
        let removes = care.delete || care.between_passes == BetweenPasses::Recreate;
        let harms = self.workload.writes() || (removes && self.device().is_none());
        if harms { Intent::Write } else { Intent::ReadOnly }
    }

    /// Its number, of a block device.
    pub(super) fn device(&self) -> Option<DevNumber> {
        match &self.facts.as_ref()?.kind {
            TargetKind::BlockDevice(device) => Some(device.number),
            TargetKind::RegularFile(_) | TargetKind::MemoryDevice(_) => None,
        }
    }

    /// What does not fit, in a sentence, though the run goes on.
    pub(crate) fn notice(&self) -> Option<String> {
        let Known::Generated { generator, list } = &self.workload else { return None };
        let path = self.target.path.display();
        if let (Some(list), Some(count)) = (list, generator.count())
            && (list.len() as u64) < count
        {
            return Some(format!(
                "target {path} is asked for {count} requests, and its seek list holds {}: each pass ends with the list",
                list.len()
            ));
        }
        let size = Some(self.size()).filter(|_| self.extends() && !self.workload.writes())?;
        let end = generator.end(1).filter(|end| *end > size)?;
        Some(format!(
            "target {path} holds {size} bytes, and its workload reads up to byte {end}: what lies behind its end stays short, \
             and the pass ends there"
        ))
    }
}
