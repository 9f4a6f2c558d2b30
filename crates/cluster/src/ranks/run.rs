//! A run on ranks, from the plan to the result.

use super::clock::RankClock;
use super::member::RankMember;
use super::tree::{Messages, agree, first_failure, gather, merge_counts, spread};
use crate::clock::{ClockMap, this_boot};
use crate::coordinator::{TogetherError, loops_of, shared_out};
use crate::counts::{Counting, counted, counts_of_part};
use crate::merge::{PartClock, PartResult, unread};
use crate::outset::{ProcessFacts, environment_of_all, machines};
use crate::part::on_host;
use crate::protocol::{HostProgress, RunClock};
use crate::results::{Kept, Merging};
use crate::run_progress::{PartProgress, PhaseProgress, RunProgress};
use crate::session::error_of;
use iosonar_analyze::{Counted, Limits, Partial};
use iosonar_archive::{
    Archive, ArchiveWriter, HostClock, HostRun, PARTS, RunInfo, RunState, TOOL, TargetInfo, remove_archive,
};
use iosonar_evidence::Environment;
use iosonar_host::Root;
use iosonar_os::made::Made;
use iosonar_os::{create, monotonic_ns, realtime_ns};
use iosonar_plan::{Executor, Nanos, Plan};
use iosonar_runner::{
    Begun, Ended, Error, Intent, Notice, Ready, Session, Stage, announcement, preflight, sum_up_part,
    write_back,
};
use iosonar_text::shown;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

/// Exchanges of clocks before and after the run, on each edge of the tree.
const EXCHANGES: usize = 64;

/// A failure that all ranks know.
enum Stopped {
    /// This is the root, which reports it.
    Here(Error),
    Elsewhere,
}

type Agreed<T> = Result<T, Stopped>;

/// A rank of a run.
struct Rank<'a> {
    messages: &'a dyn Messages,
    session: &'a Session,
    limits: Limits,
    plan: Plan,
    /// Its targets.
    targets: Vec<u16>,
}

/// A rank before the run, as the root has to know it.
#[derive(Serialize, Deserialize)]
struct Found {
    told: Vec<String>,
    /// Its machine.
    boot: String,
    /// Facts about its own targets.
    targets: Vec<(u16, TargetInfo)>,
    environment: serde_json::Value,
    intent: Intent,
}

/// A rank after the run.
#[derive(Serialize, Deserialize)]
struct Done {
    /// Why its part did not start, or is not complete.
    failed: Option<String>,
    /// Why records of it or of other ranks are not counted, with the numbers of the ranks.
    uncounted: Vec<(usize, String)>,
    skipped: u64,
    /// Start of the first phase on its clock.
    there: u64,
    /// Its clock; `None` if it is that of the root.
    clock: Option<HostClock>,
}

/// The part of a rank, executed.
struct Ran {
    /// Start of the first phase, on the clock of the root; 0 if it did not start.
    origin: u64,
    done: Done,
    /// Counts of its records, if they stay.
    counts: Option<Partial>,
}

/// The result at the root, before it has records.
struct ResultDir {
    archive: ArchiveWriter,
    info: RunInfo,
    parts: Made,
}

impl ResultDir {
    /// The archive of a rank.
    fn dir_of(&self, rank: usize) -> PathBuf {
        self.parts.path().join(rank.to_string())
    }
}

/// Clocks of all ranks before the run, at the root.
struct Clocks {
    /// Time of the root from which the readings count.
    base: u64,
    of_ranks: Vec<Option<HostClock>>,
}

impl Clocks {
    /// The clock of a rank in a run that began at `origin`.
    fn of(&self, rank: usize, origin: u64) -> Option<HostClock> {
        let mut clock = self.of_ranks.get(rank)?.clone()?;
        let earlier = origin.wrapping_sub(self.base) as i64;
        clock.readings.iter_mut().for_each(|reading| reading.at_ns -= earlier);
        Some(clock)
    }
}

/// Executes a plan with a rank for each target on all ranks, of which each calls this with the same arguments; the plan of the root counts.
/// The root gets the result, in the directory that `name` says there; it is on a file system that all ranks share.
///
/// # Errors
/// A rank cannot execute its part, a signal came before the first phase, or the result cannot be written; the root returns it.
pub fn execute_on_ranks(
    messages: &dyn Messages,
    session: &Session,
    plan: &Plan,
    limits: Limits,
    name: impl FnOnce(&RunInfo) -> PathBuf,
    show: impl FnMut(&RunProgress<'_>) + Send,
) -> Result<Option<Ended>, Error> {
    let text = spread(messages, (messages.rank() == 0).then(|| plan.to_toml()));
    let plan = Plan::from_toml(&text).map_err(Error::refused)?;
    let targets = targets_of(&plan, &[messages.rank()]);
    let rank = Rank { messages, session, limits, targets, plan };
    match rank.execute(name, show) {
        Ok(ended) => Ok(ended),
        Err(Stopped::Here(error)) => Err(error),
        Err(Stopped::Elsewhere) => Ok(None),
    }
}

impl Rank<'_> {
    fn is_root(&self) -> bool {
        self.messages.rank() == 0
    }

    /// Ends with the first failure of any rank.
    fn all(&self, own: Result<(), String>) -> Agreed<()> {
        first_failure(self.messages, &self.session.control, own)
            .map_err(|why| self.stopped(TogetherError::Refused(why)))
    }

    fn stopped(&self, error: TogetherError) -> Stopped {
        let control = &self.session.control;
        match self.is_root() {
            true if control.signal().is_some() => Stopped::Here(error_of(TogetherError::Stopped, control)),
            true => Stopped::Here(error_of(error, control)),
            false => Stopped::Elsewhere,
        }
    }

    fn execute(
        &self,
        name: impl FnOnce(&RunInfo) -> PathBuf,
        show: impl FnMut(&RunProgress<'_>) + Send,
    ) -> Agreed<Option<Ended>> {
        let prepared = self.prepare();
        let ready = prepared.as_ref().map(|_| ()).map_err(Clone::clone);
        self.all(ready)?;
        let Ok((ready, environment, found)) = prepared else { return Err(Stopped::Elsewhere) };
        let result = gather(self.messages, found).map(|found| self.begin(&found, name));
        let parts = result
            .as_ref()
            .map(|result| result.as_ref().ok().map(|result| result.parts.path().to_path_buf()));
        let Some(parts) = spread(self.messages, parts) else {
            return Err(result.and_then(Result::err).map_or(Stopped::Elsewhere, Stopped::Here));
        };
        self.session.observer.stage(Stage::Running);
        let result = result.and_then(Result::ok);
        let dir = parts.join(self.messages.rank().to_string());
        let mut clock = RankClock::new(self.messages);
        let begun = self.start(ready, environment, &dir, &mut clock).inspect_err(|_| {
            let _ = remove_archive(&dir);
        });
        let (begun, clocks) = match begun {
            Ok(begun) => begun,
            Err(stopped) => {
                // All ranks have removed what they have made.
                agree(self.messages, (), |(), ()| ());
                if let Some(result) = result {
                    self.discard(result);
                }
                return Err(stopped);
            }
        };
        let started = |origin: u64| {
            if let (Some(result), Some(clocks)) = (&result, &clocks) {
                self.note_start(result, clocks, origin);
            }
        };
        let Ran { origin, mut done, mut counts } = self.run(begun, &dir, &mut clock, &started, show);
        self.session.observer.stage(Stage::Finishing);
        done.uncounted.extend(merge_counts(self.messages, &mut counts, self.counted()));
        let done = gather(self.messages, done);
        match (result, done) {
            (Some(result), Some(_)) if origin == 0 && self.session.control.signal().is_some() => {
                self.discard(result);
                Err(self.stopped(TogetherError::Stopped))
            }
            (Some(result), Some(done)) => match self.finish(result, origin, &done, counts) {
                Ok(ended) => Ok(Some(ended)),
                Err(error) => Err(Stopped::Here(error_of(error, &self.session.control))),
            },
            _ => Ok(None),
        }
    }

    fn counted(&self) -> Counted<'_> {
        counted(self.plan.targets.len(), &self.limits)
    }

    /// At the root: merges what all ranks have recorded.
    fn finish(
        &self,
        result: ResultDir,
        origin: u64,
        done: &[Done],
        counts: Option<Partial>,
    ) -> Result<Ended, TogetherError> {
        if origin == 0 {
            self.discard(result);
            let why = done.iter().enumerate().find_map(|(rank, done)| Some((rank, done.failed.as_ref()?)));
            return Err(TogetherError::Refused(
                why.map_or("no rank has started the run".into(), |(rank, why)| format!("rank {rank}: {why}")),
            ));
        }
        let keeps = self.plan.keeps_records_on_hosts();
        let mut info = self.start_of(result.info.clone(), origin);
        let host_run = |(rank, done): (usize, &Done)| self.host_run(rank, done.clock.clone(), &result);
        info.hosts = done.iter().enumerate().map(host_run).collect();
        let results: Vec<PartResult> = done
            .iter()
            .enumerate()
            .map(|(rank, own)| {
                let why = done.iter().flat_map(|done| &done.uncounted).find(|(of, _)| *of == rank);
                let part = self.part(rank, &result.dir_of(rank), origin, own);
                PartResult { unread: part.unread.or(why.map(|(_, why)| why.clone())), ..part }
            })
            .collect();
        let kept = match keeps {
            true => {
                let nothing = || Partial::new(self.counted());
                Kept::Beside(counts.unwrap_or_else(nothing).to_bytes())
            }
            false => Kept::Nowhere,
        };
        let is_stopped = self.session.control.signal().is_some();
        let ResultDir { archive, parts, .. } = result;
        let merging = Merging { plan: &self.plan, archive, info, parts, is_stopped, kept };
        merging.begin();
        merging.merge(results, done.iter().map(|done| done.skipped).sum())
    }

    /// The part of a rank.
    fn part(&self, rank: usize, dir: &Path, origin: u64, done: &Done) -> PartResult {
        let (archive, unreadable) = match Archive::open(dir) {
            Ok(archive) => (Some(archive), None),
            Err(error) => (None, Some(unread(dir, error))),
        };
        let info = archive.as_ref().map(|archive| archive.run().clone());
        PartResult {
            name: format!("rank {rank}"),
            host: Some(format!("rank{rank}")),
            targets: targets_of(&self.plan, &[rank]),
            info: info.unwrap_or_else(|| RunInfo::new(TOOL, "", Vec::new())),
            archive,
            clock: PartClock {
                map: ClockMap::of_known(done.clock.as_ref(), origin),
                here: origin,
                there: done.there,
            },
            is_numbered: false,
            failed: done.failed.clone(),
            unread: unreadable,
        }
    }

    /// Removes the result of a run that did not start. The ranks have removed their parts.
    fn discard(&self, result: ResultDir) {
        let _ = result.parts.remove();
        result.archive.discard();
    }

    /// Prepares the part of this rank.
    fn prepare(&self) -> Result<(Ready, Environment, Found), String> {
        let session = self.session;
        session.observer.stage(Stage::Preparing);
        let boots = spread(self.messages, gather(self.messages, this_boot()));
        let near: Vec<usize> =
            (0..boots.len()).filter(|rank| boots[*rank] == boots[self.messages.rank()]).collect();
        let of = |ranks: &[usize]| targets_of(&self.plan, ranks);
        let before: Vec<usize> = near.iter().copied().filter(|rank| *rank < self.messages.rank()).collect();
        let loops_before = loops_of(&self.plan, &of(&before));
        let shared = shared_out(&self.plan, near.len(), loops_before, &of(&near), false);
        let observer = session.observer.clone();
        let notice =
            move |path: &Path, notice: &iosonar_load::Notice| observer.notice(&Notice::Load { path, notice });
        let ready = Ready::of_part(shared, &self.targets, &Root::default(), notice, &session.control)
            .map_err(|error| error.to_string())?;
        let prepared = ready.prepared();
        let environment = ready.environment(&Root::default());
        let info = prepared.info(TOOL, &session.command);
        let own = |target: &u16| Some((*target, info.targets.get(usize::from(*target))?.clone()));
        // One rank of each machine describes it.
        let told = match before.is_empty() {
            true => environment.clone(),
            false => Environment {
                targets: environment.targets.clone(),
                hostname: environment.hostname.clone(),
                ..Environment::default()
            },
        };
        let found = Found {
            told: announcement(prepared),
            boot: this_boot(),
            targets: self.targets.iter().filter_map(own).collect(),
            environment: serde_json::to_value(told).map_err(|error| error.to_string())?,
            intent: Intent::of(prepared),
        };
        Ok((ready, environment, found))
    }

    /// At the root: looks at what all ranks have found, and makes the directory of the result.
    fn begin(&self, found: &[Found], name: impl FnOnce(&RunInfo) -> PathBuf) -> Result<ResultDir, Error> {
        let (plan, observer) = (&self.plan, &*self.session.observer);
        let info = self.info(found);
        let hosts: Vec<Option<String>> = found.iter().map(|one| other_machine(one, found)).collect();
        let facts = found.iter().zip(&hosts).map(|(found, host)| ProcessFacts {
            host: host.as_deref(),
            info: &info,
            environment: &found.environment,
            intent: &found.intent,
        });
        let cautions = preflight::check_together(plan, &machines(facts))?;
        found.iter().flat_map(|found| &found.told).for_each(|line| observer.notice(&Notice::Target(line)));
        cautions.iter().for_each(|line| observer.notice(&Notice::Caution(line)));
        let written_back = write_back::before(plan, &self.session.control, observer);
        let dir = name(&info);
        if std::path::absolute(&dir).is_ok_and(|dir| dir.to_str().is_none()) {
            return Err(Error::refused_because(
                "the directory of a result of ranks has to have a name in UTF-8",
            ));
        }
        let facts = found.iter().zip(&hosts).map(|(found, host)| (host.as_deref(), &found.environment));
        let environment = environment_of_all(facts, written_back);
        let archive = ArchiveWriter::create(&dir, plan, &environment, &info).map_err(Error::refused)?;
        let parts = std::path::absolute(&dir).unwrap_or(dir).join(PARTS);
        match create::new_dir(&parts) {
            Ok(parts) => Ok(ResultDir { archive, info, parts }),
            Err(error) => {
                archive.discard();
                Err(Error::refused_because(format!("{}: {error}", shown(&parts))))
            }
        }
    }

    /// Facts about the run before its start.
    fn info(&self, found: &[Found]) -> RunInfo {
        let info = RunInfo::new(TOOL, &self.session.command, Vec::new()).started_here();
        let mut info = RunInfo { started_unix_ns: realtime_ns(), ..info };
        info.targets.resize_with(self.plan.targets.len(), Default::default);
        for (number, target) in found.iter().flat_map(|found| &found.targets) {
            let place = self.plan.targets[usize::from(*number)].executor.place();
            info.targets[usize::from(*number)] = on_host(place.as_deref(), target);
        }
        info
    }

    /// At the root: notes where the records are, so that 'iosonar collect' finds them if MPI ends all ranks.
    fn note_start(&self, result: &ResultDir, clocks: &Clocks, origin: u64) {
        let mut info = self.start_of(result.info.clone(), origin);
        let host = |rank| self.host_run(rank, clocks.of(rank, origin), result);
        info.hosts = (0..self.messages.ranks()).map(host).collect();
        // An addition: without it, the records are only where they are.
        let _ = result.archive.write_run(&info);
    }

    fn start_of(&self, info: RunInfo, origin: u64) -> RunInfo {
        let started_unix_ns = (realtime_ns() + origin).saturating_sub(monotonic_ns());
        RunInfo { origin_monotonic_ns: origin, started_unix_ns, ..info }
    }

    /// Facts about a rank whose records are beside the result.
    fn host_run(&self, rank: usize, clock: Option<HostClock>, result: &ResultDir) -> HostRun {
        HostRun {
            name: Some(format!("rank{rank}")),
            targets: targets_of(&self.plan, &[rank]),
            clock,
            lost: None,
            records: Some(result.dir_of(rank).display().to_string()),
        }
    }

    /// Makes the archive of this rank, and reads its clock.
    fn start(
        &self,
        ready: Ready,
        environment: Environment,
        dir: &Path,
        clock: &mut RankClock,
    ) -> Agreed<(Begun, Option<Clocks>)> {
        let is_shared = dir.parent().is_some_and(Path::is_dir);
        let begun = ready.begin(environment, dir, &self.session.command).map_err(|error| match is_shared {
            true => error.to_string(),
            false => format!(
                "{error}: the directory of the result has to be on a file system that all ranks share"
            ),
        });
        self.all(begun.as_ref().map(|_| ()).map_err(Clone::clone))?;
        clock.read(self.messages, EXCHANGES);
        let most = self.plan.hosts.max_clock_error;
        let inexact = most.filter(|most| clock.error() > most.0).map(|most| {
            format!(
                "its clock is known to {}, and --max-clock-error is {most}: allow more",
                Nanos(clock.error())
            )
        });
        self.all(inexact.map_or(Ok(()), Err))?;
        let base = agree(self.messages, clock.here(monotonic_ns()), u64::max);
        let of_ranks = gather(self.messages, clock.facts(base, base));
        let clocks = of_ranks.map(|of_ranks| Clocks { base, of_ranks });
        Ok((begun.map_err(|_| Stopped::Elsewhere)?, clocks))
    }

    /// Executes the part of this rank, and counts its records if they stay.
    fn run(
        &self,
        begun: Begun,
        dir: &Path,
        clock: &mut RankClock,
        started: &(dyn Fn(u64) + Sync),
        show: impl FnMut(&RunProgress<'_>) + Send,
    ) -> Ran {
        let (since, show) = (Instant::now(), Mutex::new(show));
        let control = &*self.session.control;
        let member = RankMember::new(self.messages, &self.plan, clock, control);
        let ranks = self.messages.ranks();
        let shown = |phase: u16, all: HostProgress| {
            let number = usize::from(phase);
            let phase = PhaseProgress {
                number,
                of: self.plan.phases.len(),
                name: &self.plan.phases[number].name,
                elapsed: since.elapsed(),
            };
            let all = PartProgress {
                reported_ns: iosonar_os::monotonic_ns(),
                name: format!("{ranks} ranks"),
                requests: all,
                is_lost: false,
                has_ended: false,
            };
            let parts = vec![all];
            if let Ok(mut show) = show.lock() {
                show(&RunProgress { phase, parts });
            }
        };
        let ended = begun.execute(control, &member, |scene| member.accompany(scene, started, &shown));
        let why = match &ended {
            Ok(ended) => match &ended.info.state {
                RunState::Broken(why) => Some(why.to_string()),
                _ => None,
            },
            Err(error) => Some(error.to_string()),
        };
        member.finish(why.as_deref().unwrap_or("it could not go on"));
        let (origin, is_cause) = (member.origin(), member.is_cause());
        // Nothing is sent any more by those that have come this far.
        agree(self.messages, (), |(), ()| ());
        member.drain();
        let there = clock.there(origin);
        clock.read(self.messages, EXCHANGES);
        let end = agree(self.messages, clock.here(monotonic_ns()), u64::max);
        let facts = clock.facts(origin, end);
        let (failed, skipped) = match &ended {
            Ok(ended) => {
                // An addition: without it, only the findings of this rank are missing.
                let _ = sum_up_part(dir);
                (why.filter(|_| is_cause), ended.skipped)
            }
            Err(_) => (why, 0),
        };
        let mut counts = None;
        let mut uncounted = Vec::new();
        if self.plan.keeps_records_on_hosts() && origin > 0 {
            match self.count(dir, origin, there, facts.clone()) {
                Ok(own) => counts = Some(own),
                Err(why) => uncounted.push((self.messages.rank(), why)),
            }
        }
        Ran { origin, done: Done { failed, uncounted, skipped, there, clock: facts }, counts }
    }

    fn count(
        &self,
        dir: &Path,
        origin: u64,
        there: u64,
        readings: Option<HostClock>,
    ) -> Result<Partial, String> {
        let archive = Archive::open(dir).map_err(|error| unread(dir, error))?;
        let clock = RunClock { readings, origin, here: origin, there };
        let counting = Counting { clock, limits: self.limits, parts: self.messages.ranks() };
        counts_of_part(archive, &self.targets, &counting)
    }
}

/// The targets of some ranks.
fn targets_of(plan: &Plan, ranks: &[usize]) -> Vec<u16> {
    let is_one =
        |executor: &Executor| matches!(executor, Executor::Rank(rank) if ranks.contains(&usize::from(*rank)));
    let targets = plan.targets.iter().enumerate().filter(|(_, target)| is_one(&target.executor));
    targets.map(|(number, _)| number as u16).collect()
}

/// The name of the machine of a rank, if it is another one than that of the root. Machines of one name get different ones.
fn other_machine(one: &Found, all: &[Found]) -> Option<String> {
    let name = |found: &Found| found.environment["hostname"].as_str().unwrap_or_default().to_string();
    if one.boot == all[0].boot {
        return None;
    }
    let has_twin = all.iter().any(|other| other.boot != one.boot && name(other) == name(one));
    Some(if has_twin { format!("{} {:.8}", name(one), one.boot) } else { name(one) })
}
