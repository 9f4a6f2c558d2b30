//! Any text as a seek list: an error or requests that are read back as they were written, never a panic.

use iosonar_trace::{read_seek_list, write_seek_list};

/// See the module.
pub fn run(data: &[u8]) {
    let text = crate::text(data);
    if let Ok(entries) = read_seek_list(text) {
        assert_eq!(read_seek_list(&write_seek_list(&entries)).expect("what was written"), entries);
    }
}
