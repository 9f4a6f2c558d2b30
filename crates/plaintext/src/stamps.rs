//! Words over every picture and at the top of every text: why figures are no storage result, and that data was wrong.

use iosonar_analyze::{Judgement, Summary, Verdict};
use iosonar_archive::Verified;
use iosonar_text::units::grouped;

/// Stamps of a run, the strongest reason first. Wrong data comes last: it doubts the target, not the figures.
pub fn of(summary: &Summary) -> Vec<String> {
    let reasons = summary.stamps.iter().map(|stamp| stamp.text().to_string());
    let fake = summary.judgement.as_ref().and_then(fake);
    reasons.chain(fake).chain(summary.verified.as_ref().and_then(data_errors)).collect()
}

/// Stamp of a fake result.
fn fake(judgement: &Judgement) -> Option<String> {
    let claim = judgement.claim.name().to_uppercase();
    (judgement.verdict == Verdict::Fake).then(|| format!("FAKE -- NOT A {claim} RESULT"))
}

/// A verdict in two or three words, for the line below a picture's title.
pub fn verdict(judgement: &Judgement) -> Option<&'static str> {
    match judgement.verdict {
        Verdict::Trustworthy => Some("trustworthy"),
        Verdict::Care => Some("read with care"),
        Verdict::Fake => Some("FAKE"),
        Verdict::NotMeasured => None,
    }
}

/// Number of faults found by verification; `None` if zero.
pub fn data_errors(verified: &Verified) -> Option<String> {
    let total = verified.total();
    (total > 0).then(|| format!("DATA ERRORS: {}", grouped(total)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_archive::{FaultClass, FaultCount};

    #[test]
    fn counts_unlisted_faults() {
        let mut verified = Verified { not_listed: 1_000, ..Verified::default() };
        verified.faults.insert(FaultClass::Lost, FaultCount { faults: 234, sectors: 1 });
        assert_eq!(data_errors(&verified).as_deref(), Some("DATA ERRORS: 1 234"));
        assert_eq!(data_errors(&Verified::default()), None);
    }
}
