//! Finds the unreadable blocks of areas that could not be read as a whole, with few reads.
//!
//! Each edge between readable and unreadable blocks is exact. Among unreadable blocks the steps grow: after each one that is tried,
//! an eighth of the unreadable blocks before it is skipped, 1 MiB at most. Blocks between two unreadable ones count as unreadable;
//! the untried ones among them are counted. So a readable part that is shorter than a step may be taken for unreadable, and no
//! unreadable block for readable.

use super::reads::PIECE;
use iosonar_verify::Sectors;

/// Reads that may fail while the areas of one target are narrowed down: limits the delay by a device that is slow to fail.
pub(super) const MOST_FAILED: u32 = 4096;
/// Divisor of the number of preceding unreadable blocks: this share is skipped after a block.
const SKIPPED: u64 = 8;

/// Reads the blocks of an area.
pub(super) trait Area {
    /// Reads sectors and checks them; returns whether they could be read.
    fn check(&mut self, sectors: Sectors) -> bool;
    /// Whether sectors can be read. They are not checked.
    fn is_readable(&mut self, sectors: Sectors) -> bool;
    /// Notes unreadable sectors, `untried` of them untried.
    fn note_unreadable(&mut self, sectors: Sectors, untried: u64);
    /// Whether the scan was stopped.
    fn is_stopped(&mut self) -> bool;
}

/// Narrows areas down to logical blocks of `block` sectors.
#[derive(Debug)]
pub(super) struct Narrow {
    block: u64,
    /// Reads that may still fail.
    left: u32,
}

impl Narrow {
    pub(super) fn new(block: u64) -> Narrow {
        Narrow { block, left: MOST_FAILED }
    }

    /// Reads and checks the readable part of an area of whole blocks, and notes the rest.
    pub(super) fn narrow(&mut self, whole: Sectors, area: &mut impl Area) {
        let (mut at, mut step) = (whole.start, self.block);
        // Somewhere before this there is a block that cannot be read.
        let mut bad_before: Option<u64> = None;
        while at < whole.end() {
            if self.is_over(area) {
                let rest = Sectors::between(at, whole.end());
                return area.note_unreadable(rest, rest.count);
            }
            let most = bad_before.map_or(step, |end| ((end - at) / 2).next_multiple_of(self.block));
            let part = Sectors { start: at, count: most.max(self.block).min(whole.end() - at) };
            if area.check(part) {
                at = part.end();
                bad_before = bad_before.filter(|end| *end > at);
                step = (step * 2).min(PIECE);
                continue;
            }
            self.left -= 1;
            if part.count > self.block {
                bad_before = Some(part.end());
                continue;
            }
            at = self.skip(part, whole, area);
            (bad_before, step) = (None, self.block);
        }
    }

    fn is_over(&self, area: &mut impl Area) -> bool {
        self.left == 0 || area.is_stopped()
    }

    /// Finds the end of the unreadable blocks that begin with `first`, and notes them.
    fn skip(&mut self, first: Sectors, whole: Sectors, area: &mut impl Area) -> u64 {
        // The last block of an area may be cut.
        let last_block = whole.start + (whole.count - 1) / self.block * self.block;
        let block = |start: u64| Sectors { start, count: self.block.min(whole.end() - start) };
        // The last block that is known to be unreadable, and how many were tried.
        let (mut last, mut tried) = (first.start, 1);
        let end = last_block + self.block;
        let mut readable = end;
        while last + self.block < readable {
            if self.left == 0 || area.is_stopped() {
                last = readable - self.block;
                break;
            }
            let before = last + self.block - first.start;
            let next = match readable < end {
                // Between the two is an edge.
                true => last + ((readable - last) / 2 / self.block * self.block).max(self.block),
                false => {
                    let step = (before / SKIPPED).min(PIECE) / self.block * self.block;
                    (last + step.max(self.block)).min(last_block)
                }
            };
            if area.is_readable(block(next)) {
                readable = next;
            } else {
                (last, tried) = (next, tried + 1);
                self.left -= 1;
            }
        }
        let unreadable = Sectors::between(first.start, block(last).end());
        area.note_unreadable(unreadable, unreadable.count.saturating_sub(tried * self.block));
        unreadable.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An area with unreadable blocks of 8 sectors.
    #[derive(Default)]
    struct Fake {
        bad: Vec<Sectors>,
        checked: Vec<Sectors>,
        unreadable: Vec<Sectors>,
        untried: u64,
        reads: u32,
        stops_after: Option<u32>,
    }

    impl Fake {
        fn of(bad: &[(u64, u64)]) -> Fake {
            Fake {
                bad: bad.iter().map(|(start, end)| Sectors::between(*start, *end)).collect(),
                ..Fake::default()
            }
        }

        fn can_read(&mut self, sectors: Sectors) -> bool {
            assert!(sectors.count > 0 && sectors.start.is_multiple_of(8) && sectors.count.is_multiple_of(8));
            assert!(sectors.count <= PIECE);
            self.reads += 1;
            !self.bad.iter().any(|bad| bad.overlaps(sectors))
        }
    }

    impl Area for Fake {
        fn check(&mut self, sectors: Sectors) -> bool {
            let is_readable = self.can_read(sectors);
            self.checked.extend(is_readable.then_some(sectors));
            is_readable
        }
        fn is_readable(&mut self, sectors: Sectors) -> bool {
            self.can_read(sectors)
        }
        fn note_unreadable(&mut self, sectors: Sectors, untried: u64) {
            self.unreadable.push(sectors);
            self.untried += untried;
        }
        fn is_stopped(&mut self) -> bool {
            self.stops_after.is_some_and(|most| self.reads >= most)
        }
    }

    /// Everything is checked or noted, once, and nothing bad was read.
    fn narrow(area: &mut Fake, whole: Sectors) {
        Narrow::new(8).narrow(whole, area);
        let mut all = [&area.checked[..], &area.unreadable].concat();
        all.sort_by_key(|part| part.start);
        let end = all.iter().fold(whole.start, |at, part| {
            assert_eq!(part.start, at, "{all:?}");
            part.end()
        });
        assert_eq!(end, whole.end());
        for bad in &area.bad {
            assert!(area.checked.iter().all(|part| !part.overlaps(*bad)));
        }
    }

    #[test]
    fn finds_edges_exact_to_the_block() {
        let whole = Sectors::new(1 << 20, 4 * PIECE);
        for (from, until) in
            [(0, 8), (8, 16), (800, 1600), (8, 4 * PIECE), (PIECE - 8, PIECE), (4 * PIECE - 8, 4 * PIECE)]
        {
            let bad = (whole.start + from, whole.start + until);
            let mut area = Fake::of(&[bad]);
            narrow(&mut area, whole);
            assert_eq!(area.unreadable, [Sectors::between(bad.0, bad.1)]);
            assert!(area.reads < 150, "{}", area.reads);
        }
    }

    #[test]
    fn finds_all_isolated_bad_blocks() {
        let whole = Sectors::new(0, PIECE);
        let bad: Vec<(u64, u64)> =
            (0..16).map(|n| (n * 128 + 8 * (n % 5), n * 128 + 8 * (n % 5) + 8)).collect();
        let mut area = Fake::of(&bad);
        narrow(&mut area, whole);
        assert_eq!(area.unreadable, area.bad);
        assert_eq!(area.untried, 0);
    }

    #[test]
    fn large_unreadable_area_takes_few_reads() {
        let whole = Sectors::new(0, 64 * PIECE);
        let mut area = Fake::of(&[(0, 64 * PIECE)]);
        narrow(&mut area, whole);
        assert_eq!(area.unreadable, [whole]);
        assert!(
            area.reads < 200 && area.untried == whole.count - 8 * u64::from(area.reads),
            "{}",
            area.reads
        );
    }

    #[test]
    fn checks_readable_parts_longer_than_a_step() {
        let whole = Sectors::new(0, 2 * PIECE);
        let mut area = Fake::of(&[(0, 800), (1000, 2 * PIECE)]);
        narrow(&mut area, whole);
        assert_eq!(area.unreadable, area.bad);
        assert_eq!(area.checked.iter().map(|part| part.count).sum::<u64>(), 200);
    }

    #[test]
    fn untried_sectors_count_as_unreadable() {
        let whole = Sectors::new(0, 64 * PIECE);
        let every_second: Vec<(u64, u64)> = (0..whole.count / 16).map(|n| (n * 16, n * 16 + 8)).collect();
        let mut area = Fake::of(&every_second);
        narrow(&mut area, whole);
        assert!(area.reads < 4 * MOST_FAILED && area.untried > 0);
        let mut area = Fake { stops_after: Some(20), ..Fake::of(&[(0, 64 * PIECE)]) };
        narrow(&mut area, whole);
        assert_eq!((area.reads, area.unreadable.len()), (20, 1));
    }
}
