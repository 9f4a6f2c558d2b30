//! Loop devices that this process has attached.

use crate::loopdev;
use rustix::fs::{AtFlags, StatxFlags, statx};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// A loop device that this process has attached to an image, identified by the image: the driver reports which file a device reads.
#[derive(Debug, Clone)]
pub struct MadeLoop {
    device: PathBuf,
    image_inode: u64,
    image_device: u64,
}

impl MadeLoop {
    /// The device that was attached to `image`.
    ///
    /// # Errors
    /// The device reads another file, or none.
    pub fn attached(device: &Path, image: &File) -> io::Result<MadeLoop> {
        let backing = loopdev::backing(File::open(device)?)?;
        let facts = statx(image, c"", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS)?;
        if backing.inode != facts.stx_ino {
            return Err(io::Error::other("it is attached to another file"));
        }
        Ok(MadeLoop {
            device: device.to_path_buf(),
            image_inode: backing.inode,
            image_device: backing.device,
        })
    }

    /// The device.
    pub fn device(&self) -> &Path {
        &self.device
    }

    /// Detaches the device; while it is in use, the kernel detaches it with its last use. An already detached device is no error,
    /// and a device that reads another file by now stays attached.
    ///
    /// # Errors
    /// Those of ioctl(2).
    pub fn detach(&self) -> io::Result<()> {
        let device = match File::open(&self.device) {
            Err(error) if is_gone(&error) => return Ok(()),
            device => device?,
        };
        match loopdev::backing(&device) {
            Err(rustix::io::Errno::NXIO) => Ok(()),
            Err(error) => Err(error.into()),
            // It was attached again: ours was detached with its last use.
            Ok(found) if (found.inode, found.device) != (self.image_inode, self.image_device) => Ok(()),
            Ok(_) => match loopdev::clear(&device) {
                Err(rustix::io::Errno::NXIO) => Ok(()),
                done => Ok(done?),
            },
        }
    }
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ENXIO)
}
