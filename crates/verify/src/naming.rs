//! From observations to the names of faults.
//!
//! A name needs the writes of the place with their times, which the records of the run have. So faults are named when the
//! requests are over.

use crate::Tag;
use crate::atomic::is_mixed;
use crate::observation::{BadContent, Bytes, Observation, SectorsAround, write_of};
use iosonar_archive::{Damaged, Fault, FaultClass, FaultWrite, FoundBy, ReadAgain, TornPattern, WriteId};
use iosonar_content::{Damage, SectorHeader, damage, regenerate, torn_at};
use iosonar_plan::{Fill, Nanos, SECTOR};
use std::collections::HashMap;

/// Maximum number of differing bits of a flipped sector.
const MOST_FLIPPED: u32 = 64;
/// Sectors of a page of 4096 bytes.
const PAGE: u64 = 8;
/// Bytes of the header of a sector.
const HEADER: u16 = 64;
/// Bytes that two unrelated sectors do not have in common by chance: of 512 random ones some two agree.
const RELATED: u16 = 32;
/// The note of a place that still holds a write of a run before this one.
const EARLIER_RUN: &str = "earlier-run";
/// Versions of a place, the latest, that damaged sectors are compared with.
const MOST_COMPARED: usize = 16;

/// A write of a place, from its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownWrite {
    /// Identity of the write.
    pub id: WriteId,
    /// First sector.
    pub start: u64,
    /// Number of sectors.
    pub count: u64,
    /// The due time in its header.
    pub due_ns: u64,
    /// When it was submitted.
    pub submitted: Nanos,
    /// When it ended.
    pub completed: Nanos,
    /// Whether it succeeded in full.
    pub is_acknowledged: bool,
    /// Whether it, or a later write over it, has to be there: the same, but after a crash.
    pub is_demanded: bool,
}

impl KnownWrite {
    fn tag(&self) -> Tag {
        Tag::of(self.id)
    }

    fn covers(&self, sector: u64) -> bool {
        (self.start..self.start + self.count).contains(&sector)
    }

    /// A sector of it as it was written. The header has the number of the run.
    fn sector(&self, sector: u64, run: &RunOfFaults) -> Bytes {
        let saturated = |n: u64| u16::try_from(n).unwrap_or(u16::MAX);
        let header = SectorHeader {
            run_id: run.run_id,
            target: self.id.target,
            phase: self.id.phase,
            pass: self.id.pass,
            sector,
            sequence: self.id.sequence,
            due_ns: self.due_ns,
            index: saturated(sector - self.start),
            length: saturated(self.count),
        };
        regenerate(&header, run.fill)
    }

    fn facts(&self) -> FaultWrite {
        FaultWrite {
            id: self.id,
            offset: Some(self.start * SECTOR),
            length: Some(self.count * SECTOR),
            submitted: Some(self.submitted),
            acknowledged: Some(self.completed).filter(|_| self.is_acknowledged),
        }
    }
}

/// Properties common to all faults of a run.
#[derive(Debug, Clone, Copy)]
pub struct RunOfFaults {
    /// Number of the run in its written sectors.
    pub run_id: u64,
    /// Content of written sectors.
    pub fill: Fill,
    /// The verified state is that after a crash.
    pub is_after_crash: bool,
}

/// Names an observation. `writes` are those of the run that cover the first sector, by the time of their submission.
pub fn name(observation: &Observation, writes: &[KnownWrite], run: &RunOfFaults) -> Fault {
    let case = Case { observation, writes, run };
    let mut fault = case.fault();
    case.classify(&mut fault);
    let is_old = matches!(fault.class, FaultClass::Stale);
    fault.transient = fault.again.contains(&ReadAgain::Right) && !is_old;
    fault
}

/// Whether a suspect sector consists of parts of versions that it may hold, which is no fault. `writes` are those of the run that cover
/// it and are among these versions.
pub fn is_mix(observation: &Observation, writes: &[KnownWrite], run: &RunOfFaults) -> bool {
    let Some(bytes) = observation.bytes.as_deref() else { return false };
    let legal = |tag: Tag| observation.legal.contains(&tag);
    let own = writes.iter().filter(|write| legal(write.tag()) && write.covers(observation.start));
    let mut versions: Vec<Bytes> = own.map(|write| write.sector(observation.start, run)).collect();
    // Where the bytes of one cannot be made again, they may be anything.
    let is_known = |tag: &Tag| *tag == Tag::ZEROS || writes.iter().any(|write| write.tag() == *tag);
    let has_unknown = !observation.legal.iter().all(is_known);
    if legal(Tag::ZEROS) {
        versions.push([0; SECTOR as usize]);
    }
    is_mixed(bytes, &versions, has_unknown)
}

/// The bytes that the sectors of a fault should hold, at most `most` of them; `None` where unknown. `writes` are those passed to
/// [`name`] for it.
pub fn due_bytes(
    fault: &Fault,
    observation: &Observation,
    writes: &[KnownWrite],
    run: &RunOfFaults,
    most: usize,
) -> Vec<u8> {
    let count = (fault.length / SECTOR).min(most as u64 / SECTOR);
    let first = fault.offset / SECTOR;
    if observation.legal == [Tag::ZEROS] {
        return vec![0; (count * SECTOR) as usize];
    }
    let write = writes.iter().find(|write| fault.expected.is_some_and(|due| due.id == write.id));
    let sectors = write.map(|write| {
        (first..first + count).take_while(move |s| write.covers(*s)).map(move |s| write.sector(s, run))
    });
    sectors.into_iter().flatten().flatten().collect()
}

struct Case<'a> {
    observation: &'a Observation,
    writes: &'a [KnownWrite],
    run: &'a RunOfFaults,
}

impl Case<'_> {
    /// The fault before it has a name.
    fn fault(&self) -> Fault {
        let o = self.observation;
        Fault {
            class: FaultClass::Foreign,
            target: o.reader.target,
            offset: o.start * SECTOR,
            length: o.count * SECTOR,
            found_by: o.reader.found_by,
            request: o.reader.request,
            submitted: o.reader.submitted,
            completed: o.reader.completed,
            expected: self.expected().map(KnownWrite::facts),
            found: None,
            versions_older: None,
            belongs_at: None,
            run_id: None,
            damaged: None,
            torn_at: None,
            torn: None,
            first_bytes: String::new(),
            entropy: None,
            note: String::new(),
            again: o.again,
            transient: false,
            also_possible: Vec::new(),
        }
    }

    /// The write that the place should hold: of several, the last that has to be there.
    fn expected(&self) -> Option<&KnownWrite> {
        let legal = || self.writes.iter().rev().filter(|w| self.observation.legal.contains(&w.tag()));
        legal().find(|write| write.is_demanded).or_else(|| legal().next())
    }

    fn classify(&self, fault: &mut Fault) {
        if self.run.is_after_crash && self.may_be_there() {
            return self.classify_torn_unit(fault);
        }
        match &self.observation.found {
            BadContent::Poison => fault.class = FaultClass::Untransferred,
            BadContent::Short => fault.class = FaultClass::Short,
            BadContent::Unreadable(_) => fault.class = FaultClass::Unreadable,
            found if self.observation.legal.is_empty() => self.classify_outside(found, fault),
            BadContent::Version(header) => self.classify_version(header, fault),
            BadContent::Damaged(..) | BadContent::NoHeader => self.classify_bytes(fault),
            BadContent::Zeros => self.classify_known(FaultClass::Zeroed, "zeros", fault),
            BadContent::Ones => self.classify_known(FaultClass::Ones, "foreign", fault),
        }
    }

    /// A sector that the run has not written, and that has changed.
    fn classify_outside(&self, found: &BadContent, fault: &mut Fault) {
        let (header, damage) = match found {
            BadContent::Version(header) => (Some(header), None),
            BadContent::Damaged(header, damage) => (Some(header), Some(damage)),
            _ => (None, None),
        };
        // A write of this run that belongs elsewhere, or that the run has never submitted.
        if let Some(header) = header.filter(|header| header.run_id == self.run.run_id) {
            self.classify_version(header, fault);
            fault.damaged = damage.map(damaged);
            return;
        }
        fault.class = FaultClass::Phantom;
        fault.run_id = header.map(|header| header.run_id);
        match (found, self.observation.bytes.as_deref()) {
            (BadContent::Zeros, _) => fault.note = "zeros".into(),
            (BadContent::NoHeader, Some(bytes)) => show(bytes, fault),
            _ => {}
        }
    }

    /// Whether the content found is legal for each single sector.
    fn may_be_there(&self) -> bool {
        let o = self.observation;
        let may_hold = |tag: Tag| o.legal.contains(&tag);
        match &o.found {
            BadContent::Version(header) | BadContent::Damaged(header, _)
                if header.run_id != self.run.run_id =>
            {
                may_hold(Tag::INITIAL)
            }
            BadContent::Version(header) => header.sector == o.start && may_hold(Tag::of(write_of(header))),
            BadContent::Zeros => may_hold(Tag::INITIAL) || may_hold(Tag::ZEROS),
            BadContent::Ones | BadContent::NoHeader => may_hold(Tag::INITIAL),
            BadContent::Damaged(..) | BadContent::Poison | BadContent::Short | BadContent::Unreadable(_) => {
                false
            }
        }
    }

    /// After a crash: the unit that the device writes as a whole holds another write, too.
    fn classify_torn_unit(&self, fault: &mut Fault) {
        let o = self.observation;
        let is_paged = o.start.is_multiple_of(PAGE) && o.end().is_multiple_of(PAGE);
        fault.class = if is_paged { FaultClass::TornPage } else { FaultClass::TornSector };
        fault.torn = Some(TornPattern::Other);
        match &o.found {
            BadContent::Version(header) => {
                let write = self.writes.iter().find(|write| write.id == write_of(header));
                fault.found = write.map(KnownWrite::facts);
            }
            BadContent::Zeros => fault.note = "zeros".into(),
            _ => fault.note = "foreign".into(),
        }
    }

    fn classify_version(&self, header: &SectorHeader, fault: &mut Fault) {
        let o = self.observation;
        let id = write_of(header);
        fault.found =
            Some(FaultWrite { id, offset: None, length: None, submitted: None, acknowledged: None });
        if header.run_id != self.run.run_id {
            // When a durable write is lost, the place shows its earlier content, for example of another run.
            let is_initial = self.run.is_after_crash && header.sector == o.start;
            fault.run_id = Some(header.run_id);
            // No data of this run is known to have been there before: the place holds its initial content.
            if !self.run.is_after_crash && !o.rewritten && !o.seen {
                fault.found = None;
                fault.note = EARLIER_RUN.into();
                self.classify_old(fault);
                if fault.class == FaultClass::Lost {
                    fault.also_possible.push(FaultClass::OtherRun);
                }
                return;
            }
            fault.class = if is_initial { FaultClass::FlushViolated } else { FaultClass::OtherRun };
        } else if header.target != o.reader.target {
            fault.class = FaultClass::OtherTarget;
            fault.belongs_at = Some(header.sector * SECTOR);
        } else if header.sector != o.start {
            fault.belongs_at = Some(header.sector * SECTOR);
            fault.class = match o.belongs_elsewhere_and_is_there {
                Some(true) => FaultClass::Duplicated,
                _ => FaultClass::Misdirected,
            };
            if o.belongs_elsewhere_and_is_there.is_none() {
                fault.also_possible = vec![FaultClass::Duplicated];
            }
        } else {
            match self.writes.iter().find(|write| write.id == id) {
                None => fault.class = FaultClass::UnwrittenAppeared,
                Some(write) => {
                    fault.found = Some(write.facts());
                    fault.versions_older = self.versions_between(write);
                    self.classify_old(fault);
                }
            }
        }
    }

    /// Acknowledged writes of the place after the found one, up to the expected one.
    fn versions_between(&self, found: &KnownWrite) -> Option<u64> {
        let expected = self.expected()?;
        let is_between = |write: &&KnownWrite| {
            write.is_acknowledged
                && write.submitted > found.submitted
                && write.submitted <= expected.submitted
        };
        Some(self.writes.iter().filter(is_between).count() as u64)
    }

    /// Classifies earlier content: an older version, or the initial content.
    fn classify_old(&self, fault: &mut Fault) {
        let o = self.observation;
        if self.run.is_after_crash {
            fault.class = FaultClass::FlushViolated;
        } else if o.again.contains(&ReadAgain::Right) {
            fault.class = FaultClass::Stale;
        } else if o.seen {
            fault.class = FaultClass::Reverted;
            if o.again[0] != ReadAgain::Same {
                fault.also_possible.push(FaultClass::Stale);
            }
        } else if let Some((class, pattern)) = o.around.as_ref().and_then(torn) {
            (fault.class, fault.torn) = (class, Some(pattern));
            if !self.sees_whole_write() {
                let other =
                    if class == FaultClass::TornPage { FaultClass::TornSector } else { FaultClass::TornPage };
                fault.also_possible.push(other);
            }
        } else {
            fault.class = FaultClass::Lost;
            if o.again[0] != ReadAgain::Same {
                fault.also_possible.push(FaultClass::Stale);
            }
            if !self.sees_whole_write() {
                fault.also_possible.extend([FaultClass::TornPage, FaultClass::TornSector]);
            }
            // A reader that has not seen the new version cannot know that it never was there.
            if fault.found.is_some() && o.reader.found_by != FoundBy::AfterWrite {
                fault.also_possible.push(FaultClass::Reverted);
            }
        }
    }

    /// Whether all sectors of the expected write were examined: overwritten ones prove nothing about it.
    fn sees_whole_write(&self) -> bool {
        let seen = self
            .observation
            .around
            .as_ref()
            .map_or(self.observation.count, |around| around.holds.iter().flatten().count() as u64);
        self.expected().is_none_or(|expected| seen >= expected.count)
    }

    /// Content that any device may have held before the run, too.
    fn classify_known(&self, class: FaultClass, note: &str, fault: &mut Fault) {
        // A device that was reset may return zeros for lost data.
        let is_lost = self.run.is_after_crash && class == FaultClass::Zeroed;
        if self.observation.rewritten && !is_lost {
            fault.class = class;
        } else {
            fault.note = note.into();
            self.classify_old(fault);
        }
    }

    /// Classifies bytes that come from no write.
    fn classify_bytes(&self, fault: &mut Fault) {
        let Some(bytes) = self.observation.bytes.as_deref() else {
            fault.class = FaultClass::Corrupted;
            return;
        };
        let sector = self.observation.start;
        let versions: Vec<(FaultWrite, Bytes)> = self.versions(sector);
        if let Some((at, head)) = self.torn_inside(bytes, &versions) {
            fault.class = FaultClass::TornInside;
            fault.torn_at = Some(at);
            fault.found = head;
            return;
        }
        let closest = versions.iter().filter_map(|(write, whole)| Some((write, damage(bytes, whole)?)));
        let closest = closest.min_by_key(|(_, damage)| damage.bits);
        let has_header = matches!(self.observation.found, BadContent::Damaged(..));
        match closest {
            Some((write, damage)) if has_header || damage.bytes < 512 - RELATED => {
                fault.found = Some(*write);
                fault.damaged = Some(damaged(&damage));
                fault.class = match damage {
                    Damage { last, .. } if !has_header && last < HEADER => FaultClass::HeaderDamaged,
                    Damage { bits, .. } if bits <= MOST_FLIPPED => FaultClass::Flipped,
                    _ => FaultClass::Corrupted,
                };
            }
            _ => {
                show(bytes, fault);
                self.classify_known(FaultClass::Foreign, "foreign", fault);
            }
        }
    }

    /// The versions of a place that damaged bytes may come from: the one in its header, and those that the run has written there.
    fn versions(&self, sector: u64) -> Vec<(FaultWrite, Bytes)> {
        let of_header = match &self.observation.found {
            BadContent::Damaged(header, _) if header.run_id == self.run.run_id && header.sector == sector => {
                let known = self.writes.iter().find(|write| write.id == write_of(header));
                known.map(|write| (write.facts(), regenerate(header, self.run.fill)))
            }
            _ => None,
        };
        let is_there = |write: &&KnownWrite| {
            write.covers(sector) && write.submitted <= self.observation.reader.completed
        };
        let known = self.writes.iter().rev().filter(is_there).take(MOST_COMPARED);
        of_header
            .into_iter()
            .chain(known.map(|write| (write.facts(), write.sector(sector, self.run))))
            .collect()
    }

    /// Whether another write of the place was in flight together with the expected one: then their order is unknown.
    fn has_concurrent(&self) -> bool {
        self.expected().is_some_and(|expected| {
            self.writes.iter().any(|write| {
                write.id != expected.id
                    && write.submitted <= expected.completed
                    && expected.submitted <= write.completed
            })
        })
    }

    /// Where the sector changes from one version to another one; and which one it begins with.
    fn torn_inside(
        &self,
        bytes: &Bytes,
        versions: &[(FaultWrite, Bytes)],
    ) -> Option<(u16, Option<FaultWrite>)> {
        let zeros = [0; SECTOR as usize];
        // The content before the run is not known, unless it was zeros.
        let initial = Some(&zeros).filter(|_| !self.observation.rewritten || self.has_concurrent());
        let sides = || {
            versions
                .iter()
                .map(|(write, whole)| (Some(*write), whole))
                .chain(initial.map(|zeros| (None, zeros)))
        };
        sides().find_map(|(write, head)| {
            let others = sides().filter(|(other, _)| other.map(|w| w.id) != write.map(|w| w.id));
            let at = others.filter_map(|(_, tail)| torn_at(bytes, head, tail)).min()?;
            Some((at, write))
        })
    }
}

fn damaged(damage: &Damage) -> Damaged {
    Damaged { bits: damage.bits, bytes: damage.bytes, first: damage.first, last: damage.last }
}

/// How a write is torn of which some sectors are there; `None` if all or no sectors are missing. Sectors that were written since
/// prove nothing.
fn torn(around: &SectorsAround) -> Option<(FaultClass, TornPattern)> {
    let known = (around.start..).zip(&around.holds).filter_map(|(sector, holds)| Some((sector, (*holds)?)));
    let known: Vec<(u64, bool)> = known.collect();
    let borders: Vec<u64> =
        known.windows(2).filter(|pair| pair[0].1 != pair[1].1).map(|pair| pair[1].0).collect();
    let pattern = match (known.first()?.1, borders.len()) {
        (_, 0) => return None,
        (true, 1) => TornPattern::Prefix,
        (false, 1) => TornPattern::Suffix,
        (true, 2) => TornPattern::Hole,
        _ => TornPattern::Other,
    };
    let is_paged = borders.iter().all(|border| border.is_multiple_of(8));
    Some((if is_paged { FaultClass::TornPage } else { FaultClass::TornSector }, pattern))
}

/// Notes the appearance of unknown bytes.
fn show(bytes: &Bytes, fault: &mut Fault) {
    fault.first_bytes = bytes[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    fault.entropy = Some(entropy(bytes));
}

/// Shannon's entropy of the bytes, in hundredths of a bit for each.
fn entropy(bytes: &Bytes) -> u16 {
    let mut counts = [0u16; 256];
    bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let share = |count: &u16| f64::from(*count) / bytes.len() as f64;
    let bits: f64 = counts.iter().filter(|count| **count > 0).map(share).map(|p| -p * p.log2()).sum();
    (bits * 100.0).round() as u16
}

/// Joins related faults: two places that hold each other's content are swapped, and a write that was found elsewhere is not lost a
/// second time.
pub fn join(faults: &mut Vec<Fault>) {
    let moved = Moved::of(faults);
    for fault in faults.iter_mut().filter(|fault| fault.class == FaultClass::Misdirected) {
        if moved.has_partner(fault) {
            fault.class = FaultClass::Swapped;
        }
    }
    faults.retain(|fault| fault.class != FaultClass::Lost || !moved.has_found(fault));
    merge(faults);
    merge_unreadable(faults);
}

/// Merges unreadable blocks of the scan that follow each other, for any expected content.
fn merge_unreadable(faults: &mut Vec<Fault>) {
    let is_unreadable =
        |fault: &Fault| fault.class == FaultClass::Unreadable && fault.found_by == FoundBy::Final;
    let Some(first) = faults.iter().position(is_unreadable) else { return };
    let (mut bad, mut others): (Vec<Fault>, Vec<Fault>) =
        std::mem::take(faults).into_iter().partition(is_unreadable);
    bad.sort_by_key(|fault| (fault.target, fault.offset));
    bad.dedup_by(|next, last| {
        let is_one = last.target == next.target
            && next.offset <= last.offset + last.length
            && last.again == next.again;
        if is_one {
            last.length = last.length.max(next.offset + next.length - last.offset);
            last.completed = last.completed.max(next.completed);
            last.submitted = last.submitted.min(next.submitted);
            // Several writes are due there.
            last.expected = last.expected.filter(|_| last.expected == next.expected);
        }
        is_one
    });
    others.splice(first..first, bad);
    *faults = others;
}

/// Merges faults that one read found in successive sectors, of one kind and of one origin.
fn merge(faults: &mut Vec<Fault>) {
    faults.dedup_by(|next, last| {
        let origin = |fault: &Fault| {
            let expected = fault.expected.map(|write| write.id);
            let found = fault.found.map(|write| write.id);
            (
                (fault.class, fault.run_id),
                fault.target,
                fault.found_by,
                fault.request,
                fault.completed,
                expected,
                found,
                fault.transient,
            )
        };
        // Sectors that are torn at different offsets stay separate faults.
        let is_one =
            fault_follows(last, next) && origin(last) == origin(next) && last.torn_at == next.torn_at;
        if is_one {
            last.length += next.length;
        }
        is_one
    });
}

fn fault_follows(last: &Fault, next: &Fault) -> bool {
    let home = |fault: &Fault| fault.belongs_at.map(|at| at.wrapping_sub(fault.offset));
    last.offset + last.length == next.offset && home(last) == home(next)
}

/// First byte and number of bytes of a place.
type Range = (u64, u64);

/// Writes that were found at other places.
struct Moved {
    /// Places, in order, by target and distance from home.
    by_distance: HashMap<(u16, i64), Vec<Range>>,
    /// Home places.
    homes: HashMap<WriteId, Vec<Range>>,
}

impl Moved {
    fn of(faults: &[Fault]) -> Moved {
        let mut moved = Moved { by_distance: HashMap::new(), homes: HashMap::new() };
        for fault in faults.iter().filter(|fault| fault.class == FaultClass::Misdirected) {
            let (Some(home), Some(found)) = (fault.belongs_at, &fault.found) else { continue };
            let key = (fault.target, home as i64 - fault.offset as i64);
            moved.by_distance.entry(key).or_default().push((fault.offset, fault.length));
            moved.homes.entry(found.id).or_default().push((home, fault.length));
        }
        moved.by_distance.values_mut().for_each(|places| places.sort_unstable());
        moved
    }

    /// Whether the home of the write found in a fault holds the write of the fault's place.
    fn has_partner(&self, fault: &Fault) -> bool {
        let Some(home) = fault.belongs_at else { return false };
        let back = (fault.target, fault.offset as i64 - home as i64);
        let Some(places) = self.by_distance.get(&back) else { return false };
        // Faults do not overlap, so the one that reaches furthest below the end of the range is the last before it.
        let before = places.partition_point(|(start, _)| *start < home + fault.length);
        before.checked_sub(1).is_some_and(|last| places[last].0 + places[last].1 > home)
    }

    /// Whether the write that a fault misses was found elsewhere.
    fn has_found(&self, fault: &Fault) -> bool {
        let Some(homes) = fault.expected.and_then(|expected| self.homes.get(&expected.id)) else {
            return false;
        };
        let meets =
            |(home, length): &Range| *home < fault.offset + fault.length && fault.offset < home + length;
        homes.iter().any(meets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reader;
    use iosonar_archive::READS_AGAIN;

    fn unreadable(sector: u64, completed: u64) -> Observation {
        let reader = Reader {
            target: 0,
            found_by: FoundBy::Final,
            request: None,
            submitted: Nanos(completed - 1),
            completed: Nanos(completed),
        };
        Observation {
            reader,
            start: sector,
            count: 8,
            legal: vec![Tag::ZEROS],
            is_suspect: false,
            seen: false,
            rewritten: false,
            found: BadContent::Unreadable(5),
            bytes: None,
            kept: Vec::new(),
            again: [ReadAgain::NotRead; READS_AGAIN],
            around: None,
            belongs_elsewhere_and_is_there: None,
        }
    }

    #[test]
    fn adjacent_unreadable_blocks_are_one_fault() {
        let run = RunOfFaults { run_id: 1, fill: Fill::default(), is_after_crash: false };
        let observed = [(16, 30), (0, 10), (8, 20), (40, 40)];
        let mut faults: Vec<Fault> = observed
            .iter()
            .map(|(sector, completed)| name(&unreadable(*sector, *completed), &[], &run))
            .collect();
        join(&mut faults);
        let places: Vec<(u64, u64, u64, u64)> =
            faults.iter().map(|f| (f.offset, f.length, f.submitted.0, f.completed.0)).collect();
        assert_eq!(places, [(0, 24 * 512, 9, 30), (40 * 512, 8 * 512, 39, 40)]);
    }

    #[test]
    fn classifies_unexpected_changes_as_phantom_or_misdirected() {
        let run = RunOfFaults { run_id: 7, fill: Fill::default(), is_after_crash: false };
        let outside = |found: BadContent, bytes: Option<Bytes>| {
            let bytes = bytes.map(Box::new);
            let observation = Observation { legal: Vec::new(), found, bytes, ..unreadable(5, 9) };
            name(&observation, &[], &run)
        };
        let header = SectorHeader { run_id: 7, sector: 900, sequence: 3, ..SectorHeader::default() };
        let fault = outside(BadContent::Version(header), None);
        assert_eq!((fault.class, fault.belongs_at), (FaultClass::Misdirected, Some(900 * 512)));
        let own = SectorHeader { sector: 5, ..header };
        assert_eq!(outside(BadContent::Version(own), None).class, FaultClass::UnwrittenAppeared);
        let other = outside(BadContent::Version(SectorHeader { run_id: 8, ..header }), None);
        assert_eq!((other.class, other.run_id), (FaultClass::Phantom, Some(8)));
        let zeros = outside(BadContent::Zeros, Some([0; 512]));
        assert_eq!((zeros.class, &*zeros.note), (FaultClass::Phantom, "zeros"));
        let bytes = outside(BadContent::NoHeader, Some([0x77; 512]));
        assert_eq!((bytes.class, bytes.entropy), (FaultClass::Phantom, Some(0)));
        assert!(bytes.first_bytes.starts_with("7777"));
    }
}
