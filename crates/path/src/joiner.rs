//! Finds the kernel's requests of each request of a run.

use crate::Part;
use iosonar_plan::Nanos;
use iosonar_trace::kernel::Device;
use iosonar_trace::{Entry, Kind, Pairing, Requests, TraceError, Traced};
use std::collections::{HashMap, VecDeque};

/// Maximum difference between the clock of a run and that of the events.
const CLOCKS_DIFFER: Nanos = Nanos(10_000);
/// Maximum number of the kernel's requests that wait for a request of the run: those of other programs never find one.
const MOST_WAITING: usize = 1 << 19;

/// A request of the run.
#[derive(Debug, Clone, Copy)]
pub struct Own<'a> {
    /// Device below it.
    pub device: Device,
    /// Operation.
    pub kind: Kind,
    /// Its sectors there.
    pub parts: &'a [Part],
    /// Submission.
    pub submitted: Nanos,
    /// Time at which its completion was seen.
    pub completed: Nanos,
}

/// Times of a request in the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InKernel {
    /// Its first piece was queued.
    pub queued: Nanos,
    /// Its first piece was issued to the driver; `None` for devices without a queue of requests.
    pub issued: Option<Nanos>,
    /// Its last piece was completed.
    pub done: Nanos,
}

impl InKernel {
    /// Both as one request.
    fn with(self, other: InKernel) -> InKernel {
        let issued = [self.issued, other.issued].into_iter().flatten().min();
        InKernel { queued: self.queued.min(other.queued), issued, done: self.done.max(other.done) }
    }
}

/// Device, kind and first sector.
type Key = (Device, Kind, u64);

/// A completed request of the kernel.
#[derive(Debug, Clone, Copy)]
struct Piece {
    sectors: u64,
    times: InKernel,
    /// An equal one was in flight, so that the end may be that of the other.
    is_ambiguous: bool,
    /// For dropping the oldest.
    number: u64,
}

/// Joins the requests of a run, in about the order of their completions, with the kernel's, in the order of queueing. Both have the clock of
/// the run. Memory is bounded.
pub struct Joiner<R> {
    requests: R,
    devices: Vec<Device>,
    /// By queueing.
    pieces: HashMap<Key, VecDeque<Piece>>,
    waiting: usize,
    number: u64,
    /// Queueing of the latest request that was read.
    read_until: Nanos,
    is_over: bool,
    damaged: u64,
    dropped: u64,
}

impl<R: Requests> Joiner<R> {
    /// Starts with requests at [`At::QUEUE`](iosonar_trace::kernel::At::QUEUE) with issues, whose devices have no other names than
    /// their numbers.
    pub fn new(requests: R) -> Joiner<R> {
        Joiner {
            requests,
            devices: Vec::new(),
            pieces: HashMap::new(),
            waiting: 0,
            number: 0,
            read_until: Nanos(0),
            is_over: false,
            damaged: 0,
            dropped: 0,
        }
    }

    /// Number of places in the events that could not be read.
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    /// Number of the kernel's requests that were given up because too many waited.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Finds the times of a request. `None` if the kernel's requests do not cover it.
    ///
    /// # Errors
    /// The events cannot be read.
    pub fn join(&mut self, own: &Own<'_>) -> Result<Option<InKernel>, TraceError> {
        self.read(own.completed.saturating_add(CLOCKS_DIFFER))?;
        let mut taken: Vec<(Key, Piece)> = Vec::new();
        for part in own.parts {
            let mut sector = part.sector;
            while sector < part.end {
                let key = (own.device, own.kind, sector);
                let Some(piece) = self.take(key, part.end - sector, own) else {
                    taken.into_iter().for_each(|(key, piece)| self.put(key, piece));
                    return Ok(None);
                };
                sector += piece.sectors;
                taken.push((key, piece));
            }
        }
        Ok(taken.into_iter().map(|(_, piece)| piece.times).reduce(InKernel::with))
    }

    /// Reads the kernel's requests that were queued until then.
    fn read(&mut self, until: Nanos) -> Result<(), TraceError> {
        while !self.is_over && self.read_until <= until {
            match self.requests.next()? {
                Some(Entry::One(request)) => self.add(&request),
                Some(Entry::Bad(_)) => self.damaged += 1,
                None => self.is_over = true,
            }
        }
        Ok(())
    }

    fn add(&mut self, request: &Traced) {
        self.read_until = self.read_until.max(request.time);
        // Without an end it is no part of a completed request; nor is one that failed.
        let Some(latency) =
            request.latency.filter(|_| request.error == 0 && request.pairing != Pairing::NoBegin)
        else {
            return;
        };
        let Some(device) = self.device(request.device) else { return };
        let (sector, sectors) = request.sectors();
        if sectors == 0 {
            return;
        }
        let (queued, done) = (request.time, request.time.saturating_add(latency));
        // A request that the driver got before its turn, or after its end, was issued with another one.
        let issued = request.issued.filter(|issued| (queued..=done).contains(issued));
        let is_ambiguous = request.pairing == Pairing::Ambiguous;
        self.number += 1;
        let times = InKernel { queued, issued, done };
        self.put((device, request.kind, sector), Piece { sectors, times, is_ambiguous, number: self.number });
        if self.waiting > MOST_WAITING {
            self.drop_oldest();
        }
    }

    fn device(&mut self, index: u32) -> Option<Device> {
        let index = index as usize;
        if index >= self.devices.len() {
            let names = self.requests.devices();
            self.devices = names.iter().map(|name| Device::parse(name).unwrap_or_default()).collect();
        }
        self.devices.get(index).copied()
    }

    fn drop_oldest(&mut self) {
        let recent = self.number.saturating_sub(MOST_WAITING as u64 / 2);
        self.pieces.retain(|_, pieces| {
            pieces.retain(|piece| piece.number > recent);
            !pieces.is_empty()
        });
        let left = self.pieces.values().map(VecDeque::len).sum();
        self.dropped += (self.waiting - left) as u64;
        self.waiting = left;
    }

    fn put(&mut self, key: Key, piece: Piece) {
        let pieces = self.pieces.entry(key).or_default();
        let at = pieces.partition_point(|other| other.number < piece.number);
        pieces.insert(at, piece);
        self.waiting += 1;
    }

    /// Takes the piece that begins here, and belongs to this request. One that ends where the request does comes first, then the oldest.
    fn take(&mut self, key: Key, most_sectors: u64, own: &Own<'_>) -> Option<Piece> {
        let pieces = self.pieces.get_mut(&key)?;
        let latest = own.completed.saturating_add(CLOCKS_DIFFER);
        let is_its = |piece: &Piece| {
            let queued = piece.times.queued;
            piece.sectors <= most_sectors
                && own.submitted <= queued.saturating_add(CLOCKS_DIFFER)
                && queued <= latest
        };
        let candidates = pieces.iter().enumerate().filter(|(_, piece)| is_its(piece));
        let order = |(_, piece): &(usize, &Piece)| (piece.sectors != most_sectors, piece.number);
        let ended = candidates.clone().filter(|(_, piece)| piece.times.done <= latest).min_by_key(order);
        let chosen = match ended {
            Some((chosen, _)) => chosen,
            None => {
                let (chosen, _) = candidates.filter(|(_, piece)| piece.is_ambiguous).min_by_key(order)?;
                exchange_ends(pieces, chosen, latest)?;
                chosen
            }
        };
        let piece = pieces.remove(chosen)?;
        if pieces.is_empty() {
            self.pieces.remove(&key);
        }
        self.waiting -= 1;
        Some(piece)
    }
}

/// Gives a piece the end of an equal one that was in flight with it and ended early enough: the kernel's events do not say which of
/// them ended first.
fn exchange_ends(pieces: &mut VecDeque<Piece>, chosen: usize, latest: Nanos) -> Option<()> {
    let Piece { sectors, times, .. } = pieces[chosen];
    let earliest = times.issued.unwrap_or(times.queued);
    let is_equal = |piece: &Piece| {
        piece.is_ambiguous && piece.sectors == sectors && (earliest..=latest).contains(&piece.times.done)
    };
    let other = pieces.iter().position(is_equal)?;
    pieces[chosen].times.done = pieces[other].times.done;
    pieces[other].times.done = times.done;
    Some(())
}

#[cfg(test)]
mod tests;
