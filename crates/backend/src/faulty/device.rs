//! State of one device, shared by all loops that reach it: requests in flight, recent writes, and places of faults.

use super::cache::SharedCache;
use super::intervals::Intervals;
use super::ledger::{Entry, EntryNumber, Hit, Ledger};
use iosonar_plan::{Extent, Nanos, Op, SECTOR};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Number of recent writes that are kept, and their maximum total bytes.
const KEPT: usize = 1024;
const KEPT_BYTES: usize = 64 << 20;

/// Fault state of one device, shared by its clones: two targets on the same device have one.
#[derive(Debug, Clone)]
pub struct FaultyDevice(Arc<Device>);

#[derive(Debug)]
struct Device {
    state: Mutex<State>,
    /// Bytes of a logical block.
    block: u64,
    /// The cache, if the device is to crash.
    cache: OnceLock<Arc<SharedCache>>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// Range for phantom writes.
    outside: Extent,
    in_flight: Vec<InFlight>,
    /// Counts all ordered events: operations that start, marks that are put.
    clock: u64,
    /// Recent writes; nothing was written to their places since.
    recent: VecDeque<Recent>,
    recent_bytes: usize,
    /// Ranges covered by acknowledged writes.
    written: Intervals,
    /// Ranges outside covered by requests of any kind.
    covered: Intervals,
    /// Faults by their sectors.
    marks: BTreeMap<u64, Mark>,
    /// Number of marks that a place of an entry still has.
    left: HashMap<(EntryNumber, bool), u64>,
    unreadable: Vec<(Extent, EntryNumber)>,
}

/// Names an operation in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FlightNumber(u64);

#[derive(Debug)]
struct InFlight {
    number: FlightNumber,
    op: Op,
    extent: Extent,
    /// Another change of its place was in flight at the same time.
    has_overlap: bool,
}

/// A write that has been acknowledged.
#[derive(Debug)]
pub(super) struct Recent {
    pub(super) number: u64,
    pub(super) extent: Extent,
    pub(super) data: Arc<[u8]>,
    /// Earlier content of the place, if it is known.
    pub(super) old: Option<Arc<[u8]>>,
}

/// A sector with wrong content.
#[derive(Debug, Clone, Copy)]
struct Mark {
    entry: EntryNumber,
    is_destination: bool,
    since: u64,
}

/// One of the two places of an entry.
fn hit_of(entry: &mut Entry, is_destination: bool) -> Option<&mut Hit> {
    if is_destination { entry.destination.as_mut() } else { entry.place.as_mut() }
}

/// The sectors that an extent touches.
fn sectors(extent: Extent) -> Range<u64> {
    extent.offset / SECTOR..extent.end().div_ceil(SECTOR)
}

/// Whether it consists of whole sectors.
fn is_whole(extent: Extent) -> bool {
    extent.offset.is_multiple_of(SECTOR) && extent.length.is_multiple_of(SECTOR) && extent.length > 0
}

impl FaultyDevice {
    /// A device that no request of this run reaches in `outside`: phantom writes go there. Without a range there are no phantom
    /// writes.
    pub fn new(outside: Extent) -> FaultyDevice {
        FaultyDevice::with_blocks(outside, SECTOR)
    }

    /// The same with logical blocks of `block` bytes: a crash tears writes only between them.
    pub fn with_blocks(outside: Extent, block: u64) -> FaultyDevice {
        let state = Mutex::new(State { outside, ..State::default() });
        FaultyDevice(Arc::new(Device { state, block: block.max(SECTOR), cache: OnceLock::new() }))
    }

    /// Adds a volatile write cache, if it has none.
    pub(super) fn give_cache(&self, random: Xoshiro256PlusPlus) {
        self.0.cache.get_or_init(|| Arc::new(SharedCache::new(self.0.block, random)));
    }

    /// Its volatile write cache, if it has one.
    pub(super) fn cache(&self) -> Option<&Arc<SharedCache>> {
        self.0.cache.get()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // Faults are made for tests: a test that panics elsewhere still needs its ledger.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is(&self, other: &FaultyDevice) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl State {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Notes the start of an operation.
    pub(super) fn start(&mut self, op: Op, extent: Extent) -> FlightNumber {
        let number = FlightNumber(self.tick());
        let mut has_overlap = false;
        for other in &mut self.in_flight {
            if other.extent.overlaps(extent) && (op.changes_data() || other.op.changes_data()) {
                (other.has_overlap, has_overlap) = (true, true);
            }
        }
        self.in_flight.push(InFlight { number, op, extent, has_overlap });
        if op.changes_data() {
            self.forget_recent(extent);
        }
        if self.outside.overlaps(extent) {
            self.covered.insert(extent);
        }
        number
    }

    /// Notes the end of an operation; returns whether another change of its place was in flight at the same time.
    pub(super) fn end(&mut self, number: FlightNumber) -> bool {
        let place = self.in_flight.iter().position(|flight| flight.number == number);
        place.is_some_and(|place| self.in_flight.swap_remove(place).has_overlap)
    }

    /// Whether nothing but `own` is in flight at a place, and no fault lies there.
    pub(super) fn is_free(&self, extent: Extent, own: Option<FlightNumber>) -> bool {
        let is_other = |flight: &&InFlight| Some(flight.number) != own && flight.extent.overlaps(extent);
        !self.in_flight.iter().any(|flight| is_other(&flight)) && !self.has_fault(extent)
    }

    fn has_fault(&self, extent: Extent) -> bool {
        self.marks.range(sectors(extent)).next().is_some()
            || self.unreadable.iter().any(|(place, _)| place.overlaps(extent))
    }

    /// Marks sectors with wrong content.
    pub(super) fn mark(&mut self, extent: Extent, entry: EntryNumber, is_destination: bool) {
        let since = self.tick();
        self.forget_recent(extent);
        self.marks.extend(sectors(extent).map(|sector| (sector, Mark { entry, is_destination, since })));
        *self.left.entry((entry, is_destination)).or_default() += extent.length / SECTOR;
    }

    /// Notes the end of operation `number`, which changes data. Faults at its place are superseded. If `is_clear` is not set, or
    /// they came after it had started, the content of the place is uncertain.
    pub(super) fn supersede(
        &mut self,
        extent: Extent,
        number: FlightNumber,
        (at, is_clear): (Nanos, bool),
        ledger: &Ledger,
    ) {
        let is_clear = is_clear && is_whole(extent);
        let touched: Vec<u64> = self.marks.range(sectors(extent)).map(|(sector, _)| *sector).collect();
        for mark in touched.into_iter().filter_map(|sector| self.marks.remove(&sector)) {
            let place = (mark.entry, mark.is_destination);
            let left = self.left.entry(place).or_default();
            *left = left.saturating_sub(1);
            let is_last = *left == 0;
            if is_last {
                self.left.remove(&place);
            }
            ledger.change(mark.entry, |entry| {
                entry.unclear |= !is_clear || mark.since > number.0;
                if let Some(hit) = hit_of(entry, mark.is_destination).filter(|_| is_last) {
                    hit.superseded_at = Some(at);
                }
            });
        }
    }

    /// Notes that the device has crashed: whether it still holds the faults is unknown.
    pub(super) fn lose_marks(&mut self, ledger: &Ledger) {
        for mark in std::mem::take(&mut self.marks).into_values() {
            ledger.change(mark.entry, |entry| entry.unclear = true);
        }
        self.left.clear();
    }

    /// Notes the end of a read: it has returned the faults at its place that were there when it started.
    pub(super) fn note_read(&self, extent: Extent, number: FlightNumber, at: Nanos, ledger: &Ledger) {
        let marks = self.marks.range(sectors(extent)).map(|(_, mark)| mark);
        for mark in marks.filter(|mark| mark.since < number.0) {
            ledger.change(mark.entry, |entry| {
                if let Some(hit) = hit_of(entry, mark.is_destination) {
                    hit.read_at.get_or_insert(at);
                }
            });
        }
    }

    /// Notes a range covered by acknowledged writes, which misdirected ones may cover.
    pub(super) fn note_written(&mut self, extent: Extent) {
        self.written.insert(extent);
    }

    /// The same, when its content is unknown.
    pub(super) fn note_unknown(&mut self, extent: Extent) {
        self.written.remove(extent);
    }

    /// A range near `at` that acknowledged writes have covered.
    pub(super) fn written_near(&self, at: u64) -> Option<Extent> {
        self.written.near(at)
    }

    /// The end of the last of these ranges.
    pub(super) fn written_end(&self) -> u64 {
        self.written.end()
    }

    /// Range for phantom writes.
    pub(super) fn outside(&self) -> Extent {
        self.outside
    }

    /// Whether no request has covered any of a place.
    pub(super) fn is_uncovered(&self, extent: Extent) -> bool {
        !self.covered.meets(extent)
    }

    /// Makes reads of a place fail from now on.
    pub(super) fn make_unreadable(&mut self, extent: Extent, entry: EntryNumber) {
        self.unreadable.push((extent, entry));
    }

    /// The entries that make a read fail.
    pub(super) fn unreadable(&self, extent: Extent) -> Vec<EntryNumber> {
        let hit = self.unreadable.iter().filter(|(place, _)| place.overlaps(extent));
        hit.map(|(_, entry)| *entry).collect()
    }

    /// Keeps a write that has been acknowledged, unless something else was in flight at its place.
    pub(super) fn keep(&mut self, extent: Extent, data: Arc<[u8]>, old: Option<Arc<[u8]>>) {
        let number = self.tick();
        self.recent_bytes += data.len() + old.as_ref().map_or(0, |old| old.len());
        self.recent.push_back(Recent { number, extent, data, old });
        while self.recent.len() > KEPT || self.recent_bytes > KEPT_BYTES {
            let Some(oldest) = self.recent.pop_front() else { return };
            self.recent_bytes -= oldest.bytes();
        }
    }

    /// Recent writes, the last one first.
    pub(super) fn recent(&self) -> impl Iterator<Item = &Recent> {
        self.recent.iter().rev()
    }

    /// Whether a recent write is still the last one at its place.
    pub(super) fn is_recent(&self, number: u64) -> bool {
        self.recent.iter().any(|recent| recent.number == number)
    }

    /// Forgets the earlier content of a write: a read has returned it, and the next one must not.
    pub(super) fn forget_old(&mut self, number: u64) {
        if let Some(recent) = self.recent.iter_mut().find(|recent| recent.number == number) {
            self.recent_bytes -= recent.old.take().map_or(0, |old| old.len());
        }
    }

    fn forget_recent(&mut self, extent: Extent) {
        let bytes = &mut self.recent_bytes;
        self.recent.retain(|recent| {
            let stays = !recent.extent.overlaps(extent);
            *bytes -= if stays { 0 } else { recent.bytes() };
            stays
        });
    }
}

impl Recent {
    fn bytes(&self) -> usize {
        self.data.len() + self.old.as_ref().map_or(0, |old| old.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn extent(sector: u64, sectors: u64) -> Extent {
        Extent { offset: sector * SECTOR, length: sectors * SECTOR }
    }

    fn entry(ledger: &Ledger, sector: u64, sectors: u64) -> EntryNumber {
        let place = extent(sector, sectors);
        let entry = Entry::new(iosonar_plan::InjectionKind::Zeroed, 0, 0, Op::Write, place, Nanos(0));
        ledger.add(Entry { applied: true, place: Some(Hit::of(place)), ..entry })
    }

    #[test]
    fn a_fault_is_superseded_when_its_last_sector_is_written() {
        let (device, ledger) = (FaultyDevice::new(Extent::default()), Ledger::new());
        let mut state = device.lock();
        let number = entry(&ledger, 4, 4);
        state.mark(extent(4, 4), number, false);
        assert!(!state.is_free(extent(7, 9), None) && state.is_free(extent(8, 9), None));
        let read = state.start(Op::Read, extent(0, 5));
        state.end(read);
        state.note_read(extent(0, 5), read, Nanos(3), &ledger);
        for (place, at) in [(extent(0, 6), 5), (extent(7, 1), 6), (extent(6, 1), 7)] {
            assert_eq!(ledger.entries()[0].place.unwrap().superseded_at, None);
            let write = state.start(Op::Write, place);
            assert!(!state.end(write));
            state.supersede(place, write, (Nanos(at), true), &ledger);
        }
        let entry = &ledger.entries()[0];
        let place = entry.place.unwrap();
        assert_eq!((place.read_at, place.superseded_at), (Some(Nanos(3)), Some(Nanos(7))));
        assert!(!entry.unclear && !entry.is_visible() && state.is_free(extent(0, 9), None));
    }

    #[test]
    fn failed_or_earlier_write_keeps_fault_open() {
        for (starts_before, is_clear) in [(true, true), (false, false)] {
            let (device, ledger) = (FaultyDevice::new(Extent::default()), Ledger::new());
            let mut state = device.lock();
            let number = entry(&ledger, 0, 1);
            let before = state.start(Op::Write, extent(0, 1));
            state.mark(extent(0, 1), number, false);
            let after = state.start(Op::Write, extent(0, 1));
            let write = if starts_before { before } else { after };
            assert!(state.end(before) && state.end(after));
            state.supersede(extent(0, 1), write, (Nanos(1), is_clear), &ledger);
            assert!(ledger.entries()[0].unclear);
        }
    }

    #[test]
    fn recent_writes_are_latest_per_sector() {
        let device = FaultyDevice::new(Extent::default());
        let mut state = device.lock();
        for sector in 0..2000 {
            state.keep(extent(sector, 1), vec![0; 512].into(), None);
        }
        assert_eq!((state.recent().count(), state.recent_bytes), (KEPT, KEPT * 512));
        let write = state.start(Op::Write, extent(1990, 5));
        assert!(state.recent().all(|recent| !recent.extent.overlaps(extent(1990, 5))));
        state.end(write);
        assert_eq!((state.recent().count(), state.recent_bytes), (KEPT - 5, (KEPT - 5) * 512));
    }
}
