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

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;

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
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("disk.img");
    std::fs::write(&file, vec![1; 1 << 20])?;
    let device = match LoopDevice::attach(&file) {
        Ok(device) => device,
        Err(why) => {
            iosonar_testkit::skip("record_records_reads_of_a_device", &why);
            return Ok(());
        }
    };
    let reader = device.read_repeatedly();
    let reads = record::record_device(&device.0);
    reader.stop();
    assert!(reads? > 0);
    Ok(())
}

/// A loop device, which is detached at the end.
struct LoopDevice(PathBuf);

impl LoopDevice {
    fn attach(file: &Path) -> Result<LoopDevice, String> {
        let attached = Command::new("losetup").args(["--find", "--show"]).arg(file).output();
        let attached = attached.map_err(|error| format!("losetup: {error}"))?;
        match attached.status.success() {
            true => Ok(LoopDevice(String::from_utf8_lossy(&attached.stdout).trim().into())),
            false => Err("there is no loop device without root".into()),
        }
    }

    /// Reads the device past the page cache until [`Reader::stop`].
    fn read_repeatedly(&self) -> Reader {
        let (path, wanted) = (self.0.clone(), Arc::new(AtomicBool::new(true)));
        let is_wanted = wanted.clone();
        let thread = std::thread::spawn(move || {
            while is_wanted.load(Relaxed) {
                let source = format!("if={}", path.display());
                let read = Command::new("dd")
                    .args([&source, "of=/dev/null", "bs=64K", "iflag=direct", "status=none"])
                    .status();
                assert!(read.is_ok_and(|status| status.success()));
            }
        });
        Reader { wanted, thread }
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.0).status();
    }
}

/// A thread that reads.
struct Reader {
    wanted: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Reader {
    fn stop(self) {
        self.wanted.store(false, Relaxed);
        self.thread.join().expect("the reader does not panic");
    }
}
