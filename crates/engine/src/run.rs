//! A run: workers, the records' writer, the sampler of counters, time zero.

use crate::control::Control;
use crate::gate::{Gate, Member};
use crate::prepare::{Prepared, Requests, TargetReady, source_name};
use crate::progress::Progress;
use crate::worker::{Feed, Settings, Tally, Worker, WorkerError};
use crossbeam_channel::{Receiver, RecvTimeoutError};
use iosonar_archive::{
    ARCHIVE_VERSION, ArchiveError, ArchiveWriter, RunInfo, RunState, SeriesLog, Stalls, TargetInfo,
};
use iosonar_backend::{Backend, Null, Sim, Threads};
use iosonar_host::sample::Sampler;
use iosonar_host::{Root, TargetFacts};
use iosonar_load::ReadAhead;
use iosonar_os::{Clock, monotonic_ns, realtime_ns, set_timer_slack_1ns};
use iosonar_plan::{Engine, Nanos, Plan};
use iosonar_record::{Recorder, start as start_recorder};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

/// Time between two samples of the counters.
const SAMPLE_EVERY: Duration = Duration::from_secs(1);

/// Why a run could not begin.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The archive.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// Threads.
    #[error(
        "cannot start the threads of the run ({0}): use a smaller --depth, or raise the limit on processes (ulimit -u)"
    )]
    Threads(std::io::Error),
}

type Outcome = (Tally, Result<(), WorkerError>);

impl Prepared {
    /// What is known before the start; [`Prepared::run`] gives it back completed.
    pub fn info(&self, tool: &str, command: &str) -> RunInfo {
        let target = |t: &TargetReady| TargetInfo {
            path: t.target.path.display().to_string(),
            source: source_name(&t.target),
            size: t.placement.size(),
            block: t.placement.block(),
            max_requested_end: t.load.as_ref().map_or(0, |l| l.max_end),
            input_lines: 0,
            bad_lines: t.load.as_ref().map_or(0, |l| l.bad_lines),
            back_shifts: t.load.as_ref().map_or(0, |l| l.back_shifts),
            max_waiting: 0,
            max_in_flight: 0,
            expected_requests: t.expected_requests(self.plan.passes),
            hole_bytes: t.hole_bytes(),
            ended_early: None,
            sequence_hash: 0,
        };
        RunInfo {
            archive_version: ARCHIVE_VERSION,
            tool: tool.into(),
            command: command.into(),
            started_unix_ns: realtime_ns(),
            origin_monotonic_ns: monotonic_ns(),
            state: RunState::Running,
            targets: self.targets.iter().map(target).collect(),
            recorder_stalls: Stalls::default(),
            push_back_stalls: Stalls::default(),
            buffer_stalls: Stalls::default(),
            means: Default::default(),
            cpu: Default::default(),
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
        let observer = progress.clone();
        let observe = move |records: &[_]| observer.observe(records);
        let (writer, recorders) =
            start_recorder(archive.record_log()?, self.targets.len(), observe).map_err(RunError::Threads)?;
        let backends = self.backends(&clock)?;
        let series = archive.series_log()?;
        let set_time_zero = || {
            let grace = if self.is_timed() { self.plan.start_grace.0 } else { 0 };
            clock.set_origin(monotonic_ns() + grace);
            info.origin_monotonic_ns = clock.origin();
            info.started_unix_ns = (realtime_ns() + clock.origin()).saturating_sub(monotonic_ns());
            // Written again at the end; a disk that is full by now shows in the records, too.
            let _ = archive.write_run(&info);
        };
        let shared = Shared { clock: &clock, control, progress };
        let outcomes = self.carry_out(backends, recorders, shared, series, set_time_zero);
        let written = writer.finish();
        let broken = written.err().map(|e| format!("the records could not be written: {e}"));
        self.conclude(&mut info, &outcomes, broken);
        if info.state == RunState::Finished && outcomes.iter().any(|(tally, _)| tally.stopped) {
            info.state = RunState::Interrupted(control.signal().map_or("its end time".into(), signal_name));
        }
        Ok(info)
    }

    /// Whether the engine's clock is the real one.
    fn is_timed(&self) -> bool {
        !matches!(self.plan.engine, Engine::Sim(_))
    }

    fn backends(&self, clock: &Clock) -> Result<Vec<Box<dyn Backend>>, RunError> {
        let depth = self.plan.depth;
        let new = |(index, target): (usize, &TargetReady)| -> Result<Box<dyn Backend>, RunError> {
            Ok(match self.plan.engine {
                Engine::Null => Box::new(Null::new(clock.clone(), depth)),
                Engine::Sim(model) => Box::new(Sim::new(model, depth, self.plan.seed ^ (index as u64) << 32)),
                Engine::Uring(_) | Engine::Aio | Engine::Threads => {
                    let file = target.file.as_ref().expect("prepare opens the targets of engines with I/O");
                    let file = file.try_clone().map_err(RunError::Threads)?;
                    Box::new(Threads::new(file, clock.clone(), depth).map_err(RunError::Threads)?)
                }
            })
        };
        self.targets.iter().enumerate().map(new).collect()
    }

    fn carry_out(
        &self,
        backends: Vec<Box<dyn Backend>>,
        recorders: Vec<Recorder>,
        shared: Shared<'_>,
        series: SeriesLog,
        set_time_zero: impl FnOnce(),
    ) -> Vec<Outcome> {
        let Shared { clock, control, progress } = shared;
        let gate = Gate::new(self.targets.len());
        // Everybody is ready; then time zero is known; then everybody waits for it.
        let (ready, known) = (Barrier::new(self.targets.len() + 1), Barrier::new(self.targets.len() + 1));
        let start = Start { clock, control, ready: &ready, known: &known };
        let facts = self.facts();
        let (end, ended) = crossbeam_channel::bounded::<()>(0);
        std::thread::scope(|scope| {
            let workers: Vec<_> = backends
                .into_iter()
                .zip(recorders)
                .enumerate()
                .map(|(index, (backend, recorder))| {
                    let (gate, start) = (&gate, &start);
                    scope.spawn(move || {
                        let settings = self.settings(index);
                        let worker = Worker::new(settings, backend, recorder, control, progress.gauge(index));
                        self.work(index, worker, &gate.member(), start)
                    })
                })
                .collect();
            ready.wait();
            set_time_zero();
            known.wait();
            let sampler = scope.spawn(|| sample(series, &facts, clock, ended));
            let lost = || (Tally::default(), Err(WorkerError::Panicked));
            let outcomes = workers.into_iter().map(|w| w.join().unwrap_or_else(|_| lost())).collect();
            drop(end);
            // The series are an addition: a sampler that failed costs no result.
            let _ = sampler.join();
            outcomes
        })
    }

    fn settings(&self, index: usize) -> Settings {
        let Plan { run_id, depth, overlap, fill, .. } = self.plan;
        let target = &self.targets[index];
        let (placement, max_length) = (target.placement, target.max_length());
        let expected = target.load.as_ref().map(|l| l.requests);
        Settings { run_id, target: index as u16, depth, overlap, fill, placement, max_length, expected }
    }

    fn work(&self, index: usize, worker: Worker<'_>, member: &Member<'_>, start: &Start<'_>) -> Outcome {
        set_timer_slack_1ns();
        // Opened and read ahead before time zero, so that neither costs delay; so is a later pass before its start.
        let mut first = Some(self.feed(index, 0, start.control));
        start.wait(self.is_timed());
        worker.run(self.plan.passes, member, |pass| {
            first.take().unwrap_or_else(|| self.feed(index, pass, start.control))
        })
    }

    fn feed(&self, index: usize, pass: u32, control: &Control) -> Result<Feed, WorkerError> {
        let target = &self.targets[index];
        let stream = u64::from(pass) * self.targets.len() as u64 + index as u64;
        let mut feed = match target.requests(&self.plan, stream, &self.notices) {
            Requests::Pattern(source) => Feed::Direct(source),
            Requests::Load(open) if self.is_timed() => {
                Feed::Ahead(ReadAhead::start(open).map_err(WorkerError::Thread)?)
            }
            Requests::Load(open) => Feed::Direct(open()?),
        };
        // A load from standard input was not scanned: nobody knows when its producer begins.
        feed.prime(target.load.is_none(), || control.is_stopped(Nanos(0)));
        Ok(feed)
    }

    fn conclude(&self, info: &mut RunInfo, outcomes: &[Outcome], broken: Option<String>) {
        let mut reasons: Vec<String> = broken.into_iter().collect();
        for ((target, ready), (tally, result)) in info.targets.iter_mut().zip(&self.targets).zip(outcomes) {
            target.bad_lines += ready.told.bad_lines.load(Relaxed);
            target.back_shifts += ready.told.back_shifts.load(Relaxed);
            target.max_requested_end = target.max_requested_end.max(tally.max_requested_end);
            target.input_lines = tally.lines;
            target.max_waiting = tally.counters.max_waiting.into();
            target.max_in_flight = tally.counters.max_in_flight.into();
            info.recorder_stalls.merge(tally.recorder_stalls);
            info.push_back_stalls
                .merge(Stalls { count: tally.counters.full_count, total: tally.counters.full_total });
            match result {
                Err(WorkerError::Writer(_)) if !reasons.is_empty() => {}
                Err(error) => reasons.push(format!("target {}: {error}", target.path)),
                Ok(()) => {}
            }
        }
        info.state = match reasons.is_empty() {
            true => RunState::Finished,
            false => RunState::Broken(reasons.join("; ")),
        };
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
}

/// What workers wait for before they begin.
struct Start<'a> {
    clock: &'a Clock,
    control: &'a Control,
    ready: &'a Barrier,
    known: &'a Barrier,
}

impl Start<'_> {
    /// Says that this worker is ready, and waits for time zero.
    fn wait(&self, is_timed: bool) {
        self.ready.wait();
        self.known.wait();
        let slice = Duration::from_millis(20);
        while is_timed && !self.control.is_stopped(Nanos(0)) {
            let left = Duration::from_nanos(self.clock.origin().saturating_sub(monotonic_ns()));
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(slice));
        }
    }
}

fn sample(
    mut series: SeriesLog,
    facts: &[TargetFacts],
    clock: &Clock,
    ended: Receiver<()>,
) -> std::io::Result<()> {
    let mut sampler = Sampler::new(facts, &Root::default());
    let names = sampler.names().to_vec();
    let mut values = Vec::new();
    let mut next = Instant::now();
    loop {
        values.clear();
        sampler.sample(&mut values);
        series.append(
            clock.now(),
            values.iter().map(|(id, value)| (names[usize::from(id.0)].as_str(), *value)),
        )?;
        next += SAMPLE_EVERY;
        match ended.recv_deadline(next) {
            Err(RecvTimeoutError::Timeout) => {}
            _ => return Ok(()),
        }
    }
}
