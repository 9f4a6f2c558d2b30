//! The judgement of a result, at length.

use crate::lines::{COLUMNS, Lines};
use iosonar_analyze::{Detection, During, Judgement, Level};
use iosonar_judge::about;
use iosonar_text::units::{self, Charset};

fn word(level: Level) -> &'static str {
    match level {
        Level::Fail => "fail",
        Level::Caution => "caution",
        Level::Info => "info",
        Level::Unknown => "unknown",
        Level::Ok => "ok",
    }
}

/// The verdict with one line for each detector, most severe first.
pub fn judgement(judgement: &Judgement) -> String {
    let mut out = Lines::new(COLUMNS);
    out.line(&format!("claim: {}, thresholds of version {}", judgement.claim, judgement.thresholds));
    out.line("");
    for one in &judgement.detections {
        let cause = one.explained_by.map_or(String::new(), |cause| format!(" (explained by {cause})"));
        out.paragraph(&format!("{:<8}", word(one.level)), &format!("{}: {}{cause}", one.id, one.text));
    }
    missing(&mut out, judgement);
    out.line("");
    out.paragraph("verdict: ", &judgement.sentence);
    out.finish()
}

/// Explains each reported detection at length, with its symptoms; then the unknown facts, and the checks without objection.
/// `page` is the address of the report page, for links to a time.
pub fn explained(judgement: &Judgement, page: &str) -> String {
    let mut out = Lines::new(COLUMNS);
    out.paragraph("verdict: ", &judgement.sentence);
    let is_symptom_of = |one: &&Detection, cause| one.explained_by == Some(cause);
    for told in judgement.reported() {
        at_length(&mut out, told);
        link(&mut out, told, page);
        for symptom in judgement.detections.iter().filter(|one| is_symptom_of(one, told.id)) {
            out.paragraph("  explains    ", &format!("{}: {}", symptom.id, symptom.text));
        }
    }
    let infos =
        judgement.detections.iter().filter(|one| one.level == Level::Info && one.explained_by.is_none());
    infos.for_each(|one| {
        at_length(&mut out, one);
        link(&mut out, one, page);
    });
    missing(&mut out, judgement);
    for (level, heading) in [(Level::Unknown, "Not known"), (Level::Ok, "As it should be")] {
        let of_level: Vec<&Detection> =
            judgement.detections.iter().filter(|one| one.level == level).collect();
        if !of_level.is_empty() {
            out.heading(heading);
            of_level.iter().for_each(|one| out.paragraph("  ", &format!("{}: {}", one.id, one.text)));
        }
    }
    out.finish()
}

fn link(out: &mut Lines, one: &Detection, page: &str) {
    if let Some(during) = one.during {
        out.line(&format!("  picture     {page}#{}", hash(during)));
    }
}

/// The fragment (after `#`) of a page address that shows this time, and as much before and after it.
pub fn hash(during: During) -> String {
    let length = during.to_ns.saturating_sub(during.from_ns).max(1);
    let seconds = |ns: u64| units::plain((ns as f64 / 1e6).round() / 1e3);
    format!("t={}-{}", seconds(during.from_ns.saturating_sub(length)), seconds(during.to_ns + length))
}

/// Adds a detection with its reason, its remedy, its source and its numbers.
pub fn at_length(out: &mut Lines, one: &Detection) {
    out.heading(&format!("{} ({})", one.id, word(one.level)));
    out.paragraph("  seen        ", &one.text);
    out.paragraph("  why         ", about(one.id));
    if !one.remedy.is_empty() {
        out.paragraph("  remedy      ", &one.remedy);
    }
    if let Some(During { from_ns, to_ns }) = one.during {
        let moment = |ns| units::moment(ns, Charset::Ascii);
        out.paragraph("  when        ", &format!("from {} to {}", moment(from_ns), moment(to_ns)));
    }
    out.paragraph("  source      ", &one.source);
    for number in &one.evidence {
        out.line(&format!("  {:<27} {}", number.name, plain(number.value)));
    }
}

/// A number without needless digits.
fn plain(value: f64) -> String {
    if value.fract() == 0.0 || value.abs() >= 1e6 { format!("{value:.0}") } else { format!("{value:.4}") }
}

fn missing(out: &mut Lines, judgement: &Judgement) {
    if !judgement.missing.is_empty() {
        out.heading("Needed for 'trustworthy', and not known");
        judgement.missing.iter().for_each(|one| out.paragraph("  ", one));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_analyze::DetectorId;
    use iosonar_analyze::{Channel, Evidence, Verdict};
    use iosonar_plan::Claim;

    fn detection(id: DetectorId, level: Level, explained_by: Option<DetectorId>) -> Detection {
        Detection {
            id,
            level,
            channel: Channel::Accounting,
            text: format!("Text of {id}."),
            remedy: "Mend it.".into(),
            evidence: vec![Evidence { name: "share".into(), value: 0.25 }],
            source: "a file".into(),
            effect: None,
            during: None,
            is_proof: false,
            explained_by,
        }
    }

    #[test]
    fn lists_causes_with_symptoms_and_passed_checks_last() {
        let judgement = Judgement {
            thresholds: 1,
            claim: Claim::Device,
            verdict: Verdict::Fake,
            sentence: "FAKE as a device result: unmapped-target".into(),
            fake_targets: Vec::new(),
            missing: vec!["whether the level stays".into()],
            detections: vec![
                Detection {
                    during: Some(During { from_ns: 3_000_000_000, to_ns: 4_500_000_000 }),
                    ..detection(DetectorId::UnmappedTarget, Level::Fail, None)
                },
                detection(DetectorId::ReadsNotFromDevice, Level::Fail, Some(DetectorId::UnmappedTarget)),
                detection(DetectorId::RequestsNotDone, Level::Ok, None),
            ],
        };
        let text = explained(&judgement, "r/report.html");
        let at = |word: &str| text.find(word).unwrap_or_else(|| panic!("{word} in\n{text}"));
        assert!(at("verdict: FAKE") < at("unmapped-target (fail)"), "{text}");
        assert!(at("explains    reads-not-from-device") < at("As it should be"), "{text}");
        assert!(text.contains("why         ") && text.contains("0.2500"), "{text}");
        assert!(text.contains("picture     r/report.html#t=1.5-6\n"), "{text}");
        assert!(text.lines().all(|line| line.len() <= COLUMNS), "{text}");
        let table = super::judgement(&judgement);
        assert!(
            table.contains("fail    reads-not-from-device: Text of reads-not-from-device. (explained by"),
            "{table}"
        );
        assert!(table.trim_end().ends_with("FAKE as a device result: unmapped-target"), "{table}");
    }
}
