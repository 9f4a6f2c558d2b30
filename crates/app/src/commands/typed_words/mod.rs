//! Explains why a plan is refused in terms of the typed options: their user has never seen the plan.

mod common;
mod replay;
mod run;

use crate::exit::Failure;
use anyhow::anyhow;
use iosonar_plan::Plan;

/// Refuses a plan from options of `run` that cannot be executed.
pub fn check_run(plan: &Plan) -> Result<(), Failure> {
    check(plan, run::FIELDS)
}

/// Refuses a plan from options of `replay` that cannot be executed.
pub fn check_replay(plan: &Plan) -> Result<(), Failure> {
    check(plan, replay::FIELDS)
}

fn check(plan: &Plan, own: &[(&str, &str)]) -> Result<(), Failure> {
    plan.validate().map_err(|why| Failure::refused(anyhow!(why.in_options(&[own, common::FIELDS]))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_of_the_tables_exists() {
        use clap::CommandFactory;
        let command = crate::args::Cli::command();
        for (name, own) in [("run", run::FIELDS), ("replay", replay::FIELDS)] {
            let sub = command.find_subcommand(name).expect("the command");
            let known = |option: &str| sub.get_arguments().any(|arg| arg.get_long() == Some(option));
            for (_, words) in own.iter().chain(common::FIELDS) {
                for option in words.split(' ').filter_map(|word| word.strip_prefix("--")) {
                    assert!(known(option.trim_end_matches(':')), "{name} has no --{option}");
                }
            }
        }
    }
}
