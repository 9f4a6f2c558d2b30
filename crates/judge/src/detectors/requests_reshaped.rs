//! Requests that the kernel merged, split or put into another order.

use crate::detector::Most;
use crate::stack::device_of;
use crate::thresholds::{MERGED, REORDERED, SMALL_MEAN, SPLIT};
use crate::words::percent;
use crate::{Case, Detector, Finding};
use iosonar_analyze::{Channel, DetectorId, Level};
use iosonar_evidence::target::BlockDevice;
use iosonar_evidence::{DeviceCounter, Fact};
use iosonar_plan::Claim;

pub(super) const DETECTOR: Detector = Detector {
    id: DetectorId::RequestsReshaped,
    channel: Channel::Accounting,
    most: Most { device: Level::Fail, filesystem: Level::Info, cache: Level::Ok, replay: Level::Fail },
    explains: &[],
    about: "Neighbours that are submitted together become one request of the device, whatever the scheduler. The device then answers other \
            requests than those that were asked for; below 1 % is usual (blkreplay manual 2.3). An I/O scheduler sorts requests that wait \
            together, so a device gets them in a better order than the recorded one.",
    is_witness: false,
    says: None,
    predict: None,
    detect,
};

const SOURCE: &str = "requests and merges in the target's stat file";

const ORDER_SOURCE: &str = "block_bio_queue and block_rq_issue, by the kernel's tracepoints";

fn detect(case: &Case<'_>) -> Option<Finding> {
    let told = [reshaped(case), order(case)];
    told.into_iter().flatten().reduce(Finding::and)
}

/// Whether requests overtook others; `None` if the order was not watched.
fn order(case: &Case<'_>) -> Option<Finding> {
    let after = case.after.filter(|_| case.plan.watch_order)?;
    let unknown = |why: &str| {
        Finding::unknown(format!("Whether requests overtook others is not known: {why}."), ORDER_SOURCE)
    };
    Some(match &after.issue_order {
        Fact::Absent { absent } => unknown(absent),
        // The order of lost events is unknown.
        Fact::Known(order) if order.lost_events as f64 > order.issued as f64 * REORDERED.caution => {
            unknown(&format!("the kernel lost {} events", order.lost_events))
        }
        Fact::Known(order) if order.issued < 100 => {
            unknown(&format!("{} requests were given to a driver", order.issued))
        }
        Fact::Known(order) => reordered(order.out_of_order as f64 / order.issued as f64),
    })
}

fn reordered(share: f64) -> Finding {
    let seen = match REORDERED.level(share) {
        Level::Ok => Finding::ok(
            "The device got the requests in the order in which they were submitted.",
            ORDER_SOURCE,
        ),
        level => {
            let text = format!(
                "{} of the requests went to the device before one that was submitted earlier.",
                percent(share)
            );
            Finding::at(level, text, ORDER_SOURCE).remedy(
                "Set the scheduler of the device's queue to none, or submit one at a time (--depth 1).",
            )
        }
    };
    seen.with("out_of_order_share", share)
}

fn reshaped(case: &Case<'_>) -> Option<Finding> {
    let [target] = case.before.targets.as_slice() else { return None };
    let BlockDevice { name: device, queue, .. } = device_of(target)?;
    let grown = |counters: [DeviceCounter; 2]| {
        counters.into_iter().map(|counter| case.samples.of_device(device, counter)).sum::<Option<f64>>()
    };
    let ios = grown([DeviceCounter::ReadIos, DeviceCounter::WriteIos])?;
    let merges = grown([DeviceCounter::ReadMerges, DeviceCounter::WriteMerges])?;
    let traffic = case.tally.traffic();
    // Requests of the ramp and of the verification went the same way.
    let counts = &case.summary.counts.all;
    let added = case.run.verified.as_ref().map_or(0, |verified| verified.added_reads);
    let requests = (counts.completed + counts.failed + counts.ramp + added).max(1);
    let mean = (traffic.reads.bytes + traffic.writes.bytes) / counts.completed.max(1);
    // Any device splits long requests; in a replay this changes the recorded load.
    let is_meant = mean <= SMALL_MEAN || case.claim() == Claim::Replay;
    if !case.is_real() || requests < 100 || !is_meant || ios == 0.0 {
        return None;
    }
    let for_each = |ios: f64| ios / requests as f64;
    let (merged, split) = (merges / (ios + merges), for_each(ios) - 1.0);
    // A file system issues additional requests, so for a file only merges are evidence.
    let is_bare = matches!(target.kind, iosonar_evidence::TargetKind::BlockDevice(_));
    let level = MERGED.level(merged).max(if is_bare { SPLIT.level(split) } else { Level::Ok });
    // The kernel counts a flush as a write without data, but only where it sends it to the device.
    let sends_flushes = queue.write_cache.known().is_none_or(|cache| cache != "write through");
    let flushes = if sends_flushes { case.most_flushes() } else { 0 };
    if level > MERGED.level(merged) && SPLIT.level(for_each(ios - flushes as f64) - 1.0) < level {
        return None;
    }
    let seen = match level {
        Level::Ok => Finding::ok("The device got the requests as they were asked for.", SOURCE),
        level if MERGED.level(merged) > Level::Ok => {
            let text = format!(
                "{} of the requests were merged with others on their way to {device}.",
                percent(merged)
            );
            Finding::at(level, text, SOURCE)
                .remedy("Set nomerges to 2 in the device's queue, or submit one at a time (--depth 1).")
        }
        level => {
            let text = format!(
                "{device} executed {:.1} requests for each one: they were split, or others used it.",
                split + 1.0
            );
            Finding::at(level, text, SOURCE)
                .remedy(
                    "Ask for less than max_sectors_kb and max_segments of the device's queue at a time; or raise max_sectors_kb, and use --hugepages.",
                )
        }
    };
    Some(seen.with("merged_share", merged).with("device_requests", ios))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    #[test]
    fn reports_merged_and_split_requests() {
        let merged = Lab::new()
            .reads(1_000, 4096)
            .on_disk("vda")
            .device_ios("vda", 60, 940)
            .detection(&DETECTOR)
            .unwrap();
        assert_eq!(merged.level, Level::Fail);
        assert!(merged.text.starts_with("94 % of the requests were merged"), "{}", merged.text);
        let split = Lab::new()
            .reads(1_000, 4096)
            .on_disk("vda")
            .device_ios("vda", 4_000, 0)
            .detection(&DETECTOR)
            .unwrap();
        assert_eq!(split.level, Level::Caution);
    }

    #[test]
    fn reports_reordering_when_watched() {
        let lab = || {
            Lab::new()
                .reads(1_000, 4096)
                .on_disk("vda")
                .scheduler_after("mq-deadline")
                .device_ios("vda", 1_010, 3)
        };
        let sorted = lab().issued(1_000, 479).detection(&DETECTOR).unwrap();
        assert_eq!(sorted.level, Level::Caution);
        assert!(
            sorted.text.starts_with("47.9 % of the requests went to the device before one"),
            "{}",
            sorted.text
        );
        let kept = lab().issued(1_000, 1).detection(&DETECTOR).unwrap();
        assert_eq!(kept.level, Level::Ok);
        assert!(kept.evidence.iter().any(|one| one.name == "out_of_order_share" && one.value == 0.001));
        let not_watched = lab().detection(&DETECTOR).unwrap();
        assert!(not_watched.evidence.iter().all(|one| one.name != "out_of_order_share"));
    }

    #[test]
    fn accepts_unchanged_requests_and_judges_recorded_long_ones() {
        let same = Lab::new().reads(1_000, 4096).on_disk("vda").device_ios("vda", 1_010, 3);
        assert_eq!(same.detection(&DETECTOR).unwrap().level, Level::Ok);
        let long = Lab::new().reads(1_000, 1 << 20).on_disk("vda").device_ios("vda", 2_000, 0);
        assert_eq!(long.detection(&DETECTOR), None);
        assert_eq!(long.claiming(Claim::Replay).detection(&DETECTOR).unwrap().level, Level::Caution);
    }

    #[test]
    fn does_not_count_flushes_as_split_requests() {
        let writes = |flushes| {
            let lab = Lab::new().writes(1_000, 4096).fsyncs(flushes).on_disk("vda").write_cache("write back");
            move |ios| lab.clone().device_ios("vda", ios, 0).detection(&DETECTOR).map(|seen| seen.level)
        };
        let (flushed, plain) = (writes(500), writes(0));
        assert_eq!([1_010, 1_500, 2_500].map(&flushed), [Some(Level::Ok), None, Some(Level::Caution)]);
        assert_eq!([1_010, 1_500].map(&plain), [Some(Level::Ok), Some(Level::Caution)]);
        let durable = Lab::new().writes(1_000, 4096).on_disk("vda").write_cache("write back");
        let durable = durable.device_ios("vda", 2_000, 0);
        assert_eq!(durable.clone().detection(&DETECTOR).unwrap().level, Level::Caution);
        assert_eq!(durable.clone().durable().detection(&DETECTOR), None);
        let through = durable.durable().write_cache("write through");
        assert_eq!(through.detection(&DETECTOR).unwrap().level, Level::Caution);
    }
}
