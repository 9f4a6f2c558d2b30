//! Filling real targets: holes hold data afterwards, and nothing else is touched.

use crate::common::*;
use iosonar_testkit::{Ended, Image, Lab, LoopDevice, Mounted, Zram, tool};
use rustix::fs::{SeekFrom, seek};
use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

const MIB: u64 = 1 << 20;

/// Parts of a file that hold data, as the kernel shows them (lseek(2)).
fn data(path: &Path) -> Vec<(u64, u64)> {
    let file = File::open(path).unwrap();
    file.sync_all().unwrap();
    let (mut found, mut at) = (Vec::new(), 0);
    while let Ok(start) = seek(&file, SeekFrom::Data(at)) {
        at = seek(&file, SeekFrom::Hole(start)).unwrap();
        found.push((start, at));
    }
    found
}

/// Asserts that all of the first bytes hold data, and nothing after them does.
#[track_caller]
fn holds_only_first(path: &Path, bytes: u64) {
    let held: u64 = data(path).iter().map(|(start, end)| end - start).sum();
    let last = data(path).last().map_or(0, |part| part.1);
    assert_eq!((held, last), (bytes, bytes), "{:?}", data(path));
}

/// Asserts that no sector is empty or equals another one.
#[track_caller]
fn all_differ(bytes: &[u8]) {
    let sectors: HashSet<&[u8]> = bytes.chunks(512).collect();
    assert!(!sectors.contains(&[0; 512][..]) && sectors.len() == bytes.len() / 512);
}

fn fill(lab: &Lab, code: i32, words: &str) -> Ended {
    lab.expect(code, &format!("fill --no-progress {words}"))
}

/// Whether a run that reads the target finds parts without data.
fn has_holes(lab: &Lab, target: &str) -> bool {
    lab.run(&format!("run -t {target} --rw read --bs 64k --iodepth 4 --start-delay 0 --no-progress -o ran"));
    let judged = lab.run("judge ran --json").out;
    std::fs::remove_dir_all(lab.path("ran")).unwrap();
    let judgement: serde_json::Value = serde_json::from_str(&judged).unwrap();
    let found = judgement["detections"].as_array().unwrap().iter().find(|one| one["id"] == "unmapped-target");
    found.is_some_and(|one| one["level"] != "ok")
}

/// An ext4 file system on a loop device of this many mebibytes.
fn ext4(mebibytes: u64) -> (LoopDevice, Mounted) {
    let device = LoopDevice::of(Image::sparse(mebibytes), &[]);
    tool("mkfs.ext4", &["-q", "-F", "-m", "0", device.text()]);
    let mounted = Mounted::new(device.path(), "rw");
    (device, mounted)
}

#[test]
fn fills_holes_and_unwritten_extents() {
    needs!("mkfs.ext4", "fallocate");
    let lab = lab();
    let (_device, mounted) = ext4(192);
    let (sparse, unwritten) = (mounted.path().join("sparse"), mounted.path().join("unwritten"));
    File::create(&sparse).unwrap().set_len(32 * MIB + 4096).unwrap();
    tool("fallocate", &["-l", "32M", unwritten.to_str().unwrap()]);
    for (path, bytes) in [(&sparse, 32 * MIB + 4096), (&unwritten, 32 * MIB)] {
        let name = path.display().to_string();
        assert!(data(path).is_empty() && has_holes(&lab, &name));
        let filled = fill(&lab, 0, &name);
        assert!(filled.out.starts_with("filled 32.0 MiB of "), "{}", filled.out);
        assert!(filled.out.ends_with("; every byte is stored\n"), "{}", filled.out);
        holds_only_first(path, bytes);
        assert_eq!(std::fs::metadata(path).unwrap().len(), bytes);
        all_differ(&std::fs::read(path).unwrap());
        assert!(!has_holes(&lab, &name));
    }
}

#[test]
fn filling_a_loop_device_fills_its_image() {
    needs!();
    for is_direct in [true, false] {
        let lab = lab();
        let image = lab.path("image");
        File::create(&image).unwrap().set_len(32 * MIB).unwrap();
        let device = if is_direct { LoopDevice::on(&image, &[]) } else { LoopDevice::buffered(&image) };
        assert!(has_holes(&lab, device.text()));
        let refused = fill(&lab, 2, device.text());
        assert!(refused.err.contains("--destroy") && data(&image).is_empty(), "{}", refused.err);

        let half = fill(&lab, 0, &format!("{} --percent 50 --destroy", device.text()));
        assert!(half.err.contains("will be overwritten"), "{}", half.err);
        assert!(half.out.ends_with("; every byte is stored\n"), "{}", half.out);
        holds_only_first(&image, 16 * MIB);

        let whole = fill(&lab, 0, &format!("{} --destroy --json --times 2", device.text()));
        let facts: serde_json::Value = serde_json::from_str(&whole.out).unwrap();
        assert_eq!((&facts["bytes"], &facts["written_bytes"]), (&(32 * MIB).into(), &(64 * MIB).into()));
        assert_eq!(facts["stored"]["empty_bytes"], 0);
        assert_eq!(facts["stored"]["file"].as_str(), image.to_str());
        holds_only_first(&image, 32 * MIB);
        all_differ(&device.bytes());
        assert!(!has_holes(&lab, device.text()));
    }
}

#[test]
fn filling_a_loop_partition_fills_its_image() {
    needs!("addpart", "delpart");
    let lab = lab();
    let image = lab.path("image");
    File::create(&image).unwrap().set_len(32 * MIB).unwrap();
    let device = LoopDevice::on(&image, &[]);
    let partition = device.partition(1, 8, 16);
    let filled = fill(&lab, 0, &format!("{} --destroy", partition.path().display()));
    assert!(filled.out.ends_with("; every byte is stored\n"), "{}", filled.out);
    assert_eq!(data(&image), [(8 * MIB, 24 * MIB)]);
}

#[test]
fn fill_data_is_incompressible_on_zram() {
    needs!();
    let Some(zram) = Zram::new(32) else {
        return iosonar_testkit::skip("zram", "this kernel has no zram");
    };
    let lab = lab();
    let filled = fill(&lab, 0, &format!("{} --times 2 --destroy", zram.path().display()));
    let name = zram.path().file_name().unwrap().to_str().unwrap().to_string();
    let unknown =
        format!("; whether every byte is stored is not known: {name} does not report which of its blocks");
    assert!(filled.out.contains(&unknown), "{}", filled.out);
    // Original size, compressed size, memory, limit, most memory, pages of one value (Documentation/admin-guide/blockdev/zram.rst).
    let stat = std::fs::read_to_string(format!("/sys/block/{name}/mm_stat")).unwrap();
    let stat: Vec<u64> = stat.split_whitespace().map(|field| field.parse().unwrap()).collect();
    assert_eq!((stat[0], stat[5]), (32 * MIB, 0), "{stat:?}");
    assert!(stat[1] as f64 > 0.95 * stat[0] as f64, "{stat:?}");
}

#[test]
fn rejects_mounted_device_even_with_destroy() {
    needs!("mkfs.ext4");
    let lab = lab();
    let (device, mounted) = ext4(16);
    std::fs::write(mounted.path().join("precious"), b"precious").unwrap();
    let refused = fill(&lab, 2, &format!("{} --destroy", device.text()));
    assert!(refused.err.contains("is mounted"), "{}", refused.err);
    assert_eq!(std::fs::read(mounted.path().join("precious")).unwrap(), b"precious");
    drop(mounted);
    let refused = fill(&lab, 2, device.text());
    assert!(refused.err.contains("ext4 file system") && refused.err.contains("--destroy"), "{}", refused.err);
}

#[test]
fn enospc_ends_the_fill() {
    needs!("mkfs.ext4");
    let lab = lab();
    let (_device, mounted) = ext4(32);
    let (new, sparse) = (mounted.path().join("new"), mounted.path().join("sparse"));
    let refused = fill(&lab, 2, &format!("{} --size 64m", new.display()));
    assert!(refused.err.contains("67108864 bytes cannot be allocated: No space left"), "{}", refused.err);
    assert!(!new.exists());
    File::create(&sparse).unwrap().set_len(64 * MIB).unwrap();
    let failed = fill(&lab, 1, &sparse.display().to_string());
    assert!(failed.out.starts_with("not filled: "), "{}", failed.out);
    assert!(
        failed.out.contains(" of 64.0 MiB were written") && failed.out.contains("ENOSPC"),
        "{}",
        failed.out
    );
}

#[test]
fn falls_back_to_page_cache_without_direct_io() {
    needs!();
    let lab = lab();
    let memory = Mounted::ramfs();
    let path = memory.path().join("new");
    let filled = fill(&lab, 0, &format!("{} --size 8m", path.display()));
    assert!(
        filled.err.contains("has no direct I/O, so it is written through the page cache"),
        "{}",
        filled.err
    );
    all_differ(&std::fs::read(&path).unwrap());
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 8 * MIB);
}

#[test]
fn sigint_stops_fill_and_reports_filled_bytes() {
    needs!();
    let lab = lab();
    let device = LoopDevice::of(Image::sparse(1024), &[]);
    std::fs::create_dir(lab.path("tmp")).unwrap();
    let words = format!("fill {} --bs 4k --iodepth 1 --destroy --no-progress", device.text());
    let mut command = lab.command(&words);
    command.env("TMPDIR", lab.path("tmp"));
    // The counters of a loop device outlive what it was attached to.
    let before = writes_in_kernel(&device);
    let running = Background::start(command);
    until("the first writes", || writes_in_kernel(&device) > before + 100);
    running.signal("INT");
    let ended = running.wait();
    assert_eq!(ended.code, 130, "{}{}", ended.out, ended.err);
    assert!(
        ended.out.starts_with("not filled: ") && ended.out.contains(" of 1.00 GiB were written"),
        "{}",
        ended.out
    );
    assert!(ended.out.trim_end().ends_with("SIGINT"), "{}", ended.out);
    let mut first = [0; 512];
    File::open(device.path()).unwrap().read_exact_at(&mut first, 0).unwrap();
    assert_ne!(first, [0; 512]);
    assert_eq!(std::fs::read_dir(lab.path("tmp")).unwrap().count(), 0, "records are left");
}
