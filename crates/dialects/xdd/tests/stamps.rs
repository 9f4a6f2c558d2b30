//! Time stamp reports against the rows of manual 9.2, and the entries that a window keeps.

use iosonar_archive::Record;
use iosonar_dialect_xdd::{
    RunClock, StampEntry, StampHead, StampMode, StampReport, StampWindow, stamp_entries,
};
use iosonar_plan::{Extent, Nanos, Op};

const BLOCK: u64 = 1024;
const REQUEST: u64 = 4096 * BLOCK;

/// An entry of the manual, with its picoseconds.
fn entry(pass: u32, number: u64, location: u64, start_ps: u64, end_ps: u64) -> StampEntry {
    StampEntry {
        pass,
        op: Op::Read,
        number,
        offset: location * BLOCK,
        length: REQUEST,
        result: REQUEST as i64,
        start: Nanos(start_ps / 1000),
        end: Nanos(end_ps / 1000),
    }
}

fn report(entries: &[StampEntry], detailed: bool, clock: RunClock) -> String {
    let head = StampHead {
        target: 1,
        queue_thread: 0,
        entries: entries.len() as u64,
        tick_ps: 1000,
        clock,
        block_size: BLOCK,
        detailed,
    };
    let mut report = StampReport::new(Vec::new(), head, "sections\n").unwrap();
    entries.iter().for_each(|e| report.add(e).unwrap());
    String::from_utf8(report.finish().unwrap()).unwrap()
}

fn squeezed(line: &str) -> String {
    line.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn reproduces_rows_of_the_manual() {
    let entries = [
        entry(0, 0, 0, 186_719_046_303_600_000, 186_719_073_271_600_000),
        entry(0, 1, 4096, 186_719_073_274_800_000, 186_719_112_520_400_000),
        // The last request of the pass ended 181588.8 µs before the next pass started, at the 318th request.
        entry(0, 317, 317 * 4096, 186_749_000_000_000_000, 186_749_057_078_800_000),
        entry(1, 0, 0, 186_749_238_667_600_000, 186_749_453_195_600_000),
        entry(1, 1, 4096, 186_749_453_198_000_000, 186_749_612_834_000_000),
    ];
    let text = report(&entries, true, RunClock::default());
    let lines: Vec<String> = text.lines().map(squeezed).collect();
    assert_eq!(
        lines[..4],
        [
            "Target and Qthread number for this report, 1, 0",
            "sections",
            "Start of DETAILED Time Stamp Report, Number of entries, 5, Picoseconds per clock tick, 1000, delta, 0",
            "Target, RWV Op, Pass,OP Number, Location, Distance, StartTS, EndTS, IO_Time_ms, Relative_ms, Delta_us, Loop_ms, Inst MB/sec",
        ]
    );
    let first = "1, r, 1, 0, 0, 0, 186719046303600000, 186719073271600000, 26.96800, 0.00000, 0.00000, 0.00000, 155.529";
    let second = "1, r, 1, 1, 4096, 0, 186719073274800000, 186719112520400000, 39.24560, 26.97120, 3.20000, 39.24880, 106.873";
    assert_eq!(lines[4..6], [first, second]);
    let next_pass = "1, r, 2, 0, 0, 1302528, 186749238667600000, 186749453195600000, 214.52800, 30192.36400, 181588.80000, 396.11680, 19.551";
    let behind = "1, r, 2, 1, 4096, 0, 186749453198000000, 186749612834000000, 159.63600, 30406.89440, 2.40000, 159.63840, 26.274";
    assert_eq!(lines[7..10], ["", next_pass, behind]);
    assert_eq!(lines[10], "End of DETAILED Time Stamp Report");
}

#[test]
fn a_small_report_is_exact() {
    let us = |n: u64| n * 1_000_000;
    let short = StampEntry { op: Op::Write, result: 1024, ..entry(0, 1, 0, us(3000), us(3000)) };
    let entries = [entry(0, 0, 8192, us(1000), us(2000)), short, entry(1, 0, 0, us(5000), us(9000))];
    let clock = RunClock { epoch_unix_ns: 1_000_000_000, delta_ns: -500_000_000 };
    let want = "\
Target and Qthread number for this report, 1, 0
sections
Start of DETAILED Time Stamp Report, Number of entries, 3, Picoseconds per clock tick, 1000, delta, -500000000000
Target, RWV Op, Pass,OP Number, Location, Distance, StartTS, EndTS, IO_Time_ms, Relative_ms, Delta_us, Loop_ms, Inst MB/sec
1, r, 1, 0, 8192, 0, 501000000000, 502000000000,         1.00000,         0.00000,         0.00000,         0.00000,     4194.304
1, w, 1, 1, 0, 12288, 503000000000, 503000000000,         0.00000,         2.00000,      1000.00000,         1.00000,        0.000

1, r, 2, 0, 0, 4096, 505000000000, 509000000000,         4.00000,         4.00000,      2000.00000,         6.00000,     1048.576
End of DETAILED Time Stamp Report
Start of SUMMARY Time Stamp Report
Average seek distance in 1024 byte blocks, 12288, request size in blocks, 4096
Range: Longest seek distance in blocks, 12288, shortest seek distance in blocks, 12288
Average I/O time in milliseconds,         1.66667, average dead time in microseconds,      1000.00000
I/O Time Range: Longest I/O time in milliseconds,         4.00000, shortest I/O time in milliseconds,         0.00000
Dead Time Range: Longest dead time in microseconds,      1000.00000, shortest dead time in microseconds,      1000.00000
End of SUMMARY Time Stamp Report
";
    assert_eq!(report(&entries, true, clock), want);
    let summary = want.lines().take(2).chain(want.lines().skip(9)).map(|l| format!("{l}\n"));
    assert_eq!(report(&entries, false, clock), summary.collect::<String>());
}

#[test]
fn empty_report_contains_no_nan() {
    let text = report(&[], true, RunClock::default());
    assert!(text.contains("Number of entries, 0,") && !text.contains("NaN"), "{text}");
}

#[test]
fn operations_are_numbered_in_each_pass() {
    let record = |pass, sequence, carried_out: bool| Record {
        pass,
        sequence,
        submitted: carried_out.then_some(Nanos(1)),
        completed: carried_out.then_some(Nanos(2)),
        executed: Extent { offset: sequence, length: 7 },
        ..Record::default()
    };
    let records = [(0, 1, true), (0, 3, true), (1, 1, true), (1, 3, false), (1, 5, true), (2, 1, false)];
    let entries = stamp_entries(records.map(|(pass, sequence, done)| record(pass, sequence, done)));
    let have: Vec<(u32, u64, u64)> = entries.map(|e| (e.pass, e.number, e.offset)).collect();
    assert_eq!(have, [(0, 0, 1), (0, 1, 3), (1, 0, 1), (1, 1, 5)]);
}

/// Two passes of four operations, one each second.
fn kept(window: StampWindow) -> Vec<(u32, u64)> {
    let second = 1_000_000_000_000;
    let entries = (0..8).map(|i| entry((i / 4) as u32, i % 4, 0, i * second, i * second + 1000));
    window.select(entries).map(|e| (e.pass, e.number)).collect()
}

#[test]
fn stamp_window_follows_its_options() {
    let all = StampWindow::default();
    assert_eq!(kept(all).len(), 8);
    assert_eq!(kept(StampWindow { mode: StampMode::Wrap, ..all }).len(), 8);
    for mode in [StampMode::All, StampMode::Wrap] {
        assert_eq!(kept(StampWindow { size: Some(2), mode, ..all }), [(1, 2), (1, 3)]);
        assert_eq!(kept(StampWindow { size: Some(usize::MAX), mode, ..all }).len(), 8);
        assert_eq!(kept(StampWindow { size: Some(0), mode, ..all }), []);
    }
    let oneshot = StampWindow { size: Some(2), mode: StampMode::OneShot, ..all };
    assert_eq!(kept(oneshot), [(0, 0), (0, 1)]);
    assert_eq!(kept(StampWindow { from_op: Some(3), ..oneshot }), [(0, 3), (1, 0)]);
    assert_eq!(kept(StampWindow { from_op: Some(3), ..all }).len(), 5);
    assert_eq!(kept(StampWindow { from_op: Some(9), ..all }).len(), 4);
    let late = StampWindow { from_time: Some(Nanos::from_secs(6)), ..all };
    assert_eq!(kept(late), [(1, 2), (1, 3)]);
    assert_eq!(kept(StampWindow { from_time: Some(Nanos::from_secs(60)), ..all }), []);
}
