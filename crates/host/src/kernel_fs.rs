//! Pseudo file systems of the kernel: `/proc`, `/sys` and their relatives.

use rustix::io;
use std::path::Path;

/// Pseudo file systems on which decisions about writes depend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KernelFs {
    /// `/proc`.
    Proc,
    /// `/sys`.
    Sys,
}

impl KernelFs {
    /// Name in mountinfo.
    pub fn name(self) -> &'static str {
        match self {
            KernelFs::Proc => "proc",
            KernelFs::Sys => "sysfs",
        }
    }
}

/// File systems whose files are kernel attributes, by the magic number from statfs(2) (`linux/magic.h`).
const ATTRIBUTES: [(u32, &str); 16] = [
    (0x9fa0, "proc"),
    (0x6265_6572, "sysfs"),
    (0x6265_6570, "configfs"),
    (0x6462_6720, "debugfs"),
    (0x7472_6163, "tracefs"),
    (0x7363_6673, "securityfs"),
    (0xf97c_ff8c, "selinuxfs"),
    (0x4341_5d53, "smackfs"),
    (0x0027_e0eb, "cgroup"),
    (0x6367_7270, "cgroup2"),
    (0x0765_5821, "resctrl"),
    (0x6573_5543, "fusectl"),
    (0x4249_4e4d, "binfmt_misc"),
    (0xcafe_4a11, "bpf"),
    (0xde5e_81e4, "efivarfs"),
    (0x6165_676c, "pstore"),
];

/// Name of the file system of `path`, if its files are kernel attributes.
///
/// # Errors
/// Those of statfs(2).
pub(crate) fn holding(path: &Path) -> io::Result<Option<&'static str>> {
    // The magic numbers have 32 bits on every architecture; the field is wider on some.
    let magic = rustix::fs::statfs(path)?.f_type as u32;
    Ok(ATTRIBUTES.iter().find(|(number, _)| *number == magic).map(|(_, name)| *name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinguishes_kernel_attributes_from_files() {
        assert_eq!(holding(Path::new("/proc/self/stat")), Ok(Some(KernelFs::Proc.name())));
        assert_eq!(holding(Path::new("/sys")), Ok(Some(KernelFs::Sys.name())));
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(holding(file.path()), Ok(None));
        // The target of a link in /proc is in its own file system.
        let link = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(file.as_file()));
        assert_eq!(holding(Path::new(&link)), Ok(None));
    }
}
