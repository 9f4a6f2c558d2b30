//! The figures of the first screen: response, rate and failures.

use super::figures;
use super::markup::time_figure;
use crate::units;
use iosonar_analyze::{Rate, Summary, TimeStats};
use std::fmt::Write as _;

/// A figure with the place where the page has more about it.
struct Tile {
    name: String,
    /// HTML.
    value: String,
    /// Second line, HTML.
    detail: String,
    link: Link,
}

/// The link of a tile.
enum Link {
    /// An element.
    Element(&'static str),
    /// A panel: it exists in the viewer only; without it the link leads to its place.
    Panel(&'static str),
}

/// Writes the tiles of a run.
pub(super) fn write(out: &mut String, run: &str, s: &Summary) {
    _ = writeln!(out, "<section class=\"tiles\" aria-label=\"{run}Figures\">");
    for Tile { name, value, detail, link } in tiles(run, s) {
        let link = match link {
            Link::Element(id) => format!("href=\"#{id}\""),
            Link::Panel(id) => format!("href=\"#view\" data-panel-link=\"{id}\""),
        };
        _ = writeln!(
            out,
            "<a class=\"tile\" {link}><span>{run}{name}</span><b>{value}</b> <small>{detail}</small></a>"
        );
    }
    out.push_str("</section>\n");
}

fn tiles(run: &str, s: &Summary) -> Vec<Tile> {
    let mut tiles = times(run, s);
    tiles.push(done(run, s));
    let failed = s.counts.all.failed;
    tiles.push(Tile {
        name: "failed".into(),
        value: figures::hook(run, "counts.all.failed", failed, &units::grouped(failed)),
        detail: format!(
            "of {}",
            figures::hook(run, "counts.all.total", s.counts.all.total, &units::grouped(s.counts.all.total))
        ),
        link: if s.errors.is_empty() { Link::Element("counts") } else { Link::Element("errors") },
    });
    tiles
}

/// The response is the figure of an application. Without a timetable it is the latency.
fn times(run: &str, s: &Summary) -> Vec<Tile> {
    let (name, stats): (&str, &Option<TimeStats>) = match s.has_target_rate() {
        true => ("response", &s.response.all),
        false => ("latency", &s.latency.all),
    };
    let tile = |(label, key): (&str, &str)| Tile {
        name: format!("{name} {label}"),
        value: stats.as_ref().map_or("–".to_string(), |t| time_figure(run, &format!("{name}.all"), key, t)),
        detail: String::new(),
        link: Link::Panel(if label == "max" { "sonar" } else { "percentiles" }),
    };
    [("p50", "p50_ns"), ("p99", "p99_ns"), ("max", "max_ns")].map(tile).into()
}

fn done(run: &str, s: &Summary) -> Tile {
    let rate = |of: &str, rate: Rate| {
        let path = format!("throughput.{of}.requests_per_second");
        let text = format!("{} /s", units::request_rate(rate.requests_per_second));
        figures::hook(run, &path, rate.requests_per_second, &text)
    };
    let wanted = s.throughput.demanded.filter(|_| s.has_target_rate());
    let detail = match (wanted, s.throughput.delivered) {
        (Some(wanted), _) => format!("of {} wanted", rate("demanded", wanted)),
        (None, Some(done)) => figures::hook(
            run,
            "throughput.delivered.bytes_per_second",
            done.bytes_per_second,
            &units::byte_rate(done.bytes_per_second),
        ),
        (None, None) => String::new(),
    };
    Tile {
        name: "done".into(),
        value: s.throughput.delivered.map_or("–".to_string(), |done| rate("delivered", done)),
        detail,
        link: Link::Panel("throughput"),
    }
}
