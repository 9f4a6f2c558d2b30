//! Caches below Linux: of a hypervisor, an array or a drive.

use crate::detector::Most;
use crate::thresholds::{CACHED_RUN, LARGE_CACHE, REREAD_P50, REREAD_P90, SURE_SIGMAS, UNCACHED_RUN};
use crate::words::{factor, micros, size};
use crate::{Case, Detector, Finding, PlannedRun};
use iosonar_analyze::{Channel, DetectorId, Level};
use iosonar_evidence::{Compared, Fact, RereadTimes};

pub(crate) const DETECTOR: Detector = Detector {
    id: DetectorId::CacheBelow,
    channel: Channel::Latency,
    most: Most { device: Level::Fail, filesystem: Level::Info, cache: Level::Ok, replay: Level::Caution },
    explains: &[],
    about: "The cache of a hypervisor, an array or a drive shows in no counter of Linux. What it holds is fast, whatever lies below it, and \
            how much that is nobody here knows (blkreplay manual 3.1.2.2). The memory of a drive answers a second read almost always, so this \
            alone makes no result fake. That nothing is told proves nothing: a cache that holds the whole range already looks like fast storage.",
    is_witness: true,
    says: None,
    predict: Some(predict),
    detect,
};

const SOURCE: &str = "random blocks that were read twice with O_DIRECT, before the run";

const REMEDY: &str = "Take a range larger than that cache, run once after a fill, and note the cache mode of the host or the array.";

fn detect(case: &Case<'_>) -> Option<Finding> {
    let planned = case.planned();
    let probed = probed(&planned).filter(|_| case.is_real())?;
    Some(match answered_by(case, &probed) {
        Answered::ByCache(text) => probed.seen(Level::Fail, &text),
        Answered::Below => probed
            .seen(Level::Info, " The reads of the run took as long as those of blocks that nobody had read."),
        Answered::Unknown => probed.seen(Level::Caution, ""),
    })
}

fn predict(planned: &PlannedRun<'_>) -> Option<Finding> {
    Some(probed(planned)?.seen(Level::Caution, ""))
}

/// Results of the re-read probe for targets that are read.
struct Probed {
    /// Times of the targets with an answer.
    times: Vec<RereadTimes>,
    /// Why others have no answer.
    why_not: Option<String>,
}

fn probed(planned: &PlannedRun<'_>) -> Option<Probed> {
    let mut probed = Probed { times: Vec::new(), why_not: None };
    for target in planned.targets.iter().filter(|target| target.is_read) {
        match planned.reread_of(target) {
            Some(Fact::Known(times)) => probed.times.push(*times),
            Some(Fact::Absent { absent }) => probed.why_not = Some(absent.clone()),
            None => {}
        }
    }
    (!probed.times.is_empty() || probed.why_not.is_some()).then_some(probed)
}

/// How much faster the second reading was, relative to the threshold of a cache: 1 and more is a cache. 0 if that may be chance.
fn weight(times: &RereadTimes) -> f64 {
    by_median(times).max(sure_ratio(&times.p90, times.blocks) / REREAD_P90)
}

/// The weight by the medians alone.
fn by_median(times: &RereadTimes) -> f64 {
    sure_ratio(&times.p50, times.blocks) / REREAD_P50
}

fn sure_ratio(compared: &Compared, blocks: u64) -> f64 {
    if compared.sigmas((blocks, blocks)) > SURE_SIGMAS { compared.ratio() } else { 0.0 }
}

impl Probed {
    /// Times of the target with the greatest weight.
    fn worst(&self) -> Option<&RereadTimes> {
        self.times.iter().max_by(|a, b| weight(a).total_cmp(&weight(b)))
    }

    /// An observation of at most level `most`, with `more` after the result of the probe.
    fn seen(&self, most: Level, more: &str) -> Finding {
        let Some(times) = self.worst() else {
            let why = self.why_not.as_deref().unwrap_or_default();
            return Finding::unknown(
                format!("Whether a cache below Linux answers is not known: {why}."),
                SOURCE,
            );
        };
        let of = |name: &str, times: &Compared| {
            format!("{name} ({} -> {} us)", micros(times.first_ns), micros(times.second_ns))
        };
        let (of_p50, of_p90) = (of("p50", &times.p50), of("p90", &times.p90));
        let seen = if weight(times) >= 1.0 {
            let is_p50 = by_median(times) >= weight(times);
            let (ratio, place) =
                if is_p50 { (times.p50.ratio(), of_p50) } else { (times.p90.ratio(), of_p90) };
            let text = format!(
                "Blocks read a second time come {} x faster at {place}: a cache below Linux answers.{more}",
                factor(ratio)
            );
            Finding::at(most, text, SOURCE).remedy(REMEDY)
        } else {
            Finding::ok(
                format!("That blocks come faster a second time is not shown: {of_p50}, {of_p90}."),
                SOURCE,
            )
        };
        let seen = seen.with("p50_ratio", times.p50.ratio()).with("p90_ratio", times.p90.ratio());
        seen.with("first_p50_us", times.p50.first_ns as f64 / 1e3)
    }
}

/// The layer that served the reads of a run.
enum Answered {
    /// The cache, with the evidence.
    ByCache(String),
    /// A layer below the cache.
    Below,
    /// Unknown.
    Unknown,
}

/// Compares the reads of a run with the first reading of blocks. Sequential requests are faster anyhow, because drives read ahead; a cache
/// that shows in slow requests only (p90) does not show in medians.
fn answered_by(case: &Case<'_>, probed: &Probed) -> Answered {
    let is_alike = case.is_direct() && !case.planned().is_sequential() && probed.why_not.is_none();
    let is_cached = probed.times.iter().all(|times| by_median(times) >= 1.0);
    let cold = probed.times.iter().map(|times| times.p50.first_ns);
    let (Some(least), Some(most), Some(own)) = (cold.clone().min(), cold.max(), case.summary.latency.read)
    else {
        return Answered::Unknown;
    };
    if !is_alike || !is_cached {
        return Answered::Unknown;
    }
    let own = own.p50_ns;
    let touched = case.tally.places().touched_bytes() as f64;
    if (own as f64) < CACHED_RUN * least as f64 && touched < LARGE_CACHE {
        return Answered::ByCache(format!(
            " Half of the reads of the run took at most {} us, half of the blocks that nobody had read {} us; {} were touched.",
            micros(own),
            micros(least),
            size(touched)
        ));
    }
    // Deep queues take longer in any layer.
    let is_alone = case.plan.jobs().all(|(_, job)| job.depth == 1);
    if is_alone && own as f64 >= UNCACHED_RUN * most as f64 { Answered::Below } else { Answered::Unknown }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;
    use iosonar_analyze::Verdict;
    use iosonar_plan::Claim;

    /// A device of the specification: 103 us, and 10 % of the blocks in 4.15 ms, the first time alone.
    fn virtual_disk() -> Lab {
        Lab::new().on_disk("vda").reread((103_000, 100_000, 160, 140), (4_150_000, 102_000, 36, 2))
    }

    /// The second reading is served by a cache.
    fn cached(lab: Lab) -> Lab {
        lab.reread((155_000, 48_000, 290, 10), (300_000, 60_000, 200, 5))
    }

    #[test]
    fn faster_rereads_alone_are_only_a_caution() {
        let lab = virtual_disk().latency_ns(45_000).reads(4_000, 4096);
        let seen = lab.detection(&DETECTOR).unwrap();
        assert_eq!((seen.level, seen.is_proof), (Level::Caution, false));
        let expected = "Blocks read a second time come 41 x faster at p90 (4150 -> 102 us): a cache below Linux answers.";
        assert_eq!(seen.text, expected);
        let of = |claim| lab.claiming(claim).detection(&DETECTOR).unwrap().level;
        let levels = [Claim::Filesystem, Claim::Cache, Claim::Replay].map(of);
        assert_eq!(levels, [Level::Info, Level::Ok, Level::Caution]);
        let by_median = cached(Lab::new().on_disk("vda")).reads(4_000, 4096).detection(&DETECTOR).unwrap();
        assert!(by_median.text.contains("3.2 x faster at p50 (155 -> 48 us)"), "{}", by_median.text);
        // Another visible layer explains it.
        let judgement = cached(Lab::new().on_loop(false)).reads(4_000, 4096).judgement();
        assert_eq!(
            judgement.of(DetectorId::CacheBelow).unwrap().explained_by,
            Some(DetectorId::PageCacheInPath)
        );
    }

    #[test]
    fn cache_speed_run_fails_only_with_second_evidence() {
        let fast = cached(Lab::new().on_disk("vda")).latency_ns(50_000);
        let lab = fast.clone().within(1 << 30).reads(4_000, 4096);
        let seen = lab.detection(&DETECTOR).unwrap();
        assert!(seen.level == Level::Fail && !seen.is_proof, "{seen:?}");
        assert!(seen.text.contains("the reads of the run took at most 50 us"), "{}", seen.text);
        assert_eq!(lab.claiming(Claim::Replay).detection(&DETECTOR).unwrap().level, Level::Caution);
        assert_ne!(lab.judgement().verdict, Verdict::Fake);
        // Sequential requests are read ahead, and large data fits into no cache.
        let in_order = fast.clone().sequential().within(1 << 30).reads(4_000, 4096);
        assert_eq!(in_order.detection(&DETECTOR).unwrap().level, Level::Caution);
        let large = fast.reads(4_000, 4 << 20);
        assert_eq!(large.detection(&DETECTOR).unwrap().level, Level::Caution);
    }

    #[test]
    fn accepts_equal_reread_times_and_unknown_probe() {
        // Half of the reads wait for a tick of the scheduler: quantiles jump, and the counts are alike.
        for (p50, p90) in [
            ((68_000, 67_000, 160, 145), (120_000, 60_000, 60, 28)),
            ((4_000_000, 81_700, 155, 140), (8_000_000, 4_000_000, 32, 25)),
        ] {
            let lab = Lab::new().on_disk("vda").reread(p50, p90);
            let seen = lab.clone().latency_ns(20_000).reads(4_000, 4096).detection(&DETECTOR).unwrap();
            assert_eq!(seen.level, Level::Ok, "{}", seen.text);
            assert_eq!(lab.writes(4_000, 4096).detection(&DETECTOR), None);
        }
        assert_eq!(Lab::new().on_disk("vda").reads(4_000, 4096).detection(&DETECTOR), None);
        let unanswered = Lab::new().on_disk("vda").not_reread("it is too small").reads(4_000, 4096);
        let seen = unanswered.detection(&DETECTOR).unwrap();
        assert!(seen.level == Level::Unknown && seen.text.ends_with("it is too small."), "{}", seen.text);
    }
}
