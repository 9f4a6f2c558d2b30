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

/// Most machines whose equal findings are listed one by one.
const MOST_LISTED: usize = 3;

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
    let (mut found, mut unknown) = (Vec::new(), Vec::new());
    for (number, report) in reports.iter().enumerate() {
        let name = report.name();
        let Some(own) = &report.judgement else {
            let is_lost = hosts.get(number).is_some_and(|host| host.lost.is_some());
            let why = if is_lost { "it was lost" } else { "it did not sum up its part" };
            missing.push(format!("what {name} saw: {why}"));
            continue;
        };
        verdict = verdict.max(own.verdict);
        unknown.extend(own.missing.iter().map(|fact| (name, fact)));
        found.extend(own.detections.iter().map(|one| (name, one)));
    }
    let facts = alike(&unknown, |a, b| a == b, |_| 0.0);
    missing.extend(facts.into_iter().map(|(name, fact, others)| match others {
        0 => format!("{name}: {fact}"),
        others => format!("{name} and {others} others: {fact}"),
    }));
    let kind = |one: &Detection| (one.id, one.level, one.is_proof);
    let of_kinds = alike(&found, |a, b| kind(a) == kind(b), |one| one.effect.unwrap_or(0.0));
    detections.extend(of_kinds.into_iter().map(|(name, one, others)| on(name, one, others)));
    missing.extend(hosts.iter().filter_map(stepped));
    detections.sort_by_key(|one| std::cmp::Reverse((one.is_proof, one.level)));
    let is_doubtful = !missing.is_empty() || detections.iter().any(Detection::is_reported);
    if verdict == Verdict::Trustworthy && is_doubtful {
        verdict = Verdict::Care;
    }
    let sentence = after_errors(run, sentence(whole.claim, &plan.engine, verdict, &detections, &missing));
    Judgement { verdict, sentence, missing, detections, fake_targets: Vec::new(), ..whole }
}

/// Findings with the names of their machines. Of more than [`MOST_LISTED`] machines with equal ones, one is listed: the first of the `greatest`
/// ones, with the number of the other machines.
fn alike<'a, T>(
    found: &[(&'a str, &'a T)],
    is_equal: impl Fn(&T, &T) -> bool,
    size: impl Fn(&T) -> f64,
) -> Vec<(&'a str, &'a T, usize)> {
    let mut listed: Vec<(&str, &T, usize)> = Vec::new();
    for (name, one) in found {
        let equal = || found.iter().filter(|(_, other)| is_equal(one, other));
        let mut names: Vec<&str> = equal().map(|(name, _)| *name).collect();
        names.dedup();
        if names.len() <= MOST_LISTED {
            listed.push((name, one, 0));
        } else if !listed.iter().any(|(_, other, _)| is_equal(one, other)) {
            let greatest =
                equal().fold(
                    (name, one),
                    |most, (name, other)| {
                        if size(other) > size(most.1) { (name, other) } else { most }
                    },
                );
            listed.push((greatest.0, greatest.1, names.len() - 1));
        }
    }
    listed
}

/// A detection of a machine, with its name, and the number of others that have one of its kind.
fn on(name: &str, one: &Detection, others: usize) -> Detection {
    let also = if others > 0 {
        format!(" {others} others have such a finding, with figures of their own.")
    } else {
        String::new()
    };
    Detection {
        text: format!("{name}: {}{also}", one.text),
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
    fn equal_findings_of_many_machines_are_one() {
        let care = || {
            judgement(Verdict::Care, vec![detection(DetectorId::FreshOrWarmMapping, Level::Caution, false)])
        };
        let mut reports: Vec<HostReport> =
            (0..64).map(|n| report(&format!("rank{n}"), Some(care()))).collect();
        reports[9].judgement.as_mut().unwrap().detections[0].effect = Some(2.0);
        reports[7].judgement.as_mut().unwrap().missing = vec!["its temperature".into()];
        let all = judged(&reports);
        assert_eq!(all.detections.len(), 1);
        let also = "63 others have such a finding, with figures of their own.";
        assert_eq!(all.detections[0].text, format!("rank9: half of it {also}"));
        assert_eq!(all.missing, ["rank7: its temperature"]);
        assert_eq!(judged(&reports[..3]).detections.len(), 3);
        // Several of one machine are not several machines.
        let mut several = care();
        several.detections = vec![several.detections[0].clone(); 5];
        assert_eq!(judged(&[report("a", Some(several))]).detections.len(), 5);
    }

    #[test]
    fn without_reports_the_judgement_stays() {
        assert_eq!(judged(&[]).detections[0].id, DetectorId::NotObservable);
    }
}
