//! Translates options into the resolved setup of a run: engine, pacing, memory, faults.

use crate::args::common::IoArgs;
use crate::args::means::{EngineArg, EngineArgs, MeansArgs};
use crate::exit::Failure;
use anyhow::anyhow;
use iosonar_plan::{
    Access, ByteSize, Engine, Faults, Fill, Memory, MmapOptions, Pacing, Phase, Plan, RunId, SimModel,
    SimStall, Space, StdioOptions, Target, UringOptions, Vectors,
};

/// Refuses options of another engine than the chosen one.
pub(super) fn check(args: &EngineArgs) -> Result<(), Failure> {
    const SIM: &[&str] = &["sim"];
    let given: [(&str, &[&str], bool); 13] = [
        ("--hipri", &["uring"], args.hipri),
        ("--sqpoll", &["uring"], args.sqpoll),
        ("--vectors", &["vsync", "pvsync"], args.vectors.is_some()),
        ("--stdio-buffer", &["stdio"], args.stdio_buffer.is_some()),
        ("--msync", &["mmap"], args.msync.is_some()),
        ("--madvise", &["mmap"], args.madvise.is_some()),
        ("--sim-service", SIM, args.sim_service.is_some()),
        ("--sim-jitter", SIM, args.sim_jitter.is_some()),
        ("--sim-channels", SIM, args.sim_channels.is_some()),
        ("--sim-errors", SIM, args.sim_errors.is_some()),
        ("--sim-short", SIM, args.sim_short.is_some()),
        ("--sim-stall", SIM, args.sim_stall.is_some()),
        ("--sim-change", SIM, args.sim_change.is_some()),
    ];
    match given.iter().find(|(_, engines, given)| *given && !engines.contains(&engine(args).name())) {
        Some((name, engines, _)) => Err(Failure::refused(anyhow!(
            "{name} has no effect without --engine {}: add that, or remove it",
            engines.join(" or ")
        ))),
        None => Ok(()),
    }
}

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

/// The size that targets of an engine without I/O pretend to have.
pub(super) fn pretended_size(args: &IoArgs) -> Result<Option<ByteSize>, Failure> {
    match args.size {
        _ if engine(&args.engine).is_real() => Ok(None),
        None => Ok(None),
        Some(Space::Bytes(size)) => Ok(Some(size)),
        Some(share @ Space::Percent(_)) => Err(Failure::refused(anyhow!(
            "--size {share}: with --engine {} there is no target to take a share of: give bytes",
            engine(&args.engine).name()
        ))),
    }
}

fn vectors(args: &EngineArgs) -> Vectors {
    args.vectors.map_or(Vectors::default(), |count| Vectors { count })
}

/// The engine selected by the options.
pub(super) fn engine(args: &EngineArgs) -> Engine {
    match args.engine {
        _ if args.dry_run => Engine::Null,
        EngineArg::Uring => Engine::Uring(UringOptions { hipri: args.hipri, sqpoll: args.sqpoll }),
        EngineArg::Aio => Engine::Aio,
        EngineArg::Threads => Engine::Threads,
        EngineArg::Sync => Engine::Sync,
        EngineArg::Vsync => Engine::Vsync(vectors(args)),
        EngineArg::Pvsync => Engine::Pvsync(vectors(args)),
        EngineArg::Stdio => Engine::Stdio(StdioOptions { buffer: args.stdio_buffer.unwrap_or_default() }),
        EngineArg::Mmap => Engine::Mmap(MmapOptions {
            msync: args.msync.unwrap_or_default(),
            advice: args.madvise.unwrap_or_default(),
            file_io_first: false,
        }),
        EngineArg::Posixaio => Engine::Posixaio,
        EngineArg::Null => Engine::Null,
        EngineArg::Sim => Engine::Sim(SimModel {
            service: args.sim_service.unwrap_or(SimModel::default().service),
            jitter: args.sim_jitter.unwrap_or_default(),
            channels: args.sim_channels.unwrap_or_default(),
            error_every: args.sim_errors.unwrap_or_default(),
            short_every: args.sim_short.unwrap_or_default(),
            change: args.sim_change.map(|change| change.0),
            stall: args.sim_stall.map(|s| SimStall { period: s.period, length: s.length }),
        }),
    }
}

/// A plan with the options' engine, access, data and machine.
pub(super) fn plan(io: &IoArgs, run_id: RunId, targets: Vec<Target>, phase: Phase) -> Plan {
    Plan {
        seed: io.seed,
        sample_every: io.means.sample_every,
        destroy: io.destroy,
        engine: engine(&io.engine),
        access: Access { buffered: io.buffered, sync: io.sync },
        fill: Fill { random_percent: io.fill_random },
        pacing: pacing(&io.means),
        memory: memory(&io.means),
        faults: faults(&io.means),
        verify: io.verify.verification(),
        inject: io.verify.inject.clone(),
        claim: io.claim,
        anyway: io.anyway,
        watch_order: io.watch_order,
        probe: io.probe.unwrap_or_default(),
        ..Plan::new(run_id, targets, vec![phase])
    }
}

fn pacing(args: &MeansArgs) -> Pacing {
    let pin = args.pin.as_ref().map(|cpus| cpus.0.clone()).unwrap_or_default();
    Pacing { spin: args.spin, pin, nice: args.nice, realtime: args.realtime }
}

fn memory(args: &MeansArgs) -> Memory {
    Memory { buffers: args.buffer_memory, hugepages: args.hugepages }
}

fn faults(args: &MeansArgs) -> Faults {
    Faults { max_errors: args.max_errors, short: args.short }
}
