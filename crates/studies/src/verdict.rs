//! The verdict on a run of a verb, beside the verb's answer.

use iosonar_analyze::{CautionId, Summary, Verdict};
use iosonar_runner::{Notice, Session};

/// Reports the verdict on the figures of a run; returns its sentence if they are fake.
pub(crate) fn report(session: &Session, summary: &Summary) -> Option<String> {
    lines(summary).iter().for_each(|line| session.observer.notice(&Notice::Remark(line)));
    let judgement = summary.judgement.as_ref().filter(|_| summary.has_verdict(Verdict::Fake));
    judgement.map(|judgement| judgement.sentence.clone())
}

/// The verdict on the figures of a run, and that nothing was verified: a sentence each.
pub fn lines(summary: &Summary) -> Vec<String> {
    let verdict = summary.judgement.as_ref().map(|judgement| format!("verdict: {}", judgement.sentence));
    let nothing = summary.cautions.iter().find(|caution| caution.id == CautionId::NothingVerified);
    verdict.into_iter().chain(nothing.map(|caution| caution.text.clone())).collect()
}
