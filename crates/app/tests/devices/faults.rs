//! Devices that fail, and a result directory without room.

use crate::common::*;
use iosonar_archive::{Outcome, RunState};
use iosonar_plan::Op;
use iosonar_testkit::{Image, Lab, LoopDevice, Mounted, tool};
use serde_json::Value;
use std::time::Duration;

fn summary(lab: &Lab) -> Value {
    serde_json::from_str(&lab.expect(0, "show out --json").out).unwrap()
}

/// Every failed record carries `errno`; counters, latency and the list of errors say the same.
fn assert_failed_with(lab: &Lab, errno: i64, name: &str) {
    let records = lab.records("out");
    let (completed, failed) = (count(&records, Outcome::Completed), count(&records, Outcome::Failed));
    assert_eq!(completed + failed, records.len());
    for record in &records {
        let want = if record.outcome == Outcome::Failed { -errno } else { record.executed.length as i64 };
        assert_eq!(record.result, want, "{record:?}");
        assert!(record.submitted.is_some() && record.completed.is_some());
    }
    let summary = summary(lab);
    let all = &summary["counts"]["all"];
    assert_eq!((&all["failed"], &all["completed"]), (&failed.into(), &completed.into()));
    assert_eq!(summary["latency"]["all"]["count"], completed);
    let errors = summary["errors"].as_array().unwrap();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(
        (&errors[0]["name"], &errors[0]["errno"], &errors[0]["count"]),
        (&name.into(), &errno.into(), &failed.into())
    );
    let cautions = summary["cautions"].as_array().unwrap();
    assert!(
        cautions.iter().any(|c| c["id"] == "failed-requests" && c["text"].as_str().unwrap().contains(name))
    );
}

#[test]
fn a_device_that_becomes_read_only_fails_each_write() {
    needs!("blockdev");
    let device = LoopDevice::random(16);
    let lab = lab();
    let lines = conflicting(400, 16_384, 16, 1_000_000);
    lab.file("load", load_text(&lines));
    let before = device.bytes();
    let replay = Background::start(
        lab.command(&format!("replay load -t {} --destroy --start-grace 1.5 -o out", device.text())),
    );
    // The series begin when the target is open.
    until("the run", || lab.path("out/series.csv").exists());
    std::thread::sleep(Duration::from_millis(200));
    device.set_read_only(true);
    let ended = replay.wait();
    device.set_read_only(false);
    assert_eq!(ended.code, 1, "{}", ended.err);
    assert_failed_with(&lab, 1, "EPERM");
    let records = lab.records("out");
    assert!(records.iter().all(|r| (r.outcome == Outcome::Failed) == (r.op == Op::Write)));
    assert_eq!(count(&records, Outcome::Failed), lines.iter().filter(|l| l.op == Op::Write).count());
    assert_eq!(run_info(&lab.path("out")).state, RunState::Finished);
    assert!(device.bytes() == before);
    println!(
        "{} writes failed, {} reads completed",
        count(&records, Outcome::Failed),
        count(&records, Outcome::Completed)
    );
}

#[test]
fn a_device_that_breaks_in_the_middle_fails_from_then_on() {
    needs!("mkfs.xfs", "xfs_io");
    let lower = LoopDevice::of(Image::sparse(320), &[]);
    tool("mkfs.xfs", &["-q", "-K", lower.text()]);
    let mounted = Mounted::new(lower.path(), "rw");
    let backing = mounted.path().join("backing");
    std::fs::write(&backing, vec![7; 16 << 20]).unwrap();
    let device = LoopDevice::on(&backing, &[]);
    let lab = lab();
    lab.file("load", load_text(&conflicting(3000, 32_768, 64, 1_000_000)));
    let replay = Background::start(
        lab.command(&format!("replay load -t {} --destroy --start-grace 0.2 -o out", device.text())),
    );
    std::thread::sleep(Duration::from_millis(1500));
    tool("xfs_io", &["-x", "-c", "shutdown", mounted.path().to_str().unwrap()]);
    let ended = replay.wait();
    assert_eq!(ended.code, 1, "{}", ended.err);
    assert_failed_with(&lab, 5, "EIO");
    let records = in_order(lab.records("out"));
    assert_eq!(records.len(), 3000);
    let (good, bad) = (count(&records, Outcome::Completed), count(&records, Outcome::Failed));
    assert!(good > 100 && bad > 100, "{good} good, {bad} bad");
    let first_bad = records.iter().filter(|r| !r.is_completed()).map(|r| r.completed).min().unwrap();
    assert!(records.iter().filter(|r| r.submitted > first_bad).all(|r| r.outcome == Outcome::Failed));
    assert!(verdict(&records, 1).is_clean());
    assert!(ended.out.contains("EIO"), "{}", ended.out);
    println!("{good} completed before, {bad} failed after");
}

#[test]
fn a_read_only_device_is_refused_before_anything_is_touched() {
    needs!("blockdev");
    let device = LoopDevice::random(4);
    let before = device.bytes();
    device.set_read_only(true);
    let lab = lab();
    lab.file("load", load_text(&conflicting(10, 4096, 16, 0)));
    let ended = lab.expect(2, &format!("replay load -t {} --destroy -o out", device.text()));
    device.set_read_only(false);
    assert!(ended.err.contains(device.text()) && ended.err.contains("read-only"), "{}", ended.err);
    assert!(!lab.path("out").exists());
    assert!(device.bytes() == before);
}

#[test]
fn a_full_disk_ends_the_run_and_keeps_what_was_recorded() {
    needs!("mkfs.ext4");
    let disk = LoopDevice::random(16);
    tool("mkfs.ext4", &["-q", "-F", "-E", "nodiscard", disk.text()]);
    let mounted = Mounted::new(disk.path(), "rw");
    // Leaves room for some hundred KiB of records.
    let available = tool("df", &["--output=avail", "-k", mounted.path().to_str().unwrap()]);
    let kib: u64 = available.lines().last().unwrap().trim().parse().unwrap();
    std::fs::write(mounted.path().join("filler"), vec![1; (kib as usize - 600) << 10]).unwrap();
    let device = LoopDevice::random(16);
    let lab = lab();
    lab.file("load", load_text(&conflicting(40_000, 32_768, 16, 10_000)));
    let out = mounted.path().join("out");
    let out = out.display();
    let ended = lab.run(&format!("replay load -t {} --destroy --start-grace 0.2 -o {out}", device.text()));
    println!("{}{}", ended.err, ended.out);
    assert_eq!(ended.code, 1);
    assert!(format!("{}{}", ended.err, ended.out).contains("No space left on device"));
    assert!(!ended.err.contains("panicked"));
    let shown = lab.expect(0, &format!("show {out} --json"));
    let summary: Value = serde_json::from_str(&shown.out).unwrap();
    let total = summary["counts"]["all"]["total"].as_u64().unwrap();
    assert!((1000..40_000).contains(&total), "{total}");
    let records = iosonar_testkit::records(&mounted.path().join("out"));
    assert_eq!(records.len() as u64, total);
    println!("{total} of 40000 were recorded, state {}", summary["run"]["state"]);
}
