//! What every backend keeps, whatever it does with the data.

use iosonar_backend::{
    Backend, Completion, Mode, Null, Operation, RingOptions, Setup, Sim, Threads, Token, Uring, Wait,
};
use iosonar_os::{Buffer, BufferPool, Clock, monotonic_ns};
use iosonar_plan::{Extent, Nanos, Op, ShortPolicy, SimModel};
use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::FileExt;

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

fn setup(file: File, depth: u32, pool: Option<&BufferPool>) -> Setup<'_> {
    Setup { file, clock: clock(), depth, short: ShortPolicy::Complete, pool }
}

/// Runs `test` on every kind of ring that this kernel has.
fn each_ring(test: &impl Fn(&str, Box<dyn Backend>)) {
    let plain = RingOptions::default();
    let kinds = [
        ("uring", plain),
        ("uring, nothing registered", RingOptions { registered: false, ..plain }),
        ("uring, cooperative", RingOptions { mode: Some(Mode::Cooperative), ..plain }),
        ("uring, interrupting", RingOptions { mode: Some(Mode::Interrupting), ..plain }),
        ("uring with sqpoll", RingOptions { sqpoll: true, ..plain }),
    ];
    for (name, options) in kinds {
        let pool = BufferPool::new(BufferPool::needed(DEPTH, BLOCK), false).unwrap();
        match Uring::with(setup(scratch(64), DEPTH, Some(&pool)), options) {
            Ok((uring, notices)) => {
                assert!(notices.is_empty(), "{name}: {notices:?}");
                test(name, Box::new(uring));
            }
            Err(reason) => println!("SKIPPED: {name}, because {reason}"),
        }
    }
}

fn each_backend(test: impl Fn(&str, Box<dyn Backend>)) {
    test("null", Box::new(Null::new(clock(), DEPTH)));
    let model = SimModel { jitter: Nanos(50_000), channels: 3, ..SimModel::default() };
    test("sim", Box::new(Sim::new(model, DEPTH, 1)));
    test("threads", Box::new(Threads::open(setup(scratch(64), DEPTH, None)).unwrap()));
    test("one thread", Box::new(Threads::open(setup(scratch(64), 1, None)).unwrap()));
    each_ring(&test);
}

fn operation(backend: &dyn Backend, token: u32, op: Op, block: u64) -> Operation {
    let mut buffer = Buffer::empty();
    if backend.needs_buffers() {
        buffer.set_len(BLOCK as usize);
        buffer.fill(token as u8);
    }
    Operation { token: Token(token), op, extent: Extent { offset: block * BLOCK, length: BLOCK }, buffer }
}

/// Keeps up to `DEPTH` in flight until `count` are done.
fn run(backend: &mut dyn Backend, count: u32) -> Vec<Completion> {
    let (mut done, mut pushed) = (Vec::new(), 0);
    while done.len() < count as usize {
        while pushed < count && pushed as usize - done.len() < DEPTH as usize {
            let op = if pushed % 3 == 0 { Op::Read } else { Op::Write };
            let operation = operation(backend, pushed, op, u64::from(pushed % 64));
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
            assert_eq!((c.result, c.short), (BLOCK as i64, false), "{name}");
            assert_eq!(c.buffer.len(), if backend.needs_buffers() { BLOCK as usize } else { 0 }, "{name}");
            assert!(u32::from(c.worker) < DEPTH, "{name}");
        }
    });
}

#[test]
fn times_are_in_order_and_from_the_backends_own_clock() {
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
fn without_waiting_nothing_waits_and_with_a_limit_it_is_kept() {
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

#[test]
fn threads_move_the_bytes() {
    let file = scratch(64);
    let copy = file.try_clone().unwrap();
    let mut backend = Threads::new(file, clock(), DEPTH).unwrap();
    let mut done = Vec::new();
    backend.push(operation(&backend, 7, Op::Write, 3));
    while done.is_empty() {
        backend.reap(Wait::Until(Nanos(u64::MAX >> 1)), &mut done);
    }
    let mut bytes = vec![0; BLOCK as usize];
    copy.read_exact_at(&mut bytes, 3 * BLOCK).unwrap();
    assert!(bytes.iter().all(|b| *b == 7));
    backend.push(operation(&backend, 9, Op::Read, 3));
    done.clear();
    while done.is_empty() {
        backend.reap(Wait::Until(Nanos(u64::MAX >> 1)), &mut done);
    }
    assert!(done[0].buffer.iter().all(|b| *b == 7), "the read overwrote what was in the buffer");
}

#[test]
fn threads_tell_errors_and_short_transfers() {
    let read_only = File::open("/dev/null").unwrap();
    let mut backend = Threads::new(read_only, clock(), 1).unwrap();
    let mut done = run(&mut backend, 0);
    backend.push(operation(&backend, 0, Op::Write, 0));
    while done.is_empty() {
        backend.reap(Wait::Until(Nanos(u64::MAX >> 1)), &mut done);
    }
    assert_eq!(done[0].result, -9, "EBADF");
    let mut backend = Threads::new(scratch(1), clock(), 1).unwrap();
    backend.push(operation(&backend, 0, Op::Read, 8));
    done.clear();
    while done.is_empty() {
        backend.reap(Wait::Until(Nanos(u64::MAX >> 1)), &mut done);
    }
    assert_eq!((done[0].result, done[0].short), (0, true), "behind the end of the file");
}
