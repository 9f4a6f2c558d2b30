//! The checks of one issuing loop.
//!
//! A write may be preceded by a read of its place (`before-write`) and followed by another one (`after-write`): both happen while
//! the request has its slot, so that nothing else that conflicts with it is in flight. Bad places are read again, one at a time,
//! beside the requests.
//!
//! The data of a short read is checked when it has ended. The data of a long one waits until the loop is idle, and is checked slice
//! by slice: a request that becomes due meanwhile is not late by more than a slice. Only then does the state learn that the read
//! has ended; a write of this loop over the same place, and the end of a later read of it, have it checked first, so that nothing
//! comes in between.

use super::device::{Contents, Data, Device};
use super::pattern::Pattern;
use super::place::TargetPlace;
use super::verifier::Verifier;
use crate::payload::DataSource;
use iosonar_archive::{Checks, FoundBy, Outcome, READS_AGAIN, Record, WriteId};
use iosonar_backend::Token;
use iosonar_os::Buffer;
use iosonar_plan::{Extent, JobVerification, Nanos, Op, SECTOR};
use iosonar_sched::Slot;
use iosonar_verify::{Atomic, BadContent, Ended, Expected, Flight, Reader, Sectors};
use std::collections::VecDeque;

/// Operations that a loop may have in flight beyond its depth.
pub(crate) const EXTRA: u32 = 1;
/// When a bad place is read again, counted from the read before: at once, before something else is written there; and later,
/// because wrong data may be right by then.
pub(super) const AGAIN_AFTER: [Nanos; READS_AGAIN] = [Nanos(0), Nanos(100_000_000), Nanos(1_000_000_000)];
/// Sectors on each side of a bad one that are read again with it, if they belong to the same write.
const MOST_AROUND: u64 = 256;
/// Bad places that wait to be read again.
const MOST_WAITING: usize = 4096;
/// Bytes that are checked at a time, a microsecond or two. Reads up to this size are checked at once.
const SLICE: usize = 16 << 10;

/// Result of a completion.
pub(crate) enum Completed {
    /// The request is over.
    Over(Buffer),
    /// Its place is to be read back first, into this memory.
    ReadBack(Buffer),
}

/// State of the checks of a slot's request.
#[derive(Default)]
struct SlotState {
    flight: Option<Flight>,
    /// No part of the place of its read was written when that began.
    is_untouched: bool,
    /// The place of its write was read and checked.
    is_checked: bool,
    /// Its write is over, and is read back.
    record: Option<Record>,
}

impl SlotState {
    fn begin_read(&mut self, expected: &mut Expected, unit: Atomic, sectors: Sectors) {
        self.flight = Some(expected.begin_read_by(unit, sectors));
        self.is_untouched = expected.is_untouched(sectors);
    }
}

/// A read that has ended.
struct EndedRead {
    flight: Flight,
    is_untouched: bool,
    found_by: FoundBy,
    record: Record,
}

/// Bytes that a read transferred.
fn transferred(read: &Record, buffer: &[u8]) -> usize {
    usize::try_from(read.result).unwrap_or(0).min(buffer.len())
}

/// A read that has ended and is not checked yet.
struct Unchecked {
    read: EndedRead,
    buffer: Buffer,
}

/// A place that is to be read again.
struct Waiting {
    due: Nanos,
    /// Number of the observation on its device.
    observation: usize,
    round: usize,
    /// The sectors on the target.
    sectors: Sectors,
    /// Whether it is the place that the found header names.
    is_named: bool,
}

/// A place that is being read again.
struct Again {
    waiting: Waiting,
    flight: Flight,
}

/// Facts about an issuing loop, for its checks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoopFacts {
    pub(crate) target: u16,
    pub(crate) phase: u16,
    pub(crate) depth: u32,
    /// Alignment of its requests in bytes.
    pub(crate) block: u64,
    /// Unit of its reads.
    pub(crate) read_unit: Atomic,
}

/// The checks of one issuing loop.
pub(crate) struct Checker<'a> {
    verifier: &'a Verifier,
    /// Expects what the plan puts at a place, where the job wants that.
    pattern: Option<Pattern>,
    place: TargetPlace,
    target: u16,
    phase: u16,
    pass: u32,
    depth: u32,
    /// Sectors of a block: reads of its loop start and end at multiples of it.
    block: u64,
    /// The units in which the loop reads and writes.
    units: (Atomic, Atomic),
    slots: Vec<SlotState>,
    /// Slots whose place was checked: their writes may go.
    checked: VecDeque<Slot>,
    /// By round, each in the order of due times.
    waiting: [VecDeque<Waiting>; READS_AGAIN],
    again: Option<Again>,
    contents: Contents,
    /// Ended reads, in the order of their ends.
    unchecked: VecDeque<Unchecked>,
    /// Contents of the first of these, as far as inspected.
    ahead: Contents,
    /// Memory of reads that were checked.
    free: Vec<Buffer>,
}

impl<'a> Checker<'a> {
    pub(crate) fn new(
        verifier: &'a Verifier,
        facts: LoopFacts,
        pattern: Option<(JobVerification, DataSource)>,
    ) -> Checker<'a> {
        let LoopFacts { target, phase, depth, block, read_unit } = facts;
        Checker {
            block: (block / SECTOR).max(1),
            units: (read_unit, verifier.write_unit(target, phase)),
            verifier,
            pattern: pattern.map(|(verify, source)| Pattern::new(verify, source, verifier.poison)),
            place: verifier.places[usize::from(target)],
            target,
            phase,
            pass: 0,
            depth,
            slots: (0..depth).map(|_| SlotState::default()).collect(),
            checked: VecDeque::with_capacity(depth as usize),
            waiting: Default::default(),
            again: None,
            contents: Contents::default(),
            unchecked: VecDeque::new(),
            ahead: Contents::default(),
            free: Vec::new(),
        }
    }

    pub(crate) fn begin_pass(&mut self, pass: u32) {
        self.pass = pass;
    }

    /// Forgets the target's content: its file was changed or made again.
    pub(crate) fn forget(&mut self) {
        self.verifier.forget(self.target);
    }

    /// Whether no more requests are to be issued.
    pub(crate) fn is_stopped(&self) -> bool {
        self.verifier.is_stopped()
    }

    /// The sectors of an extent whose state is tracked.
    fn sectors(&self, extent: Extent) -> Option<Sectors> {
        self.verifier.sectors(self.target, extent).filter(|_| self.verifier.is_tracking)
    }

    fn id(&self, sequence: u64) -> WriteId {
        WriteId { target: self.target, phase: self.phase, pass: self.pass, sequence }
    }

    /// Token of the read that belongs to a slot's write.
    pub(crate) fn token(&self, slot: Slot) -> Token {
        Token(self.depth + slot.0)
    }

    /// Token of a place that is read again.
    fn token_of_again(&self) -> Token {
        Token(2 * self.depth)
    }

    /// Whether an operation with this token belongs to the checks.
    pub(crate) fn is_own(&self, token: Token) -> bool {
        token.0 >= self.depth
    }

    /// A slot whose write may go now.
    pub(crate) fn next_checked(&mut self) -> Option<Slot> {
        self.checked.front().copied()
    }

    /// Whether the place of a write is to be read before it.
    pub(crate) fn reads_first(&self, slot: Slot, op: Op, extent: Extent) -> bool {
        if !self.verifier.modes.before_write || !op.changes_data() || self.slots[slot.0 as usize].is_checked {
            return false;
        }
        let sectors = self.sectors(extent);
        sectors.is_some_and(|sectors| self.verifier.device(self.place).knows(sectors))
    }

    /// Begins a read that belongs to a slot's write.
    pub(crate) fn begin_own(&mut self, slot: Slot, extent: Extent, buffer: &mut Buffer) {
        iosonar_content::poison(buffer, self.verifier.poison);
        if let Some(sectors) = self.sectors(extent) {
            let mut device = self.verifier.device(self.place);
            device.added_reads += 1;
            device.added_bytes += extent.length;
            self.slots[slot.0 as usize].begin_read(device.expected(), self.units.0, sectors);
        }
    }

    /// Begins a slot's request itself.
    pub(crate) fn begin(&mut self, slot: Slot, sequence: u64, op: Op, extent: Extent, buffer: &mut Buffer) {
        if self.checked.front() == Some(&slot) {
            self.checked.pop_front();
        }
        let is_read = op == Op::Read && self.verifier.modes.read;
        if is_read || op == Op::Read && self.pattern.as_ref().is_some_and(Pattern::compares_reads) {
            iosonar_content::poison(buffer, self.verifier.poison);
        }
        if !self.verifier.is_tracking || !is_read && !op.changes_data() {
            return;
        }
        let sectors = self.sectors(extent).filter(|_| is_read);
        if is_read && sectors.is_none() {
            return;
        }
        if !is_read {
            self.check_waiting(extent);
        }
        let mut device = self.verifier.device(self.place);
        match sectors {
            Some(sectors) => {
                self.slots[slot.0 as usize].begin_read(device.expected(), self.units.0, sectors);
            }
            None => {
                let (sectors, tag) = self.verifier.change(self.id(sequence), op, extent);
                let flight = device.expected().begin_write_by(self.units.1, sectors, tag);
                self.slots[slot.0 as usize].flight = Some(flight);
            }
        }
    }

    /// Ends a slot's request.
    pub(crate) fn end(&mut self, slot: Slot, record: &Record, buffer: Buffer) -> Completed {
        let state = &mut self.slots[slot.0 as usize];
        state.is_checked = false;
        let (flight, is_untouched) = (state.flight.take(), state.is_untouched);
        if record.op == Op::Read {
            self.compare_read(record, &buffer);
            let Some(flight) = flight else { return Completed::Over(buffer) };
            let read = EndedRead { flight, is_untouched, found_by: FoundBy::Read, record: *record };
            if buffer.len() > SLICE {
                self.unchecked.push_back(Unchecked { read, buffer });
                return Completed::Over(Buffer::empty());
            }
            self.check_waiting(record.executed);
            self.end_read(read, &buffer);
            return Completed::Over(buffer);
        }
        let is_whole = record.outcome == Outcome::Completed;
        let ended = if is_whole { Ended::Acknowledged } else { Ended::Failed };
        if let Some(flight) = flight {
            self.verifier.device(self.place).expected().end_write(flight, ended);
        }
        if !is_whole || record.op != Op::Write || buffer.is_empty() || !self.reads_back(record.executed) {
            return Completed::Over(buffer);
        }
        self.slots[slot.0 as usize].record = Some(*record);
        Completed::ReadBack(buffer)
    }

    /// Whether a write is read back before its request is over.
    fn reads_back(&self, extent: Extent) -> bool {
        self.pattern.as_ref().is_some_and(Pattern::reads_back)
            || self.verifier.modes.after_write && self.sectors(extent).is_some()
    }

    /// Compares what a request has read with what the plan puts there.
    fn compare_read(&mut self, record: &Record, buffer: &[u8]) {
        let data = &buffer[..transferred(record, buffer)];
        if let Some(pattern) = self.pattern.as_mut().filter(|pattern| pattern.compares_reads())
            && !data.is_empty()
            && !pattern.compare(data, record)
        {
            self.verifier.note_fault();
        }
    }

    /// Compares what was read back of a write with what the plan has put there. Bytes that could not be read are bad.
    fn compare_read_back(&mut self, write: &Record, read: &Record, buffer: &mut [u8]) {
        let Some(pattern) = self.pattern.as_mut().filter(|pattern| pattern.reads_back()) else { return };
        let missing = transferred(read, buffer);
        let missing = &mut buffer[missing..];
        missing.fill(!0);
        iosonar_content::poison(missing, self.verifier.poison);
        if !pattern.compare(buffer, write) {
            self.verifier.note_fault();
        }
    }

    /// Takes the results of the comparisons with the plan's data.
    pub(crate) fn take_checks(&mut self) -> Checks {
        self.pattern.as_mut().map(Pattern::take_checks).unwrap_or_default()
    }

    /// Ends a read that belongs to a slot's write; returns the record of the write if that is over with it.
    pub(crate) fn end_own(&mut self, slot: Slot, read: &Record, buffer: &mut Buffer) -> Option<Record> {
        let state = &mut self.slots[slot.0 as usize];
        let (flight, record, is_untouched) = (state.flight.take(), state.record.take(), state.is_untouched);
        let found_by = if record.is_some() { FoundBy::AfterWrite } else { FoundBy::BeforeWrite };
        if record.is_none() {
            state.is_checked = true;
            self.checked.push_back(slot);
        }
        if let Some(flight) = flight {
            self.check_waiting(read.executed);
            self.end_read(EndedRead { flight, is_untouched, found_by, record: *read }, buffer);
        }
        if let Some(write) = &record {
            self.compare_read_back(write, read, buffer);
        }
        record
    }

    fn end_read(&mut self, read: EndedRead, buffer: &[u8]) {
        let looks = self.verifier.looks(self.place);
        let data = &buffer[..transferred(&read.record, buffer)];
        let mut contents = std::mem::take(&mut self.contents);
        let data = if read.is_untouched { Data::unseen(data) } else { contents.look(data, &looks) };
        self.judge(read, data);
        self.contents = contents;
    }

    /// Whether reads wait to be checked.
    pub(crate) fn has_unchecked(&self) -> bool {
        !self.unchecked.is_empty()
    }

    /// Checks a slice of the first read that waits; `true` when that is done.
    pub(crate) fn check_slice(&mut self) -> bool {
        let Some(Unchecked { read, buffer }) = self.unchecked.front() else { return true };
        let looks = self.verifier.looks(self.place);
        let data = &buffer[..transferred(&read.record, buffer)];
        if !read.is_untouched && !self.ahead.look_on(data, SLICE, &looks) {
            return false;
        }
        let Some(Unchecked { read, buffer }) = self.unchecked.pop_front() else { return true };
        let mut ahead = std::mem::take(&mut self.ahead);
        let data = &buffer[..transferred(&read.record, &buffer)];
        let data = if read.is_untouched { Data::unseen(data) } else { ahead.data(data) };
        self.judge(read, data);
        ahead.clear();
        self.ahead = ahead;
        self.free.push(buffer);
        true
    }

    /// Checks the first read that waits.
    pub(crate) fn check_first(&mut self) {
        while !self.check_slice() {}
    }

    /// Memory of a read that was checked.
    pub(crate) fn next_free(&mut self) -> Option<Buffer> {
        self.free.pop()
    }

    /// Notes that issuing waited for checks.
    pub(crate) fn note_stall(&self, time: Nanos) {
        self.verifier.device(self.place).stalls.add(time);
    }

    /// Checks earlier reads of a place before the state learns of a write over it, or of a later read: the legal versions of that
    /// depend on the earlier read.
    fn check_waiting(&mut self, extent: Extent) {
        let overlaps = |waits: &Unchecked| waits.read.record.executed.overlaps(extent);
        while self.unchecked.iter().any(overlaps) {
            self.check_first();
        }
    }

    fn judge(&mut self, read: EndedRead, data: Data<'_>) {
        let transferred = data.bytes();
        let EndedRead { flight, found_by, record, .. } = read;
        let reader = Reader {
            target: self.target,
            found_by,
            request: Some(self.id(record.sequence)),
            submitted: record.submitted.unwrap_or_default(),
            completed: record.completed.unwrap_or_default(),
        };
        let verifier = self.verifier;
        let looks = verifier.looks(self.place);
        let mut device = verifier.device(self.place);
        let new = device.end_read(flight, data, &looks, reader);
        if (0..record.executed.length as i64).contains(&record.result)
            && let Some(sectors) = self.sectors(record.executed)
        {
            let missing = sectors.start + transferred / SECTOR..sectors.start + sectors.count;
            device.note_missing(reader, &looks, missing, BadContent::Short);
        }
        // Data that may consist of parts of several writes is no fault yet.
        let new = (new.start..device.observations.len()).filter(|n| !device.observations[*n].is_suspect);
        let new: Vec<usize> = new.collect();
        if new.is_empty() {
            return;
        }
        verifier.note_fault();
        for number in new {
            let sectors = around(&device, number, self.place.base);
            self.plan_again(reader.completed, number, sectors, false);
            let observation = &device.observations[number];
            if let Some(named) = observation.named_place(verifier.run_id) {
                let sectors = Sectors { start: named, count: observation.count.min(2 * MOST_AROUND) };
                self.plan_again(reader.completed, number, sectors, true);
            }
        }
    }

    fn plan_again(&mut self, now: Nanos, observation: usize, sectors: Sectors, is_named: bool) {
        if self.waiting[0].len() < MOST_WAITING {
            let due = now.saturating_add(AGAIN_AFTER[0]);
            let sectors = sectors.in_blocks(self.block);
            self.waiting[0].push_back(Waiting { due, observation, round: 0, sectors, is_named });
        }
    }

    /// When the next place is to be read again.
    pub(crate) fn next_due(&self) -> Option<Nanos> {
        if self.again.is_some() {
            return None;
        }
        self.waiting.iter().filter_map(|round| Some(round.front()?.due)).min()
    }

    /// Whether places are still to be read again.
    pub(crate) fn has_more(&self) -> bool {
        self.again.is_some() || self.waiting.iter().any(|round| !round.is_empty())
    }

    /// Whether a place is being read again.
    pub(crate) fn is_reading_again(&self) -> bool {
        self.again.is_some()
    }

    /// Drops a slot's write.
    pub(crate) fn let_go(&mut self, slot: Slot) {
        self.checked.retain(|checked| *checked != slot);
        self.slots[slot.0 as usize].is_checked = false;
    }

    /// A place that is to be read again now.
    pub(crate) fn begin_again(&mut self, now: Nanos) -> Option<(Token, Extent, Buffer)> {
        let due = self.next_due().filter(|due| *due <= now)?;
        let round =
            self.waiting.iter_mut().find(|round| round.front().is_some_and(|first| first.due == due))?;
        let waiting = round.pop_front()?;
        let Sectors { start, count } = waiting.sectors;
        let extent = Extent { offset: start * SECTOR, length: count * SECTOR };
        // Rare enough for a separate allocation.
        let mut buffer = Buffer::zeroed(extent.length as usize);
        iosonar_content::poison(&mut buffer, self.verifier.poison);
        let on_device = Sectors { start: start + self.place.base, count };
        let mut device = self.verifier.device(self.place);
        device.added_reads += 1;
        device.added_bytes += extent.length;
        let flight = device.expected().begin_read_by(self.units.0, on_device);
        self.again = Some(Again { waiting, flight });
        Some((self.token_of_again(), extent, buffer))
    }

    /// Ends reading a place again.
    pub(crate) fn end_again(&mut self, result: i64, times: [Nanos; 2], buffer: &Buffer) {
        let [submitted, completed] = times;
        let Some(Again { waiting, flight }) = self.again.take() else { return };
        let Sectors { start, count } = waiting.sectors;
        self.check_waiting(Extent { offset: start * SECTOR, length: count * SECTOR });
        let transferred = usize::try_from(result).unwrap_or(0).min(buffer.len());
        let verifier = self.verifier;
        let looks = verifier.looks(self.place);
        let data = self.contents.look(&buffer[..transferred], &looks);
        let mut device = verifier.device(self.place);
        let number = waiting.observation;
        let found_by = device.observations[number].reader.found_by;
        let reader = Reader { target: self.target, found_by, request: None, submitted, completed };
        if waiting.is_named {
            return device.end_read_named(flight, data, number, &looks, reader);
        }
        let (start, number) = (waiting.sectors.start, (number, waiting.round));
        let again = device.end_read_again(flight, data, start, number, &looks, reader);
        let round = waiting.round + 1;
        if let Some(pause) = AGAIN_AFTER.get(round).filter(|_| !again.is_settled()) {
            let due = completed.saturating_add(*pause);
            self.waiting[round].push_back(Waiting { due, round, ..waiting });
        }
    }
}

/// The sectors of an observation, and those around it that should hold the same write; on the target.
pub(super) fn around(device: &Device, number: usize, base: u64) -> Sectors {
    let observation = &device.observations[number];
    if observation.legal.is_empty() {
        // Not written by the run: nothing is due around it.
        return Sectors { start: observation.start, count: observation.count };
    }
    let (first, last) = (observation.start + base, observation.end() - 1 + base);
    let (left, right) = (device.same_write(first, MOST_AROUND), device.same_write(last, MOST_AROUND));
    let start = left.start.min(first);
    let end = (right.start + right.count).max(last + 1).min(start + 4 * MOST_AROUND);
    Sectors { start: start - base, count: end - start }
}
