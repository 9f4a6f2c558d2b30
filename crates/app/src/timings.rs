//! CPU time of the phases of a run, told with the hidden option `--timings`: what `./bench` counts apart.

use crate::output::print_message;
use iosonar_os::usage::own_cpu_time;

/// Phases that have ended, and when the present one began.
pub struct Timings {
    begun_ns: u64,
    phases: serde_json::Map<String, serde_json::Value>,
}

impl Timings {
    /// The first phase began with the process.
    pub fn new() -> Timings {
        Timings { begun_ns: 0, phases: serde_json::Map::new() }
    }

    /// Ends the present phase, which had this name.
    pub fn end(&mut self, phase: &str) {
        let cpu = own_cpu_time();
        let now_ns = cpu.user_ns + cpu.system_ns;
        self.phases.insert(format!("{phase}_ns"), (now_ns - self.begun_ns).into());
        self.begun_ns = now_ns;
    }

    /// One line of JSON on standard error.
    pub fn tell(self) {
        print_message(format_args!("timings: {}", serde_json::Value::Object(self.phases)));
    }
}
