//! The engines with real I/O behave alike, and limits of the machine or the plan are reported.

use crate::*;
use iosonar_archive::{Marks, Outcome};

const ENGINES: [&str; 3] = ["uring", "aio", "threads"];

fn ids(lab: &Lab, dir: &str) -> Vec<String> {
    let json: Value = serde_json::from_str(&lab.expect(0, &format!("show {dir} --json")).out).unwrap();
    let cautions = json["cautions"].as_array().unwrap().iter();
    cautions.map(|c| c["id"].as_str().unwrap().to_string()).collect()
}

fn run_info(lab: &Lab, dir: &str) -> Value {
    serde_json::from_slice(&std::fs::read(lab.path(dir).join("run.json")).unwrap()).unwrap()
}

#[test]
fn all_engines_write_the_same_bytes() {
    let lab = lab();
    let words = "--rw randrw --rwmixread 20 --bssplit 4k/50:16k/30:64k/20 --iodepth 16 --number-ios 400 \
                 --fill-random 60 --run-id 11 --no-progress";
    let left: Vec<(Vec<u8>, Value)> = ENGINES
        .iter()
        .map(|engine| {
            let target = format!("{engine}.img");
            lab.file(&target, vec![7u8; 4 << 20]);
            lab.expect(0, &format!("run --engine {engine} -t {target} {words} -o {engine}"));
            let info = run_info(&lab, engine);
            assert_eq!(info["means"]["engine"], *engine, "{}", info["means"]["fallback"]);
            (std::fs::read(lab.path(&target)).unwrap(), info["targets"][0]["issued_hash"].clone())
        })
        .collect();
    assert!(left[0].0.iter().any(|b| *b != 7));
    assert!(left[0].0 == left[1].0 && left[1].0 == left[2].0);
    assert!(left[0].1 == left[1].1 && left[1].1 == left[2].1 && left[0].1.as_str().unwrap().len() == 16);
}

#[test]
fn waits_for_buffer_memory_and_reports_it() {
    let lab = lab();
    lab.file("t.img", vec![7u8; 4 << 20]);
    let words = "-t t.img --rw randwrite --bs 64k --iodepth 32 --number-ios 1000 --no-progress";
    for engine in ENGINES {
        lab.expect(0, &format!("run --engine {engine} {words} --buffer-memory 128k -o {engine}"));
        let records = lab.records(engine);
        assert!(records.len() == 1000 && records.iter().all(Record::is_completed));
        let waited = records.iter().filter(|r| r.marks.has(Marks::NO_BUFFER)).count();
        // How many wait depends on how fast the writes into the page cache are.
        assert!(waited > 0, "{engine}: {waited}");
        assert!(ids(&lab, engine).contains(&"buffer-stalls".into()), "{engine}");
        assert!(run_info(&lab, engine)["means"]["buffer_bytes"].as_u64().unwrap() <= 128 << 10);
    }
    lab.expect(0, &format!("run {words} -o plenty"));
    assert!(lab.records("plenty").iter().all(|r| !r.marks.has(Marks::NO_BUFFER)));
    let refused = lab.expect(2, &format!("run {words} --buffer-memory 32k -o never"));
    assert!(refused.err.contains("--buffer-memory") && refused.err.contains("65536"), "{}", refused.err);
}

#[test]
fn too_many_errors_stop_only_the_affected_target() {
    let lab = lab();
    let words =
        "--engine sim --sim-errors 10 --size 1g --rw randread --iodepth 4 --number-ios 2000 --no-progress";
    let ended = lab.expect(1, &format!("run -t one -t two {words} --max-errors 5 --seed 3 -o r"));
    assert!(ended.err.contains("--max-errors"), "{}", ended.err);
    let info = run_info(&lab, "r");
    for target in 0..2 {
        let records: Vec<_> = lab.records("r").into_iter().filter(|r| r.target == target).collect();
        let failed = records.iter().filter(|r| r.outcome == Outcome::Failed).count();
        // Those in flight when the limit was passed are still awaited.
        assert!((6..=9).contains(&failed), "{failed}");
        assert!(info["targets"][usize::from(target)]["ended_early"].as_str().unwrap().contains("5 requests"));
    }
    assert_eq!(info["state"]["state"], "broken", "both ended early");
    lab.expect(1, &format!("run -t one {words} -o all"));
    assert_eq!(lab.records("all").len(), 2000, "without a limit it goes on");
}

#[test]
fn reports_unavailable_options_and_continues() {
    let lab = lab();
    lab.file("t.img", vec![7u8; 1 << 20]);
    let words = "-t t.img --rw randread --number-ios 20 --no-progress";
    lab.expect(0, &format!("run {words} --pin 8000 -o pinned"));
    let notices = run_info(&lab, "pinned")["means"]["notices"].to_string();
    assert!(notices.contains("--pin 8000") && notices.contains("goes on"), "{notices}");
    assert!(ids(&lab, "pinned").contains(&"means-notice".into()));
    lab.expect(0, &format!("run {words} --pin 0 --spin 0 -o unpinned"));
    let info = run_info(&lab, "unpinned");
    assert_eq!(
        (info["means"]["spin"].as_str(), &info["means"]["notices"]),
        (Some("0s"), &Value::Array(vec![]))
    );
    let refused = lab.expect(2, &format!("run {words} --engine threads --hipri -o never"));
    assert!(refused.err.contains("--hipri") && refused.err.contains("--engine uring"), "{}", refused.err);
}

/// Engines that use different system calls, with their options.
const METHODS: [(&str, &str); 7] = [
    ("sync", ""),
    ("vsync", "--vectors 4"),
    ("pvsync", "--vectors 16"),
    ("stdio", "--stdio-buffer 64k"),
    ("mmap", "--msync async"),
    ("posixaio", "--iodepth 4"),
    ("threads", "--iodepth 4"),
];

#[test]
fn every_method_reads_data_of_every_other() {
    slow!();
    let lab = lab();
    for (engine, words) in METHODS {
        let write =
            format!("{FILE} --rw write --bs 64k --size 1m --create --after-pass fsync --data sequenced");
        lab.expect(0, &format!("{write} --engine {engine} {words} -o {engine}"));
        let bytes = std::fs::read(lab.path("f")).unwrap();
        assert_eq!(bytes.len(), 1 << 20, "{engine}");
        let (words, _) = bytes.as_chunks::<8>();
        assert!((0..).zip(words).all(|(i, word)| u64::from_le_bytes(*word) == i * 8), "{engine}");
        for (other, words) in METHODS {
            let read =
                format!("{FILE} --rw randread --bs 4k --number-ios 100 --data sequenced --verify contents");
            lab.expect(0, &format!("{read} --engine {other} {words} -o {engine}-{other}"));
        }
        std::fs::remove_file(lab.path("f")).unwrap();
    }
    let told = lab.expect(0, "show --all mmap").out;
    assert!(told.contains("mmap") && told.contains("PAGE CACHE"), "{told}");
}

const FILE: &str = "run --buffered --no-progress --start-delay 0 -t f";

#[test]
fn methods_use_their_namesake_system_calls() {
    if let Some(why) = iosonar_testkit::lacks(&["strace"]) {
        return iosonar_testkit::skip("the calls of methods", &why);
    }
    let lab = lab();
    lab.file("f", vec![1; 1 << 20]);
    let seq = "--rw write --bs 64k --size 1m";
    let random = "--rw randread --bs 64k --size 1m --norandommap";
    for (engine, words, call, count) in [
        ("sync", seq, "write", 16),
        ("sync", seq, "lseek", 0),
        ("sync", random, "read", 16),
        ("vsync --vectors 4", seq, "writev", 16),
        ("pvsync --vectors 4", random, "preadv", 16),
        ("mmap --msync sync", seq, "msync", 16),
        ("mmap", seq, "msync", 0),
        ("stdio --stdio-buffer 128k", "--rw write --bs 32k --size 1m", "write", 8),
    ] {
        let (calls, log) = (lab.path("calls"), lab.path("calls").display().to_string());
        let filter = format!("trace={call}");
        let wrapper = ["strace", "-f", "-y", "-qq", "-e", &filter, "-o", &log];
        let run = format!(
            "{FILE} {words} --number-ios {} --engine {engine} -o r",
            if words.contains("32k") { 32 } else { 16 }
        );
        let ended = iosonar_testkit::Ended::of(lab.command_under(&wrapper, &run).output().unwrap());
        assert_eq!(ended.code, 0, "{}", ended.err);
        let text = std::fs::read_to_string(&calls).unwrap();
        let own = format!("{}>", lab.path("f").display());
        // Before the run, the program looks for holes.
        let is_looking = |line: &str| line.contains("SEEK_DATA") || line.contains("SEEK_HOLE");
        let is_of_file = |line: &str| line.contains(&own) && !is_looking(line);
        let is_own =
            |line: &&str| line.contains(&format!("{call}(")) && (call == "msync" || is_of_file(line));
        assert_eq!(text.lines().filter(is_own).count(), count, "{engine} {words} {call}: {text}");
        std::fs::remove_dir_all(lab.path("r")).unwrap();
    }
}

#[test]
fn rejects_options_unsupported_by_method() {
    let lab = lab();
    lab.file("f", vec![1; 1 << 20]);
    for (words, why) in [
        ("--engine sync --iodepth 4", "the engine sync carries out one request after the other"),
        ("--engine sync --vectors 4", "--vectors has no effect without --engine vsync or pvsync"),
        ("--engine pvsync --vectors 17", "between 1 and 16"),
        ("--engine posixaio --rwmixtrim 10", "asynchronous requests have no such call"),
    ] {
        let refused = lab.expect(2, &format!("{FILE} --rw randrw --bs 4k --size 1m {words} -o r"));
        assert!(refused.err.contains(why), "{words}: {}", refused.err);
        assert!(!lab.path("r").exists());
    }
    let direct = FILE.replace("--buffered ", "");
    let refused = lab.expect(2, &format!("{direct} --rw read --engine mmap -o r"));
    assert!(
        refused.err.contains("goes through the page cache") && refused.err.contains("--buffered"),
        "{}",
        refused.err
    );
}

#[test]
fn truncated_mapped_file_fails_requests_but_not_the_run() {
    let lab = lab();
    lab.file("f", vec![1; 1 << 20]);
    let words = "--rw read --bs 64k --engine mmap --rate-iops 8";
    let running = crate::live::Running::of(&mut lab.command(&format!("{FILE} {words} -o r")));
    let log = lab.path("r/records.log");
    iosonar_testkit::until("the run", || log.exists());
    std::fs::File::options().write(true).open(lab.path("f")).unwrap().set_len(4096).unwrap();
    let ended = running.end();
    let records = lab.records("r");
    assert_eq!(records.len(), 16, "{}: {}", ended.code, ended.err);
    assert!(records.iter().any(|r| r.result == -5), "{records:?}");
}
