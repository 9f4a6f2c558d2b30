//! A generator that had to wait for a CPU.

use crate::detector::Most;
use crate::thresholds::{CPU_WAIT, LEAST_CPU_NS, LEAST_PERIODS, LEAST_TICKS, STOLEN, THROTTLED};
use crate::words::percent;
use crate::{Case, Detector, Seen};
use iosonar_analyze::{Channel, DetectorId, Level};
use iosonar_evidence::{CpuState, Environment, IssuingThreads, Series, Throttling};

pub(super) const DETECTOR: Detector = Detector {
    id: DetectorId::CpuDisturbed,
    channel: Channel::Environment,
    most: Most::always(Level::Fail),
    explains: &[DetectorId::CannotKeepUp, DetectorId::NotSteady, DetectorId::Noisy, DetectorId::StallsHidden],
    about: "A generator without a CPU submits late and sees completions late. A CPU limit of its control group, a hypervisor that gives the CPU to \
            others, and other programs do that to it; the times are then theirs and not the device's.",
    detect,
};

const SOURCE: &str = "/proc/stat, /proc/thread-self/schedstat of the issuing threads, cpu.stat of the control group, thermal_throttle";

fn detect(case: &Case<'_>) -> Option<Seen> {
    let grown = |series: Series| case.samples.growth(&series);
    let share = |part: Option<f64>, whole: Option<f64>| Some(part? / whole.filter(|whole| *whole > 0.0)?);
    let all: Option<f64> = CpuState::ALL.iter().map(|state| grown(Series::Cpu(*state))).sum();
    // A single tick or period of a short run says nothing.
    let ticks = all.filter(|all| *all >= LEAST_TICKS);
    let stolen = share(grown(Series::Cpu(CpuState::Steal)), ticks).unwrap_or(0.0);
    let throttled = share(
        grown(Series::Cgroup(Throttling::Throttled)),
        grown(Series::Cgroup(Throttling::Periods)).filter(|periods| *periods >= LEAST_PERIODS),
    )
    .unwrap_or(0.0);
    let cpu = grown(Series::Issuing(IssuingThreads::Cpu)).filter(|ns| *ns > LEAST_CPU_NS);
    let waited = share(grown(Series::Issuing(IssuingThreads::Wait)), cpu).unwrap_or(0.0);
    if !case.is_real() {
        return None;
    }
    let issuing = grown(Series::Issuing(IssuingThreads::Cpu)).filter(|ns| *ns > 0.0);
    if all.is_none() || issuing.is_none() {
        return Some(Seen::unknown("CPU times were not sampled over the whole run.", SOURCE));
    }
    let slowed = slowed(case).unwrap_or(0);
    let worst = [
        (
            THROTTLED.level(throttled),
            format!("Its control group used up its CPU limit in {} of the periods.", percent(throttled)),
            "Lift the limit (cpu.max).",
            Some(Series::Cgroup(Throttling::Throttled)),
        ),
        (
            STOLEN.level(stolen),
            format!("The hypervisor gave {} of the CPU time to others.", percent(stolen)),
            "Run when the host is idle, or give the machine CPUs of its own.",
            Some(Series::Cpu(CpuState::Steal)),
        ),
        (
            CPU_WAIT.level(waited),
            format!("The issuing threads waited for a CPU for {waited:.2} times the time that they had one."),
            "Stop other programs, or pin the threads to CPUs of their own (--pin).",
            Some(Series::Issuing(IssuingThreads::Wait)),
        ),
        (
            if slowed > 0 { Level::Caution } else { Level::Ok },
            format!("CPUs slowed themselves down because of heat, {slowed} times."),
            "Cool the machine, and let it rest before a run.",
            None,
        ),
    ];
    let (level, text, remedy, series) = worst.into_iter().rev().max_by_key(|(level, ..)| *level)?;
    let seen = match level {
        Level::Ok => Seen::ok("The generator had its CPUs.", SOURCE),
        level => Seen::at(level, text, SOURCE)
            .remedy(remedy)
            .during(series.and_then(|series| case.samples.steepest(&series))),
    };
    Some(seen.with("throttled_share", throttled).with("stolen_share", stolen).with("wait_over_cpu", waited))
}

/// How often CPUs became too hot during the run; none where nobody counts that.
fn slowed(case: &Case<'_>) -> Option<u64> {
    let count = |environment: &Environment| environment.cpu.thermal_throttles.known().copied();
    Some(count(case.after?)?.saturating_sub(count(case.before)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    #[test]
    fn limits_theft_and_waiting_are_told() {
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
    }

    #[test]
    fn a_calm_machine_is_fine() {
        let lab = Lab::new().reads(1_000, 4096).cpu(999.0, 1.0).throttled(1_000, 2).issuing(1e9, 0.04e9);
        assert_eq!(lab.detection(&DETECTOR).unwrap().level, Level::Ok);
    }
}
