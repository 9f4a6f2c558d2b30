//! `run --steps`: series at exact locations in plain words, on real files. The effect of their plan fields is tested with XDD's command
//! line, which has other words for them (`xdd/`).

use crate::*;
use iosonar_plan::Op;

const RUN: &str = "run --no-progress";

/// Runs a series and returns its records in the order of the source.
#[track_caller]
fn run(lab: &Lab, name: &str, words: &str) -> Vec<Record> {
    lab.expect(0, &format!("{RUN} {words} -o {name}"));
    sorted(lab, name)
}

/// A lab with two files of 4 MiB.
fn files() -> Lab {
    let lab = lab();
    for name in ["a.img", "b.img"] {
        lab.file(name, vec![0x78; 4 << 20]);
    }
    lab
}

fn offsets(records: &[Record]) -> Vec<u64> {
    records.iter().map(|r| r.requested.offset).collect()
}

// The twin oracle: words and plan, one run.
#[test]
fn shown_plan_reproduces_the_run() {
    let lab = files();
    for (i, words) in [
        "-t a.img --steps sequential --rw read --bs 64k --io-size 1000k",
        "-t a.img --steps interleaved:3 --rw rw --rwmixread 30 --bs 8k --number-ios 50 --offset 4k --passes 3 --pass-offset 64k",
        "-t a.img --steps random --unit 1k --rw write --bs 4k --size 2m --number-ios 60 --seed 9 --new-order-each-pass --loops 2",
        "-t a.img --steps staggered --rw read --bs 4k --size 4m --io_size 400k --numjobs 4",
        "-t a.img b.img --steps sequential --rw read --number-ios 20 --target-offset 64k --meet-every 5",
        "-t a.img b.img --steps fixed --rw read --bs 512 --number-ios 30 --free-passes --passes 2 --align 100 --shared-memory",
        "-t b.img --steps sequential --rw read --bs 64k --size 4m --data byte:0x78 --verify contents --buffered",
    ]
    .iter()
    .enumerate()
    {
        // The times of real I/O differ.
        let asked = |r: &Record| (r.target, r.pass, r.sequence, r.op, r.requested);
        let [typed, planned] = twins(&lab, i, &format!("{RUN} {words}"));
        assert!(typed.iter().map(asked).eq(planned.iter().map(asked)), "{words}");
    }
}

#[test]
fn locations_follow_the_order() {
    let lab = files();
    let of = |name: &str, words: &str| {
        offsets(&run(&lab, name, &format!("-t a.img --rw read --bs 4k --number-ios 4 {words}")))
    };
    assert_eq!(of("r0", "--steps sequential --offset 8k"), [8192, 12288, 16384, 20480]);
    assert_eq!(of("r1", "--steps interleaved:3"), [0, 12288, 24576, 36864]);
    let once = run(&lab, "r9", "-t a.img --steps interleaved:3 --rw read --bs 4k --size 64k");
    assert_eq!(offsets(&once), [0, 12288, 24576, 36864, 49152, 61440], "once through the region");
    assert_eq!(of("r2", "--steps fixed --offset 4k"), [4096; 4]);
    let staggered = of("r3", "--steps staggered --size 1m");
    // The last one ends where the region does.
    assert!(staggered.windows(2).all(|p| p[1] - p[0] == 344_064), "{staggered:?}");
    assert_eq!(of("r4", "--steps sequential --passes 2 --pass-offset 64k")[4], 64 << 10);
    let random = of("r5", "--steps random --size 1m --unit 1k --seed 5");
    assert!(random.iter().all(|o| o % 1024 == 0 && *o <= (1 << 20) - 4096), "{random:?}");
    assert_eq!(of("r6", "--steps random --size 1m --unit 1k --seed 5"), random);
    assert_ne!(of("r7", "--steps random --size 1m --unit 1k --seed 6"), random);
    let two = run(&lab, "r8", "-t a.img b.img --steps fixed --rw read --number-ios 1 --target-offset 1m");
    assert_eq!(offsets(&two), [0, 1 << 20]);
}

// The reads of an exact mix are shared among jobs, also where the number of jobs is a multiple of its period.
#[test]
fn every_job_keeps_the_mix() {
    let lab = files();
    for (jobs, percent, ios, want) in [(2, 50, 16, 8), (4, 25, 32, 8), (4, 50, 21, 11)] {
        let words = format!("--steps fixed --rw rw --rwmixread {percent} --bs 512 --number-ios {ios}");
        let records =
            run(&lab, &format!("r{jobs}-{ios}"), &format!("-t a.img {words} --numjobs {jobs} --buffered"));
        assert_eq!(records.iter().filter(|r| r.op == Op::Read).count(), want, "{words}");
        for job in 0..jobs {
            let own = records.iter().filter(|r| r.sequence % jobs == job);
            let (issued, reads) =
                own.fold((0, 0), |(n, reads), r| (n + 1, reads + i64::from(r.op == Op::Read)));
            assert!(
                (reads * 100 - issued * percent).abs() < 100,
                "{words}: job {job} has {reads} of {issued}"
            );
        }
    }
}

#[test]
fn seek_list_is_followed() {
    let lab = files();
    lab.expect(0, "xdd -op read -targets 1 a.img -blocksize 1024 -reqsize 4 -numreqs 5 -seek random -seek range 1000 -seek seed 3 -seek save list");
    let records = run(&lab, "r", "-t a.img --steps list:list.T0Q0.txt --rw read --bs 4k --unit 1k");
    assert_eq!(records.len(), 5);
    let distinct: std::collections::BTreeSet<u64> = offsets(&records).into_iter().collect();
    assert!(distinct.len() > 2 && distinct.iter().all(|o| o % 1024 == 0), "{distinct:?}");
}

#[test]
fn creates_fills_verifies_and_removes_files() {
    let lab = lab();
    let words = "-t new.img --steps sequential --rw write --bs 64k --io-size 1m --create --passes 2 --end-fsync \
                 --data sequenced --verify contents --verify-immediate";
    let ended = lab.expect(0, &format!("{RUN} {words} -o r"));
    assert!(
        ended.out.contains("data of 32 requests checked: all of it is what it should be"),
        "{}",
        ended.out
    );
    assert_eq!(std::fs::metadata(lab.path("new.img")).unwrap().len(), 1 << 20);
    let checked = &summary(&lab, "r")["targets"][0]["checked"];
    assert_eq!((checked["requests"].as_u64(), checked["miscompared"].as_u64()), (Some(32), Some(0)));
    // Read later: every byte is at its place, until one is changed.
    let read = "-t new.img --steps random --rw read --bs 4k --size 1m --number-ios 300 --data sequenced --verify contents";
    lab.expect(0, &format!("{RUN} {read} -o r2"));
    lab.expect(0, &format!("{RUN} {} -o r3", read.replace("contents", "location")));
    let mut bytes = std::fs::read(lab.path("new.img")).unwrap();
    bytes.iter_mut().for_each(|b| *b ^= 1);
    lab.file("new.img", bytes);
    let ended = lab.expect(5, &format!("{RUN} {read} -o r4"));
    assert!(ended.out.contains("checked: that of 300 is not what it should be"), "{}", ended.out);
    lab.expect(
        0,
        &format!("{RUN} -t c.img --steps sequential --rw write --io-size 1m --create --unlink -o r5"),
    );
    assert!(!lab.path("c.img").exists());
    lab.expect(0, &format!("{RUN} -t d.img --steps sequential --rw write --io-size 64k --create --between-passes new-file --passes 3 --preallocate 1m -o r6"));
    for name in ["d.img.00000001", "d.img.00000002"] {
        assert!(lab.path(name).exists(), "{name}");
    }
}

#[test]
fn slave_runs_a_task_after_each_master_interval() {
    let lab = files();
    let words = "-t a.img b.img --steps sequential --rw read --bs 4k --number-ios 40 \
                 --lockstep master=0,slave=1,every=ops:4,task=ops:1,ends=stop";
    let records = run(&lab, "r", words);
    let of = |target: u16| records.iter().filter(move |r| r.target == target);
    assert_eq!((of(0).count(), of(1).count()), (40, 10));
    for slave in of(1) {
        let done = of(0).filter(|m| m.completed <= slave.submitted).count() as u64;
        assert!(done >= 4 * (slave.sequence + 1), "task {} began after {done}", slave.sequence);
    }
}

#[test]
fn triggers_start_and_stop_targets() {
    let lab = files();
    let words = "-t a.img b.img --steps sequential --rw read --bs 4k --number-ios 200 \
                 --start-when leader=0,follower=1,when=ops:50 --stop-when leader=0,follower=1,when=percent:100";
    let records = run(&lab, "r", words);
    let of = |target: u16| records.iter().filter(move |r| r.target == target);
    let began = of(1).filter_map(|r| r.submitted).min().expect("target 1 began");
    assert!(of(0).filter(|r| r.completed.is_some_and(|t| t <= began)).count() >= 50);
    // A leader that never gets there: the follower fails with its reason, and no target hangs.
    let words = "-t a.img b.img --steps sequential --rw read --bs 4k --number-ios 200 \
                 --start-when leader=0,follower=1,when=ops:5000";
    let ended = lab.expect(1, &format!("{RUN} {words} -o r2"));
    assert!(ended.err.contains("b.img") || ended.out.contains("b.img"), "{}\n{}", ended.err, ended.out);
}

#[test]
fn deskewed_rate_covers_common_active_window() {
    let lab = files();
    let words = "-t a.img b.img --steps sequential --rw read --bs 64k --number-ios 60 --rate-iops 100 --passes 2 \
                 --start-when leader=0,follower=1,when=ops:20";
    let ended = lab.expect(0, &format!("{RUN} {words} --deskew -o r"));
    let told =
        |text: &str| text.lines().filter(|l| l.starts_with("  pass ")).map(String::from).collect::<Vec<_>>();
    assert_eq!(told(&ended.out).len(), 2, "{}", ended.out);
    let shown = lab.expect(0, "show r --deskew").out;
    assert_eq!(told(&shown), told(&ended.out));
    assert!(!lab.expect(0, "show --all r").out.contains("Deskewed"));
    // The window, from the records: from the last target's start to the first one's end.
    let records = sorted(&lab, "r");
    let of = |target: u16| records.iter().filter(move |r| r.target == target && r.pass == 0);
    let begin = |t: u16| of(t).filter_map(|r| r.submitted).min().unwrap().0;
    let end = |t: u16| of(t).filter_map(|r| r.completed).max().unwrap().0;
    let window = end(0).min(end(1)) - begin(0).max(begin(1));
    assert!(told(&shown)[0].ends_with(&format!(" in {}", units(window))), "{shown}");
}

/// Formats a time as the text does.
fn units(ns: u64) -> String {
    iosonar_text::units::duration(ns, iosonar_text::units::Charset::Ascii)
}

#[test]
fn throttle_and_time_limit_end_a_series() {
    let lab = files();
    let records = run(&lab, "r", "-t a.img --steps fixed --rw read --runtime 0.2");
    assert!(!records.is_empty());
    let words = "-t a.img --steps sequential --rw read --number-ios 20 --rate-iops 200";
    let records = run(&lab, "r2", words);
    for (i, r) in records.iter().enumerate() {
        assert!(r.submitted.unwrap().0 >= i as u64 * 5 * MS, "request {i}: not before i intervals of 5 ms");
    }
    assert!(records.iter().all(|r| r.op == Op::Read));
}

#[test]
fn rejects_invalid_series_naming_options_as_typed() {
    let lab = files();
    let before = std::fs::read(lab.path("a.img")).unwrap();
    for (words, why) in [
        (
            "--steps sequential --rw read",
            "a pass would never end: give --number-ios, --io-size, --runtime or --time-limit",
        ),
        ("--steps random --rw randread --number-ios 3", "say --rw read, write or rw"),
        ("--steps zigzag --rw write --number-ios 3", "known are sequential, interleaved:N"),
        ("--steps sequential --rw write --bs 4k,8k --number-ios 3", "sizes of reads and of writes"),
        (
            "--steps staggered --rw write --bsrange 4k-8k --number-ios 3",
            "--steps staggered: it needs requests of one size",
        ),
        ("--steps random --rw read --size 50% --number-ios 3", "places are exact: give bytes"),
        ("--steps sequential --rw write --number-ios 3 --new-order-each-pass", "without --steps random"),
        (
            "--steps sequential --rw read --rwmixread 30 --number-ios 3",
            "--rwmixread has no effect with --rw read",
        ),
        (
            "--steps sequential --rw write --number-ios 3 --bs 4k --unit 3k",
            "--bs 4KiB: it is no multiple of --unit 3KiB",
        ),
        (
            "--steps sequential --rw read --number-ios 3 --verify contents",
            "--verify: contents are compared with --data",
        ),
        ("--steps sequential --rw read --number-ios 3 --verify-immediate", "--verify"),
        ("--steps sequential --rw write --number-ios 3 --data byte:300", "'300' is no byte"),
        ("--steps sequential --rw write --number-ios 3 --between-passes recreate", "say --create"),
        (
            "--steps sequential --rw write --number-ios 3 --lockstep master=0,slave=1,every=ops:1,task=ops:1",
            "--lockstep: number 0: slave: there is no job 1",
        ),
        ("--steps sequential --rw write --number-ios 3 --lockstep every=ops:1", "master= is missing"),
        (
            "--steps sequential --rw write --number-ios 3 --start-when leader=0,follower=0,when=ops:1",
            "--start-when: number 0: follower: job 0 cannot wait for itself",
        ),
        ("--steps sequential --rw write --number-ios 3 --meet-every 0", "--meet-every"),
        ("--steps fixed --rw write --size 16k --number-ios 1", "--size has no effect on these --steps"),
        ("--steps random --rw read --number-ios 3 --end-fsync", "--end-fsync has no effect with --rw read"),
        ("--steps random --rw read --number-ios 3 --create", "--create has no effect with --rw read"),
        (
            "--steps random --rw read --number-ios 3 --data random",
            "--data has no effect where nothing is written or checked",
        ),
        ("--steps fixed --rw read --time-limit 0", "--time-limit 0"),
        ("--steps fixed --rw read --number-ios 3 --rate 0", "--rate 0: it must lie between 1 and"),
        ("--rw write --number-ios 3 --verify contents", "--verify: contents are compared with --data"),
        ("--rw randrw --size 1m --create", "reads would find nothing in a new file"),
        ("--rw write --create --number-ios 3", "give --size in bytes"),
        (
            "--rw randwrite --size 1m --iodepth 8 --overlap allow --data random --verify contents --verify-immediate",
            "--verify",
        ),
        (
            "--rw randwrite --number-ios 3 --size 1m --lockstep master=0,slave=1,every=ops:1,task=ops:1",
            "--lockstep: number 0: slave: there is no job 1",
        ),
        ("--rw randwrite --number-ios 3 --size 1m --passes 0", "--passes"),
    ] {
        let ended = lab.expect(2, &format!("{RUN} -t a.img {words} -o never"));
        assert!(ended.err.contains(why), "{words}: {}", ended.err);
        let of_plans = ["options.", "coordination", "stop.requests", "block_size", "pace.", " = "];
        assert!(!of_plans.iter().any(|word| ended.err.contains(word)), "{words}: {}", ended.err);
        assert!(!lab.path("never").exists(), "{words}");
    }
    assert_eq!(std::fs::read(lab.path("a.img")).unwrap(), before);
}

#[test]
fn patterns_support_passes() {
    let lab = lab();
    lab.expect(0, &format!("run {SIM} --rw randread --number-ios 30 --passes 3 -o r"));
    let records = sorted(&lab, "r");
    assert_eq!(records.len(), 90);
    assert_eq!(records.last().map(|r| r.pass), Some(2));
}

#[test]
fn steps_between_passes_are_recorded_with_times() {
    let lab = files();
    let records = run(
        &lab,
        "r",
        "-t new.img --steps sequential --rw write --bs 4k --number-ios 8 --iodepth 2 --passes 3 --create --between-passes \
         recreate --end-fsync",
    );
    let mut steps: Vec<_> = records.iter().filter(|r| r.is_step()).collect();
    steps.sort_by_key(|r| r.submitted);
    let got: Vec<_> = steps.iter().map(|r| (r.pass, r.op)).collect();
    use Op::{Delete, Fsync, Open};
    let want = [(0, Fsync), (1, Delete), (1, Open), (1, Fsync), (2, Delete), (2, Open), (2, Fsync)];
    assert_eq!(got, want);
    for step in &steps {
        let of_pass = || records.iter().filter(|r| !r.is_step() && r.pass == step.pass);
        match step.op {
            Fsync => assert!(of_pass().all(|r| r.completed <= step.submitted)),
            _ => assert!(of_pass().all(|r| r.submitted >= step.completed)),
        }
    }
    let told = lab.expect(0, "show --all r").out;
    assert!(["  fsync ", "  open ", "  delete "].iter().all(|word| told.contains(word)), "{told}");
    let counts = &summary(&lab, "r")["counts"];
    assert_eq!((&counts["all"]["completed"], &counts["other"]["completed"]), (&24.into(), &7.into()));
}

/// Features that only exact series had before work with fio's patterns, too: files, data, verification, couplings.
#[test]
fn patterns_support_files_data_checks_and_coordination() {
    let lab = files();
    let written = run(
        &lab,
        "w",
        "-t new.img --rw randwrite --bs 4k --size 1m --iodepth 4 --create --preallocate 1m --end-fsync --data sequenced",
    );
    let (steps, written): (Vec<_>, Vec<_>) = written.into_iter().partition(|r| r.is_step());
    assert_eq!((steps.len(), steps[0].op, written.len()), (1, Op::Fsync, 256));
    assert!(written.iter().all(|r| r.requested.end() <= 1 << 20));
    assert_eq!(std::fs::metadata(lab.path("new.img")).unwrap().len(), 1 << 20);
    let check = "-t new.img --rw randread --bs 8k --iodepth 4 --data sequenced --verify contents";
    lab.expect(0, &format!("{RUN} {check} -o v"));
    let mut bytes = std::fs::read(lab.path("new.img")).unwrap();
    bytes[300_000] ^= 1;
    lab.file("new.img", bytes);
    lab.expect(5, &format!("{RUN} {check} -o v2"));
    // A region is traversed repeatedly, though the file could grow.
    let again = run(
        &lab,
        "g",
        "-t grow.img --rw write --bs 64k --size 256k --io-size 1m --create --passes 2 --between-passes new-file",
    );
    assert_eq!(again.iter().filter(|r| !r.is_step()).count(), 32);
    assert_eq!(std::fs::metadata(lab.path("grow.img.00000002")).unwrap().len(), 256 << 10);
    let coupled = run(
        &lab,
        "l",
        "-t a.img b.img --rw randread --size 1m --number-ios 40 --lockstep master=0,slave=1,every=ops:2,task=ops:1",
    );
    let slave = |r: &&Record| r.target == 1;
    let nth = |n: usize, target: u16| coupled.iter().filter(|r| r.target == target).nth(n).unwrap();
    assert_eq!(coupled.iter().filter(slave).count(), 40);
    assert!(
        (0..20).all(|k| nth(k, 1).submitted >= nth(2 * k + 1, 0).completed),
        "task k waits for interval k"
    );
    let moved =
        run(&lab, "p", "-t a.img --rw read --bs 64k --size 1m --passes 3 --pass-offset 64k --number-ios 16");
    assert_eq!((moved[16].requested.offset, moved[31].requested.offset), (64 << 10, 0));
}

#[test]
fn exact_locations_support_depth_sizes_and_arrivals() {
    let lab = files();
    let deep = run(
        &lab,
        "d",
        "-t a.img --steps random --unit 512 --rw rw --bsrange 4k-16k --size 2m --number-ios 300 --iodepth 8 --rate-iops 20000 --rate-process poisson --ramp-time 1ms --overlap order",
    );
    assert_eq!(deep.len(), 300);
    let lengths: std::collections::BTreeSet<u64> = deep.iter().map(|r| r.requested.length).collect();
    assert_eq!(lengths, [4096, 8192, 12288, 16384].into());
    assert!(deep.iter().all(|r| r.requested.end() <= 2 << 20));
}
