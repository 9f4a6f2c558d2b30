//! Any bytes as a Parquet file of records, and a valid one with damage: an error or records. The library reports some damage by a panic,
//! which the reader catches; a panic of ours is a finding.

use std::io::{Seek, Write};
use std::path::Path;
use std::sync::Once;

/// Aborts on a panic of ours, even where the reader would catch it, and silences those of the library.
fn only_our_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let place = panic.location().map_or(String::new(), ToString::to_string);
            if place.contains("targets/record_parquet") || place.contains("crates/archive") {
                eprintln!("{panic}");
                std::process::abort();
            }
            if !place.contains("/parquet-") {
                before(panic);
            }
        }));
    });
}

/// See the module.
pub fn run(data: &[u8]) {
    only_our_panics();
    let mut file = tempfile::tempfile_in("/dev/shm").expect("a file in memory");
    file.write_all(data).expect("room in memory");
    file.rewind().expect("a file");
    let mut seen = 0;
    if let Ok(total) = iosonar_archive::read_records_from(file, Path::new("fuzz"), &mut |_| seen += 1) {
        assert_eq!(total, seen);
    }
}
