//! Holes in files.

use rustix::fs::{SeekFrom, seek};
use std::fs::File;
use std::io;
use std::ops::Range;

/// Number of steps between data and hole that are examined. A file in more parts is taken to be like its beginning.
const MOST_STEPS: u32 = 50_000;

/// Bytes of a range of a file that hold no data: holes, and extents that were allocated and never written, which lseek(2) calls
/// holes, too. Bytes beyond the end of the file do not count.
///
/// # Errors
/// The file system does not report holes.
pub fn empty_bytes(file: &File, range: Range<u64>) -> io::Result<u64> {
    let end = range.end.min(file.metadata()?.len());
    let (mut at, mut empty) = (range.start.min(end), 0);
    for _ in 0..MOST_STEPS {
        if at >= end {
            break;
        }
        let data = match seek(file, SeekFrom::Data(at)) {
            Ok(data) => data.min(end),
            // Only a hole up to the end.
            Err(rustix::io::Errno::NXIO) => end,
            Err(error) => return Err(error.into()),
        };
        empty += data - at;
        at = if data < end { seek(file, SeekFrom::Hole(data))?.min(end) } else { end };
    }
    // Of a file in very many parts, the rest is taken to be as the beginning.
    let seen = at.saturating_sub(range.start).max(1);
    Ok(if at < end { (empty as f64 / seen as f64 * (end - range.start) as f64) as u64 } else { empty })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn holes_and_preallocated_ranges_count_as_empty() {
        let file = tempfile::tempfile().unwrap();
        let mib = 1u64 << 20;
        file.set_len(4 * mib).unwrap();
        file.write_all_at(&vec![7; mib as usize], mib).unwrap();
        file.sync_all().unwrap();
        assert_eq!(empty_bytes(&file, 0..4 * mib).unwrap(), 3 * mib);
        assert_eq!(empty_bytes(&file, mib..2 * mib).unwrap(), 0);
        assert_eq!(empty_bytes(&file, 0..mib / 2).unwrap(), mib / 2);
        assert_eq!(empty_bytes(&file, 3 * mib..9 * mib).unwrap(), mib);
    }

    #[test]
    fn unwritten_extents_count_as_empty() {
        let file = tempfile::tempfile().unwrap();
        let flags = rustix::fs::FallocateFlags::empty();
        if rustix::fs::fallocate(&file, flags, 0, 1 << 20).is_err() {
            eprintln!("skipped: the file system of temporary files cannot allocate");
            return;
        }
        file.sync_all().unwrap();
        assert_eq!(empty_bytes(&file, 0..1 << 20).unwrap(), 1 << 20);
    }
}
