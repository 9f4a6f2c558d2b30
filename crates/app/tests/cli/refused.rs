//! Refusals: with exit code 2, the error, its place and a remedy; nothing is created or changed. Every case runs with the engine that would
//! really write.

use crate::*;
use std::collections::BTreeMap;
use std::path::Path;

/// All files below a directory with their bytes; directories have none.
fn snapshot(dir: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            found.append(&mut snapshot(&path));
            found.insert(path, None);
        } else {
            found.insert(path.clone(), Some(std::fs::read(&path).unwrap()));
        }
    }
    found
}

/// A lab with a good load of 10 s and a target of 1 MiB that is full of data.
fn ready() -> Lab {
    let lab = lab();
    let times: Vec<String> = (0..10).map(|t| t.to_string()).collect();
    let load: Vec<_> = times.iter().map(|t| (t.as_str(), 8, 8, 'W')).collect();
    lab.file("good.load", rows(&load));
    lab.file("t.img", vec![0xa5; 1 << 20]);
    lab
}

/// Asserts that `args` are refused with all of `words`, and change nothing.
#[track_caller]
fn refuses(lab: &Lab, args: &str, words: &[&str]) {
    let before = snapshot(&lab.path(""));
    let ended = lab.expect(2, args);
    for word in words {
        assert!(ended.err.contains(word), "iosonar {args}\nno '{word}' in:\n{}", ended.err);
    }
    assert_eq!(ended.out, "", "iosonar {args}");
    assert!(!ended.err.contains("panicked"), "{}", ended.err);
    assert!(snapshot(&lab.path("")) == before, "iosonar {args} changed something");
}

const REPLAY: &str = "-t t.img --start-grace 0 -o out";

/// Replays a load with these bytes.
#[track_caller]
fn refuses_load(bytes: impl AsRef<[u8]>, words: &[&str]) {
    let lab = ready();
    lab.file("bad.load", bytes);
    refuses(&lab, &format!("replay bad.load {REPLAY}"), &[words, &["bad.load"]].concat());
}

#[test]
fn rejects_invalid_loads() {
    let lab = ready();
    refuses(&lab, &format!("replay nowhere.load {REPLAY}"), &["nowhere.load", "No such file"]);
    std::fs::create_dir(lab.path("dir.load")).unwrap();
    refuses(&lab, &format!("replay dir.load {REPLAY}"), &["dir.load", "directory"]);
    refuses_load("", &["no request", "0.000000000 ; 2048 ; 8 ; R"]);
    refuses_load(gzip(b""), &["no request"]);
    refuses_load("Copyright nobody\n# 1 ; 2 ; 3\nstart ; sector; length ; op\n", &["no request"]);
}

// A pipe is used up by the check before the run: refused, neither waited for nor replayed as if it were empty.
#[test]
fn rejects_loads_that_can_be_read_only_once() {
    let lab = ready();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(writer);
    let mut command = lab.command(&format!("replay /dev/stdin {REPLAY}"));
    let ended = iosonar_testkit::Ended::of(command.stdin(reader).output().unwrap());
    assert_eq!(ended.code, 2, "{}", ended.out);
    assert!(ended.err.contains("/dev/stdin") && ended.err.contains("save it to a file"), "{}", ended.err);
    refuses(&lab, &format!("replay /dev/zero {REPLAY}"), &["/dev/zero", "no regular file"]);
    let made = std::process::Command::new("mkfifo").arg(lab.path("fifo")).status();
    if made.is_ok_and(|status| status.success()) {
        // The snapshot would block on reading it, so it is checked separately.
        let ended = lab.expect(2, &format!("replay fifo {REPLAY}"));
        assert!(
            ended.err.contains("fifo") && ended.err.contains("standard input and name -"),
            "{}",
            ended.err
        );
    }
    assert!(!lab.path("out").exists());
}

// 60
#[test]
fn empty_stdin_fails_the_run() {
    let lab = ready();
    lab.file("empty.load", "");
    for input in ["/dev/null", "empty.load"] {
        let mut command = lab.command(&format!("replay - {SIM} -o r{}", input.len()));
        command.stdin(std::fs::File::open(lab.path(input)).unwrap());
        let ended = iosonar_testkit::Ended::of(command.output().unwrap());
        assert_eq!(ended.code, 1, "{}", ended.err);
        assert!(ended.out.contains("No request completed"), "{}", ended.out);
    }
}

#[test]
fn rejects_broken_or_foreign_compressed_loads() {
    let text = rows(&vec![("0", 8, 8, 'W'); 5_000]);
    let whole = gzip(text.as_bytes());
    refuses_load(&whole[..whole.len() / 2], &["gzip", "cut off", "copy or make"]);
    refuses_load(&whole[..whole.len() - 4], &["gzip", "cut off"]);
    refuses_load(&whole[..5], &["gzip"]);
    let damaged_at = |at: usize| {
        let mut damaged = whole.clone();
        damaged[at..at + 8].iter_mut().for_each(|b| *b ^= 0xff);
        damaged
    };
    refuses_load(damaged_at(10), &["gzip", "damaged", "copy or make"]);
    refuses_load([&whole[..], b"more"].concat(), &["trailing garbage follows the gzip stream", "gzip -dc"]);
    // Damage in the middle may still decompress to something; then its checksum does not match.
    let lab = ready();
    lab.file("bad.load", damaged_at(whole.len() / 2));
    refuses(&lab, &format!("replay bad.load {REPLAY}"), &["bad.load"]);
    refuses(&lab, &format!("replay bad.load {REPLAY} --skip-bad --backward sort"), &["bad.load", "gzip"]);
    let mut checksum = whole.clone();
    let at = checksum.len() - 8;
    checksum[at] ^= 1;
    refuses_load(&checksum, &["gzip", "damaged"]);
    for (magic, name) in [
        (&[0x28u8, 0xb5, 0x2f, 0xfd, 4, 0, 1, 0][..], "zstd"),
        (&[0xfd, b'7', b'z', b'X', b'Z', 0, 0, 4][..], "xz"),
        (b"BZh91AY&SY", "bzip2"),
    ] {
        refuses_load(magic, &[name, "decompress it first"]);
    }
}

#[test]
fn rejects_binary_garbage() {
    let garbage: Vec<u8> = (0u32..20_000).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    refuses_load(&garbage, &["bad.load"]);
    refuses_load([0; 4096], &["binary"]);
    refuses_load(vec![b'x'; 100_000], &["line 1", "longer than 65536"]);
    refuses_load([0xff; 3000], &["no request"]);
}

#[test]
fn rejects_invalid_request_lines() {
    for (line, why) in [
        ("nan ; 8 ; 8 ; W", "no number"),
        ("inf ; 8 ; 8 ; W", "no number"),
        ("-1 ; 8 ; 8 ; W", "negative"),
        ("0,5 ; 8 ; 8 ; W", "comma"),
        ("1e3 ; 8 ; 8 ; W", "no number"),
        ("99999999999999999999 ; 8 ; 8 ; W", "too large"),
        ("1 ; 9223372036854775808 ; 8 ; W", "beyond 2^63"),
        ("1 ; 18014398509481984 ; 8 ; W", "beyond 2^63"),
        ("1 ; 8 ; 0 ; W", "length is 0"),
        ("1 ; 8 ; -8 ; W", "negative"),
        ("1 ; -8 ; 8 ; W", "negative"),
        ("1 ; 8.5 ; 8 ; W", "whole number"),
        ("1 ; 8 ; 8 ; X", "'X'"),
        ("1 ; 8 ; 8 ; D", "discard"),
        ("1 ; 8 ; 8", "missing"),
        ("1 ; 8", "missing"),
    ] {
        let text = rows(&[("0", 8, 8, 'W'), ("0.1", 8, 8, 'W')]) + line + "\n" + "9 ; 8 ; 8 ; W\n";
        refuses_load(text, &["line 4", why, line, "--skip-bad"]);
    }
}

#[test]
fn rejects_backward_times() {
    refuses_load(
        rows(&[("0", 8, 8, 'W'), ("5.25", 8, 8, 'W'), ("5.125", 8, 8, 'W')]),
        &["line 4", "backward", "5.25s", "5.125s", "--backward sort", "--backward shift"],
    );
}

// 38, and other invalid targets.
#[test]
fn rejects_invalid_targets() {
    let lab = ready();
    let replay = |target: &str| format!("replay good.load -t {target} --start-grace 0 -o out");
    refuses(&lab, &replay("nowhere.img"), &["nowhere.img", "No such file or directory"]);
    refuses(&lab, &replay("nowhere/t.img"), &["nowhere/t.img", "No such file or directory"]);
    refuses(&lab, &replay("/dev/null"), &["/dev/null"]);
    refuses(&lab, &replay("t.img/below"), &["t.img/below", "Not a directory"]);
    std::fs::create_dir(lab.path("dir")).unwrap();
    refuses(&lab, &replay("dir"), &["dir", "directory"]);
    lab.file("empty.img", "");
    refuses(&lab, &replay("empty.img"), &["empty.img", "empty"]);
    // Also where a good target comes first.
    refuses(&lab, &replay("t.img nowhere.img"), &["nowhere.img", "No such file or directory"]);
    refuses(&lab, "replay good.load -t nowhere.img --dry-run -o out", &["nowhere.img", "--size"]);
}

// A file of sysfs stands for a file system without direct I/O; it is only read.
#[test]
fn rejects_too_small_target() {
    let lab = ready();
    lab.file("large.load", rows(&[("0", 8, 8, 'W'), ("1", 0, 4_096, 'W')]));
    let words = ["t.img", "1048576", "2097152", "large.load", "larger target"];
    refuses(&lab, &format!("replay large.load {REPLAY}"), &words);
    lab.file("tiny.img", [1; 100]);
    refuses(&lab, "replay good.load -t tiny.img -o out", &["tiny.img", "100 bytes"]);
}

#[test]
fn rejects_windows_without_requests() {
    let lab = ready();
    let run =
        |options: &str, words: &[&str]| refuses(&lab, &format!("replay good.load {REPLAY} {options}"), words);
    run("--start 100", &["good.load", "100s", "ends at 9s", "--start"]);
    run("--start 2.5 --end 2.75", &["no request", "2.5s", "2.75s"]);
    run("--start 5 --end 5", &["holds no request", "--end 5s", "--start 5s"]);
    run("--start 5 --end 4", &["holds no request", "--end 4s", "--start 5s"]);
    run("--duration 0", &["holds no request", "--duration 0"]);
    run("--start -5", &["--start", "negative"]);
    run("--end 5 --duration 3", &["--end", "--duration", "cannot be used with"]);
    run("--asap --speed 2", &["--asap", "--speed"]);
}

#[test]
fn rejects_options_without_effect() {
    let lab = ready();
    for (options, words) in [
        ("--sim-service 1ms", ["--sim-service", "--engine sim"]),
        ("--sim-errors 3 --dry-run", ["--sim-errors", "--engine sim"]),
        ("--size 1g", ["--size", "--engine null and sim"]),
    ] {
        refuses(&lab, &format!("replay good.load {REPLAY} {options}"), &words);
    }
}

#[test]
fn rejects_mismatched_loads_and_targets() {
    let lab = ready();
    lab.file("t2.img", vec![0x5a; 1 << 20]);
    refuses(&lab, &format!("replay good.load good.load {REPLAY}"), &["2 loads for 1 targets", "--target"]);
    refuses(&lab, "replay - -t t.img t2.img -o out", &["standard input", "only one target", "file"]);
    let delta = "replay good.load -t t.img t2.img --duration 5 --delta 7s -o out";
    refuses(&lab, delta, &["--delta 7s", "t2.img", "ends at 9s", "7s .. 12s", "smaller"]);
    refuses(&lab, "replay good.load -t t.img t2.img --delta 20s -o out", &["good.load", "20s"]);
    refuses(&lab, "replay good.load", &["--target"]);
    refuses(&lab, "replay -t t.img", &["LOAD"]);
}

// Two replays on one target would not know of each other's requests: overlaps without end. Block devices are claimed, so the second is
// refused anyway; files have to be compared.
#[test]
fn rejects_one_target_under_two_names() {
    let lab = ready();
    std::os::unix::fs::symlink("t.img", lab.path("soft.img")).unwrap();
    std::fs::hard_link(lab.path("t.img"), lab.path("hard.img")).unwrap();
    for other in ["t.img", "./t.img", "soft.img", "hard.img"] {
        let args = format!("replay good.load -t t.img {other} --start-grace 0 -o out");
        refuses(&lab, &args, &["t.img", other, "the same"]);
    }
    // Without I/O nothing can overlap, and reading alone is harmless.
    let sim = "--engine sim --start-grace 0 --no-progress -o sim";
    lab.expect(0, &format!("replay good.load -t t.img t.img {sim}"));
    lab.file("reads.load", rows(&[("0", 8, 8, 'R')]));
    lab.expect(0, "replay reads.load -t t.img hard.img --buffered --start-grace 0 --no-progress -o reads");
}

#[test]
fn rejects_target_that_is_its_own_load() {
    let lab = ready();
    lab.file("good.load", rows(&vec![("0", 0, 8, 'W'); 500]));
    std::os::unix::fs::symlink("good.load", lab.path("soft.load")).unwrap();
    refuses(&lab, "replay good.load -t good.load -o out", &["good.load", "the same"]);
    refuses(&lab, "replay soft.load -t t.img good.load -o out", &["soft.load", "good.load", "the same"]);
}

#[test]
fn results_are_never_overwritten() {
    let lab = ready();
    std::fs::create_dir(lab.path("out")).unwrap();
    lab.file("out/precious", "data");
    refuses(&lab, &format!("replay good.load {REPLAY}"), &["out", "exists already", "--out"]);
    lab.file("file", "data");
    refuses(&lab, "replay good.load -t t.img --start-grace 0 -o file", &["file", "exists already"]);
    refuses(&lab, "replay good.load -t t.img --start-grace 0 -o no/where", &["no/where", "No such file"]);
    refuses(&lab, "generate bursts good.load", &["good.load", "exists already"]);
}

#[test]
fn rejects_non_plan_files() {
    let lab = ready();
    let plan = lab.expect(0, &format!("replay good.load {REPLAY} --show-plan")).out;
    let case = |text: &str, words: &[&str]| {
        lab.file("plan.toml", text);
        refuses(&lab, "run plan.toml -o out", &[words, &["plan.toml"]].concat());
    };
    case(&plan.replace("depth = 128", "deph = 128"), &["deph", "line"]);
    case(&plan.replace("kind = \"uring\"", "kind = \"ring\""), &["ring"]);
    case(&plan.replace("pace = \"original\"", "pace = \"original\"\nhaste = 1"), &["haste"]);
    for version in ["version = 1", "version = 99"] {
        let other = plan.replace("version = 2", version).replace("[target.workload]", "[target.source]");
        case(&other, &[version, "version 2", "--show-plan"]);
    }
    case(&plan.replace("depth = 128", "depth = 0"), &["depth = 0", "65536"]);
    case(&plan.replace("depth = 128", "depth = \"many\""), &["depth", "line"]);
    case("this is [no toml", &["line 1"]);
    case("", &["version"]);
    let head = plan.split("[[target]]").next().unwrap();
    case(head, &["target"]);
    refuses(&lab, "run nowhere.toml -o out", &["nowhere.toml", "No such file"]);
    refuses(&lab, "run t.img -o out", &["t.img"]);
}

// 42
#[test]
fn rejects_invalid_options() {
    let lab = ready();
    for (options, words) in [
        ("--dry-run=0", &["--dry-run"][..]),
        ("--strongXYZ=2", &["--strongXYZ"]),
        ("--strong=3", &["--strong", "3", "0..=2"]),
        ("--strong two", &["--strong", "two"]),
        ("--no-such-option", &["--no-such-option"]),
        ("--overlapp drop", &["--overlapp", "--overlap"]),
        ("--overlap dropp", &["dropp", "drop"]),
        ("--depht 4", &["--depht", "--depth"]),
        ("--depth 0", &["--depth", "1..=65536"]),
        ("--depth 65537", &["--depth", "1..=65536"]),
        ("--fill-random 101", &["--fill-random", "0..=100"]),
        ("--start 1x", &["--start", "1x", "ms"]),
        ("--start -1", &["-1"]),
        ("--start 0.0000000001", &["--start"]),
        ("--speed 0", &["--speed"]),
        ("--speed fast", &["--speed", "fast"]),
        ("--size 10Q", &["--size", "10Q"]),
        ("--dry-run --engine sim", &["--dry-run", "--engine"]),
        ("--depth 1 --depth 2", &["--depth", "multiple times"]),
        ("--engine sim --sim-stall 2s", &["--sim-stall", "LENGTH/PERIOD"]),
        ("--engine sim --sim-change 250", &["--sim-change", "PERCENT@TIME"]),
        ("--engine sim --sim-change x@1s", &["--sim-change", "percentage"]),
        ("--engine sim --sim-change 0@1s", &["the percentage of --sim-change", "between 1 and"]),
        ("--engine sim --sim-stall 2s/1s", &["stall", "longer"]),
    ] {
        refuses(&lab, &format!("replay good.load {REPLAY} {options}"), words);
    }
    refuses(&lab, "rplay good.load", &["rplay", "replay"]);
    refuses(&lab, "show", &["DIR"]);
    refuses(&lab, "show nowhere", &["nowhere", "No such file"]);
    refuses(&lab, "show t.img", &["t.img", "no archive"]);
    refuses(&lab, "plot nowhere", &["nowhere"]);
    refuses(&lab, "report t.img", &["t.img", "no load"]);
}

#[test]
fn stdin_replay_stops_at_bad_line_and_keeps_records() {
    let lab = ready();
    let text = rows(&[("0", 8, 8, 'R'), ("0.001", 16, 8, 'R')]) + "1 ; 8 ; 8 ; X\n2 ; 8 ; 8 ; R\n";
    lab.file("bad.load", text);
    let mut command = lab.command(&format!("replay - {SIM} -o r"));
    command.stdin(std::fs::File::open(lab.path("bad.load")).unwrap());
    let ended = iosonar_testkit::Ended::of(command.output().unwrap());
    assert_eq!(ended.code, 1, "{}", ended.err);
    assert_eq!(lab.records("r").len(), 2);
    let s = summary(&lab, "r");
    assert!(cautions(&s).contains(&"run-broken"));
    assert!(ended.out.contains("line 4"), "{}", ended.out);
}

#[test]
fn rejects_kernel_files_as_targets() {
    let lab = lab();
    lab.file("load", rows(&[("0", 0, 1, 'R')]));
    lab.file("writes", rows(&[("0", 0, 1, 'W')]));
    for (path, file_system) in [
        ("/proc/sys/vm/swappiness", "proc"),
        ("/sys/kernel/uevent_seqnum", "sysfs"),
        ("/proc/self/stat", "proc"),
    ] {
        for load in ["load", "writes"] {
            let ended = lab.expect(2, &format!("replay {load} -t {path} --buffered --start-grace 0 -o out"));
            let words = format!("{path} is a file of {file_system}");
            assert!(ended.err.contains(&words), "no {words:?} in {}", ended.err);
            assert!(!lab.path("out").exists());
        }
    }
}
