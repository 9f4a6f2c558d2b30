//! Each kind leaves exactly the content of its definition, and the ledger reports it.

use super::below::FAR;
use super::*;
use crate::{Setup, Sim, Store, Threads};
use iosonar_os::{Clock, monotonic_ns};
use iosonar_plan::{Injection, SECTOR, ShortPolicy, SimModel};
use rand_core::{Rng, SeedableRng};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::FileExt;

pub(super) const BYTES: u64 = SECTOR;
/// Sectors of requests, and sectors after them that no request reaches.
const INSIDE: u64 = 512;
const OUTSIDE: u64 = 256;

pub(super) fn extent(sector: u64, sectors: u64) -> Extent {
    Extent { offset: sector * BYTES, length: sectors * BYTES }
}

fn outside() -> Extent {
    extent(INSIDE, OUTSIDE)
}

/// Different in each sector and version.
pub(super) fn data(sector: u64, sectors: u64, version: u64) -> Vec<u8> {
    let mut bytes = vec![0; (sectors * BYTES) as usize];
    for (number, chunk) in bytes.chunks_exact_mut(BYTES as usize).enumerate() {
        let seed = version << 32 | (sector + number as u64);
        Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(chunk);
    }
    bytes
}

fn other_run(bytes: &mut [u8], first: u64) {
    bytes.copy_from_slice(&data(first, bytes.len() as u64 / BYTES, 1 << 20));
}

pub(super) fn injector(injections: &[&str]) -> Injector {
    let inject: Vec<Injection> = injections.iter().map(|text| text.parse().unwrap()).collect();
    Injector::with_other_run(&inject, 1, Some(Box::new(other_run)))
}

pub(super) fn sim(store: &Store, depth: u32) -> Box<dyn Backend> {
    let model = SimModel { jitter: Nanos(50_000), ..SimModel::default() };
    Box::new(Sim::with_content(model, depth + Faulty::EXTRA_DEPTH, 1, store.clone()))
}

/// A target under faults over a simulated device, one request at a time.
struct Bench {
    faulty: Faulty,
    store: Store,
    ledger: Ledger,
}

impl Bench {
    fn new(injection: &str) -> Bench {
        Bench::of(&injector(&[injection]), 0)
    }

    fn of(injector: &Injector, number: u16) -> Bench {
        let (store, device) = (Store::new(), FaultyDevice::new(outside()));
        let faulty = Faulty::new(sim(&store, 1), injector.target(number, &device));
        Bench { faulty, store, ledger: injector.ledger().clone() }
    }

    fn run(&mut self, op: Op, extent: Extent, bytes: &[u8]) -> Completion {
        let mut buffer = Buffer::zeroed(bytes.len());
        buffer.copy_from_slice(bytes);
        let durability = Durability::NONE;
        self.faulty.push(Operation { token: Token(3), op, durability, extent, buffer });
        let mut done = Vec::new();
        while done.is_empty() {
            self.faulty.reap(Wait::Until(FAR), &mut done);
        }
        assert_eq!((done.len(), done[0].token), (1, Token(3)));
        done.remove(0)
    }

    fn write(&mut self, sector: u64, sectors: u64, version: u64) {
        let bytes = data(sector, sectors, version);
        let done = self.run(Op::Write, extent(sector, sectors), &bytes);
        assert_eq!(done.result, bytes.len() as i64);
        assert_eq!(*done.buffer, bytes, "the caller's buffer comes back as it was");
    }

    /// Reads into a buffer of 0xEE.
    fn read(&mut self, sector: u64, sectors: u64) -> Completion {
        self.run(Op::Read, extent(sector, sectors), &vec![0xee; (sectors * BYTES) as usize])
    }

    fn held(&self, sector: u64, sectors: u64) -> Vec<u8> {
        let mut bytes = vec![0; (sectors * BYTES) as usize];
        self.store.read(sector * BYTES, &mut bytes);
        bytes
    }

    /// The only entry.
    fn entry(&self) -> Entry {
        let mut entries = self.ledger.entries();
        assert_eq!(entries.len(), 1, "{entries:?}");
        entries.remove(0)
    }
}

fn place(hit: Option<Hit>) -> (u64, u64) {
    hit.map(|hit| (hit.sector, hit.sectors)).unwrap()
}

/// Sectors in which two contents differ, from `first` on.
fn differing(first: u64, a: &[u8], b: &[u8]) -> Vec<u64> {
    let pairs = a.chunks(BYTES as usize).zip(b.chunks(BYTES as usize));
    (first..).zip(pairs).filter(|(_, (a, b))| a != b).map(|(sector, _)| sector).collect()
}

fn sectors_of(hit: Option<Hit>) -> Vec<u64> {
    hit.map(|hit| (hit.sector..hit.sector + hit.sectors).collect()).unwrap_or_default()
}

#[test]
fn lost_write_is_acknowledged_and_keeps_old_data() {
    let mut bench = Bench::new("lost:at=1");
    bench.write(8, 4, 1);
    let before = bench.faulty.now();
    bench.write(8, 4, 2);
    assert_eq!(bench.held(8, 4), data(8, 4, 1));
    let entry = bench.entry();
    assert_eq!((entry.kind, entry.number, place(entry.place)), (InjectionKind::Lost, 1, (8, 4)));
    assert!(entry.applied && !entry.unclear && entry.completed.unwrap() > before);
    assert_eq!((entry.due, entry.held), (Header::of(&data(8, 1, 2)), Header::of(&data(8, 1, 1))));
}

#[test]
fn lost_write_of_identical_data_is_no_fault() {
    let mut bench = Bench::new("lost:at=1");
    bench.write(8, 4, 1);
    bench.write(8, 4, 1);
    assert!(!bench.entry().applied);
}

#[test]
fn torn_writes_keep_one_run_of_earlier_sectors() {
    for (injection, sectors) in [("torn-page:at=1", 24), ("torn-sector:at=1", 8)] {
        let mut bench = Bench::new(injection);
        bench.write(4, sectors, 1);
        bench.write(4, sectors, 2);
        let (entry, held) = (bench.entry(), bench.held(4, sectors));
        let torn = differing(4, &held, &data(4, sectors, 2));
        assert!(entry.applied && !torn.is_empty() && torn.len() < sectors as usize);
        assert_eq!(torn, sectors_of(entry.place));
        let old = differing(4, &held, &data(4, sectors, 1));
        assert!(old.iter().all(|sector| !torn.contains(sector)), "they hold the earlier content");
    }
}

#[test]
fn sector_torn_inside_mixes_both_versions() {
    let mut bench = Bench::new("torn-inside:at=1");
    bench.write(0, 4, 1);
    bench.write(0, 4, 2);
    let entry = bench.entry();
    let ((sector, sectors), (cut, end)) = (place(entry.place), entry.bytes.unwrap());
    assert_eq!((sectors, end, entry.applied), (1, BYTES, true));
    let mut want = data(sector, 1, 1);
    want[..cut as usize].copy_from_slice(&data(sector, 1, 2)[..cut as usize]);
    assert_eq!(bench.held(sector, 1), want);
    assert_eq!(differing(0, &bench.held(0, 4), &data(0, 4, 2)), [sector]);
}

#[test]
fn misdirected_and_duplicated_writes_hit_other_sectors() {
    for kind in ["misdirected", "duplicated"] {
        let mut bench = Bench::new(&format!("{kind}:at=2"));
        bench.write(16, 32, 1);
        bench.write(0, 4, 1);
        bench.write(0, 4, 2);
        let entry = bench.entry();
        let (to, sectors) = place(entry.destination);
        assert!(to >= 16 && to + sectors <= 48 && sectors == 4 && entry.applied);
        assert_eq!(bench.held(to, 4), data(0, 4, 2));
        let is_copy = kind == "duplicated";
        assert_eq!(entry.place.map(|hit| hit.sector), (!is_copy).then_some(0));
        assert_eq!(bench.held(0, 4), data(0, 4, if is_copy { 2 } else { 1 }));
        assert_eq!(differing(16, &bench.held(16, 32), &data(16, 32, 1)), sectors_of(entry.destination));
    }
}

#[test]
fn swapped_writes_exchange_their_data() {
    let mut bench = Bench::new("swapped:at=2");
    bench.write(100, 4, 1);
    bench.write(200, 8, 2);
    bench.write(0, 4, 3);
    assert_eq!(bench.held(0, 4), data(100, 4, 1));
    assert_eq!(bench.held(100, 4), data(0, 4, 3));
    let entry = bench.entry();
    assert_eq!((place(entry.place), place(entry.destination), entry.applied), ((0, 4), (100, 4), true));
}

#[test]
fn data_of_other_target_or_run_is_intact() {
    let injector = injector(&["other-target:every=1,target=1"]);
    let (mut first, mut second) = (Bench::of(&injector, 0), Bench::of(&injector, 1));
    second.write(0, 4, 1);
    assert!(second.ledger.entries().is_empty(), "the other one has written nothing");
    first.write(8, 2, 7);
    second.write(0, 4, 2);
    let entry = second.entry();
    let (at, sectors) = place(entry.place);
    assert_eq!((entry.target, sectors, entry.applied), (1, 2, true));
    assert_eq!(second.held(at, 2), data(8, 2, 7));
    assert_eq!(differing(0, &second.held(0, 4), &data(0, 4, 2)), sectors_of(entry.place));

    let mut bench = Bench::new("other-run:at=0,sectors=3");
    bench.write(8, 8, 1);
    let (at, sectors) = place(bench.entry().place);
    assert_eq!((sectors, bench.held(at, 3)), (3, data(at, 3, 1 << 20)));
}

#[test]
fn damage_matches_the_ledger() {
    for kind in ["flipped", "corrupted", "header-damaged"] {
        let mut bench = Bench::new(&format!("{kind}:at=0,sectors=2"));
        bench.write(8, 8, 1);
        let entry = bench.entry();
        let (held, due) = (bench.held(8, 8), data(8, 8, 1));
        assert_eq!(differing(8, &held, &due), sectors_of(entry.place), "{kind}");
        let start = (place(entry.place).0 - 8) * BYTES;
        let changed = |at: u64| held[(start + at) as usize] ^ due[(start + at) as usize];
        if kind == "flipped" {
            let bits: Vec<u64> =
                (0..2 * BYTES * 8).filter(|bit| changed(bit / 8) >> (bit % 8) & 1 == 1).collect();
            assert_eq!(bits, entry.bits);
        } else {
            let bytes: Vec<u64> = (0..2 * BYTES).filter(|at| changed(*at) > 0).collect();
            assert_eq!(Some((bytes[0], bytes[bytes.len() - 1] + 1)), entry.bytes, "{kind}");
        }
    }
    for (kind, byte) in [("zeroed", Some(0)), ("ones", Some(255)), ("foreign", None)] {
        let mut bench = Bench::new(&format!("{kind}:at=0"));
        bench.write(8, 8, 1);
        let held = bench.held(8, 8);
        assert_eq!(place(bench.entry().place), (8, 8));
        assert_eq!(differing(8, &held, &data(8, 8, 1)).len(), 8);
        assert!(byte.is_none_or(|byte| held.iter().all(|b| *b == byte)), "{kind}");
    }
}

#[test]
fn stale_read_returns_earlier_data_once() {
    let mut bench = Bench::new("stale:every=1");
    bench.write(0, 8, 1);
    bench.write(2, 4, 2);
    let read = bench.read(0, 8);
    assert_eq!(*read.buffer, data(0, 8, 1));
    let again = bench.read(0, 8);
    assert_eq!(differing(0, &again.buffer, &data(0, 8, 1)), [2, 3, 4, 5]);
    let entry = bench.entry();
    assert_eq!((place(entry.place), entry.op), ((2, 4), Op::Read));
    assert_eq!(entry.place.unwrap().read_at, Some(read.completed));
    assert_eq!((entry.due, entry.held), (Header::of(&data(2, 1, 2)), Header::of(&data(2, 1, 1))));
}

#[test]
fn reverted_data_returns_after_a_read() {
    let mut bench = Bench::new("reverted:every=1");
    bench.write(0, 4, 1);
    bench.write(0, 4, 2);
    assert!(bench.ledger.entries().is_empty());
    assert_eq!(*bench.read(0, 4).buffer, data(0, 4, 2), "it is seen first");
    assert_eq!(bench.held(0, 4), data(0, 4, 1));
    assert_eq!(*bench.read(0, 4).buffer, data(0, 4, 1));
    let entry = bench.entry();
    assert!(entry.applied && entry.is_visible() && entry.place.unwrap().read_at.is_some());
    bench.write(0, 4, 3);
    assert!(!bench.entry().is_visible());
}

#[test]
fn untransferred_read_does_not_change_the_buffer() {
    let mut bench = Bench::new("untransferred:at=0+1");
    bench.write(0, 4, 1);
    let read = bench.read(0, 4);
    assert_eq!(read.result, 4 * BYTES as i64);
    assert!(read.buffer.iter().all(|byte| *byte == 0xee));
    let mut bench = Bench::new("untransferred:at=0,sectors=1");
    bench.write(0, 4, 1);
    let read = bench.read(0, 4);
    let hit = differing(0, &read.buffer, &data(0, 4, 1));
    assert_eq!((hit.len(), &hit), (1, &sectors_of(bench.entry().place)));
}

#[test]
fn phantom_write_hits_sectors_of_no_request() {
    let mut bench = Bench::new("phantom:every=1,sectors=3");
    bench.write(INSIDE, OUTSIDE - 16, 1);
    assert_eq!(bench.ledger.entries().len(), 1);
    let entry = bench.entry();
    let (at, sectors) = place(entry.destination);
    assert!(at >= INSIDE + OUTSIDE - 16 && sectors == 3 && entry.place.is_none() && entry.applied);
    assert_eq!(bench.held(INSIDE, OUTSIDE - 16), data(INSIDE, OUTSIDE - 16, 1));
    assert_eq!(differing(at, &bench.held(at, 3), &[0; 3 * BYTES as usize]).len(), 3);
    assert!(bench.held(at + 3, 1).iter().all(|byte| *byte == 0));
}

#[test]
fn short_request_transfers_a_prefix_and_is_marked() {
    let mut bench = Bench::new("short:at=0+1");
    let bytes = data(0, 6, 1);
    let written = bench.run(Op::Write, extent(0, 6), &bytes);
    assert!(written.short && written.result > 0 && written.result < 6 * BYTES as i64);
    assert_eq!(*written.buffer, bytes);
    let done = written.result as usize;
    assert_eq!(bench.held(0, 6)[..done], bytes[..done]);
    assert!(bench.held(0, 6)[done..].iter().all(|byte| *byte == 0));
    assert!(bench.store.write(0, &bytes));
    let read = bench.read(0, 6);
    let done = read.result as usize;
    assert!(read.short && done < 6 * BYTES as usize && read.buffer[..done] == bytes[..done]);
    assert!(read.buffer[done..].iter().all(|byte| *byte == 0xee));
    assert!(bench.ledger.entries().iter().all(|entry| entry.applied));
}

#[test]
fn unreadable_sector_fails_permanently() {
    let mut bench = Bench::new("unreadable:at=0,sectors=1");
    bench.write(0, 4, 1);
    let (at, _) = place(bench.entry().place);
    for _ in 0..2 {
        assert_eq!(bench.read(0, 4).result, -5);
        assert_eq!(bench.read(at, 1).result, -5);
        assert_eq!(bench.read((at + 1) % 4, 1).result, BYTES as i64);
        bench.write(0, 4, 2);
    }
    assert!(bench.entry().place.unwrap().read_at.is_some());
    let mut bench = Bench::new("unreadable:at=0,limit=1");
    assert_eq!(bench.read(0, 4).result, -5);
    assert!(bench.entry().applied);
}

#[test]
fn injections_respect_limits_targets_and_numbers() {
    let mut bench = Bench::new("zeroed:every=1,limit=2");
    (0..10).for_each(|version| bench.write(version * 8, 8, 1));
    assert_eq!(bench.ledger.entries().len(), 2);
    let injector = injector(&["zeroed:at=2+5,target=1"]);
    let (mut first, mut second) = (Bench::of(&injector, 0), Bench::of(&injector, 1));
    for number in 0..8 {
        first.write(number * 8, 8, 1);
        second.write(number * 8, 8, 1);
    }
    let hit: Vec<_> = injector.ledger().entries().iter().map(|e| (e.target, e.number)).collect();
    assert_eq!(hit, [(1, 2), (1, 5)]);
}

#[test]
fn skips_unarmed_targets_and_already_faulty_ranges() {
    let injector = injector(&["zeroed:every=1", "ones:every=1"]);
    let device = FaultyDevice::new(Extent::default());
    let (store, target) = (Store::new(), injector.target(0, &device));
    target.arm(false);
    let faulty = Faulty::new(sim(&store, 1), target.clone());
    let mut bench = Bench { faulty, store, ledger: injector.ledger().clone() };
    bench.write(0, 4, 1);
    assert!(injector.ledger().entries().is_empty());
    target.arm(true);
    bench.write(0, 4, 2);
    bench.write(0, 4, 3);
    assert_eq!(bench.held(0, 4), data(0, 4, 3), "the place had a fault");
    bench.write(0, 4, 4);
    assert_eq!(injector.ledger().entries().len(), 2);
}

#[test]
fn ledger_entries_are_json_lines() {
    let mut bench = Bench::new("flipped:at=0");
    bench.write(8, 1, 1);
    let mut lines = Vec::new();
    bench.ledger.write_lines(&mut lines).unwrap();
    let entry: serde_json::Value = serde_json::from_slice(&lines).unwrap();
    assert_eq!((&entry["kind"], &entry["op"]), (&"flipped".into(), &"write".into()));
    assert_eq!((&entry["place"]["sector"], &entry["place"]["sectors"]), (&8.into(), &1.into()));
    assert_eq!(entry["due"].as_str().unwrap().len(), 128);
    assert!(entry["time_ns"].is_u64() && entry["place"]["superseded_at_ns"].is_null());
    assert!(entry.get("bytes").is_none() && lines.ends_with(b"}\n"));
}

/// A request in flight of a random run.
struct Request {
    op: Op,
    extent: Extent,
    bytes: Vec<u8>,
}

/// Random requests on two targets, with all kinds at once; and the expected content of each sector, by target.
struct Random {
    random: Xoshiro256PlusPlus,
    version: u64,
    flying: BTreeMap<u32, Request>,
    due: Vec<u8>,
    unknown: BTreeSet<u64>,
}

impl Random {
    fn new(seed: u64) -> Random {
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let due = vec![0; ((INSIDE + OUTSIDE) * BYTES) as usize];
        Random { random, version: 1, flying: BTreeMap::new(), due, unknown: BTreeSet::new() }
    }

    /// A request that overlaps nothing in flight.
    fn request(&mut self) -> Option<Request> {
        let random = &mut self.random;
        let page = random.next_u64().is_multiple_of(2);
        let unit = if page { 8 } else { 1 };
        let sectors = (1 + random.next_u64() % 4) * unit;
        let sector = random.next_u64() % ((INSIDE - sectors) / unit + 1) * unit;
        let place = extent(sector, sectors);
        if self.flying.values().any(|other| other.extent.overlaps(place)) {
            return None;
        }
        let op = match random.next_u64() % 20 {
            0 => Op::Discard,
            1..8 => Op::Read,
            _ => Op::Write,
        };
        self.version += 1;
        let bytes = if op.is_write() { data(sector, sectors, self.version) } else { Vec::new() };
        Some(Request { op, extent: place, bytes })
    }

    fn due(&self, extent: Extent) -> &[u8] {
        &self.due[extent.offset as usize..extent.end() as usize]
    }

    /// Notes an end; returns the wrong sectors of a read.
    fn ended(&mut self, completion: &Completion) -> Vec<u64> {
        let Request { op, extent, bytes } = self.flying.remove(&completion.token.0).unwrap();
        let first = extent.offset / BYTES;
        let done = usize::try_from(completion.result).unwrap_or(0);
        if op == Op::Read {
            return differing(first, &completion.buffer[..done], &self.due(extent)[..done])
                .into_iter()
                .filter(|sector| !self.unknown.contains(sector))
                .collect();
        }
        let sectors = first..extent.end() / BYTES;
        if done as u64 == extent.length {
            self.unknown.retain(|sector| !sectors.contains(sector));
            let bytes = if op.is_write() { bytes } else { vec![0; done] };
            self.due[extent.offset as usize..extent.end() as usize].copy_from_slice(&bytes);
        } else {
            self.unknown.extend(sectors);
        }
        Vec::new()
    }
}

/// Runs random requests; checks that the wrong content afterwards matches the ledger.
fn ledger_is_true(
    inner: Box<dyn Backend>,
    content: impl Fn(&mut [u8]),
    depth: usize,
    seed: u64,
) -> Vec<Entry> {
    let every: Vec<String> = InjectionKind::ALL
        .iter()
        .filter(|kind| **kind != InjectionKind::Unreadable && !kind.is_of_cache())
        .map(|kind| {
            format!(
                "{kind}:every={},target=0",
                if kind.suits(Op::Read, Durability::NONE, extent(0, 8)) { 40 } else { 150 }
            )
        })
        .collect();
    let injector = injector(&every.iter().map(String::as_str).collect::<Vec<_>>());
    let mut other = Bench::of(&injector, 1);
    let mut faulty = Faulty::new(inner, injector.target(0, &FaultyDevice::new(outside())));
    let (mut random, mut done, mut token) = (Random::new(seed), Vec::new(), 0);
    let mut wrong: Vec<(Nanos, u64)> = Vec::new();
    for number in 0..4000 {
        if number % 16 == 0 {
            other.write(number % 512, 4, 1 << 24 | number);
        }
        if let Some(request) = random.request().filter(|_| random.flying.len() < depth) {
            let mut buffer =
                Buffer::zeroed(if request.op.is_transfer() { request.extent.length as usize } else { 0 });
            if request.op.is_write() {
                buffer.copy_from_slice(&request.bytes);
            }
            let (op, extent) = (request.op, request.extent);
            token += 1;
            random.flying.insert(token, request);
            faulty.push(Operation { token: Token(token), op, durability: Durability::NONE, extent, buffer });
        } else {
            faulty.reap(Wait::Until(FAR), &mut done);
        }
        for completion in done.drain(..) {
            let at = completion.completed;
            wrong.extend(random.ended(&completion).into_iter().map(|sector| (at, sector)));
        }
    }
    while !random.flying.is_empty() {
        faulty.reap(Wait::Until(FAR), &mut done);
        for completion in done.drain(..) {
            let at = completion.completed;
            wrong.extend(random.ended(&completion).into_iter().map(|sector| (at, sector)));
        }
    }
    let entries: Vec<Entry> = injector.ledger().entries().into_iter().filter(|e| e.target == 0).collect();
    let mut held = vec![0; random.due.len()];
    content(&mut held);
    compare(&entries, &random, &held, &wrong);
    entries
}

fn compare(entries: &[Entry], random: &Random, held: &[u8], wrong: &[(Nanos, u64)]) {
    assert!(entries.iter().all(|entry| !entry.unclear), "no two requests overlapped");
    let stays = |entry: &&Entry| {
        entry.applied && entry.op.is_write() && entry.kind != InjectionKind::Short
            || entry.kind == InjectionKind::Reverted
    };
    let hits =
        || entries.iter().filter(stays).flat_map(|entry| entry.place.into_iter().chain(entry.destination));
    let bad: BTreeSet<u64> = differing(0, held, &random.due).into_iter().collect();
    let open = |hit: &Hit| hit.superseded_at.is_none();
    for sector in bad.iter().filter(|sector| !random.unknown.contains(sector)) {
        assert!(
            hits().filter(open).any(|hit| hit.has(*sector..sector + 1)),
            "sector {sector} is not in the ledger"
        );
    }
    for hit in hits().filter(open) {
        assert!(sectors_of(Some(hit)).iter().any(|sector| bad.contains(sector)), "{hit:?} is right");
    }
    for (at, sector) in wrong {
        let is_in = |entry: &&Entry| {
            let mut hits = entry.place.iter().chain(&entry.destination);
            hits.any(|hit| hit.has(*sector..sector + 1) && hit.read_at.is_some_and(|read| read <= *at))
        };
        assert!(entries.iter().any(|entry| is_in(&entry)), "a read of sector {sector} at {at} was wrong");
    }
}

#[test]
fn ledger_is_correct_on_simulated_device() {
    let mut made: BTreeMap<InjectionKind, usize> = BTreeMap::new();
    for (seed, depth) in [(1, 1), (2, 1), (3, 16), (4, 16), (5, 64)] {
        let store = Store::new();
        let content = store.clone();
        let entries =
            ledger_is_true(sim(&store, depth), |bytes| content.read(0, bytes), depth as usize, seed);
        entries.iter().filter(|e| e.applied).for_each(|entry| *made.entry(entry.kind).or_default() += 1);
    }
    println!("{made:?}");
    assert_eq!(made.len(), InjectionKind::ALL.len() - 3, "every kind was made");
    assert!(made.values().all(|count| *count >= 10), "{made:?}");
}

#[test]
fn ledger_is_correct_on_a_file() {
    for depth in [1, 16] {
        let file: File = tempfile::tempfile().unwrap();
        file.set_len((INSIDE + OUTSIDE) * BYTES).unwrap();
        let copy = file.try_clone().unwrap();
        let clock = Clock::from_origin(monotonic_ns());
        let reach = INSIDE * BYTES;
        let (extra, short) = (Faulty::EXTRA_DEPTH, ShortPolicy::Complete);
        let setup = Setup { file, clock, depth, extra, reach, writes: true, short, locks: false, pool: None };
        let threads = Box::new(Threads::open(setup).unwrap());
        let content = |bytes: &mut [u8]| copy.read_exact_at(bytes, 0).unwrap();
        let entries = ledger_is_true(threads, content, depth as usize, 1);
        assert!(entries.iter().filter(|entry| entry.applied).count() > 100);
    }
}

#[test]
fn equal_seeds_inject_the_same_faults() {
    let run = || {
        let store = Store::new();
        ledger_is_true(sim(&store, 16), |bytes| store.read(0, bytes), 16, 7)
    };
    assert_eq!(run(), run());
}

#[test]
fn dropping_wrapper_releases_in_flight_ranges() {
    let injector = injector(&["zeroed:at=0"]);
    let (store, device) = (Store::new(), FaultyDevice::new(Extent::default()));
    let target = injector.target(0, &device);
    let mut faulty = Faulty::new(sim(&store, 1), target.clone());
    let buffer = Buffer::zeroed(4 * BYTES as usize);
    let mut filled = buffer;
    filled.copy_from_slice(&data(0, 4, 1));
    let (op, durability) = (Op::Write, Durability::NONE);
    faulty.push(Operation { token: Token(0), op, durability, extent: extent(0, 4), buffer: filled });
    assert!(!device.lock().is_free(extent(0, 1), None));
    drop(faulty);
    assert!(device.lock().is_free(extent(0, 1), None));
    let entry = &injector.ledger().entries()[0];
    assert!(entry.unclear && !entry.applied);
}

#[test]
fn workers_of_one_device_share_in_flight_state() {
    let injector = injector(&["zeroed:at=0"]);
    let (store, device) = (Store::new(), FaultyDevice::new(Extent::default()));
    let target = injector.target(0, &device);
    let mut loops = [0, 1].map(|_| Faulty::new(sim(&store, 1), target.clone()));
    let write = |version| {
        let mut buffer = Buffer::zeroed(4 * BYTES as usize);
        buffer.copy_from_slice(&data(0, 4, version));
        let (op, durability) = (Op::Write, Durability::NONE);
        Operation { token: Token(0), op, durability, extent: extent(0, 4), buffer }
    };
    let mut done = Vec::new();
    loops[0].push(write(1));
    assert_eq!(injector.ledger().entries().len(), 1);
    // It overlaps the injected one: nothing is certain there.
    loops[1].push(write(2));
    loops.iter_mut().for_each(|one| one.reap(Wait::Until(FAR), &mut done));
    assert_eq!(done.len(), 2);
    assert!(injector.ledger().entries()[0].unclear);
    let mut held = [0; BYTES as usize];
    store.read(0, &mut held);
    assert_eq!(held[..], data(0, 1, 2));
}

#[test]
fn injection_waits_while_range_is_in_flight_elsewhere() {
    let injector = injector(&["zeroed:at=0"]);
    let (store, device) = (Store::new(), FaultyDevice::new(Extent::default()));
    let target = injector.target(0, &device);
    let mut bench = Bench {
        faulty: Faulty::new(sim(&store, 1), target.clone()),
        store,
        ledger: injector.ledger().clone(),
    };
    let other = device.lock().start(Op::Read, extent(2, 1));
    bench.write(0, 4, 1);
    assert!(bench.ledger.entries().is_empty());
    device.lock().end(other);
    bench.write(0, 4, 2);
    assert!(bench.entry().number == 1 && bench.held(0, 4).iter().all(|byte| *byte == 0));
}
