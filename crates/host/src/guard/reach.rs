//! Devices and files affected by a write to a target.

use super::usage::Unreadable;
use crate::target::{BlockDevice, Layer, RegularFile, Role, TargetFacts, TargetKind};
use crate::{DevNumber, Root, block};
use iosonar_text::shown;
use std::io;

/// A device affected by a write to the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Device {
    pub name: String,
    pub number: DevNumber,
    /// The device of the target's own stack on top of it, which is not a foreign user.
    pub above: Option<String>,
    /// Whether devices on top of it are foreign users. Devices below a device mapper or MD device may have others of
    /// the kind on top, at other places.
    pub holders_matter: bool,
}

/// A file affected by a write to the target.
#[derive(Debug, Clone, Copy)]
pub(super) struct File<'a> {
    pub file: &'a RegularFile,
    /// The loop device of the target's own stack on top of it.
    pub above: Option<&'a str>,
}

/// Everything affected by a write to the target.
#[derive(Debug, Default)]
pub(super) struct Reach<'a> {
    pub devices: Vec<Device>,
    pub files: Vec<File<'a>>,
    /// Loop devices of the target's stack whose backing file has no path, each with the reason.
    pub hidden: Vec<(&'a str, &'a str)>,
}

impl<'a> Reach<'a> {
    /// Collects the reach of a target.
    ///
    /// # Errors
    /// Sysfs does not describe the partitions of a device.
    pub fn of(facts: &'a TargetFacts, root: &Root) -> Result<Self, Unreadable> {
        let mut reach = Self::default();
        match &facts.kind {
            TargetKind::BlockDevice(device) => reach.add(device, None, true, root)?,
            TargetKind::RegularFile(file) => reach.files.push(File { file, above: None }),
            TargetKind::MemoryDevice(_) => {}
        }
        Ok(reach)
    }

    /// Adds a device with its partitions, its whole disk, and the layers below.
    fn add(
        &mut self,
        device: &'a BlockDevice,
        above: Option<&str>,
        holders_matter: bool,
        root: &Root,
    ) -> Result<(), Unreadable> {
        self.push(&device.name, device.number, above, holders_matter);
        let unreadable =
            |name: &str, error| Unreadable::file(shown(&block::class_entry(name)).to_string(), error);
        let parts = block::partitions(&device.name, root).map_err(|e| unreadable(&device.name, e))?;
        for part in parts {
            let number = block::number_of(&part, root)
                .ok_or_else(|| unreadable(&part, io::Error::other("no number in dev")))?;
            self.push(&part, number, above, holders_matter);
        }
        let whole = self.add_whole(device, above, holders_matter);
        self.add_below(whole, root)
    }

    /// Adds the disk of a partition, but not its other partitions. Returns the disk, or else the device.
    fn add_whole(
        &mut self,
        device: &'a BlockDevice,
        above: Option<&str>,
        holders_matter: bool,
    ) -> &'a BlockDevice {
        let Role::Partition { disk, .. } = &device.role else { return device };
        self.push(&disk.name, disk.number, above, holders_matter);
        disk
    }

    fn add_below(&mut self, device: &'a BlockDevice, root: &Root) -> Result<(), Unreadable> {
        let name = device.name.as_str();
        match &device.role {
            Role::Disk | Role::Partition { .. } => {}
            Role::Stacked { slaves } => {
                slaves.iter().try_for_each(|slave| self.add(slave, Some(name), false, root))?;
            }
            Role::Loop { below, .. } => match &**below {
                Layer::BlockDevice(backing) => self.add(backing, Some(name), true, root)?,
                Layer::RegularFile(file) => self.files.push(File { file, above: Some(name) }),
                Layer::FileSystem(_) => {}
                Layer::Unknown(why) => self.hidden.push((name, why)),
            },
        }
        Ok(())
    }

    fn push(&mut self, name: &str, number: DevNumber, above: Option<&str>, holders_matter: bool) {
        let above = above.map(str::to_owned);
        self.devices.push(Device { name: name.to_owned(), number, above, holders_matter });
    }
}

/// The devices below loop devices: the loop driver does not claim them, so the guard must.
pub(super) fn claimable_below(device: &BlockDevice) -> Vec<&BlockDevice> {
    match &device.role {
        Role::Disk => Vec::new(),
        Role::Partition { disk, .. } => claimable_below(disk),
        Role::Stacked { slaves } => slaves.iter().flat_map(claimable_below).collect(),
        Role::Loop { below, .. } => match &**below {
            Layer::BlockDevice(backing) => {
                let mut all = vec![&**backing];
                all.extend(claimable_below(backing));
                all
            }
            _ => Vec::new(),
        },
    }
}
