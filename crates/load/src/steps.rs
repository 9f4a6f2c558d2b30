//! A counted series of requests at exact locations: what a plan's steps ask for, request by request.

use crate::draws::{Draws, Purpose, below};
use crate::recorded::LoadError;
use crate::{Item, Source};
use iosonar_plan::{Extent, Nanos, Op, ReadMix, StepOrder, StepsSource, Throttle};
use std::sync::Arc;

/// A request of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed {
    /// Where, counted from the series' offset.
    pub extent: Extent,
    /// Read or write.
    pub op: Op,
}

/// The requests of one pass, or a job's share of them.
#[derive(Debug, Clone)]
pub struct Steps {
    series: StepsSource,
    list: Option<Arc<[Listed]>>,
    /// Where this pass begins, in bytes.
    base: u64,
    /// Bytes that random and staggered locations lie in.
    range: u64,
    /// Bytes after which locations begin anew, of a target that does not grow.
    room: Option<u64>,
    draws: Draws,
    mix: ReadMix,
    /// Number of the next request, and from one to the next of this job.
    sequence: u64,
    stride: u64,
    requests: u64,
}

impl Steps {
    /// Of a valid series, for pass `pass`. `room`: how far a target reaches that does not grow; a range that was not
    /// asked for ends there, and a series that only time ends begins anew there. `list` is what a listed order names.
    pub fn new(series: &StepsSource, pass: u32, room: Option<u64>, list: Option<Arc<[Listed]>>) -> Steps {
        let base = series.offset.0.saturating_add(series.pass_offset.0.saturating_mul(pass.into()));
        let (seed, stream) = match series.order {
            StepOrder::Random { seed, new_each_pass: true } => (seed, u64::from(pass)),
            StepOrder::Random { seed, .. } => (seed, 0),
            _ => (0, 0),
        };
        let listed = list.as_ref().map_or(u64::MAX, |list| list.len() as u64);
        let asked = series.range_bytes().unwrap_or(u64::MAX);
        let inside = room.map_or(u64::MAX, |room| room.saturating_sub(base));
        let range = if series.range.is_some() { asked } else { asked.min(inside) };
        Steps {
            list,
            base,
            range,
            room: room.filter(|_| series.count().is_none()),
            draws: Draws::new(seed, stream, Purpose::Address),
            sequence: 0,
            stride: 1,
            mix: series.mix(),
            requests: series.count().unwrap_or(u64::MAX).min(listed),
            series: series.clone(),
        }
    }

    /// The share of job `job` of `jobs`: every request whose number modulo `jobs` is `job`, as XDD's queue threads
    /// have it (manual 10.3).
    pub fn part(mut self, job: u32, jobs: u32) -> Steps {
        (self.sequence, self.stride) = (job.into(), jobs.max(1).into());
        self
    }

    /// The next request; `now` is the time since the start of the pass.
    pub fn next_item(&mut self, now: Nanos) -> Option<Item> {
        let item = self.item(now)?;
        self.sequence = item.sequence.saturating_add(self.stride);
        Some(item)
    }

    fn item(&self, now: Nanos) -> Option<Item> {
        let number = self.sequence;
        let due = self.due(number);
        let time = due.map_or(now, |due| due.max(now));
        if number >= self.requests || self.series.time_limit.is_some_and(|limit| time >= limit) {
            return None;
        }
        let (op, extent) = self.request(number);
        Some(Item { sequence: number, load_time: due.unwrap_or(now), due, op, extent, ramp: false })
    }

    fn request(&self, number: u64) -> (Op, Extent) {
        if let Some(listed) = self.list.as_ref().and_then(|list| list.get(number as usize)) {
            let offset = self.base.saturating_add(listed.extent.offset);
            return (listed.op, Extent { offset, length: listed.extent.length });
        }
        let op = if self.mix.is_read(number) { Op::Read } else { Op::Write };
        let length = self.series.length(number);
        (op, Extent { offset: self.base.saturating_add(self.location(number, length)), length })
    }

    /// Counted from the base.
    fn location(&self, number: u64, length: u64) -> u64 {
        let (unit, size) = (self.series.unit.0, self.series.request_size.0);
        match self.series.order {
            StepOrder::Fixed | StepOrder::List { .. } => 0,
            StepOrder::Sequential { interleave } => {
                let step = size.saturating_mul(interleave.into());
                // As many as fit before the end; the next one is at the begin again.
                let place = self.room.map_or(number, |room| {
                    let last = room.saturating_sub(self.base).saturating_sub(length) / step.max(1);
                    number % last.saturating_add(1)
                });
                place.saturating_mul(step)
            }
            StepOrder::Staggered => number.saturating_mul(self.stagger()),
            StepOrder::Random { .. } => {
                let places = self.range.saturating_sub(length) / unit.max(1) + 1;
                below(self.draws.at(number), places) * unit
            }
        }
    }

    /// From one staggered request to the next, in whole units: the last one ends within the range.
    fn stagger(&self) -> u64 {
        let (unit, size) = (self.series.unit.0.max(1), self.series.request_size.0);
        let others = self.requests.saturating_sub(1);
        if others == 0 {
            return 0;
        }
        let left = (self.range / unit * unit).saturating_sub(size);
        let gap = left.saturating_sub(self.requests.saturating_mul(size)) / unit / others * unit;
        size.saturating_add(gap)
    }

    fn due(&self, number: u64) -> Option<Nanos> {
        const BILLION: u128 = 1_000_000_000;
        let (amount, rate) = match self.series.throttle? {
            Throttle::Ops(ops) => (1, ops),
            Throttle::Bytes(bytes) => (u128::from(self.series.request_size.0), bytes),
        };
        let nanoseconds =
            (u128::from(number) + 1) * amount * BILLION * BILLION / u128::from(rate.parts().max(1));
        Some(Nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX / 2)))
    }
}

impl Source for Steps {
    fn next(&mut self, now: Nanos) -> Result<Option<Item>, LoadError> {
        Ok(self.next_item(now))
    }

    fn upcoming(&self, now: Nanos) -> Option<Item> {
        self.item(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_plan::ByteSize;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn series(order: StepOrder, requests: u64) -> StepsSource {
        StepsSource {
            order,
            unit: ByteSize(1024),
            request_size: ByteSize(8192),
            requests: Some(requests),
            bytes: None,
            time_limit: None,
            read_percent: "100".parse().unwrap(),
            offset: ByteSize(0),
            pass_offset: ByteSize(0),
            range: None,
            jobs: 1,
            throttle: None,
        }
    }

    fn blocks(series: &StepsSource, pass: u32) -> Vec<u64> {
        let mut steps = Steps::new(series, pass, None, None);
        std::iter::from_fn(|| steps.next_item(Nanos(0))).map(|item| item.extent.offset / 1024).collect()
    }

    #[test]
    fn the_examples_of_the_manual() {
        let interleaved = series(StepOrder::Sequential { interleave: 4 }, 5);
        assert_eq!(blocks(&interleaved, 0), [0, 32, 64, 96, 128]);
        let staggered = |range: u64, requests| StepsSource {
            range: Some(ByteSize(range * 1024)),
            ..series(StepOrder::Staggered, requests)
        };
        assert_eq!(blocks(&staggered(4096, 5), 0), [0, 1020, 2040, 3060, 4080]);
        assert_eq!(blocks(&staggered(4096, 1), 0), [0]);
        // 256 MB over 2 GB: every 8th block (manual 4.8).
        let every_8th = StepsSource { request_size: ByteSize(1024), ..staggered(2 << 20, 256 << 10) };
        assert_eq!(blocks(&every_8th, 0)[..3], [0, 8, 16]);
        let fixed = StepsSource { offset: ByteSize(100 * 1024), ..series(StepOrder::Fixed, 3) };
        assert_eq!(blocks(&fixed, 0), [100, 100, 100]);
        let moved = StepsSource { pass_offset: ByteSize(10 * 1024), ..fixed };
        assert_eq!(blocks(&moved, 1), [110, 110, 110]);
    }

    #[test]
    fn requests_are_due_by_their_number() {
        let slow = StepsSource {
            throttle: Some(Throttle::Ops("100".parse().unwrap())),
            ..series(StepOrder::Fixed, 3)
        };
        let mut steps = Steps::new(&slow, 0, None, None).part(1, 2);
        assert_eq!(steps.next_item(Nanos(0)).unwrap().due, Some(Nanos(20_000_000)));
        let bytes = StepsSource { throttle: Some(Throttle::Bytes("1000000".parse().unwrap())), ..slow };
        let due = Steps::new(&bytes, 0, None, None).next_item(Nanos(0)).unwrap().due;
        assert_eq!(due, Some(Nanos(8_192_000)));
        let limited = StepsSource { time_limit: Some(Nanos(10_000_000)), ..bytes };
        let mut steps = Steps::new(&limited, 0, None, None);
        assert!(steps.next_item(Nanos(0)).is_some() && steps.next_item(Nanos(0)).is_none());
    }

    #[test]
    fn what_only_time_ends_begins_anew_where_the_target_ends() {
        let endless = StepsSource { requests: None, ..series(StepOrder::Sequential { interleave: 1 }, 1) };
        let mut steps = Steps::new(&endless, 0, Some(20_480), None);
        let offsets: Vec<u64> = (0..5).map(|_| steps.next_item(Nanos(0)).unwrap().extent.offset).collect();
        assert_eq!(offsets, [0, 8192, 0, 8192, 0]);
    }

    #[test]
    fn a_list_is_followed_once() {
        let at = |offset| Listed { extent: Extent { offset, length: 4096 }, op: Op::Write };
        let list: Arc<[Listed]> = vec![at(8192), at(0), at(4096)].into();
        let listed = StepsSource { requests: Some(5), ..series(StepOrder::List { file: "a".into() }, 5) };
        let mut seen = Vec::new();
        for job in 0..2 {
            let mut steps = Steps::new(&listed, 0, None, Some(list.clone())).part(job, 2);
            seen.extend(std::iter::from_fn(|| steps.next_item(Nanos(0))));
        }
        let places: Vec<_> = seen.iter().map(|i| (i.sequence, i.extent.offset, i.op)).collect();
        assert_eq!(places, [(0, 8192, Op::Write), (2, 4096, Op::Write), (1, 0, Op::Write)]);
    }

    proptest! {
        #[test]
        fn random_locations_lie_in_the_range_and_jobs_share_them(
            seed: u64, range in 8u64..5_000, jobs in 1u32..9, pass in 0u32..3, anew: bool,
        ) {
            let random = StepsSource {
                range: Some(ByteSize(range * 1024)),
                offset: ByteSize(3 * 1024),
                ..series(StepOrder::Random { seed, new_each_pass: anew }, 50)
            };
            let whole = blocks(&random, pass);
            prop_assert!(whole.iter().all(|b| (3..=3 + range - 8).contains(b)));
            prop_assert_eq!(!anew || range < 100 || pass == 0, blocks(&random, 0) == whole || (anew && range < 100));
            let mut shared = HashSet::new();
            for job in 0..jobs {
                let mut steps = Steps::new(&random, pass, None, None).part(job, jobs);
                while let Some(item) = steps.next_item(Nanos(0)) {
                    prop_assert_eq!(item.sequence % u64::from(jobs), u64::from(job));
                    prop_assert!(shared.insert((item.sequence, item.extent.offset / 1024)));
                }
            }
            let all: HashSet<(u64, u64)> = (0u64..).zip(whole).collect();
            prop_assert_eq!(shared, all);
        }
    }
}
