//! Parts of every page of a study: document, style, story, facts, cautions, and pictures for both themes.

use crate::palette::Theme;
use crate::{escape, statement};
use iosonar_analyze::Statement;
use std::fmt::Write;

const STYLE: &str = "\
:root { --bg: #ffffff; --fg: #1b1f24; --faint: #5a6270; --line: #d5d9df; --card: #f6f7f9; --caution: #8a4b00; --caution-bg: #fff4dc; }
body { margin: 0; background: var(--bg); color: var(--fg); font: 15px/1.45 system-ui, \"DejaVu Sans\", sans-serif; }
main { max-width: 1640px; margin: 0 auto; padding: 16px 20px 40px; }
h1 { font-size: 1.35rem; margin: 0 0 4px; } h1, p, li { overflow-wrap: anywhere; } h2 { font-size: 1.1rem; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: 2px 12px; margin: 6px 0 12px; }
.facts dt { color: var(--faint); } .facts dd { margin: 0; overflow-wrap: anywhere; } .try code { user-select: all; }
.faint { color: var(--faint); overflow-wrap: anywhere; }
.cautions { background: var(--caution-bg); color: var(--caution); padding: 8px 14px; margin: 12px 0; overflow-wrap: anywhere; }
figure { margin: 18px 0; border: 1px solid var(--line); } figure svg { display: block; width: 100%; height: auto; }
.wide { overflow-x: auto; } .wide svg { min-width: 1000px; }
.table { overflow-x: auto; margin: 18px 0; } table { border-collapse: collapse; font-size: 0.9rem; }
caption { text-align: left; font-weight: bold; padding: 0 0 6px; } thead th { border-bottom: 2px solid var(--line); vertical-align: bottom; }
th, td { padding: 3px 10px; text-align: left; white-space: nowrap; border-bottom: 1px solid var(--line); vertical-align: top; }
th small { display: block; color: var(--faint); font-weight: normal; } .number { text-align: right; font-variant-numeric: tabular-nums; }
.marked { background: var(--card); font-weight: bold; } code { overflow-wrap: anywhere; } a { color: inherit; }
.cell { display: none; } .cell:target { display: block; position: fixed; right: 20px; bottom: 20px; max-width: 680px; max-height: 90vh;
  overflow: auto; background: var(--card); border: 2px solid var(--fg); padding: 8px 16px 14px; box-shadow: 0 4px 24px #0006; }
.cell svg { max-width: 100%; height: auto; } .cell p { margin: 2px 0; } .close { float: right; font-size: 1.3rem; text-decoration: none; color: inherit; }
figcaption { padding: 6px 10px 0; color: var(--faint); } pre { overflow: auto; font-size: 0.8rem; }
@media print { .cell:target { position: static; } .wide, .table { overflow: visible; } .wide svg { min-width: 0; } table { font-size: 0.6rem; } }
.on-dark { display: none; }
@media screen and (prefers-color-scheme: dark) {
  :root { --bg: #11151b; --fg: #e6eaf0; --faint: #9aa4b2; --line: #2a313b; --card: #191f27; --caution: #ffc46b; --caution-bg: #2e2410; }
  .on-light { display: none; } .on-dark { display: block; }
}
";

/// A page with this body.
pub(super) fn page_of(title: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{0}</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n<main>\n<h1>{0}</h1>\n{body}</main>\n</body>\n</html>\n",
        escape(title)
    )
}

/// A picture for light pages and one for dark ones; the reader's setting selects one.
pub(super) fn for_both_themes(picture: impl Fn(Theme) -> String) -> String {
    let of = |class: &str, theme| format!("<div class=\"{class}\">{}</div>", picture(theme));
    of("on-light", Theme::Light) + &of("on-dark", Theme::Dark)
}

/// The heading of a page: the headline of its story, otherwise what was measured.
pub(super) fn heading<'a>(title: &'a str, story: Option<&'a Statement>) -> &'a str {
    story.map_or(title, |story| &story.headline)
}

/// Writes what stands below the heading: reasons, worth and remedy, then what was measured. `json` is where the evidence is.
pub(super) fn story(out: &mut String, title: &str, story: Option<&Statement>, json: &str) {
    let Some(story) = story else { return };
    statement::below(out, story, json);
    _ = writeln!(out, "<p><b>{}</b></p>", statement::prose(title));
}

/// Writes facts: machine, procedure, command.
pub(super) fn facts(out: &mut String, lines: &[String]) {
    lines.iter().for_each(|line| _ = writeln!(out, "<p class=\"faint\">{}</p>", escape(line)));
}

/// Writes cautions in a box; nothing without cautions.
pub(super) fn cautions(out: &mut String, cautions: &[String]) {
    if !cautions.is_empty() {
        let items: String = cautions.iter().map(|c| format!("<div>⚠ {}</div>", escape(c))).collect();
        _ = writeln!(out, "<div class=\"cautions\" role=\"note\">{items}</div>");
    }
}
