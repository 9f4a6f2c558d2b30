//! The story of a run: its sentences at the head of the page, and its events as cards.

use super::markup::suffix;
use super::run::ReportRun;
use crate::statement;
use iosonar_analyze::{During, Shape, Story, StoryEvent, Verdict};
use iosonar_plaintext::hash;
use iosonar_text::units;
use std::fmt::Write as _;

/// Most events that have a card; of more, those with most lost time.
const EVENTS: usize = 12;
/// Least width of the mark of an event on its time line, of a thousand.
const LEAST_MARK: f64 = 6.0;

fn of<'a>(run: &ReportRun<'a>) -> Option<&'a Story> {
    run.material.run.as_ref()?.summary.story.as_ref()
}

/// Writes headline, reasons, worth and remedy; nothing for a load, or for a result without a story.
pub(super) fn write(out: &mut String, name: &str, run: &ReportRun<'_>) {
    let (Some(story), Some(summary)) = (of(run), run.material.run.as_ref().map(|run| run.summary)) else {
        return;
    };
    let is_refuted = summary.has_verdict(Verdict::Fake)
        || summary.counts.failed() > 0
        || summary.verified.as_ref().is_some_and(|verified| verified.total() > 0);
    let class = if is_refuted { "headline bad" } else { "headline" };
    _ = writeln!(out, "<section class=\"story\" aria-label=\"{name}What happened\">");
    _ = writeln!(
        out,
        "<p class=\"{class}\"><b>{name}{}</b></p>\n<dl class=\"facts\">",
        statement::prose(&story.headline)
    );
    story.because.iter().for_each(|because| statement::reason(out, because, "show --json"));
    if let Some(worth) = &story.worth {
        let worth = statement::prose(worth);
        let link = if run.material.subject.cautions.is_empty() {
            worth
        } else {
            format!("<a href=\"#cautions{}\">{worth}</a>", suffix(name))
        };
        _ = writeln!(out, "<dt>worth</dt><dd>{link}</dd>");
    }
    story.remedy.iter().for_each(|remedy| statement::remedy(out, remedy));
    out.push_str("</dl>\n</section>\n");
}

/// Writes the events as cards. The viewer puts them below the sonar, which follows their links.
pub(super) fn events(out: &mut String, name: &str, run: &ReportRun<'_>) {
    let (Some(story), Some(shown)) = (of(run), &run.material.run) else { return };
    let worst = story.largest_events(EVENTS);
    if worst.is_empty() {
        return;
    }
    let more = story.events.len() - worst.len();
    _ = writeln!(out, "<section class=\"events\" aria-label=\"{name}Events\">\n<h2>{name}Events</h2>\n<ol>");
    worst.iter().for_each(|event| card(out, event, shown.diagrams.end_ns()));
    out.push_str("</ol>\n");
    if more > 0 {
        _ = writeln!(out, "<p class=\"faint\">and {more} more with less lost time</p>");
    }
    out.push_str("</section>\n");
}

/// The shape of an event, as a guess. Its page is not beside a report.
fn looks_like(shape: Shape) -> String {
    format!("<p class=\"faint\" title=\"docs/shapes.md#{}\">looks like: {}</p>\n", shape.id(), shape.name())
}

fn card(out: &mut String, event: &StoryEvent, end_ns: u64) {
    let during = During { from_ns: event.range.from_ns, to_ns: event.range.to_ns };
    let moment = |ns| units::moment(ns, units::Charset::Unicode);
    _ = writeln!(
        out,
        "<li class=\"event\"><p><a href=\"#{}\">{} to {}</a> <b>{} %</b> of the lost time</p>\n<p>{}</p>\n{}{}</li>",
        hash(during),
        moment(event.range.from_ns),
        moment(event.range.to_ns),
        units::number(event.share * 100.0),
        statement::prose(&event.text),
        event.shape.map_or(String::new(), looks_like),
        time_line(event, end_ns),
    );
}

/// The place of an event in the run.
fn time_line(event: &StoryEvent, end_ns: u64) -> String {
    let place = |ns: u64| (ns as f64 / end_ns.max(1) as f64).min(1.0) * 1000.0;
    let (from, to) = (place(event.range.from_ns), place(event.range.to_ns));
    let width = (to - from).max(LEAST_MARK);
    let left = from.min(1000.0 - width);
    format!(
        "<svg viewBox=\"0 0 1000 1\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect x=\"{left:.0}\" width=\"{width:.0}\" \
         height=\"1\"/></svg>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event(from_ns: u64, to_ns: u64) -> StoryEvent {
        let event = json!({
            "from_ns": from_ns,
            "to_ns": to_ns,
            "cause": "others",
            "text": "others on <b>",
            "requests": 10,
            "lost_request_seconds": 2.0,
            "share": 0.415,
            "worst_response_ns": 5,
        });
        serde_json::from_value(event).unwrap()
    }

    #[test]
    fn cards_link_to_their_time_and_state_the_share() {
        let mut out = String::new();
        card(&mut out, &event(2_000_000_000, 3_000_000_000), 10_000_000_000);
        assert!(
            out.contains("<a href=\"#t=1-4\">2.00 s to 3.00 s</a> <b>41.5 %</b> of the lost time"),
            "{out}"
        );
        assert!(out.contains("others on &lt;b&gt;") && out.contains("x=\"200\" width=\"100\""), "{out}");
        assert!(!out.contains("looks like"), "{out}");
    }

    #[test]
    fn cards_name_the_shape_as_a_guess() {
        let mut out = String::new();
        let event = StoryEvent { shape: Some(Shape::Neighbour), ..event(1, 2) };
        card(&mut out, &event, 10);
        assert!(
            out.contains("<p class=\"faint\" title=\"docs/shapes.md#neighbour\">looks like: neighbour</p>"),
            "{out}"
        );
    }

    #[test]
    fn short_events_are_visible_at_the_end_of_the_run() {
        let line = time_line(&event(9_999_999_999, 10_000_000_000), 10_000_000_000);
        assert!(line.contains("x=\"994\" width=\"6\""), "{line}");
    }
}
