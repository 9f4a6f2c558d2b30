//! The story of a result in at most 24 lines: event, reasons, worth and remedy; then the figures that matter most.

use crate::lines::{COLUMNS, Lines};
use crate::notes;
use crate::stamps;
use crate::summary::state;
use iosonar_analyze::{
    Cause, Caution, LimitResult, LimitVerdict, PartStory, Severity, Statement, Story, StoryEvent, Summary,
    TimeStats,
};
use iosonar_text::units::{self, Charset};

/// Most lines of a story: a small terminal shows them at once.
pub const STORY_LINES: usize = 24;
/// Most lines of a reason, and of the names of the cautions.
const LINES_OF_TEXT: usize = 3;
/// Most events that are listed; of more, those with most lost time.
const EVENTS: usize = 4;
/// Most targets and phases that are listed.
const PARTS: usize = 6;
/// Most lines of an event.
const LINES_OF_EVENT: usize = 2;
/// Columns right of the names, without those that whole words leave free at the end.
const COLUMNS_OF_TEXT: usize = COLUMNS - 12 - 8;

/// The story of a result, and its most important figures. A result without a story, made by an earlier version, has the figures alone.
pub fn story(summary: &Summary) -> String {
    let (head, figures, foot) = (head(summary), figures(summary), foot(summary));
    let room = STORY_LINES.saturating_sub(head.count() + figures.count() + foot.count());
    let notes = notes::of_story(&summary.notes, room);
    let room = room.saturating_sub(notes.count());
    let parts = summary.story.as_ref().map_or(Lines::new(COLUMNS), |story| parts(story, room));
    let room = room.saturating_sub(parts.count());
    let events = summary.story.as_ref().map_or(Lines::new(COLUMNS), |story| events(story, room));
    let room = room.saturating_sub(events.count()) + foot.count();
    let foot = cautions(summary, room).unwrap_or(foot);
    [head, figures, notes, parts, events, foot].map(Lines::finish).concat()
}

/// A line for each of several targets and phases; of many the first ones, those with another verdict before them.
fn parts(story: &Story, room: usize) -> Lines {
    let mut out = Lines::new(COLUMNS);
    let mut parts: Vec<&PartStory> = story.parts.iter().collect();
    parts.sort_by_key(|part| part.verdict.is_none());
    let most = PARTS.min(room.saturating_sub(2) / LINES_OF_EVENT);
    if parts.is_empty() || most == 0 {
        return out;
    }
    out.line("");
    for part in parts.iter().take(most) {
        limited(&mut out, "  ", &format!("{}: {}", part.name, part.headline), LINES_OF_EVENT);
    }
    if parts.len() > most {
        out.line(&format!("  {} more, see show --all", parts.len() - most));
    }
    out
}

/// Adds a paragraph of at most some lines; the rest is cut off.
pub(crate) fn limited(out: &mut Lines, first: &str, text: &str, most: usize) {
    let mut all = Lines::new(COLUMNS);
    all.paragraph(first, text);
    let text = all.finish();
    let lines: Vec<&str> = text.lines().collect();
    lines.iter().take(most).for_each(|line| out.line(line));
}

/// The first lines of an answer: headline, reasons, worth and remedy.
pub fn statement(statement: &Statement) -> String {
    let mut out = Lines::new(COLUMNS);
    lines_of(&mut out, statement);
    out.finish()
}

/// Adds headline, reasons, worth and remedy.
pub(crate) fn lines_of(out: &mut Lines, statement: &Statement) {
    limited(out, "", &statement.headline, LINES_OF_TEXT);
    statement.because.iter().for_each(|reason| limited(out, "  because   ", &reason.text, LINES_OF_TEXT));
    statement.worth.iter().for_each(|worth| limited(out, "  worth     ", worth, LINES_OF_EVENT));
    statement.remedy.iter().for_each(|remedy| self::remedy(out, remedy));
}

/// Headline, reasons, worth, remedy, and what else decides whether the figures mean something.
fn head(summary: &Summary) -> Lines {
    let mut out = Lines::new(COLUMNS);
    if let Some(story) = &summary.story {
        lines_of(&mut out, &story.statement());
    }
    stamps::of(summary)
        .first()
        .iter()
        .for_each(|stamp| limited(&mut out, "  result    ", stamp, LINES_OF_EVENT));
    if !summary.run.state.is_complete() {
        out.line(&format!("  state     {}", state(&summary.run.state)));
    }
    limit(&mut out, "latency", &summary.limits.latency);
    limit(&mut out, "delay", &summary.limits.delay);
    out
}

/// A command stays as it is: it is to be copied.
fn remedy(out: &mut Lines, remedy: &str) {
    let is_plain = remedy.chars().all(|c| matches!(c, ' '..='~'));
    match is_plain {
        true => out.drawn(&format!("  try       {remedy}")),
        false => limited(out, "  try       ", remedy, LINES_OF_EVENT),
    }
}

fn limit(out: &mut Lines, name: &str, verdict: &LimitVerdict) {
    if verdict.result == LimitResult::Failed {
        let limit = units::limit(verdict.limit_ns);
        out.line(&format!(
            "  limit     {name}: {} requests were above the limit of {limit}",
            units::grouped(verdict.above)
        ));
    }
}

/// Median, 99th percentile and maximum, each cell with its own unit; the rate, beside the wanted one if there is a timetable.
fn figures(summary: &Summary) -> Lines {
    let mut out = Lines::new(COLUMNS);
    let row = |name: &str, times: &TimeStats, meaning: &str| {
        let cell = |ns: Option<u64>| ns.map_or("-".into(), |ns| units::duration(ns, Charset::Ascii));
        let cells = [Some(times.p50_ns), times.p99_ns, Some(times.max_ns)].map(cell);
        let cells: String = cells.iter().map(|cell| format!("{cell:>10}")).collect();
        format!("  {name:<8}{cells}   {meaning}")
    };
    // A sum over phases means nothing.
    if summary.parts.phases.len() > 1 {
        return out;
    }
    let response = summary.response.all.filter(|_| summary.run.has_timetable && summary.knows_delay());
    if response.or(summary.latency.all).is_some() {
        out.heading(&format!("{:10}{:>10}{:>10}{:>10}", "", "p50", "p99", "max"));
    }
    response.iter().for_each(|times| out.line(&row("response", times, "due to done: the application")));
    // Where something outside of the target cost most time, the latencies contain it.
    let cause = summary.story.as_ref().and_then(Story::main_cause);
    let latency = match cause.is_some_and(Cause::is_outside) {
        true => "submitted to done: disturbed",
        false => "submitted to done: the target",
    };
    summary.latency.all.iter().for_each(|times| out.line(&row("latency", times, latency)));
    let device = summary.path.as_ref().and_then(|path| path.issue_to_complete.as_ref());
    device.iter().for_each(|times| out.line(&row("device", times, "by the kernel: the device alone")));
    if let Some(done) = summary.throughput.delivered {
        let wanted = summary.throughput.demanded.filter(|_| summary.has_target_rate());
        let wanted = wanted.map_or(String::new(), |wanted| {
            format!(" of {}/s", units::request_rate(wanted.requests_per_second))
        });
        let (rate, bytes) =
            (units::request_rate(done.requests_per_second), units::byte_rate(done.bytes_per_second));
        out.line(&format!(
            "  done       {rate}/s{wanted}, {bytes}, {} failed",
            units::grouped(summary.counts.failed())
        ));
    }
    out
}

/// The events with most lost time, by onset, in at most `room` lines. Of more than [`EVENTS`] with one cause, their number and the worst.
fn events(story: &Story, room: usize) -> Lines {
    let mut out = Lines::new(COLUMNS);
    if story.events.is_empty() || room < LINES_OF_EVENT {
        return out;
    }
    if let Some(series) = series(story) {
        out.line("");
        limited(&mut out, "  events    ", &series, LINES_OF_EVENT);
        // The empty line, and those of the series.
        let has_room = room > 2 * LINES_OF_EVENT;
        story.largest_events(has_room.into()).iter().for_each(|worst| event(&mut out, "worst", worst));
        return out;
    }
    // An empty line, and one for those that are not listed.
    let worst = story.largest_events(EVENTS.min(room.saturating_sub(2) / LINES_OF_EVENT));
    if worst.is_empty() {
        return out;
    }
    out.line("");
    worst.iter().for_each(|one| event(&mut out, "event", one));
    let more = story.events.len() - worst.len();
    if more > 0 {
        out.line(&format!("            {more} more, see show --all"));
    }
    out
}

/// Number, time and share of many events with one cause: `20 from 0.00 s to 19.04 s, the depth was used up: 99 % of the lost time`.
fn series(story: &Story) -> Option<String> {
    let first = story.events.first().filter(|_| story.events.len() > EVENTS)?;
    let is_one = story.events.iter().all(|event| event.cause == first.cause);
    let end = story.events.iter().map(|event| event.range.to_ns).max().filter(|_| is_one)?;
    let share: f64 = story.events.iter().map(|event| event.share).sum();
    let [from, to] = [first.range.from_ns, end].map(|ns| units::moment(ns, Charset::Ascii));
    Some(format!(
        "{} from {from} to {to}, {}: {} % of the lost time",
        story.events.len(),
        first.cause,
        units::number(share * 100.0)
    ))
}

fn event(out: &mut Lines, name: &str, event: &StoryEvent) {
    let from = units::moment(event.range.from_ns, Charset::Ascii);
    let share = units::number(event.share * 100.0);
    let text = format!("at {from}: {} ({share} % of the lost time)", event.text);
    limited(out, &format!("  {name:<10}"), &text, LINES_OF_EVENT);
}

/// All events of a story by onset, each with its share of the lost time and the shape that it looks like.
pub fn story_events(story: &Story) -> String {
    let mut out = Lines::new(COLUMNS);
    if story.events.is_empty() {
        return String::new();
    }
    out.heading("Events, share of the lost time");
    for event in &story.events {
        let [from, to] = [event.range.from_ns, event.range.to_ns].map(|ns| units::moment(ns, Charset::Ascii));
        let share = format!("{} %", units::number(event.share * 100.0));
        out.paragraph(&format!("  {from:>9} to {to:>9}{share:>8}  "), &event.text);
        if let Some(shape) = event.shape {
            out.line(&format!("    looks like: {shape}"));
        }
    }
    out.finish()
}

/// Names of the cautions, where their texts have no room.
fn foot(summary: &Summary) -> Lines {
    let mut out = Lines::new(COLUMNS);
    let mut names: Vec<String> = severe(summary).map(|caution| caution.id.name()).collect();
    // Several hosts may report the same.
    names.dedup();
    if !names.is_empty() {
        out.line("");
        limited(&mut out, "  cautions  ", &names.join(", "), LINES_OF_EVENT);
    }
    out
}

/// The first sentence of each caution, or its first clauses, in at most two lines; `None` if they have no room.
fn cautions(summary: &Summary, room: usize) -> Option<Lines> {
    let mut out = Lines::new(COLUMNS);
    out.line("");
    for caution in severe(summary) {
        let name = caution.id.name();
        let text = caution.text.strip_prefix(&format!("{name}: ")).unwrap_or(&caution.text);
        let room = (LINES_OF_EVENT * COLUMNS_OF_TEXT).saturating_sub(name.len());
        limited(&mut out, "  caution   ", &format!("{name}: {}", shortened(text, room)), LINES_OF_EVENT);
    }
    ((2..=room).contains(&out.count())).then_some(out)
}

/// The first sentence of a text; of a long one as many clauses as fit, or all of it.
fn shortened(text: &str, most: usize) -> String {
    let sentence = text.split_inclusive(". ").next().unwrap_or_default().trim_end();
    if sentence.chars().count() <= most {
        return sentence.into();
    }
    // A mark within a name is followed by no space.
    let ends = [": ", "; ", ", "].iter().flat_map(|mark| sentence.match_indices(mark)).map(|(at, _)| at);
    let cut = ends.filter(|at| sentence[..*at].chars().count() < most).max();
    cut.map_or_else(|| sentence.into(), |cut| format!("{}.", &sentence[..cut]))
}

/// The cautions that are more than notes.
fn severe(summary: &Summary) -> impl Iterator<Item = &Caution> {
    summary.cautions.iter().filter(|caution| caution.severity > Severity::Note)
}
