//! Merges archives: the records of all parts in the order of their completions, on one clock, and facts about the whole
//! run.

use crate::clock::ClockMap;
use crate::part::on_host;
use iosonar_archive::{
    Archive, ArchiveError, Breakage, ClockInfo, LogEnd, LogWriter, PassTimes, PhaseTimes, Record,
    ResolvedSetup, RunInfo, RunState, SeriesLog,
};
use iosonar_evidence::{Layer, Series};
use iosonar_plan::{Nanos, Plan};
use iosonar_text::shown;
use std::collections::HashMap;
use std::fmt::Display;
use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, ScopedJoinHandle};

/// Batch size of records, and number of batches read ahead.
const TOGETHER: usize = 1 << 9;
const AHEAD: usize = 4;

/// Result of a part.
pub(crate) struct PartResult {
    /// Name in messages.
    pub(crate) name: String,
    /// Its machine; `None` for this one.
    pub(crate) host: Option<String>,
    /// Numbers of its targets.
    pub(crate) targets: Vec<u16>,
    /// Its archive; `None` if missing or unreadable.
    pub(crate) archive: Option<Archive>,
    /// Facts about its run.
    pub(crate) info: RunInfo,
    /// Its clock.
    pub(crate) clock: PartClock,
    /// Its workers have the numbers of the whole run: it is a merged result itself.
    pub(crate) is_numbered: bool,
    /// Why its part is incomplete, if it is the cause.
    pub(crate) failed: Option<String>,
    /// Why records of its archive are missing in the result, and their location.
    pub(crate) unread: Option<String>,
}

/// From the times of a part to those of the run.
#[derive(Debug, Clone, Default)]
pub(crate) struct PartClock {
    pub(crate) map: ClockMap,
    /// Time zero of the run, on the clocks here and there.
    pub(crate) here: u64,
    pub(crate) there: u64,
}

impl PartClock {
    /// A time of the part, on the clock of the run. Times before its start are at the start.
    pub(crate) fn of_run(&self, time: Nanos) -> Nanos {
        Nanos(self.map.here(self.there.saturating_add(time.0)).here.saturating_sub(self.here))
    }
}

/// Message about records in this directory that are missing in the result.
pub(crate) fn unread(dir: &Path, why: impl Display) -> String {
    format!("its records cannot all be read ({why}); they stay in {}", shown(&dir))
}

/// Writes the records of all parts to a log. An unreadable part does not affect the records of the others: its `unread`
/// is set.
///
/// # Errors
/// Writing to the log failed.
pub(crate) fn merge_records(plan: &Plan, parts: &mut [PartResult], log: &mut LogWriter) -> io::Result<()> {
    let (written, ends) = thread::scope(|scope| {
        let start = |part| {
            let (to, from) = sync_channel(AHEAD);
            let reader = scope.spawn(move || read(plan, part, &to));
            (Run { from, batch: Vec::new().into_iter(), next: None }, reader)
        };
        let (mut runs, readers): (Vec<Run>, Vec<_>) = parts.iter().map(start).unzip();
        let written = write(&mut runs, log);
        drop(runs);
        let end = |reader: ScopedJoinHandle<'_, _>| reader.join().expect("reading records does not panic");
        (written, readers.into_iter().map(end).collect::<Vec<Result<LogEnd, ArchiveError>>>())
    });
    for (part, end) in parts.iter_mut().zip(ends) {
        let why = match end {
            Ok(end) => Some(end.damage.to_string()).filter(|_| end.damage.places > 0),
            Err(error) => Some(error.to_string()),
        };
        if let (Some(why), Some(archive)) = (why, &part.archive) {
            part.unread = Some(unread(archive.dir(), why));
        }
    }
    written
}

/// Adds the samples of this machine's counters: each series from the first local process that has it. Series of
/// processes and of other machines are skipped.
pub(crate) fn merge_series(parts: &[PartResult], log: &mut SeriesLog) -> Result<(), ArchiveError> {
    let mut givers: HashMap<Series, usize> = HashMap::new();
    for (number, part) in parts.iter().enumerate().filter(|(_, part)| part.host.is_none()) {
        let Some(archive) = &part.archive else { continue };
        let mut written = Ok(());
        archive.for_each_sample(&mut |time, series, value| {
            let is_own = series.layer() == Some(Layer::Process);
            if is_own || *givers.entry(series.clone()).or_insert(number) != number {
                return;
            }
            let appended = log
                .append(part.clock.of_run(Nanos(time)).0, [(series.to_string().as_str(), value)].into_iter());
            if written.is_ok() {
                written = appended;
            }
        })?;
        written.map_err(|error| ArchiveError::Io { path: shown(archive.dir()).to_string(), error })?;
    }
    Ok(())
}

/// Records of a part, read ahead in a separate thread.
struct Run {
    from: Receiver<Vec<Record>>,
    batch: std::vec::IntoIter<Record>,
    next: Option<Record>,
}

impl Run {
    /// Advances to the next record.
    fn advance(&mut self) {
        self.next = self.batch.next().or_else(|| {
            self.batch = self.from.recv().ok()?.into_iter();
            self.batch.next()
        });
    }
}

/// Time of a record in the merged order.
fn time_of(record: &Record) -> Nanos {
    record.completed.unwrap_or(record.due)
}

fn write(runs: &mut [Run], log: &mut LogWriter) -> io::Result<()> {
    runs.iter_mut().for_each(Run::advance);
    let mut ready = Vec::with_capacity(TOGETHER);
    loop {
        let first = runs.iter_mut().filter(|run| run.next.is_some());
        let Some(first) = first.min_by_key(|run| run.next.as_ref().map(time_of)) else { break };
        ready.extend(first.next.take());
        first.advance();
        if ready.len() == TOGETHER {
            log.append(&ready)?;
            ready.clear();
        }
    }
    log.append(&ready)
}

/// Passes the records of a part to `f`, as they are in the whole run.
pub(crate) fn for_each_moved(
    plan: &Plan,
    part: &PartResult,
    f: &mut dyn FnMut(Record),
) -> Result<LogEnd, ArchiveError> {
    let Some(archive) = &part.archive else { return Ok(LogEnd::default()) };
    archive.for_each_record(&mut |record| {
        // A remote archive is untrusted: records that do not belong to the part are dropped.
        if part.targets.contains(&record.target) && usize::from(record.phase) < plan.phases.len() {
            f(moved(plan, part, *record));
        }
    })
}

fn read(plan: &Plan, part: &PartResult, to: &SyncSender<Vec<Record>>) -> Result<LogEnd, ArchiveError> {
    let mut batch = Vec::with_capacity(TOGETHER);
    let end = for_each_moved(plan, part, &mut |record| {
        batch.push(record);
        if batch.len() == TOGETHER {
            // If the log cannot be written, there is no receiver.
            let _ = to.send(std::mem::replace(&mut batch, Vec::with_capacity(TOGETHER)));
        }
    });
    let _ = to.send(batch);
    end
}

/// Converts a record to the whole plan.
fn moved(plan: &Plan, part: &PartResult, record: Record) -> Record {
    let here = |time| part.clock.of_run(time);
    Record {
        worker: if part.is_numbered { record.worker } else { worker(plan, part, &record) },
        load_time: if record.load_time == record.due { here(record.due) } else { record.load_time },
        due: here(record.due),
        released: record.released.map(here),
        submitted: record.submitted.map(here),
        completed: record.completed.map(here),
        ..record
    }
}

/// Number of a worker among those of all jobs of its phase: a part counts only its own.
fn worker(plan: &Plan, part: &PartResult, record: &Record) -> u16 {
    let Some(phase) = plan.phases.get(usize::from(record.phase)) else { return record.worker };
    let before = phase.jobs.iter().take_while(|job| job.target != record.target);
    let others = before.filter(|job| !part.targets.contains(&job.target));
    let loops: u32 = others.map(|job| job.workload.jobs()).sum();
    record.worker.saturating_add(u16::try_from(loops).unwrap_or(u16::MAX))
}

/// Merges the facts about the run. `info` has its start; `is_stopped`: a signal ended it.
pub(crate) fn merge_info(info: RunInfo, parts: &[PartResult], is_stopped: bool) -> RunInfo {
    let mut info = RunInfo { setup: ResolvedSetup::default(), ..info };
    parts.iter().for_each(|part| add_part(&mut info, part));
    info.passes.sort_by_key(|pass| (pass.phase, pass.pass, pass.target, pass.job));
    conclude(&mut info, parts, is_stopped);
    info
}

/// Adds the facts about a part's run.
pub(crate) fn add_part(info: &mut RunInfo, part: &PartResult) {
    for target in &part.targets {
        let number = usize::from(*target);
        if let (Some(own), Some(of_part)) = (info.targets.get_mut(number), part.info.targets.get(number)) {
            *own = on_host(part.host.as_deref(), of_part);
        }
    }
    add_times(info, part);
    info.recorder_stalls.merge(part.info.recorder_stalls);
    info.push_back_stalls.merge(part.info.push_back_stalls);
    info.buffer_stalls.merge(part.info.buffer_stalls);
    info.cpu.user_ns = info.cpu.user_ns.saturating_add(part.info.cpu.user_ns);
    info.cpu.system_ns = info.cpu.system_ns.saturating_add(part.info.cpu.system_ns);
    add_setup(&mut info.setup, &part.info.setup);
}

/// The run is finished if all parts are. If one broke, the others report only that. If one was lost, the others may have been stopped for
/// that.
fn conclude(info: &mut RunInfo, parts: &[PartResult], is_stopped: bool) {
    let reasons = |part: &PartResult| {
        let reasons = part.failed.iter().chain(&part.unread);
        reasons.map(|why| format!("{}: {why}", part.name)).collect::<Vec<_>>()
    };
    let mut reasons: Vec<String> = parts.iter().flat_map(reasons).collect();
    let was_interrupted = |part: &&PartResult| matches!(part.info.state, RunState::Interrupted(_));
    let interrupted = parts.iter().find(was_interrupted);
    if let Some(part) = interrupted.filter(|_| is_stopped || reasons.is_empty()) {
        // The run ended by the signal. Keep parts that were lost earlier as lost.
        info.setup.notices.extend(reasons);
        info.state = part.info.state.clone();
        return;
    }
    // If every target has ended early, no other part continued. A process with all targets reports that itself.
    if info.targets.iter().all(|target| target.ended_early.is_some()) {
        let unnamed = parts.iter().filter(|part| part.failed.is_none());
        reasons.extend(unnamed.flat_map(|part| early_ends(info, part)));
    }
    let others = parts.iter().map(|part| &part.info.state).find(|state| **state != RunState::Finished);
    info.state = match reasons.is_empty() {
        true => others.unwrap_or(&RunState::Finished).clone(),
        false => RunState::Broken(Breakage::of(&reasons)),
    };
}

/// Reasons of the early ends of a part's targets.
fn early_ends(info: &RunInfo, part: &PartResult) -> Vec<String> {
    let targets = part.targets.iter().filter_map(|number| info.targets.get(usize::from(*number)));
    let early = targets.filter_map(|target| Some((&target.path, target.ended_early.as_ref()?)));
    early.map(|(path, why)| format!("target {path}: {why}")).collect()
}

fn add_times(info: &mut RunInfo, part: &PartResult) {
    for (number, phase) in part.info.phases.iter().enumerate() {
        let of = |time| part.clock.of_run(time);
        let own = PhaseTimes { name: phase.name.clone(), start: of(phase.start), end: of(phase.end) };
        match info.phases.get_mut(number) {
            Some(all) => {
                all.start = all.start.min(own.start);
                all.end = all.end.max(own.end);
            }
            None => info.phases.push(own),
        }
    }
    let moved = |pass: &PassTimes| PassTimes {
        start: part.clock.of_run(pass.start),
        end: part.clock.of_run(pass.end),
        ..*pass
    };
    info.passes.extend(part.info.passes.iter().map(moved));
}

fn add_setup(all: &mut ResolvedSetup, part: &ResolvedSetup) {
    if all.engine.is_empty() {
        all.engine.clone_from(&part.engine);
    }
    if all.fallback.is_none() {
        all.fallback.clone_from(&part.fallback);
    }
    for notice in &part.notices {
        if !all.notices.contains(notice) {
            all.notices.push(notice.clone());
        }
    }
    all.spin = all.spin.max(part.spin);
    all.buffer_bytes = all.buffer_bytes.saturating_add(part.buffer_bytes);
    let worst = if all.clock.source.is_empty() { &part.clock } else { &all.clock };
    all.clock = ClockInfo { error: all.clock.error.max(part.clock.error), ..worst.clone() };
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_archive::{ArchiveWriter, Interruption, Signal, TOOL, TargetInfo};
    use iosonar_plan::{ByteSize, Executor, Generator, Job, Order, Phase, Target, Workload};

    fn plan() -> Plan {
        let job = |target| {
            let generator = Generator { jobs: 2, ..Generator::new(Order::Sequential, ByteSize(4096)) };
            Job::new(target, 1, Workload::Generated(generator))
        };
        let target = |path| Target { executor: Executor::Process, ..Target::new(path) };
        let phase = |name: &str| Phase { name: name.into(), ..Phase::of(vec![job(0), job(1)]) };
        Plan::new(1, vec![target("a"), target("b")], vec![phase("write"), phase("read")])
    }

    fn info() -> RunInfo {
        let target = |path: &str| TargetInfo { path: path.into(), ..TargetInfo::default() };
        RunInfo { state: RunState::Finished, ..RunInfo::new(TOOL, "", vec![target("a"), target("b")]) }
    }

    fn record(phase: u16, target: u16, worker: u16, completed: u64) -> Record {
        Record {
            phase,
            target,
            worker,
            due: Nanos(completed - 10),
            load_time: Nanos(completed - 10),
            submitted: Some(Nanos(completed - 5)),
            completed: Some(Nanos(completed)),
            ..Record::default()
        }
    }

    fn part(folder: &Path, target: u16, shift: i64, records: &[Record]) -> PartResult {
        let dir = folder.join(target.to_string());
        let writer = ArchiveWriter::create(&dir, &plan(), &serde_json::Value::Null, &info()).unwrap();
        writer.record_log().unwrap().append(records).unwrap();
        PartResult {
            name: format!("process {target}"),
            host: None,
            targets: vec![target],
            archive: Some(Archive::open(&dir).unwrap()),
            info: info(),
            clock: PartClock {
                map: ClockMap::default(),
                here: (-shift).max(0) as u64,
                there: shift.max(0) as u64,
            },
            is_numbered: false,
            failed: None,
            unread: None,
        }
    }

    #[test]
    fn merges_records_by_completion_on_one_clock() {
        let folder = tempfile::tempdir().unwrap();
        let own: Vec<Record> = (1..=1000).map(|n| record(0, 0, (n % 2) as u16, 100 * n)).collect();
        let other = [record(0, 1, 0, 1050), record(0, 1, 1, 1250), record(1, 1, 0, 500_000)];
        let mut parts = [part(folder.path(), 0, 0, &own), part(folder.path(), 1, -1000, &other)];
        let merged = folder.path().join("merged");
        let writer = ArchiveWriter::create(&merged, &plan(), &serde_json::Value::Null, &info()).unwrap();
        merge_records(&plan(), &mut parts, &mut writer.record_log().unwrap()).unwrap();
        let mut all = Vec::new();
        Archive::open(&merged).unwrap().for_each_record(&mut |record| all.push(*record)).unwrap();
        assert_eq!(all.len(), 1003);
        assert!(all.is_sorted_by_key(time_of));
        assert_eq!(all[0], Record { worker: 2, ..record(0, 1, 0, 50) });
        let last = all.last().unwrap();
        assert_eq!((last.worker, last.completed, last.due), (2, Some(Nanos(499_000)), Nanos(498_990)));
        assert!(all.iter().filter(|r| r.target == 0).all(|r| r.worker < 2));
    }

    #[test]
    fn merges_machine_series_from_one_local_process() {
        let folder = tempfile::tempdir().unwrap();
        let mut parts = [0, 1, 2].map(|target| part(folder.path(), target, 0, &[]));
        parts[0].host = Some("alpha".into());
        let samples = [
            [("cpu.user_ticks", 1.0), ("sda.read_ios", 1.0), ("self.rss_bytes", 1.0)],
            [("cpu.user_ticks", 2.0), ("sda.read_ios", 2.0), ("self.rss_bytes", 2.0)],
            [("cpu.user_ticks", 3.0), ("sdb.read_ios", 3.0), ("sdc.read_ios", 3.0)],
        ];
        for (target, samples) in samples.iter().enumerate() {
            let archive = parts[target].archive.as_ref().unwrap();
            ArchiveWriter::resume(archive).series_log().unwrap().append(70, samples.iter().copied()).unwrap();
        }
        let merged = folder.path().join("merged");
        let writer = ArchiveWriter::create(&merged, &plan(), &serde_json::Value::Null, &info()).unwrap();
        merge_series(&parts, &mut writer.series_log().unwrap()).unwrap();
        let mut found = Vec::new();
        let archive = Archive::open(&merged).unwrap();
        archive
            .for_each_sample(&mut |time, series, value| found.push((time, series.to_string(), value)))
            .unwrap();
        found.sort_by(|a, b| a.1.cmp(&b.1));
        let expected =
            [("cpu.user_ticks", 2.0), ("sda.read_ios", 2.0), ("sdb.read_ios", 3.0), ("sdc.read_ios", 3.0)];
        assert_eq!(found, expected.map(|(name, value)| (70, name.to_string(), value)));
    }

    #[test]
    fn merge_sums_known_facts_and_names_the_cause() {
        let folder = tempfile::tempdir().unwrap();
        let mut parts = [part(folder.path(), 0, 0, &[]), part(folder.path(), 1, 5, &[])];
        let times = |start, end| PhaseTimes { name: "write".into(), start: Nanos(start), end: Nanos(end) };
        for (part, times) in parts.iter_mut().zip([times(100, 200), times(90, 300)]) {
            part.info.phases = vec![times];
            part.info.cpu.user_ns = 7;
            part.info.setup.notices = vec!["a notice".into()];
            let own = usize::from(part.targets[0]);
            part.info.targets[own].size = 4096 + own as u64;
        }
        let merged = merge_info(info(), &parts, false);
        assert_eq!(merged.phases, [times(95, 305)]);
        assert_eq!((merged.cpu.user_ns, merged.setup.notices.len()), (14, 1));
        assert_eq!((merged.targets[0].size, merged.targets[1].size), (4096, 4097));
        assert_eq!(merged.state, RunState::Finished);
        parts[0].info.state = RunState::Broken("another process did not do all of phase write".into());
        parts[1].info.state = RunState::Broken("target b: no space left".into());
        parts[1].failed = Some("target b: no space left".into());
        let state = merge_info(info(), &parts, false).state;
        assert_eq!(state, RunState::Broken("process 1: target b: no space left".into()));
        parts[0].info.state = RunState::Interrupted(Interruption::Signal(Signal::INTERRUPT));
        // Without a signal to the coordinator, it was stopped because the other one was lost.
        let stopped = merge_info(info(), &parts, false);
        assert_eq!(stopped.state, RunState::Broken("process 1: target b: no space left".into()));
        let stopped = merge_info(info(), &parts, true);
        assert_eq!(stopped.state, RunState::Interrupted(Interruption::Signal(Signal::INTERRUPT)));
        assert_eq!(stopped.setup.notices, ["a notice", "process 1: target b: no space left"]);
    }

    #[test]
    fn unreadable_part_keeps_records_of_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let records: Vec<Record> = (1..=100).map(|n| record(0, 0, 0, 100 * n)).collect();
        let others: Vec<Record> = records.iter().map(|r| Record { target: 1, ..*r }).collect();
        let mut parts = [part(folder.path(), 0, 0, &records), part(folder.path(), 1, 0, &others)];
        std::fs::remove_file(folder.path().join("1/records.log")).unwrap();
        let merged = folder.path().join("merged");
        let writer = ArchiveWriter::create(&merged, &plan(), &serde_json::Value::Null, &info()).unwrap();
        merge_records(&plan(), &mut parts, &mut writer.record_log().unwrap()).unwrap();
        let mut all = 0;
        Archive::open(&merged).unwrap().for_each_record(&mut |_| all += 1).unwrap();
        assert_eq!((all, parts[0].unread.is_none()), (100, true));
        let RunState::Broken(why) = merge_info(info(), &parts, false).state else {
            panic!("it is not whole")
        };
        let why = why.to_string();
        assert!(why.starts_with("process 1: its records cannot all be read ("), "{why}");
        assert!(why.ends_with(&format!("they stay in {}", shown(&folder.path().join("1")))), "{why}");
    }

    #[test]
    fn a_run_whose_targets_all_ended_early_is_broken() {
        let folder = tempfile::tempdir().unwrap();
        let mut parts = [part(folder.path(), 0, 0, &[]), part(folder.path(), 1, 0, &[])];
        parts[0].info.targets[0].ended_early = Some("3 requests failed".into());
        assert_eq!(merge_info(info(), &parts, false).state, RunState::Finished);
        parts[1].info.targets[1].ended_early = Some("it is gone".into());
        parts[1].host = Some("beta".into());
        let why = "target a: 3 requests failed; target beta:b: it is gone";
        assert_eq!(merge_info(info(), &parts, false).state, RunState::Broken(why.into()));
    }
}
