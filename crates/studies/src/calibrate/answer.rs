//! The cost of the program, engine by engine, with the machine that it was measured on.

use super::round::{self, BLOCK, Speed};
use iosonar_analyze::Rounds;
use iosonar_archive::TOOL;
use iosonar_evidence::{Environment, Fact};
use iosonar_plan::{Engine, Nanos};
use iosonar_runner::Error;
use serde::Serialize;
use serde_json::{Value, json};

/// All measurements.
#[derive(Debug, Clone, Serialize)]
pub struct Answer {
    version: u32,
    tool: &'static str,
    /// Whether the program was built without checks for its development.
    pub is_release_build: bool,
    /// The machine.
    pub machine: Machine,
    /// As asked.
    pub rounds: u32,
    /// As asked: length of a round.
    pub round_ns: u64,
    /// Directory of the file.
    pub dir: String,
    /// The clock of runs.
    pub clock: ClockFacts,
    /// Ways to wait for a due time.
    pub timers: Vec<TimerRow>,
    /// Memory copies.
    pub copies: Vec<CopyRate>,
    /// Engines with their queue depth.
    pub engines: Vec<EngineRow>,
}

/// Facts that decide what the program costs.
#[derive(Debug, Clone, Serialize)]
pub struct Machine {
    /// Model of the processor.
    pub cpu: Fact<String>,
    /// Number of processors.
    pub cpus: Fact<u64>,
    /// Frequency governors in use.
    pub governors: Fact<Vec<String>>,
    /// Release of the kernel.
    pub kernel: Fact<String>,
    /// The kernel's clock source.
    pub clock_source: Fact<String>,
    /// Load averages over 1, 5 and 15 minutes.
    pub load_average: Fact<[f64; 3]>,
}

/// The clock of runs.
#[derive(Debug, Clone, Serialize)]
pub struct ClockFacts {
    /// Its source.
    pub source: &'static str,
    /// Cost of one reading, in picoseconds.
    pub cost_ps: u64,
    /// Cost of one reading of the kernel's clock.
    #[serde(rename = "clock_gettime_cost_ps")]
    pub system_cost_ps: u64,
    /// Clock resolution: smallest non-zero difference.
    #[serde(rename = "least_step_ns")]
    pub step_ns: Option<u64>,
    /// Number of readings.
    pub readings: u32,
}

/// Rate of copies of one size.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct CopyRate {
    /// Bytes of a copy.
    pub bytes: u64,
    /// Bytes per second.
    pub bytes_per_second: Rounds,
}

/// The measurements.
pub(super) struct Rows {
    pub engines: Vec<EngineRow>,
    pub timers: Vec<TimerRow>,
    pub copies: Vec<CopyRate>,
}

/// Figures, or the reason for their absence.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Measured<T> {
    /// The figures.
    Known(T),
    /// It could not be measured.
    Failed {
        /// Why; `None` without rounds.
        failed: Option<String>,
    },
}

/// An engine with a queue depth.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EngineRow {
    /// Name of the engine.
    pub engine: &'static str,
    /// Requests in flight.
    pub depth: u32,
    /// Cost of a request.
    #[serde(flatten)]
    pub cost: Measured<EngineCost>,
}

/// Cost of a request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EngineCost {
    /// Bytes of a request.
    pub block_bytes: u64,
    /// Requests of all rounds.
    pub requests: u64,
    /// Clock time of each request.
    pub ns_per_request: Rounds,
    /// CPU time of the issuing thread for each request.
    pub cpu_ns_per_request: Rounds,
    /// Requests per second of the fastest round.
    pub most_requests_per_second: f64,
}

/// A way to wait for a due time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimerRow {
    /// Whether runs wait so here by default; otherwise the thread sleeps until a request is due.
    pub default: bool,
    /// How late requests were.
    #[serde(flatten)]
    pub lateness: Measured<Lateness>,
}

/// Lateness of requests at fixed times.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Lateness {
    /// How long the issuing thread spun before a due time.
    pub spin_ns: u64,
    /// Requests of all rounds.
    pub requests: u64,
    /// Medians.
    pub late_p50_ns: Rounds,
    /// 99th percentiles.
    pub late_p99_ns: Rounds,
}

impl<T> Measured<T> {
    /// Computes figures of rounds, unless the last failure says why not.
    fn of<R>(rounds: Vec<Result<R, Error>>, figures: impl FnOnce(&[R]) -> Option<T>) -> Measured<T> {
        let (mut measured, mut failed) = (Vec::new(), None);
        for round in rounds {
            match round {
                Ok(round) => measured.push(round),
                Err(why) => failed = Some(format!("{why:#}")),
            }
        }
        match figures(&measured).filter(|_| failed.is_none()) {
            Some(figures) => Measured::Known(figures),
            None => Measured::Failed { failed },
        }
    }

    /// The figures, or the reason for their absence.
    pub fn known(&self) -> Result<&T, &str> {
        match self {
            Measured::Known(figures) => Ok(figures),
            Measured::Failed { failed } => Err(failed.as_deref().unwrap_or_default()),
        }
    }

    fn has_failed(&self) -> bool {
        matches!(self, Measured::Failed { failed: Some(_) })
    }
}

impl EngineRow {
    pub(super) fn of(engine: Engine, depth: u32, rounds: Vec<Result<Speed, Error>>) -> EngineRow {
        let cost = Measured::of(rounds, |rounds| {
            let of = |ns: fn(&Speed) -> f64| Rounds::of(rounds.iter().map(ns));
            let clock = of(|round| round.ns)?;
            Some(EngineCost {
                block_bytes: BLOCK.0,
                requests: rounds.iter().map(|round| round.requests).sum(),
                ns_per_request: clock,
                cpu_ns_per_request: of(|round| round.cpu_ns)?,
                most_requests_per_second: 1e9 / clock.least,
            })
        });
        EngineRow { engine: engine.name(), depth, cost }
    }
}

impl TimerRow {
    pub(super) fn of(spin: Option<Nanos>, rounds: Vec<Result<round::Lateness, Error>>) -> TimerRow {
        let lateness = Measured::of(rounds, |rounds| {
            let of =
                |ns: fn(&round::Lateness) -> u64| Rounds::of(rounds.iter().map(|round| ns(round) as f64));
            Some(Lateness {
                spin_ns: rounds.first()?.spin.0,
                requests: rounds.iter().map(|round| round.requests).sum(),
                late_p50_ns: of(|round| round.p50_ns)?,
                late_p99_ns: of(|round| round.p99_ns)?,
            })
        });
        TimerRow { default: spin.is_none(), lateness }
    }
}

impl Machine {
    pub(super) fn of(environment: Environment) -> Machine {
        Machine {
            cpu: environment.cpu.model,
            cpus: environment.cpu.count,
            governors: environment.cpu.governors,
            kernel: environment.kernel.release,
            clock_source: environment.clock.source,
            load_average: environment.load_average,
        }
    }

    /// The machine in words.
    pub fn words(&self) -> String {
        fn known<T: ToString>(fact: &Fact<T>) -> String {
            fact.known().map_or_else(|| "unknown".into(), ToString::to_string)
        }
        let load = self.load_average.known().map(|load| load[0]);
        format!(
            "{}, {} CPUs, Linux {}, clock source {}, load average {}",
            known(&self.cpu),
            known(&self.cpus),
            known(&self.kernel),
            known(&self.clock_source),
            load.map_or_else(|| "unknown".into(), |load| format!("{load:.2}")),
        )
    }

    /// Whether other programs use the CPUs. The program's threads need one CPU, and the remaining CPUs serve the kernel.
    pub fn is_busy(&self) -> bool {
        let load = self.load_average.known().map(|load| load[0]);
        load.zip(self.cpus.known()).is_some_and(|(load, count)| load > *count as f64)
    }
}

impl Answer {
    pub(super) fn of(
        environment: Environment,
        question: &super::Question,
        dir: String,
        clock: ClockFacts,
        rows: Rows,
    ) -> Answer {
        let Rows { engines, timers, copies } = rows;
        Answer {
            version: 1,
            tool: TOOL,
            is_release_build: !cfg!(debug_assertions),
            machine: Machine::of(environment),
            rounds: question.rounds,
            round_ns: question.length.0,
            dir,
            clock,
            timers,
            copies,
            engines,
        }
    }

    /// Whether nothing failed.
    pub fn is_whole(&self) -> bool {
        !self.engines.iter().any(|row| row.cost.has_failed())
            && !self.timers.iter().any(|row| row.lateness.has_failed())
    }

    /// The answer as JSON.
    pub fn to_json(&self) -> Value {
        json!(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_engine_has_no_figures() {
        let rounds = || {
            vec![
                Ok(Speed { requests: 10, ns: 100.0, cpu_ns: 90.0 }),
                Ok(Speed { requests: 30, ns: 300.0, cpu_ns: 80.0 }),
            ]
        };
        let json = json!(EngineRow::of(Engine::Aio, 32, rounds()));
        assert_eq!((&json["requests"], &json["ns_per_request"]["median"]), (&40.into(), &200.0.into()));
        assert_eq!(json["most_requests_per_second"], 1e7);
        let mut failed = rounds();
        failed.push(Err(Error::broke_because("no such call").context("aio")));
        let row = EngineRow::of(Engine::Aio, 32, failed);
        assert_eq!(json!(row), json!({ "engine": "aio", "depth": 32, "failed": "aio: no such call" }));
        assert!(row.cost.has_failed() && row.cost.known() == Err("aio: no such call"));
    }

    #[test]
    fn timer_result_keeps_spin_time() {
        let lateness = round::Lateness { requests: 5, spin: Nanos(100_000), p50_ns: 1_000, p99_ns: 2_000 };
        let row = TimerRow::of(None, vec![Ok(lateness), Ok(lateness)]);
        let json = json!(row);
        assert_eq!((&json["default"], &json["spin_ns"]), (&true.into(), &100_000.into()));
        assert_eq!((&json["requests"], &json["late_p99_ns"]["max"]), (&10.into(), &2_000.0.into()));
        assert!(!json!(TimerRow::of(Some(Nanos(0)), Vec::new()))["default"].as_bool().unwrap());
    }
}
