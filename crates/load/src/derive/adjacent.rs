//! Loads side by side in space: each is moved as a whole after the one before, times stay (blkreplay's
//! `create_adjacent_load.sh`, whose loads can overlap).

use crate::LoadError;
use iosonar_plan::{Extent, SECTOR};
use iosonar_trace::TimedRequest;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Loads begin at multiples of this, so that requests aligned to 4 KiB stay so.
const ALIGN: u64 = 8 * SECTOR;

/// Range that a load touches, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Touched {
    /// Lowest offset, rounded down to 4 KiB.
    pub begin: u64,
    /// Highest end.
    pub end: u64,
    /// Requests.
    pub requests: u64,
}

/// Range that a load touches; `None` without a request.
pub fn touched(
    load: impl IntoIterator<Item = Result<TimedRequest, LoadError>>,
) -> Result<Option<Touched>, LoadError> {
    let mut all: Option<Touched> = None;
    for request in load {
        let request = request?;
        let Extent { offset, length } = request.extent;
        // An operation without a place touches nothing.
        if !request.op.has_place() {
            all.iter_mut().for_each(|all| all.requests += 1);
            continue;
        }
        let one = Touched { begin: offset / ALIGN * ALIGN, end: offset + length, requests: 1 };
        all = Some(all.map_or(one, |all| Touched {
            begin: all.begin.min(one.begin),
            end: all.end.max(one.end),
            requests: all.requests + 1,
        }));
    }
    Ok(all)
}

/// New place of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewPlace {
    /// Former start.
    from: u64,
    /// New start, in bytes.
    pub begin: u64,
    /// First byte after it.
    pub end: u64,
}

impl NewPlace {
    fn moved(self, r: TimedRequest) -> TimedRequest {
        if !r.op.has_place() {
            return r;
        }
        let offset = r.extent.offset.saturating_sub(self.from).saturating_add(self.begin);
        TimedRequest { extent: Extent { offset, ..r.extent }, ..r }
    }
}

/// A place for each, the first at 0, no two overlapping. `None` where they do not fit into 63 bits of bytes, which is more than a
/// device can have.
pub fn side_by_side(loads: &[Touched]) -> Option<Vec<NewPlace>> {
    let mut begin = 0u64;
    let place = |load: &Touched| {
        let end = begin.checked_add(load.end.saturating_sub(load.begin)).filter(|end| *end < 1 << 63)?;
        let place = NewPlace { from: load.begin, begin, end };
        begin = end.next_multiple_of(ALIGN);
        Some(place)
    };
    loads.iter().map(place).collect()
}

/// All loads at their places, by time; of equal times that of the earlier load comes first. Each has to come by time. An
/// error names its load, and is the last item.
pub fn merged<I>(loads: Vec<(I, NewPlace)>) -> impl Iterator<Item = Result<TimedRequest, (usize, LoadError)>>
where
    I: Iterator<Item = Result<TimedRequest, LoadError>>,
{
    let mut merge =
        Merge { heads: vec![None; loads.len()], loads, heap: BinaryHeap::new(), state: State::New };
    std::iter::from_fn(move || merge.next().transpose())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Open,
    Ended,
}

struct Merge<I> {
    loads: Vec<(I, NewPlace)>,
    /// The next request of each load.
    heads: Vec<Option<TimedRequest>>,
    heap: BinaryHeap<Reverse<(iosonar_plan::Nanos, usize)>>,
    state: State,
}

impl<I: Iterator<Item = Result<TimedRequest, LoadError>>> Merge<I> {
    fn next(&mut self) -> Result<Option<TimedRequest>, (usize, LoadError)> {
        if self.state == State::New {
            self.state = State::Open;
            for index in 0..self.loads.len() {
                self.advance(index)?;
            }
        }
        let Some(Reverse((_, index))) = self.heap.pop().filter(|_| self.state == State::Open) else {
            return Ok(None);
        };
        let request = self.heads[index].take();
        self.advance(index)?;
        Ok(request)
    }

    fn advance(&mut self, index: usize) -> Result<(), (usize, LoadError)> {
        let (load, place) = &mut self.loads[index];
        let head = load.next().transpose().map_err(|error| {
            self.state = State::Ended;
            (index, error)
        })?;
        self.heads[index] = head.map(|r| place.moved(r));
        self.heap.extend(self.heads[index].map(|r| Reverse((r.time, index))));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::testing::read_at;
    use proptest::prelude::*;

    type Item = Result<TimedRequest, LoadError>;

    fn items(load: &[TimedRequest]) -> std::vec::IntoIter<Item> {
        load.iter().map(|r| Ok(*r)).collect::<Vec<Item>>().into_iter()
    }

    fn places(loads: &[Vec<TimedRequest>]) -> Vec<NewPlace> {
        let touched: Vec<Touched> = loads.iter().map(|l| touched(items(l)).unwrap().unwrap()).collect();
        side_by_side(&touched).unwrap()
    }

    /// The original put 100..208 and 40..58 at 124..232 and 144..162.
    #[test]
    fn adjacent_ranges_do_not_overlap() {
        let of = |begin: u64, end: u64| Touched {
            begin: begin * 512 / ALIGN * ALIGN,
            end: end * 512,
            requests: 1,
        };
        let places = side_by_side(&[of(100, 208), of(40, 58), of(0, 8)]).unwrap();
        let sectors: Vec<_> = places.iter().map(|p| (p.begin / 512, p.end / 512)).collect();
        assert_eq!(sectors, [(0, 112), (112, 130), (136, 144)]);
    }

    #[test]
    fn returns_none_when_ranges_do_not_fit() {
        let huge = Touched { begin: 0, end: 1 << 62, requests: 1 };
        assert_eq!(side_by_side(&[huge, huge]), None);
        assert_eq!(touched(std::iter::empty()).unwrap(), None);
    }

    #[test]
    fn error_names_its_load_and_ends_iteration() {
        let bad = || Err(LoadError::Open("gone".into()));
        let good = [read_at(1, 5, 0), read_at(2, 6, 0)];
        let place = NewPlace { from: 0, begin: 0, end: 1 };
        let loads = vec![(items(&good), place), (vec![Ok(read_at(1, 1, 0)), bad()].into_iter(), place)];
        let told: Vec<_> = merged(loads).collect();
        assert!(matches!(&told[..], [Err((1, _))]));
    }

    proptest! {
        #[test]
        fn placed_loads_never_overlap_or_lose_requests(
            all in prop::collection::vec(prop::collection::vec((0u64..50, 0u64..5000), 1..30), 1..6),
        ) {
            let loads: Vec<Vec<TimedRequest>> = all.iter().map(|load| {
                let mut time = 0;
                load.iter().map(|(step, sector)| { time += step; read_at(1, time, *sector) }).collect()
            }).collect();
            let places = places(&loads);
            for pair in places.windows(2) {
                prop_assert!(pair[0].end <= pair[1].begin && pair[1].begin % ALIGN == 0);
            }
            let merged: Vec<TimedRequest> =
                merged(loads.iter().map(|l| items(l)).zip(places.iter().copied()).collect())
                    .map(|r| r.unwrap()).collect();
            prop_assert!(merged.is_sorted_by_key(|r| r.time));
            prop_assert_eq!(merged.len(), loads.iter().map(Vec::len).sum::<usize>());
            // Moved back, each load is unchanged.
            for (place, load) in places.iter().zip(&loads) {
                let inside = merged.iter().filter(|r| (place.begin..place.end).contains(&r.extent.offset));
                let back: Vec<(u64, u64)> =
                    inside.map(|r| (r.time.0, r.extent.offset - place.begin + place.from)).collect();
                let was: Vec<(u64, u64)> = load.iter().map(|r| (r.time.0, r.extent.offset)).collect();
                prop_assert_eq!(back, was);
            }
        }
    }
}
