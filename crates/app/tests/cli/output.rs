//! Standard output and standard error as users meet them: pipes that close, full disks, help, generated files.

use crate::*;
use iosonar_testkit::Ended;
use std::process::Stdio;

const COMMANDS: [&str; 9] =
    ["replay", "run", "compare", "analyze", "show", "plot", "report", "convert", "load generate"];

/// The writing end of a pipe whose reader is closed.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

fn with_stdout(lab: &Lab, args: &str, out: Stdio) -> Ended {
    Ended::of(lab.command(args).stdout(out).output().expect("the binary starts"))
}

fn result(lab: &Lab) {
    fixture(lab, "conflict7.load.gz");
    lab.expect(0, &format!("replay conflict7.load.gz {SIM} -o r"));
}

#[test]
fn closed_stdout_pipe_is_no_failure() {
    let lab = lab();
    result(&lab);
    let replay = format!("replay conflict7.load.gz {SIM}");
    for args in [
        "show r".into(),
        "show r --json".into(),
        "show r --show-plan".into(),
        "plot r".into(),
        "report r".into(),
        "generate mixed -".into(),
        "replay --help".into(),
        format!("{replay} --show-plan"),
        format!("{replay} -o again"),
    ] {
        let ended = with_stdout(&lab, &args, closed());
        assert_eq!(ended.code, 0, "{args}: {}", ended.err);
        assert!(!ended.err.contains("panicked"), "{args}: {}", ended.err);
    }
    assert_eq!(lab.records("again"), lab.records("r"));
    assert!(lab.path("again/summary.json").exists() && lab.path("r/report.html").exists());
    assert!(lab.path("r/plots/sheet.svg").exists());
    // The exit code of the run still counts.
    let ended = with_stdout(&lab, &format!("{replay} --sim-errors 1 -o failing"), closed());
    assert_eq!(ended.code, 1, "{}", ended.err);
}

#[test]
fn run_continues_with_stderr_closed() {
    let lab = lab();
    result(&lab);
    for (i, progress) in ["--no-progress", "--progress json --progress-every 50ms"].into_iter().enumerate() {
        let args = format!(
            "replay conflict7.load.gz --engine null --size 1GiB -t dev --start-grace 0 {progress} -o r{i}"
        );
        let ended = Ended::of(lab.command(&args).stderr(closed()).output().unwrap());
        assert_eq!(ended.code, 0, "{}", ended.out);
        assert_eq!(lab.records(&format!("r{i}")).len(), 7);
    }
    fixture(&lab, "odd.load.gz");
    let args = format!("replay odd.load.gz {SIM} --skip-bad -o skipped");
    assert_eq!(Ended::of(lab.command(&args).stderr(closed()).output().unwrap()).code, 0);
    assert_eq!(Ended::of(lab.command("show --all nowhere").stderr(closed()).output().unwrap()).code, 2);
}

#[test]
fn reports_enospc_on_stdout() {
    let lab = lab();
    result(&lab);
    for args in
        ["show r", "generate mixed -", "plot r", &format!("replay conflict7.load.gz {SIM} --show-plan")]
    {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("/dev/full");
        let ended = with_stdout(&lab, args, full.into());
        assert_eq!(ended.code, 1, "{args}: {}", ended.err);
        assert!(
            ended.err.contains("No space left") && !ended.err.contains("panicked"),
            "{args}: {}",
            ended.err
        );
    }
}

#[test]
fn reports_enospc_with_remedy() {
    let lab = lab();
    fixture(&lab, "conflict7.load.gz");
    for command in ["filter scale:2 conflict7.load.gz", "convert --to load conflict7.load.gz -"] {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("/dev/full");
        let ended = with_stdout(&lab, command, full.into());
        let told = ended.err.contains("No space left") && ended.err.contains("make room");
        assert!(ended.code == 1 && told, "{command}: {}", ended.err);
    }
}

/// The options of a help text with their descriptions.
fn options(help: &str) -> Vec<(String, String)> {
    let lines: Vec<&str> = help.lines().collect();
    let option = |(i, line): (usize, &&str)| {
        let text = line.trim_start();
        let is_option = text.starts_with('-') && !text.starts_with("- ") && line.len() - text.len() < 8;
        let (name, same_line) = text.split_once("  ").unwrap_or((text, ""));
        let about =
            if same_line.trim().is_empty() { lines.get(i + 1).copied().unwrap_or("") } else { same_line };
        is_option.then(|| (name.to_string(), about.trim().to_string()))
    };
    lines.iter().enumerate().filter_map(option).collect()
}

#[test]
fn every_command_and_every_option_has_help() {
    let lab = lab();
    let top = lab.expect(0, "--help").out;
    assert!(["  export ", "  import "].iter().all(|earlier| !top.contains(earlier)), "{top}");
    for command in COMMANDS {
        let first = command.split(' ').next().expect("a word");
        assert!(top.lines().any(|l| l.trim_start().starts_with(&format!("{first} "))), "{command}");
        for help in ["--help", "-h"] {
            let text = lab.expect(0, &format!("{command} {help}")).out;
            let options = options(&text);
            assert!(!options.is_empty() && text.contains("Usage:"));
            for (name, about) in options {
                let is_text = about.starts_with(|c: char| c.is_alphanumeric());
                assert!(is_text, "{command} {name}: '{about}'");
            }
            assert!(text.lines().all(|l| l.chars().count() <= 110), "{command} {help}");
        }
    }
    assert!(lab.expect(0, "--version").out.starts_with("iosonar "));
    let nothing = lab.expect(2, "");
    assert!(nothing.err.contains("Usage:") && nothing.out.is_empty());
}

#[test]
fn generated_loads_are_seeded_and_replayable() {
    let lab = lab();
    for shape in ["bursts", "mixed"] {
        let make = |name: &str, options: &str| {
            let told = lab
                .expect(0, &format!("generate {shape} {name} --duration 3s --rate 50 --size 8MiB {options}"))
                .err;
            (std::fs::read(lab.path(name)).unwrap(), told)
        };
        let (first, told) = make(&format!("{shape}.a"), "--seed 4");
        assert!(first == make(&format!("{shape}.b"), "--seed 4").0);
        assert!(first != make(&format!("{shape}.c"), "--seed 5").0);
        assert!(make(&format!("{shape}.a.gz"), "--seed 4").0 == make(&format!("{shape}.b.gz"), "--seed 4").0);
        let printed =
            lab.expect(0, &format!("generate {shape} - --duration 3s --rate 50 --size 8MiB --seed 4")).out;
        assert!(printed.as_bytes() == first);
        for (name, result) in [(format!("{shape}.a"), "plain"), (format!("{shape}.a.gz"), "gzip")] {
            let args = format!(
                "replay {name} --engine sim --size 8MiB -t dev --no-progress --overlap allow -o {shape}-{result}"
            );
            let ended = lab.expect(0, &args);
            assert!(!ended.err.contains("skipped"));
        }
        let records = sorted(&lab, &format!("{shape}-plain"));
        assert_eq!(records, sorted(&lab, &format!("{shape}-gzip")));
        assert!(told.contains(&format!("{} requests", records.len())), "{told}");
        assert!(records.iter().all(|r| r.requested.end() <= 8 << 20 && r.load_time.0 < 3 * S));
    }
    // Bursts grow: 50, 100, 150.
    let records = sorted(&lab, "bursts-plain");
    let in_second = |s: u64| records.iter().filter(|r| r.load_time.0 / S == s).count();
    assert_eq!([0, 1, 2].map(in_second), [50, 100, 150]);
    let all_reads = lab.expect(0, "generate mixed - --duration 1s --reads 100").out;
    assert!(!all_reads.contains("; W ;"));
}

#[test]
fn unnamed_result_gets_a_new_name() {
    let lab = lab();
    fixture(&lab, "conflict7.load.gz");
    let name = || {
        let out = lab.expect(0, &format!("replay conflict7.load.gz {SIM}")).out;
        out.lines().find_map(|l| l.strip_prefix("result: ")).expect("the result is named").to_string()
    };
    let (first, second) = (name(), name());
    assert_ne!(first, second);
    for name in [first, second] {
        assert!(name.starts_with("conflict7-") && name.ends_with(".iosonar"), "{name}");
        assert_eq!(lab.records(&name).len(), 7);
    }
}

#[test]
fn run_that_fails_to_start_leaves_no_files() {
    let lab = lab();
    fixture(&lab, "conflict7.load.gz");
    let targets: Vec<String> = (0..60).map(|i| format!("t{i}.img")).collect();
    targets.iter().for_each(|name| drop(lab.target(name, 1 << 20)));
    let (binary, targets) = (env!("CARGO_BIN_EXE_iosonar"), targets.join(" "));
    // Each target can be opened, but not all of them together: this is detected before any is examined.
    let run = format!(
        "ulimit -n 40 && exec {binary} replay conflict7.load.gz -t {targets} --buffered --depth 1 --no-progress -o r"
    );
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &run]).current_dir(lab.path(""));
    let ended = Ended::of(shell.output().expect("sh"));
    assert_eq!(ended.code, 2, "{}", ended.err);
    assert!(ended.err.contains("needs 272 open files") && !ended.err.contains("panicked"), "{}", ended.err);
    assert!(!lab.path("r").exists());
}

#[test]
fn rejects_runs_that_exceed_memory() {
    let lab = lab();
    lab.file("huge.load", "0.0 ; 0 ; 2000000000 ; R ; 0.0 ; 0.0\n");
    lab.target("t.img", 1 << 40);
    let ended = lab.expect(2, "replay huge.load -t t.img --depth 65536 -o r");
    assert!(ended.err.contains("memory for data") && ended.err.contains("--buffer-memory"), "{}", ended.err);
    let ended = lab.expect(2, "replay huge.load -t t.img --depth 65536 --buffer-memory 64TiB -o r");
    assert!(ended.err.contains("MiB of memory") && ended.err.contains("--depth"), "{}", ended.err);
    assert!(!lab.path("r").exists());
}

#[test]
fn killed_run_has_no_counters() {
    let lab = lab();
    lab.file("long.load", "0.0 ; 8 ; 8 ; W ; 0.0 ; 0.0\n900.0 ; 16 ; 8 ; W ; 0.0 ; 0.0\n");
    let mut child =
        lab.command("replay long.load -t x --size 1GiB --dry-run --start-grace 0 -o r").spawn().unwrap();
    lab.until_records("r");
    child.kill().unwrap();
    child.wait().unwrap();
    let summary: serde_json::Value = serde_json::from_str(&lab.expect(0, "show r --json").out).unwrap();
    assert!(summary["in_flight"]["max_on_one_target"].is_null());
    assert_eq!(summary["counts"]["all"]["completed"], 1);
}

#[test]
fn reports_holes_in_target() {
    let lab = lab();
    lab.file("reads.load", "0.0 ; 8 ; 8 ; R ; 0.0 ; 0.0\n");
    std::fs::File::create(lab.path("sparse.img")).unwrap().set_len(1 << 20).unwrap();
    lab.file("full.img", vec![7u8; 1 << 20]);
    let cautions = |code: i32, target: &str| {
        let replay = format!("replay reads.load -t {target} --start-grace 0 --no-progress -o {target}.r");
        lab.expect(code, &replay).out
    };
    assert!(cautions(4, "sparse.img").contains("unmapped-target"));
    assert!(!cautions(0, "full.img").contains("unmapped-target"));
}

#[test]
fn result_has_date_and_machine() {
    let lab = lab();
    lab.target("t", 1 << 20);
    lab.expect(0, "run -t t --rw randread --bs 4k --number-ios 50 --no-progress -o r");
    let text = lab.expect(0, "show --all r").out;
    let environment: Value =
        serde_json::from_str(&std::fs::read_to_string(lab.path("r/environment.json")).unwrap()).unwrap();
    let host = environment["hostname"].as_str().unwrap();
    let place = text.lines().find(|line| line.contains(" UTC, host")).unwrap();
    assert!(place.starts_with("  20") && place.contains(&format!(" UTC, host {host}, Linux ")), "{place}");
    let shown: Value = serde_json::from_str(&lab.expect(0, "show r --json").out).unwrap();
    assert_eq!(shown, summary(&lab, "r"), "the run keeps what is computed from its archive");
    assert_eq!(shown["machine"]["kernel"], environment["kernel"]["release"]);
    for device in shown["machine"]["devices"].as_array().unwrap() {
        let (utilization, queue) = (&device["utilization_percent"], &device["mean_queue"]);
        assert!(
            utilization.as_f64().is_some_and(|u| (0.0..=200.0).contains(&u)) && queue.is_f64(),
            "{device}"
        );
    }
}
