//! Amounts: sizes, passes, and their figures in the rate table.

use super::*;

// Checks 1, 5 and 6.
#[test]
fn converts_amounts_to_bytes_and_operations() {
    let lab = lab();
    assert_eq!(moved(&lab, "-op write -targets 1 N -reqsize 64 -mbytes 4"), (4_194_304, 64));
    assert_eq!(lab.path("N").metadata().unwrap().len(), 4_194_304);
    assert_eq!(moved(&lab, "-op read -targets 1 F -numreqs 2"), (262_144, 2));
    assert_eq!(moved(&lab, "-op write -targets 1 M -blocksize 512 -reqsize 3 -numreqs 4"), (6144, 4));
    assert_eq!(lab.path("M").metadata().unwrap().len(), 6144);
    assert_eq!(moved(&lab, "-op read -targets 1 F -blocksize 100 -reqsize 3 -numreqs 7"), (2100, 7));
}

// Check 2, and which of the three amounts holds.
#[test]
fn numreqs_wins_otherwise_the_last_amount() {
    let lab = lab();
    for (args, want) in [
        ("-mbytes 1 -numreqs 3", (196_608, 3)),
        ("-numreqs 3 -mbytes 1", (196_608, 3)),
        ("-numreqs 3 -kbytes 640", (196_608, 3)),
        ("-mbytes 1 -kbytes 128", (131_072, 2)),
        ("-kbytes 128 -mbytes 1", (1_048_576, 16)),
        ("-numreqs 3 -numreqs 2", (131_072, 2)),
    ] {
        assert_eq!(moved(&lab, &format!("-op read -targets 1 F -reqsize 64 {args}")), want, "{args}");
    }
}

// Check 4.
#[test]
fn last_request_is_shortened_to_the_amount() {
    let lab = lab();
    assert_eq!(
        moved(&lab, &format!("{TS} -op read -targets 1 F -reqsize 64 -kbytes 100 -out run")),
        (102_400, 2)
    );
    let records = crate::sorted(&lab, "run");
    let second = records[1].executed;
    assert_eq!((second.offset, second.length), (65_536, 36_864));
    assert_eq!(stamps(&lab, 0)[1].location, 64);
    // Writes are counted alike.
    assert_eq!(moved(&lab, "-op write -targets 1 N -reqsize 64 -kbytes 100 -queuedepth 2"), (102_400, 2));
    assert_eq!(lab.path("N").metadata().unwrap().len(), 102_400);
}

// Check 8. The throttle makes the time much longer than what rounding takes away.
#[test]
fn passes_average_and_combined_agree() {
    let lab = lab();
    let args = "-op read -targets 1 F -reqsize 64 -mbytes 4 -passes 3 -verbose -throttle ops 200";
    let all = rows(&xdd(&lab, 0, args).out);
    let labels: Vec<&str> = all.iter().map(|row| row.label.as_str()).collect();
    assert_eq!(labels, ["T PASS0001", "T PASS0002", "T PASS0003", "T Average", "Combined"]);
    for row in &all {
        let passes = if row.label.contains("PASS") { 1 } else { 3 };
        assert_eq!((row.bytes, row.ops), (passes * 4_194_304, passes * 64), "{row:?}");
        assert_eq!((row.kind.as_str(), row.request_size), ("read", 64));
        let near = |value: f64, want: f64| (value / want - 1.0).abs() < 0.02;
        assert!(near(row.rate * row.time * 1e6, row.bytes as f64), "{row:?}");
        assert!(near(row.iops * row.time, row.ops as f64), "{row:?}");
        assert!(near(row.latency * row.iops, 1.0), "{row:?}");
        // The throttle allows no more.
        assert!(row.iops < 204.0, "{row:?}");
    }
    let sum: f64 = all[..3].iter().map(|row| row.time).sum();
    assert!((all[3].time - sum).abs() < 0.01, "the average has the sum of times");
    assert!(all[4].time + 0.01 > sum, "combined is from the first start to the last end");
}

// The limit is that of a target, not of each of its threads.
#[test]
fn a_throttle_is_shared_by_the_threads_of_a_target() {
    let lab = lab();
    let args = "-op read -targets 2 F G -reqsize 8 -numreqs 100 -queuedepth 4 -verbose";
    for throttle in ["-throttle ops 400", "-throttle bw 3.2768"] {
        let all = rows(&xdd(&lab, 0, &format!("{args} {throttle}")).out);
        for row in labelled(&all, "T PASS0001") {
            assert_eq!(row.ops, 100);
            assert!(row.iops < 404.5, "{throttle}: {row:?}");
        }
    }
    // The last one holds, and for one target alone.
    let all = rows(
        &xdd(
            &lab,
            0,
            &format!("{args} -throttle bw 0.01 -throttle target 0 ops 400 -throttle target 1 ops 800"),
        )
        .out,
    );
    let of = labelled(&all, "T PASS0001");
    assert!(of[0].iops < 404.5 && of[1].iops < 809.0, "{of:?}");
}

// The delay lies between passes, in none of them, and within the combined time.
#[test]
fn delays_belong_to_no_pass() {
    let lab = lab();
    let all =
        rows(&xdd(&lab, 0, "-op read -targets 1 F -reqsize 8 -numreqs 10 -passes 3 -delay 0.2 -verbose").out);
    let (average, combined) = (&all[3], &all[4]);
    assert!(combined.time - average.time >= 0.399, "{all:?}");
    xdd(&lab, 0, "-delay 0.2 -op read -targets 1 F -reqsize 8 -numreqs 10 -passes 3");
    // Nor does it follow the last pass, nor does the delay of the start count.
    let all = rows(&xdd(&lab, 0, "-op read -targets 1 F -reqsize 8 -numreqs 2 -startdelay 0.5 -verbose").out);
    assert!(all.iter().all(|row| row.time < 0.5), "{all:?}");
}

// Check 21.
#[test]
fn queue_threads_share_the_operations() {
    let lab = lab();
    let args = "-op read -targets 1 F -reqsize 8 -verbose -qthreadinfo -queuedepth 4";
    let all = rows(&xdd(&lab, 0, &format!("{args} -numreqs 13")).out);
    let ops: Vec<u64> = labelled(&all, "Q PASS0001").iter().map(|row| row.ops).collect();
    assert_eq!(ops, [4, 3, 3, 3]);
    let threads: Vec<u64> = labelled(&all, "Q PASS0001").iter().map(|row| row.queue).collect();
    assert_eq!(threads, [0, 1, 2, 3]);
    let target = labelled(&all, "T PASS0001")[0];
    assert_eq!((target.target, target.queue, target.ops, target.bytes), (0, 4, 13, 13 * 8192));
    // Fewer requests than threads: as many threads as requests, and that is said.
    let ended = xdd(&lab, 0, &format!("{args} -numreqs 3"));
    assert!(ended.err.contains("-queuedepth"), "{}", ended.err);
    let all = rows(&ended.out);
    let combined = all.last().unwrap();
    assert_eq!((combined.ops, combined.queue), (3, 3));
    assert_eq!(labelled(&all, "Q PASS0001").len(), 3);
}

// The combined row counts targets and threads of all.
#[test]
fn combined_row_sums_the_targets() {
    let lab = lab();
    let args = "-op read -targets 3 F G H -reqsize 8 -numreqs 5 -numreqs target 1 7 -queuedepth target 2 2 -passes 2 -verbose";
    let all = rows(&xdd(&lab, 0, args).out);
    assert_eq!(labelled(&all, "T PASS0002").iter().map(|row| row.ops).collect::<Vec<_>>(), [5, 7, 5]);
    assert_eq!(labelled(&all, "T Average").iter().map(|row| row.ops).collect::<Vec<_>>(), [10, 14, 10]);
    let combined = all.last().unwrap();
    assert_eq!((combined.target, combined.queue, combined.ops, combined.bytes), (3, 4, 34, 34 * 8192));
}
