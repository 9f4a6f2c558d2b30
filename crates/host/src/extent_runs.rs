//! Layout of a target's used range on its device: how often consecutive data is not contiguous.

use crate::stored::{StoredIn, stored_in};
use crate::target::TargetFacts;
use iosonar_evidence::ExtentRuns;
use iosonar_os::extents::{Extents, RawExtent};
use iosonar_text::shown;
use std::ops::Range;

/// Maximum number of extents read: this takes some 10 ms, and more breaks do not change the verdict.
const MOST: usize = 100_000;
/// Flags of the kernel (`FIEMAP_EXTENT_...`) that make an address meaningless: unknown, not allocated yet, encoded,
/// inline or packed with others.
const WITHOUT_PLACE: u32 = 0x2 | 0x4 | 0x8 | 0x200 | 0x400;
/// `FIEMAP_EXTENT_SHARED`.
const SHARED: u32 = 0x2000;

/// Counts contiguous runs in a range of a target, for a loop device those of its file. Nothing is flushed: data without
/// a place is not counted.
///
/// # Errors
/// The layout is unknown: other devices, and file systems without extent maps.
pub fn extent_runs(
    target: &TargetFacts,
    range: Range<u64>,
    request_bytes: u64,
) -> Result<ExtentRuns, String> {
    let StoredIn { file, path, range } = stored_in(target, range)?;
    let mut scan = Scan::new(range, request_bytes);
    for (number, extent) in Extents::of(&file, false).enumerate() {
        let extent = extent.map_err(|error| format!("{}: {error}", shown(&path)))?;
        if number >= MOST {
            return Ok(scan.cut());
        }
        if !scan.add(extent) {
            break;
        }
    }
    Ok(scan.whole())
}

/// Merges extents in file order.
struct Scan {
    range: Range<u64>,
    found: ExtentRuns,
    /// End of the last extent in the file, and on the device.
    last: Option<(u64, u64)>,
    /// Number of the last request that crosses a break.
    crossing: Option<u64>,
}

impl Scan {
    fn new(range: Range<u64>, request_bytes: u64) -> Scan {
        let found = ExtentRuns { request_bytes: request_bytes.max(1), ..ExtentRuns::default() };
        Scan { range, found, last: None, crossing: None }
    }

    /// Adds the next extent; returns whether later ones can be in the range.
    fn add(&mut self, extent: RawExtent) -> bool {
        let end = extent.logical.saturating_add(extent.length).min(self.range.end);
        let start = extent.logical.max(self.range.start);
        if start < end && extent.flags & WITHOUT_PLACE == 0 {
            let physical = extent.physical.saturating_add(start - extent.logical);
            let bytes = end - start;
            self.found.bytes += bytes;
            self.found.shared_bytes += if extent.flags & SHARED != 0 { bytes } else { 0 };
            if self.last != Some((start, physical)) {
                self.found.runs += 1;
                // Data after a hole is a separate run, and no request spans both.
                if self.last.is_some_and(|(logical, _)| logical == start) {
                    self.break_at(start);
                }
            }
            self.last = Some((end, physical.saturating_add(bytes)));
        }
        end < self.range.end
    }

    fn break_at(&mut self, place: u64) {
        let within = place - self.range.start;
        let request = within / self.found.request_bytes;
        if !within.is_multiple_of(self.found.request_bytes) && self.crossing != Some(request) {
            self.found.crossing += 1;
            self.crossing = Some(request);
        }
    }

    fn whole(mut self) -> ExtentRuns {
        self.found.requests = (self.range.end - self.range.start).div_ceil(self.found.request_bytes);
        self.found
    }

    /// For a file with too many extents: only requests up to there are counted.
    fn cut(mut self) -> ExtentRuns {
        self.range.end = self.last.map_or(self.range.end, |(end, _)| end);
        self.found.is_cut = true;
        self.whole()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const K: u64 = 1024;

    fn of(range: Range<u64>, request: u64, extents: &[(u64, u64, u64, u32)]) -> ExtentRuns {
        let mut scan = Scan::new(range, request);
        let raw = |&(logical, physical, length, flags)| RawExtent { logical, physical, length, flags };
        let _ = extents.iter().map(raw).all(|extent| scan.add(extent));
        scan.whole()
    }

    #[test]
    fn extents_adjacent_on_device_form_one_run() {
        let whole = of(0..192 * K, 64 * K, &[(0, 512 * K, 64 * K, 0), (64 * K, 576 * K, 128 * K, 0x800)]);
        assert_eq!((whole.runs, whole.bytes, whole.requests, whole.crossing), (1, 192 * K, 3, 0));
        assert_eq!(whole.mean_bytes(), 192 * K);
    }

    #[test]
    fn counts_requests_crossing_a_break_once() {
        let extents: Vec<(u64, u64, u64, u32)> =
            (0..16).map(|n| (n * 64 * K, n * 128 * K, 64 * K, 0)).collect();
        let large = of(0..1024 * K, 256 * K, &extents);
        assert_eq!((large.runs, large.requests, large.crossing), (16, 4, 4));
        let fitting = of(0..1024 * K, 64 * K, &extents);
        assert_eq!((fitting.runs, fitting.requests, fitting.crossing), (16, 16, 0));
        assert_eq!((large.crossing_share(), fitting.crossing_share()), (1.0, 0.0));
        // Requests count from the start of the range.
        assert_eq!(of(32 * K..1024 * K, 64 * K, &extents).crossing, 15);
    }

    #[test]
    fn runs_exclude_holes_and_unmapped_extents() {
        let found = of(
            64 * K..256 * K,
            96 * K,
            &[
                (0, 0, 64 * K, 0),
                (64 * K, 9, 64 * K, 0x6),
                (160 * K, 900 * K, 32 * K, SHARED),
                (192 * K, 0, 999 * K, 0),
            ],
        );
        assert_eq!((found.runs, found.bytes, found.shared_bytes), (2, 96 * K, 32 * K));
        assert_eq!(found.crossing, 1);
    }

    #[test]
    fn maps_a_real_file_or_states_why_not() {
        use std::io::Write;
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&[7; 1 << 20]).unwrap();
        file.as_file().sync_all().unwrap();
        let facts = crate::identify(file.path(), &crate::Root::default()).unwrap();
        match extent_runs(&facts, 0..1 << 20, 4096) {
            Ok(found) => {
                assert!(found.runs >= 1 && found.bytes == 1 << 20 && found.requests == 256, "{found:?}")
            }
            Err(why) => assert!(why.starts_with(&*file.path().to_string_lossy()), "{why}"),
        }
    }
}
