//! Any text as a telemetry file: an error or requests that are read back as they were written, never a panic.

use iosonar_trace::{read_telemetry, write_telemetry};

/// See the module.
pub fn run(data: &[u8]) {
    let text = crate::text(data);
    if let Ok(entries) = read_telemetry(text) {
        assert_eq!(read_telemetry(&write_telemetry(&entries)).expect("what was written"), entries);
    }
}
