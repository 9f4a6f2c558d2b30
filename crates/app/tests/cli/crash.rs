//! State after a crash: runs that are killed, with a journal and without.

use crate::*;
use serde_json::Value;
use std::os::unix::fs::FileExt;
use std::process::Stdio;
use std::time::Duration;

/// 4 KiB in random order over 16 MiB, a flush after every 50 writes, and some of them with force unit access.
const WRITES: &str = "run -t a.img --rw randwrite --bs 4k --size 16M --time-based --runtime 60s --fdatasync 50 --iodepth 8 \
                      --no-progress";

/// Starts a run and kills it some time after it has begun: its journal has a request, or its log exists.
fn kill(lab: &Lab, command: &str, out: &str, after: Duration) {
    let mut child = lab
        .command(&format!("{command} -o {out}"))
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let journal = command.split_once("--journal ").map(|(_, path)| lab.path(path));
    let log = lab.path(out).join("records.log");
    let has_begun = || match &journal {
        None => log.exists(),
        Some(path) => {
            let mut first = [0; 8];
            let read = std::fs::File::open(path).and_then(|file| file.read_exact_at(&mut first, 4096));
            read.is_ok() && first != [0; 8]
        }
    };
    iosonar_testkit::until("the run", has_begun);
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
}

fn verified(lab: &Lab, code: i32, words: &str) -> Value {
    let ended = lab.expect(code, &format!("verify {words} --json --no-progress"));
    serde_json::from_str(&ended.out).unwrap()
}

/// Only the process died, so all acknowledged writes are there: 100 moments (20 without IOSONAR_LONG).
#[test]
fn journal_proves_writes_of_killed_run() {
    slow!();
    let lab = lab();
    lab.target("a.img", 16 << 20);
    let moments = if std::env::var_os("IOSONAR_LONG").is_some() { 100 } else { 20 };
    let (mut acknowledged, mut in_flight, mut beyond_the_log) = (0, 0, 0);
    for moment in 0..moments {
        let out = format!("k{moment}");
        let jobs = if moment % 4 == 3 { " --numjobs 3" } else { "" };
        let engine = ["uring", "threads"][moment % 2];
        let command = format!("{WRITES}{jobs} --engine {engine} --journal j{moment}");
        kill(&lab, &command, &out, Duration::from_micros(274 * moment as u64 % 23_000));
        let found = verified(&lab, 0, &format!("{out} --mode after-crash --claim write-through"));
        let crash = &found["verified"]["crash"];
        assert_eq!(
            (&crash["known_by"], &crash["missing"]),
            (&"journal".into(), &0.into()),
            "{moment}: {found}"
        );
        acknowledged += crash["durable"].as_u64().unwrap();
        in_flight +=
            crash["in_flight"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum::<u64>();
        beyond_the_log += u64::from(lab.records(&out).len() < crash["durable"].as_u64().unwrap() as usize);
        if moment % 4 == 0 {
            // The flushed writes are a part of these.
            let flushed = verified(&lab, 0, &format!("{out} --mode after-crash"));
            assert!(flushed["verified"]["crash"]["durable"].as_u64() <= crash["durable"].as_u64());
        }
        let journal = lab.path(&format!("j{moment}"));
        if moment == 0 {
            // A slot of a target that the plan lacks: a write in flight, 4096 bytes long.
            let words = [1u64 | 1 << 16 | 999 << 32, 0, 7, 0, 4096, 1, 0, 0].map(u64::to_le_bytes);
            let file = std::fs::File::options().write(true).open(&journal).unwrap();
            file.write_all_at(words.as_flattened(), file.metadata().unwrap().len() - 64).unwrap();
            verified(&lab, 0, &format!("{out} --mode after-crash"));
        }
        std::fs::remove_file(journal).unwrap();
    }
    // Number of runs whose log alone would have missed acknowledged writes.
    assert!(
        acknowledged > 100 && in_flight > 0 && beyond_the_log > 0,
        "{acknowledged}, {in_flight}, {beyond_the_log}"
    );
    println!(
        "{moments} runs killed: {acknowledged} acknowledged writes demanded and found, {in_flight} in flight"
    );
}

#[test]
fn crash_check_without_journal_demands_less_and_reports_it() {
    slow!();
    let lab = lab();
    lab.target("a.img", 16 << 20);
    kill(&lab, WRITES, "k", Duration::from_millis(2500));
    let refused = lab.expect(2, "verify k");
    assert!(refused.err.contains("--mode after-crash"), "{}", refused.err);
    let crash = &verified(&lab, 0, "k --mode after-crash")["verified"]["crash"];
    assert_eq!(crash["known_by"], "last-record");
    assert!(crash["durable"].as_u64().unwrap() > 0, "{crash}");
    let told =
        lab.expect(0, "verify k --mode after-crash").out.split_whitespace().collect::<Vec<_>>().join(" ");
    for needle in ["writes were durable: all there", "has no --journal", "counts as in flight"] {
        assert!(told.contains(needle), "{needle}: {told}");
    }
}

/// A device that lost a flushed write, or wrote only a part of a unit, is reported.
#[test]
fn reports_a_lost_flush() {
    slow!();
    let lab = lab();
    let target = lab.target("a.img", 4 << 20);
    lab.expect(
        0,
        &WRITES.replace("16M --time-based --runtime 60s", "1M --number-ios 250").replace("-t a", "-o r -t a"),
    );
    lab.expect(0, "verify r --mode after-crash");
    let file = std::fs::File::options().read(true).write(true).open(&target).unwrap();
    let records = lab.records("r");
    let flushes = || records.iter().filter(|r| !r.op.is_transfer());
    let last = flushes().filter_map(|flush| flush.submitted).max().unwrap();
    let write = records.iter().find(|r| r.op.is_write() && r.completed.unwrap() < last).unwrap();
    file.write_all_at(&[0; 4096], write.executed.offset).unwrap();
    let found = verified(&lab, 5, "r --mode after-crash");
    let fault = &found["faults"][0];
    assert_eq!((&fault["class"], &fault["note"]), (&"flush-violated".into(), &"zeros".into()), "{found}");
    assert_eq!((&fault["offset"], &fault["length"]), (&write.executed.offset.into(), &4096.into()));
    assert_eq!(found["verified"]["crash"]["missing"], 1);
    let told = lab.expect(5, "verify r --mode after-crash").out;
    assert!(told.contains("flush-violated") && told.contains("1 are MISSING"), "{told}");
    // The same loss without a flush is allowed, for sectors that were written separately.
    lab.target("b.img", 1 << 20);
    lab.expect(0, "run -t b.img --rw write --bs 4k --size 64k --no-progress -o unflushed");
    let file = std::fs::File::options().write(true).open(lab.path("b.img")).unwrap();
    file.write_all_at(&[0; 4096], 8192).unwrap();
    let crash = &verified(&lab, 0, "unflushed --mode after-crash")["verified"]["crash"];
    assert_eq!(
        (&crash["not_durable"]["there"], &crash["not_durable"]["lost"]),
        (&15.into(), &1.into()),
        "{crash}"
    );
    assert_eq!(crash["reordered"], 13);
    // A file as short as before holds nothing beyond its end.
    let bytes = std::fs::read(lab.path("b.img")).unwrap();
    lab.file("short.img", &bytes[..32 << 10]);
    let short = verified(&lab, 0, "unflushed --mode after-crash --target b.img=short.img");
    let crash = &short["verified"]["crash"];
    assert_eq!(
        (&crash["not_durable"]["there"], &crash["not_durable"]["lost"]),
        (&7.into(), &9.into()),
        "{crash}"
    );
    // Half of it may be there, but not where the device writes 4096 bytes atomically.
    file.write_all_at(&[0; 512], 4096 + 1024).unwrap();
    let crash = &verified(&lab, 0, "unflushed --mode after-crash")["verified"]["crash"];
    assert_eq!(crash["not_durable"]["torn"], 1);
    let torn = verified(&lab, 5, "unflushed --mode after-crash --atomic 4k");
    assert_eq!(
        (&torn["faults"][0]["class"], &torn["faults"][0]["offset"]),
        (&"torn-sector".into(), &5120.into())
    );
    // With `--claim write-through` all of it is required.
    verified(&lab, 5, "unflushed --mode after-crash --claim write-through");
}

#[test]
fn rejects_invalid_crash_checks_with_remedy() {
    let lab = lab();
    lab.target("a.img", 16 << 20);
    lab.expect(0, "run -t a.img --rw write --bs 4k --size 64k --no-progress -o r --journal j");
    for (command, needle) in [
        ("verify r --journal j", "add --mode after-crash"),
        ("verify r --claim write-through", "add --mode after-crash"),
        ("verify r --mode after-crash --atomic 5k", "power of two"),
        ("run -t a.img --rw write --bs 4k --size 64k -o s --journal j", "--journal j: it exists already"),
        ("run -t a.img --rw write --bs 4k --size 64k -o s --journal none/j", "--journal none/j"),
        ("run -t a --engine sim --rw write --bs 4k --size 64k -o s --journal k", "use another engine"),
    ] {
        let ended = lab.expect(2, command);
        assert!(ended.err.contains(needle), "{command}: {}", ended.err);
    }
    // The journal of another run.
    kill(&lab, WRITES, "k", Duration::from_millis(50));
    let ended = lab.expect(2, "verify k --mode after-crash --journal j");
    assert!(ended.err.contains("it is the journal of run"), "{}", ended.err);
    let ended = lab.expect(2, "verify k --mode after-crash --journal a.img");
    assert!(ended.err.contains("--journal a.img: it is no journal"), "{}", ended.err);
}

/// A volatile cache that loses any part of the unflushed writes, and one that ignores flushes.
#[test]
fn blames_only_caches_that_ignore_flushes() {
    slow!();
    let lab = lab();
    let run = "run -t a.img --rw randrw --rwmixread 30 --size 4M --iodepth 8 --no-progress";
    for seed in 0..8 {
        let sizes = ["--bs 4k --fdatasync 50", "--bs 512 --fsync 100", "--bs 16k --fdatasync 20"][seed % 3];
        for (name, code, more) in [("honest", 0, ""), ("ignores", 5, " flush-ignored:every=1")] {
            // On a busy disk a first flush may last longer than hundreds of requests: the crash comes later then.
            let mut at = 400 + 183 * seed;
            loop {
                lab.target("a.img", 4 << 20);
                let out = format!("{name}{seed}-{at}");
                let ios = at + 1600;
                let command = format!(
                    "{run} {sizes} --number-ios {ios} --randseed {} --inject crash:at={at}{more}",
                    seed + 1
                );
                lab.expect(1, &format!("{command} -o {out}"));
                let ended = lab.run(&format!("verify {out} --mode after-crash --json --no-progress"));
                let found: Value = serde_json::from_str(&ended.out).unwrap();
                let crash = &found["verified"]["crash"];
                if crash["durable"].as_u64().unwrap() <= 20 {
                    at *= 2;
                    assert!(at < 200_000, "{command}: {crash}");
                    continue;
                }
                assert_eq!(ended.code, code, "{command}: {crash}");
                let classes = found["verified"]["faults"].as_object().unwrap();
                assert!(classes.keys().all(|class| class == "flush-violated"), "{command}: {classes:?}");
                assert_eq!(crash["missing"].as_u64().unwrap() > 0, code == 5, "{command}: {crash}");
                break;
            }
        }
    }
}
