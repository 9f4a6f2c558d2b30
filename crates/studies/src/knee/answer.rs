//! The rate that a target sustains, with the ramps that show it.

use super::question::Question;
use super::ramp::Ramp;
use iosonar_analyze::compare::RunVerdict;
use iosonar_analyze::knee::{
    Doubt, FEWEST_REQUESTS, KneeVerdict, RampRow, RampStep, RampedOverload, Sentence, ramp_steps,
};
use iosonar_analyze::{DetectorId, OutsideCause, Statement, Summary, TimeRange, Verdict};
use iosonar_archive::{RunState, TOOL};
use iosonar_plan::{Job, Nanos, Rising, RisingShape};
use iosonar_runner::Error;
use iosonar_story::{KneeFacts, knee_story};
use iosonar_text::shown;
use iosonar_text::units::request_rate;
use serde::Serialize;
use serde_json::{Value, json};
use std::path::PathBuf;

/// The verdict of the ramp that answers, and all ramps.
#[derive(Debug, Clone, Serialize)]
pub struct Answer {
    version: u32,
    tool: &'static str,
    /// Headline, reasons, worth and remedy.
    pub story: Statement,
    /// As asked.
    pub target: PathBuf,
    /// As asked: the most requests in flight.
    pub depth: u32,
    /// Whether and where the target stopped keeping up.
    pub verdict: KneeVerdict,
    /// The verdict in words, and what is to know of it.
    pub sentences: Vec<String>,
    /// Why the search was ended from outside: a signal, or the reason of an abort.
    pub stopped_by: Option<String>,
    /// Marks that every view of the result shows.
    pub stamps: Vec<String>,
    /// Name of the ramp that answers: the last one that found the rate, otherwise the last one.
    pub answer: String,
    /// All ramps in their order.
    pub ramps: Vec<RampAnswer>,
    /// Demanded and delivered requests in a few intervals of the ramp that answers.
    pub steps: Vec<RampRow>,
    /// The same in the intervals of a picture.
    #[serde(skip)]
    pub rows: Vec<RampRow>,
    /// Archive of the ramp that answers.
    #[serde(skip)]
    pub dir: PathBuf,
    /// Summary of the ramp that answers.
    #[serde(skip)]
    pub summary: Summary,
    /// Failed requests of all ramps.
    pub failed: u64,
    /// The cause outside of the target that covers most of the time in which the rate was measured; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside_cause: Option<OutsideCause>,
    /// The verdict, if the figures are no storage result, or those of another place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judgement: Option<RunVerdict>,
    /// How the last ramp ended.
    #[serde(skip)]
    pub state: RunState,
    /// Summary of a ramp whose figures are those of another place.
    #[serde(skip)]
    pub fake: Option<Summary>,
}

/// A ramp and its verdict.
#[derive(Debug, Clone, Serialize)]
pub struct RampAnswer {
    /// Name of its archive in the directory of the results.
    pub name: String,
    /// How the rate rose.
    pub demand: Rising,
    /// The verdict on this ramp alone.
    pub verdict: KneeVerdict,
    /// Why it was ended from outside.
    pub stopped_by: Option<String>,
    /// Whether the load ended before the ramp.
    pub load_was_over: bool,
    /// The figures of blkreplay's own measure.
    pub ramped_overload: RampedOverload,
    /// Its rate.
    pub ramped_overload_iops: Option<f64>,
}

impl RampAnswer {
    fn of(ramp: &Ramp) -> RampAnswer {
        RampAnswer {
            name: ramp.name.clone(),
            demand: ramp.rising,
            verdict: ramp.verdict.clone(),
            stopped_by: ramp.stopped_by(),
            load_was_over: ramp.load_was_over,
            ramped_overload: ramp.overload,
            ramped_overload_iops: ramp.overload.iops(),
        }
    }
}

impl Answer {
    /// `command` is the search as typed.
    pub(super) fn of(question: &Question, ramps: &[Ramp], command: &str) -> Result<Answer, Error> {
        let (target, job) = question.parts()?;
        let found = |ramp: &&Ramp| matches!(ramp.verdict, KneeVerdict::Found(_)) && ramp.is_whole();
        let (Some(ramp), Some(last)) = (ramps.iter().rfind(found).or(ramps.last()), ramps.last()) else {
            return Err(Error::refused_because("no ramp was executed"));
        };
        let fake = ramps.iter().map(|ramp| &ramp.summary).find(|one| is_of_another_place(one));
        let mut answer = Answer {
            version: 1,
            tool: TOOL,
            story: Statement::default(),
            target: target.path.clone(),
            depth: job.depth,
            verdict: ramp.verdict.clone(),
            sentences: sentences(&format!("iosonar knee -t {}", shown(&target.path)), ramp, last),
            stopped_by: last.stopped_by(),
            stamps: ramp.summary.stamps.iter().map(|stamp| stamp.text().to_string()).collect(),
            answer: ramp.name.clone(),
            ramps: ramps.iter().map(RampAnswer::of).collect(),
            steps: ramp.steps.clone(),
            rows: ramp.rows.clone(),
            dir: ramp.dir.clone(),
            summary: ramp.summary.clone(),
            failed: ramps.iter().map(|ramp| ramp.summary.counts.all.failed).sum(),
            outside_cause: outside_cause(ramp),
            judgement: fake.or(Some(&ramp.summary)).and_then(objection),
            state: last.info.state.clone(),
            fake: fake.cloned(),
        };
        answer.story = answer.told(question, job, ramp, command);
        Ok(answer)
    }

    /// The story of the answer from a ramp.
    fn told(&self, question: &Question, job: &Job, ramp: &Ramp, command: &str) -> Statement {
        knee_story(&KneeFacts {
            command,
            workload: &job.workload,
            depth: job.depth,
            duration: question.duration,
            most: question.most,
            rising: ramp.rising,
            verdict: &self.verdict,
            steps: &self.steps,
            failed: self.failed,
            load_was_over: ramp.load_was_over,
            judgement: self.judgement.as_ref(),
            fake: self.fake.as_ref().and_then(|fake| fake.story.as_ref()),
            outside: self.outside_cause.as_ref(),
            slow: is_too_slow(ramp).then(|| slow_ramp(ramp.delivered_per_second())),
        })
    }

    /// The ramp that answers.
    pub fn ramp(&self) -> Option<&RampAnswer> {
        self.ramps.iter().find(|ramp| ramp.name == self.answer)
    }

    /// Its steps, and whether the target kept up in each.
    pub fn judged_steps(&self) -> Vec<RampStep> {
        ramp_steps(&self.steps, &self.verdict)
    }

    /// Whether the rate was found, or the target kept up to the end.
    pub fn is_clear(&self) -> bool {
        !matches!(self.verdict, KneeVerdict::Unclear { .. })
    }

    /// The answer as `knee.json` keeps it.
    pub fn to_json(&self) -> Value {
        json!(self)
    }
}

/// Whether a verdict says that the figures are those of another place. A ramp exceeds the target's capacity, and finds limits of this
/// machine on purpose: nothing else in its verdict counts.
fn is_of_another_place(summary: &Summary) -> bool {
    let mut proofs = summary.judgement.iter().flat_map(|judgement| &judgement.detections);
    summary.has_verdict(Verdict::Fake) && proofs.any(|one| one.is_proof && one.id != DetectorId::OwnLimit)
}

/// A verdict that speaks against any statement about the target.
fn objection(summary: &Summary) -> Option<RunVerdict> {
    let judgement = summary.judgement.as_ref()?;
    let counts = judgement.verdict == Verdict::NotMeasured || is_of_another_place(summary);
    counts.then(|| RunVerdict { verdict: judgement.verdict, sentence: judgement.sentence.clone() })
}

/// The cause outside of the target that covers most of the time in which the rate was measured.
fn outside_cause(ramp: &Ramp) -> Option<OutsideCause> {
    let KneeVerdict::Found(knee) = &ramp.verdict else { return None };
    let measured = TimeRange { from_ns: knee.measured_from_ns, to_ns: knee.measured_to_ns };
    ramp.summary.story.as_ref()?.outside_cause(measured)
}

/// The findings, the reason for a stop, and for targets that are too slow a `command`.
fn sentences(command: &str, ramp: &Ramp, last: &Ramp) -> Vec<String> {
    let mut sentences: Vec<String> = ramp.verdict.sentences().iter().map(Sentence::to_string).collect();
    if last.name != ramp.name {
        sentences.push(format!(
            "the answer is from {}, in which the rate was looked for: {}, which was to measure it, found none",
            ramp.name, last.name
        ));
    }
    if let Some(why) = last.stopped_by() {
        sentences.push(format!("the search was stopped in {}: {why}", last.name));
    }
    if is_too_slow(ramp) {
        sentences.push(slow(ramp.delivered_per_second(), command));
    }
    sentences
}

/// Whether hardly anything ended of what was requested.
fn is_too_slow(ramp: &Ramp) -> bool {
    matches!(ramp.verdict, KneeVerdict::Unclear { why: Doubt::TooFew, .. }) && ramp.is_far_behind()
}

/// A ramp for a target that completes only `per_second` requests.
fn slow_ramp(per_second: f64) -> Rising {
    let rate = per_second.max(0.01);
    let (from, to) = ((rate / 2.0).floor().max(1.0), (rate * 3.0).ceil().max(2.0));
    // Two thirds of the ramp exceed the target's capacity, and some of that is lost before it is detected.
    let seconds = (3.0 * FEWEST_REQUESTS as f64 / rate).ceil();
    let (from, to, over) = (from as u64, to as u64, Nanos::from_secs(seconds as u64));
    Rising { from, to, over, shape: RisingShape::Linear }
}

/// Suggests that ramp.
fn slow(per_second: f64, command: &str) -> String {
    let Rising { from, to, over, .. } = slow_ramp(per_second);
    format!(
        "it ends about {} requests/s, and a rate is measured with {FEWEST_REQUESTS} at least: {command} --from {from} --to {to} \
         --duration {over}",
        request_rate(per_second)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_measurable_ramp_for_slow_target() {
        let text = slow(2.0, "iosonar knee -t dev");
        assert!(text.contains(": iosonar knee -t dev --from 1 --to 6 --duration "), "{text}");
        assert!(slow(0.0, "").contains("--from 1 --to 2 "));
    }
}
