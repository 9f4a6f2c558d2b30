//! `iosonar doctor`: facts about a target before anything is measured on it.

use super::judge::about;
use crate::args::DoctorArgs;
use crate::exit::{Exit, Failure};
use crate::output::print;
use anyhow::{Context, anyhow};
use iosonar_analyze::{Detection, Level};
use iosonar_evidence::target::{BlockDevice, DirectIo, FileSystem, Layer, RegularFile, Role};
use iosonar_evidence::{Fact, TargetFacts, TargetKind};
use iosonar_host::Root;
use iosonar_host::guard::{self, Intent, Permit, Refusal};
use iosonar_judge::OthersUse;
use iosonar_os::made::OwnDir;
use iosonar_plan::{
    Access, ByteSize, Claim, Engine, Generator, Job, Order, Pace, Phase, Plan, Target, Workload,
};
use iosonar_runner::preflight::predicted;
use iosonar_runner::{Ready, foreign_io, probe};
use iosonar_text::shown;
use iosonar_view::{Examination, show_examination, units};
use serde_json::json;
use std::cell::RefCell;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes of the sample file of a directory.
const SAMPLE_BYTES: usize = 1 << 16;

/// Examines a target.
pub fn doctor(args: &DoctorArgs) -> Result<Exit, Failure> {
    let place = Place::of(&args.target)?;
    let ready = prepare(place.path())?;
    let mut environment = ready.environment(&Root::default());
    // Holes are looked up once. Then the sample file is no longer needed.
    ready.prepared().info("", "");
    place.remove_sample();
    let time = Duration::from_nanos(args.quiet.0);
    let others = if time.is_zero() { Vec::new() } else { foreign_io::watch(&environment.targets, time) };
    // After watching the use by others: its reads would be counted as theirs.
    if place.is_file() {
        probe::probe(ready.prepared(), &mut environment, &|| false);
    }
    let facts = environment
        .targets
        .first()
        .ok_or_else(|| Failure::refused(anyhow!("{}: nothing is known of it", shown(&args.target))))?;
    let probed = environment.reread.first().map(|one| &one.seen);
    let of = |claim| predicted(ready.prepared(), &environment, claim);
    let found = of(args.claim);
    let verdicts: Vec<(String, String)> = [Claim::Device, Claim::Filesystem, Claim::Cache]
        .into_iter()
        .map(|claim| {
            // A claim on memory involves no device.
            let others = if claim == Claim::Cache { &[] } else { others.as_slice() };
            (claim.to_string(), verdict(&of(claim), others))
        })
        .collect();
    let writing = place.is_file().then(|| writing(facts));
    let text = if args.json {
        let others: Vec<_> = others.iter().map(other_json).collect();
        let verdicts: serde_json::Map<_, _> =
            verdicts.iter().map(|(claim, text)| (claim.clone(), json!(text))).collect();
        let all = json!({"target": args.target, "claim": args.claim, "facts": facts, "writing": writing, "others": others, "probe": probed,
                         "found": found, "verdicts": verdicts});
        format!("{all:#}\n")
    } else {
        let target = format!("{}: {}", shown(&args.target), place.what(facts));
        let mut known = Vec::new();
        known.extend(writing.map(|text| ("writing", text)));
        known.extend(quiet_text(&others, time).map(|text| ("others", text)));
        known.extend(probed.map(|seen| ("probe", probe::sentence(seen))));
        let examination = Examination {
            target: &target,
            layers: &layers(facts, place.is_file()),
            facts: &known,
            found: &found,
            verdicts: &verdicts,
        };
        show_examination(&examination, &about)
    };
    print(&text)?;
    let is_told =
        found.iter().any(|one| one.level >= Level::Caution) || others.iter().any(OthersUse::disturbs);
    Ok(match found.iter().any(|one| one.definitional) {
        true => Exit::Fake,
        false if args.strict && is_told => Exit::Cautioned,
        false => Exit::Fine,
    })
}

/// The examined target, or a sample file created in a directory to examine its file system.
enum Place {
    Target(PathBuf),
    Directory(Sample),
}

/// A file in a new directory, removed on drop.
struct Sample {
    path: PathBuf,
    dir: RefCell<Option<OwnDir>>,
}

impl Sample {
    fn create(directory: &Path) -> std::io::Result<Sample> {
        let dir = OwnDir::new_in(directory, "doctor")?;
        dir.remove_leftovers();
        let path = dir.path().join("sample");
        let mut file = iosonar_os::create::new_file(&path)?;
        let sample = Sample { path, dir: RefCell::new(Some(dir)) };
        // Without data it would be reported as a hole.
        file.write_all(&[1; SAMPLE_BYTES])?;
        file.sync_all()?;
        Ok(sample)
    }

    fn remove(&self) {
        self.dir.take();
    }
}

impl Place {
    fn of(path: &Path) -> Result<Place, Failure> {
        if !path.is_dir() {
            return Ok(Place::Target(path.into()));
        }
        let no_file = || {
            format!("no file can be made in {}: name a file in it, or run as a user who may", shown(&path))
        };
        Sample::create(path).with_context(no_file).map(Place::Directory).map_err(Failure::refused)
    }

    /// Removes the sample file when it is no longer needed.
    fn remove_sample(&self) {
        if let Place::Directory(sample) = self {
            sample.remove();
        }
    }

    fn path(&self) -> &Path {
        match self {
            Place::Target(path) => path,
            Place::Directory(sample) => &sample.path,
        }
    }

    fn is_file(&self) -> bool {
        matches!(self, Place::Target(_))
    }

    fn what(&self, facts: &TargetFacts) -> String {
        let size = units::bytes(facts.size);
        match (self, &facts.kind) {
            (Place::Directory(_), _) => "a directory".into(),
            (_, TargetKind::BlockDevice(_)) => format!("a block device of {size}"),
            (_, TargetKind::RegularFile(_)) => format!("a file of {size}"),
            (_, TargetKind::MemoryDevice(_)) => "a character device that keeps nothing".into(),
        }
    }
}

/// Prepares reads of the whole target, without a run: with direct I/O if possible, otherwise through the page cache.
fn prepare(path: &Path) -> Result<Ready, Failure> {
    let plan = |buffered| {
        let generator = Generator { pace: Pace::Closed, ..Generator::new(Order::Sequential, ByteSize(4096)) };
        let job = Job::new(0, 1, Workload::Generated(generator));
        let access = Access { buffered, ..Access::default() };
        let plan = Plan::new(1, vec![Target::new(path)], vec![Phase::of(vec![job])]);
        Plan { engine: Engine::Sync, access, ..plan }
    };
    let ready = |buffered| Ready::new(plan(buffered), &Root::default(), |_, _| {});
    ready(false).or_else(|_| ready(true)).map_err(Failure::refused)
}

/// Predicts the verdict on a claim, as far as known now.
fn verdict(found: &[Detection], others: &[OthersUse]) -> String {
    let names = |is_meant: &dyn Fn(&Detection) -> bool| {
        let ids: Vec<&str> = found.iter().filter(|one| is_meant(one)).map(|one| one.id.name()).collect();
        ids.join(", ")
    };
    let proofs = names(&|one| one.definitional);
    let mut told = names(&|one| one.level >= Level::Caution);
    if others.iter().any(OthersUse::disturbs) {
        told += if told.is_empty() { "others use its devices" } else { ", others use its devices" };
    }
    match (proofs.is_empty(), told.is_empty()) {
        (false, _) => format!("FAKE: {proofs}"),
        (true, false) => format!("read with care: {told}"),
        (true, true) => "nothing speaks against it before a run".into(),
    }
}

/// Whether a run may write to the target.
fn writing(facts: &TargetFacts) -> String {
    match guard::check(facts, Intent::Write, false, &Root::default()) {
        Ok(Permit::Write(permit)) => format!("allowed: {}", permit.statement()),
        Ok(Permit::ReadOnly) => "not allowed".into(),
        Err(Refusal::NeedsDestroy { contents, .. }) => format!("only with --destroy: on it is {contents}"),
        Err(refusal) => format!("refused: {refusal}"),
    }
}

/// Reports the use of its devices by others; `None` if they were not watched.
fn quiet_text(others: &[OthersUse], time: Duration) -> Option<String> {
    if time.is_zero() {
        return None;
    }
    let disturbing: Vec<String> =
        others.iter().filter(|other| other.disturbs()).map(foreign_io::sentence).collect();
    Some(match (others.is_empty(), disturbing.is_empty()) {
        (true, _) => "not known: its devices have no counters here".into(),
        (false, true) => format!("nobody uses its devices (watched for {} s)", time.as_secs_f64()),
        (false, false) => disturbing.join("; "),
    })
}

fn other_json(other: &OthersUse) -> serde_json::Value {
    json!({"device": other.device, "requests_per_second": other.requests_per_second, "busy": other.busy,
           "disturbs": other.disturbs()})
}

/// Lists the layers below the target, a line each. The sample file of a directory is not named.
fn layers(facts: &TargetFacts, is_named: bool) -> Vec<String> {
    let mut lines = Vec::new();
    match &facts.kind {
        TargetKind::BlockDevice(device) => of_device(device, &mut lines),
        TargetKind::RegularFile(file) => of_file(file, is_named, &mut lines),
        TargetKind::MemoryDevice(_) => {}
    }
    lines
}

fn of_file(file: &RegularFile, is_named: bool, lines: &mut Vec<String>) {
    let direct = match file.direct_io {
        DirectIo::Aligned { offset, .. } => format!("direct I/O in multiples of {offset} bytes"),
        DirectIo::Unsupported => "direct I/O is done through the page cache".into(),
        DirectIo::NotReported => "the kernel does not tell about direct I/O".into(),
    };
    let name = if is_named { shown(&file.path).to_string() } else { "a file in it".into() };
    lines.push(format!("{name}: {direct}"));
    match &file.file_system {
        Fact::Known(file_system) => of_file_system(file_system, lines),
        Fact::Absent { absent } => lines.push(format!("its file system is not known: {absent}")),
    }
}

fn of_file_system(file_system: &FileSystem, lines: &mut Vec<String>) {
    let FileSystem { kind, mount_point, options, below, .. } = file_system;
    lines.push(format!("{kind} on {} ({options})", shown(&mount_point)));
    if below.is_empty() {
        lines.push("no device of this machine below it".into());
    }
    below.iter().for_each(|layer| of_layer(layer, lines));
}

fn of_layer(layer: &Layer, lines: &mut Vec<String>) {
    match layer {
        Layer::BlockDevice(device) => of_device(device, lines),
        Layer::RegularFile(file) => of_file(file, true, lines),
        Layer::FileSystem(file_system) => of_file_system(file_system, lines),
        Layer::Unknown(why) => lines.push(format!("not known: {why}")),
    }
}

fn of_device(device: &BlockDevice, lines: &mut Vec<String>) {
    let word = |fact: &Fact<String>, before: &str| fact.known().map(|text| format!("{before}{text}"));
    let queue = &device.queue;
    let kind = match &device.role {
        Role::Disk => "disk",
        Role::Partition { .. } => "partition",
        Role::Loop { .. } => "loop device",
        Role::Stacked { .. } => "stacked device",
    };
    let rotates = queue
        .rotational
        .known()
        .map(|turns| (if *turns { "rotates" } else { "does not rotate" }).to_string());
    let sizes = match (queue.logical_block_size.known(), queue.physical_block_size.known()) {
        (Some(logical), Some(physical)) => Some(format!("blocks of {logical} bytes, physically {physical}")),
        _ => None,
    };
    let direct = match &device.role {
        Role::Loop { direct_io: Fact::Known(direct), .. } => {
            Some((if *direct { "with direct I/O" } else { "through the page cache" }).to_string())
        }
        _ => None,
    };
    let parts = [
        Some(format!("{kind} of {}", units::bytes(device.size))),
        direct,
        word(&device.driver, "driver "),
        word(&device.model, ""),
        rotates,
        sizes,
        word(&queue.scheduler, "scheduler "),
        word(&queue.write_cache, "cache: "),
    ];
    lines.push(format!("{}: {}", device.name, parts.into_iter().flatten().collect::<Vec<_>>().join(", ")));
    match &device.role {
        Role::Disk => {}
        Role::Partition { disk, .. } => of_device(disk, lines),
        Role::Loop { below, .. } => of_layer(below, lines),
        Role::Stacked { slaves } => slaves.iter().for_each(|slave| of_device(slave, lines)),
    }
}
