//! The coordinator: starts a process for each part of a plan, and starts each phase simultaneously in all of them.

use crate::clock::own_clock;
use crate::inputs::InputFiles;
use crate::launch::{Event, Launch, What};
use crate::outset::{environment_of_all, machines};
use crate::part::{Build, Part, name_of, on_host};
use crate::protocol::{Order, Report, SILENCE, harmless};
use crate::results::{Executed, NOT_MERGED};
use crate::run_progress::{PartProgress, PhaseProgress, RunProgress};
use crate::sent_program::{SentProgram, hash_of};
use iosonar_analyze::{Limits, THIS_HOST};
use iosonar_archive::{ArchiveError, ArchiveWriter, HostRun, PARTS, RunInfo, RunState, Signal, TOOL};
use iosonar_engine::Control;
use iosonar_evidence::WrittenBack;
use iosonar_os::{create, monotonic_ns, realtime_ns};
use iosonar_plan::{ByteSize, Executor, LostHost, Nanos, Plan};
use iosonar_runner::MachineBefore;
use iosonar_text::{one_line, shown};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Interval at which a wait for processes checks whether the run is stopped.
const POLL: Duration = Duration::from_millis(20);
/// Exchanges of a reading of another machine's clock: before the first phase and after the last one, and before others.
const EXCHANGES: usize = 64;
const EXCHANGES_BETWEEN: usize = 8;
/// Longest time for a reading.
const LONGEST_READING: Duration = Duration::from_secs(2);
/// Time for an order to reach a process on this machine and wake its threads, in nanoseconds.
const LEAD: u64 = 300_000;
/// Time to send one order, in nanoseconds.
const LEAD_OF_EACH: u64 = 20_000;
/// Time for an order to another machine, in its shortest round trips.
const LEAD_IN_ROUND_TRIPS: u64 = 20;
/// Interval at which progress is shown.
const SHOW_EVERY: Duration = Duration::from_millis(250);

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

/// Processes ready to execute their parts. Dropped before the run, they undo their preparations.
pub struct Assembled<'a> {
    plan: &'a Plan,
    command: String,
    parts: Vec<Part>,
    events: Receiver<Event>,
    own_clock: String,
    /// Limits of times that are counted.
    limits: Limits,
    is_stop_told: bool,
    /// The others stop because one was lost.
    is_stopped_for_lost: bool,
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
        let mut all = Assembled::start(setup, plan, plan.parts(), command)?;
        all.pump(control, |part| part.clock.is_some());
        all.refuse_lost(control)?;
        let inputs = all.send_inputs(control)?;
        all.prepare(&inputs);
        all.pump(control, |part| part.prepared.is_some());
        all.refuse_lost(control)?;
        Ok(all)
    }

    /// Starts the processes of some parts of a plan.
    pub(crate) fn start(
        setup: &Launch,
        plan: &'a Plan,
        parts_of_plan: Vec<Vec<u16>>,
        command: &str,
    ) -> Result<Assembled<'a>, TogetherError> {
        let refused = |name: &str, error: std::io::Error| TogetherError::Refused(format!("{name}: {error}"));
        let programs = Programs::of(setup, plan).map_err(|error| refused("the program to send", error))?;
        let (to, events) = channel();
        let mut parts = Vec::new();
        for (number, targets) in parts_of_plan.into_iter().enumerate() {
            let executor = &plan.targets[usize::from(targets[0])].executor;
            let name = name_of(plan, executor, &targets);
            let started = setup.start(number, executor, name.clone(), programs.sent.as_ref(), &to);
            let process = started.map_err(|error| refused(&name, error))?;
            parts.push(Part::new(process, executor, targets, programs.build(executor), plan.hosts.clock));
        }
        Ok(Assembled {
            plan,
            command: command.into(),
            parts,
            events,
            own_clock: own_clock(),
            limits: setup.limits,
            is_stop_told: false,
            is_stopped_for_lost: false,
        })
    }

    /// Lets machines send the archives of their parts that they have kept, with the directory of each; the result is below `to`, by the
    /// number of the part. They keep them until [`Assembled::confirm`].
    ///
    /// # Errors
    /// A machine cannot be reached, or has no such archive.
    pub(crate) fn fetch(
        setup: &Launch,
        plan: &'a Plan,
        kept: &[(Vec<u16>, PathBuf)],
        to: &Path,
        control: &Control,
    ) -> Result<Assembled<'a>, TogetherError> {
        let parts = kept.iter().map(|(targets, _)| targets.clone()).collect();
        let mut all = Assembled::start(setup, plan, parts, "")?;
        all.pump(control, |part| part.clock.is_some());
        for (number, (part, (_, dir))) in all.parts.iter_mut().zip(kept).enumerate() {
            let _ = part.process.archive.set(to.join(number.to_string()));
            part.keeps_archive = true;
            part.process.order(Order::Collect { dir: dir.clone() });
        }
        all.pump(control, Part::is_gone);
        // One that cannot be reached any more must not keep the others from being fetched.
        if control.signal().is_some() || all.parts.iter().all(|part| part.done.is_none()) {
            all.refuse_lost(control)?;
        }
        Ok(all)
    }

    /// Confirms that the archives are stored here, so that the machines remove theirs.
    pub(crate) fn confirm(mut self) {
        self.parts.iter_mut().for_each(|part| part.process.order(Order::Received));
    }

    /// Facts about the run of each part as reported at its end, or why it has sent nothing.
    pub(crate) fn reported(&mut self) -> Vec<Result<RunInfo, String>> {
        self.parts.iter_mut().map(|part| part.done.clone().ok_or_else(|| part.not_started())).collect()
    }

    /// Sends the files that the plan reads to machines that do not have them.
    fn send_inputs(&mut self, control: &Control) -> Result<InputFiles, TogetherError> {
        let inputs = InputFiles::of(self.plan).map_err(|error| TogetherError::Refused(error.to_string()))?;
        for part in self.parts.iter_mut().filter(|part| part.is_remote()) {
            match inputs.for_targets(self.plan, &part.targets) {
                needed if needed.is_empty() => part.wanted = Some(Vec::new()),
                inputs => part.process.order(Order::Offer { inputs }),
            }
        }
        self.pump(control, |part| !part.is_remote() || part.wanted.is_some());
        self.refuse_lost(control)?;
        for part in &mut self.parts {
            let wanted = part.wanted.take().unwrap_or_default();
            let offered = inputs.for_targets(self.plan, &part.targets);
            let missing = offered.into_iter().filter(|input| wanted.contains(&input.hash));
            missing.for_each(|input| part.process.send_input(input));
        }
        Ok(inputs)
    }

    /// Sends each process its part.
    fn prepare(&mut self, inputs: &InputFiles) {
        let places: Vec<(Option<String>, Vec<u16>)> =
            self.parts.iter().map(|part| (part.host.clone(), part.targets.clone())).collect();
        for (number, part) in self.parts.iter_mut().enumerate() {
            let host = self.plan.targets[usize::from(part.targets[0])].executor.host();
            let dir = host.map(|host| PathBuf::from(&host.dir)).filter(|dir| !dir.as_os_str().is_empty());
            // Processes of one machine share its memory and its CPUs.
            let near = |place: &&(Option<String>, Vec<u16>)| place.0 == part.host;
            let before = places[..number].iter().filter(near);
            let loops_before = before.map(|(_, targets)| loops_of(self.plan, targets)).sum();
            let together: Vec<u16> =
                places.iter().filter(near).flat_map(|(_, targets)| targets.clone()).collect();
            let count = places.iter().filter(near).count();
            part.process.order(Order::Prepare {
                plan: shared_out(self.plan, count, loops_before, &together, part.is_remote()).to_toml(),
                targets: part.targets.clone(),
                dir,
                command: self.command.clone(),
                inputs: match part.is_remote() {
                    true => inputs.for_targets(self.plan, &part.targets),
                    false => Vec::new(),
                },
            });
        }
    }

    /// Fails with the first process that cannot take part; after a signal, with the signal.
    pub(crate) fn refuse_lost(&mut self, control: &Control) -> Result<(), TogetherError> {
        if control.signal().is_some() {
            return Err(TogetherError::Stopped);
        }
        let lost = |part: &Part| part.lost.is_some();
        let cause = self.parts.iter().position(|part| lost(part) && part.is_cause);
        let Some(first) = cause.or_else(|| self.parts.iter().position(lost)) else { return Ok(()) };
        Err(TogetherError::Refused(self.parts[first].not_started()))
    }

    /// Limits of times that are counted.
    pub(crate) fn limits(&self) -> Limits {
        self.limits
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
                let found =
                    prepared.info.targets.get(number).map(|found| on_host(part.host.as_deref(), found));
                info.targets[number] = found.unwrap_or_default();
            }
        }
        info
    }

    /// Machines before the start, with the planned use of their targets.
    pub(crate) fn machines(&self) -> Vec<MachineBefore> {
        machines(self.parts.iter().filter_map(Part::found))
    }

    /// Messages for the user before the start, one per line.
    pub(crate) fn messages(&self) -> Vec<String> {
        let lines = |part: &Part| {
            let told = part.prepared.as_ref().map_or(&[][..], |prepared| &prepared.told);
            let prefix = part.host.as_ref().map(|host| format!("host {host}: ")).unwrap_or_default();
            told.iter().map(move |line| format!("{prefix}{line}")).collect::<Vec<_>>()
        };
        self.parts.iter().flat_map(lines).collect()
    }

    /// Environment of this machine, with the target facts of each process; other machines are under `hosts`.
    pub(crate) fn environment(&self, written_back: Option<WrittenBack>) -> serde_json::Value {
        let found = self
            .parts
            .iter()
            .filter_map(|part| Some((part.host.as_deref(), &part.prepared.as_ref()?.environment)));
        environment_of_all(found, written_back)
    }

    /// Receives reports until `holds` is true for each process that is not gone.
    pub(crate) fn pump(&mut self, control: &Control, holds: impl Fn(&Part) -> bool) {
        while !self.parts.iter().all(|part| part.is_gone() || holds(part)) {
            self.step(control);
        }
    }

    /// Passes a signal on, receives a report, and notices processes that are lost.
    pub(crate) fn step(&mut self, control: &Control) {
        if let Some(signal) = control.signal().filter(|_| !self.is_stop_told) {
            self.is_stop_told = true;
            self.parts.iter_mut().for_each(|part| part.stop(signal.0));
        }
        match self.events.recv_timeout(POLL) {
            Ok(event) => self.take(event),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                self.parts.iter_mut().for_each(|part| part.lose(String::new()));
            }
        }
        let is_silent = |part: &&mut Part| {
            !part.is_gone() && part.process.silence().is_some_and(|silence| silence > SILENCE)
        };
        for part in self.parts.iter_mut().filter(is_silent) {
            part.lose(format!("it gave no sign of life for {} s", SILENCE.as_secs()));
            part.process.kill();
        }
        self.stop_for_lost();
    }

    /// Stops all processes if one is lost during the run, and the plan says so.
    fn stop_for_lost(&mut self) {
        let stops = self.plan.has_hosts() && self.plan.hosts.lost == LostHost::Stop;
        if !stops || self.is_stopped_for_lost {
            return;
        }
        let lost = |part: &Part| part.lost.is_some() && !part.starts.is_empty();
        if self.parts.iter().any(lost) {
            self.is_stopped_for_lost = true;
            let others = self.parts.iter_mut().filter(|part| !part.is_gone());
            others.for_each(|part| part.process.order(Order::Stop { signal: Signal::TERMINATE.0 }));
        }
    }

    fn take(&mut self, event: Event) {
        let Event { part: number, heard, what } = event;
        match what {
            What::Greeted(machine) => self.parts[number].greeted(machine),
            What::Said(report) => {
                let is_remote = self.parts[number].is_remote();
                let report = if is_remote { harmless(report) } else { report };
                if let Report::FirstDone { phase } = report {
                    let others = self.parts.iter_mut().enumerate().filter(|(other, _)| *other != number);
                    others.for_each(|(_, part)| part.process.order(Order::FirstDone { phase }));
                }
                self.parts[number].take(report, heard, &self.own_clock);
            }
            What::Silent(why) => {
                self.parts[number].lose(one_line(&why.unwrap_or_default()).into_owned());
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
        mut show: impl FnMut(&RunProgress<'_>),
    ) -> Result<Executed<'a>, TogetherError> {
        let begun = Instant::now();
        let info = self.info();
        let archive = ArchiveWriter::create(dir, self.plan, &self.environment(written_back), &info)?;
        let parts = std::path::absolute(dir).unwrap_or_else(|_| dir.to_path_buf()).join(PARTS);
        let parts_made = create::new_dir(&parts)
            .map_err(|error| TogetherError::Refused(format!("{}: {error}", shown(&parts))))?;
        for (number, part) in self.parts.iter_mut().enumerate() {
            let own = parts.join(number.to_string());
            let archive = Some(own.clone()).filter(|_| !part.is_remote());
            let _ = part.process.archive.set(own);
            let on_hosts = self.plan.has_hosts();
            part.process.order(Order::Run {
                archive,
                on_hosts,
                keeps_records: self.plan.keeps_records_on_hosts(),
            });
        }
        let refused = self.run_phases(control, begun, &mut show);
        let ended = monotonic_ns();
        if self.plan.keeps_records_on_hosts() {
            self.count(ended);
            // If this program is killed meanwhile, `collect` finds the records.
            let state = RunState::Broken(NOT_MERGED.to_string().into());
            let known = RunInfo { state, hosts: self.host_runs(ended), ..self.start_of(info.clone()) };
            let _ = archive.write_run(&known);
        }
        self.pump(control, Part::is_gone);
        if self.parts.iter().all(|part| part.starts.is_empty()) {
            archive.discard();
            refused?;
            self.refuse_lost(control)?;
            return Err(TogetherError::Refused("no process has started the run".into()));
        }
        let info = self.start_of(info);
        let is_stopped = control.signal().is_some();
        Ok(Executed { all: self, archive, info, parts: parts_made, ended, is_stopped })
    }

    /// Lets all processes count their records on the clock of the run, which ended at `ended`.
    fn count(&mut self, ended: u64) {
        let (origin, limits, parts) = (self.origin(), self.limits, self.parts.len());
        for part in self.parts.iter_mut().filter(|part| !part.is_gone()) {
            let clock = part.counted_clock(origin, ended);
            part.process.order(Order::Count { clock, limits, parts });
        }
    }

    /// Executes one phase after the other. `begun` is the start of the run.
    ///
    /// # Errors
    /// The clock of a machine is not known as exactly as the plan requires; nothing was started.
    fn run_phases(
        &mut self,
        control: &Control,
        begun: Instant,
        show: &mut impl FnMut(&RunProgress<'_>),
    ) -> Result<(), TogetherError> {
        let plan = self.plan;
        for (number, phase) in plan.phases.iter().enumerate() {
            let id = number as u16;
            self.pump(control, |part| part.is_ready(id));
            if control.signal().is_some() || self.is_stopped_for_lost {
                return Ok(());
            }
            if let Some(gone) = self.parts.iter().find(|part| !self.may_be_missing(part) && part.is_gone()) {
                let why = format!("{} could not go on", gone.process.name);
                self.parts.iter_mut().for_each(|part| part.is_cause = part.is_gone());
                self.abort(&why);
                return Ok(());
            }
            self.read_clocks(if number == 0 { EXCHANGES } else { EXCHANGES_BETWEEN }, control);
            if number == 0 {
                self.check_clocks().inspect_err(|why| self.abort(&why.to_string()))?;
            }
            self.begin(id);
            self.show(number, begun, show);
            if phase.jobs.iter().any(|job| job.options.has_steps_before()) {
                self.meet(id, control);
            }
            let mut shown = Instant::now();
            while !self.parts.iter().all(|part| part.is_gone() || part.has_ended(id)) {
                self.step(control);
                if plan.has_hosts() && shown.elapsed() >= SHOW_EVERY {
                    shown = Instant::now();
                    self.show(number, begun, show);
                }
            }
            let goes_on =
                self.parts.iter().all(|part| self.may_be_missing(part) || part.ended == Some((id, true)));
            if !goes_on || number + 1 == plan.phases.len() {
                self.read_clocks(EXCHANGES, control);
            }
            self.parts.iter_mut().for_each(|part| part.process.order(Order::Next { phase: id, goes_on }));
            if !goes_on {
                break;
            }
        }
        Ok(())
    }

    /// Whether the run continues without this part.
    fn may_be_missing(&self, part: &Part) -> bool {
        self.plan.hosts.lost == LostHost::Continue
            && part.is_remote()
            && part.lost.is_some()
            && !part.starts.is_empty()
            && self.parts.iter().any(|other| !other.is_gone())
    }

    fn abort(&mut self, why: &str) {
        self.parts.iter_mut().for_each(|part| part.process.order(Order::Abort { why: why.into() }));
    }

    fn show(&self, number: usize, begun: Instant, show: &mut impl FnMut(&RunProgress<'_>)) {
        let part = |part: &Part| PartProgress {
            name: part.host.clone().unwrap_or_else(|| THIS_HOST.into()),
            requests: part.progress,
            reported_ns: part.progress_at,
            is_lost: part.lost.is_some(),
            has_ended: part.done.is_some() || part.has_ended(number as u16),
        };
        let phase = PhaseProgress {
            number,
            of: self.plan.phases.len(),
            name: &self.plan.phases[number].name,
            elapsed: begun.elapsed(),
        };
        let parts = match self.plan.has_hosts() {
            true => self.parts.iter().map(part).collect(),
            false => Vec::new(),
        };
        show(&RunProgress { phase, parts });
    }

    /// Reads the clocks of other machines by this number of exchanges, but not for long.
    fn read_clocks(&mut self, exchanges: usize, control: &Control) {
        let begun = Instant::now();
        self.parts.iter_mut().filter(|part| !part.is_gone()).for_each(Part::begin_series);
        for number in 1..=exchanges {
            let parts = self.parts.iter_mut().filter(|part| part.in_series().is_some());
            parts.for_each(|part| part.process.ping());
            self.pump(control, |part| part.in_series().is_none_or(|done| done >= number));
            if begun.elapsed() > LONGEST_READING {
                break;
            }
        }
        self.parts.iter_mut().for_each(Part::end_series);
    }

    /// Whether all clocks are known as exactly as the plan requires.
    fn check_clocks(&self) -> Result<(), TogetherError> {
        let Some(most) = self.plan.hosts.max_clock_error else { return Ok(()) };
        let now = monotonic_ns();
        let error = |part: &Part| Some((part.track.as_ref()?.error_at(now), part.process.name.clone()));
        match self.parts.iter().filter(|part| part.lost.is_none()).filter_map(error).max() {
            Some((error, name)) if error > most.0 => Err(TogetherError::Refused(format!(
                "{name}: its clock is known to {}, and --max-clock-error is {most}: allow more, or use a connection with shorter round trips",
                Nanos(error)
            ))),
            _ => Ok(()),
        }
    }

    /// Time for an order to reach every process.
    fn lead(&self) -> u64 {
        let round_trip = |part: &Part| part.track.as_ref().map_or(0, |track| track.least_round_trip());
        let slowest = self.parts.iter().map(round_trip).max().unwrap_or(0);
        // Orders are sent one after the other.
        LEAD + LEAD_OF_EACH * self.parts.len() as u64 + LEAD_IN_ROUND_TRIPS * slowest
    }

    fn begin(&mut self, phase: u16) {
        let earliest = |part: &Part| part.ready.map_or(0, |(_, earliest)| part.here(earliest));
        let earliest = self.parts.iter().map(earliest).max().unwrap_or(0);
        let at = earliest.max(monotonic_ns() + self.lead());
        for part in self.parts.iter_mut().filter(|part| part.lost.is_none()) {
            let there = part.there(at);
            part.starts.push((at, there));
            part.process.order(Order::Begin { phase, at: there });
        }
    }

    /// Starts the requests when all processes have completed the preceding file operations.
    fn meet(&mut self, phase: u16, control: &Control) {
        let plan = self.plan;
        let has_job = |part: &Part| {
            plan.phases[usize::from(phase)].jobs.iter().any(|job| part.targets.contains(&job.target))
        };
        self.pump(control, |part| !has_job(part) || part.has_arrived(phase) || part.has_ended(phase));
        // The preceding operations may have taken minutes, in which clocks drift.
        self.read_clocks(EXCHANGES_BETWEEN, control);
        let arrived = |part: &Part| Some(part.here(part.arrived.filter(|_| part.has_arrived(phase))?.1));
        let latest = self.parts.iter().filter_map(arrived).max().unwrap_or(0);
        let at = latest.max(monotonic_ns() + self.lead());
        for part in self.parts.iter_mut().filter(|part| part.has_arrived(phase)) {
            let at = part.there(at);
            part.process.order(Order::Meet { phase, at });
        }
    }

    /// Sets the run's time zero to the start of the first phase.
    fn start_of(&self, info: RunInfo) -> RunInfo {
        let origin = self.origin();
        let started_unix_ns = (realtime_ns() + origin).saturating_sub(monotonic_ns());
        RunInfo { origin_monotonic_ns: origin, started_unix_ns, ..info }
    }

    /// Facts about the machines of the run, which ended at `ended`.
    pub(crate) fn host_runs(&self, ended: u64) -> Vec<HostRun> {
        let origin = self.origin();
        self.parts.iter().map(|part| part.host_run(origin, ended)).collect()
    }

    /// Time zero of the run; 0 before its start.
    pub(crate) fn origin(&self) -> u64 {
        self.parts.iter().find_map(|part| part.starts.first()).map_or(0, |start| start.0)
    }

    pub(crate) fn parts_mut(&mut self) -> &mut [Part] {
        &mut self.parts
    }
}

/// Number of workers on these targets, in the phase that has the most.
pub(crate) fn loops_of(plan: &Plan, targets: &[u16]) -> usize {
    let of_phase = |phase: &iosonar_plan::Phase| -> usize {
        let own = phase.jobs.iter().filter(|job| targets.contains(&job.target));
        own.map(|job| job.workload.jobs() as usize).sum()
    };
    plan.phases.iter().map(of_phase).max().unwrap_or(0)
}

/// The plan for one of `count` processes of a machine, with `loops_before` workers in earlier ones: together they use the memory and the
/// CPUs that the plan allows. `together` are the targets of all of them.
pub(crate) fn shared_out(
    plan: &Plan,
    count: usize,
    loops_before: usize,
    together: &[u16],
    is_remote: bool,
) -> Plan {
    let mut shared = plan.clone();
    shared.memory.buffers = ByteSize((plan.memory.buffers.0 / count.max(1) as u64).max(4096));
    if !shared.pacing.pin.is_empty() {
        let cpus = shared.pacing.pin.len();
        shared.pacing.pin.rotate_left(loops_before % cpus);
    }
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    if shared.pacing.spin.is_none() && !is_remote && loops_of(plan, together) >= cpus {
        // A process cannot detect that the others use the CPUs.
        shared.pacing.spin = Some(Nanos(0));
    }
    shared
}

/// The programs of processes on other machines.
struct Programs {
    /// The one that is sent to machines without one; `None` if there is no such machine.
    sent: Option<Arc<SentProgram>>,
    /// SHA-256 of this one; `None` if it is sent to all machines.
    own: Option<String>,
}

impl Programs {
    fn of(setup: &Launch, plan: &Plan) -> std::io::Result<Programs> {
        let hosts = || plan.targets.iter().filter_map(|target| target.executor.host());
        let is_sent = hosts().any(|host| host.program.is_empty());
        let is_there = hosts().any(|host| !host.program.is_empty());
        Ok(Programs {
            sent: is_sent.then(|| setup.sent_program().map(Arc::new)).transpose()?,
            own: is_there.then(|| hash_of(&setup.program).map(|(hash, _)| hash)).transpose()?,
        })
    }

    /// The build that a process must have.
    fn build(&self, executor: &Executor) -> Option<Build> {
        let is_sent = executor.host()?.program.is_empty();
        let hash = match is_sent {
            true => self.sent.as_ref()?.hash().to_string(),
            false => self.own.clone()?,
        };
        Some(Build { hash, is_sent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outset::add_host;
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
        let second = shared_out(&plan, 3, 1, &[0, 1, 2], false);
        assert_eq!(second.memory.buffers.0, plan.memory.buffers.0 / 3);
        assert_eq!(second.pacing.pin, [5, 4]);
        assert_eq!((loops_of(&plan, &[0, 2]), loops_of(&plan, &[0, 1, 2])), (2, 3));
        assert_eq!(name_of(&plan, &Executor::Process, &[1]), "process for b");
    }

    #[test]
    fn describes_each_machine_once_with_all_its_targets() {
        let target = |path: &str, name: &str, process| Target {
            executor: Executor::Host(Host { process, ..Host::new(name) }),
            ..Target::new(path)
        };
        let targets = vec![target("x", "alpha", 0), target("y", "alpha", 1), target("x", "beta", 0)];
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
