//! The engine that the options select.

use crate::args::common::IoArgs;
use crate::args::setup::{EngineArg, EngineArgs};
use crate::exit::Failure;
use anyhow::anyhow;
use iosonar_plan::{
    ByteSize, Engine, MmapOptions, SimModel, SimStall, Space, StdioOptions, UringOptions, Vectors,
};

/// The engine selected by the options.
pub fn engine(args: &EngineArgs) -> Engine {
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

fn vectors(args: &EngineArgs) -> Vectors {
    args.vectors.map_or(Vectors::default(), |count| Vectors { count })
}

/// Refuses options of another engine than the chosen one.
pub fn check(args: &EngineArgs) -> Result<(), Failure> {
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

/// The size that targets of an engine without I/O pretend to have.
pub fn pretended_size(args: &IoArgs) -> Result<Option<ByteSize>, Failure> {
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
