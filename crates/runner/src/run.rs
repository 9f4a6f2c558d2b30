//! From a plan to records in their log.

use iosonar_archive::{ArchiveError, ArchiveWriter, RunInfo, TOOL};
use iosonar_engine::{
    Control, NoticeSink, PrepareError, Prepared, Progress, Rendezvous, RunError, prepare, prepare_part,
};
use iosonar_host::environment::{self, Environment, file_system_for};
use iosonar_host::ledger::{Ledger, Written};
use iosonar_host::{Root, TargetFacts, WrittenRange, identify_growing};
use iosonar_load::Notice;
use iosonar_plan::Plan;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// A number for a run: different for each one, below 2^63.
pub fn new_run_id() -> u64 {
    let pid = u64::from(std::process::id());
    (iosonar_os::realtime_ns() ^ pid.rotate_left(40)) & (u64::MAX >> 1)
}

/// A plan that can be executed.
pub struct Ready {
    prepared: Unbegun,
    skipped: Arc<AtomicU64>,
    purpose: Purpose,
}

/// Purpose of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Purpose {
    /// It measures.
    #[default]
    Measure,
    /// It gives its targets fresh data, so that what earlier runs did to them does not count any more.
    Fill,
}

/// A prepared run. Dropped before the run, it undoes the preparation.
struct Unbegun {
    prepared: Prepared,
    has_begun: bool,
}

impl Drop for Unbegun {
    fn drop(&mut self) {
        if !self.has_begun {
            self.prepared.withdraw();
        }
    }
}

impl Ready {
    /// Finds out everything that can go wrong before the first I/O. `notice` receives each line of a load that is skipped or
    /// whose time is shifted, once, now and during the run.
    ///
    /// # Errors
    /// The plan cannot be executed here; no target was changed.
    pub fn new(
        plan: Plan,
        root: &Root,
        notice: impl Fn(&Path, &Notice) + Send + Sync + 'static,
    ) -> Result<Ready, PrepareError> {
        Ready::prepared_by(notice, |told| prepare(plan, root, told))
    }

    /// The same for the part of a plan on these targets; other processes execute the rest of it. A signal in `control` ends it.
    ///
    /// # Errors
    /// The part cannot be executed here, or the signal came; no target was changed.
    pub fn of_part(
        plan: Plan,
        targets: &[u16],
        root: &Root,
        notice: impl Fn(&Path, &Notice) + Send + Sync + 'static,
        control: &Arc<Control>,
    ) -> Result<Ready, PrepareError> {
        Ready::prepared_by(notice, |told| prepare_part(plan, targets, root, told, control))
    }

    fn prepared_by(
        notice: impl Fn(&Path, &Notice) + Send + Sync + 'static,
        prepare: impl FnOnce(NoticeSink) -> Result<Prepared, PrepareError>,
    ) -> Result<Ready, PrepareError> {
        let skipped = Arc::new(AtomicU64::new(0));
        let count = skipped.clone();
        let told = move |path: &Path, found: &Notice| {
            if let Notice::Skipped { .. } = found {
                count.fetch_add(1, Relaxed);
            }
            notice(path, found);
        };
        let prepared = prepare(Arc::new(told))?;
        Ok(Ready { prepared: Unbegun { prepared, has_begun: false }, skipped, purpose: Purpose::default() })
    }

    /// The same for another purpose.
    #[must_use]
    pub fn with_purpose(self, purpose: Purpose) -> Ready {
        Ready { purpose, ..self }
    }

    /// The prepared run.
    pub fn prepared(&self) -> &Prepared {
        &self.prepared.prepared
    }

    /// Looks at the machine, at what lies below the targets, and at what earlier runs wrote to them.
    pub fn environment(&self, root: &Root) -> Environment {
        let mut targets = self.prepared().facts();
        if self.purpose == Purpose::Measure && self.prepared().plan().engine.is_real() {
            let ledger = Ledger::of_user();
            for target in &mut targets {
                target.former_runs = ledger.former_runs(target, root);
            }
        }
        environment::capture(&targets, root).by(TOOL)
    }

    /// Makes the archive in a directory that does not exist, with plan, environment and what is known so far. `command` is
    /// kept as what was typed.
    ///
    /// # Errors
    /// The archive cannot be made.
    pub fn begin(self, environment: Environment, dir: &Path, command: &str) -> Result<Begun, ArchiveError> {
        let prepared = self.prepared();
        let info = prepared.info(TOOL, command);
        let result = file_system_for(dir, &Root::default());
        let environment = as_json(&Environment { result, ..environment });
        let archive = ArchiveWriter::create(dir, prepared.whole_plan(), &environment, &info)?;
        Ok(Begun { ready: self, archive, info, note: Box::new(|_| {}) })
    }
}

fn as_json(environment: &Environment) -> serde_json::Value {
    // Facts are numbers, texts, lists and maps with texts as keys: each of them has a form in JSON.
    serde_json::to_value(environment).expect("facts are JSON")
}

/// A run whose archive exists.
pub struct Begun {
    ready: Ready,
    archive: ArchiveWriter,
    info: RunInfo,
    note: Box<dyn FnOnce(&mut Environment)>,
}

/// A run in progress, for a progress display.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    /// The prepared run.
    pub prepared: &'a Prepared,
    /// How far it is.
    pub progress: &'a Arc<Progress>,
    /// By which it can be stopped.
    pub control: &'a Control,
    /// Where its result is kept.
    pub dir: &'a Path,
    is_over: &'a AtomicBool,
}

impl Scene<'_> {
    /// Whether there is nothing more to show.
    pub fn is_over(&self) -> bool {
        self.is_over.load(Relaxed)
    }
}

/// Why a run has no result, or none that says how it ended.
#[derive(Debug, thiserror::Error)]
pub enum CarryOutError {
    /// Nothing was started, and nothing remains.
    #[error(transparent)]
    NotBegun(#[from] RunError),
    /// The run is over, and how it ended cannot be written; the records are in their log.
    #[error(transparent)]
    Unwritten(#[from] ArchiveError),
}

impl Begun {
    /// The prepared run.
    pub fn prepared(&self) -> &Prepared {
        self.ready.prepared()
    }

    /// Lets `note` add observations during the run to the environment after it.
    #[must_use]
    pub fn noting(self, note: impl FnOnce(&mut Environment) + 'static) -> Begun {
        Begun { note: Box::new(note), ..self }
    }

    /// Executes the plan, together with `others`. `show` runs in a separate thread and returns when the scene is over; a panic there does
    /// not fail the run.
    ///
    /// # Errors
    /// See [`CarryOutError`]. A failure during the run is no error, but the state of the result.
    pub fn execute(
        self,
        control: &Control,
        others: &dyn Rendezvous,
        show: impl Fn(&Scene<'_>) + Sync,
    ) -> Result<Ended, CarryOutError> {
        let Begun { mut ready, archive, info, note } = self;
        let prepared = ready.prepared();
        let (progress, is_over) = (Arc::new(Progress::new(prepared.workers())), AtomicBool::new(false));
        let ran = std::thread::scope(|scope| {
            let scene =
                Scene { prepared, progress: &progress, control, dir: archive.dir(), is_over: &is_over };
            let show = &show;
            let shown = scope.spawn(move || show(&scene));
            let ran = prepared.run_with(&archive, info, control, &progress, others);
            is_over.store(true, Relaxed);
            let _ = shown.join();
            ran
        });
        let info = match ran {
            Ok(info) => info,
            Err(error) => {
                // Nothing was started, so no result is kept.
                archive.discard();
                return Err(error.into());
            }
        };
        // An addition: without it, only what has changed is not known.
        let mut after = environment::capture(&ready.prepared().facts_now(), &Root::default()).by(TOOL);
        note(&mut after);
        let _ = archive.write_environment_after(&as_json(&after));
        ready.prepared.has_begun = true;
        note_written(ready.prepared(), &info, archive.dir(), ready.purpose);
        archive.write_run(&info)?;
        Ok(Ended { archive, info, skipped: ready.skipped.load(Relaxed) })
    }
}

/// Adds what was written to the ledger, also of a run that was stopped: its targets have changed. Files that are gone leave nothing.
fn note_written(prepared: &Prepared, info: &RunInfo, dir: &Path, purpose: Purpose) {
    if !prepared.plan().engine.is_real() {
        return;
    }
    let root = Root::default().remembering();
    let now = |path: &Path| identify_growing(path, &root).ok();
    let names = prepared.targets().into_iter().map(|target| (target.number(), target.first_name()));
    let changed: Vec<(TargetFacts, WrittenRange)> = names
        .filter_map(|(number, name)| Some((name, info.targets.get(number)?.written?)))
        .filter_map(|(name, range)| Some((now(&name)?, range)))
        .collect();
    let is_fill = purpose == Purpose::Fill;
    let written: Vec<Written<'_>> = changed
        .iter()
        .map(|(target, range)| Written { target, range: *range, is_fill, result: dir })
        .collect();
    // A ledger that cannot be written is no error of a run: the next one reads it, and says what is wrong with it.
    let _ = Ledger::of_user().add(&written, &Root::default());
}

/// A run that is over, its records still in their log.
#[derive(Debug)]
pub struct Ended {
    /// Where they are.
    pub archive: ArchiveWriter,
    /// How far it came.
    pub info: RunInfo,
    /// Lines of loads that were skipped.
    pub skipped: u64,
}
