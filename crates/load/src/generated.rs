//! Generated workloads: the requests of a plan's generator, one by one.
//!
//! Request i is a function of plan, seed, stream and i: its operation comes from i alone, its length and address from
//! random numbers by counter ([`crate::draws`]). Where something is a running sum (Poisson arrivals, bytes requested
//! so far, the place of sequential requests of different lengths), every job walks over all requests and so finds
//! the same sums.

use crate::addresses::Addresses;
use crate::draws::{Draws, Purpose, below};
use crate::places::Places;
use crate::recorded::LoadError;
use crate::share::Share;
use crate::sizes::Sizes;
use crate::timetable::Timetable;
use crate::{Source, SourceRequest};
use iosonar_plan::{
    AtEnd, Decimal, Durability, Extent, Generator, Nanos, Op, Order, ReadMix, Sharing, Space,
};
use std::sync::Arc;

/// Why a generated workload cannot be laid over a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// The region is shorter than the longest request.
    #[error("its region is shorter than its longest request of {length} bytes")]
    Region {
        /// The longest request.
        length: u64,
    },
    /// An order that is held in memory has too many blocks.
    #[error(
        "its order is held in memory, and {blocks} blocks are more than {most}: use larger blocks, or another order",
        most = Order::MOST_MERSENNE
    )]
    TooMany {
        /// Blocks of the region.
        blocks: u64,
    },
    /// The zones reach beyond the region.
    #[error("its zones are {zones} bytes long, and its region {region}: make them shorter")]
    Zones {
        /// All zones together, in bytes.
        zones: u64,
        /// The region, in bytes.
        region: u64,
    },
}

/// Target, phase and pass of a generated workload.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Size of the target in bytes.
    pub size: u64,
    /// The target is a file that grows by writes beyond its end.
    pub grows: bool,
    /// Seed of the plan.
    pub seed: u64,
    /// Number of the target in the plan, and of all its targets.
    pub target: u64,
    /// See `target`.
    pub targets: u64,
    /// Number of the phase in the plan, from 0.
    pub phase: u16,
    /// Number of the pass, from 0.
    pub pass: u32,
}

impl Setting {
    /// The only target of a plan, in its first pass.
    pub fn alone(size: u64, seed: u64) -> Setting {
        Setting { size, grows: false, seed, target: 0, targets: 1, phase: 0, pass: 0 }
    }

    /// Stream that separates the draws of targets, passes and phases.
    fn stream(&self) -> u64 {
        (u64::from(self.pass) * self.targets + self.target) ^ self.of_phase()
    }

    /// Bits of the phase, above all passes and targets.
    fn of_phase(&self) -> u64 {
        u64::from(self.phase) << 48
    }

    /// Seed and stream of addresses.
    fn of_addresses(&self, generator: &Generator) -> (u64, u64) {
        match (generator.seed, generator.same_each_pass) {
            (Some(seed), true) => (seed, 0),
            (Some(seed), false) => (seed, self.pass.into()),
            (None, true) => (self.seed, self.target ^ self.of_phase()),
            (None, false) => (self.seed, self.stream()),
        }
    }
}

/// A request of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed {
    /// Its range, counted from the offset.
    pub extent: Extent,
    /// Read or write.
    pub op: Op,
    /// Pause before it.
    pub delay: Nanos,
}

/// The requests of one pass, or a job's share of them.
#[derive(Debug, Clone)]
pub struct Generated {
    shape: Shape,
    addresses: Addresses,
    list: Option<Arc<[Listed]>>,
    share: Share,
    timetable: Timetable,
    /// Number of the next request.
    sequence: u64,
    /// Its place in its lap through the region, where laps count.
    index: u64,
    lap: u64,
    /// Start of the next request from the beginning of the region, if it is sequential and lengths differ.
    position: u64,
    /// Bytes of all requests before it, where they end the pass.
    issued: u64,
}

/// Constants of all requests.
#[derive(Debug, Clone)]
struct Shape {
    sharing: Sharing,
    places: Places,
    reads: Reads,
    /// Operations of the others, where not all of them are writes.
    changes: Option<Changes>,
    read_sizes: Sizes,
    write_sizes: Sizes,
    size_draws: Draws,
    /// Whether laps through the region are counted.
    has_laps: bool,
    /// Whether `position` is used.
    is_stream: bool,
    /// Whether requests between one's own have to be walked over.
    is_walked: bool,
    requests: u64,
    /// Number and length of a last request that is cut; otherwise the number is beyond all requests.
    cut: (u64, u64),
    /// Bytes after which the pass ends, where lengths differ, and whether the last request is cut.
    bytes: Option<(u64, bool)>,
    end: Nanos,
    time_limit: Nanos,
    ramp: Nanos,
    /// Whether a request depends on more than its number.
    is_special: bool,
}

/// Selects discards and write zeroes among the requests that are no reads.
#[derive(Debug, Clone, Copy)]
struct Changes {
    draws: Draws,
    /// Shares of all requests that are no reads, of discards, and of discards and write zeroes.
    all: u64,
    discards: u64,
    dataless: u64,
}

/// Selects the reads among the requests.
#[derive(Debug, Clone, Copy)]
enum Reads {
    All,
    /// Bit n: whether the n-th request of each hundred is a read.
    OfHundred(u128),
    OfPass(ReadMix),
}

impl Generated {
    /// The requests of a valid generator; `list` is the content of a listed order. All requests of the pass, until
    /// [`Generated::part`] takes a share.
    pub fn new(
        generator: &Generator,
        setting: &Setting,
        list: Option<Arc<[Listed]>>,
    ) -> Result<Generated, PatternError> {
        let stream = setting.stream();
        let timetable = Timetable::new(generator, Draws::new(setting.seed, stream, Purpose::Arrival));
        let places = Places::new(generator, setting)?;
        if generator.at_end == AtEnd::Wrap {
            check_zones(&generator.order, places.region)?;
        }
        let has_one_size = generator.fixed_size().is_some();
        let is_stream = generator.order == Order::Sequential && !has_one_size;
        // Requests of one length are counted.
        let bytes = generator.bytes_on(setting.size).filter(|_| !has_one_size);
        let listed = list.as_ref().map_or(u64::MAX, |list| list.len() as u64);
        let requests = generator.requests_on(setting.size).unwrap_or(u64::MAX).min(listed);
        let cut =
            generator.cut_length().and_then(|length| Some((generator.count()?.checked_sub(1)?, length)));
        let is_in_order = matches!(
            generator.order,
            Order::Sequential
                | Order::Interleaved { .. }
                | Order::Staggered
                | Order::Backward
                | Order::Strided { .. }
                | Order::Shuffled
                | Order::MersenneShuffled
        );
        let forever = Nanos(u64::MAX);
        let is_special = is_stream
            || bytes.is_some()
            || list.is_some()
            || cut.is_some()
            || places.shift > 0
            || generator.stop.time_limit.is_some();
        let shape = Shape {
            sharing: generator.sharing,
            places,
            reads: Reads::new(generator),
            changes: Changes::new(generator, Draws::new(setting.seed, stream, Purpose::Mix)),
            read_sizes: Sizes::new(generator.sizes(Op::Read)),
            write_sizes: Sizes::new(generator.sizes(Op::Write)),
            size_draws: Draws::new(setting.seed, stream, Purpose::Size),
            has_laps: is_in_order && !is_stream,
            is_stream,
            is_walked: is_stream || bytes.is_some() || timetable.is_walked(),
            requests,
            cut: cut.unwrap_or((u64::MAX, 0)),
            bytes: bytes.map(|bytes| (bytes, generator.stop.cut_last)),
            end: generator.stop.end().unwrap_or(forever),
            time_limit: generator.stop.time_limit.unwrap_or(forever),
            ramp: generator.stop.ramp,
            is_special,
        };
        let (seed, stream) = setting.of_addresses(generator);
        let addresses = Addresses::new(&generator.order, places.count, places.step, seed, stream)?;
        Ok(Generated {
            shape,
            addresses,
            list,
            share: Share::new(Sharing::Rounds, 0, 1),
            timetable,
            sequence: 0,
            index: 0,
            lap: 0,
            position: if is_stream { places.shift * places.step } else { 0 },
            issued: 0,
        })
    }

    /// The share of job `job`, from 0, of `jobs`, before the first request is taken: all jobs together issue the same requests as
    /// one alone would, and each gets its own in order.
    ///
    /// # Panics
    /// If there is no such job.
    pub fn part(mut self, job: u32, jobs: u32) -> Generated {
        assert!(job < jobs, "job {job} of {jobs}");
        self.share = Share::new(self.shape.sharing, job, jobs);
        self.advance(self.share.first());
        self
    }

    /// The next request; `now` is the time since the start of the pass.
    #[inline]
    pub fn next_item(&mut self, now: Nanos) -> Option<SourceRequest> {
        let item = self.item(now)?;
        let steps = self.share.step();
        self.advance(steps);
        Some(item)
    }

    #[inline]
    fn item(&self, now: Nanos) -> Option<SourceRequest> {
        let (shape, sequence, due) = (&self.shape, self.sequence, self.timetable.due());
        let time = due.unwrap_or(now);
        if sequence >= shape.requests || time >= shape.end {
            return None;
        }
        let (op, extent) = match shape.is_special {
            false => {
                let op = shape.op(sequence);
                let length = shape.length(sequence, op);
                let place = self.addresses.block(sequence, self.index, shape.places.count);
                (op, Extent { offset: shape.places.offset(place), length })
            }
            true => self.special(time.max(now))?,
        };
        let durability = Durability::NONE;
        Some(SourceRequest {
            sequence,
            load_time: time,
            due,
            op,
            durability,
            extent,
            ramp: time < shape.ramp,
        })
    }

    /// Operation and place of a request that takes more than its number to know; `None` when its pass is over.
    #[inline(never)]
    fn special(&self, time: Nanos) -> Option<(Op, Extent)> {
        let (shape, sequence) = (&self.shape, self.sequence);
        if time >= shape.time_limit || shape.bytes.is_some_and(|(bytes, _)| self.issued >= bytes) {
            return None;
        }
        if let Some(list) = &self.list {
            let Listed { op, extent, .. } = *list.get(sequence as usize)?;
            return Some((op, Extent { offset: shape.places.base.saturating_add(extent.offset), ..extent }));
        }
        let op = shape.op(sequence);
        let length = shape.length(sequence, op);
        let length = match shape.bytes {
            None if sequence == shape.cut.0 => shape.cut.1,
            Some((bytes, true)) => length.min(bytes - self.issued),
            None | Some((_, false)) => length,
        };
        let offset = if shape.is_stream {
            shape.places.base.saturating_add(shape.places.fit(self.position, length))
        } else {
            let place = self.addresses.block(sequence, self.index, shape.places.count);
            shape.places.offset(shape.places.moved(place))
        };
        Some((op, Extent { offset, length }))
    }

    #[inline]
    fn advance(&mut self, steps: u64) {
        if self.shape.is_walked {
            (0..steps).for_each(|i| self.walk(self.sequence.saturating_add(i)));
        } else {
            self.timetable.jump(steps);
        }
        self.sequence = self.sequence.saturating_add(steps);
        if self.shape.has_laps {
            self.index += steps;
            if self.index >= self.shape.places.count {
                self.wrap();
            }
        }
    }

    /// Passes over one request.
    fn walk(&mut self, number: u64) {
        let shape = &self.shape;
        let needs_length = shape.is_stream || shape.bytes.is_some() || self.timetable.needs_sizes();
        let length = if needs_length { shape.length(number, shape.op(number)) } else { 0 };
        self.timetable.walk(number, length);
        self.issued = self.issued.saturating_add(length);
        if shape.is_stream {
            self.position = shape.places.fit(self.position, length) + length;
        }
    }

    #[cold]
    fn wrap(&mut self) {
        self.lap += self.index / self.shape.places.count;
        self.index %= self.shape.places.count;
        self.addresses.set_lap(self.lap);
    }
}

impl Shape {
    #[inline]
    fn op(&self, number: u64) -> Op {
        let is_read = match self.reads {
            Reads::All => true,
            Reads::OfHundred(mask) => mask >> (number % 100) & 1 == 1,
            Reads::OfPass(mix) => mix.is_read(number),
        };
        match &self.changes {
            _ if is_read => Op::Read,
            None => Op::Write,
            Some(changes) => changes.op(number),
        }
    }

    #[inline]
    fn length(&self, number: u64, op: Op) -> u64 {
        let sizes = if op == Op::Read { &self.read_sizes } else { &self.write_sizes };
        sizes.draw(|| self.size_draws.at(number))
    }
}

impl Changes {
    fn new(generator: &Generator, draws: Draws) -> Option<Changes> {
        let all = Decimal::whole(100).parts().saturating_sub(generator.read_percent.parts());
        let discards = generator.discard_percent.parts();
        let dataless = discards.saturating_add(generator.zeroes_percent.parts());
        generator.has_discards_or_zeroes().then_some(Changes { draws, all, discards, dataless })
    }

    fn op(&self, number: u64) -> Op {
        match below(self.draws.at(number), self.all) {
            drawn if drawn < self.discards => Op::Discard,
            drawn if drawn < self.dataless => Op::WriteZeroes,
            _ => Op::Write,
        }
    }
}

impl Reads {
    fn new(generator: &Generator) -> Reads {
        let percent = generator.read_percent;
        let is_whole = percent.parts().is_multiple_of(Decimal::whole(1).parts());
        match generator.sharing {
            _ if !generator.writes() => Reads::All,
            Sharing::Rounds if is_whole => {
                Reads::OfHundred(of_hundred(percent.parts() / Decimal::whole(1).parts()))
            }
            Sharing::Rounds | Sharing::Striped => Reads::OfPass(generator.read_mix()),
        }
    }
}

/// Reads spread evenly, exactly `percent` in every 100 requests.
fn of_hundred(percent: u64) -> u128 {
    let until = |n: u64| n * percent / 100;
    (0..100).filter(|n| until(n + 1) > until(*n)).fold(0, |mask, n| mask | 1 << n)
}

fn check_zones(order: &Order, region: u64) -> Result<(), PatternError> {
    let Order::Zoned(zones) = order else { return Ok(()) };
    let bytes = zones.iter().map(|zone| if let Space::Bytes(bytes) = zone.space { bytes.0 } else { 0 });
    let zones = bytes.fold(0u64, u64::saturating_add);
    if zones <= region { Ok(()) } else { Err(PatternError::Zones { zones, region }) }
}

impl Source for Generated {
    fn next(&mut self, now: Nanos) -> Result<Option<SourceRequest>, LoadError> {
        Ok(self.next_item(now))
    }

    fn upcoming(&self, now: Nanos) -> Option<SourceRequest> {
        self.item(now)
    }
}

#[cfg(test)]
mod tests;
