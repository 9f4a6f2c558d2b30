//! Questions that machines answer, each by a verb on its own targets. None of them changes a target before all are ready.

use crate::answering::NoAnswer;
use crate::coordinator::{Assembled, TogetherError};
use crate::inputs::input_file;
use crate::launch::Launch;
use crate::part::Part;
use crate::protocol::{Answered, InputFile, Order};
use crate::run_progress::PartProgress;
use crate::session::error_of;
use iosonar_analyze::THIS_HOST;
use iosonar_plan::{Executor, Host, Plan, Target};
use iosonar_runner::{Error, Notice, Session};
use iosonar_text::shown;
use serde_json::Value;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Exit code without an answer.
const LOST: u8 = 1;

/// A question for a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Its host; `None`: this machine.
    pub host: Option<Host>,
    /// Subject of the question, which distinguishes those for one machine.
    pub target: PathBuf,
    /// The question, in a form that the program there reads.
    pub question: Value,
    /// Whether the common files go with it.
    pub needs_files: bool,
}

/// Questions for several machines, which they answer at the same time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Questions {
    /// One for each machine and target.
    pub each: Vec<Question>,
    /// Files of this machine for the questions that need them.
    pub files: Vec<PathBuf>,
    /// Whether targets are changed: then one refusal is that of all. Otherwise each machine has its answer.
    pub change_targets: bool,
    /// Whether progress is shown of work that issues no requests.
    pub show_progress: bool,
}

/// The answer of a machine, or the reason of its failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostAnswer {
    /// Name of its host; `None`: this machine.
    pub host: Option<String>,
    /// Subject of the question.
    pub target: PathBuf,
    /// Its answer.
    pub answer: Result<Answered, NoAnswer>,
}

/// Asks machines. `show` is called at intervals while they work, with the time since then.
///
/// # Errors
/// Two questions are equal, a file cannot be read, or a machine cannot be reached. If targets are to be changed, also: a machine refuses its
/// question, or a signal came before all were ready; no target was changed.
pub fn ask(
    session: &Session,
    setup: &Launch,
    questions: &Questions,
    show: impl FnMut(Duration, Vec<PartProgress>),
) -> Result<Vec<HostAnswer>, Error> {
    let files = files_of(session, questions)?;
    let plan = plan_of(questions)?;
    let answered = Assembled::for_questions(setup, &plan, session)
        .and_then(|mut all| {
            all.send(questions, &files, session)?;
            Ok(all)
        })
        .and_then(|all| all.answers(questions, session, show));
    answered.map_err(|error| error_of(error, &session.control))
}

/// The files that go with questions. They may be large: a signal ends the reading.
fn files_of(session: &Session, questions: &Questions) -> Result<Vec<InputFile>, Error> {
    let mut files = Vec::new();
    if questions.each.iter().any(|question| question.needs_files) {
        for path in &questions.files {
            if let Some(signal) = session.control.signal() {
                return Err(Error::stopped(signal));
            }
            files.push(input_file(path).map_err(Error::refused)?);
        }
    }
    Ok(files)
}

/// A plan without work, whose targets stand for the questions.
fn plan_of(questions: &Questions) -> Result<Plan, Error> {
    let mut targets: Vec<Target> = Vec::new();
    for (number, Question { host, target, .. }) in questions.each.iter().enumerate() {
        let is_same = |other: &Question| (&other.host, &other.target) == (host, target);
        if questions.each[..number].iter().any(is_same) {
            let name = host.as_ref().map_or(THIS_HOST, |host| host.name.as_str());
            return Err(Error::refused_because(format_args!(
                "--on: {name}:{} is named twice",
                shown(target)
            )));
        }
        let executor = match host {
            Some(host) => Executor::Host(Host { process: number as u16, ..host.clone() }),
            None => Executor::Process,
        };
        targets.push(Target { executor, ..Target::new(target) });
    }
    Ok(Plan::new(0, targets, Vec::new()))
}

impl<'a> Assembled<'a> {
    /// Starts the machines.
    fn for_questions(
        setup: &Launch,
        plan: &'a Plan,
        session: &Session,
    ) -> Result<Assembled<'a>, TogetherError> {
        let parts = (0..plan.targets.len() as u16).map(|number| vec![number]).collect();
        let mut all = Assembled::start(setup, plan, parts, &session.command)?;
        all.pump(&session.control, |part| part.clock.is_some());
        all.refuse_lost(&session.control)?;
        Ok(all)
    }

    /// Sends each machine its question, and waits until each has answered or would change its target.
    fn send(
        &mut self,
        questions: &Questions,
        files: &[InputFile],
        session: &Session,
    ) -> Result<(), TogetherError> {
        for (part, question) in self.parts_mut().iter_mut().zip(&questions.each) {
            if question.needs_files {
                part.process.order(Order::Gather);
                files.iter().for_each(|file| part.process.send_input(file.clone()));
            }
            let dir = question.host.as_ref().map(|host| PathBuf::from(&host.dir));
            part.process.order(Order::Ask {
                question: question.question.clone(),
                dir: dir.filter(|dir| !dir.as_os_str().is_empty()),
                command: session.command.clone(),
                shows_progress: questions.show_progress,
            });
        }
        while !self.parts_mut().iter().all(|part| part.is_gone() || part.is_poised) {
            self.step(&session.control);
            self.pass_on(session);
            if questions.change_targets {
                // Others need not look at their targets to the end.
                self.refuse_lost(&session.control)?;
            }
        }
        match questions.change_targets {
            true => self.refuse_lost(&session.control),
            false => Ok(()),
        }
    }

    /// Lets the machines change their targets, and waits for all answers.
    fn answers(
        mut self,
        questions: &Questions,
        session: &Session,
        mut show: impl FnMut(Duration, Vec<PartProgress>),
    ) -> Result<Vec<HostAnswer>, TogetherError> {
        let begun = Instant::now();
        for part in self.parts_mut().iter_mut().filter(|part| part.is_poised) {
            part.process.order(Order::Go);
        }
        while !self.parts_mut().iter().all(|part| part.is_gone()) {
            self.step(&session.control);
            self.pass_on(session);
            show(begun.elapsed(), self.parts_mut().iter().map(progress_of).collect());
        }
        self.pass_on(session);
        let answer = |(part, question): (&mut Part, &Question)| HostAnswer {
            host: part.host.clone(),
            target: question.target.clone(),
            answer: part
                .answered
                .take()
                .ok_or_else(|| NoAnswer { code: part.code.unwrap_or(LOST), why: part.not_started() }),
        };
        Ok(self.parts_mut().iter_mut().zip(&questions.each).map(answer).collect())
    }

    /// Passes the messages for the user on.
    fn pass_on(&mut self, session: &Session) {
        for part in self.parts_mut() {
            let name = part.process.name.clone();
            for line in part.notices.drain(..) {
                session.observer.notice(&Notice::Target(&format!("{name}: {line}")));
            }
        }
    }
}

fn progress_of(part: &Part) -> PartProgress {
    PartProgress {
        name: part.host.clone().unwrap_or_else(|| THIS_HOST.into()),
        requests: part.progress,
        reported_ns: part.progress_at,
        is_lost: part.lost.is_some(),
        has_ended: part.answered.is_some(),
    }
}
