//! Questions for the machines that are typed with `--on`, or that a result names.

use super::on_hosts::{host, machines, placement, refuse_unused, targets};
use crate::args::hosts::ReachArgs;
use crate::exit::Failure;
use crate::verb_questions::VerbQuestion;
use anyhow::anyhow;
use iosonar_cluster::Question;
use iosonar_host::other_writer;
use iosonar_plan::{Host, Plan};
use iosonar_text::shown;
use std::path::{Path, PathBuf};

/// A question for each typed machine about its target; `None` if no machine is typed.
pub fn questions(
    args: &ReachArgs,
    typed: &[PathBuf],
    question: impl Fn(&Path) -> VerbQuestion,
) -> Result<Option<Vec<Question>>, Failure> {
    let placement = placement(args)?;
    if placement.is_empty() {
        return refuse_unused(args).map(|()| None);
    }
    targets(typed, &placement)?;
    let one = |(name, target): (Option<String>, PathBuf)| {
        question(&target).on(name.map(|name| host(&name, args)), &target)
    };
    Ok(Some(placement.each(typed).into_iter().map(one).collect()))
}

/// Targets of a result that a machine has, by their number and with their paths there.
pub struct TargetsOfHost {
    pub host: Option<Host>,
    pub targets: Vec<u16>,
    pub paths: Vec<PathBuf>,
}

impl TargetsOfHost {
    fn of(plan: &Plan, host: Option<Host>, targets: Vec<u16>) -> TargetsOfHost {
        let path = |target: &u16| plan.targets[usize::from(*target)].path.clone();
        TargetsOfHost { host, paths: targets.iter().map(path).collect(), targets }
    }
}

/// The typed machines, each with all targets of a result; `None` if no machine is typed.
pub fn typed_hosts(args: &ReachArgs, plan: &Plan) -> Result<Option<Vec<TargetsOfHost>>, Failure> {
    let machines = machines(args, "the result names its targets")?;
    let all = || (0..plan.targets.len() as u16).collect();
    let of = |host: Option<Host>| TargetsOfHost::of(plan, host, all());
    Ok((!machines.is_empty()).then(|| machines.into_iter().map(of).collect()))
}

/// The machines of a run, each with its targets; `None` if all are here. A result of another user must not decide where this program connects to.
pub fn hosts_of_result(result: &Path, plan: &Plan) -> Result<Option<Vec<TargetsOfHost>>, Failure> {
    let host = |number: u16| plan.targets[usize::from(number)].executor.host();
    let parts = plan.parts();
    if parts.iter().all(|targets| host(targets[0]).is_none()) {
        return Ok(None);
    }
    if let Some(whose) = other_writer([result, &result.join("plan.toml")]) {
        return Err(Failure::refused(anyhow!(
            "{}: {whose}, and it names hosts to connect to: name them with --on, or the files here with --target OLD=NEW",
            shown(&result)
        )));
    }
    let of = |targets: Vec<u16>| TargetsOfHost::of(plan, host(targets[0]).cloned(), targets);
    Ok(Some(parts.into_iter().map(of).collect()))
}
