//! What can be typed about the means of a run: engine, pacing, memory, faults.

use clap::{Args, ValueEnum};
use iosonar_plan::{ByteSize, Nanos};

/// What carries the requests out.
#[derive(Debug, Args)]
#[command(next_help_heading = "Engine")]
pub struct EngineArgs {
    /// What carries the requests out
    #[arg(long, alias = "ioengine", value_enum, value_name = "ENGINE", default_value = "uring")]
    pub engine: EngineArg,
    /// The same as --engine null: everything but the I/O. The result is no storage result
    #[arg(long, conflicts_with = "engine")]
    pub dry_run: bool,
    /// Engine uring: poll for completions instead of awaiting interrupts; the driver must have poll queues
    #[arg(long)]
    pub hipri: bool,
    /// Engine uring: a kernel thread takes submissions, so that submitting needs no system call
    #[arg(long, alias = "sqthread_poll")]
    pub sqpoll: bool,
    /// Simulated engine: least service time. Default: 100us
    #[arg(long, value_name = "TIME")]
    pub sim_service: Option<Nanos>,
    /// Simulated engine: mean of an exponentially distributed addition. Default: 0s
    #[arg(long, value_name = "TIME")]
    pub sim_jitter: Option<Nanos>,
    /// Simulated engine: requests served at the same time; 0: all. Default: 0
    #[arg(long, value_name = "N")]
    pub sim_channels: Option<u32>,
    /// Simulated engine: one request in N fails; 0: none. Default: 0
    #[arg(long, value_name = "N")]
    pub sim_errors: Option<u32>,
    /// Simulated engine: one request in N stays short; 0: none. Default: 0
    #[arg(long, value_name = "N")]
    pub sim_short: Option<u32>,
    /// Simulated engine: nothing completes for LENGTH in every PERIOD
    #[arg(long, value_name = "LENGTH/PERIOD")]
    pub sim_stall: Option<StallArg>,
}

/// How exactly requests go, with what memory, and what happens when they fail.
#[derive(Debug, Args)]
#[command(next_help_heading = "Pacing, memory and faults")]
pub struct MeansArgs {
    /// How long before a due time to stop sleeping and spin; 0: never. Default: 100us where there is a CPU for each
    /// issuing thread and one more, else 0
    #[arg(long, value_name = "TIME")]
    pub spin: Option<Nanos>,
    /// CPUs that issuing threads are bound to, in turn: 2,4-7
    #[arg(long, value_name = "CPUS", alias = "cpus_allowed", value_parser = cpus)]
    pub pin: Option<Cpus>,
    /// Niceness of the issuing threads, -20 to 19
    #[arg(long, value_name = "N", allow_negative_numbers = true, conflicts_with = "realtime", value_parser = clap::value_parser!(i8).range(-20..=19))]
    pub nice: Option<i8>,
    /// Real-time priority of the issuing threads (SCHED_FIFO)
    #[arg(long, value_name = "PRIORITY", num_args = 0..=1, default_missing_value = "1", value_parser = clap::value_parser!(u8).range(1..=99))]
    pub realtime: Option<u8>,
    /// Memory for the data of requests, of all targets together. A request that finds none free waits
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    pub buffer_memory: ByteSize,
    /// Take that memory as huge pages, which must have been reserved (sysctl vm.nr_hugepages)
    #[arg(long)]
    pub hugepages: bool,
    /// End a target's part when more than this many of its requests have failed; others go on. Default: never
    #[arg(long, value_name = "N")]
    pub max_errors: Option<u64>,
    /// What happens when a call transfers less than it was asked to
    #[arg(long, value_enum, value_name = "POLICY", default_value = "complete")]
    pub short: ShortArg,
}

/// Engines.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum EngineArg {
    /// io_uring, one issuing thread for each target
    #[value(alias = "io_uring")]
    Uring,
    /// The kernel's older asynchronous interface, for comparison
    #[value(alias = "libaio")]
    Aio,
    /// One blocking thread for each request in flight
    #[value(alias = "psync")]
    Threads,
    /// No I/O
    Null,
    /// A simulated device on a clock of its own
    Sim,
}

/// Policies for short transfers.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum ShortArg {
    /// Ask for the rest until all is done, or nothing more comes
    Complete,
    /// Count the request as failed
    Record,
}

/// A list of CPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpus(pub Vec<u32>);

fn cpus(text: &str) -> Result<Cpus, String> {
    let number = |word: &str| {
        let parsed = word.trim().parse::<u32>().ok().filter(|cpu| *cpu < 8192);
        parsed.ok_or_else(|| format!("'{word}' is no CPU: give numbers and ranges such as 2,4-7"))
    };
    let mut all = Vec::new();
    for part in text.split(',') {
        match part.split_once('-') {
            Some((first, last)) => {
                let (first, last) = (number(first)?, number(last)?);
                if last < first {
                    return Err(format!("'{part}' runs backward: give the lower CPU first"));
                }
                all.extend(first..=last);
            }
            None => all.push(number(part)?),
        }
    }
    Ok(Cpus(all))
}

/// A stall that comes again and again.
#[derive(Debug, Clone, Copy)]
pub struct StallArg {
    /// How long nothing completes.
    pub length: Nanos,
    /// From one to the next.
    pub period: Nanos,
}

impl std::str::FromStr for StallArg {
    type Err = String;

    fn from_str(text: &str) -> Result<StallArg, String> {
        let (length, period) = text.split_once('/').ok_or("give LENGTH/PERIOD, for example 500ms/10s")?;
        let time = |text: &str| text.parse::<Nanos>().map_err(|e| e.to_string());
        Ok(StallArg { length: time(length)?, period: time(period)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus() {
        assert_eq!(cpus("2,4-6"), Ok(Cpus(vec![2, 4, 5, 6])));
        for bad in ["", "x", "3-1", "1,", "-1", "9000", "1-"] {
            assert!(cpus(bad).is_err(), "{bad}");
        }
    }
}
