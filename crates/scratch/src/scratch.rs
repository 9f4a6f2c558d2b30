//! A directory of scratch file systems.

use crate::leftovers::PREFIX;
use crate::program::{LOSETUP, MOUNT};
use crate::removal::{self, Unmount};
use crate::{ScratchError, Spec};
use iosonar_host::Root;
use iosonar_host::remount::Remount;
use iosonar_os::create;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A directory of scratch file systems: images, and the directories that they are mounted on. Dropping it removes all of it; file
/// systems that are in use then disappear with their last use.
#[derive(Debug)]
pub struct Scratch {
    dir: PathBuf,
    /// Locked as long as this process lives.
    _lock: File,
    names: Vec<String>,
    is_direct: bool,
    /// What dropping it starts with.
    unmount: Unmount,
}

/// Removes a [`Scratch`] while another thread is busy with it.
#[derive(Debug, Clone)]
pub struct Remover {
    dir: PathBuf,
}

impl Scratch {
    /// Creates a directory for file systems in the directory `parent`, closed to other users. It is locked as long as this
    /// process lives.
    ///
    /// # Errors
    /// This process is not root, or the directory cannot be created.
    pub fn create(parent: &Path) -> Result<Scratch, ScratchError> {
        if !rustix::process::geteuid().is_root() {
            return Err(ScratchError::NotRoot);
        }
        let cannot_create = || ScratchError::io("cannot create a directory in", parent);
        // The kernel shows mounts by such paths.
        let parent = parent.canonicalize().map_err(cannot_create())?;
        for number in 0.. {
            let dir = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
            match create::new_private_dir(&dir) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                other => other.map_err(cannot_create())?,
            }
            // Another process may take it for a leftover before it is locked.
            if let Some(lock) = removal::claim(&dir).map_err(cannot_create())? {
                return Ok(Scratch {
                    dir,
                    _lock: lock,
                    names: Vec::new(),
                    is_direct: true,
                    unmount: Unmount::Wait,
                });
            }
        }
        unreachable!("a number is free")
    }

    /// The directory of all file systems.
    pub fn path(&self) -> &Path {
        &self.dir
    }

    /// Whether all loop devices read and write their images with direct I/O. Else the images are in the page cache: the file
    /// system below them has no direct I/O.
    pub fn is_direct(&self) -> bool {
        self.is_direct
    }

    /// Makes a file system and mounts it; returns its mount point. `name` consists of letters, digits, `-` and `_`.
    ///
    /// The image is sparse. Its loop device is detached by the kernel when it is unmounted. mkfs discards nothing, and ext4 zeros
    /// its tables at once.
    ///
    /// # Errors
    /// A program is missing or fails, the size is below [`FsKind::least_size`](crate::FsKind::least_size), or the name is used or
    /// none. Nothing is left of the file system then.
    pub fn add(&mut self, name: &str, spec: &Spec) -> Result<PathBuf, ScratchError> {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || name == removal::LOCK || !name.chars().all(is_allowed) {
            return Err(ScratchError::BadName(name.to_owned()));
        }
        spec.check()?;
        let (point, image) = (self.dir.join(name), self.dir.join(format!("{name}.img")));
        let file = create::new_file(&image).map_err(ScratchError::io("cannot create", &image))?;
        match make(&file, &image, &point, spec) {
            Ok(is_direct) => {
                self.names.push(name.to_owned());
                self.is_direct &= is_direct;
                Ok(point)
            }
            Err(error) => {
                undo(&point, &image);
                Err(error)
            }
        }
    }

    /// Unmounts a file system and mounts it again with the same options, so that nothing of it is in the page cache. While
    /// something uses it, this is tried again for a few seconds.
    ///
    /// # Errors
    /// It is unknown or in use, or cannot be mounted again.
    pub fn remount(&mut self, name: &str) -> Result<(), ScratchError> {
        if !self.names.iter().any(|known| known == name) {
            return Err(ScratchError::UnknownName(name.to_owned()));
        }
        let root = Root::default();
        Ok(Remount::of(&self.dir.join(name), &root)?.execute(&root)?)
    }

    /// Removes all file systems, their images and the directory.
    ///
    /// # Errors
    /// A file system is still in use after a few seconds. It disappears with its last use.
    pub fn remove(mut self) -> Result<(), ScratchError> {
        let removed = removal::remove(&self.dir, Unmount::Wait, &Root::default());
        self.unmount = Unmount::Lazy;
        removed
    }

    /// What removes it from another thread, for a signal that must end this process at once.
    pub fn remover(&self) -> Remover {
        Remover { dir: self.dir.clone() }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let root = Root::default();
        if removal::remove(&self.dir, self.unmount, &root).is_err() {
            // What stays then is removed as a leftover.
            let _ = removal::remove(&self.dir, Unmount::Lazy, &root);
        }
    }
}

impl Remover {
    /// Removes everything without waiting: file systems in use disappear from the directory tree now, and with their last use
    /// from the machine. May be called more than once, also after the [`Scratch`] is dropped.
    ///
    /// # Errors
    /// Of the first thing that cannot be removed.
    pub fn at_once(&self) -> Result<(), ScratchError> {
        removal::remove(&self.dir, Unmount::Lazy, &Root::default())
    }
}

/// Makes a file system in a new image and mounts it; whether its loop device uses direct I/O.
fn make(file: &File, image: &Path, point: &Path, spec: &Spec) -> Result<bool, ScratchError> {
    let root = Root::default();
    file.set_len(spec.size)
        .map_err(ScratchError::io("the file system cannot hold a file of this size:", image))?;
    create::new_dir(point).map_err(ScratchError::io("cannot create", point))?;
    let device = attach(image, &root)?;
    let arguments = spec.mkfs_arguments();
    let arguments = arguments.iter().map(OsStr::new).chain([device.as_os_str()]);
    spec.kind.mkfs().run(&arguments.collect::<Vec<_>>())?;
    let mut arguments = vec!["-t".as_ref(), OsStr::new(spec.kind.name())];
    if !spec.mount_options.is_empty() {
        arguments.extend(["-o".as_ref(), OsStr::new(&spec.mount_options)]);
    }
    arguments.extend([device.as_os_str(), point.as_os_str()]);
    MOUNT.run(&arguments)?;
    // From now on an unmount is enough.
    removal::detach(&device, &root)?;
    let name = device.file_name().unwrap_or_default();
    let mode = Path::new("/sys/block").join(name).join("loop/dio");
    Ok(root.read(mode).is_ok_and(|mode| mode == "1"))
}

/// Attaches a loop device to an image, with direct I/O where the file system of the image has it.
fn attach(image: &Path, root: &Root) -> Result<PathBuf, ScratchError> {
    let attach = |options: &[&str]| {
        let words = ["--find", "--show"].iter().chain(options).map(OsStr::new);
        LOSETUP.run(&words.chain([image.as_os_str()]).collect::<Vec<_>>()).map(PathBuf::from)
    };
    match attach(&["--direct-io=on"]) {
        Err(ScratchError::Program { .. }) => {
            // losetup leaves the device attached when only direct I/O was refused.
            removal::release(image, Unmount::Lazy, root)?;
            attach(&[])
        }
        other => other,
    }
}

/// Removes what is there of a file system that could not be made.
fn undo(point: &Path, image: &Path) {
    for path in [point, image] {
        let _ = removal::release(path, Unmount::Lazy, &Root::default());
    }
    let _ = fs::remove_dir(point);
    let _ = fs::remove_file(image);
}
