//! Kernel file systems that recording needs, and that are not mounted on every machine.

use crate::error::{CaptureError, at};
use iosonar_os::bounded::{TEXT_LIMIT, read_text};
use iosonar_os::create::write_whole;
use iosonar_os::made::{Made, MadeMount, Unmount};
use rustix::mount::{MountFlags, mount};
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

/// Exists on every machine; recorders lock it while they start and stop.
const LOCKED: &str = "/sys/kernel";

/// Serialises the start and stop of recorders: a starting one must not lose a mount to a stopping one.
pub(crate) fn turn() -> Option<File> {
    let file = File::open(LOCKED).ok()?;
    // The lock is held briefly. Without it, of two that start and stop at the same moment one may get an error.
    let is_locked = (0..100).any(|_| {
        let locked = file.try_lock().is_ok();
        if !locked {
            std::thread::sleep(Duration::from_millis(10));
        }
        locked
    });
    is_locked.then_some(file)
}

/// One of these file systems, at the place recommended by the kernel's documentation.
#[derive(Debug)]
pub(crate) struct KernelFs {
    name: &'static str,
    pub(crate) place: &'static str,
    /// File with the id of a recorder's mount: for the last recorder to stop, and for a cleanup after a crash.
    note: &'static str,
}

pub(crate) static TRACEFS: KernelFs =
    KernelFs { name: "tracefs", place: "/sys/kernel/tracing", note: "/run/iosonar-mounted-tracefs" };
pub(crate) static DEBUGFS: KernelFs =
    KernelFs { name: "debugfs", place: "/sys/kernel/debug", note: "/run/iosonar-mounted-debugfs" };

impl KernelFs {
    pub(crate) fn mount(&self) -> Result<(), CaptureError> {
        let flags = MountFlags::NOSUID | MountFlags::NOEXEC | MountFlags::NODEV;
        mount(self.name, self.place, self.name, flags, c"")
            .map_err(|errno| at(Path::new(self.place))(errno.into()))?;
        // On failure it stays mounted, which is harmless.
        if let Ok(mounted) = MadeMount::mounted(Path::new(self.place)) {
            let _ = write_whole(Path::new(self.note), mounted.id().to_string().as_bytes());
        }
        Ok(())
    }

    /// Unmounts it, if a recorder mounted it. While it is busy, it stays, and the next recorder to stop tries again.
    pub(crate) fn unmount_if_ours(&self) -> io::Result<()> {
        let Ok(ours) = read_text(Path::new(self.note), TEXT_LIMIT) else { return Ok(()) };
        let note = Made::proved(Path::new(self.note), "only recorders write it")?;
        let mounted = MadeMount::proved(Path::new(self.place), "a recorder has noted its number")?;
        if ours.parse() != Ok(mounted.id()) {
            return note.remove();
        }
        match mounted.unmount(Unmount::Now) {
            Ok(()) => note.remove(),
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => Ok(()),
            Err(error) => Err(error),
        }
    }
}
