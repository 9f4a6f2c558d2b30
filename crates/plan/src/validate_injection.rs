//! What injected faults must keep to, beyond what their types say.

use crate::validate::{Result, named, require, within};
use crate::{Engine, Injection, InvalidPlan, Occasion, Plan};

/// The most injections of a plan: each is looked at with every request.
const MOST: usize = 256;
/// The most numbers of one.
const MOST_NUMBERS: usize = 100_000;
/// The highest number: no run has more requests.
const HIGHEST: u64 = 1 << 52;

/// Checks all of a plan.
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
    within("inject.limit", limit.unwrap_or(1), 1, HIGHEST)
}

#[cfg(test)]
mod tests {
    use crate::plan::tests::sample;
    use crate::validate::tests::{Spoil, all_refused};
    use crate::{Engine, Executor, Injection, InjectionKind, Occasion, Plan, Stamp};

    fn add(plan: &mut Plan, text: &str) {
        plan.inject.push(text.parse().unwrap());
    }

    #[test]
    fn injections_read_back_and_no_injection_is_not_written() {
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
    fn what_an_injection_cannot_is_refused() {
        let cases: [(&str, Spoil); 10] = [
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
