//! Forms a verdict from detections.

use crate::cautions::has_warning;
use crate::detectors::{DETECTORS, detector_of, noisy, stalls_hidden};
use crate::explained::explain;
use crate::forecast::fake_targets;
use crate::thresholds::{LEAST_BYTES, LEAST_EFFECT, THRESHOLDS_VERSION};
use crate::{Case, Detector};
use iosonar_analyze::findings::TimeRange;
use iosonar_analyze::{Channel, Detection, DetectorId, During, FakeTarget, Judgement, Level, Verdict};
use iosonar_archive::RunInfo;
use iosonar_plan::{Claim, Engine};
use iosonar_text::shown;
use std::cmp::Reverse;

/// Maximum names in the sentence of a verdict.
const MOST_NAMED: usize = 3;

/// Judges a result: runs all detectors, lets causes explain their symptoms, and forms the verdict.
pub fn judge(case: &Case<'_>) -> Judgement {
    let claim = case.claim();
    let mut detections = detect_all(case, DETECTORS);
    if case.is_recording() {
        // A system's behaviour is not judged, only whether all of it was recorded.
        detections.retain(|one| one.id == DetectorId::TraceIncomplete);
    }
    detections.extend(not_observable(claim, &detections));
    let spread = spread(&detections);
    detections.iter_mut().for_each(|detection| gate(detection, spread));
    explain(&mut detections, |symptom| cpu_accounts_for(case, symptom));
    let missing = if case.is_real() { missing(case, &detections) } else { Vec::new() };
    // Definitional detections first, as they may be the cause of another proof.
    let causes: Vec<DetectorId> =
        detections.iter().filter(|one| one.is_proof).filter_map(|one| one.explained_by).collect();
    let proves = |one: &Detection| one.is_proof || causes.contains(&one.id);
    detections.sort_by_key(|one| Reverse((proves(one), one.level)));
    let verdict = verdict(case, &detections, &missing);
    let fake_targets =
        if verdict == Verdict::Fake { fake_targets(&case.planned(), claim) } else { Vec::new() };
    let sentence = match account_for_all(&fake_targets, &detections) {
        true => fake_in_part(claim, &fake_targets, case.run.targets.len()),
        false => sentence(claim, &case.plan.engine, verdict, &detections, &missing),
    };
    let sentence = after_errors(case.run, sentence);
    Judgement { thresholds: THRESHOLDS_VERSION, claim, verdict, sentence, missing, detections, fake_targets }
}

/// The sentence of a verdict, after the errors in the data if there are any.
pub(crate) fn after_errors(run: &RunInfo, sentence: String) -> String {
    data_errors(run).map_or(sentence.clone(), |errors| format!("{errors}; {sentence}"))
}

fn detect_all(case: &Case<'_>, detectors: &[Detector]) -> Vec<Detection> {
    let claim = case.claim();
    detectors
        .iter()
        .filter_map(|detector| Some(detector.detection((detector.detect)(case)?, claim)))
        .collect()
}

fn level_of(detections: &[Detection], id: DetectorId) -> Option<Level> {
    detections.iter().find(|detection| detection.id == id).map(|detection| detection.level)
}

/// A separate caution, if a claim needs the account of bytes and it cannot be observed.
fn not_observable(claim: Claim, detections: &[Detection]) -> Option<Detection> {
    let is_needed = matches!(claim, Claim::Device | Claim::Replay);
    let is_memory = level_of(detections, DetectorId::MemoryTarget) >= Some(Level::Info);
    let accounts = [DetectorId::ReadsNotFromDevice, DetectorId::WritesNotOnDevice];
    let blind = detections.iter().find(|one| one.level == Level::Unknown && accounts.contains(&one.id))?;
    (is_needed && !is_memory).then(|| Detection {
        id: DetectorId::NotObservable,
        level: Level::Caution,
        channel: Channel::Accounting,
        text: blind.text.clone(),
        remedy: "Measure the device or a file on a local file system; or say what is measured with --claim filesystem.".into(),
        evidence: Vec::new(),
        source: blind.source.clone(),
        effect: None,
        during: None,
        is_proof: false,
        explained_by: None,
    })
}

/// Variation of the run's level; 0 if unknown.
fn spread(detections: &[Detection]) -> f64 {
    let noisy = detections.iter().find(|one| one.id == DetectorId::Noisy);
    noisy.and_then(|one| one.evidence.first()).map_or(0.0, |evidence| evidence.value)
}

/// An effect that is known, and small compared with the variation of the run, is reported as info.
fn gate(detection: &mut Detection, spread: f64) {
    let is_small = |factor: f64| (factor - 1.0).abs() < LEAST_EFFECT.min(spread / 2.0);
    if detection.level == Level::Caution && detection.effect.is_some_and(is_small) {
        detection.level = Level::Info;
    }
}

/// Whether the time without a CPU accounts for the observation: at least for half of it, because neither is exact.
fn cpu_accounts_for(case: &Case<'_>, symptom: &Detection) -> bool {
    let without_cpu = &case.samples.without_cpu;
    let run =
        TimeRange { from_ns: case.summary.span.first_due_ns.unwrap_or(0), to_ns: case.summary.span.end_ns() };
    let lost_ns = without_cpu.within_ns(run) as f64;
    let lost = lost_ns / run.length_ns().max(1) as f64;
    let evidence = |name| symptom.evidence.iter().find(|one| one.name == name).map(|one| one.value);
    // Fraction of the level lost by a factor.
    let cost = |factor: f64| 1.0 - factor.min(1.0 / factor);
    match symptom.id {
        DetectorId::StallsHidden => match symptom.during {
            Some(During { from_ns, to_ns }) => without_cpu.accounts_for(TimeRange { from_ns, to_ns }),
            None => {
                evidence(stalls_hidden::LONGEST_SECONDS).is_some_and(|longest| 2.0 * lost_ns >= longest * 1e9)
            }
        },
        // Each latency that a loss of CPU makes longer counts, and there may be few of them.
        DetectorId::NotSteady | DetectorId::Noisy if case.plan.has_timetable() => true,
        // The time may have been lost in a part of the run alone, and a quarter is the shortest part that is compared.
        DetectorId::NotSteady => symptom.effect.is_none_or(|ratio| 2.0 * lost >= cost(ratio) / 4.0),
        // Where a share `p` of the time is lost at once, the others are equal, and the variation is the root of `p / (1 - p)`.
        DetectorId::Noisy => evidence(noisy::VARIATION).is_none_or(|v| 2.0 * lost >= v * v / (1.0 + v * v)),
        _ => symptom.effect.is_none_or(|factor| 2.0 * lost >= cost(factor)),
    }
}

/// Unknown facts that a trustworthy result of the claim needs.
fn missing(case: &Case<'_>, detections: &[Detection]) -> Vec<String> {
    let mut missing = Vec::new();
    let is_known = |id| level_of(detections, id).is_some_and(|level| level != Level::Unknown);
    let mut account = |asked: f64, id, what: &str| {
        if asked > 0.0 && !is_known(id) {
            let why = if asked < LEAST_BYTES as f64 { " (too few bytes to tell)" } else { "" };
            missing.push(format!("{what}{why}"));
        }
    };
    let claim = case.claim();
    if matches!(claim, Claim::Device | Claim::Replay) {
        account(case.reads().asked, DetectorId::ReadsNotFromDevice, "whether reads came from the device");
    }
    if claim != Claim::Cache {
        account(
            case.writes().asked,
            DetectorId::WritesNotOnDevice,
            "whether written data reached the device",
        );
    }
    // Its bytes are counted, but not whether a device served them.
    if matches!(claim, Claim::Device | Claim::Replay) && !case.reads().servers.is_empty() {
        missing.push("whether the NFS server answered from its own memory".into());
    }
    if level_of(detections, DetectorId::NotSteady).is_none() && claim != Claim::Replay {
        missing
            .push("whether the level stayed: there are too few requests, or several phases or passes".into());
    }
    if !is_known(DetectorId::CpuDisturbed) {
        missing.push("whether the generator had its CPUs".into());
    }
    if let Some(short) = detections.iter().find(|one| one.id == DetectorId::TooShort && one.level > Level::Ok)
    {
        missing.push(short.text.trim_end_matches('.').to_string());
    }
    missing
}

fn is_witness(one: &Detection) -> bool {
    one.level == Level::Fail && detector_of(one.id).is_some_and(|detector| detector.is_witness)
}

fn verdict(case: &Case<'_>, detections: &[Detection], missing: &[String]) -> Verdict {
    if !case.is_real() && !case.is_recording() {
        return Verdict::NotMeasured;
    }
    // One proof, or two that cannot share one error.
    let has_proof = detections.iter().any(|one| one.is_proof);
    let fails = || detections.iter().filter(|one| is_witness(one) && one.explained_by.is_none());
    let has_two = fails().any(|one| fails().any(|other| other.channel != one.channel));
    if has_proof || has_two {
        return Verdict::Fake;
    }
    let has_errors = data_errors(case.run).is_some();
    match has_errors
        || has_warning(case.summary, case.plan)
        || detections.iter().any(Detection::is_reported)
        || !missing.is_empty()
    {
        true => Verdict::Care,
        false => Verdict::Trustworthy,
    }
}

/// Faults found by verification; `None` if there are none, or nothing was verified. It precedes any figure.
fn data_errors(run: &RunInfo) -> Option<String> {
    let verified = run.verified.as_ref().filter(|verified| verified.total() > 0);
    if let Some(verified) = verified {
        let total = verified.total();
        return Some(format!(
            "DATA ERRORS: {total} {} in the data",
            if total == 1 { "fault" } else { "faults" }
        ));
    }
    let bad = run.miscompared();
    (bad > 0).then(|| {
        format!(
            "DATA ERRORS: the data of {bad} {} is not what it should be",
            if bad == 1 { "request" } else { "requests" }
        )
    })
}

/// The reason why a run measured no target.
fn without_target(engine: &Engine) -> &'static str {
    match engine {
        Engine::Null => "engine null executes no request",
        Engine::Sim(_) => "a simulated target answered",
        _ => "the requests are those of another program",
    }
}

pub(crate) fn sentence(
    claim: Claim,
    engine: &Engine,
    verdict: Verdict,
    detections: &[Detection],
    missing: &[String],
) -> String {
    let mut told: Vec<&str> = Vec::new();
    for name in detections.iter().filter(|one| one.is_reported()).map(|one| one.id.name()) {
        // Several hosts may report the same.
        if !told.contains(&name) {
            told.push(name);
        }
    }
    match verdict {
        Verdict::Trustworthy => format!("trustworthy: {}", reasons(detections)),
        Verdict::NotMeasured => format!("no storage result: {}", without_target(engine)),
        Verdict::Fake => {
            format!("FAKE as a {claim} result: {}{}", first_names(&told), what_it_is(detections))
        }
        Verdict::Care if !told.is_empty() => format!("read with care: {}", first_names(&told)),
        Verdict::Care => match missing.first() {
            Some(missing) => format!("read with care: {missing}"),
            None => "read with care: see the cautions".into(),
        },
    }
}

/// Whether only these targets make a result fake.
fn account_for_all(fakes: &[FakeTarget], detections: &[Detection]) -> bool {
    let proves_a_target = |id| fakes.iter().any(|fake| fake.proofs.contains(&id));
    let is_accounted_for =
        |one: &Detection| proves_a_target(one.id) || one.explained_by.is_some_and(proves_a_target);
    let mut makes_fake = detections.iter().filter(|one| one.is_proof || is_witness(one));
    !fakes.is_empty() && makes_fake.all(is_accounted_for)
}

/// The sentence of a result that some of its targets make fake: which ones, and why.
fn fake_in_part(claim: Claim, fakes: &[FakeTarget], all: usize) -> String {
    let mut proofs: Vec<&str> = Vec::new();
    for proof in fakes.iter().flat_map(|fake| &fake.proofs) {
        if !proofs.contains(&proof.name()) {
            proofs.push(proof.name());
        }
    }
    let paths: Vec<String> = fakes.iter().map(|fake| shown(&fake.path).to_string()).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    format!(
        "FAKE as a {claim} result, because {} of {all} targets {}: {} ({})",
        fakes.len(),
        if fakes.len() == 1 { "is" } else { "are" },
        first_names(&paths),
        first_names(&proofs)
    )
}

/// A list of names; of many the first ones, and the number of others.
fn first_names(names: &[&str]) -> String {
    let more = names.len().saturating_sub(MOST_NAMED);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{rest}", names[..names.len() - more].join(", "))
}

/// Evidence for a result, in a few words: the first sentence of each detection.
fn reasons(detections: &[Detection]) -> String {
    let ids = [
        DetectorId::ReadsNotFromDevice,
        DetectorId::WritesNotOnDevice,
        DetectorId::NotSteady,
        DetectorId::ForeignIo,
        DetectorId::TraceIncomplete,
    ];
    let of = |id| detections.iter().find(|one: &&Detection| one.id == id && one.level == Level::Ok);
    let first = |one: &'_ Detection| {
        one.text.split(". ").next().unwrap_or_default().trim_end_matches('.').to_string()
    };
    let texts: Vec<String> = ids.into_iter().filter_map(of).map(first).collect();
    texts.join("; ")
}

/// Describes what a figure measures instead of its claim.
fn what_it_is(detections: &[Detection]) -> &'static str {
    let has_failed = |id| level_of(detections, id) == Some(Level::Fail);
    if has_failed(DetectorId::MemoryTarget) {
        "; this is the speed of memory"
    } else if has_failed(DetectorId::UnmappedTarget) {
        "; this is the speed of zeros that are stored nowhere"
    } else if has_failed(DetectorId::ReadsNotFromDevice) || has_failed(DetectorId::WritesNotOnDevice) {
        "; this is the speed of the page cache"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    fn clean() -> Lab {
        let lab = Lab::new().latency_ns(10_000_000).reads(4_000, 65_536).on_disk("vda");
        lab.process_read(262_144_000)
            .device_read("vda", 262_200_000)
            .device_written("vda", 0)
            .cpu(1_000.0, 0.0)
    }

    #[test]
    fn clean_run_is_trustworthy_with_reasons() {
        let judgement = clean().judgement();
        assert_eq!(judgement.verdict, Verdict::Trustworthy, "{judgement:?}");
        let expected = "trustworthy: 100 % of the bytes read came from vda; The level stayed the same; Nobody else used vda";
        assert_eq!(judgement.sentence, expected);
        assert_eq!(clean().cautions(), []);
    }

    #[test]
    fn cause_hides_symptoms_and_proof_is_fake() {
        let lab = Lab::new()
            .latency_ns(700)
            .reads(40_000, 4096)
            .on_file_system("ext4", "vda")
            .holes(1 << 30, 1 << 30);
        let judgement = lab.process_read(0).device_read("vda", 0).cpu(1_000.0, 0.0).judgement();
        assert_eq!(judgement.verdict, Verdict::Fake);
        let told: Vec<DetectorId> = judgement.reported().map(|one| one.id).collect();
        assert_eq!(told, [DetectorId::UnmappedTarget]);
        let symptom = judgement.of(DetectorId::ReadsNotFromDevice).unwrap();
        assert_eq!((symptom.level, symptom.explained_by), (Level::Fail, Some(DetectorId::UnmappedTarget)));
        let expected =
            "FAKE as a device result: unmapped-target; this is the speed of zeros that are stored nowhere";
        assert_eq!(judgement.sentence, expected);
    }

    #[test]
    fn unobservable_run_is_read_with_care() {
        let lab = Lab::new()
            .latency_ns(700)
            .reads(40_000, 4096)
            .on_file_system("fuse.bindfs", "")
            .cpu(1_000.0, 0.0);
        let judgement = lab.process_read(0).judgement();
        assert_eq!(judgement.verdict, Verdict::Care, "{judgement:?}");
        assert!(judgement.of(DetectorId::NotObservable).is_some());
    }

    #[test]
    fn run_matching_its_claim_has_no_cautions() {
        let cached =
            Lab::new().latency_ns(700).reads(40_000, 4096).on_file_system("tmpfs", "").cpu(1_000.0, 0.0);
        let judgement = cached.claiming(Claim::Cache).judgement();
        assert_eq!(judgement.reported().count(), 0, "{judgement:?}");
        assert_ne!(judgement.verdict, Verdict::Fake);
    }

    #[test]
    fn single_statistical_failure_is_not_fake() {
        let lab =
            Lab::new().latency_ns(1_000_000).reads(20_000, 4096).latency_ns(3_500_000).reads(6_000, 4096);
        let lab = lab.on_disk("vda").process_read(106_496_000).device_read("vda", 106_496_000);
        let judgement = lab.device_written("vda", 0).cpu(1_000.0, 0.0).judgement();
        assert_eq!(judgement.of(DetectorId::NotSteady).unwrap().level, Level::Fail);
        assert_eq!(judgement.verdict, Verdict::Care, "{}", judgement.sentence);
    }

    #[test]
    fn effects_small_against_spread_are_info() {
        let judgement = clean().delivered_share(0.97).judgement();
        let behind = judgement.of(DetectorId::CannotKeepUp).unwrap();
        assert_eq!(behind.level, Level::Caution);
        let (mut loud, mut silent) = (behind.clone(), behind.clone());
        gate(&mut loud, 0.04);
        gate(&mut silent, 0.08);
        assert_eq!((loud.level, silent.level), (Level::Caution, Level::Info));
    }

    #[test]
    fn verdict_names_fake_causes_first() {
        let lab =
            Lab::new().latency_ns(1_000_000).reads(20_000, 4096).latency_ns(400_000).reads(20_000, 4096);
        let lab = lab.on_loop(false).process_read(163_840_000).device_read("loop0", 163_840_000);
        let judgement = lab.device_read("vda", 0).cpu(1_000.0, 0.0).judgement();
        assert_eq!(judgement.of(DetectorId::NotSteady).unwrap().level, Level::Fail);
        assert!(
            judgement.sentence.starts_with("FAKE as a device result: page-cache-in-path, not-steady"),
            "{judgement:#?}"
        );
    }

    #[test]
    fn attributes_stall_to_generator_without_cpu() {
        let stalled = || {
            Lab::new()
                .latency_ns(1_000_000)
                .reads(3_000, 4096)
                .latency_ns(1_000_000_000)
                .reads(1, 4096)
                .cpu(1_000.0, 0.0)
        };
        let explained = |lab: Lab| {
            let judgement = lab.judgement();
            assert!(judgement.of(DetectorId::CpuDisturbed).unwrap().level >= Level::Caution, "{judgement:?}");
            judgement.of(DetectorId::StallsHidden).unwrap().explained_by
        };
        assert_eq!(explained(stalled().issuing(0.4e9, 0.3e9)), None);
        // The stall begins after three seconds.
        let halted = |at_ns, ns| explained(stalled().halted_until(at_ns, ns));
        assert_eq!(halted(4_000_000_000, 0.9e9), Some(DetectorId::CpuDisturbed));
        assert_eq!(halted(2_000_000_000, 0.9e9), None);
    }

    #[test]
    fn cpu_disturbance_explains_only_its_share() {
        let behind = |share: f64, waited_ns: f64| {
            let lab = clean().delivered_share(share).issuing(1e9, waited_ns);
            let judgement = lab.judgement();
            assert!(judgement.of(DetectorId::CpuDisturbed).unwrap().is_reported(), "{judgement:?}");
            judgement.of(DetectorId::CannotKeepUp).unwrap().explained_by
        };
        assert_eq!(behind(0.97, 3e9), Some(DetectorId::CpuDisturbed));
        assert_eq!(behind(0.2, 3e9), None);
    }
}
