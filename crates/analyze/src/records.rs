//! Source of records for the analysis: parts that can be read concurrently.

use crate::{DISPLACEMENT, Partial};
use iosonar_archive::{Fields, Record};
use std::io;

/// Records that can be read repeatedly, in parts: an archive, a file, or a list in memory.
pub trait Records: Sync {
    /// Parts that may be read concurrently. Together they hold every record once; later parts were completed later, except
    /// for requests that overtook others.
    fn parts(&self) -> usize {
        1
    }

    /// Passes the records of a part to `f`, piece by piece, each time the same ones in the same order. Fields that are not
    /// `wanted` may have any value.
    fn read_part(&self, part: usize, wanted: Fields, f: &mut dyn FnMut(&[Record])) -> io::Result<()>;

    /// Number of records before a part; `None` if unknown before reading.
    fn records_before(&self, part: usize) -> Option<u64> {
        (part == 0).then_some(0)
    }

    /// Approximate time of the last event, if known before reading. It may be wrong.
    fn end_hint_ns(&self) -> Option<u64> {
        None
    }

    /// End of the recording, which may be later than its last request; `None` if unknown, or not recorded.
    fn recorded_until_ns(&self) -> Option<u64> {
        None
    }

    /// Number of places by which records may be displaced from the order of their due times; those displaced further are
    /// counted as late.
    fn displacement(&self) -> usize {
        DISPLACEMENT
    }

    /// Counts of all records of a run with this number of targets that were made elsewhere; `None` if they are counted here. The records
    /// may stay elsewhere, too.
    ///
    /// # Errors
    /// They cannot be read.
    fn counts_elsewhere(&self, _targets: usize) -> io::Result<Option<Partial>> {
        Ok(None)
    }

    /// Passes every record to `f`, part after part.
    fn for_each(&self, f: &mut dyn FnMut(&Record)) -> io::Result<()> {
        for part in 0..self.parts() {
            self.read_part(part, Fields::ALL, &mut |piece| piece.iter().for_each(&mut *f))?;
        }
        Ok(())
    }
}

/// Records of a part of a list in memory.
const PIECE: usize = 1 << 16;

impl Records for [Record] {
    fn parts(&self) -> usize {
        self.len().div_ceil(PIECE).max(1)
    }

    fn read_part(&self, part: usize, _: Fields, f: &mut dyn FnMut(&[Record])) -> io::Result<()> {
        f(self.chunks(PIECE).nth(part).unwrap_or_default());
        Ok(())
    }

    fn records_before(&self, part: usize) -> Option<u64> {
        Some((part * PIECE) as u64)
    }

    fn end_hint_ns(&self) -> Option<u64> {
        self.iter().map(|r| r.due.0.max(r.completed.map_or(0, |t| t.0))).max()
    }
}

impl Records for Vec<Record> {
    fn parts(&self) -> usize {
        self.as_slice().parts()
    }

    fn read_part(&self, part: usize, wanted: Fields, f: &mut dyn FnMut(&[Record])) -> io::Result<()> {
        self.as_slice().read_part(part, wanted, f)
    }

    fn records_before(&self, part: usize) -> Option<u64> {
        self.as_slice().records_before(part)
    }

    fn end_hint_ns(&self) -> Option<u64> {
        self.as_slice().end_hint_ns()
    }
}
