//! The format and the contents of a trace.

use super::busiest::{Busiest, SECOND_NS};
use super::processes::Processes;
use iosonar_analyze::demand::DemandAnalysis;
use iosonar_inputs::traces::EVENTS;
use iosonar_plan::Nanos;
use iosonar_text::{one_line, shown};
use iosonar_trace::kernel::{At, Timing};
use iosonar_trace::{Kind, Pairing};
use serde_json::{Value, json};
use std::fmt::Write;

/// Contents of a trace.
pub struct Answer {
    /// Its files, as typed.
    pub name: String,
    /// Entries that cannot be read.
    pub damaged: u64,
    /// Its format, in words.
    pub(super) format: String,
    /// For kernel events: which event counts as the request, and how completions are found.
    pub(super) at: Option<(At, Timing)>,
    pub(super) kinds: [u64; Kind::ALL.len()],
    pub(super) pairings: [u64; 5],
    pub(super) devices: Vec<String>,
    pub(super) processes: Processes,
    pub(super) besides: Vec<(String, u64)>,
    pub(super) demand: DemandAnalysis,
    pub(super) busiest: Busiest,
}

impl Answer {
    /// Most requests in a second. For traces longer than three days the analysis uses longer windows, so their rates are not per second.
    fn peak(&self) -> f64 {
        let throughput = &self.demand.facts.throughput;
        let is_exact = throughput.window_ns == SECOND_NS;
        if is_exact { throughput.iops.all.max } else { self.busiest.most as f64 }
    }

    /// All facts as JSON.
    pub fn to_json(&self) -> Value {
        let kinds: Value =
            Kind::ALL.iter().map(|k| (k.name().to_string(), Value::from(self.kinds[*k as usize]))).collect();
        let besides: Value = self.besides.iter().map(|(what, n)| (what.clone(), Value::from(*n))).collect();
        let (at, timing) = (
            self.at.map(|(at, _)| at.word()),
            self.at.map(|(_, timing)| format!("{timing:?}").to_lowercase()),
        );
        json!({
            "name": self.name,
            "format": self.format,
            "request_is_event": at,
            "timing": timing,
            "requests": self.kinds.iter().sum::<u64>(),
            "kinds": kinds,
            "ends": {
                "untold": self.pairings[Pairing::Untold as usize],
                "exact": self.pairings[Pairing::Exact as usize],
                "ambiguous": self.pairings[Pairing::Ambiguous as usize],
                "without_end": self.pairings[Pairing::NoEnd as usize],
                "without_begin": self.pairings[Pairing::NoBegin as usize],
            },
            "devices": self.devices,
            "processes": self.processes.json(),
            "besides": besides,
            "damaged_entries": self.damaged,
            "peak_requests_per_s": self.peak(),
            "demand": self.demand.facts,
        })
    }

    /// The facts for people.
    pub fn text(&self) -> String {
        let facts = &self.demand.facts;
        let mut text = format!("{}: {}\n", shown(&self.name), one_line(&self.format.to_string()));
        let mut line = |name: &str, value: String| {
            let _ = writeln!(text, "  {name:<18} {value}");
        };
        if let Some((at, _)) = self.at {
            line("a request is", format!("an event {} ({})", at.letter(), at.word()));
        }
        let kinds = Kind::ALL.iter().filter(|k| self.kinds[**k as usize] > 0);
        let kinds: Vec<String> = kinds.map(|k| format!("{} {}", self.kinds[*k as usize], k.name())).collect();
        line("requests", format!("{} ({})", self.kinds.iter().sum::<u64>(), kinds.join(", ")));
        if let Some(span) = facts.span {
            line("span", format!("{} .. {}", Nanos(span.first_ns), Nanos(span.last_ns)));
            line("peak", format!("{} requests in a second", self.peak()));
        }
        if let (Some(sizes), counts) = (&facts.sizes.all, &facts.counts.all) {
            let often = sizes.most_frequent_sectors.map(|n| format!(", most of {n}")).unwrap_or_default();
            line(
                "length",
                format!(
                    "{} .. {} sectors, mean {:.2}{often}; {} bytes in all",
                    sizes.min_sectors, sizes.max_sectors, sizes.mean_sectors, counts.bytes
                ),
            );
        }
        if let Some(places) = facts.positions {
            line("sectors", format!("{} .. {}", places.lowest_sector, places.highest_end_sector));
        }
        if let Some(window) = facts.working_sets.last() {
            let pages = window.sliding.pages.max;
            line("working set", format!("{pages} pages of 4 KiB ({:.1} MiB)", pages as f64 / 256.0));
        }
        let known = self.pairings[Pairing::Exact as usize] + self.pairings[Pairing::Ambiguous as usize];
        if known > 0 {
            line(
                "ends",
                format!(
                    "{} exact, {} of several alike, {} without an end, {} without a start",
                    self.pairings[Pairing::Exact as usize],
                    self.pairings[Pairing::Ambiguous as usize],
                    self.pairings[Pairing::NoEnd as usize],
                    self.pairings[Pairing::NoBegin as usize]
                ),
            );
        }
        let devices: Vec<&str> = self.devices.iter().map(String::as_str).filter(|d| !d.is_empty()).collect();
        if !devices.is_empty() {
            let more = if devices.len() > 8 { " …" } else { "" };
            line(
                "devices",
                format!("{}: {}{more}", devices.len(), one_line(&devices[..devices.len().min(8)].join("  "))),
            );
        }
        for (number, process) in self.processes.lines().into_iter().enumerate() {
            line(if number == 0 { "processes" } else { "" }, process);
        }
        let met = self.besides.iter().filter(|(_, count)| *count > 0);
        let (events, others): (Vec<_>, Vec<_>) = met.partition(|(what, _)| what.starts_with(EVENTS));
        let events: Vec<String> =
            events.iter().map(|(what, n)| format!("{} {n}", shown(&what[EVENTS.len()..]))).collect();
        if !events.is_empty() {
            line("events", events.join(", "));
        }
        for (what, count) in others {
            line("besides", format!("{count} {}", shown(what)));
        }
        if self.damaged > 0 {
            line("damaged", format!("{} entries", self.damaged));
        }
        text
    }
}
