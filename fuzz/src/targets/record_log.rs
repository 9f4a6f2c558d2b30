//! Any bytes as a log of records: an error, or records and the bytes lost after them. A second try corrects the checksums, so that the
//! packed records are reached, too; the records read pack into a log that reads the same.

use iosonar_archive::{Frame, Record, read_log_from};
use std::path::Path;

/// Bytes before the first frame, and of a frame's header.
const HEADER: usize = 16;
const FRAME: usize = 12;

fn read(bytes: &[u8]) -> Option<Vec<Record>> {
    let mut records = Vec::new();
    let end = read_log_from(bytes, bytes.len() as u64, Path::new("fuzz"), &mut |r| records.push(*r)).ok()?;
    assert_eq!(end.records, records.len() as u64);
    assert!(end.lost_bytes <= bytes.len() as u64);
    Some(records)
}

/// Returns a log of one frame with this payload.
fn log_of(count: u32, payload: &[u8]) -> Vec<u8> {
    let mut log = b"iosonarL".to_vec();
    log.extend(2u32.to_le_bytes());
    log.extend((iosonar_archive::FRAME_BYTES as u32).to_le_bytes());
    log.extend(count.to_le_bytes());
    log.extend((payload.len() as u32).to_le_bytes());
    log.extend(crc32fast::hash(payload).to_le_bytes());
    assert_eq!(log.len(), HEADER + FRAME);
    log.extend(payload);
    log
}

/// See the module.
pub fn run(data: &[u8]) {
    read(data);
    let Some((count, payload)) = data.split_first() else { return };
    let Some(records) = read(&log_of(1 + u32::from(*count), payload)) else { return };
    let mut frame = Frame::default();
    if records.iter().all(|record| frame.push(record)) {
        let again = log_of(frame.count(), &frame.seal()[FRAME..]);
        assert_eq!(read(&again).expect("what was packed can be read"), records);
    }
}
