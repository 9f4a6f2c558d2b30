//! A session: shared by all runs of one verb; executes plans and computes their summaries.

use crate::order_watch::OrderWatch;
use crate::path_trace::PathTrace;
use crate::{
    CarryOutError, Concluded, Ended, Error, Notice, Observer, Ready, Scene, Stage, preflight, write_back,
};
use iosonar_archive::Record;
use iosonar_engine::{Alone, Control, PrepareError, Prepared, Rendezvous, TargetReady};
use iosonar_evidence::Environment;
use iosonar_host::Root;
use iosonar_host::ledger::Ledger;
use iosonar_inputs::SummaryOptions;
use iosonar_plan::Plan;
use iosonar_text::shown;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The conversion of more bytes of records takes seconds, and is reported.
const REPORTED_ABOVE: u64 = 64 << 20;

/// Executes plans, and reports to its observer.
#[derive(Clone)]
pub struct Session {
    /// Stops the run that is executed.
    pub control: Arc<Control>,
    /// Receives what is reported.
    pub observer: Arc<dyn Observer>,
    /// Stored with each result as what was typed.
    pub command: String,
    /// Lets a run begin; others may have a say in it.
    pub others: Arc<dyn Rendezvous + Send + Sync>,
}

impl Session {
    /// A session that nothing stops but its end.
    pub fn new(observer: Arc<dyn Observer>) -> Session {
        Session { control: Arc::default(), observer, command: String::new(), others: Arc::new(Alone) }
    }

    /// Finds out everything that can go wrong before the first request.
    ///
    /// # Errors
    /// The plan cannot be executed here; no target was changed.
    pub fn prepare(&self, plan: Plan) -> Result<Ready, PrepareError> {
        self.observer.stage(Stage::Preparing);
        let observer = self.observer.clone();
        let notice =
            move |path: &Path, notice: &iosonar_load::Notice| observer.notice(&Notice::Load { path, notice });
        Ready::new(plan, &Root::default(), notice)
    }

    /// Executes a plan from its preparation to its summary. The result goes to the directory `dir`, which is created.
    ///
    /// # Errors
    /// The plan cannot be executed here, a signal came before the first request, or the result cannot be written.
    pub fn run(&self, plan: Plan, dir: &Path) -> Result<Concluded, Error> {
        let ready = self.prepare(plan).map_err(Error::refused)?;
        let ended = self.execute(ready, dir)?;
        self.conclude(ended, SummaryOptions::default()).map_err(Error::broke)
    }

    /// Executes what is ready. The result goes to the directory `dir`, which is created.
    ///
    /// # Errors
    /// The run is refused, a signal came before the first request, or the result cannot be written.
    pub fn execute(&self, ready: Ready, dir: &Path) -> Result<Ended, Error> {
        self.execute_showing(ready, |_| dir.to_path_buf(), |scene| self.observer.scene(scene))
    }

    /// Like [`Session::execute`], with a directory that is named after the session has looked at the targets, and with `show` in place of
    /// [`Observer::scene`].
    ///
    /// # Errors
    /// Those of [`Session::execute`].
    pub fn execute_showing(
        &self,
        ready: Ready,
        dir: impl FnOnce(&Prepared) -> PathBuf,
        show: impl Fn(&Scene<'_>) + Sync,
    ) -> Result<Ended, Error> {
        let (environment, cautions) = self.look_ahead(&ready)?;
        let dir = dir(ready.prepared());
        let order = match ready.prepared().plan().watch_order {
            true => Some(OrderWatch::start(&environment, ready.prepared().workers())?),
            false => None,
        };
        let path = match ready.prepared().plan().trace_path.one_of() {
            Some(one_of) => Some(PathTrace::start(&environment, one_of)?),
            None => None,
        };
        let mut begun = ready.begin(environment, &dir, &self.command).map_err(Error::refused)?;
        if let Some(order) = order {
            begun = begun.noting(move |after| after.issue_order = order.end());
        }
        if let Some(path) = path {
            let kept = path.keep_in(&dir);
            begun = begun.noting(move |after| after.path_tracing = kept.end());
        }
        announcement(begun.prepared()).iter().for_each(|line| self.observer.notice(&Notice::Target(line)));
        cautions.iter().for_each(|line| self.observer.notice(&Notice::Caution(line)));
        self.observer.stage(Stage::Running);
        let ended = begun.execute(&self.control, &*self.others, show);
        self.observer.stage(Stage::Finishing);
        ended.map_err(|error| match error {
            CarryOutError::NotBegun(error) => Error::refused(error),
            CarryOutError::Unwritten(error) => Error::broke(error),
        })
    }

    /// Refuses a long run whose figures would be fake, writes back dirty pages, and looks at the targets. Returns the machine as it is
    /// then, and lines for people.
    fn look_ahead(&self, ready: &Ready) -> Result<(Environment, Vec<String>), Error> {
        let root = Root::default();
        let prepared = ready.prepared();
        preflight::refuse(prepared, || ready.environment(&root))?;
        self.observer.stage(Stage::LookingAhead);
        let written_back = write_back::before(prepared.plan(), &self.control, &*self.observer);
        let mut environment = Environment { written_back, ..ready.environment(&root) };
        let mut cautions = preflight::look(prepared, &mut environment, &|| self.control.signal().is_some());
        if prepared.plan().engine.is_real() {
            cautions.extend(Ledger::of_user().foreign().map(|notice| format!("iosonar: {notice}")));
        }
        match self.control.signal() {
            Some(signal) => Err(Error::stopped(signal)),
            None => {
                self.observer.stage(Stage::Preparing);
                Ok((environment, cautions))
            }
        }
    }

    /// Converts the records to Parquet and computes the summary. Parts that cannot be stored are reported, and are no error.
    ///
    /// # Errors
    /// The records cannot be read.
    pub fn conclude(&self, ended: Ended, options: SummaryOptions) -> Result<Concluded, crate::ConcludeError> {
        self.conclude_showing(ended, options, &mut |_| {})
    }

    /// Like [`Session::conclude`]; `show` gets each record while it is converted, and may get only some of them if that fails.
    ///
    /// # Errors
    /// Those of [`Session::conclude`].
    pub fn conclude_showing(
        &self,
        ended: Ended,
        options: SummaryOptions,
        show: &mut dyn FnMut(&[Record]),
    ) -> Result<Concluded, crate::ConcludeError> {
        if ended.archive.log_bytes() > REPORTED_ABOVE {
            self.observer.notice(&Notice::Converting);
        }
        let encoded = ended.encode_showing(options, show);
        self.observer.stage(Stage::SummingUp);
        let concluded = encoded.sum_up()?;
        self.observer.stage(Stage::Concluded);
        for problem in &concluded.problems {
            self.observer.notice(&Notice::Problem { problem, dir: &concluded.dir });
        }
        Ok(concluded)
    }
}

/// Facts about the targets before a run, a line each.
pub fn announcement(prepared: &Prepared) -> Vec<String> {
    let of = |target: TargetReady<'_>| {
        let mut lines = vec![describe(&target)];
        lines.extend(target.notices().map(|notice| format!("  {notice}")));
        lines.extend(target.statement().map(|statement| format!("  {statement}")));
        if target.is_removed() {
            lines.push(format!("  {} will be removed at the end", shown(&target.path())));
        }
        lines
    };
    prepared.targets().into_iter().flat_map(of).collect()
}

fn describe(target: &TargetReady<'_>) -> String {
    let size = target.size();
    let mut text = format!("target {}: {size} bytes", shown(&target.path()));
    if let (Some(load), Some(factor)) = (target.load(), target.wraparound_factor()) {
        text += &format!(", {} requests, wraparound factor {factor:.3}", load.requests);
        if iosonar_judge::is_wrong_size(factor) {
            text += " (CAUTION: far from 1, so distances differ from those of the recorded device)";
        }
    }
    text
}
