//! Explains why a plan is refused in terms of the typed options: their user has never seen the plan.

use crate::exit::Failure;
use anyhow::anyhow;
use iosonar_plan::Plan;

/// Fields that every command sets with an option of the same meaning.
const COMMON: &[(&str, &str)] = &[
    ("path", "--target"),
    ("size", "--size"),
    ("run_id", "--run-id"),
    ("sample_every", "--sample-every"),
    ("seed", "--seed"),
    ("engine", "--engine"),
    ("engine.service", "--sim-service"),
    ("engine.vectors", "--vectors"),
    ("engine.buffer", "--stdio-buffer"),
    ("access.buffered", "--buffered"),
    ("engine.jitter", "--sim-jitter"),
    ("engine.stall", "--sim-stall"),
    ("engine.change.at", "the time of --sim-change"),
    ("engine.change.percent", "the percentage of --sim-change"),
    ("engine.stall.period", "the period of --sim-stall"),
    ("fill.random_percent", "--fill-random"),
    ("overlap.policy", "--overlap"),
    ("pacing.spin", "--spin"),
    ("claim", "--claim"),
    ("anyway", "--anyway"),
    ("watch_order", "--watch-order"),
    ("probe", "--probe"),
    ("pacing.pin", "--pin"),
    ("pacing.nice", "--nice"),
    ("pacing.realtime", "--realtime"),
    ("memory.buffers", "--buffer-memory"),
    ("verify", "--verify"),
    ("inject", "--inject"),
    ("verify.modes", "--verify"),
    ("verify.memory", "--verify-memory"),
    ("verify.dump", "--verify-dump"),
];

/// Fields that `run` sets.
const RUN: &[(&str, &str)] = &[
    ("start_grace", "--start-delay"),
    ("passes", "--passes"),
    ("depth", "--iodepth"),
    ("jobs", "--numjobs"),
    ("read_percent", "--rwmixread"),
    ("discard_percent", "--rwmixtrim"),
    ("flush", "--fsync or --fdatasync"),
    ("flush.after_writes", "--fsync or --fdatasync"),
    ("thinktime", "--thinktime"),
    ("thinktime.time", "--thinktime"),
    ("thinktime.spin", "--thinktime-spin"),
    ("thinktime.blocks", "--thinktime-blocks"),
    ("engine.hipri", "--hipri"),
    ("block_size", "--bs"),
    ("block_size.least", "--bsrange"),
    ("block_size.most", "--bsrange"),
    ("write_block_size", "--bs"),
    ("offset", "--offset"),
    ("offset + block_size", "--offset with --bs"),
    ("offset + region", "--offset with --size"),
    ("offset + zones", "--offset with --random-distribution"),
    ("region", "--size"),
    ("addresses", "the addresses of --steps"),
    ("unit", "--unit"),
    ("order", "--steps"),
    ("order.interleaved.every", "--steps interleaved:"),
    ("order.strided.every", "--steps strided:"),
    ("order.list.file", "--steps list:"),
    ("order.zipf.theta", "--random-distribution zipf:"),
    ("order.pareto.h", "--random-distribution pareto:"),
    ("order.normal.deviation", "--random-distribution normal:"),
    ("order.zoned", "--random-distribution zoned"),
    ("pace.iops", "--rate-iops"),
    ("pace.bytes_per_second", "--rate"),
    ("stop.requests", "--number-ios"),
    ("stop.bytes", "--io-size"),
    ("stop.runtime", "--runtime"),
    ("stop.ramp", "--ramp-time"),
    ("stop.ramp + stop.runtime", "--ramp-time with --runtime"),
    ("stop.time_limit", "--time-limit"),
    ("file.between_passes", "--between-passes"),
    ("create", "--create"),
    ("file.create", "--create"),
    ("options.before", "--before-pass"),
    ("options.after", "--after-pass"),
    ("options.start_delay", "--start-delay"),
    ("options.lock_requests", "--lock-requests"),
    ("options.align", "--align"),
    ("options.data", "--data"),
    ("options.verify", "--verify"),
    ("options.verify.immediate", "--verify-immediate"),
    ("coordination", "--lockstep and --start-when"),
    ("coordination.pass_delay", "--pass-delay"),
    ("coordination.runtime", "--runtime"),
    ("coordination.meet_every", "--meet-every"),
    ("coordination.lockstep", "--lockstep"),
    ("coordination.start", "--start-when"),
    ("coordination.stop", "--stop-when"),
];

/// Fields that `replay` sets.
const REPLAY: &[(&str, &str)] = &[
    ("start_grace", "--start-grace"),
    ("depth", "--depth"),
    ("file", "LOAD"),
    ("window.start", "--start"),
    ("window.end", "--end"),
    ("speed", "--speed"),
    ("pace", "--asap"),
    ("filter", "--filter"),
];

/// Refuses a plan from options of `run` that cannot be executed.
pub fn check_run(plan: &Plan) -> Result<(), Failure> {
    check(plan, RUN)
}

/// Refuses a plan from options of `replay` that cannot be executed.
pub fn check_replay(plan: &Plan) -> Result<(), Failure> {
    check(plan, REPLAY)
}

fn check(plan: &Plan, own: &[(&str, &str)]) -> Result<(), Failure> {
    plan.validate().map_err(|why| Failure::refused(anyhow!(why.in_options(&[own, COMMON]))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_of_the_tables_exists() {
        use clap::CommandFactory;
        let command = crate::args::Cli::command();
        for (name, own) in [("run", RUN), ("replay", REPLAY)] {
            let sub = command.find_subcommand(name).expect("the command");
            let known = |option: &str| sub.get_arguments().any(|arg| arg.get_long() == Some(option));
            for (_, words) in own.iter().chain(COMMON) {
                for option in words.split(' ').filter_map(|word| word.strip_prefix("--")) {
                    assert!(known(option.trim_end_matches(':')), "{name} has no --{option}");
                }
            }
        }
    }
}
