//! What can be typed after `run`: a plan, or a pattern in fio's words. What the words mean together is resolved in the
//! command; here each is only read.

use crate::args::common::{IoArgs, OVERLAP, SessionArgs};
use crate::args::steps::{CoordinationArgs, JobOptionsArgs, StepsArgs};
use crate::args::words::words;
use clap::error::Error;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use iosonar_plan::{
    BlockSizes, ByteSize, Decimal, Nanos, Order, OverlapPolicy, SizeRange, SizeShare, Space, Zone,
};
use std::path::PathBuf;

/// Options of `run`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Without a plan, the pattern options set the workload, with fio's names. 'iosonar run' also takes a fio command line as it is: \
it translates fio's options or refuses them by name; docs/patterns.md lists the differences. Writing destroys the content of a \
target. A block device needs --destroy; one that is mounted, held or in use is never written. \
Times are seconds unless they carry a unit; sizes are bytes unless they do (4k = 4KB = 4KiB = 4096, as in fio).
Exit codes: 0 fine; 1 requests failed, or the run broke; 2 refused; 3 nothing was verified, or read with care (--strict); \
4 the figures are fake; 5 data was not what was written; 128+n signal n.

Examples:
  iosonar run plan.toml --out again
  iosonar run -t /dev/sdx --rw randread --bs 4k --iodepth 32 --runtime 60 --ramp-time 5
  iosonar run -t a.img --rw randrw --rwmixread 70 --bssplit 4k/60:64k/40 --rate-iops 500 \
              --rate-process poisson --runtime 30
  iosonar run -t a.img --rw randwrite --bs 8k --random-distribution zipf:1.1 --number-ios 100000
  iosonar run -t a.img --rw write --bs 1m --size 10g --show-plan
  iosonar run -t new.img --steps sequential --rw write --bs 64k --io-size 1g --create --passes 3 \
              --data sequenced --verify contents --verify-immediate
  iosonar run -t a.img b.img --steps sequential --rw read --bs 64k --number-ios 1000 \
              --lockstep master=0,slave=1,every=ops:2,task=ops:1")]
pub struct RunArgs {
    // First, because reading the others takes them out.
    #[command(flatten)]
    pub typed: Typed,
    /// A plan, as --show-plan prints it. Without one, name a --target and --rw
    #[arg(value_name = "PLAN.toml")]
    pub plan: Option<PathBuf>,
    /// Use this block device or regular file; several run at the same time
    ///
    /// Each target runs the whole pattern.
    #[arg(long = "target", short = 't', value_name = "TARGET", num_args = 1..)]
    pub targets: Vec<PathBuf>,
    #[command(flatten)]
    pub pattern: PatternArgs,
    #[command(flatten)]
    pub pace: PaceArgs,
    #[command(flatten)]
    pub steps: StepsArgs,
    #[command(flatten)]
    pub options: JobOptionsArgs,
    #[command(flatten)]
    pub coordination: CoordinationArgs,
    #[command(flatten)]
    pub io: IoArgs,
    #[command(flatten)]
    pub session: SessionArgs,
    /// Refuse a run that would write, discard, create or delete anything
    #[arg(long, help_heading = "I/O")]
    pub readonly: bool,
    /// Start the name of the result directory with this, without --out
    #[arg(long, value_name = "LABEL", help_heading = "Result and progress")]
    pub name: Option<String>,
    // Last, because it rewords what others define.
    #[command(flatten)]
    pub reworded: Reworded,
}

/// What is asked for.
#[derive(Debug, Args)]
#[command(next_help_heading = "Pattern")]
pub struct PatternArgs {
    /// Choose reads, writes or discards, sequential or at random
    #[arg(long, value_enum, value_name = "KIND", alias = "readwrite")]
    pub rw: Option<RwArg>,
    /// Set the bytes of each request; READ,WRITE where they differ. Default: 4k
    #[arg(long, value_name = "SIZE", alias = "blocksize", value_parser = sizes_one)]
    pub bs: Option<SizesArg>,
    /// Draw sizes between two, in multiples of the least: 1k-64k
    #[arg(long, value_name = "LEAST-MOST", alias = "blocksize_range", value_parser = sizes_range)]
    pub bsrange: Option<SizesArg>,
    /// Draw from these sizes, with their shares in percent: 4k/60:64k/40
    #[arg(long, value_name = "SIZE/PCT:...", value_parser = sizes_split)]
    pub bssplit: Option<SizesArg>,
    /// Set the share of reads in percent, exact in every hundred. Default: 50
    #[arg(long, value_name = "PCT", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub rwmixread: Option<u8>,
    /// Set the share of discards among all requests in percent
    ///
    /// Writes become discards; chance decides which ones.
    #[arg(long, value_name = "PCT", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub rwmixtrim: Option<u8>,
    /// Set the share of write zeroes among all requests in percent
    ///
    /// Writes become requests that zero a range without data; chance decides which ones.
    #[arg(long, value_name = "PCT", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub rwmixzeroes: Option<u8>,
    /// Issue an fsync after every N writes of a job
    ///
    /// It covers the writes that have completed by then: with --iodepth 1 all of them. Each is a request with times of its own.
    #[arg(long, value_name = "N", conflicts_with = "fdatasync")]
    pub fsync: Option<u64>,
    /// Issue an fdatasync after every N writes of a job
    #[arg(long, value_name = "N")]
    pub fdatasync: Option<u64>,
    /// Start the region at this offset
    #[arg(long, value_name = "SIZE", default_value = "0")]
    pub offset: ByteSize,
    /// Set where random requests go: random, zipf:1.1, pareto:0.2, normal:20, zoned:…
    ///
    /// zoned:60/10:40/90 is percent of requests / percent of space; zoned_abs:60/10g:40/90g has sizes.
    #[arg(long, value_name = "WHICH", alias = "random_distribution", value_parser = distribution)]
    pub random_distribution: Option<Distribution>,
    /// Let random addresses repeat
    ///
    /// Otherwise each block is visited once before any is visited again.
    #[arg(long)]
    pub norandommap: bool,
    /// Set what to do with a request that overlaps one in flight
    ///
    /// Default: push-back; with several jobs allow.
    #[arg(long, value_name = "POLICY", value_parser = words(OVERLAP))]
    pub overlap: Option<OverlapPolicy>,
}

/// How fast, how many at a time, how long.
#[derive(Debug, Args)]
#[command(next_help_heading = "Pace and end")]
pub struct PaceArgs {
    /// Limit the requests in flight of one job
    #[arg(long, value_name = "N", alias = "depth", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub iodepth: u32,
    /// Run this many issuing loops on each target; they share its requests
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub numjobs: u32,
    /// Request this many bytes per second on each target, whether it keeps up or not
    #[arg(long, value_name = "SIZE", value_parser = rate::<ByteSize>)]
    pub rate: Option<ByteSize>,
    /// Issue this many requests per second on each target, whether it keeps up or not
    #[arg(long, value_name = "N", alias = "rate_iops", value_parser = rate::<u64>)]
    pub rate_iops: Option<u64>,
    /// Pause this long after every --thinktime-blocks requests of a job
    ///
    /// A pause starts when no request of the job is in flight any more.
    #[arg(long, value_name = "TIME", conflicts_with_all = ["rate", "rate_iops"])]
    pub thinktime: Option<Nanos>,
    /// Spin this much of a pause, and sleep the rest. Default: 0
    #[arg(long, value_name = "TIME", alias = "thinktime_spin", requires = "thinktime")]
    pub thinktime_spin: Option<Nanos>,
    /// Set the number of requests between two pauses. Default: 1
    #[arg(long, value_name = "N", alias = "thinktime_blocks", requires = "thinktime")]
    pub thinktime_blocks: Option<u64>,
    /// Set how due times are spread. Default: linear
    #[arg(long, value_enum, value_name = "HOW", alias = "rate_process")]
    pub rate_process: Option<ProcessArg>,
    /// End after this time, counted from the end of the ramp, or earlier by --size
    #[arg(long, value_name = "TIME")]
    pub runtime: Option<Nanos>,
    /// Go through --size again and again until --runtime is over
    #[arg(long, requires = "runtime")]
    pub time_based: bool,
    /// Exclude the requests of this time at the start from the figures
    #[arg(long, value_name = "TIME", alias = "ramp_time", default_value = "0s")]
    pub ramp_time: Nanos,
    /// End after this many bytes on each target, or this share of --size: 10g, 50%
    ///
    /// Default: once through --size.
    #[arg(long, value_name = "SIZE|PCT%", conflicts_with = "time_based")]
    pub io_size: Option<Space>,
    /// End after this many requests on each target, however often they go through --size
    #[arg(long, value_name = "N", alias = "number_ios", value_parser = clap::value_parser!(u64).range(1..))]
    pub number_ios: Option<u64>,
    /// Run this many passes; targets wait for each other in between
    #[arg(long, value_name = "N", alias = "loops", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    pub passes: u32,
    /// Wait this long before the first request
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub start_delay: Nanos,
}

/// Kinds of patterns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RwArg {
    /// Sequential reads
    Read,
    /// Sequential writes
    Write,
    /// Sequential reads and writes
    #[value(alias = "readwrite")]
    Rw,
    /// Random reads
    Randread,
    /// Random writes
    Randwrite,
    /// Random reads and writes
    Randrw,
    /// Sequential discards
    Trim,
    /// Random discards
    Randtrim,
}

impl RwArg {
    /// Whether addresses are random.
    pub fn is_random(self) -> bool {
        matches!(self, RwArg::Randread | RwArg::Randwrite | RwArg::Randrw | RwArg::Randtrim)
    }

    /// Whether data is written.
    pub fn writes(self) -> bool {
        matches!(self, RwArg::Write | RwArg::Randwrite) || self.is_mixed()
    }

    /// Whether there are both reads and writes.
    pub fn is_mixed(self) -> bool {
        matches!(self, RwArg::Rw | RwArg::Randrw)
    }

    /// As it is typed.
    pub fn word(self) -> String {
        self.to_possible_value().map_or_else(String::new, |v| v.get_name().to_string())
    }
}

/// Arrival processes.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum ProcessArg {
    /// Equal intervals, or intervals proportional to the bytes requested
    Linear,
    /// At random, independent of each other
    Poisson,
}

/// Sizes of reads, and those of writes if they are others.
#[derive(Debug, Clone)]
pub struct SizesArg {
    pub reads: BlockSizes,
    pub writes: Option<BlockSizes>,
}

/// Size of requests where none is typed, as in fio.
pub const DEFAULT_SIZE: ByteSize = ByteSize(4096);

/// `READ,WRITE` or one for both; what is left blank is 4k, as in fio.
fn sizes(text: &str, one: impl Fn(&str) -> Result<BlockSizes, String>) -> Result<SizesArg, String> {
    let part = |part: &str| if part.is_empty() { Ok(BlockSizes::One(DEFAULT_SIZE)) } else { one(part) };
    let parts: Vec<&str> = text.split(',').collect();
    match parts[..] {
        [both] => Ok(SizesArg { reads: one(both)?, writes: None }),
        [reads, writes] => Ok(SizesArg { reads: part(reads)?, writes: Some(part(writes)?) }),
        _ => Err("give one for all requests, or READ,WRITE; there are no others".into()),
    }
}

fn size(text: &str) -> Result<ByteSize, String> {
    text.parse().map_err(|e: iosonar_plan::ParseUnitError| e.to_string())
}

fn sizes_one(text: &str) -> Result<SizesArg, String> {
    sizes(text, |one| size(one).map(BlockSizes::One))
}

fn sizes_range(text: &str) -> Result<SizesArg, String> {
    sizes(text, |one| {
        let (least, most) = one.split_once('-').ok_or("write LEAST-MOST, for example 1k-64k")?;
        Ok(BlockSizes::Range(SizeRange { least: size(least)?, most: size(most)? }))
    })
}

fn sizes_split(text: &str) -> Result<SizesArg, String> {
    sizes(text, |one| {
        let shares = shares(one, size)?;
        Ok(BlockSizes::Split(shares.into_iter().map(|(size, percent)| SizeShare { size, percent }).collect()))
    })
}

/// `THING/PERCENT:…`; those without a percentage share evenly what is left, as in fio.
fn shares<T>(text: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<Vec<(T, u8)>, String> {
    let mut found = Vec::new();
    for part in text.split(':') {
        let (thing, percent) = part.split_once('/').unwrap_or((part, ""));
        let percent = if percent.is_empty() { None } else { Some(whole_percent(percent)?) };
        found.push((read(thing)?, percent));
    }
    let given: u32 = found.iter().filter_map(|(_, p)| *p).map(u32::from).sum();
    let (left, blanks) =
        (100u32.saturating_sub(given), found.iter().filter(|(_, p)| p.is_none()).count() as u32);
    if blanks > 0 && !left.is_multiple_of(blanks) {
        return Err(format!("{left} percent are left for {blanks} parts: say how many each has"));
    }
    let each = left.checked_div(blanks).unwrap_or_default() as u8;
    Ok(found.into_iter().map(|(thing, percent)| (thing, percent.unwrap_or(each))).collect())
}

fn whole_percent(text: &str) -> Result<u8, String> {
    let percent = text.strip_suffix('%').unwrap_or(text).parse().ok().filter(|percent| *percent <= 100);
    percent.ok_or_else(|| format!("'{text}' is no whole number of percent from 0 to 100"))
}

/// A rate for all requests.
fn rate<T: std::str::FromStr<Err: ToString>>(text: &str) -> Result<T, String> {
    if text.contains(',') {
        return Err("there is one rate for all requests: give the sum, and --rwmixread for the mix".into());
    }
    text.parse().map_err(|e: T::Err| e.to_string())
}

/// Where random requests go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Distribution {
    /// Everywhere alike.
    Uniform,
    /// Skewed in this order.
    Skewed(Order),
}

fn distribution(text: &str) -> Result<Distribution, String> {
    let (name, value) = text.split_once(':').map_or((text, None), |(name, value)| (name, Some(value)));
    let number = |default: Option<&str>| -> Result<Decimal, String> {
        let value =
            value.or(default).ok_or_else(|| format!("{name} needs a number, for example {name}:20"))?;
        if value.contains(':') {
            return Err(format!("{name} takes one number; fio's centre is not there"));
        }
        value.parse().map_err(|e: iosonar_plan::ParseUnitError| e.to_string())
    };
    Ok(Distribution::Skewed(match name {
        "random" if value.is_none() => return Ok(Distribution::Uniform),
        "zipf" => Order::Zipf { theta: number(Some("1.1"))? },
        "pareto" => Order::Pareto { h: number(Some("0.2"))? },
        "normal" | "gauss" => Order::Normal { deviation: number(None)? },
        "zoned" => zones(value, |text| whole_percent(text).map(Space::Percent))?,
        "zoned_abs" => zones(value, |text| size(text).map(Space::Bytes))?,
        _ => {
            return Err("known are random, zipf:THETA, pareto:H, normal:DEVIATION, zoned:PCT/PCT:... and \
                        zoned_abs:PCT/SIZE:..."
                .into());
        }
    }))
}

fn zones(value: Option<&str>, space: impl Fn(&str) -> Result<Space, String>) -> Result<Order, String> {
    let text =
        value.ok_or("give each zone's share of the requests and its space, for example 60/10:40/90")?;
    if text.contains(',') {
        return Err("there is one list of zones for reads and writes".into());
    }
    let zone = |zone: &str| {
        let (percent, length) = zone.split_once('/').ok_or("write PCT/SPACE for each zone")?;
        Ok::<_, String>(Zone { percent: whole_percent(percent)?, space: space(length)? })
    };
    text.split(':').map(zone).collect::<Result<_, _>>().map(Order::Zoned)
}

/// Names of the options that were typed, not those that have their default.
#[derive(Debug, Default)]
pub struct Typed(Vec<String>);

impl Typed {
    /// Whether this field's option was typed.
    pub fn has(&self, field: &str) -> bool {
        self.0.iter().any(|typed| typed == field)
    }

    /// The first that is not among `fields`, as it is typed.
    pub fn other_than(&self, fields: &[&str]) -> Option<String> {
        self.0.iter().find(|typed| !fields.contains(&typed.as_str())).map(|field| Typed::option(field))
    }

    fn option(field: &str) -> String {
        format!("--{}", if field == "targets" { "target".into() } else { field.replace('_', "-") })
    }
}

impl FromArgMatches for Typed {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Typed, Error> {
        let is_typed = |id: &&clap::Id| matches.value_source(id.as_str()) == Some(ValueSource::CommandLine);
        // Names of groups are those of types; fields are in small letters.
        let is_field = |id: &String| id.starts_with(|c: char| c.is_ascii_lowercase());
        Ok(Typed(matches.ids().filter(is_typed).map(ToString::to_string).filter(is_field).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Typed::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Typed {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

/// What `-h` shows: the options that most runs have.
const COMMON: [&str; 18] = [
    "plan",
    "targets",
    "rw",
    "bs",
    "rwmixread",
    "iodepth",
    "numjobs",
    "size",
    "runtime",
    "time_based",
    "number_ios",
    "rate_iops",
    "engine",
    "buffered",
    "destroy",
    "out",
    "json",
    "show_plan",
];

/// What `-h` shows after the options.
const SHORT_HELP: &str = "\
fio's options are understood; a note says where one means another load here.
'iosonar run --help' lists all options.

Examples:
  iosonar run -t /dev/sdx --rw randread --bs 4k --iodepth 32 --runtime 60
  iosonar run plan.toml --out again";

/// Options that `replay` has too, in the words of `run`.
#[derive(Debug, Default)]
pub struct Reworded;

impl FromArgMatches for Reworded {
    fn from_arg_matches(_: &ArgMatches) -> Result<Reworded, Error> {
        Ok(Reworded)
    }

    fn update_from_arg_matches(&mut self, _: &ArgMatches) -> Result<(), Error> {
        Ok(())
    }
}

impl Args for Reworded {
    fn augment_args(command: Command) -> Command {
        let size = "Limit the region, from --offset on, to bytes or percent of the target (50%)";
        let size_long = "Limit the region, from --offset on, to bytes or percent of the target (50%)\n\n\
                         With --engine null and sim, targets pretend to be as long. \
                         Default: to the end of the target.";
        let destroy = "Allow writing to block devices: what is on them is lost. Goes with a plan, too";
        command
            .mut_arg("size", |arg| arg.help(size).long_help(size_long))
            .mut_arg("seed", |arg| {
                arg.alias("randseed").help("Set the seed of all random choices; --randseed in fio")
            })
            .mut_arg("destroy", |arg| arg.help(destroy))
            .mut_args(|arg| {
                let is_common = COMMON.contains(&arg.get_id().as_str());
                arg.hide_short_help(!is_common)
            })
            .after_help(SHORT_HELP)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_sizes_like_fio() {
        let text = |sizes: Result<SizesArg, String>| {
            let sizes = sizes.unwrap();
            (sizes.reads.to_string(), sizes.writes.map(|w| w.to_string()))
        };
        let some = |text: &str| Some(text.to_string());
        assert_eq!(text(sizes_one("4k")), ("4KiB".into(), None));
        assert_eq!(text(sizes_one("4k,8k")), ("4KiB".into(), some("8KiB")));
        assert_eq!(text(sizes_one(",8k")), ("4KiB".into(), some("8KiB")));
        assert_eq!(text(sizes_range("1k-64k")), ("1KiB-64KiB".into(), None));
        assert_eq!(text(sizes_split("4k/60:64k/40,8k/100")), ("4KiB/60:64KiB/40".into(), some("8KiB/100")));
        assert_eq!(text(sizes_split("4k/50:64k/:32k/")), ("4KiB/50:64KiB/25:32KiB/25".into(), None));
        assert_eq!(text(sizes_split("4k:64k")), ("4KiB/50:64KiB/50".into(), None));
        assert!(sizes_split("4k/:8k/:16k/").is_err(), "thirds are no whole percents");
        assert!(
            sizes_range("4k").is_err() && sizes_one("4k,8k,16k").is_err() && sizes_split("4k/x").is_err()
        );
    }

    #[test]
    fn parses_distributions_like_fio() {
        let skewed = |text: &str| match distribution(text).unwrap() {
            Distribution::Skewed(order) => order.to_string(),
            Distribution::Uniform => "uniform".into(),
        };
        for (text, want) in [
            ("random", "uniform"),
            ("zipf", "zipf 1.1"),
            ("zipf:0.7", "zipf 0.7"),
            ("pareto", "pareto 0.2"),
            ("normal:20", "normal 20"),
            ("zoned:60/10:40/90", "zoned"),
            ("zoned_abs:60/10g:40/90g", "zoned"),
        ] {
            assert_eq!(skewed(text), want);
        }
        for text in
            ["normal", "zipf:1.1:0.5", "zoned", "zoned:60", "zoned:60/x", "zoned:50/50:50/50,1/1", "flat"]
        {
            assert!(distribution(text).is_err(), "{text}");
        }
    }
}
