//! The coordinator: starts a process for each part of a plan, starts each phase simultaneously in all of them, and
//! merges their results.

use crate::launch::{Event, Launch, Participant, What};
use crate::merge::{PartResult, merge_info, merge_records, merge_series, unread};
use crate::offset::{Offset, RoundTrip};
use crate::outset::{ProcessFacts, machines};
use crate::phase_progress::PhaseProgress;
use crate::protocol::{Order, PROTOCOL, Report, harmless};
use iosonar_archive::{Archive, ArchiveError, ArchiveWriter, LOG, RunInfo, RunState, TOOL};
use iosonar_archive::{PARTS, remove_archive};
use iosonar_engine::Control;
use iosonar_evidence::{Environment, WrittenBack};
use iosonar_host::{Root, environment};
use iosonar_os::made::Made;
use iosonar_os::{create, monotonic_ns, realtime_ns};
use iosonar_plan::{ByteSize, Executor, Nanos, Plan};
use iosonar_runner::{Ended, Intent, MachineBefore};
use iosonar_text::{one_line, shown};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Interval at which a wait for processes checks whether the run is stopped.
const POLL: Duration = Duration::from_millis(20);
/// Round trips per reading of another machine's clock.
const ROUND_TRIPS: u32 = 8;
/// Time for an order to reach a process on this machine and wake its threads, in nanoseconds.
const LEAD: u64 = 300_000;
/// Time to send one order, in nanoseconds.
const LEAD_OF_EACH: u64 = 20_000;

/// Why processes cannot execute a plan together.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TogetherError {
    /// A process cannot be started, or cannot execute its part; nothing was changed.
    #[error("{0}")]
    Refused(String),
    /// A signal arrived before the first phase; nothing was changed.
    #[error("the run was stopped before it started")]
    Stopped,
    /// Error of the archive.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The run has ended, but its records cannot be merged; the text has their location.
    #[error("{0}")]
    Unmerged(String),
}

/// Report of a prepared process.
struct PartPrepared {
    told: Vec<String>,
    info: RunInfo,
    environment: serde_json::Value,
    intent: Intent,
}

/// A process and its reports.
struct MemberProcess {
    process: Participant,
    targets: Vec<u16>,
    /// Name of its machine, if remote.
    host: Option<String>,
    is_remote: bool,
    clock: Option<String>,
    prepared: Option<PartPrepared>,
    ready: Option<(u16, u64)>,
    arrived: Option<(u16, u64)>,
    ended: Option<(u16, bool)>,
    done: Option<RunInfo>,
    /// Lines of loads that it skipped.
    skipped: u64,
    /// Directory of its records on its machine, until received.
    scratch: Option<PathBuf>,
    /// Why it has stopped reporting or working.
    lost: Option<String>,
    /// It ended before a phase for which all others were ready.
    is_cause: bool,
    trips: Vec<RoundTrip>,
    /// Number and send time of the last ping.
    ping: (u32, u64),
    offset: Offset,
    /// Start of each phase, on the clocks here and there.
    starts: Vec<(u64, u64)>,
}

impl MemberProcess {
    fn found(&self) -> Option<ProcessFacts<'_>> {
        let PartPrepared { info, environment, intent, .. } = self.prepared.as_ref()?;
        Some(ProcessFacts { host: self.host.as_deref(), info, environment, intent })
    }

    fn is_gone(&self) -> bool {
        self.done.is_some() || self.lost.is_some()
    }

    fn is_ready(&self, phase: u16) -> bool {
        self.ready.is_some_and(|(ready, _)| ready == phase)
    }

    fn has_ended(&self, phase: u16) -> bool {
        self.ended.is_some_and(|(ended, _)| ended == phase)
    }

    fn stop(&mut self, signal: i32) {
        self.process.order(&Order::Stop { signal });
        if self.clock.is_none() && !self.is_gone() {
            // It has created nothing yet. A remote shell that waits for its machine would do so for minutes.
            self.process.kill();
            self.lost = Some(String::new());
        }
    }

    fn take(&mut self, report: Report, heard: u64) {
        match report {
            Report::Hello { protocol, tool, clock } if protocol == PROTOCOL && tool == TOOL => {
                self.clock = Some(clock);
            }
            Report::Hello { tool, .. } => {
                self.lost = Some(format!("it runs {tool}, and this is {TOOL}: install the same version"));
            }
            Report::Refused { why } => self.lost = Some(why),
            Report::Prepared { told, info, environment, intent } => {
                self.prepared = Some(PartPrepared { told, info: *info, environment, intent });
            }
            Report::Ready { phase, earliest } => self.ready = Some((phase, earliest)),
            Report::Arrived { phase, at } => self.arrived = Some((phase, at)),
            Report::Ended { phase, is_whole } => self.ended = Some((phase, is_whole)),
            Report::Pong { number, time } if number == self.ping.0 => {
                self.trips.push(RoundTrip { sent: self.ping.1, time, received: heard });
            }
            Report::Scratch { dir } => self.scratch = Some(dir),
            Report::Done { info, skipped } => {
                (self.done, self.skipped, self.scratch) = (Some(*info), skipped, None);
                self.process.order(&Order::Received);
            }
            // Files are read from the stream; a first job's end is for the others; an old pong is ignored.
            Report::File { .. } | Report::FirstDone { .. } | Report::Pong { .. } => {}
        }
    }
}

/// Processes ready to execute their parts. Dropped before the run, they undo their preparations.
pub struct Assembled<'a> {
    plan: &'a Plan,
    command: String,
    parts: Vec<MemberProcess>,
    events: Receiver<Event>,
    is_stop_told: bool,
}

impl<'a> Assembled<'a> {
    /// Starts the processes, and lets each prepare its part. They record `command` as the command typed.
    ///
    /// # Errors
    /// A process cannot be started, or cannot execute its part; no target was changed.
    pub(crate) fn new(
        setup: &Launch,
        plan: &'a Plan,
        command: &str,
        control: &Control,
    ) -> Result<Assembled<'a>, TogetherError> {
        let (to, events) = channel();
        let mut parts = Vec::new();
        for (number, targets) in plan.parts().into_iter().enumerate() {
            let executor = &plan.targets[usize::from(targets[0])].executor;
            let name = name_of(plan, executor, &targets);
            let started = setup.start(number, executor, name.clone(), &to);
            let process = started.map_err(|error| TogetherError::Refused(format!("{name}: {error}")))?;
            parts.push(MemberProcess {
                process,
                targets,
                host: host_of(executor).map(String::from),
                is_remote: host_of(executor).is_some(),
                clock: None,
                prepared: None,
                ready: None,
                arrived: None,
                ended: None,
                done: None,
                skipped: 0,
                scratch: None,
                lost: None,
                is_cause: false,
                trips: Vec::new(),
                ping: (0, 0),
                offset: Offset::default(),
                starts: Vec::new(),
            });
        }
        let mut all = Assembled { plan, command: command.into(), parts, events, is_stop_told: false };
        all.pump(control, |part| part.clock.is_some());
        all.refuse_lost(control)?;
        all.prepare();
        all.pump(control, |part| part.prepared.is_some());
        all.refuse_lost(control)?;
        Ok(all)
    }

    /// Sends each process its part.
    fn prepare(&mut self) {
        let count = self.parts.len();
        let mut loops_before = 0;
        for part in &mut self.parts {
            let host = match &self.plan.targets[usize::from(part.targets[0])].executor {
                Executor::Host(host) => {
                    Some(PathBuf::from(&host.dir)).filter(|dir| !dir.as_os_str().is_empty())
                }
                _ => None,
            };
            part.process.order(&Order::Prepare {
                plan: shared_out(self.plan, count, loops_before).to_toml(),
                targets: part.targets.clone(),
                dir: host,
                command: self.command.clone(),
            });
            loops_before += loops_of(self.plan, &part.targets);
        }
    }

    /// Fails with the first process that cannot take part; after a signal, with the signal.
    fn refuse_lost(&mut self, control: &Control) -> Result<(), TogetherError> {
        if control.signal().is_some() {
            return Err(TogetherError::Stopped);
        }
        let lost = |part: &MemberProcess| part.lost.is_some();
        let cause = self.parts.iter().position(|part| lost(part) && part.is_cause);
        let Some(first) = cause.or_else(|| self.parts.iter().position(lost)) else { return Ok(()) };
        let part = &mut self.parts[first];
        let why = part.lost.clone().unwrap_or_default();
        let text = match part.process.dismiss().filter(|_| why.is_empty()) {
            Some(status) => format!("{}: it ended without an answer ({status})", part.process.name),
            None => format!("{}: {why}", part.process.name),
        };
        Err(TogetherError::Refused(text))
    }

    /// The plan that is executed.
    pub(crate) fn plan(&self) -> &'a Plan {
        self.plan
    }

    /// Facts about the whole run before its start.
    pub fn info(&self) -> RunInfo {
        let info = RunInfo::new(TOOL, &self.command, Vec::new()).started_here();
        let mut info = RunInfo { started_unix_ns: realtime_ns(), ..info };
        info.targets.resize_with(self.plan.targets.len(), Default::default);
        for part in &self.parts {
            let Some(prepared) = &part.prepared else { continue };
            for number in part.targets.iter().map(|target| usize::from(*target)) {
                info.targets[number] = prepared.info.targets.get(number).cloned().unwrap_or_default();
            }
        }
        info
    }

    /// Machines before the start, with the planned use of their targets.
    pub(crate) fn machines(&self) -> Vec<MachineBefore> {
        machines(self.parts.iter().filter_map(MemberProcess::found))
    }

    /// Messages for the user before the start, one per line.
    pub(crate) fn messages(&self) -> Vec<String> {
        let lines = |part: &MemberProcess| {
            let told = part.prepared.as_ref().map_or(&[][..], |prepared| &prepared.told);
            let prefix = part.host.as_ref().map(|host| format!("host {host}: ")).unwrap_or_default();
            told.iter().map(move |line| format!("{prefix}{line}")).collect::<Vec<_>>()
        };
        self.parts.iter().flat_map(lines).collect()
    }

    /// Environment of this machine, with the target facts of each process; other machines are under `hosts`.
    fn environment(&self, written_back: Option<WrittenBack>) -> serde_json::Value {
        let facts = environment::capture(&[], &Root::default()).by(TOOL);
        let facts = Environment { written_back, ..facts };
        let mut all = serde_json::to_value(facts).expect("facts are JSON");
        let (mut targets, mut hosts) = (Vec::new(), serde_json::Map::new());
        for part in &self.parts {
            let Some(found) = part.prepared.as_ref().map(|prepared| &prepared.environment) else { continue };
            targets.extend(found["targets"].as_array().cloned().unwrap_or_default());
            if let Some(host) = &part.host {
                add_host(&mut hosts, format!("host {host}"), found);
            }
        }
        all["targets"] = targets.into();
        if !hosts.is_empty() {
            all["hosts"] = hosts.into();
        }
        all
    }

    /// Receives reports until `holds` is true for each process that is not gone.
    fn pump(&mut self, control: &Control, holds: impl Fn(&MemberProcess) -> bool) {
        while !self.parts.iter().all(|part| part.is_gone() || holds(part)) {
            if let Some(signal) = control.signal().filter(|_| !self.is_stop_told) {
                self.is_stop_told = true;
                self.parts.iter_mut().for_each(|part| part.stop(signal.0));
            }
            match self.events.recv_timeout(POLL) {
                Ok(event) => self.take(event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.parts
                        .iter_mut()
                        .filter(|part| !part.is_gone())
                        .for_each(|part| part.lost = Some(String::new()));
                }
            }
        }
    }

    fn take(&mut self, event: Event) {
        let Event { part: number, heard, what } = event;
        match what {
            What::Said(report) => {
                let is_remote = self.parts[number].is_remote;
                let report = if is_remote { harmless(report) } else { report };
                if let Report::FirstDone { phase } = report {
                    let others = self.parts.iter_mut().enumerate().filter(|(other, _)| *other != number);
                    others.for_each(|(_, part)| part.process.order(&Order::FirstDone { phase }));
                }
                self.parts[number].take(report, heard);
            }
            What::Silent(why) => {
                let part = &mut self.parts[number];
                if !part.is_gone() {
                    part.lost = Some(one_line(&why.unwrap_or_default()).into_owned());
                }
            }
        }
    }

    /// Executes the plan for a new archive in this directory. `written_back` is the preceding writeback on this
    /// machine; `show` is called for each phase that starts.
    ///
    /// # Errors
    /// See [`TogetherError`]. Errors during the run are not returned; they are in the state of the result.
    pub(crate) fn run(
        mut self,
        dir: &Path,
        written_back: Option<WrittenBack>,
        control: &Control,
        show: impl FnMut(PhaseProgress<'_>),
    ) -> Result<Executed<'a>, TogetherError> {
        let begun = Instant::now();
        let info = self.info();
        let archive = ArchiveWriter::create(dir, self.plan, &self.environment(written_back), &info)?;
        let parts = std::path::absolute(dir).unwrap_or_else(|_| dir.to_path_buf()).join(PARTS);
        let parts_made = create::new_dir(&parts)
            .map_err(|error| TogetherError::Refused(format!("{}: {error}", shown(&parts))))?;
        for (number, part) in self.parts.iter_mut().enumerate() {
            let own = parts.join(number.to_string());
            let order = Order::Run { archive: Some(own.clone()).filter(|_| !part.is_remote) };
            let _ = part.process.archive.set(own);
            part.process.order(&order);
        }
        self.run_phases(control, begun, show);
        self.pump(control, MemberProcess::is_gone);
        if self.parts.iter().all(|part| part.starts.is_empty()) {
            archive.discard();
            self.refuse_lost(control)?;
            return Err(TogetherError::Refused("no process has started the run".into()));
        }
        let info = self.start_of(info);
        Ok(Executed { all: self, archive, info, parts: parts_made })
    }

    /// Executes one phase after the other. `begun` is the start of the run.
    fn run_phases(&mut self, control: &Control, begun: Instant, mut show: impl FnMut(PhaseProgress<'_>)) {
        let plan = self.plan;
        for (number, phase) in plan.phases.iter().enumerate() {
            let id = number as u16;
            self.pump(control, |part| part.is_ready(id));
            if control.signal().is_some() {
                return;
            }
            if let Some(gone) = self.parts.iter().find(|part| part.is_gone()) {
                let why = format!("{} could not go on", gone.process.name);
                self.parts.iter_mut().for_each(|part| part.is_cause = part.is_gone());
                self.parts.iter_mut().for_each(|part| part.process.order(&Order::Abort { why: why.clone() }));
                return;
            }
            self.read_clocks(control);
            let (of, elapsed) = (plan.phases.len(), begun.elapsed());
            show(PhaseProgress { number, of, name: &phase.name, elapsed });
            self.begin(id);
            if phase.jobs.iter().any(|job| job.options.has_steps_before()) {
                self.meet(id, control);
            }
            self.pump(control, |part| part.has_ended(id));
            let goes_on = self.parts.iter().all(|part| part.ended == Some((id, true)));
            self.parts.iter_mut().for_each(|part| part.process.order(&Order::Next { phase: id, goes_on }));
            if !goes_on {
                return;
            }
        }
    }

    /// Reads the clocks of other machines.
    fn read_clocks(&mut self, control: &Control) {
        let own = self.parts.iter().find(|part| !part.is_remote).and_then(|part| part.clock.clone());
        let is_other = |part: &MemberProcess| part.is_remote && (own.is_none() || part.clock != own);
        self.parts.iter_mut().for_each(|part| part.trips.clear());
        for number in 1..=ROUND_TRIPS {
            for part in self.parts.iter_mut().filter(|part| is_other(part)) {
                part.ping = (number, monotonic_ns());
                part.process.order(&Order::Ping { number });
            }
            self.pump(control, |part| !is_other(part) || part.trips.len() == number as usize);
        }
        for part in &mut self.parts {
            part.offset = Offset::of(&part.trips).unwrap_or(part.offset);
        }
    }

    /// Time for an order to reach every process.
    fn lead(&self) -> u64 {
        let slowest = self.parts.iter().map(|part| part.offset.round_trip).max().unwrap_or(0);
        // Orders are sent one after the other.
        LEAD + LEAD_OF_EACH * self.parts.len() as u64 + slowest
    }

    fn begin(&mut self, phase: u16) {
        let earliest =
            |part: &MemberProcess| part.ready.map_or(0, |(_, earliest)| part.offset.here(earliest));
        let earliest = self.parts.iter().map(earliest).max().unwrap_or(0);
        let at = earliest.max(monotonic_ns() + self.lead());
        for part in &mut self.parts {
            let there = part.offset.there(at);
            part.starts.push((at, there));
            part.process.order(&Order::Begin { phase, at: there });
        }
    }

    /// Starts the requests when all processes have completed the preceding file operations.
    fn meet(&mut self, phase: u16, control: &Control) {
        let plan = self.plan;
        let has_job = |part: &MemberProcess| {
            plan.phases[usize::from(phase)].jobs.iter().any(|job| part.targets.contains(&job.target))
        };
        let has_arrived = |part: &MemberProcess| part.arrived.is_some_and(|(arrived, _)| arrived == phase);
        self.pump(control, |part| !has_job(part) || has_arrived(part) || part.has_ended(phase));
        // The preceding operations may have taken minutes, in which clocks drift.
        self.read_clocks(control);
        let arrived =
            |part: &MemberProcess| Some(part.offset.here(part.arrived.filter(|_| has_arrived(part))?.1));
        let latest = self.parts.iter().filter_map(arrived).max().unwrap_or(0);
        let at = latest.max(monotonic_ns() + self.lead());
        for part in self.parts.iter_mut().filter(|part| has_arrived(part)) {
            let at = part.offset.there(at);
            part.process.order(&Order::Meet { phase, at });
        }
    }

    /// Sets the run's time zero to the start of the first phase.
    fn start_of(&self, info: RunInfo) -> RunInfo {
        let origin = self.parts[0].starts[0].0;
        let started_unix_ns = (realtime_ns() + origin).saturating_sub(monotonic_ns());
        RunInfo { origin_monotonic_ns: origin, started_unix_ns, ..info }
    }
}

/// A finished run. Each process has separate records.
pub(crate) struct Executed<'a> {
    all: Assembled<'a>,
    archive: ArchiveWriter,
    /// Facts at the start.
    info: RunInfo,
    /// Directory of the processes' archives, until they are merged.
    parts: Made,
}

impl Executed<'_> {
    /// Merges all results. The archives of the processes are removed after that.
    ///
    /// # Errors
    /// Writing failed; the archives of the processes stay.
    pub(crate) fn merge(mut self) -> Result<Ended, TogetherError> {
        // State in case the program is killed meanwhile. A full disk also shows in the records.
        let why =
            format!("the records of its processes are not merged; they are in {}", shown(&self.parts.path()));
        let _ = self.archive.write_run(&RunInfo { state: RunState::Broken(why.into()), ..self.info.clone() });
        let mut results: Vec<PartResult> = self.all.parts.iter_mut().map(result_of).collect();
        let merged = self.write_records(&mut results).and_then(|()| {
            self.add_evidence(&results);
            let info = merge_info(self.info.clone(), &results);
            self.archive.write_run(&info).map(|()| info).map_err(|error| error.to_string())
        });
        let info = merged.map_err(|why| {
            let parts = shown(self.parts.path());
            TogetherError::Unmerged(format!("{why}; the records of each process are in {parts}"))
        })?;
        for (number, _) in results.iter().enumerate().filter(|(_, part)| part.unread.is_none()) {
            // Archives that cannot be removed do not affect the result.
            let _ = remove_archive(&self.parts.path().join(number.to_string()));
        }
        // A non-empty directory stays.
        let _ = self.parts.remove();
        let skipped = self.all.parts.iter().map(|part| part.skipped).sum();
        Ok(Ended { archive: self.archive, info, skipped })
    }

    /// Adds samples of this machine's counters, and extent maps of files here. They are supplementary: errors do not
    /// fail the result.
    fn add_evidence(&self, results: &[PartResult]) {
        let maps = results.iter().filter_map(|part| part.archive.as_ref()?.maps().ok());
        let _ = self.archive.write_maps(maps.flatten());
        if results.iter().any(|part| !part.is_remote && part.archive.is_some()) {
            let _ = self.archive.series_log().and_then(|mut log| merge_series(results, &mut log));
        }
    }

    fn write_records(&self, results: &mut [PartResult]) -> Result<(), String> {
        let mut made = self.archive.made_log().map_err(|error| error.to_string())?;
        merge_records(self.all.plan, results, made.log())
            .map_err(|error| format!("the records cannot be written: {error}"))?;
        made.publish().map_err(|error| error.to_string())
    }
}

/// Result of a process. That of a lost process is the content of its log.
fn result_of(part: &mut MemberProcess) -> PartResult {
    let status = part.process.dismiss();
    let (archive, unread) = archive_of(part);
    let known = part.done.take().or_else(|| archive.as_ref().map(|archive| archive.run().clone()));
    let prepared = part.prepared.as_ref().map(|prepared| prepared.info.clone());
    let info = known.or(prepared).unwrap_or_else(|| RunInfo::new(TOOL, "", Vec::new()));
    let lost = part.lost.take().map(|why| match (why.is_empty(), status) {
        (true, Some(status)) => format!("its process ended before the run did ({status})"),
        (true, None) => "its process ended before the run did".into(),
        (false, _) => why,
    });
    let elsewhere = part.scratch.as_ref().filter(|_| !part.starts.is_empty());
    let elsewhere = elsewhere.map(|dir| format!("; its records are in {} there", shown(&dir)));
    let is_cause = part.is_cause || part.ended.is_some_and(|(_, is_whole)| !is_whole);
    let broken = match &info.state {
        RunState::Broken(why) if is_cause => Some(why.to_string()),
        _ => None,
    };
    let origin = part.starts.first().copied().unwrap_or_default();
    let shift = |(here, there): &(u64, u64)| {
        here.wrapping_sub(origin.0).wrapping_sub(there.wrapping_sub(origin.1)) as i64
    };
    PartResult {
        name: part.process.name.clone(),
        is_remote: part.is_remote,
        targets: part.targets.clone(),
        archive,
        info,
        shifts: part.starts.iter().map(shift).collect(),
        failed: lost.or(broken).map(|why| why + &elsewhere.unwrap_or_default()),
        unread,
    }
}

/// Opens the archive of a process, if it exists; also returns why it is unreadable.
fn archive_of(part: &MemberProcess) -> (Option<Archive>, Option<String>) {
    let Some(dir) = part.process.archive.get().filter(|dir| dir.exists()) else { return (None, None) };
    match Archive::open(dir) {
        Ok(archive) => (Some(archive), None),
        // The process was lost, which already explains the missing records.
        Err(_) if part.lost.is_some() && !has_records(dir) => (None, None),
        Err(error) => (None, Some(unread(dir, error))),
    }
}

fn has_records(archive: &Path) -> bool {
    archive.join(LOG).exists()
}

fn host_of(executor: &Executor) -> Option<&str> {
    match executor {
        Executor::Host(host) => Some(&host.name),
        _ => None,
    }
}

/// Name of a process in messages: its machine, and its target if necessary to distinguish it.
fn name_of(plan: &Plan, executor: &Executor, targets: &[u16]) -> String {
    let path = shown(&plan.targets[usize::from(targets[0])].path);
    let is_there =
        |name: &&str| plan.targets.iter().filter(|t| host_of(&t.executor) == Some(name)).count() > 1;
    match host_of(executor) {
        Some(name) if is_there(&name) => format!("host {name} ({path})"),
        Some(name) => format!("host {name}"),
        None => format!("process for {path}"),
    }
}

/// Adds the facts that a process found about its machine and its targets; several processes of one machine have one entry.
fn add_host(hosts: &mut serde_json::Map<String, serde_json::Value>, name: String, found: &serde_json::Value) {
    match hosts.get_mut(&name).and_then(|known| known["targets"].as_array_mut()) {
        Some(targets) => targets.extend(found["targets"].as_array().cloned().unwrap_or_default()),
        None => drop(hosts.insert(name, found.clone())),
    }
}

/// Number of workers on these targets, in the phase that has the most.
fn loops_of(plan: &Plan, targets: &[u16]) -> usize {
    let of_phase = |phase: &iosonar_plan::Phase| -> usize {
        let own = phase.jobs.iter().filter(|job| targets.contains(&job.target));
        own.map(|job| job.workload.jobs() as usize).sum()
    };
    plan.phases.iter().map(of_phase).max().unwrap_or(0)
}

/// The plan for one of `count` processes, with `loops_before` workers in earlier processes: together they use the
/// memory and the CPUs that the plan allows.
fn shared_out(plan: &Plan, count: usize, loops_before: usize) -> Plan {
    let mut shared = plan.clone();
    shared.memory.buffers = ByteSize((plan.memory.buffers.0 / count.max(1) as u64).max(4096));
    if !shared.pacing.pin.is_empty() {
        let cpus = shared.pacing.pin.len();
        shared.pacing.pin.rotate_left(loops_before % cpus);
    }
    let all: Vec<u16> = (0..plan.targets.len()).map(|target| target as u16).collect();
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    if shared.pacing.spin.is_none() && loops_of(plan, &all) >= cpus {
        // A process cannot detect that the others use the CPUs.
        shared.pacing.spin = Some(Nanos(0));
    }
    shared
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_plan::{Generator, Host, Job, Order as Places, Phase, Target, Workload};

    #[test]
    fn processes_divide_memory_and_cpus() {
        let target = |path| Target { executor: Executor::Process, ..Target::new(path) };
        let job = |target| {
            Job::new(target, 1, Workload::Generated(Generator::new(Places::Sequential, ByteSize(4096))))
        };
        let jobs = (0..3).map(job).collect();
        let mut plan = Plan::new(1, vec![target("a"), target("b"), target("c")], vec![Phase::of(jobs)]);
        plan.pacing.pin = vec![4, 5];
        let second = shared_out(&plan, 3, 1);
        assert_eq!(second.memory.buffers.0, plan.memory.buffers.0 / 3);
        assert_eq!(second.pacing.pin, [5, 4]);
        assert_eq!((loops_of(&plan, &[0, 2]), loops_of(&plan, &[0, 1, 2])), (2, 3));
        assert_eq!(name_of(&plan, &Executor::Process, &[1]), "process for b");
    }

    #[test]
    fn describes_each_machine_once_with_all_its_targets() {
        let host =
            |name: &str| Executor::Host(Host { name: name.into(), dir: String::new(), program: "p".into() });
        let target = |path: &str, name: &str| Target { executor: host(name), ..Target::new(path) };
        let targets = vec![target("x", "alpha"), target("y", "alpha"), target("x", "beta")];
        let plan = Plan::new(1, targets, Vec::new());
        let names = [0, 1, 2].map(|n| name_of(&plan, &plan.targets[usize::from(n)].executor, &[n]));
        assert_eq!(names, ["host alpha (x)", "host alpha (y)", "host beta"]);
        let mut hosts = serde_json::Map::new();
        for (name, path) in [("host alpha", "x"), ("host alpha", "y"), ("host beta", "x")] {
            let facts = serde_json::json!({ "hostname": name, "targets": [{ "path": path }] });
            add_host(&mut hosts, name.into(), &facts);
        }
        assert_eq!(hosts["host alpha"]["targets"], serde_json::json!([{ "path": "x" }, { "path": "y" }]));
        assert_eq!((hosts.len(), hosts["host beta"]["targets"].as_array().unwrap().len()), (2, 1));
    }
}
