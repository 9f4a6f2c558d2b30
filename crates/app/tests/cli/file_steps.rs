//! File operations around the requests of a pass, on real files: the archive matches the operations.

use crate::live::Running;
use crate::*;
use iosonar_plan::Nanos;
use iosonar_plan::Op::{self, Allocate, Close, Delete, Flush, Fsync, Lock, Open, Truncate, Unlock, Write};
use std::os::unix::fs::MetadataExt;

const WRITE: &str =
    "run --buffered --no-progress --start-delay 0 -t f --rw write --bs 64k --size 1m --create";

/// Operations of a pass in the order of their starts, requests once.
fn order(records: &[Record], pass: u32) -> Vec<Op> {
    let mut own: Vec<&Record> = records.iter().filter(|r| r.pass == pass).collect();
    own.sort_by_key(|r| (r.submitted, r.sequence));
    assert!(
        own.windows(2)
            .all(|two| two[1].is_step() == two[0].is_step() || two[0].completed <= two[1].submitted)
    );
    let mut order: Vec<Op> = own.iter().map(|r| r.op).collect();
    order.dedup();
    order
}

#[test]
fn file_steps_run_in_order_and_are_recorded() {
    for engine in ["threads", "uring", "aio"] {
        let lab = lab();
        let steps =
            "--passes 2 --before-pass create,open,allocate:2m,lock --after-pass flush,fsync,unlock,close";
        lab.expect(0, &format!("{WRITE} {steps} --engine {engine} -o r"));
        let records = lab.records("r");
        let want = vec![Delete, Open, Allocate, Lock, Write, Flush, Fsync, Unlock, Close];
        assert_eq!((order(&records, 0), order(&records, 1)), (want.clone(), want), "{engine}");
        // create and open each open the file.
        assert_eq!(records.iter().filter(|r| r.op == Open).count(), 4, "{engine}");
        assert!(records.iter().all(Record::is_completed));
        let file = std::fs::metadata(lab.path("f")).unwrap();
        assert_eq!((file.len(), file.blocks() * 512), (1 << 20, 2 << 20), "{engine}");
        let run: Value =
            serde_json::from_str(&std::fs::read_to_string(lab.path("r/run.json")).unwrap()).unwrap();
        // A pass consists of its requests, without the steps before and after.
        let pass = &run["passes"][1];
        let time = |end: &str| pass[end].as_str().unwrap().parse::<Nanos>().ok();
        let of = |op: Op| records.iter().find(|r| r.pass == 1 && r.op == op).unwrap();
        assert!(time("start") >= of(Lock).completed, "{engine}: {pass}");
        assert!(time("end") <= of(Flush).submitted, "{engine}: {pass}");
        let told = lab.expect(0, "show --all r").out;
        assert!(["  lock ", "  close ", "  fsync "].iter().all(|word| told.contains(word)), "{told}");
    }
}

#[test]
fn a_file_is_truncated_before_and_after() {
    let lab = lab();
    lab.file("f", vec![1u8; 3 << 20]);
    lab.expect(
        0,
        &format!("{WRITE} --engine threads --before-pass truncate:0 --after-pass truncate:4k -o r"),
    );
    assert_eq!(std::fs::metadata(lab.path("f")).unwrap().len(), 4096);
    assert_eq!(order(&lab.records("r"), 0), [Truncate, Write, Truncate]);
    // A reader sees the length after the steps, and a range beyond it is refused before any step.
    let read = "run --buffered --no-progress --engine threads -t f --rw read --bs 4k";
    let refused = lab.expect(2, &format!("{read} --before-pass truncate:0 -o r2"));
    assert!(refused.err.contains("target f") && !lab.path("r2").exists(), "{}", refused.err);
    assert_eq!(std::fs::metadata(lab.path("f")).unwrap().len(), 4096);
}

/// Lengths and blocks are those that `fallocate` makes; each call has a separate record.
#[test]
fn allocates_space_with_and_without_length() {
    for (step, length) in [("allocate:2m", 1 << 20), ("extend:2m", 2 << 20), ("zero-range:2m", 2 << 20)] {
        let lab = lab();
        let ended = lab.run(&format!("{WRITE} --engine threads --before-pass create,open,{step} -o r"));
        let records = lab.records("r");
        let allocation = records.iter().find(|r| r.op == Allocate).unwrap();
        if !allocation.is_completed() {
            let why = format!("the file operation {} failed", step.replace('m', "MiB"));
            assert!(allocation.result == -95 && ended.code == 1 && ended.err.contains(&why), "{}", ended.err);
            continue;
        }
        assert_eq!(ended.code, 0, "{step}: {}", ended.err);
        let file = std::fs::metadata(lab.path("f")).unwrap();
        assert_eq!((file.len(), file.blocks() * 512), (length, 2 << 20), "{step}");
        // A reader sees the length after the steps.
        let read = "run --buffered --no-progress --engine threads -t g --rw read --bs 64k --size 1m";
        lab.file("g", [1; 65_536]);
        lab.expect(if length == 1 << 20 { 2 } else { 0 }, &format!("{read} --before-pass {step} -o r2"));
    }
}

#[test]
fn readers_share_a_file_lock_and_wait_for_a_writer() {
    let lab = lab();
    lab.file("f", vec![1u8; 1 << 20]);
    let read = "run --buffered --no-progress --engine threads -t f --rw read --bs 64k --number-ios 64 --numjobs 4 \
                --before-pass open,lock --after-pass unlock,close";
    lab.expect(0, &format!("{read} -o r"));
    let records = lab.records("r");
    assert_eq!(records.iter().filter(|r| r.op == Lock).count(), 4);
    // With a write lock held by another process the run waits, and a signal ends the wait.
    let file = std::fs::File::options().read(true).write(true).open(lab.path("f")).unwrap();
    assert!(iosonar_os::try_lock(&file, iosonar_os::LockKind::Write).unwrap());
    let running = Running::of(&mut lab.command(&format!("{read} -o r2")));
    let log = lab.path("r2/records.log");
    iosonar_testkit::until("the run", || log.exists());
    // The workers start soon after that, and try once for their lock before they check for a stop.
    std::thread::sleep(std::time::Duration::from_secs(1));
    running.signal("INT");
    let ended = running.end();
    assert!(
        ended.code != 0 && ended.err.contains("somebody else has it locked"),
        "{}: {}",
        ended.code,
        ended.err
    );
    let records = lab.records("r2");
    assert!(records.iter().all(|r| r.op == Open || r.op == Lock && !r.is_completed()), "{records:?}");
}

#[test]
fn rejects_invalid_file_steps_as_typed() {
    let lab = lab();
    for (words, why) in [
        ("--before-pass open,clse", "'clse' is no file operation: known are open, create"),
        ("--before-pass truncate:1x", "'1x' is no size"),
        ("--before-pass close", "--before-pass: close belongs to --after-pass: move it there"),
        ("--after-pass close", "add open to --before-pass"),
        ("--before-pass create --numjobs 2", "2 issuing loops"),
        ("--before-pass open --between-passes reopen --passes 2", "--between-passes"),
        ("--before-pass open --engine null", "the engine null opens no file"),
    ] {
        let refused = lab.expect(2, &format!("{WRITE} {words} -o r"));
        assert!(refused.err.contains(why), "{words}: {}", refused.err);
        assert!(!lab.path("r").exists() && !lab.path("f").exists(), "{words}");
    }
    lab.file("f", "mine");
    let words = "run --buffered -t f --rw write --bs 4k --size 1m --before-pass create -o r";
    let refused = lab.expect(2, words);
    assert!(refused.err.contains("allow it with --create"), "{}", refused.err);
    assert_eq!(std::fs::read(lab.path("f")).unwrap(), b"mine");
}

#[test]
fn flushes_after_every_n_writes() {
    for (engine, option, op) in
        [("threads", "fsync", Fsync), ("uring", "fdatasync", Flush), ("aio", "fsync", Fsync)]
    {
        let lab = lab();
        let told = lab.expect(0, &format!("{WRITE} --engine {engine} --{option} 4 -o r")).out;
        let mut records = lab.records("r");
        records.sort_by_key(|r| r.sequence);
        assert_eq!(records.len(), 20, "{engine}");
        for (number, record) in (0..).zip(&records) {
            let is_flush = number % 5 == 4;
            assert_eq!((record.sequence, record.op), (number, if is_flush { op } else { Write }), "{engine}");
            assert!(record.is_completed() && record.result == if is_flush { 0 } else { 65536 }, "{engine}");
            assert!(number == 0 || record.submitted >= records[number as usize - 1].completed, "{engine}");
        }
        assert!(told.contains(&format!("  {op} ")), "{told}");
        let load = lab.expect(0, "export r --to replay").out;
        assert_eq!(load.lines().filter(|line| line.starts_with("# flush ;")).count(), 4, "{load}");
    }
    let lab = lab();
    let none = lab.expect(0, &format!("{WRITE} --engine threads --fsync=0 -o r"));
    assert!(!none.out.contains("  fsync "), "{}", none.out);
    let sim = "run --engine sim --size 1g --no-progress -t dev --number-ios 100 --bs 4k";
    let counted = lab.expect(0, &format!("{sim} --rw randrw --fdatasync 10 --numjobs 2 --iodepth 4 -o s"));
    let records = lab.records("s");
    assert_eq!(records.iter().filter(|r| r.op == Flush).count(), 4, "{}", counted.out);
    let refused = lab.expect(2, &format!("{sim} --rw randread --fsync 1 -o t"));
    assert!(refused.err.contains("--fsync or --fdatasync: the workload writes nothing"), "{}", refused.err);
}
