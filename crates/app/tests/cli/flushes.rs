//! Flushes of recorded loads, and FUA and preflush of their writes: from the load's lines to the report of a run.

use crate::*;
use iosonar_archive::{Marks, Outcome};
use iosonar_plan::Op;

/// Two commits, as of a journal, and a separate flush.
const LINES: &str = "\
    start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0\n\
    0.000000000 ; 16 ; 8 ; W ; 0.0 ; 0.0\n\
    # flush ; 0.001000000 ; 0.0 ; 0.0\n\
    # a comment ; 0.001 ; 0.0 ; 0.0\n\
    0.002000000 ; 32 ; 8 ; WPF ; 0.0 ; 0.0\n\
    0.003000000 ; 48 ; 8 ; R ; 0.0 ; 0.0\n\
    0.004000000 ; 32 ; 8 ; WF ; 0.0 ; 0.0\n\
    # flush ; 0.005000000 ; 0.0 ; 0.0\n";

fn commits(lab: &Lab) {
    lab.file("a.load", LINES);
}

#[test]
fn flushes_are_issued_in_place_and_reported_separately() {
    let lab = lab();
    commits(&lab);
    lab.expect(0, &format!("replay a.load {SIM} -o r"));
    let records = sorted(&lab, "r");
    let got: Vec<_> = records.iter().map(|r| (r.op, r.due.0 / MS, r.executed.length)).collect();
    use Op::{Flush, Read, Write};
    let want =
        [(Write, 0, 4096), (Flush, 1, 0), (Write, 2, 4096), (Read, 3, 4096), (Write, 4, 4096), (Flush, 5, 0)];
    assert_eq!(got, want);
    assert!(records.iter().all(|r| r.outcome == Outcome::Completed && r.completed.is_some()));
    let both = Marks::FUA.with(Marks::PREFLUSH, true);
    let marks: Vec<u16> = records.iter().map(|r| r.marks.0 & both.0).collect();
    assert_eq!(marks, [0, 0, both.0, 0, Marks::FUA.0, 0]);
    let s = summary(&lab, "r");
    assert_eq!(["all", "write", "other"].map(|scope| count(&s, scope, "completed")), [4, 3, 2]);
    assert_eq!((count(&s, "write", "fua"), count(&s, "write", "preflush")), (2, 1));
    assert_eq!((&s["others"][0]["op"], &s["others"][0]["latency"]["count"]), (&"flush".into(), &2.into()));
    assert_eq!(s["latency"]["all"]["count"], 4);
    let text = lab.expect(0, "show --all r").out;
    assert!(
        text.contains("with FUA") && text.contains("Without data") && text.contains("  flush  "),
        "{text}"
    );
    let csv = lab.expect(0, "export r --to csv").out;
    assert_eq!(csv.lines().filter(|line| line.contains(",flush,completed,")).count(), 2, "{csv}");
}

#[test]
fn dropped_flushes_are_a_caution() {
    let lab = lab();
    commits(&lab);
    lab.expect(0, &format!("replay a.load {SIM} -o whole"));
    let ended = lab.expect(0, &format!("replay a.load {SIM} --flush drop -o easier"));
    assert!(ended.out.contains("4 flushes, and writes with FUA or a preflush"), "{}", ended.out);
    let records = sorted(&lab, "easier");
    assert!(records.len() == 4 && records.iter().all(|r| r.op != Op::Flush && !r.marks.has(Marks::FUA)));
    let [whole, easier] = ["whole", "easier"].map(|name| summary(&lab, name));
    let ids =
        |s: &Value| s["cautions"].as_array().unwrap().iter().map(|c| c["id"].to_string()).collect::<Vec<_>>();
    assert!(ids(&easier).contains(&"\"flushes-dropped\"".into()), "{easier}");
    assert!(!ids(&whole).contains(&"\"flushes-dropped\"".into()));
    assert_ne!(whole["targets"][0]["issued_hash"], easier["targets"][0]["issued_hash"]);
    // A load without flushes is no easier with `--flush drop`.
    lab.file("plain.load", rows(&[("0", 8, 8, 'W')]));
    lab.expect(0, &format!("replay plain.load {SIM} --flush drop -o plain"));
    assert!(!ids(&summary(&lab, "plain")).contains(&"\"flushes-dropped\"".into()));
    // The remaining requests keep their times, even if a flush came first.
    lab.file("begins.load", format!("# flush ; 0.5\n{}", rows(&[("0.75", 8, 8, 'W')])));
    for policy in ["issue", "drop"] {
        lab.expect(0, &format!("replay begins.load {SIM} --flush {policy} -o begins-{policy}"));
        let records = sorted(&lab, &format!("begins-{policy}"));
        assert_eq!(records.last().unwrap().due.0 / MS, 250, "{policy}");
    }
    lab.file("only.load", "# flush ; 0.5\n");
    assert!(
        lab.expect(2, &format!("replay only.load {SIM} --flush drop")).err.contains("remove --flush drop")
    );
    let plan = lab.expect(0, &format!("replay a.load {SIM} --flush drop --show-plan")).out;
    assert!(plan.contains("flush = \"drop\""), "{plan}");
}

#[test]
fn every_engine_issues_flushes_on_a_file() {
    let lab = lab();
    commits(&lab);
    let mut hashes = Vec::new();
    for engine in ["uring", "aio", "threads", "null"] {
        lab.file("t.img", vec![1; 1 << 20]);
        let target = if engine == "null" { "--size 1MiB -t dev" } else { "-t t.img" };
        let ended = lab.run(&format!(
            "replay a.load {target} --engine {engine} --no-progress --start-grace 0 -o {engine}"
        ));
        if ended.code == 2 && engine != "threads" {
            println!("SKIPPED: flushes with engine {engine}, because {}", ended.err);
            continue;
        }
        assert_eq!(ended.code, 0, "{engine}: {}", ended.err);
        let s = summary(&lab, engine);
        assert_eq!((count(&s, "other", "completed"), count(&s, "all", "completed")), (2, 4), "{engine}");
        hashes.push(s["targets"][0]["issued_hash"].to_string());
    }
    assert!(hashes.windows(2).all(|pair| pair[0] == pair[1]), "{hashes:?}");
}

#[test]
fn conversions_and_filters_keep_flushes() {
    let lab = lab();
    commits(&lab);
    let lines = |text: &str| -> Vec<String> {
        let is_request = |line: &&str| line.starts_with("# flush") || line.trim_start().starts_with('0');
        text.lines().filter(is_request).map(|l| l.split_whitespace().collect()).collect()
    };
    let want = lines(LINES);
    assert_eq!(want.len(), 6);
    lab.expect(0, "convert a.load b.load.gz");
    assert_eq!(lines(&plain_of(&lab.path("b.load.gz"))), want);
    lab.expect(0, "convert a.load made");
    assert_eq!(lines(&lab.expect(0, "convert made -").out), want);
    assert_eq!(lines(&lab.expect(0, "filter select:0..10 a.load").out), want);
    let shifted = lab.expect(0, "filter slip:1,8 a.load").out;
    assert_eq!(shifted.lines().filter(|line| line.starts_with("# flush")).count(), 2, "{shifted}");
    // A log of fio supports flushes, but not FUA.
    let fio = lab.expect(0, "convert a.load c.iolog");
    assert!(fio.err.contains("2 writes had FUA or a preflush"), "{}", fio.err);
    assert_eq!(std::fs::read_to_string(lab.path("c.iolog")).unwrap().matches(" sync ").count(), 2);
    let info: Value = serde_json::from_str(&lab.expect(0, "info --json a.load").out).unwrap();
    assert_eq!((&info["kinds"]["flushes"], &info["kinds"]["writes"]), (&2.into(), &3.into()));
}

#[test]
fn check_counts_flushes_and_fua() {
    let lab = lab();
    commits(&lab);
    lab.expect(0, &format!("replay a.load {SIM} -o ran"));
    let same = lab.expect(0, "check ran a.load");
    assert!(
        same.out
            .contains("flushes    3 in the replay (1 before a write), 3 in the recording (1 before a write)"),
        "{}",
        same.out
    );
    assert!(same.out.contains("FUA writes 2 in the replay, 2 in the recording"), "{}", same.out);
    // A load records only these facts.
    lab.file("plain.load", LINES.replace("WPF", "WP").replace("WF", "W") + "# flush ; 1\n");
    let differs = lab.expect(5, "check ran plain.load").out;
    assert!(
        differs.contains("missing    2 FUA writes") && differs.contains("not issued 1 flushes"),
        "{differs}"
    );
    lab.file("fewer.load", LINES.replace("# flush ; 0.005000000", "# no"));
    let fewer = lab.expect(5, "check --json ran fewer.load");
    let json: Value = serde_json::from_str(&fewer.out).unwrap();
    assert_eq!(
        (&json["flushes"]["missing"]["flushes"], &json["flushes"]["recording"]["flushes"]),
        (&1.into(), &1.into())
    );
    assert!(lab.expect(5, "check ran fewer.load").out.contains("missing    1 flushes"));
}

#[test]
fn exported_result_with_flushes_round_trips() {
    let lab = lab();
    commits(&lab);
    lab.expect(0, &format!("replay a.load {SIM} -o r"));
    // In a result, a flush is a comment as in a load, and not counted as a request.
    lab.expect(0, "export r --to replay -o r.replay");
    let text = std::fs::read_to_string(lab.path("r.replay")).unwrap();
    assert_eq!(text.lines().filter(|line| line.starts_with("# flush ; ")).count(), 2, "{text}");
    assert!(text.contains("# total     requests : 4") && text.contains(" ; WPF ; "), "{text}");
    lab.expect(0, "import r.replay -o again");
    let done =
        |name| sorted(&lab, name).iter().map(|r| (r.op, r.due, r.marks.durability())).collect::<Vec<_>>();
    assert_eq!(done("again"), done("r"));
    lab.expect(0, &format!("replay r.replay {SIM} -o replayed"));
    assert_eq!(done("replayed"), done("r"));
}

#[test]
fn load_from_records_is_in_time_order() {
    let lab = lab();
    // The first request takes longer than the later ones.
    lab.file(
        "a.load",
        rows(&[("0", 0, 2000, 'W'), ("0.0001", 8000, 8, 'R'), ("0.0002", 9000, 8, 'R')])
            + "# flush ; 0.0003\n",
    );
    lab.expect(
        0,
        "replay a.load -t x --size 1GiB --engine sim --sim-jitter 10ms --seed 3 --depth 8 --no-progress -o r",
    );
    let ends: Vec<_> = lab.records("r").iter().map(|r| r.due.0).collect();
    assert!(!ends.is_sorted(), "{ends:?}");
    lab.expect(0, "convert r b.load");
    lab.expect(0, "replay b.load -t x --size 1GiB --engine sim --no-progress -o again");
    let asked = |name| sorted(&lab, name).iter().map(|r| (r.due, r.op, r.executed)).collect::<Vec<_>>();
    assert_eq!(asked("again"), asked("r"));
    assert_eq!(lab.expect(0, "convert r -").out, std::fs::read_to_string(lab.path("b.load")).unwrap());
}

#[test]
fn filter_steps_count_flushes_separately() {
    let lab = lab();
    let load =
        "0.3 ; 8 ; 8 ; R\n# flush ; 0.2 ; 0.0 ; 0.0\n0.1 ; 16 ; 8 ; W\n0.4 ; 24 ; 8 ; W\n# flush ; 0.5\n";
    lab.file("a.load", load);
    let got = |steps: &str| -> Vec<String> {
        let text = lab.expect(0, &format!("filter {steps} a.load")).out;
        let is_request = |line: &&str| line.starts_with("# flush") || line.trim_start().starts_with('0');
        text.lines()
            .filter(is_request)
            .map(|l| l.split(';').map(str::trim).take(2).collect::<Vec<_>>().join(" "))
            .collect()
    };
    let sorted =
        ["0.100000000 16", "# flush 0.200000000", "0.300000000 8", "0.400000000 24", "# flush 0.500000000"];
    assert_eq!(got("sort"), sorted);
    let sampled = got("sample:2");
    assert_eq!(sampled, ["0.300000000 8", "# flush 0.200000000", "0.400000000 24"]);
    assert_eq!(got("slip:2,100")[2..4], ["0.100000000 116", "0.400000000 124"]);
}

#[test]
fn pictures_and_pages_show_flushes_as_a_class() {
    let lab = lab();
    let run = "run --engine sim -t dev --size 1g --rw randwrite --rate-iops 2000 --runtime 3 --fsync 4 --no-progress --seed 1";
    lab.expect(0, &format!("{run} -o a"));
    let summary: Value = serde_json::from_str(&lab.expect(0, "show a --json").out).expect("JSON");
    let flushes = summary["latency"]["flush"]["count"].as_u64().expect("figures of flushes");
    assert_eq!((flushes, &summary["latency"]["all"]["count"]), (1_500, &Value::from(6_000)));
    lab.expect(0, "plot a --only sonar,latency.bins,percentiles --svg --data -o p");
    for (table, word) in [
        ("g01.latency.realtime", ",flush,"),
        ("g06.latency.bins", ",flush,"),
        ("g20.response.percentiles", "service,flush,"),
    ] {
        let rows = std::fs::read_to_string(lab.path(&format!("p/{table}.csv"))).expect("a table");
        assert!(rows.contains(word), "{table}");
        let picture = std::fs::read_to_string(lab.path(&format!("p/{table}.svg"))).expect("a picture");
        assert!(picture.contains("flushes"), "{table}");
    }
    lab.expect(0, "report a -o page.html");
    let page = std::fs::read_to_string(lab.path("page.html")).expect("a page");
    assert!(page.contains("data-k=\"grid/latency.start/flush\""), "no block of flushes");
    let meta =
        page.split_once("id=\"iosonar-meta\">").expect("data").1.split_once("</script>").expect("its end").0;
    let meta: Value = serde_json::from_str(meta).expect("JSON");
    let run = &meta["runs"][0];
    assert_eq!(
        (&run["grids"][0]["totals"][4], &run["detail"]["embedded"]),
        (&Value::from(1_500), &Value::from(7_500))
    );
}
