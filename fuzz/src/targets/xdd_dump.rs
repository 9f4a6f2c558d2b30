//! Any bytes as a dump of time stamps: an error or a dump that is written as it was read, never a panic.

use iosonar_dialect_xdd::read_dump;

/// See the module.
pub fn run(data: &[u8]) {
    if let Ok(dump) = read_dump(data) {
        assert_eq!(dump.to_bytes(), data);
    }
}
