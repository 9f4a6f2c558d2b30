//! A run: workers, the records' writer, the sampler of counters, time zero.

use crate::control::Control;
use crate::gate::Gate;
use crate::prepare::{PrepareError, Prepared, TargetReady, source_name};
use crate::progress::Progress;
use crate::worker::{Settings, Tally, Worker, WorkerError};
use crossbeam_channel::{Receiver, RecvTimeoutError};
use iosonar_archive::{
    ARCHIVE_VERSION, ArchiveError, ArchiveWriter, RunInfo, RunState, SeriesLog, Stalls, TargetInfo,
};
use iosonar_backend::{Backend, Null, Sim, Threads};
use iosonar_host::sample::Sampler;
use iosonar_host::{Root, TargetFacts};
use iosonar_os::{Clock, monotonic_ns, realtime_ns, set_timer_slack_1ns};
use iosonar_plan::{Engine, Nanos, Plan};
use iosonar_record::{Recorder, start as start_recorder};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time between two samples of the counters.
const SAMPLE_EVERY: Duration = Duration::from_secs(1);

/// Why a run could not begin.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Something changed since the preparation.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
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
        // The gauges show no time before the origin is set.
        clock.set_origin(monotonic_ns() + if self.is_timed() { self.plan.start_grace.0 } else { 0 });
        info.origin_monotonic_ns = clock.origin();
        info.started_unix_ns = (realtime_ns() + clock.origin()).saturating_sub(monotonic_ns());
        archive.write_run(&info)?;
        let outcomes = self.carry_out(backends, recorders, &clock, series, control, progress);
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
                Engine::Threads => {
                    let file = target.open(self.plan.access)?;
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
        clock: &Clock,
        series: SeriesLog,
        control: &Control,
        progress: &Progress,
    ) -> Vec<Outcome> {
        let gate = Gate::new(self.targets.len());
        let facts = self.facts();
        let (end, ended) = crossbeam_channel::bounded::<()>(0);
        std::thread::scope(|scope| {
            let sampler = scope.spawn(|| sample(series, &facts, clock, ended));
            let workers: Vec<_> = backends
                .into_iter()
                .zip(recorders)
                .enumerate()
                .map(|(index, (backend, recorder))| {
                    let gate = &gate;
                    scope.spawn(move || {
                        let settings = self.settings(index);
                        let worker = Worker::new(settings, backend, recorder, control, progress.gauge(index));
                        self.work(index, worker, gate, clock, control)
                    })
                })
                .collect();
            let lost = || (Tally::default(), Err(WorkerError::Writer(iosonar_record::WriterGone)));
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
        Settings { run_id, target: index as u16, depth, overlap, fill, placement, max_length }
    }

    fn work(
        &self,
        index: usize,
        worker: Worker<'_>,
        gate: &Gate,
        clock: &Clock,
        control: &Control,
    ) -> Outcome {
        set_timer_slack_1ns();
        let targets = self.targets.len() as u64;
        let requests = |pass: u32| {
            let stream = u64::from(pass) * targets + index as u64;
            self.targets[index].requests(&self.plan, stream, &self.notices)
        };
        // Opened before time zero, so that opening costs no delay; a later pass opens its own.
        let mut first = match requests(0) {
            Ok(source) => Some(source),
            Err(error) => {
                gate.leave();
                return (Tally::default(), Err(WorkerError::Source(error)));
            }
        };
        if self.is_timed() {
            sleep_until_zero(clock, control);
        }
        worker.run(self.plan.passes, gate, |pass| match first.take() {
            Some(source) => Ok(source),
            None => requests(pass).map_err(WorkerError::Source),
        })
    }

    fn conclude(&self, info: &mut RunInfo, outcomes: &[Outcome], broken: Option<String>) {
        let mut reasons: Vec<String> = broken.into_iter().collect();
        for (target, (tally, result)) in info.targets.iter_mut().zip(outcomes) {
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

fn sleep_until_zero(clock: &Clock, control: &Control) {
    let slice = Duration::from_millis(20);
    loop {
        let left = Duration::from_nanos(clock.origin().saturating_sub(monotonic_ns()));
        if left.is_zero() || control.is_stopped(Nanos(0)) {
            return;
        }
        std::thread::sleep(left.min(slice));
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
