//! What the machines of a run say about their parts, in the story of the whole.

use iosonar_analyze::{Cause, HostFacts, Reason, Story};
use iosonar_text::units::{self, Charset};

/// Most reasons of a story.
const REASONS: usize = 2;
/// The slowest machine is named if its 99th percentile exceeds that of the middle one by this factor.
const STRAGGLER: f64 = 1.5;
/// ... and if each of both has this many requests.
const LEAST_REQUESTS: u64 = 100;

/// The story with what machines found that is not in the records: causes outside of their targets; and with the machine that was slow.
#[must_use]
pub fn with_hosts(story: Story, hosts: &[HostFacts]) -> Story {
    let mut reasons: Vec<Reason> = hosts.iter().enumerate().filter_map(outside).collect();
    reasons.extend(straggler(hosts));
    if reasons.is_empty() {
        return story;
    }
    reasons.extend(story.because.iter().cloned());
    reasons.truncate(REASONS);
    Story { because: reasons, ..story }
}

/// The reason of a machine whose requests lost most of their time to something outside of its targets.
fn outside((number, host): (usize, &HostFacts)) -> Option<Reason> {
    host.cause.filter(|cause| cause.is_outside() || *cause == Cause::DepthFull)?;
    let because = host.because.first()?;
    Some(Reason::new(format!("On {}: {because}", host.figures.name), &[&format!("hosts.{number}.because.0")]))
}

/// The machine whose requests took longest, if it stands out of at least three.
fn straggler(hosts: &[HostFacts]) -> Option<Reason> {
    let p99 = |(number, host): (usize, &HostFacts)| {
        let latency = host.figures.latency.filter(|_| host.figures.completed >= LEAST_REQUESTS)?;
        Some((latency.p99_ns?, number))
    };
    let mut all: Vec<(u64, usize)> = hosts.iter().enumerate().filter_map(p99).collect();
    all.sort_unstable();
    let (slowest, number) = *all.last().filter(|_| all.len() > 2)?;
    let (middle, _) = all[(all.len() - 1) / 2];
    let time = |ns| units::duration(ns, Charset::Unicode);
    (slowest as f64 > STRAGGLER * middle as f64).then(|| {
        let name = &hosts[number].figures.name;
        let text = format!(
            "{name} was the slow one: 99 % of its requests took up to {}, on the middle host {}.",
            time(slowest),
            time(middle)
        );
        Reason::new(text, &[&format!("hosts.{number}.latency.p99_ns")])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn host(name: &str, p99_ns: u64, cause: Option<Cause>) -> HostFacts {
        let host = json!({
            "name": name, "number": null, "begin_ns": 0, "completed": 1000, "failed": 0, "delay": null, "delivered": null,
            "latency": { "mean_ns": 1, "p50_ns": 1, "p99_ns": p99_ns, "max_ns": p99_ns }, "in_flight_mean": null, "targets": [0],
            "because": ["This program was stopped for 2.00 s."],
        });
        HostFacts { cause, ..serde_json::from_value(host).unwrap() }
    }

    fn because(hosts: &[HostFacts]) -> Vec<String> {
        let own = json!({ "headline": "h", "because": [{ "text": "its own", "evidence": ["latency"] }], "lost_request_seconds": 0.0 });
        let own: Story = serde_json::from_value(own).unwrap();
        with_hosts(own, hosts).because.into_iter().map(|reason| reason.text).collect()
    }

    #[test]
    fn cause_outside_of_a_target_is_told_with_its_machine() {
        let hosts = [host("a", 1_000_000, None), host("b", 1_000_000, Some(Cause::Halted))];
        assert_eq!(because(&hosts), ["On b: This program was stopped for 2.00 s.", "its own"]);
        assert_eq!(because(&hosts[..1]), ["its own"]);
    }

    #[test]
    fn slow_machine_is_named_among_three() {
        let hosts = [host("a", 1_000_000, None), host("b", 9_100_000, None), host("c", 1_200_000, None)];
        assert_eq!(
            because(&hosts)[0],
            "b was the slow one: 99 % of its requests took up to 9.10 ms, on the middle host 1.20 ms."
        );
        assert_eq!(because(&hosts[..2]), ["its own"]);
    }
}
