//! A directory of scratch file systems.

use crate::program::{LOSETUP, MOUNT};
use crate::removal::{FileSystem, devices_of, image_of};
use crate::{KIND, ScratchError, Spec};
use iosonar_host::Root;
use iosonar_host::remount::Remount;
use iosonar_os::create;
use iosonar_os::made::{MARK, Made, MadeLoop, MadeMount, OwnDir, Unmount, new_file};
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A directory of scratch file systems: images, and their mount points. Dropping it removes everything; file systems in
/// use then disappear with their last use.
#[derive(Debug)]
pub struct Scratch {
    /// Dropped after the file systems.
    dir: OwnDir,
    made: Remover,
    is_direct: bool,
    /// First method of unmounting on drop.
    unmount: Unmount,
}

/// Removes the file systems of a [`Scratch`], even while another thread uses it.
#[derive(Debug, Clone)]
pub struct Remover {
    dir: Made,
    made: Arc<Mutex<Vec<(String, FileSystem)>>>,
}

impl Scratch {
    /// Creates a directory for file systems in the directory `parent`, closed to other users. It is locked during the
    /// life of this process.
    ///
    /// # Errors
    /// This process is not root, or creating the directory failed.
    pub fn create(parent: &Path) -> Result<Scratch, ScratchError> {
        if !rustix::process::geteuid().is_root() {
            return Err(ScratchError::NotRoot);
        }
        let dir = OwnDir::new_in(parent, KIND);
        let dir = dir.map_err(ScratchError::io("cannot create a directory in", parent))?;
        let made = Remover { dir: dir.made().clone(), made: Arc::default() };
        Ok(Scratch { dir, made, is_direct: true, unmount: Unmount::Now })
    }

    /// The directory of all file systems.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Whether all loop devices read and write their images with direct I/O. Otherwise the images are in the page
    /// cache, because the file system below them does not support direct I/O.
    pub fn is_direct(&self) -> bool {
        self.is_direct
    }

    /// Creates a file system and mounts it; returns its mount point. `name` consists of letters, digits, `-` and `_`.
    ///
    /// The image is sparse. The kernel detaches its loop device when it is unmounted. mkfs discards nothing, and ext4
    /// zeros its tables immediately.
    ///
    /// # Errors
    /// A program is missing or fails, the size is below [`FsKind::least_size`](crate::FsKind::least_size), or the name
    /// is used or invalid. The file system is then removed completely.
    pub fn add(&mut self, name: &str, spec: &Spec) -> Result<PathBuf, ScratchError> {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || name == MARK || !name.chars().all(is_allowed) {
            return Err(ScratchError::BadName(name.to_owned()));
        }
        spec.check()?;
        // The file system must be noted before it exists, for the removal of leftovers.
        self.dir.note(name).map_err(ScratchError::io("cannot write to", self.dir.path()))?;
        let mut made = FileSystem::default();
        match make(self.dir.path(), name, spec, &mut made) {
            Ok(is_direct) => {
                self.made.lock().push((name.to_owned(), made));
                self.is_direct &= is_direct;
                Ok(self.dir.path().join(name))
            }
            Err(error) => {
                // Ignore removal errors; report the original one.
                let _ = made.remove(Unmount::Lazy, &Root::default());
                Err(error)
            }
        }
    }

    /// Unmounts a file system and mounts it again with the same options, so that none of it is in the page cache. While
    /// it is busy, this is retried for a few seconds.
    ///
    /// # Errors
    /// It is unknown or in use, or mounting it again failed.
    pub fn remount(&mut self, name: &str) -> Result<(), ScratchError> {
        let mut made = self.made.lock();
        let Some((_, made)) = made.iter_mut().find(|(known, _)| known == name) else {
            return Err(ScratchError::UnknownName(name.to_owned()));
        };
        let (root, point) = (Root::default(), self.dir.path().join(name));
        Remount::of(&point, &root)?.execute(&root)?;
        made.mount = Some(MadeMount::mounted(&point).map_err(ScratchError::io("cannot look at", &point))?);
        Ok(())
    }

    /// Removes all file systems, their images and the directory.
    ///
    /// # Errors
    /// A file system is still in use after a few seconds. It disappears with its last use.
    pub fn remove(mut self) -> Result<(), ScratchError> {
        let removed = self.made.remove(Unmount::Now);
        self.unmount = Unmount::Lazy;
        removed
    }

    /// Returns a remover for another thread, for a signal that must end this process at once.
    pub fn remover(&self) -> Remover {
        self.made.clone()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.made.remove(self.unmount).is_err() {
            // Remaining parts are removed as leftovers.
            let _ = self.made.remove(Unmount::Lazy);
        }
    }
}

impl Remover {
    /// Removes everything without waiting: file systems in use disappear from the directory tree now, and with their
    /// last use from the machine. May be called repeatedly, even after the [`Scratch`] is dropped.
    ///
    /// # Errors
    /// Those of the first part that cannot be removed.
    pub fn at_once(&self) -> Result<(), ScratchError> {
        self.remove(Unmount::Lazy)
    }

    /// Removes all file systems, and the directory unless it contains foreign files.
    fn remove(&self, how: Unmount) -> Result<(), ScratchError> {
        let root = Root::default();
        let made = self.lock();
        // A failure does not prevent the removal of the others.
        let removed: Vec<Result<(), ScratchError>> =
            made.iter().rev().map(|(_, made)| made.remove(how, &root)).collect();
        removed.into_iter().collect::<Result<(), ScratchError>>()?;
        let is_mark = |below: &Path| below == Path::new(MARK);
        self.dir.remove_tree(&is_mark).map_err(ScratchError::io("cannot remove", self.dir.path()))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(String, FileSystem)>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Creates a file system in a new image and mounts it; returns whether its loop device uses direct I/O. `made` has the
/// parts created so far, even after an error.
fn make(dir: &Path, name: &str, spec: &Spec, made: &mut FileSystem) -> Result<bool, ScratchError> {
    let (point, image) = (dir.join(name), image_of(dir, name));
    let (file, image_made) = new_file(&image).map_err(ScratchError::io("cannot create", &image))?;
    made.files.push(image_made);
    file.set_len(spec.size)
        .map_err(ScratchError::io("the file system cannot hold a file of this size:", &image))?;
    made.files.push(create::new_dir(&point).map_err(ScratchError::io("cannot create", &point))?);
    let attached = attach(&image, &file)?;
    let device = attached.device().to_path_buf();
    made.devices.push(attached);
    let arguments = spec.mkfs_arguments();
    let arguments = arguments.iter().map(OsStr::new).chain([device.as_os_str()]);
    spec.kind.mkfs().run(&arguments.collect::<Vec<_>>())?;
    let mut arguments = vec!["-t".as_ref(), OsStr::new(spec.kind.name())];
    if !spec.mount_options.is_empty() {
        arguments.extend(["-o".as_ref(), OsStr::new(&spec.mount_options)]);
    }
    arguments.extend([device.as_os_str(), point.as_os_str()]);
    MOUNT.run(&arguments)?;
    made.mount = Some(MadeMount::mounted(&point).map_err(ScratchError::io("cannot look at", &point))?);
    // From now on an unmount suffices.
    let detached = made.devices.iter().try_for_each(MadeLoop::detach);
    detached.map_err(ScratchError::io("cannot detach", &device))?;
    let name = device.file_name().unwrap_or_default();
    let mode = Path::new("/sys/block").join(name).join("loop/dio");
    Ok(Root::default().read(mode).is_ok_and(|mode| mode == "1"))
}

/// Attaches a loop device to an image, with direct I/O if the image's file system supports it.
fn attach(image: &Path, file: &File) -> Result<MadeLoop, ScratchError> {
    let attach = |options: &[&str]| {
        let words = ["--find", "--show"].iter().chain(options).map(OsStr::new);
        LOSETUP.run(&words.chain([image.as_os_str()]).collect::<Vec<_>>()).map(PathBuf::from)
    };
    let device = match attach(&["--direct-io=on"]) {
        Err(ScratchError::Program { .. }) => {
            // losetup leaves the device attached if only direct I/O was refused.
            for left in devices_of(file, &Root::default())? {
                left.detach().map_err(ScratchError::io("cannot detach", left.device()))?;
            }
            attach(&[])
        }
        attached => attached,
    }?;
    MadeLoop::attached(&device, file).map_err(ScratchError::io("cannot look at", &device))
}
