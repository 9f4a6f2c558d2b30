//! fio's command lines behind `run`: they run as typed, and issue as many requests as fio does.

use crate::*;
use std::process::Command;

/// What takes long in the page, in less time.
const SHORTENED: (&str, &str) = ("--runtime=60", "--runtime=1");

/// The lines of `docs/patterns.md` that begin with `fio`.
fn lines() -> Vec<String> {
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/patterns.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let lines = page.lines().filter_map(|line| line.strip_prefix("fio "));
    let lines: Vec<String> = lines.map(|line| line.replace(SHORTENED.0, SHORTENED.1)).collect();
    assert!(lines.len() >= 10, "{lines:?}");
    lines
}

/// A file of 64 MiB, all of it written.
fn target(lab: &Lab) {
    lab.file(
        "a.img",
        (0..64 << 20).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect::<Vec<_>>(),
    );
}

/// Reads and writes that fio issued; none if it is not installed.
#[track_caller]
fn of_fio(lab: &Lab, line: &str) -> Option<[u64; 2]> {
    let mut fio = Command::new("fio");
    fio.args(line.split(' ')).arg("--output-format=json").arg("--output=fio.json").current_dir(lab.path(""));
    let ended = fio.output().ok()?;
    assert!(ended.status.success(), "fio {line}: {}", String::from_utf8_lossy(&ended.stderr));
    let text = std::fs::read_to_string(lab.path("fio.json")).expect("a report");
    let report: Value = serde_json::from_str(&text[text.find('{').expect("JSON")..]).expect("JSON");
    let jobs = report["jobs"].as_array().expect("jobs");
    let sum = |op: &str| jobs.iter().map(|job| job[op]["total_ios"].as_u64().expect("a count")).sum();
    Some([sum("read"), sum("write")])
}

#[test]
fn lines_of_the_page_run_as_typed_and_do_what_fio_does() {
    let lab = lab();
    target(&lab);
    let mut compared = 0;
    for (number, line) in lines().iter().enumerate() {
        let ended = lab.expect(0, &format!("run {line} --no-progress -o {number}"));
        if line.contains("--output-format=json") {
            serde_json::from_str::<Value>(&ended.out).expect("the summary alone");
        }
        let summary = summary(&lab, &number.to_string());
        let [reads, writes] = ["read", "write"].map(|op| count(&summary, op, "completed"));
        let Some([theirs_read, theirs_written]) = of_fio(&lab, line) else {
            iosonar_testkit::skip("lines_of_the_page", "fio is not installed");
            continue;
        };
        if line.contains("--runtime") {
            continue;
        }
        compared += 1;
        if line.contains("randrw") {
            // fio draws each operation; with two sizes the number follows from that.
            let share = |reads: u64, writes: u64| reads as f64 / (reads + writes) as f64;
            let apart = share(reads, writes) - share(theirs_read, theirs_written);
            assert!(apart.abs() < 0.08, "{line}: {reads}+{writes}, fio {theirs_read}+{theirs_written}");
        } else {
            assert_eq!([reads, writes], [theirs_read, theirs_written], "{line}");
        }
    }
    assert!(compared == 0 || compared >= 8, "{compared}");
}

#[test]
fn percentiles_that_were_asked_for_are_printed() {
    let lab = lab();
    let run = format!(
        "run {SIM} --rw randread --number-ios 2000 --sim-jitter 1ms --percentile-list 50:95:99.9:100"
    );
    let text = lab.expect(0, &format!("{run} -o r")).out;
    for percent in ["p50 ", "p95 ", "p99.9 ", "p100 "] {
        assert!(text.lines().any(|line| line.trim_start().starts_with(percent)), "{percent}: {text}");
    }
    let json = lab.expect(0, "show r --json --percentile-list 95:99.9:100").out;
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let list = json["percentiles"].as_array().expect("a list");
    assert_eq!(list[0]["percent"], "95");
    assert_eq!(list[1]["all_ns"], json["latency"]["all"]["p99_9_ns"]);
    assert_eq!(list[2]["read_ns"], json["latency"]["read"]["max_ns"]);
    assert_eq!(list[2]["write_ns"], Value::Null);
    assert!(lab.expect(0, "show r --percentile-list 95").out.contains("p95 "));
    lab.expect(2, "show r --percentile-list 101");
}

#[test]
fn a_share_of_the_target_stands_in_the_plan() {
    let lab = lab();
    lab.file("t.img", vec![7; 1 << 20]);
    let shown = lab
        .expect(
            0,
            "run --filename=t.img --rw=read --bs=4k --size=50% --io_size=50% --startdelay=2 --show-plan",
        )
        .out;
    for line in ["region = \"50%\"", "bytes = \"50%\"", "start_grace = \"2s\""] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    lab.file("plan.toml", shown.replace("2s", "0s"));
    lab.expect(0, "run plan.toml --no-progress -o r");
    assert_eq!(count(&summary(&lab, "r"), "all", "completed"), 64);
    lab.expect(0, "run --filename t.img --rw read --bs 4KB --no-progress -o all --runtime 100");
    assert_eq!(count(&summary(&lab, "all"), "all", "completed"), 256);
}

#[test]
fn what_fio_has_and_run_has_not_is_refused_with_a_reason() {
    let lab = lab();
    lab.file("job.fio", "[global]\nrw=randread\n[one]\nfilename=a.img\n");
    for (words, why) in [
        ("--thinktime_iotime=5", "pauses follow a number of requests"),
        ("--write_lat_log=x", "every request is recorded"),
        ("--ioengine=rbd", "there are io_uring"),
        ("job.fio", "iosonar run --name=one --rw=randread --filename=a.img"),
    ] {
        let told = lab.expect(2, &format!("run {words}")).err;
        assert!(told.contains(why) && !told.contains("similar"), "{told}");
    }
    let option =
        |name: &&str| !lab.expect(2, &format!("run --{name}=1 -t none")).err.contains("similar argument");
    for name in ["filename", "zonesize", "verify_async", "hugepage-size", "gtod_cpu", "percentage_random"] {
        assert!(option(&name), "{name}");
    }
}

#[test]
fn the_short_help_fits_a_screen() {
    let lab = lab();
    let help = Command::new(env!("CARGO_BIN_EXE_iosonar"))
        .args(["run", "-h"])
        .env("COLUMNS", "80")
        .output()
        .expect("help");
    let help = String::from_utf8(help.stdout).expect("text");
    assert!(help.lines().count() <= 60, "{} lines", help.lines().count());
    assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
    let whole = lab.expect(0, "run --help").out;
    for option in ["--lockstep", "--bssplit", "--hugepages"] {
        assert!(!help.contains(option) && whole.contains(option), "{option}");
    }
}

/// Logs that fio 3.33 has written: 8 reads of 4 KiB and writes of 8 KiB each.
#[test]
fn latency_logs_of_fio_are_imported() {
    let lab = lab();
    std::fs::create_dir(lab.path("fio")).expect("a directory");
    for (log, has_places) in [("plain", false), ("prio", false), ("off", true), ("offprio", true)] {
        let name = format!("{log}_clat.1.log");
        fixture(&lab, &format!("fio/{name}"));
        let ended = lab.expect(0, &format!("import fio/{name} -o {log}"));
        assert_eq!(ended.err.contains("log_offset"), !has_places, "{}", ended.err);
        let summary = summary(&lab, log);
        let text = std::fs::read_to_string(lab.path(&format!("fio/{name}"))).expect("the log");
        let rows: Vec<Vec<u64>> = text
            .lines()
            .map(|line| line.split(", ").take(5).map(|cell| cell.parse().unwrap_or_default()).collect())
            .collect();
        let of = |op: u64| rows.iter().filter(|row| row[2] == op).collect::<Vec<_>>();
        for (op, number) in [("read", 0), ("write", 1)] {
            assert_eq!(count(&summary, op, "completed"), of(number).len() as u64, "{log} {op}");
            let longest = of(number).iter().map(|row| row[1]).max().expect("rows");
            assert_eq!(summary["latency"][op]["max_ns"], longest, "{log} {op}");
        }
        let places: std::collections::BTreeSet<u64> =
            lab.records(log).iter().map(|r| r.requested.offset).collect();
        let theirs = rows.iter().map(|row| if has_places { row[4] } else { 0 }).collect();
        assert_eq!(places, theirs);
        lab.expect(0, &format!("show {log}"));
    }
    fixture(&lab, "fio/avg_clat.1.log");
    let told = lab.expect(2, "import fio/avg_clat.1.log -o avg").err;
    assert!(told.contains("averages over log_avg_msec"), "{told}");
    std::fs::copy(lab.path("fio/plain_clat.1.log"), lab.path("x_bw.1.log")).expect("a copy");
    let told = lab.expect(2, "import x_bw.1.log -o bw").err;
    assert!(told.contains("'_bw.'"), "{told}");
    assert!(["avg", "bw"].iter().all(|dir| !lab.path(dir).exists()));
}

/// fio verifies in a second run, or from a saved state: here that is a command of its own.
#[test]
fn words_for_a_later_verification_name_the_command_for_it() {
    let lab = lab();
    lab.target("v.img", 1 << 20);
    let later = ["iosonar verify RESULT", "--mode after-crash", "--journal"];
    for word in [
        "--rw=write --do_verify=0",
        "--rw=read --verify_only",
        "--rw=read --verify_state_load=1",
        "--rw=write --verify_state_save=1",
        "--rw=write --trigger-timeout=2",
        "--rw=write --trigger-file=t",
        "--rw=write --trigger=poweroff",
        "--rw=write --trigger_remote=poweroff",
    ] {
        let ended = lab.expect(2, &format!("run --filename=v.img --name=t --bs=16k {word}"));
        for needle in later {
            assert!(ended.err.contains(needle), "{word}: {needle}: {}", ended.err);
        }
    }
}
