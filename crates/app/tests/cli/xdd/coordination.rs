//! Targets that wait for each other, proved from the time stamps of a hundred and more operations, twenty times each.

use super::*;

/// Time limit of a run here: one that waits for ever is ended and fails.
const WITHIN: [&str; 2] = ["timeout", "60"];

/// Runs with time stamps, asserts the exit code, and that the run ends at all.
#[track_caller]
fn ended(lab: &Lab, code: i32, args: &str) -> Ended {
    let output = lab.command_under(&WITHIN, &format!("xdd {TS} {args}")).output().expect("timeout starts");
    let ended = Ended::of(output);
    assert_eq!(ended.code, code, "xdd {args}\n{}\n{}", ended.out, ended.err);
    ended
}

/// The time stamps of the first targets after a successful run.
#[track_caller]
fn run<const N: usize>(lab: &Lab, args: &str) -> [Vec<Stamp>; N] {
    ended(lab, 0, args);
    std::array::from_fn(|target| stamps(lab, target as u32))
}

/// Small requests without seeks: only their order is checked.
const SMALL: &str = "-reqsize 1 -seek none";

#[track_caller]
fn each_follows(leader: &[Stamp], follower: &[Stamp]) {
    for (k, (first, second)) in leader.iter().zip(follower).enumerate() {
        assert!(second.start >= first.end, "operation {k} started at {} before {}", second.start, first.end);
    }
}

// Check 51: each operation of the slave follows that of the master, and reads the master's data.
#[test]
fn lockstep_reader_follows_its_writer() {
    let lab = lab();
    often(|| {
        let args = "-targets 2 N N -op target 0 write -op target 1 read -reqsize 1 -numreqs 150 -datapattern sequenced";
        let [master, slave] =
            run(&lab, &format!("{args} -verify target 1 contents -lockstep 0 1 op 1 op 1 wait complete"));
        assert_eq!((master.len(), slave.len()), (150, 150));
        each_follows(&master, &slave);
        std::fs::remove_file(lab.path("N")).unwrap();
    });
}

// Check 54.
#[test]
fn a_chain_of_lockstep_keeps_its_order() {
    let lab = lab();
    often(|| {
        let chain = "-lockstep 0 1 op 1 op 1 wait complete -lockstep 1 2 op 1 op 1 wait complete";
        let [first, second, third] =
            run(&lab, &format!("-op read -targets 3 F G H {SMALL} -numreqs 100 {chain} -passes 2"));
        assert_eq!((first.len(), second.len(), third.len()), (200, 200, 200));
        each_follows(&first, &second);
        each_follows(&second, &third);
    });
}

// Section 4.4: tasks queue up, so their number is certain.
#[test]
fn stopping_lockstep_completes_exactly_its_tasks() {
    slow!();
    let lab = lab();
    let args = format!("-op read -targets 2 F G {SMALL} -numreqs 101 -numreqs target 1 1000");
    for (lockstep, want) in [
        ("op 2 op 1 wait stop", 50),
        ("op 2 op 1 run stop", 51),
        ("op 2 op 3 wait stop", 150),
        ("op 200 op 3 wait stop", 0),
        ("op 200 op 3 run stop", 3),
        ("kbytes 4 op 2 wait stop", 50),
        ("op 10 kbytes 7 wait stop", 70),
        ("op 1 op 1 wait complete", 1000),
        ("op 200 op 1 wait complete", 1000),
    ] {
        let [master, slave] = run(&lab, &format!("{args} -lockstep 0 1 {lockstep}"));
        assert_eq!((master.len(), slave.len()), (101, want), "{lockstep}");
    }
    let args = format!("-op read -targets 2 F G {SMALL} -numreqs 200 -numreqs target 1 1000");
    often(|| {
        let [master, slave] = run(&lab, &format!("{args} -lockstep 0 1 percent 10 op 5 wait stop"));
        assert_eq!((master.len(), slave.len()), (200, 50));
        // The task of interval k begins after its last operation.
        for (task, first) in slave.iter().step_by(5).enumerate() {
            assert!(first.start >= master[20 * (task + 1) - 1].end, "task {task}");
        }
    });
}

#[test]
fn time_based_lockstep_terminates() {
    let lab = lab();
    let args = format!("-op read -targets 2 F G {SMALL} -numreqs 100 -throttle target 0 ops 1000");
    let [master, slave] = run(&lab, &format!("{args} -lockstep 0 1 time 0.02 op 4 wait stop"));
    assert_eq!(master.len(), 100);
    assert!((4..=100).contains(&slave.len()), "{}", slave.len());
    let [_, slave] = run(&lab, &format!("{args} -lockstep 0 1 time 0.02 time 0.001 wait complete"));
    assert_eq!(slave.len(), 100);
}

// Section 1.6: before the first operation of every pass.
#[test]
fn start_trigger_delays_each_pass() {
    slow!();
    let lab = lab();
    let args = format!("-op read -targets 2 F G {SMALL} -numreqs 100 -passes 2 -starttrigger 0 1");
    for (when, last) in [("op 20", 19), ("percent 50", 49), ("kbytes 10", 9), ("percent 100", 99)] {
        let mut times = 0;
        let mut check = || {
            let [leader, follower] = run(&lab, &format!("{args} {when}"));
            assert_eq!((leader.len(), follower.len()), (200, 200));
            for pass in [0, 100] {
                assert!(follower[pass].start >= leader[pass + last].end, "{when}");
            }
            times += 1;
        };
        if when == "op 20" {
            often(check)
        } else {
            check()
        }
        assert!(times > 0);
    }
    // By time: not before the leader's pass has reached that age.
    let args =
        format!("-op read -targets 2 F G {SMALL} -numreqs 200 -throttle target 0 ops 1000 -reallyverbose");
    let ended = ended(&lab, 0, &format!("{args} -starttrigger 0 1 time 0.1"));
    let begin: u128 = labelled(&rows(&ended.out), "T PASS0001")[0].more[0].parse().unwrap();
    assert!(stamps(&lab, 1)[0].start >= begin + 100_000_000_000);
}

// Check 56: the real program waits for ever.
#[test]
fn reports_trigger_that_never_fires() {
    let lab = lab();
    often(|| {
        let args = format!("-op read -targets 2 F G {SMALL} -numreqs 100 -numreqs target 0 10 -verbose");
        let ended = ended(&lab, 1, &format!("{args} -starttrigger 0 1 op 20"));
        assert!(ended.err.contains("target 1 G: never triggered"), "{}", ended.err);
        let all = rows(&ended.out);
        assert_eq!(labelled(&all, "T PASS0001")[0].ops, 10);
        assert_eq!(all.last().unwrap().ops, 10);
    });
}

// Section 1.6: the follower stops after its current operation, and completed operations count.
#[test]
fn a_stop_trigger_ends_the_pass() {
    slow!();
    let lab = lab();
    often(|| {
        let args = format!(
            "-op read -targets 2 F G {SMALL} -numreqs 100 -numreqs target 1 1000000 -throttle target 0 ops 5000 -throttle target 1 ops 20000 -verbose"
        );
        let ended = ended(&lab, 0, &format!("{args} -stoptrigger 0 1 op 20"));
        let (leader, follower) = (stamps(&lab, 0), stamps(&lab, 1));
        assert_eq!(leader.len(), 100);
        assert!(follower.len() < 1_000_000);
        // At most one was allowed before.
        let late = follower.iter().filter(|stamp| stamp.start > leader[20].start).count();
        assert!(late <= 1, "{late} operations after the trigger");
        assert_eq!(labelled(&rows(&ended.out), "T PASS0001")[1].ops, follower.len() as u64);
    });
}

// Section 1.3: finished targets leave the barrier; the real program waits for ever.
#[test]
fn targets_synchronize_every_n_operations() {
    slow!();
    let lab = lab();
    often(|| {
        let args = format!(
            "-op read -targets 3 F G H {SMALL} -numreqs 100 -numreqs target 1 133 -numreqs target 2 101"
        );
        let all: [Vec<Stamp>; 3] = run(&lab, &format!("{args} -syncio 10"));
        assert_eq!(all.each_ref().map(Vec::len), [100, 133, 101]);
        for one in &all {
            for round in (10..one.len()).step_by(10) {
                for other in &all {
                    let before = round.min(other.len()) - 1;
                    assert!(one[round].start >= other[before].end, "round {round}");
                }
            }
        }
    });
    // With threads, and through passes.
    for args in [
        "-queuedepth 3 -numreqs 100 -numreqs target 1 77",
        "-numreqs 100 -passes 3",
        "-numreqs 7 -nobarrier -passes 3",
    ] {
        ended(&lab, 0, &format!("-op read -targets 2 F G {SMALL} {args} -syncio 4"));
    }
    let ended = ended(&lab, 0, &format!("-op read -targets 1 F {SMALL} -numreqs 100 -syncio 4"));
    assert!(ended.err.contains("-syncio"), "{}", ended.err);
}

/// The last operation of the first pass, and the first of the second.
fn around_the_border(stamps: &[Stamp]) -> (&Stamp, &Stamp) {
    let border = stamps.iter().position(|stamp| stamp.pass == 2).expect("a second pass");
    (&stamps[border - 1], &stamps[border])
}

// Check 59.
#[test]
fn passes_are_synchronized_unless_disabled() {
    slow!();
    let lab = lab();
    let args = format!("-op read -targets 2 F G {SMALL} -numreqs 100 -passes 2 -verbose");
    often(|| {
        let all: [Vec<Stamp>; 2] = run(&lab, &format!("{args} -throttle target 0 ops 4000"));
        for one in &all {
            for other in &all {
                assert!(around_the_border(one).1.start >= around_the_border(other).0.end);
            }
        }
    });
    let ended = ended(&lab, 0, &format!("{args} -throttle target 0 ops 50 -nobarrier"));
    let (slow, fast) = (stamps(&lab, 0), stamps(&lab, 1));
    assert!(around_the_border(&fast).1.start < around_the_border(&slow).0.end);
    let all = rows(&ended.out);
    for label in ["T PASS0001", "T PASS0002"] {
        let of: Vec<(u64, u64)> = labelled(&all, label).iter().map(|row| (row.target, row.ops)).collect();
        assert_eq!(of, [(0, 100), (1, 100)], "{label}");
    }
    assert_eq!(all.last().unwrap().ops, 400);
}

// Check 60: each target starts one delay after the previous one.
#[test]
fn targets_start_with_increasing_delay() {
    let lab = lab();
    let args = format!("-op read -targets 3 F G H {SMALL} -numreqs 2 -out run");
    ended(&lab, 0, &format!("{args} -targetstartdelay 0.5"));
    let first = |lab: &Lab, dir: &str, target: u16| {
        let records = lab.records(dir);
        records.iter().filter(|r| r.target == target).filter_map(|r| r.submitted).min().unwrap().0
    };
    let began = first(&lab, "run", 0);
    for target in 0..3 {
        assert!(first(&lab, "run", target) >= began + u64::from(target) * 500_000_000, "target {target}");
    }
    // In addition to the common delay.
    ended(&lab, 0, &format!("{args}2 -startdelay 0.2 -targetstartdelay 0.1"));
    for target in 0..3 {
        assert!(
            first(&lab, "run2", target) >= 200_000_000 + u64::from(target) * 100_000_000,
            "target {target}"
        );
    }
}

// No combination may wait for ever, whatever the amounts.
#[test]
fn combined_coordination_terminates() {
    let lab = lab();
    for args in [
        "-lockstep 0 1 op 1 op 1 wait stop -lockstep 1 2 op 1 op 1 wait stop -syncio 3",
        "-lockstep 0 1 op 3 op 2 run complete -starttrigger 0 2 percent 50 -syncio 5 -passes 2",
        "-starttrigger 0 1 op 50 -stoptrigger 1 0 op 10 -syncio 7",
        "-starttrigger 0 1 op 10 -starttrigger 1 2 op 10 -queuedepth 3 -passes 3",
        "-lockstep 0 1 op 1 op 1 wait complete -nobarrier -passes 4",
        "-lockstep 0 1 op 1 op 1 wait complete -runtime 0.2",
        "-lockstep 0 1 op 1 op 1 wait complete -queuedepth 2 -timelimit 1",
    ] {
        let args = format!("-op read -targets 3 F G H {SMALL} -numreqs 100 -numreqs target 2 37 {args}");
        ended(&lab, 0, &args);
    }
}
