//! Writes back dirty data before a measurement that it would disturb.

use crate::Root;
use crate::environment::memory;
use iosonar_evidence::WrittenBack;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Polling interval.
const LOOK: Duration = Duration::from_millis(10);

/// Bytes waiting for writeback; `None` if the kernel does not report it.
pub fn waiting_bytes(root: &Root) -> Option<u64> {
    memory(root).waiting()
}

/// Writes back all dirty data, and waits until it is done, for `longest`, or until `is_stopped`. `None` if the amount
/// is unknown, or the program `sync` cannot be started.
///
/// The program calls sync(2), which no signal interrupts: a thread in it would keep this process from ending for as
/// long as a slow device takes. An unfinished sync continues in the background.
pub fn write_back(root: &Root, longest: Duration, is_stopped: &dyn Fn() -> bool) -> Option<WrittenBack> {
    let waited_bytes = waiting_bytes(root)?;
    let mut sync = Command::new("sync");
    let silent = sync.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let begun = Instant::now();
    // Ctrl-C at the terminal does not reach it.
    let mut running = silent.process_group(0).spawn().ok()?;
    let is_complete = loop {
        match running.try_wait() {
            Ok(Some(status)) => break status.success(),
            Ok(None) if begun.elapsed() < longest && !is_stopped() => std::thread::sleep(LOOK),
            Ok(None) | Err(_) => {
                // It continues, and must be reaped.
                std::thread::spawn(move || running.wait());
                break false;
            }
        }
    };
    let took_ns = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
    Some(WrittenBack { waited_bytes, left_bytes: waiting_bytes(root)?, took_ns, is_complete })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    #[test]
    fn sums_dirty_and_writeback_pages() {
        let tree = Tree::new();
        tree.file("/proc/meminfo", "Dirty:   4 kB\nWriteback:  3 kB\nWritebackTmp: 9 kB\n");
        assert_eq!(waiting_bytes(&tree.root()), Some(7 << 10));
        assert_eq!(waiting_bytes(&Tree::new().root()), None);
        assert_eq!(write_back(&Tree::new().root(), Duration::from_secs(60), &|| false), None);
    }

    #[test]
    fn stop_request_ends_the_wait() {
        let tree = Tree::new();
        tree.file("/proc/meminfo", "Dirty:   4 kB\n");
        let done = write_back(&tree.root(), Duration::from_secs(600), &|| true).unwrap();
        assert_eq!((done.waited_bytes, done.left_bytes), (4096, 4096));
    }
}
