//! How a sector differs from the expected one, and the marks that show whether a read transferred anything.

use crate::header::LENGTH;

/// How a sector differs from the expected one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damage {
    /// Number of differing bits.
    pub bits: u32,
    /// Number of differing bytes.
    pub bytes: u16,
    /// The first differing byte.
    pub first: u16,
    /// The last differing byte.
    pub last: u16,
}

/// Compares a sector with the expected one; `None` if they are equal.
pub fn damage(found: &[u8; LENGTH], expected: &[u8; LENGTH]) -> Option<Damage> {
    let mut damage: Option<Damage> = None;
    for (at, (found, expected)) in (0u16..).zip(found.iter().zip(expected)) {
        if found != expected {
            let damage = damage.get_or_insert(Damage { bits: 0, bytes: 0, first: at, last: at });
            damage.bits += (found ^ expected).count_ones();
            damage.bytes += 1;
            damage.last = at;
        }
    }
    damage
}

/// Where a sector that was torn inside changes from one version to another: the smallest `k` of which the sector has bytes `..k` of
/// `head` and bytes `k..` of `tail`. `None` if it is no such mix, or is one of the two.
pub fn torn_at(found: &[u8; LENGTH], head: &[u8; LENGTH], tail: &[u8; LENGTH]) -> Option<u16> {
    let of_head = found.iter().zip(head).position(|(a, b)| a != b)?;
    let from_tail = found.iter().zip(tail).rposition(|(a, b)| a != b)? + 1;
    (from_tail <= of_head).then_some(from_tail as u16)
}

/// Marks a buffer before it is read into: the first eight bytes of each of its sectors, also of a last one that is shorter. A sector
/// that still has the mark after a read was not transferred.
pub fn poison(buffer: &mut [u8], poison: u64) {
    let (mark, (sectors, rest)) = (poison.to_le_bytes(), buffer.as_chunks_mut::<LENGTH>());
    for sector in sectors {
        sector[..8].copy_from_slice(&mark);
    }
    let short = rest.len().min(8);
    rest[..short].copy_from_slice(&mark[..short]);
}

/// Whether a sector, or the rest of a buffer, still has the mark of [`poison`].
#[inline]
pub fn is_poisoned(sector: &[u8], poison: u64) -> bool {
    sector.iter().zip(poison.to_le_bytes()).all(|(found, mark)| *found == mark)
}
