//! The write guard through the binary: what is in use is never touched, what is not needs a word.

use crate::common::*;
use iosonar_plan::Op;
use iosonar_testkit::{Ended, Image, LoopDevice, Mounted, Swap, tool};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

pub fn hash(path: &Path) -> u64 {
    tool("sync", &["-f".as_ref(), path.as_os_str()]);
    let mut hasher = DefaultHasher::new();
    std::fs::read(path).unwrap().hash(&mut hasher);
    hasher.finish()
}

/// A replay of writes with `--destroy` ends with 2, makes no result, and leaves `image` as it is.
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
fn mounted_devices_and_their_disks_are_refused() {
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
fn swap_and_files_under_loop_devices_are_refused() {
    needs!("mkswap", "swapon", "swapoff");
    let image = Image::random(8);
    let device = LoopDevice::on(&image.path(), &[]);
    assert_says(&assert_refused(&image.path(), &image.path()), device.name());
    let swap = Swap::on(device.path());
    assert_says(&assert_refused(device.path(), &image.path()), "swap");
    drop(swap);
}

#[test]
fn a_device_needs_the_word_and_is_told_what_is_on_it() {
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
fn one_run_keeps_another_from_its_device() {
    needs!();
    let image = Image::random(8);
    let device = LoopDevice::on(&image.path(), &[]);
    let lab = lab();
    lab.file("load", load_text(&conflicting(50, 4096, 16, 0)));
    let replay = Background::start(
        lab.command(&format!("replay load -t {} --destroy --start-grace 2 -o out", device.text())),
    );
    until("the run", || lab.path("out/series.csv").exists());
    assert_refused(device.path(), &image.path());
    assert_eq!(replay.wait().code, 0);
}
