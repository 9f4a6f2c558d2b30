//! Rules of injected faults beyond their types.

use crate::rules::{Result, named, require, within};
use crate::{BetweenPasses, Engine, Injection, InjectionKind, InvalidPlan, Job, Occasion, Plan};

/// The most injections of a plan: each is checked with every request.
const MOST: usize = 256;
/// The most numbers of one injection.
const MOST_NUMBERS: usize = 100_000;
/// The highest number: no run has more requests.
const HIGHEST: u64 = 1 << 52;

/// Checks all injections of a plan.
pub(crate) fn validate_injections(plan: &Plan) -> Result {
    if plan.inject.is_empty() {
        return Ok(());
    }
    require(plan.engine != Engine::Null, || {
        InvalidPlan::of("inject", "the engine null transfers no data, so no fault can be injected")
            .remedy("use another `engine`, or remove `inject`")
    })?;
    require(!plan.has_processes(), || {
        InvalidPlan::of("inject", "what is injected is recorded by one process")
            .remedy("remove `executor` from all targets, or remove `inject`")
    })?;
    require(plan.inject.len() <= MOST, || {
        InvalidPlan::of("inject", format!("there may be at most {MOST}")).value(plan.inject.len())
    })?;
    plan.inject
        .iter()
        .try_for_each(|injection| named(&format!("injection {}", injection.kind), validate(injection, plan)))
}

fn validate(injection: &Injection, plan: &Plan) -> Result {
    let Injection { kind, occasion, target, sectors, limit } = injection;
    match occasion {
        Occasion::Every(every) => within("inject.every", *every, 1, HIGHEST)?,
        Occasion::At(at) => {
            require(!at.is_empty(), || {
                InvalidPlan::of("inject.at", "it is empty").remedy("name at least one number, from 0")
            })?;
            require(at.len() <= MOST_NUMBERS, || {
                let rule = format!("it has {} numbers, and may have {MOST_NUMBERS}", at.len());
                InvalidPlan::of("inject.at", rule).remedy("use several injections, or `inject.every`")
            })?;
            at.iter().try_for_each(|number| within("inject.at", *number, 0, HIGHEST))?;
        }
    }
    let targets = plan.targets.len();
    require(target.is_none_or(|target| usize::from(target) < targets), || {
        InvalidPlan::of("inject.target", format!("there is no such target; there are {targets}, from 0"))
            .value(target.unwrap_or(0))
    })?;
    require(targets > 1 || !kind.takes_two_targets(), || {
        let rule = format!("'{kind}' takes the data of another target, and there is only one");
        InvalidPlan::of("inject.kind", rule).remedy("use two targets, or another kind")
    })?;
    require(sectors.is_none() || kind.takes_sectors(), || {
        InvalidPlan::of("inject.sectors", format!("'{kind}' is not about some sectors of an operation"))
            .remedy("remove `inject.sectors`")
    })?;
    within("inject.sectors", sectors.unwrap_or(1), 1, HIGHEST)?;
    within("inject.limit", limit.unwrap_or(1), 1, HIGHEST)?;
    match kind {
        InjectionKind::Crash => validate_crash(injection, plan),
        InjectionKind::FlushIgnored => require(has_cache(injection, plan), || {
            let rule = "'flush-ignored' has no effect on a target without a volatile write cache";
            InvalidPlan::of("inject.kind", rule)
                .remedy("add an injection of kind 'crash' for the same target: it gives the target a cache")
        }),
        _ => Ok(()),
    }
}

/// Whether an injection is one for a target, or for another one on the same device.
fn reaches(injection: &Injection, plan: &Plan, target: u16) -> bool {
    let path = |target: &u16| plan.targets.get(usize::from(*target)).map(|target| &target.path);
    injection.target.is_none_or(|own| path(&own) == path(&target))
}

/// Whether a crash is injected into the device of one of its targets.
fn has_cache(injection: &Injection, plan: &Plan) -> bool {
    let crashes = || plan.inject.iter().filter(|other| other.kind == InjectionKind::Crash);
    let mut targets = (0..).take(plan.targets.len());
    targets.any(|target| {
        injection.target.is_none_or(|own| own == target)
            && crashes().any(|crash| reaches(crash, plan, target))
    })
}

/// The content of the cache belongs to one file, and no other job may read that.
fn validate_crash(injection: &Injection, plan: &Plan) -> Result {
    let is_hit = |target: u16| reaches(injection, plan, target);
    let hit = || (0..).zip(&plan.targets).filter(|(number, _)| is_hit(*number)).map(|(_, target)| target);
    let is_kept = |between| matches!(between, BetweenPasses::Keep | BetweenPasses::Reopen);
    require(hit().all(|target| is_kept(target.file.between_passes)), || {
        let rule = "the write cache of 'crash' would put the data of one file into the next one";
        InvalidPlan::of("inject.kind", rule).remedy("remove `file.between_passes`, or this injection")
    })?;
    let jobs = || plan.phases.iter().flat_map(|phase| &phase.jobs).filter(|job| is_hit(job.target));
    require(!jobs().any(|job| job.options.changes_file()), || {
        let rule = "file operations that change the file go past the write cache of 'crash'";
        InvalidPlan::of("inject.kind", rule)
            .remedy("remove them from `options.before` and `options.after`, or this injection")
    })?;
    let reads_back = |job: &Job| job.options.verify.is_some_and(|verify| verify.immediate);
    require(!jobs().any(reads_back), || {
        let rule =
            "after a 'crash' each read fails, and `options.verify.immediate` counts such data as wrong";
        InvalidPlan::of("inject.kind", rule)
            .remedy("use `verify.modes = \"after-write\"`, or remove this injection")
    })
}

#[cfg(test)]
mod tests {
    use crate::plan::tests::sample;
    use crate::validate::tests::{Spoil, all_refused};
    use crate::{
        BetweenPasses, ByteSize, Data, Engine, Executor, ExpectedData, FileStep, Injection, InjectionKind,
        JobVerification, Occasion, Plan, Stamp,
    };

    fn add(plan: &mut Plan, text: &str) {
        plan.inject.push(text.parse().unwrap());
    }

    #[test]
    fn injections_round_trip_and_none_is_omitted() {
        let mut plan = sample();
        assert!(!plan.to_toml().contains("inject"));
        for kind in InjectionKind::ALL {
            plan.inject.push(Injection::new(kind, Occasion::Every(1000)));
        }
        add(&mut plan, "flipped:at=0+7,sectors=3,target=1,limit=1");
        plan.validate().unwrap();
        let text = plan.to_toml();
        assert!(text.contains("[[inject]]\nkind = \"torn-page\"\nevery = 1000\n"), "{text}");
        assert_eq!(Plan::from_toml(&text).unwrap(), plan, "{text}");
        assert_eq!(plan.stamp(), Some(Stamp::FaultsInjected));
    }

    #[test]
    fn flush_ignored_needs_a_cache() {
        let refused = |inject: &[&str], spoil: Spoil| {
            let mut plan = sample();
            inject.iter().for_each(|text| add(&mut plan, text));
            spoil(&mut plan);
            plan.validate().err().map(|error| error.to_string())
        };
        for inject in [
            &["flush-ignored:every=2", "crash:at=9,target=1"][..],
            &["crash:at=9", "flush-ignored:at=1,target=1"],
        ] {
            assert_eq!(refused(inject, |_| {}), None, "{inject:?}");
        }
        let other = ["flush-ignored:every=2,target=0", "crash:at=9,target=1"];
        let none = refused(&other[..1], |_| {}).unwrap();
        assert!(none.contains("add an injection of kind 'crash' for the same target"), "{none}");
        assert_eq!(refused(&other, |_| {}), Some(none));
        assert_eq!(refused(&other, |p| p.targets[0].path = p.targets[1].path.clone()), None);
    }

    #[test]
    fn rejects_operations_that_bypass_the_cache() {
        let step = |p: &mut Plan| p.phases[0].jobs[1].options.before = vec![FileStep::Create];
        for (target, is_refused) in [(0, false), (1, true)] {
            let mut plan = sample();
            add(&mut plan, &format!("crash:at=9,target={target}"));
            step(&mut plan);
            let error = plan.validate().err().map(|error| error.to_string()).unwrap_or_default();
            assert_eq!(error.contains("go past the write cache"), is_refused, "{error}");
        }
    }

    #[test]
    fn rejects_impossible_injections() {
        let cases: [(&str, Spoil); 14] = [
            ("transfers no data", |p| {
                add(p, "lost:every=2");
                p.engine = Engine::Null;
            }),
            ("recorded by one process", |p| {
                add(p, "lost:every=2");
                (p.engine, p.targets[0].executor) = (Engine::Threads, Executor::Process);
            }),
            ("inject.every = 0: it must lie between 1", |p| add(p, "lost:every=0")),
            ("inject.at: it is empty", |p| {
                p.inject = vec![Injection::new(InjectionKind::Lost, Occasion::At(Vec::new()))];
            }),
            ("inject.at = 4503599627370497", |p| add(p, "lost:at=4503599627370497")),
            ("no such target; there are 2", |p| add(p, "lost:every=2,target=2")),
            ("remove inject.sectors", |p| add(p, "lost:every=2,sectors=1")),
            ("inject.sectors = 0", |p| add(p, "zeroed:every=2,sectors=0")),
            ("inject.limit = 0", |p| add(p, "lost:every=2,limit=0")),
            ("remove inject.sectors", |p| add(p, "crash:at=2,sectors=1")),
            ("the data of one file into the next one", |p| {
                add(p, "crash:at=2");
                p.targets[1].file.create = true;
                p.targets[1].file.between_passes = BetweenPasses::NewFile;
            }),
            ("go past the write cache", |p| {
                add(p, "crash:at=2,target=1");
                p.phases[0].jobs[1].options.after = vec![FileStep::Truncate(ByteSize(0))];
            }),
            ("counts such data as wrong", |p| {
                add(p, "crash:at=2");
                p.phases[0].jobs[0].options.verify =
                    Some(JobVerification { what: ExpectedData::Contents, immediate: true });
                p.phases[0].jobs[0].options.data = Some(Data::Sequenced);
            }),
            ("at most 256", |p| {
                p.inject = vec![Injection::new(InjectionKind::Lost, Occasion::Every(1)); 257];
            }),
        ];
        all_refused(&cases);
        let mut plan = sample();
        add(&mut plan, "other-target:every=2");
        plan.targets.pop();
        plan.phases[0].jobs.pop();
        let error = plan.validate().unwrap_err().to_string();
        assert!(error.contains("there is only one"), "{error}");
    }
}
