//! Which loop devices there are, and what each is backed by.

use crate::{DevNumber, Root, block};
use iosonar_os::loopdev::{self, Backing};
use std::path::PathBuf;

/// A loop device that is attached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attached {
    /// Its kernel name.
    pub name: String,
    /// Path of the backing file as the kernel shows it.
    pub backing_file: String,
    /// What that path leads to in this mount namespace: device number of the file system, inode, own number.
    by_path: Option<Backing>,
    /// What the driver says; absent without the permission to open the device.
    by_driver: Option<Backing>,
}

impl Attached {
    /// Whether its backing file is the regular file with this device number and inode. On btrfs and overlay the
    /// driver and stat(2) use different device numbers, so either may answer.
    pub fn is_on_file(&self, device: DevNumber, inode: u64) -> bool {
        self.answers().any(|it| DevNumber::from_raw(it.device) == device && it.inode == inode)
    }

    /// Whether its backing file is the device with this number.
    pub fn is_on_device(&self, number: DevNumber, root: &Root) -> bool {
        let by_number = self.answers().any(|it| it.rdevice != 0 && DevNumber::from_raw(it.rdevice) == number);
        by_number || block::number_at(&self.backing_file, root) == Some(number)
    }

    fn answers(&self) -> impl Iterator<Item = Backing> {
        self.by_path.into_iter().chain(self.by_driver)
    }
}

/// Every attached loop device.
pub(crate) fn attached(root: &Root) -> Vec<Attached> {
    let names = root.list("/sys/block").unwrap_or_default();
    names.into_iter().filter(|name| name.starts_with("loop")).filter_map(|name| one(name, root)).collect()
}

/// Whether the loop device `name` is backed by this file. A device that is not attached any more is backed by none.
pub(crate) fn is_backing(name: &str, device: DevNumber, inode: u64, root: &Root) -> bool {
    one(name.to_owned(), root).is_some_and(|it| match it.by_driver {
        // The inode is enough here: the path led to it, and the device numbers may differ.
        Some(driver) => driver.inode == inode,
        None => it.is_on_file(device, inode),
    })
}

fn one(name: String, root: &Root) -> Option<Attached> {
    let backing_file = root.read(format!("/sys/block/{name}/loop/backing_file")).ok()?;
    let by_path = by_path(root.path(&backing_file));
    let by_driver = root.is_real().then(|| by_driver(&name)).flatten();
    Some(Attached { name, backing_file, by_path, by_driver })
}

fn by_path(path: PathBuf) -> Option<Backing> {
    let stat = rustix::fs::stat(path).ok()?;
    Some(Backing { device: stat.st_dev, inode: stat.st_ino, rdevice: stat.st_rdev, offset: 0 })
}

fn by_driver(name: &str) -> Option<Backing> {
    loopdev::backing(std::fs::File::open(crate::target::dev_path(name)).ok()?).ok()
}
