//! `iosonar filter` against what other programs made of the same loads (`transforms.expected.json`).

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
fn each_step_does_what_its_formula_says() {
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

// 62
#[test]
fn natural_loads_come_out_as_others_made_them() {
    let (lab, expected) = (lab(), expected());
    for (load, steps, name) in [
        ("windows-shared-server", "reverse", "reverse windows-shared-server"),
        ("windows-mssql", "select:2100..2400", "select windows-mssql 2100..2400"),
        ("windows-mssql", "slip", "slip windows-mssql every=32768 increase=256"),
        ("windows-mssql", "spread", "spread windows-mssql factor=2.0 align=8"),
    ] {
        let file = format!("{load}.load.gz");
        if !natural(&lab, "natural_loads_come_out_as_others_made_them", &file) {
            return;
        }
        lab.expect_args(0, &["filter", steps, &file, "-o", "out.load.gz"]);
        let rows = read(&lab.expect_args(0, &["filter", "shift:0", "out.load.gz"]).out);
        assert_eq!(sha256(&rows), expected[name]["sha256"], "{name}");
        std::fs::remove_file(lab.path("out.load.gz")).unwrap();
    }
    let plain = lab.expect_args(0, &["filter", "shift:0", "windows-shared-server.load.gz"]).out;
    let twice = lab.expect_args(0, &["filter", "reverse|reverse", "windows-shared-server.load.gz"]).out;
    assert_eq!(read(&plain).len(), 1371);
    assert_eq!(read(&twice), read(&plain));
}

#[test]
fn what_is_known_of_times_stays() {
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
fn what_cannot_be_done_is_refused_and_leaves_nothing_behind() {
    let lab = lab();
    lab.expect(0, "generate mixed l.load.gz --rate 200 --duration 5s");
    lab.file("bad.load", b"0.5 ; 8 ; 8 ; R ; 0.0 ; 0.0\n1.5 ; 8 ; eight ; R ; 0.0 ; 0.0\n");
    for (args, why) in [
        (&["filter", "selec:1..2", "l.load.gz"][..], "there is no step 'selec'"),
        (&["filter", "reverse", "none.load"], "No such file"),
        (&["filter", "reverse", "bad.load", "-o", "x"], "line 2"),
        (
            &["filter", "slip:1,9223372036854775807", "l.load.gz", "-o", "x"],
            "its sector is larger than 64 bits tell",
        ),
        (&["filter", "reverse", "l.load.gz", "-o", "l.load.gz"], "exists already"),
    ] {
        let told = lab.expect_args(2, args).err;
        assert!(told.contains(why), "{args:?}: {told}");
        assert!(!lab.path("x").exists() && !lab.path(".x.partial").exists());
    }
    let told = lab.expect_args(0, &["filter", "shift:1", "bad.load", "--skip-bad"]);
    assert_eq!(read(&told.out).len(), 1);
    assert!(told.err.contains("line 2"), "{}", told.err);
    let told = lab.expect_args(1, &["filter", "select:1000..2000", "l.load.gz"]).err;
    assert!(told.contains("no request of l.load.gz is left behind 'select:1000s..2000s'"), "{told}");
}
