//! The form for a mailing list against files in `golden/`. `BLESS=1 cargo test -p iosonar-plaintext --test mail` writes
//! them again.

mod common;

use common::{Run, empty, extreme, replay};
use iosonar_analyze::demand::{Demand, DemandOptions, DemandTally};
use iosonar_plaintext::{LoadText, Mail, MailOptions, mail};
use iosonar_text::units::Charset;
use std::path::Path;

fn check(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == golden, "{name} differs; if that is right, bless it with BLESS=1. Now it is:\n{text}");
    assert!(text.len() < 6_000, "{name}: {}", text.len());
    for line in text.lines() {
        assert!(line.chars().count() <= 72, "{name}: {line}");
        assert!(!line.chars().any(char::is_control), "{name}: {line:?}");
    }
}

fn of_run(run: &Run, findings: &[String], options: MailOptions) -> String {
    let (summary, diagrams) = (run.summary(), run.diagrams());
    mail(&Mail::of_run(&summary, &diagrams.latency, findings), options)
}

#[test]
fn runs_match_golden_files() {
    let one = replay(1, 1.0, false);
    let mut at_once = replay(500, 1e-9, false);
    at_once.records.iter_mut().for_each(|r| (r.submitted, r.completed) = (Some(r.due), Some(r.due)));
    let findings =
        ["cannot follow after 79.2 s: demanded 171, delivered 153 requests per second".to_string()];
    for (name, run, findings) in [
        ("mail-replay.txt", replay(200_000, 1_100.0, false), &[][..]),
        ("mail-collapse.txt", replay(20_000, 120.0, true), &findings[..]),
        ("mail-extreme.txt", extreme(), &[]),
        ("mail-empty.txt", empty(&["/dev/sdx"]), &[]),
        ("mail-one.txt", one, &[]),
        ("mail-at-once.txt", at_once, &[]),
    ] {
        let text = of_run(&run, findings, MailOptions::default());
        check(name, &text);
        assert!(text.is_ascii(), "{name}");
    }
}

#[test]
fn half_blocks_match_golden_files() {
    let run = replay(200_000, 1_100.0, false);
    let text = of_run(&run, &[], MailOptions { pictures: Charset::Unicode });
    check("mail-blocks.txt", &text);
    assert!(text.chars().all(|c| c.is_ascii() || "▀▄█".contains(c)));
}

#[test]
fn loads_match_golden_files() {
    let ramp: Vec<u64> = (0..900).map(|s| s * s % 17 + s / 10).collect();
    let second = 1_000_000_000;
    for (name, requests, window_ns) in [
        ("mail-load.txt", ramp, second),
        ("mail-load-at-once.txt", vec![7_000_000], second),
        ("mail-load-empty.txt", vec![], second),
        ("mail-load-long.txt", vec![u64::MAX >> 20; 5], u64::MAX >> 3),
    ] {
        let figures = vec![
            ("requests".to_string(), "40 000, of these 25 200 reads (63.0 %)".to_string()),
            ("working set".to_string(), "604 MiB at the end, at most 1.20 MiB in 1 s".to_string()),
        ];
        let report = Mail {
            head: vec!["ramp.load".to_string()],
            load: Some(LoadText { figures, requests, window_ns }),
            ..Default::default()
        };
        check(name, &mail(&report, MailOptions::default()));
    }
}

#[test]
fn analyzed_load_matches_golden_file() {
    let mut records = replay(20_000, 1_100.0, false).records;
    records.sort_by_key(|r| r.due);
    let mut tally = DemandTally::new(&DemandOptions::default());
    records.iter().filter_map(Demand::of).for_each(|d| tally.add(&d));
    for (name, load) in [
        ("mail-analyzed.txt", tally.finish()),
        ("mail-analyzed-empty.txt", DemandTally::new(&DemandOptions::default()).finish()),
    ] {
        let report = Mail {
            head: vec!["iosonar 0.1.0".to_string(), "mysql.load.gz".to_string()],
            load: Some(LoadText::of(&load)),
            ..Default::default()
        };
        let text = mail(&report, MailOptions::default());
        check(name, &text);
        assert!(text.is_ascii());
    }
}

#[test]
fn long_lists_are_truncated_with_a_note() {
    let findings: Vec<String> = (0..500).map(|i| format!("stall {i}: global, 1.41 s, 17 held")).collect();
    let text = of_run(&replay(2_000, 10.0, false), &findings, MailOptions::default());
    assert!(text.len() < 6_000 && text.contains("\n   and "), "{text}");
}
