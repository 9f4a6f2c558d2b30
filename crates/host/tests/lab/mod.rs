//! Targets that only these tests need; the others are shared. Each is undone when it is dropped, also when the test
//! fails.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Ends a test early, with one line that says why, where this machine lacks something. What goes on runs alone.
#[macro_export]
macro_rules! needs_root {
    ($($program:literal),* $(,)?) => {
        if let Some(why) = iosonar_testkit::lacks(&["losetup", $($program),*]) {
            println!("SKIPPED: {why}");
            return;
        }
        let _alone = lab::alone();
    };
}

/// Keeps the tests of this program apart: a program that one of them starts holds a copy of every descriptor for the
/// moment between fork and exec, and a device would stay claimed a little longer than its owner.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file system that is mounted in a mount namespace of its own, where a sleeping process keeps it.
pub struct MountedElsewhere {
    process: Child,
    _directory: tempfile::TempDir,
}

impl MountedElsewhere {
    pub fn new(device: &Path) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let script = r#"mount "$1" "$2" && echo ready && exec sleep 60"#;
        let mut process = Command::new("unshare")
            .args(["-m", "sh", "-c", script, "sh"])
            .args([device, directory.path()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Self { process, _directory: directory }
    }

    pub fn process(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for MountedElsewhere {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// A compressed memory device without a size.
pub struct Zram {
    number: String,
}

impl Zram {
    pub fn new() -> Option<Self> {
        let number = fs::read_to_string("/sys/class/zram-control/hot_add").ok()?.trim().to_owned();
        Some(Self { number })
    }

    pub fn path(&self) -> PathBuf {
        format!("/dev/zram{}", self.number).into()
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        fs::write("/sys/class/zram-control/hot_remove", &self.number).unwrap();
    }
}
