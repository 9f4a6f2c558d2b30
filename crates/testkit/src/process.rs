//! Waits for other processes, and sends signals to them. Nothing here starts a program: on a busy machine that takes
//! seconds, too late for the state that a test needs.

use rustix::process::{Pid, Signal, kill_process};
use std::time::{Duration, Instant};

/// Waits until a condition holds, with a timeout.
///
/// # Panics
/// The condition does not hold within 60 s.
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < Duration::from_secs(60), "{what}: not within 60 s");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sends a signal, by its name without `SIG`, to a process.
///
/// # Panics
/// There is no such process, or the name is not one of those that tests use.
#[track_caller]
pub fn signal(process: u32, name: &str) {
    let signal = match name {
        "CONT" => Signal::CONT,
        "HUP" => Signal::HUP,
        "INT" => Signal::INT,
        "KILL" => Signal::KILL,
        "STOP" => Signal::STOP,
        "TERM" => Signal::TERM,
        "TSTP" => Signal::TSTP,
        "USR1" => Signal::USR1,
        other => panic!("{other} is no signal of this list"),
    };
    let process = i32::try_from(process).ok().and_then(Pid::from_raw).expect("an id of a process");
    kill_process(process, signal).expect("the process is there");
}
