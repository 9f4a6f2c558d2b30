//! Checking of data that takes part in the figures.

use crate::detector::Most;
use crate::thresholds::{ADDED_READS, CHECKING_CPU, LEAST_CPU_NS};
use crate::words::percent;
use crate::{Case, Detector, Finding};
use iosonar_analyze::{Caution, CautionId, Channel, DetectorId, Level, Summary};
use iosonar_archive::Verified;
use iosonar_evidence::{IssuingThreads, Series};
use iosonar_plan::{Phase, Plan};
use iosonar_text::units::grouped;

pub(super) const DETECTOR: Detector = Detector {
    id: DetectorId::VerifyCosts,
    channel: Channel::Schedule,
    most: Most::always(Level::Caution),
    explains: &[DetectorId::CannotKeepUp],
    about: "Reading back what was written adds requests that the load does not have, and comparing data takes CPU time of the threads that issue \
            requests (blkreplay manual 2.4, 2.5). Such a run proves that data is right; its times are not those of the load alone.",
    is_witness: false,
    says: Some(says),
    predict: None,
    detect,
};

const SOURCE: &str = "the plan's checks, reads that they added, CPU time of the issuing threads";

fn detect(case: &Case<'_>) -> Option<Finding> {
    let of_jobs = || case.plan.phases.iter().any(Phase::is_verified);
    if !case.is_real() || !(case.plan.verify.modes.checks_requests() || of_jobs()) {
        return None;
    }
    let traffic = case.tally.traffic();
    let moved = (traffic.reads.bytes + traffic.writes.bytes).max(1) as f64;
    let added = case.run.verified.as_ref().map_or(0, |verified| verified.added_bytes) as f64 / moved;
    let reads_back =
        case.plan.jobs().any(|(_, job)| job.options.verify.is_some_and(|verify| verify.immediate));
    let busy = busy_share(case);
    let (of_reads, of_cpu) = (ADDED_READS.level(added), CHECKING_CPU.level(busy.unwrap_or(0.0)));
    let text = if reads_back {
        "Each write was read back and checked at once.".into()
    } else if of_reads >= Level::Caution {
        format!("Checking added reads of {} of the bytes that the load moved.", percent(added))
    } else if of_cpu >= Level::Caution {
        format!(
            "Data was checked by the issuing threads, which had a CPU for {} of the time.",
            percent(busy.unwrap_or(0.0))
        )
    } else {
        let text = format!("Checking data added reads of {} of the bytes.", percent(added));
        return Some(Finding::ok(text, SOURCE).with("added_share", added));
    };
    let seen = Finding::at(Level::Caution, text, SOURCE)
        .remedy("Take the figures from a run without checks, or with --verify final, which checks when the requests are over.");
    Some(seen.with("added_share", added).with("busy_share", busy.unwrap_or(f64::NAN)))
}

fn says(summary: &Summary, _: &Plan) -> Vec<Caution> {
    let verified = summary.verified.as_ref();
    let added = verified.filter(|verified| verified.added_reads > 0 && verified.modes.contains("-write"));
    let say = |verified: &Verified| {
        let text = format!(
            "Verification added {} reads to the requests: the times of the run are not those of the workload alone.",
            grouped(verified.added_reads)
        );
        Caution::warning(CautionId::VerificationReads, text)
    };
    added.map(say).into_iter().collect()
}

/// Share of the time for which an issuing thread had a CPU; `None` if not sampled.
fn busy_share(case: &Case<'_>) -> Option<f64> {
    // Threads that wait for a due time, or look for completions, without a rest are busy anyway.
    let is_polled = case.plan.jobs().any(|(_, job)| job.engine(case.plan.engine).is_polled());
    if case.plan.has_timetable() || is_polled {
        return None;
    }
    let cpu = case.samples.growth(&Series::Issuing(IssuingThreads::Cpu)).filter(|ns| *ns > LEAST_CPU_NS)?;
    Some(cpu / case.time_of_loops()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    fn lab() -> Lab {
        Lab::new().latency_ns(1_000_000).writes(4_000, 65_536).on_disk("vda").issuing(0.1e9, 0.0)
    }

    #[test]
    fn reports_verification_reads_and_busy_thread() {
        let seen = lab().verified("after-write", 262_144_000).detection(&DETECTOR).unwrap();
        assert_eq!(seen.level, Level::Caution);
        assert_eq!(seen.text, "Checking added reads of 100 % of the bytes that the load moved.");
        let busy = Lab::new().latency_ns(1_000_000).reads(4_000, 65_536).issuing(3.2e9, 0.0);
        let seen = busy.verified("read", 0).detection(&DETECTOR).unwrap();
        assert!(seen.level == Level::Caution && seen.text.contains("for 80 % of the time"), "{seen:?}");
    }

    #[test]
    fn accepts_cheap_or_later_verification() {
        assert_eq!(lab().verified("read", 0).detection(&DETECTOR).unwrap().level, Level::Ok);
        assert_eq!(lab().verified("final", 0).detection(&DETECTOR), None);
        assert_eq!(lab().detection(&DETECTOR), None);
    }
}
