//! Runs the examples of the library.

#[path = "../examples/analyze.rs"]
#[allow(dead_code, reason = "an argument of this test is none of the example")]
mod analyze;
#[path = "../examples/compare.rs"]
mod compare;
#[path = "../examples/record.rs"]
mod record;
#[path = "../examples/replay.rs"]
mod replay;
#[path = "../examples/run.rs"]
mod run;
#[path = "../examples/workload.rs"]
mod workload;

use iosonar_testkit::{LoopDevice, skip};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

type Ran = Result<(), Box<dyn std::error::Error>>;

#[test]
fn run_executes_a_plan() -> Ran {
    run::main()
}

#[test]
fn replay_replays_a_load() -> Ran {
    replay::main()
}

#[test]
fn workload_issues_the_requests_of_an_iterator() -> Ran {
    workload::main()
}

#[test]
fn analyze_reads_a_result() -> Ran {
    analyze::analyze_a_new_one()
}

#[test]
fn compare_finds_a_slower_device() -> Ran {
    compare::main()
}

#[test]
fn record_records_reads_of_a_device() -> Ran {
    if Path::new("/proc/self").metadata()?.uid() != 0 {
        skip("record_records_reads_of_a_device", "there is no loop device without root");
        return Ok(());
    }
    let device = LoopDevice::random(1);
    let is_over = AtomicBool::new(false);
    let reads = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Relaxed) {
                read(device.path());
            }
        });
        let reads = record::record_device(device.path()).map_err(|error| error.to_string());
        is_over.store(true, Relaxed);
        reads
    });
    assert!(reads? > 0);
    Ok(())
}

/// Reads a device once, past the page cache.
fn read(device: &Path) {
    let source = format!("if={}", device.display());
    let read =
        Command::new("dd").args([&source, "of=/dev/null", "bs=64K", "iflag=direct", "status=none"]).status();
    assert!(read.is_ok_and(|status| status.success()));
}
