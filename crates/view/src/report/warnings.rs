//! Stamps, limits and cautions. In the open stands only what decides about the figures: stamps, limits that failed, severe cautions, and
//! those that are a cause of the story. The others are one click away.

use super::markup::{details, suffix};
use super::run::ReportRun;
use crate::units::{self, Charset};
use crate::{escape, statement};
use iosonar_analyze::{
    Cause, Caution, CautionId, DetectorId, During, LimitResult, LimitVerdict, Severity, Story, Summary,
};
use iosonar_plaintext::hash;
use std::fmt::Write as _;

/// Words over the whole page: the figures are no storage result, or data was wrong.
pub(super) fn stamps(out: &mut String, name: &str, run: &ReportRun<'_>) {
    for stamp in &run.material.subject.stamps {
        _ = writeln!(out, "<p class=\"stamp\" role=\"alert\">{name}{}</p>", escape(stamp));
    }
}

/// Cautions below the story. A story states the verdict; without one it stands here.
pub(super) fn cautions(out: &mut String, name: &str, run: &ReportRun<'_>) {
    let subject = run.material.subject;
    let story = run.material.run.as_ref().and_then(|run| run.summary.story.as_ref());
    if let Some(verdict) =
        subject.verdict.as_ref().filter(|_| story.is_none_or(|story| story.worth.is_none()))
    {
        _ = writeln!(out, "<p class=\"verdict\">{name}Verdict: {}</p>", escape(verdict));
    }
    let judgement = run.material.run.as_ref().and_then(|run| run.summary.judgement.as_ref());
    let during = |one: &Caution| match one.id {
        CautionId::Detected(id) => judgement.and_then(|judgement| judgement.of(id)?.during),
        _ => None,
    };
    let list = |out: &mut String, id: &str, some: &[&Caution]| {
        _ = writeln!(out, "<ul id=\"{id}{}\">", suffix(name));
        some.iter().for_each(|one| caution(out, name, one, during(one)));
        out.push_str("</ul>\n");
    };
    let (open, folded): (Vec<_>, Vec<_>) = subject.cautions.iter().partition(|one| is_open(one, story));
    if !open.is_empty() {
        out.push_str("<section class=\"cautions\" aria-label=\"Cautions\">\n");
        list(out, "cautions", &open);
        out.push_str("</section>\n");
    }
    if !folded.is_empty() {
        let other = if open.is_empty() { "" } else { " other" };
        let plural = if folded.len() == 1 { "" } else { "s" };
        let summary = format!("{name}{}{other} caution{plural}", folded.len());
        // A link to the list opens it.
        let list_id = if open.is_empty() { "cautions" } else { "further-cautions" };
        out.push_str("<div class=\"cautions\">\n");
        let id = format!("other-cautions{}", suffix(name));
        details(out, &id, false, &summary, |out| list(out, list_id, &folded));
        out.push_str("</div>\n");
    }
}

/// Without a story it is not known which cautions are causes.
fn is_open(caution: &Caution, story: Option<&Story>) -> bool {
    let is_cause =
        |story: &Story| story.shares.iter().any(|share| causes_of(caution.id).contains(&share.cause));
    caution.severity == Severity::Severe || story.is_none_or(is_cause)
}

/// Causes of which a caution is the evidence.
fn causes_of(id: CautionId) -> &'static [Cause] {
    match id {
        CautionId::Detected(DetectorId::CpuDisturbed) => &[Cause::Halted, Cause::NoCpu],
        CautionId::Detected(DetectorId::ForeignIo) => &[Cause::Others],
        CautionId::HeldUp | CautionId::BehindDemand | CautionId::Detected(DetectorId::CannotKeepUp) => {
            &[Cause::DepthFull]
        }
        CautionId::Detected(DetectorId::StallsHidden) => &[Cause::TargetStoodStill],
        _ => &[],
    }
}

fn caution(out: &mut String, name: &str, caution: &Caution, during: Option<During>) {
    let word = match caution.severity {
        Severity::Severe => "Severe",
        Severity::Warning => "Warning",
        Severity::Note => "Note",
    };
    let link =
        during.map_or(String::new(), |during| format!(" <a href=\"#{}\">Show the time</a>", hash(during)));
    _ = writeln!(out, "<li><b>⚠ {name}{word}.</b> {}{link}</li>", statement::prose(&caution.text));
}

/// Limits that failed.
pub(super) fn failed_limits(out: &mut String, name: &str, s: &Summary) {
    let failed: Vec<_> = limits_of(s).into_iter().filter(|(_, v)| v.result == LimitResult::Failed).collect();
    if !failed.is_empty() {
        out.push_str("<section class=\"verdicts\" aria-label=\"Limits that failed\">\n");
        failed.into_iter().for_each(|(of, verdict)| limit(out, name, of, verdict));
        out.push_str("</section>\n");
    }
}

/// Limits that did not fail, folded.
pub(super) fn other_limits(out: &mut String, name: &str, s: &Summary) {
    let others: Vec<_> = limits_of(s).into_iter().filter(|(_, v)| v.result != LimitResult::Failed).collect();
    if !others.is_empty() {
        details(out, &format!("limits{}", suffix(name)), false, &format!("{name}Limits"), |out| {
            out.push_str("<div class=\"verdicts\">\n");
            others.into_iter().for_each(|(of, verdict)| limit(out, name, of, verdict));
            out.push_str("</div>\n");
        });
    }
}

fn limits_of(s: &Summary) -> [(&'static str, &LimitVerdict); 2] {
    [("Latency", &s.limits.latency), ("Delay", &s.limits.delay)]
}

fn limit(out: &mut String, run: &str, name: &str, verdict: &LimitVerdict) {
    let (class, text) = verdict_words(verdict);
    _ = writeln!(
        out,
        "<p class=\"{class}\"><b>{run}{name}</b>, limit {}: {text}</p>",
        units::limit(verdict.limit_ns)
    );
}

fn verdict_words(v: &LimitVerdict) -> (&'static str, String) {
    let max = v.max_ns.map_or("–".to_string(), |ns| units::duration(ns, Charset::Unicode));
    match v.result {
        LimitResult::Passed => ("ok", format!("<b>✓ passed</b>, max {max}")),
        LimitResult::Failed => {
            let first = v.first_due_ns.map_or("–".to_string(), |t| units::moment(t, Charset::Unicode));
            (
                "bad",
                format!("<b>✕ FAILED</b>, {} above, first at {first}, max {max}", units::grouped(v.above)),
            )
        }
        LimitResult::NotApplicable => ("faint", "does not apply".to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_analyze::CauseShare;
    use serde_json::json;

    fn story(cause: Cause) -> Story {
        let shares = [CauseShare { cause, share: 1.0 }];
        let story = json!({ "headline": "", "lost_request_seconds": 1.0, "shares": shares });
        serde_json::from_value(story).unwrap()
    }

    #[test]
    fn only_severe_cautions_and_causes_of_the_story_are_open() {
        let foreign = Caution::warning(CautionId::Detected(DetectorId::ForeignIo), String::new());
        assert!(is_open(&foreign, Some(&story(Cause::Others))));
        assert!(!is_open(&foreign, Some(&story(Cause::TargetSlower))));
        assert!(is_open(&foreign, None), "without a story no cause is known");
        let severe = Caution { severity: Severity::Severe, ..foreign };
        assert!(is_open(&severe, Some(&story(Cause::TargetSlower))));
    }
}
