//! The expected state of a device while requests run.
//!
//! **Time.** Each call takes the next tick of a logical clock. So an interval from begin to end is never shorter than
//! the real one, and two requests count as concurrent if in doubt: on the safe side.
//!
//! **Rule.** A write is acknowledged only by [`Ended::Acknowledged`]; a failed one ends, too. A read from r0 to r1 may
//! find at a sector:
//! 1. each write that began before r1, unless an acknowledged one began after its end and ended before r0;
//! 2. the initial content, as if it were a write that ended before all others began;
//! 3. but after a read has found version v, later reads may not find what ended before v began; and if that read began
//!    after both had ended, nothing else that is concurrent with v. A failed write that began after v had ended may
//!    still reach the device, so it stays.
//!
//! A sector may hold parts of several legal versions where one of them was written byte by byte, or the read was and a write was in
//! flight meanwhile ([`Legal::Mixed`]).
//!
//! **Two places.** Where one version is legal and no write in flight overlaps another request, the [`table`] has the whole truth,
//! and a write in flight is only a [flight](flights). All else is in the [`side`] table: a range moves there when requests overlap
//! or a write fails, and back when one version remains. Both only ever err by allowing more, if memory runs out.

mod arena;
mod flights;
mod lost;
mod side;
mod table;
#[cfg(test)]
mod table_tests;

use crate::{Atomic, Sectors, Tag};
use flights::{Flights, InFlight, Kind};
use side::{CANDIDATES, Candidate, Mask, NEVER, Outcome, RANGE_BYTES, RANGES, Side, Uncertain};
use table::{Settled, Table};

/// Sectors of a chunk, 64 KiB.
const CHUNK: u64 = 128;

/// End of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It succeeded in full.
    Acknowledged,
    /// It failed, was short, or was cancelled in flight: each of its sectors may hold it or not.
    Failed,
}

/// A request in flight. Give it back when the request ends.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a request that never ends stays in flight"]
pub struct Flight(u32);

/// Legal contents of a sector for a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Legal<'a> {
    /// The initial content only: there is nothing to check.
    Unwritten,
    /// Any content: the state was given up.
    Unknown,
    /// Any content, for example after a discard.
    Any,
    /// One version.
    One(Tag),
    /// One of these, the oldest first; [`Tag::INITIAL`] may be among them. An empty list means that earlier reads
    /// contradict each other: each version was proved not to be there.
    Several(&'a [Tag]),
    /// The same, or parts of several of them: requests that overlap in time copied them byte by byte.
    Mixed(&'a [Tag]),
}

/// State of a sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    tags: [Tag; CANDIDATES + 2],
    count: u8,
    /// A read has found the present version (one of them, if there are several).
    pub seen: bool,
    /// This run had written the sector before it wrote the present version.
    pub rewritten: bool,
}

impl State {
    fn new() -> State {
        State { tags: [Tag::INITIAL; CANDIDATES + 2], count: 0, seen: false, rewritten: false }
    }

    fn add(&mut self, tag: Tag) {
        if !self.tags[..self.count as usize].contains(&tag) {
            self.tags[self.count as usize] = tag;
            self.count += 1;
        }
    }

    /// Legal contents for a read that begins and ends now.
    pub fn legal(&self) -> Legal<'_> {
        match &self.tags[..self.count as usize] {
            tags if tags.contains(&Tag::UNKNOWN) => Legal::Unknown,
            tags if tags.contains(&Tag::ANY) => Legal::Any,
            [tag] => one(*tag),
            tags => Legal::Several(tags),
        }
    }
}

/// One legal version.
fn one(tag: Tag) -> Legal<'static> {
    match tag {
        Tag::INITIAL => Legal::Unwritten,
        Tag::UNKNOWN => Legal::Unknown,
        Tag::ANY => Legal::Any,
        tag => Legal::One(tag),
    }
}

/// The expected state of one device.
#[derive(Debug)]
pub struct Expected {
    clock: u64,
    flights: Flights,
    side: Side,
    table: Table,
}

impl Expected {
    /// An untouched device. `limit_bytes` is how much memory may be used. It is reserved now, and occupied only as
    /// sectors are written.
    pub fn new(limit_bytes: u64) -> Expected {
        let side = side_share(limit_bytes);
        Expected {
            clock: 0,
            flights: Flights::new(),
            side: Side::new((side / RANGE_BYTES) as usize),
            table: Table::new(limit_bytes.saturating_sub(side + flights_share(limit_bytes))),
        }
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Begins a write that is about to be submitted. After it `range` holds `tag`: [`Tag::ANY`] for a discard, [`Tag::ZEROS`] for a
    /// write of zeros.
    pub fn begin_write(&mut self, range: Sectors, tag: Tag) -> Flight {
        self.begin_write_by(Atomic::Sector, range, tag)
    }

    /// Begins a write by an access method of this unit.
    pub fn begin_write_by(&mut self, atomic: Atomic, range: Sectors, tag: Tag) -> Flight {
        let begin = self.tick();
        self.share_writes(range);
        let alone = self.side.next(range).is_none()
            && self.flights.write_over(range, |_| true).is_none()
            && !self.flights.has_read(range);
        if !alone {
            self.add_candidate(range, Candidate::new(tag, begin, NEVER).by(atomic));
        }
        Flight(self.flights.insert(range, begin, tag, (Kind::Write { alone }, atomic)))
    }

    /// Ends a write.
    pub fn end_write(&mut self, flight: Flight, ended: Ended) {
        let now = self.tick();
        let write = self.flights.remove(flight.0);
        match (write.kind == Kind::Write { alone: true }, ended) {
            (true, Ended::Acknowledged) => self.table.set(write.range, write.tag, false, false),
            (true, Ended::Failed) => {
                let failed = Candidate::new(write.tag, write.begin, now).by(write.atomic);
                self.add_candidate(write.range, failed);
            }
            (false, _) => self.end_shared(write.range, write.begin, now, ended),
        }
    }

    /// Begins a read that is about to be submitted.
    pub fn begin_read(&mut self, range: Sectors) -> Flight {
        self.begin_read_by(Atomic::Sector, range)
    }

    /// Begins a read by an access method of this unit.
    pub fn begin_read_by(&mut self, atomic: Atomic, range: Sectors) -> Flight {
        let begin = self.tick();
        self.share_writes(range);
        Flight(self.flights.insert(range, begin, Tag::INITIAL, (Kind::Read, atomic)))
    }

    /// Range of a request in flight.
    pub fn range(&self, flight: &Flight) -> Sectors {
        self.flights.range(flight.0)
    }

    /// Ends a read whose first `transferred` sectors were read. `found` is called for each of them in order, with the legal
    /// versions, and returns the tag of the content; `None` if it has no legal one, or was not examined.
    pub fn end_read(
        &mut self,
        flight: Flight,
        transferred: u64,
        mut found: impl FnMut(u64, Legal<'_>) -> Option<Tag>,
    ) {
        let now = self.tick();
        let read = self.flights.remove(flight.0);
        let range = Sectors::new(read.range.start, transferred.min(read.range.count));
        let Some(reach) = self.side.reach(read.range) else {
            return self.check_settled(range, &mut found);
        };
        let mut at = range.start;
        while let Some((part, uncertain)) = self.side.first_part(Sectors::between(at, range.end())) {
            match uncertain {
                None => self.check_settled(part, &mut found),
                Some(whole) => self.check_uncertain(part, whole.start, (&read, now), &mut found),
            }
            at = part.end();
        }
        self.settle(reach);
    }

    /// Forgets the content of `range`: its file was recreated, or cut.
    pub fn forget(&mut self, range: Sectors) {
        let flight = self.begin_write(range, Tag::INITIAL);
        self.end_write(flight, Ended::Acknowledged);
    }

    /// Whether nothing of `range` was written, so that a read has nothing to check there. A write in flight that no other request
    /// overlaps does not count.
    pub fn is_untouched(&self, range: Sectors) -> bool {
        self.table.is_initial(range) && self.side.next(range).is_none()
    }

    /// Legal contents of `sector` for a read that begins and ends now.
    pub fn expected(&self, sector: u64) -> State {
        let mut state = State::new();
        let place = Sectors::new(sector, 1);
        let Settled { tag, seen, rewritten } = self.table.get(sector);
        (state.seen, state.rewritten) = (seen, rewritten);
        match self.side.next(place) {
            None => state.add(tag),
            Some(range) => {
                let uncertain = self.side.get(range.start);
                let legal = uncertain.legal(NEVER - 1);
                uncertain.tags(legal, tag).for_each(|(_, tag)| state.add(tag));
                let mut candidates = uncertain.candidates().iter().filter(|c| c.gone_since == NEVER);
                state.seen =
                    (legal & side::BASE != 0 && seen) || candidates.any(|c| c.seen && c.tag != Tag::INITIAL);
                // Earlier versions are those before the oldest legal one.
                if legal & side::BASE == 0 {
                    state.rewritten = uncertain.rewritten || tag != Tag::INITIAL;
                }
            }
        }
        self.flights.write_over(place, |write| {
            if write.kind == (Kind::Write { alone: true }) {
                state.add(write.tag);
            }
            false
        });
        state
    }

    /// The sectors around `sector` that hold the same version, at most `most` on each side. Only `sector`, if its state
    /// is not settled.
    pub fn same_write(&self, sector: u64, most: u64) -> Sectors {
        let is_settled = |sector| self.side.next(Sectors::new(sector, 1)).is_none();
        if !is_settled(sector) {
            return Sectors::new(sector, 1);
        }
        let tag = self.table.get(sector).tag;
        let is_same = |&other: &u64| self.table.get(other).tag == tag && is_settled(other);
        let before = (sector.saturating_sub(most)..sector).rev().take_while(is_same).count() as u64;
        let after = (sector + 1..=sector.saturating_add(most)).take_while(is_same).count() as u64;
        Sectors::between(sector - before, sector + 1 + after)
    }

    /// The ranges that this run has written, or whose state is unknown; ascending, and merged. A write that is in flight
    /// is not always among them.
    pub fn touched(&self) -> impl Iterator<Item = Sectors> {
        let mut settled = self.table.touched().peekable();
        let mut side = self.side.iter().peekable();
        let mut next = move || match (settled.peek(), side.peek()) {
            (Some(a), Some(b)) if a.start <= b.start => settled.next(),
            (_, Some(_)) => side.next(),
            _ => settled.next(),
        };
        let mut current = next();
        std::iter::from_fn(move || {
            let mut merged = current.take()?;
            current = next();
            while let Some(more) = current.filter(|more| more.start <= merged.end()) {
                merged = Sectors::between(merged.start, merged.end().max(more.end()));
                current = next();
            }
            Some(merged)
        })
    }

    /// Sectors whose state is unknown now: memory was short, or too many requests overlapped. They were written, or lie in
    /// the same 4 KiB, or with even less memory in the same 64 KiB.
    pub fn unknown_sectors(&self) -> u64 {
        self.table.unknown() + self.table.nowhere()
    }

    /// Sectors whose state was given up since the start, counted each time.
    pub fn given_up_sectors(&self) -> u64 {
        self.table.given_up()
    }

    /// Memory in use.
    pub fn bytes(&self) -> u64 {
        size_of::<Expected>() as u64 + self.flights.bytes() + self.side.bytes() + self.table.bytes()
    }

    /// Moves all writes in flight over `range` into the side table, because another request is about to overlap them.
    fn share_writes(&mut self, range: Sectors) {
        let alone = Kind::Write { alone: true };
        while let Some(id) = self.flights.write_over(range, |write| write.kind == alone) {
            let write = self.flights.share(id);
            let shared = Candidate::new(write.tag, write.begin, NEVER).by(write.atomic);
            self.add_candidate(write.range, shared);
        }
    }

    /// Makes a write one of the legal versions of its range.
    fn add_candidate(&mut self, range: Sectors, new: Candidate) {
        let reach = self.side.reach(range).unwrap_or(range);
        let isolated = self.side.isolate(range);
        let mut at = range.start;
        while let Some((part, whole)) = self.side.first_part(Sectors::between(at, range.end())) {
            at = part.end();
            let Some(whole) = whole else {
                self.add_range(part, new);
                continue;
            };
            // A range that could not be cut reaches beyond the write.
            let fits = isolated || whole == part;
            if !(fits && self.side.get_mut(whole.start).push(new)) {
                self.side.get_mut(whole.start).give_up();
                self.table.set(whole, Tag::UNKNOWN, false, false);
            }
        }
        // A read may have held back only the other part of a range that was cut.
        self.settle(reach);
    }

    fn add_range(&mut self, range: Sectors, new: Candidate) {
        let unfinished = self.is_unfinished(range, |begin| begin == new.begin);
        if !self.side.insert(range, Uncertain::new(new, unfinished)) {
            self.table.set(range, Tag::UNKNOWN, false, false);
        }
    }

    /// Whether a write is in flight over `range` that shares it, but is not among the `candidates`: there was no room.
    fn is_unfinished(&self, range: Sectors, candidates: impl Fn(u64) -> bool) -> bool {
        let shared = Kind::Write { alone: false };
        let lost = self.flights.write_over(range, |write| write.kind == shared && !candidates(write.begin));
        lost.is_some()
    }

    fn end_shared(&mut self, range: Sectors, begin: u64, now: u64, ended: Ended) {
        let mut at = range.start;
        while let Some(part) = self.side.next(Sectors::between(at, range.end())) {
            at = part.end().min(range.end());
            let uncertain = self.side.get(part.start);
            if uncertain.contains(begin) {
                let acknowledged = ended == Ended::Acknowledged;
                self.side.get_mut(part.start).end_write(begin, now, acknowledged);
            } else if !self.is_unfinished(part, |other| uncertain.contains(other)) {
                self.side.get_mut(part.start).base_ended(now);
            }
        }
        self.settle(range);
    }

    fn check_settled(&mut self, range: Sectors, found: &mut impl FnMut(u64, Legal<'_>) -> Option<Tag>) {
        self.table.check(range, |sector, tag| found(sector, one(tag)) == Some(tag) && !tag.allows_all());
    }

    /// Checks a part of the range of the side table that starts at `start`. Runs of sectors where the same versions were found
    /// become separate ranges.
    fn check_uncertain(
        &mut self,
        part: Sectors,
        start: u64,
        (read, now): (&InFlight, u64),
        found: &mut impl FnMut(u64, Legal<'_>) -> Option<Tag>,
    ) {
        let uncertain = *self.side.get(start);
        let begin = read.begin;
        let legal = uncertain.legal(begin);
        let is_mixed = uncertain.is_mixed(legal, begin, read.atomic);
        let mut run = (part.start, 0);
        for sector in part.start..part.end() {
            let base = self.table.get(sector).tag;
            let mask = check_sector(&uncertain, legal, base, |legal| match legal {
                Legal::Several(tags) if is_mixed => found(sector, Legal::Mixed(tags)),
                legal => found(sector, legal),
            });
            if mask & side::BASE != 0 {
                self.table.mark_seen(sector);
            }
            if mask != run.1 {
                self.observe(Sectors::between(run.0, sector), run.1, begin, now);
                run = (sector, mask);
            }
        }
        self.observe(Sectors::between(run.0, part.end()), run.1, begin, now);
    }

    fn observe(&mut self, run: Sectors, found: Mask, begin: u64, now: u64) {
        // Without room for the cut, nothing is concluded: more stays legal.
        if run.count > 0 && found != 0 && self.side.isolate(run) {
            self.side.get_mut(run.start).observe(found, begin, now);
        }
    }

    /// Moves ranges with one version back into the table.
    fn settle(&mut self, range: Sectors) {
        let mut at = range.start;
        while let Some(part) = self.side.next(Sectors::between(at, range.end())) {
            at = part.end().min(range.end());
            let oldest_read = self.flights.oldest_read(part);
            let uncertain = self.side.get_mut(part.start);
            uncertain.prune(oldest_read);
            let rewritten = uncertain.rewritten;
            match uncertain.outcome() {
                None => continue,
                Some(Outcome::Base) => {}
                Some(Outcome::Only(version)) => {
                    self.table.set(part, version.tag, version.seen, rewritten);
                }
            }
            self.side.remove(part.start);
        }
        self.side.join(range);
    }
}

/// Calls `found` for one sector; returns the legal versions that have the returned tag.
fn check_sector(
    uncertain: &Uncertain,
    legal: Mask,
    base: Tag,
    found: impl FnOnce(Legal<'_>) -> Option<Tag>,
) -> Mask {
    let mut state = State::new();
    uncertain.tags(legal, base).for_each(|(_, tag)| state.add(tag));
    let answer = found(state.legal());
    match (state.legal(), answer) {
        // The content may be that of any version, for any tag.
        (Legal::Unknown | Legal::Any, _) | (_, None) => 0,
        (_, Some(tag)) => uncertain
            .tags(legal, base)
            .filter(|&(_, other)| other == tag)
            .fold(0, |mask, (bit, _)| mask | bit),
    }
}

/// Bytes of the limit for the side table.
fn side_share(limit: u64) -> u64 {
    (limit / 32).clamp(256 * RANGE_BYTES, RANGES as u64 * RANGE_BYTES).min(limit / 4)
}

/// Bytes of the limit for requests in flight.
fn flights_share(limit: u64) -> u64 {
    (limit / 8).min(flights::USUAL_BYTES)
}

/// The limit that suffices for `touched_bytes` that are written in one piece from the start of the target; `aligned`: all
/// writes begin and end at multiples of 4 KiB.
pub fn bound(touched_bytes: u64, aligned: bool) -> u64 {
    bound_of_chunks(touched_bytes.div_ceil(CHUNK * 512), touched_bytes, aligned)
}

/// The limit that suffices if `chunks` of the target's pieces of 64 KiB are written to, and no byte from `end_bytes` on.
pub fn bound_of_chunks(chunks: u64, end_bytes: u64, aligned: bool) -> u64 {
    let enough = |limit: u64| {
        let others = side_share(limit) + flights_share(limit);
        others + table::need(chunks, end_bytes, aligned, limit.saturating_sub(others))
    };
    // Blocks of memory are larger if the limit is, and less is lost then. So go up to a sufficient limit, and down again.
    let mut limit = 0;
    while enough(limit) > limit {
        limit = enough(limit);
    }
    loop {
        let less = enough(limit);
        if less >= limit || enough(less) > less {
            return limit;
        }
        limit = less;
    }
}
