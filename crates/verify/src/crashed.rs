//! Possible content of a device after a crash.
//!
//! **Durable** is an acknowledged write whose data had to be on stable storage: by force unit access, or by a flush that was
//! submitted after its acknowledgement and acknowledged itself. The caller decides which writes are.
//!
//! **Rule.** With d, the durable write of a sector that was submitted last: the sector may hold each submitted write that had not
//! ended before d was submitted, and its content from before the run only if there is no d. A write that is not durable may be
//! there or not, in any order.
//!
//! **Tearing.** A write may be there in part, but each aligned unit that it covers (a logical block, or the device's atomic unit)
//! holds it wholly or not at all. A later write to a part of the unit may lie over it.
//!
//! An access method that moves single bytes ([`Atomic::Byte`]) has no such unit: where one of its writes was in flight at the crash, or
//! together with another, a sector may hold parts of several legal versions.

use crate::expected::Legal;
use crate::{Atomic, Sectors, Tag};
use iosonar_archive::{CrashFacts, Survival};
use iosonar_plan::Nanos;

/// Sectors of a chunk, for which writes are listed: 64 KiB.
const CHUNK: u64 = 128;
/// Largest unit in sectors: one that reached over two chunks would be read in parts.
pub const MOST_UNIT: u64 = CHUNK;

/// A write of the run, as far as a crash matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrashWrite {
    /// Its range on the device.
    pub range: Sectors,
    /// Tag of its content.
    pub tag: Tag,
    /// When it was submitted.
    pub submitted: Nanos,
    /// Completion time; `None` if in flight.
    pub ended: Option<Nanos>,
    /// It succeeded in full.
    pub is_acknowledged: bool,
    /// It, or a later write over it, must be there.
    pub is_durable: bool,
    /// Unit of the access method that wrote it.
    pub atomic: Atomic,
    /// Its fate is not known by sectors: a buffer of the program held it, which ends anywhere.
    pub may_be_cut: bool,
}

impl CrashWrite {
    /// Whether it had ended before `other` was submitted.
    fn precedes(&self, other: &CrashWrite) -> bool {
        self.ended.is_some_and(|ended| ended < other.submitted)
    }

    /// Whether the crash may have left any part of it, also of a sector.
    fn is_in_parts(&self) -> bool {
        let is_open = self.ended.is_none() || !self.is_acknowledged;
        !self.is_durable && (self.may_be_cut || self.atomic == Atomic::Byte && is_open)
    }

    fn covers(&self, range: Sectors) -> bool {
        self.range.start <= range.start && range.end() <= self.range.end()
    }
}

/// Sectors of a write, by the content found in them.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    own: u32,
    older: u32,
    newer: u32,
    /// Sectors with illegal content, though this was the last durable write.
    illegal: u32,
}

impl Tally {
    /// Whether nothing was read of the write.
    fn is_empty(&self) -> bool {
        self.own + self.older + self.newer + self.illegal == 0
    }
}

/// Content that a sector was found to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holder {
    /// Content that identifies no write.
    Unknown,
    /// Content from before the run.
    Initial,
    /// A write, by its number.
    Write(u32),
}

/// Possible content of a device after a crash, and the findings about each write.
#[derive(Debug)]
pub struct Crashed {
    /// Writes in the order of submission.
    writes: Vec<CrashWrite>,
    tallies: Vec<Tally>,
    /// Number of a chunk, and start of its writes in `members`; ascending.
    chunks: Vec<(u64, u32)>,
    /// Numbers of the writes of each chunk, in order.
    members: Vec<u32>,
    /// Sectors that are written wholly or not at all.
    unit: u64,
    is_counting: bool,
    /// Sectors that hold an unrecorded write.
    unrecorded: u64,
}

/// Bytes for each write, and for each chunk of each write.
const WRITE_BYTES: u64 = (size_of::<CrashWrite>() + size_of::<Tally>()) as u64;
const MEMBER_BYTES: u64 = 52;

/// Memory for a write of that many sectors, in bytes.
pub fn bytes_of_crash_write(range: Sectors) -> u64 {
    WRITE_BYTES + MEMBER_BYTES * (range.count / CHUNK + 2)
}

impl Crashed {
    /// A device that received `writes`, in any order. `unit` is the number of sectors that it writes wholly or not at all, a power
    /// of two up to [`MOST_UNIT`].
    pub fn new(mut writes: Vec<CrashWrite>, unit: u64) -> Crashed {
        writes.sort_by_key(|write| write.submitted);
        let mut pairs: Vec<(u64, u32)> = Vec::new();
        for (number, write) in (0..).zip(&writes).filter(|(_, write)| write.range.count > 0) {
            let chunks = write.range.start / CHUNK..=(write.range.end() - 1) / CHUNK;
            pairs.extend(chunks.map(|chunk| (chunk, number)));
        }
        pairs.sort_unstable();
        let members = pairs.iter().map(|(_, number)| *number).collect();
        let mut chunks: Vec<(u64, u32)> = (0..).zip(&pairs).map(|(at, (chunk, _))| (*chunk, at)).collect();
        chunks.dedup_by_key(|(chunk, _)| *chunk);
        let tallies = vec![Tally::default(); writes.len()];
        Crashed { writes, tallies, chunks, members, unit, is_counting: true, unrecorded: 0 }
    }

    /// Whether reads from now on are the first ones of their places. Others count no write again.
    pub fn set_counting(&mut self, is_counting: bool) {
        self.is_counting = is_counting;
    }

    fn members(&self, chunk: u64) -> &[u32] {
        let Ok(at) = self.chunks.binary_search_by_key(&chunk, |(chunk, _)| *chunk) else { return &[] };
        let end = self.chunks.get(at + 1).map_or(self.members.len(), |(_, start)| *start as usize);
        &self.members[self.chunks[at].1 as usize..end]
    }

    /// The ranges that the run has written; ascending, and merged.
    pub fn touched(&self) -> Vec<Sectors> {
        let mut ranges: Vec<Sectors> =
            self.writes.iter().map(|write| write.range).filter(|range| range.count > 0).collect();
        ranges.sort_unstable_by_key(|range| range.start);
        let mut merged: Vec<Sectors> = Vec::new();
        for range in ranges {
            match merged.last_mut().filter(|last| range.start <= last.end()) {
                Some(last) => *last = Sectors::between(last.start, last.end().max(range.end())),
                None => merged.push(range),
            }
        }
        merged
    }

    /// Ends a read of `range`. `found` is called for each sector in order, with the legal tags and with all tags that the run has
    /// written there. It returns the tag of the content; [`Tag::UNKNOWN`] for a write of the run that is not among these, where
    /// that is possible; `None` if the content is not legal. Returns the sectors that hold a torn part of a unit.
    pub fn end_read(
        &mut self,
        range: Sectors,
        mut found: impl FnMut(u64, Legal<'_>, &[Tag]) -> Option<Tag>,
    ) -> Vec<u64> {
        let mut torn = Vec::new();
        let mut at = range.start;
        while at < range.end() {
            let part = Sectors::between(at, ((at / CHUNK + 1) * CHUNK).min(range.end()));
            let holders = self.end_read_of_part(part, &mut found);
            self.find_torn(part, &holders, &mut torn);
            at = part.end();
        }
        torn
    }

    /// The same within one chunk; returns the content of each sector.
    fn end_read_of_part(
        &mut self,
        part: Sectors,
        found: &mut impl FnMut(u64, Legal<'_>, &[Tag]) -> Option<Tag>,
    ) -> Vec<Holder> {
        let mut holders = Vec::with_capacity(part.count as usize);
        let borders = self.borders(part);
        let (mut covering, mut tags, mut known) = (Vec::new(), Vec::new(), Vec::new());
        for pair in borders.windows(2) {
            self.covering(pair[0], &mut covering);
            tags.clear();
            self.legal_tags(&covering, &mut tags);
            known.clear();
            known.extend(covering.iter().map(|number| self.writes[*number as usize].tag));
            let is_mixed = self.is_mixed(&covering);
            for sector in pair[0]..pair[1] {
                let tag = found(sector, legal(&tags, is_mixed), &known);
                self.unrecorded += u64::from(self.is_counting && tag == Some(Tag::UNKNOWN));
                holders.push(self.holder(&covering, tag));
                self.count(&covering, holders[holders.len() - 1], tag.is_none() && !allows_all(&tags));
            }
        }
        holders
    }

    /// Borders of a part; between two of them each sector has the same writes.
    fn borders(&self, part: Sectors) -> Vec<u64> {
        let ranges =
            self.members(part.start / CHUNK).iter().map(|number| self.writes[*number as usize].range);
        let within = |border: &u64| part.start < *border && *border < part.end();
        let mut borders: Vec<u64> =
            ranges.flat_map(|range| [range.start, range.end()]).filter(within).collect();
        borders.extend([part.start, part.end()]);
        borders.sort_unstable();
        borders.dedup();
        borders
    }

    /// The writes of a sector, in the order of submission.
    fn covering(&self, sector: u64, into: &mut Vec<u32>) {
        into.clear();
        let covers = |number: &&u32| self.writes[**number as usize].covers(Sectors::new(sector, 1));
        into.extend(self.members(sector / CHUNK).iter().filter(covers));
    }

    /// The durable write of these that was submitted last.
    fn last_durable(&self, covering: &[u32]) -> Option<u32> {
        covering.iter().rev().copied().find(|number| self.writes[*number as usize].is_durable)
    }

    /// Legal contents of a sector with these writes, the oldest first; empty where the run has written nothing.
    fn legal_tags(&self, covering: &[u32], into: &mut Vec<Tag>) {
        let durable = self.last_durable(covering).map(|number| self.writes[number as usize]);
        if durable.is_none() && !covering.is_empty() {
            into.push(Tag::INITIAL);
        }
        let writes = covering.iter().map(|number| &self.writes[*number as usize]);
        let legal = writes.filter(|write| durable.is_none_or(|durable| !write.precedes(&durable)));
        into.extend(legal.map(|write| write.tag));
    }

    /// Whether a sector with these writes may hold parts of several of those that are legal there.
    fn is_mixed(&self, covering: &[u32]) -> bool {
        let durable = self.last_durable(covering).map(|number| self.writes[number as usize]);
        let writes = || covering.iter().map(|number| &self.writes[*number as usize]);
        let legal = || writes().filter(|write| durable.is_none_or(|durable| !write.precedes(&durable)));
        let overlaps = |write: &CrashWrite| {
            legal().any(|other| other != write && !other.precedes(write) && !write.precedes(other))
        };
        legal().any(|write| write.is_in_parts() || write.atomic == Atomic::Byte && overlaps(write))
    }

    fn holder(&self, covering: &[u32], tag: Option<Tag>) -> Holder {
        match tag {
            None => Holder::Unknown,
            Some(Tag::INITIAL) => Holder::Initial,
            Some(tag) => {
                let is_own = |number: &&u32| self.writes[**number as usize].tag == tag;
                covering.iter().rev().find(is_own).map_or(Holder::Unknown, |number| Holder::Write(*number))
            }
        }
    }

    fn count(&mut self, covering: &[u32], holder: Holder, is_illegal: bool) {
        if !self.is_counting {
            return;
        }
        let last = self.last_durable(covering).filter(|_| is_illegal);
        for number in covering {
            let tally = &mut self.tallies[*number as usize];
            match holder {
                Holder::Unknown if is_illegal => tally.illegal += u32::from(last == Some(*number)),
                // Anything may be there, for example after a discard.
                Holder::Unknown => tally.newer += 1,
                Holder::Initial => tally.older += 1,
                Holder::Write(found) if found == *number => tally.own += 1,
                Holder::Write(found) if found < *number => tally.older += 1,
                Holder::Write(_) => tally.newer += 1,
            }
        }
    }

    /// Adds the sectors of units that hold a whole write in part, where they hold something older.
    fn find_torn(&self, part: Sectors, holders: &[Holder], torn: &mut Vec<u64>) {
        if self.unit < 2 {
            return;
        }
        let mut start = part.start.next_multiple_of(self.unit);
        while start + self.unit <= part.end() {
            let unit = Sectors::new(start, self.unit);
            let first = (start - part.start) as usize;
            self.find_torn_of_unit(unit, &holders[first..first + self.unit as usize], torn);
            start += self.unit;
        }
    }

    fn find_torn_of_unit(&self, unit: Sectors, holders: &[Holder], torn: &mut Vec<u64>) {
        if holders.iter().all(|holder| *holder == holders[0]) {
            return;
        }
        let covering_unit = holders.iter().filter_map(|holder| match holder {
            Holder::Write(number) if self.writes[*number as usize].covers(unit) => Some(*number),
            _ => None,
        });
        // Numbers are in the order of submission.
        let Some(whole) = covering_unit.max() else { return };
        let newest = &self.writes[whole as usize];
        if newest.atomic == Atomic::Byte || newest.may_be_cut {
            return;
        }
        let is_torn = |holder: &Holder| match holder {
            Holder::Unknown => false,
            Holder::Initial => true,
            Holder::Write(number) if *number == whole => false,
            Holder::Write(number) => {
                let other = &self.writes[*number as usize];
                other.covers(unit) || other.precedes(newest)
            }
        };
        torn.extend(
            (unit.start..).zip(holders).filter(|(_, holder)| is_torn(holder)).map(|(sector, _)| sector),
        );
    }

    /// Legal contents of a sector, the oldest first, and whether the run has written it more than once; for sectors that could not
    /// be read.
    pub fn expected(&self, sector: u64) -> (Vec<Tag>, bool) {
        let (mut covering, mut tags) = (Vec::new(), Vec::new());
        self.covering(sector, &mut covering);
        self.legal_tags(&covering, &mut tags);
        if allows_all(&tags) {
            tags.clear();
        }
        (tags, covering.len() > 1)
    }

    /// Outcome of the writes.
    pub fn facts(&self) -> CrashFacts {
        let mut facts = CrashFacts {
            unit: self.unit * iosonar_plan::SECTOR,
            unrecorded: self.unrecorded,
            ..CrashFacts::default()
        };
        let mut first_lost: Option<Nanos> = None;
        let mut there: Vec<Nanos> = Vec::new();
        for (write, tally) in self.writes.iter().zip(&self.tallies).filter(|(write, _)| write.range.count > 0)
        {
            let survival = match write {
                CrashWrite { is_durable: true, .. } => {
                    facts.durable += 1;
                    facts.missing += u64::from(tally.illegal > 0);
                    facts.durable_not_read += u64::from(tally.is_empty());
                    continue;
                }
                CrashWrite { is_acknowledged: true, .. } => &mut facts.not_durable,
                CrashWrite { ended: None, .. } => &mut facts.in_flight,
                CrashWrite { .. } => &mut facts.failed,
            };
            add(survival, tally);
            let ended = write.ended.filter(|_| write.is_acknowledged);
            match (tally.own > 0, tally.older > 0) {
                (false, true) => first_lost = first_lost.into_iter().chain(ended).min(),
                (true, false) => there.extend(ended),
                _ => {}
            }
        }
        facts.reordered =
            there.iter().filter(|ended| first_lost.is_some_and(|lost| lost < **ended)).count() as u64;
        facts
    }

    /// Memory in use, in bytes.
    pub fn bytes(&self) -> u64 {
        (size_of_val(&self.writes[..])
            + size_of_val(&self.tallies[..])
            + size_of_val(&self.chunks[..])
            + size_of_val(&self.members[..])) as u64
    }
}

fn add(survival: &mut Survival, tally: &Tally) {
    let count = match tally {
        Tally { own: 0, older: 0, newer: 0, .. } => &mut survival.not_read,
        Tally { own: 0, older: 0, .. } => &mut survival.overwritten,
        Tally { own: 0, .. } => &mut survival.lost,
        Tally { older: 0, .. } => &mut survival.there,
        _ => &mut survival.torn,
    };
    *count += 1;
}

fn allows_all(tags: &[Tag]) -> bool {
    tags.iter().any(|tag| tag.allows_all())
}

fn legal(tags: &[Tag], is_mixed: bool) -> Legal<'_> {
    match tags {
        [] => Legal::Unwritten,
        tags if allows_all(tags) => Legal::Any,
        [tag] => Legal::One(*tag),
        tags if is_mixed => Legal::Mixed(tags),
        tags => Legal::Several(tags),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_archive::WriteId;

    fn tag(sequence: u64) -> Tag {
        Tag::of(WriteId { target: 0, phase: 0, pass: 0, sequence })
    }

    fn write(sequence: u64, range: (u64, u64), times: (u64, u64), is_durable: bool) -> CrashWrite {
        CrashWrite {
            range: Sectors::new(range.0, range.1),
            tag: tag(sequence),
            submitted: Nanos(times.0),
            ended: Some(Nanos(times.1)),
            is_acknowledged: true,
            is_durable,
            atomic: Atomic::Sector,
            may_be_cut: false,
        }
    }

    fn in_flight(sequence: u64, range: (u64, u64), submitted: u64) -> CrashWrite {
        CrashWrite {
            ended: None,
            is_acknowledged: false,
            ..write(sequence, range, (submitted, submitted), false)
        }
    }

    /// Reads sectors with the tags of `content`, where those are legal; returns the legal ones, too.
    fn read(crashed: &mut Crashed, range: (u64, u64), content: &[Tag]) -> (Vec<Vec<Tag>>, Vec<u64>) {
        let mut all = Vec::new();
        let torn = crashed.end_read(Sectors::new(range.0, range.1), |sector, legal, _| {
            let tags = match legal {
                Legal::One(tag) => vec![tag],
                Legal::Several(tags) | Legal::Mixed(tags) => tags.to_vec(),
                _ => Vec::new(),
            };
            let own = content[(sector - range.0) as usize];
            let found = tags.contains(&own).then_some(own);
            all.push(tags);
            found
        });
        (all, torn)
    }

    #[test]
    fn rejects_content_older_than_durable_write() {
        let writes = vec![
            write(0, (0, 4), (0, 10), false),
            write(1, (0, 2), (20, 30), true),
            // In flight together with the durable one.
            write(2, (0, 1), (25, 40), false),
            in_flight(3, (3, 1), 50),
        ];
        let mut crashed = Crashed::new(writes, 1);
        let (legal, _) = read(&mut crashed, (0, 5), &[tag(2), tag(0), tag(0), Tag::INITIAL, Tag::INITIAL]);
        assert_eq!(legal[0], [tag(1), tag(2)]);
        assert_eq!(legal[1], [tag(1)]);
        assert_eq!(legal[2], [Tag::INITIAL, tag(0)]);
        assert_eq!(legal[3], [Tag::INITIAL, tag(0), tag(3)]);
        assert!(legal[4].is_empty());
        let facts = crashed.facts();
        assert_eq!((facts.durable, facts.missing), (1, 1));
        assert_eq!((facts.not_durable.there, facts.not_durable.torn), (1, 1));
        assert_eq!(facts.in_flight.lost, 1);
        assert_eq!(crashed.touched(), [Sectors::new(0, 4)]);
    }

    #[test]
    fn atomic_unit_is_written_entirely_or_not_at_all() {
        let units = |holders: &[Tag]| {
            let writes = vec![
                write(0, (0, 8), (0, 10), false),
                write(1, (0, 8), (20, 30), false),
                write(2, (2, 2), (40, 50), false),
                // Older than the second, and only a part.
                write(3, (6, 2), (12, 15), false),
            ];
            let mut crashed = Crashed::new(writes, 8);
            read(&mut crashed, (0, 8), holders).1
        };
        let (old, new, part, before) = (tag(0), tag(1), tag(2), tag(3));
        assert!(units(&[new; 8]).is_empty());
        assert!(units(&[new, new, part, part, new, new, new, new]).is_empty());
        assert_eq!(units(&[new, new, old, old, new, new, new, new]), [2, 3]);
        assert_eq!(units(&[new, new, new, new, new, new, before, before]), [6, 7]);
        assert_eq!(units(&[new, Tag::INITIAL, new, new, new, new, new, new]), [1]);
        // Parts alone prove nothing about each other.
        assert!(units(&[old, old, part, part, old, old, before, before]).is_empty());
    }

    #[test]
    fn copied_in_flight_writes_may_survive_partially() {
        let copied = |write: CrashWrite| CrashWrite { atomic: Atomic::Byte, ..write };
        let mixed = |writes: &[CrashWrite]| {
            let mut crashed = Crashed::new(writes.to_vec(), 8);
            let mut is_mixed = false;
            crashed.end_read(Sectors::new(0, 1), |_, legal, _| {
                is_mixed = matches!(legal, Legal::Mixed(_));
                None
            });
            is_mixed
        };
        let (old, next) = (write(0, (0, 8), (0, 10), true), write(1, (0, 8), (20, 30), false));
        let flying = in_flight(1, (0, 8), 20);
        assert!(mixed(&[old, copied(flying)]) && !mixed(&[old, flying]));
        assert!(!mixed(&[old, copied(next)]));
        assert!(mixed(&[old, CrashWrite { may_be_cut: true, ..next }]));
        // Of two concurrent writes, a sector may keep parts of both.
        let beside = write(2, (0, 8), (25, 40), true);
        assert!(mixed(&[copied(next), copied(beside)]) && !mixed(&[next, beside]));
        // A unit that holds a part of a copy is not torn.
        let mut crashed = Crashed::new(vec![old, copied(flying)], 8);
        let (new, old) = (tag(1), tag(0));
        assert!(read(&mut crashed, (0, 8), &[new, new, new, old, old, old, old, old]).1.is_empty());
    }

    #[test]
    fn counts_survivors_outside_any_prefix_as_reordered() {
        let writes = vec![
            write(0, (0, 1), (0, 10), false),
            write(1, (1, 1), (1, 20), false),
            write(2, (2, 1), (2, 30), false),
        ];
        let mut crashed = Crashed::new(writes, 1);
        read(&mut crashed, (0, 3), &[tag(0), Tag::INITIAL, tag(2)]);
        crashed.set_counting(false);
        read(&mut crashed, (0, 3), &[tag(0), tag(1), tag(2)]);
        let facts = crashed.facts();
        assert_eq!((facts.not_durable.there, facts.not_durable.lost, facts.reordered), (2, 1, 1));
    }
}
