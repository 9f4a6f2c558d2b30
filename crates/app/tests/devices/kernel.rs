//! The kernel's own tracepoints during a replay: nothing overlapped there either, the requests are the same, and inside the times that we
//! recorded.
//!
//! For each request, our submission comes before the kernel's `block_bio_queue`, and its `block_rq_complete` before
//! our completion. So queue to complete is the longest time that the kernel had a request, it contains issue to
//! complete, and lies inside ours: a replay whose records are clean must be clean there too, unless our times lie.

use crate::common::*;
use iosonar_archive::{Interruption, Outcome, Record, RunState, Signal};
use iosonar_plan::{Op, SECTOR, Strong};
use iosonar_testkit::{
    Access, Bio, Bios, CLOCK_NS, InKernel, Kind, LoopDevice, TRUNCATED_NS, Trace, Tracing, attribute, check,
    own_load,
};
use std::collections::HashMap;
use std::process::Stdio;
use std::time::Duration;

fn text(device: &LoopDevice, rest: &str) -> String {
    format!("replay load -t {} --destroy {rest} -o out", device.text())
}

/// Finds the kernel's times of each record, and asserts that every event is explained. Bios of others are excluded.
fn explain(trace: &Trace, records: &[Record], origin_ns: u64) -> (Bios, Vec<Option<InKernel>>) {
    assert_eq!(trace.lost, 0, "events were lost");
    let mut bios = Bios::of(trace);
    assert_eq!(bios.unexplained, [], "events that fit nothing");
    assert_eq!(bios.splits, trace.count(Kind::Split));
    let merges = [Kind::BackMerge, Kind::FrontMerge, Kind::RequestMerge].map(|kind| trace.count(kind));
    assert_eq!(bios.merges, merges.iter().sum::<u64>());
    // Every request of this run has ended.
    let second_tries = bios.take_second_tries().len();
    if second_tries > 0 {
        println!("{second_tries} came to the kernel twice");
    }
    let found = attribute(records, origin_ns, &bios.bios);
    // The guard reads the device before time zero, and udev, where it runs, after the end.
    let end = origin_ns + records.iter().filter_map(|r| r.completed).max().map_or(0, |t| t.0);
    for bio in &found.strangers {
        assert!(bio.op == Op::Read && !(origin_ns..end).contains(&bio.queued.ns), "nobody asked for {bio:?}");
    }
    bios.bios.retain(|bio| !found.strangers.contains(bio));
    (bios, found.records)
}

fn assert_inside(record: &Record, seen: &InKernel, origin_ns: u64) {
    let (submitted, completed) =
        (record.submitted.unwrap().0 + origin_ns, record.completed.unwrap().0 + origin_ns);
    let end = seen.completed.expect("a record that completed, completed in the kernel").ns;
    let latest = seen.queued.ns + TRUNCATED_NS + CLOCK_NS;
    assert!(submitted <= latest, "{record:?} was submitted after the kernel got it");
    assert!(end <= completed + CLOCK_NS || seen.has_twin, "{record:?} completed before it did in the kernel");
    assert_eq!(seen.error, 0);
}

/// Asserts that the requests are the same: equal if one bio carried it, otherwise merged from several.
fn assert_same_requests(records: &[Record], bios: &Bios, seen: &[Option<InKernel>]) {
    let mut left: HashMap<(Op, u64, u64), i64> = HashMap::new();
    for (record, seen) in records.iter().zip(seen) {
        let seen = seen.as_ref().unwrap_or_else(|| panic!("the kernel never saw {record:?}"));
        if seen.bios == 1 {
            *left
                .entry((record.op, record.executed.offset / SECTOR, record.executed.length / SECTOR))
                .or_default() += 1;
        }
    }
    let several: u64 = seen.iter().flatten().filter(|s| s.bios > 1).map(|s| s.bios).sum();
    let mut others = 0;
    for bio in &bios.bios {
        match left.get_mut(&(bio.op, bio.sector, bio.length)).filter(|count| **count > 0) {
            Some(count) => *count -= 1,
            None => others += 1,
        }
    }
    assert!(left.values().all(|count| *count == 0), "requests that the kernel did not see as they are");
    assert_eq!(others, several);
}

fn clean_in_the_kernel(policy: &str, strong: u8, lines: &[Line], mebibytes: u64) {
    clean_on("uring", policy, strong, lines, mebibytes);
}

fn clean_on(engine: &str, policy: &str, strong: u8, lines: &[Line], mebibytes: u64) {
    let device = LoopDevice::random(mebibytes);
    let lab = lab();
    lab.file("load", load_text(lines));
    let tracing = or_skip!(Tracing::start(device.path()));
    // Fewer in flight than the device takes: else io_uring resubmits requests that would have to wait, and a second try looks like
    // an equal request.
    let how = format!("--overlap {policy} --strong {strong} --depth 64 --start-grace 0.2 --engine {engine}");
    lab.expect_done(&text(&device, &how));
    let trace = tracing.finish();
    let records = in_order(lab.records("out"));
    let origin = run_info(&lab.path("out")).origin_monotonic_ns;
    assert_eq!(records.len(), lines.len());
    let (records, dropped): (Vec<Record>, Vec<Record>) =
        records.into_iter().partition(|r| r.submitted.is_some());
    assert_eq!(dropped.is_empty(), policy != "drop");

    let (bios, seen) = explain(&trace, &records, origin);
    assert_same_requests(&records, &bios, &seen);
    let seen: Vec<InKernel> = seen.into_iter().flatten().collect();
    let mut accesses = Vec::new();
    for (record, seen) in records.iter().zip(&seen) {
        assert_inside(record, seen, origin);
        // Positions in the trace: exact where times are truncated.
        let (from, to) = (seen.queued.place, seen.completed.unwrap().place);
        accesses.push(Access { sequence: record.sequence, op: record.op, extent: record.executed, from, to });
    }
    let table = Strong::try_from(strong).unwrap();
    let in_kernel = check(&accesses, table);
    if policy == "allow" {
        assert!(!in_kernel.overlapping.is_empty(), "the kernel's times show nothing");
    } else {
        let waited = records.iter().any(|r| r.released.is_some());
        assert!(waited || policy == "drop", "nothing had to wait, so nothing is proved");
        assert!(verdict(&records, strong).is_clean());
        assert!(in_kernel.is_clean(), "{in_kernel:?}");
    }
    if policy == "order" {
        // No request reached the kernel before the requests that an earlier one waited for had ended there.
        let mut latest = 0;
        for (record, access) in records.iter().zip(&accesses) {
            latest = record.blocked_by.map_or(latest, |by| latest.max(accesses[by as usize].to));
            assert!(access.from > latest, "{} passed one that waited", record.sequence);
        }
    }
    println!(
        "{engine} {policy} {strong}: {} records, {} bios of theirs, {} splits, {} merges, {} pairs overlapped in the kernel",
        records.len(),
        bios.bios.len(),
        bios.splits,
        bios.merges,
        in_kernel.overlapping.len()
    );
}

#[test]
fn conflicting_requests_never_overlap_in_the_kernel() {
    needs!();
    let lines = conflicting(6000, 4096, 64, 20_000);
    for strong in 0..=2 {
        clean_in_the_kernel("push-back", strong, &lines, 16);
        clean_in_the_kernel("order", strong, &lines, 16);
    }
    for engine in ["aio", "threads"] {
        clean_on(engine, "push-back", 1, &lines, 16);
        clean_on(engine, "order", 1, &lines, 16);
    }
    clean_in_the_kernel("drop", 1, &lines, 16);
    clean_in_the_kernel("allow", 1, &lines, 16);
    // Many start at the same sector at the same time, and differ only in length.
    clean_in_the_kernel("allow", 2, &conflicting(6000, 80, 64, 0), 16);
}

#[test]
fn requests_split_by_the_kernel_stay_one_record() {
    needs!();
    // Up to 4 MiB: several bios where the pages of the buffer lie apart, and each is split at 1280 KiB.
    for engine in ["uring", "aio", "threads"] {
        clean_on(engine, "push-back", 1, &conflicting(100, 65_536, 8192, 1_000_000), 32);
    }
}

#[test]
fn recorded_load_has_no_overlaps_in_the_kernel() {
    needs!();
    // The busiest seconds of the database.
    let is_busy = |l: &Line| (30..42).contains(&(l.time / 1_000_000_000));
    let lines: Vec<Line> = read_load(&own_load("database")).into_iter().filter(is_busy).collect();
    assert!(lines.len() > 2500, "{} requests", lines.len());
    // Within 1 GiB, and 50 times as fast, so that something conflicts.
    let near = |l: &Line| Line { sector: l.sector % (2_000_000), time: (l.time - lines[0].time) / 50, ..*l };
    let lines: Vec<Line> = lines.iter().map(near).collect();
    clean_in_the_kernel("push-back", 1, &lines, 1024);
    clean_in_the_kernel("order", 1, &lines, 1024);
}

/// Kills a replay this long after its first record and compares the remaining records with the kernel's trace.
fn killed(lines: &[Line], options: &str, after_ms: u64) {
    for engine in ["uring", "threads"] {
        killed_on(engine, lines, options, after_ms);
    }
}

fn killed_on(engine: &str, lines: &[Line], options: &str, after_ms: u64) {
    let device = LoopDevice::random(64);
    let lab = lab();
    lab.file("load", load_text(lines));
    let tracing = or_skip!(Tracing::start(device.path()));
    let options = format!("--start-grace 0.2 --engine {engine} {options}");
    let replay = Background::start(lab.command(&text(&device, &options)));
    lab.until_records("out");
    std::thread::sleep(Duration::from_millis(after_ms));
    let before_kill = iosonar_os::monotonic_ns();
    replay.signal("KILL");
    assert_eq!(replay.wait().code, 137);
    let trace = tracing.finish();

    let shown = lab.expect(0, "show --all out");
    assert!(shown.out.contains("it was killed, or it still goes on"), "{}", shown.out);
    let info = run_info(&lab.path("out"));
    assert_eq!(info.state, RunState::Running);
    let origin = info.origin_monotonic_ns;
    let records = in_order(lab.records("out"));
    assert!(
        count(&records, Outcome::Completed) == records.len() && records.len() > 2000,
        "{} records",
        records.len()
    );
    assert!(verdict(&records, 1).is_clean());

    assert_eq!(trace.lost, 0);
    let bios = Bios::of(&trace);
    let found = attribute(&records, origin, &bios.bios);
    for (record, seen) in records.iter().zip(&found.records) {
        assert_inside(record, &seen.unwrap_or_else(|| panic!("the kernel never saw {record:?}")), origin);
    }
    let is_of_the_run = |bio: &&Bio| bio.op == Op::Write || (origin..before_kill).contains(&bio.queued.ns);
    let without: Vec<&Bio> = found.strangers.iter().filter(is_of_the_run).collect();
    let ages = || without.iter().filter_map(|b| b.completed).map(|end| before_kill.saturating_sub(end.ns));
    let oldest = ages().max().unwrap_or(0);
    assert!(oldest <= 1_000_000_000, "a request that ended {oldest} ns before the kill has no record");
    println!(
        "{} records, {} requests without, the oldest ended {oldest} ns before",
        records.len(),
        without.len()
    );
}

#[test]
fn killed_run_has_records_up_to_its_last_second() {
    needs!();
    killed(&conflicting(20_000, 65_536, 64, 1_000_000), "", 3000);
}

#[test]
fn killed_asap_run_has_records_up_to_its_last_second() {
    needs!();
    killed(&conflicting(200_000, 100_000, 32, 0), "--asap --depth 32", 1500);
}

#[test]
fn sigint_drains_requests_and_keeps_records() {
    needs!();
    for engine in ["uring", "aio", "threads"] {
        ctrl_c_drains(engine);
    }
}

fn ctrl_c_drains(engine: &str) {
    let device = LoopDevice::random(64);
    let lab = lab();
    // Much of the load waits for a conflict when the signal comes, and something is in flight.
    let lines = conflicting(100_000, 2048, 64, 1_000);
    lab.file("load", load_text(&lines));
    let tracing = or_skip!(Tracing::start(device.path()));
    let mut command =
        lab.command(&text(&device, &format!("--start-grace 0.2 --depth 64 --strong 2 --engine {engine}")));
    command.stdout(Stdio::null());
    let replay = Background::start(command);
    lab.until_records("out");
    replay.signal("INT");
    let ended = replay.wait();
    let trace = tracing.finish();
    assert_eq!(ended.code, 130, "{}", ended.err);

    let info = run_info(&lab.path("out"));
    assert_eq!(info.state, RunState::Interrupted(Interruption::Signal(Signal::INTERRUPT)));
    assert!(lab.path("out/records.parquet").exists() && lab.path("out/summary.json").exists());
    assert!(!lab.path("out/records.log").exists());
    let (sent, unsent): (Vec<Record>, Vec<Record>) =
        in_order(lab.records("out")).into_iter().partition(|r| r.submitted.is_some());
    assert!(sent.iter().all(|r| r.outcome == Outcome::Completed && r.completed.is_some()));
    assert!(unsent.iter().all(|r| r.outcome == Outcome::Cancelled && r.completed.is_none() && r.result == 0));
    println!("{engine}: {} sent, {} cancelled", sent.len(), unsent.len());
    assert!(!sent.is_empty() && !unsent.is_empty() && sent.len() < lines.len());
    let (bios, seen) = explain(&trace, &sent, info.origin_monotonic_ns);
    assert_same_requests(&sent, &bios, &seen);
    for (record, seen) in sent.iter().zip(&seen) {
        assert_inside(record, &seen.unwrap(), info.origin_monotonic_ns);
    }
}
