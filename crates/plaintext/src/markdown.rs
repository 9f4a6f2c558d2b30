//! A result as Markdown, to be pasted into a report or a bug: headline, reasons, figures, events, and how it was made.

use crate::notes;
use crate::stamps;
use crate::summary::{engine_and_depth, place, state};
use iosonar_analyze::{Severity, Statement, Story, Summary, TimeStats};
use iosonar_text::one_line;
use iosonar_text::units::{self, Charset};

/// Most characters of a sentence, and of a command.
const SENTENCE: usize = 500;
const COMMAND: usize = 400;
/// Most events, those with most lost time.
const EVENTS: usize = 8;

/// A result, with the path of its page if there is one.
pub fn markdown(summary: &Summary, page: Option<&str>) -> String {
    let story = summary.story.as_ref();
    let head = story.map_or_else(|| head_without_story(summary), Story::statement);
    let mut out = self::head(&head);
    for stamp in stamps::of(summary) {
        out += &format!("- **result** {}\n", sentence(&stamp));
    }
    out += &figures(summary);
    out += &story.map_or(String::new(), events);
    out += &notes::markdown(&summary.notes);
    out += &cautions(summary);
    out += &made(summary);
    if let Some(page) = page {
        out += &format!("\n[Report page]({})\n", link(page));
    }
    out
}

/// Headline, reasons, worth and remedy.
pub(crate) fn head(statement: &Statement) -> String {
    let mut out = format!("## {}\n\n", sentence(&statement.headline));
    for reason in &statement.because {
        out += &format!("- **because** {}\n", sentence(&reason.text));
    }
    if let Some(worth) = &statement.worth {
        out += &format!("- **worth** {}\n", sentence(worth));
    }
    if let Some(remedy) = &statement.remedy {
        let is_command = remedy.starts_with("iosonar ");
        out += &format!("- **try** {}\n", if is_command { code(remedy) } else { sentence(remedy) });
    }
    out
}

fn head_without_story(summary: &Summary) -> Statement {
    Statement {
        headline: format!("Run {}: {}", summary.run.run_id, state(&summary.run.state)),
        ..Statement::default()
    }
}

/// Response, latency, and the rate beside the wanted one.
fn figures(summary: &Summary) -> String {
    let row = |name: &str, times: &TimeStats| {
        let cell = |ns: Option<u64>| ns.map_or("-".into(), |ns| units::duration(ns, Charset::Unicode));
        let [p50, p99, max] = [Some(times.p50_ns), times.p99_ns, Some(times.max_ns)].map(cell);
        format!("| {name} | {p50} | {p99} | {max} |\n")
    };
    let response = summary.response.all.filter(|_| summary.run.has_timetable && summary.knows_delay());
    let mut out = String::new();
    if response.or(summary.latency.all).is_some() {
        out += "\n| | p50 | p99 | max |\n|---|---:|---:|---:|\n";
    }
    out += &response.map_or(String::new(), |times| row("response, due to done", &times));
    out += &summary.latency.all.map_or(String::new(), |times| row("latency, submitted to done", &times));
    if let Some(done) = summary.throughput.delivered {
        let wanted = summary.throughput.demanded.filter(|_| summary.has_target_rate());
        let wanted = wanted.map_or(String::new(), |wanted| {
            format!(" of {}/s wanted", units::request_rate(wanted.requests_per_second))
        });
        out += &format!(
            "\n{}/s done{wanted}, {}, {} requests completed, {} failed.\n",
            units::request_rate(done.requests_per_second),
            units::byte_rate(done.bytes_per_second),
            units::grouped(summary.counts.all.completed + summary.counts.other.completed),
            units::grouped(summary.counts.failed())
        );
    }
    out
}

fn events(story: &Story) -> String {
    let worst = story.largest_events(EVENTS);
    if worst.is_empty() {
        return String::new();
    }
    let mut out = String::from("\n| at | event | requests | lost time |\n|---:|---|---:|---:|\n");
    for event in &worst {
        out += &format!(
            "| {} | {} | {} | {} % |\n",
            units::moment(event.range.from_ns, Charset::Unicode),
            sentence(&event.text),
            units::grouped(event.requests),
            units::number(event.share * 100.0)
        );
    }
    match story.events.len() - worst.len() {
        0 => out,
        more => out + &format!("\n{more} more events.\n"),
    }
}

/// Names of the cautions that are more than notes.
fn cautions(summary: &Summary) -> String {
    let matters = summary.cautions.iter().filter(|caution| caution.severity > Severity::Note);
    let names: Vec<String> = matters.map(|caution| escaped(&caution.id.name())).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!("\nCautions: {}.\n", names.join(", ")),
    }
}

/// Command, versions, engine, machine and devices.
fn made(summary: &Summary) -> String {
    let run = &summary.run;
    let mut out = format!("\n### How it was made\n\n- {}\n", code(&run.command));
    out += &format!("- {}, run {}, {}\n", sentence(&run.tool), sentence(&run.run_id), state(&run.state));
    if !run.is_recording() {
        let (engine, depth) = engine_and_depth(run);
        let access = if run.buffered { "page cache" } else { "direct I/O" };
        out += &format!("- engine {}, {access}, depth {}\n", escaped(&engine), escaped(&depth));
    }
    let place = place(summary);
    if !place.is_empty() {
        out += &format!("- {}\n", sentence(&place));
    }
    out
}

/// A sentence of limited length, escaped.
pub(crate) fn sentence(text: &str) -> String {
    escaped(&limited(text, SENTENCE))
}

/// A text on one line in which no character has a meaning in Markdown or HTML.
pub(crate) fn escaped(text: &str) -> String {
    const SPECIAL: &str = "\\`*_[]<>|~&#$";
    let mut out = String::new();
    for c in one_line(text).chars() {
        if SPECIAL.contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// A text of limited length as code: the fence is longer than any in it.
pub(crate) fn code(text: &str) -> String {
    let text = limited(&one_line(text), COMMAND);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') || text.is_empty() { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// The target of a link: characters that would end it are percent-encoded.
fn link(path: &str) -> String {
    let mut out = String::new();
    for c in path.chars() {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '/' | '.' | '-' | '_' => out.push(c),
            c => {
                let bytes = &mut [0; 4];
                c.encode_utf8(bytes).bytes().for_each(|byte| out += &format!("%{byte:02X}"));
            }
        }
    }
    out
}

/// The begin of a long text.
fn limited(text: &str, most: usize) -> String {
    match text.chars().count() > most {
        true => text.chars().take(most - 1).chain(['…']).collect(),
        false => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_markdown_and_html() {
        assert_eq!(
            escaped("a|b *c* <d> [e](f) \u{1b}[2J"),
            "a\\|b \\*c\\* \\<d\\> \\[e\\](f) \\\\u{1b}\\[2J"
        );
        assert_eq!((code("a`b"), code("``a")), ("``a`b``".into(), "``` ``a ```".into()));
        assert_eq!(link("my r/)report.html"), "my%20r/%29report.html");
        assert_eq!(limited(&"x".repeat(9), 5), "xxxx…");
    }
}
