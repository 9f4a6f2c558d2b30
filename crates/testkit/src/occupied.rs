//! Uses of a device that only the kernel, another process or another mount namespace knows of. Each is undone on drop,
//! even if the test fails.

use crate::target::{tool, undo};
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// Linux's `O_EXCL`: for a device, an exclusive claim.
const O_EXCL: i32 = 0o200;

/// Opens a device exclusively, as the kernel and careful programs do, until the file is closed.
///
/// # Errors
/// The device is already claimed.
pub fn open_exclusively(device: &Path) -> std::io::Result<File> {
    OpenOptions::new().read(true).custom_flags(O_EXCL).open(device)
}

/// A file system mounted in a separate mount namespace, kept by a sleeping process.
#[derive(Debug)]
pub struct MountedElsewhere {
    process: Child,
    directory: TempDir,
}

impl MountedElsewhere {
    /// Mounts a device with a file system.
    #[track_caller]
    pub fn new(device: &Path) -> MountedElsewhere {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let script = r#"mount "$1" "$2" && echo ready && exec sleep 60"#;
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", script, "sh"]).args([device, directory.path()]);
        let mut process = command.stdout(Stdio::piped()).spawn().expect("unshare starts");
        let mut line = String::new();
        let output = process.stdout.take().expect("its output");
        BufReader::new(output).read_line(&mut line).expect("a line of it");
        assert_eq!(line, "ready\n");
        MountedElsewhere { process, directory }
    }

    /// Number of the process in that namespace.
    pub fn process(&self) -> u32 {
        self.process.id()
    }

    /// Mount point there.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for MountedElsewhere {
    fn drop(&mut self) {
        // Both fail only if the process has already ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A file system mounted in a mount namespace without processes: a file keeps it, as container managers do.
#[derive(Debug)]
pub struct MountedNowhere {
    directory: TempDir,
}

impl MountedNowhere {
    /// Mounts a device with a file system.
    #[track_caller]
    pub fn new(device: &Path) -> MountedNowhere {
        let it = MountedNowhere { directory: tempfile::tempdir().expect("a temporary directory") };
        let (directory, namespace) = (it.directory.path(), it.namespace());
        // A namespace can be kept only on a private mount.
        tool("mount", &["--bind".as_ref(), directory.as_os_str(), directory.as_os_str()]);
        tool("mount", &["--make-private".as_ref(), directory.as_os_str()]);
        fs::create_dir(directory.join("mount")).expect("a directory");
        File::create(&namespace).expect("a file");
        let keep = format!("--mount={}", namespace.display());
        let mount_point = directory.join("mount");
        let words = ["mount".as_ref(), device.as_os_str(), mount_point.as_os_str()];
        tool("unshare", &[&[keep.as_ref()], &words[..]].concat());
        it
    }

    fn namespace(&self) -> PathBuf {
        self.directory.path().join("namespace")
    }
}

impl Drop for MountedNowhere {
    fn drop(&mut self) {
        undo("umount", &[self.namespace().as_ref()]);
        undo("umount", &[self.directory.path().as_ref()]);
    }
}

/// A compressed memory device.
#[derive(Debug)]
pub struct Zram {
    number: String,
}

impl Zram {
    /// Creates one of 0 bytes; `None` if the kernel has no zram.
    pub fn empty() -> Option<Zram> {
        let number = fs::read_to_string("/sys/class/zram-control/hot_add").ok()?.trim().to_owned();
        Some(Zram { number })
    }

    /// Creates one of this size; `None` if the kernel has no zram.
    pub fn new(mebibytes: u64) -> Option<Zram> {
        let device = Zram::empty()?;
        let size = format!("/sys/block/zram{}/disksize", device.number);
        fs::write(size, format!("{mebibytes}M")).expect("a size for zram");
        Some(device)
    }

    /// `/dev/zramN`.
    pub fn path(&self) -> PathBuf {
        format!("/dev/zram{}", self.number).into()
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        if let Err(error) = fs::write("/sys/class/zram-control/hot_remove", &self.number) {
            eprintln!("zram{} stays: {error}", self.number);
        }
    }
}
