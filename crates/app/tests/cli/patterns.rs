//! Patterns in fio's words: the issued requests match the words, and the equivalent plan is the same run.

use crate::*;
use iosonar_plan::{Nanos, Op};
use std::collections::{BTreeMap, BTreeSet};

/// The simulated engine without a plan; --size pretends the target, too.
const RUN: &str = "run --engine sim --no-progress -t dev";

/// Runs a pattern and returns its records in the order of the source.
#[track_caller]
fn run(lab: &Lab, name: &str, words: &str) -> Vec<Record> {
    lab.expect(0, &format!("{RUN} {words} -o {name}"));
    sorted(lab, name)
}

/// The requested accesses, before the target's rounding.
fn asked(records: &[Record]) -> Vec<(u64, Op, u64, u64)> {
    records.iter().map(|r| (r.sequence, r.op, r.requested.offset, r.requested.length)).collect()
}

// The twin oracle: words and plan, one run; and each word of fio is known.
#[test]
fn shown_plan_reproduces_the_run() {
    slow!();
    let lab = lab();
    for (i, words) in [
        "--rw read --bs 64k --size 16m",
        "--rw write --bs=4k --size=1m --offset=64k --iodepth=4",
        "--rw rw --rwmixread 30 --bs 4k,16k --size 4m --number-ios 500",
        "--rw randread --size 1g --number-ios 500 --iodepth 16 --seed 5",
        "--rw randwrite --size 64m --runtime 0.1 --norandommap --iodepth 8 --overlap order",
        "--rw randrw --bsrange 1k-64k --size 1g --rate 10m --runtime 1 --ramp-time 0.5 --iodepth 64",
        "--rw randrw --bssplit 4k/60:64k/40,8k --size 1g --rate 10m --rate-process poisson --number-ios 300",
        "--rw randread --size 1g --rate-iops 700 --rate-process poisson --number-ios 300 --randseed 9",
        "--rw write --bs=4k --size=1m --iodepth=4 --thinktime 2ms --thinktime-blocks 8 --thinktime-spin 1ms --fsync 8",
        "--rw randread --size 1g --random-distribution zipf:1.1 --number-ios 300",
        "--rw randread --size 1g --random-distribution pareto:0.2 --number-ios 300",
        "--rw randread --size 1g --random-distribution normal:20 --number-ios 300",
        "--rw randread --size 1g --random-distribution zoned:60/10:30/20:8/30:2/40 --number-ios 300",
        "--rw randread --size 1g --random-distribution zoned_abs:60/100m:40/800m --number-ios 300",
        "--rw randwrite --size 1g --number-ios 300 --fill-random 50 --run-id 3 --sync --sim-jitter 1ms",
    ]
    .iter()
    .enumerate()
    {
        let [typed, planned] = twins(&lab, i, &format!("{RUN} {words}"));
        assert!(typed == planned, "{words}");
    }
}

/// Four jobs at a depth of four pause for 5 ms after each eight requests, once all of these have completed. Nothing of a
/// pause that the end of the run cuts off is issued.
#[test]
fn think_time_follows_n_completed_requests() {
    let lab = lab();
    let words = "--rw randrw --bs 4k --size 1g --numjobs 4 --iodepth 4 --thinktime 5ms --thinktime-blocks 8";
    let all = run(&lab, "pauses", &format!("{words} --number-ios 1000 --sim-jitter 200us"));
    for job in 0..4 {
        let mut own: Vec<&Record> = all.iter().filter(|r| r.worker == job).collect();
        own.sort_by_key(|r| r.submitted);
        assert_eq!(own.len(), 250);
        for (number, group) in own.chunks(8).enumerate().skip(1) {
            let before = own[..number * 8].iter().map(|r| r.completed.unwrap()).max().unwrap();
            assert_eq!(group[0].submitted.unwrap(), Nanos(before.0 + 5_000_000), "{job} {number}");
        }
    }
    let ended = run(&lab, "ended", &format!("{words} --runtime 0.012"));
    assert!(ended.iter().all(|r| r.submitted.unwrap() < Nanos(12_000_000)), "{ended:?}");
    for (words, why) in [
        ("--thinktime 5ms --rate-iops 5", "cannot be used with"),
        ("--thinktime 5ms --thinktime-spin 6ms", "--thinktime-spin"),
        ("--thinktime 5ms --thinktime-blocks 0", "--thinktime-blocks"),
        ("--thinktime-blocks 5", "--thinktime"),
    ] {
        let refused = lab.expect(2, &format!("{RUN} --rw read --size 1m {words}"));
        assert!(refused.err.contains(why), "{}", refused.err);
    }
}

#[test]
fn accepts_fio_spellings() {
    let lab = lab();
    let shown = |words: &str| lab.expect(0, &format!("{RUN} --run-id 1 --size 1g {words} --show-plan")).out;
    let ours = shown(
        "--rw randrw --bs 8k --iodepth 4 --rate-iops 10 --rate-process poisson --runtime 60 --ramp-time 5 \
         --random-distribution zipf:1.2 --number-ios 100 --seed 7",
    );
    let fios = shown(
        "--readwrite=randrw --blocksize=8k --iodepth=4 --rate_iops=10 --rate_process=poisson --runtime=60 \
         --ramp_time=5 --random_distribution=zipf:1.2 --number_ios=100 --randseed=7",
    );
    assert_eq!(ours, fios);
    assert!(ours.contains("theta = \"1.2\"") && ours.contains("ramp = \"5s\""), "{ours}");
    let help = lab.expect(0, "run --help").out;
    for word in [
        "--rw",
        "--bs ",
        "--bsrange",
        "--bssplit",
        "--iodepth",
        "--numjobs",
        "--rwmixread",
        "--rate ",
        "--rate-iops",
        "--rate-process",
        "--runtime",
        "--ramp-time",
        "zipf",
        "pareto",
        "normal",
        "zoned",
        "randseed",
        "Examples:",
        "docs/patterns.md",
        "--norandommap",
        "--number-ios",
    ] {
        assert!(help.contains(word), "{word} is not in the help");
    }
}

#[test]
fn several_jobs_get_the_required_overlap_policy() {
    let lab = lab();
    let policy = |words: &str| {
        let shown = lab.expect(0, &format!("{RUN} --size 1g {words} --show-plan")).out;
        shown.lines().find_map(|l| l.strip_prefix("policy = ")).unwrap().to_string()
    };
    assert_eq!(policy("--rw randwrite"), "\"push-back\"");
    assert_eq!(policy("--rw randwrite --numjobs 4"), "\"allow\"");
    assert_eq!(policy("--rw randread --numjobs 4"), "\"push-back\"");
    assert_eq!(policy("--rw randwrite --numjobs 4 --overlap allow"), "\"allow\"");
}

// The issued requests are those of the plan, whatever executes it.
#[test]
fn requests_do_not_depend_on_depth_engine_or_pace() {
    let lab = lab();
    let words = "--rw randrw --rwmixread 60 --bssplit 4k/60:64k/40 --norandommap --size 64m --number-ios 400 \
                 --overlap allow";
    let base = asked(&run(&lab, "a", words));
    assert_eq!(base.len(), 400);
    for (i, more) in [
        "--iodepth 32",
        "--iodepth 7 --sim-jitter 3ms",
        "--rate-iops 1000 --iodepth 16",
        "--rate 5m --rate-process poisson",
    ]
    .iter()
    .enumerate()
    {
        assert_eq!(asked(&run(&lab, &format!("b{i}"), &format!("{words} {more}"))), base, "{more}");
    }
    lab.expect(0, &format!("run --dry-run --no-progress -t dev {words} -o c"));
    assert_eq!(asked(&sorted(&lab, "c")), base);
    assert_ne!(asked(&run(&lab, "d", &format!("{words} --randseed 2"))), base);
}

/// The hash of the requests issued to a result's first target.
#[track_caller]
fn issued_hash(lab: &Lab, result: &str) -> String {
    let text = std::fs::read_to_string(lab.path(result).join("run.json")).expect("a run");
    let run: Value = serde_json::from_str(&text).expect("a run is JSON");
    run["targets"][0]["issued_hash"].as_str().expect("a hash").to_string()
}

#[test]
fn issued_hash_does_not_depend_on_number_of_jobs() {
    slow!();
    let lab = lab();
    for (order, words) in [
        ("shuffled", "--rw randrw --rwmixread 60"),
        ("split", "--rw randrw --bssplit 4k/60:64k/40 --rate 900m --rate-process poisson"),
        ("zipf", "--rw randread --random-distribution zipf:1.1"),
        ("stream", "--rw rw --bs 4k,12k --rate-iops 20000"),
    ] {
        let words = format!("{words} --size 64m --number-ios 2000 --iodepth 4 --overlap allow");
        let one = asked(&run(&lab, &format!("{order}1"), &words));
        let hash = issued_hash(&lab, &format!("{order}1"));
        for jobs in [2, 3, 7] {
            let name = format!("{order}{jobs}");
            assert_eq!(asked(&run(&lab, &name, &format!("{words} --numjobs {jobs}"))), one, "{words}");
            assert_eq!(issued_hash(&lab, &name), hash);
        }
        lab.expect(0, &format!("run --dry-run --no-progress -t dev {words} --numjobs 4 -o {order}-null"));
        assert_eq!(issued_hash(&lab, &format!("{order}-null")), hash);
        for (name, more) in [("seed", "--seed 2"), ("offset", "--offset 4k"), ("fewer", "--number-ios 1999")]
        {
            let words = words.replace(if name == "fewer" { "--number-ios 2000" } else { "?" }, "");
            run(&lab, &format!("{order}-{name}"), &format!("{words} {more}"));
            let same = name == "seed" && order == "stream";
            assert_eq!(issued_hash(&lab, &format!("{order}-{name}")) == hash, same, "{order} {more}");
        }
    }
}

#[test]
fn each_job_keeps_the_mix_when_time_ends_the_run() {
    let lab = lab();
    let words =
        "--rw randrw --rwmixread 50 --size 64m --runtime 0.5 --numjobs 2 --iodepth 2 --sim-service 200us";
    let records = run(&lab, "r", words);
    let reads = records.iter().filter(|r| r.op == Op::Read).count();
    // Two jobs, two in flight each, 200 us: 10 000 requests; each job's share is random, within half a request per round.
    assert_eq!(records.len(), 10_000);
    assert!(reads.abs_diff(5000) < 300, "{reads}");
}

#[test]
fn random_requests_do_not_repeat_unless_allowed() {
    let lab = lab();
    let blocks = |records: &[Record]| records.iter().map(|r| r.requested.offset / 4096).collect::<Vec<_>>();
    let once = blocks(&run(&lab, "once", "--rw randread --size 1m"));
    assert_ne!(once, (0..256).collect::<Vec<_>>());
    assert_eq!(once.iter().copied().collect::<BTreeSet<_>>(), (0..256).collect());
    assert_eq!(once.len(), 256);
    let again = blocks(&run(&lab, "again", "--rw randread --size 1m --norandommap"));
    assert!(again.iter().collect::<BTreeSet<_>>().len() < 256, "256 draws of 256 without a repeat");
    let mixed =
        lab.expect(0, &format!("{RUN} --rw randread --bsrange 4k-8k --size 1m --number-ios 10 -o mixed"));
    assert!(mixed.err.contains("may repeat") && mixed.err.contains("--norandommap"), "{}", mixed.err);
}

#[test]
fn sizes_and_mix_match_the_request() {
    let lab = lab();
    let words =
        "--rw randrw --rwmixread 25 --bssplit 4k/50:64k/50,8k/100 --size 1g --number-ios 1000 --norandommap";
    let records = run(&lab, "r", words);
    let mut counts = BTreeMap::new();
    records.iter().for_each(|r| *counts.entry((r.op == Op::Write, r.requested.length)).or_insert(0u32) += 1);
    assert_eq!(counts.keys().copied().collect::<Vec<_>>(), [(false, 4096), (false, 65_536), (true, 8192)]);
    assert_eq!(counts[&(true, 8192)], 750);
    // Of 250 reads half are short: the standard deviation is 8.
    assert!(counts[&(false, 4096)].abs_diff(125) < 48, "{counts:?}");
}

#[test]
fn a_ramp_ends_without_a_spike() {
    let lab = lab();
    let words = "--rw randread --size 1g --rate-iops 1000 --runtime 2 --ramp-time 1 --iodepth 8";
    let records = run(&lab, "r", words);
    // Runtime counts from the end of the ramp, and the timetable ignores the ramp.
    assert_eq!(records.len(), 3000);
    assert!(records.iter().enumerate().all(|(i, r)| r.due.0 == i as u64 * MS && r.delay().unwrap().0 == 0));
}

#[test]
fn hot_spots_are_where_requested() {
    let lab = lab();
    let share = |name: &str, which: &str, inside: fn(u64) -> bool| {
        let words =
            format!("--rw randread --size 400m --random-distribution {which} --number-ios 4000 --iodepth 8");
        let records = run(&lab, name, &words);
        records.iter().filter(|r| inside(r.requested.offset >> 20)).count()
    };
    // Six standard deviations of 4000 draws are at most 190.
    assert!(share("zoned", "zoned:60/10:40/90", |mib| mib < 40).abs_diff(2400) < 190);
    assert!(share("abs", "zoned_abs:60/10m:40/90m", |mib| mib < 10).abs_diff(2400) < 190);
    assert_eq!(share("abs2", "zoned_abs:60/10m:40/90m", |mib| mib >= 100), 0);
    assert!(share("normal", "normal:10", |mib| (160..240).contains(&mib)).abs_diff(2731) < 190);
    // Of 102 400 blocks, the hottest gets 1 of 9.7 at theta 1.1; uniformly drawn, none would get more than a few.
    let records =
        run(&lab, "zipf", "--rw randread --size 400m --random-distribution zipf:1.1 --number-ios 4000");
    let mut counts = BTreeMap::new();
    records.iter().for_each(|r| *counts.entry(r.requested.offset).or_insert(0u32) += 1);
    let hottest = *counts.values().max().unwrap();
    let sum: f64 = (1..=102_400).map(|k| f64::from(k).powf(-1.1)).sum();
    assert!((f64::from(hottest) - 4000.0 / sum).abs() < 6.0 * (4000.0 / sum).sqrt(), "{hottest}");
}

/// Asserts that `run` with these words is refused with all of `expected`, and creates nothing.
#[track_caller]
fn refuses(words: &str, expected: &[&str]) {
    let lab = lab();
    lab.target("t.img", 1 << 20);
    lab.file("plan.toml", "");
    let ended = lab.expect(2, &format!("run {words} --no-progress -o out"));
    for word in expected {
        assert!(ended.err.contains(word), "iosonar run {words}\nno '{word}' in:\n{}", ended.err);
    }
    assert!(!lab.path("out").exists() && ended.out.is_empty() && !ended.err.contains("panicked"));
}

#[test]
fn rejects_options_without_effect() {
    const READ: &str = "-t t.img --number-ios 9 --rw";
    for (words, expected) in [
        ("", &["--target is missing", "iosonar run plan.toml", "--rw randread"][..]),
        ("--rw read", &["--target is missing"]),
        ("-t t.img --runtime 1", &["--rw is missing"]),
        ("plan.toml --bs 4k", &["--bs", "plan.toml", "no effect"]),
        ("plan.toml --rate_iops 4", &["--rate-iops", "no effect"]),
        ("plan.toml --seed 1", &["--seed", "no effect"]),
        ("plan.toml --target t.img", &["--target", "no effect"]),
        ("-t t.img --rw randread --time-based", &["--time-based", "--runtime"]),
        ("-t t.img --rw randread --time-based --runtime 1 --io-size 1m", &["--time-based", "--io-size"]),
        ("-t t.img --engine null --rw randread --size 50%", &["--size 50%", "give bytes"]),
        (&format!("{READ} read --rwmixread 50"), &["--rwmixread", "--rw rw"]),
        (&format!("{READ} randwrite --rwmixread 50"), &["--rwmixread", "--rw randrw"]),
        (&format!("{READ} randread --bs 4k,8k"), &["--bs", "--rw randread"]),
        (&format!("{READ} read --random-distribution zipf"), &["--random-distribution", "--rw randread"]),
        (&format!("{READ} rw --norandommap"), &["--norandommap", "--rw randrw"]),
        (
            &format!("{READ} randread --norandommap --random-distribution zipf"),
            &["--norandommap", "repeat anyhow"],
        ),
        (&format!("{READ} read --fill-random 50"), &["--fill-random", "writes nothing"]),
        (&format!("{READ} read --rate-process poisson"), &["--rate-process", "--rate-iops"]),
        (&format!("{READ} read --sim-jitter 1ms"), &["--sim-jitter", "--engine sim"]),
    ] {
        refuses(words, expected);
    }
}

#[test]
fn rejects_contradictory_options() {
    const READ: &str = "-t t.img --number-ios 9 --rw";
    for (words, expected) in [
        (&format!("{READ} read --bs 4k --bsrange 1k-2k"), &["--bs and --bsrange", "remove one"][..]),
        (&format!("{READ} read --bsrange 1k-2k --bssplit 4k"), &["--bsrange and --bssplit"]),
        (&format!("{READ} read --rate 1m --rate-iops 5"), &["--rate and --rate-iops", "remove one"]),
        (&format!("{READ} read --rate 1m,2m"), &["--rate", "sum"]),
        (&format!("{READ} read --runtime 0"), &["--runtime 0"]),
        (&format!("{READ} randwrite --numjobs 2 --overlap order"), &["--overlap", "--numjobs 2", "allow"]),
        (&format!("{READ} randtrimwrite"), &["trims", "--rwmixtrim 50"]),
        (&format!("{READ} randread --random-distribution zipf:0"), &["zipf:0", "above 0"]),
        (&format!("{READ} randread --random-distribution zipf:1.1:0.5"), &["zipf", "centre"]),
        (&format!("{READ} randread --random-distribution flat"), &["zipf:THETA"]),
        (&format!("{READ} randread --random-distribution zoned:60/10:40/80"), &["90 percent", "100"]),
        (
            &format!("{READ} randread --random-distribution zoned_abs:100/2m"),
            &["zones", "2097152", "1048576"],
        ),
        (&format!("{READ} read --bssplit 4k/50:8k/40"), &["90 percent", "100"]),
        (&format!("{READ} read --bsrange 8k-4k"), &["multiple"]),
        (&format!("{READ} read --bs 1000"), &["multiples", "--buffered"]),
        (&format!("{READ} read --bs 2m"), &["2097152", "larger target"]),
        (&format!("{READ} read --rate-iops 0"), &["--rate-iops 0", "above 0"]),
        (&format!("{READ} read --rate-iops 9 --ramp-time 1h"), &["ramp", "shorter"]),
    ] {
        refuses(words, expected);
    }
}
