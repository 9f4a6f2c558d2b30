//! Faults of reads.

use super::damage::some_sectors;
use super::injector::Case;
use super::ledger::Hit;
use super::{Act, Entry, Faulty, Header, Pending, Written, part};
use crate::{Completion, Operation};
use iosonar_os::Buffer;
use iosonar_plan::{Extent, InjectionKind, Nanos, Op, SECTOR};
use std::ops::Range;

/// The errno of a place that cannot be read: EIO.
const EIO: i64 = 5;

/// A place whose earlier content is known.
struct Earlier {
    recent: u64,
    /// Bytes in the operation.
    hit: Range<usize>,
    old: Vec<u8>,
    due: Header,
}

impl Faulty {
    /// Applies a fault to a read.
    pub(super) fn hit_read(
        &mut self,
        case: Case,
        operation: Operation,
        pending: &mut Pending,
    ) -> Result<Operation, Operation> {
        match case.kind {
            InjectionKind::Stale => {
                let Some(earlier) = self.earlier(case, operation.extent) else { return Err(operation) };
                let Earlier { recent, hit, old, due } = earlier;
                // A second read has the right answer.
                self.target.device().lock().forget_old(recent);
                let entry = self.entry(case, pending, &due.0, &old);
                pending.entry = self.add(Entry { place: Some(Hit::of(part(pending.extent, &hit))), ..entry });
                pending.act = Act::Stale { hit, old };
                Ok(operation)
            }
            InjectionKind::Reverted => {
                let Some(earlier) = self.earlier(case, operation.extent) else { return Err(operation) };
                let Earlier { recent, hit, old, due } = earlier;
                let hit = part(pending.extent, &hit);
                pending.act = Act::Reverting { case, recent, hit, old, due };
                Ok(operation)
            }
            InjectionKind::Untransferred => {
                let total = operation.extent.length / SECTOR;
                let hit = some_sectors(&mut self.random, total, case.sectors.unwrap_or(total));
                Ok(self.hold_back(case, operation, pending, hit))
            }
            InjectionKind::Short => {
                let length = self.shorter(case, operation.extent) as usize;
                let missing = length..operation.buffer.len();
                Ok(self.hold_back(case, operation, pending, missing))
            }
            _ => Ok(self.make_unreadable(case, operation, pending)),
        }
    }

    /// The last write in a place, whose earlier content is known and differs.
    fn earlier(&mut self, case: Case, extent: Extent) -> Option<Earlier> {
        let Faulty { target, random, .. } = self;
        let device = target.device().lock();
        device.recent().find_map(|recent| {
            let old = recent.old.as_ref()?;
            let start = recent.extent.offset.max(extent.offset);
            let length =
                recent.extent.end().min(extent.end()).checked_sub(start).filter(|length| *length > 0)?;
            let sectors = length / SECTOR;
            let some = some_sectors(random, sectors, case.sectors.unwrap_or(sectors));
            let at = |from: u64| {
                let shift = (start - from) as usize;
                some.start + shift..some.end + shift
            };
            let (within, hit) = (at(recent.extent.offset), at(extent.offset));
            let (old, new) = (&old[within.clone()], &recent.data[within]);
            let differ = old.chunks(SECTOR as usize).zip(new.chunks(SECTOR as usize)).all(|(a, b)| a != b);
            let recent = recent.number;
            differ.then(|| Earlier { recent, hit, old: old.to_vec(), due: Header::of(new) })
        })
    }

    /// Keeps a part of a read, or all of it, from the caller's buffer.
    fn hold_back(
        &mut self,
        case: Case,
        mut operation: Operation,
        pending: &mut Pending,
        hit: Range<usize>,
    ) -> Operation {
        let entry = self.entry(case, pending, &[], &operation.buffer[hit.clone()]);
        pending.entry = self.add(Entry { place: Some(Hit::of(part(pending.extent, &hit))), ..entry });
        pending.act = match case.kind {
            InjectionKind::Short => Act::Short { length: hit.start as u64 },
            _ => Act::Untransferred { hit },
        };
        let own = self.inner.take_buffer(operation.buffer.len());
        pending.original = Some(std::mem::replace(&mut operation.buffer, own));
        operation
    }

    /// Ends a read of which a part does not reach the caller's buffer.
    pub(super) fn finish_kept_back(&mut self, completion: &mut Completion, pending: &Pending, own: &Buffer) {
        let done = usize::try_from(completion.result).unwrap_or(0).min(own.len());
        let is_whole = done == own.len();
        let missing = match &pending.act {
            Act::Untransferred { hit } if is_whole => hit.clone(),
            Act::Short { length } if is_whole => *length as usize..done,
            _ => done..done,
        };
        let differs = completion.buffer[missing.clone()] != own[missing.clone()];
        completion.buffer[..missing.start].copy_from_slice(&own[..missing.start]);
        completion.buffer[missing.end..done].copy_from_slice(&own[missing.end..done]);
        let is_short = matches!(pending.act, Act::Short { .. }) && is_whole;
        if is_short {
            (completion.result, completion.short) = (missing.start as i64, true);
        }
        let (at, returned) = (completion.completed, completion.result);
        self.end_read(pending, at, returned);
        self.change(pending.entry, |entry| {
            (entry.completed, entry.applied) = (Some(at), is_short || is_whole && differs);
            entry.due = Header::of(&own[missing]);
            if let Some(place) = &mut entry.place {
                place.read_at = Some(at);
            }
        });
    }

    /// Ends a read; returns whether its place was changed meanwhile.
    fn end_read(&mut self, pending: &Pending, at: Nanos, result: i64) -> bool {
        let mut device = self.target.device().lock();
        if let Ok(length) = u64::try_from(result) {
            let returned = Extent { length: length.min(pending.extent.length), ..pending.extent };
            device.note_read(returned, pending.flight, at, self.target.ledger());
        }
        device.end(pending.flight)
    }

    /// Ends a read into the caller's buffer.
    pub(super) fn finish_read(&mut self, completion: &mut Completion, pending: Pending) {
        let (at, extent) = (completion.completed, pending.extent);
        let is_whole = completion.result == extent.length as i64;
        if matches!(pending.act, Act::Fails { .. } | Act::Unreadable { .. }) && completion.result >= 0 {
            (completion.result, completion.short) = (-EIO, false);
        }
        let has_overlap = self.end_read(&pending, at, completion.result);
        match pending.act {
            Act::Stale { hit, old } => {
                if is_whole {
                    completion.buffer[hit].copy_from_slice(&old);
                }
                self.change(pending.entry, |entry| {
                    (entry.completed, entry.applied, entry.unclear) = (Some(at), is_whole, has_overlap);
                    if let Some(place) = &mut entry.place {
                        place.read_at = Some(at);
                    }
                });
            }
            Act::Unreadable { hit } => {
                self.target.device().lock().make_unreadable(part(extent, &hit), pending.entry);
                self.change(pending.entry, |entry| {
                    (entry.completed, entry.applied) = (Some(at), true);
                    if let Some(place) = &mut entry.place {
                        place.read_at = Some(at);
                    }
                });
            }
            Act::Fails { entries } => {
                for entry in entries {
                    self.change(entry, |entry| {
                        if let Some(place) = &mut entry.place {
                            place.read_at.get_or_insert(at);
                        }
                    });
                }
            }
            Act::Reverting { case, recent, hit, old, due } => {
                let pending = Pending { act: Act::None, ..pending };
                if !is_whole || !self.revert(case, &pending, (at, recent, hit), (&old, due)) {
                    self.target.give_back(case);
                }
            }
            _ => {}
        }
    }

    /// Writes earlier content again, if the write that replaced it is still the last one; returns whether it was.
    fn revert(
        &mut self,
        case: Case,
        pending: &Pending,
        (at, recent, hit): (Nanos, u64, Extent),
        (old, due): (&[u8], Header),
    ) -> bool {
        let flight = {
            let mut device = self.target.device().lock();
            let may = device.is_recent(recent) && device.is_free(hit, None);
            may.then(|| device.start(Op::Write, hit))
        };
        let Some(flight) = flight else { return false };
        let entry = self.entry(case, pending, &due.0, old);
        let Written { is_whole, has_overlap } = self.write_now(hit, flight, old);
        if is_whole {
            let (place, completed) = (Some(Hit::of(hit)), Some(at));
            let entry = Entry { place, completed, applied: true, unclear: has_overlap, ..entry };
            let entry = self.add(entry);
            self.target.device().lock().mark(hit, entry, false);
        }
        is_whole
    }
}
