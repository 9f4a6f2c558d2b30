//! Requests of which the kernel's times are known, from seeds: split, merged, in pieces, beside those of others.

use super::*;
use crate::OnDisks;
use iosonar_plan::{Nanos, SECTOR};
use iosonar_testkit::SplitMix;
use iosonar_trace::Next;
use iosonar_trace::kernel::{Action, At, Event, Events, Paired, Rwbs, Timing};
use std::collections::HashMap;

/// Events in memory.
struct Listed(std::vec::IntoIter<Event>, Event);

impl Listed {
    fn new(mut events: Vec<Event>) -> Listed {
        events.sort_by_key(|event| event.time);
        Listed(events.into_iter(), Event::default())
    }
}

impl Events for Listed {
    fn next(&mut self) -> Next<&Event> {
        let Some(next) = self.0.next() else { return Ok(None) };
        self.1 = next;
        Ok(Some(Entry::One(&self.1)))
    }

    fn shown(&self) -> &Event {
        &self.1
    }
}

const ORIGIN: u64 = 1 << 40;

fn device() -> Device {
    Device::new(8, 16).unwrap()
}

fn event(action: Action, time: u64, kind: Kind, sector: u64, sectors: u64) -> Event {
    let letters: &[u8] = if kind == Kind::Read { b"R" } else { b"WS" };
    Event {
        action,
        time: Nanos(ORIGIN + time),
        device: device(),
        sector,
        bytes: sectors * SECTOR,
        rwbs: Rwbs::parse(letters),
        ..Event::default()
    }
}

fn joiner(events: Vec<Event>, disks: HashMap<Device, Device>) -> Joiner<Paired<OnDisks<Listed>>> {
    let events = OnDisks::new(Listed::new(events), disks);
    Joiner::new(Paired::new(events, At::QUEUE, Timing::Exact).with_issues().since(Nanos(ORIGIN)))
}

/// A request of the run, and the truth.
#[derive(Debug, Clone)]
struct Known {
    kind: Kind,
    parts: Vec<Part>,
    submitted: u64,
    completed: u64,
    truth: InKernel,
}

impl Known {
    fn own(&self) -> Own<'_> {
        Own {
            device: device(),
            kind: self.kind,
            parts: &self.parts,
            submitted: Nanos(self.submitted),
            completed: Nanos(self.completed),
        }
    }
}

/// Makes requests. Each takes a slot of the device, which is free again when it has ended, so that equal places come again.
struct Maker {
    chance: SplitMix,
    events: Vec<Event>,
    free_at: Vec<u64>,
}

const SLOT: u64 = 256;

impl Maker {
    fn slot(&mut self, now: u64) -> Option<u64> {
        let slot = self.chance.below(self.free_at.len() as u64);
        (self.free_at[slot as usize] <= now).then_some(slot)
    }

    fn push(&mut self, action: Action, time: u64, kind: Kind, sector: u64, sectors: u64) {
        self.events.push(event(action, time, kind, sector, sectors));
    }

    /// Sends a range to the driver, in one or two parts; returns issue and end.
    fn execute(&mut self, queued: u64, kind: Kind, sector: u64, sectors: u64, may_split: bool) -> (u64, u64) {
        let issued = queued + 1 + self.chance.below(50_000);
        let is_split = may_split && sectors > 1 && self.chance.below(4) == 0;
        let cut = if is_split { 1 + self.chance.below(sectors - 1) } else { sectors };
        let (mut first, mut last) = (u64::MAX, 0);
        for (from, to) in [(0, cut), (cut, sectors)] {
            if from == to {
                continue;
            }
            let issue = issued + self.chance.below(1000);
            let end = issue + 1 + self.chance.below(300_000);
            self.push(Action::Issue, issue, kind, sector + from, to - from);
            self.push(Action::Complete, end, kind, sector + from, to - from);
            (first, last) = (first.min(issue), last.max(end));
        }
        (first, last)
    }

    /// A part of a request: some pieces that are queued one after the other, each alone or merged with a request of another program.
    fn part(&mut self, now: u64, kind: Kind, part: Part) -> InKernel {
        let (mut sector, mut queued) = (part.sector, now);
        let mut all: Option<InKernel> = None;
        while sector < part.end {
            queued += 1 + self.chance.below(2000);
            let sectors = (1 + self.chance.below(64)).min(part.end - sector);
            self.push(Action::Queue, queued, kind, sector, sectors);
            let is_last = sector + sectors == part.end;
            let foreign = if is_last { self.chance.below(2) * 8 } else { 0 };
            if foreign > 0 {
                self.push(Action::Queue, queued + 1, kind, part.end, foreign);
            }
            let (issued, done) = self.execute(queued + 2, kind, sector, sectors + foreign, foreign == 0);
            let piece = InKernel { queued: Nanos(queued), issued: Some(Nanos(issued)), done: Nanos(done) };
            all = Some(all.map_or(piece, |all| all.with(piece)));
            sector += sectors;
        }
        all.unwrap()
    }

    fn request(&mut self, now: u64) -> Option<Known> {
        let kind = if self.chance.below(2) == 0 { Kind::Read } else { Kind::Write };
        let mut parts = Vec::new();
        for _ in 0..=self.chance.below(2) {
            let sector = self.slot(now)? * SLOT;
            self.free_at[(sector / SLOT) as usize] = u64::MAX;
            parts.push(Part { sector, end: sector + 1 + self.chance.below(200) });
        }
        let truth: Vec<InKernel> = parts.iter().map(|part| self.part(now, kind, *part)).collect();
        let truth = truth.into_iter().reduce(InKernel::with).unwrap();
        let completed = truth.done.0 + self.chance.below(100_000);
        // A foreign request that was merged may end later than ours.
        let free = completed + 1_000_000;
        parts.iter().for_each(|part| self.free_at[(part.sector / SLOT) as usize] = free);
        Some(Known { kind, parts, submitted: now, completed, truth })
    }
}

fn made(seed: u64, requests: usize) -> (Vec<Event>, Vec<Known>) {
    let mut maker = Maker { chance: SplitMix(seed), events: Vec::new(), free_at: vec![0; 4096] };
    let (mut now, mut known) = (1_000_000, Vec::new());
    while known.len() < requests {
        now += maker.chance.below(20_000);
        if maker.chance.below(5) == 0 {
            // Another program.
            maker.request(now);
        } else {
            known.extend(maker.request(now));
        }
    }
    (maker.events, known)
}

/// Brings requests into the order of a log: by completion, except that the frames of several workers interleave.
fn as_logged(known: &mut [Known], chance: &mut SplitMix) {
    known.sort_by_cached_key(|known| known.completed + chance.below(2_000_000));
}

#[test]
fn every_request_gets_its_times() {
    for seed in 0..8 {
        let (events, mut known) = made(seed, 1500);
        as_logged(&mut known, &mut SplitMix(seed));
        let mut joiner = joiner(events, HashMap::new());
        for known in &known {
            assert_eq!(joiner.join(&known.own()).unwrap(), Some(known.truth), "seed {seed}: {known:?}");
        }
        assert_eq!((joiner.damaged(), joiner.dropped()), (0, 0));
    }
}

#[test]
fn missing_events_cost_only_their_requests() {
    for seed in 0..10 {
        let (events, known) = made(seed, 1000);
        let mut chance = SplitMix(seed ^ 77);
        let (lost, kept): (Vec<Event>, Vec<Event>) = events.into_iter().partition(|_| chance.below(100) == 0);
        let is_hit = |known: &Known| {
            lost.iter().any(|event| {
                // Others in the same slot at other times are counted, too, which only makes the test weaker.
                known.parts.iter().any(|part| part.sector / SLOT == event.sector / SLOT)
            })
        };
        let mut joiner = joiner(kept, HashMap::new());
        let mut intact = 0;
        for known in known.iter().filter(|known| !is_hit(known)) {
            assert_eq!(joiner.join(&known.own()).unwrap(), Some(known.truth), "seed {seed}: {known:?}");
            intact += 1;
        }
        assert!(!lost.is_empty() && intact > 100, "{intact}");
    }
}

/// A request of 8 sectors at 0.
fn equal(submitted: u64, completed: u64) -> Own<'static> {
    const PARTS: &[Part] = &[Part { sector: 0, end: 8 }];
    Own {
        device: Device(8 << 20 | 16),
        kind: Kind::Read,
        parts: PARTS,
        submitted: Nanos(submitted),
        completed: Nanos(completed),
    }
}

#[test]
fn equal_requests_in_flight_end_in_any_order() {
    let all = |times: [(Action, u64); 6]| {
        joiner(times.map(|(action, time)| event(action, time, Kind::Read, 0, 8)).into(), HashMap::new())
    };
    use Action::{Complete as C, Issue as D, Queue as Q};
    // The second one that was submitted ended first.
    let ms = |n: u64| n * 1_000_000;
    let mut joined = all([(Q, ms(1)), (D, ms(2)), (Q, ms(11)), (D, ms(12)), (C, ms(20)), (C, ms(90))]);
    let second = joined.join(&equal(ms(10), ms(21))).unwrap().unwrap();
    assert_eq!((second.queued, second.done), (Nanos(ms(11)), Nanos(ms(20))));
    let first = joined.join(&equal(ms(1), ms(91))).unwrap().unwrap();
    assert_eq!((first.queued, first.done), (Nanos(ms(1)), Nanos(ms(90))));
    // A third one has no request of the kernel.
    assert_eq!(joined.join(&equal(ms(1), ms(99))).unwrap(), None);
}

#[test]
fn partition_events_are_those_of_the_disk() {
    let partition = Device::new(8, 17).unwrap();
    let mut events = [
        event(Action::Queue, 1_000_000, Kind::Read, 0, 8),
        event(Action::Issue, 2_000_000, Kind::Read, 0, 8),
        event(Action::Complete, 3_000_000, Kind::Read, 0, 8),
    ];
    events[0].device = partition;
    let times = |disks: HashMap<Device, Device>| {
        joiner(events.to_vec(), disks).join(&equal(900_000, 3_100_000)).unwrap()
    };
    assert_eq!(times(HashMap::new()), None);
    let found = times(HashMap::from([(partition, device())])).unwrap();
    assert_eq!(
        (found.queued, found.issued, found.done),
        (Nanos(1_000_000), Some(Nanos(2_000_000)), Nanos(3_000_000))
    );
}

#[test]
fn failed_and_earlier_requests_are_not_joined() {
    let failed = Event { error: 5, ..event(Action::Complete, 3_000_000, Kind::Read, 0, 8) };
    let events = vec![event(Action::Queue, 1_000_000, Kind::Read, 0, 8), failed];
    assert_eq!(joiner(events, HashMap::new()).join(&equal(900_000, 3_100_000)).unwrap(), None);
    let events = vec![
        event(Action::Queue, 1_000_000, Kind::Read, 0, 8),
        event(Action::Complete, 2_000_000, Kind::Read, 0, 8),
    ];
    // Submitted after it had been queued; and a device without issues.
    assert_eq!(joiner(events.clone(), HashMap::new()).join(&equal(1_500_000, 3_000_000)).unwrap(), None);
    let found = joiner(events, HashMap::new()).join(&equal(1_005_000, 2_000_000)).unwrap().unwrap();
    assert_eq!(found.issued, None);
}

#[test]
fn requests_of_others_take_bounded_memory() {
    let of = |n: u64| {
        let queue = event(Action::Queue, n * 10, Kind::Write, n * 8, 8);
        [queue, event(Action::Complete, n * 10 + 5, Kind::Write, n * 8, 8)]
    };
    let count = MOST_WAITING as u64 + 1000;
    let mut joiner = joiner((1..=count).flat_map(of).collect(), HashMap::new());
    assert_eq!(joiner.join(&equal(0, count * 20)).unwrap(), None);
    assert!(joiner.waiting <= MOST_WAITING && joiner.dropped() > 0);
    assert_eq!(joiner.waiting as u64 + joiner.dropped(), count);
}
