//! `iosonar info`: the format and the shape of a trace.

use crate::convert_args::InfoArgs;
use crate::exit::{Exit, Failure};
use crate::output::{print, print_message};
use crate::traces::{EVENTS, Reading, Trace, open};
use iosonar_analyze::demand::{Demand, DemandAnalysis, DemandOptions, DemandTally};
use iosonar_plan::Nanos;
use iosonar_text::{one_line, shown};
use iosonar_trace::kernel::Timing;
use iosonar_trace::{Kind, Pairing};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt::Write;

/// Prints all facts.
pub fn info(args: &InfoArgs) -> Result<Exit, Failure> {
    let reading = Reading::of(&args.reading, Timing::Exact)?;
    let mut trace = open(&args.files, &reading)?;
    let shape = Shape::of(&mut trace)?;
    let text = if args.json { shape.json(&trace) } else { shape.text(&trace) };
    print(&text)?;
    Ok(if args.reading.strict && shape.bad > 0 { Exit::Cautioned } else { Exit::Fine })
}

const SECOND_NS: u64 = 1_000_000_000;

/// Contents of a trace.
struct Shape {
    kinds: [u64; Kind::ALL.len()],
    pairings: [u64; 5],
    devices: Vec<String>,
    processes: Processes,
    besides: Vec<(String, u64)>,
    bad: u64,
    demand: DemandAnalysis,
    busiest: Busiest,
}

/// Processes whose requests are counted separately; those of further ones are counted together.
const MOST_PROCESSES: usize = 4_096;
/// Processes that the text names; JSON has all of them.
const SHOWN_PROCESSES: usize = 10;

/// Requests and bytes of each process, by its name.
#[derive(Default)]
struct Processes(HashMap<String, (u64, u64)>);

impl Processes {
    /// Counts a request if the trace names its process.
    fn add(&mut self, name: &str, bytes: u64) {
        if name.is_empty() {
            return;
        }
        let name = if self.0.len() < MOST_PROCESSES || self.0.contains_key(name) { name } else { "(others)" };
        // Most requests are of a known process.
        if !self.0.contains_key(name) {
            self.0.insert(name.to_string(), (0, 0));
        }
        let (requests, sum) = self.0.get_mut(name).expect("it was just put there");
        (*requests, *sum) = (*requests + 1, sum.saturating_add(bytes));
    }

    /// Name, requests and bytes, the busiest first.
    fn busiest_first(&self) -> Vec<(&str, u64, u64)> {
        let mut all: Vec<_> =
            self.0.iter().map(|(name, (requests, bytes))| (name.as_str(), *requests, *bytes)).collect();
        all.sort_by_key(|(name, requests, bytes)| (Reverse(*requests), Reverse(*bytes), name.to_string()));
        all
    }

    fn json(&self) -> Value {
        let one = |(name, requests, bytes)| json!({"name": name, "requests": requests, "bytes": bytes});
        self.busiest_first().into_iter().map(one).collect()
    }

    /// Formats a line for each of the busiest ones.
    fn lines(&self) -> Vec<String> {
        let all = self.busiest_first();
        let line = |(name, requests, bytes): &(&str, u64, u64)| {
            format!("{}: {requests} requests, {bytes} bytes", shown(*name))
        };
        let busiest = all.iter().take(SHOWN_PROCESSES).map(line);
        let mut lines: Vec<String> = busiest.collect();
        if all.len() > SHOWN_PROCESSES {
            lines.push(format!("and {} more; --json has all", all.len() - SHOWN_PROCESSES));
        }
        lines
    }
}

/// Finds the second with most requests, for requests in the order of time.
#[derive(Default)]
struct Busiest {
    second: u64,
    requests: u64,
    most: u64,
}

impl Busiest {
    fn add(&mut self, time: Nanos) {
        let second = time.0 / SECOND_NS;
        if second != self.second {
            (self.second, self.requests) = (second, 0);
        }
        self.requests += 1;
        self.most = self.most.max(self.requests);
    }
}

impl Shape {
    fn of(trace: &mut Trace) -> Result<Shape, Failure> {
        let options =
            DemandOptions { windows_s: vec![1, 60], throughput_window_ns: SECOND_NS, ..Default::default() };
        let mut tally = DemandTally::new(&options);
        let (mut kinds, mut pairings, mut busiest) = ([0; Kind::ALL.len()], [0; 5], Busiest::default());
        let mut processes = Processes::default();
        let bad = trace.each(|request, _| {
            processes.add(&request.process.name(), request.extent.length);
            kinds[request.kind as usize] += 1;
            pairings[request.pairing as usize] += 1;
            if let Some(op) = request.kind.op().filter(|op| op.is_transfer()) {
                let device = u16::try_from(request.device).unwrap_or(u16::MAX);
                busiest.add(request.time);
                tally.add(&Demand::at(request.time.0, device, op, request.extent));
            }
            Ok(())
        })?;
        pairings[Pairing::NoBegin as usize] += trace.unstarted;
        let (devices, besides) = (trace.requests.devices(), trace.requests.besides());
        Ok(Shape { kinds, pairings, devices, processes, besides, bad, demand: tally.finish(), busiest })
    }

    /// Most requests in a second. For traces longer than three days the analysis uses longer windows, so their rates are not per second.
    fn peak(&self) -> f64 {
        let throughput = &self.demand.facts.throughput;
        let is_exact = throughput.window_ns == SECOND_NS;
        if is_exact { throughput.iops.all.max } else { self.busiest.most as f64 }
    }

    fn json(&self, trace: &Trace) -> String {
        let kinds: Value =
            Kind::ALL.iter().map(|k| (k.name().to_string(), Value::from(self.kinds[*k as usize]))).collect();
        let besides: Value = self.besides.iter().map(|(what, n)| (what.clone(), Value::from(*n))).collect();
        let (at, timing) = (
            trace.at.map(|(at, _)| at.word()),
            trace.at.map(|(_, timing)| format!("{timing:?}").to_lowercase()),
        );
        let value = json!({
            "name": trace.name,
            "format": trace.format,
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
            "damaged_entries": self.bad,
            "peak_requests_per_s": self.peak(),
            "demand": self.demand.facts,
        });
        format!("{value:#}\n")
    }

    fn text(&self, trace: &Trace) -> String {
        let facts = &self.demand.facts;
        let mut text = format!("{}: {}\n", shown(&trace.name), one_line(&trace.format.to_string()));
        let mut line = |name: &str, value: String| {
            let _ = writeln!(text, "  {name:<18} {value}");
        };
        if let Some((at, _)) = trace.at {
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
        if self.bad > 0 {
            line("damaged", format!("{} entries", self.bad));
            print_message(format_args!("iosonar: {}: {} entries are damaged", trace.name, self.bad));
        }
        text
    }
}
