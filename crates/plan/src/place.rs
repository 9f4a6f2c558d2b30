//! Where on a target a request really goes.
//!
//! A load was recorded on another device. Here its addresses are brought onto the target: wrapped where they
//! lie beyond its end, moved down where they would cross it, rounded outward to its logical blocks. Each step
//! that changed something is reported, so that it can be marked and counted.

use crate::Extent;

/// Size and logical block size of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placement {
    size: u64,
    block: u64,
}

/// A target that cannot take requests at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlacementError {
    /// The logical block size is no power of two.
    #[error("logical block size {0} is no power of two of at least 1 byte")]
    Block(u64),
    /// Not even one block fits.
    #[error(
        "it holds {size} bytes, less than one block of {block}: use a larger target, or make the file longer first (in a \
         plan, at_end = \"extend\")"
    )]
    Empty {
        /// Size of the target in bytes.
        size: u64,
        /// Its logical block size in bytes.
        block: u64,
    },
}

/// Result of placing a requested extent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// Where it goes: inside the target, whole blocks.
    pub extent: Extent,
    /// Its address lay beyond the end and was taken modulo the size.
    pub wrapped: bool,
    /// It would have crossed the end and was moved down to end exactly there.
    pub at_border: bool,
    /// It was widened to whole logical blocks.
    pub rounded: bool,
}

impl Placement {
    /// For a target of `size` bytes whose I/O must be aligned to `block` bytes. Bytes after the last whole
    /// block are not used.
    pub fn new(size: u64, block: u64) -> Result<Placement, PlacementError> {
        if !block.is_power_of_two() {
            return Err(PlacementError::Block(block));
        }
        match size & !(block - 1) {
            0 => Err(PlacementError::Empty { size, block }),
            usable => Ok(Placement { size: usable, block }),
        }
    }

    /// Usable bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Logical block size in bytes.
    pub fn block(&self) -> u64 {
        self.block
    }

    /// Brings `extent` onto the target; `None` if it is larger than the whole target.
    ///
    /// Wrapping takes the *start* modulo the size only where the extent does not fit as it is (the rule of
    /// blkreplay), so a request that ends exactly at the end of the target stays where it is.
    pub fn place(&self, extent: Extent) -> Option<Placed> {
        let mut offset = extent.offset;
        let wrapped = extent.end() > self.size && offset >= self.size;
        if wrapped {
            offset %= self.size;
        }
        let at_border = offset + extent.length > self.size;
        if at_border {
            offset = self.size.checked_sub(extent.length)?;
        }
        let start = offset & !(self.block - 1);
        let end = (offset + extent.length).next_multiple_of(self.block);
        let rounded = start != offset || end != offset + extent.length;
        let extent = Extent { offset: start, length: end - start };
        (end <= self.size).then_some(Placed { extent, wrapped, at_border, rounded })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sectors(start: u64, count: u64) -> Extent {
        Extent::from_sectors(start, count).unwrap()
    }

    #[test]
    fn request_that_fits_is_not_moved() {
        let p = Placement::new(1000 * 512, 512).unwrap();
        let placed = p.place(sectors(992, 8)).unwrap();
        assert_eq!(
            placed,
            Placed { extent: sectors(992, 8), wrapped: false, at_border: false, rounded: false }
        );
    }

    #[test]
    fn wraps_beyond_the_end_and_shifts_at_the_border() {
        let p = Placement::new(1000 * 512, 512).unwrap();
        let placed = p.place(sectors(2100, 8)).unwrap();
        assert_eq!((placed.extent, placed.wrapped, placed.at_border), (sectors(100, 8), true, false));
        let placed = p.place(sectors(1998, 8)).unwrap();
        assert_eq!((placed.extent, placed.wrapped, placed.at_border), (sectors(992, 8), true, true));
        let placed = p.place(sectors(998, 8)).unwrap();
        assert_eq!((placed.extent, placed.wrapped, placed.at_border), (sectors(992, 8), false, true));
    }

    #[test]
    fn rounds_outward_to_larger_blocks() {
        let p = Placement::new(1 << 20, 4096).unwrap();
        let placed = p.place(sectors(2001, 8)).unwrap();
        assert_eq!((placed.extent, placed.rounded), (sectors(2000, 16), true));
        let placed = p.place(sectors(1001, 1)).unwrap();
        assert_eq!((placed.extent, placed.rounded), (sectors(1000, 8), true));
    }

    #[test]
    fn rejects_requests_larger_than_the_device() {
        assert_eq!(Placement::new(8 * 512, 512).unwrap().place(sectors(0, 9)), None);
        assert!(Placement::new(511, 512).is_err());
        assert!(Placement::new(4096, 1000).is_err());
    }

    proptest! {
        #[test]
        fn placed_extents_are_in_bounds_and_cover_whole_blocks(
            size in 1u64..1 << 40, shift in 9u32..13, sector in 0u64..1 << 53, count in 1u64..2048,
        ) {
            let Ok(p) = Placement::new(size, 1 << shift) else { return Ok(()) };
            if let Some(placed) = p.place(sectors(sector, count)) {
                prop_assert!(placed.extent.end() <= p.size());
                prop_assert!(placed.extent.offset.is_multiple_of(p.block()));
                prop_assert!(placed.extent.length.is_multiple_of(p.block()));
                prop_assert!(placed.extent.length >= count * 512);
            } else {
                prop_assert!((count * 512).next_multiple_of(p.block()) + p.block() > p.size());
            }
        }
    }
}
