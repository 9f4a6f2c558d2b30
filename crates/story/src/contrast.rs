//! Groups of requests whose latencies differ: by operation, size or place. A difference is a fact, and no disturbance.

use crate::Facts;
use crate::words::{capitalized, short_bytes, time};
use iosonar_analyze::{Attribute, Contrast, ContrastGroup, Group, LEAST_REQUESTS, TimeStats};
use iosonar_plan::Engine;

/// Latencies differ from this ratio of the medians on.
const DIFFERS: f64 = 1.5;
/// Each group has at least this share of the requests.
const LEAST_SHARE: f64 = 0.01;

/// The first of operation, size and place by which latencies differ. The order matters: where reads and writes have different sizes or
/// places, these differ too.
pub(crate) fn contrast(facts: &Facts<'_>) -> Option<Contrast> {
    // Phases differ by intent, and requests that were not executed have no latency.
    if facts.summary.parts.phases.len() > 1 || facts.plan.engine == Engine::Null {
        return None;
    }
    let contrasts = facts.tally.contrasts();
    by_operation(facts)
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
    }
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
    let share = LEAST_SHARE * facts.summary.counts.all.completed as f64;
    LEAST_REQUESTS.max(share.ceil() as u64)
}
