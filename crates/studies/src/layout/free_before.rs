//! The free space of `layout run` before files are created.

use super::stage::Stage;
use iosonar_cells::creation::{FreeBefore, FreeStates};
use iosonar_host::free_space::read_free_space;
use iosonar_layout::{Map, fragments, left_after};
use std::ops::Range;
use std::path::Path;

/// Maximum number of free ranges kept: 16 MiB. Beyond it only their figures are known.
const MOST_KEPT: usize = 1 << 20;

/// The free space of each file system.
pub struct FreeMaps {
    /// As reported.
    pub states: FreeStates,
    /// The ranges of each file system, ascending; absent if unknown.
    ranges: Vec<Option<Vec<Range<u64>>>>,
}

impl FreeMaps {
    /// Reads the free space of each method's scratch file system, or of the one that all methods share.
    pub fn read(stage: &Stage) -> FreeMaps {
        let dirs = stage.files.iter().filter_map(|files| files.first()?.parent());
        if stage.image_direct().is_none() {
            let (states, ranges) = dirs.take(1).map(read).unzip::<_, _, Vec<_>, _>();
            let shared = states.into_iter().next();
            return FreeMaps { states: FreeStates { of_methods: Vec::new(), shared }, ranges };
        }
        let (of_methods, ranges) = dirs.map(read).unzip();
        FreeMaps { states: FreeStates { of_methods, shared: None }, ranges }
    }

    /// The ranges before a method's files were created.
    pub fn of(&self, method: usize) -> Option<&[Range<u64>]> {
        let number = if self.states.shared.is_some() { 0 } else { method };
        self.ranges.get(number)?.as_deref()
    }
}

/// Figures and ranges of the file system of a directory. A file system that does not report them is measured without.
fn read(dir: &Path) -> (FreeBefore, Option<Vec<Range<u64>>>) {
    match read_free_space(dir, true, MOST_KEPT) {
        Ok((report, ranges)) => {
            let are_all = ranges.len() as u64 == report.free.ranges();
            (FreeBefore::of(Ok(report.free)), are_all.then_some(ranges))
        }
        Err(error) => (FreeBefore::of(Err(error.to_string())), None),
    }
}

/// Free space that remains after the fragments of a file, in the ranges in which they lie.
pub fn left_by(map: &Map, ranges: Option<&[Range<u64>]>) -> Option<Vec<Option<u64>>> {
    let (_, fragments) = fragments(map.rows.as_deref()?);
    Some(left_after(&fragments, ranges?))
}
