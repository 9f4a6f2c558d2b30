//! The setup of a run on this machine: backends, memory for data, pacing. Where the plan leaves something open, or the
//! machine does not allow it, this module decides and reports it.

use crate::engines::{simulated, usable};
use crate::error::RunError;
use crate::job_loop::{JobLoop, parts};
use crate::job_status::JobStatus;
use crate::passes::{PassRules, Remake};
use crate::payload::{DataSource, Payloads};
use crate::pools::Pools;
use crate::prepare::{FittedJob, Prepared};
use crate::shared::Shared;
use crate::stage::Stage;
use crate::verify::EXTRA;
use crate::worker::Settings;
use iosonar_archive::{ClockInfo, ResolvedSetup};
use iosonar_backend::{Backend, Faulty, Null, Setup, real};
use iosonar_os::{BufferPool, Clock, pin_to, set_nice, set_realtime};
use iosonar_plan::{DEFAULT_SPIN, Engine, Nanos, Pacing, Plan};
use std::fs::File;
use std::sync::Arc;
use std::thread::available_parallelism;

impl Prepared {
    /// How long before a due time issuing threads stop sleeping: as the plan sets it, or as the CPUs allow.
    fn spin(&self, workers: usize) -> Nanos {
        let free = available_parallelism().map_or(1, usize::from);
        let auto = if workers < free { DEFAULT_SPIN } else { Nanos(0) };
        if self.is_timed() { self.plan.pacing.spin.unwrap_or(auto) } else { Nanos(0) }
    }

    /// The plan's engine, and engines that jobs set.
    fn engine_names(&self, engine: Engine) -> String {
        let own = self.plan.jobs().map(|(_, job)| job.options.engine.map_or(engine, |own| usable(own).0));
        let mut names: Vec<&str> = Vec::new();
        for name in own.map(Engine::name) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.join(", ")
    }

    /// The part of the setup that is the same for the whole run.
    pub(crate) fn setup(&self, clock: &Clock) -> ResolvedSetup {
        let (engine, fallback) = usable(self.plan.engine);
        let mut setup = ResolvedSetup {
            engine: self.engine_names(engine),
            fallback,
            notices: Vec::new(),
            spin: self.spin(self.workers()),
            buffer_bytes: 0,
            clock: ClockInfo::default(),
        };
        if self.max_waiting < self.plan.overlap.max_waiting {
            setup.notices.push(format!(
                "the push-back list of each target holds {} requests instead of {}, because memory allows no more",
                self.max_waiting, self.plan.overlap.max_waiting
            ));
        }
        if self.is_timed() {
            setup.clock = ClockInfo {
                source: clock.source().into(),
                cost_ps: clock.cost_ps(),
                error: Nanos(clock.correct()),
            };
        }
        setup
    }

    /// A backend of a job with the faults of its target, where the plan injects any.
    fn with_faults_of_job(
        &self,
        fitted: &FittedJob,
        backend: Box<dyn Backend>,
        shared: Shared<'_>,
    ) -> Box<dyn Backend> {
        match shared.injected {
            Some(injected) => injected.wrap_job(&fitted.job, self.plan.access, backend),
            None => backend,
        }
    }

    /// Returns a function that makes a loop's backend on the file of another pass.
    pub(crate) fn remake<'a>(&'a self, fitted: &'a FittedJob, shared: Shared<'a>) -> Remake<'a> {
        let clock = shared.clock;
        Box::new(move |file, pool| match file {
            None => Ok(Box::new(Null::new(clock.clone(), 1))),
            Some(file) => {
                let (backend, _) = on_file(&self.plan, fitted, file, clock, pool)?;
                Ok(self.with_faults_of_job(fitted, backend, shared))
            }
        })
    }
}

/// Everything that one issuing loop works with.
pub(crate) struct Equipment {
    pub(crate) part: JobLoop,
    pub(crate) settings: Settings,
    pub(crate) backend: Box<dyn Backend>,
    pub(crate) payloads: Payloads,
    pub(crate) job_status: Arc<JobStatus>,
}

/// Makes everything that the issuing loops of a phase work with, and notes it in `setup`.
pub(crate) fn equip(
    stage: Stage<'_>,
    shared: Shared<'_>,
    setup: &mut ResolvedSetup,
) -> Result<Vec<Equipment>, RunError> {
    let parts = parts(stage.phase());
    let workers = parts.len();
    let job_status: Vec<Arc<JobStatus>> = stage.jobs.iter().map(|_| Arc::default()).collect();
    let mut buffer_bytes = 0;
    let one = |part: JobLoop| -> Result<Equipment, RunError> {
        let pool = stage.pool(part, workers, shared.pools)?;
        let backend = stage.backend(part, shared, pool.as_ref(), &mut setup.notices)?;
        let fitted = &stage.jobs[part.job].fitted;
        let backend = stage.prepared.with_faults_of_job(fitted, backend, shared);
        buffer_bytes += pool.as_ref().map_or(0, BufferPool::bytes);
        let settings = stage.settings(part, setup.spin);
        let home = stage.keeps_pools(part).then(|| shared.pools.clone());
        let purge = stage.jobs[part.job].fitted.job.options.purge_cpu_cache.0;
        let payloads = Payloads::new(stage.data_source(part), pool, home).purging(purge);
        Ok(Equipment { part, settings, backend, payloads, job_status: job_status[part.job].clone() })
    };
    let equipment = parts.into_iter().map(one).collect::<Result<_, _>>()?;
    shared.pools.clear();
    setup.buffer_bytes = setup.buffer_bytes.max(buffer_bytes);
    Ok(equipment)
}

impl Stage<'_> {
    /// Memory for the data of a loop; `None` where the engine needs no memory.
    fn pool(self, part: JobLoop, workers: usize, pools: &Pools) -> Result<Option<BufferPool>, RunError> {
        let plan = &self.prepared.plan;
        if !plan.transfers_data() {
            return Ok(None);
        }
        let job = &self.jobs[part.job].fitted;
        let (bytes, options) = (job.buffer_bytes(plan, workers), &job.job.options);
        let used = if self.keeps_pools(part) { pools.take(bytes, workers == 1) } else { None };
        let pool = match used {
            Some(used) => Ok(used),
            None if options.shared_memory => BufferPool::shared(bytes),
            None => BufferPool::new(bytes, plan.memory.hugepages),
        };
        let pool = pool.map_err(RunError::Memory)?.shifted(options.align.0);
        Ok(Some(if options.buffer_set.0 > 0 { pool.in_turn(job.longest_or_most()) } else { pool }))
    }

    /// Whether the memory of a loop may serve another one.
    fn keeps_pools(self, part: JobLoop) -> bool {
        let options = &self.jobs[part.job].fitted.job.options;
        !options.shared_memory && options.buffer_set.0 == 0
    }

    pub(crate) fn data_source(self, part: JobLoop) -> DataSource {
        let plan = &self.prepared.plan;
        DataSource {
            run_id: plan.run_id,
            target: part.target,
            phase: self.number,
            fill: plan.fill,
            data: self.phase().jobs[part.job].options.data.clone(),
            seed: plan.seed,
        }
    }

    fn settings(self, part: JobLoop, spin: Nanos) -> Settings {
        let fitted = &self.jobs[part.job].fitted;
        let think_time = fitted.job.workload.generator().and_then(|generator| generator.thinktime);
        // A simulated clock moves only while the loop waits.
        let thinking = think_time.filter(|_| self.prepared.is_timed()).map_or(Nanos(0), |think| think.spin);
        Settings {
            target: part.target,
            phase: self.number,
            job: (part.of > 1).then_some(part.number as u16),
            depth: fitted.job.depth,
            overlap: self.prepared.overlap(fitted),
            placement: fitted.placement,
            spin: spin.max(thinking),
            think_time,
            max_errors: self.prepared.plan.faults.max_errors,
            writes: fitted.workload.writes(),
            // With a rising rate, a part of the load may stay unrequested.
            expected: fitted.workload.facts().and_then(|_| fitted.expected_requests(1)),
            rules: PassRules::new(&self.prepared.plan, self.phase(), part.job),
        }
    }

    fn backend(
        self,
        part: JobLoop,
        shared: Shared<'_>,
        pool: Option<&BufferPool>,
        notices: &mut Vec<String>,
    ) -> Result<Box<dyn Backend>, RunError> {
        let (plan, clock) = (&self.prepared.plan, shared.clock);
        let fitted = &self.jobs[part.job].fitted;
        let job = &fitted.job;
        match plan.engine {
            Engine::Null => Ok(Box::new(Null::new(clock.clone(), job.depth))),
            Engine::Sim(model) => {
                let place = u64::from(part.target) << 32 ^ u64::from(part.number) << 48;
                let seed = plan.seed ^ place ^ u64::from(self.number) << 16;
                Ok(simulated(plan, model, part.target, job.depth, seed, shared.stores))
            }
            _ => {
                let file = self.prepared.targets[usize::from(part.target)].file();
                let file = file.expect("prepare opens the targets of engines with I/O");
                let opened = file.of_pass(0, job.access(plan.access), &mut || Nanos(clock.now()));
                let file = opened.map_err(RunError::Threads)?.file;
                let made = on_file(plan, fitted, file, clock, pool);
                let (backend, new) =
                    made.map_err(|error| RunError::of_engine(usable(job.engine(plan.engine)).0, error))?;
                // Many targets mostly have the same notices.
                notices
                    .extend(new.into_iter().filter(|notice| !notices.contains(notice)).collect::<Vec<_>>());
                Ok(backend)
            }
        }
    }
}

/// The backend of a job on an open file.
fn on_file(
    plan: &Plan,
    fitted: &FittedJob,
    file: File,
    clock: &Clock,
    pool: Option<&BufferPool>,
) -> std::io::Result<(Box<dyn Backend>, Vec<String>)> {
    let (engine, _) = usable(fitted.job.engine(plan.engine));
    let (depth, short) = (fitted.job.depth, plan.faults.short);
    let checks = if plan.verify.is_on() { EXTRA } else { 0 };
    let extra = checks + if plan.inject.is_empty() { 0 } else { Faulty::EXTRA_DEPTH };
    let locks = fitted.job.options.lock_requests;
    let (reach, writes) = (fitted.placement.size(), fitted.workload.writes());
    real(engine, Setup { file, clock: clock.clone(), depth, extra, reach, writes, short, locks, pool })
}

/// Isolates the calling thread as set in the plan; returns refused settings.
pub(crate) fn isolate(pacing: &Pacing, cpu: Option<u32>, worker: usize) -> Vec<String> {
    let mut refused = Vec::new();
    let mut note = |what: String, done: std::io::Result<()>| {
        if let Err(error) = done {
            refused.push(format!("{what} was refused ({error}): the run goes on without it"));
        }
    };
    if let Some(cpu) = cpu.or_else(|| pacing.pin.get(worker % pacing.pin.len().max(1)).copied()) {
        note(format!("--pin {cpu}"), pin_to(cpu));
    }
    if let Some(nice) = pacing.nice {
        note(format!("--nice {nice}"), set_nice(nice));
    }
    if let Some(priority) = pacing.realtime {
        note(format!("--realtime {priority}"), set_realtime(priority));
    }
    refused
}
