//! IOzone's command line on real file systems.

use crate::common::*;
use iosonar_plan::Op;
use iosonar_testkit::{Lab, LoopDevice, Mounted, tool};
use serde_json::Value;

/// A file system on a new loop device.
fn file_system(kind: &str, mib: u64) -> (LoopDevice, Mounted) {
    let device = LoopDevice::random(mib);
    let words: &[&str] = match kind {
        "xfs" => &["-q", "-f", "-K"],
        "ext4" => &["-q", "-F", "-E", "nodiscard"],
        _ => &["-q", "-f", "-K"],
    };
    tool(&format!("mkfs.{kind}"), &[words, &[device.text()]].concat());
    let mounted = Mounted::new(device.path(), "rw");
    (device, mounted)
}

/// The same matrix on three file systems, through the page cache and around it: each cell has a figure, and the written data is read back.
#[test]
fn runs_the_same_matrix_on_three_file_systems() {
    needs!("mkfs.xfs", "mkfs.ext4", "mkfs.btrfs");
    for kind in ["xfs", "ext4", "btrfs"] {
        let (_device, mounted) = file_system(kind, 320);
        let lab = lab();
        let file = mounted.path().join("test");
        for words in ["-+d", "-+d -I", "-+d -e -o", "-+d -B"] {
            let sizes = "-a -n 256k -g 1m -y 64k";
            let _ = std::fs::remove_file(lab.path("out.json"));
            let command = format!("iozone {sizes} {words} -f {} --json out.json", file.display());
            let ended = lab.expect(0, &command);
            let table: Value = serde_json::from_slice(&std::fs::read(lab.path("out.json")).unwrap()).unwrap();
            let tests = if words.contains("-B") { 9 } else { 13 };
            assert_eq!(
                table["results"].as_array().unwrap().len(),
                12 * tests,
                "{kind} {words}: {}",
                ended.out
            );
            assert!(!file.exists());
        }
    }
}

/// Acceptance 30: sizes that fit have a figure, others a blank cell and a reason.
#[test]
fn reports_enospc_and_leaves_cell_blank() {
    needs!("mkfs.ext4");
    let (_device, mounted) = file_system("ext4", 32);
    let lab = lab();
    let file = mounted.path().join("test");
    let ended = lab
        .expect(1, &format!("iozone -s 1m -s 64m -r 256k -i 0 -i 1 -f {} --json out.json", file.display()));
    assert!(ended.err.contains("write of a file of 64MiB"), "{}", ended.err);
    assert!(ended.err.contains("No space left on device"), "{}", ended.err);
    assert!(ended.out.contains("iozone test not complete."), "{}", ended.out);
    let table: Value = serde_json::from_slice(&std::fs::read(lab.path("out.json")).unwrap()).unwrap();
    let results = table["results"].as_array().unwrap();
    assert!(results.len() == 4 && results.iter().all(|cell| cell["file_bytes"] == 1 << 20), "{table}");
    assert!(!file.exists());
}

/// A device is a target like any other: with `--destroy`, and never while it is in use.
#[test]
fn a_device_is_not_written_without_destroy() {
    needs!();
    let device = LoopDevice::random(16);
    let before = device.bytes();
    let lab = lab();
    let refused = lab.expect(2, &format!("iozone -i 0 -s 1m -f {}", device.text()));
    assert!(refused.err.contains("--destroy"), "{}", refused.err);
    assert!(device.bytes() == before);
    lab.expect(0, &format!("iozone --destroy -I -s 1m -r 64k -f {}", device.text()));
    assert!(device.bytes() != before);
    let before = device.bytes();
    lab.expect(0, &format!("iozone -i 1 -i 3 -s 1m -r 64k -f {}", device.text()));
    assert!(device.bytes() == before);
}

/// Reads with `--cold` start with nothing in the page cache, and direct I/O leaves nothing there; a file system in memory can do neither,
/// and the tool says so.
#[test]
fn cold_and_direct_figures_are_proven() {
    needs!("mkfs.ext4");
    let (_device, mounted) = file_system("ext4", 64);
    let memory = Mounted::tmpfs();
    let lab = lab();
    let results = |words: &str, dir: &std::path::Path| {
        let file = dir.join("test");
        let _ = std::fs::remove_file(lab.path("out.json"));
        let command = format!("iozone {words} -i 0 -i 1 -s 1m -r 64k -f {} --json out.json", file.display());
        let ended = lab.expect_done(&command);
        let table: Value = serde_json::from_slice(&std::fs::read(lab.path("out.json")).unwrap()).unwrap();
        (table["results"].as_array().unwrap().clone(), ended.err)
    };
    let (cold, said) = results("--cold", mounted.path());
    let before: Vec<_> = cold.iter().map(|cell| cell["cached_before"].as_u64()).collect();
    assert_eq!((before, said.contains("caution")), (vec![None, None, Some(0), Some(0)], false), "{said}");
    let (direct, said) = results("-I", mounted.path());
    assert!(
        direct.iter().all(|cell| cell["cached_after"] == 0) && !said.contains("caution"),
        "{direct:?} {said}"
    );
    let (warm, said) = results("--cold", memory.path());
    assert!(warm[2]["cached_before"] == 1 << 20, "{warm:?}");
    assert!(said.contains("2 of 4 cells began with data in the page cache"), "{said}");
    let (through, said) = results("-I", memory.path());
    assert!(through.iter().all(|cell| cell["cached_after"] == 1 << 20), "{through:?}");
    assert!(
        said.contains("4 of 4 cells were opened with O_DIRECT and left data in the page cache"),
        "{said}"
    );
}

/// Bytes that were in the page cache before each test that reads, as its eviction counted them.
fn cached_before_evictions(lab: &Lab, archive: &str) -> Vec<u64> {
    let records = lab.records(archive);
    records.iter().filter(|record| record.op == Op::Evict).map(|record| record.executed.length).collect()
}

/// `-U`: each test finds its file system mounted again, so that a read begins with nothing in the page cache. By the device, and by
/// a table of file systems.
#[test]
fn remounts_file_system_before_each_test() {
    needs!("mkfs.xfs", "mkfs.ext4", "mkfs.btrfs", "umount", "mount");
    for kind in ["xfs", "ext4", "btrfs"] {
        let (device, mounted) = file_system(kind, 320);
        let (lab, at) = (lab(), mounted.path().display());
        let test = format!("-i 0 -i 1 -s 1m -r 64k -+d -f {at}/test");
        lab.expect(0, &format!("iozone {test} --cold --out evicted"));
        // The kernel takes pages back when it likes.
        let evicted = cached_before_evictions(&lab, "evicted");
        assert!(evicted.len() == 2 && evicted.iter().all(|bytes| *bytes > 900 << 10), "{kind}: {evicted:?}");
        lab.expect(0, &format!("iozone {test} -U {at} --out mounted"));
        assert_eq!(cached_before_evictions(&lab, "mounted"), [0; 2], "{kind}");
        let table = lab.file("fstab", format!("{} {at} {kind} noatime 0 0\n", device.text()));
        let mut by_table = lab.command(&format!("iozone {test} -U {at} --out listed"));
        let ended = iosonar_testkit::Ended::of(by_table.env("LIBMOUNT_FSTAB", table).output().unwrap());
        assert_eq!(ended.code, 0, "{}", ended.err);
        assert_eq!(cached_before_evictions(&lab, "listed"), [0; 2], "{kind}");
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        let line = mounts.lines().find(|line| line.starts_with(device.text())).expect(kind);
        assert!(line.contains("noatime"), "{line}");
        assert!(!mounted.path().join("test").exists());
    }
}

/// A file system in use stays mounted, and its users are named; a directory that is no mount point is refused.
#[test]
fn a_file_system_in_use_is_not_unmounted() {
    needs!("mkfs.ext4", "umount", "mount");
    let (device, mounted) = file_system("ext4", 64);
    let (lab, at) = (lab(), mounted.path().display().to_string());
    let test = format!("iozone -i 0 -i 1 -s 1m -r 64k -f {at}/test");
    let _user = std::fs::File::create(mounted.path().join("used")).unwrap();
    let refused = lab.expect(2, &format!("{test} -U {at} --out used"));
    let named = format!("process {} (", std::process::id());
    assert!(refused.err.contains("busy") && refused.err.contains(&named), "{}", refused.err);
    assert!(refused.err.contains("used open"), "{}", refused.err);
    assert!(std::fs::read_to_string("/proc/self/mounts").unwrap().contains(device.text()));
    assert!(!mounted.path().join("test").exists());
    let refused = lab.expect(2, &format!("{test} -U {at}/none"));
    assert!(refused.err.contains("is no mount point"), "{}", refused.err);
    let elsewhere = lab.expect(2, &format!("iozone -i 0 -s 1m -r 64k -U {at}"));
    assert!(elsewhere.err.contains("no target lies on"), "{}", elsewhere.err);
}

/// `-U` does not unmount a file system that it could not mount again as it was: a bind mount, the root file system, or one whose
/// line in the table of file systems names another.
#[test]
fn keeps_mounts_that_cannot_be_restored() {
    needs!("mkfs.ext4", "umount", "mount");
    let (_device, mounted) = file_system("ext4", 32);
    std::fs::create_dir(mounted.path().join("part")).unwrap();
    let part = Mounted::bound(&mounted.path().join("part"));
    let lab = lab();
    let mounts = || std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let before = mounts();
    let at = part.path().display().to_string();
    let refused = lab.expect(2, &format!("iozone -s 64k -r 64k -i 0 -f {at}/test -U {at}"));
    assert!(refused.err.contains("bind mount"), "{}", refused.err);
    let refused = lab.expect(2, &format!("iozone -s 64k -r 64k -i 0 -f {} -U /", lab.path("test").display()));
    assert!(refused.err.contains("root file system"), "{}", refused.err);
    assert_eq!(mounts(), before);
    drop(part);

    let (other, _) = (LoopDevice::random(32), ());
    tool("mkfs.ext4", &["-q", "-F", "-E", "nodiscard", other.text()]);
    let at = mounted.path().display().to_string();
    let source = |point: &str| {
        let mounts = mounts();
        let line = mounts.lines().rfind(|line| line.split(' ').nth(4) == Some(point)).unwrap().to_string();
        line.split(" - ").nth(1).unwrap().split(' ').nth(1).unwrap().to_string()
    };
    let before = source(&at);
    let table = lab.file("fstab", format!("{} {at} ext4 defaults 0 0\n", other.text()));
    let mut command = lab.command(&format!("iozone -s 64k -r 64k -i 0 -f {at}/test -U {at}"));
    let ended = iosonar_testkit::Ended::of(command.env("LIBMOUNT_FSTAB", table).output().unwrap());
    assert_eq!((ended.code, source(&at)), (0, before), "{}", ended.err);
}
