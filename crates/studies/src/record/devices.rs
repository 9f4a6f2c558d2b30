//! The devices that are recorded.

use super::presence::has_requests;
use anyhow::anyhow;
use iosonar_capture::Watch;
use iosonar_host::{BlockDevice, Role, Root, TargetFacts, TargetKind, identify};
use iosonar_runner::Error;
use iosonar_text::shown;
use iosonar_trace::kernel::Device;
use std::path::{Path, PathBuf};

/// The devices that are recorded: each a whole disk, and each once.
pub struct Devices(Vec<(TargetFacts, BlockDevice)>);

impl Devices {
    /// Finds the devices of some paths.
    ///
    /// # Errors
    /// A path is no device, or a partition.
    pub fn find(paths: &[PathBuf]) -> Result<Devices, Error> {
        let mut found: Vec<(TargetFacts, BlockDevice)> = Vec::new();
        for path in paths {
            let facts = identify(path, &Root::default()).map_err(Error::refused)?;
            let device = disk(path, &facts)?;
            if found.iter().all(|(_, known)| known.number != device.number) {
                found.push((facts, device));
            }
        }
        if found.is_empty() {
            return Err(Error::refused_because("no device is named: name a block device"));
        }
        Ok(Devices(found))
    }

    /// The kernel's name of the first device.
    pub fn first_name(&self) -> &str {
        self.0.first().map_or("", |(_, device)| &device.name)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &BlockDevice> {
        self.0.iter().map(|(_, device)| device)
    }

    pub(super) fn facts(&self) -> Vec<TargetFacts> {
        self.0.iter().map(|(facts, _)| facts.clone()).collect()
    }

    /// The kernel's packed numbers.
    pub(super) fn numbers(&self) -> Vec<Device> {
        self.all().map(number).collect()
    }

    /// The kernel's numbers, with their paths.
    pub(super) fn names(&self) -> Vec<(String, String)> {
        let name =
            |device: &BlockDevice| (number(device).to_string(), device.dev_path().display().to_string());
        self.all().map(name).collect()
    }

    /// Refuses devices that have no events of the watched kind.
    pub(super) fn check(&self, watch: Watch) -> Result<(), Error> {
        let missing = self.0.iter().find(|(_, device)| watch == Watch::Issue && !has_requests(device));
        missing.map_or(Ok(()), |(facts, _)| {
            Err(Error::refused_because(format_args!(
                "--at issue: {} has no requests, its driver takes bios as requested, so there are no issue events: use --at queue",
                shown(&facts.path)
            )))
        })
    }

    /// The recorded device that a path is on, if there is one.
    pub(super) fn below(&self, path: &Path) -> Option<PathBuf> {
        let below = identify(path, &Root::default()).ok()?;
        let is_recorded = |device: &&BlockDevice| self.all().any(|one| one.number == device.number);
        below.devices().into_iter().find(is_recorded).map(BlockDevice::dev_path)
    }
}

fn number(device: &BlockDevice) -> Device {
    Device::new(device.number.major, device.number.minor).unwrap_or_default()
}

/// The disk of a path.
fn disk(path: &Path, facts: &TargetFacts) -> Result<BlockDevice, Error> {
    let TargetKind::BlockDevice(device) = &facts.kind else {
        return Err(Error::refused(anyhow!(
            "{} is a file: block I/O is recorded of devices; name the one that its file system is on",
            shown(path)
        )));
    };
    if let Role::Partition { disk, .. } = &device.role {
        return Err(Error::refused(anyhow!(
            "{} is a partition, and the kernel's events are those of its disk: record {}",
            shown(path),
            shown(&disk.dev_path())
        )));
    }
    Ok(BlockDevice::clone(device))
}
