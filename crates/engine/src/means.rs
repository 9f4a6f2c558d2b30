//! What carries a plan out on this machine: backends, memory for data, pacing. Where the plan leaves something open, or
//! the machine does not allow it, it is decided here and said.

use crate::fellows::Fellows;
use crate::files::TargetFile;
use crate::passes::{PassRules, Remake};
use crate::payload::{Author, Payloads};
use crate::prepare::{Examined, Prepared};
use crate::run::RunError;
use crate::worker::Settings;
use iosonar_archive::{ClockInfo, Means};
use iosonar_backend::{Backend, Null, Setup, Sim, Uring, real};
use iosonar_os::{BufferPool, Clock, pin_to, set_nice, set_realtime};
use iosonar_plan::{DEFAULT_SPIN, Engine, Nanos, Pacing, Plan, Target};
use std::fs::File;
use std::sync::Arc;
use std::thread::available_parallelism;

/// Longest request that memory is made for where nobody knows the lengths before the start.
const UNKNOWN_LENGTH: u64 = 1 << 20;

/// One issuing loop: a target's only one, or one of several jobs on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    pub(crate) target: usize,
    pub(crate) job: u32,
    pub(crate) jobs: u32,
}

/// Every issuing loop of a plan, those of a target together.
pub(crate) fn parts(plan: &Plan) -> Vec<Part> {
    let of = |(target, t): (usize, &Target)| {
        let jobs = t.workload.jobs();
        (0..jobs).map(move |job| Part { target, job, jobs })
    };
    plan.targets.iter().enumerate().flat_map(of).collect()
}

/// A plan's engine, or what takes its place here, and why.
pub(crate) fn engine(plan: &Plan) -> (Engine, Option<String>) {
    match plan.engine {
        Engine::Uring(_) => match Uring::probe() {
            Ok(_) => (plan.engine, None),
            Err(unavailable) => (Engine::Threads, Some(unavailable.to_string())),
        },
        other => (other, None),
    }
}

/// Bytes of memory for the data of each issuing loop on a target.
pub(crate) fn buffer_bytes(plan: &Plan, target: &Examined, workers: usize) -> u64 {
    let longest = match target.workload.longest() {
        Some(_) => target.max_length() as u64,
        None => UNKNOWN_LENGTH,
    };
    let share = plan.memory.buffers.0 / workers as u64;
    // A buffer that begins behind a page reaches into one more.
    let is_shifted = target.target.handling.align.0 > 0;
    let longest = if is_shifted { longest.saturating_add(4096) } else { longest };
    BufferPool::needed(plan.depth, longest).min(share).max(4096)
}

impl Prepared {
    /// How many issuing loops the run has.
    pub fn workers(&self) -> usize {
        self.plan.targets.iter().map(|target| target.workload.jobs() as usize).sum()
    }

    /// How long before a due time issuing threads stop sleeping: what the plan says, or what the CPUs allow.
    fn spin(&self, workers: usize) -> Nanos {
        let free = available_parallelism().map_or(1, usize::from);
        let auto = if workers < free { DEFAULT_SPIN } else { Nanos(0) };
        if self.is_timed() { self.plan.pacing.spin.unwrap_or(auto) } else { Nanos(0) }
    }

    pub(crate) fn settings(&self, part: Part, spin: Nanos) -> Settings {
        let target = &self.targets[part.target].examined;
        Settings {
            target: part.target as u16,
            job: (part.jobs > 1).then_some(part.job as u16),
            depth: self.plan.depth,
            overlap: self.overlap(part.target),
            placement: target.placement,
            spin,
            max_errors: self.plan.faults.max_errors,
            writes: target.workload.writes(),
            // Of a load with a rising rate not all may be asked for.
            expected: target.workload.facts().and_then(|_| target.expected_requests(1)),
            rules: PassRules::new(&self.plan, part.target),
        }
    }
}

/// What one issuing loop works with.
pub(crate) struct Equipment {
    pub(crate) part: Part,
    pub(crate) settings: Settings,
    pub(crate) backend: Box<dyn Backend>,
    pub(crate) payloads: Payloads,
    pub(crate) fellows: Arc<Fellows>,
}

/// Makes everything that issuing loops work with, and says what it is.
pub(crate) fn equip(prepared: &Prepared, clock: &Clock) -> Result<(Vec<Equipment>, Means), RunError> {
    let (engine, fallback) = engine(&prepared.plan);
    let parts = parts(&prepared.plan);
    let spin = prepared.spin(parts.len());
    let mut means = Means {
        engine: engine.name().into(),
        fallback,
        notices: Vec::new(),
        spin,
        buffer_bytes: 0,
        clock: ClockInfo::default(),
    };
    if prepared.max_waiting < prepared.plan.overlap.max_waiting {
        means.notices.push(format!(
            "the push-back list of each target holds {} requests instead of {}, because memory allows no more",
            prepared.max_waiting, prepared.plan.overlap.max_waiting
        ));
    }
    if prepared.is_timed() {
        means.clock = ClockInfo {
            source: clock.source().into(),
            cost_ps: clock.cost_ps(),
            error: Nanos(clock.correct()),
        };
    }
    let workers = parts.len();
    let fellows: Vec<Arc<Fellows>> = prepared.targets.iter().map(|_| Arc::default()).collect();
    let one = |part: Part| -> Result<Equipment, RunError> {
        let pool = match engine.is_real() {
            true => {
                let bytes = buffer_bytes(&prepared.plan, &prepared.targets[part.target].examined, workers);
                let handling = &prepared.plan.targets[part.target].handling;
                let pool = match handling.shared_memory {
                    true => BufferPool::shared(bytes),
                    false => BufferPool::new(bytes, prepared.plan.memory.hugepages),
                };
                Some(pool.map_err(RunError::Memory)?.shifted(handling.align.0))
            }
            false => None,
        };
        let backend = backend(prepared, engine, part, clock, pool.as_ref(), &mut means.notices)?;
        means.buffer_bytes += pool.as_ref().map_or(0, BufferPool::bytes);
        let author = Author {
            run_id: prepared.plan.run_id,
            target: part.target as u16,
            fill: prepared.plan.fill,
            data: prepared.plan.targets[part.target].handling.data.clone(),
            seed: prepared.plan.seed,
        };
        let settings = prepared.settings(part, spin);
        let (payloads, fellows) = (Payloads::new(author, pool), fellows[part.target].clone());
        Ok(Equipment { part, settings, backend, payloads, fellows })
    };
    let equipment = parts.into_iter().map(one).collect::<Result<_, _>>()?;
    Ok((equipment, means))
}

fn backend(
    prepared: &Prepared,
    engine: Engine,
    part: Part,
    clock: &Clock,
    pool: Option<&BufferPool>,
    notices: &mut Vec<String>,
) -> Result<Box<dyn Backend>, RunError> {
    let plan = &prepared.plan;
    match engine {
        Engine::Null => Ok(Box::new(Null::new(clock.clone(), plan.depth))),
        Engine::Sim(model) => {
            let seed = plan.seed ^ (part.target as u64) << 32 ^ u64::from(part.job) << 48;
            Ok(Box::new(Sim::new(model, plan.depth, seed)))
        }
        Engine::Uring(_) | Engine::Aio | Engine::Threads => {
            let file = prepared.targets[part.target].file();
            let file = file.expect("prepare opens the targets of engines with I/O");
            let (file, _) = file.of_pass(0).map_err(RunError::Threads)?;
            let (backend, new) = on_file(prepared, engine, file, clock, pool).map_err(RunError::Engine)?;
            // Many targets mostly have the same to say.
            notices.extend(new.into_iter().filter(|notice| !notices.contains(notice)).collect::<Vec<_>>());
            Ok(backend)
        }
    }
}

/// The backend of an engine with I/O on an open file.
fn on_file(
    prepared: &Prepared,
    engine: Engine,
    file: File,
    clock: &Clock,
    pool: Option<&BufferPool>,
) -> std::io::Result<(Box<dyn Backend>, Vec<String>)> {
    let plan = &prepared.plan;
    let (depth, short) = (plan.depth, plan.faults.short);
    real(engine, Setup { file, clock: clock.clone(), depth, short, pool })
}

impl Prepared {
    /// The target's file, and what makes a loop's backend on the file of another pass.
    pub(crate) fn files<'a>(
        &'a self,
        target: usize,
        clock: &'a Clock,
    ) -> (Option<Arc<TargetFile>>, Remake<'a>) {
        let remake = move |file: File| {
            let (engine, _) = engine(&self.plan);
            on_file(self, engine, file, clock, None).map(|(backend, _)| backend)
        };
        (self.targets[target].file().cloned(), Box::new(remake))
    }
}

/// Sets the calling thread apart from others as the plan asks; says what was refused.
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
