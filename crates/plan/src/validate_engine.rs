//! Rules of engines.

use crate::rules::{Result, require, within};
use crate::{Engine, InvalidPlan, Job, Plan, StdioOptions};

/// Checks the options that only one engine has.
pub(crate) fn validate_engine(engine: &Engine) -> Result {
    match engine {
        Engine::Vsync(vectors) | Engine::Pvsync(vectors) => {
            within("engine.vectors", vectors.count.into(), 1, crate::Vectors::MOST.into())
        }
        Engine::Stdio(StdioOptions { buffer }) => require(buffer.0 <= 1 << 30, || {
            InvalidPlan::of("engine.buffer", "it must be at most 1 GiB").value(buffer)
        }),
        _ => Ok(()),
    }
}

/// Checks whether the engine of a job supports the job.
pub(crate) fn validate_engine_of(job: &Job, plan: &Plan) -> Result {
    let engine = job.engine(plan.engine);
    if let Some(own) = &job.options.engine {
        validate_engine(own)?;
        require(own.is_real() && plan.engine.is_real(), || {
            let rule = "null and sim are engines of a whole run";
            InvalidPlan::of("options.engine", rule).remedy("use them as `engine` of the plan")
        })?;
    }
    let name = engine.name();
    require(job.depth == 1 || !engine.is_serial(), || {
        InvalidPlan::of("depth", format!("the engine {name} carries out one request after the other"))
            .value(job.depth)
            .remedy("use 1, and more `jobs`, or another `engine`")
    })?;
    let makes_calls = engine.is_serial() || (matches!(engine, Engine::Threads) && job.depth == 1);
    require(!job.options.lock_requests || makes_calls, || {
        let rule = "a request in flight beside others cannot wait for a lock";
        InvalidPlan::of("options.lock_requests", rule)
            .remedy("use an engine of blocking calls, as sync or pvsync, and a depth of 1")
    })?;
    require(!engine.is_buffered() || job.access(plan.access).buffered, || {
        InvalidPlan::of("engine", format!("{name} goes through the page cache, and direct I/O is asked for"))
            .remedy("say `access.buffered = true`, or use another `engine`")
    })
}

#[cfg(test)]
mod tests {
    use crate::plan::tests::sample;
    use crate::{ByteSize, Engine, MmapOptions, Plan, StdioOptions, Vectors};

    fn with(change: impl FnOnce(&mut Plan)) -> Result<(), String> {
        let mut plan = sample();
        plan.engine = Engine::Threads;
        plan.targets[1].size = None;
        plan.phases[0].jobs[1].depth = 1;
        change(&mut plan);
        let checked = plan.validate().map_err(|why| why.to_string());
        if checked.is_ok() {
            assert_eq!(Plan::from_toml(&plan.to_toml()).unwrap(), plan);
        }
        checked
    }

    fn lock(plan: &mut Plan, depth: u32) {
        let job = &mut plan.phases[0].jobs[1];
        (job.depth, job.options.lock_requests) = (depth, true);
    }

    #[test]
    fn accepts_locking_with_blocking_engines() {
        with(|plan| lock(plan, 1)).unwrap();
    }

    #[test]
    fn accepts_per_job_engines() {
        for engine in [
            Engine::Sync,
            Engine::Vsync(Vectors { count: 16 }),
            Engine::Pvsync(Vectors::default()),
            Engine::Posixaio,
        ] {
            with(|plan| plan.phases[0].jobs[1].options.engine = Some(engine)).unwrap();
        }
        for engine in
            [Engine::Stdio(StdioOptions { buffer: ByteSize(4096) }), Engine::Mmap(MmapOptions::default())]
        {
            let own = |plan: &mut Plan| plan.phases[0].jobs[1].options.engine = Some(engine);
            let refused = with(own).unwrap_err();
            assert!(refused.contains("goes through the page cache"), "{refused}");
            with(|plan| {
                own(plan);
                plan.access.buffered = true;
            })
            .unwrap();
        }
    }

    #[test]
    fn rejects_options_unsupported_by_engine() {
        for (checked, why) in [
            (with(|plan| plan.engine = Engine::Sync), "carries out one request after the other"),
            (with(|plan| plan.engine = Engine::Pvsync(Vectors { count: 17 })), "between 1 and 16"),
            (with(|plan| lock(plan, 2)), "cannot wait for a lock"),
            (
                with(|plan| plan.phases[0].jobs[1].options.engine = Some(Engine::Null)),
                "engines of a whole run",
            ),
        ] {
            let error = checked.expect_err(why);
            assert!(error.contains(why), "{why}: {error}");
        }
    }
}
