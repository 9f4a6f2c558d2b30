//! Fewer requests in flight in the device than requested.

use crate::detector::Most;
use crate::stack::device_of;
use crate::thresholds::{DEPTH_MISSING, LEAST_BUSY_MS, LEAST_DEPTH, LEAST_IN_FLIGHT};
use crate::{Case, Detector, Finding};
use iosonar_analyze::{Channel, DetectorId, Level};
use iosonar_evidence::DeviceCounter;
use iosonar_plan::{Coordination, Generator};

pub(super) const DETECTOR: Detector = Detector {
    id: DetectorId::QueueDepthNotReached,
    channel: Channel::Accounting,
    most: Most { device: Level::Fail, filesystem: Level::Info, cache: Level::Ok, replay: Level::Info },
    explains: &[],
    about: "The generator counts a request as in flight from its submission to its end. Where the submission itself blocks, as through the page \
            cache or where a write makes a file longer, the device has one request at a time whatever the depth. Its own counters tell.",
    is_witness: true,
    says: None,
    predict: None,
    detect,
};

const OWN_SOURCE: &str = "submissions and completions of the records";
const SOURCE: &str = "time_in_queue and io_ticks in the device's stat file";

fn detect(case: &Case<'_>) -> Option<Finding> {
    let [target] = case.before.targets.as_slice() else { return None };
    let jobs: Vec<_> = case.plan.jobs().map(|(_, job)| job).collect();
    let [job] = jobs.as_slice() else { return None };
    let depth = u64::from(job.depth) * u64::from(job.workload.jobs());
    // A timetable decides how many requests are in flight.
    let own = case.summary.in_flight.mean_time_weighted?;
    if !case.is_real() || case.plan.has_timetable() || depth < LEAST_DEPTH {
        return None;
    }
    let is_reached = own >= depth as f64 * 0.9;
    if !is_reached && (is_held_up(case) || case.summary.counts.all.completed < LEAST_IN_FLIGHT.max(8 * depth))
    {
        return None;
    }
    let of_device = device_of(target).and_then(|device| of_device(case, &device.name, depth));
    match of_device {
        Some((Level::Ok, seen)) if !is_reached => of_engine(case, own, depth).or(Some(seen)),
        None if !is_reached => of_engine(case, own, depth),
        seen => seen.map(|(_, seen)| seen),
    }
}

/// Whether anything but the target and the submission decides when the next request is issued.
fn is_held_up(case: &Case<'_>) -> bool {
    let phase = &case.plan.phases[0];
    let pauses = |generator: &Generator| generator.thinktime.is_some();
    phase.coordination != Coordination::default()
        || phase.jobs.iter().any(|job| job.workload.generator().is_some_and(pauses))
        || case.summary.health.held.is_some_and(|held| held.conflict.requests * 10 > held.requests)
}

/// The device's queue depth, by its own counters; `None` if it was busy for too short a time.
fn of_device(case: &Case<'_>, device: &str, depth: u64) -> Option<(Level, Finding)> {
    let grown = |counter| case.samples.of_device(device, counter);
    let (queued, busy) = (grown(DeviceCounter::TimeInQueue)?, grown(DeviceCounter::IoTicks)?);
    if busy < LEAST_BUSY_MS {
        return None;
    }
    let mean = queued / busy;
    let level = DEPTH_MISSING.level(1.0 - mean / depth as f64);
    let seen = match level {
        Level::Ok => Finding::ok(format!("{device} had {mean:.1} requests at once, {depth} were asked for."), SOURCE),
        level => Finding::at(level, format!("{depth} requests at once were asked for, {device} had {mean:.1}: submitting them blocks, or a queue on \
                                          the way is shorter."), SOURCE)
            .remedy("Use direct I/O, write the file before it is overwritten, and see nr_requests of the device's queue.")
            .effect(depth as f64 / mean.max(1e-3)),
    };
    Some((level, seen.with("mean_queue", mean).with("depth", depth as f64)))
}

/// Depth that the engine itself never reached.
fn of_engine(case: &Case<'_>, own: f64, depth: u64) -> Option<Finding> {
    let level = DEPTH_MISSING.level(1.0 - own / depth as f64);
    if level == Level::Ok {
        return None;
    }
    let text = format!(
        "{depth} requests at once were asked for, the engine ({}) had {own:.2} in flight: submitting them blocks, as that of writes that \
         make a file longer does, or they end as fast as they are submitted.",
        case.run.setup.engine
    );
    let seen = Finding::at(level, text, OWN_SOURCE).remedy(
        "Write the file before it is overwritten ('iosonar fill', which overwrites it), use direct I/O, --engine uring, or more jobs (--numjobs).",
    );
    Some(
        seen.with("own_mean_in_flight", own).with("depth", depth as f64).effect(depth as f64 / own.max(1e-3)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    #[test]
    fn reports_device_seeing_one_request_at_a_time() {
        let seen = Lab::new().depth(32).reads(10_000, 4096).on_disk("vda").queue("vda", 8_000, 10_000);
        let seen = seen.detection(&DETECTOR).unwrap();
        assert_eq!(seen.level, Level::Fail);
        assert!(seen.text.starts_with("32 requests at once were asked for, vda had 0.8"), "{}", seen.text);
    }

    #[test]
    fn reports_engine_below_depth_but_not_for_small_samples() {
        let lab = |own: f64, count| Lab::new().depth(24).in_flight(own).reads(count, 4096).on_disk("vda");
        let seen = lab(0.97, 1_000).detection(&DETECTOR).unwrap();
        assert_eq!(seen.level, Level::Fail);
        assert!(seen.text.contains("the engine (uring) had 0.97 in flight"), "{}", seen.text);
        assert_eq!(lab(0.97, 100).detection(&DETECTOR), None);
        assert_eq!(lab(20.0, 1_000).detection(&DETECTOR), None);
    }

    #[test]
    fn accepts_reached_depth_and_skips_small_depths() {
        let lab = Lab::new().depth(32).reads(10_000, 4096).on_disk("vda").queue("vda", 240_000, 10_000);
        assert_eq!(lab.detection(&DETECTOR).unwrap().level, Level::Ok);
        let shallow = Lab::new().depth(2).reads(10_000, 4096).on_disk("vda").queue("vda", 8_000, 10_000);
        assert_eq!(shallow.detection(&DETECTOR), None);
    }
}
