//! The sections in front of the results, rows of the rate table, thresholds, heartbeats.

use super::*;

// Checks 68 and 8.
#[test]
fn prints_one_row_without_verbose() {
    let lab = lab();
    let args = "-op read -targets 2 F G -reqsize 8 -numreqs 6 -passes 2";
    let labels = |options: &str| -> Vec<String> {
        rows(&xdd(&lab, 0, &format!("{args} {options}")).out).into_iter().map(|row| row.label).collect()
    };
    assert_eq!(labels(""), ["Combined"]);
    assert_eq!(labels("-qthreadinfo"), ["Combined"]);
    assert_eq!(
        labels("-verbose"),
        ["T PASS0001", "T PASS0001", "T PASS0002", "T PASS0002", "T Average", "T Average", "Combined"]
    );
    let plain = rows(&xdd(&lab, 0, &format!("{args} -verbose")).out);
    let more = rows(&xdd(&lab, 0, &format!("{args} -reallyverbose")).out);
    assert_eq!(plain.len(), more.len());
    for (plain, more) in plain.iter().zip(&more) {
        assert_eq!((plain.more.len(), more.more.len()), (0, 2));
        let (start, end): (u128, u128) = (more.more[0].parse().unwrap(), more.more[1].parse().unwrap());
        assert!(end >= start);
    }
}

// Section 2.2 and 2.3: the sections print the parsed options.
#[test]
fn sections_print_the_parsed_options() {
    let lab = lab();
    let args = "-rwratio 40 -targets 2 F G -blocksize 512 -reqsize target 1 16 -numreqs 6 -passes 2 -delay 0.01 -maxerrors 3 \
        -syncio 2 -startoffset 7 -passoffset 5 -targetoffset 9 -queuedepth target 1 2 -throttle target 0 ops 500 -timelimit 9 \
        -datapattern x -seek target 1 random -seek range 2000 -id it -ts target 1 detailed -lockstep 0 1 op 2 op 2 wait complete";
    let out = xdd(&lab, 0, args).out;
    let lines: Vec<&str> = out.lines().map(str::trim).collect();
    for want in [
        "ID for this run, 'it '",
        "Passes, 2",
        "Pass Delay in seconds, 0.01",
        "Maximum Error Threshold, 3",
        "Target Offset, 9",
        "I/O Synchronization, 2",
        "Output file name, stdout",
        "Pass synchronization barriers, enabled",
        "Number of Targets, 2",
        "Number of I/O Threads, 3",
        "Target[0] Q[0], F",
        "Target[1] Q[0], G",
        "Target directory, \"./\"",
        "Read/write ratio, 40.00, 60.00",
        "Throttle in ops/sec, 500.00",
        "Per-pass time limit in seconds, 9",
        "Blocksize in bytes, 512",
        "Request size, 128, blocks, 65536, bytes",
        "Request size, 16, blocks, 8192, bytes",
        "Number of Requests, 6",
        "Start offset, 7",
        "Pass Offset in blocks, 5",
        "Direct I/O, disabled",
        "Seek pattern, sequential",
        "Seek pattern, random",
        "Seek range, 2000",
        "Queue Depth, 1",
        "Queue Depth, 2",
        "Delete file, disabled",
    ] {
        assert!(lines.contains(&want), "{want}\n{out}");
    }
    // Sections, results, end: in this order.
    let order = [
        "IOIOIOIO",
        "ID for this run",
        "Computer Name, ",
        "Target information",
        "IOtype",
        "Combined ",
        "Ending time for this run, ",
    ];
    let places: Vec<usize> =
        order.iter().map(|text| out.find(text).unwrap_or_else(|| panic!("{text}"))).collect();
    assert!(places.is_sorted(), "{places:?}");
    // With -qthreadinfo each queue thread has a section.
    let out = xdd(&lab, 0, "-op read -targets 1 F -reqsize 8 -numreqs 6 -queuedepth 3 -qthreadinfo").out;
    assert_eq!(out.matches("Target[0] Q[").count(), 3);
}

// Check 69.
#[test]
fn reports_operations_above_threshold() {
    let lab = lab();
    for option in ["-report_threshold 0", "-reportthreshold 0.000000001"] {
        let out = xdd(&lab, 0, &format!("-op read -targets 1 F -reqsize 8 -numreqs 3 {option}")).out;
        let told: Vec<&str> = out.lines().filter(|line| line.contains("exceeds threshold")).collect();
        let places: Vec<&str> = told.iter().map(|line| line.rsplit(", ").next().unwrap()).collect();
        assert_eq!(places, ["0", "8192", "16384"], "{out}");
    }
    let args = "-op read -targets 2 F G -reqsize 8 -numreqs 3";
    let out = xdd(&lab, 0, &format!("{args} -report_threshold 1000")).out;
    assert!(!out.contains("threshold of"), "{out}");
    let out = xdd(&lab, 0, &format!("{args} -report_threshold target 1 0")).out;
    assert_eq!(out.matches("Target 1 G: I/O time exceeds").count(), 3, "{out}");
    assert_eq!(out.matches("exceeds").count(), 3, "{out}");
}

#[test]
fn heartbeat_shows_progress_of_targets() {
    let lab = lab();
    let args = "-op read -targets 2 F G -reqsize 8 -numreqs 60 -throttle ops 100 -heartbeat 0.1";
    let ended = xdd(&lab, 0, args);
    let beats: Vec<&str> = ended.err.lines().filter(|line| line.contains("Op/AvgRate")).collect();
    assert!(!beats.is_empty() && beats.iter().all(|line| line.contains("Pass 0001")), "{}", ended.err);
    assert!(beats[0].matches('/').count() >= 2, "{}", beats[0]);
    assert!(!ended.out.contains("Op/AvgRate"));
}

// Section 2.8: no target is stopped for it.
#[test]
fn deskew_adds_rate_of_common_window() {
    let lab = lab();
    let args = "-op read -targets 2 F G -reqsize 8 -numreqs 100 -throttle ops 1000 -throttle target 1 ops 500 -passes 2 -deskew";
    let out = xdd(&lab, 0, &format!("{args} -verbose")).out;
    let all = rows(&out);
    assert!(labelled(&all, "T PASS0001").iter().all(|row| row.ops == 100), "{out}");
    for label in ["DESKEWED PASS0001", "DSAVG PASS0002"] {
        let row = labelled(&all, label);
        assert_eq!((row.len(), row[0].ops, row[0].kind.as_str()), (1, 0, "NA"), "{out}");
    }
    let window = labelled(&all, "DESKEWED PASS0001")[0];
    assert!(window.bytes > 0 && window.bytes < 200 * 8192, "{out}");
    assert!(window.time < labelled(&all, "T PASS0001")[1].time, "{out}");
}

// Section 1.7: the run continues if the machine does not allow these.
#[test]
fn processor_memory_and_priority_options_keep_results() {
    let lab = lab();
    for options in [
        "-processor 0 1",
        "-singleproc 0",
        "-roundrobin 1",
        "-minall",
        "-nomemlock -noproclock",
        "-processlock",
        "-maxpri",
        "-maxall",
        "-timerinfo",
    ] {
        let args = format!("{options} -op read -targets 2 F G -reqsize 8 -numreqs 6");
        let ended = lab.run(&format!("xdd {args}"));
        // Real-time priority needs a privilege.
        if !(options.contains("-max") && ended.code == 2) {
            assert_eq!((ended.code, total(&ended)), (0, (98_304, 12)), "{args}\n{}", ended.err);
        }
        assert!(!options.contains("timerinfo") || ended.out.contains("Timer overhead, "), "{}", ended.out);
    }
}
