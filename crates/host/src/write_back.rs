//! Writing back what others have left in the page cache, before a run.

use crate::target::{BlockDevice, Layer, RegularFile, Role, TargetFacts, TargetKind};
use std::fs::File;

/// Writes the dirty pages of the file systems that targets or their images are in. What cannot be opened is left out. Devices themselves are
/// not flushed: the kernel would count that as a write of theirs.
pub fn write_back(targets: &[TargetFacts]) {
    for target in targets {
        match &target.kind {
            TargetKind::RegularFile(file) => of_file(file),
            TargetKind::BlockDevice(device) => of_device(device),
            TargetKind::MemoryDevice(_) => {}
        }
    }
}

fn of_file(file: &RegularFile) {
    if let Ok(file) = File::open(&file.path) {
        // That it fails shows in the number of dirty pages, which is read again.
        let _ = rustix::fs::syncfs(file);
    }
    let layers = file.file_system.known().map(|file_system| file_system.below.as_slice()).unwrap_or_default();
    layers.iter().for_each(of_layer);
}

fn of_layer(layer: &Layer) {
    match layer {
        Layer::RegularFile(file) => of_file(file),
        Layer::BlockDevice(device) => of_device(device),
        Layer::FileSystem(file_system) => file_system.below.iter().for_each(of_layer),
        Layer::Unknown(_) => {}
    }
}

fn of_device(device: &BlockDevice) {
    match &device.role {
        Role::Disk => {}
        Role::Partition { disk, .. } => of_device(disk),
        Role::Loop { below, .. } => of_layer(below),
        Role::Stacked { slaves } => slaves.iter().for_each(of_device),
    }
}
