//! The program's own cost, as text.

use crate::units::{Charset, byte_rate, bytes, duration, grouped, number};
use iosonar_analyze::Rounds;
use iosonar_plan::Nanos;
use std::fmt::Write;

/// All measurements, and the machine that they are from.
#[derive(Debug)]
pub struct CalibrationText<'a> {
    /// The machine in words.
    pub machine: &'a str,
    /// Whether other programs use the CPUs.
    pub is_busy: bool,
    /// Whether the program was built without checks for its development.
    pub is_release_build: bool,
    /// The clock of runs.
    pub clock: ClockText<'a>,
    /// Ways to wait for a due time.
    pub timers: Vec<TimerText<'a>>,
    /// Bytes of memory copies and their rates.
    pub copies: Vec<(u64, Rounds)>,
    /// Engines.
    pub engines: Vec<EngineText<'a>>,
    /// Directory of the file that was read, escaped.
    pub dir: &'a str,
    /// Rounds of each measurement.
    pub rounds: u32,
    /// Length of a round.
    pub length: Nanos,
}

/// The clock of runs.
#[derive(Debug)]
pub struct ClockText<'a> {
    /// Its source.
    pub source: &'a str,
    /// Cost of one reading, in picoseconds.
    pub cost_ps: u64,
    /// Cost of one reading of the kernel's clock.
    pub system_cost_ps: u64,
    /// Smallest non-zero difference.
    pub step_ns: Option<u64>,
}

/// An engine; without figures the reason.
#[derive(Debug)]
pub struct EngineText<'a> {
    /// Its name.
    pub name: &'a str,
    /// Requests in flight.
    pub depth: u32,
    /// Clock time and CPU time of a request, and the number of requests.
    pub cost: Result<(Rounds, Rounds, u64), &'a str>,
}

/// A way to wait for a due time; without figures the reason.
#[derive(Debug)]
pub struct TimerText<'a> {
    /// Whether runs wait so; otherwise the thread sleeps until a request is due.
    pub is_default: bool,
    /// How long the thread spun, median and 99th percentile of the lateness, and the number of requests.
    pub lateness: Result<(Nanos, [Rounds; 2], u64), &'a str>,
}

/// Shows the machine, the clock, and a table of the engines.
pub fn show_calibration(of: &CalibrationText<'_>) -> String {
    let mut text = format!("machine  {}\n", of.machine);
    if !of.is_release_build {
        text += "caution  this is a development build, with checks that a release build does without\n";
    }
    if of.is_busy {
        text += "caution  other programs use the CPUs: repeat it on an idle machine\n";
    }
    let clock = &of.clock;
    let _ = writeln!(
        text,
        "clock    {}: {} ns a reading, least step {} (clock_gettime: {} ns)",
        clock.source,
        number(clock.cost_ps as f64 / 1e3),
        clock.step_ns.map_or_else(|| "unknown".into(), |step| format!("{step} ns")),
        number(clock.system_cost_ps as f64 / 1e3)
    );
    of.timers.iter().for_each(|row| text += &timer(row));
    for (size, rate) in &of.copies {
        let range = range(rate, byte_rate);
        let _ = writeln!(text, "memory   copies of {}: {} ({range})", bytes(*size), byte_rate(rate.median));
    }
    let _ = writeln!(
        text,
        "\n  {:<9} {:>5} {:>11} {:>19} {:>9} {:>13} {:>12}",
        "engine", "depth", "ns/request", "least - greatest", "CPU ns", "at most/s", "requests"
    );
    of.engines.iter().for_each(|row| text += &engine(row));
    let _ = writeln!(
        text,
        "Random reads of 4 KiB by one issuing thread, of a cached file in {}; null: no I/O. Medians of {} rounds of {} each.\n\
         At most: requests per second in the fastest round. A result above half of that is partly one of this program.",
        of.dir, of.rounds, of.length
    );
    text
}

fn engine(row: &EngineText<'_>) -> String {
    let EngineText { name, depth, cost } = row;
    match cost {
        Err(why) => format!("  {name:<9} {depth:>5}  not measured: {why}\n"),
        Ok((clock, cpu, requests)) => format!(
            "  {name:<9} {depth:>5} {:>11} {:>19} {:>9} {:>13} {:>12}\n",
            whole(clock.median),
            range(clock, whole),
            whole(cpu.median),
            whole(1e9 / clock.least),
            grouped(*requests),
        ),
    }
}

fn timer(row: &TimerText<'_>) -> String {
    // Without a round the thread did not spin.
    let spin = row.lateness.as_ref().map_or(Nanos(0), |(spin, ..)| *spin);
    let how = match (row.is_default, spin) {
        (false, _) => "asleep until due".into(),
        (true, Nanos(0)) => "as runs wait here: no spinning, too few CPUs".into(),
        (true, spin) => format!("as runs wait here: the last {spin} spinning"),
    };
    match &row.lateness {
        Err(why) => format!("timer    {how}: not measured: {why}\n"),
        Ok((_, [p50, p99], requests)) => format!(
            "timer    {how}: p50 {} late ({}), p99 {} ({}), {} requests\n",
            time(p50.median),
            range(p50, time),
            time(p99.median),
            range(p99, time),
            grouped(*requests)
        ),
    }
}

fn whole(value: f64) -> String {
    grouped(value.round() as u64)
}

fn time(ns: f64) -> String {
    duration(ns.round() as u64, Charset::Ascii)
}

/// From the least to the greatest round.
fn range(rounds: &Rounds, text: impl Fn(f64) -> String) -> String {
    format!("{} - {}", text(rounds.least), text(rounds.greatest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(values: &[f64]) -> Rounds {
        Rounds::of(values.iter().copied()).unwrap()
    }

    #[test]
    fn an_engine_has_a_range_or_a_reason() {
        let cost = Ok((rounds(&[100.0, 300.0]), rounds(&[80.0]), 40));
        let line = engine(&EngineText { name: "aio", depth: 32, cost });
        assert!(line.contains(" 200 ") && line.contains(" 100 - 300 "), "{line}");
        let line = engine(&EngineText { name: "aio", depth: 32, cost: Err("aio: no such call") });
        assert!(line.ends_with("not measured: aio: no such call\n"), "{line}");
    }

    #[test]
    fn a_timer_says_how_it_waited() {
        let lateness = |spin| Ok((Nanos(spin), [rounds(&[1_000.0]), rounds(&[2_000.0])], 5));
        let asleep = timer(&TimerText { is_default: false, lateness: lateness(0) });
        assert!(asleep.starts_with("timer    asleep until due: p50 1.00 us late"), "{asleep}");
        let default = timer(&TimerText { is_default: true, lateness: lateness(100_000) });
        assert!(default.contains("the last 100us spinning"), "{default}");
    }
}
