//! Reports of time stamps: their columns, their files, the operations in them, and their binary form.

use super::*;
use iosonar_dialect_xdd::read_dump;
use iosonar_plan::Op;

fn assert_formulas(report: &str, rows: &[Stamp], request: f64) {
    let near = |value: f64, want: f64, off: f64| (value - want).abs() <= off;
    let difference = |a: u128, b: u128| (a as i128 - b as i128) as f64;
    let entries = format!("Number of entries, {}, ", rows.len());
    assert!(report.contains(&entries), "{report}");
    let first = &rows[0];
    assert_eq!((first.relative_ms, first.delta_us, first.loop_ms, first.distance), (0.0, 0.0, 0.0, 0));
    let mut last: Option<&Stamp> = None;
    for row in rows {
        // Five decimals of a millisecond are ten nanoseconds, of a microsecond ten picoseconds.
        let took = (row.end - row.start) as f64;
        assert!(near(row.io_ms * 1e9, took, 5001.0), "{row:?}");
        assert!(near(row.relative_ms * 1e9, difference(row.start, first.start), 5001.0), "{row:?}");
        if let Some(last) = last {
            assert!(near(row.delta_us * 1e6, difference(row.start, last.end), 6.0), "{last:?} {row:?}");
            assert!(near(row.loop_ms * 1e9, difference(row.end, last.end), 5001.0), "{last:?} {row:?}");
            let end = last.location + (request / 1024.0) as u64;
            assert_eq!(row.distance, end.abs_diff(row.location), "{last:?} {row:?}");
        }
        assert!(near(row.rate, request / took * 1e6, 0.001), "{row:?}");
        last = Some(row);
    }
}

// Check 62.
#[test]
fn columns_match_their_formulas() {
    let lab = lab();
    for args in [
        "",
        "-seek random -seek range 4096 -randomize",
        "-queuedepth 3",
        "-rwratio 40 -seek stagger -seek range 4096",
    ] {
        xdd(&lab, 0, &format!("{TS} -targets 2 F G -reqsize 8 -numreqs 30 -passes 3 {args}"));
        let threads = if args.contains("queuedepth") { 3 } else { 1 };
        for target in 0..2 {
            let mut count = 0;
            for thread in 0..threads {
                let report = report_of(&lab, "ts", target, thread);
                let head = format!("Target and Qthread number for this report, {target}, {thread}\n");
                assert!(report.starts_with(&head), "{report}");
                let rows = read_stamps(&report);
                assert_formulas(&report, &rows, 8192.0);
                let numbers: Vec<u64> = rows.iter().map(|row| row.number).collect();
                let each = rows.len() as u64 / 3;
                assert_eq!(numbers, (0..3).flat_map(|_| 0..each).collect::<Vec<_>>());
                assert!(rows.iter().all(|row| row.target == u64::from(target)));
                count += rows.len();
            }
            assert_eq!(count, 90);
        }
    }
    // Absolute times, as in the manual, count from 1970, not from boot.
    assert!(stamps(&lab, 0)[0].start > 1_700_000_000_000_000_000_000);
}

// Check 65, first half.
#[test]
fn report_is_overwritten_unless_appending() {
    let lab = lab();
    let run = |append: &str, numreqs: u32| {
        xdd(&lab, 0, &format!("{TS} {append} -op read -targets 1 F -reqsize 8 -numreqs {numreqs}"));
        let report = report_of(&lab, "ts", 0, 0);
        (report.matches("Start of DETAILED").count(), report.matches("\n0, r, ").count())
    };
    assert_eq!(run("", 5), (1, 5));
    assert_eq!(run("", 3), (1, 3));
    assert_eq!(run("-ts append", 4), (2, 7));
    assert_eq!(run("", 1), (1, 1));
}

// Check 65, second half.
#[test]
fn dump_contains_the_same_rows() {
    let lab = lab();
    let args = "-ts dump d -id name -rwratio 50 -targets 1 F -reqsize 8 -numreqs 21 -passes 2 -queuedepth 2";
    xdd(&lab, 0, &format!("{TS} {args}"));
    for thread in 0..2 {
        let bytes = std::fs::read(lab.path(&format!("d.target.0000.qthread.{thread:04}.bin"))).unwrap();
        let dump = read_dump(&bytes).unwrap();
        assert_eq!((dump.head.target, u32::from(dump.head.queue_thread)), (0, thread));
        assert_eq!(
            (dump.head.block_size, dump.head.request_size, dump.head.id.as_str()),
            (1024, 8192, "name ")
        );
        let rows = stamps_of(&lab, 0, thread);
        assert_eq!(dump.entries.len(), rows.len());
        for (entry, row) in dump.entries.iter().zip(&rows) {
            let letter = if entry.op == Op::Read { "r" } else { "w" };
            let times = (dump.head.clock.picoseconds(entry.start), dump.head.clock.picoseconds(entry.end));
            assert_eq!((letter, u64::from(entry.pass) + 1), (row.op.as_str(), row.pass));
            assert_eq!((entry.number, entry.offset / 1024), (row.number, row.location));
            assert_eq!((entry.length, entry.result, times), (8192, 8192, (row.start, row.end)));
        }
        // And every change is detected.
        for at in [0, 9, 40, bytes.len() / 2, bytes.len() - 1] {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(read_dump(&changed).is_err(), "byte {at}");
        }
        assert!(read_dump(&bytes[..bytes.len() - 1]).is_err());
    }
    // A dump alone needs no report.
    let lab = lab_with_dump_only();
    assert!(!lab.path("ts.target.0000.qthread.0000.csv").exists());
}

fn lab_with_dump_only() -> Lab {
    let lab = lab();
    let out = xdd(&lab, 0, "-ts dump d -op read -targets 1 F -reqsize 8 -numreqs 2").out;
    assert!(!out.contains("DETAILED Time") && !out.contains("Start of SUMMARY"), "{out}");
    assert_eq!(
        read_dump(&std::fs::read(lab.path("d.target.0000.qthread.0000.bin")).unwrap()).unwrap().entries.len(),
        2
    );
    lab
}

// Section 1.9.
#[test]
fn stamp_window_follows_its_options() {
    let lab = lab();
    let numbers = |options: &str| -> Vec<(u64, u64)> {
        xdd(&lab, 0, &format!("{TS} {options} -op read -targets 1 F -reqsize 8 -numreqs 8 -passes 2"));
        stamps(&lab, 0).iter().map(|row| (row.pass, row.number)).collect()
    };
    let all = |from: u64| {
        (1..=2).flat_map(|pass| (0..8).map(move |n| (pass, n))).skip(from as usize).collect::<Vec<_>>()
    };
    assert_eq!(numbers(""), all(0));
    assert_eq!(numbers("-ts triggerop 5"), all(5));
    assert_eq!(numbers("-ts size 3 -ts wrap"), all(13));
    assert_eq!(numbers("-ts size 3 -ts oneshot"), [(1, 0), (1, 1), (1, 2)]);
    assert_eq!(numbers("-ts size 3 -ts oneshot -ts triggerop 6"), [(1, 6), (1, 7), (2, 0)]);
    assert_eq!(numbers("-ts size 100 -ts wrap"), all(0));
    assert_eq!(numbers("-ts triggertime 0"), all(0));
    assert_eq!(numbers("-ts triggertime 1000"), []);
    assert_eq!(numbers("-ts normalize"), all(0));
    assert_eq!(numbers("-ts off -ts on"), all(0));
}

#[test]
fn reports_go_to_results_output_without_a_file() {
    let lab = lab();
    let args = "-op read -targets 2 F G -reqsize 8 -numreqs 4";
    let out = xdd(&lab, 0, &format!("{args} -ts summary")).out;
    assert_eq!((out.matches("Start of SUMMARY").count(), out.matches("Start of DETAILED").count()), (2, 0));
    let out = xdd(&lab, 0, &format!("{args} -ts target 1 detailed")).out;
    assert_eq!((out.matches("Start of SUMMARY").count(), out.matches("Start of DETAILED").count()), (1, 1));
    assert!(out.find("Combined").unwrap() < out.find("Start of DETAILED").unwrap());
    assert!(out.find("End of SUMMARY").unwrap() < out.find("Ending time for this run").unwrap());
    let out = xdd(&lab, 0, &format!("{args} -ts detailed -ts off")).out;
    assert!(!out.contains("Time Stamp Report"), "{out}");
    let ended = xdd(&lab, 0, &format!("{args} -ts output ts"));
    assert!(ended.err.contains("-ts"), "nothing says what to report: {}", ended.err);
}
