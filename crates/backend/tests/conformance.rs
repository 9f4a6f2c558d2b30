//! Rules that every backend keeps, for any data.

use iosonar_backend::{
    Aio, Backend, Completion, Faulty, FaultyDevice, Injector, Mmap, Mode, Null, Operation, Posixaio, Pvsync,
    ReadWrite, RingOptions, Setup, Sim, Stdio, Store, Threads, Token, Uring, Vsync, Wait, real,
};
use iosonar_os::blockdev::has_poll_queues;
use iosonar_os::{Buffer, BufferPool, Clock, monotonic_ns};
use iosonar_plan::{
    Durability, Engine, Extent, MmapOptions, Nanos, Op, ShortPolicy, SimModel, UringOptions, Vectors,
};
use proptest::prelude::*;
use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};

const DEPTH: u32 = 16;
const BLOCK: u64 = 4096;

fn clock() -> Clock {
    Clock::from_origin(monotonic_ns())
}

fn scratch(blocks: u64) -> File {
    let file = tempfile::tempfile().unwrap();
    file.set_len(blocks * BLOCK).unwrap();
    file
}

/// All of a file, to be written.
fn setup(file: File, depth: u32, short: ShortPolicy, pool: Option<&BufferPool>) -> Setup<'_> {
    let reach = file.metadata().unwrap().len();
    Setup { file, clock: clock(), depth, extra: 0, reach, writes: true, short, locks: false, pool }
}

/// Makes a backend with real I/O, or returns why this machine has none of its kind.
type Make = fn(Setup<'_>) -> Result<Box<dyn Backend>, String>;

/// Set where the thread sanitizer runs, which does not see the kernel's maps, writes and ordering.
const WITHOUT_RINGS: &str = "IOSONAR_WITHOUT_RINGS";

fn with_rings() -> Result<(), String> {
    if std::env::var_os(WITHOUT_RINGS).is_some() { Err(format!("{WITHOUT_RINGS} is set")) } else { Ok(()) }
}

fn ring(setup: Setup<'_>, options: RingOptions) -> Result<Box<dyn Backend>, String> {
    with_rings()?;
    let (uring, notices) = Uring::with(setup, options).map_err(|e| e.to_string())?;
    assert!(notices.is_empty(), "{notices:?}");
    Ok(Box::new(uring))
}

fn aio(setup: Setup<'_>) -> Result<Box<dyn Backend>, String> {
    with_rings()?;
    let (aio, _) = Aio::new(setup).map_err(|e| e.to_string())?;
    Ok(Box::new(aio))
}

/// A backend in the wrapper for faults, without injections.
fn without_faults(inner: impl Backend + 'static) -> Box<dyn Backend> {
    let target = Injector::new(&[], 1).target(0, &FaultyDevice::new(Extent::default()));
    Box::new(Faulty::new(Box::new(inner), target))
}

/// The same with a volatile write cache, and a crash that never happens.
fn with_cache(inner: impl Backend + 'static) -> Box<dyn Backend> {
    let crash = "crash:at=1000000000".parse().unwrap();
    let target = Injector::new(&[crash], 1).target(0, &FaultyDevice::new(Extent::default()));
    Box::new(Faulty::new(Box::new(inner), target))
}

/// Every backend with real I/O, and every kind of ring that a kernel may have.
const REAL: [(&str, Make); 17] = [
    ("threads", |setup| Ok(Box::new(Threads::open(setup).unwrap()))),
    ("aio", aio),
    ("uring", |setup| ring(setup, RingOptions::default())),
    ("uring, not registered", |setup| {
        ring(setup, RingOptions { registered: false, ..RingOptions::default() })
    }),
    ("uring, deferred", |setup| {
        ring(setup, RingOptions { mode: Some(Mode::Deferred), ..RingOptions::default() })
    }),
    ("uring, interrupting", |setup| {
        ring(setup, RingOptions { mode: Some(Mode::Interrupting), ..RingOptions::default() })
    }),
    ("uring with sqpoll", |setup| ring(setup, RingOptions { sqpoll: true, ..RingOptions::default() })),
    ("sync", |setup| Ok(Box::new(ReadWrite::open(setup)))),
    ("sync with locks", |setup| Ok(Box::new(ReadWrite::open(setup).locking()))),
    ("vsync", |setup| Ok(Box::new(Vsync::open(setup, Vectors { count: 3 })))),
    ("pvsync", |setup| Ok(Box::new(Pvsync::open(setup, Vectors { count: 16 })))),
    ("stdio", |setup| Ok(Box::new(Stdio::open(setup, 3000).unwrap()))),
    ("mmap", |setup| Ok(Box::new(Mmap::open(setup, MmapOptions::default()).unwrap()))),
    ("posixaio", |setup| Ok(Box::new(Posixaio::open(setup)))),
    ("threads without faults", |setup| Ok(without_faults(Threads::open(setup).unwrap()))),
    ("sync without faults", |setup| Ok(without_faults(ReadWrite::open(setup)))),
    ("threads with a write cache", |setup| Ok(with_cache(Threads::open(setup).unwrap()))),
];

/// Backends that execute requests in memory of the program: their results are not always those of the kernel's calls.
const IN_MEMORY: [&str; 3] = ["stdio", "mmap", "threads with a write cache"];

/// Backends without calls for discards and write zeroes.
const WITHOUT_DISCARDS: [&str; 2] = ["aio", "posixaio"];

/// Makes a backend over a content that is no file.
type MakeInStore = fn(Store, u32) -> Box<dyn Backend>;

fn sim_with_content(store: Store, depth: u32) -> Sim {
    let model = SimModel { jitter: Nanos(50_000), channels: 3, ..SimModel::default() };
    Sim::with_content(model, depth, 1, store)
}

/// Every backend that keeps written data without I/O.
const IN_STORE: [(&str, MakeInStore); 3] = [
    ("sim with content", |store, depth| Box::new(sim_with_content(store, depth))),
    ("sim without faults", |store, depth| without_faults(sim_with_content(store, depth))),
    ("sim with a write cache", |store, depth| with_cache(sim_with_content(store, depth))),
];

/// Runs `test` on every backend with real I/O that this machine has, each on a new file.
fn each_real_on(
    file: impl Fn() -> File,
    short: ShortPolicy,
    depth: u32,
    test: impl Fn(&str, &mut dyn Backend, &mut BufferPool),
) {
    each_on(&REAL, file, short, depth, test);
}

fn each_on(
    backends: &[(&'static str, Make)],
    file: impl Fn() -> File,
    short: ShortPolicy,
    depth: u32,
    test: impl Fn(&str, &mut dyn Backend, &mut BufferPool),
) {
    for (name, make) in backends {
        let mut pool = BufferPool::new(BufferPool::needed(depth, 4 * BLOCK), false).unwrap();
        match make(setup(file(), depth, short, Some(&pool))) {
            Ok(mut backend) => test(name, backend.as_mut(), &mut pool),
            Err(reason) => println!("SKIPPED: {name}, because {reason}"),
        }
    }
}

fn each_backend(test: impl Fn(&str, Box<dyn Backend>)) {
    test("null", Box::new(Null::new(clock(), DEPTH)));
    let model = SimModel { jitter: Nanos(50_000), channels: 3, ..SimModel::default() };
    test("sim", Box::new(Sim::new(model, DEPTH, 1)));
    for (name, make) in IN_STORE {
        test(name, make(Store::new(), DEPTH));
    }
    for (name, make) in REAL {
        match make(setup(scratch(64), DEPTH, ShortPolicy::Complete, None)) {
            Ok(backend) => test(name, backend),
            Err(reason) => println!("SKIPPED: {name}, because {reason}"),
        }
    }
}

/// Every fifth write is forced to stable storage, every seventh comes after a flush.
fn durability(op: Op, token: u32) -> Durability {
    Durability::NONE
        .with(Durability::FUA, op.is_write() && token.is_multiple_of(5))
        .with(Durability::PREFLUSH, op.is_write() && token.is_multiple_of(7))
}

fn operation(backend: &dyn Backend, token: u32, op: Op, block: u64) -> Operation {
    let mut buffer = Buffer::empty();
    let extent =
        if op.has_place() { Extent { offset: block * BLOCK, length: BLOCK } } else { Extent::default() };
    if backend.needs_buffers() && op.is_transfer() {
        buffer.set_len(BLOCK as usize);
        buffer.fill(token as u8);
    }
    Operation { token: Token(token), op, durability: durability(op, token), extent, buffer }
}

/// Reads, writes and both kinds of flushes in turn.
fn op_of(number: u32) -> Op {
    [Op::Read, Op::Write, Op::Write, Op::Flush, Op::Fsync][number as usize % 5]
}

/// Keeps up to `DEPTH` in flight until `count` are done.
fn run(backend: &mut dyn Backend, count: u32) -> Vec<Completion> {
    let (mut done, mut pushed) = (Vec::new(), 0);
    while done.len() < count as usize {
        while pushed < count && pushed as usize - done.len() < DEPTH as usize {
            let operation = operation(backend, pushed, op_of(pushed), u64::from(pushed % 64));
            backend.push(operation);
            pushed += 1;
        }
        let limit = Nanos(backend.now().0 + 10_000_000);
        backend.reap(Wait::Until(limit), &mut done);
    }
    done
}

#[test]
fn each_operation_completes_exactly_once_with_its_buffer() {
    each_backend(|name, mut backend| {
        let done = run(backend.as_mut(), 500);
        assert_eq!(done.len(), 500, "{name}");
        assert_eq!(done.iter().map(|c| c.token).collect::<HashSet<_>>().len(), 500, "{name}");
        for c in &done {
            let bytes = if op_of(c.token.0).is_transfer() { BLOCK } else { 0 };
            assert_eq!((c.result, c.short), (bytes as i64, false), "{name}");
            assert_eq!(c.buffer.len(), if backend.needs_buffers() { bytes as usize } else { 0 }, "{name}");
            assert!(u32::from(c.worker) < DEPTH, "{name}");
        }
    });
}

#[test]
fn times_are_ordered_and_from_the_backend_clock() {
    each_backend(|name, mut backend| {
        let before = backend.now();
        let done = run(backend.as_mut(), 200);
        let after = backend.now();
        for c in &done {
            assert!(before <= c.submitted && c.submitted <= c.completed && c.completed <= after, "{name}");
        }
    });
}

#[test]
fn reap_does_not_block_and_respects_its_deadline() {
    each_backend(|name, mut backend| {
        let mut done = Vec::new();
        backend.reap(Wait::No, &mut done);
        assert!(done.is_empty(), "{name}");
        let limit = Nanos(backend.now().0 + 2_000_000);
        backend.reap(Wait::Until(limit), &mut done);
        assert!(done.is_empty() && backend.now() >= limit, "{name}");
        backend.reap(Wait::Until(Nanos(0)), &mut done);
        assert!(done.is_empty(), "{name}");
    });
}

/// Executes one operation and waits for its end.
fn once(backend: &mut dyn Backend, op: Op, extent: Extent, buffer: Buffer) -> Completion {
    backend.push(Operation { token: Token(7), op, durability: Durability::NONE, extent, buffer });
    let mut done = Vec::new();
    while done.is_empty() {
        backend.reap(Wait::Until(Nanos(u64::MAX >> 1)), &mut done);
    }
    assert_eq!(done.len(), 1);
    done.remove(0)
}

#[test]
fn data_round_trips_with_and_without_the_pool() {
    for depth in [1, DEPTH] {
        each_real_on(
            || scratch(64),
            ShortPolicy::Complete,
            depth,
            |name, backend, pool| {
                let extent = Extent { offset: 3 * BLOCK, length: BLOCK };
                let mut own = pool.take(BLOCK as usize).unwrap();
                own.fill(7);
                let written = once(backend, Op::Write, extent, own);
                assert_eq!(written.result, BLOCK as i64, "{name}");
                assert!(u32::from(written.worker) < depth, "{name}");
                let read = once(backend, Op::Read, extent, Buffer::zeroed(BLOCK as usize));
                assert!(read.buffer.iter().all(|b| *b == 7), "{name}");
            },
        );
    }
}

#[test]
fn discards_and_write_zeroes_change_only_their_range() {
    let file = || {
        let file = scratch(64);
        file.write_all_at(&[7; 4 * BLOCK as usize], 0).unwrap();
        file
    };
    for op in [Op::Discard, Op::WriteZeroes] {
        each_real_on(file, ShortPolicy::Complete, DEPTH, |name, backend, _| {
            let extent = Extent { offset: BLOCK, length: 2 * BLOCK };
            let done = once(backend, op, extent, Buffer::empty());
            assert!(!done.short && done.buffer.is_empty(), "{name} {op}");
            if WITHOUT_DISCARDS.contains(&name) || done.result == -i64::from(libc::EOPNOTSUPP) {
                assert!(done.result < 0, "{name} {op}");
                return;
            }
            assert_eq!(done.result, extent.length as i64, "{name} {op}");
            for (block, byte) in [(0, 7), (1, 0), (2, 0), (3, 7)] {
                let place = Extent { offset: block * BLOCK, length: BLOCK };
                let read = once(backend, Op::Read, place, Buffer::zeroed(BLOCK as usize));
                assert!(read.buffer.iter().all(|b| *b == byte), "{name} {op} block {block}");
            }
        });
    }
}

#[test]
fn discards_and_write_zeroes_zero_the_memory_store() {
    for (name, make) in IN_STORE {
        for op in [Op::Discard, Op::WriteZeroes] {
            let store = Store::new();
            assert!(store.write(0, &[7; 4 * BLOCK as usize]));
            let mut backend = make(store.clone(), DEPTH);
            let extent = Extent { offset: BLOCK, length: 2 * BLOCK };
            let done = once(backend.as_mut(), op, extent, Buffer::empty());
            assert_eq!(done.result, extent.length as i64, "{name} {op}");
            for (block, byte) in [(0, 7), (1, 0), (2, 0), (3, 7)] {
                let place = Extent { offset: block * BLOCK, length: BLOCK };
                let read = once(backend.as_mut(), Op::Read, place, Buffer::zeroed(BLOCK as usize));
                assert!(read.buffer.iter().all(|b| *b == byte), "{name} {op} block {block}");
            }
        }
    }
}

/// Every backend has the same results as pread and pwrite.
fn errors_agree(file: impl Fn() -> File, op: Op, extent: Extent) {
    let mut buffer = Buffer::zeroed(extent.length as usize);
    let plain = match op {
        Op::Read => file().read_at(&mut buffer, extent.offset),
        Op::Write => file().write_at(&buffer, extent.offset),
        _ => file().sync_data().map(|()| 0),
    };
    let want = plain.map_or_else(|e| -i64::from(e.raw_os_error().unwrap()), |bytes| bytes as i64);
    for short in [ShortPolicy::Complete, ShortPolicy::Record] {
        let of_kernel: Vec<_> = REAL.into_iter().filter(|(name, _)| !IN_MEMORY.contains(name)).collect();
        each_on(&of_kernel, &file, short, DEPTH, |name, backend, pool| {
            let buffer = match extent.length {
                0 => Buffer::empty(),
                length => pool.take(length as usize).unwrap(),
            };
            let done = once(backend, op, extent, buffer);
            // io_submit refuses files with plain calls only, such as /dev/full.
            if name == "aio" && done.result == -i64::from(libc::EINVAL) && want == -i64::from(libc::ENOSPC) {
                return;
            }
            assert_eq!(done.result, want, "{name}");
            assert_eq!(done.short, want >= 0 && want < extent.length as i64, "{name}");
        });
    }
}

#[test]
fn errors_and_end_of_file_match_plain_calls() {
    let whole = Extent { offset: 0, length: BLOCK };
    errors_agree(|| File::open("/dev/null").unwrap(), Op::Write, whole);
    errors_agree(|| File::options().write(true).open("/dev/full").unwrap(), Op::Write, whole);
    let uneven = || {
        let file = scratch(1);
        file.set_len(BLOCK + 1000).unwrap();
        file
    };
    errors_agree(uneven, Op::Read, whole);
    errors_agree(uneven, Op::Read, Extent { offset: BLOCK, length: BLOCK });
    errors_agree(uneven, Op::Read, Extent { offset: 9 * BLOCK, length: BLOCK });
    // A file without a cache cannot be flushed.
    errors_agree(|| File::open("/dev/null").unwrap(), Op::Flush, Extent::default());
    errors_agree(uneven, Op::Flush, Extent::default());
}

/// One block on the file system of the build, open for direct I/O.
fn direct_scratch() -> Result<File, String> {
    let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    file.as_file().write_all_at(&[1; BLOCK as usize], 0).unwrap();
    let direct = File::options().read(true).write(true).custom_flags(libc::O_DIRECT).open(file.path());
    direct.map_err(|e| e.to_string())
}

#[test]
fn direct_io_reports_misalignment_and_end_of_file() {
    if let Err(reason) = direct_scratch() {
        return println!("SKIPPED: direct I/O, because the build's file system has none ({reason})");
    }
    let file = || {
        let file = direct_scratch().unwrap();
        file.set_len(BLOCK + 1000).unwrap();
        file
    };
    errors_agree(file, Op::Read, Extent { offset: BLOCK, length: BLOCK });
    errors_agree(file, Op::Read, Extent { offset: 1, length: BLOCK });
    errors_agree(file, Op::Write, Extent { offset: 0, length: BLOCK - 1 });
}

#[test]
fn dropping_backend_with_requests_in_flight_is_safe() {
    each_real_on(
        || scratch(64),
        ShortPolicy::Complete,
        DEPTH,
        |_, backend, pool| {
            for token in 0..DEPTH {
                let extent = Extent { offset: u64::from(token) * BLOCK, length: BLOCK };
                let buffer = pool.take(BLOCK as usize).unwrap();
                let (op, durability) = (Op::Read, Durability::NONE);
                backend.push(Operation { token: Token(token), op, durability, extent, buffer });
            }
            backend.submit();
        },
    );
}

#[test]
fn polling_ring_completes_direct_requests() {
    let file = match direct_scratch() {
        Ok(file) if with_rings().is_ok() => file,
        _ => {
            return println!(
                "SKIPPED: polling for completions, because there is no ring or no direct I/O here"
            );
        }
    };
    let has_queues = has_poll_queues(&file);
    let (depth, short) = (DEPTH, ShortPolicy::Complete);
    let mut pool = BufferPool::new(BufferPool::needed(depth, BLOCK), false).unwrap();
    let options = RingOptions { hipri: true, ..RingOptions::default() };
    let setup = setup(file, depth, short, Some(&pool));
    let Ok((mut uring, _)) = Uring::with(setup, options) else {
        return println!("SKIPPED: polling for completions, because this kernel has no ring that polls");
    };
    for _ in 0..20 {
        let extent = Extent { offset: 0, length: BLOCK };
        let done = once(&mut uring, Op::Read, extent, pool.take(BLOCK as usize).unwrap());
        if done.result == -i64::from(libc::EOPNOTSUPP) {
            assert_ne!(has_queues, Some(true), "a device with poll queues can be polled");
            return println!(
                "SKIPPED: polling for completions, because the device of the build has no poll queues"
            );
        }
        assert_eq!(done.result, BLOCK as i64);
        pool.give(done.buffer);
    }
    let start = uring.now();
    uring.reap(Wait::Until(Nanos(start.0 + 2_000_000)), &mut Vec::new());
    assert!(uring.now().0 >= start.0 + 2_000_000, "with nothing in flight it waits, too");
}

#[test]
fn dropping_the_ring_cancels_endless_requests() {
    // The kernel that knows this mode can cancel, too.
    if with_rings().is_err() || Uring::probe() != Ok(Mode::Cooperative) {
        return println!("SKIPPED: cancelling at the end of a ring, because it needs Linux 6.0");
    }
    let (reader, writer) = std::io::pipe().unwrap();
    let file = File::from(std::os::fd::OwnedFd::from(reader));
    let short = ShortPolicy::Complete;
    let (mut uring, _) = Uring::with(setup(file, 1, short, None), RingOptions::default()).unwrap();
    let (extent, buffer) = (Extent { offset: 0, length: BLOCK }, Buffer::zeroed(BLOCK as usize));
    let (op, durability) = (Op::Read, Durability::NONE);
    uring.push(Operation { token: Token(0), op, durability, extent, buffer });
    let mut done = Vec::new();
    let start = std::time::Instant::now();
    for _ in 0..1000 {
        uring.reap(Wait::No, &mut done);
    }
    println!("looking where nothing is: {:?} each", start.elapsed() / 1000);
    assert!(done.is_empty(), "an empty pipe has nothing to read");
    drop(uring);
    drop(writer);
}

#[test]
fn polling_thread_sees_completions() {
    each_real_on(
        || scratch(64),
        ShortPolicy::Complete,
        DEPTH,
        |name, backend, pool| {
            let (mut done, start) = (Vec::new(), std::time::Instant::now());
            for token in 0..50 {
                let buffer = pool.take(BLOCK as usize).unwrap();
                let extent = Extent { offset: 0, length: BLOCK };
                let (op, durability) = (Op::Write, Durability::NONE);
                backend.push(Operation { token: Token(token), op, durability, extent, buffer });
                backend.submit();
                while done.is_empty() {
                    backend.reap(Wait::No, &mut done);
                    assert!(start.elapsed().as_secs() < 20, "{name}: token {token} is never seen");
                    std::thread::yield_now();
                }
                for c in done.drain(..) {
                    assert!(c.reap_lag <= c.completed.saturating_sub(c.submitted), "{name}");
                    pool.give(c.buffer);
                }
            }
        },
    );
}

/// One request of the differential test: at most one of a batch is in each cell.
#[derive(Debug, Clone)]
struct Step {
    op: Op,
    durability: Durability,
    within: Extent,
    byte: u8,
}

const CELL: u64 = 4 * BLOCK;

fn step() -> impl Strategy<Value = Step> {
    let within = (0..CELL).prop_flat_map(|offset| (Just(offset), 1..=(CELL - offset)));
    (0u8..6, within, any::<u8>()).prop_map(|(kind, (offset, length), byte)| match kind {
        0 => Step { op: Op::Flush, durability: Durability::NONE, within: Extent::default(), byte },
        1 | 2 => Step { op: Op::Read, durability: Durability::NONE, within: Extent { offset, length }, byte },
        _ => {
            let durability = Durability::of_bits(kind - 3);
            Step { op: Op::Write, durability, within: Extent { offset, length }, byte }
        }
    })
}

/// Executes the batches, each in one go, and compares read and written data with the model.
fn differs_from_model(
    backend: &mut dyn Backend,
    pool: &mut BufferPool,
    content: impl FnOnce(&mut [u8]),
    batches: &[Vec<Step>],
) {
    let mut model = vec![0u8; (u64::from(DEPTH) * CELL) as usize];
    for batch in batches {
        for (cell, step) in batch.iter().enumerate() {
            let extent =
                Extent { offset: cell as u64 * CELL + step.within.offset, length: step.within.length };
            let mut buffer = match step.op {
                Op::Flush => Buffer::empty(),
                _ => pool.take(extent.length as usize).unwrap(),
            };
            buffer.fill(step.byte);
            if step.op == Op::Write {
                model[extent.offset as usize..extent.end() as usize].fill(step.byte);
            }
            let Step { op, durability, .. } = *step;
            backend.push(Operation { token: Token(cell as u32), op, durability, extent, buffer });
        }
        let mut done = Vec::new();
        while done.len() < batch.len() {
            backend.reap(Wait::Until(Nanos(u64::MAX >> 1)), &mut done);
        }
        for c in done {
            let step = &batch[c.token.0 as usize];
            let start = u64::from(c.token.0) * CELL + step.within.offset;
            assert_eq!((c.result, c.short), (step.within.length as i64, false));
            assert_eq!(*c.buffer, model[start as usize..(start + step.within.length) as usize]);
            if step.op != Op::Flush {
                pool.give(c.buffer);
            }
        }
    }
    backend.flush_buffers().unwrap();
    let mut bytes = vec![0; model.len()];
    content(&mut bytes);
    assert!(bytes == model, "the target has other bytes");
    let released = backend.release();
    assert!(released.is_none_or(|released| released.is_ok()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// The same random requests leave the same bytes with every backend.
    #[test]
    fn every_backend_writes_the_same_bytes(
        batches in proptest::collection::vec(proptest::collection::vec(step(), 1..=DEPTH as usize), 1..12),
    ) {
        for depth in [1, DEPTH] {
            let batches: Vec<_> = batches.iter().map(|b| b[..b.len().min(depth as usize)].to_vec()).collect();
            for (name, make) in REAL {
                let file = scratch(u64::from(DEPTH) * 4);
                let mut pool = BufferPool::new(BufferPool::needed(depth, CELL), false).unwrap();
                let copy = file.try_clone().unwrap();
                match make(setup(file, depth, ShortPolicy::Complete, Some(&pool))) {
                    Ok(mut backend) => {
                        let content = |bytes: &mut [u8]| copy.read_exact_at(bytes, 0).unwrap();
                        differs_from_model(backend.as_mut(), &mut pool, content, &batches);
                    }
                    Err(reason) => println!("SKIPPED: {name}, because {reason}"),
                }
            }
            for (_, make) in IN_STORE {
                let (store, mut pool) =
                    (Store::new(), BufferPool::new(BufferPool::needed(depth, CELL), false).unwrap());
                let mut backend = make(store.clone(), depth);
                differs_from_model(backend.as_mut(), &mut pool, |bytes| store.read(0, bytes), &batches);
            }
        }
    }
}

#[test]
fn opens_every_engine_and_notes_ineffective_options() {
    let uring = |hipri| Engine::Uring(UringOptions { hipri, sqpoll: false });
    let open = |engine| {
        let short = ShortPolicy::Complete;
        real(engine, setup(scratch(1), 4, short, None))
    };
    assert!(open(Engine::Threads).unwrap().1.is_empty());
    if let Err(reason) = with_rings().and_then(|()| Uring::probe().map(drop).map_err(|e| e.to_string())) {
        return println!("SKIPPED: io_uring, because {reason}");
    }
    assert!(open(uring(false)).unwrap().1.is_empty());
    assert!(open(uring(true)).unwrap().1[0].starts_with("hipri has no effect"));
    match open(Engine::Aio) {
        Ok((_, notices)) => assert!(notices[0].contains("only with direct I/O"), "{notices:?}"),
        Err(reason) => println!("SKIPPED: io_submit, because {reason}"),
    }
}
