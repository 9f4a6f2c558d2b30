//! Execution of a phase: its issuing loops from their threads to their ends.

use crate::control::Control;
use crate::coordinator::Coordinator;
use crate::error::RunError;
use crate::feed::Feed;
use crate::file_session::FileSession;
use crate::job_loop::JobLoop;
use crate::pass_barrier::{Member, Opening, PassBarrier};
use crate::passes::{FirstLateness, WorkerContext};
use crate::setup::{Equipment, isolate};
use crate::shared::Shared;
use crate::stage::{Requests, Stage};
use crate::start::Start;
use crate::verify::{Checker, LoopFacts, read_unit};
use crate::worker::{Worker, WorkerEnd, WorkerError};
use iosonar_archive::{LogWriter, PhaseTimes};
use iosonar_load::ReadAhead;
use iosonar_os::set_timer_slack_1ns;
use iosonar_plan::Nanos;
use iosonar_record::{Recorder, start as start_recorder};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError};

/// Outcome of an issuing loop.
pub(crate) struct LoopEnd {
    pub(crate) phase: u16,
    pub(crate) target: usize,
    pub(crate) worker: WorkerEnd,
}

/// Outcome of a phase.
pub(crate) struct StageEnd {
    pub(crate) loops: Vec<LoopEnd>,
    pub(crate) log: std::io::Result<LogWriter>,
    pub(crate) times: PhaseTimes,
}

impl StageEnd {
    /// Whether it was stopped.
    pub(crate) fn is_stopped(&self) -> bool {
        self.loops.iter().any(|end| end.worker.counters.stopped)
    }

    /// Whether all that was requested was done: the phases after it build on it.
    pub(crate) fn is_whole(&self) -> bool {
        let is_whole = |end: &LoopEnd| end.worker.result.is_ok() && end.worker.counters.ended_early.is_none();
        self.log.is_ok() && !self.is_stopped() && self.loops.iter().all(is_whole)
    }
}

/// State shared by the issuing loops of a phase.
#[derive(Clone, Copy)]
struct Together<'a> {
    /// Where loops wait for each other, if any do.
    coordinator: Option<&'a Coordinator>,
    lateness: &'a FirstLateness,
    first_done: &'a Arc<AtomicBool>,
    start: &'a Start,
}

impl Stage<'_> {
    /// Runs all issuing loops of the phase to their ends. `start` returns its start when all of them are ready.
    pub(crate) fn execute(
        self,
        equipment: Vec<Equipment>,
        log: LogWriter,
        shared: Shared<'_>,
        start: impl FnOnce() -> Result<Nanos, RunError>,
    ) -> Result<StageEnd, RunError> {
        let (writer, recorders) =
            start_recorder(log, equipment.len(), shared.frames).map_err(RunError::Threads)?;
        let opening = |latest: Nanos| self.opening(latest, shared);
        let (gates, gate_of_all) = (self.gates(&opening), Start::default());
        shared.progress.begin_phase(equipment.len());
        let coordination = &self.phase().coordination;
        let coordinator =
            coordination.is_coupled().then(|| Coordinator::new(self.phase(), self.prepared.is_timed()));
        let (lateness, first_done) = (FirstLateness::default(), shared.others.first_done(self.number));
        let together = Together {
            coordinator: coordinator.as_ref(),
            lateness: &lateness,
            first_done: &first_done,
            start: &gate_of_all,
        };
        let (begun, loops) = std::thread::scope(|scope| {
            let spawn = |(index, (equipment, recorder)): (usize, (Equipment, Recorder))| {
                let part = equipment.part;
                let gate = &gates[part.job % gates.len()];
                let work = move || self.work(index, equipment, recorder, &gate.member(), together, shared);
                let thread = std::thread::Builder::new().name(format!("issue-{index}"));
                thread.spawn_scoped(scope, work).map(|worker| (part, worker))
            };
            let workers = equipment.into_iter().zip(recorders).enumerate().map(spawn);
            let go_home = |error| {
                gate_of_all.decide(None);
                error
            };
            let workers = workers.collect::<std::io::Result<Vec<_>>>();
            let workers = workers.map_err(|error| go_home(RunError::Threads(error)))?;
            gate_of_all.await_ready(workers.len());
            let begun = start().map_err(go_home)?;
            gate_of_all.decide(Some(begun));
            let end_of = |(part, worker): (JobLoop, std::thread::ScopedJoinHandle<'_, _>)| {
                let worker =
                    worker.join().unwrap_or_else(|_| WorkerEnd::without_work(Err(WorkerError::Panicked)));
                LoopEnd { phase: self.number, target: part.target.into(), worker }
            };
            Ok::<_, RunError>((begun, workers.into_iter().map(end_of).collect::<Vec<_>>()))
        })?;
        let end = loops.iter().map(|end| end.worker.counters.ended_at).max().unwrap_or(begun).max(begun);
        let times = PhaseTimes { name: self.phase().name.clone(), start: begun, end };
        Ok(StageEnd { loops, log: writer.finish().map(|(log, _)| log), times })
    }

    /// Start of the requests of a pass, where the last loop of this process was ready for them at `latest`.
    fn opening(self, latest: Nanos, shared: Shared<'_>) -> Nanos {
        let origin = shared.clock.origin();
        match self.prepared.is_timed() {
            true => Nanos(shared.others.meet(self.number, origin + latest.0).saturating_sub(origin)),
            false => latest,
        }
    }

    /// Where loops wait for each other between passes: all of them, or only those of one job.
    fn gates<'b>(self, opening: Opening<'b>) -> Vec<PassBarrier<'b>> {
        match self.phase().coordination.free_passes {
            true => {
                let loops = self.phase().jobs.iter().map(|job| job.workload.jobs() as usize);
                loops.map(|loops| PassBarrier::new(loops, opening)).collect()
            }
            false => vec![PassBarrier::new(self.phase().loops(), opening)],
        }
    }

    fn work(
        self,
        index: usize,
        equipment: Equipment,
        recorder: Recorder,
        member: &Member<'_>,
        together: Together<'_>,
        shared: Shared<'_>,
    ) -> WorkerEnd {
        let _counted = shared.threads.enter();
        let ticket = together.start.ticket();
        set_timer_slack_1ns();
        let Equipment { part, settings, backend, payloads, job_status } = equipment;
        let (prepared, job) = (self.prepared, &self.job(part).job);
        let refused = isolate(&prepared.plan.pacing, job.options.cpu, index);
        shared.notices.lock().unwrap_or_else(PoisonError::into_inner).extend(refused);
        let Shared { clock, control, progress, .. } = shared;
        let facts = prepared.targets[usize::from(part.target)].looked.facts.as_ref();
        let own = LoopFacts {
            target: part.target,
            phase: self.number,
            depth: settings.depth,
            block: settings.placement.block(),
            read_unit: read_unit(&prepared.plan, job, facts),
        };
        let pattern = job.options.verify.filter(|_| prepared.plan.transfers_data());
        let pattern = pattern.map(|verify| (verify, self.data_source(part)));
        let checker = shared.verifier.map(|verifier| Checker::new(verifier, own, pattern));
        let loops = self.phase().loops();
        let journal = shared.journal.map(|journal| journal.lane(index, loops, settings.depth));
        let context = WorkerContext {
            checker,
            journal,
            job_status,
            loops: part.of,
            stays_open: self.is_last() && prepared.plan.is_buffered(job),
            access: job.access(prepared.plan.access),
            first_done: together.first_done,
            others: shared.others,
            participant: together.coordinator.map(|coordinator| coordinator.participant(part.job as u16)),
            file: prepared.targets[usize::from(part.target)].file().cloned(),
            remake: prepared.remake(self.job(part), shared),
            before: &job.options.before,
            after: &job.options.after,
            session: FileSession::default(),
            lateness: together.lateness,
            delays: self.job(part).workload.delays(),
        };
        let gauge = progress.gauge(index);
        let worker = Worker::new(settings, backend, payloads, context, recorder, control, gauge);
        // Opened and read ahead before its start, so that neither costs delay; so is a later pass.
        let mut first = Some(self.feed(part, 0, control));
        let Some(begin) = ticket.wait(clock, prepared.is_timed(), control) else {
            return WorkerEnd::without_work(Ok(()));
        };
        worker.run(begin, self.phase().passes, member, |pass| {
            first.take().unwrap_or_else(|| self.feed(part, pass, control))
        })
    }

    fn feed(self, part: JobLoop, pass: u32, control: &Control) -> Result<Feed, WorkerError> {
        let mut feed = match self.requests(part, pass) {
            Requests::Generated(source) => Feed::Direct(source),
            Requests::Load(open) if self.prepared.is_timed() => {
                Feed::Ahead(ReadAhead::start(open).map_err(WorkerError::Thread)?)
            }
            Requests::Load(open) => Feed::Direct(open()?),
        };
        // A load from standard input was not scanned, and the start of its producer is unknown.
        let is_scanned = self.job(part).workload.facts().is_some();
        feed.prime(!is_scanned, || control.is_stopped(Nanos(0)));
        Ok(feed)
    }
}
