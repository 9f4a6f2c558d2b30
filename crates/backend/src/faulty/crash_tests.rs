//! A volatile write cache keeps acknowledged writes until the device crashes, and no flushed write is lost then, unless flushes are
//! ignored. Results of random requests are compared with a list of all requests, by search.

use super::below::FAR;
use super::tests::{BYTES, data, extent, injector, sim};
use super::*;
use crate::{Setup, Store, Threads};
use iosonar_os::{Clock, monotonic_ns};
use iosonar_plan::ShortPolicy;
use rand_core::{Rng, SeedableRng};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::FileExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

const EIO: i64 = -5;
/// A count that is never reached.
const LATE: &str = "crash:at=1000000";

fn request(token: u32, op: Op, durability: Durability, place: Extent, bytes: &[u8]) -> Operation {
    let mut buffer = Buffer::zeroed(if op.is_transfer() { place.length as usize } else { 0 });
    match op {
        Op::Write => buffer.copy_from_slice(bytes),
        _ => buffer.fill(0xee),
    }
    Operation { token: Token(token), op, durability, extent: place, buffer }
}

/// One request at a time, on a simulated device with a cache.
struct Bench {
    faulty: Faulty,
    store: Store,
    injector: Injector,
    device: FaultyDevice,
}

impl Bench {
    fn new(injections: &[&str]) -> Bench {
        let (store, device) = (Store::new(), FaultyDevice::new(Extent::default()));
        let injector = injector(injections);
        let faulty = Faulty::new(sim(&store, 1), injector.target(0, &device));
        Bench { faulty, store, injector, device }
    }

    fn run(&mut self, op: Op, durability: Durability, place: Extent, bytes: &[u8]) -> Completion {
        self.faulty.push(request(3, op, durability, place, bytes));
        let mut done = Vec::new();
        while done.is_empty() {
            self.faulty.reap(Wait::Until(FAR), &mut done);
        }
        assert_eq!((done.len(), done[0].token), (1, Token(3)));
        done.remove(0)
    }

    fn write(&mut self, sector: u64, sectors: u64, version: u64, durability: Durability) {
        let bytes = data(sector, sectors, version);
        let done = self.run(Op::Write, durability, extent(sector, sectors), &bytes);
        assert_eq!((done.result, &*done.buffer), (bytes.len() as i64, &bytes[..]));
    }

    fn hold(&mut self, sector: u64, sectors: u64, version: u64) {
        self.write(sector, sectors, version, Durability::NONE);
    }

    fn flush(&mut self) -> i64 {
        self.run(Op::Flush, Durability::NONE, Extent::default(), &[]).result
    }

    fn read(&mut self, sector: u64, sectors: u64) -> Vec<u8> {
        let done = self.run(Op::Read, Durability::NONE, extent(sector, sectors), &[]);
        assert_eq!(done.result, (sectors * BYTES) as i64);
        done.buffer.to_vec()
    }

    fn held(&self, sector: u64, sectors: u64) -> Vec<u8> {
        let mut bytes = vec![0; (sectors * BYTES) as usize];
        self.store.read(sector * BYTES, &mut bytes);
        bytes
    }
}

fn zeros(sectors: u64) -> Vec<u8> {
    vec![0; (sectors * BYTES) as usize]
}

#[test]
fn writes_stay_in_the_cache_until_a_flush() {
    for op in [Op::Flush, Op::Fsync] {
        let mut bench = Bench::new(&[LATE]);
        bench.hold(4, 4, 1);
        bench.hold(6, 4, 2);
        assert_eq!(bench.held(0, 16), zeros(16));
        let seen = [zeros(4), data(4, 2, 1), data(6, 4, 2), zeros(2)].concat();
        assert_eq!(bench.read(0, 12), seen);
        assert_eq!(bench.run(op, Durability::NONE, Extent::default(), &[]).result, 0);
        assert_eq!(bench.held(0, 12), seen);
        assert_eq!(bench.read(0, 12), seen);
    }
}

#[test]
fn fua_write_reaches_device_and_survives_older_ones() {
    let mut bench = Bench::new(&[LATE]);
    bench.hold(0, 8, 1);
    bench.write(2, 4, 2, Durability::FUA);
    let (old, new) = (data(0, 8, 1), data(2, 4, 2));
    assert_eq!(bench.held(0, 8), [zeros(2), new.clone(), zeros(2)].concat());
    let seen = [&old[..1024], &new, &old[3072..]].concat();
    assert_eq!(bench.read(0, 8), seen);
    assert_eq!(bench.flush(), 0);
    assert_eq!(bench.held(0, 8), seen);
    bench.hold(0, 1, 3);
    bench.write(8, 1, 4, Durability::PREFLUSH);
    assert_eq!(bench.held(0, 1), data(0, 1, 3));
    assert_eq!(bench.held(8, 1), zeros(1), "it is no FUA");
}

#[test]
fn synchronous_writes_bypass_the_cache() {
    let mut bench = Bench::new(&[LATE]);
    bench.faulty =
        Faulty::new(sim(&bench.store, 1), bench.injector.target(0, &bench.device)).synchronous(true);
    bench.hold(0, 4, 1);
    assert_eq!(bench.held(0, 4), data(0, 4, 1));
}

#[test]
fn discards_and_write_zeroes_bypass_the_cache() {
    for op in [Op::Discard, Op::WriteZeroes] {
        let mut bench = Bench::new(&[LATE]);
        bench.hold(0, 8, 1);
        assert_eq!(bench.run(op, Durability::NONE, extent(2, 4), &[]).result, 4 * BYTES as i64);
        let old = data(0, 8, 1);
        let seen = [&old[..1024], &zeros(4), &old[3072..]].concat();
        assert_eq!(bench.read(0, 8), seen);
        assert_eq!(bench.flush(), 0);
        assert_eq!(bench.held(0, 8), seen);
    }
}

#[test]
fn full_cache_evicts_the_oldest_writes() {
    let mut bench = Bench::new(&[LATE]);
    let mebibyte = (1 << 20) / BYTES;
    for number in 0..66 {
        bench.hold(number * mebibyte, mebibyte, number);
    }
    let is_there = |number| bench.held(number * mebibyte, 1) == data(number * mebibyte, 1, number);
    assert_eq!((0..66).filter(|number| is_there(*number)).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn dropping_last_wrapper_flushes_the_cache() {
    let Bench { faulty, store, injector, device } = {
        let mut bench = Bench::new(&[LATE]);
        bench.hold(0, 8, 1);
        bench
    };
    let held = |store: &Store| {
        let mut bytes = zeros(8);
        store.read(0, &mut bytes);
        bytes
    };
    // Another target of the device has the cache, too.
    let other = Faulty::new(sim(&store, 1), injector.target(1, &device));
    drop(faulty);
    assert_eq!(held(&store), zeros(8));
    drop(other);
    assert_eq!(held(&store), data(0, 8, 1));
    assert!(injector.ledger().entries().is_empty());
}

#[test]
fn flushing_empties_the_cache() {
    let mut bench = Bench::new(&[LATE]);
    bench.hold(0, 8, 1);
    bench.faulty.flush_buffers().unwrap();
    assert_eq!(bench.held(0, 8), data(0, 8, 1));
}

#[test]
fn crash_fails_all_requests_on_all_targets_of_device() {
    let mut bench = Bench::new(&["crash:at=3,target=0"]);
    let mut other = Bench::new(&[]);
    let target = bench.injector.target(1, &bench.device);
    other.faulty = Faulty::new(sim(&bench.store, 1), target.clone());
    bench.hold(0, 8, 1);
    assert_eq!(other.read(0, 8), data(0, 8, 1));
    assert_eq!(bench.flush(), 0);
    bench.hold(8, 8, 2);
    for op in [Op::Write, Op::Read, Op::Flush, Op::Fsync, Op::Discard, Op::WriteZeroes] {
        let place = if op.has_place() { extent(8, 8) } else { Extent::default() };
        assert_eq!(bench.run(op, Durability::NONE, place, &data(8, 8, 3)).result, EIO, "{op}");
    }
    assert_eq!(bench.run(Op::Write, Durability::FUA, extent(0, 8), &data(0, 8, 4)).result, EIO);
    assert_eq!(bench.faulty.flush_buffers().unwrap_err().raw_os_error(), Some(5));
    target.arm(false);
    assert_eq!(other.run(Op::Read, Durability::NONE, extent(0, 8), &[]).result, EIO);
    assert_eq!(bench.held(0, 8), data(0, 8, 1), "it was flushed");
    let entries = bench.injector.ledger().entries();
    let [entry] = &entries[..] else { panic!("{entries:?}") };
    assert_eq!((entry.kind, entry.number, entry.op), (InjectionKind::Crash, 3, Op::Write));
    let survived = entry.survived.unwrap();
    assert_eq!((survived.cached, survived.in_flight), (1, 1), "the write that was hit is in flight");
    assert_eq!(survived.whole + survived.in_part + survived.lost, 2);
}

#[test]
fn entries_record_crash_survivors_and_ignored_flushes() {
    let mut bench = Bench::new(&["flush-ignored:at=1+2", "crash:at=6"]);
    bench.hold(0, 8, 1);
    assert_eq!(bench.flush(), 0);
    bench.hold(8, 8, 2);
    assert_eq!(bench.flush(), 0);
    assert_eq!(bench.held(8, 8), zeros(8));
    bench.write(0, 1, 3, Durability::FUA);
    assert_eq!(bench.held(0, 1), data(0, 1, 1), "it is held, too");
    assert_eq!(bench.read(0, 1), data(0, 1, 3));
    assert_eq!(bench.flush(), EIO);
    let mut lines = Vec::new();
    bench.injector.ledger().write_lines(&mut lines).unwrap();
    let lines = String::from_utf8(lines).unwrap();
    let entries: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&entries[0]["kind"], &entries[0]["op"]), (&"flush-ignored".into(), &"flush".into()));
    assert_eq!(entries[0]["unflushed"], serde_json::json!({ "writes": 1, "bytes": 4096 }));
    assert_eq!(entries[1]["unflushed"], serde_json::json!({ "writes": 1, "bytes": 512 }));
    assert_eq!((&entries[0]["applied"], &entries[1]["number"]), (&true.into(), &2.into()));
    assert!(entries[0].get("survived").is_none() && entries[2].get("unflushed").is_none());
    assert_eq!((&entries[2]["kind"], &entries[2]["survived"]["cached"]), (&"crash".into(), &2.into()));
}

#[test]
fn read_extends_to_cached_data_beyond_end_of_file() {
    let file = tempfile::tempfile().unwrap();
    file.write_all_at(&data(0, 4, 1), 0).unwrap();
    let injector = injector(&[LATE]);
    let target = injector.target(0, &FaultyDevice::new(Extent::default()));
    let inner = Box::new(threads(file.try_clone().unwrap(), 1, Clock::from_origin(monotonic_ns())));
    let mut bench = Bench::new(&[LATE]);
    bench.faulty = Faulty::new(inner, target);
    bench.hold(6, 2, 2);
    assert_eq!(bench.read(0, 8), [data(0, 4, 1), zeros(2), data(6, 2, 2)].concat());
    let done = bench.run(Op::Read, Durability::NONE, extent(6, 4), &[]);
    assert_eq!(done.result, 2 * BYTES as i64);
    drop(bench);
    assert_eq!(file.metadata().unwrap().len(), 8 * BYTES);
}

fn threads(file: std::fs::File, depth: u32, clock: Clock) -> Threads {
    let (extra, short) = (Faulty::EXTRA_DEPTH, ShortPolicy::Complete);
    let reach = file.metadata().unwrap().len();
    let setup = Setup { file, clock, depth, extra, reach, writes: true, short, locks: false, pool: None };
    Threads::open(setup).unwrap()
}

/// A request with its place in the order of all events visible from outside.
#[derive(Debug, Clone)]
struct Event {
    op: Op,
    durability: Durability,
    extent: Extent,
    version: u64,
    start: u64,
    /// When it ended, if it has.
    end: u64,
    result: i64,
    /// Versions found by a read, by sector.
    found: Vec<u64>,
}

impl Event {
    /// Whether all of it was acknowledged.
    fn is_acknowledged(&self) -> bool {
        self.result >= 0 && self.result as u64 == self.extent.length
    }

    fn covers(&self, sector: u64) -> bool {
        self.op.changes_data() && (self.extent.offset..self.extent.end()).contains(&(sector * BYTES))
    }
}

/// Sectors of random requests.
const SECTORS: u64 = 96;
/// The version of zeros.
const ZERO: u64 = 0;

/// All requests of a run on one device.
struct History(Vec<Event>);

impl History {
    fn writes(&self, sector: u64) -> Vec<&Event> {
        self.0.iter().filter(|event| event.covers(sector)).collect()
    }

    /// Versions that a read may find in a sector.
    fn legal(writes: &[&Event], start: u64, end: u64) -> BTreeSet<u64> {
        let is_over = |since: u64| {
            writes.iter().any(|new| new.is_acknowledged() && since < new.start && new.end < start)
        };
        let mut legal: BTreeSet<u64> = writes
            .iter()
            .filter(|write| write.start < end && !is_over(write.end))
            .map(|write| write.version)
            .collect();
        if !writes.iter().any(|new| new.is_acknowledged() && new.end < start) {
            legal.insert(ZERO);
        }
        legal
    }

    /// Checks that each read found a legal version.
    fn check_reads(&self) {
        let reads: Vec<&Event> =
            self.0.iter().filter(|event| event.op == Op::Read && event.result >= 0).collect();
        for sector in 0..SECTORS {
            let writes = self.writes(sector);
            let mut seen: Vec<(&Event, u64)> = Vec::new();
            for read in &reads {
                let number = sector.checked_sub(read.extent.offset / BYTES);
                let Some(&found) = number.and_then(|number| read.found.get(number as usize)) else {
                    continue;
                };
                let legal = History::legal(&writes, read.start, read.end);
                assert!(legal.contains(&found), "sector {sector}: {found}, not of {legal:?}: {read:?}");
                seen.push((read, found));
            }
            for (later, found) in seen.iter().filter(|(_, found)| *found != ZERO) {
                let own = writes.iter().find(|write| write.version == *found).unwrap();
                let is_back = |(earlier, other): &&(&Event, u64)| {
                    other != found && own.end < earlier.start && earlier.end < later.start
                };
                // A version that was over before an earlier read found another one is older than that.
                let before = seen.iter().find(is_back);
                assert!(before.is_none(), "sector {sector}: {found} is back: {later:?} after {before:?}");
            }
        }
    }

    /// Sectors whose content after the crash is illegal.
    fn violations(&self, held: &[u8], is_ignored: impl Fn(&Event) -> bool) -> Vec<u64> {
        let flushes: Vec<&Event> = self
            .0
            .iter()
            .filter(|event| {
                let is_flush = !event.op.has_place() || event.durability.has(Durability::PREFLUSH);
                is_flush && event.is_acknowledged() && !is_ignored(event)
            })
            .collect();
        let mut bad = Vec::new();
        for sector in 0..SECTORS {
            let writes = self.writes(sector);
            let is_durable = |write: &&&Event| {
                let is_fua = write.durability.has(Durability::FUA) && !is_ignored(write);
                let is_flushed = flushes.iter().any(|flush| write.end < flush.start);
                write.is_acknowledged() && (is_fua || is_flushed)
            };
            let durable: Vec<&&Event> = writes.iter().filter(is_durable).collect();
            let found = version_of(sector, held);
            let is_legal = |write: &&&Event| !durable.iter().any(|durable| write.end < durable.start);
            let mut legal: BTreeSet<u64> = writes.iter().filter(is_legal).map(|w| w.version).collect();
            if durable.is_empty() {
                legal.insert(ZERO);
            }
            if !legal.contains(&found) {
                bad.push(sector);
            }
        }
        bad
    }
}

/// The write that a sector belongs to, as named by its start.
fn version_of(sector: u64, held: &[u8]) -> u64 {
    let bytes = &held[(sector * BYTES) as usize..((sector + 1) * BYTES) as usize];
    let version = u64::from_le_bytes(bytes[..8].try_into().unwrap());
    let want = if version == ZERO { zeros(1) } else { named(sector, 1, version) };
    assert_eq!(bytes, want, "sector {sector} is none of one write");
    version
}

/// Data that starts with its version in each sector.
fn named(sector: u64, sectors: u64, version: u64) -> Vec<u8> {
    let mut bytes = data(sector, sectors, version);
    for sector in bytes.chunks_exact_mut(BYTES as usize) {
        sector[..8].copy_from_slice(&version.to_le_bytes());
    }
    bytes
}

/// One issuing loop of random requests.
struct Loop<'a> {
    faulty: Faulty,
    random: Xoshiro256PlusPlus,
    /// Alignment of places in sectors.
    unit: u64,
    depth: usize,
    flying: BTreeMap<u32, Event>,
    next: u32,
    clock: &'a AtomicU64,
    history: &'a Mutex<Vec<Event>>,
}

impl Loop<'_> {
    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    fn one_in(&mut self, every: u64) -> bool {
        self.random.next_u64().is_multiple_of(every)
    }

    fn step(&mut self) {
        let may_push = self.flying.len() < self.depth;
        if may_push && (self.flying.is_empty() || !self.one_in(3)) { self.push() } else { self.reap() }
    }

    fn push(&mut self) {
        let (op, durability) = match self.random.next_u64() % 32 {
            0..10 => (Op::Read, Durability::NONE),
            10..25 => (Op::Write, Durability::NONE),
            25 => (Op::Write, Durability::PREFLUSH),
            26 | 27 => (Op::Write, Durability::FUA),
            28 => (Op::Discard, Durability::NONE),
            29 => (Op::WriteZeroes, Durability::NONE),
            30 => (Op::Flush, Durability::NONE),
            _ => (Op::Fsync, Durability::NONE),
        };
        let sectors = (1 + self.random.next_u64() % 4) * self.unit;
        let sector = self.random.next_u64() % ((SECTORS - sectors) / self.unit + 1) * self.unit;
        let place = if op.has_place() { extent(sector, sectors) } else { Extent::default() };
        let start = self.tick();
        let version = if op.is_write() { start } else { ZERO };
        let bytes = if op.is_write() { named(sector, sectors, version) } else { Vec::new() };
        let event = Event {
            op,
            durability,
            extent: place,
            version,
            start,
            end: u64::MAX,
            result: i64::MIN,
            found: Vec::new(),
        };
        self.flying.insert(self.next, event);
        self.faulty.push(request(self.next, op, durability, place, &bytes));
        self.next += 1;
    }

    fn reap(&mut self) {
        let mut done = Vec::new();
        self.faulty.reap(Wait::Until(FAR), &mut done);
        for Completion { token, buffer, result, .. } in done {
            let mut event = self.flying.remove(&token.0).unwrap();
            (event.end, event.result) = (self.tick(), result);
            if let (Op::Read, Ok(length)) = (event.op, usize::try_from(result)) {
                let first = (event.extent.offset / BYTES) as usize;
                let mut all = zeros(event.extent.end() / BYTES);
                all[event.extent.offset as usize..].copy_from_slice(&buffer);
                let sectors = first..first + length / BYTES as usize;
                event.found = sectors.map(|sector| version_of(sector as u64, &all)).collect();
            }
            self.history.lock().unwrap().push(event);
        }
    }

    fn finish(mut self) {
        while !self.flying.is_empty() {
            self.reap();
        }
    }
}

/// A run of random requests on several loops of one device, in memory.
struct Ran {
    history: History,
    held: Vec<u8>,
    entries: Vec<Entry>,
}

fn ran(seed: u64, injections: &[String]) -> Ran {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut dice = |sides: u64| random.next_u64() % sides;
    let unit = [1, 8][dice(2) as usize];
    let (store, clock, history) = (Store::new(), AtomicU64::new(1), Mutex::default());
    let inject: Vec<_> = injections.iter().map(|text| text.parse().unwrap()).collect();
    let injector = Injector::new(&inject, seed);
    let device = FaultyDevice::with_blocks(Extent::default(), unit * BYTES);
    let target = injector.target(0, &device);
    let model = iosonar_plan::SimModel {
        jitter: Nanos(50_000),
        error_every: [0, 0, 40][dice(3) as usize],
        short_every: [0, 0, 40][dice(3) as usize],
        ..Default::default()
    };
    let mut loops: Vec<Loop<'_>> = (0..1 + dice(3))
        .map(|number| {
            let depth = 1 + dice(8) as u32;
            let inner = crate::Sim::with_content(model, depth + Faulty::EXTRA_DEPTH, number, store.clone());
            Loop {
                faulty: Faulty::new(Box::new(inner), target.clone()),
                random: Xoshiro256PlusPlus::seed_from_u64(seed << 8 | number),
                unit,
                depth: depth as usize,
                flying: BTreeMap::new(),
                next: 0,
                clock: &clock,
                history: &history,
            }
        })
        .collect();
    for _ in 0..2400 {
        let chosen = dice(loops.len() as u64) as usize;
        loops[chosen].step();
    }
    loops.into_iter().for_each(Loop::finish);
    let mut held = zeros(SECTORS);
    store.read(0, &mut held);
    // A write that fails is torn anywhere.
    if unit > 1 && model.error_every == 0 && model.short_every == 0 {
        check_blocks(&held);
    }
    let mut history = history.into_inner().unwrap();
    history.sort_by_key(|event| event.start);
    Ran { history: History(history), held, entries: injector.ledger().entries() }
}

/// No block holds two writes.
fn check_blocks(held: &[u8]) {
    for block in (0..SECTORS).step_by(8) {
        let versions: BTreeSet<u64> = (block..block + 8).map(|sector| version_of(sector, held)).collect();
        assert!(versions.len() == 1, "block at sector {block}: {versions:?}");
    }
}

/// More seeds: `SEEDS=N`.
fn seeds(otherwise: u64) -> std::ops::Range<u64> {
    let typed = std::env::var("SEEDS").ok().and_then(|text| text.parse().ok());
    0..typed.unwrap_or(0).max(otherwise)
}

/// Operations that a kind suits, in order.
fn suiting(history: &History, kind: InjectionKind) -> Vec<&Event> {
    history.0.iter().filter(|event| kind.suits(event.op, event.durability, event.extent)).collect()
}

#[test]
fn honest_cache_keeps_flushed_data() {
    let mut all = Survived::default();
    for seed in seeds(150) {
        let at = 100 + seed * 37 % 600;
        let Ran { history, held, entries } = ran(seed, &[format!("crash:at={at}")]);
        history.check_reads();
        let bad = history.violations(&held, |_| false);
        assert!(bad.is_empty(), "seed {seed}: sectors {bad:?}");
        let [entry] = &entries[..] else { panic!("seed {seed}: {entries:?}") };
        let hit = suiting(&history, InjectionKind::Crash)[entry.number as usize];
        assert_eq!((entry.number, entry.op, hit.op, hit.result), (at, hit.op, entry.op, EIO));
        assert!(history.0.iter().filter(|event| event.start > hit.start).all(|event| event.result == EIO));
        let survived = entry.survived.unwrap();
        assert_eq!(
            survived.cached + survived.in_flight,
            survived.whole + survived.in_part + survived.lost,
            "seed {seed}"
        );
        all.cached += survived.cached;
        all.in_flight += survived.in_flight;
        all.whole += survived.whole;
        all.in_part += survived.in_part;
        all.lost += survived.lost;
    }
    println!("{all:?}");
    let least = [all.cached, all.in_flight, all.whole, all.in_part, all.lost].into_iter().min();
    assert!(least > Some(50), "{all:?}");
}

#[test]
fn device_has_all_data_without_a_crash() {
    for seed in seeds(100) {
        let Ran { history, held, entries } = ran(seed, &[LATE.into()]);
        history.check_reads();
        for sector in 0..SECTORS {
            let legal = History::legal(&history.writes(sector), u64::MAX, u64::MAX);
            let found = version_of(sector, &held);
            assert!(legal.contains(&found), "seed {seed}: sector {sector}: {found}, not of {legal:?}");
        }
        assert!(entries.is_empty(), "seed {seed}: {entries:?}");
    }
}

#[test]
fn ignored_flushes_lose_flushed_writes() {
    let (mut with_violations, mut all) = (0, 0);
    for seed in seeds(100) {
        let at = 100 + seed * 37 % 600;
        let Ran { history, held, entries } =
            ran(seed, &[format!("crash:at={at}"), "flush-ignored:every=2".into()]);
        history.check_reads();
        let ignored: BTreeSet<u64> = {
            let suiting = suiting(&history, InjectionKind::FlushIgnored);
            let ignored = entries.iter().filter(|entry| entry.kind == InjectionKind::FlushIgnored);
            ignored.map(|entry| suiting[entry.number as usize].start).collect()
        };
        let bad = history.violations(&held, |event| ignored.contains(&event.start));
        assert!(bad.is_empty(), "seed {seed}: sectors {bad:?}");
        with_violations += usize::from(!history.violations(&held, |_| false).is_empty());
        all += 1;
    }
    println!("flushed writes are missing in {with_violations} of {all} runs");
    assert!(with_violations * 10 > all, "{with_violations} of {all}");
}

#[test]
fn equal_seeds_crash_identically() {
    let run = || {
        let Ran { held, entries, .. } = ran(11, &["crash:at=400".into(), "flush-ignored:every=3".into()]);
        (held, entries)
    };
    assert_eq!(run(), run());
}

/// Loops in separate threads, on a file.
#[test]
fn threads_share_a_cache() {
    for seed in seeds(12) {
        let file = tempfile::tempfile().unwrap();
        file.set_len(SECTORS * BYTES).unwrap();
        let (clock, history) = (AtomicU64::new(1), Mutex::default());
        let crash = if seed % 3 == 0 { LATE.into() } else { format!("crash:at={}", 200 + seed * 97) };
        let injector = Injector::new(&[crash.parse().unwrap()], seed);
        let device = FaultyDevice::new(Extent::default());
        let target = injector.target(0, &device);
        let origin = Clock::from_origin(monotonic_ns());
        std::thread::scope(|scope| {
            for number in 0..3 {
                let inner = threads(file.try_clone().unwrap(), 4, origin.clone());
                let mut one = Loop {
                    faulty: Faulty::new(Box::new(inner), target.clone()),
                    random: Xoshiro256PlusPlus::seed_from_u64(seed << 8 | number),
                    unit: 1,
                    depth: 4,
                    flying: BTreeMap::new(),
                    next: 0,
                    clock: &clock,
                    history: &history,
                };
                scope.spawn(move || {
                    (0..800).for_each(|_| one.step());
                    one.finish();
                });
            }
        });
        let history = History(history.into_inner().unwrap());
        history.check_reads();
        let mut held = zeros(SECTORS);
        file.read_exact_at(&mut held, 0).unwrap();
        let bad = history.violations(&held, |_| false);
        assert!(bad.is_empty(), "seed {seed}: sectors {bad:?}");
        assert_eq!(injector.ledger().entries().len(), usize::from(seed % 3 > 0));
    }
}
