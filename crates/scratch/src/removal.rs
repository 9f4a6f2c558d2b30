//! Parts of a scratch file system, and their removal.

use crate::ScratchError;
use iosonar_host::{Root, loop_files, mount_source, remount};
use iosonar_os::made::{Made, MadeLoop, MadeMount, Unmount};
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Existing parts of a file system.
#[derive(Debug, Clone, Default)]
pub(crate) struct FileSystem {
    /// The image and its mount point, removed last.
    pub files: Vec<Made>,
    pub devices: Vec<MadeLoop>,
    pub mount: Option<MadeMount>,
}

/// Path of the image of the file system `name`.
pub(crate) fn image_of(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}.img"))
}

impl FileSystem {
    /// Returns the existing parts of the file system `name` in the directory of a dead process. `proof` states why that
    /// is its directory.
    ///
    /// # Errors
    /// Reading the image or the list of loop devices failed.
    pub fn left(
        dir: &Path,
        name: &str,
        proof: &'static str,
        root: &Root,
    ) -> Result<FileSystem, ScratchError> {
        let (point, image) = (dir.join(name), image_of(dir, name));
        let file = match File::open(&image) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            file => Some(file.map_err(ScratchError::io("cannot open", &image))?),
        };
        let devices = file.map(|file| devices_of(&file, root)).transpose()?.unwrap_or_default();
        // A foreign mount there is kept.
        let source = mount_source(&point, root);
        let is_own = devices.iter().any(|device| Some(device.device()) == source.as_deref());
        let mount = is_own.then(|| MadeMount::proved(&point, proof)).transpose();
        let mount = mount.map_err(ScratchError::io("cannot look at", &point))?;
        Ok(FileSystem { files: Vec::new(), devices, mount })
    }

    /// Removes the existing parts. Missing parts are no error.
    ///
    /// # Errors
    /// Those of the first part that cannot be removed. Parts below it stay, so that the next attempt finds them.
    pub fn remove(&self, how: Unmount, root: &Root) -> Result<(), ScratchError> {
        if let Some(mount) = &self.mount {
            match how {
                Unmount::Now => remount::unmount(mount, root)?,
                Unmount::Lazy => {
                    mount.unmount(how).map_err(ScratchError::io("cannot unmount", mount.point()))?;
                }
            }
        }
        for device in &self.devices {
            device.detach().map_err(ScratchError::io("cannot detach", device.device()))?;
        }
        let remove = |made: &Made| made.remove().map_err(ScratchError::io("cannot remove", made.path()));
        self.files.iter().rev().try_for_each(remove)
    }
}

/// Loop devices of a file; empty if sysfs is not mounted.
pub(crate) fn devices_of(image: &File, root: &Root) -> Result<Vec<MadeLoop>, ScratchError> {
    let loops = match loop_files(root) {
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        loops => loops.map_err(ScratchError::io("cannot read", Path::new("/sys/block")))?,
    };
    Ok(loops.iter().filter_map(|it| MadeLoop::attached(&it.device, image).ok()).collect())
}
