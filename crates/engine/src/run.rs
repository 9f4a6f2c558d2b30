//! A run: workers, the records' writer, the sampler of counters, time zero.

use crate::conductor::Conductor;
use crate::control::Control;
use crate::feed::Feed;
use crate::gate::{Gate, Member};
use crate::means::{Equipment, Part, equip, isolate};
use crate::passes::{Company, FirstLateness};
use crate::prepare::{Examined, Prepared, Requests};
use crate::progress::Progress;
use crate::start::Start;
use crate::worker::{Tally, Worker, WorkerError};
use crossbeam_channel::{Receiver, RecvTimeoutError};
use iosonar_archive::{
    ArchiveError, ArchiveWriter, CpuUse, RunInfo, RunState, SeriesLog, Stalls, TargetInfo,
};
use iosonar_host::sample::Sampler;
use iosonar_host::{Root, TargetFacts};
use iosonar_load::{IssuedHash, ReadAhead};
use iosonar_os::usage::own_cpu_time;
use iosonar_os::{Clock, monotonic_ns, realtime_ns, set_timer_slack_1ns};
use iosonar_plan::{Engine, Nanos};
use iosonar_record::{Recorder, start as start_recorder};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time between two samples of the counters, and between two corrections of the clock.
const SAMPLE_EVERY: Duration = Duration::from_secs(1);

/// Why a run could not begin.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The archive.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// Threads, or descriptors for them.
    #[error(
        "cannot start the threads of the run ({0}): use a smaller --depth, or raise the limits on processes and open files (ulimit -u, ulimit -n)"
    )]
    Threads(std::io::Error),
    /// Memory for data.
    #[error("{0}: use a smaller --buffer-memory, or fewer targets")]
    Memory(std::io::Error),
    /// The engine.
    #[error("the engine cannot be used: {0}; --engine threads works everywhere")]
    Engine(std::io::Error),
}

/// What became of an issuing loop.
struct LoopEnd {
    target: usize,
    tally: Tally,
    result: Result<(), WorkerError>,
}

impl Prepared {
    /// What is known before the start; [`Prepared::run`] gives it back completed.
    pub fn info(&self, tool: &str, command: &str) -> RunInfo {
        let target = |t: &Examined| TargetInfo {
            path: t.target.path.display().to_string(),
            source: t.workload.name(),
            size: t.placement.size(),
            block: t.placement.block(),
            max_requested_end: t.workload.facts().map_or(0, |facts| facts.max_end),
            input_lines: 0,
            bad_lines: t.workload.facts().map_or(0, |facts| facts.bad_lines),
            back_shifts: t.workload.facts().map_or(0, |facts| facts.back_shifts),
            max_waiting: None,
            max_in_flight: None,
            expected_requests: t.expected_requests(self.plan.passes),
            ended_early: None,
            issued_hash: String::new(),
            hole_bytes: t.hole_bytes(),
            checks: None,
        };
        let targets = self.targets.iter().map(|ready| target(&ready.examined)).collect();
        RunInfo {
            started_unix_ns: realtime_ns(),
            origin_monotonic_ns: monotonic_ns(),
            ..RunInfo::new(tool, command, targets)
        }
    }

    /// Carries the plan out. Whatever happens on the way is in the archive and in the state of the result; an
    /// error means that nothing was begun. `info` is what [`Prepared::info`] gave.
    pub fn run(
        &self,
        archive: &ArchiveWriter,
        mut info: RunInfo,
        control: &Control,
        progress: &Arc<Progress>,
    ) -> Result<RunInfo, RunError> {
        let clock = Clock::from_origin(u64::MAX);
        let (equipment, means) = equip(self, &clock)?;
        info.means = means;
        let (writer, recorders) =
            start_recorder(archive.record_log()?, equipment.len()).map_err(RunError::Threads)?;
        let series = archive.series_log()?;
        let notices = Mutex::new(Vec::new());
        let mut cpu = own_cpu_time();
        let begin = |start: &Start| {
            let grace = if self.is_timed() { self.plan.start_grace.0 } else { 0 };
            clock.set_origin(monotonic_ns() + grace);
            info.origin_monotonic_ns = clock.origin();
            info.started_unix_ns = (realtime_ns() + clock.origin()).saturating_sub(monotonic_ns());
            cpu = own_cpu_time();
            start.decide(true);
            // Written again at the end; a disk that is full by now shows in the records, too.
            let _ = archive.write_run(&info);
        };
        let loops: Vec<u32> = self.plan.targets.iter().map(|target| target.workload.jobs()).collect();
        let conductor =
            self.plan.conduct.is_coupled().then(|| Conductor::new(&self.plan, &loops, self.is_timed()));
        let conductor = conductor.as_ref();
        let lateness = &FirstLateness::default();
        let shared = Shared { clock: &clock, control, progress, notices: &notices, conductor, lateness };
        let (ends, clock_error) = self.carry_out(equipment, recorders, shared, series, begin)?;
        let cleaned = self.targets.iter().filter_map(|t| t.file()?.clean_up());
        notices.lock().unwrap_or_else(PoisonError::into_inner).extend(cleaned);
        let written = writer.finish();
        let used = own_cpu_time();
        info.cpu = CpuUse {
            user_ns: used.user_ns - cpu.user_ns,
            system_ns: used.system_ns - cpu.system_ns,
            watching_ns: progress.watching_ns(),
        };
        info.means.clock.error = info.means.clock.error.max(clock_error);
        info.means.notices.extend(notices.into_inner().unwrap_or_else(PoisonError::into_inner));
        let broken = written.err().map(|e| format!("the records could not be written: {e}"));
        self.conclude(&mut info, &ends, broken);
        if info.state == RunState::Finished && ends.iter().any(|end| end.tally.stopped) {
            info.state = RunState::Interrupted(control.signal().map_or("its end time".into(), signal_name));
        }
        Ok(info)
    }

    /// Whether the engine's clock is the real one.
    pub(crate) fn is_timed(&self) -> bool {
        !matches!(self.plan.engine, Engine::Sim(_))
    }

    /// Runs all issuing loops to their ends; gives what became of them, and how far the clock was off at most.
    fn carry_out(
        &self,
        equipment: Vec<Equipment>,
        recorders: Vec<Recorder>,
        shared: Shared<'_>,
        series: SeriesLog,
        begin: impl FnOnce(&Start),
    ) -> Result<(Vec<LoopEnd>, Nanos), RunError> {
        let (gates, start, facts) = (self.gates(), Start::default(), self.facts());
        let (end, ended) = crossbeam_channel::bounded::<()>(0);
        std::thread::scope(|scope| {
            let spawn = |(index, (equipment, recorder)): (usize, (Equipment, Recorder))| {
                let (start, target) = (&start, equipment.part.target);
                let gate = &gates[target % gates.len()];
                let work = move || self.work(index, equipment, recorder, &gate.member(), start, shared);
                let thread = std::thread::Builder::new().name(format!("issue-{index}"));
                thread.spawn_scoped(scope, work).map(|worker| (target, worker))
            };
            let workers = equipment.into_iter().zip(recorders).enumerate().map(spawn);
            let workers = workers.collect::<std::io::Result<Vec<_>>>().map_err(|error| {
                start.decide(false);
                RunError::Threads(error)
            })?;
            start.await_ready(workers.len());
            // Before time zero, when nothing is lost if there is no thread for it.
            let sampler = std::thread::Builder::new()
                .name("sampler".into())
                .spawn_scoped(scope, || sample(series, &facts, shared.clock, ended))
                .map_err(|error| {
                    start.decide(false);
                    RunError::Threads(error)
                })?;
            begin(&start);
            let end_of = |(target, worker): (usize, std::thread::ScopedJoinHandle<'_, _>)| {
                let (tally, result) =
                    worker.join().unwrap_or_else(|_| (Tally::default(), Err(WorkerError::Panicked)));
                LoopEnd { target, tally, result }
            };
            let ends = workers.into_iter().map(end_of).collect();
            drop(end);
            // The series are an addition: a sampler that failed costs no result.
            Ok((ends, sampler.join().unwrap_or_default()))
        })
    }

    /// Where loops wait for each other between passes: all of them, or only those of one target.
    fn gates(&self) -> Vec<Gate> {
        match self.plan.conduct.free_passes {
            true => self.plan.targets.iter().map(|t| Gate::new(t.workload.jobs() as usize)).collect(),
            false => vec![Gate::new(self.workers())],
        }
    }

    fn work(
        &self,
        index: usize,
        equipment: Equipment,
        recorder: Recorder,
        member: &Member<'_>,
        start: &Start,
        shared: Shared<'_>,
    ) -> (Tally, Result<(), WorkerError>) {
        let arrival = start.arrival();
        set_timer_slack_1ns();
        let cpu = self.plan.targets[equipment.part.target].handling.cpu;
        let refused = isolate(&self.plan.pacing, cpu, index);
        shared.notices.lock().unwrap_or_else(PoisonError::into_inner).extend(refused);
        let Equipment { part, settings, backend, payloads, fellows } = equipment;
        let Shared { clock, control, progress, conductor, lateness, .. } = shared;
        let (file, remake) = self.files(part.target, clock);
        let seat = conductor.map(|conductor| conductor.seat(part.target as u16));
        let company = Company { fellows, seat, file, remake, lateness };
        let gauge = progress.gauge(index);
        let worker = Worker::new(settings, backend, payloads, company, recorder, control, gauge);
        // Opened and read ahead before time zero, so that neither costs delay; so is a later pass before its start.
        let mut first = Some(self.feed(part, 0, control));
        if !arrival.wait(clock, self.is_timed(), control) {
            return (Tally::default(), Ok(()));
        }
        worker.run(self.plan.passes, member, |pass| {
            first.take().unwrap_or_else(|| self.feed(part, pass, control))
        })
    }

    fn feed(&self, part: Part, pass: u32, control: &Control) -> Result<Feed, WorkerError> {
        let mut feed = match self.requests(part, pass) {
            Requests::Generated(source) => Feed::Direct(source),
            Requests::Load(open) if self.is_timed() => {
                Feed::Ahead(ReadAhead::start(open).map_err(WorkerError::Thread)?)
            }
            Requests::Load(open) => Feed::Direct(open()?),
        };
        // A load from standard input was not scanned: nobody knows when its producer begins.
        let is_scanned = self.targets[part.target].examined.workload.facts().is_some();
        feed.prime(!is_scanned, || control.is_stopped(Nanos(0)));
        Ok(feed)
    }

    fn conclude(&self, info: &mut RunInfo, ends: &[LoopEnd], broken: Option<String>) {
        for (target, ready) in info.targets.iter_mut().zip(&self.targets) {
            target.bad_lines += ready.told.bad_lines.load(Relaxed);
            target.back_shifts += ready.told.back_shifts.load(Relaxed);
        }
        let mut issued = vec![IssuedHash::default(); info.targets.len()];
        let mut reasons: Vec<String> = broken.into_iter().collect();
        for LoopEnd { target, tally, result } in ends {
            issued[*target].merge(tally.issued);
            let target = &mut info.targets[*target];
            add_tally(target, tally);
            info.passes.extend(&tally.passes);
            info.recorder_stalls.merge(tally.recorder_stalls);
            info.buffer_stalls.merge(tally.buffer_stalls);
            info.push_back_stalls
                .merge(Stalls { count: tally.counters.full_count, total: tally.counters.full_total });
            match result {
                Err(WorkerError::Writer(_)) if !reasons.is_empty() => {}
                Err(error) => reasons.push(format!("target {}: {error}", target.path)),
                Ok(()) => {}
            }
        }
        for (target, issued) in info.targets.iter_mut().zip(issued) {
            target.issued_hash = issued.to_string();
        }
        info.passes.sort_by_key(|p| (p.pass, p.target, p.job));
        // Where every target has ended early, there is nothing that went on.
        if info.targets.iter().all(|t| t.ended_early.is_some()) {
            let early =
                |t: &TargetInfo| t.ended_early.as_ref().map(|why| format!("target {}: {why}", t.path));
            reasons.extend(info.targets.iter().filter_map(early));
        }
        info.state = match reasons.is_empty() {
            true => RunState::Finished,
            false => RunState::Broken(reasons.join("; ")),
        };
    }
}

/// Adds what one issuing loop counted to the facts about its target.
fn add_tally(target: &mut TargetInfo, tally: &Tally) {
    target.max_requested_end = target.max_requested_end.max(tally.max_requested_end);
    target.input_lines = target.input_lines.max(tally.lines);
    target.max_waiting = target.max_waiting.max(Some(tally.counters.max_waiting.into()));
    let in_flight = target.max_in_flight.unwrap_or(0) + u64::from(tally.counters.max_in_flight);
    target.max_in_flight = Some(in_flight);
    if tally.checks.requests > 0 {
        target.checks.get_or_insert_default().merge(tally.checks.clone());
    }
    if target.ended_early.is_none() {
        target.ended_early.clone_from(&tally.ended_early);
    }
}

fn signal_name(signal: i32) -> String {
    match signal {
        libc::SIGINT => "SIGINT".into(),
        libc::SIGTERM => "SIGTERM".into(),
        libc::SIGHUP => "SIGHUP".into(),
        other => format!("signal {other}"),
    }
}

/// What everybody in a run shares.
#[derive(Clone, Copy)]
struct Shared<'a> {
    clock: &'a Clock,
    control: &'a Control,
    progress: &'a Progress,
    /// What the machine refused, one sentence each.
    notices: &'a Mutex<Vec<String>>,
    /// Where loops wait for each other, if any do.
    conductor: Option<&'a Conductor>,
    lateness: &'a FirstLateness,
}

/// Samples the counters and corrects the clock until the run has ended; gives how far the clock was off at most.
fn sample(mut series: SeriesLog, facts: &[TargetFacts], clock: &Clock, ended: Receiver<()>) -> Nanos {
    let mut sampler = Sampler::new(facts, &Root::default());
    let names = sampler.names().to_vec();
    let mut values = Vec::new();
    let mut next = Instant::now();
    let (mut error, mut has_ended) = (Nanos(0), false);
    loop {
        error = error.max(Nanos(clock.correct()));
        values.clear();
        sampler.sample(&mut values);
        let named = values.iter().map(|(id, value)| (names[usize::from(id.0)].as_str(), *value));
        // A full disk ends the records too, and they tell.
        let _ = series.append(clock.now(), named);
        if has_ended {
            return error;
        }
        next = Instant::now().max(next + SAMPLE_EVERY);
        // The end is sampled too: the last part of a second counts.
        has_ended = !matches!(ended.recv_deadline(next), Err(RecvTimeoutError::Timeout));
    }
}
