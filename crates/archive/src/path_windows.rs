//! Times in which the kernel's events of a run were recorded, where a part of it was sampled.

use iosonar_os::create::new_file;
use iosonar_plan::Nanos;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Bytes of a time.
const WORD: usize = size_of::<u64>();

/// Times that do not overlap, ascending.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PathWindows(Vec<[u64; 2]>);

impl PathWindows {
    /// Reads pairs of little-endian words: start and end.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Result<PathWindows, String> {
        let words =
            bytes.chunks_exact(WORD).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")));
        let words: Vec<u64> = words.collect();
        if !bytes.len().is_multiple_of(2 * WORD) || !words.is_sorted() {
            return Err("it has no pairs of ascending times".into());
        }
        Ok(PathWindows(words.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect()))
    }

    /// The same times on the clock of a run that began at `origin`; what was before it is dropped.
    #[must_use]
    pub fn since(self, origin: Nanos) -> PathWindows {
        let moved = self.0.into_iter().map(|window| window.map(|ns| ns.saturating_sub(origin.0)));
        PathWindows(moved.filter(|[from, to]| from < to).collect())
    }

    /// Position of a time that lies within one of them, or does not touch any; `None` if it lies partly within one.
    pub fn cover(&self, from: Nanos, to: Nanos) -> Option<bool> {
        let next = self.0.partition_point(|[_, end]| *end < from.0);
        match self.0.get(next) {
            Some([begin, end]) if *begin <= from.0 && to.0 <= *end => Some(true),
            Some([begin, _]) if *begin <= to.0 => None,
            _ => Some(false),
        }
    }
}

/// Writes windows one after the other.
#[derive(Debug)]
pub struct PathWindowsFile(File);

impl PathWindowsFile {
    /// Creates the file in the directory of the events.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn begin(dir: &Path) -> io::Result<PathWindowsFile> {
        new_file(&dir.join(crate::dir::PATH_WINDOWS)).map(PathWindowsFile)
    }

    /// Appends a window, on the clock of the events.
    ///
    /// # Errors
    /// Writing failed.
    pub fn append(&mut self, from_ns: u64, to_ns: u64) -> io::Result<()> {
        self.0.write_all(&[from_ns.to_le_bytes(), to_ns.to_le_bytes()].concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_lie_inside_of_a_window_outside_or_at_its_border() {
        let words: [u64; 6] = [50, 150, 200, 300, 400, 500];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let windows = PathWindows::of_bytes(&bytes).unwrap().since(Nanos(100));
        let cover = |from, to| windows.cover(Nanos(from), Nanos(to));
        assert_eq!([cover(0, 50), cover(100, 200), cover(310, 390)], [Some(true); 3]);
        assert_eq!([cover(60, 90), cover(210, 290), cover(401, 900)], [Some(false); 3]);
        assert_eq!([cover(40, 60), cover(90, 110), cover(90, 310), cover(390, 401)], [None; 4]);
        assert_eq!(PathWindows::default().cover(Nanos(1), Nanos(2)), Some(false));
        assert!(PathWindows::of_bytes(&bytes[..8]).is_err() && PathWindows::of_bytes(&bytes[8..]).is_err());
    }
}
