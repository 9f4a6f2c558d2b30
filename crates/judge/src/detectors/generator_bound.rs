//! A closed loop whose issuing thread was the limit, and not the target.

use crate::detector::Most;
use crate::thresholds::{GENERATOR_BUSY, LEAST_CPU_NS};
use crate::words::percent;
use crate::{Case, Detector, Finding};
use iosonar_analyze::{Channel, DetectorId, Level};
use iosonar_archive::PassTimes;
use iosonar_plan::Job;
use std::collections::BTreeMap;

pub(super) const DETECTOR: Detector = Detector {
    id: DetectorId::GeneratorBound,
    channel: Channel::Schedule,
    most: Most::of_devices(Level::Fail),
    explains: &[DetectorId::QueueDepthNotReached],
    about: "A closed loop issues the next request when one has completed, as fast as it can. If its thread computes all the time, in this \
            program or in the kernel's part of each call, the rate is what one thread can do, and a target that is twice as fast would give \
            the same figure.",
    is_witness: false,
    says: None,
    predict: None,
    detect,
};

const SOURCE: &str =
    "CPU time of each issuing thread (CLOCK_THREAD_CPUTIME_ID) from start to end of its passes";

fn detect(case: &Case<'_>) -> Option<Finding> {
    if !case.is_real() {
        return None;
    }
    let share = busiest(&case.run.passes, |pass| {
        let phase = case.plan.phases.get(usize::from(pass.phase));
        let job = phase.and_then(|phase| phase.jobs.iter().find(|job| job.target == pass.target));
        job.is_some_and(|job| is_closed(job) && !job.engine(case.plan.engine).is_polled())
    })?;
    let seen = match GENERATOR_BUSY.level(share) {
        Level::Ok => Finding::ok("The issuing threads had time left.", SOURCE),
        level => {
            let text = format!(
                "The busiest issuing thread (engine {}) used a CPU for {} of its time: the rate is the most that one such thread can do here, \
                 and says little of the target.",
                case.run.setup.engine,
                percent(share)
            );
            Finding::at(level, text, SOURCE).remedy(
                "Use more issuing threads (--numjobs) or larger requests. 'iosonar calibrate' measures what a thread can do on this machine.",
            )
        }
    };
    Some(seen.with("busiest_thread_cpu_share", share))
}

/// Whether only the target and the thread itself decide when the next request is issued.
fn is_closed(job: &Job) -> bool {
    let pauses = job.workload.generator().is_some_and(|generator| generator.thinktime.is_some());
    !job.workload.has_timetable() && !pauses
}

/// The greatest share of its time that a thread used a CPU; `None` if no thread worked for long enough. Skips passes that do not
/// `count`.
fn busiest(passes: &[PassTimes], count: impl Fn(&PassTimes) -> bool) -> Option<f64> {
    let mut threads: BTreeMap<(u16, u16), [f64; 2]> = BTreeMap::new();
    for pass in passes.iter().filter(|pass| count(pass)) {
        let [cpu, clock] = threads.entry((pass.target, pass.job)).or_default();
        *cpu += pass.cpu_ns as f64;
        *clock += pass.end.saturating_sub(pass.start).0 as f64;
    }
    let shares =
        threads.into_values().filter(|[_, clock]| *clock > LEAST_CPU_NS).map(|[cpu, clock]| cpu / clock);
    shares.max_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;
    use iosonar_plan::Nanos;

    fn lab() -> Lab {
        Lab::new().on_disk("vda").reads(1_000, 4096)
    }

    #[test]
    fn reports_cpu_bound_thread() {
        let seen = lab().thread_cpu_share(0.97).detection(&DETECTOR).unwrap();
        assert_eq!((seen.level, seen.is_proof), (Level::Fail, false));
        assert!(seen.text.contains("(engine uring) used a CPU for 97 % of its time"), "{}", seen.text);
        assert_eq!(lab().thread_cpu_share(0.85).detection(&DETECTOR).unwrap().level, Level::Caution);
        let cached = lab().thread_cpu_share(0.97).claiming(iosonar_plan::Claim::Filesystem);
        assert_eq!(cached.detection(&DETECTOR).unwrap().level, Level::Info);
    }

    #[test]
    fn accepts_threads_waiting_for_target_or_time() {
        assert_eq!(lab().thread_cpu_share(0.5).detection(&DETECTOR).unwrap().level, Level::Ok);
        assert!(lab().detection(&DETECTOR).is_none(), "without times nothing is known");
        assert!(lab().timed().thread_cpu_share(0.97).detection(&DETECTOR).is_none());
    }

    #[test]
    fn judges_busiest_thread_over_all_passes() {
        let pass = |target, job, cpu_ns| PassTimes {
            target,
            job,
            phase: 0,
            pass: 0,
            start: Nanos(0),
            end: Nanos(100_000_000),
            cpu_ns,
            open_ns: 0,
        };
        let passes =
            [pass(0, 0, 90_000_000), pass(0, 0, 10_000_000), pass(1, 0, 60_000_000), pass(2, 0, 99_000_000)];
        assert_eq!(busiest(&passes, |pass| pass.target < 2), Some(0.6));
        let short = PassTimes { end: Nanos(1_000_000), ..pass(0, 0, 1_000_000) };
        assert_eq!(busiest(&[short], |_| true), None);
    }
}
