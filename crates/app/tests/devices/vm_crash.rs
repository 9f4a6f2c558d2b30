//! State after a loss of power, in a virtual machine with a stock kernel: a device with a cache whose power is cut under runs, and every
//! state of another one, as logged by device mapper.

use crate::common::*;
use iosonar_archive::{Archive, ArchiveWriter, Marks, Outcome, Record};
use iosonar_plan::{Nanos, Op};
use iosonar_testkit::{Ended, Lab};
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;

const MODULES: [&str; 4] = ["configfs", "null_blk nr_devices=0", "dm-mod", "dm-log-writes"];
/// Bytes that the requests cover: of each device whose power is cut, and of the logged one.
const CUT: u64 = 1 << 20;
const LOGGED: u64 = 512 << 10;
/// Devices in one run, each cut at a different moment.
const DEVICES: u64 = 10;

/// Writes of 4 KiB with one read among eight requests; a flush after each `flush_every` of them, and each `fua_every`-th write with
/// force unit access, unless these are 0.
fn load(region: u64, count: u64, every: u64, flush_every: u64, fua_every: u64) -> String {
    let lines = conflicting(count, region / 4096, 1, every);
    let mut text = load_text(&[]);
    let mut writes = 0;
    for (number, line) in (1..).zip(lines) {
        let time = format!("{}.{:09}", line.time / 1_000_000_000, line.time % 1_000_000_000);
        let is_read = number % 8 == 0;
        writes += u64::from(!is_read);
        let word = match is_read {
            true => "R",
            false if fua_every > 0 && writes % fua_every == 0 => "WF",
            false => "W",
        };
        text += &format!("{time} ; {} ; 8 ; {word} ; 0.0 ; 0.0\n", line.sector * 8);
        if flush_every > 0 && number % flush_every == 0 {
            text += &format!("# flush ; {time} ; 0.0 ; 0.0\n");
        }
    }
    text
}

#[test]
fn flushed_data_survives_power_loss() {
    let mut command = or_skip!(machine(&["dmsetup"]));
    let _turn = shared_turn();
    let lab = lab();
    let rounds = if std::env::var("IOSONAR_LONG").is_ok_and(|v| v == "1") { 5 } else { 2 };
    command.args(MODULES.iter().flat_map(|module| ["-m", module]));
    for (name, text) in
        [("fua.load", load(CUT, 20_000, 500_000, 0, 10)), ("log.load", load(LOGGED, 1500, 500_000, 25, 10))]
    {
        command.args(["-f", &format!("{}:/{name}", lab.file(name, text).display())]);
    }
    command.args(["-d", "8", "-d", "32", "-r", "1024", "-t", "580", "-o"]).arg(lab.path(""));
    command.arg(script("vm_crash.sh")).args([rounds, DEVICES].map(|number| number.to_string()));
    let told = Ended::of(command.output().unwrap());
    println!("{}", told.out);
    assert_eq!(told.code, 0, "{}\n{}", told.out, told.err);
    assert!(!told.out.contains("-- failed"), "{}", told.out);
    survives_cuts(&lab, &told.out, rounds);
    survives_at_each_flush(&lab, &told.out);
}

/// Output of `iosonar verify` for devices after a crash, each with its image.
#[track_caller]
fn verified(lab: &Lab, result: &str, images: &[(String, String)], code: i32) -> Value {
    let targets: String =
        images.iter().map(|(device, image)| format!(" --target {device}={image}")).collect();
    let ended =
        lab.expect(code, &format!("verify {result} --mode after-crash{targets} --json --no-progress"));
    serde_json::from_str(&ended.out).unwrap()
}

fn number(json: &Value, path: &str) -> u64 {
    json.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("no {path} in {json:#}"))
}

/// The power is cut at many moments: all flushed writes are there, and some of the others are lost.
fn survives_cuts(lab: &Lab, told: &str, rounds: u64) {
    let (mut durable, mut there, mut lost, mut in_flight) = (0, 0, 0, 0);
    for round in 0..rounds {
        let name = format!("runs/cuts-{round}");
        // The run has seen that its devices failed, and ended by itself.
        assert!(told.contains(&format!("== cuts-{round} 1\n")), "{name}");
        let image = |device| (format!("/dev/cut{device}"), format!("{name}/disk{device}"));
        let json = verified(lab, &name, &(0..DEVICES).map(image).collect::<Vec<_>>(), 0);
        let crash = |path: &str| number(&json, &format!("/verified/crash/{path}"));
        println!("{name}: {}", json["verified"]["crash"]);
        assert_eq!(
            (crash("missing"), json["faults"].as_array().map(Vec::len)),
            (0, Some(0)),
            "{name}: {json:#}"
        );
        durable += crash("durable");
        there += crash("not_durable/there");
        lost += crash("not_durable/lost");
        in_flight += ["there", "lost", "torn", "overwritten"]
            .iter()
            .map(|part| crash(&format!("in_flight/{part}")) + crash(&format!("failed/{part}")))
            .sum::<u64>();
    }
    let cuts = rounds * DEVICES;
    println!(
        "{cuts} cuts: {durable} durable writes, all there; of those not flushed {there} there and {lost} lost; {in_flight} in flight"
    );
    assert!(durable > 50 * cuts && lost > 5 * cuts && in_flight > 0, "{durable} {lost} {in_flight}");
}

/// An entry of the log of dm-log-writes.
struct Entry<'a> {
    /// In bytes, on the device.
    offset: u64,
    flags: u64,
    data: &'a [u8],
    /// When the write was submitted; 0 for others.
    submitted: Nanos,
}

impl Entry<'_> {
    const FLUSH: u64 = 1;
    /// A mark of device mapper itself, at the end.
    const MARK: u64 = 8;

    /// Number of the request that has written it: the run masks no headers.
    fn write(&self) -> u64 {
        let word = |at: usize| u64::from_le_bytes(self.data[at..at + 8].try_into().unwrap());
        assert_eq!((word(0), &self.data[8..16], word(24) * 512), (0, b"iosonar2".as_slice(), self.offset));
        word(32)
    }
}

/// Parses the entries, in the order in which they became durable.
fn entries<'a>(log: &'a [u8], records: &[Record]) -> Vec<Entry<'a>> {
    let submitted: HashMap<u64, Nanos> =
        records.iter().filter_map(|r| Some((r.sequence, r.submitted?))).collect();
    let word = |at: usize| u64::from_le_bytes(log[at..at + 8].try_into().unwrap());
    let sector = u32::from_le_bytes(log[24..28].try_into().unwrap()) as usize;
    assert_eq!((word(0), word(8)), (0x6a_7366_7773_6872, 1), "the super block of dm-log-writes");
    let mut at = sector;
    let mut read = |_| {
        let (first, count, flags, length) = (word(at), word(at + 8), word(at + 16), word(at + 24));
        assert!(length == 0 || flags & Entry::MARK != 0, "only marks have data in their own sector");
        let bytes = count as usize * sector;
        let data = &log[at + sector..at + sector + bytes];
        at += sector + bytes;
        let mut entry = Entry { offset: first * sector as u64, flags, data, submitted: Nanos(0) };
        if !data.is_empty() {
            entry.submitted = submitted[&entry.write()];
        }
        entry
    };
    (0..word(16)).map(&mut read).filter(|entry| entry.flags & Entry::MARK == 0).collect()
}

/// For each index, a moment of the run before which no entry from that index on was logged.
///
/// The n-th flush in the log was submitted no earlier than the n-th of the run. A write with force unit access is logged by itself,
/// other writes by the next flush, before its own entry.
fn not_before(entries: &[Entry<'_>], records: &[Record]) -> Vec<Nanos> {
    let flushes = records.iter().filter(|r| r.op == Op::Flush);
    let mut flushes: Vec<Nanos> = flushes.filter_map(|r| r.submitted).collect();
    flushes.sort_unstable();
    let is_flush = |entry: &&Entry<'_>| entry.flags & Entry::FLUSH != 0 && entry.data.is_empty();
    assert_eq!(entries.iter().filter(is_flush).count(), flushes.len(), "flushes of the run and in the log");
    let fua: HashMap<u64, Nanos> = records
        .iter()
        .filter(|r| r.marks.has(Marks::FUA))
        .filter_map(|r| Some((r.sequence, r.submitted?)))
        .collect();
    // For the last entries, the end of the run.
    let mut earliest = Nanos(u64::MAX);
    let mut bounds = Vec::new();
    for entry in entries.iter().rev() {
        if is_flush(&entry) {
            earliest = earliest.min(flushes.pop().unwrap());
        } else if let Some(submitted) = fua.get(&entry.write()) {
            earliest = earliest.min(*submitted);
        }
        bounds.push(earliest);
    }
    bounds.reverse();
    bounds
}

/// Writes the result of a run whose device fails at `moment`: nothing is acknowledged after it.
fn cut_at(whole: &Archive, records: &[Record], moment: Nanos, dir: &Path) -> Vec<Record> {
    let cut = |record: &Record| match record.completed > Some(moment) {
        true => Record { outcome: Outcome::Failed, result: -5, ..*record },
        false => *record,
    };
    let records: Vec<Record> = records.iter().map(cut).collect();
    let writer = ArchiveWriter::create(dir, whole.plan(), &whole.environment_json(), whole.run()).unwrap();
    let mut log = writer.record_log().unwrap();
    log.append(&records).unwrap();
    drop(log);
    writer.finish().unwrap();
    records
}

/// Index of the last durable write among these entries that no later write replaced.
fn durable_entry(entries: &[Entry<'_>], records: &[Record]) -> Option<usize> {
    let is_done = |r: &&Record| r.outcome == Outcome::Completed;
    let last_flush =
        records.iter().filter(is_done).filter(|r| r.op == Op::Flush).filter_map(|r| r.submitted).max();
    let is_durable = |r: &&Record| r.op == Op::Write && (r.marks.has(Marks::FUA) || r.completed < last_flush);
    let durable: Vec<u64> =
        records.iter().filter(is_done).filter(is_durable).map(|record| record.sequence).collect();
    let is_last = |entry: &Entry<'_>| {
        entries.iter().all(|other| other.offset != entry.offset || other.submitted <= entry.submitted)
    };
    (0..entries.len()).rev().find(|at| {
        let entry = &entries[*at];
        !entry.data.is_empty() && durable.contains(&entry.write()) && is_last(entry)
    })
}

/// Contents of the device after these entries. A write with force unit access is logged at once, and an earlier write of its place by the
/// next flush: the older data does not return.
fn image<'a>(entries: impl Iterator<Item = &'a Entry<'a>>) -> Vec<u8> {
    let mut image = vec![0; LOGGED as usize];
    let mut last: HashMap<u64, Nanos> = HashMap::new();
    for entry in entries.filter(|entry| !entry.data.is_empty()) {
        let last = last.entry(entry.offset).or_insert(Nanos(0));
        if entry.submitted >= *last {
            *last = entry.submitted;
            image[entry.offset as usize..][..entry.data.len()].copy_from_slice(entry.data);
        }
    }
    image
}

/// Each state at a flush holds all writes flushed before; for some, a removed write is reported as missing.
fn survives_at_each_flush(lab: &Lab, told: &str) {
    assert!(told.contains("== logged 0\n"));
    let log = std::fs::read(lab.path("runs/logged/log")).unwrap();
    let whole = Archive::open(&lab.path("runs/logged")).unwrap();
    let records = in_order(lab.records("runs/logged"));
    let entries = entries(&log, &records);
    let bounds = not_before(&entries, &records);
    let restore = |count: usize, without: Option<usize>| {
        let kept = entries[..count].iter().enumerate().filter(|(at, _)| Some(*at) != without);
        lab.file("restored", image(kept.map(|(_, entry)| entry)));
    };
    let images = [("/dev/mapper/logged".to_owned(), "restored".to_owned())];
    let is_end = |at: &usize| entries[at - 1].flags & Entry::FLUSH != 0;
    let (mut states, mut durable, mut wrong) = (0, 0, 0);
    for count in (1..entries.len()).filter(is_end) {
        let result = format!("state-{count}");
        let cut = cut_at(&whole, &records, bounds[count], &lab.path(&result));
        restore(count, None);
        let json = verified(lab, &result, &images, 0);
        (states, durable) = (states + 1, durable + number(&json, "/verified/crash/durable"));
        // Reading a fault again takes a second.
        if states % 10 == 0
            && let Some(missing) = durable_entry(&entries[..count], &cut)
        {
            restore(count, Some(missing));
            let json = verified(lab, &result, &images, 5);
            let fault = &json["faults"][0];
            let offset = entries[missing].offset;
            assert_eq!(
                (&fault["class"], &fault["offset"]),
                (&"flush-violated".into(), &offset.into()),
                "{json:#}"
            );
            assert_eq!(json["faults"].as_array().map(Vec::len), Some(1));
            wrong += 1;
        }
        std::fs::remove_dir_all(lab.path(&result)).unwrap();
    }
    println!(
        "{states} states: {durable} durable writes, all there; {wrong} states without one of them, each told"
    );
    assert!(states > 40 && wrong > 3, "{states} {wrong}");
}
