//! Free space of real file systems: ranges agree with other tools, sums with statfs, and a file system without a report is named as such.

use crate::common::*;
use crate::layout::{Volume, as_nobody, json, number};
use iosonar_testkit::{Lab, Mounted, tool};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const BLOCK: u64 = 4096;

/// More free ranges than one call of the kernel returns records: every second file of many is removed.
fn with_holes(volume: &Volume) {
    let name = |number: u32| volume.path(&format!("file-{number}"));
    for number in 0..3000 {
        std::fs::write(name(number), [7; BLOCK as usize]).unwrap();
    }
    tool("sync", &["-f".as_ref(), volume.path("").as_os_str()]);
    (0..3000).step_by(2).for_each(|number| std::fs::remove_file(name(number)).unwrap());
}

fn report(lab: &Lab, path: &Path) -> Value {
    json(lab, &format!("layout free --json {}", path.display()))
}

/// Ranges and bytes of each class, by its smallest size.
fn classes(report: &Value) -> BTreeMap<u64, (u64, u64)> {
    let all = report["free_space"]["histogram"].as_array().unwrap();
    let class =
        |class: &Value| (number(class, "from_bytes"), (number(class, "ranges"), number(class, "bytes")));
    all.iter().map(class).collect()
}

/// Parses `5: 7:1 [80..127]: free space 48`, in sectors.
fn of_fsmap(path: &Path) -> BTreeMap<u64, (u64, u64)> {
    let text = tool("xfs_io", &["-r".as_ref(), "-c".as_ref(), "fsmap".as_ref(), path.as_os_str()]);
    let mut classes = BTreeMap::<u64, (u64, u64)>::new();
    for line in text.lines().filter(|line| line.contains(": free space ")) {
        let bytes = line.split_whitespace().next_back().unwrap().parse::<u64>().unwrap() * 512;
        let class = classes.entry(1 << bytes.ilog2()).or_default();
        *class = (class.0 + 1, class.1 + bytes);
    }
    classes
}

/// Asserts that the ranges, their classes and groups have the same sum.
#[track_caller]
fn assert_sums_agree(report: &Value) {
    let (free, classes) = (&report["free_space"], classes(report));
    let sum = classes.values().fold((0, 0), |sum, class| (sum.0 + class.0, sum.1 + class.1));
    assert_eq!(sum, (number(free, "ranges"), number(free, "bytes")), "{report:#}");
    if let Some(groups) = free["groups"].as_array() {
        let sum = |field| groups.iter().map(|group| number(group, field)).sum::<u64>();
        assert_eq!((sum("ranges"), sum("bytes")), (number(free, "ranges"), number(free, "bytes")));
        let largest = groups.iter().map(|group| number(group, "largest_bytes")).max();
        assert_eq!(largest, free["range_bytes"]["max"].as_u64());
    }
}

#[test]
fn free_space_of_xfs_agrees_with_fsmap_and_xfs_db() {
    needs!("mkfs.xfs", "xfs_io", "xfs_db");
    let (lab, volume) = (lab(), Volume::new(&["mkfs.xfs", "-q"]));
    with_holes(&volume);
    let found = report(&lab, &volume.path("file-1"));
    assert_sums_agree(&found);
    assert_eq!(classes(&found), of_fsmap(&volume.path("")));
    assert!(number(&found["free_space"], "ranges") > 1024, "{found:#}");
    assert_eq!((&found["file_system"]["type"], &found["synced"]), (&"xfs".into(), &true.into()));
    assert_eq!(found["free_space"]["groups"].as_array().unwrap().len(), 4);
    // XFS keeps blocks in reserve for its trees.
    let held = number(&found["free_space"], "bytes").checked_sub(number(&found, "statfs_free_bytes"));
    assert!(held.is_some_and(|held| held < 64 << 20), "{found:#}");
    let text = lab.expect(0, &format!("layout free {}", volume.path("").display())).out;
    assert!(text.contains("in free ranges are reserved for the file system"), "{text}");
    assert!(text.contains("4 allocation groups") && text.contains("LARGEST"), "{text}");

    // Read from the device, without the kernel: the file system is unmounted.
    let device = volume.unmounted();
    let db = |commands: &[&str]| {
        let mut words = vec!["-r"];
        commands.iter().for_each(|command| words.extend(["-c", command]));
        tool("xfs_db", &[words, vec![device.text()]].concat())
    };
    let mut theirs = BTreeMap::new();
    for line in db(&["freesp"]).lines().skip(1) {
        let words: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        theirs.insert(words[0] * BLOCK, (words[2], words[3] * BLOCK));
    }
    // freesp counts the blocks that groups hold ready for their trees, one by one.
    let ready = |group: u32| {
        let text = db(&[&format!("agf {group}"), "print flcount"]);
        text.split(" = ").nth(1).unwrap().trim().parse::<u64>().unwrap()
    };
    let ready: u64 = (0..4).map(ready).sum();
    let single = theirs.get_mut(&BLOCK).unwrap();
    *single = (single.0 - ready, single.1 - ready * BLOCK);
    theirs.retain(|_, class| class.0 > 0);
    assert_eq!(classes(&found), theirs);
}

#[test]
fn free_space_of_ext4_agrees_with_fsmap_and_e2freefrag() {
    needs!("mkfs.ext4", "xfs_io", "e2freefrag");
    let (lab, volume) = (lab(), Volume::new(&["mkfs.ext4", "-q", "-b", "4096"]));
    with_holes(&volume);
    // Recently freed blocks wait for a commit of the journal: the file system is flushed first. Blocks that ext4 preallocates for small
    // files, in memory only, are free and in no range.
    let found = report(&lab, &volume.path(""));
    let ready = number(&found, "statfs_free_bytes").checked_sub(number(&found["free_space"], "bytes"));
    assert!(ready.is_some_and(|ready| ready <= 4 << 20), "{found:#}");
    assert_eq!(classes(&found), of_fsmap(&volume.path("")));
    let volume = volume.remounted();
    let found = report(&lab, &volume.path(""));
    assert_sums_agree(&found);
    assert_eq!(classes(&found), of_fsmap(&volume.path("")));
    assert!(number(&found["free_space"], "ranges") > 1024, "{found:#}");
    assert_eq!(found["free_space"]["bytes"], found["statfs_free_bytes"]);
    assert!(found["free_space"]["groups"].is_null(), "{found:#}");

    let device = volume.unmounted();
    let mut theirs = BTreeMap::new();
    let text = tool("e2freefrag", &[device.text()]);
    for line in text.lines().filter(|line| line.ends_with('%') && line.contains("...")) {
        let (from, counts) = line.split_once("...").unwrap();
        let (number, unit) = from.trim().split_at(from.trim().len() - 1);
        let unit = 1u64 << ["K", "M", "G"].iter().position(|name| *name == unit).map_or(0, |n| 10 * (n + 1));
        let counts: Vec<&str> = counts.split_once(':').unwrap().1.split_whitespace().collect();
        let (ranges, blocks): (u64, u64) = (counts[0].parse().unwrap(), counts[1].parse().unwrap());
        theirs.insert(number.parse::<u64>().unwrap() * unit, (ranges, blocks * BLOCK));
    }
    assert_eq!(classes(&found), theirs, "{text}");
}

#[test]
fn non_root_users_see_free_space() {
    needs!("mkfs.xfs", "mkfs.ext4");
    let lab = lab();
    std::fs::set_permissions(lab.path(""), Permissions::from_mode(0o755)).unwrap();
    let program = lab.path("iosonar");
    std::fs::copy(env!("CARGO_BIN_EXE_iosonar"), &program).unwrap();
    for mkfs in [&["mkfs.xfs", "-q"][..], &["mkfs.ext4", "-q"]] {
        let volume = Volume::new(mkfs);
        std::fs::set_permissions(volume.path(""), Permissions::from_mode(0o755)).unwrap();
        let path = volume.path("");
        let ended = as_nobody(&program, &["layout", "free", "--json", path.to_str().unwrap()]);
        assert_eq!(ended.code, 0, "{mkfs:?}: {}", ended.err);
        let theirs: Value = serde_json::from_str(&ended.out).unwrap();
        assert_eq!(theirs["free_space"], report(&lab, &path)["free_space"], "{mkfs:?}");
    }
}

#[test]
fn rejects_file_systems_without_free_space_report() {
    needs!("mkfs.btrfs");
    let (lab, memory) = (lab(), Mounted::tmpfs());
    let volume = Volume::new(&["mkfs.btrfs", "-q"]);
    for (path, words) in [
        (volume.path(""), "btrfs does not report its free space by GETFSMAP: it maps chunks"),
        (
            memory.path().to_path_buf(),
            "tmpfs does not report its free space by GETFSMAP: its files are in memory",
        ),
    ] {
        let ended = lab.expect(2, &format!("layout free {}", path.display()));
        let name = path.display().to_string();
        assert!(ended.err.contains(&format!("iosonar: {name}: {words}")), "{}", ended.err);
        assert_eq!(ended.out, "");
    }
}
