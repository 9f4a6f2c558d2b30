//! Records the block I/O of a device for two seconds, as root: `cargo run -p iosonar --example record -- /dev/sda`.

use iosonar::studies::record::{self, Question};
use iosonar::{Archive, Nanos, Op, Session, Silent};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

/// Runs the example.
#[allow(dead_code, reason = "the test names its own device")]
fn main() -> Result<(), Box<dyn Error>> {
    let device = std::env::args().nth(1).ok_or("name a block device")?;
    record_device(Path::new(&device)).map(drop)
}

/// Records a device, prints what was counted, and returns the number of recorded reads.
pub fn record_device(device: &Path) -> Result<u64, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let question = Question {
        duration: Some(Nanos::from_secs(2)),
        ..Question::new(vec![device.into()], folder.path().join("recording"))
    };
    let answer = record::run(&Session::new(Arc::new(Silent)), &question)?;
    print!("{answer}");
    // The recording is an archive: each request is a record.
    let mut reads = 0;
    Archive::open(&answer.dir)?.for_each_record(&mut |record| reads += u64::from(record.op == Op::Read))?;
    println!("{reads} reads of {}", device.display());
    Ok(reads)
}
