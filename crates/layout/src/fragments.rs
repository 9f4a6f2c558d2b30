//! Groups extents of a file into fragments.

use crate::{Extent, Row};

/// A contiguous part of a file on the disk: extents of which each continues the one before it ([`Extent::continues`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragment {
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Address in the address space of the file system.
    pub address: u64,
    /// Bytes in its extents.
    pub bytes: u64,
}

/// The extents of a file, each with the number of its fragment, or `None` without a place; and the fragments, in the order of
/// the file.
pub fn fragments(rows: &[Row]) -> (Vec<(Extent, Option<usize>)>, Vec<Fragment>) {
    let (mut extents, mut fragments): (Vec<(Extent, Option<usize>)>, Vec<Fragment>) =
        (Vec::new(), Vec::new());
    let mut last: Option<Extent> = None;
    for row in rows {
        let Row::Extent(extent) = *row else { continue };
        let Some(place) = extent.place() else {
            extents.push((extent, None));
            continue;
        };
        if last.is_none_or(|last| extent.continues(&last) != Some(true)) {
            fragments.push(Fragment { offset: extent.offset, address: place.start, bytes: 0 });
        }
        last = Some(extent);
        let number = fragments.len() - 1;
        fragments[number].bytes += extent.length;
        extents.push((extent, Some(number)));
    }
    (extents, fragments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scan;
    use proptest::prelude::*;

    proptest! {
        /// Blocks of a file at arbitrary addresses, some without one: as many fragments as the figures count, and each byte in one.
        #[test]
        fn fragments_match_the_figures(blocks in proptest::collection::vec((0u64..3, 1u64..6, 0u32..9), 0..60)) {
            let mut scan = Scan::new(1 << 30, 4096, None, true);
            let (mut offset, mut address) = (0, 1 << 20);
            for (hole, gap, kind) in blocks {
                offset += hole * 4096;
                // Directly after the previous one, as far after it as in the file, or elsewhere.
                address += [0, hole, 7 * gap][gap as usize % 3] * 4096;
                scan.add(Extent::new(offset, address, 4096, if kind == 0 { 0x8 } else { 0 }));
                (offset, address) = (offset + 4096, address + 4096);
            }
            let (figures, kept) = scan.finish();
            let rows = kept.unwrap().0;
            let (extents, fragments) = fragments(&rows);
            prop_assert_eq!(fragments.len() as u64, figures.fragments);
            let placed = extents.iter().filter(|(_, fragment)| fragment.is_some());
            let bytes: u64 = placed.map(|(extent, _)| extent.length).sum();
            prop_assert_eq!(bytes, fragments.iter().map(|fragment| fragment.bytes).sum::<u64>());
            prop_assert_eq!(extents.len() as u64, figures.records);
        }
    }
}
