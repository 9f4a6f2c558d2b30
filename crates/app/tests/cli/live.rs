//! Runs that are stopped, aborted, killed or asked for progress. They use the real clock with the null engine, and tests wait for their
//! output, never for a time.

use crate::*;
use iosonar_archive::Outcome;
use iosonar_testkit::{Ended, SplitMix, signal};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, Command, Stdio};

/// A run in progress. It is ended, by its process id, when a test fails.
pub struct Running {
    child: Child,
    err: BufReader<ChildStderr>,
    seen: String,
}

impl Running {
    fn start(lab: &Lab, args: &str, input: Stdio) -> Running {
        Running::of(lab.command(args).stdin(input))
    }

    /// Starts a command whose standard error is piped.
    pub fn of(command: &mut Command) -> Running {
        let mut child = command.spawn().expect("the binary starts");
        let err = BufReader::new(child.stderr.take().expect("it is piped"));
        Running { child, err, seen: String::new() }
    }

    /// Reads its output until a line matches.
    #[track_caller]
    pub fn until(&mut self, right: impl Fn(&str) -> bool) -> String {
        loop {
            let mut line = String::new();
            let read = self.err.read_line(&mut line).expect("standard error can be read");
            assert!(read > 0, "it ended before it said what was waited for:\n{}", self.seen);
            self.seen += &line;
            if right(&line) {
                return line;
            }
        }
    }

    /// Waits until it is under way and has recorded something.
    #[track_caller]
    pub fn until_records(&mut self) -> u64 {
        let completed =
            |line: &str| serde_json::from_str::<Value>(line).ok().and_then(|v| v["completed"].as_u64());
        let line = self.until(|line| completed(line).is_some_and(|n| n > 0));
        completed(&line).expect("seen before")
    }

    /// Waits until signals are handled.
    #[track_caller]
    fn until_progress(&mut self) {
        self.until(|line| line.starts_with('{'));
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }

    pub fn end(mut self) -> Ended {
        let (mut out, mut stdout) = (Vec::new(), self.child.stdout.take().expect("it is piped"));
        // Both at once: a program blocked on one full pipe would never close the other.
        std::thread::scope(|scope| {
            scope.spawn(|| stdout.read_to_end(&mut out).expect("standard output can be read"));
            self.err.read_to_string(&mut self.seen).expect("standard error can be read");
        });
        let status = self.child.wait().expect("it ends");
        Ended::of(std::process::Output {
            status,
            stdout: out,
            stderr: std::mem::take(&mut self.seen).into_bytes(),
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const NULL: &str =
    "--engine null --size 1GiB -t dev --start-grace 0 --progress json --progress-every 50ms -o r";

/// One request each millisecond for a minute.
fn long_load(lab: &Lab) {
    let times: Vec<String> = (0..60_000).map(|ms| format!("{}.{:03}", ms / 1000, ms % 1000)).collect();
    let row = |(i, t): (usize, &String)| (t.clone(), i as u64 * 8);
    let load: Vec<_> = times.iter().enumerate().map(row).collect();
    let load: Vec<_> = load.iter().map(|(t, sector)| (t.as_str(), *sector, 8, 'W')).collect();
    lab.file("long.load", rows(&load));
}

fn state(lab: &Lab) -> Value {
    serde_json::from_str::<Value>(&std::fs::read_to_string(lab.path("r/run.json")).unwrap()).unwrap()["state"]
        .clone()
}

/// Asserts that the records are a prefix of the load without gaps, and only a waiting request was cancelled.
fn is_a_beginning(records: &[Record]) {
    assert!(records.iter().enumerate().all(|(i, r)| r.sequence == i as u64));
    for r in records {
        let sent = r.submitted.is_some() && r.completed.is_some();
        match r.outcome {
            Outcome::Completed => assert!(sent),
            Outcome::Cancelled => assert!(!sent && r.result == 0),
            other => panic!("{other:?}"),
        }
    }
    let cancelled: Vec<u64> =
        records.iter().filter(|r| r.outcome == Outcome::Cancelled).map(|r| r.sequence).collect();
    // Nothing conflicts here: only the next request of the load can have waited.
    assert!(cancelled.is_empty() || cancelled == [records.len() as u64 - 1], "{cancelled:?}");
}

#[test]
fn signal_stops_run_with_complete_result() {
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let lab = lab();
        long_load(&lab);
        let mut running = Running::start(&lab, &format!("replay long.load {NULL}"), Stdio::null());
        let told = running.until_records();
        running.signal(signal);
        let ended = running.end();
        assert_eq!(ended.code, code, "{}", ended.err);
        assert!(ended.err.contains("stopping"), "{}", ended.err);
        assert!(ended.out.contains(&format!("stopped by SIG{signal}")), "{}", ended.out);
        assert_eq!(state(&lab), serde_json::json!({"state": "interrupted", "why": format!("SIG{signal}")}));
        let records = sorted(&lab, "r");
        assert!(records.len() as u64 >= told && records.len() < 60_000);
        is_a_beginning(&records);
        let s = summary(&lab, "r");
        assert!(cautions(&s).contains(&"run-interrupted"));
        assert_eq!(count(&s, "all", "total"), records.len() as u64);
        assert!(lab.path("r/records.parquet").exists() && !lab.path("r/records.log").exists());
        assert!(lab.expect(0, "show --all r").out.contains(&format!("stopped by SIG{signal}")));
        lab.expect(0, "plot r --svg --only sonar");
    }
}

/// No figure covers requests due after the stop.
#[test]
fn figures_of_a_stopped_run_end_at_the_stop() {
    let lab = lab();
    lab.file(
        "gap.load",
        rows(&[("0", 8, 8, 'R'), ("0.1", 16, 8, 'W'), ("600", 24, 8, 'R'), ("601", 8, 8, 'R')]),
    );
    let mut running = Running::start(&lab, &format!("replay gap.load {NULL}"), Stdio::null());
    let two = |line: &str| serde_json::from_str::<Value>(line).is_ok_and(|v| v["completed"] == 2);
    running.until(two);
    running.signal("INT");
    assert_eq!(running.end().code, 130);
    assert_eq!(lab.records("r").len(), 2, "nobody asked for what was not due yet");
    let shown: Value = serde_json::from_str(&lab.expect(0, "show r --json").out).unwrap();
    let analysed: Value = serde_json::from_str(&lab.expect(0, "analyze r --json").out).unwrap();
    for s in [&summary(&lab, "r"), &shown, &analysed["summary"]] {
        assert_eq!((count(s, "all", "total"), count(s, "all", "cancelled")), (2, 0));
        assert_eq!(s["span"]["last_due_ns"], 100 * MS);
        assert_eq!(s["throughput"]["demanded"]["duration_ns"], 100 * MS);
        assert!(cautions(s).contains(&"run-interrupted"));
    }
    assert_eq!(analysed["demand"]["counts"]["all"]["requests"], 2);
    assert_eq!(analysed["demand"]["span"]["last_ns"], 100 * MS);
    lab.expect(0, "plot r --data --svg --only thrp -o p");
    let table = std::fs::read_to_string(lab.path("p/g000.overview.thrp.csv")).unwrap();
    let end = |line: &str| line.split(',').nth(1).and_then(|cell| cell.parse::<u64>().ok());
    assert!(table.lines().skip(1).all(|line| end(line).is_some_and(|end| end < 60 * S)), "{table}");
    let compared: Value = serde_json::from_str(&lab.expect(0, "compare r r --json").out).unwrap();
    assert_eq!(compared["comparisons"][0]["a"]["requests"], 2);
    lab.expect(0, "report r -o page.html");
}

#[test]
fn signal_before_time_zero_ends_run_at_once() {
    let lab = lab();
    long_load(&lab);
    let args = format!("replay long.load {NULL}").replace("--start-grace 0", "--start-grace 60s");
    let mut running = Running::start(&lab, &args, Stdio::null());
    running.until_progress();
    running.signal("INT");
    let ended = running.end();
    assert_eq!(ended.code, 130, "{}", ended.err);
    assert!(lab.records("r").iter().all(|r| r.outcome == Outcome::Cancelled));
    lab.expect(0, "show r");
}

/// Feeds a run three requests on a standard input that stays open: it waits for the fourth.
fn fed(running: &mut Running) -> ChildStdin {
    let mut input = running.child.stdin.take().expect("it is piped");
    input
        .write_all(rows(&[("0", 8, 8, 'R'), ("0", 16, 8, 'R'), ("0", 24, 8, 'R')]).as_bytes())
        .expect("it reads");
    input
}

#[test]
fn a_second_signal_aborts() {
    let lab = lab();
    let mut running = Running::start(&lab, &format!("replay - {NULL}"), Stdio::piped());
    // The load waits for input, so that the first signal cannot end it.
    let input = fed(&mut running);
    running.until_progress();
    running.signal("INT");
    running.until(|line| line.contains("second Ctrl-C aborts"));
    running.signal("INT");
    let ended = running.end();
    drop(input);
    assert_eq!(ended.code, 130, "{}", ended.err);
    assert!(ended.err.contains("aborted") && ended.err.contains("iosonar show"), "{}", ended.err);
    assert_eq!(ended.out, "");
    let shown = lab.expect(0, "show --all r");
    assert!(shown.out.contains("unfinished"), "{}", shown.out);
}

#[test]
fn killed_run_keeps_its_records() {
    slow!();
    let lab = lab();
    long_load(&lab);
    let mut running = Running::start(&lab, &format!("replay long.load {NULL}"), Stdio::null());
    let told = running.until_records();
    // At most the last quarter of a second is lost.
    std::thread::sleep(std::time::Duration::from_millis(2000));
    running.signal("KILL");
    assert_eq!(running.end().code, 137);
    assert_eq!(state(&lab)["state"], "running");
    let records = sorted(&lab, "r");
    assert!(records.len() as u64 >= told, "{} of {told}", records.len());
    is_a_beginning(&records);
    let shown = lab.expect(0, "show --all r");
    assert!(shown.out.contains("unfinished") && shown.out.contains("The run has no end"), "{}", shown.out);
    let json: Value = serde_json::from_str(&lab.expect(0, "show r --json").out).unwrap();
    assert!(cautions(&json).contains(&"run-unfinished"));
    assert_eq!(count(&json, "all", "completed"), records.len() as u64);
    lab.expect(0, "plot r --svg --only sonar");
    lab.expect(0, "report r");
    lab.expect(0, "convert r r.iosonar");
    assert_eq!(lab.records("r.iosonar").len(), records.len());

    // A machine that loses power may cut off the last write: then the records of that write are lost, no others.
    let log = lab.path("r/records.log");
    let whole = std::fs::read(&log).unwrap();
    for cut in [1, 5, 127, 128] {
        std::fs::write(&log, &whole[..whole.len() - cut]).unwrap();
        let shown = lab.expect(0, "show --all r");
        assert!(shown.err.contains("did not end") && shown.err.contains("bytes of its log"), "{}", shown.err);
        let left = sorted(&lab, "r");
        assert!(left.len() < records.len() && left[..] == records[..left.len()]);
    }
    let mut damaged = whole.clone();
    *damaged.last_mut().unwrap() ^= 1;
    std::fs::write(&log, damaged).unwrap();
    assert!(lab.expect(0, "show r").err.contains("bytes of its log are damaged"));
    // Damage in the middle costs its frame alone, and every command reports it, with its place.
    let mut damaged = whole.clone();
    damaged[16 + 12 + 20] ^= 1;
    std::fs::write(&log, damaged).unwrap();
    let told = "bytes of its log are damaged, at byte 16: the records in them are missing";
    for args in ["show r", "analyze r", "export r --to csv", "convert r damaged.iosonar", "info r"] {
        let ended = lab.expect(0, args);
        assert!(ended.err.contains(told) && !ended.err.contains("cut off"), "{args}: {}", ended.err);
    }
    for args in [
        "analyze r --strict",
        "convert r strict.iosonar --strict",
        "convert r --to csv --strict",
        "convert r --to json --strict",
        "info r --strict",
    ] {
        lab.expect(3, args);
    }
    let left = sorted(&lab, "r");
    assert!(left.len() < records.len() && left[..] == records[records.len() - left.len()..]);
    std::fs::write(&log, &whole[..16]).unwrap();
    assert!(lab.expect(0, "show --all r").out.contains("No request completed"));
    std::fs::write(&log, &whole[..10]).unwrap();
    // Killed at its very start: there is no record yet, and that is no damage.
    assert!(lab.expect(0, "show --all r").out.contains("No request completed"));
}

#[test]
fn usr1_prints_a_status_line() {
    let lab = lab();
    long_load(&lab);
    let mut running = Running::start(&lab, &format!("replay long.load {NULL}"), Stdio::null());
    running.until_records();
    running.signal("USR1");
    let line = running.until(|line| line.contains("IO/s"));
    assert!(!line.contains('\x1b') && !line.contains('\r'), "{line:?}");
    running.signal("INT");
    assert_eq!(running.end().code, 130);
}

#[test]
fn json_progress_is_one_object_per_line() {
    let lab = lab();
    long_load(&lab);
    let ended = lab.expect(0, &format!("replay long.load {NULL} --duration 400ms"));
    let objects: Vec<Value> =
        ended.err.lines().filter(|l| l.starts_with('{')).map(|l| serde_json::from_str(l).expect(l)).collect();
    assert!(!objects.is_empty(), "{}", ended.err);
    let mut last = 0;
    for object in objects {
        assert_eq!(object["expected_requests"], 400);
        let now = object["completed"].as_u64().unwrap();
        assert!(now >= last && now <= 400);
        last = now;
        for key in [
            "time_ns",
            "failed",
            "dropped",
            "bytes",
            "in_flight",
            "waiting",
            "late_ns",
            "interval_response_p99_ns",
        ] {
            assert!(object[key].is_u64(), "{key}");
        }
    }
}

#[test]
fn progress_in_a_pipe_has_no_control_codes() {
    let lab = lab();
    long_load(&lab);
    let args = format!("replay long.load {NULL} --duration 400ms").replace("--progress json ", "");
    let ended = lab.expect(0, &args);
    assert!(ended.err.lines().any(|l| l.contains("IO/s") && l.contains("p99")), "{}", ended.err);
    assert!(ended.err.chars().all(|c| c == '\n' || !c.is_control()), "{:?}", ended.err);
    assert!(ended.out.chars().all(|c| c == '\n' || !c.is_control()));
    for silent in ["--no-progress", "--progress none"] {
        let args =
            args.replace("--progress-every 50ms", silent).replace("-o r", &format!("-o r{}", silent.len()));
        assert!(!lab.expect(0, &args).err.contains("IO/s"));
    }
}

#[test]
fn paused_producer_does_not_block_the_run() {
    let lab = lab();
    let mut run = lab.command("replay - --dry-run --size 1GiB -t x --start-grace 0 --no-progress -o r");
    let mut child = run.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut producer = child.stdin.take().unwrap();
    producer.write_all(b"0.0 ; 8 ; 8 ; W ; 0.0 ; 0.0\n").unwrap();
    producer.flush().unwrap();
    // The record of the first request reaches the log although the source is silent.
    lab.until_records("r");
    // And a stop is not held up either.
    signal(child.id(), "INT");
    let ended = Ended::of(child.wait_with_output().unwrap());
    drop(producer);
    assert_eq!(ended.code, 130, "{}", ended.err);
    assert_eq!(lab.records("r").len(), 1);
}

/// Records in the whole frames of a log, in the form of `docs/archive.md`: a count, a length, a checksum.
fn in_log(path: &std::path::Path) -> u64 {
    let bytes = std::fs::read(path).unwrap_or_default();
    let word = |at: usize| bytes.get(at..at + 4).map(|b| u32::from_le_bytes(b.try_into().unwrap()));
    let (mut at, mut records) = (16, 0);
    while let (Some(count), Some(length)) = (word(at), word(at + 4)) {
        at += 12 + length as usize;
        if at > bytes.len() || count == 0 {
            break;
        }
        records += u64::from(count);
    }
    records
}

/// Interrupts a run once or twice at moments drawn from `seed`. Returns its final state.
fn interrupted(seed: u64) -> String {
    let mut random = SplitMix(seed);
    let lab = lab();
    let mut command =
        lab.command("run --engine null -t dev --size 1GiB --rw randrw --iodepth 8 --rate-iops 20000 --number-ios 5000 --no-progress -o r");
    let mut child = command.spawn().expect("the binary starts");
    let log = lab.path("r/records.log");
    let mut seen = 0;
    for span in [400_000, 60_000].into_iter().take(1 + seed as usize % 2) {
        std::thread::sleep(std::time::Duration::from_micros(random.below(span)));
        // Read before each signal: records in the log must never be lost.
        seen = in_log(&log).max(seen);
        if child.try_wait().unwrap().is_none() {
            signal(child.id(), "INT");
        }
    }
    let ended = Ended::of(child.wait_with_output().unwrap());
    assert!(!ended.err.contains("panicked"), "seed {seed}: {}", ended.err);
    assert!([0, 130].contains(&ended.code), "seed {seed}: {}\n{}", ended.code, ended.err);
    if !lab.path("r/run.json").exists() {
        assert!(ended.code == 130 && seen == 0, "seed {seed}: no result");
        return "before its result".into();
    }
    let shown: Value = serde_json::from_str(&lab.expect(0, "show r --json").out).unwrap();
    let records = sorted(&lab, "r");
    assert!(records.len() as u64 >= seen, "seed {seed}: {} records of {seen}", records.len());
    assert!(records.iter().enumerate().all(|(i, r)| r.sequence == i as u64), "seed {seed}: a gap");
    assert_eq!(count(&shown, "all", "total"), records.len() as u64, "seed {seed}");
    let state = state(&lab)["state"].as_str().unwrap().to_string();
    match (state.as_str(), ended.code) {
        // It may be done before the signal comes, and be interrupted while it sums up.
        ("finished", _) => assert_eq!(records.len(), 5000, "seed {seed}"),
        ("interrupted", 130) => assert!(records.len() <= 5000),
        ("running", 130) => assert!(!lab.path("r/summary.json").exists()),
        other => panic!("seed {seed}: {other:?}"),
    }
    state
}

#[test]
fn ctrl_c_at_any_moment_loses_no_record() {
    slow!();
    let next = std::sync::atomic::AtomicU64::new(0);
    let how = std::sync::Mutex::new(std::collections::BTreeMap::<String, u32>::new());
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    if seed >= 100 {
                        break;
                    }
                    let end = interrupted(seed);
                    *how.lock().unwrap().entry(end).or_default() += 1;
                }
            });
        }
    });
    println!("{:?}", how.into_inner().unwrap());
}

/// Time from the start of the program to time zero, with this many files as targets.
fn start_of(lab: &Lab, targets: usize) -> u64 {
    let names: Vec<String> = (0..targets).map(|i| format!("file{i}")).collect();
    let args = format!(
        "run --rw randwrite --bs 4k --number-ios 2 --no-progress -o r{targets} -t {}",
        names.join(" -t ")
    );
    let before = iosonar_os::monotonic_ns();
    lab.expect(0, &args);
    let result = format!("r{targets}");
    let records = lab.records(&result);
    assert_eq!(records.len(), 2 * targets);
    assert!(records.iter().all(|r| r.outcome == Outcome::Completed));
    let run = std::fs::read_to_string(lab.path(&result).join("run.json")).unwrap();
    let run: Value = serde_json::from_str(&run).unwrap();
    run["origin_monotonic_ns"].as_u64().unwrap() - before
}

/// Checks made once per run must not be repeated for each target.
#[test]
fn start_time_grows_at_most_linearly_with_targets() {
    slow!();
    let lab = lab();
    for i in 0..1000 {
        lab.file(&format!("file{i}"), [7; 16 << 10]);
    }
    // Ten times the targets: quadratic work would take a hundred times as long. Other tests run beside.
    let grows_slowly = || {
        let (few, many) = (start_of(&lab, 100), start_of(&lab, 1000));
        println!("100 targets start in {} ms, 1000 in {} ms", few / MS, many / MS);
        ["r100", "r1000"].iter().for_each(|result| std::fs::remove_dir_all(lab.path(result)).unwrap());
        many < 50 * few
    };
    assert!((0..3).any(|_| grows_slowly()), "more than 50 times as long, three times");
}

/// A script without job control: background processes ignore SIGINT.
#[test]
fn background_run_ignores_sigint_and_ends_by_sigterm() {
    let lab = lab();
    long_load(&lab);
    lab.file("short.load", rows(&[("0", 0, 8, 'R')]));
    let script = ["sh", "-c", r#""$0" "$@" & wait $!"#];
    let mut running = Running::of(&mut lab.command_under(&script, &format!("replay long.load {NULL}")));
    let told = running.until(|line| line.contains("SIGINT is ignored"));
    let process = told.trim().rsplit_once("send SIGTERM: kill ").expect("the remedy").1.parse().unwrap();
    running.until_records();
    signal(process, "INT");
    running.until_records();
    signal(process, "TERM");
    let ended = running.end();
    assert_eq!(ended.code, 143, "{}", ended.err);
    assert_eq!(ended.err.matches("SIGINT is ignored").count(), 1, "{}", ended.err);
    assert_eq!(state(&lab), serde_json::json!({"state": "interrupted", "why": "SIGTERM"}));
    assert!(!sorted(&lab, "r").is_empty());
    // Not reported if Ctrl-C works: a shell that restores the signal for its command.
    let script = ["env", "--default-signal=INT"];
    let mut heard = lab.command_under(&script, "replay short.load --engine null --size 1GiB -t dev -o s");
    let heard = Ended::of(heard.output().expect("env starts"));
    assert!(heard.code == 0 && !heard.err.contains("SIGINT"), "{}", heard.err);
}
