//! `iosonar check`: what was asked for against what was seen.

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
fn what_is_missing_is_named_and_order_and_letters_mean_nothing() {
    let lab = lab();
    lab.file("a.load", ROWS.join("\n") + "\n");
    let mut other: Vec<String> = ROWS.iter().map(|r| r.replace("; w ;", "; W ;")).collect();
    // Times and the order of equal sectors are others.
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
fn a_run_is_checked_by_what_it_really_did() {
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
fn no_request_is_lost_between_a_load_an_archive_and_a_load() {
    let lab = lab();
    let rows: String = (0..20_000u64)
        .map(|n| format!("{}.{:09} ; {} ; 8 ; R\n", n / 1000, n % 1000, n * 977 % 65_521))
        .collect();
    lab.file("many.load", rows);
    lab.expect(0, "convert many.load many.iosonar");
    let same = lab.expect(0, "check many.iosonar many.load");
    assert!(same.out.contains("in both    20000 requests"), "{}", same.out);
}
