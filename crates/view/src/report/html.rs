//! The page itself.

use super::blocks::Blocks;
use super::machine;
use super::markup::{
    details, folded, optional, picture, plain_table, suffix, table, time, time_figure, times,
};
use super::meta::{GridForm, PAGE_VERSION, PageFinding, PageMeta, PagePairs, PageRatio};
use super::run::{Counted, ReportRun, relation};
use super::{blame, faults, figures, hosts, notes, phases, story, tiles, tree, warnings};
use crate::charts::end_of_time;
use crate::svg::escape_lines;
use crate::units::{self, Charset};
use crate::{Picture, Style, escape, raster, statement};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use iosonar_analyze::compare::{Comparison, Pairs, RatioBin};
use iosonar_analyze::{
    ByScope, Counts, MachineSeries, ROWS, ROWS_PER_DECADE, Scope, Summary, TILE_COLUMNS, TargetSummary,
    TimeStats,
};
use iosonar_plaintext::{extent_latencies, health};
use iosonar_text::{one_line, shown_json};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::panic::resume_unwind;
use std::thread;

/// Input of a page.
pub struct Report<'a> {
    /// The run or load; or A and B for a comparison.
    pub runs: &'a [ReportRun<'a>],
    /// Result of the comparison of A and B, and its text with all figures.
    pub comparison: Option<(&'a Comparison, &'a str)>,
    /// The plan as TOML, to run the same again.
    pub plan_toml: Option<&'a str>,
    /// Facts about the machine, as JSON text.
    pub environment_json: Option<&'a str>,
    /// Name and version of the program that writes the page.
    pub tool: &'a str,
}

/// Writes the page. The same input gives the same bytes.
///
/// # Errors
/// Errors of `out`.
pub fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    // The words have pictures, which take as long as the counts.
    let (words, counted) = thread::scope(|both| {
        let words = both.spawn(|| words(report));
        let counted: Vec<Counted<'_>> = report.runs.iter().map(ReportRun::counted).collect();
        (words.join().unwrap_or_else(|panic| resume_unwind(panic)), counted)
    });
    out.write_all(words.as_bytes())?;
    let meta = serde_json::to_string(&meta(report, &counted))?;
    // A path may hold `</script>`; in JSON the bracket may be written as a number.
    let meta = shown_json(&meta).replace('<', "\\u003c");
    writeln!(out, "<script type=\"application/json\" id=\"iosonar-meta\">{meta}</script>")?;
    writeln!(out, "<script id=\"iosonar-viewer\">{VIEWER}</script>")?;
    for (i, (run, counted)) in report.runs.iter().zip(&counted).enumerate() {
        run.write_blocks(counted, &mut Blocks { out, run: i })?;
    }
    if let Some(pairs) = pairs_of(report) {
        Blocks { out, run: 0 }.relation("pairs", &pairs.density)?;
    }
    out.write_all(b"<div id=\"iosonar-end\" hidden></div>\n</body>\n</html>\n")
}

/// The part of the page that needs no script.
fn words(report: &Report<'_>) -> String {
    let mut out = String::new();
    let title = title(report);
    head(&mut out, &title, report.tool);
    out.push_str("<main>\n");
    // Hidden by the end of the file, without a script.
    out.push_str("<p class=\"cut\" role=\"alert\">⚠ This file is cut off: copy or send it again.</p>\n");
    header(&mut out, report);
    first_screen(&mut out, report);
    out.push_str("<div id=\"view\"></div>\n");
    let names = names(report);
    for (name, run) in names.iter().zip(report.runs) {
        notes::write(&mut out, name, run);
        story::events(&mut out, name, run);
    }
    if let Some((_, text)) = report.comparison {
        folded(&mut out, "comparison", "A against B: every figure with its interval", text);
    }
    for (name, run) in names.iter().zip(report.runs) {
        extents(&mut out, name, run);
        path(&mut out, name, run);
    }
    for (name, run) in names.iter().zip(report.runs) {
        findings(&mut out, name, &run.findings());
    }
    for (name, run) in names.iter().zip(report.runs) {
        tables(&mut out, name, run);
    }
    sources(&mut out, report);
    out.push_str(HOW_TO_READ);
    let ids = report.runs.iter().filter_map(|run| run.material.subject.run_id.as_deref());
    let ids: Vec<String> = ids.map(|id| format!(" · run {}", escape(id))).collect();
    _ = writeln!(out, "<footer>{}{}</footer>\n</main>", escape(report.tool), ids.concat());
    out
}

/// Stamps, the story, cautions, figures and one picture.
fn first_screen(out: &mut String, report: &Report<'_>) {
    let runs = || names(report).into_iter().zip(report.runs);
    runs().for_each(|(name, run)| warnings::stamps(out, name, run));
    if let Some((comparison, _)) = report.comparison {
        answer(out, comparison);
    }
    runs().for_each(|(name, run)| story::write(out, name, run));
    runs().for_each(|(name, run)| warnings::cautions(out, name, run));
    for (name, run) in runs() {
        if let Some(run) = &run.material.run {
            warnings::failed_limits(out, name, run.summary);
            if !phases::has(run.summary) {
                tiles::write(out, name, run.summary);
            }
        }
    }
    runs().for_each(|(name, run)| faults::write(out, name, run));
    runs().for_each(|(name, run)| phases::write(out, name, run));
    runs().for_each(|(name, run)| hosts::write(out, name, run));
    runs().take(1).for_each(|(name, run)| overview(out, name, run));
}

/// The statement of the comparison, and its range.
fn answer(out: &mut String, comparison: &Comparison) {
    let headline = comparison.story.as_ref().map_or(&comparison.answer.text, |story| &story.headline);
    _ = writeln!(out, "<section class=\"story\" aria-label=\"Comparison\">");
    _ = writeln!(out, "<p class=\"answer\"><b>{}</b></p>", statement::prose(headline));
    if let Some(story) = &comparison.story {
        statement::below(out, story, "compare --json");
    }
    _ = writeln!(out, "<p class=\"covers\">{}</p>\n</section>", escape(&comparison.answer.covers));
}

/// Maximum files with latencies by extent in the page.
const MOST_FILES: usize = 20;

/// Latencies by the location of requests on the disk, as a picture for either theme and as a table.
fn extents(out: &mut String, name: &str, run: &ReportRun<'_>) {
    let Some(found) = run.material.run.and_then(|run| run.extents) else { return };
    let caption = format!("{name}{}", Picture::EXTENTS.title());
    let words = "Mean latency by place in the file and on the disk, and latency over the place in the file; the table below has \
                 the figures.";
    let mut drawn = String::new();
    if !picture(&mut drawn, Picture::EXTENTS, run, words) {
        return;
    }
    details(out, &format!("extents{}", suffix(name)), true, &caption, |out| {
        out.push_str(&drawn);
        _ = writeln!(out, "<pre class=\"wide\">{}</pre>", escape_lines(&extent_latencies(found, MOST_FILES)));
    });
}

/// Steps of the requests in the kernel, as a picture for either theme.
fn path(out: &mut String, name: &str, run: &ReportRun<'_>) {
    let caption = format!("{name}{}", Picture::PATH.title());
    let words = "Shares of the steps for groups of requests by response, and the slowest requests.";
    let mut drawn = String::new();
    if picture(&mut drawn, Picture::PATH, run, words) {
        details(out, &format!("path{}", suffix(name)), true, &caption, |out| out.push_str(&drawn));
    }
}

/// Prefixes of sentences that name one of two runs.
fn names(report: &Report<'_>) -> Vec<&'static str> {
    if report.runs.len() > 1 { vec!["A: ", "B: "] } else { vec![""] }
}

fn title(report: &Report<'_>) -> String {
    report.runs.iter().map(|run| shorten(run.name)).collect::<Vec<_>>().join(" against ")
}

fn meta(report: &Report<'_>, counted: &[Counted<'_>]) -> PageMeta {
    PageMeta {
        version: PAGE_VERSION,
        tool: report.tool.to_string(),
        title: title(report),
        form: GridForm {
            rows: ROWS as u32,
            rows_per_decade: ROWS_PER_DECADE as u32,
            floor_ns: 1000,
            tile_columns: TILE_COLUMNS as u32,
        },
        runs: report.runs.iter().zip(counted).map(|(run, counted)| run.meta(counted)).collect(),
        pairs: pairs_of(report).map(pairs),
    }
}

fn pairs_of<'a>(report: &Report<'a>) -> Option<&'a Pairs> {
    report.comparison?.0.pairs.as_ref()
}

fn pairs(pairs: &Pairs) -> PagePairs {
    let percent = |share: f64| units::number(share * 100.0);
    let bar = |bin: &RatioBin| PageRatio { from_log2: bin.from_log2, to_log2: bin.to_log2, share: bin.share };
    PagePairs {
        pairs: pairs.completed,
        slower_in_b: pairs.worse_share,
        faster_in_b: pairs.better_share,
        text: format!(
            "{} requests completed in both; {} % took at least 3 % longer in B, {} % at least 3 % less; median B ÷ A {}",
            units::grouped(pairs.completed),
            percent(pairs.worse_share),
            percent(pairs.better_share),
            pairs.median_ratio.map_or("–".to_string(), units::number)
        ),
        ratios: pairs.histogram.iter().map(bar).collect(),
        density: relation("pairs", &pairs.density),
    }
}

fn head(out: &mut String, title: &str, tool: &str) {
    _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data: blob:; \
         style-src 'unsafe-inline'; script-src 'unsafe-inline' blob:; worker-src blob:; connect-src 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{} · {}</title>\n<style>\n{STYLE}{VIEWER_STYLE}</style>\n</head>\n<body>\n",
        escape(title),
        escape(tool)
    );
}

/// Characters of a long name or command that are shown, so that cautions stay visible.
const ROOM: usize = 60;

/// Both ends of a long command, cut between words: half of an option could be read as another one.
fn shorten_command(command: &str) -> String {
    if command.chars().count() <= ROOM {
        return command.to_string();
    }
    let fitting = |words: &mut dyn Iterator<Item = &'_ str>| -> usize {
        let mut room = ROOM / 2;
        let mut fits = |word: &&str| match room.checked_sub(word.chars().count() + 1) {
            Some(rest) => {
                room = rest;
                true
            }
            None => false,
        };
        words.take_while(|word| fits(word)).count()
    };
    let words: Vec<&str> = command.split(' ').collect();
    let (head, tail) = (fitting(&mut words.iter().copied()), fitting(&mut words.iter().rev().copied()));
    if head == 0 || tail == 0 {
        return shorten(command);
    }
    format!("{} … {}", words[..head].join(" "), words[words.len() - tail..].join(" "))
}

/// Both ends of a long name.
fn shorten(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    if chars.len() <= ROOM {
        return name.to_string();
    }
    chars[..ROOM / 2].iter().chain(&['…']).chain(&chars[chars.len() - ROOM / 2..]).collect()
}

fn header(out: &mut String, report: &Report<'_>) {
    out.push_str("<header>\n");
    for (name, run) in names(report).iter().zip(report.runs) {
        let subject = run.material.subject;
        _ = writeln!(out, "<h1>{name}{}</h1>", escape(&subject.what));
        _ = write!(out, "<p class=\"faint\">{}", escape(&subject.how));
        if !subject.command.is_empty() {
            _ = write!(out, " · <code>{}</code>", escape(&shorten_command(&subject.command)));
        }
        out.push_str("</p>\n");
    }
    out.push_str("</header>\n");
}

/// The whole run as one picture: the first thing on the page, and the only picture without a script.
fn overview(out: &mut String, name: &str, run: &ReportRun<'_>) {
    let picture = if run.material.run.is_some() { Picture::SONAR } else { Picture::THROUGHPUT };
    let Some(scene) = picture.draw(run.material, &Style::default()) else { return };
    let words = run.material.run.map_or(String::new(), |run| alternative(run.summary));
    _ = writeln!(
        out,
        "<figure id=\"overview-image\">\n<img width=\"{}\" height=\"{}\" alt=\"{}\" \
         src=\"data:image/png;base64,{}\">\n</figure>",
        scene.width,
        scene.height,
        escape(&format!("{}: {words}", picture.title())),
        STANDARD.encode(raster::png(&scene))
    );
    if let Some(shown) = &run.material.run {
        blame::write(out, name, run, end_of_time(shown.diagrams));
    }
}

/// The picture in a sentence, for those who cannot see it.
fn alternative(s: &Summary) -> String {
    let of = |name: &str, stats: &Option<TimeStats>| {
        stats.as_ref().map(|t| {
            format!(
                "{name} half below {}, 99 % below {}, at most {}",
                time(t.p50_ns),
                optional(t.p99_ns),
                time(t.max_ns)
            )
        })
    };
    let both = [of("reads", &s.latency.read), of("writes", &s.latency.write)];
    format!("{}.", both.into_iter().flatten().collect::<Vec<_>>().join("; "))
}

fn findings(out: &mut String, run: &str, findings: &[PageFinding]) {
    if findings.is_empty() {
        return;
    }
    _ = writeln!(
        out,
        "<section aria-label=\"{run}Findings\">\n<h2>{run}What was found</h2>\n<ol id=\"findings{}\">",
        suffix(run)
    );
    for (i, finding) in findings.iter().enumerate() {
        _ = writeln!(out, "<li data-finding=\"{i}\">{}</li>", statement::prose(&finding.text));
    }
    out.push_str("</ol>\n</section>\n");
}

fn tables(out: &mut String, name: &str, run: &ReportRun<'_>) {
    _ = writeln!(out, "<section aria-label=\"{name}Tables\">");
    if let Some(run) = &run.material.run {
        warnings::other_limits(out, name, run.summary);
        run_tables(out, name, run.summary);
        if let Some(series) = run.machine {
            machine_table(out, name, series);
        }
    }
    if let Some(demand) = run.material.demand {
        let text = iosonar_plaintext::demand(&[run.name.to_string()], &demand.facts);
        folded(out, &format!("demand{}", suffix(name)), &format!("{name}What the load requests"), &text);
    }
    out.push_str("</section>\n");
}

fn run_tables(out: &mut String, name: &str, s: &Summary) {
    times_table(out, name, "Latency: submission to completion", &s.latency);
    times_table(out, name, "Delay: due to submission", &s.delay);
    times_table(out, name, "Response: due to completion", &s.response);
    health_table(out, name, s);
    counts_table(out, name, s);
    errors_table(out, name, s);
    targets_table(out, name, s);
}

fn times_table(out: &mut String, run: &str, caption: &str, stats: &ByScope<Option<TimeStats>>) {
    let id = caption.split(':').next().unwrap_or_default().to_lowercase();
    let key = |scope: Scope| format!("{id}.{}", scope.name().replace('-', "_"));
    let row = |scope: Scope| Some(time_cells(run, &key(scope), scope.name(), stats.get(scope).as_ref()?));
    let rows: Vec<_> = Scope::ALL.into_iter().filter_map(row).collect();
    if !rows.is_empty() {
        table(out, run, &format!("table-{id}"), caption, &time_heads("class"), &rows);
    }
}

fn time_heads(first: &str) -> [&str; 13] {
    [
        first, "requests", "min", "mean", "std dev", "p50", "p90", "p95", "p99", "p99.9", "p99.99",
        "p99.999", "max",
    ]
}

/// `key` is the path of the distribution in the summary.
fn time_cells(run: &str, key: &str, name: &str, t: &TimeStats) -> Vec<String> {
    let count = figures::hook(run, &format!("{key}.count"), t.count, &units::grouped(t.count));
    let mut cells = vec![name.to_string(), count];
    cells.extend(times(t).map(|(figure, _)| time_figure(run, key, figure, t)));
    cells
}

/// Writes two tables under one heading: distributions, and other facts.
fn health_table(out: &mut String, run: &str, s: &Summary) {
    _ = writeln!(
        out,
        "<details id=\"table-health{}\">\n<summary>{run}Replayer: did it keep to the timetable?</summary>",
        suffix(run)
    );
    if s.health.setup.is_none() {
        out.push_str("<p class=\"faint\">The result does not say how well it kept to the timetable.</p>\n");
    }
    let cells = |times: &health::Times| time_cells(run, times.path, times.name, &times.stats);
    let times: Vec<_> = health::times(s).iter().map(cells).collect();
    if !times.is_empty() {
        plain_table(out, &time_heads(""), &times);
    }
    out.push_str("<dl class=\"facts\">\n");
    for (name, text) in health::facts(s, Charset::Unicode) {
        _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", escape(name.trim_start()), escape(&text));
    }
    out.push_str("</dl>\n</details>\n");
}

/// A counter with its name in the summary and in the table.
type Counter = (&'static str, &'static str, fn(&Counts) -> u64);

const COUNTERS: [Counter; 12] = [
    ("total", "total", |c| c.total),
    ("completed", "completed", |c| c.completed),
    ("failed", "failed", |c| c.failed),
    ("dropped", "dropped", |c| c.dropped),
    ("cancelled", "cancelled", |c| c.cancelled),
    ("pushed", "deferred", |c| c.pushed),
    ("ordered", "kept in order", |c| c.ordered),
    ("wrapped", "wrapped", |c| c.wrapped),
    ("at_border", "at border", |c| c.at_border),
    ("rounded", "rounded", |c| c.rounded),
    ("short", "short", |c| c.short),
    ("ramp", "excluded as ramp", |c| c.ramp),
];

/// Writes the counters that are above zero as a table; the names of the others are collapsed below it.
fn counts_table(out: &mut String, run: &str, s: &Summary) {
    let mut rows: Vec<(String, String, &Counts)> = vec![
        ("all".into(), "counts.all".into(), &s.counts.all),
        ("read".into(), "counts.read".into(), &s.counts.read),
        ("write".into(), "counts.write".into(), &s.counts.write),
    ];
    if s.targets.len() > 1 {
        let targets = s.targets.iter().enumerate();
        rows.extend(
            targets.map(|(i, t)| (escape(&t.path), format!("targets.{i}.counts.all"), &t.counts.all)),
        );
    }
    let (zero, used): (Vec<_>, Vec<_>) =
        COUNTERS.into_iter().partition(|(.., of)| rows.iter().all(|(.., counts)| of(counts) == 0));
    let cells: Vec<_> = rows.iter().map(|(name, key, c)| count_cells(run, key, name, c, &used)).collect();
    let head: Vec<_> =
        [""].into_iter().chain(used.iter().map(|(_, head, _)| *head)).chain(["transferred"]).collect();
    details(out, &format!("counts{}", suffix(run)), false, &format!("{run}Counts"), |out| {
        plain_table(out, &head, &cells);
        if !zero.is_empty() {
            let names: Vec<_> = zero.iter().map(|(_, head, _)| *head).collect();
            _ = writeln!(
                out,
                "<details>\n<summary>{} counters are zero</summary>\n<p>{}</p>\n</details>",
                zero.len(),
                names.join(", ")
            );
        }
    });
}

/// `key` is the path of the counts in the summary.
fn count_cells(run: &str, key: &str, name: &str, c: &Counts, counters: &[Counter]) -> Vec<String> {
    let mut row = vec![name.to_string()];
    row.extend(
        counters.iter().map(|(field, _, of)| {
            figures::hook(run, &format!("{key}.{field}"), of(c), &units::grouped(of(c)))
        }),
    );
    let (bytes, key) = (c.transferred_bytes, format!("{key}.transferred_bytes"));
    row.push(figures::hook(run, &key, bytes, &units::bytes(bytes)));
    row
}

fn errors_table(out: &mut String, run: &str, s: &Summary) {
    let row = |e: &iosonar_analyze::ErrorCount| {
        vec![
            escape(&e.name),
            units::grouped(e.count),
            units::moment(e.first_due_ns, Charset::Unicode),
            e.first_op.to_string(),
            units::grouped(e.first_offset_bytes),
            e.first_target.to_string(),
            units::grouped(e.first_sequence),
        ]
    };
    if !s.errors.is_empty() {
        let rows: Vec<_> = s.errors.iter().map(row).collect();
        let head =
            ["reason", "requests", "first due at", "first did", "at byte", "of target", "request number"];
        table(out, run, "errors", "Failed requests", &head, &rows);
    }
}

fn targets_table(out: &mut String, run: &str, s: &Summary) {
    let row = |t: &TargetSummary| {
        vec![
            escape(&t.path),
            escape(&t.source),
            units::bytes(t.size_bytes),
            t.block_bytes.to_string(),
            t.wraparound_factor.map_or("–".to_string(), units::number),
            t.max_in_flight.map_or("–".to_string(), units::grouped),
            t.max_waiting.map_or("–".to_string(), units::grouped),
        ]
    };
    let rows: Vec<_> = s.targets.iter().map(row).collect();
    let head = ["target", "load", "size", "block", "wraparound factor", "most in flight", "most waiting"];
    table(out, run, "targets", "Targets", &head, &rows);
}

/// Writes the numbers of the machine's strips, and the devices that have no curves there.
fn machine_table(out: &mut String, run: &str, series: &MachineSeries) {
    let rows: Vec<Vec<String>> =
        machine::rows(series).iter().map(|row| row.iter().map(|cell| escape(cell)).collect()).collect();
    if !rows.is_empty() {
        let head = ["", "of", "mean", "max"];
        table(
            out,
            run,
            "table-machine",
            "Machine: devices, CPUs, memory and interrupts during the run",
            &head,
            &rows,
        );
    }
}

fn sources(out: &mut String, report: &Report<'_>) {
    for (name, run) in names(report).iter().zip(report.runs) {
        let command = &run.material.subject.command;
        if !command.is_empty() {
            folded(out, &format!("command{}", suffix(name)), &format!("{name}Command"), &one_line(command));
        }
    }
    if let Some(plan) = report.plan_toml {
        folded(out, "plan", &format!("{}Plan", names(report)[0]), plan);
    }
    if let Some(environment) = report.environment_json {
        tree::write(out, "environment", &format!("{}Environment", names(report)[0]), environment);
    }
}

const STYLE: &str = include_str!("style.css");
const HOW_TO_READ: &str = include_str!("how-to-read.html");
/// Built from `web/`; a test proves it.
const VIEWER: &str = include_str!("../../../../web/dist/viewer.js");
const VIEWER_STYLE: &str = include_str!("../../../../web/dist/viewer.css");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortens_long_commands_between_words() {
        let command =
            "iosonar run --engine uring --iodepth 32 --rw randread --bs 4k --runtime 60 --time-based -o r";
        assert_eq!(shorten_command(command), "iosonar run --engine uring … 60 --time-based -o r");
        assert_eq!(shorten_command("iosonar show r"), "iosonar show r");
        let path = format!("/{}", "a".repeat(100));
        assert_eq!(shorten_command(&path).chars().count(), ROOM + 1);
    }
}
