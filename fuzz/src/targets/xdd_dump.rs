//! Any bytes as a dump of time stamps: an error or a dump that is written as it was read, never a panic.
#![no_main]

use iosonar_dialect_xdd::read_dump;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(dump) = read_dump(data) {
        assert_eq!(dump.to_bytes(), data);
    }
});
