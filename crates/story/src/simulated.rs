//! What a simulated target was told to do: where that is the cause of a result, it is the first reason for it.

use crate::Facts;
use crate::words::{moment, time};
use iosonar_analyze::{Cause, Reason};
use iosonar_plan::{Engine, SimModel};

/// What the target was told, if it has caused events of this kind.
pub(crate) fn event(facts: &Facts<'_>, cause: Cause) -> Option<Reason> {
    let model = model(facts)?;
    match cause {
        Cause::TargetStoodStill => {
            let stall = model.stall?;
            Some(told(&format!(
                "complete nothing for {} every {}",
                time(stall.length.0),
                time(stall.period.0)
            )))
        }
        Cause::TargetSlower => {
            let change = model.change?;
            Some(told(&format!(
                "take {} % of its usual time from {} on",
                change.percent,
                moment(change.at.0)
            )))
        }
        _ => None,
    }
}

/// What the target was told, if requests failed or transferred less than was requested.
pub(crate) fn failures(facts: &Facts<'_>) -> Option<Reason> {
    let model = model(facts)?;
    match (model.error_every, model.short_every) {
        (1.., _) => Some(told(&format!("fail one request in {}", model.error_every))),
        (0, 1..) => Some(told(&format!("transfer too little for one request in {}", model.short_every))),
        (0, 0) => None,
    }
}

fn told(to: &str) -> Reason {
    Reason::new(format!("The target is simulated, and was told to {to}."), &["stamps"])
}

fn model<'a>(facts: &Facts<'a>) -> Option<&'a SimModel> {
    match &facts.plan.engine {
        Engine::Sim(model) => Some(model),
        _ => None,
    }
}
