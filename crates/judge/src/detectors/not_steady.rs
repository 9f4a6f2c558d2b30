//! Runs whose level changed.

use crate::detector::Most;
use crate::thresholds::{LEAST_REQUESTS, PARTS};
use crate::words::percent;
use crate::{Case, Detector, Finding};
use iosonar_analyze::findings::{
    SNIA_WINDOW, SniaWindow, SplitResult, SplitTest, SteadyQuantity, snia_window, split_levels,
};
use iosonar_analyze::{Channel, DetectorId, During, Level, LevelsOverTime};

pub(super) const DETECTOR: Detector = Detector {
    id: DetectorId::NotSteady,
    channel: Channel::Latency,
    // A recorded load has no constant level.
    most: Most { filesystem: Level::Caution, replay: Level::Info, ..Most::always(Level::Fail) },
    explains: &[],
    about: "A cache that warms up, a drive that runs out of free blocks, or memory that fills with dirty pages gives two levels; their mean is \
            neither. Twenty equal parts of the measured time are compared before and behind each possible change.",
    is_witness: false,
    says: None,
    predict: None,
    detect,
};

const SOURCE: &str = "completed requests, bytes and latency in 20 equal parts of the time (split test)";

fn detect(case: &Case<'_>) -> Option<Finding> {
    let levels = levels(case)?;
    // Parts without a request have no latency.
    let latency: Vec<f64> = levels.latency.iter().copied().filter(|ns| *ns > 0.0).collect();
    let mut tests = Vec::new();
    if latency.len() * 2 > PARTS {
        tests.push(split_levels(SteadyQuantity::Latency, &latency));
    }
    if !case.plan.has_timetable() {
        tests.push(split_levels(SteadyQuantity::Requests, &levels.requests));
        tests.push(split_levels(SteadyQuantity::Bytes, &levels.bytes));
    }
    let worst = tests
        .into_iter()
        .max_by(|a, b| (a.result, a.t).partial_cmp(&(b.result, b.t)).unwrap_or(std::cmp::Ordering::Equal))?;
    // The rule follows one figure: the rate, or the latency if the load sets the rate.
    let snia = match case.plan.has_timetable() {
        true => snia_window(SteadyQuantity::Latency, &latency),
        false => snia_window(SteadyQuantity::Requests, &levels.requests),
    };
    Some(with_snia(of_split(&worst, levels.during), snia))
}

fn of_split(worst: &SplitTest, whole: During) -> Finding {
    let level = match worst.result {
        SplitResult::Steady => return Finding::ok("The level stayed the same.", SOURCE).with("t", worst.t),
        SplitResult::Changed => Level::Caution,
        SplitResult::ChangedMuch => Level::Fail,
    };
    let ratio = worst.level_ratio.unwrap_or(f64::INFINITY);
    Finding::at(level, sentence(worst), SOURCE)
        .remedy("Run longer, and give both levels; --ramp-time of 'iosonar run' leaves the beginning out.")
        .with("t", worst.t)
        .with("factor", worst.behind / worst.before)
        .effect(ratio)
        .during(Some(around(worst, whole)))
}

/// The time around a change: two parts before it and two after.
fn around(test: &SplitTest, whole: During) -> During {
    let part = |number: u64| whole.from_ns + (whole.to_ns - whole.from_ns) * number / test.bins as u64;
    During {
        from_ns: part(test.at_ns.saturating_sub(2)),
        to_ns: part((test.at_ns + 2).min(test.bins as u64)),
    }
}

/// Adds the result of the SNIA's steady-state rule, which decides nothing: it accepts windows of runs that lose half of their speed,
/// and rejects windows of runs that only vary.
fn with_snia(seen: Finding, snia: Option<SniaWindow>) -> Finding {
    let Some(snia) = snia else { return seen };
    let met = if snia.is_steady_at_end { "met" } else { "not met" };
    let (range, slope) = (percent(snia.range_over_mean), percent(snia.slope_over_mean));
    let text = format!(
        "SNIA's rule, for information: {met} in the last {SNIA_WINDOW} of {PARTS} parts (range {range}, slope {slope})."
    );
    seen.adding(&text).with("snia_range", snia.range_over_mean).with("snia_slope", snia.slope_over_mean)
}

fn sentence(test: &SplitTest) -> String {
    let what = match test.quantity {
        SteadyQuantity::Requests => "Requests per second",
        SteadyQuantity::Bytes => "Bytes per second",
        SteadyQuantity::Latency => "The latency",
    };
    let change = test.behind / test.before;
    let share = test.at_ns as f64 / PARTS as f64 * 100.0;
    format!("{what} changed by a factor of {change:.2} after {share:.0} % of the time.")
}

/// The levels of a run with enough requests.
pub(super) fn levels(case: &Case<'_>) -> Option<LevelsOverTime> {
    let phases = &case.plan.phases;
    // Several phases or passes have different levels.
    let is_one = phases.len() == 1 && phases[0].passes == 1;
    if case.summary.counts.all.completed < LEAST_REQUESTS || !is_one {
        return None;
    }
    case.tally.traffic().levels(PARTS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;
    use iosonar_analyze::Detection;

    #[test]
    fn reports_changed_level() {
        let lab = Lab::new().latency_ns(100_000).reads(6_000, 4096).latency_ns(250_000).reads(6_000, 4096);
        let seen = lab.detection(&DETECTOR).unwrap();
        assert_eq!(seen.level, Level::Fail);
        assert!(seen.text.contains("changed by a factor of"), "{}", seen.text);
        let during = seen.during.unwrap();
        assert!(during.from_ns < 600_000_000 && during.to_ns > 600_000_000, "{during:?}");
    }

    #[test]
    fn snia_rule_is_reported_but_not_decisive() {
        let evidence = |seen: &Detection, name: &str| {
            seen.evidence.iter().find(|one| one.name == name).expect("it is there").value
        };
        // Steady after a fall: the rule accepts the last parts.
        let lab = Lab::new().latency_ns(100_000).reads(9_000, 4096).latency_ns(250_000).reads(6_000, 4096);
        let fallen = lab.detection(&DETECTOR).unwrap();
        assert_eq!(fallen.level, Level::Fail);
        assert!(
            fallen.text.contains("information: met in the last 5 of 20 parts (range 0."),
            "{}",
            fallen.text
        );
        // It leaves the steady state at the end.
        let lab = Lab::new().latency_ns(100_000).reads(9_000, 4096).latency_ns(250_000).reads(500, 4096);
        let left = lab.detection(&DETECTOR).unwrap();
        assert!(
            left.level >= Level::Caution && left.text.contains("SNIA's rule, for information: not met"),
            "{}",
            left.text
        );
        assert!(evidence(&left, "snia_range") > 0.2 && evidence(&left, "snia_slope") > 0.1, "{left:?}");
    }

    #[test]
    fn accepts_steady_level_and_skips_small_samples() {
        assert_eq!(
            Lab::new().latency_ns(100_000).reads(12_000, 4096).detection(&DETECTOR).unwrap().level,
            Level::Ok
        );
        assert_eq!(Lab::new().latency_ns(100_000).reads(500, 4096).detection(&DETECTOR), None);
    }
}
