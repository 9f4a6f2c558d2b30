//! The shape of the gallery (`docs/shapes.md`) that an event looks like: a guess, by rules from its cause, its repetition, its place in the
//! run and the levels of its latency.

use crate::causes::Found;
use crate::episodes::ResponseCourse;
use iosonar_analyze::{Cause, LossSlice, Shape, StoryEvent};
use std::ops::Range;

/// Events recur if there are at least this many, ...
const RECURRING: usize = 3;
/// ... at regular intervals if the times between them differ by less than this share of their mean.
const REGULAR: f64 = 0.15;
/// An event touches the start or the end of the run if at most this share of its slices lies outside of it there.
const AT_BORDER: f64 = 0.02;
/// Thirds of an event have one level if their mean latencies differ by less than this factor, ...
const ONE_LEVEL: f64 = 1.4;
/// ... and they rise if each is at least this many times the one before it.
const RISES: f64 = 1.25;
/// Levels need this many slices with requests.
const LEAST_SLICES: usize = 6;

/// Place and levels of an event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Outline {
    /// Whether it begins with its part of the run, ...
    starts_run: bool,
    /// ... and whether it lasts until the end of it.
    ends_run: bool,
    /// Mean latency in each third of it, in nanoseconds; `None` if it is too short for three levels.
    levels: Option<[f64; 3]>,
}

impl Outline {
    /// The outline of some slices of a course.
    pub(crate) fn of(course: &ResponseCourse, slices: &Range<usize>) -> Outline {
        let all = &course.slices;
        let last = all.iter().rposition(|slice| slice.requests > 0).unwrap_or(0);
        let border = AT_BORDER * (last + 1) as f64;
        let used: Vec<LossSlice> =
            all[slices.clone()].iter().filter(|slice| slice.requests > 0).copied().collect();
        let third = |number: usize| {
            let sum = LossSlice::sum_of(&used[number * used.len() / 3..(number + 1) * used.len() / 3]);
            sum.latency_ns as f64 / sum.requests.max(1) as f64
        };
        Outline {
            starts_run: slices.start as f64 <= border,
            ends_run: (last + 1).saturating_sub(slices.end) as f64 <= border,
            levels: (used.len() >= LEAST_SLICES).then(|| [0, 1, 2].map(third)),
        }
    }

    fn has_one_level(&self) -> bool {
        self.levels.is_some_and(|levels| {
            let least = levels.iter().copied().fold(f64::INFINITY, f64::min);
            levels.iter().all(|level| *level < ONE_LEVEL * least)
        })
    }

    fn rises(&self) -> bool {
        self.levels.is_some_and(|[first, second, third]| second >= RISES * first && third >= RISES * second)
    }

    fn falls(&self) -> bool {
        self.levels.is_some_and(|[first, _, third]| third <= first)
    }
}

/// The shape of an event among all events of the run; `None` if it looks like none of them.
pub(crate) fn shape(
    event: &StoryEvent,
    all: &[StoryEvent],
    found: &Found,
    outline: Outline,
) -> Option<Shape> {
    let is_alike = |other: &&StoryEvent| {
        (other.cause, other.target, other.phase) == (event.cause, event.target, event.phase)
    };
    let starts: Vec<u64> = all.iter().filter(is_alike).map(|alike| alike.range.from_ns).collect();
    let (recurs, is_regular) = (starts.len() >= RECURRING, period_ns(&starts).is_some());
    match event.cause {
        Cause::Halted => Some(Shape::ProgramHalted),
        Cause::Others => Some(Shape::Neighbour),
        Cause::Conflicts => Some(Shape::LongTailGroup),
        Cause::TargetStoodStill => is_regular.then_some(Shape::PeriodicStall),
        Cause::DepthFull => recurs.then_some(Shape::Sawtooth),
        Cause::MoreAtOnce => outline.rises().then_some(Shape::FanOfDepth),
        Cause::OtherRequests => found.is_of_size().then_some(Shape::SizeSteps),
        Cause::TargetSlower if is_regular => Some(Shape::Sawtooth),
        Cause::TargetSlower => of_slower_target(outline),
        Cause::NoCpu | Cause::Unexplained => None,
    }
}

/// The shape of a time in which the target took longer.
fn of_slower_target(outline: Outline) -> Option<Shape> {
    match (outline.starts_run, outline.ends_run) {
        (true, false) if outline.falls() => Some(Shape::WarmUp),
        (false, true) if outline.rises() => Some(Shape::Staircase),
        (false, true) if outline.has_one_level() => Some(Shape::Cliff),
        _ => None,
    }
}

/// The mean time between events that recur at regular intervals.
pub(crate) fn period_ns(starts: &[u64]) -> Option<f64> {
    let between: Vec<f64> = starts.windows(2).map(|pair| pair[1].saturating_sub(pair[0]) as f64).collect();
    let mean = between.iter().sum::<f64>() / between.len().max(1) as f64;
    let is_regular = between.iter().all(|one| (one - mean).abs() < REGULAR * mean);
    (starts.len() >= RECURRING && is_regular).then_some(mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_analyze::TimeRange;
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    const MIDDLE: Outline = Outline { starts_run: false, ends_run: false, levels: None };

    fn event(cause: Cause, from_ns: u64) -> StoryEvent {
        StoryEvent {
            range: TimeRange { from_ns, to_ns: from_ns + 1 },
            target: None,
            phase: None,
            cause,
            text: String::new(),
            requests: 100,
            lost_request_seconds: 1.0,
            share: 0.5,
            worst_response_ns: 1,
            shape: None,
        }
    }

    /// The shape of the first of some events with one cause.
    fn of(cause: Cause, starts: &[u64], outline: Outline) -> Option<Shape> {
        let all: Vec<StoryEvent> = starts.iter().map(|from_ns| event(cause, *from_ns)).collect();
        shape(&all[0], &all, &Found::Unexplained, outline)
    }

    #[test]
    fn causes_outside_of_the_target_have_their_shapes() {
        assert_eq!(of(Cause::Halted, &[1], MIDDLE), Some(Shape::ProgramHalted));
        assert_eq!(of(Cause::Others, &[1], MIDDLE), Some(Shape::Neighbour));
        assert_eq!(of(Cause::Conflicts, &[1], MIDDLE), Some(Shape::LongTailGroup));
        assert_eq!(of(Cause::NoCpu, &[1, 2, 3], MIDDLE), None);
        assert_eq!(of(Cause::Unexplained, &[1, 2, 3], MIDDLE), None);
    }

    #[test]
    fn stalls_are_periodic_at_equal_intervals_only() {
        assert_eq!(of(Cause::TargetStoodStill, &[10, 20, 30], MIDDLE), Some(Shape::PeriodicStall));
        assert_eq!(of(Cause::TargetStoodStill, &[10, 20, 50], MIDDLE), None);
        assert_eq!(of(Cause::TargetStoodStill, &[10, 20], MIDDLE), None);
    }

    /// A stall of one target does not repeat one of another.
    #[test]
    fn stalls_of_several_targets_are_counted_apart() {
        let mut all: Vec<StoryEvent> = [10, 20, 30].map(|ns| event(Cause::TargetStoodStill, ns)).into();
        all[1].target = Some(1);
        assert_eq!(shape(&all[0], &all, &Found::Unexplained, MIDDLE), None);
    }

    #[test]
    fn repeated_rises_are_a_sawtooth() {
        assert_eq!(of(Cause::DepthFull, &[10, 20, 50], MIDDLE), Some(Shape::Sawtooth));
        assert_eq!(of(Cause::DepthFull, &[10], MIDDLE), None);
        assert_eq!(of(Cause::TargetSlower, &[10, 20, 30], MIDDLE), Some(Shape::Sawtooth));
    }

    #[test]
    fn levels_distinguish_cliff_staircase_and_warm_up() {
        let last = |levels| Outline { starts_run: false, ends_run: true, levels: Some(levels) };
        let first = |levels| Outline { starts_run: true, ends_run: false, levels: Some(levels) };
        let slower = |outline| of(Cause::TargetSlower, &[1], outline);
        assert_eq!(slower(last([5.0, 5.1, 4.9])), Some(Shape::Cliff));
        assert_eq!(slower(last([2.0, 4.0, 8.0])), Some(Shape::Staircase));
        assert_eq!(slower(last([8.0, 4.0, 8.0])), None);
        assert_eq!(slower(first([9.0, 6.0, 3.0])), Some(Shape::WarmUp));
        assert_eq!(slower(first([3.0, 6.0, 9.0])), None);
        assert_eq!(slower(MIDDLE), None);
        let rising = Outline { levels: Some([1.0, 2.0, 3.0]), ..MIDDLE };
        assert_eq!(of(Cause::MoreAtOnce, &[1], rising), Some(Shape::FanOfDepth));
        assert_eq!(of(Cause::MoreAtOnce, &[1], MIDDLE), None);
    }

    #[test]
    fn only_other_sizes_are_size_steps() {
        let shape_of = |bytes, writes| {
            let one = event(Cause::OtherRequests, 1);
            shape(&one, std::slice::from_ref(&one), &Found::OtherRequests { bytes, writes }, MIDDLE)
        };
        assert_eq!(shape_of([65_536.0, 4096.0], [0.0, 0.0]), Some(Shape::SizeSteps));
        assert_eq!(shape_of([4096.0, 4096.0], [0.9, 0.1]), None);
    }

    fn repository() -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    /// The page has a section with a picture for each example, and every shape of an event has both.
    #[test]
    fn every_shape_has_a_section_a_picture_and_an_example() {
        let page = std::fs::read_to_string(repository().join("docs/shapes.md")).unwrap();
        let sections: BTreeSet<String> = page
            .split("\n## ")
            .filter_map(|section| section.split_once("\n\n!["))
            .map(|(title, _)| title.to_lowercase().replace(' ', "-"))
            .collect();
        let examples: BTreeSet<String> = std::fs::read_dir(repository().join("examples/shapes"))
            .unwrap()
            .filter_map(|entry| Some(entry.ok()?.file_name().to_str()?.strip_suffix(".sh")?.to_owned()))
            .collect();
        assert_eq!(sections, examples);
        assert_eq!(examples.len(), 12);
        for id in &examples {
            let picture = format!("images/shape-{id}.png");
            assert!(page.contains(&format!("]({picture})")), "{picture} is not shown");
            assert!(repository().join("docs").join(&picture).is_file(), "{picture} is missing");
            assert!(page.contains(&format!("examples/shapes/{id}.sh")), "{id}: its command is not named");
        }
        for shape in Shape::ALL {
            assert!(examples.contains(shape.id()), "{shape}");
        }
    }
}
