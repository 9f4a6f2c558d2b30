//! Figures and pictures of loads, results and runs; input of other kinds is refused.

use crate::*;
use iosonar_testkit::Ended;

/// A result in blkreplay's columns: time, sector, length, operation, delay, latency.
fn timed(rows: &[(&str, u64, u64, &str, &str, &str)]) -> String {
    rows.iter().map(|(t, s, l, op, d, lat)| format!("{t} ; {s} ; {l} ; {op} ; {d} ; {lat}\n")).collect()
}

/// Runs `iosonar analyze ARGS --json` and parses the output.
#[track_caller]
fn analysis(lab: &Lab, args: &str) -> Value {
    let out = lab.expect(0, &format!("analyze {args} --json")).out;
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
}

/// Expects this exit code, and an error that contains `why`.
#[track_caller]
fn failing(lab: &Lab, code: i32, args: &str, why: &str) -> Ended {
    let ended = lab.expect(code, args);
    assert!(ended.err.contains(why) && !ended.err.contains("panicked"), "{args}: {}", ended.err);
    ended
}

/// A number somewhere in JSON.
#[track_caller]
fn number(value: &Value, pointer: &str) -> f64 {
    value.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {pointer} in {value:#}"))
}

/// Lines 3, 45, 49 and 51, through the program.
#[test]
fn a_recorded_load_has_the_expected_figures() {
    let lab = lab();
    let load = recorded(&lab, "database");
    // Computed by an independent program: analyze/tests/demand/fixtures/figures.py.
    let fixture = include_str!("../../../analyze/tests/demand/fixtures/database.static.json");
    let expected: Value = serde_json::from_str(fixture).unwrap();
    let a = analysis(&lab, &format!("{load} --device-size 1GiB,4GiB"));
    let demand = &a["demand"];
    for (ours, theirs) in [
        ("/counts/all/requests", "/basic/requests"),
        ("/counts/read/requests", "/basic/reads"),
        ("/frequency/all/distinct_pages", "/freq_4k_def/all/distinct_pages"),
        ("/turns/total/all/turns", "/turns_def/total/turns"),
        ("/throughput/iops/all/max", "/throughput_def/3/iops/max"),
        ("/wraparound/0/remapped", "/wraparound/1GiB/requests_remapped"),
        ("/wraparound/1/remapped", "/wraparound/4GiB/requests_remapped"),
    ] {
        assert!((number(demand, ours) - number(&expected, theirs)).abs() < 1e-5, "{ours}");
    }
    assert!(a["summary"].is_null(), "nothing is known about what happened");
    let text = lab.expect(0, &format!("analyze {load}")).out;
    assert!(text.contains("22 088") && text.contains("37 670"), "{text}");
    assert!(text.lines().all(|line| line.len() <= 79 && line.is_ascii()), "{text}");
    let csv = lab.expect(0, &format!("analyze {load} --csv")).out;
    assert!(csv.contains("\ndemand.turns.total.all.turns,5834\n"), "{csv}");
}

/// Line 47.
#[test]
fn window_060_means_sixty_seconds() {
    let lab = lab();
    lab.file("a.load", rows(&[("0", 8, 8, 'R'), ("50", 800, 8, 'W'), ("119", 8, 8, 'R')]));
    let a = analysis(&lab, "a.load --windows 060");
    assert_eq!(number(&a, "/demand/working_sets/0/window_s"), 60.0);
    assert_eq!(number(&a, "/demand/working_sets/0/consecutive/start/count"), 2.0);
    assert_eq!(number(&a, "/demand/working_sets/0/consecutive/start/max"), 2.0);
}

#[test]
fn windows_limits_and_devices_are_selectable() {
    let lab = lab();
    let latencies =
        [("0", 8, 8, "R", "0.1", "0.5"), ("1", 8, 8, "R", "0.2", "0.7"), ("2", 16, 8, "W", "0", "0.1")];
    lab.file("a.replay", timed(&latencies));
    let a = analysis(&lab, "a.replay --bad-latency 400ms --throughput-window 1s --turn-window 2s");
    assert_eq!(a["summary"]["limits"]["latency"]["result"], "failed");
    assert_eq!(number(&a, "/demand/throughput/window_ns"), 1e9);
    assert_eq!(number(&a, "/demand/turns/window_ns"), 2e9);
    assert_eq!(number(&a, "/summary/latency/all/max_ns"), 7e8);
    assert_eq!(number(&a, "/summary/delay/all/max_ns"), 2e8);
    let borne = analysis(&lab, "a.replay --bad-latency 400ms --bad-ignore 3");
    assert_eq!(borne["summary"]["limits"]["latency"]["result"], "passed");
    assert_eq!(number(&borne, "/summary/limits/latency/above"), 2.0);
    failing(&lab, 2, "analyze a.replay --windows 1.5s", "whole seconds");
    failing(&lab, 2, "analyze a.replay --turn-window 0", "--turn-window");
    failing(&lab, 2, "analyze nowhere.load", "nowhere.load");
}

#[test]
fn merges_inputs_or_analyzes_each() {
    let lab = lab();
    lab.file("a.load", rows(&[("0", 0, 8, 'R'), ("2", 80, 8, 'W')]));
    lab.file("b.load", rows(&[("1", 0, 8, 'R'), ("9", 80, 8, 'R')]));
    let merged = analysis(&lab, "a.load b.load");
    assert_eq!(number(&merged, "/demand/counts/all/requests"), 4.0);
    assert_eq!(number(&merged, "/demand/devices"), 2.0);
    assert_eq!(number(&merged, "/demand/frequency/all/distinct_pages"), 4.0);
    // As one device the second request seeks backward: 0, 0, 80, 80.
    let one = analysis(&lab, "a.load b.load --one-device");
    assert_eq!(number(&one, "/demand/frequency/all/distinct_pages"), 2.0);
    let each = analysis(&lab, "a.load b.load --each");
    assert_eq!(number(&each, "/1/demand/span/last_ns"), 9e9);
    assert_eq!(each[0]["inputs"][0], "a.load");
}

#[test]
fn run_export_and_load_agree() {
    let lab = lab();
    fixture(&lab, "conflict400.load.gz");
    lab.expect(0, &format!("replay conflict400.load.gz {SIM} --sim-jitter 3ms -o run"));
    lab.expect(0, "export run --to replay -o run.replay");
    let (run, replay) = (analysis(&lab, "run"), analysis(&lab, "run.replay"));
    assert_eq!(run["summary"]["counts"]["all"]["completed"], 400);
    assert_eq!(run["summary"]["latency"], replay["summary"]["latency"]);
    // All are due at once, and the form has them in the order of completion: turns differ, places do not.
    for part in ["counts", "sizes", "positions", "working_sets", "span"] {
        assert_eq!(run["demand"][part], replay["demand"][part], "{part}");
    }
    assert_eq!(run["demand"]["counts"], analysis(&lab, "conflict400.load.gz")["demand"]["counts"]);
    // Line 41: a result that is no storage result says so here, too.
    assert!(!replay["summary"]["stamps"].as_array().unwrap().is_empty());
}

/// Every picture that has something to show, as file names without the extension.
fn pictures(lab: &Lab, args: &str) -> Vec<String> {
    let out = lab.expect(0, &format!("plot {args} --svg --force -o pictures")).out;
    out.lines()
        .map(|line| line.trim_start_matches("pictures/").trim_end_matches(".svg").to_string())
        .collect()
}

/// Line 60.
#[test]
fn draws_every_diagram_or_states_why_not() {
    let lab = lab();
    fixture(&lab, "conflict400.load.gz");
    lab.expect(0, &format!("replay conflict400.load.gz {SIM} --sim-jitter 3ms -o run"));
    let of_load = pictures(&lab, "conflict400.load.gz");
    for stem in [
        "sheet",
        "g000.overview.thrp",
        "g30.ws_log",
        "g31.ws_lin",
        "g40.rqsize.bins",
        "g42.turns.setpoint",
        "g44.freq.bins",
    ] {
        assert!(of_load.iter().any(|p| p == stem), "{stem} of {of_load:?}");
    }
    assert!(!of_load.iter().any(|p| p.starts_with("g01")), "{of_load:?}");
    let of_run = pictures(&lab, "run");
    let dynamic = [
        "g00.thrp.completed",
        "g00.response",
        "g01.latency.realtime",
        "g02.latency.setpoint",
        "g03.latency.completed",
        "g03.latency.points",
        "g04.delay.setpoint",
        "g05.delay.points",
        "g06.latency.bins",
        "g07.delay.bins",
        "g08.latency.flying",
        "g09.delay.flying",
        "g10.latency.xy",
        "g11.delay.xy",
        "g12.latency.delay.xy",
        "g43.turns.completed",
    ];
    for stem in dynamic.iter().map(|s| s.to_string()).chain(of_load) {
        assert!(of_run.contains(&stem), "{stem} of {of_run:?}");
    }
    let skipped = lab.expect(0, "plot conflict400.load.gz --svg -o again").err;
    assert!(
        skipped.contains("a load has no times of a run") && skipped.contains("g01.latency.realtime"),
        "{skipped}"
    );
    lab.expect(0, "plot run --data --svg -o tables");
    assert!(lab.path("tables/g08.smooth.latency.flying.csv").exists());
    failing(&lab, 2, "plot run --only nonsense", "there are sheet");
}

#[test]
fn pictures_are_reproducible_and_small() {
    slow!();
    let lab = lab();
    fixture(&lab, "conflict400.load.gz");
    lab.expect(0, &format!("replay conflict400.load.gz {SIM} --sim-jitter 3ms -o run"));
    lab.expect(0, "plot run -o one");
    lab.expect(0, "plot run -o two");
    let mut files = 0;
    for entry in std::fs::read_dir(lab.path("one")).unwrap() {
        let name = entry.unwrap().file_name();
        let read = |dir: &str| std::fs::read(lab.path(dir).join(&name)).unwrap();
        assert!(read("one") == read("two"), "{name:?}");
        files += 1;
    }
    assert!(files > 40, "{files}");
    for args in ["plot run --text", "report run --text", "plot conflict400.load.gz --text"] {
        let text = lab.expect(0, args).out;
        assert!(
            text.is_ascii() && text.len() < 6_000 && text.lines().all(|l| l.len() <= 72),
            "{args}: {text}"
        );
    }
    assert_eq!(lab.expect(0, "plot run --text").out, lab.expect(0, "report run --text").out);
    for (picture, stem) in [
        ("response", "g00.response"),
        ("sonar", "g01.latency.realtime"),
        ("inflight", "g08.latency.flying"),
        ("percentiles", "g20.response.percentiles"),
        ("ws_log", "g30.ws_log"),
        ("delay", "g04.delay.setpoint"),
    ] {
        // One picture alone is computed from less, and is the same.
        let alone = format!("alone-{picture}");
        lab.expect(0, &format!("plot run --png --only {picture} -o {alone}"));
        let read = |dir: &str| std::fs::read(lab.path(dir).join(format!("{stem}.png"))).unwrap();
        assert!(read(&alone) == read("one"), "{picture}");
    }
    let width = |dir: &str| std::fs::read(lab.path(dir).join("g30.ws_log.png")).unwrap()[16..20].to_vec();
    lab.expect(0, "plot run --png --scale 2 --only ws_log -o large");
    assert_eq!((width("one"), width("large")), (vec![0, 0, 6, 64], vec![0, 0, 12, 128]));
    failing(&lab, 2, "plot run --scale 3", "1 or 2");
    lab.expect(0, "plot run --range 10ms..20ms --theme gray --only sonar --png -o part");
    lab.expect(0, "plot --compare run run --svg -o both");
    failing(&lab, 2, "plot --compare run", "two inputs");
    failing(&lab, 2, "plot run --range 2s..1s", "--range");
}

#[test]
fn tiny_inputs_yield_pictures_figures_or_messages() {
    let lab = lab();
    lab.file("empty.load", "");
    lab.file("one.load", rows(&[("5", 8, 8, 'R')]));
    lab.file("instant.load", rows(&[("1", 0, 8, 'R'), ("1", 8, 8, 'W'), ("1", 16, 8, 'R')]));
    lab.file("short.load", rows(&[("0", 0, 8, 'R'), ("0.5", 8, 8, 'W')]));
    let ended = failing(&lab, 1, "analyze empty.load", "no request");
    assert!(!ended.err.contains("panicked"), "{}", ended.err);
    lab.expect(1, "plot empty.load -o empty");
    for name in ["one", "instant", "short"] {
        let a = analysis(&lab, &format!("{name}.load"));
        assert!(number(&a, "/demand/counts/all/requests") > 0.0);
        lab.expect(0, &format!("plot {name}.load -o {name}"));
        assert!(lab.path(name).join("g30.ws_log.png").exists());
        lab.expect(0, &format!("plot {name}.load --text"));
    }
    // Runs below three seconds still have throughput.
    assert_eq!(number(&analysis(&lab, "short.load"), "/demand/throughput/iops/all/max"), 2.0 / 3.0);
}

#[test]
fn extreme_times_are_shown_unchanged() {
    let lab = lab();
    let rows = [
        ("0", 0, 8, "R", "0", "0"),
        ("1", 8, 8, "W", "0", "4000000000.5"),
        ("2", 16, 8, "R", "3000000.25", "0.000000001"),
    ];
    lab.file("strange.replay", timed(&rows));
    let a = analysis(&lab, "strange.replay");
    assert_eq!(number(&a, "/summary/latency/all/min_ns"), 0.0);
    assert_eq!(number(&a, "/summary/latency/all/max_ns"), 4_000_000_000.5e9);
    assert_eq!(number(&a, "/summary/delay/all/max_ns"), 3_000_000.25e9);
    lab.expect(0, "plot strange.replay -o strange");
    lab.expect(0, "plot strange.replay --text");
}

#[test]
fn reports_each_unreadable_line() {
    let lab = lab();
    lab.file(
        "mixed.load",
        timed(&[
            ("3", 0, 8, "R", "0.0", "0.0"),
            ("1", 8, 8, "W", "0.0", "0.0"),
            ("4", 8, 8, "X", "0.0", "0.0"),
            ("5", 8, 8, "D", "0.0", "0.0"),
            ("6", 8, 0, "R", "0.0", "0.0"),
        ]),
    );
    let ended = lab.expect(0, "analyze mixed.load --json");
    for (line, why) in [(3, "'X'"), (4, "discard"), (5, "length is 0")] {
        let told = ended.err.lines().any(|l| l.contains(&format!("line {line}")) && l.contains(why));
        assert!(told, "line {line}: {}", ended.err);
    }
    assert!(ended.err.contains("backward at 1 "), "{}", ended.err);
    let a: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(number(&a, "/demand/counts/all/requests"), 2.0);
    lab.expect(3, "analyze mixed.load --strict");
    // A negative delay is ignored: the request counts as on time.
    lab.file("negative.replay", timed(&[("0", 0, 8, "R", "-0.5", "0.25"), ("1", 8, 8, "R", "0.5", "0.25")]));
    let a = analysis(&lab, "negative.replay");
    assert_eq!(number(&a, "/summary/delay/all/min_ns"), 0.0);
}

#[test]
fn rejects_truncated_or_newer_archives() {
    let lab = lab();
    fixture(&lab, "conflict400.load.gz");
    lab.expect(0, &format!("replay conflict400.load.gz {SIM} -o run"));
    let (file, run) = (lab.path("run/records.parquet"), lab.path("run/run.json"));
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    for args in ["analyze run", "plot run -o p", "compare run run"] {
        let ended = failing(&lab, 2, args, "records.parquet");
        assert!(!ended.err.contains("panicked"), "{}", ended.err);
    }
    std::fs::write(&file, &whole).unwrap();
    let text = std::fs::read_to_string(&run).unwrap();
    std::fs::write(&run, text.replace("\"archive_version\": 2", "\"archive_version\": 99")).unwrap();
    for args in ["analyze run", "plot run -o p", "compare run run"] {
        failing(&lab, 2, args, "version 99");
    }
}

/// The sum of a column of a table that `plot --data` wrote.
#[track_caller]
fn column_sum(lab: &Lab, table: &str, column: &str) -> u64 {
    let text = std::fs::read_to_string(lab.path(table)).expect("a table");
    let mut lines = text.lines();
    let place = lines.next().expect("a head").split(',').position(|name| name == column).expect(column);
    let value = |line: &str| line.split(',').nth(place).and_then(|cell| cell.parse::<u64>().ok());
    lines.map(|line| value(line).unwrap_or_else(|| panic!("{table}: {line}"))).sum()
}

#[test]
fn error_names_its_first_request() {
    let lab = lab();
    lab.expect(1, "run --engine sim -t dev --size 1g --rw randread --rate-iops 1000 --number-ios 2000 --no-progress --sim-errors 300 --seed 5 -o run");
    let failed = sorted(&lab, "run").into_iter().filter(|r| r.result == -5);
    let first = failed.min_by_key(|r| (r.due, r.sequence)).expect("one failed");
    assert!(first.sequence > 0, "the case shows nothing");
    let shown: Value = serde_json::from_str(&lab.expect(0, "show run --json").out).unwrap();
    for s in [shown, summary(&lab, "run"), analysis(&lab, "run")["summary"].clone()] {
        assert_eq!(number(&s, "/errors/0/first_sequence"), first.sequence as f64);
        assert_eq!(number(&s, "/errors/0/first_due_ns"), first.due.0 as f64);
    }
}

#[test]
fn counts_turns_per_device_on_request() {
    let lab = lab();
    let run = |out: &str| {
        format!(
            "run --engine sim -t one -t other --size 1g --rw randread --rate-iops 1000 --number-ios 400 --no-progress \
             --sim-jitter 3ms --seed 3 --run-id 3 -o {out}"
        )
    };
    lab.expect(0, &run("run"));
    let mut records = lab.records("run");
    records.sort_by_key(|r| r.completed);
    let turns =
        |records: &[Record]| records.windows(2).filter(|w| sector(&w[1]) < sector(&w[0])).count() as u64;
    let apart = (0..2).map(|target| {
        let of: Vec<Record> = records.iter().filter(|r| r.target == target).copied().collect();
        turns(&of)
    });
    let apart: u64 = apart.sum();
    for (option, want) in [("", apart), ("--one-device", turns(&records))] {
        lab.expect(0, &format!("plot run {option} --only turns.completed --svg --data -o turns{option}"));
        assert_eq!(
            column_sum(&lab, &format!("turns{option}/g43.turns.completed.csv"), "turns"),
            want,
            "{option}"
        );
    }
    assert_ne!(apart, turns(&records), "the case shows nothing");
    // Loads that carry latencies are read a second time.
    lab.file("a.load", timed(&[("0", 100, 8, "R", "0", "0.1"), ("2", 300, 8, "R", "0", "0.1")]));
    lab.file("b.load", timed(&[("1", 50, 8, "R", "0", "0.1"), ("3", 200, 8, "R", "0", "0.1")]));
    lab.expect(0, "plot a.load b.load --one-device --only turns.completed --svg --data -o loads");
    assert_eq!(column_sum(&lab, "loads/g43.turns.completed.csv", "turns"), 2);
}

#[test]
fn pictures_of_runs_follow_the_throughput_window() {
    let lab = lab();
    lab.expect(0, "run --engine sim -t dev --size 1g --rw randread --rate-iops 1000 --number-ios 3000 --no-progress -o run");
    let plot = |args: &str, out: &str| {
        lab.expect(
            0,
            &format!("plot run {args} --only thrp,thrp.setpoint,thrp.completed --svg --data -o {out}"),
        )
    };
    plot("--throughput-window 700ms", "wide");
    plot("", "fine");
    for (stem, requests) in
        [("g000.overview.thrp", 6_000), ("g00.thrp.setpoint", 3_000), ("g00.thrp.completed", 3_000)]
    {
        let table = std::fs::read_to_string(lab.path(&format!("wide/{stem}.csv"))).unwrap();
        for line in table.lines().skip(1) {
            let time = |at: usize| line.split(',').nth(at).unwrap().parse::<u64>().unwrap();
            assert_eq!((time(0) % (700 * MS), time(1) - time(0)), (0, 700 * MS), "{stem}: {line}");
        }
        for out in ["wide", "fine"] {
            assert_eq!(column_sum(&lab, &format!("{out}/{stem}.csv"), "requests"), requests, "{out} {stem}");
        }
        let svg = std::fs::read_to_string(lab.path(&format!("wide/{stem}.svg"))).unwrap();
        assert!(svg.contains("one step is 700 ms"), "{stem}");
    }
    // A part of the time is widened to whole windows.
    lab.expect(0, "plot run --throughput-window 700ms --range 1s..2s --only thrp --svg -o part");
}

#[test]
fn health_pictures_match_summary_counts() {
    let lab = lab();
    lab.expect(1, "run --engine sim -t dev --size 1g --rw randrw --rate-iops 1000 --number-ios 2000 --no-progress --sim-errors 9 -o run");
    lab.expect(0, "plot run --only submit_lag,answer_lag --svg --data -o lags");
    let s = summary(&lab, "run");
    assert!(count(&s, "all", "failed") > 100);
    for (stem, pointer) in
        [("g53.submit_lag", "/health/issue_error/count"), ("g54.answer_lag", "/health/reap_lag/count")]
    {
        let counted = column_sum(&lab, &format!("lags/{stem}.csv"), "requests");
        assert_eq!(counted as f64, number(&s, pointer), "{stem}");
    }
}

/// Each target and each job has a row, and no line has a mean of all beside a maximum of one.
#[test]
fn each_target_and_each_job_has_a_row() {
    let lab = lab();
    let words = "--size 1g --rw randread --bs 4k --number-ios 500 --sim-jitter 3ms --no-progress";
    lab.expect(0, &format!("run --engine sim -t one -t other --iodepth 4 {words} -o targets"));
    lab.expect(0, &format!("run --engine sim -t one --numjobs 3 --iodepth 2 {words} -o jobs"));
    lab.expect(0, &format!("run --engine sim -t one --iodepth 4 {words} -o single"));
    let lines = |name: &str| -> Vec<String> {
        lab.expect(0, &format!("show --all {name}")).out.lines().map(String::from).collect()
    };
    let rows = |name: &str, of: &str| lines(name).iter().filter(|line| line.starts_with(of)).count();
    assert_eq!(
        (rows("targets", "Each target"), rows("targets", "  target 0") + rows("targets", "  target 1")),
        (1, 2)
    );
    assert_eq!(rows("targets", "Each job"), 0, "each target has one job");
    assert_eq!((rows("jobs", "Each job"), rows("jobs", "  job "), rows("jobs", "Each target")), (1, 3, 0));
    assert_eq!((rows("single", "Each"), rows("single", "  in flight")), (0, 1));
    let is_mean = |line: &&String| line.starts_with("  in flight ") || line.starts_with("  waiting ");
    for line in lines("targets").iter().filter(is_mean) {
        assert!(!line.contains("max queue depth") && !line.contains("max for a conflict"), "{line}");
    }
    assert!(lines("targets").iter().all(|line| line.len() <= 79));
    // The row is that of its target alone.
    let (s, records) = (summary(&lab, "targets"), lab.records("targets"));
    for target in 0..2u16 {
        let of: Vec<Record> = records.iter().filter(|r| r.target == target).copied().collect();
        let first = of.iter().map(|r| r.due.0).min().unwrap();
        let end = of.iter().filter_map(|r| r.completed).max().unwrap().0;
        let sum: u64 = of.iter().filter_map(|r| r.latency()).map(|latency| latency.0).sum();
        let mean = number(&s, &format!("/parts/targets/{target}/in_flight_mean"));
        assert!((mean - sum as f64 / (end - first) as f64).abs() < 1e-9, "{mean}");
        let text = lines("targets")
            .into_iter()
            .find(|line| line.starts_with(&format!("  target {target}")))
            .unwrap();
        assert!(text.contains("500") && text.trim_end().ends_with(" 4"), "{text}");
    }
}

/// Merged runs are reported as merged, each with its date.
#[test]
fn merged_runs_show_their_start_dates() {
    let lab = lab();
    let words = "run --engine sim -t dev --size 1g --rw randread --number-ios 50 --no-progress";
    lab.expect(0, &format!("{words} -o a"));
    lab.expect(0, &format!("{words} -o b"));
    let earlier = lab.path("a/run.json");
    let mut info: Value = serde_json::from_str(&std::fs::read_to_string(&earlier).unwrap()).unwrap();
    info["started_unix_ns"] = 1_000_000_000_000_000_000_u64.into();
    std::fs::write(&earlier, info.to_string()).unwrap();
    lab.file("c.load", rows(&[("0", 0, 8, 'R')]));
    let text = lab.expect(0, "analyze a b c.load").out;
    assert!(text.starts_with("Merged: 3 inputs on one time axis"), "{text}");
    assert!(text.contains("  a\n    started 2001-09-09 01:46:40 UTC\n"), "{text}");
    assert!(
        text.contains(" s after the first\n") && text.contains("  c.load\n    start unknown\n"),
        "{text}"
    );
    let merged = analysis(&lab, "a b");
    assert_eq!(merged["merged"][0]["name"], "a");
    assert_eq!(merged["merged"][0]["started_unix_ns"], 1_000_000_000_000_000_000_u64);
    assert_eq!(analysis(&lab, "a")["merged"], serde_json::json!([]));
    assert!(!lab.expect(0, "analyze a").out.contains("Merged"));
    assert!(!lab.expect(0, "analyze a b --each").out.contains("Merged"));
}
