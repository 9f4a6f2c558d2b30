//! Ranges where more than one version is legal.
//!
//! Such a range has a *base*, the version of each sector that the table holds, and a few *candidates*, the writes since.
//! The base ended before each candidate began. A version that newer reads must not see any more stays for as long as a
//! read in flight may see it: `gone_since` says which reads that are.

use crate::{Atomic, Sectors, Tag};
use std::collections::BTreeMap;

/// Candidates of one range.
pub(super) const CANDIDATES: usize = 8;
/// Maximum number of ranges.
pub(super) const RANGES: usize = 65_536;
/// A time that never comes.
pub(super) const NEVER: u64 = u64::MAX;
/// Memory for a range: itself, and its share of a tree whose nodes are at least half full.
pub(super) const RANGE_BYTES: u64 = 2 * (8 + size_of::<Entry>() as u64);

/// A write whose content may be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) tag: Tag,
    /// A read has found it.
    pub(super) seen: bool,
    /// Unit of the access method that wrote it.
    pub(super) atomic: Atomic,
    pub(super) begin: u64,
    /// [`NEVER`] while in flight.
    pub(super) end: u64,
    /// No read that begins after this may find it.
    pub(super) gone_since: u64,
}

impl Candidate {
    /// A write that is in flight, or has failed at `end`.
    pub(super) fn new(tag: Tag, begin: u64, end: u64) -> Candidate {
        Candidate { tag, seen: false, atomic: Atomic::Sector, begin, end, gone_since: NEVER }
    }

    /// The same candidate, by an access method of this unit.
    pub(super) fn by(self, atomic: Atomic) -> Candidate {
        Candidate { atomic, ..self }
    }

    /// Whether a read that began after both had ended and found `seen` proves that this one is there no more. A read that began
    /// earlier proves it only for writes that ended before `seen` began.
    fn is_refuted(&self, seen: &Candidate, read_begin: u64) -> bool {
        let both_ended = self.end < read_begin && seen.end < read_begin;
        self.end < seen.begin || (both_ended && seen.end >= self.begin)
    }
}

/// The versions of a range: bit 0 of a mask is the base, bit n + 1 candidate n.
pub(super) type Mask = u16;
pub(super) const BASE: Mask = 1;

/// Legal contents of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Uncertain {
    base: Candidate,
    /// A candidate was acknowledged.
    acknowledged: bool,
    /// Two candidates were acknowledged.
    pub(super) rewritten: bool,
    count: u8,
    list: [Candidate; CANDIDATES],
}

/// Result of a range that leaves the side table.
pub(super) enum Outcome {
    /// The base is the only version: the table is right.
    Base,
    /// This one is the only version.
    Only(Candidate),
}

impl Uncertain {
    /// The base and one write. The base includes writes that are in flight, if it is `unfinished`.
    pub(super) fn new(first: Candidate, unfinished: bool) -> Uncertain {
        // The table holds the base's tag, which is not the same for each sector.
        let base = Candidate::new(Tag::INITIAL, 0, if unfinished { NEVER } else { 0 });
        Uncertain { base, acknowledged: false, rewritten: false, count: 1, list: [first; CANDIDATES] }
    }

    pub(super) fn candidates(&self) -> &[Candidate] {
        &self.list[..self.count as usize]
    }

    fn candidates_mut(&mut self) -> &mut [Candidate] {
        &mut self.list[..self.count as usize]
    }

    /// Whether a write is one of the candidates.
    pub(super) fn contains(&self, begin: u64) -> bool {
        self.candidates().iter().any(|candidate| candidate.begin == begin)
    }

    /// Adds a candidate, if there is room.
    #[must_use]
    pub(super) fn push(&mut self, candidate: Candidate) -> bool {
        let Some(free) = self.list.get_mut(self.count as usize) else { return false };
        *free = candidate;
        self.count += 1;
        true
    }

    /// Gives up: all versions become part of the base, which is to become unknown in the table. A write in flight may be
    /// among them, so only one that begins after [`base_ended`](Self::base_ended) supersedes the base.
    pub(super) fn give_up(&mut self) {
        self.base = Candidate::new(Tag::UNKNOWN, 0, NEVER);
        self.count = 0;
    }

    /// Notes that the last write that is part of the base has ended.
    pub(super) fn base_ended(&mut self, now: u64) {
        self.base.end = now;
    }

    /// Ends a candidate. An acknowledged one supersedes writes that ended before it began.
    pub(super) fn end_write(&mut self, begin: u64, now: u64, acknowledged: bool) {
        if acknowledged {
            self.rewritten |= self.acknowledged;
            self.acknowledged = true;
        }
        let count = self.count as usize;
        for candidate in self.list[..count].iter_mut().chain([&mut self.base]) {
            if candidate.begin == begin {
                candidate.end = now;
            } else if acknowledged && candidate.end < begin {
                candidate.gone_since = candidate.gone_since.min(now);
            }
        }
    }

    /// The versions that a read may find that began at `read_begin` and ends now.
    pub(super) fn legal(&self, read_begin: u64) -> Mask {
        let legal = |mask, (n, candidate): (usize, &Candidate)| {
            mask | Mask::from(candidate.gone_since > read_begin) << (n + 1)
        };
        let base = Mask::from(self.base.gone_since > read_begin);
        self.candidates().iter().enumerate().fold(base, legal)
    }

    /// Whether a sector may hold parts of several of the versions in `mask`, seen by a read of this unit that began at `read_begin`.
    pub(super) fn is_mixed(&self, mask: Mask, read_begin: u64, reader: Atomic) -> bool {
        let legal = self.candidates().iter().enumerate().filter(|(n, _)| mask & 2 << n != 0);
        legal
            .map(|(_, candidate)| candidate)
            .any(|write| write.atomic == Atomic::Byte || reader == Atomic::Byte && write.end >= read_begin)
    }

    /// The tags of the versions in `mask`, if the base has the tag `base`.
    pub(super) fn tags(&self, mask: Mask, base: Tag) -> impl Iterator<Item = (Mask, Tag)> {
        let candidates = self.candidates().iter().enumerate().map(|(n, c)| (2 << n, c.tag));
        [(BASE, base)].into_iter().chain(candidates).filter(move |(bit, _)| mask & bit != 0)
    }

    /// Notes that a read that began at `read_begin` and ends now has found one of the versions in `found`.
    pub(super) fn observe(&mut self, found: Mask, read_begin: u64, now: u64) {
        let before = *self;
        let version = |n: u32| if n == 0 { &before.base } else { &before.list[n as usize - 1] };
        let versions = || (0..=u32::from(before.count)).filter(|n| found & 1 << n != 0).map(version);
        if found >> 1 != 0 {
            let refuted = |c: &Candidate| versions().all(|seen| c.is_refuted(seen, read_begin));
            for (n, candidate) in self.candidates_mut().iter_mut().enumerate() {
                if found & 2 << n != 0 {
                    candidate.seen = true;
                } else if refuted(candidate) {
                    candidate.gone_since = candidate.gone_since.min(now);
                }
            }
            if found & BASE == 0 && refuted(&before.base) {
                self.base.gone_since = self.base.gone_since.min(now);
            }
        }
    }

    /// Drops versions that no read may find any more; `oldest_read` is when the oldest in flight began.
    pub(super) fn prune(&mut self, oldest_read: Option<u64>) {
        let oldest_read = oldest_read.unwrap_or(NEVER);
        let is_gone = |candidate: &Candidate| candidate.gone_since < oldest_read;
        if is_gone(&self.base) {
            // No read began before 0.
            self.base.gone_since = 0;
        }
        let mut kept = 0;
        for n in 0..self.count as usize {
            if !is_gone(&self.list[n]) {
                self.list[kept] = self.list[n];
                kept += 1;
            }
        }
        self.count = kept as u8;
    }

    /// Whether one version remains for all reads. There may be no version, if two reads at the same time have found different
    /// versions after all writes had ended: then one of them was wrong, and the range stays. A base that is unknown may leave
    /// before its writes have ended, see [`Uncertain::new`].
    pub(super) fn outcome(&self) -> Option<Outcome> {
        match self.candidates() {
            [] if self.base.gone_since == NEVER => Some(Outcome::Base),
            [only] if self.base.gone_since == 0 && only.end != NEVER && only.gone_since == NEVER => {
                Some(Outcome::Only(*only))
            }
            _ => None,
        }
    }

    /// Whether two ranges are the same, and may be joined. Unused candidates do not count.
    fn equals(&self, other: &Uncertain) -> bool {
        let head = |u: &Uncertain| (u.base, u.acknowledged, u.rewritten);
        head(self) == head(other) && self.candidates() == other.candidates()
    }
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    end: u64,
    uncertain: Uncertain,
}

/// Disjoint ranges by their start.
#[derive(Debug)]
pub(super) struct Side {
    ranges: BTreeMap<u64, Entry>,
    limit: usize,
}

impl Side {
    pub(super) fn new(limit: usize) -> Side {
        Side { ranges: BTreeMap::new(), limit }
    }

    /// Memory in use.
    pub(super) fn bytes(&self) -> u64 {
        self.ranges.len() as u64 * RANGE_BYTES
    }

    /// The first range that shares a sector with `within`, whole.
    pub(super) fn next(&self, within: Sectors) -> Option<Sectors> {
        if self.ranges.is_empty() || within.count == 0 {
            return None;
        }
        let before = self.ranges.range(..=within.start).next_back();
        let before = before.filter(|(_, entry)| entry.end > within.start);
        let found = before.or_else(|| self.ranges.range(within.start..within.end()).next());
        found.map(|(&start, entry)| Sectors::between(start, entry.end))
    }

    /// `range` and all of each range that shares a sector with it; `None` if there is no such range.
    pub(super) fn reach(&self, range: Sectors) -> Option<Sectors> {
        let first = self.next(range)?;
        let (_, last) = self.ranges.range(..range.end()).next_back()?;
        Some(Sectors::between(first.start.min(range.start), last.end.max(range.end())))
    }

    /// The first part of `within` that is in one range, or in no range, and that range, whole.
    pub(super) fn first_part(&self, within: Sectors) -> Option<(Sectors, Option<Sectors>)> {
        if within.count == 0 {
            return None;
        }
        Some(match self.next(within) {
            Some(range) if range.start <= within.start => {
                (Sectors::between(within.start, range.end().min(within.end())), Some(range))
            }
            Some(range) => (Sectors::between(within.start, range.start), None),
            None => (within, None),
        })
    }

    /// The range that begins at `start`.
    pub(super) fn get(&self, start: u64) -> &Uncertain {
        &self.ranges[&start].uncertain
    }

    /// The range that begins at `start`.
    pub(super) fn get_mut(&mut self, start: u64) -> &mut Uncertain {
        &mut self.ranges.get_mut(&start).expect("a range of the table").uncertain
    }

    /// Adds a range that overlaps no other, unless there are too many. Half of the room is kept for cuts.
    #[must_use]
    pub(super) fn insert(&mut self, range: Sectors, uncertain: Uncertain) -> bool {
        let has_room = self.ranges.len() < self.limit / 2;
        if has_room {
            self.ranges.insert(range.start, Entry { end: range.end(), uncertain });
        }
        has_room
    }

    pub(super) fn remove(&mut self, start: u64) {
        self.ranges.remove(&start);
    }

    /// Cuts ranges at both ends of `range`, unless there are too many.
    #[must_use]
    pub(super) fn isolate(&mut self, range: Sectors) -> bool {
        self.cut(range.start) && self.cut(range.end())
    }

    fn cut(&mut self, at: u64) -> bool {
        let has_room = self.ranges.len() < self.limit;
        let Some((_, entry)) = self.ranges.range_mut(..at).next_back() else { return true };
        if entry.end <= at {
            return true;
        }
        if has_room {
            let right = *entry;
            entry.end = at;
            self.ranges.insert(at, right);
        }
        has_room
    }

    /// Joins equal neighbours, in `range` and at its ends.
    pub(super) fn join(&mut self, range: Sectors) {
        let first = self.ranges.range(..range.start).next_back().map_or(range.start, |(&start, _)| start);
        let mut at = first;
        while at <= range.end() {
            let Some((&left, &entry)) = self.ranges.range(at..=range.end()).next() else { return };
            let right = self.ranges.get(&entry.end).copied();
            match right.filter(|right| right.uncertain.equals(&entry.uncertain)) {
                Some(right) => {
                    self.ranges.remove(&entry.end);
                    self.ranges.get_mut(&left).expect("just found").end = right.end;
                    at = left;
                }
                None => at = entry.end,
            }
        }
    }

    /// All ranges.
    pub(super) fn iter(&self) -> impl Iterator<Item = Sectors> {
        self.ranges.iter().map(|(&start, entry)| Sectors::between(start, entry.end))
    }
}
