//! The Plan itself: fields, checks, TOML in and out.

use crate::{ByteSize, Engine, Fill, LoadPace, Nanos, Overlap, Pace, RunId, Source};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Version of the plan's form. A reader refuses a version that it does not know.
pub const PLAN_VERSION: u32 = 1;

/// Everything a run is asked to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Version of this form, [`PLAN_VERSION`].
    pub version: u32,
    /// Identifies the run in the data that it writes; equal plans with equal ids write equal bytes.
    pub run_id: RunId,
    /// Seed of everything random: addresses, arrivals, simulated device. Below 2^63.
    pub seed: u64,
    /// From the end of the preparations to time zero of the run.
    #[serde(default)]
    pub start_grace: Nanos,
    /// How often each target's source is carried out. All targets wait for each other between passes.
    #[serde(default = "one")]
    pub passes: u32,
    /// The most requests in flight on one target, 1 to 65 536.
    pub depth: u32,
    /// Whether writing to a block device is allowed.
    #[serde(default)]
    pub destroy: bool,
    /// Which engine.
    #[serde(default)]
    pub engine: Engine,
    /// How targets are opened.
    #[serde(default)]
    pub access: Access,
    /// What written blocks contain.
    #[serde(default)]
    pub fill: Fill,
    /// What happens to requests that conflict.
    #[serde(default)]
    pub overlap: Overlap,
    /// At least one.
    #[serde(rename = "target")]
    pub targets: Vec<Target>,
}

fn one() -> u32 {
    1
}

/// How targets are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Access {
    /// Through the page cache instead of `O_DIRECT`. The result is then no storage result, and says so.
    #[serde(default)]
    pub buffered: bool,
    /// With `O_SYNC`.
    #[serde(default)]
    pub sync: bool,
}

/// A device or file, and the requests that go to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Block device or regular file.
    pub path: PathBuf,
    /// Pretended size for the engines without I/O; a target that is opened tells its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<ByteSize>,
    /// Its requests.
    pub source: Source,
}

/// A plan that cannot be carried out. The text names the field and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidPlan(pub String);

/// Why a text is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// It is no TOML, or a field is unknown, missing or of the wrong kind; line and column are in the text.
    #[error("{0}")]
    Syntax(#[from] toml::de::Error),
    /// It is a plan, but not one that can be carried out.
    #[error(transparent)]
    Invalid(#[from] InvalidPlan),
}

impl Plan {
    /// Reads and checks a plan.
    pub fn from_toml(text: &str) -> Result<Plan, PlanError> {
        let plan: Plan = toml::from_str(text)?;
        plan.validate()?;
        Ok(plan)
    }

    /// The plan as TOML; [`Plan::from_toml`] gives the same plan back.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a plan holds only what TOML can hold")
    }

    /// Whether any source may contain writes, as far as the plan alone can tell.
    pub fn may_write(&self) -> bool {
        self.targets.iter().any(|t| match &t.source {
            Source::Load(_) => true,
            Source::Pattern(p) => p.read_percent < 100,
        })
    }

    /// Checks what types alone do not.
    pub fn validate(&self) -> Result<(), InvalidPlan> {
        let refuse = |text: String| Err(InvalidPlan(text));
        if self.version != PLAN_VERSION {
            return refuse(format!(
                "version = {}: this program reads version {PLAN_VERSION}; make the plan anew with --show-plan",
                self.version
            ));
        }
        if self.targets.is_empty() {
            return refuse("there is no [[target]]: name at least one".into());
        }
        if !(1..=65_536).contains(&self.depth) {
            return refuse(format!("depth = {}: it must lie between 1 and 65536", self.depth));
        }
        if self.passes == 0 {
            return refuse("passes = 0: at least one pass is needed".into());
        }
        if self.run_id >= 1 << 63 || self.seed >= 1 << 63 {
            return refuse("run_id and seed must be below 2^63".into());
        }
        if self.fill.random_percent > 100 {
            return refuse(format!(
                "fill.random_percent = {}: it must lie between 0 and 100",
                self.fill.random_percent
            ));
        }
        if !(1..=1 << 24).contains(&self.overlap.max_waiting) {
            return refuse(format!(
                "overlap.max_waiting = {}: it must lie between 1 and 16777216",
                self.overlap.max_waiting
            ));
        }
        if let Engine::Sim(model) = self.engine
            && let Some(stall) = model.stall
            && stall.length >= stall.period
        {
            return refuse(format!(
                "engine.stall: a stall of {} every {} never ends; make the period longer",
                stall.length, stall.period
            ));
        }
        self.targets.iter().try_for_each(|t| self.validate_target(t))
    }

    fn validate_target(&self, target: &Target) -> Result<(), InvalidPlan> {
        let name = target.path.display();
        let refuse = |text: String| Err(InvalidPlan(format!("target {name}: {text}")));
        match &target.source {
            Source::Load(load) => {
                if load.window.end.is_some_and(|end| end <= load.window.start) {
                    return refuse(format!(
                        "the window ends at {} and begins at {}: it holds no request",
                        load.window.end.unwrap_or_default(),
                        load.window.start
                    ));
                }
                if load.pace == LoadPace::Asap && !load.speed.is_one() {
                    return refuse(
                        "speed has no meaning when all requests are due at once: leave one of them out"
                            .into(),
                    );
                }
                if self.passes > 1 && load.file.as_os_str() == "-" {
                    return refuse(
                        "standard input can be read only once: save it to a file, or use one pass".into(),
                    );
                }
            }
            Source::Pattern(p) => {
                if p.block_size.0 == 0 || p.block_size.0 > 1 << 30 {
                    return refuse(format!(
                        "block_size = {}: it must lie between 1 byte and 1 GiB",
                        p.block_size
                    ));
                }
                if p.read_percent > 100 {
                    return refuse(format!(
                        "read_percent = {}: it must lie between 0 and 100",
                        p.read_percent
                    ));
                }
                if p.stop.requests.is_none() && p.stop.runtime.is_none() {
                    return refuse("stop: give requests or runtime, or the pass would never end".into());
                }
                if let Pace::Rate { iops, .. } = p.pace
                    && !(1..=1_000_000_000).contains(&iops)
                {
                    return refuse(format!("iops = {iops}: it must lie between 1 and 1000000000"));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::*;

    fn sample() -> Plan {
        Plan {
            version: PLAN_VERSION,
            run_id: 7,
            seed: 1,
            start_grace: Nanos::from_secs(2),
            passes: 1,
            depth: 128,
            destroy: false,
            engine: Engine::Sim(SimModel {
                stall: Some(SimStall { period: Nanos::from_secs(10), length: Nanos::SECOND }),
                ..SimModel::default()
            }),
            access: Access::default(),
            fill: Fill { random_percent: 50 },
            overlap: Overlap { policy: OverlapPolicy::Order, strong: Strong::Every, max_waiting: 9 },
            targets: vec![
                Target {
                    path: "/dev/sdx".into(),
                    size: None,
                    source: Source::Load(LoadSource {
                        file: "a.load.gz".into(),
                        window: Window { start: Nanos(500_000_000), end: Some(Nanos::from_secs(4)) },
                        speed: "1.5".parse().unwrap(),
                        pace: LoadPace::Original,
                        backward: Backward::Sort,
                        skip_bad: true,
                    }),
                },
                Target {
                    path: "file".into(),
                    size: Some(ByteSize(1 << 30)),
                    source: Source::Pattern(PatternSource {
                        order: Order::Random,
                        block_size: ByteSize(4096),
                        read_percent: 70,
                        offset: ByteSize(0),
                        region: None,
                        pace: Pace::Rate { iops: 1000, process: Process::Poisson },
                        stop: Stop { requests: Some(10), runtime: None },
                    }),
                },
            ],
        }
    }

    #[test]
    fn toml_round_trips() {
        let plan = sample();
        let text = plan.to_toml();
        assert_eq!(Plan::from_toml(&text).unwrap(), plan, "{text}");
    }

    #[test]
    fn unknown_fields_are_named() {
        let text = sample().to_toml().replace("depth = 128", "depth = 128\ndeph = 3");
        let error = Plan::from_toml(&text).unwrap_err().to_string();
        assert!(error.contains("deph"), "{error}");
    }

    #[test]
    fn contradictions_are_refused() {
        type Spoil = fn(&mut Plan);
        let cases: [(&str, Spoil); 8] = [
            ("version", |p| p.version = 99),
            ("target", |p| p.targets.clear()),
            ("depth", |p| p.depth = 0),
            ("passes", |p| p.passes = 0),
            ("random_percent", |p| p.fill.random_percent = 101),
            ("stall", |p| {
                let stall = SimStall { period: Nanos(1), length: Nanos(1) };
                p.engine = Engine::Sim(SimModel { stall: Some(stall), ..SimModel::default() });
            }),
            ("window", |p| {
                if let Source::Load(l) = &mut p.targets[0].source {
                    l.window.end = Some(l.window.start);
                }
            }),
            ("stop", |p| {
                if let Source::Pattern(s) = &mut p.targets[1].source {
                    s.stop = Stop::default();
                }
            }),
        ];
        for (word, spoil) in cases {
            let mut plan = sample();
            spoil(&mut plan);
            let error = plan.validate().expect_err(word).to_string();
            assert!(error.contains(word), "{word}: {error}");
        }
    }
}
