//! Devices that fail, and a result directory without room.

use crate::common::*;
use iosonar_archive::{Outcome, RunState};
use iosonar_plan::Op;
use iosonar_testkit::{Ended, Image, Lab, LoopDevice, Mounted, tool};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Asserts that every failed record carries `errno`, and that counters, latency and the list of errors agree.
pub fn assert_failed_with(lab: &Lab, errno: i64, name: &str) {
    let records = lab.records("out");
    let (completed, failed) = (count(&records, Outcome::Completed), count(&records, Outcome::Failed));
    assert_eq!(completed + failed, records.len());
    for record in &records {
        let want = if record.outcome == Outcome::Failed { -errno } else { record.executed.length as i64 };
        assert_eq!(record.result, want, "{record:?}");
        assert!(record.submitted.is_some() && record.completed.is_some());
    }
    let summary = summary(lab, "out");
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
fn device_turned_read_only_fails_each_write() {
    needs!("blockdev");
    let device = LoopDevice::random(16);
    let lab = lab();
    let lines = conflicting(400, 16_384, 16, 1_000_000);
    lab.file("load", load_text(&lines));
    let before = device.bytes();
    let replay = Background::start(
        lab.command(&format!("replay load -t {} --destroy --start-grace 5 -o out", device.text())),
    );
    // The series start when the target is open.
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
fn device_failing_midway_fails_all_later_requests() {
    needs!("mkfs.xfs", "xfs_io");
    let breakable = Breakable::new();
    let device = &breakable.device;
    let lab = lab();
    lab.file("load", load_text(&conflicting(6000, 32_768, 64, 1_000_000)));
    let replay = Background::start(
        lab.command(&format!("replay load -t {} --destroy --start-grace 0.2 -o out", device.text())),
    );
    lab.until_records("out");
    std::thread::sleep(Duration::from_millis(300));
    breakable.break_it();
    let ended = replay.wait();
    assert_eq!(ended.code, 1, "{}", ended.err);
    assert_failed_with(&lab, 5, "EIO");
    let records = in_order(lab.records("out"));
    assert_eq!(records.len(), 6000);
    let (good, bad) = (count(&records, Outcome::Completed), count(&records, Outcome::Failed));
    assert!(good > 100 && bad > 100, "{good} good, {bad} bad");
    let first_bad = records.iter().filter(|r| !r.is_completed()).map(|r| r.completed).min().unwrap();
    assert!(records.iter().filter(|r| r.submitted > first_bad).all(|r| r.outcome == Outcome::Failed));
    assert!(verdict(&records, 1).is_clean());
    assert!(ended.out.contains("EIO"), "{}", ended.out);
    println!("{good} completed before, {bad} failed after");
}

#[test]
fn rejects_read_only_device_before_touching_anything() {
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

/// A replay of 40 000 requests whose result has `room_kib` KiB. Returns how it ended, its result, and the guards that keep that.
fn with_room_for(room_kib: usize) -> (Ended, PathBuf, (Lab, LoopDevice, Mounted)) {
    let disk = LoopDevice::random(16);
    tool("mkfs.ext4", &["-q", "-F", "-m", "0", "-E", "nodiscard", disk.text()]);
    let mounted = Mounted::new(disk.path(), "rw");
    let available = tool("df", &["--output=avail", "-k", mounted.path().to_str().unwrap()]);
    let kib: usize = available.lines().last().unwrap().trim().parse().unwrap();
    std::fs::write(mounted.path().join("filler"), vec![1; (kib - room_kib) << 10]).unwrap();
    tool("sync", &["-f".as_ref(), mounted.path()]);
    let device = LoopDevice::random(16);
    let lab = lab();
    lab.file("load", load_text(&conflicting(40_000, 32_768, 16, 10_000)));
    let out = mounted.path().join("out");
    let ended = lab.run(&format!(
        "replay load -t {} --destroy --start-grace 0.2 -o {}",
        device.text(),
        out.display()
    ));
    // No partly written file stays: its space is needed.
    let names = std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path());
    assert!(names.into_iter().all(|path| path.extension().is_none_or(|e| e != "tmp")));
    assert!(!ended.err.contains("panicked"), "{}", ended.err);
    (ended, out, (lab, disk, mounted))
}

/// Replays with much less space than the result needs. Returns the number of records kept.
fn kept_in(room_kib: usize) -> usize {
    let (ended, out, (lab, _disk, _mounted)) = with_room_for(room_kib);
    assert_eq!(ended.code, 1, "{}", ended.err);
    let log = out.join("records.log");
    let why = "iosonar: the run could not go on: the records could not be written:";
    let why = format!("{why} {}: No space left on device", log.display());
    assert!(ended.err.contains(&why), "{}", ended.err);
    let state = run_info(&out).state;
    assert!(!matches!(state, RunState::Finished | RunState::Interrupted(_)), "{state:?}");
    let shown = lab.expect(0, &format!("show {} --json", out.display()));
    let summary: Value = serde_json::from_str(&shown.out).unwrap();
    let records = iosonar_testkit::records(&out);
    assert_eq!(summary["counts"]["all"]["total"], records.len());
    assert!(verdict(&in_order(records.clone()), 1).is_clean());
    println!("room for {room_kib} KiB: {} of 40000 were recorded, state {state:?}", records.len());
    records.len()
}

#[test]
fn enospc_ends_the_run_and_keeps_records() {
    needs!("mkfs.ext4");
    let kept = [100, 200, 400, 600].map(kept_in);
    assert!(kept.is_sorted() && (1000..40_000).contains(&kept[3]), "{kept:?}");
}

#[test]
fn enospc_ends_conversions_with_one_code_and_no_output() {
    needs!("mount");
    let lab = lab();
    let load = lab.file("a.load", load_text(&conflicting(60_000, 32_768, 16, 0)));
    for room_kib in [256, 8] {
        let dir = lab.path(&format!("room{room_kib}"));
        std::fs::create_dir(&dir).unwrap();
        tool("mount", &["-t", "tmpfs", "-o", &format!("size={room_kib}k"), "none", dir.to_str().unwrap()]);
        let ended = ["x.load", "x.iosonar", "x.parquet"]
            .map(|name| lab.run(&format!("convert {} {}", load.display(), dir.join(name).display())));
        let left = std::fs::read_dir(&dir).unwrap().count();
        tool("umount", &[dir.to_str().unwrap()]);
        for ended in ended {
            assert_eq!(ended.code, 1, "{}", ended.err);
            assert!(ended.err.contains("No space left") && ended.err.contains("make room"), "{}", ended.err);
        }
        assert_eq!(left, 0);
    }
}

#[test]
fn enospc_after_the_run_loses_no_record() {
    needs!("mkfs.ext4");
    // Enough for the log, not for its conversion beside it.
    let (ended, out, (lab, _disk, _mounted)) = with_room_for(1200);
    assert_eq!(ended.code, 1, "{}", ended.err);
    assert!(ended.err.contains("No space left on device") && ended.err.contains("stay in their log"));
    is_unconverted(&lab, &ended, &out, 40_000);
}

#[test]
fn unconverted_result_is_completed_once_there_is_space() {
    needs!("mount");
    let lab = lab();
    let dir = lab.path("small");
    std::fs::create_dir(&dir).unwrap();
    tool("mount", &["-t", "tmpfs", "-o", "size=480k", "none", dir.to_str().unwrap()]);
    let out = dir.join("out");
    let ended = lab.run(&format!(
        "run --engine null --size 1g -t dev --rw randrw --bs 4k --iodepth 8 --number-ios 20000 \
         --no-progress -o {}",
        out.display()
    ));
    let check = std::panic::catch_unwind(|| {
        is_unconverted(&lab, &ended, &out, 20_000);
        tool("mount", &["-o", "remount,size=64m", dir.to_str().unwrap()]);
        let shown = lab.expect(0, &format!("show --all {}", out.display()));
        assert!(shown.err.contains("converted now"), "{}", shown.err);
        assert!(shown.out.contains("finished") && !shown.out.contains("not converted"), "{}", shown.out);
        assert!(!out.join("records.log").exists() && !out.join("reserve").exists());
        assert!(out.join("records.parquet").exists() && out.join("summary.json").exists());
        assert_eq!(run_info(&out).state, RunState::Finished);
        assert_eq!(in_order(iosonar_testkit::records(&out)).len(), 20_000);
        let again = lab.expect(0, &format!("show --all {}", out.display()));
        assert!(again.out == shown.out && again.err.is_empty(), "{}", again.err);
    });
    tool("umount", &[dir.to_str().unwrap()]);
    check.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

/// Asserts that a run ended with 1 and reports that all its records are in their log.
fn is_unconverted(lab: &Lab, ended: &Ended, out: &Path, requests: u64) {
    assert_eq!(ended.code, 1, "{}", ended.err);
    assert!(ended.out.contains("finished, not converted"), "{}", ended.out);
    assert!(ended.out.contains("No record is lost"), "{}", ended.out);
    assert!(out.join("records.log").exists() && !out.join("records.parquet").exists());
    assert!(matches!(run_info(out).state, RunState::Unconverted(why) if why.contains("No space left")));
    let records = in_order(iosonar_testkit::records(out));
    assert!(records.iter().enumerate().all(|(i, r)| r.sequence == i as u64));
    assert_eq!(records.len() as u64, requests);
    // There is still no space: the log is read.
    let shown = lab.expect(0, &format!("show {} --json", out.display()));
    let summary: Value = serde_json::from_str(&shown.out).unwrap();
    assert_eq!(summary["counts"]["all"]["completed"], requests);
    assert_eq!(summary["run"]["state"], "unconverted");
    assert!(caution(&summary, "unconverted").is_some(), "{}", summary["cautions"]);
}

#[test]
fn shrunk_device_fails_requests_beyond_its_end() {
    needs!("truncate");
    let image = Image::random(16);
    let device = LoopDevice::on(&image.path(), &[]);
    let lab = lab();
    let lines = conflicting(400, 32_768, 16, 1_000_000);
    lab.file("load", load_text(&lines));
    let replay = Background::start(
        lab.command(&format!("replay load -t {} --destroy --start-grace 5 -o out", device.text())),
    );
    until("the run", || lab.path("out/series.csv").exists());
    std::thread::sleep(Duration::from_millis(200));
    let size: u64 = 8 << 20;
    tool("truncate", &["-s", &size.to_string(), image.path().to_str().unwrap()]);
    tool("losetup", &["-c", device.text()]);
    let ended = replay.wait();
    assert_eq!(ended.code, 1, "{}", ended.err);
    let records = in_order(lab.records("out"));
    assert_eq!(records.len(), lines.len());
    for record in &records {
        let inside = size.saturating_sub(record.executed.offset).min(record.executed.length);
        let (outcome, result) = match record.op {
            _ if inside == record.executed.length => (Outcome::Completed, inside as i64),
            // A read ends where the device ends; so does a write, which then fails with ENOSPC.
            Op::Read => (Outcome::Failed, inside as i64),
            _ => (Outcome::Failed, -28),
        };
        assert_eq!((record.outcome, record.result), (outcome, result), "{record:?}");
    }
    let summary = summary(&lab, "out");
    assert_eq!(summary["latency"]["all"]["count"], count(&records, Outcome::Completed));
    println!("{}", summary["errors"]);
}

#[test]
fn device_stall_shows_in_latency_of_requests_due_meanwhile() {
    needs!("mkfs.xfs", "fsfreeze");
    let lower = LoopDevice::of(Image::sparse(320), &[]);
    tool("mkfs.xfs", &["-q", "-K", lower.text()]);
    let mounted = Mounted::new(lower.path(), "rw");
    let backing = mounted.path().join("backing");
    std::fs::write(&backing, vec![7; 16 << 20]).unwrap();
    // A freeze first writes dirty pages back.
    tool("sync", &["-f".as_ref(), backing.as_os_str()]);
    let device = LoopDevice::on(&backing, &[]);
    let lab = lab();
    // One write each 10 ms, all at different places.
    let line = |i: u64| Line { time: i * 10_000_000, sector: i * 32, length: 8, op: Op::Write };
    lab.file("load", load_text(&(0..600).map(line).collect::<Vec<_>>()));
    let replay = Background::start(
        lab.command(&format!("replay load -t {} --destroy --start-grace 0.3 -o out", device.text())),
    );
    lab.until_records("out");
    let frozen = Frozen::new(&mounted);
    let from = iosonar_os::monotonic_ns();
    std::thread::sleep(Duration::from_millis(1500));
    let to = iosonar_os::monotonic_ns();
    drop(frozen);
    let ended = replay.wait();
    assert_eq!(ended.code, 0, "{}", ended.err);
    let records = in_order(lab.records("out"));
    let origin = run_info(&lab.path("out")).origin_monotonic_ns;
    // The last 400 ms are excluded: a busy machine may send requests due then late.
    let due_meanwhile: Vec<_> =
        records.iter().filter(|r| (from..to - 400_000_000).contains(&(r.due.0 + origin))).collect();
    assert!(due_meanwhile.len() >= 80, "{}", due_meanwhile.len());
    for record in &due_meanwhile {
        // Sent when due, not when the device woke up: the stall is the device's, and counted in full.
        assert!(record.completed.unwrap().0 + origin >= to, "{record:?}");
        assert!(record.submitted.unwrap().0 + origin < to, "{record:?} waited with the device");
        assert!(record.response().unwrap().0 >= to - (record.due.0 + origin));
    }
    let summary = summary(&lab, "out");
    assert!(summary["latency"]["all"]["max_ns"].as_u64().unwrap() > 900_000_000);
    assert!(summary["in_flight"]["max_on_one_target"].as_u64().unwrap() >= 80);
    println!(
        "{} were due in the stall, max latency {}",
        due_meanwhile.len(),
        summary["latency"]["all"]["max_ns"]
    );
}
