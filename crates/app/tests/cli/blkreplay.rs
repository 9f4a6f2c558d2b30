//! Acceptance of `iosonar blkreplay` through the binary: existing scripts run, and the front end requests their meaning from the engine.
//! The tests of `iosonar replay` show that the engine complies.

use crate::live::Running;
use crate::*;
use iosonar_plan::Strong;
use iosonar_testkit::{Access, Ended, check};
use std::io::Write;
use std::process::{Command, Stdio};

/// Size of the target `dev`.
const SIZE: u64 = 64 << 20;

/// No waiting, no lines that depend on time.
const QUIET: &str = "--start-grace=0 --no-progress";

fn device() -> Lab {
    let lab = crate::lab();
    lab.target("dev", SIZE);
    std::fs::create_dir(lab.path("tmp")).unwrap();
    lab
}

/// The command line, with temporary files in the lab.
fn command(lab: &Lab, args: &str) -> Command {
    let mut command = lab.command(&format!("blkreplay {QUIET} {args}"));
    command.env("TMPDIR", lab.path("tmp"));
    command
}

/// Runs a command with this standard input.
fn feed(command: &mut Command, input: impl AsRef<[u8]>) -> Ended {
    let mut child = command.stdin(Stdio::piped()).spawn().expect("the binary starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    let input = input.as_ref().to_vec();
    // A reader that needs no more closes the pipe.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let ended = Ended::of(child.wait_with_output().expect("it ends"));
    writer.join().expect("writing does not panic");
    ended
}

/// Replays `load` on `dev`, asserts the exit code, and that no temporary file stays.
#[track_caller]
fn replay(lab: &Lab, code: i32, args: &str, load: impl AsRef<[u8]>) -> Ended {
    let ended = feed(&mut command(lab, &format!("{args} dev")), load).with_code(code, args);
    assert_eq!(scratch(lab), [""; 0], "{args}");
    ended
}

/// Names in the directory for temporary files.
fn scratch(lab: &Lab) -> Vec<String> {
    let entries = std::fs::read_dir(lab.path("tmp")).expect("a directory");
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn conflict(load: &str) -> Vec<u8> {
    std::fs::read(fixture_path(load)).unwrap()
}

/// A result line; times in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
struct Line {
    time: u64,
    sector: u64,
    length: u64,
    op: char,
    delay: u64,
    latency: u64,
}

/// Parses the lines of `grep ';' | tail -n +2`, column by column.
#[track_caller]
fn lines(result: &str) -> Vec<Line> {
    let time = |text: &str| {
        let (seconds, fraction) = text.split_once('.').expect("a point");
        assert_eq!(fraction.len(), 9, "{text}");
        seconds.parse::<u64>().unwrap() * S + fraction.parse::<u64>().unwrap()
    };
    let rows = result.lines().filter(|line| line.contains(';')).skip(1);
    rows.map(|row| {
        let columns: Vec<&str> = row.split(';').map(str::trim).collect();
        assert_eq!(columns.len(), 6, "{row}");
        Line {
            time: time(columns[0]),
            sector: columns[1].parse().unwrap(),
            length: columns[2].parse().unwrap(),
            op: columns[3].chars().next().unwrap(),
            delay: time(columns[4]),
            latency: time(columns[5]),
        }
    })
    .collect()
}

/// A number of the tail.
#[track_caller]
fn tail(result: &str, name: &str) -> u64 {
    let line =
        |line: &str| line.split_once(':').filter(|(n, _)| n.trim() == name).map(|(_, v)| v.to_string());
    let value = result.lines().find_map(line).unwrap_or_else(|| panic!("no {name}:\n{result}"));
    value.split_whitespace().next().and_then(|word| word.parse().ok()).expect("a number")
}

/// Result times in nanoseconds, with their sectors.
fn times(result: &str) -> Vec<(u64, u64)> {
    lines(result).iter().map(|line| (line.time, line.sector)).collect()
}

const SIM: &str = "--simulate-io=0.001";

// The same plan as `iosonar replay` makes, whose acceptance is shown elsewhere: 15 to 25 hold for this front end, too.
#[test]
fn options_produce_the_same_plan_as_replay() {
    let lab = device();
    for (own, other) in [
        ("", "--backward shift --depth 1024"),
        ("--with-drop --strong=2", "--overlap drop --strong 2 --backward shift --depth 1024"),
        ("--with-conflicts --strong0 --threads=7", "--overlap allow --strong 0 --depth 7 --backward shift"),
        ("--with-ordering --backward=sort", "--overlap order --backward sort --depth 1024"),
        (
            "--replay-start=0.5 --replay-duration=3",
            "--start 500ms --duration 3s --backward shift --depth 1024",
        ),
        ("--replay-end=9 --speedup=2.5", "--end 9 --speed 2.5 --backward shift --depth 1024"),
        (
            "--fill-random=40 --o-sync --no-o-direct",
            "--fill-random 40 --sync --buffered --backward shift --depth 1024",
        ),
        ("--dry-run --threads=9", "--dry-run --backward shift --depth 9"),
        (
            "--simulate-io=0.25 --skip-bad --destroy --threads=1",
            "--engine sim --sim-service 250ms --skip-bad --destroy --depth 1 --backward shift",
        ),
    ] {
        let shown = |args: &str| {
            let plan = lab.expect(0, &format!("{args} --show-plan")).out;
            let lines = plan.lines().filter(|line| !line.starts_with("run_id"));
            lines.map(String::from).collect::<Vec<_>>()
        };
        // The original writes zeros by default, and skips flushes and discards as comments.
        let fill = if other.contains("--fill-random") { "" } else { "--fill-random 0" };
        let replay = shown(&format!(
            "replay - -t dev --start-grace 15 --anyway --flush drop --discard drop {fill} {other}"
        ));
        assert_eq!(shown(&format!("blkreplay {own} dev")), replay, "{own}");
    }
}

// 6, 7
#[test]
fn result_has_six_columns_and_can_be_replayed() {
    let lab = device();
    let load = conflict("conflict400.load.gz");
    let first = replay(&lab, 0, &format!("{SIM} --strong=2"), &load).out;
    let requests = |result: &str| {
        let mut all: Vec<_> =
            lines(result).iter().map(|l| (l.sector, l.length, l.op.to_ascii_uppercase())).collect();
        all.sort_unstable();
        all
    };
    assert_eq!(requests(&first).len(), 400);
    assert!(lines(&first).iter().any(|line| line.op.is_lowercase()));
    let again = replay(&lab, 0, &format!("{SIM} --backward=sort"), &first).out;
    assert_eq!(requests(&first), requests(&again));
    // Plain, gzip and two members are one.
    let (begin, end) = (rows(&[("18.002030345", 8, 8, 'R')]), "20.999999999;16;8;R\n");
    let members = [gzip(begin.as_bytes()), gzip(end.as_bytes())].concat();
    for load in [format!("{begin}{end}").into_bytes(), gzip(format!("{begin}{end}").as_bytes()), members] {
        let result = replay(&lab, 0, SIM, load).out;
        assert_eq!(times(&result), [(0, 8), (2_997_969_654, 16)]);
    }
}

// 9, 10
#[test]
fn backward_time_is_shifted_by_default() {
    let lab = device();
    let load = conflict("backshift.load.gz");
    let ms = |rows: &[(u64, u64)]| rows.iter().map(|(ms, sector)| (ms * MS, *sector)).collect::<Vec<_>>();
    let ended = replay(&lab, 0, SIM, &load);
    let want = [(0, 8), (1500, 16), (1500, 24), (2250, 32), (2250, 40), (3150, 48), (3150, 56)];
    assert_eq!(times(&ended.out), ms(&want));
    for delta in ["9.25s", "2s", "800ms"] {
        assert_eq!(ended.err.matches(&format!("shifted by {delta}")).count(), 1, "{}", ended.err);
    }
    let later = replay(&lab, 0, &format!("{SIM} --replay-start=11"), &load).out;
    assert_eq!(times(&later), ms(&want[1..].iter().map(|(t, s)| (t - 1500, *s)).collect::<Vec<_>>()));
    assert_eq!(tail(&later, "# total     requests"), 6);
    let fast = replay(&lab, 0, &format!("{SIM} --replay-start=11 --speedup=2"), &load).out;
    assert_eq!(times(&fast), ms(&[(0, 16), (0, 24), (375, 32), (375, 40), (825, 48), (825, 56)]));
    let sorted = replay(&lab, 0, &format!("{SIM} --backward=sort"), &load).out;
    assert_eq!(times(&sorted).first(), Some(&(0, 40)));
    let refused = replay(&lab, 1, &format!("{SIM} --backward=refuse"), &load);
    assert!(refused.err.contains("line 3") || refused.err.contains("runs backward"), "{}", refused.err);
    assert_eq!(times(&refused.out).len(), 2, "what was done until then is kept");
}

// 11
#[test]
fn windows_are_half_open_and_rebased_to_their_first_request() {
    let lab = device();
    let load = rows(&["0.5", "1.999999999", "2", "3.5", "4"].map(|time| (time, 8, 8, 'R')));
    for (window, want) in [
        ("--replay-start=1 --replay-end=4", &[0, 1, 1_500_000_001][..]),
        ("--replay-start=1 --replay-duration=2", &[0, 1]),
        ("--replay-end=2", &[0, 1_499_999_999]),
        ("--replay-end=2 --replay-out=100", &[100 * S, 101_499_999_999]),
    ] {
        let result = replay(&lab, 0, &format!("{SIM} {window}"), &load).out;
        assert_eq!(times(&result).iter().map(|t| t.0).collect::<Vec<_>>(), want, "{window}");
        assert!(lines(&result).iter().all(|line| line.delay < S), "--replay-out is in column 1 only");
    }
    let none = replay(&lab, 1, &format!("{SIM} --replay-start=77"), &load);
    assert!(none.err.contains("in the window") && tail(&none.out, "# total     requests") == 0);
}

// 12, 13
#[test]
fn simulated_half_second_is_exact_and_never_early() {
    let lab = device();
    let load = rows(&[0, 8, 16, 24].map(|sector| ("0", sector, 8, 'R')));
    let result = replay(&lab, 0, "--simulate-io=0.5 --threads=1", load).out;
    let got: Vec<_> = lines(&result).iter().map(|l| (l.delay / MS, l.latency / MS)).collect();
    assert_eq!(got, [(0, 500), (500, 500), (1000, 500), (1500, 500)]);
    // On the real clock a delay below 0 cannot be written: it would be an early request.
    let load = rows(&["0", "0.01", "0.02", "0.03"].map(|time| (time, 8, 8, 'R')));
    let result = replay(&lab, 0, "--threads=2", load).out;
    assert_eq!(lines(&result).len(), 4);
}

fn expected(load: &str, strong: usize, policy: &str) -> Value {
    let all: Value = serde_json::from_str(include_str!("../fixtures/conflict.expected.json")).unwrap();
    all[load][format!("strong={strong}")][policy].clone()
}

/// Asserts that the counters add up to all requests of the window.
fn adds_up(result: &str) {
    let names = ["completed requests", "dropped   requests", "failed    requests", "skipped   requests"];
    let sum: u64 = names.iter().map(|name| tail(result, &format!("# {name}"))).sum();
    let total = tail(result, "# total     requests");
    assert_eq!(sum, total);
    assert!(tail(result, "# write     requests") <= total);
    let pushed = lines(result).iter().filter(|line| line.op.is_lowercase()).count() as u64;
    assert_eq!(tail(result, "# pushback  requests"), pushed);
}

// 15, 16, 17, 19, 25, 40
#[test]
fn conflict_modes_match_the_expected_counts() {
    let lab = device();
    for load in ["conflict7.load.gz", "conflict400.load.gz"] {
        for strong in 0..3 {
            let run = |mode: &str| {
                let args = format!("--simulate-io=0.2 --threads=512 --strong={strong} --{mode}");
                let result = replay(&lab, 0, &args, conflict(load)).out;
                adds_up(&result);
                assert_eq!(tail(&result, "strong_mode"), strong as u64);
                assert!(tail(&result, "max_submitted") <= 512);
                result
            };
            let count = |result: &str, name: &str| tail(result, &format!("# {name}"));
            let (drop, want) = (run("with-drop"), expected(load, strong, "with_drop"));
            assert_eq!(count(&drop, "dropped   requests"), want["dropped"], "{load} {strong}");
            assert_eq!(drop.matches("INFO: dropping block=").count() as u64, want["dropped"]);
            let (partial, want) = (run("with-partial"), expected(load, strong, "with_partial"));
            assert_eq!(count(&partial, "pushback  requests"), want["pushback_preserving"], "{load} {strong}");
            assert_eq!(count(&partial, "completed requests"), want["completed"]);
            let order = run("with-ordering");
            assert!(count(&order, "ordered   requests (waits)") > 0);
            assert_eq!(count(&order, "dropped   requests") + count(&order, "pushback  requests"), 0);
            let modes = [&drop, &partial, &order].map(|result| tail(result, "conflict_mode"));
            assert_eq!(modes, [1, 2, 3]);
        }
    }
    let all = replay(&lab, 0, "--simulate-io=0.2 --with-conflicts", conflict("conflict400.load.gz")).out;
    assert_eq!((tail(&all, "# completed requests"), tail(&all, "conflict_mode")), (400, 0));
}

// 18, 19 with an independent checker, from the archive that --out keeps.
#[test]
fn archive_is_kept_on_request() {
    let lab = device();
    for mode in ["with-partial", "with-ordering"] {
        let args = format!("--simulate-io=0.2 --threads=64 --{mode} --out={mode}");
        let ended = replay(&lab, 0, &args, conflict("conflict400.load.gz"));
        assert!(ended.err.contains(&format!("result: {mode}")), "{}", ended.err);
        let records = sorted(&lab, mode);
        let accesses: Vec<Access> = records.iter().filter_map(Access::of).collect();
        assert!(accesses.len() == 400 && check(&accesses, Strong::AnyWrite).is_clean());
        assert!(most_in_flight(&records) <= 64);
        assert_eq!(count(&summary(&lab, mode), "all", "completed"), 400);
        assert_eq!(lines(&lab.expect(0, &format!("export {mode} --to replay")).out), lines(&ended.out));
    }
    let twice = replay(&lab, 2, "--out=with-partial", rows(&[]));
    assert!(twice.err.contains("with-partial") && twice.out.is_empty(), "{}", twice.err);
}

/// A result that is not kept gets the verdict of a kept one, on standard error only.
#[test]
fn unsaved_result_still_has_a_verdict() {
    slow!();
    let lab = device();
    let verdict = |ended: &Ended| -> String {
        let lines: Vec<&str> =
            ended.err.lines().filter_map(|line| line.strip_prefix("blkreplay: verdict: ")).collect();
        assert_eq!((lines.len(), ended.out.contains("verdict")), (1, false), "{}{}", ended.out, ended.err);
        lines[0].to_string()
    };
    let read = rows(&[("0.0", 0, 2048, 'R'), ("0.001", 4096, 2048, 'R')]);
    let simulated = replay(&lab, 0, SIM, &read);
    assert!(verdict(&simulated).starts_with("no storage result"), "{}", simulated.err);
    // `replay` tolerates targets that are holes, and this is about one.
    std::fs::File::create(lab.path("hole")).unwrap().set_len(8 << 20).unwrap();
    let read_hole = |more: &str| feed(&mut command(&lab, &format!("{more} hole")), &read);
    let (dropped, kept) = (read_hole(""), read_hole("--out=kept"));
    assert_eq!((dropped.code, kept.code), (4, 4), "{}", dropped.err);
    for ended in [&dropped, &kept] {
        let verdict = verdict(ended);
        assert!(verdict.starts_with("FAKE as a replay result: unmapped-target"), "{verdict}");
    }
    assert_eq!(scratch(&lab), [""; 0]);
}

// 23
#[test]
fn keeps_reads_after_completed_write() {
    let lab = device();
    let result = replay(&lab, 0, "--simulate-io=0.04 --with-drop", conflict("verify5.load.gz")).out;
    assert_eq!(tail(&result, "# dropped   requests"), 2);
    assert!(lines(&result).iter().filter(|line| line.op == 'R').count() >= 2);
}

// 25
#[test]
fn bottleneck_limits_requests_in_flight() {
    let lab = device();
    let load = rows(&[0; 40].map(|_| ("0", 8, 8, 'R')));
    for (limits, most) in
        [("--threads=3", 3), ("--threads=9 --bottleneck=2", 2), ("--threads=4 --bottleneck=32", 4)]
    {
        let ended = replay(&lab, 0, &format!("{SIM} {limits}"), &load);
        assert_eq!(tail(&ended.out, "max_submitted"), most, "{limits}");
        assert_eq!(ended.err.contains("--bottleneck="), limits.contains("bottleneck"), "{}", ended.err);
    }
}

// 37: the kernel refuses writes beyond the limit of a file's size.
#[test]
fn failed_writes_are_reported_and_set_exit_code() {
    let lab = device();
    let sectors = SIZE / 512;
    let load = [
        ("0", 8, 8, 'W'),
        ("0.01", sectors - 8, 8, 'W'),
        ("0.02", sectors - 16, 8, 'R'),
        ("0.03", 16, 8, 'W'),
    ];
    lab.file("load", rows(&load));
    let script =
        format!("trap '' XFSZ; ulimit -f $((32 << 11)); exec \"$0\" \"$@\" {QUIET} --threads=2 dev <load");
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_iosonar"), "blkreplay"]).current_dir(lab.path(""));
    let ended = Ended::of(command.env("TMPDIR", lab.path("tmp")).output().unwrap());
    assert_eq!(ended.code, 1, "{}\n{}", ended.out, ended.err);
    adds_up(&ended.out);
    let counts = ["completed", "failed   "].map(|name| tail(&ended.out, &format!("# {name} requests")));
    assert_eq!(counts, [3, 1], "{}", ended.out);
    let errors: Vec<&str> = ended.out.lines().filter(|line| line.starts_with("ERROR")).collect();
    let want = format!("ERROR: bad WIO -1 / 27 on 0 at pos {} (File too large)", sectors - 8);
    assert_eq!(errors, [want]);
    assert_eq!(scratch(&lab), [""; 0]);
}

// 38
#[test]
fn missing_device_is_reported_without_result() {
    let lab = device();
    for args in ["", "--dry-run", "--simulate-io=1"] {
        let ended = feed(&mut command(&lab, &format!("{args} missing")), rows(&[("0", 8, 8, 'R')]));
        assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{}", ended.err);
        assert!(ended.err.contains("missing") && ended.err.contains("No such file"), "{}", ended.err);
        assert!(!ended.err.contains("--size"), "a remedy of another command line: {}", ended.err);
        assert!(!lab.path("missing").exists() && scratch(&lab).is_empty());
    }
}

// 41
#[test]
fn marks_non_storage_results_as_fake() {
    let lab = device();
    let load = rows(&[("0", 8, 8, 'R')]);
    for (args, is_fake) in [
        ("--dry-run", true),
        ("--fake-io", true),
        ("--simulate-io=0.001", true),
        ("--no-o-direct", true),
        ("", false),
        ("--no-o-direct --o-direct --simulate-io=0", false),
    ] {
        let result = replay(&lab, 0, &format!("--threads=2 {args}"), &load).out;
        assert_eq!(result.contains("FAKE"), is_fake, "{args}:\n{result}");
        assert_eq!(lines(&result).len(), 1);
    }
}

// 42
#[test]
fn invalid_options_touch_nothing_and_are_named() {
    let lab = device();
    let load = rows(&[("0", 8, 8, 'W')]);
    for (typed, remedy) in [
        ("--dry-run=0", "--dry-run"),
        ("--strongXYZ=2", "--strong="),
        ("--thread=4", "--threads=N"),
        ("--with-verify=0", "--with-verify"),
        ("--what", "--help"),
        ("other", "dev"),
    ] {
        let ended = feed(&mut command(&lab, &format!("{typed} dev")), &load);
        assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{typed}");
        assert!(ended.err.contains(typed) && ended.err.contains(remedy), "{typed}: {}", ended.err);
        assert_eq!(ended.err.lines().count(), 1, "{}", ended.err);
    }
    assert!(std::fs::read(lab.path("dev")).unwrap().iter().all(|byte| *byte == 0));
    let (none, help) = (lab.expect(2, "blkreplay"), lab.expect(0, "blkreplay --help"));
    assert_eq!((none.out.as_str(), none.err.trim()), ("", help.out.trim()));
    assert!(
        help.out.contains("--start-grace=S [default: 15]")
            && lab.expect(0, "--help").out.contains("blkreplay")
    );
}

#[test]
fn any_arguments_exit_cleanly() {
    let lab = device();
    let odd =
        ["--", "-", "", "--=", "--threads=\u{7f}9", "--out", "--replay-start=9e9", "ä;\n", "--speedup=1e-9"];
    for (i, first) in odd.iter().enumerate() {
        for second in &odd[i..] {
            let ended = feed(lab.command("blkreplay --show-plan").args([first, second]), "");
            assert!([0, 2].contains(&ended.code), "{first:?} {second:?}: {}\n{}", ended.code, ended.err);
        }
    }
}

/// A line of a script.
#[test]
fn link_named_blkreplay_acts_as_the_original() {
    let lab = device();
    lab.file("load.gz", gzip(rows(&[("0", 8, 8, 'W'), ("0.1", 8, 8, 'R'), ("7", 8, 8, 'R')]).as_bytes()));
    for name in ["blkreplay", "blkreplay.exe"] {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_iosonar"), lab.path(name)).unwrap();
        let script = format!(
            "set -e; zcat load.gz | ./{name} --threads=4 --replay-duration=5 --start-grace=0 --fan-out=8 dev | gzip >x.gz"
        );
        let mut sh = Command::new("sh");
        let ended = Ended::of(sh.args(["-c", &script]).current_dir(lab.path("")).output().unwrap());
        assert_eq!((ended.code, ended.out.as_str()), (0, ""), "{}", ended.err);
        assert!(ended.err.contains("--fan-out=8: it has no effect here"), "{}", ended.err);
        let file = std::fs::File::open(lab.path("x.gz")).unwrap();
        let result = std::io::read_to_string(flate2::read::MultiGzDecoder::new(file)).unwrap();
        assert_eq!(times(&result), [(0, 8), (100 * MS, 8)]);
        assert!(result.contains("# run state : finished"), "{result}");
    }
}

#[test]
fn stopped_run_writes_its_result() {
    let lab = device();
    let times: Vec<String> = (0..60_000).map(|ms| format!("{}.{:03}", ms / 1000, ms % 1000)).collect();
    let load: Vec<_> = times.iter().enumerate().map(|(i, t)| (t.as_str(), i as u64, 1, 'W')).collect();
    let load = std::fs::File::open(lab.file("long.load", rows(&load))).unwrap();
    let mut running = Running::of(command(&lab, "--dry-run dev").stdin(load));
    running.until(|line| line.starts_with("target dev"));
    // A progress line on SIGUSR1 shows that signals are handled.
    running.signal("USR1");
    running.until(|line| line.contains("IO/s"));
    assert_eq!(scratch(&lab).len(), 1);
    running.signal("INT");
    let ended = running.end();
    assert_eq!(ended.code, 130, "{}", ended.err);
    assert!(ended.out.contains("# run state : interrupted (SIGINT)"), "{}", ended.out);
    adds_up(&ended.out);
    assert!(lines(&ended.out).len() < 60_000);
    assert_eq!(scratch(&lab), [""; 0]);
}

#[test]
fn run_blocked_on_output_can_be_interrupted() {
    let lab = device();
    let load = rows(&[("0", 8, 8, 'R'); 20_000]);
    let load = std::fs::File::open(lab.file("long.load", load)).unwrap();
    // The result is larger than a pipe, and has no reader.
    let mut running = Running::of(command(&lab, &format!("{SIM} dev")).stdin(load));
    running.until(|line| line.starts_with("target dev"));
    let is_over = || {
        let run = scratch(&lab).pop().map(|dir| lab.path("tmp").join(dir).join("run/run.json"));
        run.is_some_and(|run| std::fs::read_to_string(run).is_ok_and(|text| text.contains("finished")))
    };
    iosonar_testkit::until("the end", is_over);
    running.signal("INT");
    running.until(|line| line.contains("second Ctrl-C aborts"));
    running.signal("INT");
    let ended = running.end();
    assert_eq!(ended.code, 130, "{}", ended.err);
    assert!(ended.err.contains("iosonar show") && !ended.out.contains("# run state"), "{}", ended.err);
    let kept = scratch(&lab).pop().expect("what was recorded stays");
    lab.expect(0, &format!("show tmp/{kept}/run"));
}

#[test]
fn unwritable_result_is_kept_as_archive() {
    let load = rows(&[("0", 8, 8, 'R'), ("0", 16, 8, 'R')]);
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let (reader, closed) = std::io::pipe().unwrap();
    drop(reader);
    for (stdout, code, why) in
        [(Stdio::from(full), 1, "No space left"), (Stdio::from(closed), 0, "was closed")]
    {
        let lab = device();
        let ended = feed(command(&lab, &format!("{SIM} dev")).stdout(stdout), &load);
        assert_eq!(ended.code, code, "{}", ended.err);
        assert!(ended.err.contains(why) && ended.err.contains("iosonar convert"), "{}", ended.err);
        let kept = scratch(&lab).pop().expect("a directory");
        assert_eq!(lines(&lab.expect(0, &format!("export tmp/{kept}/run --to replay")).out).len(), 2);
    }
}

// 34
#[test]
fn verification_prints_lines_scripts_expect() {
    let lab = device();
    // Three writes to one place at once, which are pushed back: the original then reports 8 errors for each overtaken one.
    let load = rows(&[
        ("0.000", 0, 8, 'W'),
        ("0.000", 0, 8, 'W'),
        ("0.000", 4, 8, 'W'),
        ("0.001", 0, 16, 'R'),
        ("0.002", 64, 8, 'W'),
        ("0.003", 64, 8, 'R'),
    ]);
    for (option, mode) in
        [("--no-overhead", 0), ("--with-verify", 1), ("--with-final-verify", 2), ("--with-paranoia", 3)]
    {
        let ended = feed(&mut command(&lab, &format!("{option} --threads=8 --start-grace=0 dev")), &load);
        assert_eq!(ended.code, 0, "{option}: {}", ended.err);
        assert!(!ended.out.contains("VERIFY"), "{option}: {}", ended.out);
        assert!(ended.out.contains(&format!("verify_mode : {mode}\n")), "{option}");
        assert!(ended.out.contains("# verify errors during replay : 0\n"), "{option}");
        let has_summary =
            ended.out.contains("SUMMARY: checked ") && ended.out.contains("found 0 errors, 0 mismatches");
        assert_eq!(has_summary, mode >= 2, "{option}: {}", ended.out);
    }
}
