//! Real targets for tests: images, loop devices, partitions, mounts, swap. Each is undone on drop, even if the test fails.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Maximum time for which a device may stay open after it was detached.
const DETACHED_AFTER: Duration = Duration::from_secs(10);

/// Names a requirement missing here for a test that attaches loop devices and runs these programs.
pub fn lacks(programs: &[&str]) -> Option<String> {
    // The owner of /proc/self is the effective user.
    if fs::metadata("/proc/self").map_or(true, |me| me.uid() != 0) {
        return Some("loop devices need root".into());
    }
    let missing = ["losetup"].iter().chain(programs).find(|program| {
        let answer = Command::new(program).arg("--version").stdin(Stdio::null()).output();
        answer.is_err_and(|error| error.kind() == ErrorKind::NotFound)
    });
    missing.map(|program| format!("{program} is not installed"))
}

/// Runs a program, which must succeed, and returns its output.
#[track_caller]
pub fn tool<S: AsRef<OsStr>>(program: &str, arguments: &[S]) -> String {
    tool_reading(program, arguments, "")
}

/// The same, with this on its standard input.
#[track_caller]
pub fn tool_reading<S: AsRef<OsStr>>(program: &str, arguments: &[S], input: &str) -> String {
    let failed = |error: io::Error| -> Output { panic!("{program}: {error}") };
    let mut command = Command::new(program);
    command.args(arguments).stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = command.spawn().and_then(|mut child| {
        // If the program does not read all of it, its own error is reported.
        let _ = child.stdin.take().map(|mut stdin| stdin.write_all(input.as_bytes()));
        child.wait_with_output()
    });
    let output = output.unwrap_or_else(failed);
    assert!(output.status.success(), "{program}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

/// Undoes something. A failure is printed, but does not hide that of the test.
pub(crate) fn undo(program: &str, arguments: &[&OsStr]) {
    match Command::new(program).args(arguments).stdin(Stdio::null()).output() {
        Ok(Output { status, .. }) if status.success() => {}
        Ok(output) => eprintln!("{program} {arguments:?}: {}", text(&output.stderr)),
        Err(error) => eprintln!("{program} {arguments:?}: {error}"),
    }
}

/// An image file for a device, in a temporary directory.
#[derive(Debug)]
pub struct Image {
    directory: TempDir,
}

impl Image {
    /// Creates an image of random data, without holes.
    pub fn random(mebibytes: u64) -> Image {
        let image = Image::sparse(0);
        let mut random = File::open("/dev/urandom").expect("/dev/urandom").take(mebibytes << 20);
        let mut file = File::create(image.path()).expect("an image");
        io::copy(&mut random, &mut file).expect("room for an image");
        file.sync_all().expect("room for an image");
        image
    }

    /// Creates an image without content.
    pub fn sparse(mebibytes: u64) -> Image {
        let image = Image { directory: tempfile::tempdir().expect("a temporary directory") };
        let file = File::create(image.path()).expect("an image");
        file.set_len(mebibytes << 20).expect("an image of that size");
        image
    }

    /// Path of the file.
    pub fn path(&self) -> PathBuf {
        self.directory.path().join("image")
    }
}

/// An attached loop device with direct I/O.
#[derive(Debug)]
pub struct LoopDevice {
    path: PathBuf,
    /// Dropped after the device is detached.
    kept: Option<Image>,
}

impl LoopDevice {
    /// Attaches a device to a file or device that the caller keeps; `options` are those of losetup.
    #[track_caller]
    pub fn on(backing: &Path, options: &[&str]) -> LoopDevice {
        let mut arguments: Vec<&OsStr> = ["-f", "--show", "--direct-io=on"].map(OsStr::new).to_vec();
        arguments.extend(options.iter().map(OsStr::new));
        arguments.push(backing.as_os_str());
        LoopDevice { path: tool("losetup", &arguments).into(), kept: None }
    }

    /// Attaches a device to a file whose file system does not support direct I/O.
    #[track_caller]
    pub fn buffered(backing: &Path) -> LoopDevice {
        let arguments = ["-f".as_ref(), "--show".as_ref(), backing.as_os_str()];
        LoopDevice { path: tool("losetup", &arguments).into(), kept: None }
    }

    /// Attaches a device to an image, which it then owns.
    #[track_caller]
    pub fn of(image: Image, options: &[&str]) -> LoopDevice {
        let mut device = LoopDevice::on(&image.path(), options);
        device.kept = Some(image);
        device
    }

    /// Attaches a device to an image of random data.
    #[track_caller]
    pub fn random(mebibytes: u64) -> LoopDevice {
        LoopDevice::of(Image::random(mebibytes), &[])
    }

    /// `/dev/loopN`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `loopN`.
    pub fn name(&self) -> &str {
        self.path.file_name().and_then(OsStr::to_str).expect("/dev/loopN")
    }

    /// The path as text, for command lines.
    pub fn text(&self) -> &str {
        self.path.to_str().expect("/dev/loopN")
    }

    /// Sets or clears the device's read-only flag.
    #[track_caller]
    pub fn set_read_only(&self, read_only: bool) {
        tool("blockdev", &[if read_only { "--setro" } else { "--setrw" }, self.text()]);
    }

    /// Adds a partition; sizes are in MiB. It is removed when the value is dropped.
    #[track_caller]
    pub fn partition(&self, index: u32, start: u64, size: u64) -> Partition {
        let sectors = |mebibytes: u64| (mebibytes << 11).to_string();
        tool("addpart", &[self.text(), &index.to_string(), &sectors(start), &sectors(size)]);
        let path = PathBuf::from(format!("{}p{index}", self.text()));
        assert!(path.exists(), "{} was not made", path.display());
        Partition { disk: self.path.clone(), index, path }
    }

    /// Reads all of its bytes, bypassing caches.
    #[track_caller]
    pub fn bytes(&self) -> Vec<u8> {
        tool("blockdev", &["--flushbufs", self.text()]);
        fs::read(&self.path).expect("a readable device")
    }

    /// Reads the bytes of a range.
    #[track_caller]
    pub fn bytes_at(&self, offset: u64, length: u64) -> Vec<u8> {
        tool("blockdev", &["--flushbufs", self.text()]);
        let mut bytes = vec![0; length as usize];
        let device = File::open(&self.path).expect("a readable device");
        device.read_exact_at(&mut bytes, offset).expect("a readable range");
        bytes
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        undo("losetup", &["-d".as_ref(), self.path.as_ref()]);
        // A device still open is detached only when it is closed.
        let attached = PathBuf::from(format!("/sys/block/{}/loop/backing_file", self.name()));
        let since = Instant::now();
        while attached.exists() && since.elapsed() < DETACHED_AFTER {
            std::thread::sleep(Duration::from_millis(20));
        }
        if attached.exists() {
            eprintln!("{} is still open somewhere", self.path.display());
        }
    }
}

/// A partition of a loop device, which must be dropped before the device.
#[derive(Debug)]
pub struct Partition {
    disk: PathBuf,
    index: u32,
    path: PathBuf,
}

impl Partition {
    /// `/dev/loopNpM`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `loopNpM`.
    pub fn name(&self) -> &str {
        self.path.file_name().and_then(OsStr::to_str).expect("/dev/loopNpM")
    }
}

impl Drop for Partition {
    fn drop(&mut self) {
        let index = self.index.to_string();
        let arguments: [&OsStr; 2] = [self.disk.as_ref(), index.as_ref()];
        // After a killed program has ended, the kernel closes its io_uring files with a delay.
        let since = Instant::now();
        let removed =
            || Command::new("delpart").args(arguments).output().is_ok_and(|output| output.status.success());
        while since.elapsed() < DETACHED_AFTER {
            if removed() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        undo("delpart", &arguments);
    }
}

/// A mounted file system.
#[derive(Debug)]
pub struct Mounted {
    directory: TempDir,
}

impl Mounted {
    /// Mounts a device with options of mount, `rw` for none.
    #[track_caller]
    pub fn new(device: &Path, options: &str) -> Mounted {
        let directory = tempfile::tempdir().expect("a temporary directory");
        tool("mount", &["-o".as_ref(), options.as_ref(), device.as_os_str(), directory.path().as_os_str()]);
        Mounted { directory }
    }

    /// Mounts a new ramfs, whose files have neither direct I/O nor hole punching.
    #[track_caller]
    pub fn ramfs() -> Mounted {
        Mounted::in_memory("ramfs")
    }

    /// Mounts a new tmpfs, which accepts `O_DIRECT` and keeps everything in memory.
    #[track_caller]
    pub fn tmpfs() -> Mounted {
        Mounted::in_memory("tmpfs")
    }

    /// Mounts an overlay in which writes to files of `lower` go to `upper`; `work` is empty and beside `upper`. An
    /// error if there is no overlayfs.
    pub fn overlay(lower: &Path, upper: &Path, work: &Path) -> Result<Mounted, String> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let options =
            format!("lowerdir={},upperdir={},workdir={}", lower.display(), upper.display(), work.display());
        let mounted = Command::new("mount")
            .args(["-t", "overlay", "overlay", "-o", &options])
            .arg(directory.path())
            .output();
        match mounted.map_err(|error| error.to_string())? {
            output if output.status.success() => Ok(Mounted { directory }),
            output => Err(format!("overlayfs: {}", String::from_utf8_lossy(&output.stderr).trim())),
        }
    }

    #[track_caller]
    fn in_memory(kind: &str) -> Mounted {
        let directory = tempfile::tempdir().expect("a temporary directory");
        tool("mount", &["-t", kind, "none", directory.path().to_str().expect("a path in UTF-8")]);
        Mounted { directory }
    }

    /// Mounts the same file system, or a directory of it, at a second place.
    #[track_caller]
    pub fn bound(directory: &Path) -> Mounted {
        Mounted::new(directory, "bind")
    }

    /// Mount point.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        undo("umount", &[self.path().as_ref()]);
    }
}

/// Swap space in use.
#[derive(Debug)]
pub struct Swap {
    path: PathBuf,
}

impl Swap {
    /// Creates and enables it.
    #[track_caller]
    pub fn on(path: &Path) -> Swap {
        tool("mkswap", &[path]);
        Swap::again(path)
    }

    /// Enables swap space created before.
    #[track_caller]
    pub fn again(path: &Path) -> Swap {
        tool("swapon", &[path]);
        Swap { path: path.to_owned() }
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        undo("swapoff", &[self.path.as_ref()]);
    }
}
