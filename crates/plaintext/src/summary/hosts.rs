//! The machines of a run on several: their figures, how exactly their clocks are known, and which of them were lost.

use super::parts;
use crate::lines::Lines;
use iosonar_analyze::{HostFacts, Summary};
use iosonar_text::units::{self, Charset};

/// A table of the machines, and what limits statements about their order; nothing for a run on one.
pub(crate) fn table(out: &mut Lines, s: &Summary) {
    if s.hosts.is_empty() {
        return;
    }
    let figures = s.hosts.iter().map(|host| &host.figures);
    parts::table(out, "Each host", figures, |part| part.name.clone(), None);
    if let Some(text) = clocks(&s.hosts) {
        out.paragraph("  ", &text);
    }
    s.hosts.iter().filter_map(step).for_each(|text| out.paragraph("  ", &text));
    s.hosts.iter().filter_map(lost).for_each(|text| out.paragraph("  ", &text));
    if let Some(text) = kept(&s.hosts) {
        out.paragraph("  ", &text);
    }
    s.hosts.iter().filter_map(own).take(OWN).for_each(|text| out.paragraph("  ", &text));
}

/// Most machines whose own headline is shown.
const OWN: usize = 16;

/// The headline of a machine.
fn own(host: &HostFacts) -> Option<String> {
    host.findings.headline.as_ref().map(|headline| format!("{}: {headline}", host.figures.name))
}

fn time(ns: u64) -> String {
    units::duration(ns, Charset::Ascii)
}

/// When the machines started, and the greatest error of their times; `None` if there is nothing to compare.
fn clocks(hosts: &[HostFacts]) -> Option<String> {
    let started: Vec<u64> = hosts.iter().filter_map(|host| host.figures.submitted_ns).collect();
    let (first, last) = (started.iter().min()?, started.iter().max()?);
    let most = |of: fn(&HostFacts) -> Option<u64>| hosts.iter().filter_map(of).max();
    let skew = match started.len() {
        1 => None,
        _ => Some(format!("first requests within {}", time(last - first))),
    };
    let known = most(|host| Some(host.clock?.max_error_ns)).map(|error| {
        let start = most(|host| Some(host.clock?.start_error_ns)).unwrap_or(error);
        format!("clocks known to {} at the start, {} during the run", time(start), time(error))
    });
    let known = known.or_else(|| Some("all on one clock".into()));
    let parts: Vec<String> = skew.into_iter().chain(known).collect();
    Some(format!("{}.", parts.join("; ")))
}

fn step(host: &HostFacts) -> Option<String> {
    let at = host.clock?.stepped_at_ns?;
    let name = &host.figures.name;
    Some(format!("The clock of {name} stepped at {}: no order of events is known after it.", time(at)))
}

fn lost(host: &HostFacts) -> Option<String> {
    let lost = host.lost.as_ref()?;
    let records = match &lost.records {
        Some(dir) => format!("; its records are in {dir} there, and iosonar collect fetches them"),
        None if lost.is_collected => "; its records were collected later".into(),
        None => String::new(),
    };
    let (name, at) = (&host.figures.name, time(lost.at_ns));
    Some(format!("{name} was lost at {at}: {}{records}.", lost.why))
}

/// Most places of records that are shown.
const PLACES: usize = 3;

/// Where the records are, if they stay on the machines.
fn kept(hosts: &[HostFacts]) -> Option<String> {
    let place = |host: &HostFacts| Some(format!("{}:{}", host.figures.name, host.records.as_ref()?));
    let places: Vec<String> = hosts.iter().filter_map(place).collect();
    let more = match places.len().saturating_sub(PLACES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let first = places.iter().take(PLACES).cloned().collect::<Vec<_>>().join(", ");
    let text = format!("The records stay on the hosts ({first}{more}); iosonar collect fetches them.");
    (!places.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn host(name: &str, submitted_ns: u64, more: serde_json::Value) -> HostFacts {
        let mut host = json!({
            "name": name, "number": null, "begin_ns": 0, "submitted_ns": submitted_ns, "completed": 10, "failed": 0,
            "latency": null, "delay": null, "delivered": null, "in_flight_mean": null, "targets": [0],
        });
        host.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(host).unwrap()
    }

    #[test]
    fn sentences_limit_what_is_known() {
        let clock = json!({ "clock": {
            "exchanges": 130, "least_round_trip_ns": 60_000, "max_error_ns": 120_000, "start_error_ns": 31_000, "stepped_at_ns": 7_000_000_000u64,
        } });
        let gone = json!({ "lost": { "at_ns": 3_200_000_000u64, "why": "it gave no sign of life for 10 s", "records": "/tmp/x" } });
        let hosts = [host("alpha", 100_000, clock), host("beta", 340_000, gone)];
        assert_eq!(
            clocks(&hosts).unwrap(),
            "first requests within 240 us; clocks known to 31.0 us at the start, 120 us during the run."
        );
        assert_eq!(
            step(&hosts[0]).unwrap(),
            "The clock of alpha stepped at 7.00 s: no order of events is known after it."
        );
        assert_eq!(
            lost(&hosts[1]).unwrap(),
            "beta was lost at 3.20 s: it gave no sign of life for 10 s; its records are in /tmp/x there, and iosonar collect fetches them."
        );
        assert_eq!(clocks(&hosts[1..]).unwrap(), "all on one clock.");
        assert_eq!(kept(&hosts), None);
        let kept_there = ["a", "b", "c", "d"].map(|name| host(name, 0, json!({ "records": "/var/tmp/x" })));
        assert_eq!(
            kept(&kept_there).unwrap(),
            "The records stay on the hosts (a:/var/tmp/x, b:/var/tmp/x, c:/var/tmp/x and 1 more); iosonar collect fetches them."
        );
    }
}
