//! Verbs that other machines execute on their own targets: the questions, and how the answers are printed.

use crate::args::common::ProgressArgs;
use crate::args::hosts::ReachArgs;
use crate::commands;
use crate::exit::{Exit, Failure};
use crate::hosts_progress::HostsProgress;
use crate::output::{print, print_message};
use crate::session::begin_session;
use crate::signals::Phase;
use crate::timings::Timings;
use iosonar_archive::TOOL;
use iosonar_cluster::{
    Answered, HostAnswer, Launch, NoAnswer, PhaseProgress, Question, Questions, RunProgress, ask,
};
use iosonar_plan::Host;
use iosonar_runner::Session;
use iosonar_studies::{doctor, fill, verify};
use iosonar_text::shown;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::Path;

/// A question that another machine can answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerbQuestion {
    Doctor {
        question: doctor::Question,
        strict: bool,
    },
    Fill(fill::Question),
    /// The result is the folder of the files that come with the question, if there is one.
    Verify {
        question: verify::Question,
        strict: bool,
    },
}

impl VerbQuestion {
    /// The question for a machine about a target.
    pub fn on(&self, host: Option<Host>, target: &Path) -> Question {
        let question = serde_json::to_value(self).unwrap_or_default();
        Question { host, target: target.to_path_buf(), question, needs_files: false }
    }
}

/// The answer of a verb, as it is printed here or sent.
pub struct VerbAnswer {
    pub text: String,
    pub json: Value,
    pub exit: Exit,
}

impl VerbAnswer {
    /// Prints it.
    pub fn print(&self, is_json: bool) -> Result<Exit, Failure> {
        print(&if is_json { format!("{:#}\n", self.json) } else { self.text.clone() })?;
        Ok(self.exit)
    }
}

impl From<VerbAnswer> for Answered {
    fn from(answer: VerbAnswer) -> Answered {
        let lines = answer.text.lines().map(String::from).collect();
        Answered { lines, json: answer.json, code: answer.exit.code() }
    }
}

/// Answers a question that was sent here, with the folder of the files that came with it.
pub fn answer(session: &Session, question: &Value, folder: Option<&Path>) -> Result<Answered, NoAnswer> {
    let answer = serde_json::from_value(question.clone()).map_err(Failure::refused).and_then(|question| {
        Ok(match question {
            VerbQuestion::Doctor { question, strict } => commands::doctor_answer(session, &question, strict)?,
            VerbQuestion::Fill(question) => commands::fill_answer(session, &question)?,
            VerbQuestion::Verify { mut question, strict } => {
                question.result = folder.map_or(question.result, Path::to_path_buf);
                commands::verify_answer(session, &question, strict)?
            }
        })
    });
    match answer {
        Ok(answer) => Ok(answer.into()),
        Err(failure) => Err(NoAnswer { why: failure.text(), code: failure.exit.code() }),
    }
}

/// Asks machines, and prints their answers.
pub fn ask_and_print(
    reach: &ReachArgs,
    progress: &ProgressArgs,
    is_json: bool,
    questions: &Questions,
) -> Result<Exit, Failure> {
    let (session, listener) = begin_session(&Timings::new(), None)?;
    listener.set_phase(Phase::Running);
    listener.set_kept(match questions.change_targets {
        true => "targets may be partly written; each host stops when its connection ends",
        false => "hosts keep no results",
    });
    let own = Launch::of_this_program(|line| print_message(line))?;
    let launch = Launch { sent: reach.send_program.clone(), ..own };
    let mut lines = HostsProgress::new(progress);
    let answers = ask(&session, &launch, questions, |elapsed, parts| {
        lines.show(&RunProgress { phase: PhaseProgress { number: 0, of: 1, name: "", elapsed }, parts });
    })?;
    print(&if is_json { format!("{:#}\n", json_of(&answers)) } else { text_of(&answers) })?;
    for answer in &answers {
        if let Err(NoAnswer { why, .. }) = &answer.answer {
            print_message(format_args!("iosonar: {why}"));
        }
    }
    Ok(match session.control.signal() {
        Some(signal) => Exit::Signal(signal.0),
        None => Exit::of_all(answers.iter().map(exit_of)),
    })
}

fn exit_of(answer: &HostAnswer) -> Exit {
    let code = answer.answer.as_ref().map_or_else(|none| none.code, |answered| answered.code);
    Exit::of_code(code)
}

/// The name of a machine, with the subject if the machine has several.
fn heading(answers: &[HostAnswer], of: &HostAnswer) -> String {
    let name = of.host.as_ref().map_or_else(|| "this machine".into(), |host| shown(host).to_string());
    match answers.iter().filter(|other| other.host == of.host).count() {
        1 => name,
        _ => format!("{name} ({})", shown(&of.target)),
    }
}

/// An answer of one line follows the name of its machine; others stand below it.
fn text_of(answers: &[HostAnswer]) -> String {
    let mut text = String::new();
    for of in answers {
        let Ok(answered) = &of.answer else { continue };
        let heading = heading(answers, of);
        match answered.lines.as_slice() {
            [line] => text += &format!("{heading}: {line}\n"),
            lines => {
                let space = if text.is_empty() { "" } else { "\n" };
                text += &format!("{space}{heading}\n{}\n", lines.join("\n"));
            }
        }
    }
    text
}

fn json_of(answers: &[HostAnswer]) -> Value {
    let one = |HostAnswer { host, target, answer }: &HostAnswer| {
        let (answer, error) = match answer {
            Ok(answered) => (Some(&answered.json), None),
            Err(none) => (None, Some(&none.why)),
        };
        json!({ "host": host, "target": target.to_string_lossy(), "answer": answer, "error": error })
    };
    let hosts: Vec<Value> = answers.iter().map(one).collect();
    json!({ "version": 1, "tool": TOOL, "hosts": hosts })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers() -> Vec<HostAnswer> {
        let answer = |host: Option<&str>, target: &str, answer| HostAnswer {
            host: host.map(String::from),
            target: target.into(),
            answer,
        };
        let good = |text: &str, exit| Ok(VerbAnswer { text: text.into(), json: json!(1), exit }.into());
        vec![
            answer(Some("a"), "s", good("one\n", Exit::Fine)),
            answer(Some("a"), "t", good("x\ny\n", Exit::Signal(2))),
            answer(None, "u", Err(NoAnswer { why: "lost".into(), code: 1 })),
            answer(Some("b"), "v", good("two\n", Exit::Fine)),
        ]
    }

    #[test]
    fn prints_answers_under_the_names_of_their_machines() {
        assert_eq!(text_of(&answers()), "a (s): one\n\na (t)\nx\ny\nb: two\n");
        let json = json_of(&answers());
        assert_eq!(json["hosts"][0], json!({ "host": "a", "target": "s", "answer": 1, "error": null }));
        assert_eq!(json["hosts"][2], json!({ "host": null, "target": "u", "answer": null, "error": "lost" }));
    }

    #[test]
    fn ends_as_the_machine_whose_end_weighs_most() {
        let ends: Vec<Exit> = answers().iter().map(exit_of).collect();
        assert_eq!(ends, [Exit::Fine, Exit::Signal(2), Exit::Failed, Exit::Fine]);
        assert_eq!(Exit::of_all(ends), Exit::Signal(2));
        assert_eq!(Exit::of_all([Exit::Failed, Exit::Fake, Exit::Fine]), Exit::Failed);
        assert_eq!(Exit::of_all([]), Exit::Fine);
    }
}
