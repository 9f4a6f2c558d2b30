//! The sections before XDD's results: options, machine, targets.

use crate::facts::{HeaderFacts, PassAmount, StampFacts, SystemFacts, TargetFacts};
use crate::header::{ctime, header};
use crate::settings::{SeekOrder, Settings, TargetSettings};
use iosonar_archive::RunInfo;
use iosonar_plan::{Data, ExpectedData, Lockstep};

/// Formats the three sections. With `-qthreadinfo` each queue thread has a section. `tool` names the program.
pub fn sections(settings: &Settings, info: &RunInfo, tool: &str, machine: &SystemFacts) -> String {
    let page_size = machine.page_size;
    let targets: Vec<TargetFacts> = (0u16..)
        .zip(&settings.targets)
        .flat_map(|(number, target)| {
            let threads = if settings.global.qthreadinfo { target.queuedepth } else { 1 };
            (0..threads as u16).map(move |queue| TargetFacts {
                alignment: if target.align > 0 { target.align } else { page_size },
                ..target_facts(settings, target, number, queue)
            })
        })
        .collect();
    header(&options(settings, info, tool), machine, &targets)
}

fn options(settings: &Settings, info: &RunInfo, tool: &str) -> HeaderFacts {
    let global = &settings.global;
    let file = |name: &Option<String>, other: &str| name.clone().unwrap_or_else(|| other.into());
    HeaderFacts {
        version: tool.into(),
        started: ctime(info.started_unix_ns),
        id: global.id.clone(),
        max_priority: global.maxpri,
        passes: global.passes,
        pass_delay: global.delay,
        max_errors: global.maxerrors,
        target_offset: global.targetoffset,
        sync_io: global.syncio.unwrap_or(0),
        run_time: global.runtime,
        output: file(&global.output, "stdout"),
        csv_output: file(&global.csvout, "none"),
        error_output: file(&global.errout, "stderr"),
        combined_output: global.combined.clone(),
        randomize: settings.targets.iter().any(|t| t.randomize),
        sync_write: settings.targets.iter().any(|t| t.syncwrite),
        barriers: !global.nobarrier,
        time_service: None,
        targets: settings.targets.len() as u32,
        io_threads: settings.targets.iter().map(|t| u64::from(t.queuedepth)).sum(),
    }
}

fn target_facts(settings: &Settings, target: &TargetSettings, number: u16, queue_thread: u16) -> TargetFacts {
    let amount = match (target.numreqs, target.mbytes, target.kbytes) {
        (None, Some(n), _) => Some(PassAmount::MegaBytes(n)),
        (None, None, Some(n)) => Some(PassAmount::KiloBytes(n)),
        _ => None,
    };
    let takes_part = |l: &&Lockstep| l.master == number || l.slave == number;
    TargetFacts {
        number,
        queue_thread,
        name: target.path(),
        directory: target.targetdir.clone(),
        process_id: std::process::id(),
        thread_id: None,
        processor: target.processor,
        read_percent: target.read_percent,
        throttle: target.throttle,
        time_limit: target.timelimit,
        block_size: target.blocksize,
        request_blocks: target.reqsize,
        requests: target.requests(),
        start_offset: target.startoffset,
        amount,
        pass_offset: target.passoffset,
        shared_memory: target.sharedmemory,
        alignment: target.align,
        data_pattern: pattern(target.datapattern.as_ref()),
        verification: verification(target),
        direct: target.dio,
        seek_pattern: seek_pattern(target).into(),
        seek_range: target.range_blocks(),
        preallocation: target.preallocate,
        queue_depth: target.queuedepth,
        stamps: stamps(target),
        delete_file: target.deletefile,
        lockstep: settings.global.lockstep.iter().filter(takes_part).copied().collect(),
    }
}

fn pattern(data: Option<&Data>) -> String {
    match data {
        None => "0x0".into(),
        Some(Data::Byte(byte)) => format!("{byte:#x}"),
        Some(Data::Ascii(text)) => format!("ascii '{text}'"),
        Some(Data::Sequenced) => "sequenced".into(),
        Some(Data::Random) => "random".into(),
        Some(Data::Dedupe(dedupe)) => format!("dedupe {} %", dedupe.percent),
    }
}

fn verification(target: &TargetSettings) -> String {
    let Some(verify) = target.verify else { return "disabled".into() };
    let what = match verify.what {
        ExpectedData::Contents => "contents",
        ExpectedData::Location => "location",
        ExpectedData::Headers => "headers",
    };
    if verify.immediate { format!("{what}, immediate") } else { what.into() }
}

fn seek_pattern(target: &TargetSettings) -> &'static str {
    match (&target.seek.order, target.seek.interleave, target.queuedepth) {
        (SeekOrder::Sequential, 1, 1) => "sequential",
        (SeekOrder::Sequential, 1, _) => "queued_interleaved",
        (SeekOrder::Sequential, _, _) => "interleaved",
        (SeekOrder::Stagger, ..) => "staggered",
        (SeekOrder::Random, ..) => "random",
        (SeekOrder::None, ..) => "none",
        (SeekOrder::Load(_), ..) => "loaded",
    }
}

fn stamps(target: &TargetSettings) -> Option<StampFacts> {
    let ts = &target.timestamps;
    ts.on.then(|| StampFacts {
        detailed: ts.detailed,
        summary: ts.summary || ts.detailed,
        text_file: ts.output.clone(),
        dump_file: ts.dump.clone(),
    })
}
