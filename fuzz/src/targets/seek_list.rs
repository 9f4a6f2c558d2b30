//! Any text as a seek list: an error or requests that are read back as they were written, never a panic.
#![no_main]

use iosonar_trace::{read_seek_list, write_seek_list};

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(entries) = read_seek_list(text) {
        assert_eq!(read_seek_list(&write_seek_list(&entries)).expect("what was written"), entries);
    }
});
