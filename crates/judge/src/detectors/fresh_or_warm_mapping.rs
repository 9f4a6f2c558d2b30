//! Blocks that were written for the first time during the run, or not for the first time since the target was filled.

use crate::detector::Most;
use crate::planned::PlannedTarget;
use crate::stack::{Part, black_box, moves_data, parts};
use crate::thresholds::{
    ALL_UNWRITTEN, ALLOCATED, BEYOND_LATER_PASSES, FIRST_PASS, LEAST_BYTES, LEAST_PASSES, UNMAPPED,
};
use crate::words::{percent, size};
use crate::{Case, Detector, Finding, PlannedRun};
use iosonar_analyze::{Channel, DetectorId, Level};
use iosonar_evidence::{Fact, FormerRun, TargetFacts};
use iosonar_plan::Claim;
use iosonar_text::shown;
use std::collections::BTreeMap;

pub(crate) const DETECTOR: Detector = Detector {
    id: DetectorId::FreshOrWarmMapping,
    channel: Channel::Mapping,
    most: Most { device: Level::Caution, filesystem: Level::Info, cache: Level::Ok, replay: Level::Caution },
    explains: &[DetectorId::QueueDepthNotReached],
    about: "The first write of a block allocates it, and changes the tables of the file system or of the volume. A second run on the same blocks \
            does not: it is mostly faster (blkreplay manual 3.1.1). Where all blocks were allocated and none was written, the first write changes \
            tables as well, and the number of blocks does not show it. Where data moves each time that it is written, an earlier run has left \
            another map. So the manual runs once on each fill.",
    is_witness: false,
    says: None,
    predict: Some(predict),
    detect,
};

const SOURCE: &str =
    "blocks of the file, and of files behind loop devices, before and after the run; SEEK_DATA before it";
const LEDGER: &str = "the ledger of former runs (IOSONAR_LEDGER), before the run";
const PASSES: &str = "times and bytes of the passes";

fn detect(case: &Case<'_>) -> Option<Finding> {
    if !case.is_real() {
        return None;
    }
    let allocated =
        (case.tally.traffic().writes.bytes >= LEAST_BYTES).then(|| allocated_share(case)).flatten();
    let of_blocks = match allocated.map(|(new, grown, share)| of_allocated(new, grown, share)) {
        Some(seen) if seen.level() > Level::Ok => Some(seen),
        seen => unwritten(&case.planned()).or(seen),
    };
    // If nothing was allocated, the first pass was slower or faster for another reason.
    let is_settled = allocated.is_some_and(|(.., share)| ALLOCATED.level(share) == Level::Ok);
    let of_passes = first_pass(case, if is_settled { Level::Info } else { Level::Caution });
    [of_blocks, predict(&case.planned()), of_passes].into_iter().flatten().reduce(Finding::and)
}

/// Bytes written for the first time, bytes by which files grew, and the share of the former in all written bytes.
fn allocated_share(case: &Case<'_>) -> Option<(f64, f64, f64)> {
    let written = case.tally.traffic().writes.bytes as f64;
    let grown = grown(case)?;
    let fresh = fresh(case).unwrap_or(0.0);
    let new = grown.max(fresh).min(written);
    Some((new, grown, new / written))
}

fn of_allocated(new: f64, grown: f64, share: f64) -> Finding {
    let seen = match ALLOCATED.level(share) {
        Level::Ok => Finding::ok("The blocks that were written had been allocated before.", SOURCE),
        level => Finding::at(
            level,
            format!("{} were allocated, or written for the first time, during the run: {} of what was written.", size(new), percent(share)),
            SOURCE,
        )
        .remedy("Fill the target with random data before, and run once on each fill; or give the first run and the later ones apart."),
    };
    seen.with("allocated_bytes", grown).with("share", share)
}

/// Holes in the range of the target that is only written and has the largest share of them. Counts of blocks do not show the first
/// writes to preallocated ones, nor those of few bytes.
pub(crate) fn unwritten(planned: &PlannedRun<'_>) -> Option<Finding> {
    let written = planned.targets.iter().filter(|target| target.is_written && !target.is_read);
    let shares = written.map(|target| {
        (target.info.hole_bytes as f64 / f64::max(target.reach() as f64, 1.0), &target.info.path)
    });
    let (share, path) = shares.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let level = ALLOCATED.level(share);
    let text = format!(
        "{} of the range of {path} was never written before the run: first writes cost more.",
        percent(share.min(1.0))
    );
    (level > Level::Ok).then(|| {
        Finding::at(level, text, SOURCE)
            .remedy("Fill it with random data first ('iosonar fill', which overwrites it).")
    })
}

/// Evidence of the ledger about earlier runs on the ranges that are written.
fn predict(planned: &PlannedRun<'_>) -> Option<Finding> {
    let seen = planned.targets.iter().filter_map(|target| written_before(planned, target));
    // Of targets with the same level, the first.
    seen.reduce(|worst, other| if other.level() > worst.level() { other } else { worst })
}

fn written_before(planned: &PlannedRun<'_>, target: &PlannedTarget<'_>) -> Option<Finding> {
    let (range, facts) = (target.info.written?, planned.facts(target)?);
    let runs = match &facts.former_runs {
        Fact::Known(runs) => runs,
        Fact::Absent { absent } => {
            let text = format!("Whether an earlier run wrote {} is not known: {absent}.", target.info.path);
            return Some(Finding::unknown(text, LEDGER));
        }
    };
    let Some(run) = runs.iter().rev().find(|run| run.written.overlaps(range)) else {
        return Some(Finding::ok(
            "No earlier run is known that wrote the range since its last fill.",
            LEDGER,
        ));
    };
    let (level, why) = weight(planned, target, facts, run);
    let result = run.result.as_ref().map_or_else(String::new, |dir| format!(" (result {})", shown(&dir)));
    let text = format!(
        "A range of {} was written by the run of {}{result}, and not filled again by iosonar since{why}.",
        target.info.path,
        date(run.ended_unix)
    );
    let remedy = "Fill the target again (iosonar fill), or delete and create the volume and fill it; and run once on each fill.";
    Some(Finding::at(level, text, LEDGER).remedy(remedy).with("former_runs", runs.len() as f64))
}

/// How much it matters that an earlier run wrote a target, and why: if blocks stay in their places, a second run sees the same layout as
/// the first one.
fn weight(
    planned: &PlannedRun<'_>,
    target: &PlannedTarget<'_>,
    facts: &TargetFacts,
    run: &FormerRun,
) -> (Level, String) {
    if run.changed_since {
        return (
            Level::Info,
            "; it was changed since, by another program or by a run that left no line".into(),
        );
    }
    if let Some(why) = moves_data(facts) {
        return (Level::Caution, format!("; {why}"));
    }
    let info = target.info;
    if info.extents.is_some_and(|extents| extents.shared_bytes > 0) {
        return (
            Level::Caution,
            "; it shares blocks with another file, and what is written is put elsewhere".into(),
        );
    }
    if UNMAPPED.level(info.hole_bytes as f64 / target.reach().max(1) as f64) > Level::Ok {
        return (Level::Caution, "; a part of it holds data since then, and a part holds none".into());
    }
    let is_replay = planned.plan.claim() == Claim::Replay;
    match black_box(facts).filter(|_| is_replay) {
        Some(name) => (Level::Caution, format!("; how {name} places its blocks cannot be seen")),
        None => (Level::Info, String::new()),
    }
}

/// Compares the throughput of the first pass with that of the later ones; `None` if they are alike, or cannot be compared.
fn first_pass(case: &Case<'_>, level: Level) -> Option<Finding> {
    let [phase] = case.plan.phases.as_slice() else { return None };
    let makes_files = case.plan.targets.iter().any(|target| target.file.between_passes.makes_files());
    let writes = case.tally.traffic().writes.bytes >= LEAST_BYTES;
    if !writes
        || makes_files
        || case.plan.has_timetable()
        || case.run.passes.iter().any(|pass| pass.phase > 0)
    {
        return None;
    }
    let mut passes: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for pass in &case.run.passes {
        let (start, end) = passes.entry(pass.pass).or_insert((pass.start.0, pass.end.0));
        (*start, *end) = ((*start).min(pass.start.0), (*end).max(pass.end.0));
    }
    // A pass that was stopped is shorter, and not slower.
    if passes.len() < LEAST_PASSES || passes.len() < phase.passes as usize {
        return None;
    }
    let rate = |(start, end): &(u64, u64)| Some(case.tally.traffic().rate_between(*start, *end)?.1);
    let rates: Vec<f64> = passes.values().map(rate).collect::<Option<_>>()?;
    let (first, mut later) = (rates[0], rates[1..].to_vec());
    later.sort_by(f64::total_cmp);
    let median = f64::midpoint(later[(later.len() - 1) / 2], later[later.len() / 2]);
    let (ratio, spread) = (first / median, (later[later.len() - 1] - later[0]) / median);
    if FIRST_PASS.contains(&ratio) || (ratio - 1.0).abs() < BEYOND_LATER_PASSES * spread {
        return None;
    }
    let text = format!(
        "Pass 1 reached {} of the throughput of the later passes ({} and {} per second).",
        percent(ratio),
        size(first),
        size(median)
    );
    let remedy =
        "Give the first pass and the later ones apart: the first one met another state of the target.";
    Some(
        Finding::at(level, text, PASSES)
            .remedy(remedy)
            .with("first_pass_ratio", ratio)
            .with("later_spread", spread),
    )
}

/// `2026-11-20 14:03 UTC`.
fn date(unix: u64) -> String {
    let time = i64::try_from(unix).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    time.unwrap_or(jiff::Timestamp::MAX).strftime("%Y-%m-%d %H:%M UTC").to_string()
}

/// Bytes by which files of the targets, and below them, have grown; `None` if not examined.
fn grown(case: &Case<'_>) -> Option<f64> {
    let (before, after) = (allocated(&case.before.targets)?, allocated(&case.after?.targets)?);
    Some(after.saturating_sub(before) as f64)
}

fn allocated(targets: &[TargetFacts]) -> Option<u64> {
    let files = targets.iter().flat_map(parts).filter_map(|part| match part {
        Part::File(file) => Some(file.allocated.known().copied()),
        _ => None,
    });
    let all: Option<Vec<u64>> = files.collect();
    all.filter(|all| !all.is_empty()).map(|all| all.iter().sum())
}

/// Bytes touched on targets whose used range held no data. Their blocks may have been allocated before.
fn fresh(case: &Case<'_>) -> Option<f64> {
    let reach = |number: usize| case.tally.places().reach_of(number);
    let planned = case.planned();
    let used =
        planned.targets.iter().enumerate().filter_map(|(number, target)| Some((target, reach(number)?)));
    let is_fresh = used.clone().all(|(target, reach)| {
        target.info.hole_bytes as f64 >= ALL_UNWRITTEN * target.reach() as f64 && reach.span() > 0
    });
    (is_fresh && used.count() > 0).then(|| case.tally.places().touched_bytes() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;
    use iosonar_analyze::Detection;
    use iosonar_evidence::ExtentRuns;

    fn lab() -> Lab {
        Lab::new().writes(1_000, 65_536).on_file_system("ext4", "vda")
    }

    #[test]
    fn reports_grown_file() {
        let grew = lab().allocated(0, 32 << 20);
        let seen = grew.detection(&DETECTOR).unwrap();
        assert_eq!(seen.level, Level::Caution);
        assert!(seen.text.starts_with("32.0 MiB were allocated"), "{}", seen.text);
        assert_eq!(grew.claiming(Claim::Filesystem).detection(&DETECTOR).unwrap().level, Level::Info);
    }

    /// The fourth lie of spec 2.3: the blocks of a preallocated file are all there.
    #[test]
    fn reports_unwritten_preallocated_blocks() {
        let fallocated = lab().allocated(1 << 30, 1 << 30).holes(1 << 30, 1 << 30);
        assert_eq!(fallocated.detection(&DETECTOR).unwrap().level, Level::Caution);
    }

    #[test]
    fn accepts_filled_file_and_skips_unknown_mappings() {
        let full = lab().allocated(1 << 30, (1 << 30) + 4096).holes(0, 1 << 30);
        assert_eq!(full.detection(&DETECTOR).unwrap().level, Level::Ok);
        assert_eq!(lab().detection(&DETECTOR), None);
        let disk = Lab::new().writes(1_000, 65_536).on_disk("vda").scheduler_after("none");
        assert_eq!(disk.detection(&DETECTOR), None, "nobody sees into a disk");
    }

    /// An earlier run wrote the first half of what this one writes.
    fn second(lab: Lab) -> Lab {
        lab.holes(0, 1 << 30).written(0, 1 << 30).former_run(0, 1 << 29)
    }

    fn seen(lab: &Lab) -> Detection {
        lab.detection(&DETECTOR).unwrap()
    }

    #[test]
    fn earlier_run_is_a_caution_where_blocks_move() {
        let told = seen(&second(lab()));
        let expected = "A range of /target was written by the run of 2026-11-20 14:03 UTC (result /results/7), and not filled again by iosonar \
                        since.";
        assert_eq!((told.level, told.text.as_str()), (Level::Info, expected));
        let moving = second(Lab::new().writes(1_000, 65_536).on_file_system("btrfs", "vda"));
        assert_eq!(seen(&moving).level, Level::Caution);
        assert_eq!(seen(&moving.claiming(Claim::Filesystem)).level, Level::Info);
        assert_eq!(seen(&moving.claiming(Claim::Cache)).level, Level::Ok);
        assert!(seen(&moving).text.ends_with("; btrfs puts what is written again to another place."));
        let shared = ExtentRuns { runs: 1, bytes: 9, shared_bytes: 9, ..ExtentRuns::default() };
        assert_eq!(seen(&second(lab()).extents(shared)).level, Level::Caution);
        assert_eq!(seen(&second(lab()).holes(1 << 28, 1 << 30)).level, Level::Caution);
        assert_eq!(seen(&second(moving).changed_since()).level, Level::Info);
    }

    #[test]
    fn second_replay_on_opaque_device_is_a_caution() {
        let replay = |lab: Lab| second(lab.recorded()).claiming(Claim::Replay);
        let writes = || Lab::new().writes(1_000, 65_536);
        assert_eq!(seen(&replay(writes().on_disk("vda"))).level, Level::Caution);
        assert_eq!(seen(&replay(writes().on_loop(true))).level, Level::Info);
        assert_eq!(seen(&replay(lab())).level, Level::Info);
        assert_eq!(seen(&second(writes().on_disk("vda"))).level, Level::Info);
    }

    #[test]
    fn accepts_unwritten_range_and_broken_ledger_is_unknown() {
        assert_eq!(seen(&lab().written(1 << 29, 1 << 30).former_run(0, 1 << 29)).level, Level::Ok);
        let unknown = seen(&lab().written(0, 4096).allocated(1 << 30, 1 << 30).without_ledger("it is torn"));
        assert_eq!(unknown.level, Level::Unknown);
        assert!(unknown.text.contains("is not known: it is torn."), "{}", unknown.text);
        assert_eq!(second(lab()).reads_only().detection(&DETECTOR), None, "reads change nothing");
    }

    /// Passes with these latencies in µs.
    fn passes(latencies: &[u64]) -> Lab {
        let lab = latencies.iter().enumerate().fold(Lab::new(), |lab, (pass, latency)| {
            lab.in_pass(pass as u32).latency_ns(latency * 1_000).writes(20_000, 65_536)
        });
        lab.on_disk("vda").with_passes()
    }

    #[test]
    fn reports_differing_first_pass() {
        let told = seen(&passes(&[160, 100, 101, 99]));
        assert_eq!(told.level, Level::Caution);
        assert!(told.text.starts_with("Pass 1 reached 62.5 % of the throughput"), "{}", told.text);
        // If nothing was allocated, the reason is another one.
        let settled = passes(&[160, 100, 101, 99]).on_file_system("ext4", "vda").allocated(1 << 30, 1 << 30);
        assert_eq!(seen(&settled).level, Level::Info);
    }

    #[test]
    fn skips_equal_varying_or_too_few_passes() {
        for latencies in [&[110, 100, 101][..], &[160, 100, 140, 120], &[160, 100]] {
            assert_eq!(passes(latencies).detection(&DETECTOR), None, "{latencies:?}");
        }
    }

    #[test]
    fn few_writes_to_a_hole_are_first_ones() {
        let few = Lab::new().writes(10, 4096).on_file_system("ext4", "vda");
        let seen = few.clone().holes(1 << 29, 1 << 30).detection(&DETECTOR).unwrap();
        assert_eq!(seen.level, Level::Caution);
        assert!(seen.text.contains("was never written before the run"), "{}", seen.text);
        assert!(few.holes(0, 1 << 30).detection(&DETECTOR).is_none_or(|seen| seen.level < Level::Caution));
    }
}
