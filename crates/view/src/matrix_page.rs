//! The page of a matrix: heat maps in which a click on a cell opens its measurements and its latencies. It needs no script.

use crate::charts::latency_svg;
use crate::palette::Theme;
use crate::{MatrixGrid, escape, heat_svg, matrix_range, statement};
use iosonar_analyze::Statement;
use std::fmt::Write;

/// A matrix to describe.
pub struct MatrixPage<'a> {
    /// The files that were measured.
    pub title: String,
    /// Its story, at the top; `None` in a directory of an earlier version.
    pub story: Option<&'a Statement>,
    /// Lines below: machine, command.
    pub lines: Vec<String>,
    /// Cautions to read before believing the figures.
    pub cautions: Vec<String>,
    /// A heat map for each.
    pub grids: &'a [MatrixGrid],
    /// Cells of each grid: rows of files, columns of records; absent if not measured.
    pub cells: Vec<Vec<Vec<Option<MatrixCell>>>>,
}

/// Details of a cell.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MatrixCell {
    /// Its name.
    pub title: String,
    /// Its figures, in sentences.
    pub lines: Vec<String>,
    /// Latency histogram: lower edge in nanoseconds, and count; steps of 1/8 of a factor of two.
    pub histogram: Vec<(u64, u64)>,
}

const STYLE: &str = "\
:root { --bg: #ffffff; --fg: #1b1f24; --faint: #5a6270; --line: #d5d9df; --card: #f6f7f9; --caution: #8a4b00; --caution-bg: #fff4dc; }
body { margin: 0; background: var(--bg); color: var(--fg); font: 15px/1.45 system-ui, \"DejaVu Sans\", sans-serif; }
main { max-width: 1640px; margin: 0 auto; padding: 16px 20px 40px; }
h1 { font-size: 1.35rem; margin: 0 0 4px; overflow-wrap: anywhere; } h2 { font-size: 1.1rem; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: 2px 12px; margin: 6px 0 12px; }
.facts dt { color: var(--faint); } .facts dd { margin: 0; overflow-wrap: anywhere; } .try code { user-select: all; }
.faint { color: var(--faint); overflow-wrap: anywhere; }
.cautions { background: var(--caution-bg); color: var(--caution); padding: 8px 14px; margin: 12px 0; }
figure { margin: 18px 0; border: 1px solid var(--line); } figure svg { display: block; width: 100%; height: auto; }
.cell { display: none; } .cell:target { display: block; position: fixed; right: 20px; bottom: 20px; max-width: 680px; max-height: 90vh;
  overflow: auto; background: var(--card); border: 2px solid var(--fg); padding: 8px 16px 14px; box-shadow: 0 4px 24px #0006; }
.cell svg { max-width: 100%; height: auto; } .cell p { margin: 2px 0; } .close { float: right; font-size: 1.3rem; text-decoration: none; color: inherit; }
figcaption { padding: 6px 10px 0; color: var(--faint); } pre { overflow: auto; font-size: 0.8rem; }
@media print { .cell:target { position: static; } }
.on-dark { display: none; }
@media screen and (prefers-color-scheme: dark) {
  :root { --bg: #11151b; --fg: #e6eaf0; --faint: #9aa4b2; --line: #2a313b; --card: #191f27; --caution: #ffc46b; --caution-bg: #2e2410; }
  .on-light { display: none; } .on-dark { display: block; }
}
";

/// A picture for light pages and one for dark ones; the reader's setting selects one.
pub(crate) fn for_both_themes(picture: impl Fn(Theme) -> String) -> String {
    let of = |class: &str, theme| format!("<div class=\"{class}\">{}</div>", picture(theme));
    of("on-light", Theme::Light) + &of("on-dark", Theme::Dark)
}

/// The page, complete in itself.
pub fn matrix_page(page: &MatrixPage<'_>) -> String {
    let mut out = String::new();
    if let Some(story) = page.story {
        statement::below(&mut out, story, "cells.json");
        _ = writeln!(out, "<p><b>{}</b></p>", escape(&page.title));
    }
    page.lines.iter().for_each(|line| _ = writeln!(out, "<p class=\"faint\">{}</p>", escape(line)));
    if !page.cautions.is_empty() {
        let items: String = page.cautions.iter().map(|c| format!("<div>⚠ {}</div>", escape(c))).collect();
        _ = writeln!(out, "<div class=\"cautions\" role=\"note\">{items}</div>");
    }
    out.push_str("<p>A click on a cell shows its repetitions and how long its requests took.</p>\n");
    let range = matrix_range(page.grids);
    for (number, (grid, cells)) in page.grids.iter().zip(&page.cells).enumerate() {
        let id = |row: usize, column: usize| format!("cell-{number}-{row}-{column}");
        let link = |row: usize, column: usize| {
            let is_there = cells.get(row).and_then(|row| row.get(column)).is_some_and(Option::is_some);
            is_there.then(|| format!("#{}", id(row, column)))
        };
        let picture = for_both_themes(|theme| heat_svg(grid, range, theme, &link));
        _ = writeln!(
            out,
            "<h2>{}</h2>\n<figure id=\"grid-{number}\">\n{picture}</figure>",
            escape(&grid.title)
        );
        for (row, cells) in cells.iter().enumerate() {
            for (column, cell) in cells.iter().enumerate() {
                if let Some(cell) = cell {
                    out.push_str(&section(&id(row, column), number, cell));
                }
            }
        }
    }
    page_of(page.story.map_or(&page.title, |story| &story.headline), &out)
}

/// A page with this body.
pub(crate) fn page_of(title: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{0}</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n<main>\n<h1>{0}</h1>\n{body}</main>\n</body>\n</html>\n",
        escape(title)
    )
}

fn section(id: &str, grid: usize, cell: &MatrixCell) -> String {
    let lines: String = cell.lines.iter().map(|line| format!("<p>{}</p>\n", escape(line))).collect();
    let picture = match cell.histogram.is_empty() {
        true => String::new(),
        false => for_both_themes(|theme| latency_svg(&cell.histogram, theme)),
    };
    format!(
        "<section class=\"cell\" id=\"{id}\">\n<a class=\"close\" href=\"#grid-{grid}\" aria-label=\"close\">×</a>\n\
         <h2>{}</h2>\n{lines}{picture}</section>\n",
        escape(&cell.title)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_measured_cell_links_to_its_details() {
        let grid = MatrixGrid {
            title: "read, sync".into(),
            stem: "read".into(),
            files: vec![65_536, 131_072],
            records: vec![4096, 131_072],
            values: vec![vec![Some(1e9), None], vec![Some(2e9), Some(3e9)]],
            plateaus: Vec::new(),
        };
        let cell = |n: u64| {
            let histogram = if n == 3 { Vec::new() } else { vec![(1000 * n, 5), (3000 * n, 1)] };
            Some(MatrixCell { title: format!("cell {n} <x>"), lines: vec!["3 times".into()], histogram })
        };
        let page = MatrixPage {
            title: "a & b".into(),
            story: None,
            lines: vec!["machine".into()],
            cautions: vec!["memory".into()],
            grids: &[grid],
            cells: vec![vec![vec![cell(1), None], vec![cell(2), cell(3)]]],
        };
        let html = matrix_page(&page);
        for id in ["cell-0-0-0", "cell-0-1-0", "cell-0-1-1"] {
            // From the picture for light pages, and from the one for dark ones.
            assert_eq!(html.matches(&format!("href=\"#{id}\"")).count(), 2, "{id}");
            assert_eq!(html.matches(&format!("id=\"{id}\"")).count(), 1, "{id}");
        }
        assert!(
            !html.contains("cell-0-0-1") && html.contains("cell 2 &lt;x&gt;") && html.contains("a &amp; b")
        );
        assert!(html.contains("<h1>a &amp; b</h1>") && html.contains("Latency of 6 requests"));
        let story = Statement { headline: "Speeds of <memory>.".into(), ..Statement::default() };
        let html = matrix_page(&MatrixPage { story: Some(&story), ..page });
        assert!(html.contains("<h1>Speeds of &lt;memory&gt;.</h1>\n<dl class=\"facts\">"));
        assert!(html.contains("<p><b>a &amp; b</b></p>"), "the page names what was measured");
        assert!(!html.contains("<script"));
    }
}
