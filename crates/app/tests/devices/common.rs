//! Helpers shared by these tests.

use flate2::read::MultiGzDecoder;
use iosonar_archive::{Outcome, Record, RunInfo};
use iosonar_plan::{Op, Strong};
pub use iosonar_testkit::until;
use iosonar_testkit::{Access, Image, Lab, LoopDevice, Mounted, Verdict, check, tool};
use serde_json::Value;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

/// Skips a test, with one line of reason, where this machine lacks something; otherwise takes the turn.
macro_rules! needs {
    ($($program:literal),*) => {
        if let Some(why) = iosonar_testkit::lacks(&[$($program),*]) {
            return iosonar_testkit::skip(std::thread::current().name().unwrap_or_default(), &why);
        }
        let _turn = crate::common::turn();
    };
    // Its answers do not depend on what else the machine does: it may run beside others of its kind.
    (beside others; $($program:literal),*) => {
        if let Some(why) = iosonar_testkit::lacks(&[$($program),*]) {
            return iosonar_testkit::skip(std::thread::current().name().unwrap_or_default(), &why);
        }
        let _turn = crate::common::shared_turn();
    };
}

/// Unwraps the value, or skips the test and prints the error.
macro_rules! or_skip {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(why) => return iosonar_testkit::skip(std::thread::current().name().unwrap_or_default(), &why),
        }
    };
}

static TURN: RwLock<()> = RwLock::new(());

/// One test at a time, also after one that failed.
pub fn turn() -> RwLockWriteGuard<'static, ()> {
    TURN.write().unwrap_or_else(PoisonError::into_inner)
}

/// A turn that others may have, too.
pub fn shared_turn() -> RwLockReadGuard<'static, ()> {
    TURN.read().unwrap_or_else(PoisonError::into_inner)
}

/// Repeats `attempt` until `is_so` accepts its answer, and returns that: times, caches and counters depend on other load of this machine.
#[track_caller]
pub fn comes_to_say(is_so: impl Fn(&Value) -> bool, mut attempt: impl FnMut() -> Value) -> Value {
    const ATTEMPTS: usize = 4;
    let mut others = Vec::new();
    loop {
        let said = attempt();
        if is_so(&said) {
            return said;
        }
        others.push(said);
        assert!(others.len() < ATTEMPTS, "{others:#?}");
        // A disturbance of one attempt often lasts into the next one.
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// Whether a detection is a caution or a failure.
pub fn is_reported(detection: &Value) -> bool {
    detection["level"] == "caution" || detection["level"] == "fail"
}

/// Starts the virtual machine of `lab/vm.sh` with our program and others in it; options and the script follow.
pub fn machine(programs: &[&str]) -> Result<Command, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/vm.sh");
    let missing = Command::new(&path).arg("--missing").args(programs).output().unwrap();
    if !missing.status.success() {
        return Err(String::from_utf8_lossy(&missing.stdout).trim().to_owned());
    }
    let mut command = Command::new(&path);
    command.args(["-p", env!("CARGO_BIN_EXE_iosonar")]);
    command.args(programs.iter().flat_map(|program| ["-p", program]));
    Ok(command)
}

/// Path of a script for the machine.
pub fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/devices").join(name)
}

pub fn lab() -> Lab {
    Lab::new(env!("CARGO_BIN_EXE_iosonar"))
}

/// A request of a load, as parsed by [`read_load`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line {
    pub time: u64,
    pub sector: u64,
    pub length: u64,
    pub op: Op,
}

/// Reads every request of a load, in its order, without the product's reader.
pub fn read_load(path: &Path) -> Vec<Line> {
    let bytes = std::fs::read(path).unwrap();
    let mut text = String::new();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        MultiGzDecoder::new(&*bytes).read_to_string(&mut text).unwrap();
    } else {
        text = String::from_utf8(bytes).unwrap();
    }
    let request = |line: &str| {
        let fields: Vec<&str> = line.split(';').map(str::trim).collect();
        let [time, sector, length, op, ..] = fields[..] else { return None };
        let (seconds, fraction) = time.split_once('.')?;
        let time =
            seconds.parse::<u64>().ok()? * 1_000_000_000 + format!("{fraction:0<9}").parse::<u64>().ok()?;
        let op = if op.to_ascii_uppercase().starts_with('R') { Op::Read } else { Op::Write };
        Some(Line { time, sector: sector.parse().ok()?, length: length.parse().ok()?, op })
    };
    text.lines().filter_map(request).collect()
}

/// Formats a load in the common form.
pub fn load_text(lines: &[Line]) -> String {
    let mut text = "start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0\n".to_owned();
    for Line { time, sector, length, op } in lines {
        let (s, ns) = (time / 1_000_000_000, time % 1_000_000_000);
        text += &format!("{s:6}.{ns:09} ; {sector:10} ; {length:3} ; {} ; 0.0 ; 0.0\n", op.letter());
    }
    text
}

/// A load that conflicts: `count` requests of up to `largest` sectors within the first `sectors`, one each
/// `every` nanoseconds; of each four one is a read.
pub fn conflicting(count: u64, sectors: u64, largest: u64, every: u64) -> Vec<Line> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let line = |i| {
        let (length, op) = (1 + random(largest), if random(4) == 0 { Op::Read } else { Op::Write });
        Line { time: i * every, sector: random(sectors - length), length, op }
    };
    (0..count).map(line).collect()
}

/// Reads `run.json` of a result.
pub fn run_info(dir: &Path) -> RunInfo {
    serde_json::from_str(&std::fs::read_to_string(dir.join("run.json")).unwrap()).unwrap()
}

/// Sorts the records into the order of the source.
pub fn in_order(mut records: Vec<Record>) -> Vec<Record> {
    records.sort_by_key(|r| (r.target, r.pass, r.sequence));
    records
}

/// The checker's verdict on the records' own times.
pub fn verdict(records: &[Record], strong: u8) -> Verdict {
    let accesses: Vec<Access> = records.iter().filter_map(Access::of).collect();
    check(&accesses, Strong::try_from(strong).unwrap())
}

pub fn count(records: &[Record], outcome: Outcome) -> usize {
    records.iter().filter(|r| r.outcome == outcome).count()
}

/// Asserts that no request passed one that waited for a conflict: `order` keeps the order.
pub fn assert_nothing_passed(records: &[Record]) {
    let mut latest_release = 0;
    for record in records {
        let submitted = record.submitted.map_or(u64::MAX, |t| t.0);
        assert!(submitted >= latest_release, "{} passed one that waited", record.sequence);
        latest_release = record.released.map_or(latest_release, |t| latest_release.max(t.0));
    }
}

/// A program in the background, killed if the test fails.
pub struct Background(Option<Child>);

impl Background {
    pub fn start(mut command: Command) -> Background {
        Background(Some(command.spawn().unwrap()))
    }

    pub fn id(&self) -> u32 {
        self.0.as_ref().unwrap().id()
    }

    pub fn signal(&self, signal: &str) {
        iosonar_testkit::signal(self.id(), signal);
    }

    pub fn has_ended(&mut self) -> bool {
        self.0.as_mut().unwrap().try_wait().unwrap().is_some()
    }

    pub fn wait(mut self) -> iosonar_testkit::Ended {
        iosonar_testkit::Ended::of(self.0.take().unwrap().wait_with_output().unwrap())
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Engines with real I/O.
pub const ENGINES: [&str; 3] = ["uring", "aio", "threads"];

/// Runs the test on all engines at the same time: each has its own devices, and no time is asserted.
pub fn on_each_engine(test: impl Fn(&'static str) + Sync) {
    std::thread::scope(|scope| {
        for engine in ENGINES {
            scope.spawn(|| test(engine));
        }
    });
}

/// A loop device whose backing file lies on a separate file system, which can be shut down.
pub struct Breakable {
    pub device: LoopDevice,
    mounted: Mounted,
    _lower: LoopDevice,
}

impl Breakable {
    /// Creates a device of 16 MiB.
    pub fn new() -> Breakable {
        let lower = LoopDevice::of(Image::sparse(320), &[]);
        tool("mkfs.xfs", &["-q", "-K", lower.text()]);
        let mounted = Mounted::new(lower.path(), "rw");
        let backing = mounted.path().join("backing");
        std::fs::write(&backing, vec![7; 16 << 20]).unwrap();
        Breakable { device: LoopDevice::on(&backing, &[]), mounted, _lower: lower }
    }

    /// Makes every later read and write fail.
    pub fn break_it(&self) {
        tool("xfs_io", &["-x", "-c", "shutdown", self.mounted.path().to_str().unwrap()]);
    }
}

/// Writes of a device since its creation, from the kernel's counters: merged ones count as several.
pub fn writes_in_kernel(device: &LoopDevice) -> u64 {
    in_kernel(device)[4..6].iter().sum()
}

/// Reads of a device since its creation, counted alike.
pub fn reads_in_kernel(device: &LoopDevice) -> u64 {
    in_kernel(device)[0..2].iter().sum()
}

/// Parses the device's `stat` file.
fn in_kernel(device: &LoopDevice) -> Vec<u64> {
    let stat = std::fs::read_to_string(format!("/sys/block/{}/stat", device.name())).unwrap();
    stat.split_whitespace().map(|field| field.parse().unwrap()).collect()
}

/// Asserts that the target's sequence numbers have no gap; returns the number of requests.
#[track_caller]
pub fn without_gaps(records: &[Record], target: u16) -> usize {
    let mut sequences: Vec<u64> = records.iter().filter(|r| r.target == target).map(|r| r.sequence).collect();
    sequences.sort_unstable();
    assert!(sequences.iter().enumerate().all(|(i, s)| *s == i as u64), "a gap, or one twice");
    sequences.len()
}

/// Number of a target's requests that were submitted to the kernel.
pub fn sent(records: &[Record], target: u16) -> usize {
    records.iter().filter(|r| r.target == target && r.submitted.is_some()).count()
}

/// Reads the summary of a result.
pub fn summary(lab: &Lab, name: &str) -> serde_json::Value {
    serde_json::from_str(&lab.expect(0, &format!("show {name} --json")).out).unwrap()
}

/// Returns the text of this caution; `None` if the summary lacks it.
pub fn caution(summary: &serde_json::Value, id: &str) -> Option<String> {
    let cautions = summary["cautions"].as_array().unwrap();
    cautions.iter().find(|c| c["id"] == id).map(|c| c["text"].as_str().unwrap().to_owned())
}

/// Returns words that repeat `args` in two passes, by a plan: there is no option for passes.
pub fn twice(lab: &Lab, args: &str) -> String {
    let plan = lab.expect(0, &format!("{args} --show-plan")).out;
    assert!(plan.contains("passes = 1"), "{plan}");
    lab.file("plan.toml", plan.replace("passes = 1", "passes = 2"));
    "run plan.toml --destroy".into()
}

/// Maximum number of records in flight, from their times alone. A request may be submitted when another's completion is seen, and reuse its
/// memory.
pub fn most_in_flight(records: &[Record]) -> i64 {
    let both = |r: &Record| Some([(r.submitted?.0, 1), (r.completed?.0, -1)]);
    let mut events: Vec<(u64, i64)> = records.iter().filter_map(both).flatten().collect();
    events.sort_unstable();
    let flying = events.iter().scan(0, |n, (_, step)| {
        *n += step;
        Some(*n)
    });
    flying.max().unwrap_or(0)
}

/// A file system whose writes are frozen.
pub struct Frozen<'a>(&'a Mounted);

impl Frozen<'_> {
    pub fn new(mounted: &Mounted) -> Frozen<'_> {
        tool("fsfreeze", &["-f".as_ref(), mounted.path()]);
        Frozen(mounted)
    }
}

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        tool("fsfreeze", &["-u".as_ref(), self.0.path()]);
    }
}
