//! What an XDD command line asks for, typed and complete: each field is what one option sets.

use iosonar_plan::{BetweenPasses, Data, Decimal, Lockstep, Nanos, Trigger, Verify};
use std::collections::BTreeMap;

/// XDD's default seed of random locations.
pub const DEFAULT_SEED: u64 = 72058;
/// What a run is called without `-id`.
pub const DEFAULT_ID: &str = "No ID Specified";

/// Everything that a command line says, after precedence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// At least one, in the order in which they were named: their index is the target number.
    pub targets: Vec<TargetSettings>,
    /// What holds for the whole run.
    pub global: GlobalSettings,
    /// How options were typed, so that messages can name them.
    pub(crate) typed: Typed,
}

/// What is required of one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetSettings {
    /// The name as given.
    pub name: String,
    /// What is put before the name as it is (`-targetdir`); empty by default.
    pub targetdir: String,
    /// Share of reads in percent (`-op`, `-rwratio`); 100 by default.
    pub read_percent: Decimal,
    /// Bytes of a block (`-blocksize`).
    pub blocksize: u64,
    /// Blocks of a request (`-reqsize`).
    pub reqsize: u64,
    /// Requests of a pass (`-numreqs`); it goes before `mbytes` and `kbytes`.
    pub numreqs: Option<u64>,
    /// 2^20 bytes of a pass (`-mbytes`); never together with `kbytes`.
    pub mbytes: Option<u64>,
    /// 2^10 bytes of a pass (`-kbytes`); never together with `mbytes`.
    pub kbytes: Option<u64>,
    /// First block of the range (`-startoffset`).
    pub startoffset: u64,
    /// Blocks by which each further pass moves (`-passoffset`).
    pub passoffset: u64,
    /// What happens to the file between passes (`-createnewfiles`, `-recreatefiles`, `-reopen`: the last one holds).
    pub between_passes: BetweenPasses,
    /// The file is deleted at the end of the run (`-deletefile`).
    pub deletefile: bool,
    /// 1024-byte blocks that are allocated before the first pass (`-preallocate`); writing only.
    pub preallocate: u64,
    /// It is a device, so no file is made where there is none (`-devicefile`).
    pub devicefile: bool,
    /// With `O_DIRECT` (`-dio`).
    pub dio: bool,
    /// What was written is flushed at the end of each pass (`-syncwrite`).
    pub syncwrite: bool,
    /// When a pass ends at the latest (`-timelimit`).
    pub timelimit: Option<Nanos>,
    /// How many queue threads share the requests (`-queuedepth`); never more than there are requests.
    pub queuedepth: u32,
    /// The most requests or bytes per second (`-throttle`).
    pub throttle: Option<ThrottleSettings>,
    /// Where requests go (`-seek`).
    pub seek: SeekSettings,
    /// Each pass has random locations of its own (`-randomize`).
    pub randomize: bool,
    /// What is written, where the command line says it (`-datapattern`); otherwise zeros are.
    pub datapattern: Option<Data>,
    /// What is checked (`-verify`).
    pub verify: Option<Verify>,
    /// How many bytes after a page memory for data starts (`-align`).
    pub align: u64,
    /// Memory for data is a shared memory segment (`-sharedmemory`).
    pub sharedmemory: bool,
    /// Operations that take longer are reported (`-report_threshold`).
    pub report_threshold: Option<Nanos>,
    /// The processor of its threads (`-processor`, `-singleproc`, `-roundrobin`: the last one holds).
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

/// What `-seek` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeekSettings {
    /// The order of locations.
    pub order: SeekOrder,
    /// Length of the range in blocks; none: the amount of a pass.
    pub range: Option<u64>,
    /// Seed of random locations.
    pub seed: u64,
    /// How many requests lie between the beginnings of two sequential ones; 1: each is right after the one before.
    pub interleave: u32,
    /// First part of the name of the file that takes the list of locations.
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
    /// As this seek list says.
    Load(String),
}

/// What `-ts` says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TimeStampSettings {
    /// Time stamps are kept: any operator but `off` switches that on.
    pub on: bool,
    /// A summary is reported; `detailed` asks for it, too.
    pub summary: bool,
    /// Each operation is reported.
    pub detailed: bool,
    /// Times are marked as those of the global clock.
    pub normalize: bool,
    /// First part of the names of report files; none: standard output.
    pub output: Option<String>,
    /// Reports are appended to their files.
    pub append: bool,
    /// First part of the names of binary dumps.
    pub dump: Option<String>,
    /// How many stamps each thread keeps; none: all.
    pub size: Option<u64>,
    /// What happens when more operations go than stamps are kept.
    pub when_full: WhenFull,
    /// The operation of the first pass, from 0, with which stamping starts.
    pub trigger_op: Option<u64>,
    /// When stamping starts, from the start of the run.
    pub trigger_time: Option<Nanos>,
}

impl TimeStampSettings {
    /// Whether there is a report for people.
    pub fn has_text(&self) -> bool {
        self.summary || self.detailed
    }
}

/// What happens when the table of time stamps is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhenFull {
    /// The latest are kept (`wrap`, and wherever nothing else is said).
    #[default]
    Wrap,
    /// The first are kept (`oneshot`).
    OneShot,
}

/// What holds for the whole run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobalSettings {
    /// Passes (`-passes`).
    pub passes: u32,
    /// Time between passes (`-delay`).
    pub delay: Nanos,
    /// When the whole run ends; passes are added until then (`-runtime`).
    pub runtime: Option<Nanos>,
    /// All threads meet every so many operations (`-syncio`); of use with several targets only.
    pub syncio: Option<u64>,
    /// Passes do not wait for each other (`-nobarrier`).
    pub nobarrier: bool,
    /// After so many errors in a pass a target ends that pass (`-maxerrors`).
    pub maxerrors: Option<u64>,
    /// Time before the first operation of all targets (`-startdelay`).
    pub startdelay: Nanos,
    /// Target k starts k times this later, on top of `startdelay` (`-targetstartdelay`).
    pub targetstartdelay: Nanos,
    /// Blocks that target k adds k times to every location (`-targetoffset`).
    pub targetoffset: u64,
    /// Targets that go in lockstep (`-lockstep`).
    pub lockstep: Vec<Lockstep>,
    /// Targets that begin when another has come so far (`-starttrigger`).
    pub starttriggers: Vec<Trigger>,
    /// Targets that end when another has come so far (`-stoptrigger`).
    pub stoptriggers: Vec<Trigger>,
    /// Rates of the time in which all targets were busy are reported (`-deskew`).
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
    /// Over how many processors targets go in turn (`-roundrobin`).
    pub roundrobin: Option<u32>,
    /// File for results (`-output`).
    pub output: Option<String>,
    /// File for results as comma-separated values (`-csvout`).
    pub csvout: Option<String>,
    /// File to which the combined line is appended (`-combined`).
    pub combined: Option<String>,
    /// File for error messages (`-errout`).
    pub errout: Option<String>,
    /// What the run is called (`-id`): each id followed by a space, or [`DEFAULT_ID`].
    pub id: String,
    /// Time between two signs of life (`-heartbeat`).
    pub heartbeat: Option<Nanos>,
    /// A line for each pass (`-verbose`).
    pub verbose: bool,
    /// More columns (`-reallyverbose`, which asks for `-verbose`, too).
    pub reallyverbose: bool,
    /// Lines for each queue thread (`-qthreadinfo`).
    pub qthreadinfo: bool,
    /// What the timer costs is reported (`-timerinfo`).
    pub timerinfo: bool,
    /// Block devices may be written (`-destroy`).
    pub destroy: bool,
    /// Directory for an archive of the run (`-out`).
    pub out: Option<String>,
    /// The plan is printed instead of executed (`-show-plan`).
    pub show_plan: bool,
    /// All arguments, joined by spaces.
    pub command_line: String,
    /// What the user should know about how the command line was understood: one line each.
    pub notices: Vec<String>,
}

/// How options were typed the last time, by their first name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Typed(BTreeMap<&'static str, String>);

impl Typed {
    pub(crate) fn insert(&mut self, option: &'static str, typed: &str) {
        self.0.insert(option, typed.into());
    }

    pub(crate) fn has(&self, option: &str) -> bool {
        self.0.contains_key(option)
    }

    /// How the option was typed, or how the manual spells it.
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

    /// What is opened: directory and name as they are, one after the other.
    pub fn path(&self) -> String {
        format!("{}{}", self.targetdir, self.name)
    }

    /// Bytes of a request.
    pub fn request_bytes(&self) -> u64 {
        self.reqsize.saturating_mul(self.blocksize)
    }

    /// Bytes of a pass where `-mbytes` or `-kbytes` says them, and `-numreqs` does not go before them.
    pub fn pass_bytes(&self) -> Option<u64> {
        let asked = self.mbytes.map(|n| n.saturating_mul(1 << 20));
        let asked = asked.or(self.kbytes.map(|n| n.saturating_mul(1 << 10)));
        asked.filter(|_| self.numreqs.is_none())
    }

    /// Requests of a pass, where its amount is known; the last one may be shorter.
    pub fn requests(&self) -> Option<u64> {
        self.numreqs.or_else(|| self.pass_bytes().map(|bytes| bytes.div_ceil(self.request_bytes().max(1))))
    }

    /// Length of the range in blocks: what `-seek range` says, or else the amount of a pass.
    pub fn range_blocks(&self) -> Option<u64> {
        let counted = self.numreqs.map(|requests| requests.saturating_mul(self.request_bytes()));
        let amount = self.pass_bytes().or(counted).map(|bytes| bytes / self.blocksize.max(1));
        self.seek.range.or(amount)
    }

    /// Whether anything may be written.
    pub fn writes(&self) -> bool {
        self.read_percent < Decimal::whole(100)
    }

    /// Whether anything may be read. A seek list may ask for it under `-op write`, too.
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
