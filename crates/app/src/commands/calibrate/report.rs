//! Report of the measurements: a table, and JSON.

use super::round::BLOCK;
use super::{Copies, Lateness, Speed, Spread};
use iosonar_archive::TOOL;
use iosonar_host::Fact;
use iosonar_host::environment::Environment;
use iosonar_plan::{Engine, Nanos};
use iosonar_text::shown;
use iosonar_view::units::{Charset, byte_rate, bytes, duration, grouped, number};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::PathBuf;

/// All measurements, and the machine they are from.
pub struct Report {
    pub environment: Environment,
    pub rounds: u32,
    pub length: Nanos,
    /// Directory of the file.
    pub dir: PathBuf,
    pub clock: ClockFacts,
    pub engines: Vec<EngineRow>,
    pub timers: Vec<TimerRow>,
    pub copies: Copies,
}

/// The clock of runs.
pub struct ClockFacts {
    pub source: &'static str,
    /// Cost of one reading, in picoseconds.
    pub cost_ps: u64,
    /// Cost of one reading of the kernel's clock.
    pub system_cost_ps: u64,
    /// Clock resolution: smallest non-zero difference.
    pub step_ns: Option<u64>,
    /// Number of readings.
    pub readings: u32,
}

/// An engine and its rounds.
pub struct EngineRow {
    pub engine: Engine,
    pub depth: u32,
    rounds: Vec<Speed>,
    /// Why it could not be measured.
    failed: Option<String>,
}

/// A way to wait for a due time and its rounds.
pub struct TimerRow {
    /// How long to spin before a due time; `None`: the default of runs here.
    pub spin: Option<Nanos>,
    rounds: Vec<Lateness>,
    /// Why it could not be measured.
    failed: Option<String>,
}

impl EngineRow {
    pub fn new(engine: Engine, depth: u32) -> EngineRow {
        EngineRow { engine, depth, rounds: Vec::new(), failed: None }
    }

    pub fn add(&mut self, round: anyhow::Result<Speed>) {
        match round {
            Ok(speed) => self.rounds.push(speed),
            Err(why) => self.failed = Some(format!("{why:#}")),
        }
    }

    /// Clock time and CPU time of each request; `None` if the engine could not be measured.
    fn spreads(&self) -> Option<[Spread; 2]> {
        let of = |ns: fn(&Speed) -> f64| Spread::of(self.rounds.iter().map(ns));
        Some([of(|round| round.ns)?, of(|round| round.cpu_ns)?]).filter(|_| self.failed.is_none())
    }

    fn requests(&self) -> u64 {
        self.rounds.iter().map(|round| round.requests).sum()
    }

    fn line(&self) -> String {
        let (name, depth) = (self.engine.name(), self.depth);
        let Some([clock, cpu]) = self.spreads() else {
            return format!(
                "  {name:<9} {depth:>5}  not measured: {}\n",
                self.failed.as_deref().unwrap_or_default()
            );
        };
        format!(
            "  {name:<9} {depth:>5} {:>11} {:>19} {:>9} {:>13} {:>12}\n",
            whole(clock.median),
            range(clock, whole),
            whole(cpu.median),
            whole(1e9 / clock.least),
            grouped(self.requests()),
        )
    }

    fn json(&self) -> Value {
        let (engine, depth) = (self.engine.name(), self.depth);
        let Some([clock, cpu]) = self.spreads() else {
            return json!({ "engine": engine, "depth": depth, "failed": self.failed });
        };
        json!({
            "engine": engine,
            "depth": depth,
            "block_bytes": BLOCK.0,
            "requests": self.requests(),
            "ns_per_request": clock.json(),
            "cpu_ns_per_request": cpu.json(),
            "most_requests_per_second": 1e9 / clock.least,
        })
    }
}

impl TimerRow {
    pub fn new(spin: Option<Nanos>) -> TimerRow {
        TimerRow { spin, rounds: Vec::new(), failed: None }
    }

    pub fn add(&mut self, round: anyhow::Result<Lateness>) {
        match round {
            Ok(lateness) => self.rounds.push(lateness),
            Err(why) => self.failed = Some(format!("{why:#}")),
        }
    }

    /// Median and 99th percentile of the lateness; `None` if it could not be measured.
    fn spreads(&self) -> Option<[Spread; 2]> {
        let of = |ns: fn(&Lateness) -> u64| Spread::of(self.rounds.iter().map(|round| ns(round) as f64));
        Some([of(|round| round.p50_ns)?, of(|round| round.p99_ns)?]).filter(|_| self.failed.is_none())
    }

    /// Actual spin time.
    fn spun(&self) -> Nanos {
        self.rounds.first().map_or(Nanos(0), |round| round.spin)
    }

    fn requests(&self) -> u64 {
        self.rounds.iter().map(|round| round.requests).sum()
    }

    fn what(&self) -> String {
        match (self.spin, self.spun()) {
            (Some(_), _) => "asleep until due".into(),
            (None, Nanos(0)) => "as runs wait here: no spinning, too few CPUs".into(),
            (None, spin) => format!("as runs wait here: the last {spin} spinning"),
        }
    }

    fn line(&self) -> String {
        let what = self.what();
        let Some([p50, p99]) = self.spreads() else {
            return format!(
                "timer    {what}: not measured: {}\n",
                self.failed.as_deref().unwrap_or_default()
            );
        };
        format!(
            "timer    {what}: p50 {} late ({}), p99 {} ({}), {} requests\n",
            time(p50.median),
            range(p50, time),
            time(p99.median),
            range(p99, time),
            grouped(self.requests())
        )
    }

    fn json(&self) -> Value {
        let Some([p50, p99]) = self.spreads() else {
            return json!({ "default": self.spin.is_none(), "failed": self.failed });
        };
        json!({
            "default": self.spin.is_none(),
            "spin_ns": self.spun().0,
            "requests": self.requests(),
            "late_p50_ns": p50.json(),
            "late_p99_ns": p99.json(),
        })
    }
}

fn whole(value: f64) -> String {
    grouped(value.round() as u64)
}

fn time(ns: f64) -> String {
    duration(ns.round() as u64, Charset::Ascii)
}

/// From the least to the greatest round.
fn range(spread: Spread, text: impl Fn(f64) -> String) -> String {
    format!("{} - {}", text(spread.least), text(spread.greatest))
}

fn known<T: ToString>(fact: &Fact<T>) -> String {
    fact.known().map_or_else(|| "unknown".into(), ToString::to_string)
}

impl Report {
    /// Whether nothing failed.
    pub fn is_whole(&self) -> bool {
        let failed =
            self.engines.iter().map(|row| &row.failed).chain(self.timers.iter().map(|row| &row.failed));
        failed.flatten().next().is_none()
    }

    /// Formats the report for people.
    pub fn text(&self) -> String {
        let mut text = self.machine();
        let clock = &self.clock;
        let _ = writeln!(
            text,
            "clock    {}: {} ns a reading, least step {} (clock_gettime: {} ns)",
            clock.source,
            number(clock.cost_ps as f64 / 1e3),
            clock.step_ns.map_or_else(|| "unknown".into(), |step| format!("{step} ns")),
            number(clock.system_cost_ps as f64 / 1e3)
        );
        self.timers.iter().for_each(|row| text += &row.line());
        for (size, rate) in self.copies.rows() {
            let range = range(rate, byte_rate);
            let _ =
                writeln!(text, "memory   copies of {}: {} ({range})", bytes(size), byte_rate(rate.median));
        }
        let _ = writeln!(
            text,
            "\n  {:<9} {:>5} {:>11} {:>19} {:>9} {:>13} {:>12}",
            "engine", "depth", "ns/request", "least - greatest", "CPU ns", "at most/s", "requests"
        );
        self.engines.iter().for_each(|row| text += &row.line());
        let _ = writeln!(
            text,
            "Random reads of 4 KiB by one issuing thread, of a cached file in {}; null: no I/O. Medians of {} rounds of {} each.\n\
             At most: requests per second in the fastest round. A result above half of that is partly one of this program.",
            shown(&self.dir),
            self.rounds,
            self.length
        );
        text
    }

    fn machine(&self) -> String {
        let machine = &self.environment;
        let load = machine.load_average.known().map(|load| load[0]);
        let mut text = format!(
            "machine  {}, {} CPUs, Linux {}, clock source {}, load average {}\n",
            known(&machine.cpu.model),
            known(&machine.cpu.count),
            known(&machine.kernel.release),
            known(&machine.clock.source),
            load.map_or_else(|| "unknown".into(), |load| format!("{load:.2}")),
        );
        if cfg!(debug_assertions) {
            text += "caution  this is a development build, with checks that a release build does without\n";
        }
        // Own threads need one CPU, and the remaining CPUs serve the kernel.
        if load.zip(machine.cpu.count.known()).is_some_and(|(load, count)| load > *count as f64) {
            text += "caution  other programs use the CPUs: repeat it on an idle machine\n";
        }
        text
    }

    /// Formats the report for programs.
    pub fn json(&self) -> Value {
        let machine = &self.environment;
        let copies = self.copies.rows();
        let copies = copies.map(|(size, rate)| json!({ "bytes": size, "bytes_per_second": rate.json() }));
        json!({
            "version": 1,
            "tool": TOOL,
            "is_release_build": !cfg!(debug_assertions),
            "machine": {
                "cpu": machine.cpu.model,
                "cpus": machine.cpu.count,
                "governors": machine.cpu.governors,
                "kernel": machine.kernel.release,
                "clock_source": machine.clock.source,
                "load_average": machine.load_average,
            },
            "rounds": self.rounds,
            "round_ns": self.length.0,
            "dir": self.dir.display().to_string(),
            "clock": {
                "source": self.clock.source,
                "cost_ps": self.clock.cost_ps,
                "clock_gettime_cost_ps": self.clock.system_cost_ps,
                "least_step_ns": self.clock.step_ns,
                "readings": self.clock.readings,
            },
            "timers": self.timers.iter().map(TimerRow::json).collect::<Vec<_>>(),
            "copies": copies.collect::<Vec<_>>(),
            "engines": self.engines.iter().map(EngineRow::json).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_that_failed_has_no_figures() {
        let mut row = EngineRow::new(Engine::Aio, 32);
        row.add(Ok(Speed { requests: 10, ns: 100.0, cpu_ns: 90.0 }));
        row.add(Ok(Speed { requests: 30, ns: 300.0, cpu_ns: 80.0 }));
        let json = row.json();
        assert_eq!((&json["requests"], &json["ns_per_request"]["median"]), (&40.into(), &200.0.into()));
        assert_eq!(json["most_requests_per_second"], 1e7);
        assert!(row.line().contains(" 100 - 300 "), "{}", row.line());
        row.add(Err(anyhow::anyhow!("no such call").context("aio")));
        assert_eq!(row.json(), json!({ "engine": "aio", "depth": 32, "failed": "aio: no such call" }));
        assert!(row.line().ends_with("not measured: aio: no such call\n"));
    }

    #[test]
    fn a_timer_says_how_it_waited() {
        let lateness = |spin| Lateness { requests: 5, spin: Nanos(spin), p50_ns: 1_000, p99_ns: 2_000 };
        let mut asleep = TimerRow::new(Some(Nanos(0)));
        asleep.add(Ok(lateness(0)));
        assert!(
            asleep.line().starts_with("timer    asleep until due: p50 1.00 us late"),
            "{}",
            asleep.line()
        );
        let mut default = TimerRow::new(None);
        default.add(Ok(lateness(100_000)));
        assert!(default.line().contains("the last 100us spinning"), "{}", default.line());
        assert_eq!(default.json()["late_p99_ns"]["max"], 2_000.0);
    }
}
