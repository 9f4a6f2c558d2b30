//! fio's command lines after `run`: they run as typed, and issue as many requests as fio does.

use crate::*;
use std::process::Command;

/// A long runtime in the page, and its replacement.
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

/// Reads and writes that fio issued; `None` if it is not installed.
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
fn documented_fio_lines_run_and_match_fio() {
    slow!();
    let lab = lab();
    target(&lab);
    let mut compared = 0;
    for (number, line) in lines().iter().enumerate() {
        let ended = lab.expect(0, &format!("run {line} --no-progress -o {number}"));
        assert_eq!(
            ended.err.contains("changes no request and is ignored"),
            line.contains("gtod_reduce"),
            "{}",
            ended.err
        );
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

/// Options whose meaning differs here are reported, with the option that has fio's meaning.
#[test]
fn notes_explain_differences_from_fio() {
    slow!();
    let lab = lab();
    target(&lab);
    let base = "--name=a --filename=a.img --bs=64k --direct=1";
    for (words, note, as_fio) in [
        (
            "--rw=randread --size=4m --numjobs=4",
            "--io-size=16m",
            "--rw=randread --size=4m --numjobs=4 --io-size=16m",
        ),
        (
            "--rw=randread --number_ios=20 --numjobs=3",
            "--number-ios=60",
            "--rw=randread --numjobs=3 --number-ios=60",
        ),
        (
            "--rw=read --size=4m --io_size=2m --numjobs=2",
            "--io-size=4m",
            "--rw=read --size=4m --numjobs=2 --io-size=4m",
        ),
    ] {
        let told = lab.expect(0, &format!("run {base} {words} --show-plan"));
        assert!(told.err.contains(note) && told.err.contains("in fio"), "{words}: {}", told.err);
        let _ = std::fs::remove_dir_all(lab.path("r"));
        lab.expect(0, &format!("run {base} {as_fio} --no-progress -o r"));
        let ours = count(&summary(&lab, "r"), "read", "completed");
        if let Some([theirs, _]) = of_fio(&lab, &format!("{base} {words}")) {
            assert_eq!(ours, theirs, "{words}");
        }
    }
    let rates = "--rw=randrw --rwmixread=70 --rate_iops=40 --runtime=1 --time_based";
    let ended = lab.expect(0, &format!("run {base} {rates} --no-progress -o rates"));
    assert!(
        ended.err.contains("for reads and for writes, each, 80 in all: --rate-iops=80 --rwmixread=50"),
        "{}",
        ended.err
    );
    if let Some([reads, writes]) = of_fio(&lab, &format!("{base} {rates}")) {
        assert!(reads.abs_diff(40) <= 6 && writes.abs_diff(40) <= 6, "{reads} {writes}");
    }
    for (words, note) in [
        ("--numjobs=4 --rate_iops=100 --rw=randread --time_based --runtime=1 --direct=1", "400 in all"),
        ("--rw=randread", "without --direct=1 fio goes through the page cache"),
        ("--rw=randread --direct=1 --iodepth=8", "without --ioengine fio uses psync"),
        ("--rw=randread --direct=0 --ioengine=libaio", "iosonar cache evict"),
    ] {
        let told = lab.expect(0, &format!("run --filename=a.img {words} --show-plan"));
        assert!(told.err.contains(note), "{words}: {}", told.err);
        assert_eq!(told.err.matches("iosonar:").count(), 1, "{}", told.err);
    }
    let native = lab.expect(0, "run -t a.img --rw randread --iodepth 8 --runtime 1 --show-plan");
    assert_eq!(native.err, "");
}

#[test]
fn accepts_fio_options_without_effect_on_requests() {
    let lab = lab();
    lab.target("f", 1 << 20);
    let line = "run --filename=f --name=t --rw=randread --bs=4k --iodepth=64 --direct=1 --ioengine=libaio --show-plan";
    let without_id = |plan: &str| {
        plan.lines().filter(|line| !line.starts_with("run_id")).map(String::from).collect::<Vec<_>>()
    };
    let wanted = without_id(&lab.expect(0, line).out);
    for (word, note) in [
        ("--gtod_reduce=1", "every request has its times"),
        ("--clocksource=clock_gettime", "every request has its times"),
        ("--disable_lat=1", "every request has its times"),
        ("--disable_bw_measurement", "every request has its times"),
        ("--write_lat_log=x", "iosonar convert RESULT --to csv"),
        ("--write_bw_log", "iosonar convert RESULT --to csv"),
        ("--write_iolog=x", "iosonar convert RESULT x.iolog"),
        ("--per_job_logs=1", "iosonar convert RESULT --to csv"),
        ("--log_avg_msec=500", "iosonar convert RESULT --to csv"),
        ("--minimal", "iosonar show RESULT --json"),
        ("--output=o.txt", "iosonar show RESULT --all > FILE"),
        ("--output o.txt", "iosonar show RESULT --all > FILE"),
        ("--new_group", "a run has one job"),
        ("--stonewall", "a run has one job"),
        ("--iodepth_batch=8", "--iodepth are in flight"),
        ("--iodepth_batch_submit=64", "--iodepth are in flight"),
        ("--iodepth_batch_complete_max=64", "--iodepth are in flight"),
        ("--significant_figures=4", "percentiles are right"),
        ("--per_job_logs=0", ""),
        ("--gtod_reduce=0", ""),
        ("--readonly", ""),
        ("--mem=malloc", ""),
        ("--pre_read=0", ""),
        ("--fsync_on_close=0", ""),
    ] {
        let told = lab.expect(0, &format!("{line} {word}"));
        assert_eq!(without_id(&told.out), wanted, "{word}");
        assert!(told.err.contains(note) && told.err.is_empty() == note.is_empty(), "{word}: {}", told.err);
    }
    assert!(!lab.path("o.txt").exists());
    // The commands in the notes work.
    lab.expect(0, "run -t f --rw read --bs 64k --no-progress -o r");
    lab.expect(0, "export r --to csv");
    lab.expect(0, "convert r x.iolog");
    lab.expect(0, "show r --json");
}

#[test]
fn readonly_is_honoured() {
    let lab = lab();
    lab.target("f", 1 << 20);
    let before = std::fs::read(lab.path("f")).unwrap();
    for words in
        ["--rw=randwrite", "--rw=write", "--rw=randrw", "--rw=randtrim", "--rw=randwrite --show-plan"]
    {
        let refused =
            lab.expect(2, &format!("run --filename=f {words} --bs=4k --direct=1 --readonly --number_ios=5"));
        assert!(refused.err.contains("--readonly: target f would be changed"), "{words}: {}", refused.err);
    }
    lab.expect(2, "run -t new --rw read --steps sequential --create --io-size 64k --bs 4k --readonly");
    let plan = lab.expect(0, "run -t f --rw randwrite --number-ios 5 --show-plan").out;
    lab.file("plan.toml", plan);
    assert!(lab.expect(2, "run plan.toml --readonly").err.contains("--readonly: target f"));
    lab.file("w.load", "0.0 ; 8 ; 8 ; W ; 0.0 ; 0.0\n");
    let plan = lab.expect(0, "replay w.load -t f --show-plan").out;
    lab.file("replay.toml", plan);
    assert!(lab.expect(2, "run replay.toml --readonly").err.contains("--readonly: target f"));
    assert!(!lab.path("new").exists() && before == std::fs::read(lab.path("f")).unwrap());
    lab.expect(0, "run -t f --rw randread --readonly --number-ios 5 --no-progress -o r");
}

/// Each command printed for a job is accepted, and options without an equivalent are named.
#[test]
fn commands_for_a_job_file_are_accepted() {
    let lab = lab();
    std::fs::create_dir(lab.path("fio")).expect("a directory");
    fixture(&lab, "fio/two-jobs.fio");
    lab.file(
        "odd.fio",
        "[global]\nioengine=libaio\niodepth=16\ntime_based\nruntime=10\nlog_avg_msec=500\n[seq read]\nsize=25%%\ndirectory=/data\n\
         [rand]\nstonewall\nbs=8k\nrw=randrw:4\nfilename=/dev/sdx\nrate_min=4k\n[sync]\nstonewall\nioengine=psync\nnew_word=1\n",
    );
    for (file, runs, left) in [
        ("fio/two-jobs.fio", 2, &[][..]),
        ("odd.fio", 3, &["rw=randrw:4", "rate_min=4k", "new_word=1", "iodepth=16"]),
    ] {
        let told = lab.expect(2, &format!("run {file}")).err;
        let lines: Vec<&str> =
            told.lines().filter_map(|line| line.split_once("iosonar run ").map(|(_, line)| line)).collect();
        assert_eq!(lines.len(), runs, "{told}");
        for line in lines {
            assert!(line.contains("--filename=") && line.matches("--name=").count() == 1, "{line}");
            let shell = format!("exec \"$0\" run {line} --show-plan");
            let ended = Command::new("sh")
                .args(["-c", &shell, env!("CARGO_BIN_EXE_iosonar")])
                .output()
                .expect("a shell");
            assert!(ended.status.success(), "{line}: {}", String::from_utf8_lossy(&ended.stderr));
        }
        let named: String = told.lines().filter(|line| line.contains("omitted: ")).collect();
        assert!(left.iter().all(|word| named.contains(word)), "{told}");
        assert_eq!(named.is_empty(), left.is_empty(), "{told}");
    }
}

#[test]
fn prints_requested_percentiles() {
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
fn plan_keeps_sizes_in_percent() {
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
fn rejects_unsupported_fio_options_with_reason() {
    let lab = lab();
    lab.file("job.fio", "[global]\nrw=randread\n[one]\nfilename=a.img\n");
    for (words, why) in [
        ("--thinktime_iotime=5", "pauses follow a number of requests"),
        ("--output-format=json", "--json prints the summary as JSON of its own form"),
        ("--ioengine=rbd", "there are io_uring"),
        ("job.fio", "iosonar run --name=one --rw=randread --filename=a.img --ioengine=psync --direct=0"),
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

/// fio verifies in a second run, or from a saved state: here a separate command does.
#[test]
fn fio_verification_options_name_the_verify_command() {
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
