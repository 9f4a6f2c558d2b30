//! The summary as plain ASCII text for a terminal, at most 79 columns wide.

mod hosts;
mod parts;
mod path;

use crate::health;
use crate::lines::{COLUMNS, Lines, ascii, shorten};
use crate::notes;
use crate::stamps;
use crate::verification;
use iosonar_analyze::{
    ByScope, Counts, Deskew, LimitResult, LimitVerdict, MostAtOnce, Rate, RunFacts, Scope, Severity, Summary,
    TimeStats,
};
use iosonar_archive::{ProcessLoad, RunState};
use iosonar_plan::OverlapPolicy;
use iosonar_text::units::{self, Charset, Unit};

/// The whole summary, cautions last.
pub fn summary(summary: &Summary) -> String {
    let mut out = Lines::new(COLUMNS);
    header(&mut out, summary);
    counts(&mut out, summary);
    times(&mut out, summary);
    path::path(&mut out, summary);
    others(&mut out, summary);
    percentiles(&mut out, summary);
    throughput(&mut out, summary);
    processes(&mut out, summary);
    devices(&mut out, summary);
    hosts::table(&mut out, summary);
    parts::tables(&mut out, summary);
    health_lines(&mut out, summary);
    limits(&mut out, summary);
    errors(&mut out, summary);
    targets(&mut out, summary);
    verification::lines(&mut out, summary);
    notes::of_summary(&mut out, &summary.notes);
    cautions(&mut out, summary);
    verdict(&mut out, summary);
    out.finish()
}

fn time(ns: u64) -> String {
    units::duration(ns, Charset::Ascii)
}

/// The state of a run in words.
pub(crate) fn state(state: &RunState) -> String {
    match state {
        RunState::Running => "unfinished".to_string(),
        RunState::Finished => "finished".to_string(),
        RunState::Interrupted(signal) => format!("stopped by {signal}"),
        RunState::Broken(_) => "broken off".to_string(),
        RunState::Unconverted(_) => "finished, not converted".to_string(),
    }
}

fn header(out: &mut Lines, s: &Summary) {
    let run = &s.run;
    out.line(&format!("{}   run {}   {}", run.tool, run.run_id, state(&run.state)));
    out.paragraph("  ", &place(s));
    if let Some(done) = s.machine.as_ref().and_then(|machine| machine.written_back) {
        let waited = units::bytes(done.waited_bytes);
        let end = if done.is_complete { "" } else { ", not to the end" };
        out.line(&format!(
            "  {waited} that waited in memory were written back before the run in {}{end}",
            time(done.took_ns)
        ));
    }
    out.paragraph("  ", &run.command);
    let policy = match run.policy {
        OverlapPolicy::Allow => "allowed",
        OverlapPolicy::Drop => "dropped",
        OverlapPolicy::PushBack => "deferred",
        OverlapPolicy::Order => "kept in order",
    };
    let access = if run.buffered { "page cache" } else { "direct I/O" };
    let passes = match (run.phases.len(), run.passes) {
        (0, 1) => String::new(),
        (0, passes) => format!(", {passes} passes"),
        (phases, _) => format!(", {phases} phases"),
    };
    let text = if run.is_recording() {
        "recorded: what carried the requests out, and how, is not known".to_string()
    } else {
        let (engine, depth) = engine_and_depth(run);
        format!("engine {engine}, {access}, depth {depth}, conflicts {policy}{passes}")
    };
    out.line(&format!("  {text}"));
    for stamp in stamps::of(s) {
        out.heading(&format!("  *** {stamp} ***"));
    }
}

/// Time and place: date, host, kernel, devices.
pub(crate) fn place(s: &Summary) -> String {
    let machine = s.machine.clone().unwrap_or_default();
    let devices = machine.devices.iter().map(|device| {
        let model = device.model.as_ref().map(|model| format!(" {model}")).unwrap_or_default();
        let size = device.size_bytes.map(|size| format!(" ({})", units::bytes(size))).unwrap_or_default();
        format!("{}{model}{size}", device.name)
    });
    let devices = devices.collect::<Vec<_>>().join(", ");
    let words = [
        (s.run.started_unix_ns > 0).then(|| units::date(s.run.started_unix_ns)),
        machine.host.map(|host| format!("host {host}")),
        machine.kernel.map(|kernel| format!("Linux {kernel}")),
        Some(devices).filter(|devices| !devices.is_empty()),
    ];
    words.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The kernel's counters of the devices, for any user.
fn devices(out: &mut Lines, s: &Summary) {
    let Some(machine) = s.machine.as_ref().filter(|machine| !machine.devices.is_empty()) else { return };
    let row = |cells: [String; 6]| {
        let [name, rest @ ..] = cells;
        format!("{name:16}{}", rest.iter().map(|cell| format!("{cell:>12}")).collect::<String>())
    };
    let heads = ["Devices", "util %", "mean queue", "requests", "merged", "over"];
    out.heading(&row(heads.map(String::from)));
    let figure = |value: Option<f64>| value.map_or("-".to_string(), units::number);
    for device in &machine.devices {
        out.line(&row([
            format!("  {}", shorten(&device.name, 13)),
            figure(device.utilization_percent),
            figure(device.mean_queue),
            units::grouped(device.reads + device.writes),
            units::grouped(device.merged_reads + device.merged_writes),
            time(device.sampled_ns),
        ]));
    }
}

fn counts(out: &mut Lines, s: &Summary) {
    out.heading(&format!("{:16}{:>20}{:>20}{:>20}", "Requests", "all", "read", "write"));
    type Field = fn(&Counts) -> u64;
    let fields: [(&str, Field, bool); 13] = [
        ("total", |c| c.total, true),
        ("completed", |c| c.completed, true),
        ("failed", |c| c.failed, true),
        ("dropped", |c| c.dropped, false),
        ("cancelled", |c| c.cancelled, false),
        ("deferred", |c| c.pushed, false),
        ("kept in order", |c| c.ordered, false),
        ("wrapped", |c| c.wrapped, false),
        ("at the border", |c| c.at_border, false),
        ("rounded", |c| c.rounded, false),
        ("short", |c| c.short, false),
        ("with FUA", |c| c.fua, false),
        ("with preflush", |c| c.preflush, false),
    ];
    let c = &s.counts;
    for (name, field, always) in fields {
        if always || field(&c.all) > 0 {
            let [all, read, write] = [&c.all, &c.read, &c.write].map(|c| units::grouped(field(c)));
            out.line(&format!("  {name:14}{all:>20}{read:>20}{write:>20}"));
        }
    }
    let unit = Unit::of_bytes(c.all.transferred_bytes);
    let name = format!("transferred, {}", unit.name);
    let [all, read, write] = [&c.all, &c.read, &c.write].map(|c| unit.number(c.transferred_bytes as f64));
    out.line(&format!("  {name:17}{all:>17}{read:>20}{write:>20}"));
    if c.all.ramp > 0 {
        out.line(&format!("  {} requests of the ramp are excluded", units::grouped(c.all.ramp)));
    }
}

fn times(out: &mut Lines, s: &Summary) {
    if s.latency.all.is_none() {
        out.heading("Times: none, because no read or write completed");
        return;
    }
    let heads = ["min", "mean", "stddev", "p50", "p95", "p99", "p99.9", "p99.99", "max"];
    out.heading(&format!("{:7}{}", "Times", columns(&heads)));
    quantity(out, ("latency", "submission to completion"), &s.latency);
    if s.run.has_timetable && s.knows_delay() {
        quantity(out, ("delay", "due to submission"), &s.delay);
        quantity(out, ("response", "due to completion"), &s.response);
    }
}

/// Requests that transfer no data, such as flushes.
fn others(out: &mut Lines, s: &Summary) {
    if s.others.is_empty() {
        return;
    }
    let heads = ["completed", "failed", "mean", "p50", "p99", "max"].map(|head| format!("{head:>10}"));
    let longest = s.others.iter().filter_map(|other| other.latency.as_ref()).map(|times| times.max_ns).max();
    let unit = Unit::of_durations(longest.unwrap_or(0));
    out.heading(&format!("{:18}{}", format!("Without data, {}", unit.name), heads.concat()));
    for other in &s.others {
        let name = &other.op;
        let mut row = [other.counts.completed, other.counts.failed].map(units::grouped).to_vec();
        if let Some(times) = &other.latency {
            let [_, mean, _, p50, _, p99, _, _, max] = cells(times, unit);
            row.extend([mean, p50, p99, max]);
        }
        let row: String = row.iter().map(|cell| format!("{cell:>10}")).collect();
        out.line(&format!("  {name:16}{row}"));
    }
}

/// Percentiles that were requested.
fn percentiles(out: &mut Lines, s: &Summary) {
    if s.percentiles.is_empty() {
        return;
    }
    let all = s.percentiles.iter().flat_map(|p| [p.all_ns, p.read_ns, p.write_ns]);
    let unit = Unit::of_durations(all.flatten().max().unwrap_or(0));
    let head = format!("Latency, {}", unit.name);
    out.heading(&format!("{head:16}{:>20}{:>20}{:>20}", "all", "read", "write"));
    let cell = |t: Option<u64>| t.map_or("-".to_string(), |ns| unit.number(ns as f64));
    for p in &s.percentiles {
        let [all, read, write] = [p.all_ns, p.read_ns, p.write_ns].map(cell);
        out.line(&format!("  {:14}{all:>20}{read:>20}{write:>20}", format!("p{}", p.percent)));
    }
}

/// The times of the replayer, which have long names.
fn few_heads() -> String {
    ["mean", "p50", "p99", "p99.9", "p99.99", "max"].map(|h| format!("{h:>10}")).concat()
}

fn quantity(out: &mut Lines, (name, meaning): (&str, &str), stats: &ByScope<Option<TimeStats>>) {
    let most = stats.all.as_ref().map_or(0, |t| t.max_ns);
    let unit = Unit::of_durations(most);
    let name = format!("{name}, {}", unit.name);
    out.line(&format!("  {name:14} ({meaning})"));
    for scope in Scope::TRANSFERS {
        let Some(t) = stats.get(scope) else { continue };
        let row = scope.name().trim_end_matches("-pushed");
        if scope == Scope::ReadPushed || scope == Scope::WritePushed && stats.read_pushed.is_none() {
            out.line("  of these, deferred");
        }
        out.line(&format!("  {row:5}{}", columns(&cells(t, unit))));
    }
}

fn columns(cells: &[impl AsRef<str>; 9]) -> String {
    cells.iter().map(|cell| format!("{:>8}", cell.as_ref())).collect()
}

fn cells(t: &TimeStats, unit: Unit) -> [String; 9] {
    let time = |ns: u64| unit.number(ns as f64);
    let optional = |t: Option<u64>| t.map_or("-".to_string(), time);
    [
        time(t.min_ns),
        time(t.mean_ns),
        optional(t.stddev_ns),
        time(t.p50_ns),
        optional(t.p95_ns),
        optional(t.p99_ns),
        optional(t.p99_9_ns),
        optional(t.p99_99_ns),
        time(t.max_ns),
    ]
}

fn few_cells(t: &TimeStats, unit: Unit) -> String {
    let [_, mean, _, p50, _, p99, p99_9, p99_99, max] = cells(t, unit);
    [mean, p50, p99, p99_9, p99_99, max].map(|c| format!("{c:>10}")).concat()
}

/// Content of a recorded load, by process.
fn processes(out: &mut Lines, s: &Summary) {
    let mut all = ProcessLoad::default();
    s.processes.iter().for_each(|load| all.add(load));
    if all.transfers() == 0 {
        return;
    }
    out.heading(&format!(
        "{:18}{:>13}{:>11}{:>13}{:>11}{:>13}",
        "Recorded load", "requests", "reads", "sequential", "no data", "transferred"
    ));
    let mut row = |name: &str, load: &ProcessLoad| {
        let share = |part: u64| match load.transfers() {
            0 => "-".to_string(),
            transfers => units::share(part, transfers),
        };
        out.line(&format!(
            "  {:<16}{:>13}{:>11}{:>13}{:>11}{:>13}",
            shorten(&name.chars().map(ascii).collect::<String>(), 16),
            units::grouped(load.transfers()),
            share(load.reads),
            share(load.sequential),
            units::grouped(load.others),
            units::bytes(load.bytes)
        ));
    };
    row("all", &all);
    let is_named = s.processes.iter().any(|load| load.name.is_some());
    for load in s.processes.iter().filter(|_| is_named) {
        let name = if load.is_rest { "(others)" } else { load.name.as_deref().unwrap_or("(no name)") };
        row(name, load);
    }
    out.line("  sequential: begins where the one before of its process on the device ended");
}

fn throughput(out: &mut Lines, s: &Summary) {
    let rates = || [s.throughput.demanded, s.throughput.delivered].into_iter().flatten();
    let bytes = Unit::of_byte_rates(rates().map(|r| r.bytes_per_second).fold(0.0, f64::max));
    let over = match rates().map(|r| r.duration_ns).max().unwrap_or(0) {
        0..1_000_000_000 => Unit { factor: 1e6, name: "ms" },
        _ => Unit { factor: 1e9, name: "s" },
    };
    let over_head = format!("over, {}", over.name);
    out.heading(&format!("{:16}{:>14}{:>16}{over_head:>14}", "Throughput", "requests/s", bytes.name));
    let mut row = |name: &str, rate: Option<Rate>, none: &str| match rate {
        Some(r) => out.line(&format!(
            "  {name:14}{:>14}{:>16}{:>14}",
            units::request_rate(r.requests_per_second),
            bytes.number(r.bytes_per_second),
            over.number(r.duration_ns as f64)
        )),
        None => out.line(&format!("  {name:14}{none:>14}")),
    };
    let none = if s.has_target_rate() { "-" } else { s.why_no_target_rate() };
    row("wanted", s.throughput.demanded, none);
    row("done", s.throughput.delivered, "nothing");
    if let Some(share) = s.throughput.delivered_share {
        out.line(&format!("  {:14}{:>12} %  done / wanted", "share", units::number(share * 100.0)));
    }
    let mean = |mean: Option<f64>| mean.map_or("-".to_string(), units::request_rate);
    let count = |n: Option<u64>| n.map_or("unknown".to_string(), units::grouped);
    let (flying, waiting) = (mean(s.in_flight.mean_time_weighted), mean(s.waiting.mean_time_weighted));
    if s.run.is_recording() {
        let most = s
            .in_flight
            .peak
            .map_or(String::new(), |peak| format!(", {}", most_in_flight(peak, s.run.started_unix_ns)));
        out.line(&format!("  in flight     mean over time {flying}{most}"));
        if s.knows_delay() {
            out.line(&format!("  waiting       mean over time {waiting}"));
        }
        return;
    }
    if parts::has_several_targets(s) {
        // Maxima are those of one target: the table of the targets has them.
        out.line(&format!("  in flight     mean over time {flying}, all targets together"));
        let most = s.waiting.max.map_or(String::new(), |most| format!(", max {}", units::grouped(most)));
        out.line(&format!("  waiting       mean over time {waiting}{most}, all targets together"));
        return;
    }
    let most = count(s.in_flight.max_on_one_target);
    out.line(&format!("  in flight     mean over time {flying}, max queue depth {most}"));
    let conflict = count(s.waiting.max_for_conflict_on_one_target);
    let most = s.waiting.max.map_or(String::new(), |most| format!(", max {}", units::grouped(most)));
    out.line(&format!("  waiting       mean over time {waiting}{most}, max for a conflict {conflict}"));
}

fn health_lines(out: &mut Lines, s: &Summary) {
    let (times, facts) = (health::times(s), health::facts(s, Charset::Ascii));
    let unit = Unit::of_durations(times.iter().map(|times| times.stats.max_ns).max().unwrap_or(0));
    if s.health.setup.is_none() {
        out.heading("Replayer: the result does not say how well it kept to the timetable");
    } else if times.is_empty() {
        out.heading("Replayer");
    } else {
        out.heading(&format!("{:19}{}", format!("Replayer, {}", unit.name), few_heads()));
    }
    for health::Times { name, stats, .. } in times {
        out.line(&format!("  {name:17}{}", few_cells(&stats, unit)));
    }
    for (name, text) in facts {
        out.paragraph(&format!("  {name:17}"), &text);
    }
}

fn limits(out: &mut Lines, s: &Summary) {
    out.heading("Limits");
    out.line(&format!("  {:10}{}", "latency", limit_words(&s.limits.latency)));
    out.line(&format!("  {:10}{}", "delay", limit_words(&s.limits.delay)));
}

/// Maximum in flight, and when, in clock time if known.
pub fn most_in_flight(peak: MostAtOnce, started_unix_ns: u64) -> String {
    let at = units::moment(peak.at_ns, Charset::Ascii);
    let clock = match started_unix_ns {
        0 => String::new(),
        started => format!(" ({})", units::date(started.saturating_add(peak.at_ns))),
    };
    format!("max {} at {at}{clock}", units::grouped(peak.requests))
}

/// Names of the engine and of the depth; `unknown` if they are.
pub fn engine_and_depth(run: &RunFacts) -> (String, String) {
    let engine = run.engine.clone().unwrap_or_else(|| "unknown".to_string());
    (engine, run.depth.map_or("unknown".to_string(), |depth| depth.to_string()))
}

/// Verdict on a limit, in words.
pub(crate) fn limit_words(v: &LimitVerdict) -> String {
    let limit = units::limit(v.limit_ns);
    let max = v.max_ns.map_or("-".to_string(), time);
    let above = || {
        let first = v.first_due_ns.map_or("-".to_string(), |t| units::moment(t, Charset::Ascii));
        format!("{} above, first at {first}", units::grouped(v.above))
    };
    match v.result {
        LimitResult::Passed if v.above > 0 => {
            format!("{limit}: passed, max {max}, {}, {} make it fail", above(), v.bad_ignore)
        }
        LimitResult::Passed => format!("{limit}: passed, max {max}"),
        LimitResult::Failed => format!("{limit}: FAILED, max {max}, {}", above()),
        LimitResult::NotApplicable => format!("{limit}: does not apply"),
    }
}

fn errors(out: &mut Lines, s: &Summary) {
    if s.errors.is_empty() {
        return;
    }
    out.heading("Failed requests");
    for e in &s.errors {
        let first = units::moment(e.first_due_ns, Charset::Ascii);
        out.line(&format!(
            "  {:>9} {:14} first: {} due {first}, target {}, byte {}",
            units::grouped(e.count),
            e.name,
            e.first_op,
            e.first_target,
            e.first_offset_bytes
        ));
    }
}

fn targets(out: &mut Lines, s: &Summary) {
    out.heading("Targets");
    for (i, t) in s.targets.iter().enumerate() {
        out.line(&format!("  {i}: {}", shorten(&t.path.chars().map(ascii).collect::<String>(), COLUMNS - 8)));
        let source: String = t.source.chars().map(ascii).collect();
        out.line(&format!("     load {}", shorten(&source, COLUMNS - 12)));
        let factor = t.wraparound_factor.map_or("-".to_string(), units::number);
        out.line(&format!(
            "     {}, blocks of {} bytes, wraparound factor {factor}",
            units::bytes(t.size_bytes),
            t.block_bytes
        ));
        let mut fakes = s.judgement.iter().flat_map(|judgement| &judgement.fake_targets);
        if let Some(fake) = fakes.find(|fake| usize::from(fake.target) == i) {
            let proofs: Vec<&str> = fake.proofs.iter().map(|proof| proof.name()).collect();
            out.line(&format!("     FAKE: {}", proofs.join(", ")));
        }
        if parts::has_several_targets(s)
            && let Some(most) = t.max_waiting.filter(|most| *most > 0)
        {
            out.line(&format!("     at most {} requests waited for a conflict", units::grouped(most)));
        }
        if let Some(checked) = t.checked {
            if checked.requests == 0 {
                out.line("     the data of no request was checked");
                continue;
            }
            let requests = units::grouped(checked.requests);
            let found = match checked.miscompared {
                0 => "all of it is what it should be".to_string(),
                n => format!("that of {} is not what it should be", units::grouped(n)),
            };
            out.line(&format!("     data of {requests} requests checked: {found}"));
        }
    }
}

/// The rate of each pass while all targets were active, as text for a terminal.
pub fn deskew(deskew: &Deskew) -> String {
    let mut out = Lines::new(COLUMNS);
    out.heading("Deskewed: the rate while all targets were active");
    for ((phase, pass), skew) in deskew.passes() {
        let rate = match skew.window() {
            Some(window) => format!(
                "{} in {}",
                units::byte_rate(skew.bytes as f64 / window.as_secs_f64()),
                time(window.0)
            ),
            None => "none: one target ended before another started".to_string(),
        };
        let name = match deskew.passes().all(|((phase, _), _)| phase == 0) {
            true => format!("pass {}", pass + 1),
            false => format!("phase {phase}, pass {}", pass + 1),
        };
        out.line(&format!("  {name:<9} {rate}"));
        let (front, back) = (time(skew.front().0), time(skew.back().0));
        out.line(&format!("            starts apart {front}, ends apart {back}"));
    }
    out.finish()
}

/// The verdict, as the last line.
fn verdict(out: &mut Lines, s: &Summary) {
    if let Some(judgement) = &s.judgement {
        out.line("");
        out.paragraph("verdict: ", &judgement.sentence);
    }
}

fn cautions(out: &mut Lines, s: &Summary) {
    if s.cautions.is_empty() {
        out.heading("No cautions");
        return;
    }
    out.heading("Cautions");
    for caution in &s.cautions {
        let mark = match caution.severity {
            Severity::Severe => "!! ",
            Severity::Warning => " ! ",
            Severity::Note => " - ",
        };
        out.paragraph(&format!(" {mark}"), &caution.text);
    }
}
