//! `iosonar layout run` on new file systems: layouts are those of the methods, figures are there, and nothing stays.
//! Numbers in comments are those of the acceptance checks in `spec/iozone-and-layout.md`.

use crate::common::*;
use iosonar_testkit::{Lab, LoopDevice};
use serde_json::Value;
use std::fs;

fn measured(lab: &Lab, args: &str) -> Value {
    serde_json::from_str(&lab.expect(0, &format!("layout run . --json --no-progress {args}")).out).unwrap()
}

/// Fragments of each file of a method.
fn fragments(answer: &Value, method: &str) -> Vec<u64> {
    let of_method = answer["methods"].as_array().unwrap().iter().find(|found| found["method"] == method);
    let files = of_method.unwrap_or_else(|| panic!("no {method} in {answer}"))["files"].as_array().unwrap();
    files.iter().map(|file| file["fragments"].as_u64().unwrap()).collect()
}

/// Free ranges from this power of two up to the next.
fn ranges_of(free: &Value, from_bytes: u64) -> u64 {
    let classes = free["histogram"].as_array().unwrap_or_else(|| panic!("no classes in {free}"));
    let class = classes.iter().find(|class| class["from_bytes"] == from_bytes);
    class.map_or(0, |class| class["ranges"].as_u64().unwrap())
}

/// Mounts, loop devices and directories of a run in this laboratory.
fn left(lab: &Lab) -> Vec<String> {
    let dir = lab.path("").canonicalize().unwrap().display().to_string();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mut left: Vec<String> = mounts.lines().filter(|line| line.contains(&dir)).map(String::from).collect();
    for device in fs::read_dir("/sys/block").unwrap().flatten() {
        let backing = fs::read_to_string(device.path().join("loop/backing_file")).unwrap_or_default();
        left.extend(backing.contains(&dir).then_some(backing));
    }
    let names = fs::read_dir(lab.path("")).unwrap().flatten().map(|entry| entry.file_name());
    left.extend(names.map(|name| name.to_string_lossy().into_owned()).filter(|name| name.starts_with('.')));
    left
}

/// 35, 43: the recipe with 16 holes, each method on a new file system.
#[test]
fn small_requests_fill_holes_and_large_ones_skip_them() {
    needs!("mkfs.xfs");
    let lab = lab();
    let methods = "xfs_mkfile,buffered+64k,fallocate+buffered+64k,direct+256k+extsize=16m";
    let answer = measured(
        &lab,
        &format!(
            "--size 48m --scratch 6g --age holes=16,hole=3.75m,spacing=256k --rounds 3 --methods {methods} -o r"
        ),
    );
    assert!(fragments(&answer, "direct+256k")[0] >= 12, "{answer}");
    for whole in ["buffered+64k", "fallocate+buffered+64k", "direct+256k+extsize=16m"] {
        assert_eq!(fragments(&answer, whole), [1], "{whole}");
    }
    let cause = answer["methods"][0]["cause"].as_str().unwrap();
    assert!(cause.contains("256 KiB") && cause.contains("less than a request was left"), "{cause}");
    let small = &answer["methods"][0]["files"][0];
    assert!(small["free_ranges_filled"].as_u64() >= Some(8), "{small}");
    assert_eq!(answer.get("free_space"), None, "each has its own");
    for method in answer["methods"].as_array().unwrap() {
        assert!(ranges_of(&method["free_space"], 2 << 20) >= 16, "{method}");
        assert!(
            method["create_seconds"].as_f64().unwrap() > 0.0 && method["sync_seconds"].is_f64(),
            "{method}"
        );
        let scans = method["scan"].as_array().unwrap();
        assert_eq!(scans.len(), 3);
        for scan in scans {
            assert_eq!(scan["bytes"], 48 << 20);
            assert_eq!(scan["cached_pages_before_scan"], 0, "{scan}");
        }
        assert_eq!(method["files"][0]["unchanged_by_scans"], true);
    }
    let orders: Vec<&Value> = answer["scan_orders"].as_array().unwrap().iter().collect();
    assert!(orders[0] != orders[1] && orders[1] != orders[2], "{orders:?}");
    assert_eq!(left(&lab), [""; 0]);
    let pictures = ["layout.png", "layout.svg", "map-direct+256k.png"];
    let files = ["layout.json", "layout.csv", "maps.json", "create/run.json", "scan/run.json"];
    for name in pictures.into_iter().chain(files) {
        assert!(lab.path("r").join(name).exists(), "{name}");
    }
}

/// 32: an empty file system gives each method one fragment. 45: direct writers in one directory take turns in its free space.
#[test]
fn writers_in_one_directory_interleave_allocations() {
    needs!("mkfs.xfs");
    let lab = lab();
    let methods =
        "xfs_mkfile,buffered+64k,buffered+whole,direct+64k+files=4,direct+64k+dirs=4,direct+4k+turns=2";
    let answer = measured(&lab, &format!("--size 64m --scratch 6g --rounds 1 --methods {methods}"));
    for whole in ["direct+256k", "buffered+64k", "buffered+whole"] {
        assert_eq!(fragments(&answer, whole), [1], "{whole}");
    }
    let sum = |method: &str| fragments(&answer, method).iter().sum::<u64>();
    assert!(sum("direct+64k+files=4") > 4, "{answer}");
    assert!(sum("direct+64k+dirs=4") <= 8, "{answer}");
    let request = |place: usize| answer["methods"][place]["device_read_bytes_mean"].as_f64().unwrap();
    // Fragments of 4 KiB and metadata cannot be read in larger requests, one fragment can.
    assert!(request(5) < 8192.0 && request(1) > 32_768.0, "{answer}");
    assert_eq!(answer["device_read_bytes_mean"], Value::Null);
    assert!(fragments(&answer, "direct+4k+turns=2").iter().all(|count| *count > 1000), "{answer}");
    for method in answer["methods"].as_array().unwrap() {
        let files = method["files"].as_array().unwrap();
        assert!(files.iter().all(|file| file["size_bytes"] == 64 << 20), "{method}");
        assert_eq!(method["created_bytes"], (files.len() as u64) << 26);
    }
    assert_eq!(left(&lab), [""; 0]);
}

/// Every method, on each file system that supports it.
#[test]
fn every_method_creates_the_right_size() {
    needs!("mkfs.xfs", "mkfs.ext4", "mkfs.btrfs");
    let lab = lab();
    let methods = "xfs_mkfile-p,xfs_mkfile-n,truncate+direct+64k+random,truncate+buffered+64k+reverse,fallocate+direct+64k+random,\
                   mmap+64k,buffered+64k+dsync,buffered+64k+sync,buffered+64k+fsync=512k,buffered+4k+reopen=64k,\
                   buffered+64k+zeros,buffered+64k+compressible=50,buffered+64k+files=2+fsync=1m";
    for (kind, size, further) in [
        ("xfs", "400m", ",zero-range+direct+64k,direct+64k+extsize=1m+files=2"),
        ("ext4", "64m", ",zero-range+direct+64k"),
        ("btrfs", "200m", ""),
    ] {
        let args = format!("--size 2m --scratch {size} --fs {kind} --rounds 1 --methods {methods}{further}");
        let answer = measured(&lab, &args);
        for method in answer["methods"].as_array().unwrap() {
            let files = method["files"].as_array().unwrap();
            assert!(files.iter().all(|file| file["size_bytes"] == 2 << 20), "{kind}: {method}");
            let (free, unknown) = (&method["free_space"], &method["free_space_unknown"]);
            match kind {
                "btrfs" => {
                    assert!(free.is_null() && unknown.as_str().unwrap().contains("GETFSMAP"), "{method}")
                }
                _ => assert!(free["ranges"].as_u64() > Some(0) && unknown.is_null(), "{kind}: {method}"),
            }
            let written = if method["method"] == "truncate+no-data" { 0 } else { (files.len() as u64) << 21 };
            assert_eq!(method["created_bytes"], written, "{kind}: {method}");
            assert_eq!(method["scan"][0]["bytes"], (files.len() as u64) << 21, "{kind}: {method}");
        }
        assert_eq!(left(&lab), [""; 0], "{kind}");
    }
}

/// 47: SIGTERM cleans up by itself; after SIGKILL the next run removes the remains.
#[test]
fn signal_leaves_no_files() {
    needs!("mkfs.xfs");
    let lab = lab();
    let start = |name: &str| {
        let args = format!("layout run . --size 200m --scratch 1g --rounds 1000 --no-progress -o {name}");
        let running = Background::start(lab.command(&args));
        until("the scan", || lab.path(name).join("scan/records.log").exists());
        assert!(left(&lab).len() > 8, "mounts, loop devices and the directory");
        running
    };
    let running = start("ended");
    running.signal("TERM");
    let ended = running.wait();
    assert_eq!((ended.code, left(&lab)), (143, vec![]), "{}", ended.err);

    let running = start("killed");
    running.signal("KILL");
    running.wait();
    until("the end of its files", || !left(&lab).is_empty());
    let next = lab
        .expect(0, "layout run . --size 1m --scratch 300m --rounds 1 --methods buffered+64k --no-progress");
    assert!(next.err.contains("was left by a run that was killed"), "{}", next.err);
    assert_eq!(left(&lab), [""; 0]);

    // While file systems are made, too.
    let making =
        Background::start(lab.command("layout run . --size 1m --scratch 1g --no-progress -o making"));
    until("the first file system", || !left(&lab).is_empty());
    making.signal("TERM");
    let ended = making.wait();
    assert!([143, 0].contains(&ended.code), "{}", ended.err);
    assert_eq!(left(&lab), [""; 0], "{}", ended.err);
}

/// Directories, images and loop devices of others stay, whatever their names are, and prevent no run.
#[test]
fn keeps_foreign_scratch_directories() {
    needs!("mkfs.ext4", "losetup");
    let lab = lab();
    for dir in [".iosonar-scratch-notes", ".iosonar-scratch-7-0", "other/.iosonar-scratch-vm", "here"] {
        fs::create_dir_all(lab.path(dir)).unwrap();
        fs::write(lab.path(dir).join("precious.txt"), "thesis").unwrap();
    }
    let image = lab.path(".iosonar-scratch-7-0/vm.img");
    fs::File::create(&image).unwrap().set_len(4 << 20).unwrap();
    let device = LoopDevice::on(&image, &[]);
    let before = left(&lab);
    lab.expect(2, "layout run . --size 100t --methods buffered+64k --out o");
    for run in
        ["layout run here --out o1", "layout run . --out o2", "layout run . --scratch 64m --fs ext4 --out o3"]
    {
        lab.expect(0, &format!("{run} --size 64k --methods buffered+64k --rounds 1 --no-progress"));
    }
    assert_eq!(left(&lab), before);
    assert!(fs::read_to_string(format!("/sys/block/{}/loop/backing_file", device.name())).is_ok());
    for dir in [".iosonar-scratch-notes", ".iosonar-scratch-7-0", "other/.iosonar-scratch-vm", "here"] {
        assert_eq!(fs::read(lab.path(dir).join("precious.txt")).unwrap(), b"thesis", "{dir}");
    }
}

/// Options of mkfs that name another device: mkfs would format it, too.
#[test]
fn rejects_mkfs_options_naming_another_device() {
    needs!("mkfs.btrfs", "mkfs.xfs", "mkfs.ext4");
    let (lab, other) = (lab(), LoopDevice::random(16));
    let before = other.bytes();
    let name = other.text();
    for (kind, options) in [
        ("btrfs", name.to_string()),
        ("btrfs", format!("-d single {name}")),
        ("xfs", format!("-l logdev={name}")),
        ("xfs", format!("-r rtdev={name}")),
        ("ext4", format!("-J device={name}")),
        ("ext4", name.to_string()),
    ] {
        let args = ["layout", "run", ".", "--size", "1m", "--methods", "buffered+64k", "--scratch", "320m"];
        let further = ["--fs", kind, "--mkfs-options", &options, "--no-progress", "--out", "o"];
        let refused = lab.expect_args(2, &[&args[..], &further[..]].concat());
        assert!(refused.err.contains("another device or file"), "{}", refused.err);
        assert_eq!(left(&lab), [""; 0]);
    }
    assert!(other.bytes() == before && !lab.path("o").exists());
}
