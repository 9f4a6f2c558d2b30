//! Verification in a virtual machine with a stock kernel: device mapper loses, refuses and changes requests, and the faults found are
//! compared with the records and with the disk below it.

use crate::common::*;
use iosonar_archive::{Fault, FaultClass, FaultWrite, FoundBy, Outcome, ReadAgain, Record, Verified};
use iosonar_plan::Op;
use iosonar_testkit::{Ended, Lab};
use std::collections::BTreeMap;

const MODULES: [&str; 7] = [
    "dm-mod",
    "dm-flakey",
    "nvme",
    "configfs",
    "null_blk nr_devices=0",
    "sd_mod",
    "scsi_debug dev_size_mb=16 lbpu=1 lbpws=1 delay=0",
];
/// The disk's mebibytes.
const DISK: &str = "16";
const BLOCK: u64 = 4096;

/// Output of the machine.
struct Machine {
    lab: Lab,
    told: Ended,
}

/// A run in it.
struct Ran {
    records: Vec<Record>,
    verified: Verified,
    faults: Vec<Fault>,
    /// Its output.
    told: String,
}

impl Machine {
    fn path(&self, name: &str) -> String {
        format!("runs/{name}")
    }

    #[track_caller]
    fn ran(&self, name: &str, status: i32) -> Ran {
        let told = std::fs::read_to_string(self.lab.path(&format!("runs/{name}.told"))).unwrap_or_default();
        let line = format!("== {name} {status}\n");
        assert!(self.told.out.contains(&line), "{name}\n{told}\n{}", self.told.out);
        let dir = self.path(name);
        let text = std::fs::read_to_string(self.lab.path(&dir).join("faults.jsonl")).unwrap_or_default();
        let faults = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let verified = run_info(&self.lab.path(&dir)).verified.unwrap();
        Ran { records: in_order(self.lab.records(&dir)), verified, faults, told }
    }

    /// A moment of the script on a run's clock, in nanoseconds: the script prints hundredths of a second, truncated.
    fn moment(&self, run: &str, name: &str) -> u64 {
        let mark = format!("-- {run}-{name} ");
        let line = self.told.out.lines().find_map(|line| line.strip_prefix(&mark)).unwrap();
        let (seconds, hundredths) = line.split_once('.').unwrap();
        let since_start = seconds.parse::<u64>().unwrap() * 100 + hundredths.parse::<u64>().unwrap();
        let origin = run_info(&self.lab.path(&self.path(run))).origin_monotonic_ns;
        (since_start * HUNDREDTH).saturating_sub(origin)
    }
}

const HUNDREDTH: u64 = 10_000_000;

#[test]
fn classifies_real_faults_in_a_virtual_machine() {
    let mut command = or_skip!(machine(&["dmsetup"]));
    let _turn = shared_turn();
    let lab = lab();
    command.args(MODULES.iter().flat_map(|module| ["-m", module]));
    for (name, block) in [("a", 512), ("b", 4096)] {
        let image = lab.target(name, 16 << 20);
        let drive =
            format!("file={},format=raw,if=none,id={name},cache=unsafe,discard=unmap", image.display());
        let device =
            format!("nvme,serial={name},drive={name},logical_block_size={block},physical_block_size={block}");
        command.args(["-a", "-drive", "-a", &drive, "-a", "-device", "-a", &device]);
    }
    command.args(["-d", DISK, "-t", "500", "-o"]).arg(lab.path("")).arg(script("vm_verify.sh"));
    let told = Ended::of(command.output().unwrap());
    println!("{}", told.out);
    assert_eq!(told.code, 0, "{}\n{}", told.out, told.err);
    assert!(!told.out.contains("-- failed"), "{}", told.out);
    let machine = Machine { lab, told };
    loses_for_a_while(&machine);
    refuses_for_a_while(&machine);
    loses_one_of_two(&machine);
    changes_bytes_of_writes(&machine);
    changes_bytes_of_reads(&machine);
    cannot_be_read(&machine);
    has_no_faults(&machine);
}

/// A window of a run, with its borders as printed by the script.
#[derive(Debug)]
struct Window {
    before: u64,
    begins: u64,
    ends: u64,
    after: u64,
}

impl Window {
    fn of(machine: &Machine, run: &str) -> Window {
        let moment = |name| machine.moment(run, name);
        Window {
            before: moment("before"),
            begins: moment("begins") + HUNDREDTH,
            ends: moment("ends"),
            after: moment("after") + HUNDREDTH,
        }
    }

    /// Whether a request was in it; `None` if unknown.
    fn has(&self, record: &Record) -> Option<bool> {
        let (submitted, completed) = (record.submitted.unwrap().0, record.completed.unwrap().0);
        if submitted > self.begins && completed < self.ends {
            return Some(true);
        }
        (completed < self.before || submitted > self.after).then_some(false)
    }
}

/// The requests of each block, in the order of their submission: none of them overlap others in flight.
fn by_block(records: &[Record]) -> BTreeMap<u64, Vec<Record>> {
    let mut blocks: BTreeMap<u64, Vec<Record>> = BTreeMap::new();
    for record in records.iter().filter(|r| !r.is_step()) {
        assert_eq!((record.executed.offset % BLOCK, record.executed.length), (0, BLOCK));
        blocks.entry(record.executed.offset / BLOCK).or_default().push(*record);
    }
    blocks.values_mut().for_each(|requests| requests.sort_by_key(|r| r.submitted));
    blocks
}

/// Phase and number of the request whose write is on the disk, from the header at the start of the block: the run masks no headers.
fn write_on(disk: &[u8], block: u64) -> (u16, u64) {
    let header = &disk[(block * BLOCK) as usize..][..64];
    let word = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().unwrap());
    assert_eq!((word(0), &header[8..16]), (0, b"iosonar2".as_slice()));
    assert_eq!(word(24), block * BLOCK / 512);
    ((word(48) >> 16) as u16, word(32))
}

/// Writes are lost in a window: exactly those whose place was read before its next write are reported.
fn loses_for_a_while(machine: &Machine) {
    let name = "lost-for-a-while";
    let ran = machine.ran(name, 5);
    assert_eq!(count(&ran.records, Outcome::Completed), ran.records.len());
    let window = Window::of(machine, name);
    let disk = std::fs::read(machine.lab.path(&machine.path(name)).join("disk")).unwrap();
    let mut told: BTreeMap<(u16, u64), &Fault> = BTreeMap::new();
    for fault in &ran.faults {
        let expected = fault.expected.unwrap();
        assert_eq!(
            (fault.class, fault.length, fault.transient),
            (FaultClass::Lost, BLOCK, false),
            "{fault:?}"
        );
        assert_eq!(expected.offset, Some(fault.offset));
        assert!(told.insert(write_of(&expected), fault).is_none(), "{fault:?} is told twice");
    }
    let (mut lost, mut unclear) = (0, 0);
    for (block, requests) in by_block(&ran.records) {
        let writes: Vec<usize> = (0..requests.len()).filter(|i| requests[*i].op == Op::Write).collect();
        // The last earlier write that is known to be there.
        let mut there = None;
        for (n, at) in writes.iter().enumerate() {
            let write = &requests[*at];
            let is_last = n + 1 == writes.len();
            let is_read = is_last || writes[n + 1] - at > 1;
            let id = (write.phase, write.sequence);
            let on_disk = is_last.then(|| write_on(&disk, block));
            let is_lost = match (window.has(write), on_disk.map(|on_disk| on_disk != id)) {
                (Some(by_time), Some(by_disk)) if by_time != by_disk => panic!("{write:?}: {on_disk:?}"),
                (by_time, by_disk) => by_time.or(by_disk),
            };
            match is_lost {
                Some(true) => {
                    // A loss that no request read may have been found when an earlier fault's place was read again.
                    let is_reported = told.get(&id).map(|fault| fault.request.is_some() || is_last);
                    assert!(is_reported.map_or(!is_read, |by_request| is_read || !by_request), "{write:?}");
                    if let (Some(fault), Some(there)) = (told.get(&id), there) {
                        assert_eq!(fault.found.map(|found| write_of(&found)), Some(there), "{fault:?}");
                    }
                    lost += u64::from(is_read);
                }
                Some(false) => {
                    let told = told.get(&id);
                    assert!(told.is_none(), "{write:?}: {told:?}, {window:?}, {on_disk:?} on the disk");
                    there = Some(id);
                }
                None => (unclear, there) = (unclear + 1, None),
            }
        }
    }
    println!("{name}: {} faults, {lost} known, {unclear} writes at the borders", ran.faults.len());
    assert!(lost > 20, "{lost}");
    let by = |found_by| ran.faults.iter().filter(|f| f.found_by == found_by).count();
    // Most places are read by a request before the scan.
    assert!(by(FoundBy::Read) > 5, "{name}: {}", ran.told);
    assert_eq!(ran.verified.faults[&FaultClass::Lost].faults, ran.faults.len() as u64);
}

fn write_of(write: &FaultWrite) -> (u16, u64) {
    (write.id.phase, write.id.sequence)
}

/// Requests fail in a window: acknowledged requests have no fault.
fn refuses_for_a_while(machine: &Machine) {
    let name = "refused-for-a-while";
    let ran = machine.ran(name, 1);
    let window = Window::of(machine, name);
    for record in ran.records.iter().filter(|r| !r.is_step()) {
        let fails = record.op == Op::Write && record.outcome == Outcome::Failed;
        let expected = window.has(record).map(|is_inside| is_inside && record.op == Op::Write);
        assert!(expected.is_none_or(|expected| expected == fails), "{record:?}");
    }
    println!("{name}: {} requests failed", count(&ran.records, Outcome::Failed));
    assert!(count(&ran.records, Outcome::Failed) > 20);
    assert_eq!((ran.verified.total(), ran.faults.len()), (0, 0), "{:?}", ran.faults);
    assert!(ran.verified.checked > 1000 && ran.verified.unknown == 0);
}

/// All writes of one target are lost, and none of the other.
fn loses_one_of_two(machine: &Machine) {
    let ran = machine.ran("one-loses", 5);
    let writes = |target: u16| ran.records.iter().filter(move |r| r.target == target && r.op == Op::Write);
    assert!(writes(0).count() > 50 && writes(1).count() > 50);
    let mut missing: Vec<u64> = writes(0).map(|r| r.sequence).collect();
    for fault in &ran.faults {
        // The place held zeros before the run, which is known of its first write only.
        let is_lost =
            fault.class == FaultClass::Lost && fault.note == "zeros" || fault.class == FaultClass::Zeroed;
        assert!(fault.target == 0 && is_lost, "{fault:?}");
        if fault.found_by == FoundBy::AfterWrite {
            missing.retain(|sequence| *sequence != fault.expected.unwrap().id.sequence);
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
    println!("one-loses: {} faults", ran.faults.len());
}

/// One byte of each write changes: it is reported with its place, and named by whether a header is still readable.
fn changes_bytes_of_writes(machine: &Machine) {
    // From 1, as device mapper counts.
    for (byte, class) in [
        (300, FaultClass::Flipped),
        (2000, FaultClass::Flipped),
        (10, FaultClass::HeaderDamaged),
        (40, FaultClass::HeaderDamaged),
    ] {
        let ran = machine.ran(&format!("byte-{byte}"), 5);
        let at = byte - 1;
        let places: Vec<u64> = (0..64).map(|block| block * BLOCK + at / 512 * 512).collect();
        assert_eq!(ran.faults.iter().map(|f| f.offset).collect::<Vec<_>>(), places, "{byte}");
        for fault in &ran.faults {
            assert_eq!((fault.class, fault.length), (class, 512), "{byte}: {fault:?}");
            let damaged = fault.damaged.unwrap();
            let place = (damaged.bytes, u64::from(damaged.first), u64::from(damaged.last));
            assert_eq!(place, (1, at % 512, at % 512), "{byte}: {fault:?}");
            assert_eq!(
                (damaged.bits, fault.again),
                (if byte == 10 { FROM_O } else { FROM_ZERO }, [ReadAgain::Same; 3])
            );
        }
    }
    // Of random bytes one in 256 was right before.
    let ran = machine.ran("byte-of-random", 5);
    assert!(ran.faults.len() > 55, "{}", ran.faults.len());
    for fault in &ran.faults {
        let damaged = fault.damaged.unwrap();
        assert_eq!((fault.class, damaged.bytes, damaged.first), (FaultClass::Flipped, 1, 299), "{fault:?}");
    }
}

/// Bits that differ between byte 90 and a zero; and the second letter of the magic word.
const FROM_ZERO: u32 = 90u8.count_ones();
const FROM_O: u32 = (90 ^ b'o').count_ones();

/// One byte of some reads changes: the disk is right, and later reads say so.
fn changes_bytes_of_reads(machine: &Machine) {
    let ran = machine.ran("bad-reads", 5);
    assert!(ran.faults.len() > 10, "{}", ran.faults.len());
    for fault in &ran.faults {
        assert!(matches!(fault.class, FaultClass::Flipped | FaultClass::HeaderDamaged), "{fault:?}");
        assert_eq!((fault.damaged.unwrap().bytes, fault.length), (1, 512), "{fault:?}");
        // A fault found by a second read is not read again, and an overwritten one could not be.
        assert_eq!(fault.transient, fault.again.contains(&ReadAgain::Right), "{fault:?}");
    }
    let transient = ran.faults.iter().filter(|f| f.transient).count();
    println!("bad-reads: {} faults, {transient} of them transient", ran.faults.len());
    assert!(transient * 2 > ran.faults.len());
}

/// Blocks that have become unreadable: each is reported, and no other.
fn cannot_be_read(machine: &Machine) {
    assert_eq!(machine.ran("readable", 0).verified.total(), 0);
    assert!(machine.told.out.contains("== unreadable 5\n"));
    let text = std::fs::read_to_string(machine.lab.path("runs/unreadable.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let faults: Vec<Fault> = serde_json::from_value(json["faults"].clone()).unwrap();
    let mut sectors: Vec<u64> = Vec::new();
    for fault in &faults {
        assert_eq!(fault.class, FaultClass::Unreadable, "{fault:?}");
        sectors.extend(fault.offset / 512..(fault.offset + fault.length) / 512);
    }
    assert_eq!(sectors, (128..256).collect::<Vec<u64>>());
}

const HONEST: [&str; 7] = ["linear", "virtio", "nvme", "nvme-4096", "null", "scsi-512", "scsi-4096"];

/// Devices without faults, with discards, write zeroes and flushes, are reported as such.
fn has_no_faults(machine: &Machine) {
    for name in HONEST {
        let ran = machine.ran(&format!("honest-{name}"), 0);
        let verified = &ran.verified;
        assert_eq!((verified.total(), ran.faults.len(), verified.given_up), (0, 0, 0), "{name}");
        // Discarded blocks may hold anything.
        assert!(
            verified.checked + verified.checked_again > 2000
                && verified.unknown < 2000
                && verified.added_reads > 0,
            "{name}: {verified:?}"
        );
        let done = |op| ran.records.iter().filter(|r| r.op == op && r.outcome == Outcome::Completed).count();
        assert!(done(Op::Discard) > 10 && done(Op::Fsync) + done(Op::Flush) > 3, "{name}");
    }
}
