//! Expected content of one device, and the deviations found.

use super::place::TargetPlace;
use super::records::AfterCrash;
use iosonar_archive::{
    CrashFacts, FoundBy, MOST_DUMPS, MOST_FAULTS, OutsideFacts, ReadAgain, Stalls, Verified,
};
use iosonar_content::{SectorHeader, intact, intact_each, is_poisoned};
use iosonar_plan::{ByteSize, Fill, SECTOR};
use iosonar_verify::{
    BadContent, BadSector, Bytes, Checked, Crashed, Expected, Flight, Legal, Observation, Outside, Reader,
    Sectors, SectorsAround, Tag, write_of,
};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Places whose bytes are kept, and bytes of each at most. Some are the same fault in the end.
const MOST_KEPT: usize = 2 * MOST_DUMPS;
/// See [`MOST_KEPT`].
pub(super) const MOST_KEPT_BYTES: usize = 64 << 10;
/// The share of the memory for expected state that tracks checked sectors: enough for 100 GiB of 1 GiB.
const CHECKED_SHARE: u64 = 32;
/// The same after a crash, in bytes.
const CHECKED_AFTER_CRASH: u64 = 32 << 20;
/// Sectors of a chunk, the unit of samples: 64 KiB.
pub(super) const CHUNK: u64 = 128;
/// Bad sectors that are remembered, so that each read of them does not count again.
const MOST_REMEMBERED: usize = 1 << 20;

/// Appearance of written sectors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Looks<'a> {
    pub(crate) run_id: u64,
    pub(crate) fill: Fill,
    pub(crate) poison: u64,
    /// State expected after a crash.
    pub(crate) after_crash: Option<AfterCrash>,
    /// The first sector of the target that is read.
    pub(crate) base: u64,
    /// Places of all targets: several may be on one device.
    pub(crate) places: &'a [TargetPlace],
}

/// Expected content of one device, and the deviations found.
pub(crate) struct Device {
    expected: Expected,
    /// Possible contents after a crash, in place of the expected state.
    crashed: Option<Crashed>,
    /// Contents, before the run, of sectors that it does not write.
    pub(super) outside: Outside,
    pub(crate) observations: Vec<Observation>,
    /// The bytes of the first bad places are kept.
    pub(super) keeps_bytes: bool,
    /// Ranges of this device that the scan has covered: the places that can be read through each of its targets.
    pub(super) scanned: Vec<Sectors>,
    /// Bad sectors, with the content found there.
    remembered: HashMap<u64, u64>,
    /// Sectors that were compared with their legal versions.
    checked: Checked,
    unwritten: u64,
    unknown: u64,
    /// Counts of the first reads of the scan.
    scan: ScanCounts,
    /// Faults beyond those that are kept.
    beyond: u64,
    pub(crate) added_reads: u64,
    pub(crate) added_bytes: u64,
    /// How often and how long issuing waited for checks.
    pub(crate) stalls: Stalls,
}

/// Bad sectors and chunks of a scan's first reads, also where an earlier read had found the same.
#[derive(Debug, Default)]
pub(super) struct ScanCounts {
    is_on: bool,
    /// Sectors.
    pub(super) bad: u64,
    /// Chunks, the unit of samples.
    pub(super) bad_chunks: HashSet<u64>,
}

impl ScanCounts {
    fn add(&mut self, place: u64) {
        if self.is_on {
            self.bad += 1;
            if self.bad_chunks.len() < MOST_REMEMBERED {
                self.bad_chunks.insert(place / CHUNK);
            }
        }
    }
}

impl Device {
    pub(crate) fn new(memory: ByteSize) -> Device {
        Device {
            expected: Expected::new(memory.0),
            crashed: None,
            outside: Outside::default(),
            observations: Vec::new(),
            keeps_bytes: false,
            scanned: Vec::new(),
            remembered: HashMap::new(),
            checked: Checked::new(memory.0 / CHECKED_SHARE),
            unwritten: 0,
            unknown: 0,
            scan: ScanCounts::default(),
            beyond: 0,
            added_reads: 0,
            added_bytes: 0,
            stalls: Stalls::default(),
        }
    }

    /// A device after a crash. Nothing is written to it any more.
    pub(crate) fn after_crash(crashed: Crashed) -> Device {
        Device {
            crashed: Some(crashed),
            checked: Checked::new(CHECKED_AFTER_CRASH),
            ..Device::new(ByteSize(0))
        }
    }

    /// Outcome of the writes; `None` where no crash is examined.
    pub(crate) fn crash_facts(&self) -> Option<CrashFacts> {
        self.crashed.as_ref().map(Crashed::facts)
    }

    /// Whether reads from now on are the first ones of their places in the scan.
    pub(crate) fn set_first_reads(&mut self, are_first: bool) {
        self.scan.is_on = are_first;
        self.crashed.iter_mut().for_each(|crashed| crashed.set_counting(are_first));
    }

    /// Takes the counts of the scan's first reads since the last call.
    pub(super) fn take_scan_counts(&mut self) -> ScanCounts {
        std::mem::take(&mut self.scan)
    }

    /// The ranges that the run has written; ascending, and merged.
    pub(crate) fn touched(&self) -> Vec<Sectors> {
        match &self.crashed {
            Some(crashed) => crashed.touched(),
            None => self.expected.touched().collect(),
        }
    }

    /// The sectors around one that should hold the same write, at most `most` on each side.
    pub(crate) fn same_write(&self, sector: u64, most: u64) -> Sectors {
        match &self.crashed {
            Some(_) => Sectors { start: sector, count: 1 },
            None => self.expected.same_write(sector, most),
        }
    }

    /// Whether the content of any of these sectors is known.
    pub(crate) fn knows(&self, sectors: Sectors) -> bool {
        let is_known =
            |sector| matches!(self.expected.expected(sector).legal(), Legal::One(_) | Legal::Several(_));
        (sectors.start..sectors.end()).any(is_known)
    }

    pub(crate) fn expected(&mut self) -> &mut Expected {
        &mut self.expected
    }

    /// Forgets the content from `base` on: a file was made again.
    pub(crate) fn forget_from(&mut self, base: u64) {
        let ranges: Vec<Sectors> = self.expected.touched().filter(|range| range.start >= base).collect();
        ranges.into_iter().for_each(|range| self.expected.forget(range));
        self.outside.forget_from(base);
    }

    pub(crate) fn add_to(&self, all: &mut Verified) {
        all.checked += self.checked.sectors();
        all.checked_again += self.checked.again();
        all.checked_at_least |= self.checked.is_incomplete();
        all.unwritten += self.unwritten;
        all.unknown += self.unknown;
        all.given_up += self.expected.unknown_sectors();
        all.memory +=
            self.expected.bytes() + self.checked.bytes() + self.crashed.as_ref().map_or(0, Crashed::bytes);
        all.not_listed += self.beyond;
        all.added_reads += self.added_reads;
        all.added_bytes += self.added_bytes;
        all.stalls.merge(self.stalls);
        if let Some(OutsideFacts { remembered, compared }) = &mut all.outside {
            *remembered += self.outside.remembered();
            *compared += self.outside.compared();
        }
    }

    /// Sectors that were remembered, or are to be, and that the run has not written.
    pub(super) fn unwritten_outside(&self) -> Vec<u64> {
        let is_unwritten = |place: &u64| self.expected.expected(*place).legal() == Legal::Unwritten;
        self.outside.places().iter().copied().filter(is_unwritten).collect()
    }

    /// Checks the data of a read; returns which observations are new.
    pub(crate) fn end_read(
        &mut self,
        flight: Flight,
        data: Data<'_>,
        looks: &Looks<'_>,
        reader: Reader,
    ) -> Range<usize> {
        self.judge(flight, data, looks, reader, |_| true)
    }

    /// Judges a read; `see` gets each sector, and returns whether to note it if it is bad.
    fn judge(
        &mut self,
        flight: Flight,
        data: Data<'_>,
        looks: &Looks<'_>,
        reader: Reader,
        mut see: impl FnMut(&Judged<'_>) -> bool,
    ) -> Range<usize> {
        let before = self.observations.len();
        let Device { expected, crashed, checked, unwritten, unknown, scan, outside, .. } = self;
        let is_scan = reader.found_by == FoundBy::Final;
        let sectors = data.sectors;
        let (mut index, mut start) = (0, 0);
        let (mut bad, mut suspects) = (Vec::new(), Vec::new());
        let mut judge_sector = |place: u64, legal: Legal<'_>, known: &[Tag]| {
            start = place - index as u64;
            let bytes = &sectors[index];
            let tags = tags_of(&legal);
            let tag = if tags.is_empty() {
                None
            } else {
                legal_tag(data.content(index, looks), bytes, place, (tags, known), looks)
            };
            if tag.is_none() && may_be_mixed(legal, data.content(index, looks)) {
                suspects.push(Unexpected { place, index, legal: kept(tags) });
                checked.add(place);
                see(&Judged { place, tags, tag: None, is_bad: false, bytes });
                index += 1;
                return Some(Tag::MIXED);
            }
            // No legal content equals the poison that memory held before the read.
            let mut is_bad = tag.is_none() && (!tags.is_empty() || is_poisoned(bytes, looks.poison));
            match legal {
                // The scan reads such sectors between others, and where they must be unchanged.
                Legal::Unwritten if is_scan => is_bad = is_bad || outside.look(place, bytes),
                Legal::Unwritten => *unwritten += 1,
                Legal::Unknown | Legal::Any => *unknown += 1,
                Legal::One(_) | Legal::Several(_) | Legal::Mixed(_) => checked.add(place),
            }
            let is_noted = see(&Judged { place, tags, tag, is_bad, bytes });
            if is_bad && !tags.is_empty() {
                scan.add(place);
            }
            if is_bad && is_noted {
                bad.push(Unexpected { place, index, legal: kept(tags) });
            }
            index += 1;
            tag
        };
        let torn = end_read_of(expected, crashed.as_mut(), flight, sectors.len() as u64, &mut judge_sector);
        if let Some(crashed) = crashed {
            bad.extend(torn.iter().map(|at| {
                let legal = kept(&crashed.expected(*at).0);
                Unexpected { place: *at, index: (*at - start) as usize, legal }
            }));
            bad.sort_by_key(|sector| sector.place);
        }
        self.note_bad(bad, suspects, sectors, looks, reader);
        let new = before..self.observations.len();
        if self.keeps_bytes {
            self.keep_bytes(new.clone(), sectors, start - looks.base);
        }
        if !new.is_empty() {
            let read = Read { data: sectors, start, looks };
            new.clone().for_each(|number| self.look_around(number, &read));
        }
        new
    }

    /// Notes sectors of a read that hold no legal version, and those that may hold parts of several.
    fn note_bad(
        &mut self,
        bad: Vec<Unexpected>,
        mut suspects: Vec<Unexpected>,
        sectors: &[Bytes],
        looks: &Looks<'_>,
        reader: Reader,
    ) {
        let Device { expected, crashed, observations, remembered, unknown, beyond, .. } = self;
        // Suspects beyond the limit count as unknown.
        let room = MOST_FAULTS.saturating_sub(observations.len());
        *unknown += suspects.len().saturating_sub(room) as u64;
        suspects.truncate(room);
        let noted = bad.into_iter().map(|bad| (bad, false)).chain(suspects.into_iter().map(|s| (s, true)));
        for (Unexpected { place, index, legal }, is_suspect) in noted {
            let (seen, rewritten) = history_of(expected, crashed.as_ref(), place);
            let (sector, bytes) = (place - looks.base, Some(&sectors[index]));
            let found = BadContent::of(&sectors[index], looks.fill, looks.poison);
            let bad = BadSector { sector, legal: &legal, is_suspect, seen, rewritten, found, bytes };
            note(observations, remembered, beyond, reader, place, &bad);
        }
    }

    /// Keeps the bytes found at new places. `first` is the first sector that was read, on the target.
    fn keep_bytes(&mut self, new: Range<usize>, read: &[Bytes], first: u64) {
        for observation in &mut self.observations[new.start..new.end.min(MOST_KEPT).max(new.start)] {
            let own = (observation.start - first) as usize..(observation.end() - first) as usize;
            let bytes = read[own].as_flattened();
            observation.kept = bytes[..bytes.len().min(MOST_KEPT_BYTES)].to_vec();
        }
    }

    /// Notes which sectors of the write that a bad place should hold are there in the same read: before it is read again,
    /// something else may be written there.
    fn look_around(&mut self, number: usize, read: &Read<'_>) {
        let Device { expected, observations, .. } = self;
        let observation = &mut observations[number];
        if self.crashed.is_some() || observation.is_suspect {
            return;
        }
        let [tag] = observation.legal[..] else { return };
        let base = read.looks.base;
        let is_of_write = |place: &u64| expected.expected(*place).legal() == Legal::One(tag);
        let (own, end) = (observation.start + base, read.start + read.data.len() as u64);
        let before = (read.start..own).rev().take_while(is_of_write).count() as u64;
        let after = (observation.end() + base..end).take_while(is_of_write).count() as u64;
        let holds = |place: u64| {
            let bytes = &read.data[(place - read.start) as usize];
            Some(legal_tag(content_of(bytes, read.looks), bytes, place, (&[tag], &[]), read.looks).is_some())
        };
        let holds = (own - before..observation.end() + base + after).map(holds).collect();
        observation.around = Some(SectorsAround { start: own - before - base, holds });
    }

    /// Notes that a read returned no data for sectors: those that the run has written are faults.
    pub(crate) fn note_missing(
        &mut self,
        reader: Reader,
        looks: &Looks<'_>,
        places: Range<u64>,
        found: BadContent,
    ) {
        let Device { expected, crashed, observations, remembered, beyond, outside, scan, .. } = self;
        for place in places {
            let (legal, is_unwritten) = match crashed {
                Some(crashed) => (kept(&crashed.expected(place).0), false),
                None => {
                    let state = expected.expected(place);
                    let legal = state.legal();
                    (tags_of(&legal).to_vec(), legal == Legal::Unwritten)
                }
            };
            let is_outside = is_unwritten && reader.found_by == FoundBy::Final && outside.knows(place);
            if legal.is_empty() && !is_outside {
                continue;
            }
            if let (Some(crashed), BadContent::Short) = (crashed.as_mut(), found)
                && legal.contains(&Tag::INITIAL)
            {
                // The file is as short as it was before the run.
                crashed.end_read(Sectors { start: place, count: 1 }, |_, _, _| Some(Tag::INITIAL));
                continue;
            }
            if !is_outside {
                scan.add(place);
            }
            let legal = &legal[..];
            let (seen, rewritten) = history_of(expected, crashed.as_ref(), place);
            let sector = place - looks.base;
            let bad = BadSector { sector, legal, is_suspect: false, seen, rewritten, found, bytes: None };
            note(observations, remembered, beyond, reader, place, &bad);
        }
    }

    /// Notes whether the place that the found header names holds that write, too; not where a later write may cover it.
    pub(crate) fn end_read_named(
        &mut self,
        flight: Flight,
        data: Data<'_>,
        number: usize,
        looks: &Looks<'_>,
        reader: Reader,
    ) {
        let BadContent::Version(header) = &self.observations[number].found else { return };
        let wanted = Tag::of(write_of(header));
        let mut is_there = None;
        self.judge(flight, data, looks, reader, |sector| {
            // Where the place holds a later write, this is undecidable.
            if sector.tags.contains(&wanted) && sector.tag.is_none_or(|tag| tag == wanted) {
                is_there = Some(is_there.unwrap_or(true) && sector.tag.is_some());
            }
            true
        });
        self.observations[number].belongs_elsewhere_and_is_there = is_there;
    }

    /// Notes the result of reading an observed place again, sectors from `start` on the target, and returns it.
    pub(crate) fn end_read_again(
        &mut self,
        flight: Flight,
        data: Data<'_>,
        start: u64,
        (number, round): (usize, usize),
        looks: &Looks<'_>,
        reader: Reader,
    ) -> ReadAgain {
        let Observation { start: first, legal, found, .. } = self.observations[number].clone();
        let own = first..self.observations[number].end();
        let (mut seen, mut holds) = (Vec::new(), Vec::new());
        self.judge(flight, data, looks, reader, |judged| {
            let sector = judged.place - looks.base;
            let is_expected = is_same(&kept(judged.tags), &legal);
            holds.push(is_expected.then_some(!judged.is_bad));
            if own.contains(&sector) {
                seen.push(match (is_expected, judged.is_bad) {
                    (false, _) => ReadAgain::Superseded,
                    // If several versions are legal, this one may have come later.
                    (true, false) if legal.len() > 1 => ReadAgain::Superseded,
                    (true, false) => ReadAgain::Right,
                    (true, true) if sector > first => ReadAgain::Same,
                    (true, true) => match BadContent::of(judged.bytes, looks.fill, looks.poison) == found {
                        true => ReadAgain::Same,
                        false => ReadAgain::Different,
                    },
                });
            }
            // A write that is in flight now may be there, too: its absence proves no more than the first read did.
            let is_reported = !is_expected && legal.iter().all(|tag| judged.tags.contains(tag));
            !(is_reported && own.contains(&sector))
        });
        let answer = match seen.first() {
            None => ReadAgain::Failed,
            Some(first) if seen.iter().all(|other| other == first) => *first,
            Some(_) if seen.contains(&ReadAgain::Superseded) => ReadAgain::Superseded,
            Some(_) => ReadAgain::Different,
        };
        if answer == ReadAgain::Right {
            // If it is wrong again, that is another fault.
            own.for_each(|sector| {
                self.remembered.remove(&(sector + looks.base));
            });
        }
        let observation = &mut self.observations[number];
        observation.again[round] = answer;
        if round == 0 && answer != ReadAgain::Superseded {
            observation.around = Some(SectorsAround { start, holds });
        }
        answer
    }
}

/// A sector of a read that holds no legal version.
struct Unexpected {
    /// Sector on the device.
    place: u64,
    /// Index in the read data.
    index: usize,
    /// Its legal versions.
    legal: Vec<Tag>,
}

/// A sector that was read.
struct Judged<'a> {
    /// Sector on the device.
    place: u64,
    /// Its legal versions; empty where unknown.
    tags: &'a [Tag],
    /// The one of these that it holds.
    tag: Option<Tag>,
    is_bad: bool,
    bytes: &'a Bytes,
}

/// Data of a read.
struct Read<'a> {
    data: &'a [Bytes],
    /// The first sector on the device.
    start: u64,
    looks: &'a Looks<'a>,
}

/// Ends a read of `count` sectors; `judge` gets, for each, the legal versions, and after a crash the versions that the run has
/// written there. Returns the sectors that hold a torn part of a unit.
fn end_read_of(
    expected: &mut Expected,
    crashed: Option<&mut Crashed>,
    flight: Flight,
    count: u64,
    mut judge: impl FnMut(u64, Legal<'_>, &[Tag]) -> Option<Tag>,
) -> Vec<u64> {
    let Some(crashed) = crashed else {
        expected.end_read(flight, count, |place, legal| judge(place, legal, &[]));
        return Vec::new();
    };
    let range = Sectors { count, ..expected.range(&flight) };
    expected.end_read(flight, 0, |_, _| None);
    crashed.end_read(range, judge)
}

/// Whether a read had seen the expected content of a place, and whether the run has written it more than once.
fn history_of(expected: &Expected, crashed: Option<&Crashed>, place: u64) -> (bool, bool) {
    match crashed {
        Some(crashed) => (false, crashed.expected(place).1),
        None => {
            let state = expected.expected(place);
            (state.seen, state.rewritten)
        }
    }
}

fn note(
    observations: &mut Vec<Observation>,
    remembered: &mut HashMap<u64, u64>,
    beyond: &mut u64,
    reader: Reader,
    place: u64,
    bad: &BadSector<'_>,
) {
    let key = bad.key();
    if remembered.get(&place) == Some(&key) {
        return;
    }
    if remembered.len() < MOST_REMEMBERED {
        remembered.insert(place, key);
    }
    match observations.len() < MOST_FAULTS {
        true => Observation::add(observations, reader, bad),
        false => *beyond += 1,
    }
}

/// Versions of a bad place that are kept.
const MOST_VERSIONS: usize = 64;

/// The oldest and the newest of many versions: after a crash each write of a place that was never flushed is one.
fn kept(tags: &[Tag]) -> Vec<Tag> {
    match tags {
        [first, rest @ ..] if rest.len() >= MOST_VERSIONS => {
            [std::slice::from_ref(first), &rest[rest.len() + 1 - MOST_VERSIONS..]].concat()
        }
        few => few.to_vec(),
    }
}

/// Whether nothing was written since, and no write has ended: the same content as before is legal.
fn is_same(tags: &[Tag], before: &[Tag]) -> bool {
    tags.len() == before.len() && tags.iter().all(|tag| before.contains(tag))
}

/// Whether a sector that holds no legal version may hold parts of several.
fn may_be_mixed(legal: Legal<'_>, content: Content) -> bool {
    matches!((legal, content), (Legal::Mixed(_), Content::Other))
}

/// The versions that a sector may hold; empty where unknown.
fn tags_of<'a>(legal: &'a Legal<'a>) -> &'a [Tag] {
    match legal {
        Legal::One(tag) => std::slice::from_ref(tag),
        Legal::Several(tags) | Legal::Mixed(tags) => tags,
        Legal::Unwritten | Legal::Unknown | Legal::Any => &[],
    }
}

/// The version that a sector holds, if it is among the legal `tags`; `None` if the content is illegal. A write of the run that is
/// not `known` there is an unrecorded one, where that is possible.
#[inline]
fn legal_tag(
    content: Content,
    bytes: &Bytes,
    place: u64,
    (tags, known): (&[Tag], &[Tag]),
    looks: &Looks<'_>,
) -> Option<Tag> {
    match content {
        Content::Version { tag, place: own } if own == Some(place) => {
            let may_be_unrecorded = looks.after_crash.is_some_and(|crash| crash.lacks_writes);
            let is_unrecorded = may_be_unrecorded && !known.contains(&tag);
            if tags.contains(&tag) { Some(tag) } else { is_unrecorded.then_some(Tag::UNKNOWN) }
        }
        Content::Version { .. } | Content::Poison => None,
        // The content before the run may be anything but a version of this run.
        Content::Other => {
            let is_zero = || bytes.iter().all(|byte| *byte == 0);
            // After a crash a sector may hold a part of a write in flight: that has a header of this run.
            let is_part = |found: BadContent| match found {
                BadContent::Damaged(header, _) => header.run_id == looks.run_id,
                _ => false,
            };
            let is_initial =
                || looks.after_crash.is_none() || !is_part(BadContent::of(bytes, looks.fill, looks.poison));
            let is_legal =
                |tag: &&Tag| **tag == Tag::INITIAL && is_initial() || **tag == Tag::ZEROS && is_zero();
            let Some(crash) = looks.after_crash else { return tags.iter().find(is_legal).copied() };
            // Zeros are attributed to a later write of zeros rather than to the initial content.
            let found = tags.iter().rev().find(is_legal).copied();
            found.or_else(|| (crash.lacks_changes && is_initial()).then_some(Tag::UNKNOWN))
        }
    }
}

/// Content of a sector that was read.
#[derive(Debug, Clone, Copy)]
enum Content {
    /// A version of this run, and where on the device that belongs, if its target is known.
    Version { tag: Tag, place: Option<u64> },
    /// The poison that memory held before the read.
    Poison,
    /// Anything else.
    Other,
}

impl Content {
    fn of(header: Option<SectorHeader>, bytes: &Bytes, looks: &Looks<'_>) -> Content {
        match header.filter(|header| header.run_id == looks.run_id) {
            Some(header) => {
                let own = looks.places.get(usize::from(header.target));
                let place = own.and_then(|own| own.base.checked_add(header.sector));
                Content::Version { tag: Tag::of(write_of(&header)), place }
            }
            None if is_poisoned(bytes, looks.poison) => Content::Poison,
            None => Content::Other,
        }
    }
}

fn content_of(bytes: &Bytes, looks: &Looks<'_>) -> Content {
    Content::of(intact(bytes, looks.fill), bytes, looks)
}

/// Contents of the sectors of a read. Determining them is most of the work of a check, and needs no access to the state: so it is
/// done before that is locked.
#[derive(Debug, Default)]
pub(crate) struct Contents(Vec<Content>);

impl Contents {
    /// Inspects the data of a read.
    pub(crate) fn look<'a>(&'a mut self, bytes: &'a [u8], looks: &Looks<'_>) -> Data<'a> {
        self.clear();
        self.look_on(bytes, bytes.len(), looks);
        self.data(bytes)
    }

    /// Inspects up to `more` further bytes of a read, in whole sectors; returns whether all are inspected.
    pub(crate) fn look_on(&mut self, bytes: &[u8], more: usize, looks: &Looks<'_>) -> bool {
        let sectors = &bytes.as_chunks().0[self.0.len()..];
        let sectors = &sectors[..sectors.len().min(more / SECTOR as usize)];
        intact_each(sectors, looks.fill, &mut |index, header| {
            self.0.push(Content::of(header, &sectors[index], looks));
        });
        self.0.len() == bytes.len() / SECTOR as usize
    }

    /// The inspected data of a read.
    pub(crate) fn data<'a>(&'a self, bytes: &'a [u8]) -> Data<'a> {
        Data { sectors: bytes.as_chunks().0, contents: &self.0 }
    }

    /// Forgets the read.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// Data of a read.
#[derive(Clone, Copy)]
pub(crate) struct Data<'a> {
    sectors: &'a [Bytes],
    /// Contents of the sectors; empty if not inspected yet.
    contents: &'a [Content],
}

impl<'a> Data<'a> {
    /// Data that is inspected only where the state says that there is something to check.
    pub(crate) fn unseen(bytes: &'a [u8]) -> Data<'a> {
        Data { sectors: bytes.as_chunks().0, contents: &[] }
    }

    /// Bytes of its whole sectors.
    pub(crate) fn bytes(&self) -> u64 {
        self.sectors.len() as u64 * SECTOR
    }

    #[inline]
    fn content(&self, index: usize, looks: &Looks<'_>) -> Content {
        self.contents.get(index).copied().unwrap_or_else(|| content_of(&self.sectors[index], looks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_archive::WriteId;
    use iosonar_plan::Nanos;
    use iosonar_verify::Ended;

    const READER: Reader = Reader {
        target: 0,
        found_by: FoundBy::Read,
        request: None,
        submitted: Nanos(0),
        completed: Nanos(0),
    };

    fn looks(places: &[TargetPlace]) -> Looks<'_> {
        Looks { run_id: 1, fill: Fill::default(), poison: 7, after_crash: None, base: 0, places }
    }

    /// A write that is lost, and found so; then the place is read again while the next write of it is in flight, or after that.
    fn read_again(is_over_before: bool) -> usize {
        let (places, zeros) = ([TargetPlace { device: 0, base: 0 }], [0; 512]);
        let (looks, place) = (looks(&places), Sectors { start: 8, count: 1 });
        let mut device = Device::new(ByteSize(1 << 20));
        let tag = |sequence| Tag::of(WriteId { target: 0, phase: 0, pass: 0, sequence });
        let lost = device.expected().begin_write(place, tag(0));
        device.expected().end_write(lost, Ended::Acknowledged);
        let read = device.expected().begin_read(place);
        assert_eq!(device.end_read(read, Data::unseen(&zeros), &looks, READER).len(), 1);
        let next = device.expected().begin_write(place, tag(1));
        let again = if is_over_before {
            device.expected().end_write(next, Ended::Acknowledged);
            device.expected().begin_read(place)
        } else {
            let again = device.expected().begin_read(place);
            device.expected().end_write(next, Ended::Acknowledged);
            again
        };
        let answer = device.end_read_again(again, Data::unseen(&zeros), 8, (0, 0), &looks, READER);
        assert_eq!(answer, ReadAgain::Superseded);
        device.observations.len()
    }

    #[test]
    fn reports_lost_write_once_despite_next_in_flight() {
        assert_eq!(read_again(false), 1);
        // The next one is lost, too.
        assert_eq!(read_again(true), 2);
    }
}
