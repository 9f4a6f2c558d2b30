//! Behaviour that a plan demands of a simulated target: where it is the cause of a result, it is a reason.

use crate::Facts;
use crate::events::Events;
use crate::words::{moment, time};
use iosonar_analyze::{Cause, Reason, TimeRange};
use iosonar_plan::{Engine, SimModel, SimStall};

/// The demanded behaviour, if it accounts for the events of this cause: they lie in its time.
pub(crate) fn reason(facts: &Facts<'_>, events: &Events, cause: Cause) -> Option<Reason> {
    let model = model(facts)?;
    let is_in =
        |is_told: &dyn Fn(TimeRange) -> bool| events.of_cause(cause).all(|(event, _)| is_told(event.range));
    match cause {
        Cause::TargetStoodStill => {
            let stall = model.stall.filter(|stall| is_in(&|time| has_stall(*stall, time)))?;
            let [length, period] = [stall.length.0, stall.period.0].map(time);
            Some(told(&format!("complete nothing for {length} every {period}")))
        }
        Cause::TargetSlower => {
            let is_after =
                |at: u64| move |time: TimeRange| 2 * time.to_ns.saturating_sub(at) >= time.length_ns();
            let change =
                model.change.filter(|change| change.percent > 100 && is_in(&is_after(change.at.0)))?;
            let (percent, from) = (change.percent, moment(change.at.0));
            Some(told(&format!("take {percent} % of its usual time from {from} on")))
        }
        _ => None,
    }
}

/// Whether a stall begins within a time, or just before it.
fn has_stall(stall: SimStall, time: TimeRange) -> bool {
    let period = stall.period.0.max(1);
    let last = time.to_ns / period * period;
    last > 0 && last.saturating_add(stall.length.0) >= time.from_ns
}

/// The demanded failures and short transfers.
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
