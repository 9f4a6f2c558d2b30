//! Targets that share a path: one file may be several targets.

use iosonar_plan::Plan;
use std::collections::HashMap;
use std::path::Path;

/// The targets of each path.
pub(crate) fn targets_by_path(plan: &Plan) -> HashMap<&Path, Vec<usize>> {
    let mut all: HashMap<&Path, Vec<usize>> = HashMap::new();
    for (number, target) in plan.targets.iter().enumerate() {
        all.entry(&target.path).or_default().push(number);
    }
    all
}

/// A value for each target; targets of one path share it.
pub(crate) fn one_for_each_path<T: Clone>(plan: &Plan, make: impl Fn(usize) -> T) -> Vec<T> {
    let mut by_path: HashMap<&Path, T> = HashMap::new();
    let targets = plan.targets.iter().enumerate();
    targets
        .map(|(number, target)| by_path.entry(&target.path).or_insert_with(|| make(number)).clone())
        .collect()
}
