//! Acceptance of `iosonar xdd` through the binary, on regular files. Numbers in comments are those of the acceptance
//! checks in `spec/xdd.md`, section 6.
//!
//! Times of real I/O are compared with each other, never with a limit that a slow machine could miss.

mod amounts;
mod coordination;
mod data;
mod examples;
mod files;
mod limits;
mod locations;
mod mix;
mod order;
mod outputs;
mod refused;
mod reports;
mod stamps;

use iosonar_testkit::{Ended, Lab};
use std::collections::BTreeMap;
use std::path::Path;

/// Size of the targets `F`, `G` and `H`.
const FILE: u64 = 16 << 20;

/// Options for the report of time stamps that [`stamps`] reads.
const TS: &str = "-ts detailed -ts output ts";

/// A directory with the fixtures of the spec: `F`, `G`, `H` of zeros, `SHORT` of 20480 bytes; `N` does not exist.
fn lab() -> Lab {
    let lab = crate::lab();
    for name in ["F", "G", "H"] {
        lab.target(name, FILE);
    }
    lab.file("SHORT", [7; 20_480]);
    lab
}

/// Runs XDD's command line, which must end with `code`.
#[track_caller]
fn xdd(lab: &Lab, code: i32, args: &str) -> Ended {
    lab.expect(code, &format!("xdd {args}"))
}

/// Runs it successfully; returns bytes and operations of the combined line.
#[track_caller]
fn moved(lab: &Lab, args: &str) -> (u64, u64) {
    total(&xdd(lab, 0, args))
}

/// Bytes and operations of the combined line.
#[track_caller]
fn total(ended: &Ended) -> (u64, u64) {
    let rows = rows(&ended.out);
    let row = rows.last().expect("a result");
    assert_eq!(row.label, "Combined", "{}", ended.out);
    (row.bytes, row.ops)
}

/// A row of the rate table.
#[derive(Debug, Clone)]
struct Row {
    label: String,
    target: u64,
    queue: u64,
    bytes: u64,
    ops: u64,
    time: f64,
    rate: f64,
    iops: f64,
    latency: f64,
    kind: String,
    request_size: u64,
    /// Words after the usual columns.
    more: Vec<String>,
}

impl Row {
    /// Parses the words after the label, which text and comma-separated rows share.
    #[track_caller]
    fn new(label: String, words: &[&str]) -> Row {
        let number = |n: usize| words[n].parse().unwrap_or_else(|_| panic!("{label} {words:?}"));
        let whole = |n: usize| words[n].parse().unwrap_or_else(|_| panic!("{label} {words:?}"));
        Row {
            target: whole(0),
            queue: whole(1),
            bytes: whole(2),
            ops: whole(3),
            time: number(4),
            rate: number(5),
            iops: number(6),
            latency: number(7),
            kind: words[9].into(),
            request_size: whole(10),
            more: words[11..].iter().map(ToString::to_string).collect(),
            label,
        }
    }
}

/// All rows of the rate table.
#[track_caller]
fn rows(text: &str) -> Vec<Row> {
    let is_row = |line: &&str| {
        ["T ", "Q ", "Combined", "DESKEWED ", "DSAVG "].iter().any(|label| line.starts_with(label))
    };
    let table = text.lines().skip_while(|line| !line.contains("IOtype")).skip(1);
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (label, values) = words.split_at(if words[0] == "Combined" { 1 } else { 2 });
        Row::new(label.join(" "), values)
    };
    table.filter(is_row).map(row).collect()
}

/// The rows with a label.
fn labelled<'a>(rows: &'a [Row], label: &str) -> Vec<&'a Row> {
    rows.iter().filter(|row| row.label == label).collect()
}

/// A row of a detailed report of time stamps; times in picoseconds.
#[derive(Debug, Clone, PartialEq)]
struct Stamp {
    target: u64,
    op: String,
    pass: u64,
    number: u64,
    location: u64,
    distance: u64,
    start: u128,
    end: u128,
    io_ms: f64,
    relative_ms: f64,
    delta_us: f64,
    loop_ms: f64,
    rate: f64,
}

/// The report of a queue thread that [`TS`] wrote.
#[track_caller]
fn stamps_of(lab: &Lab, target: u32, thread: u32) -> Vec<Stamp> {
    read_stamps(&report_of(lab, "ts", target, thread))
}

/// The report of a target's only queue thread.
#[track_caller]
fn stamps(lab: &Lab, target: u32) -> Vec<Stamp> {
    stamps_of(lab, target, 0)
}

#[track_caller]
fn report_of(lab: &Lab, prefix: &str, target: u32, thread: u32) -> String {
    let name = format!("{prefix}.target.{target:04}.qthread.{thread:04}.csv");
    std::fs::read_to_string(lab.path(&name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[track_caller]
fn read_stamps(report: &str) -> Vec<Stamp> {
    let rows = report.lines().skip_while(|line| !line.starts_with("Target, RWV Op")).skip(1);
    let rows = rows.take_while(|line| !line.starts_with("End of DETAILED")).filter(|line| !line.is_empty());
    rows.map(|line| {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        assert_eq!(fields.len(), 13, "{line}");
        let whole = |n: usize| fields[n].parse().expect(line);
        let number = |n: usize| fields[n].parse().expect(line);
        Stamp {
            target: whole(0),
            op: fields[1].into(),
            pass: whole(2),
            number: whole(3),
            location: whole(4),
            distance: whole(5),
            start: fields[6].parse().expect(line),
            end: fields[7].parse().expect(line),
            io_ms: number(8),
            relative_ms: number(9),
            delta_us: number(10),
            loop_ms: number(11),
            rate: number(12),
        }
    })
    .collect()
}

/// Locations of a run's only queue thread, in blocks.
#[track_caller]
fn locations(lab: &Lab, args: &str) -> Vec<u64> {
    xdd(lab, 0, &format!("{TS} {args}"));
    stamps(lab, 0).iter().map(|stamp| stamp.location).collect()
}

/// All files below a directory, with their contents.
fn contents(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => found.extend(contents(&path)),
            false => drop(found.insert(path.display().to_string(), std::fs::read(&path).expect("a file"))),
        }
    }
    found
}

/// All files in the lab, to be compared after a run that must not change them.
fn snapshot(lab: &Lab) -> BTreeMap<String, Vec<u8>> {
    contents(&lab.path(""))
}

/// Runs a check twenty times, which the spec requires for everything that depends on the order of threads.
fn often(mut check: impl FnMut()) {
    (0..20).for_each(|_| check());
}
