//! From events to requests: which event counts as the request, and which completion belongs to it.

use super::event::{Action, Counts, Device, Event, Events, Rwbs};
use super::flushes::{Flushes, OWN_END_NS, OWN_END_REQUESTS};
use super::retry::{EAGAIN, HELD, HELD_NS, RETRIED, Refused, is_retry};
use crate::request::{Entry, Flags, Kind, Next, Pairing, Process, Requests, Traced};
use iosonar_plan::{Extent, Nanos, SECTOR};
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::ops::Range;

/// Which event counts as the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At(Action);

impl At {
    /// Queued, before the kernel merges and splits requests.
    pub const QUEUE: At = At(Action::Queue);
    /// Request allocated.
    pub const GET_REQUEST: At = At(Action::GetRequest);
    /// Inserted into the scheduler.
    pub const INSERT: At = At(Action::Insert);
    /// Issued to the driver, merged and split.
    pub const ISSUE: At = At(Action::Issue);
    /// Completed.
    pub const COMPLETE: At = At(Action::Complete);

    /// All choices, with their words.
    pub const ALL: [(At, &'static str); 5] = [
        (At::QUEUE, "queue"),
        (At::GET_REQUEST, "get-request"),
        (At::INSERT, "insert"),
        (At::ISSUE, "issue"),
        (At::COMPLETE, "complete"),
    ];

    /// The most frequent of the first four, as blkreplay's conversion chooses it; of equally frequent ones the earliest
    /// in a request's life. `None` if the trace has none of the four.
    pub fn most_frequent(counts: &Counts) -> Option<At> {
        let count = |at: &At| counts[at.0 as usize];
        let begins = At::ALL[..4].iter().map(|(at, _)| *at).rev();
        begins.filter(|at| count(at) > 0).max_by_key(count)
    }

    /// Returns the word.
    pub fn word(self) -> &'static str {
        At::ALL.iter().find(|(at, _)| *at == self).map_or("", |(_, word)| word)
    }

    /// Returns blkparse's letter of the event.
    pub fn letter(self) -> char {
        self.0.name().chars().next().unwrap_or('?')
    }
}

/// How completions are matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// Not at all: requests have no latency.
    None,
    /// A completion ends the requests it covers on the same device and of the same kind: one request, several merged
    /// ones, or a part of a split one. Ambiguous matches are marked.
    Exact,
    /// As blkreplay's script with guessed timing (spec 1.5): the first of the events Q, G, I and D of a place, length
    /// and direction is the start, the next C of those is the end; requests older than 10 s are dropped.
    Guessed,
}

/// Requests are given up this long after their start.
const LONGEST_EXACT: u64 = 120_000_000_000;
const LONGEST_GUESSED: u64 = 10_000_000_000;
/// Maximum number of requests that wait for their end, or for the end of an earlier one.
const MOST_WAITING: usize = 1 << 20;
/// Requests searched for EAGAIN if completions are not matched: it comes within the call that queued one.
const LOOKED_BACK: usize = 1 << 12;

/// A request that waits for its end, for a second try, or for its turn.
#[derive(Debug)]
struct Waiting {
    request: Traced,
    state: State,
    begun: u64,
    ends: Ends,
    /// Completions of a write's data that await a completion without length, where the write ends by its own.
    parts: u32,
}

/// Which completion ends a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// A completion that covers it.
    Covered,
    /// The last one, without length, which follows all that the kernel did for it: flush, data, flush.
    Own,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// None of its sectors, of which there are this many, has completed.
    Open(u64),
    /// Partly completed.
    InPart,
    /// Its data, or a device flush that served it, ended at this time. Its own end may follow.
    Served(u64),
    /// Ended with EAGAIN: the kernel may issue it again.
    Refused,
    /// Ended or given up: only its turn is awaited.
    Settled,
    /// Not a separate request: requeued, or issued again by the kernel.
    Dropped,
}

impl State {
    /// Whether some of its sectors have not completed.
    fn is_open(self) -> bool {
        matches!(self, State::Open(_) | State::InPart)
    }
}

impl Waiting {
    /// A request whose end is not awaited.
    fn settled(request: Traced, time: Nanos) -> Waiting {
        Waiting { request, state: State::Settled, begun: time.0, ends: Ends::Covered, parts: 0 }
    }

    /// Records an end, which may not be the last one.
    fn end(&mut self, error: i32, time: Nanos) {
        let request = &mut self.request;
        request.latency = Some(time.saturating_sub(request.time));
        request.error = request.error.max(error);
        if request.pairing == Pairing::NoEnd {
            request.pairing = Pairing::Exact;
        }
    }

    /// Whether this ends a part of it, or all of it.
    fn covers(&self, part: Begun, device: u32) -> bool {
        let Traced { kind, device: own, .. } = self.request;
        let (sector, sectors) = self.request.sectors();
        (own, kind) == (device, part.kind)
            && sector <= part.sector
            && part.sector + part.sectors <= sector + sectors
    }
}

/// Key of requests in flight: device, kind, first sector and number. The first three are the place, which is compared
/// as one number.
pub(super) type Key = (EventKey, u64);

/// Device, kind and first sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EventKey(u128);

impl EventKey {
    fn new(device: Device, kind: Kind, sector: u64) -> EventKey {
        EventKey(u128::from(device.0) << 72 | u128::from(kind as u8) << 64 | u128::from(sector))
    }
}

/// Builds requests from events.
pub struct Paired<E> {
    events: E,
    pairs: Pairs,
    /// Time zero; `None`: that of the trace.
    origin: Option<Nanos>,
    from_first: bool,
    before_first: Nanos,
}

/// Requests so far.
struct Pairs {
    at: At,
    timing: Timing,
    /// Whether queued requests get the time of their first issue, too.
    has_issues: bool,
    /// Requests by start time; the first has the number `first`.
    waiting: VecDeque<Waiting>,
    first: u64,
    /// Requests below this number are given up.
    expired: u64,
    open: BTreeSet<Key>,
    refused: Refused,
    /// Tries dropped because the kernel issued the request again.
    retried: u64,
    /// Requests issued to the driver again without a requeue event.
    issued_again: u64,
    /// Latest time so far.
    now: u64,
    /// Most sectors of a request so far, which bounds how far before a completion the requests lie that it can end.
    longest: u64,
    /// Completed ranges of partly completed requests.
    parts: HashMap<u64, Covered>,
    flushes: Flushes,
    zones: Zones,
    is_over: bool,
    devices: Devices,
    counts: Counts,
}

impl<E: Events> Paired<E> {
    /// Takes events in time order. With a timing other than `None`, `at` must not be the completion.
    pub fn new(events: E, at: At, timing: Timing) -> Paired<E> {
        let pairs = Pairs {
            at,
            timing: if at == At::COMPLETE { Timing::None } else { timing },
            has_issues: false,
            waiting: VecDeque::new(),
            first: 0,
            expired: 0,
            open: BTreeSet::new(),
            refused: Refused::default(),
            retried: 0,
            issued_again: 0,
            now: 0,
            longest: 0,
            parts: HashMap::new(),
            flushes: Flushes::default(),
            zones: Zones::default(),
            is_over: false,
            devices: Devices::default(),
            counts: [0; Action::ALL.len()],
        };
        Paired { events, pairs, origin: None, from_first: false, before_first: Nanos(0) }
    }

    /// Sets time zero to the first event, as blkparse does, or `before` earlier: events of several CPUs can be out of
    /// order, and some are earlier than the first one, so that an unsigned time would be below zero.
    /// [`crate::FromFirst::at_most`] subtracts that time again.
    #[must_use]
    pub fn from_first(mut self, before: Nanos) -> Paired<E> {
        (self.from_first, self.before_first) = (true, before);
        self
    }

    /// Sets time zero to this time of the events' clock.
    #[must_use]
    pub fn since(mut self, origin: Nanos) -> Paired<E> {
        (self.from_first, self.origin) = (true, Some(origin));
        self
    }

    /// Also matches issues to the driver with queued requests, see [`Traced::issued`]. An issue event belongs to the
    /// requests that it covers, even partly: merged ones, or one of which it is a part. The first one counts.
    #[must_use]
    pub fn with_issues(mut self) -> Paired<E> {
        self.pairs.has_issues = self.pairs.at == At::QUEUE && self.pairs.timing == Timing::Exact;
        self
    }

    /// Adds names to device numbers: pairs of both.
    #[must_use]
    pub fn named(mut self, names: Vec<(String, String)>) -> Paired<E> {
        self.pairs.devices.names = names;
        self
    }

    /// Number of events so far, in the order of [`Action::ALL`].
    pub fn counts(&self) -> Counts {
        self.pairs.counts
    }

    /// Returns the source of the events.
    pub fn events(&self) -> &E {
        &self.events
    }
}

impl Pairs {
    /// Builds the request of an event, at this time.
    fn request(&mut self, event: &Event, time: Nanos) -> Traced {
        // Requests without a place, such as flushes, have the maximum sector; codecs reject all other such places.
        let offset = if event.is_possible() && event.sector < 1 << 54 { event.sector * SECTOR } else { 0 };
        let extent = Extent { offset, length: event.bytes };
        let rwbs = event.rwbs.of_length(event.bytes);
        let device = self.devices.number(event.device);
        Traced {
            flags: rwbs.flags,
            device,
            process: event.process,
            error: event.error,
            ..Traced::new(event.at, time, rwbs.kind, extent)
        }
    }

    fn is_begin(&self, action: Action) -> bool {
        match self.timing {
            Timing::Guessed => {
                matches!(action, Action::Queue | Action::GetRequest | Action::Insert | Action::Issue)
            }
            _ => action == self.at.0,
        }
    }

    /// Adds an event of this time; returns its request if completions are not matched.
    fn take(&mut self, event: &Event, time: Nanos) -> Option<Traced> {
        self.now = self.now.max(time.0);
        self.expire(time.0);
        self.counts[event.action as usize] += 1;
        let unlike =
            if event.rwbs.flags.has_any(Flags::ZONE, Flags::UNNAMED) { self.zones.read(event) } else { None };
        let event = unlike.as_ref().unwrap_or(event);
        let kind = event.rwbs.of_length(event.bytes).kind;
        if event.bytes == 0 && matches!(kind, Kind::Read | Kind::Write | Kind::Discard | Kind::WriteZeroes) {
            // The kernel ends flushing requests, and failed ones, again without a length.
            if kind == Kind::Write && event.action == Action::Complete && self.timing == Timing::Exact {
                self.end_own(event, time);
            }
            return None;
        }
        if self.timing == Timing::None {
            return self.take_without_end(event, time);
        }
        if event.action == Action::Issue && event.rwbs.is_device_flush() {
            self.flushes.issue(event.device, self.next_number());
        }
        if self.is_begin(event.action) {
            self.begin(event, time);
        } else if event.action == Action::Complete {
            self.end(event, time);
        } else if event.action == Action::Issue && self.has_issues {
            self.issue(event, time);
        } else if event.action == Action::Requeue && self.at == At::ISSUE {
            self.give_back(event);
        }
        None
    }

    /// Notes the first issue of the requests that this event covers, even partly. Of several equal ones the oldest is issued.
    fn issue(&mut self, event: &Event, time: Nanos) {
        let issued = Begun::of(event);
        let same: Vec<u64> = self.exactly(issued).collect();
        let covered: Vec<u64> =
            match same.iter().find(|number| self.waiting(**number).request.issued.is_none()) {
                Some(oldest) => vec![*oldest],
                // Requeued, and issued again.
                None if !same.is_empty() => return,
                None => self.sharing(issued).into_iter().map(|(number, _)| number).collect(),
            };
        for number in covered {
            let request = &mut self.waiting[(number - self.first) as usize].request;
            request.issued = request.issued.or(Some(time));
        }
    }

    /// The same without matched completions: only queued requests can end with EAGAIN and come again.
    fn take_without_end(&mut self, event: &Event, time: Nanos) -> Option<Traced> {
        if self.at == At::ISSUE {
            return self.take_issue(event, time);
        }
        if self.at != At::QUEUE {
            return (event.action == self.at.0).then(|| self.request(event, time));
        }
        if event.action == Action::Queue {
            let process = self.first_try(Begun::of(event), event.process);
            let request = Traced { process, ..self.request(event, time) };
            self.waiting.push_back(Waiting::settled(request, time));
        } else if event.action == Action::Complete && event.error == EAGAIN {
            self.refuse_held(event, time);
        }
        None
    }

    /// The same for requests of the driver, which can requeue them.
    fn take_issue(&mut self, event: &Event, time: Nanos) -> Option<Traced> {
        if event.action == Action::Issue {
            let request = self.request(event, time);
            self.waiting.push_back(Waiting::settled(request, time));
        } else if event.action == Action::Requeue {
            let (given_back, device) = (Begun::of(event), self.devices.number(event.device));
            let is_same = |w: &&mut Waiting| {
                w.state == State::Settled
                    && w.covers(given_back, device)
                    && w.request.sectors().1 == given_back.sectors
            };
            if let Some(waiting) = self.waiting.iter_mut().rev().take(LOOKED_BACK).find(is_same) {
                waiting.state = State::Dropped;
            }
        }
        None
    }

    /// Applies EAGAIN to the request that this process has just queued.
    fn refuse_held(&mut self, event: &Event, time: Nanos) {
        let ended = Begun::of(event);
        let device = self.devices.number(event.device);
        let recent = self.waiting.iter().enumerate().rev().take(LOOKED_BACK);
        let mut fitting = recent.filter(|(_, w)| w.state == State::Settled && w.covers(ended, device));
        let youngest = fitting.clone().next();
        let own = fitting.find(|(_, w)| w.request.process.pid == event.process.pid);
        if let Some((index, _)) = own.or(youngest) {
            self.refuse(self.first + index as u64, time.0);
        }
    }

    /// Waits for the second try of a request that ended with EAGAIN.
    fn refuse(&mut self, number: u64, now: u64) {
        let waiting = &mut self.waiting[(number - self.first) as usize];
        waiting.state = State::Refused;
        let request = waiting.request;
        self.refused.add((self.place(&request), number), now);
    }

    /// Returns the process that issued a starting request first, and drops its try that ended with EAGAIN. io_uring
    /// leaves the second try to a worker, whose name does not identify the program.
    fn first_try(&mut self, begun: Begun, process: Process) -> Process {
        if self.refused.is_empty() {
            return process;
        }
        let is_same = |number: u64| {
            let first = &self.waiting(number).request;
            first.sectors().1 == begun.sectors && is_retry(&first.process, &process)
        };
        let Some(number) = self.refused.at(begun.place()).find(|number| is_same(*number)) else {
            return process;
        };
        self.refused.remove((begun.place(), number));
        self.retried += 1;
        let first = &mut self.waiting[(number - self.first) as usize];
        first.state = State::Dropped;
        first.request.process
    }

    fn begin(&mut self, event: &Event, time: Nanos) {
        let begun = Begun::of(event);
        if self.timing == Timing::Guessed && self.exactly(begun).next().is_some() {
            return;
        }
        let number = self.next_number();
        self.longest = self.longest.max(begun.sectors);
        self.open.insert((begun.place(), number));
        let process = self.first_try(begun, event.process);
        let request = Traced { pairing: Pairing::NoEnd, process, ..self.request(event, time) };
        let state = State::Open(begun.sectors);
        let ends = self.ends(event, begun.kind);
        self.waiting.push_back(Waiting { request, state, begun: time.0, ends, parts: 0 });
    }

    /// Numbers of the open requests of exactly this place and length.
    fn exactly(&self, b: Begun) -> impl Iterator<Item = u64> + '_ {
        let place = b.place();
        // Looking up their ends would cost as much as all the rest.
        let keys = self.open.range((place, 0)..).take_while(move |key| key.0 == place);
        keys.map(|key| key.1).filter(move |n| self.waiting(*n).state == State::Open(b.sectors))
    }

    /// Number of the next request.
    fn next_number(&self) -> u64 {
        self.first + self.waiting.len() as u64
    }

    fn waiting(&self, number: u64) -> &Waiting {
        &self.waiting[(number - self.first) as usize]
    }

    fn end(&mut self, event: &Event, time: Nanos) {
        let ended = Begun::of(event);
        if event.error == EAGAIN && self.end_refused(ended, event, time) {
            return;
        }
        if ended.kind == Kind::Flush && self.timing == Timing::Exact {
            return self.end_flush(event, time);
        }
        let mut same = self.exactly(ended);
        let (oldest, another) = (same.next(), same.next());
        drop(same);
        match oldest {
            Some(number) => {
                if another.is_some() {
                    let all: Vec<u64> = self.exactly(ended).collect();
                    all.into_iter().for_each(|n| self.mark_ambiguous(n));
                }
                self.close(number, event, time);
            }
            None if self.end_append(ended, event, time) => {}
            None if self.timing == Timing::Exact && self.end_parts(ended, event, time) => {}
            // Flushes and driver commands issued by the kernel itself.
            None if matches!(ended.kind, Kind::Flush | Kind::Other) => {}
            None => {
                let request = Traced { pairing: Pairing::NoBegin, ..self.request(event, time) };
                self.waiting.push_back(Waiting::settled(request, time));
            }
        }
    }

    /// Ends a zone append: it is issued at the start of a zone, and ends where the device put it. Returns whether one
    /// matched; it gets its real place.
    fn end_append(&mut self, ended: Begun, event: &Event, time: Nanos) -> bool {
        let is_append = event.rwbs.flags.has(Flags::ZONE) && ended.kind == Kind::Write;
        if !is_append || self.timing != Timing::Exact {
            return false;
        }
        let from = (EventKey::new(ended.device, ended.kind, 0), 0);
        let before = self.open.range(from..=(ended.place(), u64::MAX)).rev().take(LOOKED_BACK);
        let is_same = |waiting: &Waiting| {
            waiting.request.flags.has(Flags::ZONE) && waiting.state == State::Open(ended.sectors)
        };
        // The nearest zone start, and the oldest append there.
        let mut fitting = before.filter(|key| is_same(self.waiting(key.1))).peekable();
        let Some(place) = fitting.peek().map(|key| key.0) else { return false };
        let Some(number) = fitting.take_while(|key| key.0 == place).map(|key| key.1).last() else {
            return false;
        };
        self.close(number, event, time);
        let waiting = &mut self.waiting[(number - self.first) as usize];
        if waiting.state == State::Settled {
            waiting.request.extent.offset = ended.sector * SECTOR;
        }
        true
    }

    /// Ends the request that the kernel refused with EAGAIN; returns whether the event is done. The kernel does this
    /// within the call that queued the request, so it is the process's youngest one. It never reaches the driver: if
    /// requests count later than that, no request matches.
    fn end_refused(&mut self, ended: Begun, event: &Event, time: Nanos) -> bool {
        let is_own = |n: &u64| self.waiting(*n).request.process.pid == event.process.pid;
        let own = self.exactly(ended).filter(is_own).last();
        if let Some(number) = own.or_else(|| self.exactly(ended).last().filter(|_| self.at == At::QUEUE)) {
            self.close(number, event, time);
        } else if self.at != At::QUEUE && self.timing == Timing::Exact {
            self.retried += 1;
        } else {
            return false;
        }
        true
    }

    fn mark_ambiguous(&mut self, number: u64) {
        self.waiting[(number - self.first) as usize].request.pairing = Pairing::Ambiguous;
    }

    /// Completes every request that the event covers, even partly; returns whether any matched.
    fn end_parts(&mut self, ended: Begun, event: &Event, time: Nanos) -> bool {
        let mut found = false;
        for (number, shared) in self.sharing(ended) {
            found = true;
            let waiting = &mut self.waiting[(number - self.first) as usize];
            let (_, sectors) = waiting.request.sectors();
            let left = sectors - self.parts.entry(number).or_default().add(shared);
            if left == 0 {
                self.parts.remove(&number);
                self.close(number, event, time);
            } else {
                waiting.state = State::InPart;
                waiting.parts += 1;
                waiting.request.error = waiting.request.error.max(event.error);
            }
        }
        found
    }

    /// Numbers of the open requests that share sectors with this range, and those sectors.
    fn sharing(&self, range: Begun) -> Vec<(u64, Range<u64>)> {
        let (from, to) = (range.sector, range.sector + range.sectors);
        let place = |sector| EventKey::new(range.device, range.kind, sector);
        let near = self.open.range((place(from.saturating_sub(self.longest)), 0)..(place(to), 0));
        let shared = |key: &Key| {
            let waiting = self.waiting(key.1);
            let (sector, sectors) = waiting.request.sectors();
            let shared = from.max(sector)..to.min(sector + sectors);
            (waiting.state.is_open() && !shared.is_empty()).then_some((key.1, shared))
        };
        near.filter_map(shared).collect()
    }

    /// Ends a request, or its data if its own end may follow.
    fn close(&mut self, number: u64, event: &Event, time: Nanos) {
        let waiting = &mut self.waiting[(number - self.first) as usize];
        waiting.end(event.error, time);
        if waiting.ends == Ends::Own && event.error != EAGAIN {
            waiting.parts += 1;
            waiting.state = State::Served(time.0);
        } else {
            self.settle(number, time);
        }
    }

    /// Stops waiting for the request, unless it ended with EAGAIN.
    fn settle(&mut self, number: u64, time: Nanos) {
        let waiting = &mut self.waiting[(number - self.first) as usize];
        waiting.state = State::Settled;
        let request = waiting.request;
        self.forget(&request, number);
        if request.error == EAGAIN {
            self.refuse(number, time.0);
        }
    }

    /// Which completion ends a request that this event starts.
    fn ends(&self, event: &Event, kind: Kind) -> Ends {
        let flags = event.rwbs.flags;
        let is_own = match kind {
            Kind::Flush => !event.rwbs.is_device_flush(),
            // The driver gets the data alone, and the flushes around it as separate requests.
            Kind::Write => self.at != At::ISSUE && (flags.has(Flags::FUA) || flags.has(Flags::PREFLUSH)),
            _ => false,
        };
        if is_own && self.timing == Timing::Exact { Ends::Own } else { Ends::Covered }
    }

    /// Ends device flushes by their completion, and requested flushes by their own.
    fn end_flush(&mut self, event: &Event, time: Nanos) {
        if !event.rwbs.is_device_flush() {
            return self.end_own(event, time);
        }
        let unserved = self.flushes.complete(event.device).unwrap_or(self.next_number());
        if let Some(oldest) = self.oldest(&self.open_flushes(event.device, Ends::Covered)) {
            self.close(oldest, event, time);
        }
        for number in self.open_flushes(event.device, Ends::Own) {
            if number < unserved {
                self.serve(number, event, time);
            }
        }
    }

    /// Notes the end of a device flush issued after this flush had been requested. That ends the requested flush,
    /// unless its own completion follows.
    fn serve(&mut self, number: u64, event: &Event, time: Nanos) {
        let has_own_ends = self.flushes.has_own_ends(event.device);
        let waiting = &mut self.waiting[(number - self.first) as usize];
        let was_served = matches!(waiting.state, State::Served(_));
        if was_served && !has_own_ends {
            return;
        }
        waiting.state = State::Served(time.0);
        waiting.request.error = 0;
        waiting.end(event.error, time);
        if was_served {
            // An earlier device flush ended others that were requested before this one.
            waiting.request.pairing = Pairing::Ambiguous;
        }
    }

    /// Numbers of a device's flushes that have not ended, oldest first.
    fn open_flushes(&self, device: Device, ends: Ends) -> Vec<u64> {
        let place = EventKey::new(device, Kind::Flush, 0);
        let keys = self.open.range((place, 0)..).take_while(|key| key.0 == place);
        keys.map(|key| key.1).filter(|number| self.waiting(*number).ends == ends).collect()
    }

    /// Returns the oldest of these; marks all as ambiguous if there are several.
    fn oldest(&mut self, numbers: &[u64]) -> Option<u64> {
        if numbers.len() > 1 {
            numbers.iter().for_each(|number| self.mark_ambiguous(*number));
        }
        numbers.first().copied()
    }

    /// Handles a completion without length: the end of a request for which the kernel has done everything else.
    fn end_own(&mut self, event: &Event, time: Nanos) {
        let sector = Begun::of(event).sector;
        let flushes = if sector == 0 { self.open_flushes(event.device, Ends::Own) } else { Vec::new() };
        let is_served = |n: &u64| matches!(self.waiting(*n).state, State::Served(_));
        let served: Vec<u64> = flushes.iter().copied().filter(is_served).collect();
        // The kernel ends all flushes that one device flush served, in their order.
        let flush = match served[..] {
            [oldest, ..] if !self.flushes.is_busy(event.device) => Some(oldest),
            _ => self.oldest(&served),
        };
        if let Some(flush) = flush {
            self.end_own_flush(flush, event, time);
        } else if let Some(write) = self.served_write(event.device, sector) {
            self.end_served_write(write, event, time);
        } else if let Some(flush) = self.oldest(&flushes) {
            self.end_own_flush(flush, event, time);
        }
    }

    fn end_own_flush(&mut self, number: u64, event: &Event, time: Nanos) {
        self.flushes.note_own_end(event.device);
        let waiting = &mut self.waiting[(number - self.first) as usize];
        // The device flush's error was recorded before its owner was known.
        waiting.request.error = 0;
        waiting.end(event.error, time);
        self.settle(number, time);
    }

    /// The write whose data ended and whose own end this can be. The youngest one: writes of one place follow each
    /// other, and one without a flush has no such end. Parts of a split write end at their own places.
    fn served_write(&self, device: Device, sector: u64) -> Option<u64> {
        let place = |sector| EventKey::new(device, Kind::Write, sector);
        let range = (place(sector.saturating_sub(self.longest)), 0)..=(place(sector), u64::MAX);
        let can_end = |number: &u64| {
            let waiting = self.waiting(*number);
            let (first, sectors) = waiting.request.sectors();
            matches!(waiting.state, State::Served(_)) && sector <= first + sectors
        };
        self.open.range(range).rev().map(|key| key.1).find(can_end)
    }

    fn end_served_write(&mut self, number: u64, event: &Event, time: Nanos) {
        let waiting = &mut self.waiting[(number - self.first) as usize];
        waiting.end(event.error, time);
        waiting.parts = waiting.parts.saturating_sub(1);
        if waiting.parts == 0 {
            self.settle(number, time);
        }
    }

    /// Handles a requeue: the next issue is the request's start.
    fn give_back(&mut self, event: &Event) {
        let begun = Begun::of(event);
        let Some(number) = self.exactly(begun).last() else { return };
        self.open.remove(&(begun.place(), number));
        self.waiting[(number - self.first) as usize].state = State::Dropped;
    }

    /// Gives up requests that have not ended, or were not issued again, in time.
    fn expire(&mut self, now: u64) {
        while let Some((_, number)) = self.refused.expired(now) {
            self.waiting[(number - self.first) as usize].state = State::Settled;
        }
        let longest = match self.timing {
            // No request is open.
            Timing::None => return,
            Timing::Guessed => LONGEST_GUESSED,
            Timing::Exact => LONGEST_EXACT,
        };
        self.expired = self.expired.max(self.first);
        while let Some(waiting) = self.waiting.get_mut((self.expired - self.first) as usize) {
            if now.saturating_sub(waiting.begun) <= longest {
                return;
            }
            if waiting.state.is_open() {
                waiting.state = State::Settled;
                let request = waiting.request;
                self.forget(&request, self.expired);
            }
            self.expired += 1;
        }
    }

    /// Returns the request whose turn it is.
    fn due(&mut self) -> Option<Traced> {
        loop {
            let front = self.waiting.front()?;
            if !self.is_over && self.has_to_wait(front) {
                return None;
            }
            let number = self.first;
            let mut front = self.waiting.pop_front()?;
            self.first += 1;
            if front.request.pairing == Pairing::Ambiguous && front.request.latency.is_none() {
                // A later equal request completed, this one did not.
                if self.at == At::ISSUE {
                    self.issued_again += 1;
                    self.forget(&front.request, number);
                    continue;
                }
                front.request.pairing = Pairing::NoEnd;
            }
            match front.state {
                State::Open(_) | State::InPart | State::Served(_) => self.forget(&front.request, number),
                State::Refused => self.refused.remove((self.place(&front.request), number)),
                State::Settled => {}
                State::Dropped => continue,
            }
            return Some(front.request);
        }
    }

    fn has_to_wait(&self, front: &Waiting) -> bool {
        match front.state {
            State::Open(_) | State::InPart | State::Refused => self.waiting.len() < MOST_WAITING,
            State::Served(ended) => {
                self.now.saturating_sub(ended) <= OWN_END_NS && self.waiting.len() <= OWN_END_REQUESTS
            }
            // EAGAIN comes at once; the request is held until then.
            State::Settled if self.timing == Timing::None => {
                self.now.saturating_sub(front.begun) <= HELD_NS && self.waiting.len() <= HELD
            }
            State::Settled | State::Dropped => false,
        }
    }

    fn place(&self, request: &Traced) -> EventKey {
        let device = self.devices.all[request.device as usize];
        EventKey::new(device, request.kind, request.extent.offset / SECTOR)
    }

    fn forget(&mut self, request: &Traced, number: u64) {
        if !self.parts.is_empty() {
            self.parts.remove(&number);
        }
        self.open.remove(&(self.place(request), number));
    }
}

/// Time since `before` nanoseconds ahead of `origin`; earlier times become 0. Times before a clock's zero wrap.
fn since(time: Nanos, origin: Nanos, before: Nanos) -> Nanos {
    let later = time.0.wrapping_sub(origin.0) as i64;
    Nanos(before.0.saturating_add_signed(later))
}

/// Completed ranges of sectors, sorted and disjoint. Partial completions may overlap: those of a discard that the
/// kernel split grow, from its start, up to the whole.
#[derive(Debug, Default)]
struct Covered(Vec<Range<u64>>);

impl Covered {
    /// Adds a range; returns the number of covered sectors.
    fn add(&mut self, new: Range<u64>) -> u64 {
        let from = self.0.partition_point(|known| known.end < new.start);
        let to = self.0.partition_point(|known| known.start <= new.end);
        let start = self.0.get(from).map_or(new.start, |known| known.start.min(new.start));
        let end = to
            .checked_sub(1)
            .and_then(|last| self.0.get(last))
            .map_or(new.end, |known| known.end.max(new.end));
        let joined = if from < to { start..end } else { new };
        self.0.splice(from..to, [joined]);
        self.0.iter().map(|known| known.end - known.start).sum()
    }
}

/// Zoned devices, as far as the trace shows, and the number of `N` events read as zeroing.
#[derive(Debug, Default)]
struct Zones {
    devices: HashSet<Device>,
    zeroings: u64,
}

impl Zones {
    /// Corrects an event's letters for its device; `None` if they are right as they are.
    fn read(&mut self, event: &Event) -> Option<Event> {
        let Rwbs { flags, .. } = event.rwbs;
        if flags.has(Flags::ZONE) {
            self.devices.insert(event.device);
        }
        if !flags.has(Flags::UNNAMED) {
            return None;
        }
        if self.devices.contains(&event.device) {
            return Some(Event { rwbs: Rwbs { kind: Kind::Other, flags }, ..*event });
        }
        self.zeroings += u64::from(event.action != Action::Complete);
        None
    }
}

/// Label in [`Requests::extra_counts`] for events with a letter that older kernels use for several operations.
const ZEROINGS: &str = "requests or steps of requests have the letter N and a length: read as write zeroes, which is how the \
                        kernel prints them; on a zoned device they can be operations on zones";
/// Label for requests that the kernel issued to the driver again.
const ISSUED_AGAIN: &str =
    "requests were issued to the driver again without an event that says so: each counts once";

/// Numbers of the devices, in order of appearance.
#[derive(Debug, Default)]
struct Devices {
    all: Vec<Device>,
    numbers: HashMap<Device, u32>,
    last: u32,
    names: Vec<(String, String)>,
}

impl Devices {
    fn name(&self, device: Device) -> String {
        // Some texts lack the device.
        let numbers = if device == Device::default() { String::new() } else { device.to_string() };
        let known = self.names.iter().find(|(known, _)| *known == numbers);
        known.map_or(numbers.clone(), |(_, name)| name.clone())
    }

    fn number(&mut self, device: Device) -> u32 {
        // Consecutive events mostly have the same device.
        if self.all.get(self.last as usize) != Some(&device) {
            let next = self.all.len() as u32;
            self.last = *self.numbers.entry(device).or_insert(next);
            if self.last == next {
                self.all.push(device);
            }
        }
        self.last
    }
}

/// Fields by which a completion is matched.
#[derive(Debug, Clone, Copy)]
struct Begun {
    device: Device,
    kind: Kind,
    sector: u64,
    sectors: u64,
}

impl Begun {
    /// The fields of [`Pairs::request`] that are used for matching.
    #[inline]
    fn of(event: &Event) -> Begun {
        let sector = if event.is_possible() && event.sector < 1 << 54 { event.sector } else { 0 };
        let kind = event.rwbs.of_length(event.bytes).kind;
        Begun { device: event.device, kind, sector, sectors: event.bytes.div_ceil(SECTOR) }
    }

    fn place(&self) -> EventKey {
        EventKey::new(self.device, self.kind, self.sector)
    }
}

impl<E: Events> Requests for Paired<E> {
    fn next(&mut self) -> Next<Traced> {
        loop {
            if let Some(request) = self.pairs.due() {
                return Ok(Some(Entry::One(request)));
            }
            if self.pairs.is_over {
                return Ok(None);
            }
            match self.events.next()? {
                Some(Entry::One(event)) => {
                    let time = if self.from_first {
                        let origin = *self.origin.get_or_insert(event.time);
                        since(event.time, origin, self.before_first)
                    } else {
                        event.time
                    };
                    if let Some(request) = self.pairs.take(event, time) {
                        return Ok(Some(Entry::One(request)));
                    }
                }
                Some(Entry::Bad(bad)) => return Ok(Some(Entry::Bad(bad))),
                None => self.pairs.is_over = true,
            }
        }
    }

    fn devices(&self) -> Vec<String> {
        let devices = &self.pairs.devices;
        devices.all.iter().map(|device| devices.name(*device)).collect()
    }

    fn device(&self, number: u32) -> Option<String> {
        let devices = &self.pairs.devices;
        devices.all.get(number as usize).map(|device| devices.name(*device))
    }

    fn extra_counts(&self) -> Vec<(String, u64)> {
        let counts = self.counts();
        let all = Action::ALL.iter().map(|a| (format!("events {}", a.name()), counts[*a as usize]));
        let Pairs { retried, issued_again, ref zones, .. } = self.pairs;
        let own = [(RETRIED, retried), (ISSUED_AGAIN, issued_again), (ZEROINGS, zones.zeroings)];
        let own = own.map(|(what, count)| (what.to_string(), count));
        all.chain(self.events.extra_counts()).chain(own).filter(|(_, count)| *count > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Rwbs;
    use crate::request::Process;
    use proptest::prelude::*;

    /// Events as `Q 10 W 1000 8 fio:7 11`: action, time, letters, sector, sectors; then optional process and error.
    struct Told(std::vec::IntoIter<Event>, Event);

    impl Events for Told {
        fn next(&mut self) -> Next<&Event> {
            let Some(next) = self.0.next() else { return Ok(None) };
            self.1 = next;
            Ok(Some(Entry::One(&self.1)))
        }

        fn shown(&self) -> &Event {
            &self.1
        }
    }

    fn events(text: &str) -> Told {
        let event = |(at, line): (u64, &str)| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [action, time, letters, sector, sectors, ref more @ ..] = words[..] else { panic!("{line}") };
            let number = |w: &str| w.parse::<u64>().unwrap();
            Event {
                at,
                time: Nanos(number(time)),
                action: Action::of_letter(action.as_bytes()[0]),
                device: Device::new(7, 0).unwrap(),
                sector: number(sector),
                bytes: number(sectors) * SECTOR,
                rwbs: Rwbs::parse(letters.as_bytes()),
                process: more.first().map_or(Process::default(), |p| process(p)),
                error: more.get(1).map_or(0, |error| error.parse().unwrap()),
            }
        };
        Told(
            (1..)
                .zip(text.split(';').filter(|l| !l.trim().is_empty()))
                .map(event)
                .collect::<Vec<_>>()
                .into_iter(),
            Event::default(),
        )
    }

    fn process(text: &str) -> Process {
        let (name, pid) = text.split_once(':').unwrap();
        Process::new(pid.parse().unwrap(), name.as_bytes())
    }

    /// Requests as `time sector latency pairing`.
    fn requests(text: &str, at: At, timing: Timing) -> Vec<String> {
        let mut paired = Paired::new(events(text), at, timing);
        let mut all = Vec::new();
        while let Some(Entry::One(r)) = paired.next().unwrap() {
            let latency = r.latency.map_or("-".to_string(), |l| l.0.to_string());
            all.push(format!("{} {} {latency} {:?}", r.time.0, r.sectors().0, r.pairing));
        }
        assert!(paired.pairs.open.is_empty(), "{:?}", paired.pairs.open);
        assert!(paired.pairs.refused.is_empty());
        all
    }

    /// Requests as `time sector process error`, and the number of dropped tries.
    fn tried(text: &str, timing: Timing) -> (Vec<String>, u64) {
        let mut paired = Paired::new(events(text), At::QUEUE, timing);
        let mut all = Vec::new();
        while let Some(Entry::One(r)) = paired.next().unwrap() {
            all.push(format!("{} {} {} {}", r.time.0, r.sectors().0, r.process, r.error));
        }
        let told = paired.extra_counts().into_iter().find(|(what, _)| what == RETRIED);
        (all, told.map_or(0, |(_, count)| count))
    }

    fn all(requests: &[&str]) -> Vec<String> {
        requests.iter().map(|r| r.to_string()).collect()
    }

    #[test]
    fn counts_eagain_retries_once_at_last_attempt() {
        // The second try is split by the kernel and ends in parts.
        let twice = "Q 1 R 0 16 fio:10; C 2 R 0 16 fio:10 11; Q 5 R 0 16 iou-wrk-10:12; C 8 R 0 8; C 9 R 8 8";
        for timing in [Timing::Exact, Timing::None] {
            assert_eq!(tried(twice, timing), (all(&["5 0 fio-10 0"]), 1), "{timing:?}");
        }
        assert_eq!(requests(twice, At::QUEUE, Timing::Exact), ["5 0 4 Exact"]);
        let thrice = "Q 1 W 0 8 fio:10; C 2 W 0 8 fio:10 11; Q 3 W 0 8 iou-wrk-10:12; C 4 W 0 8 iou-wrk-10:12 11; \
                      Q 5 W 0 8 iou-wrk-10:13; C 9 W 0 8";
        for timing in [Timing::Exact, Timing::None] {
            assert_eq!(tried(thrice, timing), (all(&["5 0 fio-10 0"]), 2), "{timing:?}");
        }
    }

    #[test]
    fn keeps_eagain_failure_without_retry() {
        let never = "Q 1 R 0 8 fio:10; C 2 R 0 8 fio:10 11; Q 3 R 8 8 fio:10; C 4 R 8 8";
        assert_eq!(tried(never, Timing::Exact), (all(&["1 0 fio-10 11", "3 8 fio-10 0"]), 0));
        assert_eq!(tried(never, Timing::None), (all(&["1 0 fio-10 0", "3 8 fio-10 0"]), 0));
        for other in [
            // Another length, place, direction, thread, a worker of another thread, too late.
            "Q 5 R 0 16 iou-wrk-10:12",
            "Q 5 R 8 8 iou-wrk-10:12",
            "Q 5 W 0 8 iou-wrk-10:12",
            "Q 5 R 0 8 cat:11",
            "Q 5 R 0 8 iou-wrk-11:12",
            "Q 10000000003 R 0 8 iou-wrk-10:12",
        ] {
            for timing in [Timing::Exact, Timing::None] {
                let text = format!("Q 1 R 0 8 fio:10; C 2 R 0 8 fio:10 11; {other}");
                let (all, dropped) = tried(&text, timing);
                assert_eq!((all.len(), dropped), (2, 0), "{other} {timing:?}");
            }
        }
        // Another error stays an error, even if the request comes again.
        let failed = "Q 1 R 0 8 fio:10; C 2 R 0 8 fio:10 5; Q 3 R 0 8 fio:10; C 4 R 0 8";
        assert_eq!(tried(failed, Timing::Exact), (all(&["1 0 fio-10 5", "3 0 fio-10 0"]), 0));
    }

    #[test]
    fn retries_are_tracked_per_thread() {
        // Another process has a request of the same place in flight all the time.
        let text = "Q 1 R 0 8 cat:9; Q 2 R 0 8 a:10; C 3 R 0 8 a:10 11; Q 4 R 0 8 b:11; C 5 R 0 8 b:11 11; \
                    Q 6 R 0 8 iou-wrk-11:21; Q 7 R 0 8 iou-wrk-10:20; C 8 R 0 8; C 9 R 0 8; C 10 R 0 8";
        for timing in [Timing::Exact, Timing::None] {
            let wants = all(&["1 0 cat-9 0", "6 0 b-11 0", "7 0 a-10 0"]);
            assert_eq!(tried(text, timing), (wants, 2), "{timing:?}");
        }
    }

    #[test]
    fn eagain_on_a_part_applies_to_whole_request() {
        // Before Linux 6.1 the first part of a split request was issued.
        let text = "Q 1 R 0 16 a:10; D 2 R 0 8 a:10; C 3 R 8 8 a:10 11; C 6 R 0 8; Q 7 R 0 16 iou-wrk-10:20; C 9 R 0 16";
        for timing in [Timing::Exact, Timing::None] {
            assert_eq!(tried(text, timing), (all(&["7 0 a-10 0"]), 1), "{timing:?}");
        }
    }

    #[test]
    fn ignores_attempts_that_never_reached_the_driver() {
        let text = "Q 1 R 0 16 a:10; C 2 R 0 16 a:10 11; Q 3 R 0 16 iou-wrk-10:20; D 4 R 0 8; D 5 R 8 8; C 8 R 0 8; C 9 R 8 8";
        assert_eq!(requests(text, At::ISSUE, Timing::Exact), ["4 0 4 Exact", "5 8 4 Exact"]);
        let mut paired = Paired::new(events(text), At::ISSUE, Timing::Exact);
        while paired.next().unwrap().is_some() {}
        assert!(paired.extra_counts().contains(&(RETRIED.to_string(), 1)), "{:?}", paired.extra_counts());
    }

    #[test]
    fn merged_requests_end_together_and_split_ones_with_last_part() {
        let joined = "Q 1 W 0 8; Q 2 W 8 8; M 3 W 8 8; D 4 W 0 16; C 9 W 0 16";
        assert_eq!(requests(joined, At::QUEUE, Timing::Exact), ["1 0 8 Exact", "2 8 7 Exact"]);
        assert_eq!(requests(joined, At::ISSUE, Timing::Exact), ["4 0 5 Exact"]);
        let split = "Q 1 R 0 16; X 2 R 0 8; D 3 R 0 8; D 4 R 8 8; C 7 R 8 8; C 9 R 0 8";
        assert_eq!(requests(split, At::QUEUE, Timing::Exact), ["1 0 8 Exact"]);
        assert_eq!(requests(split, At::ISSUE, Timing::Exact), ["3 0 6 Exact", "4 8 3 Exact"]);
    }

    #[test]
    fn marks_ambiguous_and_truncated_requests() {
        let twice = "Q 1 R 0 8; Q 2 R 0 8; C 5 R 0 8; C 6 R 0 8";
        assert_eq!(requests(twice, At::QUEUE, Timing::Exact), ["1 0 4 Ambiguous", "2 0 4 Ambiguous"]);
        let cut = "C 1 R 64 8; Q 2 R 0 8; Q 3 W 0 8; C 4 W 0 8";
        assert_eq!(requests(cut, At::QUEUE, Timing::Exact), ["1 64 - NoBegin", "2 0 - NoEnd", "3 0 1 Exact"]);
        let again = "D 1 R 0 8; R 2 R 0 8; D 3 R 0 8; C 4 R 0 8";
        assert_eq!(requests(again, At::ISSUE, Timing::Exact), ["3 0 1 Exact"]);
    }

    #[test]
    fn guessing_uses_first_start_and_expires_after_ten_seconds() {
        let text =
            "Q 0 W 0 8; G 1 W 0 8; D 2 W 0 8; C 5 W 0 8; Q 6 W 8 8; C 10000000007 W 8 8; C 20000000008 W 8 8";
        let want = ["0 0 5 Exact", "6 8 - NoEnd", "10000000007 8 - NoBegin", "20000000008 8 - NoBegin"];
        assert_eq!(requests(text, At::QUEUE, Timing::Guessed), want);
    }

    #[test]
    fn chooses_most_frequent_start_event() {
        let mut counts = [0; Action::ALL.len()];
        assert_eq!(At::most_frequent(&counts), None);
        counts[Action::Complete as usize] = 9;
        counts[Action::Insert as usize] = 4;
        counts[Action::GetRequest as usize] = 4;
        assert_eq!(At::most_frequent(&counts).map(At::word), Some("get-request"));
    }

    proptest! {
        #[test]
        fn pairs_every_start_exactly_once(
            list in prop::collection::vec((0u8..4, 0u64..6, 1u64..4, any::<bool>(), 0u8..3), 0..80),
        ) {
            let letter = ["Q", "D", "C", "C"];
            let text: Vec<String> = list.iter().zip(1..).map(|((a, sector, sectors, write, process), time)| {
                let letters = if *write { "W" } else { "R" };
                let process = ["a:10", "b:11", "iou-wrk-10:12"][usize::from(*process)];
                let error = if *a == 3 { EAGAIN } else { 0 };
                format!("{} {time} {letters} {sector} {sectors} {process} {error}", letter[usize::from(*a)])
            }).collect();
            let text = text.join(";");
            let all = requests(&text, At::QUEUE, Timing::Exact);
            let begins = list.iter().filter(|(a, ..)| *a == 0).count();
            let dropped = tried(&text, Timing::Exact).1 as usize;
            prop_assert_eq!(all.iter().filter(|r| !r.ends_with("NoBegin")).count(), begins - dropped);
            let times: Vec<u64> = all.iter().map(|r| r.split(' ').next().unwrap().parse().unwrap()).collect();
            prop_assert!(times.is_sorted());
            // Without completions, too, each start is a request or was issued again.
            let (untimed, dropped) = tried(&text, Timing::None);
            prop_assert_eq!(untimed.len(), begins - dropped as usize);
        }
    }

    /// Requests as `time sector issued latency`.
    fn issues(text: &str) -> Vec<String> {
        let mut paired = Paired::new(events(text), At::QUEUE, Timing::Exact).with_issues();
        let mut all = Vec::new();
        while let Some(Entry::One(r)) = paired.next().unwrap() {
            let text = |time: Option<Nanos>| time.map_or("-".to_string(), |time| time.0.to_string());
            all.push(format!("{} {} {} {}", r.time.0, r.sectors().0, text(r.issued), text(r.latency)));
        }
        all
    }

    #[test]
    fn first_issue_of_merged_and_split_requests_counts() {
        // Two merged ones, and one that is issued in parts.
        let text = "Q 1 W 0 8;Q 2 W 8 8;D 3 W 0 16;Q 4 R 100 16;D 5 R 100 8;D 6 R 108 8;C 7 W 0 16;C 8 R 108 8;C 9 R 100 8";
        assert_eq!(issues(text), ["1 0 3 6", "2 8 3 5", "4 100 5 5"]);
    }

    #[test]
    fn issues_go_to_the_oldest_of_equal_requests_and_not_to_neighbours() {
        let text = "Q 1 R 0 8;Q 2 R 0 8;D 3 R 0 8;Q 4 R 4 8;D 5 R 0 8;D 6 R 0 8;C 7 R 0 8;C 8 R 0 8;D 9 R 4 8;C 10 R 4 8";
        assert_eq!(issues(text), ["1 0 3 6", "2 0 5 6", "4 4 9 6"]);
        // Not matched unless wanted, and unknown for a bio-based device.
        assert!(requests(text, At::QUEUE, Timing::Exact).len() == 3);
        assert_eq!(issues("Q 1 R 0 8;C 2 R 0 8"), ["1 0 - 1"]);
    }
}
