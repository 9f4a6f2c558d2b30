//! The engines of this machine: which one replaces an unavailable one, and simulated devices.

use iosonar_backend::{Backend, Sim, Store, Uring};
use iosonar_plan::{Engine, Plan, SimModel};
use std::sync::OnceLock;

/// An engine, or its replacement on this machine, and why.
pub(crate) fn usable(engine: Engine) -> (Engine, Option<String>) {
    match engine {
        Engine::Uring(_) => {
            // Asked for each job, with the same result from the kernel.
            static PROBED: OnceLock<Option<String>> = OnceLock::new();
            let obstacle =
                PROBED.get_or_init(|| Uring::probe().err().map(|unavailable| unavailable.to_string()));
            match obstacle {
                None => (engine, None),
                Some(why) => (Engine::Threads, Some(why.clone())),
            }
        }
        other => (other, None),
    }
}

/// A simulated device of a target. It keeps content where the plan transfers data; `stores` holds that of each target.
pub(crate) fn simulated(
    plan: &Plan,
    model: SimModel,
    target: u16,
    depth: u32,
    seed: u64,
    stores: &[Store],
) -> Box<dyn Backend> {
    match plan.transfers_data() {
        true => Box::new(Sim::with_content(model, depth, seed, stores[usize::from(target)].clone())),
        false => Box::new(Sim::new(model, depth, seed)),
    }
}
