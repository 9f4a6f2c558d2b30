//! Requests that were not executed as requested.

use crate::detector::Most;
use crate::thresholds::{DROPPED, FAILED, NOT_DONE};
use crate::words::percent;
use crate::{Case, Detector, Finding};
use iosonar_analyze::{Caution, CautionId, Channel, DetectorId, Level, Summary};
use iosonar_plan::Plan;
use iosonar_text::units::grouped;

pub(super) const DETECTOR: Detector = Detector {
    id: DetectorId::RequestsNotDone,
    channel: Channel::Schedule,
    most: Most::always(Level::Fail),
    explains: &[],
    about: "A request that fails, ends beyond the end of a file or is dropped because it conflicts costs less than one that is carried out. \
            A slow device drops more of a load and looks better for it (blkreplay manual 2.4).",
    is_witness: true,
    says: Some(says),
    predict: None,
    detect,
};

const SOURCE: &str = "the records of the run";

fn detect(case: &Case<'_>) -> Option<Finding> {
    let counts = &case.summary.counts.all;
    let all = counts.total - counts.cancelled;
    if all == 0 {
        return None;
    }
    let share = |count: u64| count as f64 / all as f64;
    let (failed, dropped) = (share(counts.failed), share(counts.dropped));
    let level = FAILED.level(failed).max(DROPPED.level(dropped));
    if level == Level::Ok {
        return Some(Finding::ok("All requests were carried out.", SOURCE));
    }
    let seen = Finding::at(
        level,
        format!("{} of the requests were not carried out: {} failed, {} dropped.", percent(failed + dropped), counts.failed, counts.dropped),
        SOURCE,
    )
    .remedy("Make the target as large as what is requested; use --overlap push-back instead of drop; see the errors by reason.")
    .with("failed", counts.failed as f64)
    .with("dropped", counts.dropped as f64)
    .effect(1.0 / (1.0 - failed - dropped).max(1e-3));
    Some(if failed + dropped > NOT_DONE { seen.proof() } else { seen })
}

fn says(summary: &Summary, _: &Plan) -> Vec<Caution> {
    let counts = &summary.counts;
    let failed = (counts.failed() > 0).then(|| {
        let reasons: Vec<_> =
            summary.errors.iter().take(3).map(|e| format!("{} {}", grouped(e.count), e.name)).collect();
        let text = format!(
            "{} of {} requests failed ({}). They are counted, but excluded from all times.",
            grouped(counts.failed()),
            grouped(counts.all.total + counts.other.total),
            reasons.join(", ")
        );
        Caution::warning(CautionId::FailedRequests, text)
    });
    let share = counts.all.dropped as f64 / counts.all.total.max(1) as f64;
    let dropped = (DROPPED.level(share) == Level::Fail).then(|| {
        let text = format!(
            "{} requests ({:.1} %) were dropped because they conflicted: the target received less than the load requests.",
            grouped(counts.all.dropped),
            share * 100.0
        );
        Caution::warning(CautionId::DroppedShare, text)
    });
    failed.into_iter().chain(dropped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    #[test]
    fn reports_failed_requests() {
        let seen = Lab::new().reads(1_000, 4096).failed(300).detection(&DETECTOR).unwrap();
        assert_eq!((seen.level, seen.is_proof), (Level::Fail, true));
        assert!(seen.text.contains("300 failed, 0 dropped"), "{}", seen.text);
        let failed = Lab::new().reads(1_000, 4096).failed(300).said(&DETECTOR);
        assert_eq!(failed.len(), 1, "{failed:?}");
        assert!(failed[0].text.starts_with("300 of 1 000 requests failed (300 EIO)"), "{failed:?}");
        let one = Lab::new().reads(10_000, 4096).failed(1).detection(&DETECTOR).unwrap();
        assert_eq!((one.level, one.is_proof), (Level::Caution, false));
    }

    #[test]
    fn accepts_completed_requests() {
        assert_eq!(Lab::new().reads(1_000, 4096).detection(&DETECTOR).unwrap().level, Level::Ok);
    }
}
