//! What can be typed after `run` beside fio's words: exact places, how targets are handled, how they wait for each
//! other. What the words mean together is resolved in the command; here each is only read.

use crate::args::words::{Word, words};
use clap::Args;
use iosonar_plan::{
    Amount, Begins, BetweenPasses, ByteSize, Data, Dedupe, Ends, FileStep, Lockstep, Nanos, Order, Trigger,
};

/// Where requests go, exactly.
#[derive(Debug, Args)]
#[command(next_help_heading = "Exact places")]
pub struct StepsArgs {
    /// Set exact addresses, independent of the size of the target; --rw sets the direction
    ///
    /// sequential, interleaved:N (each request N times its size after the last), strided:N (the same, and all of --size in N
    /// rounds), backward (from the end of --size), staggered (evenly over --size), random (over --size), mersenne-shuffled (each
    /// place once, in the order of IOzone's random tests), fixed, or list:FILE (a seek list of XDD). --size is the region; it has no default here. A pass covers it
    /// once if nothing else sets its length. With --create, writes beyond the end extend a file.
    #[arg(long, value_name = "ORDER", value_parser = order)]
    pub steps: Option<Order>,
    /// Use another random order in each pass
    #[arg(long)]
    pub new_order_each_pass: bool,
    /// Place random and staggered requests at multiples of this. Default: --bs
    #[arg(long, value_name = "SIZE")]
    pub unit: Option<ByteSize>,
    /// Start no request of a pass after this time
    #[arg(long, value_name = "TIME")]
    pub time_limit: Option<Nanos>,
    /// Start each pass this much further on
    #[arg(long, value_name = "SIZE", default_value = "0")]
    pub pass_offset: ByteSize,
    /// Start each target this much further on than the one before it
    #[arg(long, value_name = "SIZE", default_value = "0")]
    pub target_offset: ByteSize,
}

/// How targets are opened, filled, checked and left.
#[derive(Debug, Args)]
#[command(next_help_heading = "Files, data and verification")]
pub struct JobOptionsArgs {
    /// Create files that do not exist; they grow by the bytes written
    #[arg(long)]
    pub create: bool,
    /// Set what happens to files between passes
    #[arg(long, value_name = "WHAT", default_value = "keep", value_parser = words(BETWEEN))]
    pub between_passes: BetweenPasses,
    /// Reserve this much of a file before the first pass
    #[arg(long, value_name = "SIZE", default_value = "0")]
    pub preallocate: ByteSize,
    /// Flush at the end of each pass, within its time
    #[arg(long, alias = "end_fsync")]
    pub end_fsync: bool,
    /// Do file operations before each pass, and record their times: create,open,lock
    ///
    /// open, create (delete the file, create it again), truncate:SIZE, allocate:SIZE (keeps the length), extend:SIZE (allocates, and
    /// sets the length), zero-range:SIZE (the same, as zeros), extent-hint:SIZE (XFS), lock and evict (from the page cache); in the
    /// order given.
    #[arg(long, value_name = "STEPS", value_delimiter = ',')]
    pub before_pass: Vec<FileStep>,
    /// Do file operations after each pass, and record their times: fsync,unlock,close
    ///
    /// flush (fdatasync), fsync, truncate:SIZE, allocate:SIZE, extend:SIZE, zero-range:SIZE, evict, unlock and close. Their times are no part of the pass.
    #[arg(long, value_name = "STEPS", value_delimiter = ',')]
    pub after_pass: Vec<FileStep>,
    /// Remove files at the end of the run, also those that were there before it
    #[arg(long)]
    pub unlink: bool,
    /// Write this, and expect it with --verify: sequenced, random, byte:0x78, ascii:HELLO, dedupe
    ///
    /// sequenced: each 8 bytes hold their own place. dedupe: PERCENT of each unit=4k is equal on all targets, of that constant=0
    /// percent one word, of that local=0 percent equal within a target only; also seed=1 and skew=0. Default: sectors with headers.
    #[arg(long, value_name = "PATTERN", value_parser = data)]
    pub data: Option<Data>,
    /// Read back and check each write at once
    #[arg(long, requires = "verify")]
    pub verify_immediate: bool,
    /// Align memory for data to this many bytes after a page boundary
    #[arg(long, value_name = "SIZE", default_value = "0", alias = "iomem_align")]
    pub align: ByteSize,
    /// Use the parts of this much memory for data in turn, instead of the same few buffers again
    #[arg(long, value_name = "SIZE", default_value = "0")]
    pub buffer_set: ByteSize,
    /// Read this much other memory before each pass, to purge the CPU cache
    #[arg(long, value_name = "SIZE", default_value = "0")]
    pub purge_cpu_cache: ByteSize,
    /// Use shared memory for data
    #[arg(long)]
    pub shared_memory: bool,
    /// Lock the bytes of each request (fcntl with F_OFD_SETLKW)
    ///
    /// Waiting for the lock is part of the request's time. Needs an engine of blocking calls and --iodepth 1.
    #[arg(long)]
    pub lock_requests: bool,
}

/// How targets wait for each other. They are counted from 0, in the order of --target.
#[derive(Debug, Args)]
#[command(next_help_heading = "Targets that wait for each other")]
pub struct CoordinationArgs {
    /// Wait this long between the end of a pass and the start of the next
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub pass_delay: Nanos,
    /// Let targets start passes without waiting for each other
    #[arg(long)]
    pub free_passes: bool,
    /// Wait for all loops of all targets before requests 0, N, 2N … of a pass
    #[arg(long, value_name = "N")]
    pub meet_every: Option<u64>,
    /// Run targets in lockstep: master=0,slave=1,every=ops:2,task=ops:1
    ///
    /// The slave does one task for each such part of the master's work; also starts=run, ends=stop. Amounts are
    /// ops:N, bytes:SIZE, time:TIME, percent:P.
    #[arg(long, value_name = "WORDS", value_parser = lockstep)]
    pub lockstep: Vec<Lockstep>,
    /// Start each pass of a target when another reaches a point: leader=0,follower=1,when=ops:20
    #[arg(long, value_name = "WORDS", value_parser = trigger)]
    pub start_when: Vec<Trigger>,
    /// End the pass of a target when another reaches a point, in the same words
    #[arg(long, value_name = "WORDS", value_parser = trigger)]
    pub stop_when: Vec<Trigger>,
}

/// Treatment of files between passes.
const BETWEEN: &[Word<BetweenPasses>] = &[
    ("keep", "They stay open", BetweenPasses::Keep),
    ("reopen", "They are closed and opened again", BetweenPasses::Reopen),
    ("recreate", "They are removed and created again", BetweenPasses::Recreate),
    ("new-file", "Each pass has a file of its own: NAME.00000001 and so on", BetweenPasses::NewFile),
];

fn order(text: &str) -> Result<Order, String> {
    let (name, value) = text.split_once(':').map_or((text, None), |(name, value)| (name, Some(value)));
    match (name, value) {
        ("sequential", None) => Ok(Order::Sequential),
        ("interleaved", Some(n)) => {
            let every = n.parse().map_err(|_| format!("'{n}' is no whole number of requests"))?;
            Ok(Order::Interleaved { every })
        }
        ("backward", None) => Ok(Order::Backward),
        ("strided", Some(n)) => {
            let every = n.parse().map_err(|_| format!("'{n}' is no whole number of requests"))?;
            Ok(Order::Strided { every })
        }
        ("staggered", None) => Ok(Order::Staggered),
        // Seed and renewal are options of their own.
        ("random", None) => Ok(Order::Random),
        ("mersenne-shuffled", None) => Ok(Order::MersenneShuffled),
        ("fixed", None) => Ok(Order::Fixed),
        ("list", Some(file)) if !file.is_empty() => Ok(Order::List { file: file.into() }),
        _ => Err("known are sequential, interleaved:N, backward, strided:N, staggered, random, mersenne-shuffled, fixed and list:FILE".into()),
    }
}

fn data(text: &str) -> Result<Data, String> {
    let byte = |text: &str| match text.strip_prefix("0x") {
        Some(hex) => u8::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    };
    match text.split_once(':') {
        None if text == "sequenced" => Ok(Data::Sequenced),
        None if text == "random" => Ok(Data::Random),
        Some(("byte", value)) => byte(value)
            .map(Data::Byte)
            .ok_or_else(|| format!("'{value}' is no byte: 0 to 255, or 0x00 to 0xff")),
        Some(("ascii", value)) if !value.is_empty() => Ok(Data::Ascii(value.into())),
        Some(("dedupe", words)) => dedupe(words).map(Data::Dedupe),
        _ => Err("known are byte:VALUE, ascii:TEXT, sequenced, random and dedupe:percent=P".into()),
    }
}

fn dedupe(text: &str) -> Result<Dedupe, String> {
    let words = Words::of(text, &["percent", "unit", "constant", "local", "seed", "skew"])?;
    let percent = |name: &str, value: &str| {
        let number = value.parse().ok().filter(|percent| *percent <= 100);
        number.ok_or_else(|| format!("{name}={value}: write a whole number of percent, 0 to 100"))
    };
    let share = |name: &str| words.find(name).map_or(Ok(0), |value| percent(name, value));
    let number =
        |name: &str, value: &str| value.parse().map_err(|_| format!("{name}={value} is no whole number"));
    let unit = words
        .find("unit")
        .unwrap_or("4k")
        .parse()
        .map_err(|e: iosonar_plan::ParseUnitError| e.to_string())?;
    Ok(Dedupe {
        constant_percent: share("constant")?,
        local_percent: share("local")?,
        seed: words.find("seed").map_or(Ok(1), |value| number("seed", value))?,
        skew: words.find("skew").map_or(Ok(0), |value| {
            value.parse().map_err(|_| format!("skew={value} is no whole number below 2^32"))
        })?,
        ..Dedupe::of(percent("percent", words.need("percent")?)?, unit)
    })
}

/// `ops:20`, `bytes:1m`, `time:2.3s`, `percent:10`.
fn amount(text: &str) -> Result<Amount, String> {
    let known = "write ops:N, bytes:SIZE, time:TIME or percent:P";
    let (kind, value) = text.split_once(':').ok_or_else(|| format!("'{text}': {known}"))?;
    let unit = |e: iosonar_plan::ParseUnitError| e.to_string();
    match kind {
        "ops" => {
            value.parse().map(Amount::Ops).map_err(|_| format!("'{value}' is no whole number of requests"))
        }
        "bytes" => value.parse().map(Amount::Bytes).map_err(unit),
        "time" => value.parse().map(Amount::Time).map_err(unit),
        "percent" => value.parse().map(Amount::Percent).map_err(unit),
        _ => Err(format!("'{text}': {known}")),
    }
}

/// `name=value,…`, each name once.
struct Words<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Words<'a> {
    fn of(text: &'a str, names: &[&str]) -> Result<Words<'a>, String> {
        let mut words: Vec<(&str, &str)> = Vec::new();
        for word in text.split(',') {
            let (name, value) = word
                .split_once('=')
                .filter(|(name, _)| names.contains(name))
                .ok_or_else(|| format!("'{word}': write NAME=VALUE, names are {}", names.join(", ")))?;
            if words.iter().any(|(other, _)| *other == name) {
                return Err(format!("{name} is there twice"));
            }
            words.push((name, value));
        }
        Ok(Words(words))
    }

    fn find(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(other, _)| *other == name).map(|(_, value)| *value)
    }

    fn need(&self, name: &str) -> Result<&'a str, String> {
        self.find(name).ok_or_else(|| format!("{name}= is missing"))
    }

    fn target(&self, name: &str) -> Result<u16, String> {
        let value = self.need(name)?;
        value.parse().map_err(|_| format!("{name}={value} is no number of a target: they count from 0"))
    }

    fn one_of<T>(&self, name: &str, default: T, words: [(&str, T); 2]) -> Result<T, String> {
        let Some(value) = self.find(name) else { return Ok(default) };
        let known = format!("{name}={value}: known are {} and {}", words[0].0, words[1].0);
        words.into_iter().find(|(word, _)| *word == value).map(|(_, meaning)| meaning).ok_or(known)
    }
}

fn lockstep(text: &str) -> Result<Lockstep, String> {
    let words = Words::of(text, &["master", "slave", "every", "task", "starts", "ends"])?;
    Ok(Lockstep {
        master: words.target("master")?,
        slave: words.target("slave")?,
        every: amount(words.need("every")?)?,
        task: amount(words.need("task")?)?,
        begins: words.one_of("starts", Begins::Wait, [("wait", Begins::Wait), ("run", Begins::Run)])?,
        ends: words.one_of("ends", Ends::Complete, [("complete", Ends::Complete), ("stop", Ends::Stop)])?,
    })
}

fn trigger(text: &str) -> Result<Trigger, String> {
    let words = Words::of(text, &["leader", "follower", "when"])?;
    Ok(Trigger {
        leader: words.target("leader")?,
        follower: words.target("follower")?,
        when: amount(words.need("when")?)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_words_of_steps_and_triggers() {
        assert_eq!(order("interleaved:3"), Ok(Order::Interleaved { every: 3 }));
        assert_eq!(order("list:a:b"), Ok(Order::List { file: "a:b".into() }));
        assert_eq!(data("byte:0x78"), Ok(Data::Byte(0x78)));
        assert_eq!(data("ascii:a:b"), Ok(Data::Ascii("a:b".into())));
        let equal = Dedupe { constant_percent: 20, skew: 3, ..Dedupe::of(50, ByteSize(65_536)) };
        assert_eq!(data("dedupe:percent=50,unit=64k,constant=20,skew=3"), Ok(Data::Dedupe(equal)));
        for bad in ["dedupe:50", "dedupe:unit=4k", "dedupe:percent=101", "dedupe:percent=5,seed=x"] {
            assert!(data(bad).is_err(), "{bad}");
        }
        let step = lockstep("slave=1,master=0,task=bytes:1m,every=time:2.3s,ends=stop").unwrap();
        assert_eq!(
            (step.every, step.task),
            (Amount::Time(Nanos(2_300_000_000)), Amount::Bytes(ByteSize(1 << 20)))
        );
        assert_eq!((step.begins, step.ends), (Begins::Wait, Ends::Stop));
        let when = trigger("leader=2,follower=0,when=percent:2.5").unwrap();
        assert_eq!((when.leader, when.follower), (2, 0));
    }

    #[test]
    fn rejects_unknown_words() {
        for text in ["", "sequential:2", "interleaved", "interleaved:x", "list:", "Random"] {
            assert!(order(text).is_err(), "{text}");
        }
        for text in ["", "byte:256", "byte:0xg", "byte:", "ascii:", "zero"] {
            assert!(data(text).is_err(), "{text}");
        }
        for (text, why) in [
            ("master=0", "slave= is missing"),
            ("master=0,slave=1,every=ops:x,task=ops:1", "'x' is no whole"),
            ("master=0,slave=1,every=2,task=ops:1", "write ops:N"),
            ("master=0,slave=1,every=ops:2,task=ops:1,ends=late", "complete and stop"),
            ("master=0,master=1", "twice"),
            ("boss=0", "names are"),
            ("master=-1,slave=1", "no number of a target"),
        ] {
            let error = lockstep(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
        assert!(trigger("leader=0,follower=1,when=miles:3").is_err());
    }
}
