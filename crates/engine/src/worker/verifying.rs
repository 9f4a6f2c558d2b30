//! The verification's part in the issuing loop: see [`crate::verify`].

use super::{Issued, Worker};
use crate::payload::DataRequest;
use crate::verify::{Checker, Completed};
use iosonar_archive::{Outcome, Record};
use iosonar_backend::{Completion, Operation, Token, Wait};
use iosonar_os::Buffer;
use iosonar_plan::{Durability, Extent, Nanos, Op};
use iosonar_sched::{Issue, Slot};

impl Worker<'_> {
    /// Reads the place of a write before the write, where the plan wants that; `None` lets the write go.
    pub(super) fn check_first(&mut self, slot: Slot, now: Nanos) -> Option<Issued> {
        let request = &self.scheduler.issued(slot).request;
        let (sequence, op, extent) = (request.sequence, request.op, request.extent);
        if !self.context.checker.as_mut()?.reads_first(slot, op, extent) {
            return None;
        }
        let read = DataRequest { sequence, op: Op::Read, extent, due: Nanos(0) };
        let Some(buffer) = self.take_memory(read) else {
            self.stalled.get_or_insert((slot, now));
            return Some(Issued::NeedsMemory);
        };
        self.stalled = None;
        // It may have waited for its data while others wrote there: it waits for the read now.
        self.unmade = None;
        self.push_own(slot, extent, buffer);
        Some(Issued::Gone)
    }

    /// Submits a read that belongs to a slot's write.
    fn push_own(&mut self, slot: Slot, extent: Extent, mut buffer: Buffer) {
        let Some(checker) = &mut self.context.checker else { return };
        checker.begin_own(slot, extent, &mut buffer);
        let token = checker.token(slot);
        self.push_read(token, extent, buffer);
    }

    fn push_read(&mut self, token: Token, extent: Extent, buffer: Buffer) {
        self.backend.push(Operation { token, op: Op::Read, durability: Durability::NONE, extent, buffer });
    }

    /// Checks read data while idle; returns `true` when memory was freed, a request completed, or `until` has come.
    pub(super) fn check_while_idle(&mut self, until: Nanos) -> bool {
        if self.context.checker.as_ref().is_some_and(Checker::has_unchecked) {
            // Due requests must not wait for it.
            self.submit();
        }
        while let Some(checker) = self.context.checker.as_mut().filter(|checker| checker.has_unchecked()) {
            let is_done = checker.check_slice();
            if is_done {
                self.take_free();
                self.stop_at_fault();
            }
            if self.reap(Wait::No) || is_done || self.backend.now() >= until {
                return true;
            }
        }
        false
    }

    /// Checks a read to free its memory for a waiting request. Returns `false` if no read is unchecked.
    pub(super) fn check_for_memory(&mut self) -> bool {
        let Some(checker) = self.context.checker.as_mut().filter(|checker| checker.has_unchecked()) else {
            return false;
        };
        let since = self.backend.now();
        checker.check_first();
        checker.note_stall(self.backend.now().saturating_sub(since));
        self.take_free();
        true
    }

    /// Checks all reads that still wait.
    pub(super) fn check_all(&mut self) {
        while let Some(checker) = self.context.checker.as_mut().filter(|checker| checker.has_unchecked()) {
            checker.check_first();
            self.take_free();
        }
        self.stop_at_fault();
    }

    /// Returns the memory of checked reads to the pool.
    pub(super) fn take_free(&mut self) {
        let Some(checker) = &mut self.context.checker else { return };
        while let Some(buffer) = checker.next_free() {
            self.payloads.give(buffer);
        }
    }

    /// Ends the issuing where the first fault does. Not in the middle of issuing a request: that would be cancelled and go.
    fn stop_at_fault(&mut self) {
        if self.context.checker.as_ref().is_some_and(Checker::is_stopped) {
            let why = "a fault was found, and the plan stops at the first (--verify-fatal)";
            let now = self.backend.now();
            self.end_early(why.into(), now);
        }
    }

    /// Whether a request is over, now that it completed; if not, its place is read back first.
    pub(super) fn is_over(&mut self, slot: Slot, record: &Record, buffer: Buffer) -> Option<Buffer> {
        let Some(checker) = &mut self.context.checker else { return Some(buffer) };
        let ended = checker.end(slot, record, buffer);
        self.stop_at_fault();
        match ended {
            Completed::Over(buffer) => Some(buffer),
            Completed::ReadBack(buffer) => {
                self.push_own(slot, record.executed, buffer);
                None
            }
        }
    }

    /// Processes the end of an operation that belongs to the checks; returns any other completion.
    pub(super) fn take_own(&mut self, completion: Completion) -> Option<Completion> {
        match &self.context.checker {
            Some(checker) if checker.is_own(completion.token) => self.complete_own(completion),
            _ => return Some(completion),
        }
        None
    }

    fn complete_own(&mut self, completion: Completion) {
        let depth = self.settings.depth;
        let Completion { token, mut buffer, submitted, completed, result, .. } = completion;
        let Some(checker) = &mut self.context.checker else { return };
        if token.0 >= 2 * depth {
            return checker.end_again(result, [submitted, completed], &buffer);
        }
        let slot = Slot(token.0 - depth);
        let request = &self.scheduler.issued(slot).request;
        let read = Record {
            sequence: request.sequence,
            executed: request.extent,
            submitted: Some(submitted),
            completed: Some(completed),
            result,
            ..Record::default()
        };
        let over = checker.end_own(slot, &read, &mut buffer);
        self.payloads.give(buffer);
        if let Some(record) = over {
            self.end_request(slot, &record, record.result, completed);
        }
    }

    /// Reads bad places again, where one is due.
    pub(super) fn read_again(&mut self, now: Nanos) {
        let Some(checker) = &mut self.context.checker else { return };
        if let Some((token, extent, buffer)) = checker.begin_again(now) {
            self.push_read(token, extent, buffer);
        }
    }

    /// Awaits the places that are still to be read again: after the pass, outside of its time.
    pub(super) fn read_again_to_the_end(&mut self) {
        while let Some(checker) = &self.context.checker
            && checker.has_more()
        {
            let now = self.backend.now();
            if self.control.is_stopped(now) {
                return self.await_again();
            }
            let until = checker.next_due().unwrap_or(Nanos(u64::MAX)).min(now.saturating_add(super::POLL));
            self.read_again(now);
            self.backend.submit();
            self.reap(Wait::Until(until));
        }
    }

    /// Awaits the read in flight.
    fn await_again(&mut self) {
        self.backend.submit();
        while self.context.checker.as_ref().is_some_and(|checker| checker.is_reading_again()) {
            let until = self.backend.now().saturating_add(super::POLL);
            self.reap(Wait::Until(until));
        }
    }

    /// A slot whose place was checked goes before all others.
    pub(super) fn checked_slot(&mut self) -> Option<Slot> {
        self.context.checker.as_mut()?.next_checked()
    }

    /// Cancels writes whose place was read before them, and which a stop prevents.
    pub(super) fn cancel_checked(&mut self, now: Nanos) {
        while let Some(slot) = self.checked_slot() {
            if let Some(checker) = &mut self.context.checker {
                checker.let_go(slot);
            }
            let Issue { request, due, .. } = *self.scheduler.issued(slot);
            self.scheduler.complete(slot, now);
            self.record_unsent(&request, Outcome::Cancelled, None, due);
        }
    }
}
