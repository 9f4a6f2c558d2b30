//! A workload with all facts that can be known before its first request.

use crate::{Facts, Listed};
use iosonar_plan::{AtEnd, Decimal, Generator, IssuePolicy, LoadPace, Nanos, Op, TraceReplay};
use std::sync::Arc;

/// A workload and the facts about it.
#[derive(Debug, Clone)]
pub enum Known {
    /// A recorded load, and the counts of its scan; `None` of standard input.
    Trace(TraceReplay, Option<Facts>),
    /// A generated workload.
    Generated {
        /// The generator of the plan.
        generator: Generator,
        /// Content of its list, where the order is that of one.
        list: Option<Arc<[Listed]>>,
    },
}

impl Known {
    /// Name of the requests in messages and in the archive.
    pub fn name(&self) -> String {
        match self {
            Known::Trace(load, _) if load.filter.is_empty() => load.file.display().to_string(),
            Known::Trace(load, _) => format!("{} | {}", load.file.display(), load.filter),
            Known::Generated { generator, .. } => generator.to_string(),
        }
    }

    /// Counts of the scan of a recorded load.
    pub fn facts(&self) -> Option<&Facts> {
        if let Known::Trace(_, facts) = self { facts.as_ref() } else { None }
    }

    /// Flushes, and writes with FUA or a preflush, that the plan skips or makes plain; 0 where unknown.
    pub fn left_out_flushes(&self) -> u64 {
        match self {
            Known::Trace(TraceReplay { flush: IssuePolicy::Drop, .. }, Some(facts)) => {
                facts.flushes + facts.durable_writes
            }
            _ => 0,
        }
    }

    /// Discards and write zeroes that the plan skips; 0 where unknown.
    pub fn left_out_discards(&self) -> u64 {
        match self {
            Known::Trace(TraceReplay { discard: IssuePolicy::Drop, .. }, Some(facts)) => {
                facts.discards + facts.write_zeroes
            }
            _ => 0,
        }
    }

    /// Whether data is discarded; false where unknown.
    pub fn discards(&self) -> bool {
        match self {
            Known::Trace(load, facts) => {
                let count = facts.as_ref().map_or(0, |facts| facts.discards);
                load.discard == IssuePolicy::Issue && count > 0
            }
            Known::Generated { generator, .. } => generator.discard_percent > Decimal::whole(0),
        }
    }

    /// Whether data is discarded or zeroed; false where unknown.
    pub fn has_discards_or_zeroes(&self) -> bool {
        match self {
            Known::Trace(load, facts) => {
                let count = facts.as_ref().map_or(0, |facts| facts.discards + facts.write_zeroes);
                load.discard == IssuePolicy::Issue && count > 0
            }
            Known::Generated { generator, .. } => generator.has_discards_or_zeroes(),
        }
    }

    /// Whether data is changed; true where unknown.
    pub fn writes(&self) -> bool {
        match self {
            Known::Trace(_, facts) => {
                facts.as_ref().is_none_or(|facts| facts.writes > 0) || self.has_discards_or_zeroes()
            }
            Known::Generated { list: Some(list), .. } => list.iter().any(|entry| entry.op == Op::Write),
            Known::Generated { generator, .. } => generator.writes(),
        }
    }

    /// Whether data is read; false where unknown.
    pub fn reads(&self) -> bool {
        match self {
            Known::Trace(_, facts) => facts.as_ref().is_some_and(|facts| facts.reads > 0),
            Known::Generated { list: Some(list), .. } => list.iter().any(|entry| entry.op == Op::Read),
            Known::Generated { generator, .. } => generator.read_percent > Decimal::whole(0),
        }
    }

    /// The longest request with data in bytes, before it is brought onto the target; `None` where unknown.
    pub fn longest(&self) -> Option<u64> {
        match self {
            Known::Trace(_, facts) => Some(facts.as_ref()?.max_transfer),
            Known::Generated { list: Some(list), .. } => list.iter().map(|entry| entry.extent.length).max(),
            Known::Generated { generator, .. } => {
                let extra = generator.extra_reads.map_or(0, |extra| extra.size.0);
                Some(generator.longest().max(extra))
            }
        }
    }

    /// Pauses before the requests of a list, by their numbers; `None` without pauses.
    pub fn delays(&self) -> Option<Arc<[Nanos]>> {
        let Known::Generated { list: Some(list), .. } = self else { return None };
        let has_any = list.iter().any(|entry| entry.delay > Nanos(0));
        has_any.then(|| list.iter().map(|entry| entry.delay).collect())
    }

    /// Bytes of memory for requests that filters hold.
    pub fn held_bytes(&self) -> u64 {
        self.facts().map_or(0, |facts| facts.held_bytes)
    }

    /// Whether each request starts and ends at multiples of `block` bytes by itself; a recorded load is brought there.
    pub fn is_aligned(&self, block: u64) -> bool {
        let Known::Generated { generator, list } = self else { return true };
        let listed = list.iter().flat_map(|list| list.iter());
        let mut listed = listed.flat_map(|entry| [entry.extent.offset, entry.extent.length]);
        // A list's lengths are its own.
        let moved = [generator.offset.0, generator.pass_offset.0].iter().all(|n| n.is_multiple_of(block));
        let is_whole = if list.is_some() { moved } else { generator.is_aligned(block) };
        is_whole && listed.all(|n| n.is_multiple_of(block))
    }

    /// First byte after all requests of `passes` passes, where addresses do not depend on the target.
    pub fn end(&self, passes: u32) -> Option<u64> {
        let Known::Generated { generator, list } = self else { return None };
        let Some(list) = list else { return generator.end(passes) };
        let end = list.iter().map(|entry| entry.extent.end()).max().unwrap_or(0);
        Some(generator.last_base(passes).saturating_add(end))
    }

    /// Requests of a pass on a target of `size` bytes, where that is certain before the start.
    pub fn requests(&self, size: u64) -> Option<u64> {
        match self {
            Known::Trace(TraceReplay { pace: LoadPace::Rising(rising), .. }, facts) => {
                facts.as_ref().map(|facts| facts.requests.min(rising.requests()))
            }
            Known::Trace(_, facts) => facts.as_ref().map(|facts| facts.requests),
            // A pass that may end by time first has no certain number.
            Known::Generated { generator, .. }
                if generator.stop.runtime.is_some() || generator.stop.time_limit.is_some() =>
            {
                None
            }
            Known::Generated { generator, list } => {
                let requests = requested(generator, list.as_deref(), Some(size))?;
                if let Some(extra) = generator.extra_reads {
                    return Some(requests + extra.count(requests));
                }
                match generator.flush {
                    None => Some(requests),
                    // Where loops share requests, or some of them are no writes, the number of flushes is not certain.
                    Some(rule) => {
                        let is_certain = generator.jobs == 1 && list.is_none() && generator.only_writes();
                        is_certain.then(|| requests + requests / rule.after_writes)
                    }
                }
            }
        }
    }

    /// Requests of a pass that are due by `now`; `None` where they have no due times.
    pub fn due_until(&self, now: Nanos) -> Option<u64> {
        match self {
            Known::Trace(load, facts) => match load.pace {
                LoadPace::Rising(rising) => facts.as_ref().map(|f| f.requests.min(rising.until(now) as u64)),
                LoadPace::Original => facts.as_ref().map(|f| f.demand.until(load.speed.unscale(now))),
                LoadPace::Asap => None,
            },
            Known::Generated { generator, .. } => generator.due_until(now),
        }
    }

    /// Expected duration of a pass on a target of `size` bytes: until the last request is due, or until its end by time. `None`
    /// where the plan does not determine it. Of a closed loop that ends by requests or by time, the time is taken.
    pub fn span(&self, size: Option<u64>) -> Option<Nanos> {
        match self {
            Known::Trace(load, facts) => match load.pace {
                LoadPace::Original => {
                    facts.as_ref().map(|f| load.speed.scale(f.last.saturating_sub(f.first)))
                }
                LoadPace::Rising(rising) => facts.as_ref().map(|f| rising.over.min(rising.due(f.requests))),
                LoadPace::Asap => Some(Nanos(0)),
            },
            Known::Generated { generator, list } => {
                let last = requested(generator, list.as_deref(), size).map(|n| n.saturating_sub(1));
                // Reads up to the end of a file may end there before.
                let is_certain = generator.at_end != AtEnd::Extend || generator.only_writes();
                let last_due = last.filter(|_| is_certain).and_then(|number| generator.mean_due(number));
                let stop = &generator.stop;
                let expected = stop.end().or(stop.time_limit.filter(|_| generator.ends_by_time()));
                let expected = expected.into_iter().chain(last_due).min()?;
                Some(stop.time_limit.map_or(expected, |limit| limit.min(expected)))
            }
        }
    }

    /// Content of a list that was not requested: writes where all are reads.
    pub fn unasked(&self) -> Option<&'static str> {
        let Known::Generated { generator, list: Some(_) } = self else { return None };
        (self.writes() && generator.read_percent == Decimal::whole(100))
            .then_some("it holds writes, and the workload only reads: let it write, too, or use another list")
    }
}

/// Requests after which a pass ends on a target of `size` bytes, where a number ends it.
fn requested(generator: &Generator, list: Option<&[Listed]>, size: Option<u64>) -> Option<u64> {
    let listed = list.map(|list| list.len() as u64);
    let counted = size.map_or_else(|| generator.count(), |size| generator.requests_on(size));
    counted.into_iter().chain(listed).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_plan::{ByteSize, Order, Pace, Process, Space, Stop};

    const MIB: u64 = 1 << 20;

    #[test]
    fn pass_lasts_until_last_request_or_time_limit() {
        let rate = Pace::Rate { iops: Decimal::whole(10), process: Process::Constant };
        let span = |pace, size, stop| {
            let generator = Generator { pace, stop, ..Generator::new(Order::Random, ByteSize(4096)) };
            let span = Known::Generated { generator, list: None }.span(size);
            span.map(|span| span.as_secs_f64())
        };
        let requests = |n| Stop { requests: Some(n), ..Stop::default() };
        let seconds = |n| Some(Nanos::from_secs(n));
        assert_eq!(span(rate, Some(MIB), requests(601)), Some(60.0));
        assert_eq!(span(Pace::Closed, Some(MIB), requests(601)), None);
        for (pace, expected) in [(rate, 60.0), (Pace::Closed, 120.0)] {
            let stop = Stop { runtime: seconds(100), ramp: Nanos::from_secs(20), ..requests(601) };
            assert_eq!(span(pace, Some(MIB), stop), Some(expected));
        }
        let limited = Stop { time_limit: seconds(7), ..requests(601) };
        assert_eq!(span(rate, Some(MIB), limited), Some(7.0));
        let only_limited = Stop { time_limit: seconds(7), ..Stop::default() };
        assert_eq!(span(Pace::Closed, Some(MIB), only_limited), Some(7.0));
        // Of a share of a target with unknown size only the time is known.
        let all = Stop { bytes: Some(Space::Percent(100)), ..Stop::default() };
        assert_eq!(span(rate, Some(MIB), all), Some(25.5));
        assert_eq!(span(rate, None, all), None);
        assert_eq!(span(rate, None, Stop { runtime: seconds(100), ..all }), Some(100.0));
    }
}
