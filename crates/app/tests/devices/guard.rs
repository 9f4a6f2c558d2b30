//! The write guard through the binary: targets in use are never touched, and others need `--destroy` to be overwritten.

use crate::common::*;
use iosonar_plan::Op;
use iosonar_testkit::{Ended, Image, LoopDevice, Mounted, Signature, Swap, tool};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::FileExt;
use std::path::Path;

pub fn hash(path: &Path) -> u64 {
    tool("sync", &["-f".as_ref(), path.as_os_str()]);
    let mut hasher = DefaultHasher::new();
    std::fs::read(path).unwrap().hash(&mut hasher);
    hasher.finish()
}

/// Asserts that a replay of writes with `--destroy` exits with 2, makes no result, and leaves `image` unchanged.
pub fn assert_refused(target: &Path, image: &Path) -> Ended {
    let lab = lab();
    lab.file("load", load_text(&conflicting(50, 4096, 16, 0)));
    let before = hash(image);
    let ended =
        lab.expect(2, &format!("replay load -t {} --destroy --start-grace 0 -o out", target.display()));
    assert!(hash(image) == before, "{} was touched", target.display());
    assert!(!lab.path("out").exists());
    assert!(ended.err.contains(target.to_str().unwrap()), "{}", ended.err);
    ended
}

#[track_caller]
pub fn assert_says(ended: &Ended, words: &str) {
    assert!(ended.err.contains(words), "{} lacks {words:?}", ended.err);
}

#[test]
fn rejects_mounted_devices_and_their_disks() {
    needs!("mkfs.ext4", "addpart", "delpart");
    let image = Image::random(64);
    let disk = LoopDevice::on(&image.path(), &[]);
    let mkfs = |path: &Path| {
        tool(
            "mkfs.ext4",
            &[
                "-q".as_ref(),
                "-F".as_ref(),
                "-E".as_ref(),
                "nodiscard,lazy_itable_init=0".as_ref(),
                path.as_os_str(),
            ],
        )
    };
    mkfs(disk.path());
    let mounted = Mounted::new(disk.path(), "rw");
    assert_says(&assert_refused(disk.path(), &image.path()), "is mounted");
    drop(mounted);
    let (first, second) = (disk.partition(1, 1, 16), disk.partition(2, 32, 16));
    mkfs(first.path());
    let mounted = Mounted::new(first.path(), "rw");
    assert_says(&assert_refused(first.path(), &image.path()), "is mounted");
    assert_says(&assert_refused(disk.path(), &image.path()), "is mounted");
    // The neighbour is free, and only it is written.
    let lab = lab();
    lab.file("load", load_text(&conflicting(50, 4096, 16, 0)));
    let mounted_bytes = hash(first.path());
    lab.expect(0, &format!("replay load -t {} --destroy --start-grace 0 -o out", second.path().display()));
    assert!(hash(first.path()) == mounted_bytes);
    drop(mounted);
}

#[test]
fn rejects_swap_and_files_under_loop_devices() {
    needs!("mkswap", "swapon", "swapoff");
    let image = Image::random(8);
    let device = LoopDevice::on(&image.path(), &[]);
    assert_says(&assert_refused(&image.path(), &image.path()), device.name());
    let swap = Swap::on(device.path());
    assert_says(&assert_refused(device.path(), &image.path()), "swap");
    drop(swap);
}

#[test]
fn device_needs_destroy_and_refusal_names_its_content() {
    needs!("mkfs.ext4");
    let device = LoopDevice::random(16);
    tool("mkfs.ext4", &["-q", "-F", "-E", "nodiscard", "-L", "precious", device.text()]);
    let before = device.bytes();
    let lab = lab();
    let lines = conflicting(50, 32_768, 16, 0);
    lab.file("load", load_text(&lines));
    let command = format!("replay load -t {} --start-grace 0 -o out", device.text());
    let refused = lab.expect(2, &command);
    assert_says(&refused, "ext4");
    assert_says(&refused, "--destroy");
    assert_says(&refused, device.text());
    assert!(device.bytes() == before && !lab.path("out").exists());

    // Reads destroy nothing.
    let reads: Vec<Line> = lines.iter().map(|l| Line { op: Op::Read, ..*l }).collect();
    lab.file("reads", load_text(&reads));
    lab.expect(0, &format!("replay reads -t {} --start-grace 0 -o reads.out", device.text()));
    assert_eq!(lab.records("reads.out").len(), 50);
    assert!(device.bytes() == before);

    let replayed = lab.expect(0, &format!("{command} --destroy"));
    assert!(
        replayed.err.contains("will be overwritten") && replayed.err.contains("ext4"),
        "{}",
        replayed.err
    );
    assert!(device.bytes() != before);
}

#[test]
fn run_locks_its_device_against_others() {
    needs!();
    let image = Image::random(8);
    let device = LoopDevice::on(&image.path(), &[]);
    let lab = lab();
    lab.file("load", load_text(&conflicting(50, 4096, 16, 0)));
    let replay = Background::start(
        lab.command(&format!("replay load -t {} --destroy --start-grace 60 -o out", device.text())),
    );
    until("the run", || lab.path("out/series.csv").exists());
    assert_refused(device.path(), &image.path());
    replay.signal("INT");
    assert_eq!(replay.wait().code, 130);
}

/// Creation of a signature: a program, its arguments with DEVICE for the device, and its input.
type Maker = (&'static str, &'static [&'static str], &'static str);

/// Kinds of content, with their names in the refusal.
const MADE: [(Maker, &str); 12] = [
    (
        ("mkfs.xfs", &["--unsupported", "-q", "-f", "-K", "-L", "precious", "DEVICE"], ""),
        "xfs file system \"precious\" (UUID ",
    ),
    (
        ("mkfs.ext4", &["-q", "-F", "-E", "nodiscard", "-L", "precious", "DEVICE"], ""),
        "ext4 file system \"precious\" (UUID ",
    ),
    (
        ("mkfs.btrfs", &["-q", "-K", "-M", "-L", "precious", "DEVICE"], ""),
        "btrfs file system \"precious\" (UUID ",
    ),
    (("mkfs.vfat", &["-n", "PRECIOUS", "DEVICE"], ""), "vfat file system \"PRECIOUS\" (UUID "),
    (("mkswap", &["-q", "-L", "precious", "DEVICE"], ""), "swap \"precious\" (UUID "),
    (
        ("sfdisk", &["-q", "--no-reread", "--no-tell-kernel", "DEVICE"], "label: gpt\n,8M\n"),
        "gpt partition table (UUID ",
    ),
    (
        ("sfdisk", &["-q", "--no-reread", "--no-tell-kernel", "DEVICE"], "label: dos\n,8M\n"),
        "dos partition table (UUID ",
    ),
    (
        ("pvcreate", &["-q", "-ff", "-y", "DEVICE"], ""),
        "LVM2_member (part of a RAID or of a volume group) (UUID ",
    ),
    (
        (
            "cryptsetup",
            &["luksFormat", "-q", "--type", "luks1", "--pbkdf-force-iterations", "1000", "DEVICE", "-"],
            "secret",
        ),
        "crypto_LUKS (encrypted) (UUID ",
    ),
    (
        (
            "cryptsetup",
            &[
                "luksFormat",
                "-q",
                "--type",
                "luks2",
                "--pbkdf",
                "pbkdf2",
                "--pbkdf-force-iterations",
                "1000",
                "--label",
                "precious",
                "DEVICE",
                "-",
            ],
            "secret",
        ),
        "crypto_LUKS (encrypted) \"precious\" (UUID ",
    ),
    (("make-bcache", &["-B", "DEVICE"], ""), "bcache (UUID "),
    (("true", &[], ""), "no known signature found"),
];

/// Asserts that a device is refused without `--destroy`, with this name of its content, and written with it.
fn assert_named(device: &LoopDevice, what: &str, says: &str) {
    let lab = lab();
    lab.file("load", load_text(&conflicting(20, 4096, 16, 0)));
    let command = format!("replay load -t {} --start-grace 0 -o out", device.text());
    let before = device.bytes();
    let refused = lab.expect(2, &command);
    println!("{what}: {}", refused.err.trim());
    assert_says(&refused, &format!(": {says}"));
    assert_says(&refused, "--destroy");
    assert!(device.bytes() == before && !lab.path("out").exists(), "{what} was touched");
    let written = lab.expect_done(&format!("{command} --destroy"));
    assert_says(&written, "will be overwritten");
    assert_says(&written, says);
    assert!(device.bytes() != before, "{what} was not written");
}

fn make((program, arguments, input): Maker, device: &LoopDevice) {
    let arguments = arguments.iter().map(|it| if *it == "DEVICE" { device.text() } else { it });
    iosonar_testkit::tool_reading(program, &arguments.collect::<Vec<_>>(), input);
}

#[test]
fn names_every_kind_of_content_and_needs_destroy() {
    needs!(
        "mkfs.xfs",
        "mkfs.ext4",
        "mkfs.btrfs",
        "mkfs.vfat",
        "mkswap",
        "sfdisk",
        "pvcreate",
        "cryptsetup",
        "make-bcache"
    );
    for (maker, says) in MADE {
        let device = LoopDevice::of(Image::sparse(64), &[]);
        make(maker, &device);
        assert_named(&device, maker.0, says);
    }
}

/// Members of arrays and pools whose tools need a driver that this kernel may lack.
#[test]
fn names_members_without_driver_and_needs_destroy() {
    needs!();
    let members = [
        (Signature::MdMember, "linux_raid_member (part of a RAID or of a volume group) \"lab:0\" (UUID "),
        (Signature::ZfsMember, "zfs_member (part of a pool)"),
    ];
    for (signature, says) in members {
        let image = Image::sparse(64);
        signature.write(&image.path());
        assert_named(&LoopDevice::of(image, &[]), says, says);
    }
}

#[test]
fn names_damaged_signature_as_such() {
    needs!("pvcreate");
    let device = LoopDevice::of(Image::sparse(64), &[]);
    make(MADE[7].0, &device);
    // Within the UUID, which begins 32 bytes after the start of the label in the second sector.
    let file = std::fs::File::options().write(true).open(device.path()).unwrap();
    file.write_all_at(b"!", 512 + 36).unwrap();
    assert_named(
        &device,
        "damaged",
        "LVM2_member (part of a RAID or of a volume group) with a wrong checksum (UUID ",
    );
}

#[test]
fn names_all_signatures_on_a_device() {
    needs!("mkswap", "sfdisk", "mkfs.ext4");
    // mkswap leaves a partition table alone.
    let device = LoopDevice::of(Image::sparse(64), &[]);
    make(MADE[6].0, &device);
    make(MADE[4].0, &device);
    let lab = lab();
    lab.file("load", load_text(&conflicting(20, 4096, 16, 0)));
    let refused = lab.expect(2, &format!("replay load -t {} -o out", device.text()));
    assert_says(&refused, "swap \"precious\" (UUID ");
    assert_says(&refused, " and dos partition table (UUID ");
    // The content of a partition is named with it.
    let partition = device.partition(1, 1, 16);
    tool("mkfs.ext4", &["-q", "-F", "-L", "precious", partition.path().to_str().unwrap()]);
    let refused = lab.expect(2, &format!("replay load -t {} -o out", device.text()));
    assert_says(&refused, &format!("partition {}: ext4 file system \"precious\" (UUID ", partition.name()));
}

#[test]
fn unusual_content_does_not_break_the_guard() {
    needs!();
    let lab = lab();
    lab.file("load", load_text(&conflicting(20, 2048, 16, 0)));
    // Random data, one sector, and a backing file that has shrunk, so that reading fails.
    let random = LoopDevice::random(4);
    let tiny_image = lab.target("tiny", 512);
    let tiny = LoopDevice::on(&tiny_image, &[]);
    let shrunk_image = lab.target("shrunk", 4 << 20);
    let shrunk = LoopDevice::on(&shrunk_image, &[]);
    std::fs::File::options().write(true).open(&shrunk_image).unwrap().set_len(0).unwrap();
    for device in [&random, &tiny, &shrunk] {
        let refused = lab.expect(2, &format!("replay load -t {} -o out", device.text()));
        println!("{}", refused.err.trim());
        assert!(!refused.err.contains("panicked"), "{}", refused.err);
    }
}

/// Replays writes to `target` in a new mount namespace, in which `hide` has run.
fn replay_hidden(hide: &str, target: &Path) -> (Ended, bool) {
    let lab = lab();
    lab.file("load", load_text(&conflicting(50, 4096, 16, 0)));
    let script = format!(r#"set -e; {hide}; exec "$0" "$@""#);
    let words = ["unshare", "-m", "--propagation", "private", "sh", "-c", &script];
    let args = format!("replay load -t {} --destroy --start-grace 0 --no-progress -o out", target.display());
    let ended = Ended::of(lab.command_under(&words, &args).output().unwrap());
    let has_result = lab.path("out").exists();
    (ended, has_result)
}

#[test]
fn writes_nothing_without_guard_sources() {
    needs!("mkfs.ext4", "unshare");
    let image = Image::random(16);
    let device = LoopDevice::on(&image.path(), &[]);
    tool("mkfs.ext4", &["-q", "-F", "-E", "nodiscard,lazy_itable_init=0", device.text()]);
    let mounted = Mounted::new(device.path(), "rw");
    let before = hash(&image.path());
    for (hide, source) in [
        ("umount -l /sys", "/sys"),
        ("mount -t tmpfs none /sys", "/sys"),
        ("mount -t tmpfs none /sys/block", "/sys/block"),
        ("mount -t tmpfs none /sys/class/block", "/sys/class/block"),
        ("mount -t tmpfs none /sys/devices/virtual/block", "/sys/block/loop*"),
        ("mount -t tmpfs none /sys/fs", "/sys/fs"),
        ("mount -t tmpfs none /proc", "/proc/self/mountinfo"),
        ("mount --bind /dev/null /proc/swaps", "/proc/swaps"),
        ("mount -t proc -o subset=pid none /proc", "/proc/swaps"),
    ] {
        let (ended, has_result) = replay_hidden(hide, &image.path());
        assert!(hash(&image.path()) == before, "{hide}: the image was touched");
        assert!(ended.code == 2 && !has_result, "{hide}: {}", ended.err);
        assert_says(&ended, &format!("{source} can't be read"));
        assert_says(&ended, "so it may be in use; mount /proc and /sys");
    }
    drop(mounted);
}

#[test]
fn unqueryable_loop_device_forbids_possible_backing_files() {
    needs!("mkfs.ext4", "unshare");
    let (image, other, free) = (Image::random(16), Image::sparse(0), Image::random(8));
    let device = LoopDevice::on(&image.path(), &[]);
    tool("mkfs.ext4", &["-q", "-F", "-E", "nodiscard,lazy_itable_init=0", device.text()]);
    let mounted = Mounted::new(device.path(), "rw");
    let before = hash(&image.path());
    // The backing file under another name, without its own name or the device.
    let hide = format!(
        "mount --bind {} {}; mount -t tmpfs none {}; mount -t tmpfs none /dev; mknod /dev/null c 1 3",
        image.path().display(),
        other.path().display(),
        image.path().parent().unwrap().display()
    );
    let (ended, has_result) = replay_hidden(&hide, &other.path());
    assert!(hash(&image.path()) == before, "the image was touched");
    assert!(ended.code == 2 && !has_result, "{}", ended.err);
    assert_says(&ended, &format!("what {} lies on is unknown", device.name()));
    // A file of another size is not below it.
    let (ended, _) = replay_hidden(&hide, &free.path());
    assert_eq!(ended.code, 0, "{}", ended.err);
    drop(mounted);
}

#[test]
fn writes_files_in_container_with_read_only_sysfs() {
    needs!("unshare");
    let image = Image::random(8);
    let before = hash(&image.path());
    let (ended, _) = replay_hidden("mount -o remount,bind,ro /sys", &image.path());
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(hash(&image.path()) != before);
}

#[test]
fn refuses_devices_as_plans_or_inputs() {
    needs!();
    let device = LoopDevice::random(8);
    let lab = lab();
    let ended = lab.expect(2, &format!("run {}", device.text()));
    assert_says(
        &ended,
        &format!("plan {0}: it is a block device, and no plan; to run on it, use '-t {0}'", device.text()),
    );
    for args in
        [format!("analyze {}", device.text()), format!("derive adjacent {} -o new.load", device.text())]
    {
        let ended = lab.expect(2, &args);
        assert_says(&ended, &format!("{}: it is a block device, and no input", device.text()));
    }
}

#[test]
fn rejects_pipe_input_larger_than_free_space() {
    needs!("unshare");
    let lab = lab();
    std::fs::create_dir(lab.path("tmp")).unwrap();
    let script = r#"mount -t tmpfs -o size=1m none tmp && dd if=/dev/zero of=tmp/full bs=64k count=15 2>/dev/null
        yes "0.0 ; 0 ; 8 ; R ; 0.0 ; 0.0" | TMPDIR=$PWD/tmp "$0" "$@"; code=$?; ls -A tmp; exit $code"#;
    let words = ["unshare", "-m", "--propagation", "private", "sh", "-c", script];
    let ended = Ended::of(lab.command_under(&words, "analyze -").output().unwrap());
    assert_eq!(ended.code, 2, "{}", ended.err);
    assert_says(&ended, "half of the free space of");
    assert_says(&ended, "set TMPDIR to a directory with more space");
    assert_eq!(ended.out, "full\n");
    let ended = Ended::of(lab.command_under(&words, "analyze - --spool-limit 1g").output().unwrap());
    assert_eq!(ended.code, 1, "{}", ended.err);
    assert_says(&ended, "cannot keep it: temporary file in");
    assert_eq!(ended.out, "full\n");
}
