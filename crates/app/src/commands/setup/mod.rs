//! Translates options into a plan: engine, pacing, memory, faults.

mod engine;

pub use self::engine::{check, engine, pretended_size};
use crate::args::common::IoArgs;
use crate::args::setup::SetupArgs;
use crate::exit::Failure;
use anyhow::anyhow;
use iosonar_plan::{Access, Faults, Fill, Memory, Pacing, Phase, Plan, RunId, Target};

/// Refuses checks of data by name, which only `run` writes.
pub(super) fn check_verify(io: &IoArgs) -> Result<(), Failure> {
    match io.verify.of_data() {
        None => Ok(()),
        Some(_) => Err(Failure::refused(anyhow!(
            "--verify contents and --verify location check data by name, and sectors with headers are written here: write --verify \
             read, final or another mode"
        ))),
    }
}

/// A plan with the options' engine, access, data and machine.
pub(super) fn plan(io: &IoArgs, run_id: RunId, targets: Vec<Target>, phase: Phase) -> Plan {
    Plan {
        seed: io.seed,
        sample_every: io.setup.sample_every,
        destroy: io.destroy,
        engine: engine(&io.engine),
        access: Access { buffered: io.buffered, sync: io.sync },
        fill: Fill { random_percent: io.fill_random },
        pacing: pacing(&io.setup),
        memory: memory(&io.setup),
        faults: faults(&io.setup),
        verify: io.verify.verification(),
        inject: io.verify.inject.clone(),
        claim: io.claim,
        anyway: io.anyway,
        watch_order: io.watch_order,
        trace_path: io.trace_path.unwrap_or_default(),
        probe: io.probe.unwrap_or_default(),
        ..Plan::new(run_id, targets, vec![phase])
    }
}

fn pacing(args: &SetupArgs) -> Pacing {
    let pin = args.pin.as_ref().map(|cpus| cpus.0.clone()).unwrap_or_default();
    Pacing { spin: args.spin, pin, nice: args.nice, realtime: args.realtime }
}

fn memory(args: &SetupArgs) -> Memory {
    Memory { buffers: args.buffer_memory, hugepages: args.hugepages }
}

fn faults(args: &SetupArgs) -> Faults {
    Faults { max_errors: args.max_errors, short: args.short }
}
