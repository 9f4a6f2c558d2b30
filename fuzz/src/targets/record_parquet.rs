//! Any bytes as a Parquet file of records, and a right one with damage: an error or records. The library tells of some
//! damage by a panic, which the reader catches; a panic of ours is a finding.
#![no_main]

use std::io::{Seek, Write};
use std::path::Path;

fn only_our_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or(String::new(), ToString::to_string);
        if place.contains("fuzz_targets") || place.contains("crates/archive") {
            eprintln!("{panic}");
            std::process::abort();
        }
    }));
}

libfuzzer_sys::fuzz_target!(init: only_our_panics(), |data: &[u8]| {
    let mut file = tempfile::tempfile_in("/dev/shm").expect("a file in memory");
    file.write_all(data).expect("room in memory");
    file.rewind().expect("a file");
    let mut seen = 0;
    if let Ok(total) = iosonar_archive::read_records_from(file, Path::new("fuzz"), &mut |_| seen += 1) {
        assert_eq!(total, seen);
    }
});
