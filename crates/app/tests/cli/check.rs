//! `iosonar check`: requested against observed requests.

use crate::*;

const ROWS: [&str; 6] = [
    "0.000000000 ; 16 ; 8 ; W ; 0.0 ; 0.0",
    "0.001000000 ; 24 ; 8 ; R ; 0.0 ; 0.0",
    "0.002000000 ; 64 ; 16 ; R ; 0.0 ; 0.0",
    "0.003000000 ; 64 ; 8 ; R ; 0.0 ; 0.0",
    "0.500000000 ; 16 ; 8 ; W ; 0.0 ; 0.0",
    "0.600000000 ; 80 ; 4 ; w ; 0.0 ; 0.0",
];

// 69
#[test]
fn names_missing_requests_ignoring_order_and_case() {
    let lab = lab();
    lab.file("a.load", ROWS.join("\n") + "\n");
    let mut other: Vec<String> = ROWS.iter().map(|r| r.replace("; w ;", "; W ;")).collect();
    // Times and the order of equal sectors differ.
    other.swap(2, 3);
    lab.file("b.load", other.join("\n") + "\n");
    let same = lab.expect(0, "check a.load b.load");
    assert!(
        same.out.contains("in both    6 requests") && same.out.contains("every request was issued"),
        "{}",
        same.out
    );
    let fewer: Vec<&str> = ROWS[..2].iter().chain(&ROWS[3..]).copied().collect();
    lab.file("c.load", fewer.join("\n") + "\n");
    let missing = lab.expect(5, "check a.load c.load");
    assert!(
        missing.out.contains("missing    1 requests\n             read at sector 64, 16 sectors"),
        "{}",
        missing.out
    );
    let json: Value = serde_json::from_str(&lab.expect(5, "check --json c.load a.load").out).unwrap();
    assert_eq!(json["added"], serde_json::json!([{"op": "read", "sector": 64, "sectors": 16}]));
    assert_eq!((&json["same"], &json["missing"]), (&5.into(), &serde_json::json!([])));
}

#[test]
fn checks_what_the_run_actually_issued() {
    let lab = lab();
    lab.file("a.load", ROWS.join("\n") + "\n");
    lab.expect(0, &format!("replay a.load {SIM} --start-grace 0 -o ran"));
    lab.expect(0, "check ran a.load");
    lab.expect(0, "export ran --to replay -o ran.replay");
    lab.expect(0, "check ran.replay a.load");
    lab.file("split.load", ROWS.join("\n").replace("64 ; 16 ; R", "64 ; 8 ; R") + "\n1 ; 72 ; 8 ; R\n");
    let split = lab.expect(0, "check ran split.load");
    assert!(split.out.contains("split      1 requests into 2"), "{}", split.out);
}

#[test]
fn keeps_offsets_of_devices_apart() {
    let lab = lab();
    let row = |device: u32, sector: u64| {
        format!("{device},R,{},4096,{}\n", sector * 512, 1_577_808_144_000_000 + sector)
    };
    lab.file("a.csv", row(1, 8) + &row(2, 64) + &row(2, 72));
    lab.file("b.csv", row(2, 8) + &row(1, 64) + &row(2, 72));
    lab.expect(0, "check a.csv a.csv");
    let differs = lab.expect(5, "check a.csv b.csv");
    assert!(differs.out.contains("in both    1 requests"), "{}", differs.out);
    assert!(differs.out.contains("read at sector 64, 8 sectors of 2\n"), "{}", differs.out);
    let json: Value = serde_json::from_str(&lab.expect(5, "check --json a.csv b.csv").out).unwrap();
    assert_eq!(
        json["missing"][1],
        serde_json::json!({"op": "read", "sector": 8, "sectors": 8, "device": "1"})
    );
    // Both devices could be the same one.
    lab.file("c.csv", row(7, 8) + &row(8, 64) + &row(8, 72));
    assert!(lab.expect(2, "check a.csv c.csv").err.contains("--split device"));
    // A load has one device without a name.
    lab.file("a.load", "0 ; 64 ; 8 ; R\n1 ; 72 ; 8 ; R\n");
    let one = lab.expect(5, "check a.load a.csv");
    assert!(one.out.contains("all are taken for one; choose with --device"), "{}", one.out);
    lab.expect(0, "check --device 2 a.load a.csv");
    assert!(lab.expect(2, "check --device 3 a.load a.csv").err.contains("those that it has: 1  2"));
}

#[test]
fn does_not_compare_times_across_boots() {
    let lab = lab();
    lab.file("a.load", ROWS.join("\n") + "\n");
    for name in ["ran", "seen"] {
        lab.expect(0, &format!("replay a.load {SIM} --start-grace 0 -o {name}"));
    }
    let edit = |file: &str, change: &dyn Fn(&mut Value)| {
        let mut value = serde_json::from_str(&std::fs::read_to_string(lab.path(file)).unwrap()).unwrap();
        change(&mut value);
        lab.file(file, value.to_string());
    };
    let boot = |name: &str, boot: Value| {
        edit(&format!("{name}/environment.json"), &|v| v["clock"]["boot_id"] = boot.clone());
    };
    let origin = |name: &str, ns: u64| {
        edit(&format!("{name}/run.json"), &|v| v["origin_monotonic_ns"] = ns.into());
    };
    // A run an hour after the recording: on one clock the recording saw nothing of it.
    origin("ran", 3_600 * S);
    origin("seen", S);
    let same = lab.expect(5, "check ran seen").out;
    assert!(same.contains("outside    6 requests") && !same.contains("note"), "{same}");
    boot("seen", serde_json::json!({"absent": "an earlier version"}));
    let unknown = lab.expect(5, "check ran seen").out;
    assert!(unknown.contains("outside    6 requests") && unknown.contains("is not known"), "{unknown}");
    boot("seen", "another".into());
    let different = lab.expect(0, "check ran seen").out;
    assert!(
        different.contains("in both    6 requests") && different.contains("cannot be compared"),
        "{different}"
    );
    let json: Value = serde_json::from_str(&lab.expect(0, "check --json ran seen").out).unwrap();
    assert_eq!(json["clock"], "different");
}

#[test]
fn load_archive_load_round_trip_keeps_every_request() {
    let lab = lab();
    let rows: String = (0..20_000u64)
        .map(|n| format!("{}.{:09} ; {} ; 8 ; R\n", n / 1000, n % 1000, n * 977 % 65_521))
        .collect();
    lab.file("many.load", rows);
    lab.expect(0, "convert many.load many.iosonar");
    let same = lab.expect(0, "check many.iosonar many.load");
    assert!(same.out.contains("in both    20000 requests"), "{}", same.out);
}

#[test]
fn process_filter_applies_only_to_the_recording() {
    let lab = lab();
    lab.file("a.load", "0 ; 64 ; 8 ; R\n1 ; 72 ; 8 ; R\n");
    lab.expect(0, &format!("replay a.load {SIM} --start-grace 0 -o ran"));
    let event = |n: u64, name: &str, sector: u64| {
        format!("{name}-{n} [001] ..... 2.{n:06}: block_bio_queue: 7,0 R {sector} + 8 [{name}]\n")
    };
    let run = event(20, "issue-0", 64) + &event(21, "issue-0", 72);
    lab.file("seen.ftrace", event(19, "cat", 8) + &run + &event(22, "cat", 16));
    assert!(lab.expect(5, "check ran seen.ftrace").out.contains("added      2 requests"));
    let same = lab.expect(0, "check --process issue-0 ran seen.ftrace").out;
    assert!(same.contains("in both    2 requests") && same.contains("and nothing else"), "{same}");
    let told = "--process issue-0 applies to the recording only, because a replay names no processes: 2 of its requests";
    assert!(same.contains(told), "{same}");
    let json: Value =
        serde_json::from_str(&lab.expect(0, "check --json --process issue-0 ran seen.ftrace").out).unwrap();
    assert_eq!((&json["same"], &json["other_processes"]), (&2.into(), &2.into()));
    // No event is of this process: everything is missing.
    assert!(lab.expect(5, "check --process dd ran seen.ftrace").out.contains("missing    2 requests"));
}

#[test]
fn ignores_signature_probing_reads() {
    let lab = lab();
    lab.file("a.load", "0 ; 0 ; 8 ; R\n1 ; 72 ; 8 ; W\n");
    lab.expect(0, &format!("replay a.load {SIM} --start-grace 0 -o ran"));
    let event = |n: u64, name: &str, rwbs: &str, sector: u64| {
        format!("{name}-{n} [001] ..... 2.{n:06}: block_bio_queue: 7,0 {rwbs} {sector} + 8 [{name}]\n")
    };
    // One of these reads lies where the replay reads, too.
    let look: String = [0, 8, 4096].iter().map(|sector| event(10, "signatures", "RA", *sector)).collect();
    let run = event(20, "issue-0", "R", 0) + &event(21, "issue-0", "WS", 72);
    lab.file("seen.ftrace", look + &run);
    let same = lab.expect(0, "check ran seen.ftrace").out;
    assert!(same.contains("in both    2 requests") && same.contains("and nothing else"), "{same}");
    assert!(same.contains("3 reads of this tool, which looks for signatures before it writes"), "{same}");
    let json: Value = serde_json::from_str(&lab.expect(0, "check --json ran seen.ftrace").out).unwrap();
    assert_eq!(json["own_reads"], 3);
    // Reads of others are counted.
    lab.file("other.ftrace", event(10, "blkid", "RA", 8) + &run);
    assert!(lab.expect(5, "check ran other.ftrace").out.contains("read at sector 8, 8 sectors"));
}
