//! File systems of the kernel that recording needs, and that not every machine has mounted.

use crate::error::{CaptureError, at};
use iosonar_os::bounded::{TEXT_LIMIT, read_text};
use iosonar_os::create::write_whole;
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::fs::{self, File};
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
        let number = self.mount_number().unwrap_or_default();
        let temporary = format!("{}.{}", self.note, std::process::id());
        let _ = write_whole(Path::new(self.note), Path::new(&temporary), number.as_bytes());
        Ok(())
    }

    /// Unmounts it, if a recorder mounted it. While somebody uses it, it stays, and the next one to leave tries again.
    pub(crate) fn unmount_if_ours(&self) -> io::Result<()> {
        let Ok(ours) = read_text(Path::new(self.note), TEXT_LIMIT) else { return Ok(()) };
        if self.mount_number().is_none_or(|number| number != ours) {
            return fs::remove_file(self.note);
        }
        match unmount(self.place, UnmountFlags::empty()) {
            Ok(()) => fs::remove_file(self.note),
            Err(Errno::BUSY) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// The number of what is mounted there, which no other mount has, in whatever namespace.
    fn mount_number(&self) -> Option<String> {
        number_in(&fs::read_to_string("/proc/self/mountinfo").ok()?, self.place)
    }
}

fn number_in(mounts: &str, place: &str) -> Option<String> {
    let at_place = |line: &&str| line.split(' ').nth(4) == Some(place);
    // The last one lies above the others.
    let line = mounts.lines().rfind(at_place)?;
    line.split(' ').next().map(str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_is_known_by_its_number() {
        let mounts = "\
            22 29 0:21 / /sys rw,nosuid - sysfs sysfs rw\n\
            34 22 0:12 / /sys/kernel/tracing rw - tracefs tracefs rw\n\
            77 34 0:12 / /sys/kernel/tracing rw shared:1 - tracefs tracefs rw\n\
            35 22 0:8 / /sys/kernel/debug rw - debugfs debugfs rw\n";
        assert_eq!(number_in(mounts, TRACEFS.place).as_deref(), Some("77"));
        assert_eq!(number_in("22 29 0:21 / /sys rw - sysfs sysfs rw\n", TRACEFS.place), None);
    }
}
