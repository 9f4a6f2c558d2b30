//! Options of the setup of a run: engine, pacing, memory, faults.

use crate::args::words::{Word, words};
use clap::{Args, ValueEnum};
use iosonar_plan::{ByteSize, MapAdvice, MsyncPolicy, Nanos, ShortPolicy, SimChange};

/// What carries the requests out.
#[derive(Debug, Args)]
#[command(next_help_heading = "Engine")]
pub struct EngineArgs {
    /// Set what executes the requests
    #[arg(long, aliases = ["ioengine", "method"], value_enum, value_name = "ENGINE", default_value = "uring")]
    pub engine: EngineArg,
    /// Do everything but the I/O, as --engine null; the result is no storage result
    #[arg(long, conflicts_with = "engine")]
    pub dry_run: bool,
    /// Poll for completions instead of interrupts
    ///
    /// Engine uring; the driver must have poll queues.
    #[arg(long)]
    pub hipri: bool,
    /// Let a kernel thread take submissions, without a system call
    ///
    /// Engine uring.
    #[arg(long, alias = "sqthread_poll")]
    pub sqpoll: bool,
    /// Split each buffer into this many vectors (engines vsync, pvsync). Default: 1
    #[arg(long, value_name = "N")]
    pub vectors: Option<u32>,
    /// Set the buffer of engine stdio; 0: the library's choice. Default: 0
    #[arg(long, value_name = "SIZE")]
    pub stdio_buffer: Option<ByteSize>,
    /// Set when engine mmap calls msync after a write. Default: none
    #[arg(long, value_name = "HOW", value_parser = words(MSYNC))]
    pub msync: Option<MsyncPolicy>,
    /// Advise the kernel on the mapping of engine mmap (madvise). Default: none
    #[arg(long, value_name = "HOW", value_parser = words(ADVICE))]
    pub madvise: Option<MapAdvice>,
    /// Set the least service time of the simulated engine. Default: 100us
    #[arg(long, value_name = "TIME")]
    pub sim_service: Option<Nanos>,
    /// Add an exponentially distributed time of this mean (simulated engine). Default: 0s
    #[arg(long, value_name = "TIME")]
    pub sim_jitter: Option<Nanos>,
    /// Serve this many requests at the same time (simulated engine); 0: all. Default: 0
    #[arg(long, value_name = "N")]
    pub sim_channels: Option<u32>,
    /// Fail one request in N (simulated engine); 0: none. Default: 0
    #[arg(long, value_name = "N")]
    pub sim_errors: Option<u32>,
    /// Transfer too little for one request in N (simulated engine); 0: none. Default: 0
    #[arg(long, value_name = "N")]
    pub sim_short: Option<u32>,
    /// Complete nothing for LENGTH in every PERIOD (simulated engine)
    #[arg(long, value_name = "LENGTH/PERIOD")]
    pub sim_stall: Option<StallArg>,
    /// Serve requests in PERCENT of the time, from TIME on (simulated engine): 250@16s
    #[arg(long, value_name = "PERCENT@TIME")]
    pub sim_change: Option<ChangeArg>,
}

/// How exactly requests go, with what memory, and what happens when they fail.
#[derive(Debug, Args)]
#[command(next_help_heading = "Pacing, memory and faults")]
pub struct SetupArgs {
    /// Spin instead of sleeping this long before a due time; 0: never
    ///
    /// Default: 100us where there is a CPU for each issuing thread and one more, else 0.
    #[arg(long, value_name = "TIME")]
    pub spin: Option<Nanos>,
    /// Bind issuing threads to these CPUs, in turn: 2,4-7
    #[arg(long, value_name = "CPUS", alias = "cpus_allowed", value_parser = cpus)]
    pub pin: Option<Cpus>,
    /// Set the niceness of the issuing threads, -20 to 19
    #[arg(long, value_name = "N", allow_negative_numbers = true, conflicts_with = "realtime", value_parser = clap::value_parser!(i8).range(-20..=19))]
    pub nice: Option<i8>,
    /// Set the real-time priority of the issuing threads (SCHED_FIFO)
    #[arg(long, value_name = "PRIORITY", num_args = 0..=1, default_missing_value = "1", value_parser = clap::value_parser!(u8).range(1..=99))]
    pub realtime: Option<u8>,
    /// Limit the memory for the data of requests, of all targets together
    ///
    /// A request waits until a buffer is free.
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    pub buffer_memory: ByteSize,
    /// Use huge pages for that memory; reserve them first (sysctl vm.nr_hugepages)
    #[arg(long)]
    pub hugepages: bool,
    /// Stop a target after N failed requests; others go on. Default: never
    #[arg(long, value_name = "N")]
    pub max_errors: Option<u64>,
    /// Set the interval between samples of the counters of devices, CPUs and memory
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub sample_every: Nanos,
    /// Set what happens when a call transfers less than requested
    #[arg(long, value_name = "POLICY", default_value = "complete", value_parser = words(SHORT))]
    pub short: ShortPolicy,
}

/// The call after each write of engine mmap.
const MSYNC: &[Word<MsyncPolicy>] = &[
    ("none", "Nothing", MsyncPolicy::None),
    ("async", "MS_ASYNC: the kernel writes it back later", MsyncPolicy::Async),
    ("sync", "MS_SYNC: wait until it is on stable storage", MsyncPolicy::Sync),
];

/// Advice to the kernel on the use of a mapping.
const ADVICE: &[Word<MapAdvice>] = &[
    ("normal", "MADV_NORMAL", MapAdvice::Normal),
    ("random", "MADV_RANDOM: no read-ahead", MapAdvice::Random),
    ("sequential", "MADV_SEQUENTIAL: more read-ahead", MapAdvice::Sequential),
    ("dontneed", "MADV_DONTNEED: pages leave the mapping, and the file keeps them", MapAdvice::DontNeed),
    ("willneed", "MADV_WILLNEED: pages are read at once", MapAdvice::WillNeed),
];

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
    /// read and write, one after the other, with lseek between them where needed
    Sync,
    /// readv and writev of the --vectors parts of a buffer
    Vsync,
    /// preadv and pwritev of the --vectors parts of a buffer
    Pvsync,
    /// fread and fwrite of the C library, through the page cache
    Stdio,
    /// Copies from and to the mapped target, through the page cache
    Mmap,
    /// aio_read and aio_write of the C library
    Posixaio,
    /// No I/O
    Null,
    /// A simulated device on a clock of its own
    Sim,
}

/// Treatment of a call that transfers less than requested.
const SHORT: &[Word<ShortPolicy>] = &[
    ("complete", "Ask for the rest until all is done, or nothing more comes", ShortPolicy::Complete),
    ("record", "Count the request as failed", ShortPolicy::Record),
];

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

/// Another level from some time on.
#[derive(Debug, Clone, Copy)]
pub struct ChangeArg(pub SimChange);

impl std::str::FromStr for ChangeArg {
    type Err = String;

    fn from_str(text: &str) -> Result<ChangeArg, String> {
        let (percent, at) = text.split_once('@').ok_or("give PERCENT@TIME, for example 250@16s")?;
        let percent =
            percent.trim_end_matches('%').parse().map_err(|_| format!("'{percent}' is no percentage"))?;
        let at = at.parse::<Nanos>().map_err(|e| e.to_string())?;
        Ok(ChangeArg(SimChange { at, percent }))
    }
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
    fn parses_cpu_lists() {
        assert_eq!(cpus("2,4-6"), Ok(Cpus(vec![2, 4, 5, 6])));
        for bad in ["", "x", "3-1", "1,", "-1", "9000", "1-"] {
            assert!(cpus(bad).is_err(), "{bad}");
        }
    }
}
