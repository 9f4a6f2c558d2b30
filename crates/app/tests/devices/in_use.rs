//! Every way of being in use that this kernel offers: each is made for real, refused with its own reason, and free
//! again afterwards. Those that need device mapper, MD or bcache are in `vm.rs`.

use crate::common::*;
use crate::guard::{assert_refused, assert_says, hash};
use iosonar_testkit::{
    Image, Lab, LoopDevice, Mounted, MountedElsewhere, MountedNowhere, Partition, Swap, Zram,
    open_exclusively, tool,
};
use std::any::Any;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

/// Objects that a test created, undone in the reverse order.
#[derive(Default)]
struct Stack(Vec<Box<dyn Any>>);

impl Stack {
    fn push(&mut self, made: impl Any) {
        self.0.push(Box::new(made));
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        while self.0.pop().is_some() {}
    }
}

/// A target in use.
struct Situation {
    target: PathBuf,
    /// Where a write would land.
    bytes: PathBuf,
    /// Values of the capital words in the reason.
    words: Vec<(&'static str, String)>,
    usage: Stack,
    /// The target itself, and the objects it needs.
    lab: Stack,
}

impl Situation {
    /// Creates a situation with a device as the target, on a file.
    fn of(target: &Path, image: &Path) -> Situation {
        let (usage, lab) = (Stack::default(), Stack::default());
        Situation { target: target.into(), bytes: image.into(), words: Vec::new(), usage, lab }
    }

    fn word(mut self, word: &'static str, stands_for: impl Into<String>) -> Situation {
        self.words.push((word, stands_for.into()));
        self
    }

    fn used_by(mut self, usage: impl Any) -> Situation {
        self.usage.push(usage);
        self
    }

    fn kept_by(mut self, lab: impl Any) -> Situation {
        self.lab.push(lab);
        self
    }

    fn reason(&self, pattern: &str) -> String {
        self.words.iter().fold(pattern.to_owned(), |text, (word, it)| text.replace(word, it))
    }
}

/// One way of being in use, by the name and with the reason that docs/safety.md gives.
struct Way {
    name: &'static str,
    reason: &'static str,
    make: fn() -> Option<Situation>,
}

const fn way(name: &'static str, reason: &'static str, make: fn() -> Option<Situation>) -> Way {
    Way { name, reason, make }
}

const UNSEEN: &str =
    "DEVICE is claimed exclusively by the kernel or by a program that can't be seen from here";
const CLAIMED: &str =
    "DEVICE is claimed exclusively by the kernel or by a program: process PROCESS (PROGRAM) has OPENED open";

const WAYS: [Way; 29] = [
    way("mounted", "DEVICE is mounted on DIRECTORY", || Some(mounted("rw"))),
    way("mounted read-only", "DEVICE is mounted on DIRECTORY", || Some(mounted("ro"))),
    way("mounted in two places, the first of them gone", "DEVICE is mounted on DIRECTORY", bound),
    way("a partition of it is mounted", "PARTITION is mounted on DIRECTORY", mounted_partition),
    way("its disk is mounted as a whole", "DISK is mounted on DIRECTORY", mounted_disk),
    way(
        "mounted in the mount namespace of a process",
        "DEVICE is mounted on DIRECTORY in the mount namespace of process PROCESS",
        mounted_elsewhere,
    ),
    way("mounted in a mount namespace without a process", UNSEEN, mounted_nowhere),
    way("unmounted lazily, with a file still open", UNSEEN, unmounted_lazily),
    way("the second device of a mounted btrfs", "DEVICE belongs to the mounted btrfs UUID", btrfs),
    way("the log of a mounted XFS", "DEVICE serves the file system that is mounted on DIRECTORY", log_of_xfs),
    way("the journal of a mounted ext4", UNSEEN, journal_of_ext4),
    way("swap space", "DEVICE is swap space", swap),
    way("a partition of it is swap space", "PARTITION is swap space", swap_partition),
    way("a swap file", "FILE is swap space", swap_file),
    way("a loop device on a swap file", "FILE is swap space", loop_on_swap_file),
    way("zram as swap space", "DEVICE is swap space", zram_as_swap),
    way("zram with a mounted file system", "DEVICE is mounted on DIRECTORY", mounted_zram),
    way("a file below a loop device", "FILE carries LOOP", || Some(file_below_a_loop(|path| path.into()))),
    way("a file below a mounted loop device", "FILE carries LOOP", file_below_a_mounted_loop),
    way("a file below a loop device, by another name", "FILE carries LOOP", file_by_another_name),
    way("a device below a loop device", "DEVICE carries LOOP", device_below_a_loop),
    way("a partition of it is below a loop device", "PARTITION carries LOOP", partition_below_a_loop),
    way("a loop device on a mounted device", "DEVICE is mounted on DIRECTORY", loop_on_a_mounted_device),
    way("a loop device beside another on the same file", "FILE carries LOOP", loop_beside_a_loop),
    way("claimed by a program", CLAIMED, claimed),
    way("a partition of it is claimed", CLAIMED, claimed_partition),
    way("its disk is claimed as a whole", CLAIMED, claimed_disk),
    way("a run of iosonar writes to it", CLAIMED, another_run),
    way("a run of iosonar writes to a partition of it", CLAIMED, run_on_a_partition),
];

#[test]
fn rejects_every_kind_of_use_with_its_reason() {
    needs!("mkfs.ext4", "mkfs.xfs", "mkfs.btrfs", "mkswap", "swapon", "unshare", "addpart", "delpart");
    for Way { name, reason, make } in WAYS {
        let Some(situation) = make() else {
            iosonar_testkit::skip(name, "this kernel has no zram");
            continue;
        };
        let reason = situation.reason(reason);
        println!("{name}: {reason}");
        assert_says(&assert_refused(&situation.target, &situation.bytes), &reason);
        let Situation { target, usage, lab, .. } = situation;
        drop(usage);
        assert_free(&target, name);
        drop(lab);
    }
}

/// Asserts that a target no longer in use is not refused: a run on it ends well.
fn assert_free(target: &Path, name: &str) {
    let lab = lab();
    lab.file("load", load_text(&conflicting(20, 4096, 16, 0)));
    let command = format!("replay load -t {} --destroy --start-grace 0 -o out", target.display());
    let mut ended = lab.run(&command);
    // A user may keep the target for a moment: a process that ends, or the kernel.
    for _ in 0..20 {
        // 4: the devices are made of sparse files, or of memory.
        if [0, 4].contains(&ended.code) {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
        ended = lab.run(&command);
    }
    assert!([0, 4].contains(&ended.code), "{name}: {}", ended.err);
}

#[test]
fn safety_page_lists_every_kind_of_use() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/safety.md");
    let page = std::fs::read_to_string(page).unwrap();
    let ways = WAYS.iter().map(|way| (way.name, way.reason));
    for (name, reason) in ways.chain(crate::vm::WAYS) {
        let line = page.lines().find(|line| line.starts_with(&format!("| {name} | ")));
        let line = line.unwrap_or_else(|| panic!("docs/safety.md does not list: {name}"));
        assert!(line.contains(reason), "docs/safety.md does not say {reason:?} of: {name}");
    }
}

const EXT4: [&str; 4] = ["-q", "-F", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"];

fn mkfs(options: &[&str], device: &Path) {
    tool("mkfs.ext4", &[&EXT4, options, &[device.to_str().unwrap()]].concat());
}

fn name(device: &Path) -> String {
    device.file_name().unwrap().to_str().unwrap().to_owned()
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// A free loop device as the target.
fn on_loop(mebibytes: u64) -> (LoopDevice, Situation) {
    let image = Image::sparse(mebibytes);
    let device = LoopDevice::on(&image.path(), &[]);
    let situation = Situation::of(device.path(), &image.path()).word("DEVICE", device.name());
    (device, situation.kept_by(image))
}

/// A disk with two partitions, which go before it.
struct Disk {
    first: Partition,
    second: Partition,
    whole: LoopDevice,
}

/// A free disk with partitions as the target.
fn on_disk() -> (Disk, Situation) {
    let (whole, situation) = on_loop(64);
    let disk = Disk { first: whole.partition(1, 1, 24), second: whole.partition(2, 32, 24), whole };
    let situation = situation.word("PARTITION", disk.first.name()).word("DISK", disk.whole.name());
    (disk, situation)
}

fn mount(situation: Situation, device: &Path, options: &str) -> Situation {
    let mounted = Mounted::new(device, options);
    situation.word("DIRECTORY", text(mounted.path())).used_by(mounted)
}

fn mounted(options: &str) -> Situation {
    let (device, situation) = on_loop(16);
    mkfs(&[], device.path());
    mount(situation, device.path(), options).kept_by(device)
}

fn bound() -> Option<Situation> {
    let (device, situation) = on_loop(16);
    mkfs(&[], device.path());
    let first = Mounted::new(device.path(), "rw");
    let second = Mounted::bound(first.path());
    drop(first);
    Some(situation.word("DIRECTORY", text(second.path())).used_by(second).kept_by(device))
}

fn mounted_partition() -> Option<Situation> {
    let (disk, situation) = on_disk();
    mkfs(&[], disk.first.path());
    Some(mount(situation, disk.first.path(), "rw").kept_by(disk))
}

fn mounted_disk() -> Option<Situation> {
    let (disk, mut situation) = on_disk();
    mkfs(&[], disk.whole.path());
    situation.target = disk.first.path().into();
    Some(mount(situation, disk.whole.path(), "rw").kept_by(disk))
}

fn mounted_elsewhere() -> Option<Situation> {
    let (device, situation) = on_loop(16);
    mkfs(&[], device.path());
    let elsewhere = MountedElsewhere::new(device.path());
    let situation = situation.word("DIRECTORY", text(elsewhere.path()));
    Some(situation.word("PROCESS", elsewhere.process().to_string()).used_by(elsewhere).kept_by(device))
}

fn mounted_nowhere() -> Option<Situation> {
    let (device, situation) = on_loop(16);
    mkfs(&[], device.path());
    let nowhere = MountedNowhere::new(device.path());
    Some(situation.used_by(nowhere).kept_by(device))
}

fn unmounted_lazily() -> Option<Situation> {
    let (device, situation) = on_loop(16);
    mkfs(&[], device.path());
    let directory = tempfile::tempdir().unwrap();
    tool("mount", &[device.path(), directory.path()]);
    let open = File::create(directory.path().join("open")).unwrap();
    tool("umount", &["-l".as_ref(), directory.path()]);
    Some(situation.kept_by(directory).used_by(open).kept_by(device))
}

fn btrfs() -> Option<Situation> {
    let (second, situation) = on_loop(128);
    let first = LoopDevice::of(Image::sparse(128), &[]);
    tool("mkfs.btrfs", &["-q", "-f", "-K", "-M", "-d", "raid0", "-m", "raid0", first.text(), second.text()]);
    let uuid = tool("blkid", &["-p", "-o", "value", "-s", "UUID", first.text()]);
    let options = format!("device={},device={}", first.text(), second.text());
    Some(mount(situation.word("UUID", uuid), first.path(), &options).kept_by(first).kept_by(second))
}

fn log_of_xfs() -> Option<Situation> {
    let (log, situation) = on_loop(320);
    let data = LoopDevice::of(Image::sparse(320), &[]);
    let option = format!("logdev={},size=128m", log.text());
    tool("mkfs.xfs", &["-q", "-f", "-K", "-l", &option, data.text()]);
    Some(mount(situation, data.path(), &format!("logdev={}", log.text())).kept_by(data).kept_by(log))
}

fn journal_of_ext4() -> Option<Situation> {
    let (journal, situation) = on_loop(16);
    let data = LoopDevice::of(Image::sparse(32), &[]);
    mkfs(&["-b", "4096", "-O", "journal_dev"], journal.path());
    mkfs(&["-b", "4096", "-J", &format!("device={}", journal.text())], data.path());
    Some(mount(situation, data.path(), "rw").kept_by(data).kept_by(journal))
}

fn swap() -> Option<Situation> {
    let (device, situation) = on_loop(8);
    let swap = Swap::on(device.path());
    Some(situation.used_by(swap).kept_by(device))
}

fn swap_partition() -> Option<Situation> {
    let (disk, situation) = on_disk();
    let swap = Swap::on(disk.first.path());
    Some(situation.used_by(swap).kept_by(disk))
}

/// A file for swap space on a new ext4, since not every file system can swap on files. It is not yet in use.
fn file_to_swap_on() -> (PathBuf, Situation) {
    let device = LoopDevice::of(Image::sparse(32), &[]);
    mkfs(&[], device.path());
    let mounted = Mounted::new(device.path(), "rw");
    let file = mounted.path().join("swap");
    std::fs::write(&file, vec![0; 8 << 20]).unwrap();
    tool("chmod", &["600".as_ref(), file.as_os_str()]);
    let situation = Situation::of(&file, &file).word("FILE", text(&file));
    (file, situation.kept_by(device).kept_by(mounted))
}

fn swap_file() -> Option<Situation> {
    let (file, situation) = file_to_swap_on();
    Some(situation.used_by(Swap::on(&file)))
}

fn loop_on_swap_file() -> Option<Situation> {
    let (file, mut situation) = file_to_swap_on();
    let device = LoopDevice::on(&file, &[]);
    situation.target = device.path().into();
    Some(situation.used_by(Swap::on(&file)).kept_by(device))
}

fn zram_as_swap() -> Option<Situation> {
    let zram = Zram::new(16)?;
    let swap = Swap::on(&zram.path());
    let situation = Situation::of(&zram.path(), &zram.path()).word("DEVICE", name(&zram.path()));
    Some(situation.used_by(swap).kept_by(zram))
}

fn mounted_zram() -> Option<Situation> {
    let zram = Zram::new(16)?;
    mkfs(&[], &zram.path());
    let situation = Situation::of(&zram.path(), &zram.path()).word("DEVICE", name(&zram.path()));
    Some(mount(situation, &zram.path(), "rw").kept_by(zram))
}

fn file_below_a_loop(target: fn(&Path) -> PathBuf) -> Situation {
    let image = Image::sparse(8);
    let device = LoopDevice::on(&image.path(), &[]);
    let target = target(&image.path());
    let resolved = target.canonicalize().unwrap();
    let situation = Situation::of(&target, &image.path()).word("FILE", text(&resolved));
    situation.word("LOOP", device.name()).used_by(device).kept_by(image)
}

fn file_by_another_name() -> Option<Situation> {
    Some(file_below_a_loop(|image| {
        let other = image.with_file_name("other name");
        std::fs::hard_link(image, &other).unwrap();
        let link = image.with_file_name("link");
        std::os::unix::fs::symlink(other, &link).unwrap();
        link
    }))
}

fn file_below_a_mounted_loop() -> Option<Situation> {
    let image = Image::sparse(16);
    let device = LoopDevice::on(&image.path(), &[]);
    mkfs(&[], device.path());
    let situation = Situation::of(&image.path(), &image.path()).word("FILE", text(&image.path()));
    let mounted = Mounted::new(device.path(), "rw");
    Some(situation.word("LOOP", device.name()).used_by(device).used_by(mounted).kept_by(image))
}

fn device_below_a_loop() -> Option<Situation> {
    let (device, situation) = on_loop(8);
    let above = LoopDevice::on(device.path(), &[]);
    Some(situation.word("LOOP", above.name()).used_by(above).kept_by(device))
}

fn partition_below_a_loop() -> Option<Situation> {
    let (disk, situation) = on_disk();
    let above = LoopDevice::on(disk.first.path(), &[]);
    Some(situation.word("LOOP", above.name()).used_by(above).kept_by(disk))
}

fn loop_on_a_mounted_device() -> Option<Situation> {
    let (device, mut situation) = on_loop(16);
    mkfs(&[], device.path());
    let above = LoopDevice::on(device.path(), &[]);
    situation.target = above.path().into();
    Some(mount(situation, device.path(), "rw").kept_by(device).kept_by(above))
}

fn loop_beside_a_loop() -> Option<Situation> {
    let image = Image::sparse(8);
    let (device, other) = (LoopDevice::on(&image.path(), &[]), LoopDevice::on(&image.path(), &[]));
    let situation = Situation::of(device.path(), &image.path()).word("FILE", text(&image.path()));
    Some(situation.word("LOOP", other.name()).used_by(other).kept_by(image).kept_by(device))
}

/// The process that holds a claim.
fn claimant(situation: Situation, process: u32, opened: &str) -> Situation {
    let program = std::fs::read_to_string(format!("/proc/{process}/comm")).unwrap();
    let situation = situation.word("PROCESS", process.to_string()).word("PROGRAM", program.trim());
    situation.word("OPENED", opened)
}

fn claimed() -> Option<Situation> {
    let (device, situation) = on_loop(8);
    let claim = open_exclusively(device.path()).unwrap();
    Some(claimant(situation, std::process::id(), device.name()).used_by(claim).kept_by(device))
}

fn claimed_partition() -> Option<Situation> {
    let (disk, situation) = on_disk();
    let claim = open_exclusively(disk.first.path()).unwrap();
    let situation = claimant(situation, std::process::id(), disk.first.name());
    Some(situation.used_by(claim).kept_by(disk))
}

fn claimed_disk() -> Option<Situation> {
    let (disk, mut situation) = on_disk();
    situation.target = disk.first.path().into();
    situation.words.retain(|(word, _)| *word != "DEVICE");
    let claim = open_exclusively(disk.whole.path()).unwrap();
    let situation =
        claimant(situation, std::process::id(), disk.whole.name()).word("DEVICE", disk.first.name());
    Some(situation.used_by(claim).kept_by(disk))
}

/// A run that waits for its first request, in a new directory.
struct Run {
    child: Child,
    lab: Lab,
}

impl Run {
    fn on(device: &Path) -> Run {
        let lab = lab();
        lab.file("load", load_text(&conflicting(20, 4096, 16, 0)));
        let command = format!("replay load -t {} --destroy --start-grace 60 -o out", device.display());
        let child = lab.command(&command).spawn().unwrap();
        let run = Run { child, lab };
        until("the run", || run.lab.path("out/series.csv").exists());
        run
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn another_run() -> Option<Situation> {
    let (device, situation) = on_loop(8);
    let run = Run::on(device.path());
    Some(claimant(situation, run.child.id(), device.name()).used_by(run).kept_by(device))
}

fn run_on_a_partition() -> Option<Situation> {
    let (disk, situation) = on_disk();
    let run = Run::on(disk.first.path());
    let situation = claimant(situation, run.child.id(), disk.first.name());
    Some(situation.used_by(run).kept_by(disk))
}

#[test]
fn rejects_two_targets_sharing_blocks() {
    needs!("addpart", "delpart");
    let (disk, situation) = on_disk();
    let lab = lab();
    lab.file("load", load_text(&conflicting(20, 4096, 16, 0)));
    let command = "replay load --destroy --start-grace 0 -o out";
    let targets = format!("-t {} -t {}", disk.whole.text(), disk.first.path().display());
    let refused = lab.expect(2, &format!("{command} {targets}"));
    let says = format!("this run has {} open for another target, so remove one", disk.whole.name());
    assert_says(&refused, &says);
    assert!(!lab.path("out").exists());
    // Neighbours share nothing.
    lab.expect(
        0,
        &format!("{command} -t {} -t {}", disk.first.path().display(), disk.second.path().display()),
    );
    drop(disk);
    drop(situation);
}

/// The way from a file to the device that holds its file system is no way to write: only the file is written.
#[test]
fn writing_an_unused_file_on_mounted_device_is_allowed() {
    needs!("mkfs.ext4");
    let device = LoopDevice::of(Image::sparse(32), &[]);
    mkfs(&[], device.path());
    let mounted = Mounted::new(device.path(), "rw");
    let file = mounted.path().join("free");
    std::fs::write(&file, vec![1; 4 << 20]).unwrap();
    let before = hash(&file);
    assert_free(&file, "a free file");
    assert!(hash(&file) != before);
}
