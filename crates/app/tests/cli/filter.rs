//! `iosonar load filter` against the output of other programs for the same loads (`transforms.expected.json`).

use crate::*;

pub type Row = (u64, u64, u64, String);

/// Time, sector, length and letter of each line.
pub fn read(text: &str) -> Vec<Row> {
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(';').map(str::trim).collect();
        let (seconds, nanos) = cells[0].split_once('.')?;
        let time = seconds.parse::<u64>().ok()? * 1_000_000_000 + nanos.parse::<u64>().ok()?;
        Some((time, cells[1].parse().ok()?, cells[2].parse().ok()?, cells[3].to_uppercase()))
    };
    text.lines().skip(1).map(|line| row(line).unwrap_or_else(|| panic!("{line}"))).collect()
}

pub fn expected() -> Value {
    let text = std::fs::read_to_string(fixture_path("transforms.expected.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

pub fn sha256(rows: &[Row]) -> String {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let mut program =
        Command::new("sha256sum").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("sha256sum");
    let line = |(t, s, l, op): &Row| format!("{}.{:09} {s} {l} {op}\n", t / 1_000_000_000, t % 1_000_000_000);
    let text: String = rows.iter().map(line).collect();
    program.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    String::from_utf8(program.wait_with_output().unwrap().stdout).unwrap()[..64].to_string()
}

// 61
#[test]
fn each_step_matches_its_formula() {
    let (lab, expected) = (lab(), expected());
    fixture(&lab, "filter5.load.gz");
    for (steps, name) in [
        ("select:1..4", "select 1..4"),
        ("slip:2,256", "slip every=2 increase=256"),
        ("slip:every=3,increase=16", "slip every=3 increase=16"),
        ("subst:R,W", "subst R->W"),
        ("subst:W,R", "subst W->R"),
        ("spread", "spread factor=2 align=8 offset=0"),
        ("spread:1.5,offset=100", "spread factor=1.5 align=8 offset=100"),
        ("resize:2.5,4,200", "resize factor=2.5 min=4 max=200"),
        ("repeat:3,offset=8000000", "repeat 3 passes offset=8000000"),
        ("reverse", "reverse"),
        ("select:0..4 | repeat:2 | slip:3,16", "order select 0..4, repeat x2 +0, slip 3/16"),
    ] {
        let got = read(&lab.expect_args(0, &["filter", steps, "filter5.load.gz"]).out);
        let want: Vec<Row> = serde_json::from_value(expected["filter5"][name].clone()).unwrap();
        assert_eq!(got, want, "{steps}");
    }
}

// 62: extra, where loads of others lie beside the repository; see `every_row_matches_the_formulas`.
#[test]
fn filters_match_reference_results_on_foreign_loads() {
    let (lab, expected) = (lab(), expected());
    for (load, steps, name) in [
        ("windows-shared-server", "reverse", "reverse windows-shared-server"),
        ("windows-mssql", "select:2100..2400", "select windows-mssql 2100..2400"),
        ("windows-mssql", "slip", "slip windows-mssql every=32768 increase=256"),
        ("windows-mssql", "spread", "spread windows-mssql factor=2.0 align=8"),
    ] {
        let Some(file) = of_others(&lab, load) else { return };
        lab.expect_args(0, &["filter", steps, &file, "-o", "out.load.gz"]);
        let rows = read(&lab.expect_args(0, &["filter", "shift:0", "out.load.gz"]).out);
        assert_eq!(sha256(&rows), expected[name]["sha256"], "{name}");
        std::fs::remove_file(lab.path("out.load.gz")).unwrap();
    }
}

#[test]
fn reversing_twice_restores_the_load() {
    let lab = lab();
    let load = recorded(&lab, "compiler");
    let plain = lab.expect_args(0, &["filter", "shift:0", &load]).out;
    let twice = lab.expect_args(0, &["filter", "reverse|reverse", &load]).out;
    assert_eq!(read(&plain).len(), 9795);
    assert_eq!(read(&twice), read(&plain));
}

#[test]
fn filters_keep_recorded_timings() {
    let lab = lab();
    lab.expect(0, "generate mixed l.load --rate 200 --duration 5s");
    lab.expect(0, &format!("replay l.load {SIM} -o r"));
    lab.expect(0, "export r --to replay -o r.replay");
    let kept = lab.expect_args(0, &["filter", "sample:7 | shift:2s", "r.replay"]).out;
    let latencies = |text: &str| -> Vec<String> {
        text.lines()
            .filter(|l| l.contains(" ; ") && !l.contains("start"))
            .map(|l| l.rsplit(';').next().unwrap().trim().to_string())
            .collect()
    };
    let all = latencies(&std::fs::read_to_string(lab.path("r.replay")).unwrap());
    let every_seventh: Vec<&String> = all.iter().step_by(7).collect();
    let kept = latencies(&kept);
    assert!(kept.len() > 50 && kept.iter().all(|l| l.parse::<f64>().unwrap() > 0.0), "{kept:?}");
    assert!(kept.iter().eq(every_seventh));
}

#[test]
fn failed_filter_leaves_no_output() {
    let lab = lab();
    lab.expect(0, "generate mixed l.load.gz --rate 200 --duration 5s");
    lab.file(
        "back 1.load",
        rows(&[("2", 8, 8, 'R')]).replace("start", "2.5 ; 8 ; 8 ; R\nstart") + "1 ; 8 ; 8 ; R\n",
    );
    lab.file("bad.load", b"0.5 ; 8 ; 8 ; R ; 0.0 ; 0.0\n1.5 ; 8 ; eight ; R ; 0.0 ; 0.0\n");
    for (args, why) in [
        (&["filter", "selec:1..2", "l.load.gz"][..], "there is no step 'selec'"),
        (&["filter", "reverse", "none.load"], "No such file"),
        (&["filter", "reverse", "bad.load", "-o", "x"], "line 2"),
        (&["filter", "slip:1,9223372036854775807", "l.load.gz", "-o", "x"], "its sector lies beyond 2^63"),
        (&["filter", "reverse", "l.load.gz", "-o", "l.load.gz"], "exists already"),
        (&["filter", "merge:none.load", "l.load.gz", "-o", "x"], "none.load: it cannot be opened"),
        (
            &["filter", "cmd:'cat; exit 7'", "l.load.gz", "-o", "x"],
            "cmd:'cat; exit 7' ended with exit status: 7",
        ),
        (&["filter", "reverse | merge:bad.load", "l.load.gz", "-o", "x"], "bad.load: line 2"),
        (
            &["filter", "shift:9 | merge:'back 1.load'", "l.load.gz", "-o", "x"],
            "back 1.load: line 3: time runs backward",
        ),
    ] {
        let told = lab.expect_args(2, args).err;
        assert!(told.contains(why), "{args:?}: {told}");
        assert!(!lab.path("x").exists() && !lab.path(".x.partial").exists());
    }
    let told = lab.expect_args(0, &["filter", "shift:1", "bad.load", "--skip-bad"]);
    assert_eq!(read(&told.out).len(), 1);
    let replayed = lab.expect(0, &format!("replay bad.load {SIM} --skip-bad -o r")).err;
    assert!(told.err.contains("bad.load: line 2: the length is no whole number"), "{}", told.err);
    assert!(replayed.contains(&told.err), "{replayed} lacks {}", told.err);
    let told = lab.expect_args(1, &["filter", "select:1000..2000", "l.load.gz"]).err;
    assert!(told.contains("filter 'select:1000s..2000s' removes every request of l.load.gz"), "{told}");
}

/// Pipelines in the product's words and in those of `filters.py`, which is independent of it.
const PIPELINES: [(&str, &str); 28] = [
    ("shift:0", r#"[]"#),
    ("select:300..600", r#"[["select", "300", "600"]]"#),
    ("select:60..90", r#"[["select", "60", "90"]]"#),
    ("select:1.5..2.25", r#"[["select", "1.5", "2.25"]]"#),
    ("select:2..", r#"[["select", "2", "1e9"]]"#),
    ("repeat:3", r#"[["repeat", 3, 0]]"#),
    ("repeat:2,offset=8000000", r#"[["repeat", 2, 8000000]]"#),
    ("slip", r#"[["slip", 32768, 256]]"#),
    ("slip:2,256", r#"[["slip", 2, 256]]"#),
    ("slip:every=7,increase=16", r#"[["slip", 7, 16]]"#),
    ("subst:R,W", r#"[["subst", "R", "W"]]"#),
    ("subst:W,R", r#"[["subst", "W", "R"]]"#),
    ("spread", r#"[["spread", "2", 8, 0]]"#),
    ("spread:1.5,offset=100", r#"[["spread", "1.5", 8, 100]]"#),
    ("spread:0.333333333,align=64", r#"[["spread", "0.333333333", 64, 0]]"#),
    ("resize", r#"[["resize", "2", 0, 65536]]"#),
    ("resize:2.5,4,200", r#"[["resize", "2.5", 4, 200]]"#),
    ("resize:0.1,min=1", r#"[["resize", "0.1", 1, 65536]]"#),
    ("reverse", r#"[["reverse"]]"#),
    ("scale:0.7", r#"[["scale", "0.7"]]"#),
    ("shift:1.000000001", r#"[["shift", "1.000000001"]]"#),
    ("sample:7", r#"[["sample", 7]]"#),
    (
        "select:0..4 | repeat:2 | slip:3,16 | subst:W,R | spread:1.5 | resize:3,8,64",
        r#"[["select", "0", "4"], ["repeat", 2, 0], ["slip", 3, 16], ["subst", "W", "R"], ["spread", "1.5", 8, 0],
            ["resize", "3", 8, 64]]"#,
    ),
    (
        "reverse | sample:3 | scale:2.5 | reverse",
        r#"[["reverse"], ["sample", 3], ["scale", "2.5"], ["reverse"]]"#,
    ),
    (
        "sample:5 | repeat:2,offset=64 | sample:2 | repeat:3,offset=4096",
        r#"[["sample", 5], ["repeat", 2, 64], ["sample", 2], ["repeat", 3, 4096]]"#,
    ),
    (
        "merge:'an other.load',offset=1000,shift=0.25 | slip:100,8 | merge:'an other.load'",
        r#"[["merge", "an other.load", 1000, "0.25"], ["slip", 100, 8], ["merge", "an other.load", 0, "0"]]"#,
    ),
    (
        "cmd:'grep -v R | head -n 100' | repeat:2,offset=8",
        r#"[["only", "W"], ["head", 100], ["repeat", 2, 8]]"#,
    ),
    (
        r#"sample:2 | cmd:"sed '/W/d'" | cmd:cat | shift:2 | reverse"#,
        r#"[["sample", 2], ["only", "R"], ["shift", "2"], ["reverse"]]"#,
    ),
];

/// The script's output for a load, one list of rows for each pipeline.
fn by_formula(lab: &Lab, load: &str) -> Vec<Vec<String>> {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/filters.py");
    let mut python = Command::new("python3");
    python.arg(script).arg(load).current_dir(lab.path("")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut python = python.spawn().expect("python3 is there");
    let pipelines: Vec<&str> = PIPELINES.iter().map(|(_, pipeline)| *pipeline).collect();
    // The script reads all of its input before it writes.
    python.stdin.take().unwrap().write_all(format!("[{}]", pipelines.join(",")).as_bytes()).unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success(), "filters.py {load}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.split("# rows ").skip(1).map(|part| part.lines().skip(1).map(String::from).collect()).collect()
}

fn has_python() -> bool {
    std::process::Command::new("python3").arg("--version").output().is_ok_and(|o| o.status.success())
}

#[test]
fn every_row_matches_the_formulas() {
    slow!();
    let test = "every_row_matches_the_formulas";
    if !has_python() {
        return iosonar_testkit::skip(test, "python3 is not installed");
    }
    let lab = lab();
    lab.expect(0, "generate mixed generated.load.gz --rate 150 --duration 8s --reads 40");
    lab.expect(0, "generate bursts other --rate 20 --duration 4s --reads 70");
    std::fs::rename(lab.path("other"), lab.path("an other.load")).unwrap();
    let own = ["database", "compiler"].map(|name| recorded(&lab, name));
    let others = ["windows-mssql", "windows-shared-server"].map(|name| of_others(&lab, name));
    for load in own.into_iter().chain(others.into_iter().flatten()).chain(["generated.load.gz".into()]) {
        let load = load.as_str();
        let all = by_formula(&lab, load);
        assert_eq!(all.len(), PIPELINES.len());
        for ((steps, _), want) in PIPELINES.iter().zip(all) {
            let text = |(time, sector, length, op): &Row| format!("{time} {sector} {length} {op}");
            let code = i32::from(want.is_empty());
            let got: Vec<String> =
                read(&lab.expect_args(code, &["filter", steps, load]).out).iter().map(text).collect();
            assert_eq!(got.len(), want.len(), "{load}: {steps}");
            let differs = got.iter().zip(&want).position(|(got, want)| got != want);
            assert_eq!(differs.map(|i| (i, &got[i], &want[i])), None, "{load}: {steps}");
        }
    }
}

/// Due time, sector, length and operation of a run's records.
fn asked(lab: &Lab, result: &str) -> Vec<(u64, u64, u64, bool)> {
    let row = |r: &Record| (r.due.0, sector(r), r.requested.length / 512, r.op.is_write());
    sorted(lab, result).iter().map(row).collect()
}

#[test]
fn replaying_with_filters_equals_replaying_filter_output() {
    let lab = lab();
    lab.expect(0, "generate mixed l.load --rate 200 --duration 6s");
    lab.expect(0, "generate mixed m.load --rate 100 --duration 6s --seed 2");
    for (i, (steps, window)) in [
        ("select:1..4 | spread:2.0,align=8", ""),
        ("reverse | repeat:2,offset=4096", "--start 1 --duration 7"),
        ("repeat:3 | merge:m.load,offset=8", "--speed 2"),
        ("cmd:'grep -v R | tail -500'", "--asap"),
        ("cmd:'tac'", "--backward sort"),
    ]
    .into_iter()
    .enumerate()
    {
        lab.expect_args(0, &["filter", steps, "l.load", "-o", &format!("made{i}.load")]);
        lab.expect(0, &format!("replay made{i}.load {SIM} {window} -o made{i}"));
        let inline = format!("replay l.load {SIM} {window}");
        let with = |more: &[&str]| {
            let args: Vec<&str> =
                inline.split_whitespace().chain(["--filter", steps]).chain(more.iter().copied()).collect();
            lab.expect_args(0, &args)
        };
        with(&["-o", &format!("inline{i}")]);
        lab.file("plan.toml", with(&["--show-plan"]).out);
        let told = lab.expect(0, &format!("run plan.toml --no-progress -o planned{i}")).err;
        let says = told.contains("the plan runs the command ");
        assert_eq!(says, steps.contains("cmd:"), "{told}");
        let want = asked(&lab, &format!("made{i}"));
        assert!(want.len() > 200, "{steps}");
        assert_eq!(asked(&lab, &format!("inline{i}")), want, "{steps}");
        assert_eq!(asked(&lab, &format!("planned{i}")), want, "{steps}");
        let [made, inline] = ["made", "inline"].map(|name| summary(&lab, &format!("{name}{i}")));
        for of in ["counts", "demand"] {
            assert_eq!(inline[of], made[of], "{steps}");
        }
        let factor = |s: &Value| s["targets"][0]["wraparound_factor"].clone();
        assert_eq!(factor(&inline), factor(&made), "{steps}");
        let source = inline["targets"][0]["source"].as_str().unwrap();
        assert!(source.starts_with("l.load | "), "{source}");
    }
}

#[test]
fn filters_apply_to_stdin() {
    use std::io::Write;
    use std::process::Stdio;
    let lab = lab();
    let run = |steps: &str, name: &str| {
        let mut replay = lab.command(&format!("replay - {SIM} -o {name} --filter"));
        let mut replay = replay.arg(steps).stdin(Stdio::piped()).spawn().unwrap();
        let text = rows(&[("0.5", 8, 8, 'R'), ("1", 16, 8, 'W'), ("2", 24, 8, 'W')]);
        // A refused command does not read its input.
        let _ = replay.stdin.take().unwrap().write_all(text.as_bytes());
        iosonar_testkit::Ended::of(replay.wait_with_output().unwrap())
    };
    assert_eq!(run("select:1.. | cmd:'head -1' | slip:1,8", "r").code, 0);
    assert_eq!(asked(&lab, "r"), [(0, 24, 8, true)]);
    let refused = run("shift:1 | repeat:2", "never");
    assert_eq!(refused.code, 2);
    assert!(
        refused.err.contains("--filter: 'repeat:2,offset=0' needs the end of the load"),
        "{}",
        refused.err
    );
}

#[test]
fn rejects_impossible_filter_before_touching_anything() {
    let lab = lab();
    lab.expect(0, "generate mixed l.load --rate 50 --duration 2s");
    lab.target("disk.img", 1 << 20);
    lab.file("back.load", rows(&[("2", 8, 8, 'W'), ("1", 8, 8, 'W')]));
    for (load, filter, why) in [
        ("l.load", "selec:1..2", "no step 'selec'"),
        ("l.load", "select:100..200", "filter 'select:100s..200s' removes every request"),
        ("l.load", "merge:none.load", "none.load: No such file"),
        ("l.load", "merge:/dev/null", "it is no regular file"),
        ("l.load", "cmd:false", "cmd:false ended with exit status: 1"),
        ("l.load", "resize:0.01", "its length is 0: give resize a min"),
        ("l.load", "merge:back.load", "back.load: line 3: time runs backward, from 2s to 1s"),
        (
            "back.load",
            "shift:5",
            "load back.load: line 3: time runs backward, from 7s to 6s; use --backward sort",
        ),
        ("l.load", "cmd:grep x | head", "a command with | in it stands in quotes"),
    ] {
        let args = ["replay", load, "-t", "disk.img", "--buffered", "-o", "r", "--filter", filter];
        let told = lab.expect_args(2, &args).err;
        assert!(told.contains(why), "{filter}: {told}");
        assert!(!lab.path("r").exists());
    }
    assert!(std::fs::read(lab.path("disk.img")).unwrap().iter().all(|byte| *byte == 0));
    // A load that is a target, too.
    let both = rows(&[("0", 8, 8, 'W')]) + &"\n".repeat(1 << 20);
    lab.file("both.load", &both);
    let told = lab.expect(2, "replay l.load -t both.load --buffered -o r --filter merge:both.load").err;
    assert!(told.contains("target both.load and load both.load are the same"), "{told}");
    assert_eq!(std::fs::read_to_string(lab.path("both.load")).unwrap(), both);
}

#[test]
fn running_a_plan_announces_its_commands() {
    let lab = lab();
    lab.file("l.load", rows(&[("0", 8, 8, 'R')]));
    let steps = "cmd:\"cat; : '\u{1b}[2K\u{202e}'\"";
    let args = format!("replay l.load {SIM} --show-plan --filter");
    let args: Vec<&str> = args.split_whitespace().chain([steps]).collect();
    let plan = lab.expect_args(0, &args);
    assert!(!plan.err.contains("runs the command"), "{}", plan.err);
    lab.file("plan.toml", plan.out);
    let told = lab.expect(0, "run plan.toml --no-progress -o r").err;
    assert!(told.contains(r"iosonar: the plan runs the command cat; : '\u{1b}[2K\u{202e}'"), "{told}");
    let shown = lab.expect(0, "run plan.toml --show-plan");
    assert!(!shown.err.contains("runs the command"), "{}", shown.err);
}

#[test]
fn existing_output_prevents_filter_commands() {
    let lab = lab();
    lab.expect(0, "load generate bursts l.load --duration 1s");
    lab.file("out.load", "kept");
    let step = format!("cmd:'touch {}; cat'", lab.path("started").display());
    let ended = lab.expect_args(2, &["load", "filter", &step, "l.load", "-o", "out.load"]);
    assert!(ended.err.contains("out.load") && !lab.path("started").exists(), "{}", ended.err);
}
