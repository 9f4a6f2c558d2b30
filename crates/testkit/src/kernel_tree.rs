//! A tree of `/proc` and `/sys` for tests.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Removed when dropped.
#[derive(Debug)]
pub struct KernelTree {
    directory: tempfile::TempDir,
}

impl Default for KernelTree {
    fn default() -> Self {
        Self::new()
    }
}

impl KernelTree {
    /// An empty tree with no mounts, no swap and no block devices.
    #[track_caller]
    pub fn new() -> Self {
        let tree = Self { directory: tempfile::tempdir().expect("a temporary directory") };
        for directory in ["/sys/block", "/sys/class/block", "/sys/fs"] {
            fs::create_dir_all(tree.path(directory)).expect("a directory in a temporary one");
        }
        tree.mountinfo("self", "").file("/proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n");
        tree
    }

    /// Directory that replaces `/`.
    pub fn prefix(&self) -> &Path {
        self.directory.path()
    }

    /// Real path of an absolute path.
    pub fn path(&self, path: &str) -> PathBuf {
        self.prefix().join(path.strip_prefix('/').unwrap_or(path))
    }

    /// Writes a file, creating its directories.
    #[track_caller]
    pub fn file(&self, path: &str, text: &str) -> &Self {
        let path = self.with_directories(path);
        fs::write(path, text).expect("a file in a temporary directory");
        self
    }

    /// Creates a symbolic link with this target.
    #[track_caller]
    pub fn link(&self, path: &str, text: &str) -> &Self {
        symlink(text, self.with_directories(path)).expect("a link in a temporary directory");
        self
    }

    fn with_directories(&self, path: &str) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a path below the tree")).expect("a temporary directory");
        path
    }

    /// Sets the mounts of a process.
    pub fn mountinfo(&self, process: &str, text: &str) -> &Self {
        self.file(&format!("/proc/{process}/mountinfo"), text)
    }

    /// Adds a whole disk to the virtual devices.
    pub fn disk(&self, name: &str, number: &str, sectors: u64) -> &Self {
        self.device(&format!("devices/virtual/block/{name}"), name, number, sectors)
    }

    /// Adds a partition of such a disk.
    pub fn partition(&self, disk: &str, name: &str, number: &str, sectors: u64) -> &Self {
        let directory = format!("devices/virtual/block/{disk}/{name}");
        self.device(&directory, name, number, sectors).file(&format!("/sys/{directory}/partition"), "1\n")
    }

    /// Puts the device `upper` on top of `lower`.
    pub fn stack(&self, upper: &str, lower: &str) -> &Self {
        self.file(&format!("/sys/class/block/{upper}/slaves/{lower}"), "")
            .file(&format!("/sys/class/block/{lower}/holders/{upper}"), "")
    }

    /// Attaches a loop device, created with [`KernelTree::disk`], to a path in the tree.
    pub fn attach(&self, name: &str, backing_file: &str) -> &Self {
        self.file(&format!("/sys/class/block/{name}/loop/offset"), "0\n");
        self.file(&format!("/sys/class/block/{name}/loop/sizelimit"), "0\n");
        self.file(&format!("/sys/class/block/{name}/loop/backing_file"), &format!("{backing_file}\n"))
    }

    /// Adds a device in a directory of `/sys`, for example `devices/pci0000:00/…/nvme0n1`.
    pub fn device(&self, directory: &str, name: &str, number: &str, sectors: u64) -> &Self {
        let is_number = |text: &str| text.parse::<u32>().is_ok();
        assert!(number.split_once(':').is_some_and(|(a, b)| is_number(a) && is_number(b)), "{number}");
        fs::create_dir_all(self.path(&format!("/sys/{directory}/holders"))).expect("a temporary directory");
        self.file(&format!("/sys/{directory}/dev"), &format!("{number}\n"))
            .file(&format!("/sys/{directory}/size"), &format!("{sectors}\n"))
            .file(&format!("/sys/{directory}/ro"), "0\n")
            .link(&format!("/sys/dev/block/{number}"), &format!("../../{directory}"))
            .link(&format!("/sys/class/block/{name}"), &format!("../../{directory}"))
            .link(&format!("/sys/block/{name}"), &format!("../{directory}"))
    }
}
