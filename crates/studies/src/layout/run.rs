//! Executes the experiment.

use super::answer::{Answer, Measured};
use super::free_before::{FreeMaps, left_by};
use super::question::Question;
use super::stage::{self, Stage};
use crate::cells::{failure_of, machine, stats_of};
use crate::verdict;
use anyhow::Context;
use iosonar_analyze::{CellStats, CountUntil, DeviceReads, device_reads};
use iosonar_archive::{Archive, RunInfo, RunState, TOOL};
use iosonar_cells::creation::{
    CreationAnswer, Experiment, FileAnswer, ScanReads, Setting, Trial, creation_csv,
};
use iosonar_host::extent_map::{Keep, MapReader};
use iosonar_host::output::check_absent;
use iosonar_host::{Layer, Root, file_system_of};
use iosonar_inputs::Input;
use iosonar_layout::{Map, MapsJson};
use iosonar_os::create::{new_dirs, new_file};
use iosonar_os::open_to_inspect;
use iosonar_os::page_cache::page_bytes;
use iosonar_runner::{Concluded, Error, Notice, Ready, Session};
use iosonar_story::creation_story;
use iosonar_text::csv::Form;
use iosonar_text::shown;
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Creates files in several ways, scans them, and compares the ways. The directory of the results holds the archives of both runs, the
/// figures and the maps. All else that was created is removed, unless the question keeps the files.
///
/// # Errors
/// The question is refused, a file system cannot be made, a result cannot be written, or the session was stopped.
pub fn run(session: &Session, question: &Question) -> Result<Answer, Error> {
    let experiment = question.experiment()?;
    check_absent("--out", &question.out).map_err(Error::refused)?;
    // Refuses impossible plans before anything is created.
    let names: Vec<_> = experiment.methods.iter().map(|method| stage::names(method, &question.dir)).collect();
    experiment.creation(&names).map_err(Error::refused)?;
    let stage = Stage::build(session, question, &experiment)?;
    let measured = measure(session, question, &experiment, &stage);
    // Remove created files first: an answer that cannot be used must not keep them.
    let removed = stage.remove();
    let answer = measured?;
    removed?;
    Ok(answer)
}

fn measure(
    session: &Session,
    question: &Question,
    experiment: &Experiment,
    stage: &Stage,
) -> Result<Answer, Error> {
    let out = &question.out;
    let plan = experiment.creation(&stage.files).map_err(Error::refused)?;
    let free = FreeMaps::read(stage);
    let ready = session.prepare(plan).map_err(Error::refused)?;
    stage.note_made(ready.prepared().made());
    new_dirs(out).with_context(|| shown(out).to_string()).map_err(Error::refused)?;
    let created = execute(session, ready, &out.join("create"))?;
    if !created.is_fine() {
        return Ok(created.answer(None));
    }
    stage.check()?;
    let maps = read_maps(&stage.files)?;
    let plan = experiment.scans(&stage.files).map_err(Error::refused)?;
    let scanned = execute(session, session.prepare(plan).map_err(Error::refused)?, &out.join("scan"))?;
    let after = read_maps(&stage.files)?;
    let pairs = maps.iter().zip(&after).enumerate();
    let files = pairs.map(|(method, (before, after))| answers(before, after, free.of(method))).collect();
    let free = free.states;
    let setting = setting(session, question, stage, &created);
    let (creation, scans) = (&created.stats[..], &scanned.stats[..]);
    let device_reads = scan_reads(stage, &scanned.reads);
    let page_bytes = page_bytes();
    let trial = Trial { experiment, setting, creation, scans, files, device_reads, free, page_bytes };
    let creation = CreationAnswer { fake: scanned.fake.clone(), ..trial.answer() };
    let creation = CreationAnswer { story: Some(creation_story(&creation)), ..creation };
    let maps: Vec<Map> = maps.into_iter().flatten().collect();
    keep(question, &creation, &maps)?;
    Ok(scanned.answer(Some(Measured { creation, maps })))
}

/// Keeps the figures and the maps beside the archives.
fn keep(question: &Question, creation: &CreationAnswer, maps: &[Map]) -> Result<(), Error> {
    let out = &question.out;
    write_json(&out.join("layout.json"), creation)?;
    write_json(&out.join("maps.json"), &MapsJson { tool: TOOL, maps, errors: &[] })?;
    let form = Form { safe: question.csv_safe, crlf: false };
    write(&out.join("layout.csv"), |file| Ok(file.write_all(creation_csv(creation, form).as_bytes())?))
}

/// An executed plan.
struct LayoutRun {
    /// The machine, in words.
    machine: String,
    stats: Vec<CellStats>,
    /// Reads of devices meanwhile, by device name.
    reads: BTreeMap<String, DeviceReads>,
    info: RunInfo,
    /// The verdict, if its figures are not what they claim to be.
    fake: Option<String>,
}

impl LayoutRun {
    fn is_whole(&self) -> bool {
        self.stats.iter().all(|stats| stats.is_whole)
    }

    /// Whether the next part makes sense.
    fn is_fine(&self) -> bool {
        let has_ended_early = self.info.targets.iter().any(|target| target.ended_early.is_some());
        self.info.state == RunState::Finished && self.is_whole() && self.fake.is_none() && !has_ended_early
    }

    fn answer(self, measured: Option<Measured>) -> Answer {
        Answer { measured, is_whole: self.is_whole(), is_fake: self.fake.is_some(), info: self.info }
    }
}

fn execute(session: &Session, ready: Ready, dir: &Path) -> Result<LayoutRun, Error> {
    let ended = session.execute(ready, dir)?;
    let Concluded { info, figures, .. } =
        session.conclude(ended, Default::default()).map_err(Error::broke)?;
    let fake = verdict::report(session, &figures.summary);
    let archive = Archive::open(dir)?;
    let machine = machine(&archive).words;
    let reads = device_reads(&archive)?;
    let stats = stats_of(&Input::of_archive(archive)?, &info, CountUntil::OwnEnd)?;
    for why in stats.iter().filter_map(failure_of) {
        session.observer.notice(&Notice::Remark(&why));
    }
    Ok(LayoutRun { machine, stats, reads, info, fake })
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

fn read_maps(files: &[Vec<PathBuf>]) -> Result<Vec<Vec<Map>>, Error> {
    let mut reader = MapReader::new(true, Keep::Extents);
    let mut read = |path: &PathBuf| {
        let map = open_to_inspect(path).and_then(|file| reader.read(path, &file).map_err(io::Error::other));
        map.with_context(|| shown(path).to_string()).map_err(Error::broke)
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

fn setting(session: &Session, question: &Question, stage: &Stage, created: &LayoutRun) -> Setting {
    let first = stage.files.iter().flatten().next().map(PathBuf::as_path).unwrap_or(&question.dir);
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
        command: session.command.clone(),
        machine: created.machine.clone(),
        file_system: found.map_or("an unknown file system".into(), |found| found.kind.clone()),
        source: found.map(|found| found.source.clone()).unwrap_or_default(),
        mount_options: options.unwrap_or_default(),
        scratch_bytes: question.scratch.as_ref().map(|spec| spec.size),
        image_direct: stage.image_direct(),
        age: question.age.as_ref().map(ToString::to_string),
        holes: question.age.as_ref().map(|age| age.hole),
    }
}

fn write_json(path: &Path, value: &impl serde::Serialize) -> Result<(), Error> {
    write(path, |out| {
        serde_json::to_writer_pretty(&mut *out, value)?;
        Ok(writeln!(out)?)
    })
}

fn write(path: &Path, fill: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>) -> Result<(), Error> {
    let write = || -> anyhow::Result<()> {
        let mut out = BufWriter::new(new_file(path)?);
        fill(&mut out)?;
        Ok(out.flush()?)
    };
    write().with_context(|| format!("cannot write {}", shown(&path))).map_err(Error::broke)
}
