//! A tree of `/proc` and `/sys` as tests need it.

use crate::{DevNumber, Root};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

/// Removed when dropped.
pub(crate) struct Tree {
    directory: tempfile::TempDir,
}

impl Tree {
    /// An empty tree with no mounts, no swap and no block devices.
    pub fn new() -> Self {
        let tree = Self { directory: tempfile::tempdir().unwrap() };
        for directory in ["/sys/block", "/sys/class/block", "/sys/fs"] {
            fs::create_dir_all(tree.path(directory)).unwrap();
        }
        tree.mountinfo("self", "").file("/proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n");
        tree
    }

    pub fn root(&self) -> Root {
        Root::new(self.directory.path())
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root().path(path)
    }

    /// Writes a file, with its directories.
    pub fn file(&self, path: &str, text: &str) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Makes a symbolic link with this text.
    pub fn link(&self, path: &str, text: &str) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(text, path).unwrap();
        self
    }

    /// Mounts of a process.
    pub fn mountinfo(&self, process: &str, text: &str) -> &Self {
        self.file(&format!("/proc/{process}/mountinfo"), text)
    }

    /// A whole disk.
    pub fn disk(&self, name: &str, number: &str, sectors: u64) -> &Self {
        self.device(&format!("devices/virtual/block/{name}"), name, number, sectors)
    }

    /// A partition of a disk.
    pub fn partition(&self, disk: &str, name: &str, number: &str, sectors: u64) -> &Self {
        let directory = format!("devices/virtual/block/{disk}/{name}");
        self.device(&directory, name, number, sectors).file(&format!("/sys/{directory}/partition"), "1\n")
    }

    /// Lays the device `upper` on `lower`.
    pub fn stack(&self, upper: &str, lower: &str) -> &Self {
        self.file(&format!("/sys/class/block/{upper}/slaves/{lower}"), "")
            .file(&format!("/sys/class/block/{lower}/holders/{upper}"), "")
    }

    /// Attaches a loop device, which has been made with [`Tree::disk`], to a path in the tree.
    pub fn attach(&self, name: &str, backing_file: &str) -> &Self {
        self.file(&format!("/sys/class/block/{name}/loop/offset"), "0\n");
        self.file(&format!("/sys/class/block/{name}/loop/sizelimit"), "0\n");
        self.file(&format!("/sys/class/block/{name}/loop/backing_file"), &format!("{backing_file}\n"))
    }

    fn device(&self, directory: &str, name: &str, number: &str, sectors: u64) -> &Self {
        number.parse::<DevNumber>().unwrap();
        fs::create_dir_all(self.path(&format!("/sys/{directory}/holders"))).unwrap();
        self.file(&format!("/sys/{directory}/dev"), &format!("{number}\n"))
            .file(&format!("/sys/{directory}/size"), &format!("{sectors}\n"))
            .file(&format!("/sys/{directory}/ro"), "0\n")
            .link(&format!("/sys/dev/block/{number}"), &format!("../../{directory}"))
            .link(&format!("/sys/class/block/{name}"), &format!("../../{directory}"))
            .link(&format!("/sys/block/{name}"), &format!("../{directory}"))
    }
}
