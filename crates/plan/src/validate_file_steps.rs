//! Rules of file operations around requests.

use crate::rules::{Result, require};
use crate::{BetweenPasses, FileStep, Generator, InvalidPlan, Job, Op, Plan};

/// Longest file that Linux knows.
const LONGEST: u64 = i64::MAX as u64;

/// Checks the file operations of a job.
pub(crate) fn validate_file_steps(job: &Job, plan: &Plan) -> Result {
    let (before, after) = (&job.options.before, &job.options.after);
    if before.is_empty() && after.is_empty() {
        return Ok(());
    }
    let field = if before.is_empty() { "options.after" } else { "options.before" };
    require(plan.engine.is_real(), || {
        InvalidPlan::of(field, format!("the engine {} opens no file", plan.engine.name()))
            .remedy("remove it, or use another `engine`")
    })?;
    check_places(before, after)?;
    let opens = before.iter().any(|step| matches!(step, FileStep::Open | FileStep::Create));
    let closes = after.contains(&FileStep::Close);
    require(!closes || opens, || {
        InvalidPlan::of("options.after", "it closes the file, and nothing opens it before the next pass")
            .remedy("add open to `options.before`")
    })?;
    require(!after.contains(&FileStep::Unlock) || before.contains(&FileStep::Lock), || {
        InvalidPlan::of("options.after", "it unlocks the file, and nothing locks it")
            .remedy("add lock to `options.before`")
    })?;
    check_target(job, plan, opens)?;
    job.options.file_steps().try_for_each(check_size)
}

/// Checks that operations stand where they have a meaning.
fn check_places(before: &[FileStep], after: &[FileStep]) -> Result {
    let is_late = |step: &&FileStep| matches!(step, FileStep::Unlock | FileStep::Close);
    let is_early = |step: &&FileStep| {
        matches!(step, FileStep::Open | FileStep::Create | FileStep::Lock | FileStep::ExtentHint(_))
    };
    let misplaced = |field: &str, step: &FileStep, other: &str| {
        InvalidPlan::of(field, format!("{step} belongs to `{other}`")).remedy("move it there")
    };
    if let Some(step) = before.iter().find(is_late) {
        return Err(misplaced("options.before", step, "options.after"));
    }
    if let Some(step) = after.iter().find(is_early) {
        return Err(misplaced("options.after", step, "options.before"));
    }
    let hint = before.iter().position(|step| matches!(step, FileStep::ExtentHint(_)));
    let allocates = |step: &&FileStep| step.op() == Op::Allocate;
    if let Some(first) = before[..hint.unwrap_or(0)].iter().find(allocates) {
        let rule = format!("a file that has blocks takes no extent-hint, and {first} allocates some");
        return Err(InvalidPlan::of("options.before", rule).remedy("put extent-hint before it"));
    }
    let closes_early = after.iter().rev().skip(1).any(|step| *step == FileStep::Close);
    require(!closes_early, || {
        InvalidPlan::of("options.after", "nothing can follow close").remedy("make close the last one")
    })
}

/// Checks that operations suit the file of the target, and the issuing loops that share it.
fn check_target(job: &Job, plan: &Plan, opens: bool) -> Result {
    let (file, before) = (&plan.targets[usize::from(job.target)].file, &job.options.before);
    require(!opens || file.between_passes == BetweenPasses::Keep, || {
        let rule =
            "the file is opened before each pass, and the target's `file.between_passes` opens it, too";
        InvalidPlan::of("options.before", rule).remedy("remove one of them")
    })?;
    require(!before.contains(&FileStep::Create) || file.create, || {
        InvalidPlan::of("options.before", "create deletes the file that is there")
            .remedy("allow it with `file.create = true` of the target, or use truncate:0")
    })?;
    let loops = job.workload.jobs();
    require(loops == 1 || !job.options.changes_file(), || {
        let rule = format!("{loops} issuing loops would create, truncate or allocate the same file");
        InvalidPlan::of("options.before", rule).remedy("use one job, or a phase of its own before this one")
    })?;
    let writes = job.workload.generator().is_none_or(Generator::writes);
    require(loops == 1 || !writes || !before.contains(&FileStep::Lock), || {
        let rule = format!("{loops} issuing loops that write would wait for each other's locks for ever");
        InvalidPlan::of("options.before", rule).remedy("use one job, or remove lock")
    })
}

fn check_size(step: FileStep) -> Result {
    let Some(size) = step.size() else { return Ok(()) };
    let (least, most, limit) = match step {
        FileStep::Truncate(_) => (0, LONGEST, "2^63 - 1"),
        FileStep::ExtentHint(_) => (1, u32::MAX.into(), "2^32 - 1"),
        _ => (1, LONGEST, "2^63 - 1"),
    };
    require((least..=most).contains(&size.0), || {
        let rule = format!("{step}: the size must lie between {least} and {limit}");
        InvalidPlan::of("options.before", rule)
    })
}

#[cfg(test)]
mod tests {
    use crate::plan::tests::sample;
    use crate::{Engine, FileStep, Plan};

    /// The sample, on files, with file operations around the requests of its second job.
    fn with(before: &[&str], after: &[&str], change: impl FnOnce(&mut Plan)) -> Result<(), String> {
        let steps = |words: &[&str]| words.iter().map(|word| word.parse::<FileStep>().unwrap()).collect();
        let mut plan = sample();
        plan.engine = Engine::Threads;
        let options = &mut plan.phases[0].jobs[1].options;
        (options.before, options.after) = (steps(before), steps(after));
        plan.targets[1].size = None;
        plan.targets[1].file.create = true;
        change(&mut plan);
        let checked = plan.validate().map_err(|why| why.to_string());
        if checked.is_ok() {
            assert_eq!(Plan::from_toml(&plan.to_toml()).unwrap(), plan);
        }
        checked
    }

    #[test]
    fn accepts_valid_operations() {
        let none = |_: &mut Plan| {};
        with(&["create", "open", "lock"], &["fsync", "unlock", "close"], none).unwrap();
        with(&["truncate:1MiB", "allocate:2MiB"], &["flush", "truncate:0"], none).unwrap();
        with(&[], &["fsync"], none).unwrap();
        with(&["create", "extent-hint:1MiB", "extend:2MiB"], &["zero-range:1MiB"], none).unwrap();
    }

    /// Files are prepared by phases without requests.
    #[test]
    fn pass_without_requests_needs_file_operations() {
        let no_request = |plan: &mut Plan| {
            let crate::Workload::Generated(generator) = &mut plan.phases[0].jobs[1].workload else {
                panic!()
            };
            (generator.stop.requests, generator.pace) = (Some(0), crate::Pace::Closed);
        };
        with(&["truncate:1MiB"], &[], no_request).unwrap();
        let refused = with(&[], &["fsync"], no_request).unwrap_err();
        assert!(refused.contains("a pass would have no request"), "{refused}");
    }

    #[test]
    fn rejects_invalid_operations_with_remedy() {
        let loops = |plan: &mut Plan| {
            let crate::Workload::Generated(generator) = &mut plan.phases[0].jobs[1].workload else {
                panic!()
            };
            generator.jobs = 2;
        };
        let none = |_: &mut Plan| {};
        for (checked, why) in [
            (with(&["close"], &[], none), "close belongs to"),
            (with(&[], &["lock"], none), "lock belongs to"),
            (with(&["open"], &["close", "fsync"], none), "nothing can follow close"),
            (with(&[], &["close"], none), "add open"),
            (with(&["open"], &["unlock"], none), "nothing locks it"),
            (with(&["open"], &[], |plan| plan.engine = Engine::Null), "the engine null opens no file"),
            (with(&["create"], &[], |plan| plan.targets[1].file.create = false), "file.create = true"),
            (
                with(&["open"], &[], |plan| {
                    plan.targets[1].file.between_passes = crate::BetweenPasses::Reopen;
                }),
                "file.between_passes",
            ),
            (with(&["truncate:0"], &[], loops), "2 issuing loops"),
            (with(&["lock"], &[], loops), "wait for each other's locks"),
            (with(&["allocate:0"], &[], none), "between 1 and"),
            (with(&["extend:0"], &[], none), "between 1 and"),
            (with(&["extend:1m"], &[], loops), "2 issuing loops"),
            (
                with(&["extent-hint:4GiB"], &[], none),
                "extent-hint:4GiB: the size must lie between 1 and 2^32 - 1",
            ),
            (with(&[], &["extent-hint:1MiB"], none), "extent-hint:1MiB belongs to"),
            (with(&["extend:1MiB", "extent-hint:1MiB"], &[], none), "put extent-hint before it"),
        ] {
            let error = checked.expect_err(why);
            assert!(error.contains(why), "{why}: {error}");
        }
    }
}
