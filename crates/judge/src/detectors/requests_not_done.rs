//! Requests that were not executed as requested.

use crate::detector::Most;
use crate::thresholds::{DROPPED, FAILED, NOT_DONE};
use crate::words::percent;
use crate::{Case, Detector, Seen};
use iosonar_analyze::{CautionId, Channel, DetectorId, Level};

pub(super) const DETECTOR: Detector = Detector {
    id: DetectorId::RequestsNotDone,
    channel: Channel::Schedule,
    most: Most::always(Level::Fail),
    explains: &[],
    about: "A request that fails, ends beyond the end of a file or is dropped because it conflicts costs less than one that is carried out. \
            A slow device drops more of a load and looks better for it (blkreplay manual 2.4).",
    is_witness: true,
    replaces: &[],
    repeats: &[CautionId::FailedRequests, CautionId::DroppedShare, CautionId::ShortTransfers],
    predict: None,
    detect,
};

const SOURCE: &str = "the records of the run";

fn detect(case: &Case<'_>) -> Option<Seen> {
    let counts = &case.summary.counts.all;
    let all = counts.total - counts.cancelled;
    if all == 0 {
        return None;
    }
    let share = |count: u64| count as f64 / all as f64;
    let (failed, dropped) = (share(counts.failed), share(counts.dropped));
    let level = FAILED.level(failed).max(DROPPED.level(dropped));
    if level == Level::Ok {
        return Some(Seen::ok("All requests were carried out.", SOURCE));
    }
    let seen = Seen::at(
        level,
        format!("{} of the requests were not carried out: {} failed, {} dropped.", percent(failed + dropped), counts.failed, counts.dropped),
        SOURCE,
    )
    .remedy("Make the target as large as what is requested; use --overlap push-back instead of drop; see the errors by reason.")
    .with("failed", counts.failed as f64)
    .with("dropped", counts.dropped as f64)
    .effect(1.0 / (1.0 - failed - dropped).max(1e-3));
    Some(if failed + dropped > NOT_DONE { seen.definitional() } else { seen })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    #[test]
    fn requests_that_fail_are_told() {
        let seen = Lab::new().reads(1_000, 4096).failed(300).detection(&DETECTOR).unwrap();
        assert_eq!((seen.level, seen.definitional), (Level::Fail, true));
        assert!(seen.text.contains("300 failed, 0 dropped"), "{}", seen.text);
        let one = Lab::new().reads(10_000, 4096).failed(1).detection(&DETECTOR).unwrap();
        assert_eq!((one.level, one.definitional), (Level::Caution, false));
    }

    #[test]
    fn requests_that_are_done_are_fine() {
        assert_eq!(Lab::new().reads(1_000, 4096).detection(&DETECTOR).unwrap().level, Level::Ok);
    }
}
