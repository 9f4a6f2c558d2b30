//! Figures of the machines of a run on several.

use crate::parts::PartsTally;
use crate::{Cause, Judgement, PartStats, Story, Summary, Verdict};
use iosonar_archive::{HostLost, HostRun, RunInfo};
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
    pub clock: Option<HostClockFacts>,
    /// When it was lost; absent if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<HostLost>,
    /// The verdict that it made of its part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Its own headline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headline: Option<String>,
    /// Why.
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

/// Name of the machine of the coordinator.
pub const THIS_HOST: &str = "here";

impl HostReport {
    /// The findings in the summary of a part.
    pub fn of(name: Option<String>, summary: Option<Summary>) -> HostReport {
        let story = summary.as_ref().and_then(|summary| summary.story.as_ref());
        HostReport {
            name,
            headline: story.map(|story| story.headline.clone()),
            because: story
                .map_or(Vec::new(), |story| story.because.iter().map(|one| one.text.clone()).collect()),
            cause: story.and_then(Story::main_cause),
            lost_request_seconds: story
                .and_then(|story| Some(story.lost_request_seconds * story.shares.first()?.share)),
            remedy: story.and_then(|story| story.remedy.clone()),
            judgement: summary.and_then(|summary| summary.judgement),
        }
    }

    /// Its name in texts.
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(THIS_HOST)
    }
}

/// How exactly the clock of a machine is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostClockFacts {
    /// Number of exchanges of a message and its answer.
    pub exchanges: u64,
    /// The shortest of them.
    pub least_round_trip_ns: u64,
    /// Greatest error of a time of the run on that machine.
    pub max_error_ns: u64,
    /// Greatest error of its agreed start.
    pub start_error_ns: u64,
    /// Its rate against that of the coordinator's machine, in parts per billion; absent if the run is too short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift_ppb: Option<i64>,
    /// Time of a step of the clock; no order of events is known after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stepped_at_ns: Option<u64>,
}

/// The machines of a run; empty for a run on one.
pub(crate) fn host_facts(parts: &PartsTally, info: &RunInfo) -> Vec<HostFacts> {
    let facts = |host: &HostRun| HostFacts {
        figures: parts.of_targets(&host.targets, host.name.as_deref().unwrap_or(THIS_HOST)),
        targets: host.targets.clone(),
        clock: host.clock.as_ref().map(|clock| HostClockFacts {
            exchanges: clock.exchanges,
            least_round_trip_ns: clock.least_round_trip_ns,
            max_error_ns: clock.max_error_ns,
            start_error_ns: clock.start_error_ns,
            drift_ppb: clock.drift_ppb,
            stepped_at_ns: clock.stepped_at_ns,
        }),
        lost: host.lost.clone(),
        verdict: None,
        headline: None,
        because: Vec::new(),
        cause: None,
        lost_request_seconds: None,
        remedy: None,
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
