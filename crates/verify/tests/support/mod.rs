//! An obvious oracle, and random histories that it is asked about.
//!
//! The oracle keeps all writes and all observations for good, and applies the rule to each sector by search.

use iosonar_archive::WriteId;
use iosonar_testkit::SplitMix;
use iosonar_verify::{Ended, Expected, Flight, Legal, Sectors, Tag};
use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy)]
struct Write {
    tag: Tag,
    begin: u64,
    end: u64,
    acknowledged: bool,
}

const INITIAL: Write = Write { tag: Tag::INITIAL, begin: 0, end: 0, acknowledged: true };
const NEVER: u64 = u64::MAX;

/// A read from `begin` to `end` has found one of these writes.
#[derive(Debug)]
struct Observation {
    begin: u64,
    end: u64,
    found: Vec<Write>,
}

impl Observation {
    /// Whether later reads must not find `write`.
    fn refutes(&self, write: &Write) -> bool {
        self.found.iter().all(|seen| {
            let before = write.end < seen.begin;
            let after = seen.end < write.begin;
            let both_ended = write.end < self.begin && seen.end < self.begin;
            write.begin != seen.begin && (before || (!after && both_ended))
        })
    }
}

#[derive(Debug)]
struct Sector {
    writes: Vec<Write>,
    observations: Vec<Observation>,
}

/// Legal contents, in a form that can be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Unknown,
    Any,
    Tags(Vec<Tag>),
}

impl From<Legal<'_>> for Answer {
    fn from(legal: Legal<'_>) -> Answer {
        match legal {
            Legal::Unwritten => Answer::Tags(vec![Tag::INITIAL]),
            Legal::Unknown => Answer::Unknown,
            Legal::Any => Answer::Any,
            Legal::One(tag) => Answer::Tags(vec![tag]),
            Legal::Several(tags) | Legal::Mixed(tags) => Answer::Tags(tags.to_vec()),
        }
    }
}

impl Answer {
    /// Whether everything that `other` allows is allowed here, too.
    pub fn includes(&self, other: &Answer) -> bool {
        match (self, other) {
            (Answer::Unknown, _) | (Answer::Any, Answer::Any | Answer::Tags(_)) => true,
            (Answer::Tags(all), Answer::Tags(some)) => some.iter().all(|tag| all.contains(tag)),
            _ => false,
        }
    }
}

#[derive(Debug, Default)]
pub struct Oracle {
    clock: u64,
    sectors: BTreeMap<u64, Sector>,
}

impl Oracle {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn sector(&mut self, sector: u64) -> &mut Sector {
        self.sectors
            .entry(sector)
            .or_insert_with(|| Sector { writes: vec![INITIAL], observations: Vec::new() })
    }

    fn begin_write(&mut self, range: Sectors, tag: Tag) -> u64 {
        let begin = self.tick();
        for sector in range.start..range.end() {
            self.sector(sector).writes.push(Write { tag, begin, end: NEVER, acknowledged: false });
        }
        begin
    }

    fn end_write(&mut self, range: Sectors, begin: u64, acknowledged: bool) {
        let end = self.tick();
        for sector in range.start..range.end() {
            let write = self.sector(sector).writes.iter_mut().find(|write| write.begin == begin).unwrap();
            (write.end, write.acknowledged) = (end, acknowledged);
        }
    }

    /// Applies the rule.
    fn versions(&self, sector: u64, begin: u64, end: u64) -> Vec<Write> {
        let Some(sector) = self.sectors.get(&sector) else { return vec![INITIAL] };
        let is_legal = |write: &&Write| {
            let superseded =
                |other: &Write| other.acknowledged && write.end < other.begin && other.end < begin;
            let refuted = |observation: &Observation| observation.end < begin && observation.refutes(write);
            write.begin < end
                && !sector.writes.iter().any(superseded)
                && !sector.observations.iter().any(refuted)
        };
        sector.writes.iter().filter(is_legal).copied().collect()
    }

    fn answer(versions: &[Write]) -> Answer {
        let mut tags: Vec<Tag> = Vec::new();
        for write in versions {
            if !tags.contains(&write.tag) {
                tags.push(write.tag);
            }
        }
        match tags {
            tags if tags.contains(&Tag::UNKNOWN) => Answer::Unknown,
            tags if tags.contains(&Tag::ANY) => Answer::Any,
            tags => Answer::Tags(tags),
        }
    }

    /// Whether more writes covered a sector than the expected state may be able to keep.
    fn may_overflow(&self, sector: u64) -> bool {
        self.sectors.get(&sector).is_some_and(|sector| sector.writes.len() > 1 + 8)
    }

    /// Legal contents for a read that begins and ends now, and whether they were found before.
    pub fn now(&self, sector: u64) -> (Answer, bool) {
        let versions = self.versions(sector, self.clock + 1, self.clock + 1);
        let is_present = |write: &Write| versions.iter().any(|other| other.begin == write.begin);
        let observations = self.sectors.get(&sector).map_or(&[][..], |sector| &sector.observations);
        let mut found = observations.iter().flat_map(|observation| &observation.found);
        let seen = found.any(|write| write.tag != Tag::INITIAL && is_present(write));
        (Self::answer(&versions), seen)
    }
}

/// One step of a history. Numbers are taken modulo the size of the history, so that each list of steps is a history.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    Write { start: u64, count: u64, tag: u64 },
    Read { start: u64, count: u64 },
    End { which: u64, how: u64 },
    Forget { start: u64, count: u64 },
}

/// Range and parameters of a history.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    pub start: u64,
    pub sectors: u64,
    pub longest: u64,
    /// Requests in flight at most.
    pub depth: usize,
    /// The expected state must be the same as the oracle's, where few enough writes overlap; else it may allow more.
    pub exact: bool,
}

impl Field {
    fn range(&self, start: u64, count: u64) -> Sectors {
        let start = start % self.sectors;
        let most = self.longest.min(self.sectors - start);
        Sectors::new(self.start + start, 1 + count % most)
    }
}

#[derive(Debug)]
struct Request {
    flight: Flight,
    range: Sectors,
    begin: u64,
    tag: Option<Tag>,
}

/// A history that is executed in both at the same time.
pub struct History {
    pub expected: Expected,
    pub oracle: Oracle,
    field: Field,
    flying: Vec<Request>,
    writes: u64,
    /// Sectors that were compared.
    pub compared: u64,
    pub unknown: u64,
}

impl History {
    pub fn new(expected: Expected, field: Field) -> History {
        let (oracle, flying) = (Oracle::default(), Vec::new());
        History { expected, oracle, field, flying, writes: 0, compared: 0, unknown: 0 }
    }

    fn tag(&mut self, tag: u64) -> Tag {
        self.writes += 1;
        match tag % 16 {
            0 => Tag::ANY,
            1 | 2 => Tag::ZEROS,
            // A version that is written twice.
            3 => Tag::of(WriteId { target: 0, phase: 0, pass: 0, sequence: 0 }),
            4 => Tag::UNKNOWN,
            _ => Tag::of(WriteId { target: 0, phase: 0, pass: 0, sequence: self.writes }),
        }
    }

    pub fn step(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::Write { .. } | Step::Read { .. } if self.flying.len() >= self.field.depth => {}
            Step::Write { start, count, tag } => {
                let (range, tag) = (self.field.range(start, count), self.tag(tag));
                let flight = self.expected.begin_write(range, tag);
                let begin = self.oracle.begin_write(range, tag);
                self.flying.push(Request { flight, range, begin, tag: Some(tag) });
            }
            Step::Read { start, count } => {
                let range = self.field.range(start, count);
                let (flight, begin) = (self.expected.begin_read(range), self.oracle.tick());
                self.flying.push(Request { flight, range, begin, tag: None });
            }
            Step::End { which, how } if !self.flying.is_empty() => {
                let request = self.flying.swap_remove((which % self.flying.len() as u64) as usize);
                self.end(request, how)?;
            }
            Step::End { .. } => {}
            Step::Forget { start, count } => {
                let range = self.field.range(start, count);
                self.expected.forget(range);
                let begin = self.oracle.begin_write(range, Tag::INITIAL);
                self.oracle.end_write(range, begin, true);
            }
        }
        Ok(())
    }

    fn end(&mut self, request: Request, how: u64) -> Result<(), String> {
        let Request { flight, range, begin, tag } = request;
        if tag.is_some() {
            let acknowledged = !how.is_multiple_of(4);
            self.expected.end_write(flight, if acknowledged { Ended::Acknowledged } else { Ended::Failed });
            self.oracle.end_write(range, begin, acknowledged);
            return Ok(());
        }
        let end = self.oracle.tick();
        let transferred = if how.is_multiple_of(8) { how / 8 % (range.count + 1) } else { range.count };
        let (oracle, exact) = (&mut self.oracle, self.field.exact);
        let mut random = SplitMix(how);
        // Reads find mostly one version in all sectors: the newest, the oldest, another.
        let (favourite, mut next) = (random.next(), range.start);
        let mut error = None;
        self.expected.end_read(flight, transferred, |sector, legal| {
            let versions = oracle.versions(sector, begin, end);
            let (mine, right) = (Answer::from(legal), Oracle::answer(&versions));
            let exact = exact && !oracle.may_overflow(sector);
            let agrees = if exact { mine == right } else { mine.includes(&right) };
            if sector != next || !agrees {
                let text = format!("sector {sector} (due {next}): {mine:?} instead of {right:?}");
                error.get_or_insert(text);
            }
            next = sector + 1;
            self.compared += 1;
            self.unknown += u64::from(mine == Answer::Unknown && right != Answer::Unknown);
            let choice = if random.below(4) == 0 { random.next() } else { favourite };
            let found = match (choice % 16, versions.len()) {
                (0, _) | (_, 0) => None,
                (1, _) => Some(Tag::ZEROS),
                (_, known) => Some(versions[(choice / 16 % known as u64) as usize].tag),
            };
            if let (Some(tag), Answer::Tags(_)) = (found, right) {
                let found: Vec<Write> = versions.into_iter().filter(|write| write.tag == tag).collect();
                if !found.is_empty() {
                    oracle.sector(sector).observations.push(Observation { begin, end, found });
                }
            }
            found
        });
        if next != range.start + transferred {
            error.get_or_insert(format!("asked up to {next} for {range:?}, transferred {transferred}"));
        }
        error.map_or(Ok(()), Err)
    }

    /// Ends all that is in flight.
    pub fn finish(&mut self) -> Result<(), String> {
        while !self.flying.is_empty() {
            let how = self.flying.len() as u64 * 7 + 1;
            self.step(Step::End { which: how, how })?;
        }
        Ok(())
    }

    /// Compares each sector of the field as it is now.
    pub fn compare(&mut self) -> Result<(), String> {
        for sector in self.field.start..self.field.start + self.field.sectors {
            let state = self.expected.expected(sector);
            let (mine, (right, seen)) = (Answer::from(state.legal()), self.oracle.now(sector));
            let exact = self.field.exact && !self.oracle.may_overflow(sector);
            let agrees = if exact { mine == right } else { mine.includes(&right) };
            if !agrees {
                return Err(format!("sector {sector} is {mine:?} instead of {right:?}"));
            }
            if exact && matches!(right, Answer::Tags(_)) && state.seen != seen {
                return Err(format!("sector {sector}: seen is not {seen}"));
            }
        }
        Ok(())
    }

    /// Compares the touched ranges, when nothing is in flight.
    pub fn compare_touched(&mut self) -> Result<(), String> {
        let ranges: Vec<Sectors> = self.expected.touched().collect();
        if let Some(pair) = ranges.windows(2).find(|pair| pair[0].end() >= pair[1].start) {
            return Err(format!("touched ranges are not merged: {pair:?}"));
        }
        for sector in self.field.start..self.field.start + self.field.sectors {
            let touched = ranges.iter().any(|range| range.overlaps(Sectors::new(sector, 1)));
            let written = self.oracle.now(sector).0 != Answer::Tags(vec![Tag::INITIAL]);
            let exact = self.field.exact && !self.oracle.may_overflow(sector);
            if if exact { touched != written } else { written && !touched } {
                return Err(format!("sector {sector}: touched is {touched} in {ranges:?}"));
            }
        }
        Ok(())
    }
}
