//! Faults around any backend: requests are changed on their way in, and results on their way out, as set by the plan's injections.
//! Each fault is noted in a ledger, with its outcome.
//!
//! An operation that is hit may need further operations: the earlier content is read, or something is written elsewhere. The
//! wrapper executes these at once and one after the other, while the caller waits in [`push`](Backend::push): the run tests the
//! detection of faults, and its times are no result.
//!
//! A place that still holds a fault is not hit again, and neither is one where another request is in flight. So each entry of
//! the ledger describes the content of its place until that is overwritten.
//!
//! - [`injector`](self::injector): selection of operations, state shared by all wrappers.
//! - [`device`](self::device): requests in flight on a device, recent writes, places of faults.
//! - [`writes`](self::writes), [`reads`](self::reads): the kinds.
//! - [`damage`](self::damage): how bytes are changed.
//! - [`cache`](self::cache), [`volatile`](self::volatile): the volatile write cache of a device that is to crash, below the others.
//! - [`below`](self::below): operations of the wrapper itself.

mod below;
mod cache;
#[cfg(test)]
mod crash_tests;
mod damage;
mod device;
mod injector;
mod intervals;
mod ledger;
mod reads;
#[cfg(test)]
mod tests;
mod volatile;
mod writes;

pub use device::FaultyDevice;
pub use injector::{FaultyTarget, Injector, OtherRun};
pub use ledger::{Entry, Header, Hit, Ledger, Survived, Unflushed};

use crate::{Backend, Completion, Operation, Token, Wait};
use below::Below;
use device::FlightNumber;
use injector::Case;
use iosonar_os::Buffer;
use iosonar_plan::{Durability, Extent, InjectionKind, Nanos, Op};
use ledger::EntryNumber;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use volatile::Volatile;

/// Token of operations of the wrapper itself. Callers number theirs from 0.
const OWN: Token = Token(u32::MAX);
/// Token of operations of the cache below it.
const CACHE_OWN: Token = Token(u32::MAX - 1);

/// Kinds that need the content of a place before its last write.
const WITH_OLD: [InjectionKind; 2] = [InjectionKind::Stale, InjectionKind::Reverted];
/// Kinds that need recent writes.
const WITH_RECENT: [InjectionKind; 3] =
    [InjectionKind::Stale, InjectionKind::Reverted, InjectionKind::Swapped];

/// A backend with faults.
pub struct Faulty {
    inner: Below,
    target: FaultyTarget,
    random: Xoshiro256PlusPlus,
    pending: HashMap<Token, Pending>,
    needs: Needs,
    /// Whether each write must be on stable storage when it completes.
    is_synchronous: bool,
}

/// Data of ordinary writes that the injections of a run need.
#[derive(Debug, Clone, Copy)]
struct Needs {
    old: bool,
    recent: bool,
    exchange: bool,
}

/// An operation of the caller's in flight.
#[derive(Debug)]
struct Pending {
    flight: FlightNumber,
    op: Op,
    extent: Extent,
    act: Act,
    /// The caller's buffer, where another one was issued.
    original: Option<Buffer>,
    entry: EntryNumber,
    /// Earlier content of the place of an ordinary write.
    old: Option<Arc<[u8]>>,
}

/// Action when the operation has completed.
#[derive(Debug)]
enum Act {
    /// No action.
    None,
    /// A read was issued in the place of a write.
    Lost,
    /// Part of a write has other data.
    Changed { hit: Range<usize> },
    /// A request was shortened or lengthened to this.
    Short { length: u64 },
    /// Reads of this part fail from now on; and this one, if it is a read.
    Unreadable { hit: Range<usize> },
    /// A read touches a place that is unreadable already.
    Fails { entries: Vec<EntryNumber> },
    /// A part of a read is answered with other bytes.
    Stale { hit: Range<usize>, old: Vec<u8> },
    /// A part of a read is not transferred.
    Untransferred { hit: Range<usize> },
    /// Earlier content is written again after a read.
    Reverting { case: Case, recent: u64, hit: Extent, old: Vec<u8>, due: Header },
}

impl std::fmt::Debug for Faulty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Faulty").field("target", &self.target).finish_non_exhaustive()
    }
}

/// The part of an extent that these bytes of its data belong to.
fn part(extent: Extent, hit: &Range<usize>) -> Extent {
    Extent { offset: extent.offset + hit.start as u64, length: hit.len() as u64 }
}

impl Faulty {
    /// Operations that the inner backend has in flight beside those of the caller: its depth is greater by this.
    pub const EXTRA_DEPTH: u32 = 1;

    /// Injects into the operations of one issuing loop. The inner backend transfers data, and its file can be read.
    ///
    /// # Panics
    /// If the inner backend transfers no data.
    pub fn new(inner: Box<dyn Backend>, target: FaultyTarget) -> Faulty {
        assert!(inner.needs_buffers(), "a backend without data has no faults");
        let needs = Needs {
            old: target.has(&WITH_OLD),
            recent: target.has(&WITH_RECENT),
            exchange: target.has(&[InjectionKind::OtherTarget]),
        };
        let random = target.random();
        let inner = match target.device().cache() {
            Some(cache) => Box::new(Volatile::new(inner, target.clone(), Arc::clone(cache))),
            None => inner,
        };
        let (inner, pending) = (Below::new(inner, OWN), HashMap::new());
        Faulty { inner, target, random, pending, needs, is_synchronous: false }
    }

    /// Requires each write to be on stable storage when it completes: the file was opened with `O_SYNC` or `O_DSYNC`.
    #[must_use]
    pub fn synchronous(mut self, is_synchronous: bool) -> Faulty {
        self.is_synchronous = is_synchronous;
        self
    }

    fn has_crashed(&self) -> bool {
        self.target.device().cache().is_some_and(|cache| cache.lock().has_crashed())
    }

    /// Writes elsewhere; returns whether all of it was written. The place is `flight`'s, which ends.
    fn write_now(&mut self, extent: Extent, flight: FlightNumber, data: &[u8]) -> Written {
        let copy = self.inner.copy_of(data);
        let (copy, result) = self.inner.execute(Op::Write, Durability::NONE, extent, copy);
        self.inner.give_buffer(copy);
        let is_whole = result == extent.length as i64;
        let at = self.inner.now();
        let mut device = self.target.device().lock();
        let has_overlap = device.end(flight);
        device.supersede(extent, flight, (at, is_whole), self.target.ledger());
        if !is_whole {
            device.note_unknown(extent);
        }
        Written { is_whole, has_overlap }
    }

    /// An entry of the ledger whose end is not known yet.
    fn entry(&mut self, case: Case, pending: &Pending, due: &[u8], held: &[u8]) -> Entry {
        let (target, time) = (self.target.number(), self.inner.now());
        let entry = Entry::new(case.kind, target, case.number, pending.op, pending.extent, time);
        Entry { due: Header::of(due), held: Header::of(held), ..entry }
    }

    fn add(&self, entry: Entry) -> EntryNumber {
        self.target.ledger().add(entry)
    }

    fn change(&self, number: EntryNumber, change: impl FnOnce(&mut Entry)) {
        self.target.ledger().change(number, change);
    }

    /// Applies one of the due faults to an operation, if any is possible.
    fn changed(&mut self, mut operation: Operation, pending: &mut Pending) -> Operation {
        if self.has_crashed() {
            return operation;
        }
        let (op, extent) = (operation.op, operation.extent);
        let mut cases = self.target.due(op, extent).into_iter();
        let (entries, is_free) = {
            let device = self.target.device().lock();
            let entries = if op == Op::Read { device.unreadable(extent) } else { Vec::new() };
            (entries, device.is_free(extent, Some(pending.flight)))
        };
        if !entries.is_empty() {
            pending.act = Act::Fails { entries };
        }
        if !is_free {
            cases.for_each(|case| self.target.give_back(case));
            return operation;
        }
        while let Some(case) = cases.next() {
            let injected = match op {
                Op::Read => self.hit_read(case, operation, pending),
                _ => self.hit_write(case, operation, pending),
            };
            operation = match injected {
                Ok(operation) => {
                    cases.for_each(|case| self.target.give_back(case));
                    return operation;
                }
                Err(operation) => {
                    self.target.give_back(case);
                    operation
                }
            };
        }
        if op.is_write()
            && self.needs.old
            && let Some(old) = self.inner.read_now(extent)
        {
            pending.old = Some(Arc::from(&*old));
            self.inner.give_buffer(old);
        }
        operation
    }

    /// Ends a caller's operation.
    fn finish(&mut self, mut completion: Completion) -> Completion {
        let Some(mut pending) = self.pending.remove(&completion.token) else { return completion };
        if let Some(original) = pending.original.take() {
            let own = std::mem::replace(&mut completion.buffer, original);
            self.finish_replaced(&mut completion, &mut pending, &own);
            self.inner.give_buffer(own);
        } else if pending.op == Op::Read {
            self.finish_read(&mut completion, pending);
        } else {
            self.finish_write(&mut completion, &pending);
        }
        completion
    }

    /// Ends an operation that had a buffer of the wrapper.
    fn finish_replaced(&mut self, completion: &mut Completion, pending: &mut Pending, own: &Buffer) {
        match &pending.act {
            Act::Lost => self.finish_lost(completion, pending, own),
            _ if pending.op == Op::Read => self.finish_kept_back(completion, pending, own),
            _ => self.finish_write(completion, pending),
        }
    }
}

/// How an extra write ended.
#[derive(Debug, Clone, Copy)]
struct Written {
    is_whole: bool,
    has_overlap: bool,
}

impl Backend for Faulty {
    fn now(&mut self) -> Nanos {
        self.inner.now()
    }

    fn is_timed(&self) -> bool {
        self.inner.backend.is_timed()
    }

    fn skip_to(&mut self, time: Nanos) {
        self.inner.backend.skip_to(time);
    }

    fn needs_buffers(&self) -> bool {
        true
    }

    fn push(&mut self, mut operation: Operation) {
        let Operation { token, op, extent, .. } = operation;
        debug_assert!(token != OWN && token != CACHE_OWN);
        // Only a cache needs this: below, the file is opened so.
        let is_durable = self.is_synchronous && op.is_write() && self.target.device().cache().is_some();
        operation.durability = operation.durability.with(Durability::FUA, is_durable);
        if !op.has_place() {
            return self.inner.backend.push(operation);
        }
        let flight = self.target.device().lock().start(op, extent);
        let mut pending =
            Pending { flight, op, extent, act: Act::None, original: None, entry: None, old: None };
        let operation = self.changed(operation, &mut pending);
        self.pending.insert(token, pending);
        self.inner.backend.push(operation);
    }

    fn submit(&mut self) {
        self.inner.backend.submit();
    }

    fn reap(&mut self, wait: Wait, out: &mut Vec<Completion>) {
        self.inner.reap(wait);
        // Ending one may take operations of the wrapper itself, and others complete meanwhile.
        while !self.inner.ready.is_empty() {
            for completion in std::mem::take(&mut self.inner.ready) {
                let completion = self.finish(completion);
                out.push(completion);
            }
        }
    }

    fn flush_buffers(&mut self) -> io::Result<()> {
        self.inner.backend.flush_buffers()
    }

    fn release(&mut self) -> Option<io::Result<()>> {
        self.inner.backend.release()
    }
}

impl Drop for Faulty {
    /// Operations in flight may have been executed or not.
    fn drop(&mut self) {
        let at = self.inner.now();
        let ledger = self.target.ledger();
        let mut device = self.target.device().lock();
        for pending in self.pending.values() {
            device.end(pending.flight);
            if pending.op.changes_data() {
                device.supersede(pending.extent, pending.flight, (at, false), ledger);
                device.note_unknown(pending.extent);
            }
            ledger.change(pending.entry, |entry| entry.unclear = true);
        }
    }
}
