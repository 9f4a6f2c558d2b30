//! Reads extents in the order of the file: finds holes, cuts at the end, counts.

use crate::{Extent, Figures, Groups};

/// A line of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Row {
    /// A part with a record in the file system.
    Extent(Extent),
    /// A part without a record, which reads as zeros.
    Hole {
        /// Offset in the file, in bytes.
        offset: u64,
        /// Length in bytes.
        length: u64,
    },
}

impl Row {
    /// Offset in the file, in bytes.
    pub fn offset(&self) -> u64 {
        match self {
            Row::Extent(extent) => extent.offset,
            Row::Hole { offset, .. } => *offset,
        }
    }

    /// Length in the file, in bytes.
    pub fn length(&self) -> u64 {
        match self {
            Row::Extent(extent) => extent.length,
            Row::Hole { length, .. } => *length,
        }
    }
}

/// The rows up to the end of a file, and the extents after it.
pub type FileMap = (Vec<Row>, Vec<Extent>);

/// A map under construction.
#[derive(Debug)]
pub struct Scan {
    /// The end of the file's last block.
    end: u64,
    /// Expected offset of the next extent.
    at: u64,
    groups: Option<Groups>,
    figures: Figures,
    rows: Option<FileMap>,
}

impl Scan {
    /// A scan of a file of `size` bytes in blocks of `block_bytes`. Extents after its last block are beyond its end.
    /// `keep_rows`: whether to keep the map, and not only its figures.
    pub fn new(size: u64, block_bytes: u64, groups: Option<Groups>, keep_rows: bool) -> Scan {
        let end = size.checked_next_multiple_of(block_bytes.max(1)).unwrap_or(size);
        let rows = keep_rows.then(Default::default);
        Scan { end, at: 0, groups, figures: Figures::default(), rows }
    }

    /// Adds the next extent. Parts before the end of its predecessor, as in a file that changes meanwhile, are skipped.
    pub fn add(&mut self, extent: Extent) {
        let (_, Some(extent)) = extent.cut(self.at) else { return };
        if extent.length == 0 {
            return;
        }
        self.hole_until(extent.offset);
        self.at = extent.end();
        let (inside, beyond) = extent.cut(self.end);
        if let Some(inside) = inside {
            self.figures.add(&inside, self.groups);
            self.keep(Row::Extent(inside));
        }
        if let Some(beyond) = beyond {
            self.figures.add_beyond(&beyond);
            if let Some((_, kept)) = &mut self.rows {
                kept.push(beyond);
            }
        }
    }

    fn hole_until(&mut self, place: u64) {
        let (offset, length) = (self.at, place.min(self.end).saturating_sub(self.at));
        if length > 0 {
            self.figures.add_hole(length);
            self.keep(Row::Hole { offset, length });
        }
    }

    fn keep(&mut self, row: Row) {
        if let Some((rows, _)) = &mut self.rows {
            rows.push(row);
        }
    }

    /// The figures, and if kept the rows up to the end of the file and the extents after it.
    pub fn finish(mut self) -> (Figures, Option<FileMap>) {
        self.hole_until(self.end);
        (self.figures, self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;
    use proptest::prelude::*;

    const UNWRITTEN: u32 = 0x800;
    const ENCODED: u32 = 0x8;

    fn scan(size: u64, extents: &[(u64, u64, u64, u32)]) -> (Figures, Vec<Row>, Vec<Extent>) {
        let mut scan = Scan::new(size, 4096, None, true);
        for (offset, physical, length, flags) in extents {
            scan.add(Extent::new(*offset, *physical, *length, *flags));
        }
        let (figures, rows) = scan.finish();
        let (rows, beyond) = rows.unwrap();
        (figures, rows, beyond)
    }

    #[test]
    fn preallocation_beyond_end_of_file_is_no_data() {
        let (figures, rows, beyond) =
            scan(10_000, &[(0, 1 << 20, 8192, 0), (8192, (1 << 20) + 8192, 1 << 16, UNWRITTEN)]);
        assert_eq!((rows.len(), beyond.len()), (2, 1));
        assert_eq!(beyond[0].offset, 12_288);
        assert_eq!(beyond[0].address, Some((1 << 20) + 12_288));
        assert_eq!((figures.bytes_of(Kind::Written), figures.bytes_of(Kind::Unwritten)), (8192, 4096));
        assert_eq!(figures.beyond_bytes, (1 << 16) - 4096);
        assert_eq!((figures.records, figures.fragments), (2, 1));
    }

    #[test]
    fn holes_are_found_before_between_and_after() {
        let (figures, rows, _) = scan(1 << 20, &[(4096, 1 << 20, 4096, 0), (65_536, 2 << 20, 4096, 0)]);
        let holes: Vec<u64> =
            rows.iter().filter(|row| matches!(row, Row::Hole { .. })).map(Row::offset).collect();
        assert_eq!(holes, [0, 8192, 69_632]);
        assert_eq!((figures.holes, figures.hole_bytes), (3, (1 << 20) - 8192));
    }

    #[test]
    fn a_file_of_holes_and_an_empty_one() {
        let (figures, rows, _) = scan(8192, &[]);
        assert_eq!((rows.len(), figures.hole_bytes, figures.records, figures.fragments), (1, 8192, 0, 0));
        assert!(scan(0, &[]).1.is_empty());
    }

    /// Three mapping records, one fragment; then a backward step, and encoded ones, which are no fragments.
    #[test]
    fn counts_records_and_fragments() {
        let block = |file: u64, disk: u64, flags| (file * 4096, (100 + disk) * 4096, 4096, flags);
        let (figures, ..) = scan(3 * 4096, &[block(0, 0, UNWRITTEN), block(1, 1, 0), block(2, 2, UNWRITTEN)]);
        assert_eq!((figures.records, figures.fragments, figures.gap_bytes), (3, 1, 0));
        let (figures, ..) = scan(3 * 4096, &[block(0, 10, 0), block(1, 0, 0), block(2, 2, 0)]);
        assert_eq!((figures.records, figures.fragments), (3, 3));
        assert_eq!((figures.backward_jumps, figures.gap_bytes), (1, (11 + 1) * 4096));
        let (figures, ..) = scan(3 * 4096, &[block(0, 10, ENCODED), block(1, 0, 0), block(2, 2, ENCODED)]);
        assert_eq!((figures.records, figures.fragments, figures.gap_bytes), (3, 1, 0));
        assert_eq!(
            (figures.encoded_fragments, figures.least_fragments()),
            (2, 3),
            "the second lies before the first"
        );
        // At most as far after the first as that is long in the file: it may follow it.
        let (figures, ..) = scan(2 * 4096, &[block(0, 0, ENCODED), block(1, 1, ENCODED)]);
        assert_eq!((figures.encoded_fragments, figures.least_fragments()), (1, 1));
        let (figures, ..) = scan(2 * 4096, &[block(0, 0, ENCODED), block(1, 2, ENCODED)]);
        assert_eq!(figures.encoded_fragments, 2);
        // The gap on the disk equals the gap in the file.
        let (figures, ..) = scan(3 * 4096, &[block(0, 0, 0), block(2, 2, 0)]);
        assert_eq!((figures.fragments, figures.gap_bytes), (1, 4096));
    }

    fn extents() -> impl Strategy<Value = Vec<(u64, u64, u64, u32)>> {
        let flags = prop::sample::select(vec![0, 0x800, 0x7, 0x200, 0x8, 0x2000, 0x2808, 0x2]);
        let extent = (0u64..64, 0u64..1000, 0u64..32, flags);
        prop::collection::vec(extent, 0..40).prop_map(|mut all| {
            all.sort_by_key(|extent| extent.0);
            all.into_iter().map(|(o, p, l, f)| (o * 4096, p * 4096, l * 4096, f)).collect()
        })
    }

    proptest! {
        /// Rows cover the file without gap or overlap, whatever the file system reports, and the counts are those of
        /// the rows.
        #[test]
        fn rows_cover_the_file_and_match_the_counts(size in 0u64..500_000, extents in extents()) {
            let (figures, rows, beyond) = scan(size, &extents);
            let end = size.next_multiple_of(4096);
            let mut at = 0;
            for row in &rows {
                prop_assert_eq!(row.offset(), at);
                prop_assert!(row.length() > 0);
                at += row.length();
            }
            prop_assert_eq!(at, end);
            prop_assert!(beyond.iter().all(|extent| extent.offset >= end));
            prop_assert!(beyond.windows(2).all(|pair| pair[0].end() <= pair[1].offset));
            let kinds: u64 = Kind::ALL.iter().map(|kind| figures.bytes_of(*kind)).sum();
            prop_assert_eq!(kinds + figures.hole_bytes, end);
            prop_assert_eq!(figures.beyond_bytes, beyond.iter().map(|extent| extent.length).sum::<u64>());
            let records = rows.iter().filter(|row| matches!(row, Row::Extent(_))).count() as u64;
            prop_assert_eq!(figures.records, records);
            prop_assert_eq!(figures.holes, rows.len() as u64 - records);
            prop_assert!(figures.fragments <= records);
            prop_assert!(figures.backward_jumps < figures.fragments.max(1));
            prop_assert_eq!(figures.sizes.classes().iter().map(|class| class.extents).sum::<u64>(), records);
            // Without rows the figures are the same.
            let mut lean = Scan::new(size, 4096, None, false);
            extents.iter().for_each(|(o, p, l, f)| lean.add(Extent::new(*o, *p, *l, *f)));
            prop_assert_eq!(lean.finish(), (figures, None));
        }
    }
}
