//! Rules of a plan beyond its types: nothing later overflows, and all of it can be kept.

use crate::plan::require_version;
use crate::rising::validate_rising;
use crate::rules::{Result, bytes, named, require, time, utf8, within};
use crate::validate_engine::validate_engine;
use crate::validate_executor::validate_executors;
use crate::validate_injection::validate_injections;
use crate::validate_phase::validate_phases;
use crate::validate_verification::{
    validate_probe, validate_trace_path, validate_verification, validate_watch_order,
};
use crate::{ByteSize, Engine, InvalidPlan, LoadPace, Nanos, Plan, SimModel, Target, TraceReplay};
use iosonar_text::shown;

/// The shortest time between two samples of the machine's counters. With shorter ones, the sampling itself is a load.
pub const SHORTEST_SAMPLE: Nanos = Nanos(10_000_000);
/// The longest time between two samples. With longer ones, a run has no samples.
pub const LONGEST_SAMPLE: Nanos = Nanos(3_600_000_000_000);
/// The most targets: a record has 16 bits for the number of its target.
const MAX_TARGETS: usize = 65_535;

impl Plan {
    /// Checks the rules beyond the types.
    pub fn validate(&self) -> Result {
        require_version(self.version)?;
        require(!self.targets.is_empty(), || {
            InvalidPlan::whole("there is no [[target]]").remedy("name at least one")
        })?;
        require(self.targets.len() <= MAX_TARGETS, || {
            let rule =
                format!("at most {MAX_TARGETS} targets fit into one run, and it has {}", self.targets.len());
            InvalidPlan::whole(rule).remedy("use several runs")
        })?;
        self.validate_numbers()?;
        time("start_grace", self.start_grace)?;
        require((SHORTEST_SAMPLE..=LONGEST_SAMPLE).contains(&self.sample_every), || {
            let rule = format!("it must lie between {SHORTEST_SAMPLE} and {LONGEST_SAMPLE}");
            InvalidPlan::of("sample_every", rule).value(self.sample_every)
        })?;
        self.validate_means()?;
        if let Engine::Sim(model) = &self.engine {
            validate_model(model)?;
        }
        self.targets.iter().try_for_each(|target| {
            named(&format!("target {}", shown(&target.path)), validate_target(target))
        })?;
        validate_executors(self)?;
        validate_probe(self)?;
        validate_watch_order(self)?;
        validate_trace_path(self)?;
        validate_verification(self)?;
        validate_injections(self)?;
        validate_phases(self)
    }

    fn validate_numbers(&self) -> Result {
        require(self.run_id < 1 << 63, || {
            InvalidPlan::of("run_id", "it must be below 2^63").value(self.run_id)
        })?;
        require(self.seed < 1 << 63, || InvalidPlan::of("seed", "it must be below 2^63").value(self.seed))?;
        within("fill.random_percent", self.fill.random_percent.into(), 0, 100)?;
        within("overlap.max_waiting", self.overlap.max_waiting.into(), 1, 1 << 24)
    }

    fn validate_means(&self) -> Result {
        validate_engine(&self.engine)?;
        time("pacing.spin", self.pacing.spin.unwrap_or_default())?;
        let cpu = self.pacing.pin.iter().copied().max().unwrap_or_default();
        within("pacing.pin", cpu.into(), 0, 8191)?;
        let nice = self.pacing.nice.unwrap_or_default();
        require((-20..=19).contains(&nice), || {
            InvalidPlan::of("pacing.nice", "it must lie between -20 and 19").value(nice)
        })?;
        within("pacing.realtime", self.pacing.realtime.unwrap_or(1).into(), 1, 99)?;
        require(self.pacing.nice.is_none() || self.pacing.realtime.is_none(), || {
            InvalidPlan::of("pacing.nice", "a real-time thread has no niceness")
                .remedy("remove `pacing.nice` or `pacing.realtime`")
        })?;
        let buffers = self.memory.buffers;
        require((4096..=1 << 46).contains(&buffers.0), || {
            InvalidPlan::of("memory.buffers", "it must lie between 4 KiB and 64 TiB").value(buffers)
        })
    }
}

fn validate_target(target: &Target) -> Result {
    utf8("path", &target.path)?;
    bytes("size", target.size.unwrap_or_default(), ByteSize(0))?;
    require(!target.file.between_passes.makes_files() || target.file.create, || {
        InvalidPlan::of("file.between_passes", "it makes new files").remedy("say `create = true`, too")
    })
}

fn validate_model(model: &SimModel) -> Result {
    time("engine.service", model.service)?;
    time("engine.jitter", model.jitter)?;
    if let Some(change) = model.change {
        time("engine.change.at", change.at)?;
        within("engine.change.percent", change.percent.into(), 1, 1_000_000)?;
    }
    let Some(stall) = model.stall else { return Ok(()) };
    time("engine.stall.period", stall.period)?;
    require(stall.length < stall.period, || {
        let rule = format!("a stall of {} every {} never ends", stall.length, stall.period);
        InvalidPlan::of("engine.stall", rule).remedy("make `engine.stall.period` longer")
    })
}

pub(crate) fn validate_load(load: &TraceReplay, passes: u32, plan: &Plan) -> Result {
    utf8("file", &load.file)?;
    let window = load.window;
    time("window.start", window.start)?;
    time("window.end", window.end.unwrap_or_default())?;
    require(window.end.is_none_or(|end| end > window.start), || {
        let rule = format!("the window starts at {}, so it contains no request", window.start);
        InvalidPlan::of("window.end", rule)
            .value(window.end.unwrap_or_default())
            .remedy("make it later than `window.start`")
    })?;
    if let LoadPace::Rising(rising) = &load.pace {
        validate_rising(rising)?;
    }
    require(load.pace == LoadPace::Original || load.speed.is_one(), || {
        InvalidPlan::of("speed", "it has no effect where `pace` ignores the times of the load")
            .value(load.speed)
            .remedy("remove one of them")
    })?;
    require(load.part.is_none_or(|part| part.number < part.of), || {
        InvalidPlan::of("part.number", "it counts from 0 and is less than `part.of`").remedy("correct it")
    })?;
    let is_stdin = load.file.as_os_str() == "-";
    let is_read_again = passes > 1 || plan.phases.len() > 1;
    require(!is_read_again || !is_stdin, || {
        InvalidPlan::of("file", "standard input can be read only once")
            .value("\"-\"")
            .remedy("save it to a file, or use one pass and one phase")
    })?;
    match load.filter.waits_for_end().filter(|_| is_stdin) {
        Some(step) => {
            let rule = format!(
                "'{step}' needs the end of the load, and standard input cannot be read before the run"
            );
            let remedy = "save the load to a file, or let 'iosonar load filter' write one";
            Err(InvalidPlan::of("filter", rule).remedy(remedy))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::plan::tests::sample;
    use crate::rules::{MAX_BYTES, MAX_REQUESTS, MAX_TIME};
    use crate::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    const LONG: Nanos = Nanos((1 << 62) + 1);

    fn load(plan: &mut Plan) -> &mut TraceReplay {
        let Workload::Trace(load) = &mut plan.phases[0].jobs[0].workload else {
            unreachable!("the sample has it there")
        };
        load
    }

    fn pattern(plan: &mut Plan) -> &mut Generator {
        let Workload::Generated(p) = &mut plan.phases[0].jobs[1].workload else {
            unreachable!("the sample has it there")
        };
        p
    }

    fn model(plan: &mut Plan) -> &mut SimModel {
        let Engine::Sim(model) = &mut plan.engine else { unreachable!("the sample has it") };
        model
    }

    fn rising(from: u64, to: u64, over: u64) -> LoadPace {
        LoadPace::Rising(crate::Rising { from, to, over: Nanos(over), shape: Default::default() })
    }

    pub(crate) type Spoil = fn(&mut Plan);

    pub(crate) fn all_refused(cases: &[(&str, Spoil)]) {
        for (word, spoil) in cases {
            let mut plan = sample();
            spoil(&mut plan);
            let error = plan.validate().expect_err(word).to_string();
            assert!(error.contains(word), "{word}: {error}");
        }
    }

    #[test]
    fn rejects_contradictory_plans() {
        all_refused(&[
            ("version", |p| p.version = 99),
            ("target", |p| p.targets.clear()),
            ("depth", |p| p.phases[0].jobs[0].depth = 0),
            ("passes", |p| p.phases[0].passes = 0),
            ("random_percent", |p| p.fill.random_percent = 101),
            ("max_waiting", |p| p.overlap.max_waiting = 0),
            ("stall", |p| model(p).stall = Some(SimStall { period: Nanos(1), length: Nanos(1) })),
            ("change.percent", |p| model(p).change = Some(SimChange { at: Nanos(1), percent: 0 })),
            ("window", |p| load(p).window.end = Some(load(p).window.start)),
            ("stop", |p| pattern(p).stop = Stop::default()),
            ("block_size", |p| pattern(p).block_size = ByteSize(0).into()),
            ("iops", |p| {
                pattern(p).pace = Pace::Rate { iops: Decimal::whole(0), process: Process::Constant }
            }),
            ("speed", |p| load(p).pace = LoadPace::Asap),
            ("over", |p| load(p).pace = rising(1, 2, 0)),
            ("a rate that rises", |p| load(p).pace = rising(3, 2, 9)),
            ("from", |p| load(p).pace = rising(0, 2, 9)),
            ("only once", |p| (p.phases[0].passes, load(p).file) = (2, "-".into())),
            ("'reverse' needs the end", |p| {
                (load(p).file, load(p).filter) = ("-".into(), "shift:1 | reverse".parse().unwrap());
            }),
        ]);
    }

    #[test]
    fn rejects_values_that_overflow() {
        all_refused(&[
            ("it has 65536", |p| p.targets = vec![p.targets[0].clone(); 65_536]),
            ("start_grace", |p| p.start_grace = LONG),
            ("sample_every", |p| p.sample_every = Nanos(9_999_999)),
            ("sample_every", |p| p.sample_every = LONG),
            ("service", |p| model(p).service = LONG),
            ("jitter", |p| model(p).jitter = LONG),
            ("stall.period", |p| model(p).stall = Some(SimStall { period: LONG, length: Nanos(1) })),
            ("change.at", |p| model(p).change = Some(SimChange { at: LONG, percent: 9 })),
            ("window.start", |p| load(p).window.start = LONG),
            ("window.end", |p| load(p).window.end = Some(LONG)),
            ("runtime", |p| pattern(p).stop.runtime = Some(LONG)),
            ("size", |p| p.targets[1].size = Some(ByteSize(u64::MAX))),
            ("offset + block_size", |p| pattern(p).offset = ByteSize(u64::MAX)),
            ("offset + block_size", |p| pattern(p).offset = ByteSize((1 << 63) - 4095)),
            ("offset + region", |p| {
                (pattern(p).offset, pattern(p).region) =
                    (ByteSize(1), Some(Space::Bytes(ByteSize(u64::MAX))));
            }),
            ("2^52", |p| (p.phases[0].passes, pattern(p).stop.requests) = (2, Some((1 << 51) + 1))),
            ("2^52", |p| (p.phases[0].passes, pattern(p).stop.requests) = (u32::MAX, Some(u64::MAX))),
            ("146 years", |p| pattern(p).stop.requests = Some(1 << 52)),
        ]);
    }

    #[test]
    fn rejects_paths_toml_cannot_store() {
        all_refused(&[
            ("path", |p| p.targets[1].path = OsStr::from_bytes(b"/dev/\xff").into()),
            ("UTF-8", |p| load(p).file = OsStr::from_bytes(b"\xe4.load").into()),
        ]);
    }

    #[test]
    fn the_largest_plan_reads_back() {
        let mut plan = sample();
        (plan.run_id, plan.seed) = ((1 << 63) - 1, (1 << 63) - 1);
        (plan.start_grace, plan.phases[0].jobs[0].depth) = (MAX_TIME, 65_536);
        let stall = SimStall { period: MAX_TIME, length: Nanos(MAX_TIME.0 - 1) };
        *model(&mut plan) = SimModel {
            service: MAX_TIME,
            jitter: MAX_TIME,
            channels: u32::MAX,
            error_every: u32::MAX,
            short_every: u32::MAX,
            stall: Some(stall),
            change: Some(SimChange { at: MAX_TIME, percent: 1_000_000 }),
        };
        load(&mut plan).window = Window { start: Nanos(MAX_TIME.0 - 1), end: Some(MAX_TIME) };
        load(&mut plan).file = "a \"quoted\"\n\u{1}\\name".into();
        plan.targets[1].size = Some(ByteSize(MAX_BYTES));
        let p = pattern(&mut plan);
        (p.offset, p.region) = (ByteSize(MAX_BYTES - 4096), Some(Space::Bytes(ByteSize(4096))));
        p.pace = Pace::Rate { iops: Decimal::whole(1_000_000_000), process: Process::Constant };
        p.stop = Stop {
            requests: Some(MAX_REQUESTS),
            runtime: Some(Nanos(MAX_TIME.0 - 1)),
            ramp: Nanos(1),
            ..Stop::default()
        };
        plan.validate().unwrap();
        assert_eq!(Plan::from_toml(&plan.to_toml()).unwrap(), plan);
    }
}
