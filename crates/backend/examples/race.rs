//! Speed of a backend alone: random reads of 4 KiB in a closed loop, to be compared with fio on the same target.
//!
//! `cargo run --release -p iosonar-backend --example race -- TARGET KIND DEPTH SECONDS`
//!
//! KIND is threads, aio, or a ring: uring, uring-plain (nothing registered), deferred, interrupting, sqpoll, hipri. With
//! `BUFFERED` in the environment it goes through the page cache, with `SPIN` it never sleeps.

use iosonar_backend::{
    Aio, Backend, Completion, Mode, Operation, RingOptions, Setup, Threads, Token, Uring, Wait,
};
use iosonar_os::{BufferPool, Clock, monotonic_ns};
use iosonar_plan::{Durability, Extent, Nanos, Op, ShortPolicy};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

const BLOCK: u64 = 4096;

fn backend(kind: &str, setup: Setup<'_>) -> Box<dyn Backend> {
    let ring = |setup, options| -> Box<dyn Backend> {
        let (uring, notices) = Uring::with(setup, options).unwrap();
        notices.iter().for_each(|notice| eprintln!("{notice}"));
        Box::new(uring)
    };
    let mode = |mode| RingOptions { mode: Some(mode), ..RingOptions::default() };
    match kind {
        "uring" => ring(setup, RingOptions::default()),
        "uring-plain" => ring(setup, RingOptions { registered: false, ..RingOptions::default() }),
        "deferred" => ring(setup, mode(Mode::Deferred)),
        "interrupting" => ring(setup, mode(Mode::Interrupting)),
        "sqpoll" => ring(setup, RingOptions { sqpoll: true, ..RingOptions::default() }),
        "hipri" => ring(setup, RingOptions { hipri: true, ..RingOptions::default() }),
        "aio" => Box::new(Aio::new(setup).unwrap().0),
        "threads" => Box::new(Threads::open(setup).unwrap()),
        other => panic!("no backend {other}"),
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, path, kind, depth, seconds] = args.as_slice() else { panic!("TARGET KIND DEPTH SECONDS") };
    let (depth, seconds): (u32, u64) = (depth.parse().unwrap(), seconds.parse().unwrap());
    let spins = std::env::var_os("SPIN").is_some();
    let direct = if std::env::var_os("BUFFERED").is_some() { 0 } else { libc::O_DIRECT };
    let mut file = File::options().read(true).custom_flags(direct).open(path).unwrap();
    let blocks = file.seek(SeekFrom::End(0)).unwrap() / BLOCK;
    let mut pool = BufferPool::new(BufferPool::needed(depth, BLOCK), false).unwrap();
    let (clock, short) = (Clock::from_origin(monotonic_ns()), ShortPolicy::Complete);
    let mut backend = backend(
        kind,
        Setup {
            file,
            clock,
            depth,
            extra: 0,
            reach: 1 << 30,
            writes: true,
            short,
            locks: false,
            pool: Some(&pool),
        },
    );
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let (mut flying, mut count, mut latency, mut lag) = (0, 0u64, 0u64, 0u64);
    let mut done: Vec<Completion> = Vec::with_capacity(depth as usize);
    let end = Nanos(backend.now().0 + seconds * 1_000_000_000);
    let start = backend.now();
    while backend.now() < end {
        while flying < depth {
            let extent = Extent { offset: random.next_u64() % blocks * BLOCK, length: BLOCK };
            let buffer = pool.take(BLOCK as usize).unwrap();
            backend.push(Operation {
                token: Token(0),
                op: Op::Read,
                durability: Durability::NONE,
                extent,
                buffer,
            });
            flying += 1;
        }
        let wait = if spins { Wait::No } else { Wait::Until(Nanos(u64::MAX >> 1)) };
        backend.reap(wait, &mut done);
        for c in done.drain(..) {
            assert_eq!(c.result, BLOCK as i64);
            (flying, count) = (flying - 1, count + 1);
            (latency, lag) = (latency + c.completed.0 - c.submitted.0, lag + c.reap_lag.0);
            pool.give(c.buffer);
        }
    }
    let took = (backend.now().0 - start.0) as f64 / 1e9;
    let (n, each) = (count as f64, count.max(1));
    println!(
        "{kind} depth {depth}: {:.0} IOPS, mean latency {} ns, mean lag {} ns",
        n / took,
        latency / each,
        lag / each
    );
}
