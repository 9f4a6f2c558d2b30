//! The findings of the machines of a run in the story of the whole.

use iosonar_analyze::{Cause, HEADLINE_CHARS, HostFacts, Reason, Story};
use iosonar_text::units::{self, Charset};

/// Most reasons of a story.
const REASONS: usize = 2;
/// The slowest machine is named if its 99th percentile exceeds that of the middle one by this factor.
const STRAGGLER: f64 = 1.5;
/// ... and if each of both has this many requests.
const LEAST_REQUESTS: u64 = 100;

/// The story with the findings of machines that are not in the records: a cause outside of their targets for most of the lost time; and with the
/// machine that was slow.
#[must_use]
pub fn with_hosts(story: Story, hosts: &[HostFacts]) -> Story {
    if let Some((number, host)) = disturbed(&story, hosts) {
        return of_disturbed(story, hosts, number, host);
    }
    let Some(straggler) = straggler(hosts) else { return story };
    let because = [straggler].into_iter().chain(story.because.iter().cloned()).take(REASONS).collect();
    Story { because, ..story }
}

/// The machine on which something outside of its targets cost most, if that is most of what the whole run lost.
fn disturbed<'a>(story: &Story, hosts: &'a [HostFacts]) -> Option<(usize, &'a HostFacts)> {
    let lost = |host: &HostFacts| host.findings.lost_request_seconds.unwrap_or(0.0);
    let outside =
        hosts.iter().enumerate().filter(|(_, host)| host.findings.cause.is_some_and(Cause::is_outside));
    let (number, host) = outside.max_by(|(_, a), (_, b)| lost(a).total_cmp(&lost(b)))?;
    let is_most = 2.0 * lost(host) >= story.lost_request_seconds && story.lost_request_seconds > 0.0;
    (is_most && host.findings.headline.is_some()).then_some((number, host))
}

/// The story of a run that one machine disturbed: what it says itself, and how the others fared.
fn of_disturbed(story: Story, hosts: &[HostFacts], number: usize, host: &HostFacts) -> Story {
    let name = &host.figures.name;
    let told = host
        .findings
        .because
        .first()
        .map(|text| Reason::new(format!("On {name}: {text}"), &[&format!("hosts.{number}.because.0")]));
    let others = hosts.iter().enumerate().filter(|(other, _)| *other != number);
    let p99 = |(other, host): (usize, &HostFacts)| Some((host.figures.latency?.p99_ns?, other));
    let slowest = others.filter_map(p99).max().map(|(p99_ns, other)| {
        let text = format!(
            "On the other hosts 99 % of the requests took up to {}.",
            units::duration(p99_ns, Charset::Unicode)
        );
        Reason::new(text, &[&format!("hosts.{other}.latency.p99_ns")])
    });
    Story {
        headline: headline(name, host.findings.headline.as_deref().unwrap_or_default()),
        because: told.into_iter().chain(slowest).collect(),
        remedy: host.findings.remedy.clone().or(story.remedy),
        ..story
    }
}

/// The headline of a machine with its name, as far as there is room.
fn headline(name: &str, own: &str) -> String {
    let fits = |text: &String| text.chars().count() <= HEADLINE_CHARS;
    let cut = own.rsplit_once(": ").map(|(head, _)| format!("{head}."));
    let all = [Some(own.to_string()), cut].into_iter().flatten().map(|text| format!("{name}: {text}"));
    all.into_iter().find(fits).unwrap_or_else(|| "One host was disturbed from outside of its targets.".into())
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
        let mut host: HostFacts = serde_json::from_value(host).unwrap();
        host.findings.cause = cause;
        host
    }

    fn told(hosts: &[HostFacts]) -> Story {
        let own = json!({
            "headline": "A burst outran the depth.", "because": [{ "text": "its own", "evidence": ["latency"] }],
            "lost_request_seconds": 3.0,
        });
        with_hosts(serde_json::from_value(own).unwrap(), hosts)
    }

    fn because(hosts: &[HostFacts]) -> Vec<String> {
        told(hosts).because.into_iter().map(|reason| reason.text).collect()
    }

    #[test]
    fn cause_outside_of_a_target_is_told_with_its_machine() {
        let mut halted = host("b", 1_000_000, Some(Cause::Halted));
        halted.findings.headline = Some("This program was halted for 2.40 s: x is not the cause.".into());
        halted.findings.lost_request_seconds = Some(2.9);
        let hosts = [host("a", 1_500_000, None), halted.clone()];
        let story = told(&hosts);
        assert_eq!(story.headline, "b: This program was halted for 2.40 s: x is not the cause.");
        assert_eq!(
            because(&hosts),
            [
                "On b: This program was stopped for 2.00 s.",
                "On the other hosts 99 % of the requests took up to 1.50 ms."
            ]
        );
        halted.findings.lost_request_seconds = Some(0.3);
        assert_eq!(because(&[host("a", 1_000_000, None), halted]), ["its own"]);
        let long = headline(
            "a-host-with-a-long-name",
            "This program was halted for 2.40 s (from 5.24 s to 7.92 s): a.img is not the cause.",
        );
        assert_eq!(
            long,
            "a-host-with-a-long-name: This program was halted for 2.40 s (from 5.24 s to 7.92 s)."
        );
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
