//! Limits of this machine that were measured instead of the device.

use crate::detector::Most;
use crate::thresholds::NEAR_LIMIT;
use crate::words::size;
use crate::{Case, Detector, Finding, PlannedRun};
use iosonar_analyze::{Channel, DetectorId, Level};
use iosonar_evidence::{Environment, TargetFacts};

pub(crate) const DETECTOR: Detector = Detector {
    id: DetectorId::OwnLimit,
    channel: Channel::Environment,
    most: Most { cache: Level::Info, ..Most::always(Level::Fail) },
    explains: &[DetectorId::CannotKeepUp, DetectorId::NotSteady, DetectorId::Noisy],
    about: "A control group can limit bytes and requests per second on a device. A result at that limit is the limit.",
    is_witness: true,
    says: None,
    predict: Some(predict),
    detect,
};

const SOURCE: &str = "io.max and blkio.throttle of the control groups, before the run";

/// Limits on bytes and requests per second of one device.
#[derive(Debug, Clone, Copy, PartialEq)]
struct IoLimit {
    rate: f64,
    is_bytes: bool,
    is_read: bool,
}

/// The lowest limits are those that a run hits.
fn predict(planned: &PlannedRun<'_>) -> Option<Finding> {
    let limits = limits(planned.before);
    let lowest = |is_bytes| {
        let of_kind = limits.iter().filter(move |limit| limit.is_bytes == is_bytes);
        of_kind.min_by(|a, b| a.rate.total_cmp(&b.rate))
    };
    let texts: Vec<String> = [lowest(true), lowest(false)].into_iter().flatten().map(IoLimit::text).collect();
    (!texts.is_empty()).then(|| {
        Finding::info(format!("A control group limits this device to {}.", texts.join(" and ")), SOURCE)
            .remedy(REMEDY)
    })
}

/// Limits of all control groups above this process on the devices of the targets.
fn limits(before: &Environment) -> Vec<IoLimit> {
    let devices =
        || before.targets.iter().flat_map(TargetFacts::devices).map(|device| device.number.to_string());
    before
        .cgroups
        .limits
        .iter()
        .flat_map(|limit| limit.value.lines().map(move |line| (limit.file.as_str(), line)))
        .filter_map(|(file, line)| {
            let (device, rest) = line.split_once(' ')?;
            devices().any(|known| known == device).then(|| limits_of(file, rest))
        })
        .flatten()
        .collect()
}

const REMEDY: &str = "Lift the limit (io.max), or run outside of the control group.";

impl IoLimit {
    fn text(&self) -> String {
        match self.is_bytes {
            true => format!("{} per second", size(self.rate)),
            false => format!("{:.0} requests per second", self.rate),
        }
    }
}

fn detect(case: &Case<'_>) -> Option<Finding> {
    let limits = limits(case.before);
    if !case.is_real() || case.is_remote() {
        return None;
    }
    let Some(nearest) = limits
        .iter()
        .map(|limit| (measured(case, *limit) / limit.rate, *limit))
        .min_by(|a, b| (a.0 - 1.0).abs().total_cmp(&(b.0 - 1.0).abs()))
    else {
        return Some(Finding::ok("No control group limits this device.", SOURCE));
    };
    let (share, limit) = nearest;
    let what = limit.text();
    let seen = if (share - 1.0).abs() < NEAR_LIMIT {
        Finding::at(
            Level::Fail,
            format!("A control group limits this device to {what}, and that was measured."),
            SOURCE,
        )
        .remedy(REMEDY)
        .proof()
    } else {
        Finding::info(
            format!("A control group limits this device to {what}; the result is not near it."),
            SOURCE,
        )
    };
    Some(seen.with("limit_per_second", limit.rate).with("share", share))
}

/// Limits of a line, without its device: in version 1 a number, in version 2 words such as `rbps=1048576`.
fn limits_of(file: &str, rest: &str) -> Vec<IoLimit> {
    if file == "io.max" {
        let words = rest.split_whitespace().filter_map(|word| word.split_once('='));
        return words
            .filter_map(|(name, value)| {
                Some(IoLimit {
                    rate: value.parse().ok()?,
                    is_bytes: name.ends_with("bps"),
                    is_read: name.starts_with('r'),
                })
            })
            .collect();
    }
    let (is_bytes, is_read) = (file.contains("_bps_"), file.contains("read_"));
    let rate = rest.trim().parse().ok().filter(|_| file.starts_with("blkio.throttle."));
    rate.map(|rate| IoLimit { rate, is_bytes, is_read }).into_iter().collect()
}

fn measured(case: &Case<'_>, limit: IoLimit) -> f64 {
    let seconds = case.summary.span.duration_ns().map_or(f64::INFINITY, |ns| ns as f64 / 1e9);
    let counts = if limit.is_read { &case.summary.counts.read } else { &case.summary.counts.write };
    let amount = if limit.is_bytes { counts.transferred_bytes } else { counts.completed };
    amount as f64 / seconds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    #[test]
    fn reports_result_at_io_limit() {
        for (file, value) in
            [("io.max", "254:0 rbps=4096000 wbps=max"), ("blkio.throttle.read_bps_device", "254:0 4096000")]
        {
            let lab = Lab::new().latency_ns(1_000_000).reads(1_000, 4096).on_disk("vda").limit(file, value);
            let seen = lab.detection(&DETECTOR).unwrap();
            assert_eq!(seen.level, Level::Fail, "{file}: {}", seen.text);
        }
    }

    #[test]
    fn accepts_result_far_from_limit_or_limit_of_other_device() {
        let lab = || Lab::new().latency_ns(1_000_000).reads(1_000, 4096).on_disk("vda");
        assert_eq!(
            lab().limit("io.max", "254:0 riops=90000").detection(&DETECTOR).unwrap().level,
            Level::Info
        );
        assert_eq!(lab().limit("io.max", "8:0 rbps=4096000").detection(&DETECTOR).unwrap().level, Level::Ok);
    }
}
