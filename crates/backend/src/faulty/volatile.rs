//! A volatile write cache over a backend, and its crash.
//!
//! A write is replaced by a read below, which takes a plausible time, and is acknowledged when the [`Cache`](super::cache) has it.
//! Data destaged by a flush, and a write that is to be on stable storage, is written at once and one after the other, while the
//! caller waits: so the device below gets writes in order. Discards and write zeroes go past the cache in the same way, as on a
//! device that does not cache them.

use super::below::Below;
use super::cache::{MOST, Pieces, SharedCache};
use super::injector::{Case, FaultyTarget};
use super::ledger::{Entry, EntryNumber, Hit, Unflushed};
use super::{CACHE_OWN, OWN};
use crate::{Backend, Completion, Operation, Token, Wait};
use iosonar_os::Buffer;
use iosonar_plan::{Durability, Extent, InjectionKind, Nanos, Op};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

/// The errno of a device that has crashed: EIO.
const EIO: i64 = 5;

/// Number of attempts to destage a write that fails.
const TRIES: u32 = 4;

/// Number of rounds of attempts at the end, when no error can be reported any more.
const ROUNDS_AT_END: u32 = 16;

pub(super) struct Volatile {
    below: Below,
    target: FaultyTarget,
    cache: Arc<SharedCache>,
    pending: HashMap<Token, Pending>,
    /// Completions that the caller has not got yet.
    over: Vec<Completion>,
}

/// An operation of the caller's in flight.
struct Pending {
    extent: Extent,
    durability: Durability,
    act: Act,
    /// The caller's buffer, where another one was issued.
    original: Option<Buffer>,
    /// A flush that is ignored.
    entry: EntryNumber,
}

enum Act {
    /// It fails: the device has crashed.
    Fail,
    /// A read of this number.
    Read(u64),
    /// A write of this number is read.
    Write(u64, Arc<[u8]>),
    /// A flush that started at this time, before earlier acknowledged writes were destaged.
    Flush(Nanos),
}

impl Volatile {
    pub(super) fn new(inner: Box<dyn Backend>, target: FaultyTarget, cache: Arc<SharedCache>) -> Volatile {
        cache.lock().join();
        let below = Below::new(inner, CACHE_OWN);
        Volatile { below, target, cache, pending: HashMap::new(), over: Vec::new() }
    }

    /// Crashes if due; returns the case of an ignored flush.
    fn inject(&mut self, operation: &Operation) -> Option<Case> {
        let mut ignored = None;
        for case in self.target.due_in_cache(operation) {
            match case.kind {
                InjectionKind::Crash => self.crash(case, operation),
                _ => ignored = Some(case),
            }
        }
        ignored
    }

    fn entry(&mut self, (kind, number): (InjectionKind, u64), op: Op, extent: Extent) -> Entry {
        Entry::new(kind, self.target.number(), number, op, extent, self.below.now())
    }

    /// Destages some of the dirty writes and of those in flight; from now on everything fails.
    fn crash(&mut self, case: Case, operation: &Operation) {
        let shared = Arc::clone(&self.cache);
        let _turn = shared.turn();
        let entry = self.entry((case.kind, case.number), operation.op, operation.extent);
        let (pieces, mut survived) = {
            let mut cache = shared.lock();
            if cache.has_crashed() {
                return;
            }
            if operation.op.is_write() && operation.extent.length > 0 {
                cache.begin_write(operation.extent, Arc::from(&*operation.buffer));
            }
            cache.crash()
        };
        for pieces in &pieces {
            if self.write(pieces).is_err() {
                // Some of it may be there.
                let counter = if pieces.is_whole { &mut survived.whole } else { &mut survived.in_part };
                *counter = counter.saturating_sub(1);
                survived.in_part += 1;
            }
        }
        let _ = self.below.backend.flush_buffers();
        self.target.device().lock().lose_marks(self.target.ledger());
        let completed = Some(self.below.now());
        let survived = Some(survived);
        self.target.ledger().add(Entry { completed, applied: true, survived, ..entry });
    }

    /// Writes parts of a write to the device below, with retries.
    fn write(&mut self, pieces: &Pieces) -> Result<(), i64> {
        for (place, bytes) in pieces.each() {
            let mut tries = 0;
            loop {
                let copy = self.below.copy_of(bytes);
                let (copy, result) = self.below.execute(Op::Write, Durability::NONE, place, copy);
                self.below.give_buffer(copy);
                tries += 1;
                match result {
                    done if done == place.length as i64 => break,
                    failed if tries >= TRIES => return Err(if failed < 0 { failed } else { -EIO }),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Destages writes up to an acknowledgement, in order. The caller holds the turn.
    fn hand_on(&mut self, last: u64) -> Result<(), i64> {
        let mut has_any = false;
        loop {
            let Some(pieces) = self.cache.lock().oldest(last) else { break };
            self.write(&pieces)?;
            self.cache.lock().clean(pieces.order);
            has_any = true;
        }
        match has_any {
            true => self.below.backend.flush_buffers().map_err(|error| errno(&error)),
            false => Ok(()),
        }
    }

    /// Destages everything, unless the device has crashed.
    fn empty(&mut self) -> Result<(), i64> {
        let shared = Arc::clone(&self.cache);
        let _turn = shared.turn();
        let (last, has_crashed) = {
            let cache = shared.lock();
            (cache.last(), cache.has_crashed())
        };
        if has_crashed { Err(-EIO) } else { self.hand_on(last) }
    }

    /// Destages everything at the end. Writes that the device below does not take are lost, and the ledger says so; as number of
    /// the write it has 0.
    fn end(&mut self) {
        let mut rounds = 0;
        while self.empty().is_err() {
            rounds += 1;
            if rounds % ROUNDS_AT_END != 0 {
                continue;
            }
            let Some(pieces) = self.cache.lock().oldest(u64::MAX) else { return };
            let entry = self.entry((InjectionKind::Lost, 0), Op::Write, pieces.extent);
            let place = Some(Hit::of(pieces.extent));
            self.target.ledger().add(Entry { place, applied: true, unclear: true, ..entry });
            self.cache.lock().clean(pieces.order);
        }
    }

    /// Issues an operation below, or its replacement.
    fn issue(&mut self, operation: Operation, act: Act, entry: EntryNumber) {
        let Operation { token, op, durability, extent, .. } = operation;
        let (operation, original) = match op {
            Op::Read | Op::Flush | Op::Fsync => (operation, None),
            Op::Write => self.read_instead(operation, u64::MAX),
            // One that fails may be longer than memory.
            _ => {
                let block = self.cache.lock().block();
                self.read_instead(operation, block)
            }
        };
        self.pending.insert(token, Pending { extent, durability, act, original, entry });
        self.below.backend.push(operation);
    }

    fn read_instead(&mut self, operation: Operation, most: u64) -> (Operation, Option<Buffer>) {
        let extent = Extent { length: operation.extent.length.min(most), ..operation.extent };
        let buffer = self.below.take_buffer(extent.length as usize);
        let read =
            Operation { op: Op::Read, durability: Durability::NONE, extent, buffer, token: operation.token };
        (read, Some(operation.buffer))
    }

    fn start_write(&mut self, mut operation: Operation, ignored: Option<Case>) {
        let data: Arc<[u8]> = Arc::from(&*operation.buffer);
        let mut entry = None;
        if let Some(case) = ignored {
            operation.durability = Durability::NONE;
            entry = self.note_ignored(case, &operation, Unflushed { writes: 1, bytes: data.len() as u64 });
        }
        let number = self.cache.lock().begin_write(operation.extent, Arc::clone(&data));
        self.issue(operation, Act::Write(number, data), entry);
    }

    fn start_flush(&mut self, operation: Operation, ignored: Option<Case>) {
        let started = self.below.now();
        let mut entry = None;
        if let Some(case) = ignored {
            let dirty = self.cache.lock().dirty();
            entry = self.note_ignored(case, &operation, dirty);
        } else if let Err(errno) = self.empty() {
            return self.end_at_once(operation.token, operation.buffer, started, errno);
        }
        self.issue(operation, Act::Flush(started), entry);
    }

    fn note_ignored(&mut self, case: Case, operation: &Operation, unflushed: Unflushed) -> EntryNumber {
        let entry = self.entry((case.kind, case.number), operation.op, operation.extent);
        self.target.ledger().add(Entry { unflushed: Some(unflushed), ..entry })
    }

    /// Passes a discard or write zeroes by the cache, after operations in flight.
    fn pass(&mut self, operation: Operation) {
        let Operation { token, op, durability, extent, buffer } = operation;
        let started = self.below.now();
        let shared = Arc::clone(&self.cache);
        let _turn = shared.turn();
        if shared.lock().has_crashed() {
            return self.end_at_once(token, buffer, started, -EIO);
        }
        let (buffer, result) = self.below.execute(op, durability, extent, buffer);
        if let Some(done) = u64::try_from(result).ok().filter(|done| *done > 0) {
            shared.lock().pass(Extent { length: done.min(extent.length), ..extent }, None);
        }
        self.end_at_once(token, buffer, started, result);
    }

    fn end_at_once(&mut self, token: Token, buffer: Buffer, submitted: Nanos, result: i64) {
        let (completed, reap_lag) = (self.below.now(), Nanos(0));
        let completion =
            Completion { token, buffer, submitted, completed, reap_lag, result, short: false, worker: 0 };
        self.over.push(completion);
    }

    /// Ends a caller's operation.
    fn finish(&mut self, mut completion: Completion) -> Completion {
        let Some(mut pending) = self.pending.remove(&completion.token) else { return completion };
        if let Some(original) = pending.original.take() {
            let own = std::mem::replace(&mut completion.buffer, original);
            self.below.give_buffer(own);
        }
        let now = match &pending.act {
            Act::Fail => {
                (completion.result, completion.short) = (-EIO, false);
                completion.completed
            }
            Act::Read(number) => self.finish_read(&mut completion, *number, pending.extent),
            Act::Write(number, data) => self.finish_write(&mut completion, &pending, *number, data),
            Act::Flush(started) => self.finish_flush(&mut completion, *started),
        };
        // It ends when the cache is read.
        let later = now.saturating_sub(completion.completed);
        completion.completed = completion.completed.saturating_add(later);
        completion.reap_lag = completion.reap_lag.saturating_add(later);
        let (at, is_done) = (completion.completed, completion.result >= 0);
        self.target.ledger().change(pending.entry, |entry| {
            let has_any = entry.unflushed.is_some_and(|unflushed| unflushed.writes > 0);
            (entry.completed, entry.applied) = (Some(at), is_done && has_any);
        });
        completion
    }

    fn finish_read(&mut self, completion: &mut Completion, number: u64, extent: Extent) -> Nanos {
        let shared = Arc::clone(&self.cache);
        let mut done = usize::try_from(completion.result).unwrap_or(0).min(completion.buffer.len());
        let reach = shared.lock().reach(number, extent);
        if completion.result >= 0 && done < reach {
            done = self.read_on(extent, done..reach, &mut completion.buffer);
        }
        let mut cache = shared.lock();
        if cache.has_crashed() {
            (completion.result, completion.short) = (-EIO, false);
        } else if completion.result >= 0 {
            cache.overlay(number, extent, &mut completion.buffer[..done]);
            completion.short &= done < completion.buffer.len();
            completion.result = done as i64;
        }
        cache.end_read(number);
        self.below.now()
    }

    /// The device below returned less than the cache has: reads on, up to the end of the file, after which there are zeros.
    fn read_on(&mut self, extent: Extent, missing: std::ops::Range<usize>, memory: &mut [u8]) -> usize {
        let mut done = missing.start;
        while done < missing.end {
            let length = (missing.end - done) as u64;
            let rest = Extent { offset: extent.offset + done as u64, length };
            let buffer = self.below.take_buffer(length as usize);
            let (buffer, result) = self.below.execute(Op::Read, Durability::NONE, rest, buffer);
            let read = usize::try_from(result).unwrap_or(0).min(buffer.len());
            memory[done..done + read].copy_from_slice(&buffer[..read]);
            self.below.give_buffer(buffer);
            done += read;
            if result < 0 {
                return done;
            }
            if read == 0 {
                memory[done..missing.end].fill(0);
                done = missing.end;
            }
        }
        done
    }

    fn finish_write(
        &mut self,
        completion: &mut Completion,
        pending: &Pending,
        number: u64,
        data: &Arc<[u8]>,
    ) -> Nanos {
        if completion.result >= 0 {
            completion.result = self.keep(pending, number, data).unwrap_or_else(|errno| errno);
        }
        let mut cache = self.cache.lock();
        cache.end_write(number);
        if cache.has_crashed() {
            completion.result = -EIO;
        }
        completion.short = (0..pending.extent.length as i64).contains(&completion.result);
        self.below.now()
    }

    /// Brings a write to where its durability requires; returns its bytes.
    fn keep(&mut self, pending: &Pending, number: u64, data: &Arc<[u8]>) -> Result<i64, i64> {
        let (extent, durability) = (pending.extent, pending.durability);
        if durability.has(Durability::PREFLUSH) {
            self.empty()?;
        }
        let shared = Arc::clone(&self.cache);
        if !durability.has(Durability::FUA) && extent.length <= MOST {
            if let Some(last) = { shared.lock().overflow(extent.length) } {
                let _turn = shared.turn();
                self.hand_on(last)?;
            }
            let is_held = shared.lock().hold(number);
            return if is_held { Ok(extent.length as i64) } else { Err(-EIO) };
        }
        let _turn = shared.turn();
        if shared.lock().has_crashed() {
            return Err(-EIO);
        }
        let copy = self.below.copy_of(data);
        let (copy, result) = self.below.execute(Op::Write, Durability::FUA, extent, copy);
        self.below.give_buffer(copy);
        let done = u64::try_from(result).map_err(|_| result)?.min(extent.length);
        if done > 0 {
            shared.lock().pass(Extent { length: done, ..extent }, Some(Arc::clone(data)));
        }
        Ok(done as i64)
    }

    fn finish_flush(&mut self, completion: &mut Completion, started: Nanos) -> Nanos {
        completion.submitted = completion.submitted.min(started);
        if self.cache.lock().has_crashed() {
            completion.result = -EIO;
        }
        self.below.now()
    }
}

fn errno(error: &io::Error) -> i64 {
    -error.raw_os_error().map_or(EIO, i64::from)
}

impl Backend for Volatile {
    fn now(&mut self) -> Nanos {
        self.below.now()
    }

    fn is_timed(&self) -> bool {
        self.below.backend.is_timed()
    }

    fn skip_to(&mut self, time: Nanos) {
        self.below.backend.skip_to(time);
    }

    fn needs_buffers(&self) -> bool {
        true
    }

    fn push(&mut self, operation: Operation) {
        let ignored = if operation.token == OWN || self.cache.lock().has_crashed() {
            None
        } else {
            self.inject(&operation)
        };
        let has_crashed = self.cache.lock().has_crashed();
        match operation.op {
            Op::Read | Op::Write if operation.extent.length == 0 => self.below.backend.push(operation),
            Op::Read | Op::Write | Op::Flush | Op::Fsync | Op::Discard | Op::WriteZeroes if has_crashed => {
                self.issue(operation, Act::Fail, None);
            }
            Op::Read => {
                let number = self.cache.lock().begin_read();
                self.issue(operation, Act::Read(number), None);
            }
            Op::Write => self.start_write(operation, ignored),
            Op::Flush | Op::Fsync => self.start_flush(operation, ignored),
            Op::Discard | Op::WriteZeroes => self.pass(operation),
            _ => self.below.backend.push(operation),
        }
    }

    fn submit(&mut self) {
        self.below.backend.submit();
    }

    fn reap(&mut self, wait: Wait, out: &mut Vec<Completion>) {
        self.below.reap(if self.over.is_empty() { wait } else { Wait::No });
        // Ending one may take operations of the wrapper itself, and others complete meanwhile.
        while !self.below.ready.is_empty() {
            for completion in std::mem::take(&mut self.below.ready) {
                let completion = self.finish(completion);
                self.over.push(completion);
            }
        }
        out.append(&mut self.over);
    }

    /// Destages all writes: the next step brings the target to stable storage.
    fn flush_buffers(&mut self) -> io::Result<()> {
        self.empty().map_err(|errno| io::Error::from_raw_os_error(-errno as i32))?;
        self.below.backend.flush_buffers()
    }

    fn release(&mut self) -> Option<io::Result<()>> {
        // After a crash there is nothing to destage, and closing works.
        let has_crashed = self.cache.lock().has_crashed();
        let emptied = if has_crashed { Ok(()) } else { self.empty() };
        let released = self.below.backend.release();
        match emptied {
            Ok(()) => released,
            Err(errno) => Some(Err(io::Error::from_raw_os_error(-errno as i32))),
        }
    }
}

impl Drop for Volatile {
    /// The last one destages everything: the run ends, or its phase.
    fn drop(&mut self) {
        let is_last = {
            let mut cache = self.cache.lock();
            for pending in self.pending.values() {
                match pending.act {
                    Act::Read(number) => cache.end_read(number),
                    Act::Write(number, _) => cache.end_write(number),
                    _ => {}
                }
            }
            cache.leave() && !cache.has_crashed()
        };
        if is_last && !std::thread::panicking() {
            self.end();
        }
    }
}
