//! Issues a workload that an iterator of requests makes: `cargo run -p iosonar --example workload`.

use iosonar::{Nanos, Op, Plan, Request, Session, Silent, write_load};
use std::error::Error;
use std::sync::Arc;

/// A log that is appended to, and read back from its start: a write each 100 us, a read of an older place after each fourth.
fn log_and_scan() -> impl Iterator<Item = Request> {
    const BLOCK: u64 = 16 << 10;
    (0..1000u64).flat_map(|number| {
        let due = Nanos(number * 100_000);
        let append = Request { due, op: Op::Write, offset: number * BLOCK, length: BLOCK };
        let scan = Request { op: Op::Read, offset: number / 4 * BLOCK, ..append };
        [Some(append), Some(scan).filter(|_| number % 4 == 3)].into_iter().flatten()
    })
}

/// Runs the example.
pub fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let load = folder.path().join("log-and-scan.load");
    let requests = write_load(&load, log_and_scan())?;
    let plan = Plan::from_toml(&format!(
        "version = 2\nrun_id = 1\nseed = 1\ndepth = 16\nengine = {{ kind = \"sim\", service = \"80us\" }}\n\
         [[target]]\npath = \"device\"\nsize = \"1GiB\"\nworkload = {{ kind = \"trace\", file = {load:?} }}\n"
    ))?;
    let concluded = Session::new(Arc::new(Silent)).run(plan, &folder.path().join("result"))?;
    let counts = &concluded.figures.summary.counts;
    println!("{} writes, {} reads", counts.write.completed, counts.read.completed);
    assert_eq!((requests, counts.all.completed), (1250, 1250));
    Ok(())
}
