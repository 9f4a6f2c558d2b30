//! Plans: the output of `--show-plan` is the same run, and features that only a plan has: patterns and passes.

use crate::*;
use iosonar_plan::Op;

/// A plan on the simulated engine; `head` may override its top level, `model` adds to the engine.
fn plan(head: &str, model: &str, targets: &[&str]) -> String {
    let target = |(i, workload): (usize, &&str)| {
        format!(
            "[[target]]\npath = \"dev{i}\"\nsize = \"1MiB\"\n[target.workload]\nkind = \"generated\"\n{workload}\n"
        )
    };
    let targets: String = targets.iter().enumerate().map(target).collect();
    format!(
        "version = 2\nrun_id = 1\nseed = 1\n{head}\n[engine]\nkind = \"sim\"\nservice = \"1ms\"\n{model}\n{targets}"
    )
}

const CLOSED: &str = "pace = { kind = \"closed\" }";

/// Runs a plan and returns its records in the order of the source.
#[track_caller]
fn run(lab: &Lab, name: &str, plan: &str) -> Vec<Record> {
    lab.file(&format!("{name}.toml"), plan);
    lab.expect(0, &format!("run {name}.toml --no-progress -o {name}"));
    sorted(lab, name)
}

// The twin oracle: two front ends, one run.
#[test]
fn shown_plan_reproduces_the_run() {
    let lab = lab();
    lab.expect(0, "generate mixed a.load.gz --duration 4s --rate 300 --size 64MiB --seed 5");
    lab.expect(0, "generate bursts b.load --duration 4s --rate 40 --size 64MiB");
    fixture(&lab, "backshift.load.gz");
    fixture(&lab, "odd.load.gz");
    let sim = "--engine sim --size 64MiB --no-progress";
    for (i, args) in [
        format!("a.load.gz -t dev {sim}"),
        format!("a.load.gz b.load -t d0 d1 d2 {sim} --overlap drop --strong 2 --depth 7 --sim-channels 3 --seed 9"),
        format!("b.load -t d0 d1 {sim} --start 0.5 --duration 1.25 --delta 250ms --speed 1.5 --overlap order --strong 0"),
        format!("a.load.gz -t dev {sim} --asap --overlap allow --sim-jitter 700us --sim-errors 20 --sim-short 30"),
        format!("b.load -t dev {sim} --sim-service 2.5ms --sim-stall 100ms/1s --fill-random 33 --run-id 77 --sync"),
        format!("backshift.load.gz -t dev {sim} --backward shift --start 11"),
        format!("backshift.load.gz -t dev {sim} --backward sort"),
        format!("odd.load.gz -t dev {sim} --skip-bad"),
    ]
    .iter()
    .enumerate()
    {
        let shown = lab.expect(0, &format!("replay {args} --show-plan -o never")).out;
        assert!(!lab.path("never").exists());
        lab.file("plan.toml", &shown);
        let code = lab.run(&format!("replay {args} -o typed{i}")).code;
        lab.expect(code, &format!("run plan.toml --no-progress -o planned{i}"));
        let typed = sorted(&lab, &format!("typed{i}"));
        assert!(!typed.is_empty());
        assert!(typed == sorted(&lab, &format!("planned{i}")), "{args}");
        // And the archive contains the plan, so that the run can be repeated from it alone.
        assert_eq!(lab.expect(0, &format!("show planned{i} --show-plan")).out, shown, "{args}");
        assert_eq!(lab.expect(0, "run plan.toml --show-plan").out, shown);
        lab.file("again.toml", lab.expect(0, &format!("show typed{i} --show-plan")).out);
        lab.expect(code, &format!("run again.toml --no-progress -o again{i}"));
        assert!(typed == sorted(&lab, &format!("again{i}")), "{args}");
    }
}

#[test]
fn sequential_pattern_wraps_within_its_region() {
    let lab = lab();
    let workload = format!(
        "order = \"sequential\"\nblock_size = \"4k\"\nread_percent = 100\noffset = \"64KiB\"\nregion = \"32KiB\"\n{CLOSED}\nstop = {{ requests = 20 }}"
    );
    let records = run(&lab, "r", &plan("depth = 1", "", &[&workload]));
    let got: Vec<_> = records.iter().map(|r| (r.executed.offset, r.executed.length)).collect();
    let want: Vec<_> = (0..20).map(|i| (65_536 + i % 8 * 4_096, 4_096)).collect();
    assert_eq!(got, want);
}

#[test]
fn a_random_pattern_is_seeded_and_covers_its_region() {
    let lab = lab();
    let workload = format!(
        "order = \"random\"\nblock_size = \"8k\"\nread_percent = 30\noffset = \"64KiB\"\n{CLOSED}\nstop = {{ requests = 2000 }}"
    );
    let text = plan("depth = 8\noverlap = { policy = \"allow\" }", "jitter = \"2ms\"", &[&workload]);
    let records = run(&lab, "a", &text);
    assert!(records == run(&lab, "b", &text), "equal seeds, equal runs");
    let blocks = |records: &[Record]| records.iter().map(|r| r.executed.offset).collect::<Vec<_>>();
    assert_ne!(blocks(&records), blocks(&run(&lab, "c", &text.replace("seed = 1", "seed = 2"))));
    let distinct: std::collections::BTreeSet<_> = blocks(&records).into_iter().collect();
    // 120 blocks and 2000 draws: that one of them is never drawn has a chance of 1 in 100 000.
    assert_eq!(distinct, (8..128).map(|b| b * 8_192).collect());
    assert!(records.iter().all(|r| r.executed.length == 8_192));
}

#[test]
fn the_mix_is_exact_in_every_hundred() {
    let lab = lab();
    for percent in [0, 1, 50, 70, 99, 100] {
        let workload = format!("order = \"random\"\nblock_size = 4096\nread_percent = {percent}\n{CLOSED}\nstop = {{ requests = 500 }}").replace("= 4096", "= \"4096\"");
        let records = run(&lab, &format!("r{percent}"), &plan("depth = 4", "", &[&workload]));
        for hundred in records.chunks(100) {
            assert_eq!(hundred.iter().filter(|r| r.op == Op::Read).count(), percent);
        }
    }
}

#[test]
fn closed_loop_reaches_but_never_exceeds_its_depth() {
    let lab = lab();
    let workload = format!(
        "order = \"sequential\"\nblock_size = \"4k\"\nread_percent = 100\n{CLOSED}\nstop = {{ requests = 200 }}"
    );
    for depth in [1, 5, 32] {
        let name = format!("r{depth}");
        let records = run(&lab, &name, &plan(&format!("depth = {depth}"), "jitter = \"3ms\"", &[&workload]));
        assert_eq!(records.len(), 200);
        assert_eq!(most_in_flight(&records), depth);
        // As soon as there is room: nothing is late, and the next goes when one completes.
        assert!(records.iter().all(|r| r.delay().unwrap().0 == 0));
        let s = summary(&lab, &name);
        assert_eq!(s["in_flight"]["max_on_one_target"], depth);
        assert_eq!(s["run"]["has_timetable"], false);
    }
    // One at a time, 1 ms each, back to back.
    let records = run(&lab, "exact", &plan("depth = 1", "", &[&workload]));
    assert!(records.iter().enumerate().all(|(i, r)| r.submitted.unwrap().0 == i as u64 * MS));
}

#[test]
fn closed_loop_ends_after_its_runtime() {
    let lab = lab();
    let workload = format!(
        "order = \"sequential\"\nblock_size = \"4k\"\nread_percent = 100\n{CLOSED}\nstop = {{ runtime = \"50ms\" }}"
    );
    let records = run(&lab, "r", &plan("depth = 2", "", &[&workload]));
    assert_eq!(records.len(), 100);
    assert!(records.iter().all(|r| r.submitted.unwrap().0 < 50 * MS));
}

#[test]
fn constant_rate_has_exact_due_times() {
    let lab = lab();
    let workload = "order = \"random\"\nblock_size = \"4k\"\nread_percent = 50\npace = { kind = \"rate\", iops = 3, process = \"constant\" }\nstop = { requests = 10 }";
    let records = run(&lab, "r", &plan("depth = 4", "", &[workload]));
    let want: Vec<u64> = (0..10).map(|i| i * S / 3).collect();
    assert_eq!(records.iter().map(|r| r.due.0).collect::<Vec<_>>(), want);
    assert!(records.iter().all(|r| r.submitted.unwrap() == r.due && r.load_time == r.due));
    let timed = workload.replace("requests = 10", "runtime = \"2s\"");
    assert_eq!(run(&lab, "timed", &plan("depth = 4", "", &[&timed])).len(), 6);
}

#[test]
fn poisson_arrivals_are_seeded_and_keep_their_rate() {
    let lab = lab();
    let workload = "order = \"random\"\nblock_size = \"4k\"\nread_percent = 50\npace = { kind = \"rate\", iops = 1000, process = \"poisson\" }\nstop = { requests = 5000 }";
    let text = plan("depth = 64", "", &[workload]);
    let records = run(&lab, "a", &text);
    assert!(records == run(&lab, "b", &text));
    assert!(records.windows(2).all(|w| w[0].due <= w[1].due));
    let span = records.last().unwrap().due.as_secs_f64();
    // The standard deviation of the span of 5000 arrivals is 1.4 %.
    assert!((4.6..5.4).contains(&span), "{span}");
    let other = run(&lab, "c", &text.replace("seed = 1", "seed = 2"));
    assert!(records.iter().zip(&other).all(|(a, b)| a.due != b.due));
}

#[test]
fn pass_starts_when_all_targets_ended_the_previous() {
    let lab = lab();
    let closed = |n: u32, percent: u8| {
        format!(
            "order = \"random\"\nblock_size = \"4k\"\nread_percent = {percent}\n{CLOSED}\nstop = {{ requests = {n} }}"
        )
    };
    let rate = "order = \"sequential\"\nblock_size = \"4k\"\nread_percent = 50\npace = { kind = \"rate\", iops = 500, process = \"poisson\" }\nstop = { requests = 80 }";
    let (short, long) = (closed(30, 50), closed(300, 100));
    let records = run(&lab, "r", &plan("passes = 3\ndepth = 3", "jitter = \"1ms\"", &[&short, &long, rate]));
    for (target, requests) in [(0, 30), (1, 300), (2, 80)] {
        for pass in 0..3 {
            let of: Vec<u64> =
                records.iter().filter(|r| (r.target, r.pass) == (target, pass)).map(|r| r.sequence).collect();
            assert_eq!(of, (0..requests).collect::<Vec<_>>(), "target {target} pass {pass}");
        }
    }
    for pass in 1..3 {
        let ended = records.iter().filter(|r| r.pass < pass).filter_map(|r| r.completed).max().unwrap();
        let begun = records.iter().filter(|r| r.pass == pass).filter_map(|r| r.submitted).min().unwrap();
        assert!(begun >= ended, "pass {pass} began at {begun}, the one before ended at {ended}");
        assert!(records.iter().filter(|r| r.pass == pass).all(|r| r.due >= ended));
    }
    assert_eq!(count(&summary(&lab, "r"), "all", "total"), 3 * 410);
    // Each pass draws its own addresses.
    let first: Vec<_> = records.iter().filter(|r| (r.target, r.pass) == (1, 0)).map(|r| r.executed).collect();
    let second: Vec<_> =
        records.iter().filter(|r| (r.target, r.pass) == (1, 1)).map(|r| r.executed).collect();
    assert_ne!(first, second);
}

#[test]
fn a_load_can_be_replayed_in_passes() {
    let lab = lab();
    lab.file("l.load", rows(&[("3", 8, 8, 'R'), ("3.5", 16, 8, 'R'), ("5", 24, 8, 'W')]));
    let plan =
        lab.expect(0, &format!("replay l.load {SIM} --show-plan")).out.replace("passes = 1", "passes = 2");
    let records = run(&lab, "r", &plan);
    // The second pass begins when the last request of the first completed: 2 s and 100 us.
    let got: Vec<_> = records.iter().map(|r| (r.pass, r.sequence, r.due.0 / 1000)).collect();
    let want = [
        (0, 0, 0),
        (0, 1, 500_000),
        (0, 2, 2_000_000),
        (1, 0, 2_000_100),
        (1, 1, 2_500_100),
        (1, 2, 4_000_100),
    ];
    assert_eq!(got, want);
    assert_eq!(
        records.iter().map(|r| r.load_time.0 / MS).collect::<Vec<_>>(),
        [3000, 3500, 5000, 3000, 3500, 5000]
    );
}

/// Samples of the CPU time of the issuing threads: time and value.
fn issuing_cpu(lab: &Lab, result: &str) -> Vec<(u64, f64)> {
    let mut issuing = Vec::new();
    let archive = iosonar_archive::Archive::open(&lab.path(result)).unwrap();
    let take = &mut |time, series: &iosonar_evidence::Series, value| {
        if series.to_string() == "issuing.cpu_ns" {
            issuing.push((time, value));
        }
    };
    archive.for_each_sample(take).unwrap();
    issuing
}

/// Counts during the wait for the start are not part of the first interval.
#[test]
fn first_sample_is_at_time_zero_and_second_one_interval_later() {
    slow!();
    let lab = lab();
    let run = "run -t n --size 1GiB --engine null --rw randread --bs 4k --rate-iops 1000 --runtime 1.5s --no-progress";
    lab.expect(0, &format!("{run} --start-delay 1s --sample-every 1s -o r"));
    let times: Vec<u64> = issuing_cpu(&lab, "r").into_iter().map(|(time, _)| time).collect();
    assert_eq!(times[0], 0);
    assert!(times[1] >= 900_000_000, "{times:?}");
}

#[test]
fn samples_machine_at_planned_interval() {
    let lab = lab();
    let run = "run -t n --size 1GiB --engine null --rw randread --bs 4k --rate-iops 1000 --runtime 0.5s --no-progress";
    lab.expect(0, &format!("{run} --sample-every 20ms -o r"));
    let issuing = issuing_cpu(&lab, "r");
    // 25 in half a second, fewer where the machine is busy; with one a second there would be two.
    assert!(issuing.len() >= 5, "{issuing:?}");
    assert!(issuing.is_sorted() && issuing.last().unwrap().1 > 1000.0, "{issuing:?}");
    assert!(lab.expect(0, "show r --show-plan").out.contains("sample_every = \"20ms\""));
    let refused = lab.expect(2, &format!("{run} --sample-every 1ms -o never")).err;
    assert!(refused.contains("--sample-every 1ms: it must lie between 10ms and"), "{refused}");
}
