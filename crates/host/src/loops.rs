//! Loop devices and their backing files.

use crate::{DevNumber, Root, block};
use iosonar_os::loopdev::{self, Backing};
use std::io;
use std::path::PathBuf;

/// An attached loop device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attached {
    /// Kernel name.
    pub name: String,
    /// Path of the backing file as shown by the kernel.
    pub backing_file: String,
    /// File at that path in this mount namespace.
    by_path: Option<FileAtPath>,
    /// Backing file according to the driver; absent without permission to open the device.
    by_driver: Option<Backing>,
    /// Part of the backing file that it shows; absent if sysfs lacks it.
    window: Option<Window>,
}

/// File at the path of a backing file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileAtPath {
    backing: Backing,
    size: u64,
}

/// Part of a backing file that a loop device shows, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Window {
    offset: u64,
    length: u64,
    /// Whether the length was given, rather than derived from the file size.
    is_limited: bool,
}

/// Whether a loop device is backed by a given file or device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backs {
    Yes,
    No,
    /// Neither path nor driver decide, and its size does not exclude it.
    Unknown,
}

impl Attached {
    /// Whether its backing file is the regular file with this device number, inode and size.
    pub fn is_on_file(&self, device: DevNumber, inode: u64, size: u64) -> Backs {
        if self.answers_with(device, inode) {
            return Backs::Yes;
        }
        let is_other = |driver: Backing| {
            // On btrfs and overlay the driver and stat(2) use different, anonymous device numbers.
            let is_named = device.major != 0 && DevNumber::from_raw(driver.device).major != 0;
            driver.rdevice != 0 || driver.inode != inode || is_named
        };
        if self.by_driver.is_some_and(is_other) || self.path_is_right() {
            return Backs::No;
        }
        self.by_size(Some(size))
    }

    /// Whether its backing file is the device with this number and kernel name.
    pub fn is_on_device(&self, number: DevNumber, name: &str, root: &Root) -> Backs {
        let by_name = block::number_at(&self.backing_file, root);
        let by_number = self.answers().any(|it| it.rdevice != 0 && DevNumber::from_raw(it.rdevice) == number);
        if by_number || by_name == Some(number) {
            return Backs::Yes;
        }
        if self.by_driver.is_some() || by_name.is_some() || self.path_is_right() {
            return Backs::No;
        }
        self.by_size(block::size_of(name, root))
    }

    /// Whether both are on the same file or device according to the driver.
    pub fn is_beside(&self, other: &Attached) -> bool {
        let (Some(a), Some(b)) = (self.by_driver, other.by_driver) else { return false };
        let same_device = a.rdevice != 0 && a.rdevice == b.rdevice;
        self.name != other.name && (same_device || (a.device, a.inode) == (b.device, b.inode))
    }

    /// Whether it is on a regular file according to the driver.
    pub fn is_known_to_be_on_a_file(&self) -> bool {
        self.by_driver.is_some_and(|driver| driver.rdevice == 0)
    }

    /// A match of either suffices, since the driver and stat(2) do not use the same device numbers everywhere.
    fn answers_with(&self, device: DevNumber, inode: u64) -> bool {
        self.answers().any(|it| DevNumber::from_raw(it.device) == device && it.inode == inode)
    }

    fn answers(&self) -> impl Iterator<Item = Backing> {
        self.by_path.map(|found| found.backing).into_iter().chain(self.by_driver)
    }

    /// Whether the path leads to a possible backing file. In another mount namespace it can lead to anything.
    fn path_is_right(&self) -> bool {
        self.by_path
            .is_some_and(|found| found.backing.rdevice != 0 || self.by_size(Some(found.size)) != Backs::No)
    }

    /// Result derived from the size of a file or device alone.
    fn by_size(&self, size: Option<u64>) -> Backs {
        let (Some(window), Some(size)) = (self.window, size) else { return Backs::Unknown };
        if window.fits(size) { Backs::Unknown } else { Backs::No }
    }
}

impl Window {
    fn fits(self, size: u64) -> bool {
        let Some(behind) = size.checked_sub(self.offset) else { return false };
        let sectors = behind / block::SECTOR * block::SECTOR;
        if self.is_limited { sectors >= self.length } else { sectors == self.length }
    }
}

/// Returns every attached loop device.
///
/// # Errors
/// Sysfs lists a device but does not describe it.
pub(crate) fn attached(root: &Root) -> io::Result<Vec<Attached>> {
    let names = root.list("/sys/block")?;
    let loops = names.into_iter().filter(|name| name.starts_with("loop"));
    loops.filter_map(|name| one(name, root).transpose()).collect()
}

/// A loop device and its backing file, from sysfs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopFile {
    /// `/dev/loopN`.
    pub device: PathBuf,
    /// Path of the file; it can denote another file in another mount namespace.
    pub file: PathBuf,
}

/// Returns the attached loop devices, from sysfs alone: no device is opened.
///
/// # Errors
/// Sysfs is missing, or lists a device but does not describe it.
pub fn loop_files(root: &Root) -> io::Result<Vec<LoopFile>> {
    let names = root.list("/sys/block")?;
    let loops = names.into_iter().filter(|name| name.starts_with("loop"));
    let one = |name: String| {
        let shown = backing_file(&name, root).transpose()?;
        Some(shown.map(|shown| {
            let bare = shown.strip_suffix(" (deleted)").unwrap_or(&shown);
            LoopFile { device: crate::target::dev_path(&name), file: PathBuf::from(bare) }
        }))
    };
    loops.filter_map(one).collect()
}

/// Whether the loop device `name` is backed by this file; false for a detached device.
pub(crate) fn is_backing(name: &str, device: DevNumber, inode: u64, root: &Root) -> bool {
    one(name.to_owned(), root).ok().flatten().is_some_and(|it| match it.by_driver {
        // The inode suffices: the path led to it, and the device numbers may differ.
        Some(driver) => driver.inode == inode,
        None => it.answers_with(device, inode),
    })
}

fn one(name: String, root: &Root) -> io::Result<Option<Attached>> {
    let Some(backing_file) = backing_file(&name, root)? else { return Ok(None) };
    let by_path = by_path(root.path(&backing_file));
    let by_driver = root.is_real().then(|| by_driver(&name)).flatten();
    let window = window(&name, root);
    Ok(Some(Attached { name, backing_file, by_path, by_driver, window }))
}

/// Path of the backing file; `None` if detached.
fn backing_file(name: &str, root: &Root) -> io::Result<Option<String>> {
    let entry = format!("/sys/block/{name}");
    match root.read(format!("{entry}/loop/backing_file")) {
        Ok(text) => Ok(Some(text).filter(|text| !text.is_empty())),
        Err(error) if is_detached(&error) => {
            // A dangling link means a hidden description; without a link the device is gone.
            let is_described = root.exists(format!("{entry}/dev")) || root.link(&entry).is_err();
            if is_described { Ok(None) } else { Err(error) }
        }
        Err(error) => Err(error),
    }
}

/// Whether the device is detached: the kernel removes its directory `loop`.
fn is_detached(error: &io::Error) -> bool {
    let gone = [rustix::io::Errno::NODEV, rustix::io::Errno::NXIO].map(|errno| Some(errno.raw_os_error()));
    error.kind() == io::ErrorKind::NotFound || gone.contains(&error.raw_os_error())
}

fn window(name: &str, root: &Root) -> Option<Window> {
    let number = |file: &str| root.read(format!("/sys/block/{name}/loop/{file}")).ok()?.parse::<u64>().ok();
    let is_limited = number("sizelimit")? != 0;
    Some(Window { offset: number("offset")?, length: block::size_of(name, root)?, is_limited })
}

fn by_path(path: PathBuf) -> Option<FileAtPath> {
    let stat = rustix::fs::stat(path).ok()?;
    let backing = Backing { device: stat.st_dev, inode: stat.st_ino, rdevice: stat.st_rdev, offset: 0 };
    Some(FileAtPath { backing, size: stat.st_size as u64 })
}

fn by_driver(name: &str) -> Option<Backing> {
    loopdev::backing(std::fs::File::open(crate::target::dev_path(name)).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;
    use std::path::Path;

    #[test]
    fn reads_loop_backing_files_from_sysfs() {
        let tree = Tree::new();
        tree.disk("loop0", "7:0", 0).disk("loop1", "7:1", 8).disk("loop2", "7:2", 8);
        tree.attach("loop1", "/a b/c").attach("loop2", "/d (deleted)");
        let found = loop_files(&tree.root()).unwrap();
        let files: Vec<_> = found.iter().map(|it| it.file.as_path()).collect();
        assert_eq!(files, [Path::new("/a b/c"), Path::new("/d")]);
        assert_eq!(found[1].device, Path::new("/dev/loop2"));
    }

    const LENGTH: u64 = 512 * 100;

    fn number(major: u32) -> DevNumber {
        DevNumber { major, minor: 1 }
    }

    fn backing(major: u32, inode: u64) -> Backing {
        Backing { device: rustix::fs::makedev(major, 1), inode, rdevice: 0, offset: 0 }
    }

    fn device(by_path: Option<FileAtPath>, by_driver: Option<Backing>) -> Attached {
        let window = Some(Window { offset: 0, length: LENGTH, is_limited: false });
        Attached { name: "loop3".into(), backing_file: "/image".into(), by_path, by_driver, window }
    }

    #[test]
    fn driver_answer_overrides_the_path() {
        let it = device(None, Some(backing(8, 12)));
        assert_eq!(it.is_on_file(number(8), 12, 1), Backs::Yes);
        assert_eq!(it.is_on_file(number(8), 13, LENGTH), Backs::No);
        assert_eq!(it.is_on_file(number(9), 12, LENGTH), Backs::No);
        // Anonymous numbers are ambiguous: only the size remains.
        assert_eq!(it.is_on_file(number(0), 12, LENGTH + 511), Backs::Unknown);
        assert_eq!(it.is_on_file(number(0), 12, LENGTH + 512), Backs::No);
    }

    #[test]
    fn trusts_path_only_if_file_size_matches() {
        let found = |size| Some(FileAtPath { backing: backing(8, 12), size });
        assert_eq!(device(found(LENGTH), None).is_on_file(number(8), 13, LENGTH), Backs::No);
        assert_eq!(device(found(1), None).is_on_file(number(8), 13, LENGTH), Backs::Unknown);
        assert_eq!(device(found(1), None).is_on_file(number(8), 12, 1), Backs::Yes);
    }

    #[test]
    fn only_size_mismatch_excludes_a_file_without_answer() {
        let mut it = device(None, None);
        assert_eq!(it.is_on_file(number(8), 12, LENGTH), Backs::Unknown);
        assert_eq!(it.is_on_file(number(8), 12, LENGTH - 512), Backs::No);
        it.window = Some(Window { offset: 1024, length: LENGTH, is_limited: true });
        assert_eq!(it.is_on_file(number(8), 12, LENGTH), Backs::No);
        assert_eq!(it.is_on_file(number(8), 12, 10 * LENGTH), Backs::Unknown);
        it.window = None;
        assert_eq!(it.is_on_file(number(8), 12, 1), Backs::Unknown);
    }
}
