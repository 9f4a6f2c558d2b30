//! File systems of the kernel that recording needs, and that not every machine has mounted.

use crate::error::{CaptureError, at};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::fs;
use std::io;
use std::path::Path;

/// One of them, where the kernel's documentation wants it.
#[derive(Debug)]
pub(crate) struct KernelFs {
    name: &'static str,
    pub(crate) place: &'static str,
    /// Tells that it was mounted by a recorder, also after a crash.
    mark: &'static str,
}

pub(crate) static TRACEFS: KernelFs =
    KernelFs { name: "tracefs", place: "/sys/kernel/tracing", mark: "/run/iosonar-mounted-tracefs" };
pub(crate) static DEBUGFS: KernelFs =
    KernelFs { name: "debugfs", place: "/sys/kernel/debug", mark: "/run/iosonar-mounted-debugfs" };

/// A file system that is in use. The last one that used it unmounts it when this is dropped, if a recorder mounted it.
#[derive(Debug)]
pub(crate) struct InUse(&'static KernelFs);

impl KernelFs {
    /// Uses it, as it is there.
    pub(crate) fn used(&'static self) -> InUse {
        InUse(self)
    }

    /// Mounts it.
    pub(crate) fn mount(&'static self) -> Result<InUse, CaptureError> {
        let flags = MountFlags::NOSUID | MountFlags::NOEXEC | MountFlags::NODEV;
        mount(self.name, self.place, self.name, flags, c"")
            .map_err(|errno| at(Path::new(self.place))(errno.into()))?;
        // Without this it stays mounted, which harms nobody.
        let _ = fs::write(self.mark, b"");
        Ok(InUse(self))
    }

    /// Unmounts it, if a recorder mounted it and nobody uses it any more.
    pub(crate) fn unmount_if_ours(&self) -> io::Result<()> {
        if !Path::new(self.mark).exists() {
            return Ok(());
        }
        match unmount(self.place, UnmountFlags::empty()) {
            // Another one uses it, and will unmount it.
            Err(Errno::BUSY) => Ok(()),
            // Somebody else has unmounted it.
            Ok(()) | Err(Errno::INVAL) => fs::remove_file(self.mark),
            Err(errno) => Err(errno.into()),
        }
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        // What cannot be undone here, a cleanup can.
        let _ = self.0.unmount_if_ours();
    }
}
