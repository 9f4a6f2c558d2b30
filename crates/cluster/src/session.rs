//! A plan of several processes in a session: the checks before its start, and reports to the observer of the session.

use crate::coordinator::{Assembled, TogetherError};
use crate::launch::Launch;
use crate::results::Executed;
use crate::run_progress::RunProgress;
use iosonar_engine::Control;
use iosonar_plan::Plan;
use iosonar_runner::{Ended, Error, Notice, Session, Stage, preflight, write_back};
use std::path::Path;

impl<'a> Assembled<'a> {
    /// Starts the processes of a plan, and lets each prepare its part.
    ///
    /// # Errors
    /// A process cannot be started, or cannot execute its part, or the session was stopped; no target was changed.
    pub fn in_session(session: &Session, setup: &Launch, plan: &'a Plan) -> Result<Assembled<'a>, Error> {
        let assembled = Assembled::new(setup, plan, &session.command, &session.control);
        assembled.map_err(|error| error_of(error, &session.control))
    }

    /// Executes the plan, and merges the records of all processes. The result goes to the directory `dir`, which is created; `show` is
    /// called for each phase that starts, and on several machines while it runs.
    ///
    /// # Errors
    /// The run is refused, a signal came before the first phase, or the result cannot be written.
    pub fn execute(
        self,
        session: &Session,
        dir: &Path,
        show: impl FnMut(&RunProgress<'_>),
    ) -> Result<Ended, Error> {
        let (plan, observer) = (self.plan(), &*session.observer);
        let cautions = preflight::check_together(plan, &self.machines())?;
        self.messages().iter().for_each(|line| observer.notice(&Notice::Target(line)));
        cautions.iter().for_each(|line| observer.notice(&Notice::Caution(line)));
        observer.stage(Stage::Running);
        let written_back = write_back::before(plan, &session.control, observer);
        let executed = self.run(dir, written_back, &session.control, show);
        observer.stage(Stage::Finishing);
        executed.and_then(Executed::merge).map_err(|error| error_of(error, &session.control))
    }
}

pub(crate) fn error_of(error: TogetherError, control: &Control) -> Error {
    match error {
        TogetherError::Unmerged(_) => Error::broke(error),
        TogetherError::Refused(_) | TogetherError::Archive(_) => Error::refused(error),
        TogetherError::Stopped => match control.signal() {
            Some(signal) => Error::stopped_with(signal, error),
            None => Error::broke(error),
        },
    }
}
