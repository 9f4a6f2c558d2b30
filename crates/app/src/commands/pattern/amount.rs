//! How fast requests are due, how many there are, and where exact places end.

use super::refuse;
use crate::args::run::{PaceArgs, ProcessArg, RunArgs};
use crate::exit::Failure;
use iosonar_plan::{AtEnd, Generator, Order, Pace, Process, Sharing, Space, Stop};

/// A workload at exact places, which do not depend on the target.
pub(super) fn exact(args: &RunArgs, order: &Order, generator: Generator) -> Result<Generator, Failure> {
    let pace = pace(&args.pace, Process::Trailing)?;
    let size = match args.io.size {
        Some(share @ Space::Percent(_)) => {
            return refuse(format!("--size {share} with --steps: places are exact: give bytes"));
        }
        Some(Space::Bytes(size)) => Some(size),
        None => None,
    };
    let is_random = *order == Order::Random;
    let stop = Stop {
        requests: args.pace.number_ios,
        bytes: args.pace.io_size,
        cut_last: true,
        runtime: None,
        time_limit: args.steps.time_limit,
        ramp: args.pace.ramp_time,
    };
    // Without an amount: once through the region, or as long as the run lasts; evenly spread places need an amount.
    let is_endless = args.pace.runtime.is_some() || stop.time_limit.is_some();
    let has_amount = stop.requests.is_some() || stop.bytes.is_some();
    let once = size.filter(|_| !has_amount && (!is_endless || *order == Order::Staggered));
    let longest = generator.longest();
    let stop = match (once, order) {
        (Some(size), Order::Interleaved { every }) => {
            let step = longest.saturating_mul((*every).into()).max(1);
            Stop { requests: Some(size.0.saturating_sub(longest) / step + 1), ..stop }
        }
        (Some(size), _) => Stop { bytes: Some(Space::Bytes(size)), ..stop },
        (None, _) => stop,
    };
    Ok(Generator {
        order: order.clone(),
        at_end: AtEnd::Extend,
        seed: is_random.then_some(args.io.seed),
        same_each_pass: is_random && !args.steps.new_order_each_pass,
        sharing: Sharing::Striped,
        pace,
        stop,
        ..generator
    })
}

/// When requests are due.
pub(super) fn pace(args: &PaceArgs, even: Process) -> Result<Pace, Failure> {
    let process = match args.rate_process {
        Some(ProcessArg::Poisson) => Process::Poisson,
        Some(ProcessArg::Linear) | None => even,
    };
    Ok(match (args.rate, args.rate_iops) {
        (Some(bytes_per_second), _) => Pace::Bandwidth { bytes_per_second, process },
        (None, Some(iops)) => match iops.to_string().parse() {
            Ok(iops) => Pace::Rate { iops, process },
            Err(error) => return refuse(format!("--rate-iops: {error}")),
        },
        (None, None) => Pace::Closed,
    })
}

/// The end of a workload.
pub(super) fn stop(args: &RunArgs, fixed_size: Option<u64>) -> Stop {
    let pace = &args.pace;
    let stop = Stop {
        requests: pace.number_ios,
        bytes: pace.io_size,
        runtime: pace.runtime,
        time_limit: args.steps.time_limit,
        ramp: pace.ramp_time,
        ..Stop::default()
    };
    if pace.time_based || stop.requests.is_some() || stop.bytes.is_some() {
        return stop;
    }
    // Once through the region, as in fio.
    match (args.io.size, fixed_size) {
        (Some(Space::Bytes(size)), Some(block)) if size.0 >= block => {
            Stop { requests: Some(size.0 / block), ..stop }
        }
        _ => Stop { bytes: Some(Space::Percent(100)), ..stop },
    }
}
