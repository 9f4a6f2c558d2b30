//! A process that executes a part of the plan, as its coordinator knows it.

use crate::clock::{Agreed, ClockMap, ClockTrack, Exchange};
use crate::launch::Participant;
use crate::outset::ProcessFacts;
use crate::protocol::{Answered, HostProgress, Order, PROTOCOL, Report, RunClock, SystemTimes};
use iosonar_archive::{HostClock, HostLost, HostRun, RunInfo, TOOL, TargetInfo};
use iosonar_os::{machine_type, monotonic_ns};
use iosonar_plan::{Executor, HostClocks, Plan};
use iosonar_runner::Intent;
use iosonar_text::shown;
use std::path::PathBuf;

/// Why `hosts.clock` is refused.
const NOT_SYNCHRONIZED: &str = "its system clock, or that of this machine, is not synchronized (adjtimex: STA_UNSYNC): start chronyd, or \
                                ptp4l with phc2sys, on both, or remove --clock system";

/// Report of a prepared process.
pub(crate) struct PartPrepared {
    pub(crate) told: Vec<String>,
    pub(crate) info: RunInfo,
    pub(crate) environment: serde_json::Value,
    pub(crate) intent: Intent,
}

/// The build that a process must have.
#[derive(Debug, Clone)]
pub(crate) struct Build {
    /// SHA-256 of the program.
    pub(crate) hash: String,
    /// Whether it was sent there.
    pub(crate) is_sent: bool,
}

/// A process and its reports.
pub(crate) struct Part {
    pub(crate) process: Participant,
    pub(crate) targets: Vec<u16>,
    /// Name of its machine; `None` for this one.
    pub(crate) host: Option<String>,
    /// Whether sudo starts it.
    uses_sudo: bool,
    /// The build that it must have; `None` if it is this program.
    build: Option<Build>,
    /// Type of its machine, once it has answered.
    machine: Option<String>,
    /// How its clock is read.
    clocks: HostClocks,
    /// Identity of its clock, from its first report.
    pub(crate) clock: Option<String>,
    /// Readings of its clock; `None` if it is that of this process.
    pub(crate) track: Option<ClockTrack>,
    /// Exchanges of a series that is going on.
    series: Option<Vec<Exchange>>,
    pub(crate) wanted: Option<Vec<String>>,
    pub(crate) prepared: Option<PartPrepared>,
    pub(crate) ready: Option<(u16, u64)>,
    pub(crate) arrived: Option<(u16, u64)>,
    pub(crate) ended: Option<(u16, bool)>,
    pub(crate) done: Option<RunInfo>,
    /// Messages for the user that are not passed on yet.
    pub(crate) notices: Vec<String>,
    /// It would change the target of its question now.
    pub(crate) is_poised: bool,
    pub(crate) answered: Option<Answered>,
    /// Exit code of a verb without an answer.
    pub(crate) code: Option<u8>,
    pub(crate) progress: HostProgress,
    /// When it was reported, as `CLOCK_MONOTONIC`; 0 before the first report.
    pub(crate) progress_at: u64,
    /// It keeps its archive at the end: it is not confirmed that it has arrived, or it is counted there.
    pub(crate) keeps_archive: bool,
    /// The clock with which its records are counted there, which is that of the result.
    counted_clock: Option<HostClock>,
    /// Lines of loads that it skipped.
    pub(crate) skipped: u64,
    /// Directory of its records on its machine, until received.
    pub(crate) scratch: Option<PathBuf>,
    /// Why it has stopped reporting or working.
    pub(crate) lost: Option<String>,
    /// When that was found.
    lost_at: u64,
    /// It ended before a phase for which all others were ready.
    pub(crate) is_cause: bool,
    /// Start of each phase, on the clocks here and there.
    pub(crate) starts: Vec<(u64, u64)>,
}

impl Part {
    pub(crate) fn new(
        process: Participant,
        executor: &Executor,
        targets: Vec<u16>,
        build: Option<Build>,
        clocks: HostClocks,
    ) -> Part {
        Part {
            process,
            targets,
            host: executor.host().map(|host| host.name.clone()),
            uses_sudo: executor.host().is_some_and(|host| host.sudo),
            build,
            machine: None,
            clocks,
            clock: None,
            track: None,
            series: None,
            wanted: None,
            prepared: None,
            ready: None,
            arrived: None,
            ended: None,
            done: None,
            notices: Vec::new(),
            is_poised: false,
            answered: None,
            code: None,
            progress: HostProgress::default(),
            progress_at: 0,
            keeps_archive: false,
            counted_clock: None,
            skipped: 0,
            scratch: None,
            lost: None,
            lost_at: 0,
            is_cause: false,
            starts: Vec::new(),
        }
    }

    pub(crate) fn is_remote(&self) -> bool {
        self.host.is_some()
    }

    pub(crate) fn found(&self) -> Option<ProcessFacts<'_>> {
        let PartPrepared { info, environment, intent, .. } = self.prepared.as_ref()?;
        Some(ProcessFacts { host: self.host.as_deref(), info, environment, intent })
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.done.is_some() || self.answered.is_some() || self.lost.is_some()
    }

    pub(crate) fn is_ready(&self, phase: u16) -> bool {
        self.ready.is_some_and(|(ready, _)| ready == phase)
    }

    pub(crate) fn has_arrived(&self, phase: u16) -> bool {
        self.arrived.is_some_and(|(arrived, _)| arrived == phase)
    }

    pub(crate) fn has_ended(&self, phase: u16) -> bool {
        self.ended.is_some_and(|(ended, _)| ended == phase)
    }

    pub(crate) fn stop(&mut self, signal: i32) {
        self.process.order(Order::Stop { signal });
        if (self.clock.is_none() || self.process.is_sending()) && !self.is_gone() {
            // It has created nothing yet. A remote shell that waits for its machine, or for the rest of a file, would do so for minutes.
            self.process.kill();
            self.lose(String::new());
        }
    }

    /// Notes why it takes part no longer.
    pub(crate) fn lose(&mut self, why: String) {
        if !self.is_gone() {
            (self.lost, self.lost_at) = (Some(why), monotonic_ns());
        }
    }

    pub(crate) fn greeted(&mut self, machine: String) {
        self.machine = Some(machine);
    }

    /// Takes a report that came at this time. `own_clock` identifies the clock here.
    pub(crate) fn take(&mut self, report: Report, heard: u64, own_clock: &str) {
        match report {
            Report::Hello { protocol, tool, clock, build } if protocol == PROTOCOL && tool == TOOL => {
                match self.refused_build(build.as_deref()) {
                    Some(why) => self.lose(why),
                    None => {
                        self.track = (clock != own_clock).then(ClockTrack::default);
                        self.clock = Some(clock);
                    }
                }
            }
            Report::Hello { tool, .. } => {
                self.lose(format!("it runs {tool}, and this is {TOOL}: install the same version"));
            }
            Report::Refused { why } => self.lose(why),
            Report::Wanted { hashes } => self.wanted = Some(hashes),
            Report::Prepared { told, info, environment, intent } => {
                self.prepared = Some(PartPrepared { told, info: *info, environment, intent });
            }
            Report::Ready { phase, earliest } => self.ready = Some((phase, earliest)),
            Report::Arrived { phase, at } => self.arrived = Some((phase, at)),
            Report::Ended { phase, is_whole } => self.ended = Some((phase, is_whole)),
            Report::Pong { sent, arrived, answered, system } => {
                let exchange = Exchange { sent, arrived, answered, heard, agreed: None };
                match self.clocks {
                    HostClocks::Exchanges => self.add_exchange(exchange),
                    HostClocks::System => self.add_system_times(exchange, system),
                }
            }
            Report::Progress(progress) => (self.progress, self.progress_at) = (progress, heard),
            Report::Notice { line } => self.notices.push(line),
            Report::Failed { why, code } => {
                self.code = Some(code);
                self.lose(why);
            }
            Report::Poised => self.is_poised = true,
            Report::Answered(answered) => self.answered = Some(answered),
            Report::Scratch { dir } => self.scratch = Some(dir),
            Report::Done { info, skipped } => {
                (self.done, self.skipped) = (Some(*info), skipped);
                if !self.keeps_archive {
                    self.scratch = None;
                    self.process.order(Order::Received);
                }
            }
            // Files are read from the stream; a first job's end is for the others; bytes are a sign of life in themselves.
            Report::File { .. } | Report::FirstDone { .. } | Report::Alive => {}
        }
    }

    /// Why a process of this build cannot take part. Machines of another type have another program in any case.
    fn refused_build(&self, build: Option<&str>) -> Option<String> {
        let wanted = self.build.as_ref()?;
        let is_other_type = self.machine.as_deref().is_some_and(|machine| machine != machine_type());
        if is_other_type || build == Some(wanted.hash.as_str()) {
            return None;
        }
        Some(match wanted.is_sent {
            true => format!("the program there is damaged: remove ~/.cache/iosonar/{} there", wanted.hash),
            false => format!("it runs another build of {TOOL} than this: copy this program there"),
        })
    }

    /// Adds an exchange that found out the times of both wall clocks.
    fn add_system_times(&mut self, exchange: Exchange, there: Option<SystemTimes>) {
        let here = SystemTimes::of_this_machine();
        let agreed = here.zip(there).and_then(|(here, there)| Agreed::of(&here, &there));
        if agreed.is_none() && self.starts.is_empty() && self.track.is_some() {
            self.lose(NOT_SYNCHRONIZED.into());
        }
        // A wall clock that steps, or that is not kept equal any more, contradicts the exchange, which is right in any case.
        self.add_exchange(Exchange { agreed: agreed.filter(|agreed| exchange.allows(agreed)), ..exchange });
    }

    fn add_exchange(&mut self, exchange: Exchange) {
        match (&mut self.series, &mut self.track) {
            (Some(series), _) => series.push(exchange),
            (None, Some(track)) => track.add(&exchange),
            (None, None) => {}
        }
    }

    /// Begins a series of exchanges, if its clock is another one.
    pub(crate) fn begin_series(&mut self) {
        self.series = self.track.is_some().then(Vec::new);
    }

    /// Number of exchanges in the series; `None` without a series.
    pub(crate) fn in_series(&self) -> Option<usize> {
        self.series.as_ref().map(Vec::len)
    }

    pub(crate) fn end_series(&mut self) {
        if let (Some(series), Some(track)) = (self.series.take(), &mut self.track) {
            track.add_series(&series);
        }
    }

    /// A time of its clock on this one, as far as it is known now.
    pub(crate) fn here(&self, there: u64) -> u64 {
        self.track.as_ref().map_or(there, |track| track.map().here(there).here)
    }

    /// A time of this clock on its one.
    pub(crate) fn there(&self, here: u64) -> u64 {
        self.track.as_ref().and_then(|track| track.there(here)).unwrap_or(here)
    }

    /// The map of its times.
    pub(crate) fn clock_map(&self) -> ClockMap {
        self.track.as_ref().map(ClockTrack::map).unwrap_or_default()
    }

    /// The clock of the run from `origin` to `end`, with which this process counts its records. It keeps them.
    pub(crate) fn counted_clock(&mut self, origin: u64, end: u64) -> RunClock {
        let (here, there) = self.starts.first().copied().unwrap_or_default();
        self.keeps_archive = true;
        self.counted_clock = self.track.as_ref().map(|track| track.facts(origin, end));
        RunClock { readings: self.counted_clock.clone(), origin, here, there }
    }

    /// Facts about its machine in the run from `origin` to `end`.
    pub(crate) fn host_run(&self, origin: u64, end: u64) -> HostRun {
        let lost = self.lost.as_ref().filter(|_| !self.starts.is_empty());
        let records = self.scratch.as_ref().map(|dir| dir.display().to_string());
        HostRun {
            name: self.host.clone(),
            targets: self.targets.clone(),
            clock: self.counted_clock.clone().or_else(|| Some(self.track.as_ref()?.facts(origin, end))),
            lost: lost.map(|why| HostLost {
                at_ns: self.lost_at.saturating_sub(origin),
                why: if why.is_empty() { "its process ended".into() } else { why.clone() },
                records: records.clone(),
                is_collected: false,
            }),
            records: records.filter(|_| lost.is_none() && self.keeps_archive),
        }
    }

    /// A step to take if the program does not start there.
    fn start_remedy(&self) -> &'static str {
        match self.uses_sudo {
            true => "check that 'sudo -n' may start it there without a password, or leave sudo out",
            false => "name one that does with --remote-path, or a static one with --send-program",
        }
    }

    /// Why it has not started, for people.
    pub(crate) fn not_started(&mut self) -> String {
        let why = self.lost.clone().unwrap_or_default();
        let status = self.process.dismiss();
        let text = match (why.is_empty(), status) {
            (false, _) => why,
            (true, Some(status)) if self.machine.is_some() && self.clock.is_none() => {
                format!("the program does not start there ({status}): {}", self.start_remedy())
            }
            (true, Some(status)) => match self.process.last_error() {
                Some(error) => error,
                None => format!("it ended without an answer ({status})"),
            },
            (true, None) => "it ended without an answer".into(),
        };
        format!("{}: {text}", self.process.name)
    }
}

/// Name of a process in messages: its machine, and its target if necessary to distinguish it.
pub(crate) fn name_of(plan: &Plan, executor: &Executor, targets: &[u16]) -> String {
    let path = shown(&plan.targets[usize::from(targets[0])].path);
    let Some(host) = executor.host() else { return format!("process for {path}") };
    let is_other = |other: &Executor| other.host().is_some_and(|o| o.name == host.name) && other != executor;
    match plan.targets.iter().any(|target| is_other(&target.executor)) {
        true => format!("host {} ({path})", host.name),
        false => format!("host {}", host.name),
    }
}

/// Facts about a target of a machine: its path carries the name of the machine.
pub(crate) fn on_host(host: Option<&str>, target: &TargetInfo) -> TargetInfo {
    let path = host.map_or_else(|| target.path.clone(), |host| format!("{host}:{}", target.path));
    TargetInfo { path, ..target.clone() }
}
