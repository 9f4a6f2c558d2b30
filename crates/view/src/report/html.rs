//! The page itself.

use super::blocks;
use crate::health;
use crate::units::{self, Charset};
use crate::{Headline, Material, Picture, RunMaterial, Style, Subject, escape, raster};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use iosonar_analyze::{
    ByScope, Counts, Diagrams, LimitResult, LimitVerdict, ROWS, ROWS_PER_DECADE, Scope, Severity, Summary,
    TILE_COLUMNS, TimeStats,
};
use std::fmt::Write;

/// What a page is made from.
pub struct Report<'a> {
    /// Figures, verdicts and cautions.
    pub summary: &'a Summary,
    /// Counts behind the pictures.
    pub diagrams: &'a Diagrams,
    /// The plan as TOML, to run the same again.
    pub plan_toml: &'a str,
    /// What is known about the machine, as JSON text.
    pub environment_json: Option<&'a str>,
    /// Words for the subtitles of the pictures.
    pub headline: &'a Headline,
}

/// Pictures of the page, in reading order.
const PICTURES: [Picture; 4] = [Picture::SONAR, Picture::THROUGHPUT, Picture::DELAY, Picture::IN_FLIGHT];

/// The page as HTML. The same input gives the same bytes.
pub fn page(report: &Report<'_>) -> String {
    let s = report.summary;
    let mut out = String::new();
    head(&mut out, s);
    out.push_str("<main>\n");
    title(&mut out, s);
    warnings(&mut out, s);
    verdicts(&mut out, s);
    tiles(&mut out, s);
    PICTURES.iter().for_each(|p| picture(&mut out, report, *p));
    tables(&mut out, s);
    sources(&mut out, report);
    out.push_str(HOW_TO_READ);
    _ = writeln!(out, "<footer>{} · run {}</footer>\n</main>", escape(&s.run.tool), escape(&s.run.run_id));
    data(&mut out, report);
    out.push_str("<div id=\"iosonar-end\" hidden></div>\n</body>\n</html>\n");
    out
}

fn head(out: &mut String, s: &Summary) {
    let name = s.targets.first().map_or("run", |t| t.path.as_str());
    _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{} · {}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        escape(name),
        escape(&s.run.tool)
    );
}

/// Targets in the title; all are in the table.
const TITLE_TARGETS: usize = 4;

/// Both ends of a long name, so that cautions stay in sight.
fn shorten(name: &str) -> String {
    const ROOM: usize = 60;
    let chars: Vec<char> = name.chars().collect();
    if chars.len() <= ROOM {
        return name.to_string();
    }
    chars[..ROOM / 2].iter().chain(&['…']).chain(&chars[chars.len() - ROOM / 2..]).collect()
}

fn title(out: &mut String, s: &Summary) {
    out.push_str("<header>\n<h1>");
    for (i, t) in s.targets.iter().take(TITLE_TARGETS).enumerate() {
        let separator = if i > 0 { "<br>" } else { "" };
        _ = write!(out, "{separator}{} → {}", escape(&shorten(&t.source)), escape(&shorten(&t.path)));
    }
    if s.targets.len() > TITLE_TARGETS {
        _ = write!(out, "<br>and {} more", s.targets.len() - TITLE_TARGETS);
    }
    let access = if s.run.buffered { "page cache" } else { "direct I/O" };
    _ = writeln!(
        out,
        "</h1>\n<p class=\"faint\">engine {} · {access} · depth {} · {} · <code>{}</code></p>\n</header>",
        escape(&s.run.engine),
        s.run.depth,
        s.span.duration_ns().map_or("no duration".to_string(), time),
        escape(&shorten(&s.run.command))
    );
}

fn warnings(out: &mut String, s: &Summary) {
    for stamp in &s.stamps {
        _ = writeln!(out, "<p class=\"stamp\" role=\"alert\">{}</p>", escape(stamp.text()));
    }
    if s.cautions.is_empty() {
        out.push_str("<p class=\"faint\">No cautions.</p>\n");
        return;
    }
    out.push_str("<section class=\"cautions\" aria-label=\"Cautions\">\n<ul>\n");
    for caution in &s.cautions {
        let word = match caution.severity {
            Severity::Severe => "Severe",
            Severity::Warning => "Warning",
            Severity::Note => "Note",
        };
        _ = writeln!(out, "<li><b>⚠ {word}.</b> {}</li>", escape(&caution.text));
    }
    out.push_str("</ul>\n</section>\n");
}

fn verdicts(out: &mut String, s: &Summary) {
    out.push_str("<section class=\"verdicts\" aria-label=\"Limits\">\n");
    for (name, verdict) in [("Latency", &s.limits.latency), ("Delay", &s.limits.delay)] {
        let (class, text) = verdict_words(verdict);
        _ = writeln!(
            out,
            "<p class=\"{class}\"><b>{name}</b>, limit {}: {text}</p>",
            units::limit(verdict.limit_ns)
        );
    }
    out.push_str("</section>\n");
}

fn verdict_words(v: &LimitVerdict) -> (&'static str, String) {
    let max = v.max_ns.map_or("–".to_string(), time);
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

fn time(ns: u64) -> String {
    units::duration(ns, Charset::Unicode)
}

fn optional(ns: Option<u64>) -> String {
    ns.map_or("–".to_string(), time)
}

fn tiles(out: &mut String, s: &Summary) {
    let c = &s.counts.all;
    let pair = |stats: &Option<TimeStats>, values: fn(&TimeStats) -> [Option<u64>; 2]| {
        stats.as_ref().map_or("–".to_string(), |t| values(t).map(optional).join(" / "))
    };
    let rate = s.throughput.delivered.map_or("–".to_string(), |r| {
        format!(
            "{} /s<br>{}",
            units::request_rate(r.requests_per_second),
            units::byte_rate(r.bytes_per_second)
        )
    });
    let met = match (s.throughput.delivered, s.throughput.demanded) {
        (Some(delivered), Some(demanded)) => {
            format!(
                "{} %",
                units::number(delivered.requests_per_second / demanded.requests_per_second * 100.0)
            )
        }
        _ => "no timetable".to_string(),
    };
    let failed = format!("{}<br>failed {}", units::grouped(c.completed), units::grouped(c.failed));
    out.push_str("<section class=\"tiles\" aria-label=\"Figures\">\n");
    let issue_error = match s.health.means {
        Some(_) => pair(&s.health.issue_error, |t| [t.p99_ns, Some(t.max_ns)]),
        None => "not known".to_string(),
    };
    for (name, value, link) in [
        ("requests completed", failed, "counts"),
        ("delivered", rate, "throughput"),
        ("of the demanded rate", met, "throughput"),
        ("latency p50 / p99", pair(&s.latency.all, |t| [Some(t.p50_ns), t.p99_ns]), "sonar"),
        ("latency p99.9 / max", pair(&s.latency.all, |t| [t.p99_9_ns, Some(t.max_ns)]), "sonar"),
        ("delay p99 / max", pair(&s.delay.all, |t| [t.p99_ns, Some(t.max_ns)]), "delay"),
        ("issue error p99 / max", issue_error, "table-health"),
    ] {
        _ = writeln!(out, "<a class=\"tile\" href=\"#{link}\"><span>{name}</span><b>{value}</b></a>");
    }
    out.push_str("</section>\n");
}

fn picture(out: &mut String, report: &Report<'_>, picture: Picture) {
    let subject = Subject::of_run(report.summary, report.headline);
    let run = RunMaterial { summary: report.summary, diagrams: report.diagrams, tally: None, findings: None };
    let material = Material { subject: &subject, run: Some(run), demand: None };
    let Some(scene) = picture.draw(&material, &Style::default()) else { return };
    let words = alternative(report.summary, picture);
    _ = writeln!(
        out,
        "<figure id=\"{}\">\n<img width=\"{}\" height=\"{}\" alt=\"{}\" src=\"data:image/png;base64,{}\">\n</figure>",
        picture.keyword(),
        scene.width,
        scene.height,
        escape(&words),
        STANDARD.encode(raster::png(&scene))
    );
}

/// The picture in a sentence, for those who cannot see it.
fn alternative(s: &Summary, picture: Picture) -> String {
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
    let both = |by: &ByScope<Option<TimeStats>>| {
        [of("reads", &by.read), of("writes", &by.write)].into_iter().flatten().collect::<Vec<_>>().join("; ")
    };
    let figures = match picture {
        p if p == Picture::SONAR => both(&s.latency),
        p if p == Picture::DELAY => both(&s.delay),
        p if p == Picture::THROUGHPUT => s.throughput.delivered.map_or(String::new(), |r| {
            format!(
                "delivered {} requests per second, {}",
                units::request_rate(r.requests_per_second),
                units::byte_rate(r.bytes_per_second)
            )
        }),
        _ => s
            .in_flight
            .mean_time_weighted
            .map_or(String::new(), |m| format!("{} in flight on average", units::request_rate(m))),
    };
    format!("{}: {figures}.", picture.title())
}

fn tables(out: &mut String, s: &Summary) {
    out.push_str("<section aria-label=\"Tables\">\n");
    times_table(out, "Latency: submission to completion", &s.latency);
    times_table(out, "Delay: due to submission", &s.delay);
    times_table(out, "Response: due to completion", &s.response);
    health_table(out, s);
    counts_table(out, s);
    errors_table(out, s);
    targets_table(out, s);
    out.push_str("</section>\n");
}

/// A folded table; cells are HTML already.
fn table(out: &mut String, id: &str, caption: &str, head: &[&str], rows: &[Vec<String>]) {
    _ = writeln!(out, "<details id=\"{id}\">\n<summary>{caption}</summary>");
    plain_table(out, head, rows);
    out.push_str("</details>\n");
}

fn plain_table(out: &mut String, head: &[&str], rows: &[Vec<String>]) {
    out.push_str("<div class=\"wide\"><table>\n<thead><tr>");
    head.iter().for_each(|h| _ = write!(out, "<th scope=\"col\">{h}</th>"));
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        out.push_str("<tr>");
        for (i, cell) in row.iter().enumerate() {
            _ = if i == 0 {
                write!(out, "<th scope=\"row\">{cell}</th>")
            } else {
                write!(out, "<td>{cell}</td>")
            };
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
}

fn times_table(out: &mut String, caption: &str, stats: &ByScope<Option<TimeStats>>) {
    let row = |scope: Scope| Some(time_cells(scope.name(), stats.get(scope).as_ref()?));
    let rows: Vec<_> = Scope::ALL.into_iter().filter_map(row).collect();
    if !rows.is_empty() {
        let id = caption.split(':').next().unwrap_or_default().to_lowercase();
        table(out, &format!("table-{id}"), caption, &time_heads("class"), &rows);
    }
}

fn time_heads(first: &str) -> [&str; 11] {
    [first, "requests", "min", "mean", "p50", "p90", "p99", "p99.9", "p99.99", "p99.999", "max"]
}

fn time_cells(name: &str, t: &TimeStats) -> Vec<String> {
    vec![
        name.to_string(),
        units::grouped(t.count),
        time(t.min_ns),
        time(t.mean_ns),
        time(t.p50_ns),
        optional(t.p90_ns),
        optional(t.p99_ns),
        optional(t.p99_9_ns),
        optional(t.p99_99_ns),
        optional(t.p99_999_ns),
        time(t.max_ns),
    ]
}

/// Two tables under one heading: distributions, and what else there is to say.
fn health_table(out: &mut String, s: &Summary) {
    out.push_str(
        "<details id=\"table-health\">\n<summary>Replayer: did it keep to the timetable?</summary>\n",
    );
    if s.health.means.is_none() {
        out.push_str("<p class=\"faint\">The result does not tell how well it kept to the timetable.</p>\n");
    }
    let times: Vec<_> = health::times(s).iter().map(|(name, t)| time_cells(name, t)).collect();
    if !times.is_empty() {
        plain_table(out, &time_heads(""), &times);
    }
    out.push_str("<dl class=\"facts\">\n");
    for (name, text) in health::facts(s, Charset::Unicode) {
        _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", escape(name.trim_start()), escape(&text));
    }
    out.push_str("</dl>\n</details>\n");
}

fn counts_table(out: &mut String, s: &Summary) {
    let cells = |name: String, c: &Counts| {
        let numbers = [
            c.total,
            c.completed,
            c.failed,
            c.dropped,
            c.cancelled,
            c.pushed,
            c.ordered,
            c.wrapped,
            c.at_border,
            c.rounded,
            c.short,
            c.ramp,
        ];
        let mut row = vec![name];
        row.extend(numbers.map(units::grouped));
        row.push(units::bytes(c.transferred_bytes));
        row
    };
    let mut rows = vec![
        cells("all".into(), &s.counts.all),
        cells("read".into(), &s.counts.read),
        cells("write".into(), &s.counts.write),
    ];
    if s.targets.len() > 1 {
        rows.extend(s.targets.iter().map(|t| cells(escape(&t.path), &t.counts.all)));
    }
    let head = [
        "",
        "total",
        "completed",
        "failed",
        "dropped",
        "cancelled",
        "pushed back",
        "kept in order",
        "wrapped",
        "at border",
        "rounded",
        "short",
        "left out as ramp",
        "transferred",
    ];
    table(out, "counts", "Counts", &head, &rows);
}

fn errors_table(out: &mut String, s: &Summary) {
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
        table(out, "errors", "Failed requests", &head, &rows);
    }
}

fn targets_table(out: &mut String, s: &Summary) {
    let row = |t: &iosonar_analyze::TargetSummary| {
        vec![
            escape(&t.path),
            escape(&t.source),
            units::bytes(t.size_bytes),
            t.block_bytes.to_string(),
            t.wraparound_factor.map_or("–".to_string(), units::number),
            units::grouped(t.max_in_flight),
            units::grouped(t.max_waiting),
        ]
    };
    let rows: Vec<_> = s.targets.iter().map(row).collect();
    let head = ["target", "load", "size", "block", "wraparound factor", "most in flight", "most waiting"];
    table(out, "targets", "Targets", &head, &rows);
}

fn sources(out: &mut String, report: &Report<'_>) {
    let mut folded = |id: &str, name: &str, text: &str| {
        _ = writeln!(
            out,
            "<details id=\"{id}\">\n<summary>{name}</summary>\n<pre>{}</pre>\n</details>",
            escape(text)
        );
    };
    folded("command", "Command", &report.summary.run.command);
    folded("plan", "Plan", report.plan_toml);
    if let Some(environment) = report.environment_json {
        folded("environment", "Environment", environment);
    }
}

fn data(out: &mut String, report: &Report<'_>) {
    let meta = serde_json::json!({
        "version": 1,
        "rows": ROWS,
        "rows_per_decade": ROWS_PER_DECADE,
        "floor_ns": 1000,
        "tile_columns": TILE_COLUMNS,
        "latency_width_ns": report.diagrams.latency.axis().width_ns(),
        "latency_columns": report.diagrams.latency.axis().columns(),
        "delay_width_ns": report.diagrams.delay.axis().width_ns(),
        "delay_columns": report.diagrams.delay.axis().columns(),
        "summary": report.summary,
    });
    // A path may hold `</script>`; in JSON the bracket may be written as a number.
    let meta = meta.to_string().replace('<', "\\u003c");
    _ = writeln!(out, "<script type=\"application/json\" id=\"iosonar-meta\">{meta}</script>");
    out.push_str(&blocks::all(report.diagrams));
}

const STYLE: &str = include_str!("style.css");
const HOW_TO_READ: &str = include_str!("how-to-read.html");
