//! Real targets for tests. Each is undone when it is dropped, also when the test fails.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Ends a test early, with one line that says why, where this machine lacks something.
#[macro_export]
macro_rules! needs_root {
    ($($program:literal),* $(,)?) => {
        if let Some(why) = lab::lacks(&["losetup", $($program),*]) {
            println!("SKIPPED: {why}");
            return;
        }
    };
}

/// What a test that attaches loop devices and runs these programs would lack.
pub fn lacks(programs: &[&str]) -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("loop devices need root".to_owned());
    }
    let missing = programs.iter().find(|program| {
        let answer =
            Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        answer.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    });
    missing.map(|program| format!("{program} is not installed"))
}

/// Runs a program and returns what it prints.
pub fn run<S: AsRef<OsStr>>(program: &str, arguments: &[S]) -> String {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Undoes something; a failure is told, but does not hide that of the test.
fn undo(program: &str, arguments: &[&OsStr]) {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    match output {
        Ok(output) if output.status.success() => {}
        Ok(output) => eprintln!("{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => eprintln!("{program} {arguments:?}: {error}"),
    }
}

/// A file full of random data, in a directory of its own.
pub struct Image {
    directory: tempfile::TempDir,
}

impl Image {
    pub fn random(mebibytes: u64) -> Self {
        let image = Self { directory: tempfile::tempdir().unwrap() };
        let mut random = File::open("/dev/urandom").unwrap().take(mebibytes << 20);
        let mut file = File::create(image.path()).unwrap();
        io::copy(&mut random, &mut file).unwrap();
        file.sync_all().unwrap();
        image
    }

    /// Without content: for file systems that want more room than a test wants to write.
    pub fn sparse(mebibytes: u64) -> Self {
        let image = Self { directory: tempfile::tempdir().unwrap() };
        File::create(image.path()).unwrap().set_len(mebibytes << 20).unwrap();
        image
    }

    pub fn path(&self) -> PathBuf {
        self.directory.path().join("image")
    }
}

/// An attached loop device.
pub struct Loop {
    path: PathBuf,
}

impl Loop {
    pub fn attach(backing: &Path, options: &[&str]) -> Self {
        let mut arguments = vec!["-f".as_ref(), "--show".as_ref(), "--direct-io=on".as_ref()];
        arguments.extend(options.iter().map(OsStr::new));
        arguments.push(backing.as_os_str());
        Self { path: run("losetup", &arguments).into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn name(&self) -> &str {
        self.path.file_name().unwrap().to_str().unwrap()
    }

    /// Adds a partition, sizes in MiB. It goes with the device.
    pub fn partition(&self, index: u32, start: u64, size: u64) -> Partition<'_> {
        let sectors = |mebibytes: u64| (mebibytes << 11).to_string();
        let arguments = [self.path.to_str().unwrap(), &index.to_string(), &sectors(start), &sectors(size)];
        run("addpart", &arguments);
        let path = PathBuf::from(format!("{}p{index}", self.path.display()));
        assert!(path.exists(), "{} was not made", path.display());
        Partition { disk: self, index, path }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        undo("losetup", &["-d".as_ref(), self.path.as_ref()]);
    }
}

/// A partition of a loop device.
pub struct Partition<'a> {
    disk: &'a Loop,
    index: u32,
    path: PathBuf,
}

impl Partition<'_> {
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Partition<'_> {
    fn drop(&mut self) {
        undo("delpart", &[self.disk.path.as_ref(), self.index.to_string().as_ref()]);
    }
}

/// A mounted file system.
pub struct Mounted {
    directory: tempfile::TempDir,
}

impl Mounted {
    pub fn new(device: &Path, options: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        run("mount", &["-o".as_ref(), options.as_ref(), device.as_os_str(), directory.path().as_os_str()]);
        Self { directory }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        undo("umount", &[self.path().as_ref()]);
    }
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

/// Swap space in use.
pub struct Swap {
    path: PathBuf,
}

impl Swap {
    pub fn on(path: &Path) -> Self {
        run("mkswap", &[path]);
        run("swapon", &[path]);
        Self { path: path.to_owned() }
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        undo("swapoff", &[self.path.as_ref()]);
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
