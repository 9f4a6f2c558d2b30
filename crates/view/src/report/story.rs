//! The story of a run at the head of the page, with its events.

use super::run::ReportRun;
use crate::escape;
use iosonar_analyze::{During, Story, Verdict};
use iosonar_plaintext::hash;
use iosonar_text::units;
use std::fmt::Write as _;

/// Most events that are listed; of more, those with most lost time.
const EVENTS: usize = 12;

/// Writes the story; nothing for a load, or for a result without one.
pub(super) fn write(out: &mut String, name: &str, run: &ReportRun<'_>) {
    let Some(summary) = run.material.run.as_ref().map(|run| run.summary) else { return };
    let Some(story) = &summary.story else { return };
    let is_refuted = summary.has_verdict(Verdict::Fake)
        || summary.counts.failed() > 0
        || summary.verified.as_ref().is_some_and(|verified| verified.total() > 0);
    let class = if is_refuted { "headline bad" } else { "headline" };
    _ = writeln!(out, "<section class=\"story\" aria-label=\"{name}What happened\">");
    _ = writeln!(
        out,
        "<p class=\"{class}\"><b>{name}{}</b></p>\n<dl class=\"facts\">",
        escape(&story.headline)
    );
    let mut fact = |term: &str, text: &str| _ = writeln!(out, "<dt>{term}</dt><dd>{}</dd>", escape(text));
    story.because.iter().for_each(|reason| fact("because", &reason.text));
    story.worth.iter().for_each(|worth| fact("worth", worth));
    story.remedy.iter().for_each(|remedy| fact("try", remedy));
    out.push_str("</dl>\n");
    events(out, story);
    out.push_str("</section>\n");
}

fn events(out: &mut String, story: &Story) {
    let worst = story.largest_events(EVENTS);
    if worst.is_empty() {
        return;
    }
    out.push_str("<ul class=\"events\">\n");
    for event in &worst {
        let during = During { from_ns: event.range.from_ns, to_ns: event.range.to_ns };
        let from = units::moment(event.range.from_ns, units::Charset::Unicode);
        let share = units::number(event.share * 100.0);
        _ = writeln!(
            out,
            "<li><a href=\"#{}\">{from}</a>: {} ({share} % of the lost time)</li>",
            hash(during),
            escape(&event.text)
        );
    }
    if story.events.len() > worst.len() {
        _ = writeln!(out, "<li>and {} more</li>", story.events.len() - worst.len());
    }
    out.push_str("</ul>\n");
}
