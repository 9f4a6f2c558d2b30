//! Early ends of a pass or a run: time, errors, the end of a file.

use super::*;
use std::io::{BufRead, BufReader, Read};

// Check 50.
#[test]
fn time_limit_ends_each_pass() {
    slow!();
    let lab = lab();
    let args =
        "-op read -targets 1 F -reqsize 8 -timelimit 1 -throttle ops 100 -numreqs 1000 -passes 2 -verbose";
    let all = rows(&xdd(&lab, 0, args).out);
    let ops: Vec<u64> = all.iter().map(|row| row.ops).collect();
    assert_eq!(all.len(), 4, "{all:?}");
    assert!(ops[..2].iter().all(|ops| (1..1000).contains(ops)), "{ops:?}");
    assert_eq!((ops[2], ops[3]), (ops[0] + ops[1], ops[0] + ops[1]));
}

// Check 50, too.
#[test]
fn run_time_adds_passes_until_it_expires() {
    let lab = lab();
    let args = "-op read -targets 1 F -reqsize 8 -runtime 1 -numreqs 40 -throttle ops 100 -verbose";
    let all = rows(&xdd(&lab, 0, args).out);
    let passes: Vec<u64> = all.iter().filter(|row| row.label.contains("PASS")).map(|row| row.ops).collect();
    let (last, earlier) = passes.split_last().unwrap();
    assert!(!earlier.is_empty() && earlier.iter().all(|ops| *ops == 40), "{passes:?}");
    assert!((1..=40).contains(last));
    assert_eq!(all.last().unwrap().ops, passes.iter().sum::<u64>());
}

// Time alone is an amount.
#[test]
fn time_limit_alone_suffices() {
    let lab = lab();
    let limited = rows(&xdd(&lab, 0, "-op read -targets 1 F -seek none -timelimit 1 -throttle ops 50").out);
    assert!((1..=51).contains(&limited[0].ops), "{limited:?}");
    let run = rows(&xdd(&lab, 0, "-op read -targets 2 F G -seek none -runtime 0.5 -throttle ops 50").out);
    assert!((2..=52).contains(&run[0].ops), "{run:?}");
}

// Section 4.6: bytes and operations before EOF count, the pass ends at EOF.
#[test]
fn short_file_ends_pass_and_run_exits_with_1() {
    let lab = lab();
    let ended = xdd(&lab, 1, &format!("{TS} -op read -targets 1 SHORT -reqsize 8 -numreqs 6"));
    assert_eq!(total(&ended), (20_480, 3));
    assert!(ended.err.contains("short, 4096 bytes"), "{}", ended.err);
    assert!(ended.err.contains("holds 20480 bytes"), "{}", ended.err);
    // The next pass runs as well.
    let ended = xdd(&lab, 1, "-op read -targets 1 SHORT -reqsize 8 -numreqs 6 -passes 2 -verbose");
    let all = rows(&ended.out);
    assert_eq!(labelled(&all, "T PASS0002")[0].bytes, 20_480);
    // The other target is not affected.
    let ended = xdd(&lab, 1, "-op read -targets 2 SHORT F -reqsize 8 -numreqs 6 -verbose");
    assert_eq!(labelled(&rows(&ended.out), "T PASS0001")[1].ops, 6);
}

// Check 46, and the scope of -maxerrors: a pass, on a target.
#[test]
fn error_and_delay_options_may_be_anywhere() {
    let lab = lab();
    for args in [
        "-maxerrors 2 -delay 0 -op read -targets 1 F -reqsize 8 -numreqs 3 -passes 2",
        "-op read -delay 0 -targets 1 F -maxerrors 2 -reqsize 8 -numreqs 3 -passes 2",
        "-op read -targets 1 F -reqsize 8 -numreqs 3 -passes 2 -maxerrors 2 -delay 0",
    ] {
        assert_eq!(moved(&lab, args), (49_152, 6), "{args}");
    }
    // Three requests lie beyond EOF; the first two of a pass are reported, and then it ends.
    let list = |locations: &[u64]| -> String {
        locations.iter().enumerate().map(|(i, at)| format!("{i:010} {at:012} 8 r 0 0\n")).collect()
    };
    lab.file("list", list(&[0, 16, 8, 16, 0, 8]));
    let args = "-op read -targets 1 SHORT -seek load list -numreqs 6 -passes 2 -verbose";
    let all = rows(&xdd(&lab, 1, &format!("{args} -maxerrors 2")).out);
    assert_eq!(labelled(&all, "T PASS0001")[0].ops, 4, "{all:?}");
    assert_eq!(labelled(&all, "T PASS0002")[0].ops, 4, "{all:?}");
    let all = rows(&xdd(&lab, 1, args).out);
    assert_eq!(labelled(&all, "T PASS0001")[0].ops, 6, "{all:?}");
}

// Ctrl-C ends a run with all its reports, and with its final actions.
#[test]
fn interrupted_run_reports_completed_work() {
    let lab = lab();
    let args = "xdd -op write -targets 2 N F -reqsize 8 -numreqs 4 -passes 1000 -throttle ops 50 -createnewfiles target 0 \
        -deletefile target 0 -heartbeat 0.05 -syncio 2 -verbose";
    let mut child = lab.command(args).spawn().expect("the binary starts");
    let mut errors = BufReader::new(child.stderr.take().expect("it is piped"));
    let mut line = String::new();
    // In the second pass or later.
    while !line.contains("Op/AvgRate") || line.contains("Pass 0001") {
        line.clear();
        assert!(errors.read_line(&mut line).expect("text") > 0, "it ended");
    }
    iosonar_testkit::signal(child.id(), "INT");
    let mut rest = String::new();
    errors.read_to_string(&mut rest).expect("text");
    let ended = Ended::of(child.wait_with_output().expect("it ends"));
    assert_eq!(ended.code, 130, "{}\n{rest}", ended.out);
    let all = rows(&ended.out);
    let passes: u64 = all.iter().filter(|row| row.label.contains("PASS")).map(|row| row.ops).sum();
    assert!(passes >= 8 && all.last().unwrap().ops == passes, "{}", ended.out);
    let left: Vec<String> = snapshot(&lab).into_keys().filter(|name| name.contains("/N")).collect();
    assert!(left.is_empty(), "{left:?}");
}
