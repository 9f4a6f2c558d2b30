//! The answer as text.

use super::{Answer, ClockFacts, EngineRow, TimerRow};
use iosonar_analyze::Rounds;
use iosonar_plan::Nanos;
use iosonar_text::shown;
use iosonar_text::units::{Charset, byte_rate, bytes, duration, grouped, number};
use std::fmt;

/// The machine, the clock, and a table of the engines.
impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "machine  {}", self.machine.words())?;
        if !self.is_release_build {
            f.write_str(
                "caution  this is a development build, with checks that a release build does without\n",
            )?;
        }
        if self.machine.is_busy() {
            f.write_str("caution  other programs use the CPUs: repeat it on an idle machine\n")?;
        }
        f.write_str(&clock(&self.clock))?;
        self.timers.iter().try_for_each(|row| f.write_str(&timer(row)))?;
        for copy in &self.copies {
            let rate = &copy.bytes_per_second;
            let range = range(rate, byte_rate);
            writeln!(f, "memory   copies of {}: {} ({range})", bytes(copy.bytes), byte_rate(rate.median))?;
        }
        writeln!(
            f,
            "\n  {:<9} {:>5} {:>11} {:>19} {:>9} {:>13} {:>12}",
            "engine", "depth", "ns/request", "least - greatest", "CPU ns", "at most/s", "requests"
        )?;
        self.engines.iter().try_for_each(|row| f.write_str(&engine(row)))?;
        writeln!(
            f,
            "Random reads of 4 KiB by one issuing thread, of a cached file in {}; null: no I/O. Medians of {} rounds of {} each.\n\
             At most: requests per second in the fastest round. A result above half of that is partly one of this program.",
            shown(&self.dir),
            self.rounds,
            Nanos(self.round_ns)
        )
    }
}

fn clock(clock: &ClockFacts) -> String {
    format!(
        "clock    {}: {} ns a reading, least step {} (clock_gettime: {} ns)\n",
        clock.source,
        number(clock.cost_ps as f64 / 1e3),
        clock.step_ns.map_or_else(|| "unknown".into(), |step| format!("{step} ns")),
        number(clock.system_cost_ps as f64 / 1e3)
    )
}

fn engine(row: &EngineRow) -> String {
    let EngineRow { engine: name, depth, cost } = row;
    match cost.known() {
        Err(why) => format!("  {name:<9} {depth:>5}  not measured: {why}\n"),
        Ok(cost) => format!(
            "  {name:<9} {depth:>5} {:>11} {:>19} {:>9} {:>13} {:>12}\n",
            whole(cost.ns_per_request.median),
            range(&cost.ns_per_request, whole),
            whole(cost.cpu_ns_per_request.median),
            whole(cost.most_requests_per_second),
            grouped(cost.requests),
        ),
    }
}

fn timer(row: &TimerRow) -> String {
    let lateness = row.lateness.known();
    let how = match (row.default, lateness.map(|late| Nanos(late.spin_ns))) {
        (false, _) => "asleep until due".into(),
        (true, Err(_)) => "as runs wait here".into(),
        (true, Ok(Nanos(0))) => "as runs wait here: no spinning, too few CPUs".into(),
        (true, Ok(spin)) => format!("as runs wait here: the last {spin} spinning"),
    };
    match lateness {
        Err(why) => format!("timer    {how}: not measured: {why}\n"),
        Ok(late) => format!(
            "timer    {how}: p50 {} late ({}), p99 {} ({}), {} requests\n",
            time(late.late_p50_ns.median),
            range(&late.late_p50_ns, time),
            time(late.late_p99_ns.median),
            range(&late.late_p99_ns, time),
            grouped(late.requests)
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
    use crate::calibrate::{EngineCost, Lateness, Measured};

    fn rounds(values: &[f64]) -> Rounds {
        Rounds::of(values.iter().copied()).unwrap()
    }

    fn not_measured<T>(why: &str) -> Measured<T> {
        Measured::Failed { failed: Some(why.into()) }
    }

    #[test]
    fn prints_engine_range_or_reason() {
        let clock = rounds(&[100.0, 300.0]);
        let cost = EngineCost {
            block_bytes: 4096,
            requests: 40,
            ns_per_request: clock,
            cpu_ns_per_request: rounds(&[80.0]),
            most_requests_per_second: 1e9 / clock.least,
        };
        let row = |cost| EngineRow { engine: "aio", depth: 32, cost };
        let line = engine(&row(Measured::Known(cost)));
        assert!(line.contains(" 200 ") && line.contains(" 100 - 300 "), "{line}");
        let line = engine(&row(not_measured("aio: no such call")));
        assert!(line.ends_with("not measured: aio: no such call\n"), "{line}");
    }

    #[test]
    fn timer_line_states_how_it_waited() {
        let lateness = |spin_ns| {
            let (late_p50_ns, late_p99_ns) = (rounds(&[1_000.0]), rounds(&[2_000.0]));
            Measured::Known(Lateness { spin_ns, requests: 5, late_p50_ns, late_p99_ns })
        };
        let asleep = timer(&TimerRow { default: false, lateness: lateness(0) });
        assert!(asleep.starts_with("timer    asleep until due: p50 1.00 us late"), "{asleep}");
        let default = timer(&TimerRow { default: true, lateness: lateness(100_000) });
        assert!(default.contains("the last 100us spinning"), "{default}");
        let failed = timer(&TimerRow { default: true, lateness: not_measured("no file") });
        assert_eq!(failed, "timer    as runs wait here: not measured: no file\n");
    }
}
