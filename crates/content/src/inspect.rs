//! Inspection of sectors that were read.

use crate::damage::{Damage, damage};
use crate::header::{Form, LENGTH, SectorHeader, checksum_of, masked, seed_of};
use crate::noise::{Share, Successive};
use crate::recover;
use iosonar_plan::Fill;

/// Result of inspecting a sector that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sector {
    /// Exactly as a run wrote it.
    Intact(SectorHeader),
    /// A run wrote it, and it changed afterwards.
    Damaged {
        /// Its identity. Its index and length are sure only where `damage` is not in the last eight bytes of the header.
        header: SectorHeader,
        /// How it differs from the content that the header implies.
        damage: Damage,
    },
    /// All bits are 0.
    Zeros,
    /// All bits are 1.
    Ones,
    /// The read did not change the mark of [`crate::poison`].
    Poison,
    /// Anything else: foreign data, or a sector with a header that is too damaged to be read.
    NoHeader,
}

/// The header of a sector if every byte of it is as implied by that header with this fill; of version 1, if its checksum is right.
///
/// This is the check of each sector that is read, so it must cost little. It compares the body with the
/// random pattern and computes no checksum over data, but of sectors of version 1, which no run writes any more.
#[inline]
pub fn intact(sector: &[u8; LENGTH], fill: Fill) -> Option<SectorHeader> {
    let share = Share::of(fill);
    let seed = seed_of(sector);
    if (seed != 0) != share.is_masked() {
        return None;
    }
    let plain = masked(sector, seed);
    if plain[0] == Form::One.magic() {
        return SectorHeader::decode(sector).ok();
    }
    if plain[0] != Form::Two.magic() {
        return None;
    }
    let header = SectorHeader::from_plain(&plain, Form::Two)?;
    let is_intact = (seed == 0 || seed == header.seed())
        && share.is_body(sector, header.sector, seed)
        && share.checksum(&plain, header.sector, seed) == checksum_of(&plain);
    is_intact.then_some(header)
}

/// The same for each sector of a read, in order: `see` gets its index and its header. Sectors that follow one another in a request
/// cost less than with [`intact`].
pub fn intact_each(sectors: &[[u8; LENGTH]], fill: Fill, see: &mut dyn FnMut(usize, Option<SectorHeader>)) {
    let share = Share::of(fill);
    let mut request = None;
    for (index, sector) in sectors.iter().enumerate() {
        let goes_on = |(successive, first): &(Successive<'_>, usize)| {
            successive.is_next(sector, (index - first) as u64)
        };
        let mut header = request.as_ref().and_then(goes_on);
        if header.is_none() {
            header = intact(sector, fill);
            request = header.map(|header| (share.successive(&header), index));
        }
        see(index, header);
    }
}

/// Classifies a sector. `fill` is that of the run; sectors of other fills and of version 1 are recognised, too. `poison` is the
/// mark that [`crate::poison`] put into the buffer before the read.
///
/// This takes longer than [`intact`] and is meant for sectors that fail it.
pub fn inspect(sector: &[u8; LENGTH], fill: Fill, poison: u64) -> Sector {
    if let Some(header) = intact(sector, fill).or_else(|| SectorHeader::decode(sector).ok()) {
        return Sector::Intact(header);
    }
    if sector.iter().all(|byte| *byte == 0) {
        return Sector::Zeros;
    }
    if sector.iter().all(|byte| *byte == 0xff) {
        return Sector::Ones;
    }
    if seed_of(sector) == poison {
        return Sector::Poison;
    }
    match recover::recover(sector, fill) {
        Some((header, expected)) => match damage(sector, &expected) {
            Some(damage) => Sector::Damaged { header, damage },
            None => Sector::Intact(header),
        },
        None => Sector::NoHeader,
    }
}
