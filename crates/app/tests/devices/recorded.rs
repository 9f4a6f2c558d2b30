//! Recorded loads on loop devices, in time and as fast as possible, under every policy.

use crate::common::*;
use iosonar_archive::{Marks, Outcome, Record};
use iosonar_plan::SECTOR;
use iosonar_testkit::{Image, LoopDevice, own_load};
use std::path::PathBuf;
use std::time::Instant;

const POLICIES: [&str; 4] = ["allow", "drop", "push-back", "order"];

/// Asserts that the records are the requests of the window, in the load's order, at their places on a device of `size` sectors.
fn assert_is_window(records: &[Record], window: &[Line], size: u64, asap: bool) {
    assert_eq!(records.len(), window.len());
    for (index, (record, line)) in records.iter().zip(window).enumerate() {
        assert_eq!(record.sequence, index as u64);
        let asked = Line {
            time: record.load_time.0,
            sector: record.requested.offset / SECTOR,
            length: record.requested.length / SECTOR,
            op: record.op,
        };
        assert_eq!(asked, *line, "request {index}");
        assert_eq!(record.due.0, if asap { 0 } else { line.time - window[0].time });
        let fits = line.sector + line.length <= size;
        let place = if fits { line.sector } else { (line.sector % size).min(size - line.length) };
        assert_eq!(record.executed.offset, place * SECTOR, "request {index}");
        assert_eq!(record.executed.length, line.length * SECTOR);
        assert_eq!(record.marks.has(Marks::WRAPPED), line.sector >= size);
        assert!(!record.marks.has(Marks::ROUNDED));
    }
}

/// Asserts the promise of each policy from the times in the records.
fn assert_policy(records: &[Record], policy: &str, strong: u8) {
    let verdict = verdict(records, strong);
    let dropped = count(records, Outcome::Dropped);
    assert_eq!(count(records, Outcome::Completed) + dropped, records.len());
    match policy {
        "allow" => assert!(records.iter().all(|r| r.released.is_none() && r.blocked_by.is_none())),
        "drop" => assert!(verdict.is_clean(), "{verdict:?}"),
        "push-back" => assert!(verdict.is_clean(), "{verdict:?}"),
        _ => {
            assert!(verdict.is_clean(), "{verdict:?}");
            assert_nothing_passed(records);
        }
    }
    assert!(policy == "drop" || dropped == 0);
    for record in records {
        assert!(record.submitted.is_none_or(|t| t >= record.due), "{record:?} is early");
        assert_eq!(record.marks.has(Marks::PUSHED), policy == "push-back" && record.released.is_some());
        assert_eq!(record.marks.has(Marks::ORDERED), policy == "order" && record.released.is_some());
    }
}

/// A part of a load that is replayed at its recorded times.
struct ReplayedPart {
    load: PathBuf,
    start: u64,
    depth: u32,
    device: LoopDevice,
    mebibytes: u64,
}

fn timed(part: &ReplayedPart, policy: &str, strong: u8, engine: &str) {
    let ReplayedPart { load, start, depth, device, mebibytes } = part;
    let length = if std::env::var("IOSONAR_LONG").is_ok_and(|v| v == "1") { 30 } else { 10 };
    let second = 1_000_000_000;
    let is_inside = |l: &Line| (start * second..(start + length) * second).contains(&l.time);
    let window: Vec<Line> = read_load(load).into_iter().filter(is_inside).collect();
    let lab = lab();
    let began = Instant::now();
    lab.expect_done(
        &format!(
            "replay {} -t {} --destroy --start {start} --duration {length} --overlap {policy} --strong {strong} --depth {depth} --engine {engine} -o out",
            load.display(),
            device.text()
        ),
    );
    let records = in_order(lab.records("out"));
    assert_is_window(&records, &window, mebibytes << 11, false);
    assert_policy(&records, policy, strong);
    let span = window.last().unwrap().time - window[0].time;
    assert!(began.elapsed().as_nanos() as u64 > span);
    let late = records.iter().filter_map(Record::delay).max().unwrap();
    let waited = records.iter().filter(|r| r.released.is_some()).count();
    println!(
        "{} {start}+{length} s, {engine} {policy} {strong}: {} requests, {waited} waited, latest {late}",
        load.display(),
        records.len()
    );
}

/// Busy and quiet, side by side: most of the time each waits for its next request.
#[test]
fn replays_parts_of_recorded_loads_on_time() {
    needs!();
    let made = lab();
    let logs = own_load("logs");
    // A request every 2.5 s, of an hour.
    made.expect_args(0, &["filter", "sample:25 | scale:21", logs.to_str().unwrap(), "-o", "quiet.load.gz"]);
    let busy = |mebibytes| ReplayedPart {
        load: own_load("database"),
        start: 12,
        depth: 128,
        device: LoopDevice::random(mebibytes),
        mebibytes,
    };
    let quiet = |mebibytes| ReplayedPart {
        load: made.path("quiet.load.gz"),
        start: 600,
        depth: 16,
        ..busy(mebibytes)
    };
    let parts = [busy(1024), busy(1024), quiet(64), quiet(64)];
    let how = [("push-back", 1, "uring"), ("order", 2, "threads")];
    std::thread::scope(|scope| {
        for (part, (policy, strong, engine)) in parts.iter().zip(how.into_iter().cycle()) {
            scope.spawn(move || timed(part, policy, strong, engine));
        }
    });
}

/// Replays the whole load as fast as possible, under all policies and conflict tables.
fn whole(name: &str, device: &LoopDevice, size: u64) {
    let load = own_load(name);
    let window = read_load(&load);
    for policy in POLICIES {
        for strong in 0..=2 {
            let lab = lab();
            lab.expect_done(
                &format!(
                    "replay {} -t {} --destroy --asap --start-grace 0 --overlap {policy} --strong {strong} -o out",
                    load.display(),
                    device.text()
                ),
            );
            let records = in_order(lab.records("out"));
            assert_is_window(&records, &window, size, true);
            assert_policy(&records, policy, strong);
            let waited = records.iter().filter(|r| r.released.is_some()).count();
            let (dropped, overlaps) =
                (count(&records, Outcome::Dropped), verdict(&records, strong).overlapping.len());
            println!(
                "{name} {policy} {strong}: {waited} waited, {dropped} dropped, {overlaps} pairs overlapped"
            );
        }
    }
}

#[test]
fn replays_database_load_under_every_policy() {
    needs!();
    // Larger than the load reaches, so nothing wraps.
    whole("database", &LoopDevice::of(Image::sparse(3 << 10), &[]), 3 << 21);
}

#[test]
fn replays_wrapped_compiler_load_under_every_policy() {
    needs!();
    whole("compiler", &LoopDevice::random(256), 256 << 11);
}

#[test]
fn generated_conflicts_overlap_only_when_allowed() {
    needs!();
    let device = LoopDevice::random(16);
    let lines = conflicting(4000, 2048, 64, 0);
    for strong in 0..=2 {
        for policy in POLICIES {
            let lab = lab();
            lab.file("load", load_text(&lines));
            let target = device.text();
            lab.expect_done(&format!("replay load -t {target} --destroy --start-grace 0 --overlap {policy} --strong {strong} -o out"));
            let records = in_order(lab.records("out"));
            assert_is_window(&records, &lines, 16 << 11, false);
            assert_policy(&records, policy, strong);
            let overlaps = verdict(&records, strong).overlapping.len();
            let waited = records.iter().filter(|r| r.released.is_some()).count();
            println!("{policy} {strong}: {waited} waited, {overlaps} pairs overlapped");
            match policy {
                "allow" => assert!(overlaps > 0, "the checker sees nothing"),
                "drop" => assert!(count(&records, Outcome::Dropped) > 0),
                _ => assert!(waited > 0),
            }
        }
    }
}
