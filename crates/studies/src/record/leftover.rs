//! Tracing that recorders leave in the kernel, and its removal.

use iosonar_capture::{cleanup, is_recording};
use iosonar_runner::{Error, Notice, Session};
use std::time::Duration;

/// Number of checks whether tracing is off, one each 10 ms.
const PATIENCE: u32 = 200;

/// Waits until the stopping recorder of this process has switched tracing off; returns whether it is still on. Only the recorder can do
/// that, because its buffers are open.
pub fn is_tracing_left() -> bool {
    let is_on = |_| {
        std::thread::sleep(Duration::from_millis(10));
        is_recording()
    };
    (0..PATIENCE).all(is_on)
}

/// Removes tracing that killed recorders left in the kernel, and reports each recorder.
///
/// # Errors
/// The kernel refuses.
pub fn clean_up(session: &Session) -> Result<(), Error> {
    let cleaned = cleanup().map_err(Error::broke)?;
    let remark = |text: &str| session.observer.notice(&Notice::Remark(text));
    for pid in &cleaned.removed {
        remark(&format!("process {pid} is gone: its tracing was switched off and removed"));
    }
    for pid in &cleaned.alive {
        remark(&format!("process {pid} still records, and was left alone"));
    }
    if cleaned.removed.is_empty() {
        remark("nothing was left in the kernel");
    }
    Ok(())
}
