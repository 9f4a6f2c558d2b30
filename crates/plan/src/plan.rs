//! The Plan itself: fields, checks, TOML in and out.

use crate::one_line_strings::one_line_strings;
use crate::plan_text::PlanText;
use crate::rules::require;
use crate::{
    Access, ByteSize, Claim, Engine, Executor, Faults, FileLifecycle, Fill, HostRules, Injection,
    InvalidPlan, Job, Memory, Nanos, Overlap, Pacing, Phase, Probe, RunId, TracePath, Verification,
};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Version of the plan's form. A reader refuses any other.
pub const PLAN_VERSION: u32 = 2;

/// Everything a run is asked to do.
///
/// It is complete before the first I/O, prints as TOML, and is the same when read back. Contradictions are refused with the field
/// and the remedy.
///
/// ```
/// use iosonar_plan::{Nanos, Plan, Workload};
///
/// let plan = Plan::from_toml(
///     r#"
///     version = 2
///     run_id = 1
///     seed = 1
///     depth = 32
///
///     [[target]]
///     path = "a.img"
///     workload = { kind = "generated", order = "random", block_size = "4KiB", read_percent = 70, pace = { kind = "closed" }, stop = { runtime = "60s" } }
///     "#,
/// )?;
/// let Workload::Generated(generator) = &plan.phases[0].jobs[0].workload else { panic!("it is generated") };
/// assert_eq!((generator.longest(), generator.stop.runtime), (4096, Some(Nanos::from_secs(60))));
/// assert_eq!(Plan::from_toml(&plan.to_toml())?, plan);
///
/// let refused = Plan::from_toml(&plan.to_toml().replace("depth = 32", "depth = 0")).unwrap_err();
/// assert_eq!(refused.to_string(), "target a.img: depth = 0: it must lie between 1 and 65536");
/// # Ok::<(), iosonar_plan::PlanError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "PlanText", into = "PlanText")]
pub struct Plan {
    /// Version of this form, [`PLAN_VERSION`].
    pub version: u32,
    /// Identifies the run in the data that it writes; equal plans with equal ids write equal bytes.
    pub run_id: RunId,
    /// Seed of everything random: addresses, arrivals, simulated device. Below 2^63.
    pub seed: u64,
    /// Time from the end of the preparations to time zero of the run.
    pub start_grace: Nanos,
    /// Whether writing to a block device is allowed.
    pub destroy: bool,
    /// The engine.
    pub engine: Engine,
    /// Access to targets.
    pub access: Access,
    /// Content of written blocks.
    pub fill: Fill,
    /// Treatment of requests that conflict.
    pub overlap: Overlap,
    /// Precision of issuing at due times.
    pub pacing: Pacing,
    /// Memory for the data of requests.
    pub memory: Memory,
    /// Handling of requests that fail or stay short.
    pub faults: Faults,
    /// Checking that targets return the data that was written to them.
    pub verify: Verification,
    /// Faults that are injected on purpose. The result is then marked as no storage result.
    pub inject: Vec<Injection>,
    /// Time between two samples of the machine's counters, 10 ms to 1 h.
    pub sample_every: Nanos,
    /// Rules of a run on several machines.
    pub hosts: HostRules,
    /// Targets of the requests; at least one.
    pub targets: Vec<Target>,
    /// The phases, in their order; at least one.
    pub phases: Vec<Phase>,
    /// The quantity that the figures represent; see [`Plan::claim`].
    pub claim: Option<Claim>,
    /// Whether a long run starts although its figures will not match their claim.
    pub anyway: bool,
    /// Whether the kernel's tracepoints are watched for requests that overtake others.
    pub watch_order: bool,
    /// How much of the run has the kernel's tracepoints record where the time of each request goes.
    pub trace_path: TracePath,
    /// Whether random blocks of the targets are read twice before the run.
    pub probe: Probe,
}

impl Plan {
    /// A plan whose other fields have their defaults.
    pub fn new(run_id: RunId, targets: Vec<Target>, phases: Vec<Phase>) -> Plan {
        Plan {
            version: PLAN_VERSION,
            run_id,
            seed: 1,
            start_grace: Nanos(0),
            destroy: false,
            engine: Engine::default(),
            access: Access::default(),
            fill: Fill::default(),
            overlap: Overlap::default(),
            pacing: Pacing::default(),
            memory: Memory::default(),
            faults: Faults::default(),
            verify: Verification::default(),
            inject: Vec::new(),
            sample_every: Nanos::SECOND,
            hosts: HostRules::default(),
            targets,
            phases,
            claim: None,
            anyway: false,
            watch_order: false,
            trace_path: TracePath::OFF,
            probe: Probe::Auto,
        }
    }
}

/// A device or file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Block device or regular file.
    pub path: PathBuf,
    /// Pretended size for the engines without I/O; an opened target has its real size.
    pub size: Option<ByteSize>,
    /// Lifecycle of a regular file.
    pub file: FileLifecycle,
    /// The process that executes its jobs.
    pub executor: Executor,
}

impl Target {
    /// A target that exists already, and is kept.
    pub fn new(path: impl Into<PathBuf>) -> Target {
        Target {
            path: path.into(),
            size: None,
            file: FileLifecycle::default(),
            executor: Executor::default(),
        }
    }
}

/// The version of a plan in a form that may have other fields.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

/// Refuses any version but [`PLAN_VERSION`].
pub(crate) fn require_version(version: u32) -> Result<(), InvalidPlan> {
    require(version == PLAN_VERSION, || {
        InvalidPlan::of("version", format!("this program reads version {PLAN_VERSION}"))
            .value(version)
            .remedy("make a new plan with --show-plan")
    })
}

/// Why a text is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// It is no TOML, or a field is unknown, missing or of the wrong kind; line and column are in the text.
    #[error("{0}{hint}", hint = hint(.0))]
    Syntax(#[from] toml::de::Error),
    /// It is a plan, but not one that can be executed.
    #[error(transparent)]
    Invalid(#[from] InvalidPlan),
}

/// The remedy where one table stands in the place of a list of tables.
fn hint(error: &toml::de::Error) -> &'static str {
    match error.message() {
        "invalid type: map, expected a sequence" => {
            "targets, phases and jobs are lists: write [[target]], [[phase]] and [[phase.job]], with two brackets on each side\n"
        }
        _ => "",
    }
}

impl Plan {
    /// Whether any of its requests have due times.
    pub fn has_timetable(&self) -> bool {
        self.jobs().any(|(_, job)| job.workload.has_timetable())
    }

    /// Reads and checks a plan.
    pub fn from_toml(text: &str) -> Result<Plan, PlanError> {
        // The version comes first: another version may have other fields. A text without a version fails below, with its line.
        if let Ok(Version { version }) = toml::from_str(text) {
            require_version(version)?;
        }
        let text: PlanText = toml::from_str(text)?;
        let plan = Plan::try_from(text)?;
        plan.validate()?;
        Ok(plan)
    }

    /// The plan as TOML; [`Plan::from_toml`] returns the same plan.
    ///
    /// # Panics
    /// Only where [`Plan::validate`] refuses the plan: TOML knows no other text than UTF-8 and no number of 64 bits
    /// without sign.
    pub fn to_toml(&self) -> String {
        one_line_strings(&toml::to_string(self).expect("a valid plan holds only what TOML can hold"))
    }

    /// Maximum number of issuing loops that work at the same time; at least 1.
    pub fn loops(&self) -> usize {
        self.phases.iter().map(Phase::loops).max().unwrap_or(0).max(1)
    }

    /// The jobs of all phases, each with its phase.
    pub fn jobs(&self) -> impl Iterator<Item = (&Phase, &Job)> {
        self.phases.iter().flat_map(|phase| phase.jobs.iter().map(move |job| (phase, job)))
    }

    /// The jobs on a target, in the order of their phases.
    pub fn jobs_on(&self, target: usize) -> impl Iterator<Item = &Job> {
        self.jobs().map(|(_, job)| job).filter(move |job| usize::from(job.target) == target)
    }

    /// The jobs of each target, for all targets at once.
    pub fn jobs_by_target(&self) -> Vec<Vec<&Job>> {
        let mut all = vec![Vec::new(); self.targets.len()];
        for (_, job) in self.jobs() {
            if let Some(own) = all.get_mut(usize::from(job.target)) {
                own.push(job);
            }
        }
        all
    }

    /// Reduces the plan to the first job of the first phase, on each of these targets.
    pub fn on_each(&mut self, paths: impl Iterator<Item = PathBuf>) {
        let (target, job) = (self.targets[0].clone(), self.phases[0].jobs[0].clone());
        self.targets = paths.map(|path| Target { path, ..target.clone() }).collect();
        let jobs = (0..self.targets.len()).map(|number| Job { target: number as u16, ..job.clone() });
        self.phases = vec![Phase { jobs: jobs.collect(), ..self.phases[0].clone() }];
    }

    /// Whether requests have data: those of an engine with I/O do, and of a simulated one where its content is checked.
    pub fn transfers_data(&self) -> bool {
        self.engine.is_real()
            || self.engine != Engine::Null && (self.verify.is_on() || !self.inject.is_empty())
    }

    /// Whether data is compared: with the run's own writes, or with the data that a job names.
    pub fn is_verified(&self) -> bool {
        self.verify.is_on() || self.phases.iter().any(Phase::is_verified)
    }

    /// The greatest depth of any job.
    pub fn depth(&self) -> u32 {
        self.jobs().map(|(_, job)| job.depth).max().unwrap_or(1)
    }

    /// Whether its only phase has one job on each target: it is written without naming phases.
    pub(crate) fn is_short(&self) -> bool {
        let [phase] = &self.phases[..] else { return false };
        let numbers = phase.jobs.iter().map(|job| usize::from(job.target));
        phase.name.is_empty() && phase.remount.is_none() && numbers.eq(0..self.targets.len())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::*;
    use proptest::prelude::*;

    pub(crate) fn sample() -> Plan {
        Plan {
            version: PLAN_VERSION,
            run_id: 7,
            seed: 1,
            start_grace: Nanos::from_secs(2),
            verify: Verification::default(),
            sample_every: Nanos::SECOND,
            destroy: false,
            engine: Engine::Sim(SimModel {
                stall: Some(SimStall { period: Nanos::from_secs(10), length: Nanos::SECOND }),
                ..SimModel::default()
            }),
            access: Access::default(),
            fill: Fill { random_percent: 50 },
            overlap: Overlap { policy: OverlapPolicy::Order, strong: Strong::Every, max_waiting: 9 },
            pacing: Pacing { spin: Some(Nanos(5)), pin: vec![0, 3], nice: None, realtime: Some(9) },
            memory: Memory { buffers: ByteSize(1 << 20), hugepages: true },
            faults: Faults { max_errors: Some(0), short: ShortPolicy::Record },
            inject: Vec::new(),
            claim: Some(Claim::Device),
            anyway: true,
            watch_order: false,
            trace_path: TracePath::OFF,
            probe: Probe::Off,
            hosts: HostRules::default(),
            targets: vec![
                Target::new("/dev/sdx"),
                Target { size: Some(ByteSize(1 << 30)), ..Target::new("file") },
            ],
            phases: vec![Phase::of(vec![
                Job::new(
                    0,
                    128,
                    Workload::Trace(TraceReplay {
                        window: Window { start: Nanos(500_000_000), end: Some(Nanos::from_secs(4)) },
                        speed: "1.5".parse().unwrap(),
                        backward: Backward::Sort,
                        skip_bad: true,
                        flush: IssuePolicy::Drop,
                        discard: IssuePolicy::Drop,
                        ..TraceReplay::of("a.load.gz")
                    }),
                ),
                Job::new(
                    1,
                    128,
                    Workload::Generated(Generator {
                        read_percent: Decimal::whole(70),
                        pace: Pace::Rate { iops: Decimal::whole(1000), process: Process::Poisson },
                        stop: Stop { requests: Some(10), ..Stop::default() },
                        ..Generator::new(Order::Random, ByteSize(4096))
                    }),
                ),
            ])],
        }
    }

    #[test]
    fn toml_round_trips() {
        let plan = sample();
        let text = plan.to_toml();
        assert_eq!(Plan::from_toml(&text).unwrap(), plan, "{text}");
    }

    proptest! {
        #[test]
        fn filters_round_trip(steps in prop::collection::vec(crate::filter::tests::filter(), 0..6)) {
            let mut plan = sample();
            let Workload::Trace(load) = &mut plan.phases[0].jobs[0].workload else { unreachable!("the sample has it there") };
            load.filter = Pipeline(steps);
            let text = plan.to_toml();
            prop_assert_eq!(Plan::from_toml(&text).unwrap(), plan, "{}", text);
        }
    }

    #[test]
    fn reports_unknown_step_with_line() {
        let text =
            sample().to_toml().replace("file = \"a.load.gz\"", "file = \"a.load.gz\"\nfilter = \"revers\"");
        let error = Plan::from_toml(&text).unwrap_err().to_string();
        assert!(error.contains("no step 'revers'") && error.contains("line "), "{error}");
    }

    #[test]
    fn rising_rates_round_trip() {
        let shape = crate::RisingShape::Exponential;
        let rising = crate::Rising { from: 10, to: 500, over: Nanos::from_secs(60), shape };
        let mut plan = sample();
        if let Workload::Trace(load) = &mut plan.phases[0].jobs[0].workload {
            (load.pace, load.speed) = (LoadPace::Rising(rising), Default::default());
        }
        if let Workload::Generated(pattern) = &mut plan.phases[0].jobs[1].workload {
            pattern.pace = Pace::Rising(rising);
        }
        let text = plan.to_toml();
        assert_eq!(Plan::from_toml(&text).unwrap(), plan, "{text}");
        plan.validate().unwrap();
    }

    #[test]
    fn rejects_other_versions_before_reading_fields() {
        for version in [1, 3] {
            let other = format!(
                "version = {version}\nrun_id = 1\n[[target]]\npath = 'x'\nsource = {{ kind = 'load' }}\n"
            );
            assert_eq!(
                Plan::from_toml(&other).unwrap_err().to_string(),
                format!(
                    "version = {version}: this program reads version 2: make a new plan with --show-plan"
                )
            );
        }
    }

    #[test]
    fn errors_name_unknown_fields() {
        let text = sample().to_toml().replace("depth = 128", "depth = 128\ndeph = 3");
        let error = Plan::from_toml(&text).unwrap_err().to_string();
        assert!(error.contains("deph"), "{error}");
    }
}
