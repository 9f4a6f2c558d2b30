//! File systems of the kernel that recording needs, and that not every machine has mounted.

use crate::error::{CaptureError, at};
use iosonar_os::bounded::{TEXT_LIMIT, read_text};
use iosonar_os::create::write_whole;
use iosonar_os::made::{Made, MadeMount, Unmount};
use rustix::mount::{MountFlags, mount};
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

/// Is there on every machine; recorders lock it while they come and while they leave.
const LOCKED: &str = "/sys/kernel";

/// Lets one recorder at a time come or leave: one that comes must not lose what one that leaves unmounts.
pub(crate) fn turn() -> Option<File> {
    let file = File::open(LOCKED).ok()?;
    // Nobody holds it for long. Without it, of two that come and leave in the same moment one may get an error.
    let is_locked = (0..100).any(|_| {
        let locked = file.try_lock().is_ok();
        if !locked {
            std::thread::sleep(Duration::from_millis(10));
        }
        locked
    });
    is_locked.then_some(file)
}

/// One of these file systems, where the kernel's documentation wants it.
#[derive(Debug)]
pub(crate) struct KernelFs {
    name: &'static str,
    pub(crate) place: &'static str,
    /// Tells which mount is a recorder's, by its number: for the recorder that is the last one to leave, and for a cleanup
    /// after a crash.
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
        // Without this it stays mounted, which harms nobody.
        if let Ok(mounted) = MadeMount::mounted(Path::new(self.place)) {
            let _ = write_whole(Path::new(self.note), mounted.id().to_string().as_bytes());
        }
        Ok(())
    }

    /// Unmounts it, if a recorder mounted it. While somebody uses it, it stays, and the next one to leave tries again.
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
