//! Reports, number by number: against the tables of XDD's manual, and as exact text.

use iosonar_analyze::SkewWindows;
use iosonar_archive::{Outcome, PassTimes, Record};
use iosonar_dialect_xdd::{
    IoType, RateDetail, RateRow, RateTable, RateTarget, RunClock, deskew_notes, rate_csv, rate_csv_row,
    rate_text,
};
use iosonar_plan::{Decimal, Extent, Nanos, Op};

const MANUAL_REQUEST: i64 = 4_194_304;

fn target(queue_depth: u32) -> RateTarget {
    RateTarget { queue_depth, block_size: 1024, read_percent: Decimal::whole(100), reopened: false }
}

fn request(pass: u32, target: u16, worker: u16, op: Op, result: i64) -> Record {
    let outcome = if result > 0 { Outcome::Completed } else { Outcome::Failed };
    Record { pass, target, worker, op, outcome, result, ..Record::default() }
}

/// Times in milliseconds.
fn times(pass: u32, target: u16, job: u16, start: u64, end: u64) -> PassTimes {
    let ms = |n| Nanos(n * 1_000_000);
    PassTimes { target, job, phase: 0, pass, start: ms(start), end: ms(end), cpu_ns: 0, open_ns: 0 }
}

fn verbose() -> RateDetail {
    RateDetail { verbose: true, ..RateDetail::default() }
}

/// Example of manual 7.1: requests and milliseconds of each target's passes. The manual prints times with two decimals;
/// the third is chosen to reproduce its rates.
fn manual() -> RateTable {
    let mut table = RateTable::new(vec![target(1), target(1)]);
    let passes =
        [[(683, 30_190), (702, 30_027), (616, 30_022)], [(318, 30_012), (306, 30_032), (309, 30_136)]];
    for (number, passes) in (0..).zip(passes) {
        let mut start = 0;
        for (pass, (requests, length)) in (0..).zip(passes) {
            table.add_times(&times(pass, number, 0, start, start + length));
            start += length;
            for _ in 0..requests {
                table.add(&request(pass, number, 0, Op::Read, MANUAL_REQUEST));
            }
        }
    }
    table
}

fn two_decimals(row: &RateRow) -> String {
    format!(
        "{} {} {} {} {} {:.2} {:.2} {:.2} {:.4} {} {}",
        row.label,
        row.target,
        row.queue,
        row.bytes,
        row.ops,
        row.time.as_secs_f64(),
        row.rate(),
        row.iops(),
        row.latency(),
        row.io_type.name(),
        row.request_size
    )
}

#[test]
fn reproduces_table_of_the_manual() {
    let rows = manual().rows(&verbose(), None);
    let have: Vec<String> = rows.iter().map(two_decimals).collect();
    let want = [
        "T PASS0001 0 1 2864709632 683 30.19 94.89 22.62 0.0442 read 4096",
        "T PASS0001 1 1 1333788672 318 30.01 44.44 10.60 0.0944 read 4096",
        "T PASS0002 0 1 2944401408 702 30.03 98.06 23.38 0.0428 read 4096",
        "T PASS0002 1 1 1283457024 306 30.03 42.74 10.19 0.0981 read 4096",
        "T PASS0003 0 1 2583691264 616 30.02 86.06 20.52 0.0487 read 4096",
        "T PASS0003 1 1 1296039936 309 30.14 43.01 10.25 0.0975 read 4096",
        "T Average 0 1 8392802304 2001 90.24 93.01 22.17 0.0451 read 4096",
        "T Average 1 1 3913285632 933 90.18 43.39 10.35 0.0967 read 4096",
        "Combined 2 2 12306087936 2934 90.24 136.37 32.51 0.0308 read 4096",
    ];
    assert_eq!(have, want);
}

#[test]
fn prints_table_as_text_and_csv() {
    let mut table = RateTable::new(vec![target(2)]);
    for (pass, start) in [(0, 0), (1, 1500)] {
        table.add_times(&PassTimes { cpu_ns: 10_000_000, ..times(pass, 0, 0, start, start + 1000) });
        table.add_times(&PassTimes { cpu_ns: 20_000_000, ..times(pass, 0, 1, start, start + 500) });
        for worker in [0, 0, 1, 1] {
            table.add(&request(pass, 0, worker, Op::Read, 65536));
        }
    }
    let detail = RateDetail { queue_threads: true, ..verbose() };
    let (rows, columns) = (table.rows(&detail, None), table.columns(&detail));
    let want = "                     T    Q          Bytes       Ops      Time       Rate       IOPS   Latency    %CPU IOtype  ReqSize
Q PASS0001           0    0         131072         2     1.000      0.131       2.00    0.5000    1.00   read       64
Q PASS0001           0    1         131072         2     0.500      0.262       4.00    0.2500    4.00   read       64
T PASS0001           0    2         262144         4     1.000      0.262       4.00    0.2500    3.00   read       64
Q PASS0002           0    0         131072         2     1.000      0.131       2.00    0.5000    1.00   read       64
Q PASS0002           0    1         131072         2     0.500      0.262       4.00    0.2500    4.00   read       64
T PASS0002           0    2         262144         4     1.000      0.262       4.00    0.2500    3.00   read       64
Q Average            0    0         262144         4     2.000      0.131       2.00    0.5000    1.00   read       64
Q Average            0    1         262144         4     1.000      0.262       4.00    0.2500    4.00   read       64
T Average            0    2         524288         8     2.000      0.262       4.00    0.2500    3.00   read       64
Combined             1    2         524288         8     2.500      0.210       3.20    0.3125    2.40   read       64
";
    assert_eq!(rate_text(&rows, columns), want);
    let want = "\
,Target,Q,Bytes,Ops,Time,Avg Rate,IOPS,Latency,Percent CPU,OP_Type,ReqSize
T PASS0001,   0, 2,      262144,     4,  1.000,  0.262,  4.00, 0.2500, 3.00,read,        64
Combined,   1, 2,      524288,     8,  2.500,  0.210,  3.20, 0.3125, 2.40,read,        64
";
    assert_eq!(rate_csv(&[rows[2].clone(), table.combined()], columns), want);
    assert_eq!(rate_csv_row(&table.combined(), columns), want.lines().last().unwrap().to_string() + "\n");
}

#[test]
fn every_row_has_as_many_fields_as_the_heading() {
    let mut table = RateTable::new(vec![RateTarget { reopened: true, ..target(1) }]);
    table.add_times(&PassTimes { open_ns: 1500, ..times(0, 0, 0, 0, 1000) });
    table.add_times(&PassTimes { open_ns: 2500, ..times(1, 0, 0, 2000, 3000) });
    let done =
        Record { submitted: Some(Nanos(0)), completed: Some(Nanos(9)), ..request(0, 0, 0, Op::Read, 9) };
    table.add(&done);
    let mut windows = SkewWindows::default();
    windows.add(&done);
    let mut deskew = windows.measure();
    deskew.add(&done);
    let clock = RunClock { epoch_unix_ns: 1_700_000_000_000_000_000, delta_ns: 0 };
    let detail = RateDetail { really_verbose: true, queue_threads: true, clock, ..RateDetail::default() };
    let (rows, columns) = (table.rows(&detail, Some(&deskew)), table.columns(&detail));
    let labels: Vec<&str> = rows.iter().map(|r| r.label.as_str()).collect();
    let want =
        ["Q PASS0001", "T PASS0001", "DESKEWED PASS0001", "DSAVG PASS0001", "Q PASS0002", "T PASS0002"];
    assert_eq!(labels[..6], want);
    assert_eq!(labels[6..], ["Q Average", "T Average", "Combined"]);

    let text = rate_text(&rows, columns);
    let fields = |line: &str| line.split_ascii_whitespace().count();
    let heading = fields(text.lines().next().unwrap());
    assert_eq!(heading, 14);
    for (line, row) in text.lines().skip(1).zip(&rows) {
        assert_eq!(fields(line), heading + fields(&row.label), "{line}");
    }
    let csv = rate_csv(&rows, columns);
    assert!(csv.lines().all(|line| line.split(',').count() == 15), "{csv}");
    assert!(csv.lines().next().unwrap().ends_with("ReqSize,OpenTime_usec,Start_ps,End_ps"));
    let combined = text.lines().last().unwrap();
    assert!(combined.ends_with(" 2.000 1700000000000000000000 1700000003000000000000"), "{combined}");
    assert_eq!([rows[0].open_ns, rows[4].open_ns, rows[8].open_ns], [1500, 2500, 2000]);
}

#[test]
fn prints_one_row_without_verbose() {
    let rows = manual().rows(&RateDetail { queue_threads: true, ..RateDetail::default() }, None);
    assert_eq!(rows.iter().map(|r| r.label.as_str()).collect::<Vec<_>>(), ["Combined"]);
}

#[test]
fn short_requests_count_and_failed_ones_do_not() {
    let mut table = RateTable::new(vec![target(1)]);
    table.add_times(&times(0, 0, 0, 0, 1000));
    table.add(&request(0, 0, 0, Op::Read, 8192));
    table.add(&Record { outcome: Outcome::Failed, ..request(0, 0, 0, Op::Read, 4096) });
    table.add(&request(0, 0, 0, Op::Write, -5));
    table.add(&request(0, 0, 0, Op::Read, 0));
    table.add(&Record { outcome: Outcome::Cancelled, ..request(0, 0, 0, Op::Read, 0) });
    table.add(&request(0, 7, 0, Op::Read, 8192));
    let row = table.combined();
    assert_eq!((row.bytes, row.ops, row.errors, row.request_size), (12288, 2, 2, 6));
    assert_eq!(row.io_type, IoType::Read);
}

#[test]
fn idle_rows_are_zero_with_requested_type() {
    let writer = RateTarget { read_percent: Decimal::whole(0), ..target(1) };
    let table = RateTable::new(vec![target(1), writer]);
    let rows = table.rows(&verbose(), None);
    let kinds: Vec<IoType> = rows.iter().map(|r| r.io_type).collect();
    assert_eq!(kinds, [IoType::Read, IoType::Write, IoType::Mixed]);
    for row in &rows {
        assert_eq!([row.rate(), row.iops(), row.latency(), row.cpu_percent()], [0.0; 4]);
        assert_eq!(row.request_size, 0);
    }
    let text = rate_text(&rows, table.columns(&verbose()));
    assert!(!text.contains("NaN") && !text.contains('-'), "{text}");
    assert_eq!(RateTable::new(Vec::new()).rows(&verbose(), None).len(), 1);
}

#[test]
fn combined_row_mixes_target_types() {
    let mut table = RateTable::new(vec![target(1), target(1)]);
    table.add(&request(0, 0, 0, Op::Read, 1));
    table.add(&request(0, 1, 0, Op::Write, 1));
    let kinds: Vec<IoType> = table.rows(&verbose(), None).iter().map(|r| r.io_type).collect();
    assert_eq!(kinds, [IoType::Read, IoType::Write, IoType::Read, IoType::Write, IoType::Mixed]);
}

#[test]
fn aborted_run_derives_times_from_requests() {
    let mut table = RateTable::new(vec![target(1)]);
    for (start, end) in [(500, 700), (200, 400)] {
        let extent = Extent { offset: 0, length: 1024 };
        let (submitted, completed) = (Some(Nanos(start)), Some(Nanos(end)));
        table.add(&Record { submitted, completed, executed: extent, ..request(0, 0, 0, Op::Read, 1024) });
    }
    assert_eq!(table.combined().time, Nanos(500));
}

#[test]
fn computes_deskewed_rows_and_running_average() {
    let mut table = RateTable::new(vec![target(1), target(3)]);
    let second = 1_000_000_000;
    let record = |pass, target, start: u64, end: u64, bytes| Record {
        submitted: Some(Nanos(start * second)),
        completed: Some(Nanos(end * second)),
        ..request(pass, target, 0, Op::Read, bytes)
    };
    let records = [
        record(0, 0, 0, 4, 8_000_000),
        record(0, 1, 2, 6, 4_000_000),
        record(1, 0, 10, 11, 1),
        record(1, 1, 11, 12, 1),
        record(2, 0, 20, 24, 8_000_000),
        record(2, 1, 20, 24, 12_000_000),
    ];
    let mut windows = SkewWindows::default();
    records.iter().for_each(|r| windows.add(r));
    let mut deskew = windows.measure();
    for record in &records {
        deskew.add(record);
        table.add(record);
    }
    let rows = table.rows(&verbose(), Some(&deskew));
    let skewed: Vec<String> = rows.iter().filter(|r| r.label.starts_with('D')).map(two_decimals).collect();
    let want = [
        "DESKEWED PASS0001 4 4 6000000 0 2.00 3.00 0.00 0.0000 NA 0",
        "DSAVG PASS0001 4 4 6000000 0 2.00 3.00 0.00 0.0000 NA 0",
        "DESKEWED PASS0003 4 4 20000000 0 4.00 5.00 0.00 0.0000 NA 0",
        "DSAVG PASS0003 4 4 26000000 0 6.00 4.33 0.00 0.0000 NA 0",
    ];
    assert_eq!(skewed, want);
    let short = table.rows(&RateDetail::default(), Some(&deskew));
    assert_eq!(short.iter().map(|r| r.label.as_str()).collect::<Vec<_>>(), ["DSAVG PASS0003", "Combined"]);
    assert_eq!(deskew_notes(&deskew, true).lines().count(), 4);
    let note = "Deskew, pass, 1, front-end skew in seconds, 2.000000, back-end skew in seconds, 2.000000, window in seconds, 2.000000, bytes in window, 6000000";
    assert_eq!(deskew_notes(&deskew, true).lines().next(), Some(note));
}
