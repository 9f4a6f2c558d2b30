//! Rules of phases and jobs beyond their types.

use crate::rules::{Result, named, require, within};
use crate::validate::validate_load;
use crate::validate_coordination::{validate_coordination, validate_options};
use crate::validate_engine::validate_engine_of;
use crate::validate_generator::validate_generator;
use crate::{Cell, Engine, InvalidPlan, Job, Phase, PhaseEnd, Plan, Target, Workload};
use iosonar_text::{is_escaped, shown};
use std::collections::HashSet;

/// The most phases: a record has 16 bits for the number of its phase.
const MAX_PHASES: u64 = 65_535;

/// Checks the phases of a plan, and their jobs.
pub(crate) fn validate_phases(plan: &Plan) -> Result {
    require(!plan.phases.is_empty(), || {
        InvalidPlan::whole("there is no [[phase]]").remedy("name at least one")
    })?;
    within("number of phases", plan.phases.len() as u64, 1, MAX_PHASES)?;
    let is_single = plan.phases.len() == 1;
    let mut names = HashSet::new();
    for (number, phase) in plan.phases.iter().enumerate() {
        named(&format!("phase {number}"), validate_name(&phase.name, is_single))?;
        require(names.insert(&phase.name), || {
            InvalidPlan::whole(format!("two phases are named '{}'", phase.name))
                .remedy("give each a unique name")
        })?;
        let checked = validate_phase(phase, plan);
        if phase.name.is_empty() { checked } else { named(&format!("phase {}", phase.name), checked) }?;
    }
    plan.targets.iter().zip(plan.jobs_by_target()).try_for_each(|(target, jobs)| validate_use(target, &jobs))
}

/// A name stands in tables, pictures and messages.
fn validate_name(name: &str, may_be_empty: bool) -> Result {
    const LONGEST: usize = 64;
    let invalid = |rule: &str| InvalidPlan::of("name", rule);
    require(may_be_empty || !name.is_empty(), || {
        invalid("it is empty").remedy("give each phase a unique name")
    })?;
    require(!name.contains(is_escaped), || {
        invalid("it has a control character").value(shown(name)).remedy("remove it")
    })?;
    let length = name.chars().count();
    require(length <= LONGEST, || invalid(&format!("it has {length} characters, and may have {LONGEST}")))
}

fn validate_phase(phase: &Phase, plan: &Plan) -> Result {
    require(phase.passes > 0, || InvalidPlan::of("passes", "at least one pass is needed").value(0))?;
    require(!phase.jobs.is_empty(), || {
        InvalidPlan::whole("it has no [[phase.job]]").remedy("name at least one")
    })?;
    let mut met = HashSet::new();
    for (number, job) in phase.jobs.iter().enumerate() {
        require(usize::from(job.target) < plan.targets.len(), || {
            InvalidPlan::of("target", format!("there is no such target; there are {}", plan.targets.len()))
                .value(job.target)
                .within(&format!("job {number}"))
        })?;
        // A request is known by phase, pass, target and number.
        require(met.insert(job.target), || {
            InvalidPlan::of("target", "it has a job in this phase already")
                .value(job.target)
                .remedy("use another phase, or one workload with several `jobs`")
                .within(&format!("job {number}"))
        })?;
    }
    phase.cell.iter().try_for_each(validate_cell)?;
    validate_coordination(phase)?;
    require(phase.remount.is_none() || plan.engine.is_real(), || {
        InvalidPlan::of("remount", "an engine without I/O opens no file")
            .remedy("use another `engine`, or remove it")
    })?;
    let has_one_clock = !matches!(plan.engine, Engine::Sim(_)) || phase.jobs.len() == 1;
    require(phase.coordination.ends == PhaseEnd::All || has_one_clock, || {
        InvalidPlan::of(
            "coordination.ends",
            "jobs of the engine sim have clocks of their own, so none of them is first",
        )
        .value("\"first\"")
        .remedy("use another `engine`, or `ends = \"all\"`")
    })?;
    phase.jobs.iter().try_for_each(|job| {
        let path = shown(&plan.targets[usize::from(job.target)].path);
        named(&format!("target {path}"), validate_job(job, phase, plan))
    })
}

fn validate_cell(cell: &Cell) -> Result {
    named(
        "cell",
        validate_name(&cell.test, false).map_err(|_| {
            InvalidPlan::of("test", "it is no name of a test").value(format!("{:?}", cell.test))
        }),
    )?;
    within("cell.record", cell.record.0, 1, 1 << 30)?;
    within("cell.streams", cell.streams.into(), 1, 65_535)
}

fn validate_job(job: &Job, phase: &Phase, plan: &Plan) -> Result {
    within("depth", job.depth.into(), 1, 65_536)?;
    validate_engine_of(job, plan)?;
    validate_options(job, phase, plan)?;
    match &job.workload {
        Workload::Trace(load) => validate_load(load, phase.passes, plan),
        Workload::Generated(generator) => validate_generator(generator, job, phase, plan),
    }
}

/// Checks how a target is used in all phases.
fn validate_use(target: &Target, jobs: &[&Job]) -> Result {
    require(!jobs.is_empty(), || {
        InvalidPlan::whole("no job uses it")
            .remedy("remove it, or give it a job")
            .within(&format!("target {}", shown(&target.path)))
    })
}

#[cfg(test)]
mod tests {
    use crate::plan::tests::sample;
    use crate::*;

    /// Writes a file, reads it with another depth, and replays a load on a device meanwhile.
    pub(crate) fn phases() -> Plan {
        let mut plan = sample();
        let jobs = &plan.phases[0].jobs;
        let (trace, generated) = (jobs[0].clone(), jobs[1].clone());
        let read = Job { depth: 3, ..generated.clone() };
        let coordination = Coordination { ends: PhaseEnd::First, ..Coordination::default() };
        let cell = Cell {
            test: "write".into(),
            file: ByteSize(1 << 20),
            record: ByteSize(4096),
            streams: 2,
            method: "sync".into(),
            repeat: 3,
        };
        plan.phases = vec![
            Phase { name: "write".into(), passes: 2, cell: Some(cell), ..Phase::of(vec![generated]) },
            Phase { name: "read".into(), coordination, ..Phase::of(vec![read, trace]) },
        ];
        plan.engine = Engine::Null;
        plan
    }

    #[test]
    fn phases_read_back() {
        let plan = phases();
        plan.validate().unwrap();
        let text = plan.to_toml();
        assert!(text.contains("[[phase.job]]") && !text.contains("[[target]]\nworkload"), "{text}");
        assert_eq!(Plan::from_toml(&text).unwrap(), plan, "{text}");
    }

    #[test]
    fn single_named_phase_keeps_its_name() {
        let mut plan = phases();
        plan.phases.remove(0);
        assert_eq!(Plan::from_toml(&plan.to_toml()).unwrap(), plan);
    }

    #[test]
    fn mount_point_is_kept_without_phase_name() {
        let mut plan = sample();
        (plan.engine, plan.phases[0].remount) = (Engine::Threads, Some("/mnt".into()));
        assert!(plan.to_toml().contains("remount = \"/mnt\""), "{}", plan.to_toml());
        assert_eq!(Plan::from_toml(&plan.to_toml()).unwrap(), plan);
    }

    #[test]
    fn rejects_contradictory_phases() {
        type Spoil = fn(&mut Plan);
        let cases: [(&str, Spoil); 13] = [
            ("clocks of their own", |p| p.engine = Engine::Sim(SimModel::default())),
            ("opens no file", |p| p.phases[1].remount = Some("/mnt".into())),
            ("no [[phase]]", |p| p.phases.clear()),
            ("name: it is empty", |p| p.phases[1].name.clear()),
            ("control character", |p| p.phases[0].name = "a\u{1b}[2J".into()),
            ("control character", |p| p.phases[0].name = "a\u{202e}b".into()),
            ("it has 65 characters", |p| p.phases[0].name = "é".repeat(65)),
            ("two phases are named 'read'", |p| p.phases[0].name = "read".into()),
            ("phase read: passes = 0", |p| p.phases[1].passes = 0),
            ("no [[phase.job]]", |p| p.phases[1].jobs.clear()),
            ("no such target; there are 2", |p| p.phases[1].jobs[0].target = 2),
            ("has a job in this phase already", |p| p.phases[1].jobs[0].target = 0),
            ("target /dev/sdx: no job uses it", |p| drop(p.phases[1].jobs.pop())),
        ];
        for (word, spoil) in cases {
            let mut plan = phases();
            spoil(&mut plan);
            let error = plan.validate().expect_err(word).to_string();
            assert!(error.contains(word), "{word}: {error}");
        }
    }

    #[test]
    fn rejects_phase_fields_outside_phases() {
        let text = phases().to_toml();
        for (from, to, word) in [
            ("run_id = 7", "run_id = 7\npasses = 2", "passes: in a plan with [[phase]]"),
            ("path = \"file\"", "path = \"file\"\ndepth = 2", "target file: depth: in a plan with [[phase]]"),
            (
                "path = \"file\"",
                "path = \"file\"\noptions = { cpu = 1 }",
                "target file: options: in a plan with [[phase]]",
            ),
        ] {
            let error = Plan::from_toml(&text.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
        let short = sample().to_toml();
        let cut = short.find("[target.workload]").expect("the sample has workloads");
        let error = Plan::from_toml(&short[..cut]).unwrap_err().to_string();
        assert!(error.contains("target /dev/sdx: workload: it is missing"), "{error}");
    }
}
