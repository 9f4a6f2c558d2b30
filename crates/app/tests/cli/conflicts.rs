//! Overlapping requests: counts and indices of every policy, and proof from times alone.

use crate::*;
use iosonar_archive::Outcome;
use iosonar_plan::{Op, Strong};
use iosonar_testkit::{Access, Verdict, check};

const STRONG: [Strong; 3] = [Strong::WriteWrite, Strong::AnyWrite, Strong::Every];

/// Runs a fixture with all its requests submitted before the first completes.
fn conflicts(lab: &Lab, load: &str, policy: &str, strong: usize) -> Value {
    fixture(lab, load);
    let result = format!("{policy}-{strong}");
    let options = format!("--sim-service 200ms --depth 512 --overlap {policy} --strong {strong}");
    lab.expect(0, &format!("replay {load} {SIM} {options} -o {result}"));
    summary(lab, &result)
}

fn expected(load: &str, strong: usize, policy: &str) -> Value {
    let all: Value = serde_json::from_str(include_str!("../fixtures/conflict.expected.json")).unwrap();
    let found = all[load][format!("strong={strong}")][policy].clone();
    assert!(found.is_object(), "{load} {strong} {policy}");
    found
}

fn verdict(records: &[Record], strong: Strong) -> Verdict {
    let accesses: Vec<Access> = records.iter().filter_map(Access::of).collect();
    check(&accesses, strong)
}

fn total_is_the_sum(s: &Value) {
    let sum: u64 =
        ["completed", "dropped", "failed", "cancelled"].map(|name| count(s, "all", name)).iter().sum();
    assert_eq!(count(s, "all", "total"), sum);
}

const LOADS: [&str; 2] = ["conflict7.load.gz", "conflict400.load.gz"];

// 15, 17, 21
#[test]
fn drop_skips_exactly_the_expected_requests() {
    for load in LOADS {
        let lab = lab();
        for (strong, table) in STRONG.into_iter().enumerate() {
            let s = conflicts(&lab, load, "drop", strong);
            let want = expected(load, strong, "with_drop");
            assert_eq!(count(&s, "all", "completed"), want["completed"], "{load} {strong}");
            assert_eq!(count(&s, "all", "dropped"), want["dropped"], "{load} {strong}");
            assert_eq!(count(&s, "read", "dropped"), want["dropped_reads"], "{load} {strong}");
            assert_eq!(count(&s, "write", "dropped"), want["dropped_writes"], "{load} {strong}");
            total_is_the_sum(&s);
            let records = sorted(&lab, &format!("drop-{strong}"));
            let dropped: Vec<&Record> = records.iter().filter(|r| r.outcome == Outcome::Dropped).collect();
            let indices: Vec<u64> = dropped.iter().map(|r| r.sequence).take(20).collect();
            assert_eq!(serde_json::json!(indices), want["dropped_index_first20"], "{load} {strong}");
            assert!(dropped.iter().all(|r| r.submitted.is_none() && r.completed.is_none() && r.result == 0));
            assert!(verdict(&records, table).is_clean());
            if strong == 0 {
                assert!(dropped.iter().all(|r| r.op == Op::Write), "reads pass writes");
            }
        }
    }
}

/// Requests that conflict with an earlier one of the load.
fn with_an_earlier_conflict(records: &[Record], strong: Strong) -> usize {
    let conflicts = |(i, r): &(usize, &Record)| {
        records[..*i].iter().any(|e| e.executed.overlaps(r.executed) && strong.conflict(e.op, r.op))
    };
    records.iter().enumerate().filter(conflicts).count()
}

// 16, 18, 25: the counts that preserve the order among conflicting requests: 99, 257, 295.
#[test]
fn push_back_keeps_every_request_and_conflict_order() {
    for load in LOADS {
        let lab = lab();
        for (strong, table) in STRONG.into_iter().enumerate() {
            let s = conflicts(&lab, load, "push-back", strong);
            let want = expected(load, strong, "with_partial");
            assert_eq!(count(&s, "all", "completed"), want["completed"], "{load} {strong}");
            assert_eq!(count(&s, "all", "pushed"), want["pushback_preserving"], "{load} {strong}");
            assert_eq!((count(&s, "all", "dropped"), count(&s, "all", "ordered")), (0, 0));
            total_is_the_sum(&s);
            let records = sorted(&lab, &format!("push-back-{strong}"));
            let verdict = verdict(&records, table);
            assert!(verdict.is_clean(), "{load} {strong}: {verdict:?}");
            let pushed = records.iter().filter(|r| r.is_pushed()).count();
            assert!(pushed <= with_an_earlier_conflict(&records, table));
            assert!(records.iter().all(|r| r.is_pushed() == r.blocked_by.is_some() && r.is_pushed() == r.released.is_some()));
        }
    }
}

// 16: exactly those of the table of 3.3 are pushed back.
#[test]
fn push_back_marks_the_expected_requests() {
    let lab = lab();
    for (strong, want) in [(0, vec![1]), (1, vec![1, 2, 5]), (2, vec![1, 2, 4, 5])] {
        conflicts(&lab, "conflict7.load.gz", "push-back", strong);
        let records = sorted(&lab, &format!("push-back-{strong}"));
        let pushed: Vec<u64> = records.iter().filter(|r| r.is_pushed()).map(|r| r.sequence).collect();
        assert_eq!(pushed, want, "{strong}");
    }
}

// 19
#[test]
fn order_policy_keeps_load_order() {
    for load in LOADS {
        let lab = lab();
        for (strong, table) in STRONG.into_iter().enumerate() {
            let s = conflicts(&lab, load, "order", strong);
            let want = expected(load, strong, "with_ordering");
            assert_eq!(count(&s, "all", "completed"), want["completed"]);
            assert_eq!((count(&s, "all", "dropped"), count(&s, "all", "pushed")), (0, 0));
            assert!(count(&s, "all", "ordered") > 0);
            let verdict = verdict(&sorted(&lab, &format!("order-{strong}")), table);
            assert!(verdict.is_clean() && verdict.out_of_order == 0, "{load} {strong}: {verdict:?}");
        }
    }
}

// 15: with-ordering of the table of 3.3.
#[test]
fn order_waits_match_the_table() {
    let lab = lab();
    let waits = [0, 1, 2]
        .map(|strong| count(&conflicts(&lab, "conflict7.load.gz", "order", strong), "all", "ordered"));
    assert_eq!(waits, [1, 3, 4]);
}

// 20: the checker sees overlaps where they are allowed.
#[test]
fn allow_completes_all_with_detectable_overlaps() {
    let lab = lab();
    for (strong, table) in STRONG.into_iter().enumerate() {
        let s = conflicts(&lab, "conflict400.load.gz", "allow", strong);
        assert_eq!(count(&s, "all", "completed"), 400);
        for name in ["failed", "dropped", "cancelled", "pushed", "ordered"] {
            assert_eq!(count(&s, "all", name), 0, "{name}");
        }
        let verdict = verdict(&sorted(&lab, &format!("allow-{strong}")), table);
        let all: Value = serde_json::from_str(include_str!("../fixtures/conflict.expected.json")).unwrap();
        let pairs = &all["conflict400.load.gz"][format!("strong={strong}")]["pairs"];
        assert_eq!(serde_json::json!(verdict.overlapping.len()), *pairs, "{strong}");
    }
}

// 23: a completed request no longer conflicts.
#[test]
fn keeps_reads_after_completed_write() {
    let lab = lab();
    fixture(&lab, "verify5.load.gz");
    lab.expect(0, &format!("replay verify5.load.gz {SIM} --sim-service 40ms --overlap drop -o r"));
    let records = sorted(&lab, "r");
    assert!(records.iter().filter(|r| r.op == Op::Read).all(Record::is_completed));
    let dropped: Vec<u64> =
        records.iter().filter(|r| r.outcome == Outcome::Dropped).map(|r| r.sequence).collect();
    assert_eq!(dropped, [1, 2]);
}

// 25
#[test]
fn depth_is_never_exceeded_and_is_reached() {
    for depth in [1, 3, 64] {
        for policy in ["allow", "drop", "push-back", "order"] {
            let lab = lab();
            fixture(&lab, "conflict400.load.gz");
            let options = format!("--sim-service 3ms --sim-jitter 2ms --depth {depth} --overlap {policy}");
            lab.expect(0, &format!("replay conflict400.load.gz {SIM} {options} -o r"));
            let records = sorted(&lab, "r");
            let most = most_in_flight(&records);
            assert_eq!(summary(&lab, "r")["in_flight"]["max_on_one_target"], most, "{policy} {depth}");
            assert!(most <= depth, "{policy} {depth}: {most}");
            if policy != "order" {
                assert_eq!(most, depth, "{policy}");
            }
            if policy != "allow" {
                assert!(verdict(&records, Strong::AnyWrite).overlapping.is_empty());
            }
        }
    }
}

// 12
#[test]
fn service_time_of_half_a_second_is_exact() {
    let lab = lab();
    lab.file("l.load", rows(&[0, 8, 16, 24].map(|sector| ("0", sector, 8, 'R'))));
    for (i, service) in ["0.5", "500ms", "0.5s"].into_iter().enumerate() {
        lab.expect(0, &format!("replay l.load {SIM} --depth 1 --sim-service {service} -o r{i}"));
        let records = sorted(&lab, &format!("r{i}"));
        assert!(records.iter().all(|r| r.latency().unwrap().0 == 500 * MS));
        let delays: Vec<u64> = records.iter().map(|r| r.delay().unwrap().0 / MS).collect();
        assert_eq!(delays, [0, 500, 1000, 1500]);
    }
}

// 13
#[test]
fn no_request_is_early_or_faster_than_the_device() {
    let lab = lab();
    lab.expect(0, "generate mixed l.load --duration 5s --rate 300 --size 64MiB");
    for policy in ["allow", "drop", "push-back", "order"] {
        let options = format!("--overlap {policy} --sim-service 2ms --sim-jitter 1ms --depth 16");
        lab.expect(0, &format!("replay l.load {SIM} {options} -o {policy}"));
        let sent: Vec<Record> = lab.records(policy).into_iter().filter(|r| r.submitted.is_some()).collect();
        assert!(sent.len() > 500);
        assert!(sent.iter().all(|r| r.submitted.unwrap() >= r.due), "{policy}");
        assert!(sent.iter().all(|r| r.latency().unwrap().0 >= 2 * MS), "{policy}");
    }
    // The same on the real clock.
    lab.expect(
        0,
        "replay l.load -t dev --size 1GiB --engine null --start-grace 0 --speed 50 --no-progress -o null",
    );
    assert!(lab.records("null").iter().all(|r| r.submitted.unwrap() >= r.due));
}
