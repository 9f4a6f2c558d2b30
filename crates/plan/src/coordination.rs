//! How the jobs of a phase wait for each other: between passes, after a number of requests, in turn, in lockstep, by triggers; and
//! when the phase ends.

use crate::strict::is_default;
use crate::{ByteSize, Decimal, Nanos};
use serde::{Deserialize, Serialize};

/// How the passes and jobs of a phase follow each other. Everything is off by default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coordination {
    /// Time from the end of a pass to the start of the next; part of no pass.
    #[serde(default, skip_serializing_if = "is_default")]
    pub pass_delay: Nanos,
    /// Jobs do not wait for each other between passes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub free_passes: bool,
    /// The phase ends this long after its start, and passes are added until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Nanos>,
    /// All issuing loops meet before their requests 0, n, 2n … of a pass; an exhausted one does not hold up the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meet_every: Option<u64>,
    /// One request at a time, of one job after the other in the order of the phase: request 0 of each, then request 1 of each. A
    /// request is issued when the one before it has completed. An exhausted job is skipped.
    #[serde(default, skip_serializing_if = "is_default")]
    pub in_turn: bool,
    /// Condition that ends the phase before all its requests are done.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ends: PhaseEnd,
    /// Jobs that go in lockstep. Jobs are numbered from 0 in the order of the phase.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lockstep: Vec<Lockstep>,
    /// Jobs that begin each pass when another has reached a point.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub start: Vec<Trigger>,
    /// Jobs that end their pass when another has reached a point.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<Trigger>,
}

/// When a phase ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseEnd {
    /// When all jobs are done.
    #[default]
    All,
    /// When the first job is done: the others issue no more (`stonewall` of IOzone).
    First,
}

/// Progress of a job in its pass, reached or required. Operations and bytes are those that completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Amount {
    /// Time since the start of the pass, or of a task.
    Time(Nanos),
    /// Operations.
    Ops(u64),
    /// Percent of the operations of a pass.
    Percent(Decimal),
    /// Bytes.
    Bytes(ByteSize),
}

/// Lockstep: one job does a task after each interval of another.
///
/// Tasks queue up, and the master never waits: when interval k of the master is complete, task k may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lockstep {
    /// Number of the job that requests tasks.
    pub master: u16,
    /// Number of the job that does the tasks.
    pub slave: u16,
    /// An interval of the master.
    pub every: Amount,
    /// A task of the slave; not a percentage.
    pub task: Amount,
    /// Whether the slave starts with a task, or waits for the first interval.
    #[serde(rename = "starts")]
    pub begins: Begins,
    /// Behaviour of the slave when the master has ended its pass.
    pub ends: Ends,
}

/// How a slave starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Begins {
    /// It waits for the first interval.
    Wait,
    /// With a task.
    Run,
}

/// Behaviour of a slave when its master has ended its pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ends {
    /// It completes its pass.
    Complete,
    /// It does the requested tasks, then it ends its pass, too.
    Stop,
}

/// An action of one job when another has reached a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trigger {
    /// Number of the observed job.
    pub leader: u16,
    /// Number of the job that starts or ends.
    pub follower: u16,
    /// Required progress of the leader in its pass.
    pub when: Amount,
}

impl Coordination {
    /// Whether issuing loops depend on each other while they issue.
    pub fn is_coupled(&self) -> bool {
        self.in_turn
            || self.meet_every.is_some()
            || !self.lockstep.is_empty()
            || !self.start.is_empty()
            || !self.stop.is_empty()
    }

    /// Dependencies between jobs, as (leader, follower).
    pub fn waits(&self) -> impl Iterator<Item = (u16, u16)> + '_ {
        let lockstep = self.lockstep.iter().map(|l| (l.master, l.slave));
        lockstep.chain(self.start.iter().map(|t| (t.leader, t.follower)))
    }
}
