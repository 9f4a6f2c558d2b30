//! The judgement of a run on several machines, from those of each machine on its part.

use crate::verdict::{after_errors, sentence};
use iosonar_analyze::{Detection, DetectorId, HostFacts, HostReport, Judgement, Level, Verdict};
use iosonar_archive::RunInfo;
use iosonar_plan::Plan;

/// Detections of the whole run that each machine makes better for its own part.
const OF_MACHINES: [DetectorId; 4] = [
    DetectorId::NotObservable,
    DetectorId::ReadsNotFromDevice,
    DetectorId::WritesNotOnDevice,
    DetectorId::CpuDisturbed,
];

/// The judgement of the whole, with the findings of each machine; `whole` is the one that can be made here. The result is as bad
/// as its worst part. A machine that was lost has no judgement, which is a fact that is missing.
pub fn of_hosts(
    whole: Judgement,
    plan: &Plan,
    run: &RunInfo,
    hosts: &[HostFacts],
    reports: &[HostReport],
) -> Judgement {
    if reports.is_empty() || whole.verdict == Verdict::NotMeasured {
        return whole;
    }
    let is_of_machine = |one: &Detection| OF_MACHINES.contains(&one.id) && one.level <= Level::Caution;
    let mut detections: Vec<Detection> =
        whole.detections.into_iter().filter(|one| !is_of_machine(one)).collect();
    let (mut verdict, mut missing) = (Verdict::Trustworthy, Vec::new());
    for (number, report) in reports.iter().enumerate() {
        let name = report.name();
        let Some(own) = &report.judgement else {
            let is_lost = hosts.get(number).is_some_and(|host| host.lost.is_some());
            let why = if is_lost { "it was lost" } else { "it did not sum up its part" };
            missing.push(format!("what {name} saw: {why}"));
            continue;
        };
        verdict = verdict.max(own.verdict);
        missing.extend(own.missing.iter().map(|fact| format!("{name}: {fact}")));
        detections.extend(own.detections.iter().map(|one| on(name, one)));
    }
    missing.extend(hosts.iter().filter_map(stepped));
    detections.sort_by_key(|one| std::cmp::Reverse((one.is_proof, one.level)));
    let is_doubtful = !missing.is_empty() || detections.iter().any(Detection::is_reported);
    if verdict == Verdict::Trustworthy && is_doubtful {
        verdict = Verdict::Care;
    }
    let sentence = after_errors(run, sentence(whole.claim, &plan.engine, verdict, &detections, &missing));
    Judgement { verdict, sentence, missing, detections, fake_targets: Vec::new(), ..whole }
}

/// A detection of a machine, with its name.
fn on(name: &str, one: &Detection) -> Detection {
    Detection {
        text: format!("{name}: {}", one.text),
        source: format!("{name}: {}", one.source),
        ..one.clone()
    }
}

/// A clock that stepped: times of its machine cannot be compared with those of others.
fn stepped(host: &HostFacts) -> Option<String> {
    let at = host.clock?.stepped_at_ns? as f64 / 1e9;
    Some(format!(
        "{}: the order of its requests among others, as its clock stepped at {at:.1} s",
        host.figures.name
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_analyze::Channel;
    use iosonar_plan::{Claim, Phase, Target};

    fn judgement(verdict: Verdict, detections: Vec<Detection>) -> Judgement {
        Judgement {
            thresholds: 1,
            claim: Claim::Device,
            verdict,
            sentence: String::new(),
            missing: Vec::new(),
            detections,
            fake_targets: Vec::new(),
        }
    }

    fn detection(id: DetectorId, level: Level, is_proof: bool) -> Detection {
        Detection {
            id,
            level,
            channel: Channel::Accounting,
            text: "half of it".into(),
            remedy: String::new(),
            evidence: Vec::new(),
            source: "counters".into(),
            effect: None,
            during: None,
            is_proof,
            explained_by: None,
        }
    }

    fn report(name: &str, judgement: Option<Judgement>) -> HostReport {
        HostReport { name: Some(name.into()), judgement, ..HostReport::default() }
    }

    fn judged(reports: &[HostReport]) -> Judgement {
        let blind = detection(DetectorId::NotObservable, Level::Caution, false);
        let plan = Plan::new(1, vec![Target::new("x")], vec![Phase::of(Vec::new())]);
        let run = RunInfo::new("tool", "", Vec::new());
        of_hosts(judgement(Verdict::Care, vec![blind]), &plan, &run, &[], reports)
    }

    #[test]
    fn whole_is_as_bad_as_its_worst_machine() {
        let good = || report("a", Some(judgement(Verdict::Trustworthy, Vec::new())));
        let all = judged(&[good(), good()]);
        assert_eq!((all.verdict, all.detections.len()), (Verdict::Trustworthy, 0));
        let proof = detection(DetectorId::ReadsNotFromDevice, Level::Fail, true);
        let fake = report("b", Some(judgement(Verdict::Fake, vec![proof])));
        let all = judged(&[good(), fake]);
        assert_eq!((all.verdict, all.detections[0].text.as_str()), (Verdict::Fake, "b: half of it"));
        assert!(
            all.sentence.contains("FAKE") && all.sentence.contains("reads-not-from-device"),
            "{}",
            all.sentence
        );
    }

    #[test]
    fn machine_without_a_judgement_is_a_missing_fact() {
        let all =
            judged(&[report("a", Some(judgement(Verdict::Trustworthy, Vec::new()))), report("b", None)]);
        assert_eq!(
            (all.verdict, all.missing[0].as_str()),
            (Verdict::Care, "what b saw: it did not sum up its part")
        );
        assert!(all.sentence.contains("what b saw: it did not sum up its part"), "{}", all.sentence);
    }

    #[test]
    fn without_reports_the_judgement_stays() {
        assert_eq!(judged(&[]).detections[0].id, DetectorId::NotObservable);
    }
}
