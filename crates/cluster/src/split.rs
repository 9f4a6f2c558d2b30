//! Parts of a range of a target, or of a load on it, for several hosts or ranks that share it.

use crate::PlacementError;
use iosonar_plan::{ByteSize, Generator, Job, LoadPart, Plan, Space, Target, Workload};
use iosonar_text::shown;

/// Gives each of the hosts or ranks that have a target of the same path an equal part of its range, one after the other. The last part has
/// the rest. Of a load they get the requests by turns, at their times. Limits of requests and bytes are those of the whole; rates and depths stay those of each.
///
/// # Errors
/// No path is that of several targets, a range has no size or is too small, or a target cannot be shared.
pub fn split(mut plan: Plan) -> Result<Plan, PlacementError> {
    let has_hosts = plan.has_hosts();
    let targets = &plan.targets;
    let is_same = |one: &Job, other: &Job| {
        let path = |job: &Job| &targets[usize::from(job.target)].path;
        has_hosts && path(one) == path(other) && one.workload == other.workload
    };
    let mut has_parts = false;
    for phase in &mut plan.phases {
        // By job: the number of jobs of the phase with its path and workload, and of these before it. This machine counts, too.
        let place = |number: usize, job: &Job| {
            let copies = |jobs: &[Job]| jobs.iter().filter(|other| is_same(job, other)).count();
            (copies(&phase.jobs[..number]) as u64, copies(&phase.jobs) as u64)
        };
        let places: Vec<(u64, u64)> =
            phase.jobs.iter().enumerate().map(|(number, job)| place(number, job)).collect();
        for (job, (number, of)) in phase.jobs.iter_mut().zip(places).filter(|(_, (_, of))| *of > 1) {
            let target = &targets[usize::from(job.target)];
            part(job, target, number, of)
                .map_err(|why| PlacementError(format!("target {}: {why}", shown(&target.path))))?;
            has_parts = true;
        }
    }
    match has_parts {
        true => Ok(plan),
        false => Err(PlacementError(
            "no target is that of several hosts or ranks with the same load: leave split out".into(),
        )),
    }
}

/// Restricts a job to its part.
fn part(job: &mut Job, target: &Target, number: u64, of: u64) -> Result<(), String> {
    if target.file.create || target.file.delete || job.options.changes_file() {
        return Err("each of them would create or remove the file: do that before or after the run".into());
    }
    let generator = match &mut job.workload {
        Workload::Generated(generator) => generator,
        Workload::Trace(load) => {
            load.part = Some(LoadPart { number, of });
            return Ok(());
        }
    };
    let Some(Space::Bytes(ByteSize(whole))) = generator.region else {
        return Err("its range has no size to share out: give --size in bytes, or `region` in a plan".into());
    };
    let unit = generator.longest().max(generator.unit()).max(1);
    let each = whole / of / unit * unit;
    if each == 0 {
        return Err(format!("{of} parts of {} are smaller than a request", ByteSize(whole)));
    }
    let own = if number + 1 == of { whole - each * number } else { each };
    restrict(generator, each * number, own, whole);
    Ok(())
}

fn restrict(generator: &mut Generator, begin: u64, own: u64, whole: u64) {
    let share = |all: u64| (u128::from(all) * u128::from(own) / u128::from(whole)) as u64;
    generator.offset.0 += begin;
    generator.region = Some(Space::Bytes(ByteSize(own)));
    generator.stop.requests = generator.stop.requests.map(share);
    if let Some(Space::Bytes(bytes)) = &mut generator.stop.bytes {
        bytes.0 = share(bytes.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_plan::{Executor, Order, Phase, Stop};

    /// A plan of ranks with these paths: random requests of 4 KiB in the first 10 MiB and 4 KiB from 1 MiB on.
    fn plan(paths: &[&str]) -> Plan {
        let whole = (10 << 20) + 4096;
        let generator = Generator {
            offset: ByteSize(1 << 20),
            region: Some(Space::Bytes(ByteSize(whole))),
            stop: Stop { requests: Some(whole / 4096), ..Stop::default() },
            ..Generator::new(Order::Sequential, ByteSize(4096))
        };
        let job = |target| Job::new(target, 1, Workload::Generated(generator.clone()));
        let target = |(rank, path): (usize, &&str)| Target {
            executor: Executor::Rank(rank as u16),
            ..Target::new(path)
        };
        let targets = paths.iter().enumerate().map(target).collect();
        Plan::new(1, targets, vec![Phase::of((0..paths.len() as u16).map(job).collect())])
    }

    fn parts(plan: &Plan) -> Vec<(u64, u64, Option<u64>)> {
        let part = |job: &Job| match &job.workload {
            Workload::Generated(Generator { offset, region: Some(Space::Bytes(region)), stop, .. }) => {
                (offset.0, region.0, stop.requests)
            }
            other => panic!("{other:?}"),
        };
        plan.phases[0].jobs.iter().map(part).collect()
    }

    #[test]
    fn parts_lie_one_after_the_other_and_are_the_whole() {
        let split = split(plan(&["x", "x", "y", "x"])).unwrap();
        split.validate().unwrap();
        let each = ((10 << 20) + 4096) / 3 / 4096 * 4096;
        let last = (10 << 20) + 4096 - 2 * each;
        let begin = 1 << 20;
        let whole = (begin, (10 << 20) + 4096, Some(2561));
        let part = |number: u64, bytes: u64| (begin + number * each, bytes, Some(bytes / 4096));
        assert_eq!(parts(&split), [part(0, each), part(1, each), whole, part(2, last)]);
        assert_eq!(parts(&split).iter().filter_map(|part| part.2).sum::<u64>(), 2 * 2561);
    }

    #[test]
    fn hosts_get_requests_of_a_load_by_turns() {
        let mut shared = plan(&["x", "x", "y"]);
        for job in &mut shared.phases[0].jobs {
            job.workload = Workload::Trace(iosonar_plan::TraceReplay::of("web.load"));
        }
        let part = |job: &Job| match &job.workload {
            Workload::Trace(load) => load.part.map(|part| (part.number, part.of)),
            other => panic!("{other:?}"),
        };
        let split = split(shared).unwrap();
        split.validate().unwrap();
        let all: Vec<_> = split.phases[0].jobs.iter().map(part).collect();
        assert_eq!(all, [Some((0, 2)), Some((1, 2)), None]);
    }

    #[test]
    fn this_machine_has_a_part_and_other_loads_are_whole() {
        let mut shared = plan(&["x", "x", "x"]);
        shared.targets[1].executor = Executor::Thread;
        shared.targets[0].executor = Executor::Host(iosonar_plan::Host::new("a"));
        shared.targets[2].executor = Executor::Host(iosonar_plan::Host::new("b"));
        let load = |file: &str| Workload::Trace(iosonar_plan::TraceReplay::of(file));
        let part = |job: &Job| match &job.workload {
            Workload::Trace(load) => load.part.map(|part| (part.number, part.of)),
            other => panic!("{other:?}"),
        };
        let parts =
            |shared: Plan| split(shared).map(|plan| plan.phases[0].jobs.iter().map(part).collect::<Vec<_>>());
        shared.phases[0].jobs.iter_mut().for_each(|job| job.workload = load("web.load"));
        assert_eq!(parts(shared.clone()).unwrap(), [Some((0, 3)), Some((1, 3)), Some((2, 3))]);
        shared.phases[0].jobs[1].workload = load("other.load");
        assert_eq!(parts(shared).unwrap(), [Some((0, 2)), None, Some((1, 2))]);
    }

    #[test]
    fn says_why_a_range_cannot_be_shared_out() {
        let refused = |plan: Plan| split(plan).unwrap_err().to_string();
        assert!(refused(plan(&["x", "y"])).starts_with("no target is that of several hosts"));
        let mut open = plan(&["x", "x"]);
        for job in &mut open.phases[0].jobs {
            if let Workload::Generated(generator) = &mut job.workload {
                generator.region = None;
            }
        }
        assert!(refused(open).starts_with("target x: its range has no size to share out"));
        let mut created = plan(&["x", "x"]);
        created.targets[1].file.create = true;
        assert!(refused(created).contains("would create or remove the file"));
        assert!(refused(plan(&["x"; 3000])).contains("are smaller than a request"));
    }
}
