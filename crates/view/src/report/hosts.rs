//! The machines of a run on several, a row each: figures, how exactly their clocks are known, and what happened there.

use super::figures;
use super::markup::{optional, plain_table, suffix};
use super::phases::{FIGURES, Figure};
use super::run::ReportRun;
use crate::escape;
use iosonar_analyze::HostFacts;
use std::fmt::Write as _;

/// Writes a row for each machine; nothing for a run on one.
pub(super) fn write(out: &mut String, name: &str, run: &ReportRun<'_>) {
    let Some(summary) = run.material.run.as_ref().map(|run| run.summary) else { return };
    if summary.hosts.is_empty() {
        return;
    }
    let figure = |i: usize, host: &HostFacts, of: Figure| match of(&host.figures) {
        Some((path, value, text)) => figures::hook(name, &format!("hosts.{i}.{path}"), value, &text),
        None => "–".to_string(),
    };
    let row = |(i, host): (usize, &HostFacts)| {
        let cells = FIGURES.into_iter().map(|(_, of)| figure(i, host, of));
        let start = optional(host.figures.submitted_ns);
        let clock = host.clock.map_or("same clock".into(), |clock| optional(Some(clock.max_error_ns)));
        [escape(&host.figures.name)]
            .into_iter()
            .chain(cells)
            .chain([start, clock, happened(host)])
            .collect::<Vec<_>>()
    };
    let rows: Vec<_> = summary.hosts.iter().enumerate().map(row).collect();
    let head: Vec<&str> = ["host"]
        .into_iter()
        .chain(FIGURES.into_iter().map(|(head, _)| head))
        .chain(["first request at", "clock known to", "what happened there"])
        .collect();
    _ = writeln!(out, "<section id=\"hosts{}\" aria-label=\"{name}Hosts\">", suffix(name));
    plain_table(out, &head, &rows);
    out.push_str("</section>\n");
}

/// The loss of a machine, or its own headline.
fn happened(host: &HostFacts) -> String {
    let lost = host.lost.as_ref().map(|lost| format!("lost at {}: {}", optional(Some(lost.at_ns)), lost.why));
    escape(&lost.or_else(|| host.findings.headline.clone()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_archive::HostLost;
    use serde_json::json;

    #[test]
    fn loss_comes_before_the_headline() {
        let host = json!({
            "name": "a", "number": null, "begin_ns": 0, "completed": 0, "failed": 0, "latency": null, "delay": null,
            "delivered": null, "in_flight_mean": null, "targets": [0], "headline": "Steady <x>.",
        });
        let host: HostFacts = serde_json::from_value(host).unwrap();
        assert_eq!(happened(&host), "Steady &lt;x&gt;.");
        let lost = Some(HostLost {
            at_ns: 2_000_000_000,
            why: "its process ended".into(),
            records: None,
            is_collected: false,
        });
        assert_eq!(happened(&HostFacts { lost, ..host }), "lost at 2.00 s: its process ended");
    }
}
