//! Mapped files on a disk that gets full: the request fails, and the run ends in order.

use crate::common::*;
use iosonar_testkit::{Image, LoopDevice, Mounted, tool};
use std::fs::File;

/// A file system of 8 MiB.
fn small() -> (LoopDevice, Mounted) {
    let device = LoopDevice::of(Image::sparse(8), &[]);
    tool("mkfs.ext4", &["-q", "-F", device.text()]);
    let mounted = Mounted::new(device.path(), "rw");
    (device, mounted)
}

#[test]
fn enospc_fails_mapped_requests_and_ends_cleanly() {
    needs!("mkfs.ext4");
    let lab = lab();
    let (_device, mounted) = small();
    let path = mounted.path().join("t");
    File::create(&path).unwrap().set_len(16 << 20).unwrap();
    let args =
        format!("run -t {} --rw write --bs 64k --engine mmap --buffered --no-progress -o o", path.display());
    let ended = lab.expect(1, &args);
    assert!(ended.out.contains("ENOSPC") || ended.err.contains("ENOSPC"), "{}{}", ended.out, ended.err);
    let records = lab.records("o");
    assert_eq!(records.len(), 256);
    let failed: Vec<i64> = records.iter().map(|record| record.result).filter(|result| *result < 0).collect();
    assert!(failed.len() > 100 && failed.iter().all(|result| *result == -28), "{failed:?}");
}

#[test]
fn mapped_files_leave_nothing_after_enospc() {
    needs!("mkfs.ext4");
    let lab = lab();
    let (_device, mounted) = small();
    let file = mounted.path().join("t");
    let iozone = format!("iozone -B -s 16m -r 64k -i 0 -f {}", file.display());
    let ended = lab.expect(1, &iozone);
    let says = |text: &str, what: &str| assert!(text.contains(what), "no {what} in {text}");
    says(&ended.err, &file.display().to_string());
    says(&ended.err, "No space left on device");
    assert!(!file.exists());
    let matrix = "--methods mmap --sizes 16m --records 64k --tests write --repeat 1 --no-progress -o m";
    let ended = lab.expect(1, &format!("matrix {} {matrix}", file.display()));
    says(&ended.err, &format!("the run could not go on: target {}", file.display()));
    says(&ended.err, "No space left on device");
    assert!(!file.exists() && lab.path("m/cells.json").exists());
}

#[test]
fn truncated_mapped_file_fails_its_reads() {
    needs!();
    let lab = lab();
    let path = lab.file("t", vec![7; 4 << 20]);
    let args = "run -t t --rw randread --bs 64k --engine mmap --buffered --rate-iops 200 --time-based --runtime 3 --no-progress -o o";
    let run = lab.command(args).spawn().unwrap();
    until("its first reads", || lab.path("o/records.log").metadata().is_ok_and(|log| log.len() > 16));
    File::options().write(true).open(path).unwrap().set_len(4096).unwrap();
    let ended = iosonar_testkit::Ended::of(run.wait_with_output().unwrap());
    assert_eq!(ended.code, 1, "{}{}", ended.out, ended.err);
    assert!(lab.records("o").iter().any(|record| record.result == -5));
}
