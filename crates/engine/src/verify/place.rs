//! Places of targets on their devices: several targets may be parts of one.

use iosonar_evidence::target::{BlockDevice, Role};
use iosonar_evidence::{Fact, TargetFacts, TargetKind};
use iosonar_plan::{Engine, Generator, Job, Phase, Plan, SECTOR};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Place of a target on its device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TargetPlace {
    /// Number among the devices.
    pub(crate) device: usize,
    /// The first sector of the target there.
    pub(crate) base: u64,
}

/// Identity of a device.
#[derive(Debug, PartialEq, Eq)]
enum Identity {
    /// A block device, or the disk of a partition: its name.
    Disk(String),
    /// A file.
    File(u64, u64),
    /// A target that does not exist.
    Name(PathBuf),
}

/// Places of targets, in the order of the plan, and the number of distinct devices.
pub(crate) fn places_of<'a>(
    targets: impl Iterator<Item = (&'a Path, Option<&'a TargetFacts>)>,
) -> (Vec<TargetPlace>, usize) {
    let mut known: Vec<Identity> = Vec::new();
    let mut places = Vec::new();
    for (path, facts) in targets {
        let (identity, base) = identity(path, facts.map(|facts| &facts.kind));
        let device = known.iter().position(|other| *other == identity).unwrap_or_else(|| {
            known.push(identity);
            known.len() - 1
        });
        places.push(TargetPlace { device, base });
    }
    (places, known.len())
}

/// The target of a stream of the C library that another job of its phase disturbs, in the phases that `is_checked`: both use one
/// device, and one of them writes. The stream's buffer decides which data it reads and when its writes reach the file.
pub(crate) fn shared_stream(
    plan: &Plan,
    places: &[TargetPlace],
    is_checked: impl Fn(&Phase) -> bool,
) -> Option<u16> {
    let device = |job: &Job| places[usize::from(job.target)].device;
    let is_shared = |phase: &Phase, stream: &Job| {
        let near = || phase.jobs.iter().filter(|job| device(job) == device(stream));
        let writes = |job: &Job| job.workload.generator().is_none_or(Generator::writes);
        near().map(|job| job.workload.jobs()).sum::<u32>() > 1 && near().any(writes)
    };
    plan.phases.iter().filter(|phase| is_checked(phase)).find_map(|phase| {
        let mut streams = phase.jobs.iter().filter(|job| matches!(job.engine(plan.engine), Engine::Stdio(_)));
        streams.find(|stream| is_shared(phase, stream)).map(|stream| stream.target)
    })
}

/// Identity of a target's device, and the target's first sector there.
fn identity(path: &Path, kind: Option<&TargetKind>) -> (Identity, u64) {
    match kind {
        Some(TargetKind::BlockDevice(device)) => of_device(device),
        _ => (of_file(path).unwrap_or_else(|| Identity::Name(path.to_path_buf())), 0),
    }
}

fn of_file(path: &Path) -> Option<Identity> {
    let file = path.metadata().ok()?;
    Some(Identity::File(file.dev(), file.ino()))
}

fn of_device(device: &BlockDevice) -> (Identity, u64) {
    let by_name = || (Identity::Disk(device.name.clone()), 0);
    match &device.role {
        Role::Partition { start: Fact::Known(start), disk, .. } => {
            let (identity, base) = of_device(disk);
            (identity, base + start / SECTOR)
        }
        Role::Loop { backing_file, offset: Fact::Known(offset), .. } => {
            of_file(backing_file).map_or_else(by_name, |file| (file, offset / SECTOR))
        }
        _ => by_name(),
    }
}
