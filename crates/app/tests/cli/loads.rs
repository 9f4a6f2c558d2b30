//! Reading loads: forms, windows, order, and their assignment to targets.

use crate::*;
use iosonar_plan::Op;

/// Pretended targets of other sizes: room for the recorded loads, and less than a load needs.
const LARGE: &str = "--engine sim --size 26GiB --no-progress -t dev";
const SMALL: &str = "--engine sim --size 1MiB --no-progress -t dev";

/// Due time in nanoseconds and first sector of each record, in the order of the source.
fn dues(lab: &Lab, result: &str) -> Vec<(u64, u64)> {
    sorted(lab, result).iter().map(|r| (r.due.0, sector(r))).collect()
}

// 3
#[test]
fn counts_of_recorded_loads_are_correct() {
    for name in ["database", "compiler", "packages", "logs", "backup"] {
        let lab = lab();
        let load = recorded(&lab, name);
        lab.expect(0, &format!("replay {load} {LARGE} -o r"));
        let s = summary(&lab, "r");
        let totals = ["all", "read", "write"].map(|scope| count(&s, scope, "total"));
        let text = plain_of(&lab.path(&load));
        let [reads, writes] = [" R ", " W "].map(|op| text.lines().filter(|l| l.contains(op)).count() as u64);
        assert!(reads > 0 && writes > 1000, "{name}");
        assert_eq!(totals, [reads + writes, reads, writes], "{name}");
        assert_eq!(count(&s, "all", "completed"), reads + writes);
    }
}

// 6: no nanosecond is lost, also where the original loses one (18.002030345).
#[test]
fn times_of_a_recorded_load_are_exact() {
    let lab = lab();
    let load = recorded(&lab, "database");
    let text = plain_of(&lab.path(&load));
    // The digits of the first column: its fraction has nine.
    let digits = |line: &str| line.split_once(';')?.0.trim().replace('.', "").parse::<u64>().ok();
    let times: Vec<u64> = text.lines().filter_map(digits).filter(|&time| time < 60 * S).collect();
    assert!(times.len() > 5000 && times.iter().any(|time| time % 10 == 5));
    lab.expect(0, &format!("replay {load} {LARGE} --end 60s -o r"));
    let records = sorted(&lab, "r");
    assert!(records.iter().map(|r| r.load_time.0).eq(times.iter().copied()));
    assert!(records.iter().all(|r| r.due.0 == r.load_time.0 - times[0]));
    lab.file("odd.load", rows(&[("18.002030345", 8, 8, 'R')]));
    lab.expect(0, &format!("replay odd.load {LARGE} -o odd"));
    assert_eq!(sorted(&lab, "odd")[0].load_time.0, 18_002_030_345);
}

// 4
#[test]
fn unusual_lines_are_accepted_skipped_or_rejected() {
    let lab = lab();
    fixture(&lab, "odd.load.gz");
    let ended = lab.expect(0, &format!("replay odd.load.gz {SIM} --skip-bad -o r"));
    let got: Vec<_> = sorted(&lab, "r").iter().map(|r| (r.load_time.0, sector(r), r.op)).collect();
    use Op::{Read, Write};
    let want = [
        (0, 16, Write),
        (1, 24, Read),
        (2, 32, Read),
        (3, 40, Write),
        (500 * MS, 48, Write),
        (S, 56, Read),
        (S + 12, 104, Read),
        (S + 13, 112, Read),
    ];
    assert_eq!(got, want);
    assert!(sorted(&lab, "r").iter().all(|r| r.requested.length == 8 * 512));
    // Discard, three columns, length 0, negative sector, negative length; and nothing else.
    let told: Vec<&str> = ended.err.lines().filter(|l| l.contains(": skipped")).collect();
    assert_eq!(told.len(), 5, "{}", ended.err);
    for (line, why) in [
        (11, "discard"),
        (12, "missing"),
        (13, "length is 0"),
        (14, "sector is negative"),
        (15, "length is negative"),
    ] {
        let named =
            |t: &&&str| t.contains(&format!("line {line}:")) && t.contains(why) && t.contains("odd.load.gz");
        assert_eq!(told.iter().filter(named).count(), 1, "line {line}: {}", ended.err);
    }
    assert!(cautions(&summary(&lab, "r")).contains(&"bad-lines"));

    let ended = lab.expect(2, &format!("replay odd.load.gz {SIM} -o refused"));
    assert!(ended.err.contains("odd.load.gz: line 11:") && ended.err.contains("--skip-bad"), "{}", ended.err);
    assert!(!lab.path("refused").exists());
    lab.expect(3, &format!("replay odd.load.gz {SIM} --skip-bad --strict -o strict"));
}

// 5
#[test]
fn plain_gzip_and_stdin_yield_the_same_records() {
    let lab = lab();
    let text = plain("conflict400.load.gz");
    fixture(&lab, "conflict400.load.gz");
    lab.file("plain.load", &text);
    // The form is detected from the content, not the name.
    lab.file("gzip.load", gzip(text.as_bytes()));
    let middle = text[..text.len() / 2].len();
    let members = [gzip(&text.as_bytes()[..middle]), gzip(&text.as_bytes()[middle..])].concat();
    lab.file("members.load", members);
    lab.expect(0, &format!("replay conflict400.load.gz {SIM} -o want"));
    let want = lab.records("want");
    for name in ["plain", "gzip", "members"] {
        lab.expect(0, &format!("replay {name}.load {SIM} -o {name}"));
        assert_eq!(lab.records(name), want, "{name}");
    }
    for (input, result) in [("plain.load", "stdin"), ("gzip.load", "stdin-gzip")] {
        let mut command = lab.command(&format!("replay - {SIM} -o {result}"));
        command.stdin(std::fs::File::open(lab.path(input)).unwrap());
        let ended = iosonar_testkit::Ended::of(command.output().unwrap());
        assert_eq!(ended.code, 0, "{}", ended.err);
        assert_eq!(lab.records(result), want, "{result}");
    }
}

// 9
#[test]
fn backward_shift_matches_blkreplay() {
    let lab = lab();
    fixture(&lab, "backshift.load.gz");
    let ended = lab.expect(0, &format!("replay backshift.load.gz {SIM} --backward shift -o r"));
    let want = [(0, 8), (1500, 16), (1500, 24), (2250, 32), (2250, 40), (3150, 48), (3150, 56)];
    assert_eq!(dues(&lab, "r"), want.map(|(ms, sector)| (ms * MS, sector)));
    let told: Vec<&str> = ended.err.lines().filter(|l| l.contains("shifted by")).collect();
    assert_eq!(told.len(), 3, "{}", ended.err);
    for (told, delta) in told.iter().zip(["shifted by 9.25s", "shifted by 2s", "shifted by 800ms"]) {
        assert!(told.contains(delta), "{told}");
    }
    assert!(cautions(&summary(&lab, "r")).contains(&"backward-time"));
}

// 10
#[test]
fn a_window_and_a_speed_count_after_the_shift() {
    let lab = lab();
    fixture(&lab, "backshift.load.gz");
    lab.expect(0, &format!("replay backshift.load.gz {SIM} --backward shift --start 11 -o r"));
    let want = [(0, 16), (0, 24), (750, 32), (750, 40), (1650, 48), (1650, 56)];
    assert_eq!(dues(&lab, "r"), want.map(|(ms, sector)| (ms * MS, sector)));
    lab.expect(0, &format!("replay backshift.load.gz {SIM} --backward shift --start 11 --speed 2 -o fast"));
    let times: Vec<u64> = dues(&lab, "fast").iter().map(|d| d.0 / 1000).collect();
    assert_eq!(times, [0, 0, 375_000, 375_000, 825_000, 825_000]);
}

// 11
#[test]
fn windows_are_half_open_and_rebased_to_their_first_request() {
    let lab = lab();
    let times = ["0.5", "1.999999999", "2", "3.5", "4"];
    lab.file("l.load", rows(&times.map(|t| (t, 8, 8, 'R'))));
    let cases: [(&str, &[u64]); 5] = [
        ("--start 1 --end 4", &[0, 1, 1_500_000_001]),
        ("--start 1 --duration 2", &[0, 1]),
        ("--end 2", &[0, 1_499_999_999]),
        ("--start 3.5", &[0, 500 * MS]),
        ("--start 500ms --duration 1ns", &[0]),
    ];
    for (i, (window, want)) in cases.into_iter().enumerate() {
        lab.expect(0, &format!("replay l.load {SIM} {window} -o r{i}"));
        let got: Vec<u64> = dues(&lab, &format!("r{i}")).iter().map(|d| d.0).collect();
        assert_eq!(got, want, "{window}");
    }
}

#[test]
fn backward_sort_sorts_and_keeps_equal_times_in_order() {
    let lab = lab();
    let load =
        [("2", 8, 8, 'R'), ("1", 16, 8, 'R'), ("2", 24, 8, 'R'), ("0.5", 32, 8, 'W'), ("1", 40, 8, 'R')];
    lab.file("l.load", rows(&load));
    lab.expect(0, &format!("replay l.load {SIM} --backward sort -o r"));
    assert_eq!(dues(&lab, "r"), [(0, 32), (500 * MS, 16), (500 * MS, 40), (1500 * MS, 8), (1500 * MS, 24)]);
}

#[test]
fn asap_keeps_trace_time_with_due_time_zero() {
    let lab = lab();
    lab.file("l.load", rows(&[("5", 8, 8, 'R'), ("6", 16, 8, 'R'), ("60", 24, 8, 'R')]));
    lab.expect(0, &format!("replay l.load {SIM} --asap --depth 1 -o r"));
    let got: Vec<_> =
        sorted(&lab, "r").iter().map(|r| (r.load_time.0, r.due.0, r.submitted.unwrap().0)).collect();
    // One after the other, each 100 us.
    assert_eq!(got, [(5 * S, 0, 0), (6 * S, 0, 100_000), (60 * S, 0, 200_000)]);
}

#[test]
fn delta_offsets_the_window_of_each_target() {
    let lab = lab();
    let times: Vec<String> = (0..30).map(|t| t.to_string()).collect();
    let load: Vec<_> = (0..30).map(|t| (times[t].as_str(), 8 * t as u64, 8, 'R')).collect();
    lab.file("l.load", rows(&load));
    lab.expect(0, &format!("replay l.load {SIM} one two --start 2 --duration 5 --delta 7s -o r"));
    let records = sorted(&lab, "r");
    for (target, start) in [(0, 2), (1, 9), (2, 16)] {
        let of: Vec<_> =
            records.iter().filter(|r| r.target == target).map(|r| (r.load_time.0, r.due.0)).collect();
        let want: Vec<_> = (0..5).map(|i| ((start + i) * S, i * S)).collect();
        assert_eq!(of, want, "target {target}");
    }
}

#[test]
fn loads_are_assigned_to_targets_round_robin() {
    let lab = lab();
    lab.file("a.load", rows(&[("0", 8, 8, 'R')]));
    lab.file("b.load", rows(&[("0", 16, 8, 'W'), ("1", 24, 8, 'W')]));
    lab.expect(0, &format!("replay a.load b.load {SIM} t1 t2 t3 t4 -o r"));
    let got: Vec<_> = sorted(&lab, "r").iter().map(|r| (r.target, sector(r))).collect();
    assert_eq!(got, [(0, 8), (1, 16), (1, 24), (2, 8), (3, 16), (3, 24), (4, 8)]);
}

// 28
#[test]
fn the_wraparound_factor_warns_outside_half_to_two() {
    for (factor, warns) in [(7.58, true), (0.477, true), (0.089, true), (0.948, false)] {
        let lab = lab();
        let sectors = (factor * 2_097_152.0) as u64;
        lab.file("l.load", rows(&[("0", 0, 8, 'R'), ("0.1", sectors - 8, 8, 'R')]));
        let ended = lab.expect(0, &format!("replay l.load {SIM} -o r"));
        assert!(ended.err.contains(&format!("wraparound factor {factor:.3}")), "{}", ended.err);
        assert_eq!(ended.err.contains("CAUTION"), warns, "{factor}: {}", ended.err);
        let s = summary(&lab, "r");
        assert_eq!(cautions(&s).contains(&"wrong-size-device"), warns, "{factor}");
        let told = s["targets"][0]["wraparound_factor"].as_f64().unwrap();
        assert!((told - factor).abs() < 1e-5, "{told}");
        assert_eq!(ended.out.contains("(wraparound factor)"), warns);
    }
}

#[test]
fn addresses_beyond_the_end_are_wrapped_and_marked() {
    let lab = lab();
    lab.file(
        "l.load",
        rows(&[("0", 2_048 + 100, 8, 'W'), ("1", 2_044, 8, 'W'), ("2", 2_040, 8, 'W'), ("3", 0, 2_048, 'R')]),
    );
    lab.expect(0, &format!("replay l.load {SMALL} -o r"));
    let got: Vec<_> = sorted(&lab, "r").iter().map(|r| (r.executed.offset / 512, r.marks.0)).collect();
    use iosonar_archive::Marks;
    assert_eq!(got, [(100, Marks::WRAPPED.0), (2_040, Marks::AT_BORDER.0), (2_040, 0), (0, 0)]);
    let s = summary(&lab, "r");
    assert_eq!((count(&s, "all", "wrapped"), count(&s, "all", "at_border")), (1, 1));
}

// 40
#[test]
fn every_request_in_window_is_counted_once() {
    let lab = lab();
    fixture(&lab, "conflict400.load.gz");
    let extra = "--overlap drop --sim-errors 7 --sim-short 9 --seed 3";
    lab.expect(1, &format!("replay conflict400.load.gz {SIM} {extra} -o r"));
    let s = summary(&lab, "r");
    for scope in ["all", "read", "write"] {
        let sum: u64 =
            ["completed", "dropped", "failed", "cancelled"].map(|name| count(&s, scope, name)).iter().sum();
        assert_eq!(count(&s, scope, "total"), sum, "{scope}");
    }
    assert_eq!(count(&s, "all", "total"), 400);
    assert!(count(&s, "write", "total") <= count(&s, "all", "total"));
    assert!(count(&s, "all", "failed") > 0 && count(&s, "all", "dropped") > 0);
    // Only requests inside the window count for the highest block.
    lab.file("l.load", rows(&[("0", 8, 8, 'R'), ("1", 4_000, 96, 'R'), ("2", 1_000_000, 8, 'R')]));
    lab.expect(0, &format!("replay l.load {SIM} --end 2 -o window"));
    let run: Value =
        serde_json::from_str(&std::fs::read_to_string(lab.path("window/run.json")).unwrap()).unwrap();
    assert_eq!(run["targets"][0]["max_requested_end"], 4_096 * 512);
}

/// Sector, bytes and operation of each requested access, sorted.
fn multiset(records: &[Record]) -> Vec<(u64, u64, Op)> {
    let mut all: Vec<_> = records.iter().map(|r| (r.requested.offset, r.requested.length, r.op)).collect();
    all.sort_unstable();
    all
}

// 6, 7: a result is a load again, lower-case letters included, and loses no nanosecond.
#[test]
fn blkreplay_result_can_be_replayed() {
    let lab = lab();
    fixture(&lab, "conflict400.load.gz");
    lab.expect(0, &format!("replay conflict400.load.gz {SIM} --strong 2 --sim-jitter 3ms -o a"));
    lab.expect(0, "export a --to replay --out a.replay");
    let text = std::fs::read_to_string(lab.path("a.replay")).unwrap();
    let lines =
        text.lines().filter(|l| l.contains(';') && l.trim_start().starts_with(|c: char| c.is_ascii_digit()));
    let lines: Vec<&str> = lines.collect();
    assert_eq!(lines.len(), 400);
    assert!(lines.iter().all(|l| l.split(';').count() == 6));
    let pushed = lines.iter().filter(|l| l.contains("; r ;") || l.contains("; w ;")).count() as u64;
    assert_eq!(pushed, count(&summary(&lab, "a"), "all", "pushed"));
    lab.expect(0, &format!("replay a.replay {SIM} --backward sort -o b"));
    assert_eq!(multiset(&lab.records("a")), multiset(&lab.records("b")));

    let times = ["18.002030345", "18.002030346", "20.999999999", "3062.338015914"];
    lab.file("l.load", rows(&times.map(|t| (t, 8, 8, 'R'))));
    lab.expect(0, &format!("replay l.load {SIM} -o exact"));
    lab.expect(0, "export exact --to replay --out exact.replay");
    let text = std::fs::read_to_string(lab.path("exact.replay")).unwrap();
    for time in ["0.000000000", "0.000000001", "2.997969654", "3044.335985569"] {
        assert!(text.lines().any(|l| l.trim_start().starts_with(&format!("{time} ;"))), "{time}:\n{text}");
    }
}

#[test]
fn earlier_command_names_still_work_but_are_hidden() {
    let lab = lab();
    lab.expect(0, "load generate bursts new.load --duration 2s");
    lab.expect(0, "generate bursts old.load --duration 2s");
    lab.expect(0, "load filter sample:2 new.load -o new-half.load");
    lab.expect(0, "filter sample:2 old.load -o old-half.load");
    for (new, old) in [("new.load", "old.load"), ("new-half.load", "old-half.load")] {
        let text = |name: &str| std::fs::read_to_string(lab.path(name)).unwrap();
        assert_eq!(text(new), text(old));
    }
    let json = |words: &str| lab.expect(0, &format!("{words} --json new.load")).out;
    assert_eq!(json("cache count"), json("layout cached"));
    let commands = lab.expect(0, "--help").out;
    assert!(commands.contains("\n  load ") && !commands.contains("\n  generate "), "{commands}");
    assert!(!lab.expect(0, "layout --help").out.contains("evict"));
    assert!(lab.expect(0, "generate --help").out.contains("iosonar load generate"));
}
