//! A generator that had to wait for a CPU.

use crate::detector::Most;
use crate::thresholds::{
    CPU_WAIT, HALTED, LEAST_CPU_NS, LEAST_EFFECT, LEAST_HALT_NS, LEAST_PERIODS, LEAST_TICKS, LEAST_WAIT,
    STOLEN, THROTTLED,
};
use crate::words::percent;
use crate::{Case, Detector, Finding};
use iosonar_analyze::{Channel, DetectorId, Level};
use iosonar_evidence::{CpuState, Environment, IssuingThreads, OwnUse, Series, Throttling};

pub(super) const DETECTOR: Detector = Detector {
    id: DetectorId::CpuDisturbed,
    channel: Channel::Environment,
    most: Most::always(Level::Fail),
    explains: &[DetectorId::CannotKeepUp, DetectorId::NotSteady, DetectorId::Noisy, DetectorId::StallsHidden],
    about: "A generator without a CPU submits late and sees completions late. A CPU limit of its control group, a hypervisor that gives the CPU to \
            others, and other programs do that to it; the times are then theirs and not the device's.",
    is_witness: false,
    says: None,
    predict: None,
    detect,
};

const SOURCE: &str = "/proc/stat, /proc/thread-self/schedstat of the issuing threads, cpu.stat of the control group, thermal_throttle";

/// Time in which the generator had no CPU, if known.
const LOST_SECONDS: &str = "lost_seconds";

/// Time in which the whole process was halted.
const HALTED_SERIES: Series = Series::Own(OwnUse::Halted);

fn detect(case: &Case<'_>) -> Option<Finding> {
    if !case.is_real() {
        return None;
    }
    let issuing = grown(case, Series::Issuing(IssuingThreads::Cpu)).filter(|ns| *ns > 0.0);
    if ticks(case).is_none() || issuing.is_none() {
        return Some(Finding::unknown("CPU times were not sampled over the whole run.", SOURCE));
    }
    let shares = Shares::of(case);
    let causes = shares.causes();
    // Of causes with the same level, the first.
    let worst = causes.iter().rev().max_by_key(|cause| cause.level)?;
    let seen = match worst.level {
        Level::Ok => Finding::ok("The generator had its CPUs.", SOURCE),
        level => Finding::at(level, joined(worst, &causes, |cause| &cause.text), SOURCE)
            .remedy(joined(worst, &causes, |cause| cause.remedy))
            .during(worst.series.as_ref().and_then(|series| case.samples.steepest(series))),
    };
    let seen = match worst.lost.filter(|_| worst.level > Level::Ok) {
        Some((ns, Some(share))) => seen.with(LOST_SECONDS, ns / 1e9).effect(1.0 + share),
        Some((ns, None)) => seen.with(LOST_SECONDS, ns / 1e9),
        None => seen,
    };
    let seen = seen.with("throttled_share", shares.throttled).with("stolen_share", shares.stolen);
    Some(seen.with("wait_over_cpu", shares.waited).with("halted_share", shares.halted))
}

/// The text of the worst cause and of each other reported one.
fn joined(worst: &Cause, causes: &[Cause], text: impl Fn(&Cause) -> &str) -> String {
    let others = causes.iter().filter(|cause| cause.level >= Level::Caution && cause.text != worst.text);
    let texts: Vec<&str> = [worst].into_iter().chain(others).map(text).collect();
    texts.join(" ")
}

fn grown(case: &Case<'_>, series: Series) -> Option<f64> {
    case.samples.growth(&series)
}

/// Ticks of all CPUs.
fn ticks(case: &Case<'_>) -> Option<f64> {
    CpuState::ALL.iter().map(|state| grown(case, Series::Cpu(*state))).sum()
}

/// Measures of the generator's lack of CPU.
struct Shares {
    /// Share of the periods of a CPU limit.
    throttled: f64,
    /// Share of the CPU time.
    stolen: f64,
    /// Time waiting for a CPU, of all issuing threads.
    wait_ns: f64,
    /// That time relative to the time with a CPU.
    waited: f64,
    /// That time relative to the time of the run.
    waited_of_time: f64,
    has_timetable: bool,
    halted_ns: f64,
    /// Share of the time.
    halted: f64,
    /// Number of thermal throttling events.
    slowed: u64,
}

/// A disturbance, and its time.
struct Cause {
    level: Level,
    text: String,
    remedy: &'static str,
    series: Option<Series>,
    /// Nanoseconds without a CPU, if known, and the share of the time, if that is the only cost: a halt makes the level vary, and
    /// would be reported as info beside that.
    lost: Option<(f64, Option<f64>)>,
}

impl Shares {
    fn of(case: &Case<'_>) -> Shares {
        let share = |part: Series, whole: Option<f64>| {
            let whole = whole.filter(|whole| *whole > 0.0);
            grown(case, part).zip(whole).map_or(0.0, |(part, whole)| part / whole)
        };
        let periods = grown(case, Series::Cgroup(Throttling::Periods));
        let cpu = grown(case, Series::Issuing(IssuingThreads::Cpu));
        let wait_ns = grown(case, Series::Issuing(IssuingThreads::Wait)).unwrap_or(0.0);
        let waited_of_time = case.time_of_loops().map_or(0.0, |time| wait_ns / time);
        // A thread that waits for a noticeable part of the time gets little CPU time, which is enough to judge by.
        let is_enough = |cpu: &f64| *cpu > LEAST_CPU_NS || (*cpu > 0.0 && waited_of_time > LEAST_EFFECT);
        let halted_ns = halted_ns(case);
        Shares {
            throttled: share(Series::Cgroup(Throttling::Throttled), periods.filter(|n| *n >= LEAST_PERIODS)),
            // A single tick or period of a short run is no evidence.
            stolen: share(Series::Cpu(CpuState::Steal), ticks(case).filter(|all| *all >= LEAST_TICKS)),
            has_timetable: case.plan.has_timetable(),
            wait_ns,
            waited: cpu.filter(is_enough).map_or(0.0, |cpu| wait_ns / cpu),
            waited_of_time,
            halted_ns,
            halted: case.samples.length_ns(&HALTED_SERIES).map_or(0.0, |length| halted_ns / length as f64),
            slowed: slowed(case).unwrap_or(0),
        }
    }

    fn causes(&self) -> [Cause; 5] {
        // A thread that needs a CPU only briefly loses little by waiting for it; requests with a timetable are late nevertheless.
        let most = match self.waited_of_time {
            _ if self.has_timetable => Level::Fail,
            little if little < LEAST_WAIT => Level::Ok,
            some if some < LEAST_EFFECT => Level::Caution,
            _ => Level::Fail,
        };
        [
            Cause {
                level: THROTTLED.level(self.throttled),
                text: format!(
                    "Its control group used up its CPU limit in {} of the periods.",
                    percent(self.throttled)
                ),
                remedy: "Lift the limit (cpu.max).",
                series: Some(Series::Cgroup(Throttling::Throttled)),
                lost: None,
            },
            Cause {
                level: STOLEN.level(self.stolen),
                text: format!("The hypervisor gave {} of the CPU time to others.", percent(self.stolen)),
                remedy: "Run when the host is idle, or give the machine CPUs of its own.",
                series: Some(Series::Cpu(CpuState::Steal)),
                lost: None,
            },
            Cause {
                level: CPU_WAIT.level(self.waited).min(most),
                text: format!(
                    "The issuing threads waited for a CPU for {:.2} times the time that they had one.",
                    self.waited
                ),
                remedy: "Stop other programs, or pin the threads to CPUs of their own (--pin).",
                series: Some(Series::Issuing(IssuingThreads::Wait)),
                lost: Some((self.wait_ns, Some(self.waited_of_time))),
            },
            Cause {
                level: HALTED.level(self.halted),
                text: format!(
                    "The generator stood still for {:.2} s: it was stopped, or nobody gave it a CPU.",
                    self.halted_ns / 1e9
                ),
                remedy: "Do not stop it while it measures, and leave it a CPU.",
                series: Some(HALTED_SERIES),
                lost: Some((self.halted_ns, None)),
            },
            Cause {
                level: if self.slowed > 0 { Level::Caution } else { Level::Ok },
                text: format!("CPUs slowed themselves down because of heat, {} times.", self.slowed),
                remedy: "Cool the machine, and let it rest before a run.",
                series: None,
                lost: None,
            },
        ]
    }
}

/// Time in which the generator was halted. Threads with a higher priority may starve the thread that detects it, and still
/// measure correctly.
fn halted_ns(case: &Case<'_>) -> f64 {
    let halted = grown(case, HALTED_SERIES).filter(|ns| *ns >= LEAST_HALT_NS);
    let pacing = &case.plan.pacing;
    let is_ahead = pacing.realtime.is_some() || pacing.nice.is_some_and(|nice| nice < 0);
    halted.filter(|_| !is_ahead).unwrap_or(0.0)
}

/// How often CPUs became too hot during the run; `None` without such a counter.
fn slowed(case: &Case<'_>) -> Option<u64> {
    let count = |environment: &Environment| environment.cpu.thermal_throttles.known().copied();
    Some(count(case.after?)?.saturating_sub(count(case.before)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    #[test]
    fn reports_cpu_limit_steal_and_waiting() {
        let calm = || Lab::new().reads(1_000, 4096).cpu(1_000.0, 0.0);
        let throttled = calm().throttled(46, 46).detection(&DETECTOR).unwrap();
        assert_eq!(throttled.level, Level::Fail);
        assert!(throttled.text.contains("in 100 % of the periods"), "{}", throttled.text);
        assert_eq!(
            Lab::new().reads(1_000, 4096).cpu(940.0, 60.0).detection(&DETECTOR).unwrap().level,
            Level::Fail
        );
        let waiting = calm().issuing(1e9, 3.34e9).detection(&DETECTOR).unwrap();
        assert!(waiting.text.contains("3.34 times"), "{}", waiting.text);
        assert_eq!((waiting.level, waiting.effect.map(f64::round)), (Level::Fail, Some(34.0)));
        // Of ten seconds it wanted a CPU for a fifth of one.
        let busy = Lab::new().latency_ns(10_000_000).reads(1_000, 4096).cpu(1_000.0, 0.0);
        let little = busy.issuing(0.08e9, 0.12e9).detection(&DETECTOR).unwrap();
        assert_eq!((little.level, little.effect), (Level::Caution, Some(1.012)));
        let slow = Lab::new().latency_ns(100_000_000).reads(1_000, 4096).cpu(1_000.0, 0.0);
        assert_eq!(slow.issuing(0.08e9, 0.12e9).detection(&DETECTOR).unwrap().level, Level::Ok);
        let starved = Lab::new().latency_ns(10_000_000).reads(1_000, 4096).cpu(1_000.0, 0.0);
        let starved = starved.issuing(0.02e9, 4e9).detection(&DETECTOR).unwrap();
        assert!(starved.level == Level::Fail && starved.text.contains("200.00 times"), "{}", starved.text);
        // Ten seconds; a moment of it does not matter.
        let halted =
            |ns: f64| Lab::new().latency_ns(10_000_000).reads(1_000, 4096).cpu(1_000.0, 0.0).halted(ns);
        let stopped = halted(700e6).detection(&DETECTOR).unwrap();
        assert!(stopped.text.starts_with("The generator stood still for 0.70 s"), "{}", stopped.text);
        assert_eq!(halted(200e6).detection(&DETECTOR).unwrap().level, Level::Ok);
    }

    #[test]
    fn accepts_idle_machine() {
        let lab = Lab::new().reads(1_000, 4096).cpu(999.0, 1.0).throttled(1_000, 2).issuing(1e9, 0.04e9);
        assert_eq!(lab.detection(&DETECTOR).unwrap().level, Level::Ok);
    }
}
