//! Scratch file systems on real loop devices, as root.

use iosonar_host::{Root, loop_files, mount_points};
use iosonar_os::Buffer;
use iosonar_os::extents::Extents;
use iosonar_scratch::{Age, FsKind, Leftovers, Scratch, ScratchError, Spec};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Directory for the file system of a process that these tests start and kill.
const CHILD: &str = "IOSONAR_SCRATCH_TEST_CHILD";

/// Ends a test early, with one line that states the reason, if this machine lacks something. Otherwise the test runs
/// alone: a program that another test starts has a copy of every descriptor for the moment between fork and exec,
/// including the lock's.
macro_rules! needs_root {
    ($($program:literal),*) => {
        if let Some(why) = iosonar_testkit::lacks(&["mount", $($program),*]) {
            println!("SKIPPED: {why}");
            return;
        }
        let _alone = alone();
    };
}

fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A directory with a blank in its name, which is not in memory.
fn parent() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("scratch of tests ").tempdir_in("/var/tmp").unwrap()
}

fn spec(kind: FsKind, mebibytes: u64) -> Spec {
    Spec { kind, size: mebibytes << 20, mkfs_options: Vec::new(), mount_options: String::new() }
}

/// Mounts and loop devices below a path.
fn shown(path: &Path) -> Vec<PathBuf> {
    let path = path.canonicalize().unwrap();
    let root = Root::default();
    let loops = loop_files(&root).unwrap().into_iter().map(|it| it.file);
    mount_points(&root).unwrap().into_iter().chain(loops).filter(|it| it.starts_with(&path)).collect()
}

/// Asserts that a directory has no mounts and loop devices below it. Other programs may have a device open briefly.
#[track_caller]
fn assert_nothing_left(parent: &Path) {
    let end = Instant::now() + Duration::from_secs(5);
    while !shown(parent).is_empty() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(shown(parent), [""; 0].map(PathBuf::from));
    assert_eq!(fs::read_dir(parent).unwrap().count(), 0);
}

fn lives(kind: FsKind, mount_options: &str) {
    let parent = parent();
    let mut scratch = Scratch::create(parent.path()).unwrap();
    assert_eq!(scratch.path().metadata().unwrap().permissions().mode() & 0o777, 0o700);
    let spec = Spec { mount_options: mount_options.into(), ..spec(kind, 320) };
    let point = scratch.add("one", &spec).unwrap();
    assert!(scratch.is_direct());
    assert!(matches!(scratch.add("one", &spec), Err(ScratchError::Io { .. })));
    assert_eq!(shown(parent.path()).len(), 2);
    fs::write(point.join("file"), "content").unwrap();
    scratch.remount("one").unwrap();
    assert_eq!(fs::read(point.join("file")).unwrap(), b"content");
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let line = table.lines().find(|line| line.contains("scratch\\040of\\040tests")).unwrap();
    assert!(mount_options.split(',').all(|option| line.contains(option)), "{line}");
    assert!(matches!(scratch.remount("two"), Err(ScratchError::UnknownName(_))));
    scratch.remove().unwrap();
    assert_nothing_left(parent.path());
}

#[test]
fn xfs_is_created_used_and_removed() {
    needs_root!("mkfs.xfs");
    lives(FsKind::Xfs, "noatime,allocsize=64k");
}

#[test]
fn ext4_is_created_used_and_removed() {
    needs_root!("mkfs.ext4");
    lives(FsKind::Ext4, "noatime");
}

#[test]
fn btrfs_is_created_used_and_removed() {
    needs_root!("mkfs.btrfs");
    lives(FsKind::Btrfs, "");
}

#[test]
fn failed_creation_leaves_nothing() {
    needs_root!("mkfs.ext4");
    let parent = parent();
    let mut scratch = Scratch::create(parent.path()).unwrap();
    let bad = |change: &dyn Fn(&mut Spec)| {
        let mut spec = spec(FsKind::Ext4, 32);
        change(&mut spec);
        spec
    };
    let wrong = [
        (bad(&|spec| spec.mkfs_options = vec!["--nonsense".into()]), "mkfs.ext4 -q -E"),
        (bad(&|spec| spec.mount_options = "nonsense".into()), "mount -t ext4 -o nonsense"),
        (bad(&|spec| spec.size = 1 << 62), "the file system cannot hold"),
        (bad(&|spec| spec.size = 1 << 20), "1MiB is too small"),
    ];
    for (spec, says) in wrong {
        let error = scratch.add("one", &spec).unwrap_err().to_string();
        assert!(error.starts_with(says), "{error}");
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1, "{error}");
        assert_eq!(shown(parent.path()), [""; 0].map(PathBuf::from));
    }
    for name in ["", "lock", "a/b", "..", "a.img"] {
        assert!(matches!(scratch.add(name, &spec(FsKind::Ext4, 32)), Err(ScratchError::BadName(_))));
    }
    drop(scratch);
    assert_nothing_left(parent.path());
}

#[test]
fn removing_busy_file_systems_fails_but_detaches_them() {
    needs_root!("mkfs.ext4");
    let parent = parent();
    let mut scratch = Scratch::create(parent.path()).unwrap();
    let point = scratch.add("one", &spec(FsKind::Ext4, 32)).unwrap();
    let used = File::open(&point).unwrap();
    let error = scratch.remove().unwrap_err().to_string();
    assert!(error.contains("this process has"), "{error}");
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    drop(used);
    assert_nothing_left(parent.path());

    let mut scratch = Scratch::create(parent.path()).unwrap();
    let point = scratch.add("one", &spec(FsKind::Ext4, 32)).unwrap();
    let used = File::open(&point).unwrap();
    let remover = scratch.remover();
    std::thread::spawn(move || [remover.at_once(), remover.at_once()].map(Result::unwrap)).join().unwrap();
    assert!(!scratch.path().exists());
    drop(scratch);
    drop(used);
    assert_nothing_left(parent.path());
}

/// The process to be killed. Does nothing as a test.
#[test]
fn child_that_waits_to_be_killed() {
    let Some(parent) = std::env::var_os(CHILD) else { return };
    let mut scratch = Scratch::create(Path::new(&parent)).unwrap();
    let point = scratch.add("one", &spec(FsKind::Ext4, 32)).unwrap();
    fs::write(point.join("file"), "content").unwrap();
    println!("\nmounted {}", scratch.path().display());
    let _ = std::io::stdin().read(&mut [0]);
}

/// Starts a process that has created a file system in `parent`; also returns its directory.
fn child_in(parent: &Path) -> (Child, PathBuf) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_that_waits_to_be_killed", "--nocapture"])
        .env(CHILD, parent)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let dir = lines.find_map(|line| line.strip_prefix("mounted ").map(PathBuf::from)).unwrap();
    (child, dir)
}

/// Removes the leftovers of a directory; returns those removed.
fn removed_from(parent: &Path) -> Vec<PathBuf> {
    let removed = Leftovers::find(parent).unwrap().remove();
    removed.into_iter().map(|(path, removed)| removed.map(|()| path).unwrap()).collect()
}

#[test]
fn removes_leftovers_of_killed_but_not_of_live_processes() {
    needs_root!("mkfs.ext4");
    let (parent, elsewhere) = (parent(), parent());
    let (mut child, dir) = child_in(parent.path());
    assert_eq!(removed_from(parent.path()), [""; 0].map(PathBuf::from));
    assert_eq!(shown(parent.path()).len(), 2);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(removed_from(elsewhere.path()), [""; 0].map(PathBuf::from));
    assert_eq!(shown(parent.path()).len(), 2);
    assert!(Leftovers::find(parent.path()).unwrap().bytes() > 0);
    assert_eq!(removed_from(parent.path()), [dir]);
    assert_nothing_left(parent.path());
}

#[test]
fn keeps_foreign_files_mounts_and_loop_devices() {
    needs_root!("mkfs.ext4");
    let parent = parent();
    let at = |name: &str| parent.path().canonicalize().unwrap().join(name);
    let attach = |image: &Path| {
        File::create(image).unwrap().set_len(1 << 20).unwrap();
        iosonar_testkit::tool("losetup", &["-f".as_ref(), "--show".as_ref(), image.as_os_str()])
    };
    // A foreign directory with a loop device, named like one of a process; one with another name.
    fs::create_dir(at(".iosonar-scratch-1-0")).unwrap();
    let device = attach(&at(".iosonar-scratch-1-0/fs-1.img"));
    fs::create_dir(at(".iosonar-scratch-notes")).unwrap();
    fs::write(at(".iosonar-scratch-notes/text"), "somebody's").unwrap();
    // A foreign file, mount and loop device in the directory of a killed process.
    let (mut child, dir) = child_in(parent.path());
    child.kill().unwrap();
    child.wait().unwrap();
    fs::write(dir.join("text"), "somebody's").unwrap();
    fs::create_dir(dir.join("mine")).unwrap();
    iosonar_testkit::tool(
        "mount",
        &["-t".as_ref(), "tmpfs".as_ref(), "none".as_ref(), dir.join("mine").as_os_str()],
    );
    let inner = attach(&dir.join("vm.img"));
    let removed = Leftovers::find(parent.path()).unwrap().remove();
    let left: Vec<String> = {
        let mut names: Vec<_> = fs::read_dir(&dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let kept = shown(&dir);
    let devices = [&device, &inner].map(|device| {
        fs::metadata(format!("/sys/block/{}/loop", device.trim_start_matches("/dev/"))).is_ok()
    });
    for device in [&device, &inner] {
        iosonar_testkit::tool("losetup", &["-d", device]);
    }
    iosonar_testkit::tool("umount", &[dir.join("mine")]);
    assert!(matches!(&removed[..], [(path, Err(_))] if *path == dir), "{removed:?}");
    assert_eq!(left, ["mine", "text", "vm.img"]);
    assert_eq!(kept, [dir.join("mine"), dir.join("vm.img")]);
    assert_eq!(devices, [true, true]);
    assert_eq!(fs::read(at(".iosonar-scratch-notes/text")).unwrap(), b"somebody's");
}

#[test]
fn image_without_direct_io_support_uses_page_cache() {
    needs_root!("mkfs.ext4");
    let memory = tempfile::tempdir().unwrap();
    iosonar_testkit::tool(
        "mount",
        &["-t".as_ref(), "ramfs".as_ref(), "none".as_ref(), memory.path().as_os_str()],
    );
    let made = Scratch::create(memory.path()).and_then(|mut scratch| {
        let added = scratch.add("one", &spec(FsKind::Ext4, 16));
        let is_direct = scratch.is_direct();
        scratch.remove().and(added).map(|_| is_direct)
    });
    iosonar_testkit::tool("umount", &["-l".as_ref(), memory.path().as_os_str()]);
    assert!(!made.unwrap());
}

/// Number of extents of a file after writes of 256 KiB, with direct I/O or buffered.
fn extents_after_appends(path: &Path, mebibytes: u64, is_direct: bool) -> usize {
    const O_DIRECT: i32 = 0o40000;
    const PIECE: usize = 256 << 10;
    let flags = if is_direct { O_DIRECT } else { 0 };
    let file =
        File::options().read(true).write(true).create_new(true).custom_flags(flags).open(path).unwrap();
    let piece = Buffer::zeroed(PIECE);
    for number in 0..(mebibytes << 20) / PIECE as u64 {
        file.write_all_at(&piece, number * PIECE as u64).unwrap();
    }
    file.sync_all().unwrap();
    let extents: Vec<_> = Extents::of(&file, true).map(Result::unwrap).collect();
    // Contiguous neighbours on the device are one fragment.
    let breaks = extents.windows(2).filter(|pair| pair[0].physical + pair[0].length != pair[1].physical);
    breaks.count() + 1
}

#[test]
fn aged_free_space_fragments_files() {
    needs_root!("mkfs.xfs");
    let parent = parent();
    let mut scratch = Scratch::create(parent.path()).unwrap();
    let aged = scratch.add("aged", &spec(FsKind::Xfs, 1024)).unwrap();
    let fresh = scratch.add("fresh", &spec(FsKind::Xfs, 1024)).unwrap();
    let age: Age = "holes=16,hole=3.75m,spacing=256k".parse().unwrap();
    let made = age.apply(&aged).unwrap();
    assert_eq!(made.holes(), [3_932_160; 16]);
    // Its notes are open; the files stay until their file system is removed.
    drop(made);
    scratch.remount("aged").unwrap();
    let broken = extents_after_appends(&aged.join("file"), 48, true);
    assert!(broken >= 12, "{broken} extents");
    assert_eq!(extents_after_appends(&fresh.join("file"), 48, false), 1);
    drop(scratch);
    assert_nothing_left(parent.path());
}
