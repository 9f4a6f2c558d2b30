//! The rank of each target of a plan.

use crate::PlacementError;
use crate::placement::with_copies;
use iosonar_plan::{Executor, Plan, Target};
use iosonar_text::shown;
use std::path::Path;

/// Begin and end of the place for the number of a rank in a path, as in `{rank}` or `{rank+1}`.
const BEGIN: &str = "{rank";
const END: char = '}';

/// How ranks have a target without a place for their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// Targets take turns: each has one rank.
    Turns,
    /// Each rank has a copy.
    Copies,
}

/// Gives each target of a plan a rank: the one that the plan says, or each rank has a copy if the path has `{rank}`, or as `spread` says.
/// `{rank+K}` is the number of the rank that comes K later; after the last one comes rank 0.
///
/// # Errors
/// A target has another executor, a rank that does not exist, or a wrong place for its number; or a rank gets no target.
pub fn on_ranks(plan: Plan, ranks: usize, spread: Spread) -> Result<Plan, PlacementError> {
    let mut targets: Vec<Target> = Vec::new();
    // By the number of a target, the numbers of its copies.
    let mut copies: Vec<Vec<u16>> = vec![Vec::new(); plan.targets.len()];
    let mut turns = (0..ranks).cycle();
    let mut push = |number: usize, target: Target| {
        let copy =
            u16::try_from(targets.len()).map_err(|_| PlacementError("there are too many targets".into()))?;
        copies[number].push(copy);
        targets.push(target);
        Ok(())
    };
    let has_place = |target: &Target| {
        let is_free = target.executor == Executor::Thread;
        target.path.to_string_lossy().contains(BEGIN) || spread == Spread::Copies && is_free
    };
    for rank in 0..ranks {
        for (number, target) in plan.targets.iter().enumerate().filter(|(_, target)| has_place(target)) {
            free(target)?;
            let path = path_of(&target.path, rank, ranks)?.into();
            push(number, Target { path, executor: Executor::Rank(rank as u16), ..target.clone() })?;
        }
    }
    for (number, target) in plan.targets.iter().enumerate().filter(|(_, target)| !has_place(target)) {
        let rank = match target.executor {
            Executor::Rank(rank) if usize::from(rank) < ranks => rank,
            Executor::Rank(rank) => {
                return Err(wrong(
                    target,
                    &format!("there is no rank {rank}: start {} ranks", u32::from(rank) + 1),
                ));
            }
            _ => {
                free(target)?;
                turns.next().unwrap_or(0) as u16
            }
        };
        push(number, Target { executor: Executor::Rank(rank), ..target.clone() })?;
    }
    let is_idle = |rank: &usize| targets.iter().all(|target| target.executor != Executor::Rank(*rank as u16));
    if let Some(idle) = (0..ranks).find(is_idle) {
        return Err(PlacementError(format!(
            "rank {idle} gets no target: write {{rank}} in a path, so that each rank has one of its own, or start fewer ranks"
        )));
    }
    Ok(with_copies(Plan { targets, ..plan }, &copies))
}

fn wrong(target: &Target, why: &str) -> PlacementError {
    PlacementError(format!("target {}: {why}", shown(&target.path)))
}

/// Whether a target may get a rank.
fn free(target: &Target) -> Result<(), PlacementError> {
    match target.executor {
        Executor::Thread => Ok(()),
        _ => Err(wrong(target, "its `executor` contradicts the ranks: remove it")),
    }
}

/// The path of a rank.
fn path_of(path: &Path, rank: usize, ranks: usize) -> Result<String, PlacementError> {
    let wrong = |why: &str| PlacementError(format!("target {}: {why}", shown(&path)));
    let text = path.to_str().ok_or_else(|| wrong("a path with {rank} has to be UTF-8"))?;
    let mut made = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(BEGIN) {
        let (later, after) = after.split_once(END).ok_or_else(|| wrong("{rank is not closed"))?;
        let later: usize = match later.strip_prefix('+') {
            Some(number) => number.parse().map_err(|_| wrong("a number follows the plus, as in {rank+1}"))?,
            None if later.is_empty() => 0,
            None => return Err(wrong("write {rank} or {rank+1}")),
        };
        made = format!("{made}{before}{}", (rank + later % ranks) % ranks);
        rest = after;
    }
    Ok(made + rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_plan::{ByteSize, Generator, Job, Order, Phase, Workload};

    fn plan(paths: &[&str]) -> Plan {
        let job = |target| {
            Job::new(target, 1, Workload::Generated(Generator::new(Order::Sequential, ByteSize(4096))))
        };
        let targets = paths.iter().map(Target::new).collect();
        Plan::new(1, targets, vec![Phase::of((0..paths.len() as u16).map(job).collect())])
    }

    fn placed(paths: &[&str], ranks: usize) -> Result<Vec<String>, String> {
        let plan = on_ranks(plan(paths), ranks, Spread::Turns).map_err(|why| why.to_string())?;
        assert!(plan.validate().is_ok());
        let jobs: Vec<u16> = plan.phases[0].jobs.iter().map(|job| job.target).collect();
        assert_eq!(jobs, (0..plan.targets.len() as u16).collect::<Vec<_>>());
        let name =
            |target: &Target| format!("{} {}", target.executor.place().unwrap(), target.path.display());
        Ok(plan.targets.iter().map(name).collect())
    }

    #[test]
    fn each_rank_has_a_copy_where_the_path_has_its_number() {
        assert_eq!(placed(&["/a/{rank}.img"], 2).unwrap(), ["rank0 /a/0.img", "rank1 /a/1.img"]);
        assert_eq!(
            placed(&["f{rank}", "f{rank+1}"], 3).unwrap(),
            ["rank0 f0", "rank0 f1", "rank1 f1", "rank1 f2", "rank2 f2", "rank2 f0"]
        );
        assert_eq!(placed(&["{rank}/{rank+7}"], 2).unwrap(), ["rank0 0/1", "rank1 1/0"]);
    }

    #[test]
    fn other_targets_take_turns() {
        assert_eq!(placed(&["a", "b", "c"], 2).unwrap(), ["rank0 a", "rank1 b", "rank0 c"]);
        assert_eq!(placed(&["a", "f{rank}"], 2).unwrap(), ["rank0 f0", "rank1 f1", "rank0 a"]);
    }

    #[test]
    fn ranks_may_have_a_target_in_common() {
        let plan = on_ranks(plan(&["a", "f{rank}"]), 2, Spread::Copies).unwrap();
        let names: Vec<String> =
            plan.targets.iter().map(|target| target.path.display().to_string()).collect();
        assert_eq!(names, ["a", "f0", "a", "f1"]);
    }

    #[test]
    fn the_plan_may_say_the_rank() {
        let mut plan = plan(&["a", "b"]);
        (plan.targets[0].executor, plan.targets[1].executor) = (Executor::Rank(1), Executor::Rank(0));
        assert_eq!(on_ranks(plan.clone(), 2, Spread::Turns).unwrap(), plan);
        let why = on_ranks(plan.clone(), 1, Spread::Turns).unwrap_err().to_string();
        assert_eq!(why, "target a: there is no rank 1: start 2 ranks");
        plan.targets[0].executor = Executor::Process;
        assert!(on_ranks(plan, 2, Spread::Turns).unwrap_err().to_string().contains("contradicts the ranks"));
    }

    #[test]
    fn says_what_is_wrong() {
        assert!(placed(&["a"], 2).unwrap_err().starts_with("rank 1 gets no target: write {rank} in a path"));
        for (path, why) in [
            ("{rank", "{rank is not closed"),
            ("{rank-1}", "write {rank} or {rank+1}"),
            ("{rank+x}", "a number follows"),
        ] {
            assert!(placed(&[path], 2).unwrap_err().contains(why), "{path}");
        }
    }
}
