//! The layers below a target, as lines.

use iosonar_evidence::target::{BlockDevice, DirectIo, FileSystem, Layer, RegularFile, Role};
use iosonar_evidence::{Fact, TargetFacts, TargetKind};
use iosonar_text::{shown, units};

/// Lists the layers below the target, a line each. The sample file of a directory is not named.
pub(super) fn layers(facts: &TargetFacts, is_named: bool) -> Vec<String> {
    let mut lines = Vec::new();
    match &facts.kind {
        TargetKind::BlockDevice(device) => of_device(device, &mut lines),
        TargetKind::RegularFile(file) => of_file(file, is_named, &mut lines),
        TargetKind::MemoryDevice(_) => {}
    }
    lines
}

fn of_file(file: &RegularFile, is_named: bool, lines: &mut Vec<String>) {
    let direct = match file.direct_io {
        DirectIo::Aligned { offset, .. } => format!("direct I/O in multiples of {offset} bytes"),
        DirectIo::Unsupported => "direct I/O is done through the page cache".into(),
        DirectIo::NotReported => "the kernel does not tell about direct I/O".into(),
    };
    let name = if is_named { shown(&file.path).to_string() } else { "a file in it".into() };
    lines.push(format!("{name}: {direct}"));
    match &file.file_system {
        Fact::Known(file_system) => of_file_system(file_system, lines),
        Fact::Absent { absent } => lines.push(format!("its file system is not known: {absent}")),
    }
}

fn of_file_system(file_system: &FileSystem, lines: &mut Vec<String>) {
    let FileSystem { kind, mount_point, options, below, .. } = file_system;
    lines.push(format!("{kind} on {} ({options})", shown(&mount_point)));
    if below.is_empty() {
        lines.push("no device of this machine below it".into());
    }
    below.iter().for_each(|layer| of_layer(layer, lines));
}

fn of_layer(layer: &Layer, lines: &mut Vec<String>) {
    match layer {
        Layer::BlockDevice(device) => of_device(device, lines),
        Layer::RegularFile(file) => of_file(file, true, lines),
        Layer::FileSystem(file_system) => of_file_system(file_system, lines),
        Layer::Unknown(why) => lines.push(format!("not known: {why}")),
    }
}

fn of_device(device: &BlockDevice, lines: &mut Vec<String>) {
    let word = |fact: &Fact<String>, before: &str| fact.known().map(|text| format!("{before}{text}"));
    let queue = &device.queue;
    let kind = match &device.role {
        Role::Disk => "disk",
        Role::Partition { .. } => "partition",
        Role::Loop { .. } => "loop device",
        Role::Stacked { .. } => "stacked device",
    };
    let rotates = queue
        .rotational
        .known()
        .map(|turns| (if *turns { "rotates" } else { "does not rotate" }).to_string());
    let sizes = match (queue.logical_block_size.known(), queue.physical_block_size.known()) {
        (Some(logical), Some(physical)) => Some(format!("blocks of {logical} bytes, physically {physical}")),
        _ => None,
    };
    let direct = match &device.role {
        Role::Loop { direct_io: Fact::Known(direct), .. } => {
            Some((if *direct { "with direct I/O" } else { "through the page cache" }).to_string())
        }
        _ => None,
    };
    let parts = [
        Some(format!("{kind} of {}", units::bytes(device.size))),
        direct,
        word(&device.driver, "driver "),
        word(&device.model, ""),
        rotates,
        sizes,
        word(&queue.scheduler, "scheduler "),
        word(&queue.write_cache, "cache: "),
    ];
    lines.push(format!("{}: {}", device.name, parts.into_iter().flatten().collect::<Vec<_>>().join(", ")));
    match &device.role {
        Role::Disk => {}
        Role::Partition { disk, .. } => of_device(disk, lines),
        Role::Loop { below, .. } => of_layer(below, lines),
        Role::Stacked { slaves } => slaves.iter().for_each(|slave| of_device(slave, lines)),
    }
}
