//! A run: its phases one after the other, the sampler of counters, time zero, the end.

use crate::control::Control;
use crate::error::RunError;
use crate::injected::Injected;
use crate::journal::Journal;
use crate::loops::{LoopEnd, StageEnd};
use crate::paths::one_for_each_path;
use crate::pools::Pools;
use crate::prepare::{Claimed, FittedJob, JobReady, Prepared, range_of};
use crate::progress::Progress;
use crate::rendezvous::{Alone, Rendezvous};
use crate::sampling::{EndsRun, RunMoments, Sampled, sample};
use crate::setup::equip;
use crate::shared::Shared;
use crate::stage::Stage;
use crate::verify::{ScanTarget, Verifier, name_faults, remember_outside, scan_targets};
use crate::worker::{WorkerCounters, WorkerEnd, WorkerError};
use iosonar_archive::{
    ArchiveWriter, Breakage, Checks, CpuUse, JOURNAL_SLOTS, LogWriter, RunInfo, RunState, Stalls, TargetInfo,
    TargetMap,
};
use iosonar_backend::Store;
use iosonar_evidence::WrittenRange;
use iosonar_host::Root;
use iosonar_host::extent_map::{Keep, MapReader};
use iosonar_host::sampler::{Sampler, ThreadTimes};
use iosonar_load::IssuedHash;
use iosonar_os::usage::own_cpu_time;
use iosonar_os::{Clock, monotonic_ns, realtime_ns};
use iosonar_plan::{Claim, FileStep, Nanos, Phase};
use iosonar_record::Frames;
use iosonar_text::shown;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};

/// Extents of a file whose map is kept: some 100 MiB of memory while it is read and written.
const MOST_EXTENTS: usize = 1 << 20;

/// Outcome of a run.
#[derive(Default)]
struct RunOutcome {
    loops: Vec<LoopEnd>,
    /// Reasons why the run was aborted.
    broken: Vec<String>,
    /// Whether it was stopped.
    stopped: bool,
}

impl RunOutcome {
    /// Closes the backends that the loops kept open.
    fn close(&mut self) {
        self.loops.iter_mut().for_each(|end| end.worker.open = None);
    }

    /// Adds a phase that is over; returns its log where another one follows. `names` are those of both phases.
    fn take(&mut self, ended: StageEnd, names: Option<(&String, &String)>) -> Option<LogWriter> {
        let (is_whole, is_stopped) = (ended.is_whole(), ended.is_stopped());
        self.stopped |= is_stopped;
        self.loops.extend(ended.loops);
        if let Some((own, next)) = names.filter(|_| !is_whole && !is_stopped) {
            self.broken
                .push(format!("phase {next} was not started, because phase {own} ended before its end"));
        }
        match ended.log {
            Ok(log) => Some(log).filter(|_| is_whole),
            Err(error) => {
                self.broken.insert(0, Breakage::unwritten(error));
                None
            }
        }
    }
}

impl Prepared {
    /// Facts known before the start; [`Prepared::run`] returns them completed.
    pub fn info(&self, tool: &str, command: &str) -> RunInfo {
        let targets = self.targets.iter().zip(self.jobs_by_target());
        let targets = targets.map(|(claimed, jobs)| self.target_info(claimed, &jobs)).collect();
        RunInfo {
            started_unix_ns: realtime_ns(),
            origin_monotonic_ns: monotonic_ns(),
            part: self.part(),
            ..RunInfo::new(tool, command, targets).started_here()
        }
    }

    fn target_info(&self, claimed: &Claimed, jobs: &[(&Phase, &FittedJob)]) -> TargetInfo {
        let mut sources: Vec<String> = jobs.iter().map(|(_, job)| job.workload.name()).collect();
        sources.dedup();
        let facts = || jobs.iter().filter_map(|(_, job)| job.workload.facts());
        let size = jobs.iter().map(|(_, job)| job.placement.size()).max().unwrap_or(0);
        let range = range_of(jobs);
        let max_requested_end = facts().map(|facts| facts.max_end).max().unwrap_or(0);
        let request_bytes = jobs.iter().filter_map(|(_, job)| job.usual_bytes()).max();
        let extents = || Some(claimed.looked.extents(range.clone(), request_bytes?));
        TargetInfo {
            path: claimed.looked.target.path.display().to_string(),
            source: sources.join("; "),
            size,
            block: jobs.iter().map(|(_, job)| job.placement.block()).max().unwrap_or(0),
            max_requested_end,
            rounded_requests: jobs.iter().map(|(phase, job)| job.rounded_requests(phase.passes)).sum(),
            input_lines: 0,
            bad_lines: facts().map(|facts| facts.bad_lines).sum(),
            back_shifts: facts().map(|facts| facts.back_shifts).sum(),
            max_waiting: None,
            max_in_flight: None,
            expected_requests: jobs.iter().map(|(phase, job)| job.expected_requests(phase.passes)).sum(),
            ended_early: None,
            issued_hash: String::new(),
            hole_bytes: *claimed.hole_bytes.get_or_init(|| claimed.looked.hole_bytes(range.clone())),
            cached_bytes: *claimed.cached_bytes.get_or_init(|| {
                let may_hit = jobs.iter().any(|(phase, job)| self.may_hit_the_page_cache(phase, job));
                may_hit.then(|| claimed.looked.cached_bytes(range.clone())).flatten()
            }),
            hole_range_bytes: range.end - range.start,
            written: written(jobs.iter().map(|(phase, job)| (*job, phase.passes))),
            extents: *claimed.extents.get_or_init(|| extents().flatten()),
            left_out_flushes: jobs.iter().map(|(_, job)| job.workload.left_out_flushes()).sum(),
            left_out_discards: jobs.iter().map(|(_, job)| job.workload.left_out_discards()).sum(),
            checks: jobs.iter().any(|(_, job)| job.job.options.verify.is_some()).then(Checks::default),
        }
    }

    /// Whether a job may find in the page cache the data that it reads, and that would be no result.
    fn may_hit_the_page_cache(&self, phase: &Phase, job: &FittedJob) -> bool {
        let is_emptied = phase.remount.is_some() || job.job.options.before.contains(&FileStep::Evict);
        let is_of_device = matches!(self.plan.claim(), Claim::Device | Claim::Replay);
        is_of_device && job.workload.reads() && self.plan.is_buffered(&job.job) && !is_emptied
    }

    /// Executes the plan. Failures during the run are in the archive and in the state of the result; an error means that nothing
    /// was started. `info` is the result of [`Prepared::info`].
    pub fn run(
        &self,
        archive: &ArchiveWriter,
        info: RunInfo,
        control: &Control,
        progress: &Arc<Progress>,
    ) -> Result<RunInfo, RunError> {
        self.run_with(archive, info, control, progress, &Alone)
    }

    /// [`Prepared::run`] together with other processes, on real time.
    pub fn run_with(
        &self,
        archive: &ArchiveWriter,
        mut info: RunInfo,
        control: &Control,
        progress: &Arc<Progress>,
        others: &dyn Rendezvous,
    ) -> Result<RunInfo, RunError> {
        let clock = Clock::from_origin(u64::MAX);
        info.setup = self.setup(&clock);
        let (notices, threads) = (Mutex::new(Vec::new()), ThreadTimes::default());
        let (injected, verifier) =
            (Injected::new(&self.plan, &self.jobs_by_target()), Verifier::new(&self.plan, self.identities()));
        let journal = self.journal()?;
        let shared = Shared {
            clock: &clock,
            control,
            progress,
            notices: &notices,
            threads: &threads,
            others,
            frames: &Frames::default(),
            pools: &Pools::default(),
            stores: &self.stores(),
            injected: injected.as_ref(),
            verifier: verifier.as_ref(),
            journal: journal.as_ref(),
        };
        if let Some(verifier) = &verifier {
            remember_outside(&self.plan, self.targets_to_scan(), self.stages(), verifier, shared);
        }
        let mut cpu = own_cpu_time();
        let begin = |info: &mut RunInfo| {
            clock.set_origin(match self.is_timed() {
                true => {
                    others.begin(0, monotonic_ns() + self.plan.start_grace.0).map_err(RunError::Others)?
                }
                false => monotonic_ns(),
            });
            info.origin_monotonic_ns = clock.origin();
            info.started_unix_ns = (realtime_ns() + clock.origin()).saturating_sub(monotonic_ns());
            cpu = own_cpu_time();
            // Written again at the end; a disk that is full by now shows in the records, too.
            let _ = archive.write_run(info);
            Ok(())
        };
        let executed = self.execute(archive, shared, &mut info, begin);
        let (outcome, sampled) = executed.inspect_err(|_| journal.iter().for_each(Journal::discard))?;
        let used = own_cpu_time();
        injected.iter().for_each(Injected::disarm);
        let ended_at = outcome.loops.iter().map(|end| end.worker.counters.ended_at).max().unwrap_or_default();
        let scan = |verifier| scan_targets(&self.plan, self.targets_to_scan(), verifier, shared, ended_at);
        let scanned = verifier.as_ref().map(scan);
        let unmapped = self.keep_maps(archive);
        let cleaned = self.targets.iter().filter_map(|t| t.file()?.clean_up());
        notices.lock().unwrap_or_else(PoisonError::into_inner).extend(unmapped.into_iter().chain(cleaned));
        info.cpu = CpuUse {
            user_ns: used.user_ns - cpu.user_ns,
            system_ns: used.system_ns - cpu.system_ns,
            watching_ns: progress.watching_ns(),
            sampling_ns: sampled.cpu_ns,
        };
        info.setup.clock.error = info.setup.clock.error.max(sampled.clock_error);
        info.setup.notices.extend(notices.into_inner().unwrap_or_else(PoisonError::into_inner));
        let stopped = outcome.stopped;
        self.conclude(&mut info, outcome);
        info.setup.notices.extend(injected.as_ref().and_then(|injected| injected.keep_ledger(archive)));
        if let (Some(verifier), Some(scan)) = (verifier.filter(|verifier| verifier.is_tracking), scanned) {
            name_faults(&self.plan, &verifier, scan, archive, &mut info);
        }
        if info.state == RunState::Finished && stopped {
            info.state = RunState::Interrupted(control.interruption());
        }
        Ok(info)
    }

    /// The targets with a job here, for the reads of verification.
    fn targets_to_scan(&self) -> impl Iterator<Item = ScanTarget<'_>> {
        let targets = self.targets.iter().zip(self.jobs_by_target()).enumerate();
        targets.filter_map(|(number, (claimed, jobs))| {
            let (_, fitted) = jobs.first()?;
            Some(ScanTarget {
                number: number as u16,
                path: claimed.looked.path(),
                file: claimed.file().map(Arc::as_ref),
                size: fitted.placement.size(),
                block: claimed.direct_block(),
            })
        })
    }

    /// The phases, as fitted before the run.
    fn stages(&self) -> impl Iterator<Item = Stage<'_>> {
        let stage = |(number, jobs): (usize, _)| Stage { prepared: self, jobs, number: number as u16 };
        self.phases.iter().map(Vec::as_slice).enumerate().map(stage)
    }

    /// Creates the journal, where the plan has one.
    fn journal(&self) -> Result<Option<Journal>, RunError> {
        let Some(path) = &self.plan.verify.journal else { return Ok(None) };
        let refused = |why: String| RunError::Journal { path: shown(path).to_string(), why };
        let most = |phase: &Phase| {
            phase.jobs.iter().map(|job| job.depth as usize).max().unwrap_or(0) * phase.loops()
        };
        if self.plan.phases.iter().any(|phase| most(phase) >= JOURNAL_SLOTS) {
            return Err(refused(format!(
                "it has room for {JOURNAL_SLOTS} requests in flight: use a smaller --depth, or fewer jobs"
            )));
        }
        match Journal::create(path, self.plan.run_id) {
            Ok(journal) => Ok(Some(journal)),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                Err(refused("it exists already: name another file, or remove it".into()))
            }
            Err(error) => Err(refused(format!("{error}; it needs 16 MiB in a file that can be mapped"))),
        }
    }

    /// Contents of simulated targets; targets of one name share them.
    fn stores(&self) -> Vec<Store> {
        one_for_each_path(&self.plan, |_| Store::within(self.content.clone()))
    }

    /// The reason for failed writes to simulated targets, if they had no room.
    fn full_content(&self) -> Option<String> {
        self.content.is_full().then(|| {
            format!(
                "the simulated devices hold {} MiB, a quarter of the memory that was available: writes beyond that failed with ENOSPC; use a smaller --size, or fewer requests",
                self.content.bytes() >> 20
            )
        })
    }

    /// Keeps the extent maps of files at the end of the run; returns reasons for failures. Maps are an addition: their failure
    /// costs no result. Nothing is flushed for them: that would be more I/O than the plan has.
    fn keep_maps(&self, archive: &ArchiveWriter) -> Vec<String> {
        let mut reader = MapReader::new(false, Keep::ExtentsUpTo(MOST_EXTENTS));
        let mut told = Vec::new();
        let maps = self.targets.iter().enumerate().filter_map(|(number, claimed)| {
            let file = claimed.file().filter(|file| file.is_file())?;
            match file.map(&mut reader) {
                Ok(map) => Some(TargetMap { target: number as u16, map }),
                Err(error) => {
                    // Many file systems have no maps, and the user has not asked for one.
                    let is_common = error.kind() == std::io::ErrorKind::Unsupported;
                    told.extend((!is_common).then(|| format!("{}: no extent map: {error}", file.path())));
                    None
                }
            }
        });
        let written = archive.write_maps(maps);
        told.extend(written.err().map(|error| format!("the extent maps of files were not kept: {error}")));
        told
    }

    /// Executes one phase after the other; returns their outcome, and that of the sampling.
    fn execute(
        &self,
        archive: &ArchiveWriter,
        shared: Shared<'_>,
        info: &mut RunInfo,
        begin: impl FnOnce(&mut RunInfo) -> Result<(), RunError>,
    ) -> Result<(RunOutcome, Sampled), RunError> {
        let (log, series) = (archive.record_log()?, archive.series_log()?);
        let mut probes = Sampler::of_machine(&self.facts(), &Root::default());
        probes.add(Box::new(shared.threads.clone()));
        let moments = &RunMoments::default();
        std::thread::scope(|scope| {
            let mut sampler = None;
            // Before time zero, when nothing is lost if there is no thread for it.
            let begin = |info: &mut RunInfo| {
                let (every, progress) = (self.plan.sample_every, shared.progress);
                let sampling = move || sample(probes, series, every, shared.clock, moments, progress);
                let started =
                    std::thread::Builder::new().name("sampler".into()).spawn_scoped(scope, sampling);
                sampler = Some(started.map_err(RunError::Threads)?);
                moments.await_first_sample();
                begin(info)?;
                moments.begin();
                Ok(())
            };
            let ends = EndsRun(moments);
            let outcome = self.run_phases(log, shared, info, begin);
            drop(ends);
            // The series are an addition: a sampler that failed costs no result.
            let sampled = sampler.and_then(|sampler| sampler.join().ok()).unwrap_or_default();
            let mut outcome = outcome?;
            outcome.close();
            Ok((outcome, sampled))
        })
    }

    /// Executes the phases beside the sampler. An error means that the first phase did not begin.
    fn run_phases(
        &self,
        mut log: LogWriter,
        shared: Shared<'_>,
        info: &mut RunInfo,
        begin: impl FnOnce(&mut RunInfo) -> Result<(), RunError>,
    ) -> Result<RunOutcome, RunError> {
        let (mut outcome, mut begin) = (RunOutcome::default(), Some(begin));
        let mut last = Nanos(0);
        for (number, phase) in self.plan.phases.iter().enumerate() {
            if number > 0 && shared.control.is_stopped(last) {
                outcome.stopped = true;
                break;
            }
            let start = |info: &mut RunInfo| match begin.take() {
                Some(begin) => begin(info).map(|()| Nanos(0)),
                None => self.next_begin(number as u16, shared, last),
            };
            let ended = match self.run_phase(number as u16, log, shared, info, start) {
                Ok(ended) => ended,
                Err(error) if number == 0 => return Err(error),
                Err(error) => {
                    outcome.broken.push(format!("phase {} could not start: {error}", phase.name));
                    break;
                }
            };
            last = ended.times.end;
            if !phase.name.is_empty() {
                info.phases.push(ended.times.clone());
            }
            let next = self.plan.phases.get(number + 1).map(|next| (&phase.name, &next.name));
            let goes_on = !self.is_timed() || shared.others.end(number as u16, ended.is_whole());
            match outcome.take(ended, next) {
                Some(back) if goes_on => log = back,
                Some(_) if next.is_some() => {
                    outcome.broken.push(format!("another process did not do all of phase {}", phase.name));
                    break;
                }
                _ => break,
            }
        }
        Ok(outcome)
    }

    /// Executes one phase. `start` returns its start when all of it is ready.
    fn run_phase(
        &self,
        number: u16,
        log: LogWriter,
        shared: Shared<'_>,
        info: &mut RunInfo,
        start: impl FnOnce(&mut RunInfo) -> Result<Nanos, RunError>,
    ) -> Result<StageEnd, RunError> {
        let foreseen = &self.phases[usize::from(number)];
        if let Some(directory) = &self.plan.phases[usize::from(number)].remount {
            self.remount(directory)?;
        }
        // The first one was fitted just now.
        let again = if number > 0 { Some(self.begin_phase(number)?) } else { None };
        if let Some(verifier) = shared.verifier.filter(|_| number > 0) {
            let makes_files = |claimed: &Claimed| claimed.file().is_some_and(|file| file.makes_files());
            let renewed = self.targets.iter().enumerate().filter(|(_, claimed)| makes_files(claimed));
            renewed.for_each(|(target, _)| verifier.forget(target as u16));
        }
        let stage = Stage { prepared: self, jobs: again.as_ref().unwrap_or(foreseen), number };
        for (foreseen, job) in foreseen.iter().zip(stage.jobs) {
            let target = &mut info.targets[usize::from(job.fitted.job.target)];
            target.size = target.size.max(job.fitted.placement.size());
            let requests = |job: &JobReady| job.fitted.expected_requests(stage.phase().passes);
            let expected = target.expected_requests.zip(requests(foreseen)).zip(requests(job));
            target.expected_requests = expected.map(|((all, foreseen), now)| all - foreseen + now);
        }
        let equipment = equip(stage, shared, &mut info.setup)?;
        stage.execute(equipment, log, shared, || start(info))
    }

    /// Start of a phase that follows one which ended at `last`.
    fn next_begin(&self, number: u16, shared: Shared<'_>, last: Nanos) -> Result<Nanos, RunError> {
        if !self.is_timed() {
            return Ok(last);
        }
        let ahead = wake_up_time(&self.plan.phases[usize::from(number)], shared.others);
        let begin = shared.others.begin(number, monotonic_ns() + ahead).map_err(RunError::Others)?;
        Ok(Nanos(begin.saturating_sub(shared.clock.origin())).max(last))
    }

    fn conclude(&self, info: &mut RunInfo, outcome: RunOutcome) {
        info.setup.notices.extend(self.full_content());
        for (_, job) in self.jobs() {
            let target = &mut info.targets[usize::from(job.fitted.job.target)];
            target.bad_lines += job.told.bad_lines.load(Relaxed);
            target.back_shifts += job.told.back_shifts.load(Relaxed);
        }
        let mut issued = vec![IssuedHash::default(); info.targets.len()];
        let mut in_flight: BTreeMap<(usize, u16), u64> = BTreeMap::new();
        info.targets.iter_mut().for_each(|target| target.written = None);
        let mut reasons = outcome.broken;
        for LoopEnd { phase, target, worker: WorkerEnd { counters, result, open: _ } } in outcome.loops {
            issued[target].merge(counters.issued);
            *in_flight.entry((target, phase)).or_default() += u64::from(counters.scheduler.max_in_flight);
            let target = &mut info.targets[target];
            add_counters(target, &counters);
            target.written =
                [target.written, counters.written].into_iter().flatten().reduce(WrittenRange::with);
            info.passes.extend(&counters.passes);
            info.recorder_stalls.merge(counters.recorder_stalls);
            info.buffer_stalls.merge(counters.buffer_stalls);
            info.push_back_stalls
                .merge(Stalls { count: counters.scheduler.full_count, total: counters.scheduler.full_total });
            match result {
                Err(WorkerError::Writer(_)) if !reasons.is_empty() => {}
                Err(error) => reasons.push(format!("target {}: {error}", target.path)),
                Ok(()) => {}
            }
        }
        for (target, issued) in info.targets.iter_mut().zip(issued) {
            target.issued_hash = issued.to_string();
        }
        for ((target, _), together) in in_flight {
            let most = &mut info.targets[target].max_in_flight;
            *most = (*most).max(Some(together));
        }
        info.passes.sort_by_key(|p| (p.phase, p.pass, p.target, p.job));
        // If every target has ended early, the run was aborted.
        if info.targets.iter().all(|t| t.ended_early.is_some()) {
            let early =
                |t: &TargetInfo| t.ended_early.as_ref().map(|why| format!("target {}: {why}", t.path));
            reasons.extend(info.targets.iter().filter_map(early));
        }
        info.state = match reasons.is_empty() {
            true => RunState::Finished,
            false => RunState::Broken(Breakage::of(&reasons)),
        };
    }
}

/// The range that jobs may change, each in its number of passes.
fn written<'a>(jobs: impl Iterator<Item = (&'a FittedJob, u32)>) -> Option<WrittenRange> {
    let writing = jobs.filter(|(job, _)| job.workload.writes()).map(|(job, passes)| job.range(passes));
    let ranges = writing.filter(|range| !range.is_empty());
    ranges.map(|range| WrittenRange { start: range.start, end: range.end }).reduce(WrittenRange::with)
}

/// Nanoseconds in which all issuing loops of a phase wake up, so that their first requests come in time. A single loop without due
/// times and without other processes needs no lead, and where file operations come first, loops meet after them.
fn wake_up_time(phase: &Phase, others: &dyn Rendezvous) -> u64 {
    const ENOUGH: u64 = 1_000_000;
    let meets_later = phase.jobs.iter().any(|job| job.options.has_steps_before());
    let has_due_times = phase.jobs.iter().any(|job| job.workload.has_timetable());
    let is_awaited = has_due_times || phase.loops() > 1 || others.has_others();
    if is_awaited && !meets_later { ENOUGH } else { 0 }
}

/// Adds the counters of one issuing loop to the facts about its target.
fn add_counters(target: &mut TargetInfo, counters: &WorkerCounters) {
    target.max_requested_end = target.max_requested_end.max(counters.max_requested_end);
    target.input_lines = target.input_lines.max(counters.lines);
    target.max_waiting = target.max_waiting.max(Some(counters.scheduler.max_waiting.into()));
    if counters.checks.requests > 0 {
        target.checks.get_or_insert_default().merge(counters.checks.clone());
    }
    if target.ended_early.is_none() {
        target.ended_early.clone_from(&counters.ended_early);
    }
}
