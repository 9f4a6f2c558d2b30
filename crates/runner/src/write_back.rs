//! Writes back dirty pages before a run, which write-back would disturb.

use crate::{Notice, Observer};
use iosonar_engine::Control;
use iosonar_evidence::WrittenBack;
use iosonar_host::Root;
use iosonar_host::write_back::{waiting_bytes, write_back};
use iosonar_plan::{Claim, Plan};
use std::cell::Cell;
use std::time::{Duration, Instant};

/// A slow device with much to write does not hold up a run of another one for longer.
const LONGEST: Duration = Duration::from_secs(30);

/// A longer wait is reported while it lasts.
const TOLD_AFTER: Duration = Duration::from_secs(1);
/// The environment variable with which nothing is written back: `off`.
const VARIABLE: &str = "IOSONAR_WRITE_BACK";

/// Writes back what waits, if it is much, and says so. Not before runs without I/O, not where memory is what is measured, and not on
/// other machines.
pub fn before(plan: &Plan, control: &Control, observer: &dyn Observer) -> Option<WrittenBack> {
    let is_here = plan.local_paths().next().is_some();
    let is_needed = is_here && plan.engine.is_real() && plan.claim() != Claim::Cache;
    let root = Root::default();
    let is_much = || waiting_bytes(&root).is_some_and(iosonar_judge::is_much_to_write);
    let is_off = std::env::var_os(VARIABLE).is_some_and(|value| value == "off");
    if !is_needed || is_off || !is_much() {
        return None;
    }
    let (begun, was_told) = (Instant::now(), Cell::new(false));
    let is_stopped = || {
        if begun.elapsed() >= TOLD_AFTER && !was_told.replace(true) {
            observer.notice(&Notice::WritingBack { longest: LONGEST });
        }
        control.signal().is_some()
    };
    let done = write_back(&root, LONGEST, &is_stopped).filter(|_| control.signal().is_none())?;
    observer.notice(&Notice::WrittenBack(&done));
    Some(done)
}

/// How much was written back, in a sentence.
pub(crate) fn sentence(done: &WrittenBack) -> String {
    let mib = |bytes: u64| bytes >> 20;
    let (waited, left, seconds) = (mib(done.waited_bytes), mib(done.left_bytes), done.took_ns as f64 / 1e9);
    match done.is_complete {
        true => {
            format!("{waited} MiB waited in memory to be written, and were written back in {seconds:.1} s")
        }
        false => format!(
            "{waited} MiB waited in memory to be written; after {seconds:.1} s {left} MiB wait still, and the run goes on without \
             waiting for them"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentence_states_written_and_remaining_bytes() {
        let done = WrittenBack {
            waited_bytes: 700 << 20,
            left_bytes: 1 << 20,
            took_ns: 1_840_000_000,
            is_complete: true,
        };
        let text = sentence(&done);
        assert_eq!(text, "700 MiB waited in memory to be written, and were written back in 1.8 s");
        let text = sentence(&WrittenBack { left_bytes: 600 << 20, is_complete: false, ..done });
        assert!(text.contains("after 1.8 s 600 MiB wait still"), "{text}");
    }
}
