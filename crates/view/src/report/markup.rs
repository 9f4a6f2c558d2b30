//! Parts of the page that its sections share: collapsed parts, tables, pictures, times.

use super::figures;
use super::run::ReportRun;
use crate::svg::escape_lines;
use crate::units::{self, Charset};
use crate::{Picture, Style, Theme, escape, raster};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use iosonar_analyze::TimeStats;
use std::fmt::Write as _;

/// Writes a picture for either theme, with alternative text; returns whether there is one.
pub(super) fn picture(out: &mut String, picture: Picture, run: &ReportRun<'_>, words: &str) -> bool {
    let drawn = [Theme::Light, Theme::Dark].map(|theme| {
        picture.draw(run.material, &Style { theme, ..Style::default() }).map(|scene| {
            (
                format!("data:image/png;base64,{}", STANDARD.encode(raster::png(&scene))),
                scene.width,
                scene.height,
            )
        })
    });
    let [Some((light, width, height)), Some((dark, ..))] = drawn else { return false };
    _ = writeln!(
        out,
        "<picture>\n<source media=\"(prefers-color-scheme: dark)\" srcset=\"{dark}\">\n\
         <img width=\"{width}\" height=\"{height}\" alt=\"{}\" src=\"{light}\">\n</picture>",
        escape(words),
    );
    true
}

/// Writes a collapsible part.
pub(super) fn details(
    out: &mut String,
    id: &str,
    is_open: bool,
    summary: &str,
    fill: impl FnOnce(&mut String),
) {
    let open = if is_open { " open" } else { "" };
    _ = writeln!(out, "<details id=\"{id}\"{open}>\n<summary>{summary}</summary>");
    fill(out);
    out.push_str("</details>\n");
}

/// Writes a collapsed text.
pub(super) fn folded(out: &mut String, id: &str, caption: &str, text: &str) {
    _ = writeln!(
        out,
        "<details id=\"{id}\">\n<summary>{caption}</summary>\n<pre>{}</pre>\n</details>",
        escape_lines(text)
    );
}

/// Writes a collapsed table; cells are HTML already. The id of a second run's table has a suffix.
pub(super) fn table(
    out: &mut String,
    run: &str,
    id: &str,
    caption: &str,
    head: &[&str],
    rows: &[Vec<String>],
) {
    let suffix = suffix(run);
    _ = writeln!(out, "<details id=\"{id}{suffix}\">\n<summary>{run}{caption}</summary>");
    plain_table(out, head, rows);
    out.push_str("</details>\n");
}

/// Suffix of the ids of a second run.
pub(super) fn suffix(run: &str) -> &'static str {
    if run.starts_with('B') { "-b" } else { "" }
}

/// Writes a table; cells are HTML already.
pub(super) fn plain_table(out: &mut String, head: &[&str], rows: &[Vec<String>]) {
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

pub(super) fn time(ns: u64) -> String {
    units::duration(ns, Charset::Unicode)
}

/// A time, or a dash.
pub(super) fn optional(ns: Option<u64>) -> String {
    ns.map_or("–".to_string(), time)
}

/// The times of a distribution with their names in the summary, in the order of the tables.
pub(super) fn times(t: &TimeStats) -> [(&'static str, Option<u64>); 11] {
    [
        ("min_ns", Some(t.min_ns)),
        ("mean_ns", Some(t.mean_ns)),
        ("stddev_ns", t.stddev_ns),
        ("p50_ns", Some(t.p50_ns)),
        ("p90_ns", t.p90_ns),
        ("p95_ns", t.p95_ns),
        ("p99_ns", t.p99_ns),
        ("p99_9_ns", t.p99_9_ns),
        ("p99_99_ns", t.p99_99_ns),
        ("p99_999_ns", t.p99_999_ns),
        ("max_ns", Some(t.max_ns)),
    ]
}

/// A time of a distribution with its path in the summary, or a dash.
pub(super) fn time_figure(run: &str, key: &str, name: &str, t: &TimeStats) -> String {
    let known = times(t).into_iter().find_map(|(n, ns)| ns.filter(|_| n == name));
    known.map_or("–".to_string(), |ns| figures::hook(run, &format!("{key}.{name}"), ns, &time(ns)))
}
