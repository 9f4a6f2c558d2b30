//! Reads of a scan, many in flight; and the checks of their data, in another thread where there is a CPU for it.

use super::device::{Contents, Looks};
use super::place::TargetPlace;
use super::verifier::Verifier;
use crate::control::Control;
use iosonar_archive::FoundBy;
use iosonar_backend::{Backend, Completion, Operation, Token, Wait};
use iosonar_os::{Buffer, BufferPool};
use iosonar_plan::{Durability, Extent, Nanos, Op, SECTOR};
use iosonar_verify::{BadContent, Flight, Reader, Sectors};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::available_parallelism;

/// Reads in flight.
pub(super) const DEPTH: u32 = 16;
/// Maximum sectors of a read: 1 MiB.
pub(super) const PIECE: u64 = 2048;
/// Reads that may wait for their check while the maximum is in flight.
const BEHIND: u32 = 8;

/// The errno of a read that failed before the scan was stopped.
const EIO: i32 = 5;

/// Source of a scan, and the memory that it reads into.
pub(super) struct ScanSource {
    pub(super) backend: Box<dyn Backend>,
    pub(super) memory: BufferPool,
}

/// Memory for the reads of a scan.
pub(super) fn memory() -> std::io::Result<BufferPool> {
    BufferPool::new(BufferPool::needed(DEPTH + BEHIND, PIECE * SECTOR), false)
}

/// A read in flight.
pub(super) struct Piece {
    pub(super) sectors: Sectors,
    pub(super) flight: Flight,
}

/// Reads sectors of one device through a target of it.
pub(super) struct Reads<'a> {
    pub(super) verifier: &'a Verifier,
    pub(super) place: TargetPlace,
    pub(super) source: &'a mut ScanSource,
    pub(super) control: &'a Control,
}

impl Reads<'_> {
    pub(super) fn backend(&mut self) -> &mut dyn Backend {
        self.source.backend.as_mut()
    }

    /// Each sector of the buffer that is read into has the poison.
    fn push(&mut self, sectors: Sectors, mut buffer: Buffer, token: Token) -> Piece {
        let offset = (sectors.start - self.place.base) * SECTOR;
        let extent = Extent { offset, length: sectors.count * SECTOR };
        buffer.set_len(extent.length as usize);
        let flight = self.verifier.device(self.place).expected().begin_read(sectors);
        let durability = Durability::NONE;
        self.backend().push(Operation { token, op: Op::Read, durability, extent, buffer });
        Piece { sectors, flight }
    }

    /// Reads one piece with nothing else in flight.
    pub(super) fn one(&mut self, sectors: Sectors) -> (Piece, Completion) {
        let mut buffer = Buffer::zeroed((sectors.count * SECTOR) as usize);
        iosonar_content::poison(&mut buffer, self.verifier.poison);
        let piece = self.push(sectors, buffer, Token(0));
        self.backend().submit();
        let mut done = Vec::with_capacity(1);
        loop {
            self.backend().reap(Wait::Until(Nanos(u64::MAX)), &mut done);
            if let Some(completion) = done.pop() {
                return (piece, completion);
            }
        }
    }

    /// Drops the data of a read.
    pub(super) fn let_go(&self, piece: Piece) {
        self.verifier.device(self.place).expected().end_read(piece.flight, 0, |_, _| None);
    }

    pub(super) fn is_stopped(&mut self) -> bool {
        let now = self.backend().now();
        self.control.is_stopped(now)
    }

    /// Reads the pieces in their order, unless it is stopped; returns whether all were read. `see` gets the result of each read
    /// (bytes or error), and returns whether to check it.
    pub(super) fn all(
        &mut self,
        pieces: &[Sectors],
        checks: &mut Checks<'_>,
        mut see: impl FnMut(Sectors, i64) -> bool,
    ) -> bool {
        // A simulation must be deterministic.
        if !self.source.backend.is_timed() || available_parallelism().map_or(1, usize::from) < 2 {
            return self.all_with(pieces, Checking::Here(checks), &mut see);
        }
        let ((work, works), (back, checked)) = (channel(), channel());
        std::thread::scope(|scope| {
            scope.spawn(move || checks.check_all(works, &back));
            self.all_with(pieces, Checking::Beside { work, checked, open: 0 }, &mut see)
        })
    }

    fn all_with(
        &mut self,
        pieces: &[Sectors],
        mut checking: Checking<'_, '_>,
        see: &mut dyn FnMut(Sectors, i64) -> bool,
    ) -> bool {
        let mut free = self.buffers(pieces.len());
        let mut flying: Vec<Option<Piece>> = (0..DEPTH).map(|_| None).collect();
        let mut next = pieces.iter().copied().peekable();
        let mut done = Vec::with_capacity(DEPTH as usize);
        loop {
            free.extend(std::iter::from_fn(|| checking.take_back(false)));
            let is_stopped = self.is_stopped();
            while let Some(slot) = flying.iter().position(Option::is_none).filter(|_| !is_stopped) {
                let Some(buffer) = free.pop_if(|_| next.peek().is_some()) else { break };
                let Some(sectors) = next.next() else { break };
                flying[slot] = Some(self.push(sectors, buffer, Token(slot as u32)));
            }
            if flying.iter().all(Option::is_none) {
                // The next read has to wait for memory, or all memory is free.
                let Some(buffer) = checking.take_back(true) else { break };
                free.push(buffer);
                continue;
            }
            self.backend().submit();
            self.backend().reap(Wait::Until(Nanos(u64::MAX)), &mut done);
            for completion in done.drain(..) {
                let piece = flying[completion.token.0 as usize].take().expect("each read completes once");
                if see(piece.sectors, completion.result) {
                    free.extend(checking.give(piece, completion));
                } else {
                    self.let_go(piece);
                    free.push(completion.buffer);
                }
            }
        }
        free.into_iter().for_each(|buffer| self.source.memory.give(buffer));
        next.peek().is_none()
    }

    /// Buffers for `reads` reads, with the poison in all of their sectors.
    fn buffers(&mut self, reads: usize) -> Vec<Buffer> {
        let count = reads.min((DEPTH + BEHIND) as usize);
        let mut buffers: Vec<Buffer> =
            (0..count).map_while(|_| self.source.memory.take((PIECE * SECTOR) as usize)).collect();
        buffers.iter_mut().for_each(|buffer| iosonar_content::poison(buffer, self.verifier.poison));
        buffers
    }
}

/// Checks the data of a scan's reads.
pub(super) struct Checks<'a> {
    pub(super) verifier: &'a Verifier,
    pub(super) target: u16,
    pub(super) contents: Contents,
}

impl<'a> Checks<'a> {
    pub(super) fn place(&self) -> TargetPlace {
        self.verifier.places[usize::from(self.target)]
    }

    pub(super) fn looks(&self) -> Looks<'a> {
        self.verifier.looks(self.place())
    }

    /// Checks one read; returns its buffer for another read.
    pub(super) fn check(&mut self, piece: Piece, completion: Completion) -> Buffer {
        let Completion { mut buffer, submitted, completed, result, .. } = completion;
        let reader =
            Reader { target: self.target, found_by: FoundBy::Final, request: None, submitted, completed };
        let transferred = usize::try_from(result).unwrap_or(0).min(buffer.len());
        let looks = self.looks();
        let place = self.place();
        let data = self.contents.look(&buffer[..transferred], &looks);
        let mut device = self.verifier.device(place);
        device.end_read(piece.flight, data, &looks, reader);
        let Sectors { start, count } = piece.sectors;
        let missing = start + transferred as u64 / SECTOR..start + count;
        let found = if result < 0 { BadContent::Unreadable(-result as i32) } else { BadContent::Short };
        device.note_missing(reader, &looks, missing, found);
        drop(device);
        iosonar_content::poison(&mut buffer, self.verifier.poison);
        buffer
    }

    /// Notes that sectors cannot be read; `failure` is the last read of some of them.
    pub(super) fn note_unreadable(&mut self, sectors: Sectors, failure: Option<&Completion>) {
        let of = |time: fn(&Completion) -> Nanos| failure.map(time).unwrap_or_default();
        let (submitted, completed) = (of(|failure| failure.submitted), of(|failure| failure.completed));
        let reader =
            Reader { target: self.target, found_by: FoundBy::Final, request: None, submitted, completed };
        let errno = failure.map_or(EIO, |failure| -failure.result as i32);
        let (looks, places) = (self.looks(), sectors.start..sectors.end());
        self.verifier.device(self.place()).note_missing(
            reader,
            &looks,
            places,
            BadContent::Unreadable(errno),
        );
    }

    /// Checks all reads from the channel, in their order.
    fn check_all(&mut self, works: Receiver<(Piece, Completion)>, back: &Sender<Buffer>) {
        for (piece, completion) in works {
            let buffer = self.check(piece, completion);
            if back.send(buffer).is_err() {
                return;
            }
        }
    }
}

/// Place of the checks.
enum Checking<'a, 'b> {
    /// In the reading thread.
    Here(&'b mut Checks<'a>),
    /// In another thread. The number of buffers bounds its queue.
    Beside { work: Sender<(Piece, Completion)>, checked: Receiver<Buffer>, open: usize },
}

impl Checking<'_, '_> {
    /// Has a read checked; returns its buffer if that is done.
    fn give(&mut self, piece: Piece, completion: Completion) -> Option<Buffer> {
        match self {
            Checking::Here(checks) => Some(checks.check(piece, completion)),
            Checking::Beside { work, open, .. } => {
                // A thread that panicked is seen when its buffers do not come back.
                *open += usize::from(work.send((piece, completion)).is_ok());
                None
            }
        }
    }

    /// A buffer of a read that was checked since; waits for one if `waits`. `None` if no buffer is there, or will be.
    fn take_back(&mut self, waits: bool) -> Option<Buffer> {
        let Checking::Beside { checked, open, .. } = self else { return None };
        if *open == 0 {
            return None;
        }
        let buffer = if waits { checked.recv().ok()? } else { checked.try_recv().ok()? };
        *open -= 1;
        Some(buffer)
    }
}
