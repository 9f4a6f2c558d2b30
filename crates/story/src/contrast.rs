//! Groups of requests whose latencies differ: by batch, operation, size, place or fragment. A difference is a fact, and no disturbance.

use crate::Facts;
use crate::words::{capitalized, short_bytes, time};
use iosonar_analyze::extents::{FileLatencies, LatencyFigures};
use iosonar_analyze::{Attribute, Contrast, ContrastGroup, Group, LEAST_REQUESTS, TimeStats};
use iosonar_plan::{Engine, Op};

/// Latencies differ from this ratio of the medians on.
const DIFFERS: f64 = 1.5;
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
    let contrasts = facts.tally.contrasts();
    by_batch(facts)
        .or_else(|| by_fragment(facts))
        .or_else(|| by_operation(facts))
        .or_else(|| by_size(facts, &contrasts.sizes()))
        .or_else(|| by_place(facts, &contrasts.places()))
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

/// Requests that were submitted together, and take longer than those of smaller batches. Only where a timetable says when requests come:
/// otherwise they come together because others ended together.
fn by_batch(facts: &Facts<'_>) -> Option<Contrast> {
    let batches = facts.tally.sample().batches().filter(|_| facts.summary.run.has_timetable)?;
    let all: u64 = batches.groups.iter().map(|group| group.requests).sum();
    let is_enough = |group: &&Group| group.requests >= least_of(all);
    let slow = batches.groups.iter().filter(is_enough).max_by_key(|group| group.p50_ns)?;
    let other = batches.groups.iter().filter(is_enough).min_by_key(|group| group.p50_ns)?;
    let kind = if batches.op == Op::Write { "writes" } else { "reads" };
    let sizes = |group: &Group| match (group.from, group.to) {
        (1, _) => "submitted alone".into(),
        (from, to) if from == to => format!("in batches of {from}"),
        (from, to) => format!("in batches of {from} to {to}"),
    };
    let named =
        |name: String, group: &Group| ContrastGroup { name, requests: group.requests, p50_ns: group.p50_ns };
    (slow.from > other.to && differs(slow.p50_ns, other.p50_ns)).then(|| Contrast {
        by: Attribute::Batch,
        slow: named(format!("{kind} {}", sizes(slow)), slow),
        other: named(sizes(other), other),
    })
}

/// Requests on several fragments of their file, which take longer than those on one. Requests through the page cache are others than
/// those that reach the device.
fn by_fragment(facts: &Facts<'_>) -> Option<Contrast> {
    let files = facts.extents.map_or(&[][..], |extents| &extents.files);
    files.iter().filter(|file| !file.is_buffered).find_map(|file| fragments_of(file, file.shown()))
}

fn fragments_of(file: &FileLatencies, op: Op) -> Option<Contrast> {
    let slower = file.of(op).across.slower().filter(|slower| slower.is_shown)?;
    let (across, inside) = (slower.first, slower.second);
    let is_enough = across.requests.min(inside.requests) >= least_of(across.requests + inside.requests);
    let kind = if op == Op::Write { "writes" } else { "reads" };
    let named = |name: String, figures: LatencyFigures| ContrastGroup {
        name,
        requests: figures.requests,
        p50_ns: figures.p50_ns,
    };
    (is_enough && differs(across.p50_ns, inside.p50_ns)).then(|| Contrast {
        by: Attribute::Fragment,
        slow: named(format!("{kind} on several fragments of the file"), across),
        other: named("on one".into(), inside),
    })
}

fn by_operation(facts: &Facts<'_>) -> Option<Contrast> {
    let latency = &facts.summary.latency;
    let group = |name: &str, times: &TimeStats| ContrastGroup {
        name: name.into(),
        requests: times.count,
        p50_ns: times.p50_ns,
    };
    let groups = [group("reads", latency.read.as_ref()?), group("writes", latency.write.as_ref()?)];
    slowest_and_fastest(facts, Attribute::Operation, groups)
}

fn by_size(facts: &Facts<'_>, sizes: &[Group]) -> Option<Contrast> {
    let group = |size: &Group| ContrastGroup {
        name: match size.from == size.to {
            true => short_bytes(size.from),
            false => format!("{} to {}", short_bytes(size.from), short_bytes(size.to)),
        },
        requests: size.requests,
        p50_ns: size.p50_ns,
    };
    slowest_and_fastest(facts, Attribute::Size, sizes.iter().map(group))
}

/// The slowest and the fastest of the groups with enough requests, if they differ.
fn slowest_and_fastest(
    facts: &Facts<'_>,
    by: Attribute,
    groups: impl IntoIterator<Item = ContrastGroup>,
) -> Option<Contrast> {
    let least = least(facts);
    let mut groups: Vec<ContrastGroup> = groups.into_iter().filter(|group| group.requests >= least).collect();
    groups.sort_by_key(|group| group.p50_ns);
    let slow = groups.pop()?;
    let other = groups.into_iter().next()?;
    differs(slow.p50_ns, other.p50_ns).then_some(Contrast { by, slow, other })
}

/// One stretch of the target whose requests are slower than all others.
fn by_place(facts: &Facts<'_>, places: &[Group]) -> Option<Contrast> {
    let least = least(facts);
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

/// The least number of requests of a group.
fn least(facts: &Facts<'_>) -> u64 {
    least_of(facts.summary.counts.all.completed)
}

/// The least number of requests of a group of `all`.
fn least_of(all: u64) -> u64 {
    LEAST_REQUESTS.max((LEAST_SHARE * all as f64).ceil() as u64)
}
