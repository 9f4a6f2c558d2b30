//! CPU time of the phases of a run, printed with the hidden option `--timings`: `./bench` counts them separately.

use crate::output::print_message;
use iosonar_os::usage::own_cpu_time;
use std::sync::{Arc, Mutex, PoisonError};

/// Finished phases, and the start of the current one. Clones share the same state.
#[derive(Debug, Clone, Default)]
pub struct Timings(Arc<Mutex<Phases>>);

#[derive(Debug, Default)]
struct Phases {
    begun_ns: u64,
    ended: serde_json::Map<String, serde_json::Value>,
}

impl Timings {
    /// Starts with the process.
    pub fn new() -> Timings {
        Timings::default()
    }

    /// Ends the current phase under this name.
    pub fn end(&self, phase: &str) {
        let cpu = own_cpu_time();
        let now_ns = cpu.user_ns + cpu.system_ns;
        let mut phases = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let took = now_ns - phases.begun_ns;
        phases.ended.insert(format!("{phase}_ns"), took.into());
        phases.begun_ns = now_ns;
    }

    /// Prints one line of JSON on standard error.
    pub fn tell(self) {
        let ended = self.0.lock().unwrap_or_else(PoisonError::into_inner).ended.clone();
        print_message(format_args!("timings: {}", serde_json::Value::Object(ended)));
    }
}
