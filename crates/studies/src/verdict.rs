//! The verdict on a run of a verb, beside the verb's answer.

use iosonar_analyze::{CautionId, Summary, Verdict};
use iosonar_runner::{Notice, Session};

/// Reports what the figures of a run are worth, and that nothing was verified; returns whether they are fake.
pub(crate) fn report(session: &Session, summary: &Summary) -> bool {
    if let Some(judgement) = &summary.judgement {
        session.observer.notice(&Notice::Remark(&format!("verdict: {}", judgement.sentence)));
    }
    if let Some(nothing) = summary.cautions.iter().find(|caution| caution.id == CautionId::NothingVerified) {
        session.observer.notice(&Notice::Remark(&nothing.text));
    }
    summary.judgement.as_ref().is_some_and(|judgement| judgement.verdict == Verdict::Fake)
}
