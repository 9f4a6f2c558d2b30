//! `iosonar layout run`: creates files in several ways, scans them, and reports where they are and what that costs.

use super::free_before::{FreeMaps, left_by};
use super::map::map_of;
use super::stage::{self, Stage};
use super::{TOOL, pictures};
use crate::args::layout::RunArgs;
use crate::exit::{Exit, Failure};
use crate::output::{print, print_message, unused_dated};
use crate::progress::{self, ProgressOptions};
use crate::session::{self, conclude, perform, tell_verdict};
use crate::signals;
use crate::timings::Timings;
use anyhow::{Context, anyhow};
use iosonar_analyze::{CellStats, CountUntil, DeviceReads, device_reads};
use iosonar_archive::Archive;
use iosonar_campaign::creation::{
    Experiment, FileAnswer, ScanReads, Setting, Trial, creation_csv, creation_text,
};
use iosonar_engine::Prepared;
use iosonar_host::extent_map::{Keep, MapReader};
use iosonar_host::output::check_absent;
use iosonar_host::{Layer, Root, file_system_of};
use iosonar_inputs::Input;
use iosonar_inputs::SummaryOptions;
use iosonar_layout::{Map, MapsJson};
use iosonar_os::create::{new_dirs, new_file};
use iosonar_os::page_cache::page_bytes;
use iosonar_plan::Plan;
use iosonar_runner::{Concluded, Scene, new_run_id};
use iosonar_studies::cells::{failure_of, machine, stats_of};
use iosonar_text::csv::Form;
use iosonar_text::shown;
use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

/// Whether a signal requested the end.
pub struct Stop(Arc<AtomicI32>);

impl Stop {
    fn listen() -> Result<Stop, Failure> {
        let end = Arc::new(AtomicI32::new(0));
        signals::end_on_signal(end.clone(), || {})?;
        Ok(Stop(end))
    }

    /// Returns an error if a signal arrived.
    pub fn check(&self) -> Result<(), Failure> {
        match self.0.load(Relaxed) {
            0 => Ok(()),
            signal => Err(Failure::ended_by(signal)),
        }
    }
}

/// Executes the experiment.
pub fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let experiment = experiment(args)?;
    let out = args.out.clone().unwrap_or_else(|| unused_dated("layout"));
    check_absent("--out", &out)?;
    // Refuses impossible plans before anything is created.
    let names: Vec<_> = experiment.methods.iter().map(|method| stage::names(method, &args.dir)).collect();
    experiment.creation(&names).map_err(Failure::refused)?;
    let stop = Stop::listen()?;
    let stage = Stage::build(args, &experiment, &stop)?;
    let measured = measure(args, &experiment, &stage, &stop, &out);
    // Remove created files first: an answer that cannot be printed must not keep them.
    let removed = stage.remove();
    let exit = measured?;
    removed?;
    Ok(exit)
}

fn experiment(args: &RunArgs) -> Result<Experiment, Failure> {
    let methods = args.methods.clone();
    if let Some(twice) = methods.iter().enumerate().find(|(n, method)| methods[..*n].contains(method)) {
        return Err(Failure::refused(anyhow!("--methods: '{}' is named twice: remove one of them", twice.1)));
    }
    for (option, size) in [("--size", args.size), ("--scan-size", args.scan_size)] {
        if size.0 == 0 {
            return Err(Failure::refused(anyhow!("{option} 0: it must be above 0")));
        }
    }
    Ok(Experiment {
        methods,
        size: args.size,
        scan_record: args.scan_size,
        scan_direct: args.scan_direct,
        rounds: args.rounds,
        seed: args.seed,
        sample_every: args.sample_every,
        run_id: new_run_id(),
    })
}

fn measure(
    args: &RunArgs,
    experiment: &Experiment,
    stage: &Stage,
    stop: &Stop,
    out: &Path,
) -> Result<Exit, Failure> {
    let plan = experiment.creation(&stage.files).map_err(Failure::refused)?;
    let free = FreeMaps::read(stage);
    let made = |prepared: &Prepared| {
        stage.note_made(prepared.made());
        new_dirs(out).map(drop).with_context(|| shown(&out).to_string()).map_err(Failure::refused)
    };
    let created = perform_part(args, plan, made, &out.join("create"))?;
    if created.exit != Exit::Fine {
        return Ok(created.exit);
    }
    stop.check()?;
    let maps = read_maps(&stage.files)?;
    let plan = experiment.scans(&stage.files).map_err(Failure::refused)?;
    let scanned = perform_part(args, plan, |_| Ok(()), &out.join("scan"))?;
    let after = read_maps(&stage.files)?;
    let pairs = maps.iter().zip(&after).enumerate();
    let files = pairs.map(|(method, (before, after))| answers(before, after, free.of(method))).collect();
    let free = free.states;
    let setting = setting(args, stage, &created);
    let (creation, scans) = (&created.stats[..], &scanned.stats[..]);
    let device_reads = scan_reads(stage, &scanned.reads);
    let page_bytes = page_bytes();
    let answer =
        Trial { experiment, setting, creation, scans, files, device_reads, free, page_bytes }.answer();
    write_json(&out.join("layout.json"), &answer)?;
    let all: Vec<Map> = maps.into_iter().flatten().collect();
    write_json(&out.join("maps.json"), &MapsJson { tool: TOOL, maps: &all, errors: &[] })?;
    let form = Form { safe: args.csv_safe, crlf: false };
    write(&out.join("layout.csv"), |file| Ok(file.write_all(creation_csv(&answer, form).as_bytes())?))?;
    let picture = out.join(pictures::draw(&answer, &all, out)?);
    match args.json {
        true => print(&(serde_json::to_string_pretty(&answer).map_err(anyhow::Error::from)? + "\n"))?,
        false => {
            let text = creation_text(&answer);
            print(&format!("{text}\nresult: {}\npicture: {}\n", shown(&out), shown(&picture)))?;
        }
    }
    Ok(scanned.exit)
}

/// An executed plan.
struct Part {
    /// The machine, in words.
    machine: String,
    stats: Vec<CellStats>,
    /// Reads of devices meanwhile, by device name.
    reads: BTreeMap<String, DeviceReads>,
    exit: Exit,
}

fn perform_part(
    args: &RunArgs,
    plan: Plan,
    check: impl FnOnce(&Prepared) -> Result<(), Failure>,
    dir: &Path,
) -> Result<Part, Failure> {
    let (wish, timings) = (ProgressOptions::line(&args.progress), Timings::new());
    let show = |scene: &Scene<'_>| progress::show(&wish, scene);
    let (ended, _listener) = perform(plan, check, |_| dir.to_path_buf(), show, &timings)?;
    let Concluded { info, figures, .. } = conclude(ended, SummaryOptions::default(), &timings)?;
    let is_fake = tell_verdict("iosonar", &figures.summary);
    let archive = Archive::open(dir)?;
    let machine = machine(&archive).words;
    let reads = device_reads(&archive)?;
    let stats = stats_of(&Input::of_archive(archive)?, &info, CountUntil::OwnEnd)?;
    stats.iter().filter_map(failure_of).for_each(|why| print_message(format_args!("iosonar: {why}")));
    let failed = stats.iter().any(|stats| !stats.is_whole);
    Ok(Part { machine, stats, reads, exit: session::exit(&info, failed, false, is_fake) })
}

/// Device reads of all methods. Each scratch file system has a device to itself; otherwise all files are in one directory.
fn scan_reads(stage: &Stage, reads: &BTreeMap<String, DeviceReads>) -> ScanReads {
    let of = |files: &Vec<PathBuf>| reads.get(&device_of(files.first()?)?).copied();
    match stage.image_direct() {
        Some(_) => ScanReads { of_methods: stage.files.iter().map(of).collect(), shared: None },
        None => ScanReads { of_methods: Vec::new(), shared: stage.files.first().and_then(of) },
    }
}

/// The device below the file system of a file; `None` if it has several or none.
fn device_of(file: &Path) -> Option<String> {
    let found = file_system_of(file, &Root::default());
    match found.known()?.below.as_slice() {
        [Layer::BlockDevice(device)] => Some(device.name.clone()),
        _ => None,
    }
}

fn read_maps(files: &[Vec<PathBuf>]) -> Result<Vec<Vec<Map>>, Failure> {
    let mut reader = MapReader::new(true, Keep::Extents);
    let mut read = |path: &PathBuf| {
        map_of(&mut reader, path).map_err(|why| Failure::broke(anyhow!("{}: {why}", shown(&path))))
    };
    files.iter().map(|files| files.iter().map(&mut read).collect()).collect()
}

/// Maps of a method's files before and after the scans, and the free ranges before their creation.
fn answers(before: &[Map], after: &[Map], free: Option<&[Range<u64>]>) -> Vec<FileAnswer> {
    let answer = |(before, after): (&Map, &Map)| FileAnswer {
        unchanged_by_scans: before.rows == after.rows,
        left_after: left_by(before, free),
        ..FileAnswer::new(&before.path, before.size, &before.figures, before.volume.groups.is_some())
    };
    before.iter().zip(after).map(answer).collect()
}

fn setting(args: &RunArgs, stage: &Stage, created: &Part) -> Setting {
    let first = stage.files.iter().flatten().next().map(PathBuf::as_path).unwrap_or(&args.dir);
    let found = file_system_of(first, &Root::default());
    let found = found.known();
    let options = found.map(|found| {
        let mut words: Vec<&str> = found.options.split(',').chain(found.super_options.split(',')).collect();
        let mut seen = std::collections::HashSet::new();
        words.retain(|word| seen.insert(*word));
        words.join(",")
    });
    Setting {
        tool: TOOL.into(),
        command: session::command_line(),
        machine: created.machine.clone(),
        file_system: found.map_or("an unknown file system".into(), |found| found.kind.clone()),
        source: found.map(|found| found.source.clone()).unwrap_or_default(),
        mount_options: options.unwrap_or_default(),
        scratch_bytes: args.scratch.map(|size| size.0),
        image_direct: stage.image_direct(),
        age: args.age.as_ref().map(ToString::to_string),
        holes: args.age.as_ref().map(|age| age.hole),
    }
}

fn write_json(path: &Path, value: &impl serde::Serialize) -> Result<(), Failure> {
    write(path, |out| {
        serde_json::to_writer_pretty(&mut *out, value)?;
        Ok(writeln!(out)?)
    })
}

fn write(path: &Path, fill: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>) -> Result<(), Failure> {
    let write = || -> anyhow::Result<()> {
        let mut out = BufWriter::new(new_file(path)?);
        fill(&mut out)?;
        Ok(out.flush()?)
    };
    write().with_context(|| format!("cannot write {}", shown(&path))).map_err(Failure::broke)
}
