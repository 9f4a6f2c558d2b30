//! Generated patterns: what a plan's pattern asks for, request by request.
//!
//! Request i is a function of plan, seed, stream and i: its operation comes from i alone, its length and address from
//! random numbers by counter ([`crate::draws`]). Where something is a running sum (Poisson arrivals, bytes asked for
//! so far, the place of sequential requests of different lengths), every job walks over all requests and so comes to
//! the same sums.

use crate::addresses::Addresses;
use crate::draws::{Draws, Purpose};
use crate::recorded::LoadError;
use crate::share::Share;
use crate::sizes::Sizes;
use crate::timetable::Timetable;
use crate::{Item, Source};
use iosonar_plan::{Extent, Nanos, Op, Order, PatternSource, Space};

/// Why a pattern cannot be laid over a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// The region is shorter than the longest request.
    #[error("its region is shorter than its longest request of {length} bytes")]
    Region {
        /// The longest request.
        length: u64,
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

/// Requests over a region of a target.
#[derive(Debug, Clone)]
pub struct Pattern {
    shape: Shape,
    addresses: Addresses,
    share: Share,
    timetable: Timetable,
    /// Number of the next request.
    sequence: u64,
    /// Its place in its lap through the region, where laps count.
    index: u64,
    lap: u64,
    /// Where it begins, counted from the beginning of the region, if it is sequential and lengths differ.
    position: u64,
    /// Bytes of all requests before it, where they end the pass.
    issued: u64,
}

/// What does not change from request to request.
#[derive(Debug, Clone)]
struct Shape {
    /// Where the region begins, in bytes.
    offset: u64,
    /// Its length in bytes.
    region: u64,
    /// Addresses are multiples of this, counted from `offset`.
    unit: u64,
    /// Addresses at which the longest request fits.
    blocks: u64,
    /// Bit n: whether the n-th request of each hundred is a read.
    reads: u128,
    only_reads: bool,
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
    /// Bytes after which the pass ends, where lengths differ.
    bytes: Option<u64>,
    end: Option<Nanos>,
    ramp: Nanos,
}

impl Pattern {
    /// For a target of `target_size` bytes and a valid pattern. `stream` tells targets and passes apart. All its
    /// requests, until [`Pattern::part`] takes a share.
    pub fn new(pattern: &PatternSource, target_size: u64, seed: u64, stream: u64) -> Result<Pattern, Unfit> {
        let timetable = Timetable::new(pattern, Draws::new(seed, stream, Purpose::Arrival));
        let region = pattern.region_on(target_size);
        let (unit, length) = (pattern.smallest(), pattern.longest());
        if region < length || length == 0 {
            return Err(Unfit::Region { length });
        }
        check_zones(&pattern.order, region)?;
        let blocks = (region - length) / unit + 1;
        let is_stream = pattern.order == Order::Sequential && pattern.fixed_size().is_none();
        // Requests of one length are counted.
        let bytes = pattern.bytes_on(target_size).filter(|_| pattern.fixed_size().is_none());
        let shape = Shape {
            offset: pattern.offset.0,
            region,
            unit,
            blocks,
            reads: reads(pattern.read_percent),
            only_reads: !pattern.writes(),
            read_sizes: Sizes::new(pattern.sizes(Op::Read)),
            write_sizes: Sizes::new(pattern.sizes(Op::Write)),
            size_draws: Draws::new(seed, stream, Purpose::Size),
            has_laps: matches!(pattern.order, Order::Sequential | Order::Shuffled) && !is_stream,
            is_stream,
            is_walked: is_stream || bytes.is_some() || timetable.is_walked(),
            requests: pattern.requests_on(target_size).unwrap_or(u64::MAX),
            bytes,
            end: pattern.stop.end(),
            ramp: pattern.stop.ramp,
        };
        let addresses = Addresses::new(&pattern.order, blocks, unit, seed, stream);
        let share = Share::new(0, 1);
        Ok(Pattern {
            shape,
            addresses,
            share,
            timetable,
            sequence: 0,
            index: 0,
            lap: 0,
            position: 0,
            issued: 0,
        })
    }

    /// The share of job `job`, from 0, of `jobs`, before the first request is asked for: all jobs together issue what
    /// one alone would, and each gets its own in order.
    ///
    /// # Panics
    /// If there is no such job.
    pub fn part(mut self, job: u32, jobs: u32) -> Pattern {
        assert!(job < jobs, "job {job} of {jobs}");
        self.share = Share::new(job, jobs);
        self.advance(self.share.first());
        self
    }

    /// The next request; `now` is the time since the start of the pass.
    #[inline]
    pub fn next_item(&mut self, now: Nanos) -> Option<Item> {
        let item = self.item(now)?;
        let steps = self.share.step();
        self.advance(steps);
        Some(item)
    }

    #[inline]
    fn item(&self, now: Nanos) -> Option<Item> {
        let (shape, sequence, due) = (&self.shape, self.sequence, self.timetable.due());
        let time = due.unwrap_or(now);
        let is_enough = shape.bytes.is_some_and(|bytes| self.issued >= bytes);
        if sequence >= shape.requests || is_enough || shape.end.is_some_and(|end| time >= end) {
            return None;
        }
        let op = shape.op(sequence);
        let length = shape.length(sequence, op);
        let from = if shape.is_stream {
            shape.fit(self.position, length)
        } else {
            self.addresses.block(sequence, self.index, shape.blocks) * shape.unit
        };
        let extent = Extent { offset: shape.offset + from, length };
        Some(Item { sequence, load_time: time, due, op, extent, ramp: time < shape.ramp })
    }

    #[inline]
    fn advance(&mut self, steps: u64) {
        if self.shape.is_walked {
            (0..steps).for_each(|i| self.walk(self.sequence + i));
        } else {
            self.timetable.jump(steps);
        }
        self.sequence += steps;
        if self.shape.has_laps {
            self.index += steps;
            if self.index >= self.shape.blocks {
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
            self.position = shape.fit(self.position, length) + length;
        }
    }

    #[cold]
    fn wrap(&mut self) {
        self.lap += self.index / self.shape.blocks;
        self.index %= self.shape.blocks;
        self.addresses.set_lap(self.lap);
    }
}

impl Shape {
    #[inline]
    fn op(&self, number: u64) -> Op {
        let is_read = self.only_reads || self.reads >> (number % 100) & 1 == 1;
        if is_read { Op::Read } else { Op::Write }
    }

    #[inline]
    fn length(&self, number: u64, op: Op) -> u64 {
        let sizes = if op == Op::Read { &self.read_sizes } else { &self.write_sizes };
        sizes.draw(|| self.size_draws.at(number))
    }

    /// Where a sequential request begins: at the beginning of the region, if it does not fit any more.
    fn fit(&self, position: u64, length: u64) -> u64 {
        if length > self.region - position { 0 } else { position }
    }
}

/// Reads spread evenly, exactly `percent` in every 100 requests.
fn reads(percent: u8) -> u128 {
    let until = |n: u32| n * u32::from(percent) / 100;
    (0..100).filter(|n| until(n + 1) > until(*n)).fold(0, |mask, n| mask | 1 << n)
}

fn check_zones(order: &Order, region: u64) -> Result<(), Unfit> {
    let Order::Zoned(zones) = order else { return Ok(()) };
    let bytes = zones.iter().map(|zone| if let Space::Bytes(bytes) = zone.space { bytes.0 } else { 0 });
    let zones = bytes.fold(0u64, u64::saturating_add);
    if zones <= region { Ok(()) } else { Err(Unfit::Zones { zones, region }) }
}

impl Source for Pattern {
    fn next(&mut self, now: Nanos) -> Result<Option<Item>, LoadError> {
        Ok(self.next_item(now))
    }

    fn upcoming(&self, now: Nanos) -> Option<Item> {
        self.item(now)
    }
}

#[cfg(test)]
mod tests;
