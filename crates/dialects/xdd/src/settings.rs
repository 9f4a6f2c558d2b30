//! Settings of an XDD command line, typed and complete: each field is set by one option.

use iosonar_plan::{BetweenPasses, Data, Decimal, JobVerification, Lockstep, Nanos, Trigger};
use std::collections::BTreeMap;

/// XDD's default seed of random locations.
pub const DEFAULT_SEED: u64 = 72058;
/// Name of a run without `-id`.
pub const DEFAULT_ID: &str = "No ID Specified";

/// All settings of a command line, after precedence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// At least one, in the order in which they were named: their index is the target number.
    pub targets: Vec<TargetSettings>,
    /// Settings of the whole run.
    pub global: GlobalSettings,
    /// Last spelling of each option, for messages.
    pub(crate) typed: Typed,
}

/// Settings of one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetSettings {
    /// The name as given.
    pub name: String,
    /// Prefix prepended to the name unchanged (`-targetdir`); empty by default.
    pub targetdir: String,
    /// Share of reads in percent (`-op`, `-rwratio`); 100 by default.
    pub read_percent: Decimal,
    /// Bytes of a block (`-blocksize`).
    pub blocksize: u64,
    /// Blocks of a request (`-reqsize`).
    pub reqsize: u64,
    /// Requests of a pass (`-numreqs`); overrides `mbytes` and `kbytes`.
    pub numreqs: Option<u64>,
    /// 2^20 bytes of a pass (`-mbytes`); never together with `kbytes`.
    pub mbytes: Option<u64>,
    /// 2^10 bytes of a pass (`-kbytes`); never together with `mbytes`.
    pub kbytes: Option<u64>,
    /// First block of the range (`-startoffset`).
    pub startoffset: u64,
    /// Offset of each pass to the previous one, in blocks (`-passoffset`).
    pub passoffset: u64,
    /// Treatment of the file between passes (`-createnewfiles`, `-recreatefiles`, `-reopen`: the last one wins).
    pub between_passes: BetweenPasses,
    /// The file is deleted at the end of the run (`-deletefile`).
    pub deletefile: bool,
    /// 1024-byte blocks that are allocated before the first pass (`-preallocate`); writing only.
    pub preallocate: u64,
    /// It is a device, so no missing file is created (`-devicefile`).
    pub devicefile: bool,
    /// Use `O_DIRECT` (`-dio`).
    pub dio: bool,
    /// Written data is flushed at the end of each pass (`-syncwrite`).
    pub syncwrite: bool,
    /// Maximum time of a pass (`-timelimit`).
    pub timelimit: Option<Nanos>,
    /// Number of queue threads that share the requests (`-queuedepth`); at most the number of requests.
    pub queuedepth: u32,
    /// Maximum requests or bytes per second (`-throttle`).
    pub throttle: Option<ThrottleSettings>,
    /// Locations of requests (`-seek`).
    pub seek: SeekSettings,
    /// Each pass has different random locations (`-randomize`).
    pub randomize: bool,
    /// Data to write, if given (`-datapattern`); otherwise zeros.
    pub datapattern: Option<Data>,
    /// Verification (`-verify`).
    pub verify: Option<JobVerification>,
    /// Offset of data memory in bytes after a page boundary (`-align`).
    pub align: u64,
    /// Memory for data is a shared memory segment (`-sharedmemory`).
    pub sharedmemory: bool,
    /// Operations that take longer are reported (`-report_threshold`).
    pub report_threshold: Option<Nanos>,
    /// Processor of its threads (`-processor`, `-singleproc`, `-roundrobin`: the last one wins).
    pub processor: Option<u32>,
    /// Time stamp reports (`-ts`).
    pub timestamps: TimeStampSettings,
}

/// The limit that `-throttle` sets; above 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThrottleSettings {
    /// Operations per second.
    Ops(Decimal),
    /// 10^6 bytes per second.
    Bandwidth(Decimal),
}

/// Settings of `-seek`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeekSettings {
    /// The order of locations.
    pub order: SeekOrder,
    /// Length of the range in blocks; `None`: the amount of a pass.
    pub range: Option<u64>,
    /// Seed of random locations.
    pub seed: u64,
    /// Distance between the starts of sequential requests, in requests; 1: contiguous.
    pub interleave: u32,
    /// Prefix of the name of the file for the list of locations.
    pub save: Option<String>,
    /// Classes of a histogram of locations.
    pub seekhist: Option<u32>,
    /// Classes of a histogram of distances.
    pub disthist: Option<u32>,
}

/// The order of locations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeekOrder {
    /// Ascending, one request after the other.
    Sequential,
    /// Ascending, spread evenly over the range.
    Stagger,
    /// Anywhere in the range.
    Random,
    /// Always the first location.
    None,
    /// From this seek list.
    Load(String),
}

/// Settings of `-ts`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TimeStampSettings {
    /// Time stamps are kept: any operator but `off` enables that.
    pub on: bool,
    /// A summary is reported; implied by `detailed`.
    pub summary: bool,
    /// Each operation is reported.
    pub detailed: bool,
    /// Times are marked as those of the global clock.
    pub normalize: bool,
    /// Prefix of the names of report files; `None`: standard output.
    pub output: Option<String>,
    /// Reports are appended to their files.
    pub append: bool,
    /// Prefix of the names of binary dumps.
    pub dump: Option<String>,
    /// Stamps kept per thread; `None`: all.
    pub size: Option<u64>,
    /// Behaviour if there are more operations than stamps kept.
    pub when_full: WhenFull,
    /// Operation of the first pass, from 0, at which stamping starts.
    pub trigger_op: Option<u64>,
    /// Time since the start of the run at which stamping starts.
    pub trigger_time: Option<Nanos>,
}

impl TimeStampSettings {
    /// Whether there is a text report.
    pub fn has_text(&self) -> bool {
        self.summary || self.detailed
    }
}

/// Behaviour when the table of time stamps is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhenFull {
    /// Keep the latest (`wrap`, and the default).
    #[default]
    Wrap,
    /// Keep the first (`oneshot`).
    OneShot,
}

/// Settings of the whole run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobalSettings {
    /// Passes (`-passes`).
    pub passes: u32,
    /// Time between passes (`-delay`).
    pub delay: Nanos,
    /// End of the whole run; passes are added until then (`-runtime`).
    pub runtime: Option<Nanos>,
    /// Number of operations after which all threads synchronize (`-syncio`); only useful with several targets.
    pub syncio: Option<u64>,
    /// Passes do not wait for each other (`-nobarrier`).
    pub nobarrier: bool,
    /// Number of errors in a pass after which a target ends that pass (`-maxerrors`).
    pub maxerrors: Option<u64>,
    /// Time before the first operation of all targets (`-startdelay`).
    pub startdelay: Nanos,
    /// Target k starts k times this later, in addition to `startdelay` (`-targetstartdelay`).
    pub targetstartdelay: Nanos,
    /// Target k adds k times this many blocks to every location (`-targetoffset`).
    pub targetoffset: u64,
    /// Targets in lockstep (`-lockstep`).
    pub lockstep: Vec<Lockstep>,
    /// Targets that start when another has reached an amount (`-starttrigger`).
    pub starttriggers: Vec<Trigger>,
    /// Targets that end when another has reached an amount (`-stoptrigger`).
    pub stoptriggers: Vec<Trigger>,
    /// Rates over the time in which all targets were busy are reported (`-deskew`).
    pub deskew: bool,
    /// Highest priority (`-maxpri`, `-maxall`).
    pub maxpri: bool,
    /// The process is locked in memory (`-processlock`, `-maxall`).
    pub processlock: bool,
    /// Memory for data is not locked (`-nomemlock`, `-minall`).
    pub nomemlock: bool,
    /// The process is not locked (`-noproclock`, `-minall`).
    pub noproclock: bool,
    /// The processor of all threads (`-singleproc`).
    pub singleproc: Option<u32>,
    /// Number of processors assigned to targets in turn (`-roundrobin`).
    pub roundrobin: Option<u32>,
    /// File for results (`-output`).
    pub output: Option<String>,
    /// File for results as comma-separated values (`-csvout`).
    pub csvout: Option<String>,
    /// File to which the combined line is appended (`-combined`).
    pub combined: Option<String>,
    /// File for error messages (`-errout`).
    pub errout: Option<String>,
    /// Name of the run (`-id`): each id followed by a space, or [`DEFAULT_ID`].
    pub id: String,
    /// Interval of the heartbeat (`-heartbeat`).
    pub heartbeat: Option<Nanos>,
    /// A line for each pass (`-verbose`).
    pub verbose: bool,
    /// More columns (`-reallyverbose`, which asks for `-verbose`, too).
    pub reallyverbose: bool,
    /// Lines for each queue thread (`-qthreadinfo`).
    pub qthreadinfo: bool,
    /// Timer overhead is reported (`-timerinfo`).
    pub timerinfo: bool,
    /// Block devices may be written (`-destroy`).
    pub destroy: bool,
    /// Directory for an archive of the run (`-out`).
    pub out: Option<String>,
    /// The plan is printed instead of executed (`-show-plan`).
    pub show_plan: bool,
    /// All arguments, joined by spaces.
    pub command_line: String,
    /// Notices about how the command line was understood: one line each.
    pub notices: Vec<String>,
}

/// Last spelling of each option, by its first name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Typed(BTreeMap<&'static str, String>);

impl Typed {
    pub(crate) fn insert(&mut self, option: &'static str, typed: &str) {
        self.0.insert(option, typed.into());
    }

    pub(crate) fn has(&self, option: &str) -> bool {
        self.0.contains_key(option)
    }

    /// Spelling of the option as typed, or as in the manual.
    pub(crate) fn name(&self, option: &str) -> String {
        self.0.get(option).cloned().unwrap_or_else(|| format!("-{option}"))
    }
}

impl TargetSettings {
    pub(crate) fn new(name: String) -> TargetSettings {
        TargetSettings {
            name,
            targetdir: String::new(),
            read_percent: Decimal::whole(100),
            blocksize: 1024,
            reqsize: 128,
            numreqs: None,
            mbytes: None,
            kbytes: None,
            startoffset: 0,
            passoffset: 0,
            between_passes: BetweenPasses::Keep,
            deletefile: false,
            preallocate: 0,
            devicefile: false,
            dio: false,
            syncwrite: false,
            timelimit: None,
            queuedepth: 1,
            throttle: None,
            seek: SeekSettings::default(),
            randomize: false,
            datapattern: None,
            verify: None,
            align: 0,
            sharedmemory: false,
            report_threshold: None,
            processor: None,
            timestamps: TimeStampSettings::default(),
        }
    }

    /// Path to open: directory and name, concatenated unchanged.
    pub fn path(&self) -> String {
        format!("{}{}", self.targetdir, self.name)
    }

    /// Bytes of a request.
    pub fn request_bytes(&self) -> u64 {
        self.reqsize.saturating_mul(self.blocksize)
    }

    /// Bytes of a pass if `-mbytes` or `-kbytes` sets them and `-numreqs` does not override them.
    pub fn pass_bytes(&self) -> Option<u64> {
        let asked = self.mbytes.map(|n| n.saturating_mul(1 << 20));
        let asked = asked.or(self.kbytes.map(|n| n.saturating_mul(1 << 10)));
        asked.filter(|_| self.numreqs.is_none())
    }

    /// Requests of a pass, if its amount is known; the last one may be shorter.
    pub fn requests(&self) -> Option<u64> {
        self.numreqs.or_else(|| self.pass_bytes().map(|bytes| bytes.div_ceil(self.request_bytes().max(1))))
    }

    /// Length of the range in blocks: that of `-seek range`, or else the amount of a pass.
    pub fn range_blocks(&self) -> Option<u64> {
        let counted = self.numreqs.map(|requests| requests.saturating_mul(self.request_bytes()));
        let amount = self.pass_bytes().or(counted).map(|bytes| bytes / self.blocksize.max(1));
        self.seek.range.or(amount)
    }

    /// Whether the target may write.
    pub fn writes(&self) -> bool {
        self.read_percent < Decimal::whole(100)
    }

    /// Whether the target may read. A seek list may contain reads under `-op write`, too.
    pub fn reads(&self) -> bool {
        self.read_percent > Decimal::whole(0) || matches!(self.seek.order, SeekOrder::Load(_))
    }
}

impl Default for SeekSettings {
    fn default() -> SeekSettings {
        SeekSettings {
            order: SeekOrder::Sequential,
            range: None,
            seed: DEFAULT_SEED,
            interleave: 1,
            save: None,
            seekhist: None,
            disthist: None,
        }
    }
}

impl Default for GlobalSettings {
    fn default() -> GlobalSettings {
        GlobalSettings {
            passes: 1,
            delay: Nanos(0),
            runtime: None,
            syncio: None,
            nobarrier: false,
            maxerrors: None,
            startdelay: Nanos(0),
            targetstartdelay: Nanos(0),
            targetoffset: 0,
            lockstep: Vec::new(),
            starttriggers: Vec::new(),
            stoptriggers: Vec::new(),
            deskew: false,
            maxpri: false,
            processlock: false,
            nomemlock: false,
            noproclock: false,
            singleproc: None,
            roundrobin: None,
            output: None,
            csvout: None,
            combined: None,
            errout: None,
            id: String::new(),
            heartbeat: None,
            verbose: false,
            reallyverbose: false,
            qthreadinfo: false,
            timerinfo: false,
            destroy: false,
            out: None,
            show_plan: false,
            command_line: String::new(),
            notices: Vec::new(),
        }
    }
}
