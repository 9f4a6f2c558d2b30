//! Figures of the machines of a run on several.

use crate::parts::PartsTally;
use crate::{Cause, Judgement, PartStats, Story, Summary, Verdict};
use iosonar_archive::{ClockFacts, HostLost, HostRun, RunInfo};
use serde::{Deserialize, Serialize};

/// A machine of a run on several, with its figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostFacts {
    /// Figures of its targets; `here` is the name of the machine of the coordinator.
    #[serde(flatten)]
    pub figures: PartStats,
    /// Numbers of its targets.
    pub targets: Vec<u16>,
    /// How exactly its clock is known; absent where it is that of the coordinator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockFacts>,
    /// When it was lost; absent if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<HostLost>,
    /// Directory of its records on that machine, if they stay there until they are collected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<String>,
    /// The verdict that it made of its part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Its other findings.
    #[serde(flatten)]
    pub findings: HostFindings,
}

/// The findings of a machine on its part of a run, beside its judgement.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct HostFindings {
    /// The headline of its story.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headline: Option<String>,
    /// The reasons of its story.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<String>,
    /// The cause of most of the time that its requests lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The part of that time with this cause, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_request_seconds: Option<f64>,
    /// The remedy that it names.
    #[serde(default, rename = "try", skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// The findings of a machine on its part of a run: `hosts.json` of an archive has those of each.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct HostReport {
    /// Its name in the plan; absent for the machine of the coordinator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its judgement; absent if it was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judgement: Option<Judgement>,
    /// Its other findings.
    #[serde(flatten)]
    pub findings: HostFindings,
}

/// Name of the machine of the coordinator.
pub const THIS_HOST: &str = "here";

impl HostFindings {
    fn of(story: &Story) -> HostFindings {
        HostFindings {
            headline: Some(story.headline.clone()),
            because: story.because.iter().map(|one| one.text.clone()).collect(),
            cause: story.main_cause(),
            lost_request_seconds: story.shares.first().map(|most| story.lost_request_seconds * most.share),
            remedy: story.remedy.clone(),
        }
    }
}

impl HostReport {
    /// The findings in the summary of a part.
    pub fn of(name: Option<String>, summary: Option<Summary>) -> HostReport {
        let story = summary.as_ref().and_then(|summary| summary.story.as_ref());
        HostReport {
            name,
            findings: story.map(HostFindings::of).unwrap_or_default(),
            judgement: summary.and_then(|summary| summary.judgement),
        }
    }

    /// Its name in texts.
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(THIS_HOST)
    }
}

/// The machines of a run; empty for a run on one.
pub(crate) fn host_facts(parts: &PartsTally, info: &RunInfo) -> Vec<HostFacts> {
    let facts = |host: &HostRun| HostFacts {
        figures: parts.of_targets(&host.targets, host.name.as_deref().unwrap_or(THIS_HOST)),
        targets: host.targets.clone(),
        clock: host.clock.as_ref().map(|clock| clock.known),
        lost: host.lost.clone(),
        records: host.records.clone(),
        verdict: None,
        findings: HostFindings::default(),
    };
    info.hosts.iter().map(facts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::record;
    use crate::{Limits, Tally};
    use iosonar_plan::Op;

    #[test]
    fn figures_of_a_host_are_those_of_its_targets_together() {
        let mut tally = Tally::new(3, &Limits::default());
        for i in 0..300u64 {
            let due = i * 1_000_000;
            let mut one = record(i, Op::Read, due, due + 10, due + 10 + 1_000 * (1 + i % 3));
            one.target = (i % 3) as u16;
            tally.add(&one);
        }
        let host = |name: Option<&str>, targets: &[u16]| HostRun {
            name: name.map(String::from),
            targets: targets.into(),
            ..HostRun::default()
        };
        let mut info = RunInfo::new("tool", "", Vec::new());
        info.hosts = vec![host(None, &[1]), host(Some("beta"), &[0, 2])];
        let facts = host_facts(&tally.parts, &info);
        let of = |facts: &HostFacts| {
            let latency = facts.figures.latency.unwrap();
            (facts.figures.name.clone(), facts.figures.completed, latency.mean_ns, latency.max_ns)
        };
        assert_eq!(of(&facts[0]), ("here".into(), 100, 2_000, 2_000));
        assert_eq!(of(&facts[1]), ("beta".into(), 200, 2_000, 3_000));
        assert_eq!(facts[1].figures.submitted_ns, Some(10));
        // One target in all: the figures of the run are those of its machine.
        let mut tally = Tally::new(1, &Limits::default());
        tally.add(&record(0, Op::Read, 0, 10, 20));
        info.hosts = vec![host(Some("beta"), &[0])];
        assert_eq!(host_facts(&tally.parts, &info)[0].figures.completed, 1);
    }
}
