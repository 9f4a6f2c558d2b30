//! Faults of writes.

use super::damage::{self, BYTES, below, some_sectors};
use super::injector::Case;
use super::ledger::Hit;
use super::{Act, Entry, Faulty, Header, Pending, Written, part};
use crate::{Completion, Operation};
use iosonar_os::Buffer;
use iosonar_plan::{Durability, Extent, InjectionKind, Op, SECTOR};
use std::ops::Range;
use std::sync::Arc;

const PAGE: u64 = 4096;
/// Sectors of a phantom write, unless set in the plan: a page.
const PHANTOM: u64 = PAGE / SECTOR;
/// Number of attempts to find a random place.
const TRIES: u32 = 16;

/// The changed operation; or the same as before, because it allows no such fault.
type Injected = Result<Operation, Operation>;

/// Damage to the data of a write.
struct Damage {
    data: Buffer,
    hit: Range<usize>,
    bytes: Option<Range<usize>>,
    bits: Vec<u64>,
}

impl Damage {
    fn of(data: Buffer, hit: Range<usize>) -> Damage {
        Damage { data, hit, bytes: None, bits: Vec::new() }
    }
}

impl Faulty {
    /// Applies a fault to a write.
    pub(super) fn hit_write(&mut self, case: Case, operation: Operation, pending: &mut Pending) -> Injected {
        match case.kind {
            InjectionKind::Lost => Ok(self.lose(case, operation, pending)),
            InjectionKind::Misdirected => self.misdirect(case, operation, pending),
            InjectionKind::Duplicated => self.duplicate(case, operation, pending),
            InjectionKind::Swapped => self.swap(case, operation, pending),
            InjectionKind::Phantom => self.haunt(case, operation, pending),
            InjectionKind::Short => Ok(self.shorten(case, operation, pending)),
            InjectionKind::Unreadable => Ok(self.make_unreadable(case, operation, pending)),
            InjectionKind::TornPage | InjectionKind::TornSector | InjectionKind::TornInside => {
                let Some(old) = self.inner.read_now(operation.extent) else { return Err(operation) };
                let damage = self.torn(case, &operation, &old);
                self.inner.give_buffer(old);
                self.with_damage(case, operation, pending, damage)
            }
            _ => {
                let damage = self.damaged(case, &operation);
                self.with_damage(case, operation, pending, damage)
            }
        }
    }

    /// Data of a write of which a part stays unchanged on the target.
    fn torn(&mut self, case: Case, operation: &Operation, old: &[u8]) -> Option<Damage> {
        let Operation { extent, buffer: new, .. } = operation;
        let (hit, bytes) = if case.kind == InjectionKind::TornInside {
            let sectors = extent.length / SECTOR;
            let first = below(&mut self.random, sectors);
            let of = |sector: u64| (sector * SECTOR) as usize..((sector + 1) * SECTOR) as usize;
            let mut sectors = (0..sectors).map(|sector| of((first + sector) % sectors));
            let random = &mut self.random;
            let (hit, cut) = sectors.find_map(|hit| {
                let cut = damage::cut(random, &new[hit.clone()], &old[hit.clone()])?;
                Some((hit, cut))
            })?;
            (hit, Some(cut..BYTES))
        } else {
            let place = (extent.offset, extent.length);
            let hit = damage::torn(case.kind, &mut self.random, place, case.sectors)?;
            // Every sector of it has to differ, or it would not be the one that is torn off.
            let differ = |at: usize| new[at..at + BYTES] != old[at..at + BYTES];
            (hit.clone().step_by(BYTES).all(differ).then_some(hit)?, None)
        };
        let mut data = self.inner.copy_of(new);
        let changed = bytes.as_ref().map_or(hit.clone(), |b| hit.start + b.start..hit.start + b.end);
        data[changed.clone()].copy_from_slice(&old[changed]);
        Some(Damage { bytes, ..Damage::of(data, hit) })
    }

    /// Data of a write of which a part is damaged.
    fn damaged(&mut self, case: Case, operation: &Operation) -> Option<Damage> {
        let (new, total) = (&operation.buffer, operation.extent.length / SECTOR);
        let is_small = matches!(
            case.kind,
            InjectionKind::Flipped | InjectionKind::Corrupted | InjectionKind::HeaderDamaged
        );
        let most = case.sectors.unwrap_or(if is_small { 1 } else { total });
        let mut hit = some_sectors(&mut self.random, total, most);
        let mut damage = Damage::of(self.inner.copy_of(new), hit.clone());
        if is_small {
            self.damage_sectors(case.kind, &mut damage);
            return Some(damage);
        }
        let first = (operation.extent.offset + hit.start as u64) / SECTOR;
        match case.kind {
            InjectionKind::Zeroed => damage.data[hit].fill(0),
            InjectionKind::Ones => damage.data[hit].fill(0xff),
            InjectionKind::Foreign => rand_core::Rng::fill_bytes(&mut self.random, &mut damage.data[hit]),
            InjectionKind::OtherRun => self.target.injector().other_run()?(&mut damage.data[hit], first),
            InjectionKind::OtherTarget => {
                let other = self.target.of_other_target(&mut self.random)?;
                hit.end = hit.end.min(hit.start + other.len());
                damage.data[hit.clone()].copy_from_slice(&other[..hit.len()]);
                damage.hit = hit;
            }
            _ => return None,
        }
        Some(damage)
    }

    fn damage_sectors(&mut self, kind: InjectionKind, damage: &mut Damage) {
        let hit = damage.hit.clone();
        for (number, sector) in damage.data[hit].chunks_exact_mut(BYTES).enumerate() {
            let start = number * BYTES;
            let range = match kind {
                InjectionKind::Flipped => {
                    let bits = damage::flip(&mut self.random, sector);
                    damage.bits.extend(bits.into_iter().map(|bit| start as u64 * 8 + bit));
                    continue;
                }
                InjectionKind::Corrupted => damage::corrupt(&mut self.random, sector),
                _ => damage::damage_header(&mut self.random, sector),
            };
            let first = damage.bytes.as_ref().map_or(start + range.start, |bytes| bytes.start);
            damage.bytes = Some(first..start + range.end);
        }
    }

    /// Replaces the data of a write, if the new data differs.
    fn with_damage(
        &mut self,
        case: Case,
        mut operation: Operation,
        pending: &mut Pending,
        damage: Option<Damage>,
    ) -> Injected {
        let Some(Damage { data, hit, bytes, bits }) = damage else { return Err(operation) };
        if data[hit.clone()] == operation.buffer[hit.clone()] {
            self.inner.give_buffer(data);
            return Err(operation);
        }
        let entry = self.entry(case, pending, &operation.buffer[hit.clone()], &data[hit.clone()]);
        let place = Some(Hit::of(part(pending.extent, &hit)));
        let bytes = bytes.map(|bytes| (bytes.start as u64, bytes.end as u64));
        pending.entry = self.add(Entry { place, bytes, bits, ..entry });
        pending.act = Act::Changed { hit };
        pending.original = Some(std::mem::replace(&mut operation.buffer, data));
        Ok(operation)
    }

    fn lose(&mut self, case: Case, operation: Operation, pending: &mut Pending) -> Operation {
        let entry = self.entry(case, pending, &operation.buffer, &[]);
        pending.entry = self.add(Entry { place: Some(Hit::of(pending.extent)), ..entry });
        self.read_instead(operation, pending)
    }

    /// Skips a write: its place is read instead, which takes a plausible time and returns its content.
    fn read_instead(&mut self, mut operation: Operation, pending: &mut Pending) -> Operation {
        pending.act = Act::Lost;
        let own = self.inner.take_buffer(operation.buffer.len());
        pending.original = Some(std::mem::replace(&mut operation.buffer, own));
        Operation { op: Op::Read, durability: Durability::NONE, ..operation }
    }

    /// A place of the same length that acknowledged writes have covered, reserved for a write.
    fn destination(&mut self, own: Extent) -> Option<(Extent, super::FlightNumber)> {
        let unit = [PAGE, SECTOR].into_iter().find(|unit| (own.offset | own.length).is_multiple_of(*unit))?;
        let mut device = self.target.device().lock();
        let end = device.written_end();
        for _ in 0..TRIES {
            let range = device.written_near(below(&mut self.random, end.max(1)))?;
            let first = range.offset.next_multiple_of(unit);
            let Some(room) = range.end().checked_sub(first + own.length) else { continue };
            let offset = first + below(&mut self.random, room / unit + 1) * unit;
            let place = Extent { offset, length: own.length };
            if !place.overlaps(own) && device.is_free(place, None) {
                return Some((place, device.start(Op::Write, place)));
            }
        }
        None
    }

    fn misdirect(&mut self, case: Case, operation: Operation, pending: &mut Pending) -> Injected {
        let Some(old) = self.inner.read_now(operation.extent) else { return Err(operation) };
        let is_same = *old == *operation.buffer;
        let held = Header::of(&old);
        self.inner.give_buffer(old);
        if is_same {
            return Err(operation);
        }
        let Some((to, flight)) = self.destination(operation.extent) else { return Err(operation) };
        let entry = self.entry(case, pending, &operation.buffer, &held.0);
        let entry = Entry { place: Some(Hit::of(pending.extent)), ..entry };
        let whole = 0..operation.buffer.len();
        match self.write_beside(entry, (to, flight), whole, &operation.buffer) {
            Some(entry) => {
                pending.entry = entry;
                Ok(self.read_instead(operation, pending))
            }
            None => Err(operation),
        }
    }

    /// Writes elsewhere; returns the entry, if that succeeded.
    fn write_beside(
        &mut self,
        entry: Entry,
        (to, flight): (Extent, super::FlightNumber),
        hit: Range<usize>,
        data: &[u8],
    ) -> Option<super::EntryNumber> {
        let Written { is_whole, has_overlap } = self.write_now(to, flight, data);
        if !is_whole {
            return None;
        }
        let place = part(to, &hit);
        let (completed, destination) = (Some(self.inner.now()), Some(Hit::of(place)));
        let applied = entry.place.is_none();
        let entry = self.add(Entry { applied, completed, unclear: has_overlap, destination, ..entry });
        self.target.device().lock().mark(place, entry, true);
        Some(entry)
    }

    fn duplicate(&mut self, case: Case, operation: Operation, pending: &mut Pending) -> Injected {
        let Some((to, flight)) = self.destination(operation.extent) else { return Err(operation) };
        let Some(old) = self.inner.read_now(to) else {
            self.target.device().lock().end(flight);
            return Err(operation);
        };
        let entry = self.entry(case, pending, &old, &operation.buffer);
        self.inner.give_buffer(old);
        let whole = 0..operation.buffer.len();
        match self.write_beside(entry, (to, flight), whole, &operation.buffer) {
            Some(_) => Ok(operation),
            None => Err(operation),
        }
    }

    /// Exchanges the places of a write and a recent one.
    fn swap(&mut self, case: Case, mut operation: Operation, pending: &mut Pending) -> Injected {
        let own = operation.extent;
        let found = {
            let mut device = self.target.device().lock();
            let fits = |place: Extent, data: &[u8]| {
                place.length == own.length && !place.overlaps(own) && *data != *operation.buffer
            };
            let other = device
                .recent()
                .find(|recent| fits(recent.extent, &recent.data) && device.is_free(recent.extent, None));
            let other = other.map(|recent| (recent.extent, Arc::clone(&recent.data)));
            other.map(|(place, data)| (place, device.start(Op::Write, place), data))
        };
        let Some((to, flight, data)) = found else { return Err(operation) };
        let entry = self.entry(case, pending, &operation.buffer, &data);
        let entry = Entry { place: Some(Hit::of(own)), ..entry };
        let whole = 0..operation.buffer.len();
        let Some(entry) = self.write_beside(entry, (to, flight), whole.clone(), &operation.buffer) else {
            return Err(operation);
        };
        pending.entry = entry;
        pending.act = Act::Changed { hit: whole };
        let other = self.inner.copy_of(&data);
        pending.original = Some(std::mem::replace(&mut operation.buffer, other));
        Ok(operation)
    }

    /// Writes to a place that no request has covered.
    fn haunt(&mut self, case: Case, operation: Operation, pending: &mut Pending) -> Injected {
        let sectors = case.sectors.unwrap_or(PHANTOM);
        let length = sectors.saturating_mul(SECTOR).next_multiple_of(PAGE);
        let found = {
            let mut device = self.target.device().lock();
            let outside = device.outside();
            let first = outside.offset.next_multiple_of(PAGE);
            let places = outside.end().checked_sub(first).and_then(|room| room.checked_sub(length));
            let random = &mut self.random;
            places.and_then(|room| {
                (0..TRIES).find_map(|_| {
                    let offset = first + below(random, room / PAGE + 1) * PAGE;
                    let place = Extent { offset, length };
                    let is_fit = device.is_uncovered(place) && device.is_free(place, None);
                    is_fit.then(|| (place, device.start(Op::Write, place)))
                })
            })
        };
        let Some((to, flight)) = found else { return Err(operation) };
        let Some(old) = self.inner.read_now(to) else {
            self.target.device().lock().end(flight);
            return Err(operation);
        };
        let hit = some_sectors(&mut self.random, length / SECTOR, sectors);
        let mut data = old.to_vec();
        rand_core::Rng::fill_bytes(&mut self.random, &mut data[hit.clone()]);
        let entry = self.entry(case, pending, &old[hit.clone()], &data[hit.clone()]);
        self.inner.give_buffer(old);
        match self.write_beside(entry, (to, flight), hit, &data) {
            Some(_) => Ok(operation),
            None => Err(operation),
        }
    }

    /// Shortens a request. Of whole pages only pages are cut off, because the device may support nothing smaller.
    pub(super) fn shorter(&mut self, case: Case, extent: Extent) -> u64 {
        let total = extent.length / SECTOR;
        let unit = if (extent.offset | extent.length).is_multiple_of(PAGE) { PAGE / SECTOR } else { 1 };
        let most = case.sectors.unwrap_or(total).min(total - 1);
        let unit = if most >= unit { unit } else { 1 };
        let missing = (1 + below(&mut self.random, most / unit)) * unit;
        extent.length - missing * SECTOR
    }

    fn shorten(&mut self, case: Case, mut operation: Operation, pending: &mut Pending) -> Operation {
        let length = self.shorter(case, operation.extent);
        let missing = length as usize..operation.buffer.len();
        let entry = self.entry(case, pending, &operation.buffer[missing.clone()], &[]);
        let place = Some(Hit::of(part(pending.extent, &missing)));
        pending.entry = self.add(Entry { place, ..entry });
        pending.act = Act::Short { length };
        let own = self.inner.copy_of(&operation.buffer[..length as usize]);
        pending.original = Some(std::mem::replace(&mut operation.buffer, own));
        operation.extent.length = length;
        operation
    }

    /// Makes reads of a place fail once the operation has completed.
    pub(super) fn make_unreadable(
        &mut self,
        case: Case,
        operation: Operation,
        pending: &mut Pending,
    ) -> Operation {
        let total = operation.extent.length / SECTOR;
        let hit = some_sectors(&mut self.random, total, case.sectors.unwrap_or(total));
        let data = if pending.op == Op::Read { &[] } else { &operation.buffer[hit.clone()] };
        let entry = self.entry(case, pending, data, data);
        pending.entry = self.add(Entry { place: Some(Hit::of(part(pending.extent, &hit))), ..entry });
        pending.act = Act::Unreadable { hit };
        operation
    }

    /// Ends a write that was not executed.
    pub(super) fn finish_lost(&mut self, completion: &mut Completion, pending: &Pending, own: &Buffer) {
        let (at, extent) = (completion.completed, pending.extent);
        let mut device = self.target.device().lock();
        let has_overlap = device.end(pending.flight);
        let Ok(done) = usize::try_from(completion.result) else {
            self.change(pending.entry, |entry| (entry.completed, entry.unclear) = (Some(at), true));
            return;
        };
        let (held, beyond) = completion.buffer.split_at(done.min(own.len()));
        let is_same = *held == own[..held.len()] && beyond.iter().all(|byte| *byte == 0);
        let mut first = [0; super::ledger::HEADER];
        let length = held.len().min(first.len());
        first[..length].copy_from_slice(&own[..length]);
        device.note_written(extent);
        if !is_same {
            device.mark(extent, pending.entry, false);
        }
        drop(device);
        self.change(pending.entry, |entry| {
            (entry.completed, entry.applied) = (Some(at), !is_same);
            entry.unclear |= has_overlap;
            entry.held = Header(first);
        });
        (completion.result, completion.short) = (extent.length as i64, false);
    }

    /// Ends a write that was executed in some way, a discard, or a write of zeroes.
    pub(super) fn finish_write(&mut self, completion: &mut Completion, pending: &Pending) {
        let Pending { flight, extent, entry, .. } = *pending;
        let (at, ledger) = (completion.completed, self.target.ledger());
        let executed = match pending.act {
            Act::Short { length } => Extent { length, ..extent },
            _ => extent,
        };
        let is_whole = completion.result == executed.length as i64;
        let is_cut = matches!(pending.act, Act::Short { .. });
        let mut device = self.target.device().lock();
        let has_overlap = device.end(flight);
        device.supersede(executed, flight, (at, is_whole), ledger);
        if is_whole && pending.op.is_write() && !is_cut {
            device.note_written(extent);
        } else {
            device.note_unknown(extent);
        }
        match &pending.act {
            Act::Changed { hit } if is_whole => device.mark(part(extent, hit), entry, false),
            Act::Unreadable { hit } if is_whole => device.make_unreadable(part(extent, hit), entry),
            Act::None if is_whole && pending.op.is_write() && !has_overlap => {
                let data = if self.needs.recent || self.needs.exchange { &*completion.buffer } else { &[] };
                let data: Arc<[u8]> = data.into();
                let is_sectors = (extent.offset | extent.length).is_multiple_of(SECTOR) && !data.is_empty();
                if self.needs.recent && is_sectors {
                    device.keep(extent, data.clone(), pending.old.clone());
                }
                if self.needs.exchange && is_sectors {
                    self.target.exchange(&data);
                }
            }
            _ => {}
        }
        completion.short |= is_cut && is_whole;
        ledger.change(entry, |entry| {
            (entry.completed, entry.applied) = (Some(at), is_whole);
            // A failed write may have left anything.
            entry.unclear |= has_overlap || !is_whole;
        });
    }
}
