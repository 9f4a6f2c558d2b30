//! Steps that change a load, one request after the other, order preserved. Formulas: [`Filter`].
//!
//! All steps but two keep nothing. `reverse` and `repeat` have to hold the whole load that comes into them, 56 bytes a
//! request, because they begin with its end, or come back to its begin.

use crate::LoadError;
use crate::recorded::{Notice, Ordered};
use iosonar_plan::{Decimal, Extent, Filter, Nanos, Pipeline, SECTOR};
use iosonar_trace::TimedRequest;
use std::io::BufRead;
use std::iter;
use std::rc::Rc;

/// Why a filtered load cannot be read on.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// The load itself.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A place or a time becomes larger than 64 bits of bytes or of nanoseconds tell.
    #[error("line {line}: after '{filter}' its {what} is larger than 64 bits tell")]
    TooLarge {
        /// Line of the request in the load.
        line: u64,
        /// The step.
        filter: Filter,
        /// Sector, length or time.
        what: &'static str,
    },
}

/// Requests, one after the other; an error is the last of them.
pub type Requests<'a> = Box<dyn Iterator<Item = Result<TimedRequest, FilterError>> + 'a>;

/// The requests of a load, in the order of its lines. `notice` is told of lines that are skipped.
pub fn requests<'a>(
    input: impl BufRead + 'a,
    skip_bad: bool,
    mut notice: impl FnMut(Notice) + 'a,
) -> Requests<'a> {
    let mut load = Ordered::as_written(input, skip_bad);
    Box::new(iter::from_fn(move || load.next(&mut notice).map_err(FilterError::Load).transpose()))
}

/// A load behind all steps of a pipeline.
pub fn filtered<'a>(load: Requests<'a>, pipeline: &Pipeline) -> Requests<'a> {
    pipeline.0.iter().fold(load, |load, filter| behind(load, *filter))
}

fn behind(load: Requests<'_>, filter: Filter) -> Requests<'_> {
    match filter {
        Filter::Select(window) => {
            Box::new(load.filter(move |r| r.as_ref().map_or(true, |r| window.contains(r.time))))
        }
        Filter::Sample { one_of } => Box::new(
            (0u64..).zip(load).filter_map(move |(n, r)| (n % one_of == 0 || r.is_err()).then_some(r)),
        ),
        Filter::Reverse => Box::new(late(load, reversed)),
        Filter::Repeat { times, offset } => {
            Box::new(late(load, move |all| repeated(all, times, offset, filter)))
        }
        _ => {
            // From 1, as blkreplay's modules count.
            Box::new((1u64..).zip(load).map(move |(n, r)| changed(r?, n, filter)))
        }
    }
}

/// What a step makes of all requests, as soon as the first one is asked for.
fn late<'a>(
    load: Requests<'a>,
    make: impl FnOnce(Vec<TimedRequest>) -> Requests<'static> + 'a,
) -> impl Iterator<Item = Result<TimedRequest, FilterError>> + 'a {
    let all = iter::once_with(move || match load.collect::<Result<Vec<_>, _>>() {
        Ok(all) => make(all),
        Err(error) => Box::new(iter::once(Err(error))),
    });
    all.flatten()
}

fn reversed(all: Vec<TimedRequest>) -> Requests<'static> {
    let last = all.len().saturating_sub(1);
    Box::new((0..all.len()).map(move |i| Ok(TimedRequest { time: all[i].time, ..all[last - i] })))
}

/// As the replay of a load that begins anew: its first time becomes the last one before (`Backward::Shift`).
fn repeated(all: Vec<TimedRequest>, times: u64, offset: u64, filter: Filter) -> Requests<'static> {
    let (Some(first), Some(last)) = (all.first(), all.last()) else { return Box::new(iter::empty()) };
    let round = last.time.0.saturating_sub(first.time.0);
    let all: Rc<[TimedRequest]> = all.into();
    let once = move |k: u64| {
        let all = Rc::clone(&all);
        (0..all.len()).map(move |i| {
            let r = all[i];
            let too_large = |what| FilterError::TooLarge { line: r.line, filter, what };
            let time = round.checked_mul(k).and_then(|d| d.checked_add(r.time.0)).ok_or(too_large("time"))?;
            let sector = offset.checked_mul(k).and_then(|o| o.checked_add(sector(&r)));
            placed(TimedRequest { time: Nanos(time), ..r }, sector, filter)
        })
    };
    Box::new((0..times).flat_map(once))
}

fn sector(r: &TimedRequest) -> u64 {
    r.extent.offset / SECTOR
}

/// The request at another sector.
fn placed(r: TimedRequest, sector: Option<u64>, filter: Filter) -> Result<TimedRequest, FilterError> {
    let offset = sector.and_then(|sector| sector.checked_mul(SECTOR));
    let offset = offset.filter(|offset| offset.checked_add(r.extent.length).is_some());
    let offset = offset.ok_or(FilterError::TooLarge { line: r.line, filter, what: "sector" })?;
    Ok(TimedRequest { extent: Extent { offset, ..r.extent }, ..r })
}

/// `floor(number * factor / divisor)`, exactly.
fn scaled(number: u64, factor: Decimal, divisor: u64) -> Option<u64> {
    let product = u128::from(number) * u128::from(factor.parts());
    (product / u128::from(Decimal::whole(1).parts()) / u128::from(divisor)).try_into().ok()
}

/// A step that looks at one request, the `n`-th.
fn changed(r: TimedRequest, n: u64, filter: Filter) -> Result<TimedRequest, FilterError> {
    let too_large = |what| FilterError::TooLarge { line: r.line, filter, what };
    match filter {
        Filter::Slip { every, increase } => {
            placed(r, (n / every).checked_mul(increase).and_then(|by| by.checked_add(sector(&r))), filter)
        }
        Filter::Subst { from, to } => Ok(TimedRequest { op: if r.op == from { to } else { r.op }, ..r }),
        Filter::Spread { factor, align, offset } => {
            let place = scaled(sector(&r), factor, align)
                .and_then(|n| n.checked_mul(align))
                .and_then(|n| n.checked_add(sector(&r) % align))
                .and_then(|n| n.checked_add(offset));
            placed(r, place, filter)
        }
        Filter::Resize { factor, min, max } => {
            let length = scaled(r.extent.length / SECTOR, factor, 1).unwrap_or(u64::MAX).max(min).min(max);
            let length = length.checked_mul(SECTOR).filter(|l| r.extent.offset.checked_add(*l).is_some());
            let length = length.ok_or(too_large("length"))?;
            Ok(TimedRequest { extent: Extent { length, ..r.extent }, ..r })
        }
        Filter::Scale { factor } => {
            let time = scaled(r.time.0, factor, 1).ok_or(too_large("time"))?;
            Ok(TimedRequest { time: Nanos(time), ..r })
        }
        Filter::Shift { by } => {
            let time = r.time.0.checked_add(by.0).ok_or(too_large("time"))?;
            Ok(TimedRequest { time: Nanos(time), ..r })
        }
        Filter::Select(_) | Filter::Repeat { .. } | Filter::Reverse | Filter::Sample { .. } => Ok(r),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_plan::Op;
    use proptest::prelude::*;

    fn request(time: u64, sector: u64, length: u64, write: bool) -> TimedRequest {
        TimedRequest {
            line: 1,
            time: Nanos(time),
            op: if write { Op::Write } else { Op::Read },
            extent: Extent { offset: sector * SECTOR, length: length * SECTOR },
            pushed: false,
            delay: Nanos(3),
            latency: Nanos(4),
        }
    }

    fn run(all: &[TimedRequest], pipeline: &str) -> Result<Vec<TimedRequest>, FilterError> {
        let load: Requests<'_> = Box::new(all.iter().map(|r| Ok(*r)));
        filtered(load, &pipeline.parse().unwrap()).collect()
    }

    #[test]
    fn numbers_beyond_64_bits_are_told_with_their_line() {
        let far = [request(1 << 62, (1 << 54) + 5, 8, true)];
        for (step, what) in [
            ("spread:3", "sector"),
            ("slip:1,36028797018963968", "sector"),
            ("repeat:3,18446744073709551615", "sector"),
            ("scale:9", "time"),
            ("shift:18446744073s", "time"),
            ("resize:1,min=36028797018963967,max=36028797018963967", "length"),
        ] {
            let told = run(&far, step).unwrap_err().to_string();
            assert!(told.starts_with("line 1: after '") && told.contains(what), "{step}: {told}");
        }
    }

    #[test]
    fn an_error_of_the_load_comes_out_of_every_step() {
        let steps = ["select:0..1", "sample:7", "reverse", "repeat:2", "slip", "scale:2"];
        for step in steps {
            let bad = || Err(FilterError::Load(LoadError::Open("gone".into())));
            let load: Requests<'_> = Box::new([Ok(request(9, 8, 8, true)), bad()].into_iter());
            let told: Result<Vec<_>, _> = filtered(load, &step.parse().unwrap()).collect();
            assert_eq!(told.unwrap_err().to_string(), "gone", "{step}");
        }
    }

    #[test]
    fn an_empty_load_stays_empty() {
        for step in ["reverse", "repeat:1000000000000", "sample:2", "spread"] {
            assert_eq!(run(&[], step).unwrap(), []);
        }
    }

    fn load() -> impl Strategy<Value = Vec<TimedRequest>> {
        let one = (0u64..1 << 40, 0u64..1 << 40, 1u64..1 << 16, any::<bool>());
        prop::collection::vec(one.prop_map(|(t, s, l, w)| request(t, s, l, w)), 0..60)
    }

    const STEPS: [&str; 10] = [
        "select:0.1..500",
        "repeat:3,offset=800",
        "slip:3,16",
        "subst:R,W",
        "spread:1.5,align=8,offset=100",
        "resize:2.5,min=4,max=200",
        "reverse",
        "scale:0.3",
        "shift:5",
        "sample:3",
    ];

    proptest! {
        #[test]
        fn a_pipeline_is_its_steps_one_after_the_other(all in load(), which in prop::collection::vec(0..STEPS.len(), 1..5)) {
            let steps: Vec<&str> = which.iter().map(|i| STEPS[*i]).collect();
            let mut one_by_one = all.clone();
            for step in &steps {
                one_by_one = run(&one_by_one, step).unwrap();
            }
            prop_assert_eq!(run(&all, &steps.join(" | ")).unwrap(), one_by_one);
        }

        #[test]
        fn twice_reversed_is_the_load(all in load()) {
            prop_assert_eq!(run(&all, "reverse | reverse").unwrap(), all);
        }
    }
}
