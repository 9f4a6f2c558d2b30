//! Groups of requests whose latencies differ: by batch, fragment, operation, size or place. A difference is a fact, and no disturbance.

use crate::Facts;
use crate::words::{capitalized, short_bytes, time};
use iosonar_analyze::extents::{FileLatencies, LatencyFigures, Slower};
use iosonar_analyze::{Attribute, Contrast, ContrastGroup, Group, LEAST_REQUESTS, TimeStats};
use iosonar_plan::{Engine, Op};

/// Latencies differ from this ratio of the medians on.
const DIFFERS: f64 = 1.5;
/// Of all pairs of a request of the slow group and one of the other, this percentage has the longer latency in the slow one.
const CLEAR: f64 = 75.0;
/// Each group has at least this share of the requests.
const LEAST_SHARE: f64 = 0.01;

/// The first of batch, fragment, operation, size and place by which latencies differ. The order matters: where reads and writes have
/// different sizes or places, these differ too. Batches and fragments come first, as only requests of one operation and size are compared
/// by them, and fragments have places.
pub(crate) fn contrast(facts: &Facts<'_>) -> Option<Contrast> {
    // Phases differ by intent, and requests that were not executed have no latency.
    if facts.summary.parts.phases.len() > 1 || facts.plan.engine == Engine::Null {
        return None;
    }
    let sample = facts.tally.sample();
    by_batch(facts)
        .or_else(|| by_fragment(facts))
        .or_else(|| by_operation(facts))
        .or_else(|| by_size(&sample.sizes()))
        .or_else(|| by_place(&sample.places()))
}

/// The difference in one sentence.
pub(crate) fn sentence(contrast: &Contrast) -> String {
    let (slow, other) = (&contrast.slow, &contrast.other);
    let [slow_time, other_time] = [slow.p50_ns, other.p50_ns].map(time);
    match contrast.by {
        Attribute::Operation => {
            let name = capitalized(slow.name.clone());
            format!("{name} take {slow_time}, {} {other_time} (medians).", other.name)
        }
        Attribute::Size => {
            format!(
                "Requests of {} take {slow_time}, those of {} {other_time} (medians).",
                slow.name, other.name
            )
        }
        Attribute::Place => {
            format!("Requests at {} take {slow_time}, elsewhere {other_time} (medians).", slow.name)
        }
        Attribute::Batch | Attribute::Fragment => {
            let name = capitalized(slow.name.clone());
            format!("{name} take {slow_time}, those {} {other_time} (medians).", other.name)
        }
    }
}

/// Requests that were submitted together, and take longer than those of smaller batches. Only where a timetable says when all requests
/// come: otherwise they come together because others ended together.
fn by_batch(facts: &Facts<'_>) -> Option<Contrast> {
    let is_planned = facts.plan.jobs().all(|(_, job)| job.workload.has_timetable());
    let found = is_planned.then(|| facts.tally.sample().batches()).flatten()?;
    let sizes = |(from, to): (u64, u64)| match to {
        1 => "submitted alone".into(),
        to if from == to => format!("in batches of {from}"),
        to => format!("in batches of {from} to {to}"),
    };
    let slow = format!("{} {}", plural(found.op), sizes(found.large));
    shown_contrast(Attribute::Batch, &found.slower, slow, sizes(found.small))
}

/// A shown and clear difference of two groups.
fn shown_contrast(by: Attribute, slower: &Slower, slow: String, other: String) -> Option<Contrast> {
    let (first, second) = (&slower.first, &slower.second);
    let is_enough = first.requests.min(second.requests) >= least_of(first.requests + second.requests);
    let is_clear = slower.is_shown && slower.percent >= CLEAR;
    let group = |name: String, figures: &LatencyFigures| ContrastGroup {
        name,
        requests: figures.requests,
        p50_ns: figures.p50_ns,
    };
    (is_enough && is_clear && differs(first.p50_ns, second.p50_ns)).then(|| Contrast {
        by,
        slow: group(slow, first),
        other: group(other, second),
    })
}

fn plural(op: Op) -> &'static str {
    if op == Op::Write { "writes" } else { "reads" }
}

/// Requests on several fragments of their file, which take longer than those on one. Requests through the page cache are others than
/// those that reach the device.
fn by_fragment(facts: &Facts<'_>) -> Option<Contrast> {
    let files = facts.extents.map_or(&[][..], |extents| &extents.files);
    files.iter().filter(|file| !file.is_buffered).find_map(|file| fragments_of(file, file.shown()))
}

fn fragments_of(file: &FileLatencies, op: Op) -> Option<Contrast> {
    let slower = file.of(op).across.of_largest_stratum().slower()?;
    let slow = format!("{} on several fragments of the file", plural(op));
    shown_contrast(Attribute::Fragment, &slower, slow, "on one".into())
}

fn by_operation(facts: &Facts<'_>) -> Option<Contrast> {
    let latency = &facts.summary.latency;
    let group = |name: &str, times: &TimeStats| ContrastGroup {
        name: name.into(),
        requests: times.count,
        p50_ns: times.p50_ns,
    };
    let groups = [group("reads", latency.read.as_ref()?), group("writes", latency.write.as_ref()?)];
    slowest_and_fastest(Attribute::Operation, groups)
}

fn by_size(sizes: &[Group]) -> Option<Contrast> {
    let group = |size: &Group| ContrastGroup {
        name: match size.from == size.to {
            true => short_bytes(size.from),
            false => format!("{} to {}", short_bytes(size.from), short_bytes(size.to)),
        },
        requests: size.requests,
        p50_ns: size.p50_ns,
    };
    slowest_and_fastest(Attribute::Size, sizes.iter().map(group))
}

/// The slowest and the fastest of the groups with enough requests, if they differ.
fn slowest_and_fastest(by: Attribute, groups: impl IntoIterator<Item = ContrastGroup>) -> Option<Contrast> {
    let mut groups: Vec<ContrastGroup> = groups.into_iter().collect();
    let least = least_of(groups.iter().map(|group| group.requests).sum());
    groups.retain(|group| group.requests >= least);
    groups.sort_by_key(|group| group.p50_ns);
    let slow = groups.pop()?;
    let other = groups.into_iter().next()?;
    differs(slow.p50_ns, other.p50_ns).then_some(Contrast { by, slow, other })
}

/// One stretch of the target whose requests are slower than all others.
fn by_place(places: &[Group]) -> Option<Contrast> {
    let least = least_of(places.iter().map(|place| place.requests).sum());
    let places: Vec<&Group> = places.iter().filter(|place| place.requests >= least).collect();
    let mut medians: Vec<u64> = places.iter().map(|place| place.p50_ns).collect();
    medians.sort_unstable();
    let usual = *medians.get(medians.len() / 2)?;
    let is_slow = |place: &&&Group| differs(place.p50_ns, usual);
    let first = places.iter().position(|place| is_slow(&place))?;
    let slow: Vec<&&Group> = places[first..].iter().take_while(is_slow).collect();
    let others = places.len() - slow.len();
    // Slow places all over the target are no stretch of it.
    let is_one = places.iter().filter(is_slow).count() == slow.len();
    let sum = |groups: &[&&Group]| groups.iter().map(|group| group.requests).sum::<u64>();
    let (begin, end) = (slow.first()?.from, slow.last()?.to);
    let all: Vec<&&Group> = places.iter().collect();
    (is_one && others > slow.len()).then(|| Contrast {
        by: Attribute::Place,
        slow: ContrastGroup {
            name: format!("{} to {}", short_bytes(begin), short_bytes(end)),
            requests: sum(&slow),
            p50_ns: slow[slow.len() / 2].p50_ns,
        },
        other: ContrastGroup { name: "elsewhere".into(), requests: sum(&all) - sum(&slow), p50_ns: usual },
    })
}

fn differs(slow_ns: u64, other_ns: u64) -> bool {
    slow_ns as f64 >= DIFFERS * other_ns as f64 && slow_ns > 0
}

/// The least number of requests of a group of `all`.
fn least_of(all: u64) -> u64 {
    LEAST_REQUESTS.max((LEAST_SHARE * all as f64).ceil() as u64)
}
